//! Reference systems as people type them and as files state them.
#![no_main]

use geo_io::Crs;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let json = serde_json::from_str(text).ok();
    let of_json = json.and_then(|json| Crs::from_projjson(&json));
    for crs in [Crs::parse(text).ok(), Crs::from_wkt(text), of_json].into_iter().flatten() {
        let _ = (crs.epsg(), crs.vertical_epsg(), crs.is_geographic(), crs.is_geocentric());
        let units = [crs.metres_per_unit(), crs.metres_per_height()];
        assert!(units.into_iter().flatten().all(|metres| metres > 0.0 && metres.is_finite()));
        let _ = Crs::from_geokeys(crs.geokeys());
        let _ = crs.projjson().map(|json| Crs::from_projjson(&json));
    }
});
