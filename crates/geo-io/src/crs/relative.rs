//! The system of heights above a ground, which have no vertical datum.

use super::geokeys::GeoKeys;
use super::same::horizontal_code;
use super::vertical::Heights;
use super::wkt::{Kind, Node, horizontal, outermost, split};
use super::{Crs, Defined, Definition};

impl Crs {
    /// Returns the system of heights above a ground: the same x and y, without the vertical datum. The unit of heights
    /// stays, under no name, if a reader would take another one without it.
    ///
    /// ```
    /// use geo_io::Crs;
    ///
    /// let feet_in_metres = Crs::parse("EPSG:26910+6360")?.of_relative_heights();
    /// assert_eq!((feet_in_metres.epsg(), feet_in_metres.vertical_epsg()), (Some(26_910), None));
    /// assert!(feet_in_metres.metres_per_height().is_some());
    /// assert!(!Crs::parse("EPSG:26910+5703")?.of_relative_heights().has_heights());
    /// # Ok::<(), geo_io::Error>(())
    /// ```
    #[must_use]
    pub fn of_relative_heights(&self) -> Self {
        let ground = self.without_heights();
        let unit = self.metres_per_height().filter(|unit| {
            let assumed = ground.metres_per_unit().unwrap_or(1.0);
            (unit / assumed - 1.0).abs() > 1e-9
        });
        let Some(unit) = unit else { return ground };
        let heights =
            Heights { code: None, name: String::new(), datum: String::new(), unit: Some(unit) };
        Self(Definition::Keys(ground.geokeys().with_heights(&heights)))
    }

    /// Returns the system of x and y alone.
    #[must_use]
    pub fn without_heights(&self) -> Self {
        match &self.0 {
            Definition::Epsg(code, _) => Self::of_code(*code),
            Definition::Keys(keys) => match (keys.text(), keys.code()) {
                (Some(text), _) if keys.heights().is_none() && is_flat(text) => self.clone(),
                (Some(text), _) => Self::of_text(text),
                (None, Some(code)) if Self::of_code(code).epsg() != Some(code) => {
                    Self::of_code(code)
                }
                (None, _) => Self(Definition::Keys(keys.without_heights())),
            },
            Definition::Wkt(text) => Self::of_text(text),
        }
    }

    /// The horizontal part of a code of the list.
    fn of_code(code: u16) -> Self {
        let code = horizontal_code(code);
        let node = crs_definitions::from_code(code).and_then(|listed| horizontal(listed.wkt));
        let flat = node.filter(is_spatial).and_then(|node| flat_code(&node));
        Self(Definition::Epsg(flat.unwrap_or(code), None))
    }

    /// The horizontal part of well-known text.
    fn of_text(text: &str) -> Self {
        let Some(node) = horizontal(text) else { return Self(Definition::Wkt(text.to_owned())) };
        match (is_spatial(&node), flat_code(&node)) {
            (false, _) => Self(Definition::Wkt(node.whole.to_owned())),
            (true, Some(code)) => Self(Definition::Epsg(code, None)),
            (true, None) => Self(Definition::Wkt(flat(&node))),
        }
    }
}

/// Whether well-known text defines x and y alone.
fn is_flat(text: &str) -> bool {
    horizontal(text).is_some_and(|node| node.whole == text.trim() && !is_spatial(&node))
}

/// Whether a system of the ground has heights as its third coordinate.
fn is_spatial(node: &Node<'_>) -> bool {
    node.children().filter(|part| part.is("AXIS")).count() == 3
}

/// The code of the list for the longitudes and latitudes that a system in three dimensions has.
fn flat_code(node: &Node<'_>) -> Option<u16> {
    let (name, of) = (node.name()?, Defined::of_wkt(node.whole)?);
    let is_it = |code: &u16| {
        // To parse the texts of all systems takes far longer than to look for a name in them.
        let listed = crs_definitions::from_code(*code).map(|listed| listed.wkt);
        let listed = listed.filter(|wkt| wkt.contains(&*name)).and_then(outermost);
        listed.is_some_and(|other| {
            other.name().as_ref() == Some(&name)
                && other.kind() == Some(Kind::Geographic)
                && !is_spatial(&other)
                && Defined::of_wkt(other.whole).is_some_and(|other| other.difference(&of).is_none())
        })
    };
    (node.kind() == Some(Kind::Geographic)).then(|| (1024..32_767).find(is_it))?
}

/// A system in three dimensions without the third, its code, and the codes and extents of its use.
fn flat(node: &Node<'_>) -> String {
    let mut axes = 0;
    let parts = split(node.inside).filter_map(|part| {
        let Some(child) = outermost(part) else { return Some(part.trim().to_owned()) };
        if child.is("AXIS") {
            axes += 1;
            return (axes < 3).then(|| child.whole.to_owned());
        }
        if child.is("CS") {
            let kind = split(child.inside).next().unwrap_or_default();
            return Some(format!("CS[{},2]", kind.trim()));
        }
        let is_of_whole = ["ID", "AUTHORITY", "USAGE"].iter().any(|word| child.is(word));
        (!is_of_whole).then(|| child.whole.to_owned())
    });
    format!("{}[{}]", node.keyword, parts.collect::<Vec<_>>().join(","))
}

impl GeoKeys {
    /// The same keys without those of heights, and without the citation that names all.
    fn without_heights(&self) -> Self {
        if self.heights().is_none() {
            return self.clone();
        }
        self.filtered(|key| !(4096..=4099).contains(&key) && key != super::geokeys::CITATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes are those that the EPSG list has for the horizontal parts.
    #[test]
    fn heights_above_a_ground_have_no_datum_whatever_states_the_system() {
        for (text, code, unit) in [
            ("EPSG:26910+5703", 26910, None),
            ("EPSG:26910+6360", 26910, Some(0.304_800_609_601_219)),
            ("EPSG:2927+6360", 2927, None),
            ("EPSG:2927+5703", 2927, Some(1.0)),
            ("EPSG:4326+8228", 4326, Some(0.3048)),
            ("EPSG:4326+5773", 4326, None),
            ("EPSG:7415", 28992, None),
            ("EPSG:4979", 4326, None),
            ("EPSG:4937", 4258, None),
            ("EPSG:26910", 26910, None),
        ] {
            let named = Crs::parse(text).unwrap();
            let by_keys = Crs::from_geokeys(named.geokeys()).unwrap();
            let by_text = named.wkt().and_then(Crs::from_wkt);
            for crs in [Some(named), by_keys, by_text].iter().flatten() {
                let found = crs.of_relative_heights();
                assert_eq!((found.epsg(), found.vertical_epsg()), (Some(code), None), "{crs:?}");
                let size = found.metres_per_height();
                assert_eq!(size.is_some(), unit.is_some(), "{crs:?}: {found:?}");
                assert!(size.zip(unit).is_none_or(|(a, b)| (a / b - 1.0_f64).abs() < 1e-9));
                let again = Crs::from_geokeys(found.geokeys()).unwrap().unwrap();
                assert_eq!(
                    (again.epsg(), again.metres_per_height().is_some()),
                    (Some(code), unit.is_some())
                );
            }
        }
    }

    #[test]
    fn a_text_in_three_dimensions_loses_the_third() {
        let text = r#"GEOGCRS["mine",DATUM["d",ELLIPSOID["e",6378000,298]],CS[ellipsoidal,3],AXIS["lat",north],AXIS["lon",east],AXIS["h",up,LENGTHUNIT["metre",1]],ANGLEUNIT["degree",0.0174532925199433],ID["X",1]]"#;
        let flat = r#"GEOGCRS["mine",DATUM["d",ELLIPSOID["e",6378000,298]],CS[ellipsoidal,2],AXIS["lat",north],AXIS["lon",east],ANGLEUNIT["degree",0.0174532925199433]]"#;
        assert_eq!(Crs::from_wkt(text).unwrap().of_relative_heights().wkt(), Some(flat));
    }
}
