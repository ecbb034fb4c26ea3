//! Zarr stores: metadata, coordinates, chunks and shards; whole, and by windows, which must say the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = tessera_fuzz::zarr(bytes);
    tessera_fuzz::read_in_parts(&path);
});
