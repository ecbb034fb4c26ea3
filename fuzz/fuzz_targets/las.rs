//! LAS, LAZ and COPC: the header, all points, points of a window, and batches.
#![no_main]

use geo_io::{CsvColumns, Filter, read_batches, read_header, read_points};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let name = if kind % 2 == 0 { "input.las" } else { "input.laz" };
    let path = tessera_fuzz::file(name, bytes);
    let columns = CsvColumns::default();
    let _ = read_header(&path);
    let whole = read_points(&path, &Filter::default(), &columns, &());
    if let Ok(whole) = &whole {
        assert_eq!(whole.x.len() as u64, whole.tally.kept);
        assert!(whole.x.len() == whole.y.len() && whole.x.len() == whole.z.len());
    }
    let bounds = gpu_core::Bounds { min_x: 0.0, min_y: 0.0, max_x: 100.0, max_y: 100.0 };
    let within = Filter { bounds: Some(bounds), ..Default::default() };
    let _ = read_points(&path, &within, &columns, &());
    let mut points = 0;
    let mut take = |batch: &geo_io::PointCloud| {
        points += batch.x.len() as u64;
        Ok(())
    };
    let batches = read_batches(&path, &Filter::default(), &columns, 1 << 16, &(), &mut take);
    if let (Ok(whole), Ok(_)) = (whole, batches) {
        assert_eq!(points, whole.tally.kept, "batches have other points than the whole");
    }
});
