//! Coordinate reference systems, which geo-io copies from file to file and hardly interprets.
//!
//! A system comes from the user as an EPSG code, from a LAS file as GeoTIFF keys or as WKT, and
//! goes into a GeoTIFF as keys:
//!
//! - an EPSG code becomes `ProjectedCSTypeGeoKey` or `GeographicTypeGeoKey`; for a compound system also
//!   `VerticalGeoKey`;
//! - keys are copied unchanged, including user-defined parameters, with two exceptions. Keys that no reader understands
//!   are dropped, since GDAL would drop all keys because of one. `GTRasterTypeGeoKey` is set to "area", which the
//!   rasters written here are;
//! - WKT becomes the EPSG codes of its horizontal and its vertical part, if it states them. Otherwise it becomes a
//!   user-defined system whose citation holds the WKT in the form (`ESRI PE String = ...`) that GDAL and ArcGIS read
//!   back. A vertical part without a code keeps its name and its unit.
//!
//! [`Crs::compare`] compares what two systems mean, not how files write them.

mod axes;
mod datums;
mod geokeys;
mod meridian;
mod projjson;
mod relative;
mod same;
mod units;
mod vertical;
mod wkt;

use std::borrow::Cow;
use std::fmt;

use crate::{Error, Result};

pub use geokeys::GeoKeys;
pub(crate) use geokeys::{ASCII_TAG, DIRECTORY_TAG, DOUBLES_TAG, words_on_dropped};
use same::{Definition as Defined, code_of_wkt, horizontal_code};
use vertical::Heights;
use wkt::{Kind, horizontal, is_geocentric, outermost};

/// Characters of a text that an error shows.
const LONGEST_SHOWN: usize = 60;

/// Whether a code of the EPSG list is one of a compound system.
pub(crate) fn is_compound(code: u16) -> bool {
    horizontal_code(code) != code
}

/// A coordinate reference system.
///
/// ```
/// use geo_io::Crs;
///
/// let utm = Crs::parse("EPSG:32632")?;
/// assert_eq!((utm.epsg(), utm.metres_per_unit()), (Some(32_632), Some(1.0)));
/// assert!(Crs::parse("EPSG:4326")?.is_geographic() && !utm.is_geographic());
/// # Ok::<(), geo_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Crs(Definition);

#[derive(Clone, Debug, PartialEq)]
enum Definition {
    /// A code of the list, and that of a vertical system if it was named beside it.
    Epsg(u16, Option<u16>),
    Keys(GeoKeys),
    Wkt(String),
}

impl Crs {
    /// Returns the system that a user named: `EPSG:26910`, or with a vertical system `EPSG:26910+5703`, in upper or
    /// lower case.
    ///
    /// It also takes the names of the Open Geospatial Consortium, such as `urn:ogc:def:crs:EPSG::26910` and
    /// `http://www.opengis.net/def/crs/EPSG/0/26910`. `OGC:CRS84` is `EPSG:4326`.
    ///
    /// It knows the geographic, projected and compound systems of the EPSG list, and takes a vertical system by its
    /// code.
    ///
    /// # Errors
    /// [`Error::UnknownCrs`] for another form, an unknown code, or a system without horizontal
    /// coordinates.
    pub fn parse(text: &str) -> Result<Self> {
        // A text may be a definition of a page or more.
        let shown = || match text.char_indices().nth(LONGEST_SHOWN) {
            Some((end, _)) => format!("{} ..", &text[..end]),
            None => text.to_owned(),
        };
        let unknown = |reason| Error::UnknownCrs { text: shown(), reason };
        let short = short_name(text.trim());
        let (authority, code) =
            short.split_once(':').ok_or_else(|| unknown("expected a code such as EPSG:26910"))?;
        if !authority.eq_ignore_ascii_case("EPSG") {
            return Err(unknown("expected an EPSG code, such as EPSG:26910"));
        }
        let (code, vertical) = match code.split_once('+') {
            Some((code, vertical)) => (code, Some(vertical)),
            None => (code, None),
        };
        let digits = |code: &str| !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit());
        if !digits(code) || !vertical.is_none_or(digits) {
            return Err(unknown("expected a code such as EPSG:26910 or EPSG:26910+5703"));
        }
        let vertical = vertical.map(|code| match code.parse() {
            Ok(code) if (1024..32767).contains(&code) => Ok(code),
            _ => Err(unknown("no vertical system has the code behind the +")),
        });
        let vertical = vertical.transpose()?;
        // The list has every kind of system but the vertical ones.
        if vertical.is_some_and(|code| crs_definitions::from_code(code).is_some()) {
            return Err(unknown("the code behind the + is not the code of a vertical system"));
        }
        let code = code.parse().ok();
        let definition = code.and_then(crs_definitions::from_code).ok_or_else(|| {
            unknown(match code.is_some_and(vertical::is_system) {
                true => "it is a vertical system: give a horizontal one before it, such as EPSG:26910+5703",
                false => {
                    "its list has no geographic, projected or compound system of this code: where the code is newer, give \
                     files that state the system themselves"
                }
            })
        })?;
        if horizontal(definition.wkt).is_none() {
            return Err(unknown(
                "the list of systems has no geographic or projected definition of it",
            ));
        }
        if vertical.is_some() && wkt::vertical(definition.wkt).is_some() {
            return Err(unknown("the system before the + already has a vertical part"));
        }
        Ok(Self(Definition::Epsg(definition.code, vertical)))
    }

    /// Returns the system that GeoTIFF keys state, or `None` for a directory without keys. See [`GeoKeys::cleaned`] for
    /// keys that may be broken.
    ///
    /// # Errors
    /// Says, in words, how the directory is cut short or points outside its parameters.
    pub fn from_geokeys(keys: GeoKeys) -> Result<Option<Self>, String> {
        if keys.directory.get(3).is_none_or(|&count| count == 0) {
            return Ok(None);
        }
        keys.check()?;
        Ok(Some(Self(Definition::Keys(keys.with_model()))))
    }

    /// Returns the system that well-known text (WKT 1 or 2) states. `None` if no reader can make a system of x and y
    /// from the text. If brackets are missing or too many, it takes the definitions inside.
    pub fn from_wkt(wkt: &str) -> Option<Self> {
        Self::from_broken_wkt(wkt).map(|(crs, _)| crs)
    }

    /// [`Crs::from_wkt`], and whether the text was broken.
    pub(crate) fn from_broken_wkt(wkt: &str) -> Option<(Self, bool)> {
        let taken = wkt::taken(wkt)?;
        Some((Self(Definition::Wkt(taken.text.into_owned())), taken.is_mended))
    }

    /// Returns the EPSG code that the system was made from or that its text states. For a system with two codes, it is
    /// the horizontal code.
    pub fn epsg(&self) -> Option<u16> {
        match &self.0 {
            Definition::Epsg(code, _) => Some(*code),
            Definition::Keys(keys) => keys.code(),
            Definition::Wkt(wkt) if is_geocentric(wkt) => outermost(wkt).and_then(|n| n.code()),
            Definition::Wkt(wkt) => code_of_wkt(wkt),
        }
    }

    /// Returns the system as WKT, if it came in that form.
    pub fn wkt(&self) -> Option<&str> {
        match &self.0 {
            Definition::Epsg(code, None) => crs_definitions::from_code(*code).map(|d| d.wkt),
            Definition::Epsg(_, Some(_)) | Definition::Keys(_) => None,
            Definition::Wkt(wkt) => Some(wkt),
        }
    }

    /// Returns the system as GeoTIFF keys, for a raster whose pixels are areas.
    pub fn geokeys(&self) -> GeoKeys {
        let heights = self.heights();
        match &self.0 {
            Definition::Epsg(code, _) => {
                let wkt = crs_definitions::from_code(*code).map_or("", |d| d.wkt);
                GeoKeys::of_wkt(wkt, Some(*code), heights.as_ref())
            }
            Definition::Keys(keys) => keys.as_area(),
            Definition::Wkt(wkt) => GeoKeys::of_wkt(wkt, None, heights.as_ref()),
        }
    }

    /// Returns how many metres a unit of the horizontal coordinates has; `None` for degrees, and if the system does not
    /// say.
    pub fn metres_per_unit(&self) -> Option<f64> {
        if self.is_geographic() {
            return None;
        }
        match &self.0 {
            Definition::Keys(keys) => keys.linear_unit().or_else(|| unit_of(keys.text()?)),
            _ => unit_of(self.text()?),
        }
    }

    /// Returns how many degrees a unit of longitude and latitude has; some systems use grads. `None` if the coordinates
    /// are on a plane.
    pub fn degrees_per_unit(&self) -> Option<f64> {
        let of_text = self.text_behind().and_then(unit_of).map(f64::to_degrees);
        let of_keys = || match &self.0 {
            Definition::Keys(keys) => keys.angular_unit(),
            _ => None,
        };
        let stated = of_text.or_else(of_keys).filter(|unit| unit.is_finite() && *unit > 0.0);
        // Texts have radians of a degree with 15 digits or fewer.
        let known = |unit: f64| [1.0, 0.9].into_iter().find(|known| (unit - known).abs() < 1e-9);
        self.is_geographic().then(|| stated.map_or(1.0, |unit| known(unit).unwrap_or(unit)))
    }

    /// Returns the radius at the equator, in metres, of the ellipsoid that coordinates lie on. It tells maps of the
    /// Moon from maps of the Earth. `None` if the system does not say.
    pub fn equatorial_radius(&self) -> Option<f64> {
        let of_text = self.text_behind().and_then(Defined::of_wkt).and_then(|of| of.radius());
        let of_keys = || match &self.0 {
            Definition::Keys(keys) => keys.radius(),
            _ => None,
        };
        of_text.or_else(of_keys).filter(|radius| radius.is_finite() && *radius > 0.0)
    }

    /// Returns how many metres a unit of height has, if the system has a vertical part.
    pub fn metres_per_height(&self) -> Option<f64> {
        self.heights()?.unit
    }

    /// Returns the EPSG code of the vertical part, if the system states it, or if datum and unit tell it.
    pub fn vertical_epsg(&self) -> Option<u16> {
        self.heights()?.code
    }

    /// Whether the system has a vertical part.
    pub fn has_heights(&self) -> bool {
        self.heights().is_some()
    }

    /// The vertical part.
    fn heights(&self) -> Option<Heights> {
        let of_text = |wkt: &str| wkt::vertical(wkt).map(|node| Heights::of_node(&node));
        let of_code = |code| crs_definitions::from_code(code).and_then(|d| of_text(d.wkt));
        match &self.0 {
            Definition::Epsg(_, Some(vertical)) => Some(Heights::of_code(*vertical)),
            Definition::Epsg(code, None) => of_code(*code),
            Definition::Keys(keys) => {
                let within = || keys.text().and_then(of_text).or_else(|| of_code(keys.code()?));
                keys.heights().or_else(within)
            }
            Definition::Wkt(wkt) => of_text(wkt).or_else(|| of_code(outermost(wkt)?.code()?)),
        }
    }

    /// The text that defines it: its own, or the list's.
    fn text(&self) -> Option<&str> {
        match &self.0 {
            Definition::Epsg(code, _) => crs_definitions::from_code(*code).map(|d| d.wkt),
            Definition::Keys(_) => None,
            Definition::Wkt(wkt) => Some(wkt),
        }
    }

    /// Returns its WKT as [`wkt`](Self::wkt) does, and for keys with a code the code's. `None` for keys with heights, which
    /// that text lacks.
    pub(crate) fn whole_wkt(&self) -> Option<&str> {
        self.wkt().or_else(|| self.text_behind().filter(|_| self.heights().is_none()))
    }

    /// The text that defines it, also of keys that have one or a code.
    fn text_behind(&self) -> Option<&str> {
        match &self.0 {
            Definition::Keys(keys) => {
                let of_code = || crs_definitions::from_code(keys.code()?).map(|d| d.wkt);
                keys.text().or_else(of_code)
            }
            _ => self.text(),
        }
    }

    /// Compares two systems by their codes if both have one, else by datum, projection, parameters and units. Names,
    /// citations and spelling do not count.
    ///
    /// If the systems count as the same, returns a note for the user if only one of them states what its heights are.
    ///
    /// # Errors
    /// Says in words how the systems differ.
    pub fn compare(&self, other: &Self) -> Result<Option<String>, String> {
        if self == other {
            return Ok(None);
        }
        self.compare_places(other)?;
        match (self.heights(), other.heights()) {
            (None, None) => Ok(None),
            (Some(heights), None) | (None, Some(heights)) => Ok(Some(format!(
                "one of them states {} for heights, the other nothing",
                heights.words()
            ))),
            (Some(a), Some(b)) => match a.compare(&b)? {
                true => Ok(None),
                false => {
                    Ok(Some("one of them states no more of heights than their unit".to_owned()))
                }
            },
        }
    }

    /// Whether [`Crs::compare`] finds two systems equal.
    pub fn same_as(&self, other: &Self) -> bool {
        self.compare(other).is_ok()
    }

    fn compare_places(&self, other: &Self) -> Result<(), String> {
        let code = |crs: &Self| crs.epsg().map(horizontal_code);
        if let (Some(a), Some(b)) = (code(self), code(other)) {
            // The list has systems in two dimensions and in three of one datum.
            let is_alike = || {
                let both = self.is_geographic().then(|| Some((self.defined()?, other.defined()?)));
                both.flatten().is_some_and(|(a, b)| a.difference(&b).is_none())
            };
            if a != b && !is_alike() {
                return Err(format!("their codes are EPSG:{a} and EPSG:{b}"));
            }
            // A file may state another unit beside a code.
            return match (self.metres_per_unit(), other.metres_per_unit()) {
                (Some(a), Some(b)) if (a / b - 1.0).abs() > 1e-7 => {
                    Err(format!("a unit is {a} m in one and {b} m in the other"))
                }
                _ => Ok(()),
            };
        }
        if let (Some(a), Some(b)) = (self.defined(), other.defined()) {
            return a.difference(&b).map_or(Ok(()), Err);
        }
        match (&self.0, &other.0) {
            (Definition::Keys(a), Definition::Keys(b))
                if a.without_words() == b.without_words() =>
            {
                Ok(())
            }
            _ => Err("one of them has no EPSG code to compare".to_owned()),
        }
    }

    /// Returns the definition of the horizontal coordinates, if it is understood.
    fn defined(&self) -> Option<Defined> {
        match &self.0 {
            Definition::Keys(keys) => match keys.code().and_then(crs_definitions::from_code) {
                Some(definition) => Defined::of_wkt(definition.wkt),
                None => Defined::of_keys(keys),
            },
            _ => Defined::of_wkt(self.text()?),
        }
    }

    /// Whether the coordinates are geocentric: x, y and z from the middle of the Earth. Two of these coordinates do not
    /// make a place on a map.
    pub fn is_geocentric(&self) -> bool {
        match &self.0 {
            // No name is taken of such a system.
            Definition::Epsg(..) => false,
            Definition::Keys(keys) => keys.is_geocentric(),
            Definition::Wkt(wkt) => is_geocentric(wkt),
        }
    }

    /// Whether the coordinates are longitudes and latitudes.
    pub fn is_geographic(&self) -> bool {
        let of_text =
            |text| horizontal(text).and_then(|node| node.kind()) == Some(Kind::Geographic);
        match &self.0 {
            Definition::Keys(keys) => match keys.text() {
                Some(text) => of_text(text),
                None => keys.is_geographic(),
            },
            _ => self.text().is_some_and(of_text),
        }
    }
}

/// Metres or radians of a unit of the horizontal coordinates of a text.
fn unit_of(text: &str) -> Option<f64> {
    horizontal(text).and_then(|node| node.unit())
}

impl fmt::Display for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.epsg() {
            write!(f, "EPSG:{code}")?;
            // A compound code has its vertical part within.
            let is_within =
                matches!(&self.0, Definition::Epsg(_, None)) || horizontal_code(code) != code;
            return match self.heights().filter(|_| !is_within) {
                Some(Heights { code: Some(code), .. }) => write!(f, "+{code}"),
                Some(heights) if !heights.name.is_empty() => write!(f, " + {}", heights.name),
                _ => Ok(()),
            };
        }
        let name = match &self.0 {
            Definition::Keys(keys) => match keys.text() {
                Some(text) => outermost(text).and_then(|node| node.name()),
                None => keys.name(),
            },
            Definition::Wkt(wkt) => outermost(wkt).and_then(|node| node.name()),
            Definition::Epsg(..) => None,
        };
        match name {
            Some(name) => write!(f, "{name} (user-defined)"),
            None => f.write_str("user-defined"),
        }
    }
}

/// Returns the short form, such as `EPSG:26910`, of a name of the Open Geospatial Consortium, or else the text itself.
fn short_name(text: &str) -> Cow<'_, str> {
    // Of a compound system: urn:ogc:def:crs,crs:EPSG::26910,crs:EPSG::5703, or two addresses behind a third.
    let parts: Vec<&str> = match text.contains("crs-compound") {
        true => text.split(['?', '&']).skip(1).collect(),
        false => text.split(",crs:").skip(1).collect(),
    };
    let code = |part: &str| part.rsplit([':', '/']).next().unwrap_or("").to_owned();
    let is_of_epsg =
        |part: &str| part.split([':', '/']).any(|word| word.eq_ignore_ascii_case("EPSG"));
    match parts[..] {
        [horizontal, vertical] if is_of_epsg(horizontal) && is_of_epsg(vertical) => {
            format!("EPSG:{}+{}", code(horizontal), code(vertical)).into()
        }
        [] if code(text) == "CRS84" => "EPSG:4326".into(),
        [] if is_of_epsg(text) && !text.to_ascii_uppercase().starts_with("EPSG:") => {
            format!("EPSG:{}", code(text)).into()
        }
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::geokeys::*;
    use super::*;

    #[test]
    fn codes_are_looked_up() {
        for (text, key, code) in [
            ("EPSG:26910", PROJECTED_TYPE, 26910),
            (" epsg:4326", GEOGRAPHIC_TYPE, 4326),
            ("EPSG:7415", PROJECTED_TYPE, 28992),
        ] {
            let keys = Crs::parse(text).unwrap().geokeys();
            assert_eq!(keys.short(key), Some(code), "{text}");
            assert_eq!(keys.short(RASTER_TYPE), Some(1));
        }
        assert_eq!(Crs::parse("epsg:2994").unwrap().to_string(), "EPSG:2994");
        assert!(Crs::parse("EPSG:4326").unwrap().is_geographic());
        for (name, short) in [
            ("urn:ogc:def:crs:EPSG::2994", "EPSG:2994"),
            ("http://www.opengis.net/def/crs/EPSG/0/2994", "EPSG:2994"),
            ("OGC:CRS84", "EPSG:4326"),
            ("urn:ogc:def:crs,crs:EPSG::26910,crs:EPSG::5703", "EPSG:26910+5703"),
        ] {
            assert_eq!(Crs::parse(name).unwrap().to_string(), short);
        }
        assert!(Crs::parse("urn:ogc:def:crs:ESRI::102003").is_err());
        for text in ["", "26910", "EPSG:", "EPSG:1", "EPSG:+26910", "EPSG:99999999", "ESRI:102003"]
        {
            let error = Crs::parse(text).unwrap_err();
            assert!(error.to_string().contains(&format!("\"{text}\"")), "{error}");
        }
        for text in ["EPSG:26910+", "EPSG:26910+x", "EPSG:26910+1", "EPSG:7415+5703"] {
            assert!(Crs::parse(text).is_err(), "{text}");
        }
        // Geographic in two dimensions and in three, projected, geocentric and compound.
        for code in [4326, 4979, 26910, 4978, 7415] {
            let text = format!("EPSG:32633+{code}");
            let error = Crs::parse(&text).unwrap_err().to_string();
            assert!(error.contains(&text) && error.contains("of a vertical system"), "{error}");
        }
        let reason = |text: &str| Crs::parse(text).unwrap_err().to_string();
        assert!(reason("EPSG:5703").contains("it is a vertical system"));
        assert!(reason("EPSG:9999").contains("no geographic, projected or compound system"));
        let text = format!("PROJCS[\"{}\"]", "\u{e9}".repeat(1000));
        assert!(reason(&text).len() < 250 && reason(&text).contains(" ..\""), "{}", reason(&text));
        // Geocentric: three-dimensional Cartesian coordinates are not on a map.
        assert!(Crs::parse("EPSG:4978").is_err());
    }

    #[test]
    fn the_outermost_code_of_wkt_counts() {
        let wkt1 = r#"PROJCS["a, [b]",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]],AUTHORITY["EPSG","32610"]]"#;
        let wkt2 = r#"PROJCRS["x",BASEGEOGCRS["WGS 84",ID["EPSG",4326]],ID["EPSG",32610]]"#;
        let compound = format!(r#"COMPD_CS["c",{wkt1},VERT_CS["v",AUTHORITY["EPSG","5703"]]]"#);
        for wkt in [wkt1, wkt2, &compound] {
            let crs = Crs::from_wkt(wkt).unwrap();
            assert_eq!(crs.geokeys().short(PROJECTED_TYPE), Some(32610), "{wkt}");
        }
        // The forms of WKT 2 beside those of its second edition.
        for (keyword, code, is_geographic) in [
            ("PROJECTEDCRS", 32610, false),
            ("GEOGRAPHICCRS", 4326, true),
            ("GEODCRS", 4326, true),
            ("GeodeticCRS", 4326, true),
        ] {
            let wkt = format!(r#"{keyword}["x",CS[ellipsoidal,2],ID["EPSG",{code}]]"#);
            for wkt in [format!("COMPOUNDCRS[\"c\",{wkt},VERTCRS[\"v\",ID[\"EPSG\",5703]]]"), wkt] {
                let crs = Crs::from_wkt(&wkt).unwrap();
                let key = if is_geographic { GEOGRAPHIC_TYPE } else { PROJECTED_TYPE };
                assert_eq!(crs.geokeys().short(key), Some(code), "{wkt}");
                assert!(crs.is_geographic() == is_geographic && !crs.is_geocentric(), "{wkt}");
            }
        }
        let user = Crs::from_wkt(
            r#"PROJCS["local",GEOGCS["g",DATUM["d"],AUTHORITY["EPSG","4326"]],PROJECTION["p"]]"#,
        )
        .unwrap();
        assert_eq!(user.epsg(), None);
        assert_eq!(user.geokeys().short(MODEL_TYPE), Some(USER_DEFINED));
        let geographic = Crs::from_wkt(r#"GEOGCS["g",DATUM["d"],PRIMEM["Greenwich",0]]"#).unwrap();
        assert!(geographic.is_geographic() && !user.is_geographic());
        assert_eq!(user.to_string(), "local (user-defined)");
        assert_eq!(Crs::from_wkt("\0"), None);
    }

    #[test]
    fn geocentric_systems_are_known_whatever_states_them() {
        let keys = |model, key, code| GeoKeys {
            directory: vec![1, 1, 0, 2, MODEL_TYPE, 0, 1, model, key, 0, 1, code],
            ..GeoKeys::default()
        };
        let of_keys = |model, key, code| Crs::from_geokeys(keys(model, key, code)).unwrap();
        let wkt = crs_definitions::from_code(4978).unwrap().wkt;
        let wkt2 = r#"GEODCRS["WGS 84",DATUM["d",ELLIPSOID["e",6378137,298.2]],CS[Cartesian,3],AXIS["(X)",geocentricX],ID["EPSG",4978]]"#;
        let found = [of_keys(3, GEOGRAPHIC_TYPE, 4978), Crs::from_wkt(wkt), Crs::from_wkt(wkt2)];
        for crs in found.iter().flatten() {
            assert!(crs.is_geocentric() && !crs.is_geographic(), "{crs:?}");
            assert_eq!(crs.to_string(), "EPSG:4978");
        }
        let unnamed = of_keys(3, GEOGRAPHIC_TYPE, USER_DEFINED).unwrap();
        assert!(unnamed.is_geocentric() && unnamed.epsg().is_none());
        // As a survey in UTM has it.
        let false_model = of_keys(3, GEOGRAPHIC_TYPE, 4326).unwrap();
        assert!(!false_model.is_geocentric() && !false_model.is_geographic());
        assert_eq!(false_model.epsg(), None);
        let others = [
            of_keys(2, GEOGRAPHIC_TYPE, 4326),
            of_keys(1, PROJECTED_TYPE, 26910),
            Crs::parse("EPSG:4979").ok(),
            crs_definitions::from_code(26910).and_then(|d| Crs::from_wkt(d.wkt)),
        ];
        assert!(others.iter().all(|crs| crs.as_ref().is_some_and(|crs| !crs.is_geocentric())));
    }

    /// GDAL takes 2,399 characters of a citation and no more, and of a text that is cut no reader makes a system.
    #[test]
    fn a_long_text_becomes_one_that_gdal_reads_to_its_end() {
        let datum = r#"DATUM["d",ELLIPSOID["e",6378137,298.257222101]]"#;
        let text = |name: &str, usage: &str| {
            let ground = format!(
                r#"PROJCRS["ground",BASEGEOGCRS["g",{datum}],CONVERSION["c",METHOD["Transverse Mercator"],PARAMETER["Longitude of natural origin",9]],CS[Cartesian,2],LENGTHUNIT["metre",1],USAGE[AREA["{usage}"]]]"#
            );
            let heights = r#"VERTCRS["local heights",VDATUM["of a bench mark"],LENGTHUNIT["US survey foot",0.304800609601219]]"#;
            format!(r#"COMPOUNDCRS["{name}",{ground},{heights}]"#)
        };
        let long = "x".repeat(2400);
        for (name, usage) in
            [("short", "short"), ("short", &long), (&long, "short"), (&long, &long)]
        {
            let crs = Crs::from_wkt(&text(name, usage)).unwrap();
            let keys = crs.geokeys();
            let cited = keys.ascii.split('|').next().unwrap();
            assert!(cited.len() < 2400, "{cited}");
            let again = Crs::from_geokeys(keys).unwrap().unwrap();
            assert_eq!(crs.compare(&again), Ok(None), "{again:?}");
            let unit = again.metres_per_height().unwrap();
            assert!((unit / 0.304_800_609_601_219 - 1.0).abs() < 1e-12, "{unit}");
        }
    }

    #[test]
    fn units_are_known_whatever_states_them() {
        let foot = 1200.0 / 3937.0;
        for (text, ground, heights) in [
            ("EPSG:26910", Some(1.0), None),
            ("EPSG:2994", Some(0.3048), None),
            ("EPSG:2927", Some(foot), None),
            ("EPSG:4326", None, None),
            ("EPSG:7415", Some(1.0), Some(1.0)),
            ("EPSG:2927+6360", Some(foot), Some(foot)),
            ("EPSG:2927+5703", Some(foot), Some(1.0)),
            ("EPSG:4326+8228", None, Some(0.3048)),
        ] {
            let named = Crs::parse(text).unwrap();
            let by_keys = Crs::from_geokeys(named.geokeys()).unwrap().unwrap();
            let by_text = named.wkt().and_then(Crs::from_wkt);
            for crs in [Some(named), Some(by_keys), by_text].iter().flatten() {
                let close = |found: Option<f64>, expected: Option<f64>| match (found, expected) {
                    (Some(a), Some(b)) => (a / b - 1.0).abs() < 1e-9,
                    (a, b) => a == b,
                };
                assert!(close(crs.metres_per_unit(), ground), "{text}: {crs:?}");
                assert!(close(crs.metres_per_height(), heights), "{text}: {crs:?}");
            }
        }
        let keys = |entries: &[[u16; 4]], doubles: &[f64]| GeoKeys {
            directory: [&[1, 1, 0, entries.len() as u16], entries.as_flattened()].concat(),
            doubles: doubles.to_vec(),
            ascii: String::new(),
        };
        let of = |entries: &[[u16; 4]], doubles: &[f64]| {
            Crs::from_geokeys(keys(entries, doubles)).unwrap().unwrap()
        };
        // Kilometres, and a system of angles without a code.
        let user = [GEOGRAPHIC_TYPE, 0, 1, USER_DEFINED];
        let kilometres = of(&[[MODEL_TYPE, 0, 1, 1], [LINEAR_UNITS, 0, 1, 9036]], &[]);
        assert_eq!(kilometres.metres_per_unit(), Some(1000.0));
        for (unit, degrees) in [(9102, 1.0), (9105, 0.9), (9106, 0.9), (9101, 1_f64.to_degrees())] {
            let crs = of(&[[MODEL_TYPE, 0, 1, 2], user, [2054, 0, 1, unit]], &[]);
            assert_eq!(crs.degrees_per_unit(), Some(degrees));
        }
        let size = of(&[[MODEL_TYPE, 0, 1, 2], user, [2055, DOUBLES_TAG, 1, 0]], &[0.5]);
        assert_eq!(size.degrees_per_unit(), Some(0.5_f64.to_degrees()));
        let moon = r#"GEOGCS["Moon",DATUM["D_Moon",SPHEROID["Moon",1737400,0]],PRIMEM["R",0],UNIT["degree",0.0174532925199433]]"#;
        let moon = Crs::from_wkt(moon).unwrap();
        let by_text = Crs::from_geokeys(moon.geokeys()).unwrap().unwrap();
        let by_keys = of(&[[MODEL_TYPE, 0, 1, 2], user, [2057, DOUBLES_TAG, 1, 0]], &[1_737_400.0]);
        for crs in [moon, by_text, by_keys] {
            assert_eq!(crs.equatorial_radius(), Some(1_737_400.0), "{crs:?}");
        }
        for code in ["EPSG:4326", "EPSG:4807", "EPSG:32631", "EPSG:7415"] {
            let radius = Crs::parse(code).unwrap().equatorial_radius().unwrap();
            assert!((radius / 6_378_137.0 - 1.0).abs() < 1e-3, "{code}: {radius}");
        }
        let axes = r#"PROJCRS["x",BASEGEOGCRS["g",ANGLEUNIT["degree",0.017]],CONVERSION["c"],CS[Cartesian,2],AXIS["e",east,LENGTHUNIT["foot",0.3048]],AXIS["n",north]]"#;
        assert_eq!(Crs::from_wkt(axes).unwrap().metres_per_unit(), Some(0.3048));
    }

    #[test]
    fn vertical_systems_are_carried() {
        for (text, name, code) in [
            ("EPSG:7415", "EPSG:7415", 5709),
            ("EPSG:26910+5703", "EPSG:26910+5703", 5703),
            ("epsg:4326+6360", "EPSG:4326+6360", 6360),
        ] {
            let crs = Crs::parse(text).unwrap();
            assert_eq!((crs.to_string().as_str(), crs.vertical_epsg()), (name, Some(code)));
            assert_eq!(crs.geokeys().short(VERTICAL_TYPE), Some(code));
            assert_eq!(crs.is_geographic(), text.contains("4326"));
        }
        let wkt = Crs::parse("EPSG:5555").unwrap().wkt().and_then(Crs::from_wkt).unwrap();
        assert_eq!(wkt.geokeys().short(VERTICAL_TYPE), Some(5783));
    }

    /// Zone 10 of UTM on NAD83, as it is written.
    fn writings_of_utm() -> Vec<(&'static str, Crs)> {
        let text = crs_definitions::from_code(26910).unwrap().wkt;
        let of_text = |text: &str| Crs::from_wkt(text).unwrap_or_else(|| panic!("{text}"));
        let of_keys = |keys: &[(u16, u16)], ascii: &str| {
            let entries = keys.iter().flat_map(|&(key, value)| match key {
                CITATION => [key, ASCII_TAG, ascii.len() as u16, 0],
                _ => [key, 0, 1, value],
            });
            let directory = [1, 1, 0, keys.len() as u16].into_iter().chain(entries).collect();
            let keys = GeoKeys { directory, doubles: vec![], ascii: ascii.to_owned() };
            Crs::from_geokeys(keys).unwrap().unwrap()
        };
        let utm = (PROJECTED_TYPE, 26910);
        vec![
            ("a code", Crs::parse("EPSG:26910").unwrap()),
            ("WKT 1", of_text(text)),
            (
                "indented WKT 1",
                of_text(&text.replace(",GEOGCS", ",\n    GEOGCS").replace("[", " [")),
            ),
            ("WKT 1 in lower case", of_text(&text.replace("PROJCS[", "projcs["))),
            (
                "another name",
                of_text(&text.replace("NAD83 / UTM zone 10N", "UTM Zone 10, Northern")),
            ),
            ("WKT 1 without a code", of_text(&text.replace(r#",AUTHORITY["EPSG","26910"]"#, ""))),
            ("ESRI's WKT", of_text(ESRI)),
            (
                "ESRI's with its number",
                of_text(&format!("{},AUTHORITY[\"ESRI\",26910]]", &ESRI[..ESRI.len() - 1])),
            ),
            ("WKT 2", of_text(WKT2)),
            (
                "WKT 2 with a code",
                of_text(&format!("{},ID[\"EPSG\",26910]]", &WKT2[..WKT2.len() - 1])),
            ),
            ("text in a citation", Crs::from_geokeys(of_text(ESRI).geokeys()).unwrap().unwrap()),
            ("keys", of_keys(&[(MODEL_TYPE, 1), utm], "")),
            ("keys with a unit", of_keys(&[(MODEL_TYPE, 1), utm, (LINEAR_UNITS, 9001)], "")),
            ("keys of points", of_keys(&[(MODEL_TYPE, 1), (RASTER_TYPE, 2), utm], "")),
            ("keys with a name", of_keys(&[(MODEL_TYPE, 1), (CITATION, 0), utm], "UTM 10|")),
            (
                "keys of a datum and a zone",
                of_keys(&[(MODEL_TYPE, 1), (GEOGRAPHIC_TYPE, 4269), (3074, 16010)], ""),
            ),
        ]
    }

    const ESRI: &str = r#"PROJCS["NAD_1983_UTM_Zone_10N",GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",-123.0],PARAMETER["Scale_Factor",0.9996],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]"#;

    const WKT2: &str = r#"PROJCRS["NAD83 / UTM zone 10N",BASEGEOGCRS["NAD83",DATUM["North American Datum 1983",ELLIPSOID["GRS 1980",6378137,298.257222101,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["UTM zone 10N",METHOD["Transverse Mercator",ID["EPSG",9807]],PARAMETER["Latitude of natural origin",0,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Longitude of natural origin",-123,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Scale factor at natural origin",0.9996,SCALEUNIT["unity",1]],PARAMETER["False easting",500000,LENGTHUNIT["metre",1]],PARAMETER["False northing",0,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["(E)",east],AXIS["(N)",north],LENGTHUNIT["metre",1]]"#;

    #[test]
    fn one_system_is_the_same_however_it_is_written() {
        let all = writings_of_utm();
        for (a, one) in &all {
            for (b, other) in &all {
                assert_eq!(one.compare(other), Ok(None), "{a} and {b}");
            }
            let words = Crs::parse("EPSG:26911").unwrap().compare(one).unwrap_err();
            assert!(
                words.contains("26911") || words.contains("longitude of origin"),
                "{a}: {words}"
            );
            for code in ["EPSG:32610", "EPSG:2926", "EPSG:4269", "EPSG:6339"] {
                assert!(!Crs::parse(code).unwrap().same_as(one), "{code} and {a}");
            }
            // A vertical part that one states alone.
            let both = Crs::parse("EPSG:26910+5703").unwrap();
            assert!(both.compare(one).unwrap().unwrap().contains("EPSG:5703"), "{a}");
        }
    }

    /// As GDAL writes systems of the list without their codes, for Esri's programs, in WKT 1 and in WKT 2.
    #[test]
    fn krovaks_projection_is_known_by_its_axes() {
        let all = [
            // Without axes it runs south and west, whatever its name: GDAL 3.6 puts 1050000 740000 into Prague.
            (
                5513,
                r#"PROJCS["S-JTSK / Krovak East North",GEOGCS["S-JTSK",DATUM["System_of_the_Unified_Trigonometrical_Cadastral_Network",SPHEROID["Bessel 1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Krovak"],PARAMETER["latitude_of_center",49.5],PARAMETER["longitude_of_center",24.8333333333333],PARAMETER["azimuth",30.2881397527778],PARAMETER["pseudo_standard_parallel_1",78.5],PARAMETER["scale_factor",0.9999],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]"#,
            ),
            (
                5513,
                r#"PROJCS["S-JTSK / Krovak",GEOGCS["S-JTSK",DATUM["System_of_the_Unified_Trigonometrical_Cadastral_Network",SPHEROID["Bessel 1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Krovak"],PARAMETER["latitude_of_center",49.5],PARAMETER["longitude_of_center",24.8333333333333],PARAMETER["azimuth",30.2881397527778],PARAMETER["pseudo_standard_parallel_1",78.5],PARAMETER["scale_factor",0.9999],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1],AXIS["X",SOUTH],AXIS["Y",WEST]]"#,
            ),
            (
                5513,
                r#"PROJCS["S-JTSK_Krovak",GEOGCS["GCS_S_JTSK",DATUM["D_S_JTSK",SPHEROID["Bessel_1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Krovak"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Pseudo_Standard_Parallel_1",78.5],PARAMETER["Scale_Factor",0.9999],PARAMETER["Azimuth",30.28813975277778],PARAMETER["Longitude_Of_Center",24.83333333333333],PARAMETER["Latitude_Of_Center",49.5],PARAMETER["X_Scale",1.0],PARAMETER["Y_Scale",1.0],PARAMETER["XY_Plane_Rotation",0.0],UNIT["Meter",1.0]]"#,
            ),
            (
                2065,
                r#"PROJCS["S-JTSK (Ferro) / Krovak",GEOGCS["S-JTSK (Ferro)",DATUM["System_of_the_Unified_Trigonometrical_Cadastral_Network_Ferro",SPHEROID["Bessel 1841",6377397.155,299.1528128]],PRIMEM["Ferro",-17.66666666666667],UNIT["degree",0.0174532925199433]],PROJECTION["Krovak"],PARAMETER["latitude_of_center",49.5],PARAMETER["longitude_of_center",42.5],PARAMETER["azimuth",30.2881397527778],PARAMETER["pseudo_standard_parallel_1",78.5],PARAMETER["scale_factor",0.9999],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1],AXIS["X",SOUTH],AXIS["Y",WEST]]"#,
            ),
        ];
        for (code, text) in all {
            let own = Crs::from_wkt(text).unwrap();
            for other in [2065, 5221, 5513, 5514] {
                let listed = Crs::parse(&format!("EPSG:{other}")).unwrap();
                assert_eq!(listed.same_as(&own), other == code, "EPSG:{other} and {text}");
                let json = own.projjson().unwrap();
                let method = if [2065, 5513].contains(&code) { "9819" } else { "1041" };
                assert!(json["conversion"]["method"].to_string().contains(method), "{json}");
                let is_esri = text.contains("X_Scale");
                assert!(is_esri || Crs::from_projjson(&json).unwrap().same_as(&own), "{text}");
            }
        }
    }

    #[test]
    fn datums_and_projections_have_several_names() {
        let all = [
            (
                3857,
                r#"PROJCS["WGS_1984_Web_Mercator_Auxiliary_Sphere",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Mercator_Auxiliary_Sphere"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",0.0],PARAMETER["Auxiliary_Sphere_Type",0.0],UNIT["Meter",1.0]]"#,
            ),
            (
                2154,
                r#"PROJCS["RGF_1993_Lambert_93",GEOGCS["GCS_RGF_1993",DATUM["D_RGF_1993",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Lambert_Conformal_Conic"],PARAMETER["False_Easting",700000.0],PARAMETER["False_Northing",6600000.0],PARAMETER["Central_Meridian",3.0],PARAMETER["Standard_Parallel_1",49.0],PARAMETER["Standard_Parallel_2",44.0],PARAMETER["Latitude_Of_Origin",46.5],UNIT["Meter",1.0]]"#,
            ),
            (
                27572,
                r#"PROJCS["NTF_Paris_Lambert_Zone_II",GEOGCS["GCS_NTF_Paris",DATUM["D_NTF",SPHEROID["Clarke_1880_IGN",6378249.2,293.466021293627]],PRIMEM["Paris",2.33722917],UNIT["Grad",0.0157079632679489]],PROJECTION["Lambert_Conformal_Conic"],PARAMETER["False_Easting",600000.0],PARAMETER["False_Northing",2200000.0],PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",52.0],PARAMETER["Scale_Factor",0.99987742],PARAMETER["Latitude_Of_Origin",52.0],UNIT["Meter",1.0]]"#,
            ),
            (
                2056,
                r#"PROJCS["CH1903+_LV95",GEOGCS["GCS_CH1903+",DATUM["D_CH1903+",SPHEROID["Bessel_1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Hotine_Oblique_Mercator_Azimuth_Center"],PARAMETER["False_Easting",2600000.0],PARAMETER["False_Northing",1200000.0],PARAMETER["Scale_Factor",1.0],PARAMETER["Azimuth",90.0],PARAMETER["Longitude_Of_Center",7.43958333333333],PARAMETER["Latitude_Of_Center",46.9524055555556],UNIT["Meter",1.0]]"#,
            ),
            (
                29873,
                r#"PROJCS["Timbalai_1948_RSO_Borneo_Meters",GEOGCS["GCS_Timbalai_1948",DATUM["D_Timbalai_1948",SPHEROID["Everest_Definition_1967",6377298.556,300.8017]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Rectified_Skew_Orthomorphic_Center"],PARAMETER["False_Easting",590476.87],PARAMETER["False_Northing",442857.65],PARAMETER["Scale_Factor",0.99984],PARAMETER["Azimuth",53.3158204722222],PARAMETER["Longitude_Of_Center",115.0],PARAMETER["Latitude_Of_Center",4.0],PARAMETER["XY_Plane_Rotation",53.1301023611111],UNIT["Meter",1.0]]"#,
            ),
            (
                31287,
                r#"PROJCS["MGI_Austria_Lambert",GEOGCS["GCS_MGI",DATUM["D_MGI",SPHEROID["Bessel_1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Lambert_Conformal_Conic"],PARAMETER["False_Easting",400000.0],PARAMETER["False_Northing",400000.0],PARAMETER["Central_Meridian",13.3333333333333],PARAMETER["Standard_Parallel_1",49.0],PARAMETER["Standard_Parallel_2",46.0],PARAMETER["Latitude_Of_Origin",47.5],UNIT["Meter",1.0]]"#,
            ),
            (
                3857,
                r#"PROJCS["WGS 84 / Pseudo-Mercator",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Mercator_1SP"],PARAMETER["central_meridian",0],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1],AXIS["Easting",EAST],AXIS["Northing",NORTH],EXTENSION["PROJ4","+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m +nadgrids=@null +wktext +no_defs"]]"#,
            ),
            (
                2056,
                r#"PROJCRS["CH1903+ / LV95",BASEGEOGCRS["CH1903+",DATUM["CH1903+",ELLIPSOID["Bessel 1841",6377397.155,299.1528128,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["Swiss Oblique Mercator 1995",METHOD["Hotine Oblique Mercator (variant B)"],PARAMETER["Latitude of projection centre",46.9524055555556,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Longitude of projection centre",7.43958333333333,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Azimuth of initial line",90,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Angle from Rectified to Skew Grid",90,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Scale factor on initial line",1,SCALEUNIT["unity",1]],PARAMETER["Easting at projection centre",2600000,LENGTHUNIT["metre",1]],PARAMETER["Northing at projection centre",1200000,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["(E)",east,ORDER[1],LENGTHUNIT["metre",1]],AXIS["(N)",north,ORDER[2],LENGTHUNIT["metre",1]]]"#,
            ),
            (
                3375,
                r#"PROJCS["GDM_2000_MRSO_Peninsular_Malaysia",GEOGCS["GCS_GDM_2000",DATUM["D_GDM_2000",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Rectified_Skew_Orthomorphic_Natural_Origin"],PARAMETER["False_Easting",804671.0],PARAMETER["False_Northing",0.0],PARAMETER["Scale_Factor",0.99984],PARAMETER["Azimuth",-36.9742035333334],PARAMETER["Longitude_Of_Center",102.25],PARAMETER["Latitude_Of_Center",4.0],PARAMETER["XY_Plane_Rotation",-36.8698976388889],UNIT["Meter",1.0]]"#,
            ),
            (
                5514,
                r#"PROJCS["S-JTSK_Krovak_East_North",GEOGCS["GCS_S_JTSK",DATUM["D_S_JTSK",SPHEROID["Bessel_1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Krovak"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Pseudo_Standard_Parallel_1",78.5],PARAMETER["Scale_Factor",0.9999],PARAMETER["Azimuth",30.28813975277778],PARAMETER["Longitude_Of_Center",24.83333333333333],PARAMETER["Latitude_Of_Center",49.5],PARAMETER["X_Scale",-1.0],PARAMETER["Y_Scale",1.0],PARAMETER["XY_Plane_Rotation",90.0],UNIT["Meter",1.0]]"#,
            ),
            (
                5514,
                r#"PROJCS["S-JTSK / Krovak East North",GEOGCS["S-JTSK",DATUM["System_of_the_Unified_Trigonometrical_Cadastral_Network",SPHEROID["Bessel 1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Krovak"],PARAMETER["latitude_of_center",49.5],PARAMETER["longitude_of_center",24.8333333333333],PARAMETER["azimuth",30.2881397527778],PARAMETER["pseudo_standard_parallel_1",78.5],PARAMETER["scale_factor",0.9999],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1],AXIS["Easting",EAST],AXIS["Northing",NORTH]]"#,
            ),
            (
                5514,
                r#"PROJCRS["S-JTSK / Krovak East North",BASEGEOGCRS["S-JTSK",DATUM["System of the Unified Trigonometrical Cadastral Network",ELLIPSOID["Bessel 1841",6377397.155,299.1528128,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["Krovak East North (Greenwich)",METHOD["Krovak (North Orientated)"],PARAMETER["Latitude of projection centre",49.5,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Longitude of origin",24.8333333333333,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Co-latitude of cone axis",30.2881397527778,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Latitude of pseudo standard parallel",78.5,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Scale factor on pseudo standard parallel",0.9999,SCALEUNIT["unity",1]],PARAMETER["False easting",0,LENGTHUNIT["metre",1]],PARAMETER["False northing",0,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["easting (X)",east,ORDER[1],LENGTHUNIT["metre",1]],AXIS["northing (Y)",north,ORDER[2],LENGTHUNIT["metre",1]]]"#,
            ),
            (
                6933,
                r#"PROJCS["WGS_1984_EASE-Grid_2.0_Global",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Behrmann"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",30.0],UNIT["Meter",1.0]]"#,
            ),
            (
                3832,
                r#"PROJCS["WGS_1984_PDC_Mercator",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Mercator"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",150.0],PARAMETER["Standard_Parallel_1",0.0],UNIT["Meter",1.0]]"#,
            ),
        ];
        for (code, text) in all {
            let own = Crs::from_wkt(text).unwrap();
            assert_eq!(own.epsg(), None);
            for (other, _) in all {
                let listed = Crs::parse(&format!("EPSG:{other}")).unwrap();
                match other == code {
                    true => assert_eq!(listed.compare(&own), Ok(None), "{text}"),
                    false => assert!(!listed.same_as(&own), "EPSG:{other} and {text}"),
                }
            }
        }
        // Another meridian, and another angle of the grid.
        let text = all[2].1.replace("2.33722917", "0");
        assert!(Crs::from_wkt(&text).unwrap().compare(&Crs::parse("EPSG:27572").unwrap()).is_err());
        let text = all[4].1.replace("53.1301023611111", "53");
        assert!(Crs::from_wkt(&text).unwrap().compare(&Crs::parse("EPSG:29873").unwrap()).is_err());
    }

    /// A system of keys: numbers of 16 and of 64 bits, and texts.
    fn of_keys(shorts: &[[u16; 2]], doubles: &[(u16, f64)], texts: &[(u16, &str)]) -> Crs {
        let mut entries: Vec<[u16; 4]> = shorts.iter().map(|&[k, v]| [k, 0, 1, v]).collect();
        for (i, (key, _)) in doubles.iter().enumerate() {
            entries.push([*key, DOUBLES_TAG, 1, i as u16]);
        }
        let mut ascii = String::new();
        for (key, text) in texts {
            entries.push([*key, ASCII_TAG, text.len() as u16, ascii.len() as u16]);
            ascii += text;
        }
        entries.sort_unstable();
        let directory = [&[1, 1, 0, entries.len() as u16], entries.as_flattened()].concat();
        let doubles = doubles.iter().map(|(_, value)| *value).collect();
        Crs::from_geokeys(GeoKeys { directory, doubles, ascii }).unwrap().unwrap()
    }

    const GRS_80: [(u16, f64); 2] = [(2057, 6_378_137.0), (2059, 298.257_222_101)];

    /// As GDAL writes systems of the list without their codes.
    #[test]
    fn keys_that_state_a_datum_are_compared_by_it() {
        let listed = |code: &str| Crs::parse(code).unwrap();
        let user = USER_DEFINED;
        let words = [(2049, "GCS Name = NAD83(HARN)|Ellipsoid = GRS 1980|Primem = Greenwich||")];
        let washington = of_keys(
            &[
                [MODEL_TYPE, 1],
                [GEOGRAPHIC_TYPE, user],
                [2050, 6152],
                [2054, 9102],
                [PROJECTED_TYPE, user],
                [3075, 8],
                [LINEAR_UNITS, 9003],
            ],
            &[
                &GRS_80[..],
                &[
                    (2061, 0.0),
                    (3078, 47.333_333_333_333_3),
                    (3079, 45.833_333_333_333_3),
                    (3084, -120.5),
                    (3085, 45.333_333_333_333_3),
                    (3086, 1_640_416.667),
                    (3087, 0.0),
                ],
            ]
            .concat(),
            &words,
        );
        assert_eq!(washington.compare(&listed("EPSG:2927")), Ok(None));
        assert_eq!(washington.to_string(), "NAD83(HARN) (user-defined)");
        for other in ["EPSG:2926", "EPSG:2286", "EPSG:4152"] {
            assert!(!washington.same_as(&listed(other)), "{other}");
        }
        let utm = [
            [MODEL_TYPE, 1],
            [GEOGRAPHIC_TYPE, user],
            [2050, 6258],
            [PROJECTED_TYPE, user],
            [3074, 16032],
        ];
        assert_eq!(of_keys(&utm, &GRS_80, &[]).epsg(), Some(25832));
        let degrees = [[MODEL_TYPE, 2], [GEOGRAPHIC_TYPE, user], [2054, 9102]];
        let named = of_keys(&degrees, &GRS_80, &[(2049, "GCS Name = x|Datum = D_RGF_1993||")]);
        assert_eq!(named.compare(&listed("EPSG:4171")), Ok(None));
        assert!(!named.same_as(&listed("EPSG:4258")) && named.to_string() == "x (user-defined)");
        // Heights whose unit is in their name alone.
        let feet = of_keys(
            &[[MODEL_TYPE, 1], [PROJECTED_TYPE, 26910]],
            &[],
            &[(4097, "NAVD88 height (ftUS)|")],
        );
        assert_eq!(feet.compare(&listed("EPSG:26910+6360")), Ok(None));
    }

    #[test]
    fn keys_that_state_a_projection_are_compared_by_it() {
        let listed = |code: &str| Crs::parse(code).unwrap();
        let user = USER_DEFINED;
        // A zone of UTM on another datum, which has a code alone.
        let brazil = [
            [MODEL_TYPE, 1],
            [GEOGRAPHIC_TYPE, user],
            [2050, 6618],
            [2054, 9102],
            [PROJECTED_TYPE, user],
            [3074, 16123],
            [LINEAR_UNITS, 9001],
        ];
        let brazil = of_keys(&brazil, &[(2057, 6_378_160.0), (2059, 298.25), (2061, 0.0)], &[]);
        assert_eq!(brazil.compare(&listed("EPSG:29193")), Ok(None));
        for other in ["EPSG:29192", "EPSG:31983", "EPSG:4618"] {
            assert!(!brazil.same_as(&listed(other)), "{other}");
        }
        let oblique = |datum: u16, method: u16, doubles: &[(u16, f64)]| {
            let shorts = [
                [MODEL_TYPE, 1],
                [GEOGRAPHIC_TYPE, user],
                [2050, datum],
                [2054, 9102],
                [PROJECTED_TYPE, user],
                [3075, method],
                [LINEAR_UNITS, 9001],
            ];
            of_keys(&shorts, doubles, &[])
        };
        let malaysia = [
            (3082, 804_671.0),
            (3083, 0.0),
            (3088, 102.25),
            (3089, 4.0),
            (3093, 0.99984),
            (3094, 323.025_796_466_667),
            (3096, 323.130_102_361_111),
        ];
        let malaysia = [&GRS_80[..], &malaysia].concat();
        let peninsula = oblique(6742, 3, &malaysia);
        assert_eq!(peninsula.compare(&listed("EPSG:3375")), Ok(None));
        // Another point from which eastings count, and another island.
        assert!(!oblique(6742, 9815, &malaysia).same_as(&listed("EPSG:3375")));
        assert!(!peninsula.same_as(&listed("EPSG:3376")));
    }

    #[test]
    fn longitudes_and_latitudes_are_the_same_with_a_third_dimension() {
        let listed = |code: &str| Crs::parse(code).unwrap();
        assert_eq!(listed("EPSG:4326").compare(&listed("EPSG:4979")), Ok(None));
        // As GDAL writes it.
        let directory = [
            1,
            1,
            1,
            3,
            MODEL_TYPE,
            0,
            1,
            2,
            GEOGRAPHIC_TYPE,
            0,
            1,
            4326,
            VERTICAL_TYPE,
            0,
            1,
            4979,
        ];
        let keys = GeoKeys { directory: directory.to_vec(), ..GeoKeys::default() };
        let by_keys = Crs::from_geokeys(keys).unwrap().unwrap();
        assert!(by_keys.same_as(&listed("EPSG:4979")) && !by_keys.same_as(&listed("EPSG:4937")));
        for other in ["EPSG:4269", "EPSG:4258", "EPSG:4807", "EPSG:4937"] {
            assert!(!listed("EPSG:4979").same_as(&listed(other)), "{other}");
        }
    }

    #[test]
    fn a_code_of_another_kind_than_the_definition_is_none() {
        let wkt = crs_definitions::from_code(26910).unwrap().wkt;
        let end = wkt.rfind("AUTHORITY").unwrap();
        let with = |code: u16| {
            Crs::from_wkt(&format!("{}AUTHORITY[\"EPSG\",\"{code}\"]]", &wkt[..end])).unwrap()
        };
        let (own, false_one) = (with(26910), with(4326));
        assert_eq!((own.epsg(), false_one.epsg()), (Some(26910), None));
        assert!(!false_one.is_geographic() && false_one.same_as(&own));
        let again = Crs::from_geokeys(false_one.geokeys()).unwrap().unwrap();
        assert!(again.same_as(&own) && again.epsg().is_none(), "{again:?}");
    }

    #[test]
    fn keys_have_the_model_of_their_code() {
        let keys = |entries: &[[u16; 4]]| GeoKeys {
            directory: [&[1, 1, 0, entries.len() as u16], entries.as_flattened()].concat(),
            ..GeoKeys::default()
        };
        let [utm, degrees] =
            [(PROJECTED_TYPE, 26910), (GEOGRAPHIC_TYPE, 4326)].map(|(key, code)| [key, 0, 1, code]);
        let [projected, geographic] = [1, 2].map(|model| [MODEL_TYPE, 0, 1, model]);
        for (given, model, key, code) in [
            (&[projected, [PROJECTED_TYPE, 0, 1, 4326]][..], 2, GEOGRAPHIC_TYPE, 4326),
            (&[geographic, [GEOGRAPHIC_TYPE, 0, 1, 26910]][..], 1, PROJECTED_TYPE, 26910),
            (&[degrees][..], 2, GEOGRAPHIC_TYPE, 4326),
            (&[utm][..], 1, PROJECTED_TYPE, 26910),
            (&[projected, degrees, utm][..], 1, PROJECTED_TYPE, 26910),
        ] {
            let crs = Crs::from_geokeys(keys(given)).unwrap().unwrap();
            assert_eq!((crs.epsg(), crs.is_geographic()), (Some(code), model == 2), "{given:?}");
            let metres = (model == 1).then_some(1.0);
            assert_eq!(crs.metres_per_unit(), metres, "{given:?}");
            let written = crs.geokeys();
            assert_eq!(written.short(MODEL_TYPE), Some(model), "{given:?}");
            assert_eq!(written.short(key), Some(code), "{given:?}");
            let numbers: Vec<u16> = written.directory[4..].chunks(4).map(|e| e[0]).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
        }
        // A chain of 66 feet.
        let chain = keys(&[projected, utm, [LINEAR_UNITS, 0, 1, 9097]]);
        let chain = Crs::from_geokeys(chain).unwrap().unwrap();
        assert_eq!(chain.metres_per_unit(), Some(66.0 * 0.3048));
    }

    #[test]
    fn another_unit_beside_a_code_is_another_system() {
        let keys = |unit| GeoKeys {
            directory: vec![1, 1, 0, 2, PROJECTED_TYPE, 0, 1, 26910, LINEAR_UNITS, 0, 1, unit],
            ..GeoKeys::default()
        };
        let [metres, feet] =
            [9001, 9002].map(|unit| Crs::from_geokeys(keys(unit)).unwrap().unwrap());
        assert!(metres.compare(&feet).unwrap_err().contains("0.3048"));
    }

    /// As GDAL writes the systems of the list in other forms.
    #[test]
    fn what_writers_leave_to_a_name_or_a_unit_counts() {
        let sphere = r#"DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]"#;
        let mercator = |name: &str| {
            let text = format!(
                r#"PROJCS["{name}",GEOGCS["WGS 84",{sphere}],PROJECTION["Mercator_1SP"],PARAMETER["central_meridian",0],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]"#
            );
            Crs::from_wkt(&text).unwrap()
        };
        let listed = |code: &str| Crs::parse(code).unwrap();
        let (of_maps, of_ships) =
            (mercator("WGS 84 / Pseudo-Mercator"), mercator("WGS 84 / World Mercator"));
        assert!(of_maps.same_as(&listed("EPSG:3857")) && !of_maps.same_as(&listed("EPSG:3395")));
        assert!(of_ships.same_as(&listed("EPSG:3395")) && !of_ships.same_as(&of_maps));

        let polar = |pole: &str, parallel: f64, meridian: f64| {
            let text = format!(
                r#"PROJCS["p",GEOGCS["GCS_WGS_1984",{sphere}],PROJECTION["Stereographic_{pole}_Pole"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",{meridian:?}],PARAMETER["Standard_Parallel_1",{parallel:?}],UNIT["Meter",1.0]]"#
            );
            Crs::from_wkt(&text).unwrap()
        };
        assert!(polar("South", -71.0, 0.0).same_as(&listed("EPSG:3031")));
        assert!(polar("North", 70.0, -45.0).same_as(&listed("EPSG:3413")));
        assert!(!polar("North", 71.0, -45.0).same_as(&listed("EPSG:3413")));
        assert!(!polar("North", 70.0, 0.0).same_as(&listed("EPSG:3413")));

        // Clarke's feet.
        let ellipsoid = |size: &str| {
            let text = format!(
                r#"GEOGCRS["Trinidad 1903",DATUM["Trinidad 1903",ELLIPSOID["Clarke 1858",{size}]],CS[ellipsoidal,2],AXIS["latitude",north],AXIS["longitude",east],ANGLEUNIT["degree",0.0174532925199433]]"#
            );
            Crs::from_wkt(&text).unwrap()
        };
        let feet = ellipsoid(
            r#"20926348,294.260676369261,LENGTHUNIT["Clarke's foot",0.3047972654,ID["EPSG",9005]]"#,
        );
        let metres = ellipsoid("6378293.64520876,294.260676369261");
        assert_eq!(feet.compare(&metres), Ok(None));
        assert!((feet.equatorial_radius().unwrap() - 6_378_293.645).abs() < 1e-3);
    }

    #[test]
    fn vertical_parts_are_compared_by_code_else_by_datum_and_unit() {
        let utm = crs_definitions::from_code(26910).unwrap().wkt;
        let with =
            |heights: &str| Crs::from_wkt(&format!("COMPD_CS[\"c\",{utm},{heights}]")).unwrap();
        let named = |name: &str, datum: &str, unit: &str| {
            with(&format!("VERT_CS[\"{name}\",VERT_DATUM[\"{datum}\",2005],UNIT[{unit}]]"))
        };
        let metres = [
            Crs::parse("EPSG:26910+5703").unwrap(),
            with(r#"VERT_CS["x",VERT_DATUM["y",2005],UNIT["metre",1],AUTHORITY["EPSG","5703"]]"#),
            named("NAVD88 height", "North American Vertical Datum 1988", r#""metre",1"#),
            with(
                r#"VERTCS["NAVD_1988",VDATUM["North_American_Vertical_Datum_1988"],PARAMETER["Vertical_Shift",0.0],UNIT["Meter",1.0]]"#,
            ),
            named("NAVD88 - Geoid12B (metres)", "unknown", r#""metre",1"#),
        ];
        for one in &metres {
            assert_eq!(one.vertical_epsg(), Some(5703), "{one:?}");
            assert!(metres.iter().all(|other| one.compare(other) == Ok(None)), "{one:?}");
        }
        let feet = named(
            "NAVD88 height (ftUS)",
            "North American Vertical Datum 1988",
            r#""US survey foot",0.304800609601219"#,
        );
        assert_eq!(
            (feet.vertical_epsg(), feet.to_string().as_str()),
            (Some(6360), "EPSG:26910+6360")
        );
        assert!(metres[0].compare(&feet).unwrap_err().contains("a unit of height"));
        assert!(
            metres[0]
                .compare(&Crs::parse("EPSG:26910+5773").unwrap())
                .unwrap_err()
                .contains("EPSG:5773")
        );
        // What no list has is kept by its name and its unit.
        let own = named("harbour", "tide gauge", r#""foot",0.3048"#);
        assert_eq!((own.vertical_epsg(), own.metres_per_height()), (None, Some(0.3048)));
        assert_eq!(own.to_string(), "EPSG:26910 + harbour");
        let again = Crs::from_geokeys(own.geokeys()).unwrap().unwrap();
        assert_eq!((again.compare(&own), again.metres_per_height()), (Ok(None), Some(0.3048)));
        assert!(own.compare(&metres[0]).is_err());
    }

    #[test]
    fn local_systems_have_the_units_that_they_state() {
        for (text, metres) in [
            (r#"LOCAL_CS["site",UNIT["US survey foot",0.3048006096]]"#, 0.304_800_609_6),
            (r#"LOCAL_CS["site",LOCAL_DATUM["d",0],UNIT["foot",0.3048],AXIS["e",EAST]]"#, 0.3048),
            (
                r#"ENGCRS["site",EDATUM["d"],CS[Cartesian,2],AXIS["e",east],LENGTHUNIT["foot",0.3048]]"#,
                0.3048,
            ),
        ] {
            let crs = Crs::from_wkt(text).unwrap();
            assert_eq!(
                (crs.metres_per_unit(), crs.is_geographic()),
                (Some(metres), false),
                "{text}"
            );
            let again = Crs::from_geokeys(crs.geokeys()).unwrap().unwrap();
            assert_eq!(
                (again.metres_per_unit(), again.compare(&crs)),
                (Some(metres), Ok(None)),
                "{text}"
            );
            let other = Crs::from_wkt(&text.replace("site", "other")).unwrap();
            assert!(
                other.compare(&crs).is_err() && !crs.same_as(&Crs::parse("EPSG:26910").unwrap())
            );
        }
    }
}
