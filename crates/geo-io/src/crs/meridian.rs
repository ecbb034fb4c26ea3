//! The meridian that longitudes begin at.

use super::wkt::horizontal;
use super::{Crs, Definition};

impl Crs {
    /// Whether longitudes begin at Greenwich: false where the system states another prime meridian, such as that of
    /// Rome (EPSG:4806).
    ///
    /// ```
    /// use geo_io::Crs;
    ///
    /// assert!(Crs::parse("EPSG:4326")?.is_of_greenwich());
    /// assert!(!Crs::parse("EPSG:4806")?.is_of_greenwich());
    /// # Ok::<(), geo_io::Error>(())
    /// ```
    pub fn is_of_greenwich(&self) -> bool {
        let stated = self.text_behind().and_then(|text| {
            let system = horizontal(text)?;
            let base = system.child(&["GEOGCS", "BASEGEOGCRS", "BASEGEODCRS"]);
            base.unwrap_or(system).child(&["PRIMEM", "PRIMEMERIDIAN"])?.number(1)
        });
        let of_keys = || match &self.0 {
            Definition::Keys(keys) => keys.prime_meridian(),
            _ => None,
        };
        stated.or_else(of_keys).is_none_or(|longitude| longitude == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the EPSG list, longitudes of 4806 begin at Rome, of 4807 at Paris, of 4813 at Jakarta.
    #[test]
    fn prime_meridians_are_known_whatever_states_the_system() {
        for (code, expected) in
            [(4326, true), (4258, true), (4806, false), (4807, false), (4813, false), (32632, true)]
        {
            let named = Crs::parse(&format!("EPSG:{code}")).unwrap();
            let by_keys = Crs::from_geokeys(named.geokeys()).unwrap();
            let by_text = named.wkt().and_then(Crs::from_wkt);
            for crs in [Some(named), by_keys, by_text].iter().flatten() {
                assert_eq!(crs.is_of_greenwich(), expected, "{code}: {crs:?}");
            }
        }
        for (key, value, expected) in [(2051, 8901, true), (2051, 8906, false)] {
            let directory = vec![1, 1, 0, 3, 1024, 0, 1, 2, 2048, 0, 1, 32_767, key, 0, 1, value];
            let keys = crate::GeoKeys { directory, ..Default::default() };
            let crs = Crs::from_geokeys(keys).unwrap().unwrap();
            assert_eq!(crs.is_of_greenwich(), expected, "{key} {value}");
        }
    }
}
