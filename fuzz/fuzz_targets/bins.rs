//! Runs of bins whose checksums are right.
#![no_main]

use geo_io::Bins;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let folder = tessera_fuzz::empty_folder("bins");
    let mut bytes = bytes.to_vec();
    let _ = tessera_fuzz::seal_bins(&mut bytes);
    std::fs::write(folder.join("0.points"), &bytes).expect("an input is written");
    if let Ok(Some(bins)) = Bins::open(&folder, "fuzz") {
        let bounds = gpu_core::Bounds { min_x: 0.0, min_y: 0.0, max_x: 10.0, max_y: 10.0 };
        let _ = bins.read(&bounds, &gpu_core::Silent);
        let _ = bins.read_range(0..bins.points(), &gpu_core::Silent);
    }
});
