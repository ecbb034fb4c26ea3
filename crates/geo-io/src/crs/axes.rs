//! The directions in which x and y grow.

use super::Crs;
use super::wkt::{Kind, Node, horizontal};

impl Crs {
    /// Returns the directions in which the x and the y of files grow if these are not the east and the north. In
    /// Krovak's system for the cadastre of Czechia (EPSG:5513) they are the south and the west. `None` for the systems
    /// of polar maps, whose axes follow meridians, and if the system does not say.
    ///
    /// Files hold x before y as the system lists them. Systems that list the north before the east are the exception:
    /// their files hold the east first, as GDAL has it.
    ///
    /// ```
    /// use geo_io::Crs;
    ///
    /// assert_eq!(Crs::parse("EPSG:2048")?.turned_axes(), Some(["west", "south"]));
    /// assert_eq!(Crs::parse("EPSG:2193")?.turned_axes(), None); // of New Zealand: north, east
    /// # Ok::<(), geo_io::Error>(())
    /// ```
    pub fn turned_axes(&self) -> Option<[&'static str; 2]> {
        let node = horizontal(self.text_behind()?)?;
        let axes = stated(&node).or_else(|| of_projection(&node))?;
        let [x, y] = axes.map(|axis| ["north", "south"].contains(&axis));
        let is_usual = [["east", "north"], ["north", "east"]].contains(&axes);
        (x != y && !is_usual).then_some(axes)
    }
}

/// The directions of the two axes in the text.
fn stated(node: &Node<'_>) -> Option<[&'static str; 2]> {
    let axes = node.children().filter(|part| part.is("AXIS"));
    let mut ways = axes.map(|axis| {
        let word = axis.word(1)?;
        ["east", "north", "west", "south"].into_iter().find(|way| word.eq_ignore_ascii_case(way))
    });
    Some([ways.next()??, ways.next()??])
}

/// The directions that a projection has where no axis is stated.
fn of_projection(node: &Node<'_>) -> Option<[&'static str; 2]> {
    if node.kind() != Some(Kind::Projected) {
        return None;
    }
    let conversion = node.child(&["CONVERSION"]);
    let method = match &conversion {
        Some(conversion) => conversion.child(&["METHOD", "PROJECTION"])?.name()?,
        None => node.child(&["PROJECTION"])?.name()?,
    };
    let method = method.to_ascii_lowercase().replace('_', " ").replace('(', "");
    if method.starts_with("transverse mercator south") {
        return Some(["west", "south"]);
    }
    let list = conversion.as_ref().unwrap_or(node);
    (method == "krovak" && !node.is_krovak_north_up(list)).then_some(["south", "west"])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts without axes, as GDAL writes them for ESRI: of EPSG:5514, 5513 and 2048.
    #[test]
    fn projections_tell_the_axes_that_a_text_leaves_out() {
        let text = |projection: &str, more: &str| {
            format!(
                r#"PROJCS["p",GEOGCS["g",DATUM["d",SPHEROID["Bessel_1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["{projection}"],PARAMETER["Scale_Factor",0.9999],{more}UNIT["Meter",1.0]]"#
            )
        };
        let scales = |x: &str, turn: &str| {
            format!(
                r#"PARAMETER["X_Scale",{x}],PARAMETER["Y_Scale",1.0],PARAMETER["XY_Plane_Rotation",{turn}],"#
            )
        };
        for (text, axes) in [
            (text("Krovak", &scales("-1.0", "90.0")), None),
            (text("Krovak", &scales("1.0", "0.0")), Some(["south", "west"])),
            (text("Transverse_Mercator_South_Orientated", ""), Some(["west", "south"])),
            (text("Transverse_Mercator", ""), None),
        ] {
            assert_eq!(Crs::from_wkt(&text).unwrap().turned_axes(), axes, "{text}");
        }
    }

    /// The codes and their axes are those that PROJ's database gives by GDAL's `GetAxisOrientation`.
    #[test]
    fn axes_are_those_of_the_epsg_list_whatever_states_the_system() {
        let lo = (2046..=2055).chain((22275..=22293).step_by(2)).chain((29371..=29385).step_by(2));
        let mut expected: Vec<(u16, [&str; 2])> =
            lo.map(|code| (code, ["west", "south"])).collect();
        expected.extend(
            [2065, 5224, 5513, 5515, 8044, 8045, 8352].map(|code| (code, ["south", "west"])),
        );
        expected.extend([3052, 3053].map(|code| (code, ["west", "north"])));
        expected.extend([2218, 2221, 2296, 3144, 3173].map(|code| (code, ["north", "west"])));
        let mut listed = 0;
        for (code, axes) in expected {
            let Ok(named) = Crs::parse(&format!("EPSG:{code}")) else { continue };
            let by_keys = Crs::from_geokeys(named.geokeys()).unwrap();
            let by_text = named.wkt().and_then(Crs::from_wkt);
            let by_json = named.projjson().map(|json| Crs::from_projjson(&json).unwrap());
            for crs in [Some(named), by_keys, by_text, by_json].iter().flatten() {
                assert_eq!(crs.turned_axes(), Some(axes), "{code}: {crs:?}");
            }
            listed += 1;
        }
        assert!(listed > 30, "{listed}");
        // East and north; north and east, whose files have the east first; and polar maps.
        for code in [5514, 5221, 2193, 31468, 32632, 4326, 3031, 3995, 5041, 32661] {
            let crs = Crs::parse(&format!("EPSG:{code}")).unwrap();
            assert_eq!(crs.turned_axes(), None, "{code}");
        }
    }
}
