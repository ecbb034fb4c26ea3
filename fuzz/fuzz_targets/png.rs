//! PNG as values and as a mask.
#![no_main]

use geo_io::{SiteValues, read_mask, read_raster};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = tessera_fuzz::file("input.png", bytes);
    let (raster, mask) = (read_raster(&path, None), read_mask(&path, &SiteValues::default()));
    if let (Ok(raster), Ok(mask)) = (raster, mask) {
        assert_eq!((raster.width, raster.height), (mask.width, mask.height));
        assert_eq!(mask.sites.len(), mask.width * mask.height);
    }
});
