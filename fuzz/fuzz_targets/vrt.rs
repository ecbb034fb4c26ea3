//! Virtual rasters of `source.npy`, of `source.asc` and of themselves: whole, and by windows, which must say the same.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

/// The sources, beside which each input lies.
static SOURCES: LazyLock<()> = LazyLock::new(|| {
    let array = tessera_fuzz::file("source.npy", b"");
    let values: Vec<i16> = (0..20 * 12).collect();
    geo_io::write_npy(array.as_path(), &values, 20, 12).expect("a source is written");
    tessera_fuzz::file(
        "source.asc",
        b"ncols 2 nrows 2 xllcorner 0 yllcorner 0 cellsize 1 1 2.5 3 4",
    );
});

fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&SOURCES);
    let path = tessera_fuzz::file("input.vrt", bytes);
    tessera_fuzz::read_in_parts(&path);
});
