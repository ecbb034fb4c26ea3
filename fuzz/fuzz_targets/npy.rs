//! NPY and NPZ: whole and by windows, as values and as a mask.
#![no_main]

use geo_io::{SiteValues, ValuesFile, npz_names, read_mask, read_npy, read_npz, read_raster};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    if kind % 2 == 0 {
        let path = tessera_fuzz::file("input.npy", bytes);
        let whole = read_npy(&path);
        let raster = read_raster(&path, None);
        assert!(whole.is_ok() || raster.is_err(), "a raster of an array that cannot be read");
        let _ = read_mask(&path, &SiteValues::default());
        if let (Ok(raster), Ok(file)) = (raster, ValuesFile::open(&path)) {
            assert_eq!((raster.width, raster.height), file.size());
            let _ = file.window(0..raster.height, 0..raster.width);
        }
    } else {
        let path = tessera_fuzz::file("input.npz", bytes);
        for name in npz_names(&path).unwrap_or_default() {
            let _ = read_npz(&path, Some(&name));
        }
        let _ = read_raster(&path, None);
        let _ = read_mask(&path, &SiteValues::default());
    }
});
