//! What must hold of a raster that is read in parts, whichever format it has.

use std::path::Path;

use geo_io::{MaskFile, SiteValues, ValuesFile, read_mask, read_place, read_raster};

use crate::LIMIT;

/// Returns whether a raster takes no more than its share of the target's memory. A sparse file of a few bytes may be of
/// any size, and a block in the file may be as large as its codec can pack. Either may take all of the machine's
/// memory.
fn is_small(file: &ValuesFile) -> bool {
    let (width, height) = file.size();
    let values = (width as u64).saturating_mul(height as u64).saturating_mul(file.value_bytes());
    values.saturating_add(file.unpacking_bytes()) <= LIMIT as u64 / 8 + SOURCE
}

/// Bytes of a virtual raster's source that are read at once, and stated before any is.
const SOURCE: u64 = 1 << 26;

/// Reads a raster as values and as a mask: whole, and by windows, which must say the same.
///
/// # Panics
/// They differ.
pub fn read_in_parts(path: &Path) {
    let opened = ValuesFile::open(path);
    if opened.as_ref().is_ok_and(|file| !is_small(file)) {
        return;
    }
    if let (Ok(file), Ok(place)) = (&opened, read_place(path)) {
        assert_eq!((place.size, place.georeference.as_ref()), (file.size(), file.georeference()));
    }
    let whole = read_raster(path, None);
    if let (Ok(whole), Ok(file)) = (&whole, &opened) {
        assert_eq!((whole.width, whole.height), file.size());
        let window = file.window(0..whole.height, 0..whole.width);
        if let Ok(window) = window {
            // Bytes, since NaN differs from itself.
            assert_eq!(format!("{:?}", whole.values), format!("{window:?}"));
        }
    }
    let sites = SiteValues::default();
    let whole = read_mask(path, &sites);
    if let (Ok(whole), Ok(file)) = (&whole, MaskFile::open(path)) {
        assert_eq!((whole.width, whole.height), file.size());
        if let Ok(window) = file.window(0..whole.height, 0..whole.width, &sites) {
            assert_eq!(whole.sites, window.sites);
        }
    }
}
