//! Points, lines and polygons of GeoJSON, and what quadtrees and the globe make of them.
#![no_main]

use geo_io::{read_features, read_polygons};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = tessera_fuzz::file("input.geojson", bytes);
    let (shapes, polygons) = (read_features(&path), read_polygons(&path));
    if let (Ok(shapes), Ok(polygons)) = (shapes, polygons) {
        assert_eq!(shapes.shapes.len(), polygons.shapes.len());
    }
});
