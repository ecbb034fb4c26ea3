//! LAS, LAZ and COPC: the header, and all points, those of a window, or batches beside all. The first byte says which:
//! each reading builds the decoder's tables anew, which takes most of the time.
#![no_main]

use geo_io::{CsvColumns, Filter, read_batches, read_header, read_points};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let name = if kind % 2 == 0 { "input.las" } else { "input.laz" };
    let path = tessera_fuzz::file(name, bytes);
    let columns = CsvColumns::default();
    let _ = read_header(&path);
    let mut filter = Filter::default();
    if kind >> 1 & 3 == 1 {
        filter.bounds =
            Some(gpu_core::Bounds { min_x: 0.0, min_y: 0.0, max_x: 100.0, max_y: 100.0 });
    }
    let Ok(whole) = read_points(&path, &filter, &columns, &gpu_core::Silent) else { return };
    assert_eq!(whole.x.len() as u64, whole.tally.kept);
    assert!(whole.x.len() == whole.y.len() && whole.x.len() == whole.z.len());
    if kind >> 1 & 3 == 2 {
        let mut points = 0;
        let mut take = |batch: &geo_io::PointCloud| {
            points += batch.x.len() as u64;
            Ok(())
        };
        if read_batches(&path, &filter, &columns, 1 << 16, &gpu_core::Silent, &mut take).is_ok() {
            assert_eq!(points, whole.tally.kept, "batches have other points than the whole");
        }
    }
});
