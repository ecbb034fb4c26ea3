//! The text of `zarr.json`.

use std::path::Path;

use serde_json::Value;

use super::METADATA;
use crate::{Error, Result};

/// Bytes of a `zarr.json` that are read at most.
const MOST: u64 = 16 << 20;

/// Reads the `zarr.json` of a folder.
///
/// # Errors
/// There is none, or it is not JSON of version 3.
pub(crate) fn json_of(folder: &Path) -> Result<Value> {
    let path = folder.join(METADATA);
    if !path.is_file() && [".zarray", ".zgroup"].iter().any(|name| folder.join(name).is_file()) {
        let reason =
            "it is Zarr of version 2, and version 3 is read: zarr.save of zarr-python 3 makes that";
        return Err(Error::malformed(folder, reason));
    }
    let length = std::fs::metadata(&path).map_err(|e| Error::read(&path, e))?.len();
    if length > MOST {
        return Err(Error::malformed(&path, format!("its {length} bytes are too many")));
    }
    let text = std::fs::read(&path).map_err(|e| Error::read(&path, e))?;
    let json: Value = serde_json::from_slice(&text).map_err(|e| Error::malformed(&path, e))?;
    match json["zarr_format"].as_u64() {
        Some(3) => Ok(json),
        _ => Err(Error::malformed(&path, "its zarr_format is not 3")),
    }
}

/// A list of whole numbers.
///
/// # Errors
/// It is none.
pub(crate) fn whole_numbers(list: &Value, what: &str) -> Result<Vec<u64>, String> {
    let numbers = list
        .as_array()
        .and_then(|list| list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>());
    numbers.ok_or_else(|| format!("its {what} is not a list of whole numbers"))
}
