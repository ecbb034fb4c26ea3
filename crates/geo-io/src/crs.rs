//! Coordinate systems, as far as files carry them.
//!
//! Nothing is transformed here: what a point file says of its coordinate system goes into the raster.

use std::fmt;

use geotiff_writer::{GeoKeyValue, GeoTiffBuilder};
use las::crs::{GeoTiffData, GeoTiffKeyEntry};

use crate::{Error, Result};

/// A coordinate system.
#[derive(Clone, Debug)]
pub enum Crs {
    /// A code of the EPSG registry.
    Epsg {
        /// The code.
        code: u16,
        /// Whether its coordinates are longitudes and latitudes.
        is_geographic: bool,
    },
    /// The GeoTIFF keys of a point file, carried over as they are.
    GeoKeys(Vec<GeoTiffKeyEntry>),
    /// Well-known text without an EPSG code.
    Wkt(String),
}

/// GeoTIFF keys that a raster states itself, whatever the point file says.
const RASTER_TYPE: u16 = 1025;
const PIXEL_IS_AREA: u16 = 1;
const MODEL_TYPE: u16 = 1024;
const MODEL_PROJECTED: u16 = 1;
const MODEL_GEOGRAPHIC: u16 = 2;
const PROJECTED_CRS: u16 = 3072;
const PROJECTED_CITATION: u16 = 3073;
const GEODETIC_CRS: u16 = 2048;
const USER_DEFINED: u16 = 32767;

impl Crs {
    /// The coordinate system named by `EPSG:N`.
    ///
    /// # Errors
    /// [`Error::UnknownCrs`] where the form is another or the registry has no such code.
    pub fn parse(text: &str) -> Result<Self> {
        let unknown = || Error::UnknownCrs { text: text.to_owned() };
        let prefix = text.get(..5).filter(|prefix| prefix.eq_ignore_ascii_case("EPSG:"));
        let number = prefix.map(|_| &text[5..]).ok_or_else(unknown)?;
        Self::of_code(number.parse().map_err(|_| unknown())?).ok_or_else(unknown)
    }

    fn of_code(code: u16) -> Option<Self> {
        let definition = crs_definitions::from_code(code)?;
        let is_geographic = definition.wkt.starts_with("GEOGCS");
        Some(Self::Epsg { code, is_geographic })
    }

    /// The coordinate system of a point file's header, if it has one that can be read.
    pub(crate) fn of_las(header: &las::Header) -> Option<Self> {
        if let Some(bytes) = header.get_wkt_crs_bytes() {
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim_end_matches('\0').trim();
            if !text.is_empty() {
                let known = outermost_code(text).and_then(Self::of_code);
                return Some(known.unwrap_or_else(|| Self::Wkt(text.to_owned())));
            }
        }
        let keys = header.get_geotiff_crs().ok().flatten()?.entries;
        let code_of = |id: u16| {
            keys.iter().find(|key| key.id == id).and_then(|key| match key.data {
                GeoTiffData::U16(code) if code != USER_DEFINED => Some(code),
                _ => None,
            })
        };
        let known = code_of(PROJECTED_CRS).or_else(|| match code_of(MODEL_TYPE) {
            Some(MODEL_GEOGRAPHIC) => code_of(GEODETIC_CRS),
            _ => None,
        });
        Some(known.and_then(Self::of_code).unwrap_or(Self::GeoKeys(keys)))
    }

    /// Well-known text for a LAS header; none for GeoTIFF keys.
    pub(crate) fn wkt(&self) -> Option<&str> {
        match self {
            Self::Epsg { code, .. } => crs_definitions::from_code(*code).map(|d| d.wkt),
            Self::Wkt(text) => Some(text),
            Self::GeoKeys(_) => None,
        }
    }

    /// Writes the keys of a GeoTIFF.
    pub(crate) fn put(&self, tiff: GeoTiffBuilder) -> GeoTiffBuilder {
        let tiff = tiff.geokey(RASTER_TYPE, GeoKeyValue::Short(PIXEL_IS_AREA));
        match self {
            Self::Epsg { code, is_geographic } => {
                let (model, key) = match is_geographic {
                    true => (MODEL_GEOGRAPHIC, GEODETIC_CRS),
                    false => (MODEL_PROJECTED, PROJECTED_CRS),
                };
                tiff.geokey(MODEL_TYPE, GeoKeyValue::Short(model))
                    .geokey(key, GeoKeyValue::Short(*code))
            }
            Self::GeoKeys(keys) => keys
                .iter()
                .filter(|key| key.id != RASTER_TYPE)
                .fold(tiff, |tiff, key| tiff.geokey(key.id, value_of(&key.data))),
            // GDAL's way to keep text that has no keys.
            Self::Wkt(text) => tiff
                .geokey(MODEL_TYPE, GeoKeyValue::Short(MODEL_PROJECTED))
                .geokey(PROJECTED_CRS, GeoKeyValue::Short(USER_DEFINED))
                .geokey(PROJECTED_CITATION, GeoKeyValue::Ascii(format!("ESRI PE String = {text}"))),
        }
    }
}

fn value_of(data: &GeoTiffData) -> GeoKeyValue {
    match data {
        GeoTiffData::U16(value) => GeoKeyValue::Short(*value),
        GeoTiffData::String(text) => GeoKeyValue::Ascii(text.trim_end_matches('|').to_owned()),
        GeoTiffData::Doubles(values) => GeoKeyValue::Double(values.clone()),
    }
}

/// The EPSG code of a whole well-known text: its own `AUTHORITY["EPSG","N"]` or `ID["EPSG",N]`, not
/// that of a part. A compound system has none: its code would name the heights too.
fn outermost_code(text: &str) -> Option<u16> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
    let open = compact.to_ascii_uppercase();
    let at =
        open.rfind("AUTHORITY[EPSG,").map(|i| i + 15).max(open.rfind("ID[EPSG,").map(|i| i + 8))?;
    let number: String = open[at..].chars().take_while(char::is_ascii_digit).collect();
    // It closes itself and the whole text.
    let is_outermost = &open[at + number.len()..] == "]]";
    let is_compound = open.starts_with("COMPD_CS") || open.starts_with("COMPOUNDCRS");
    if is_outermost && !is_compound { number.parse().ok() } else { None }
}

/// Two systems are the same if they read the same.
impl PartialEq for Crs {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl fmt::Display for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Epsg { code, .. } => write!(f, "EPSG:{code}"),
            Self::GeoKeys(keys) => {
                let citation = keys.iter().find_map(|key| match &key.data {
                    GeoTiffData::String(text) => Some(text.trim_end_matches(['|', '\0'])),
                    _ => None,
                });
                write!(f, "GeoTIFF keys of the file ({})", citation.unwrap_or("no citation"))
            }
            Self::Wkt(text) => {
                let name = text.split('"').nth(1).unwrap_or("unnamed");
                write!(f, "well-known text ({name})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_looked_up() {
        let utm = Crs::parse("EPSG:26910").unwrap();
        assert_eq!(utm, Crs::Epsg { code: 26910, is_geographic: false });
        assert_eq!(Crs::parse("epsg:4326").unwrap(), Crs::Epsg { code: 4326, is_geographic: true });
        assert_eq!(utm.to_string(), "EPSG:26910");
        for bad in ["", "26910", "EPSG:", "EPSG:1", "EPSG:x", "EPSG:99999", "ESRI:102100", "ÄÖÜ:1"]
        {
            assert!(Crs::parse(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn the_outermost_code_of_text_counts() {
        let utm = crs_definitions::from_code(26910).unwrap().wkt;
        assert_eq!(outermost_code(utm), Some(26910));
        assert_eq!(outermost_code(r#"PROJCRS["a",BASEGEOGCRS["b",ID["EPSG",4326]]]"#), None);
        assert_eq!(
            outermost_code(r#"PROJCS["a",GEOGCS["b",AUTHORITY["EPSG","4326"]],UNIT["m",1]]"#),
            None
        );
        assert_eq!(outermost_code(r#"LOCAL_CS["mine"]"#), None);
    }
}
