//! TIFF as values and as a mask: whole, and by windows, which must say the same.
#![no_main]

use geo_io::{MaskFile, SiteValues, ValuesFile, read_mask, read_raster};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = tessera_fuzz::file("input.tif", bytes);
    let whole = read_raster(&path, None);
    if let (Ok(whole), Ok(file)) = (&whole, ValuesFile::open(&path)) {
        assert_eq!((whole.width, whole.height), file.size());
        let window = file.window(0..whole.height, 0..whole.width);
        if let Ok(window) = window {
            // Bytes, since NaN differs from itself.
            assert_eq!(format!("{:?}", whole.values), format!("{window:?}"));
        }
    }
    let sites = SiteValues::default();
    let whole = read_mask(&path, &sites);
    if let (Ok(whole), Ok(file)) = (&whole, MaskFile::open(&path)) {
        assert_eq!((whole.width, whole.height), file.size());
        if let Ok(window) = file.window(0..whole.height, 0..whole.width, &sites) {
            assert_eq!(whole.sites, window.sites);
        }
    }
});
