//! Parquet and GeoParquet: points, shapes and lines.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    tessera_fuzz::read_table(&tessera_fuzz::file("input.parquet", bytes));
});
