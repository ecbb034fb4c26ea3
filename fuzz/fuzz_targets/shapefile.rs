//! Shapefiles: points, shapes and lines.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first two bytes divide the input into shapes and fields.
    let Some((&[low, high], bytes)) = bytes.split_first_chunk() else { return };
    let shapes = usize::from(u16::from_le_bytes([low, high])).min(bytes.len());
    let (shapes, fields) = bytes.split_at(shapes);
    let path = tessera_fuzz::file("input.shp", shapes);
    tessera_fuzz::file("input.dbf", fields);
    tessera_fuzz::read_table(&path);
});
