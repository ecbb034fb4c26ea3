//! Arrays of one dimension: coordinates along a dimension of a raster.

use std::path::Path;

use super::metadata::Metadata;
use super::shards::Chunks;
use crate::Result;
use crate::rasters::band::Band;
use crate::rasters::nodata::{Sample, with_sample_type};

/// All elements of an array of one dimension, as floats, by the scale and the offset that its attributes state (CF);
/// `None` where missing chunks make two of them equal. Time and memory go with the chunks that are there, not with the length that the metadata claim.
pub(crate) fn distinct_values_of(folder: &Path, about: &Metadata) -> Result<Option<Vec<f64>>> {
    let (length, side) = (about.shape[0], about.chunk[0]);
    let (mut values, mut missing) = (Vec::new(), 0);
    let mut chunks = Chunks::default();
    for first in (0..length).step_by(usize::try_from(side).unwrap_or(usize::MAX)) {
        let (place, count) = (vec![first / side], side.min(length - first));
        chunks.prepare(folder, about, std::slice::from_ref(&place))?;
        if let Some(chunk) = chunks.unpacked(folder, about, &place)? {
            with_sample_type!(about.sample_type, T => {
                let elements = chunk.chunks_exact(size_of::<T>()).take(count as usize);
                values.extend(elements.map(|bytes| bytemuck::pod_read_unaligned::<T>(bytes).real()));
            });
            continue;
        }
        missing += count;
        if missing > 1 {
            return Ok(None);
        }
        values.push(about.fill.to_f64());
    }
    let band = Band::of_attributes(&about.attributes);
    let (scale, offset) = (band.scale.unwrap_or(1.0), band.offset.unwrap_or(0.0));
    values.iter_mut().for_each(|value| *value = *value * scale + offset);
    Ok(Some(values))
}
