//! Zarr stores as inputs of one file: which of a store's files there are, and what they hold.

use std::path::PathBuf;

use crate::empty_folder;

/// The files that a store may have. An input names them by their place in this list.
pub const ZARR_FILES: [&str; 16] = [
    "zarr.json",
    "dem/zarr.json",
    "dem/c/0/0",
    "dem/c/0/1",
    "dem/c/1/0",
    "dem/c/1/1",
    "dem/c/0/0/0",
    "dem/0.0",
    "c/0/0",
    "spatial_ref/zarr.json",
    "x/zarr.json",
    "x/c/0",
    "x/c/1",
    "y/zarr.json",
    "y/c/0",
    "y/c/1",
];

/// Joins a store's files, each with its place in [`ZARR_FILES`] and its length before it.
pub fn join_zarr<'a>(files: impl IntoIterator<Item = (u8, &'a [u8])>) -> Vec<u8> {
    let join = |(place, bytes): (u8, &[u8])| {
        let length = (bytes.len() as u16).to_le_bytes();
        [&[place][..], &length, bytes].concat()
    };
    files.into_iter().flat_map(join).collect()
}

/// Writes the files of an input as a store, and returns its path. The last file may be shorter than its length says.
pub fn zarr(mut input: &[u8]) -> PathBuf {
    let store = empty_folder("input.zarr");
    while let Some((&[place, low, high], rest)) = input.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (bytes, next) = rest.split_at(length);
        let path = store.join(ZARR_FILES[usize::from(place) % ZARR_FILES.len()]);
        let folder = path.parent().expect("a file is in a folder");
        // Of a chunk and a folder of chunks with one name, the first that comes is there.
        if std::fs::create_dir_all(folder).is_ok() && !path.is_dir() {
            std::fs::write(&path, bytes).expect("a file of the store is written");
        }
        input = next;
    }
    store
}
