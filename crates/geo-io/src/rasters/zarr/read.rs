//! Windows of an array.

use std::ops::Range;
use std::path::{Path, PathBuf};

use gpu_core::{host_memory, parallel};

use super::json::json_of;
use super::metadata::Metadata;
use super::place::place_of;
use super::shards::Chunks;
use crate::rasters::band::Band;
use crate::rasters::nodata::{Sample, with_sample_type};
use crate::rasters::windows::Windows;
use crate::{ArrayData, Error, Georeference, Number, Result};

/// An array of one band that is read by windows.
pub(crate) struct ZarrArray {
    folder: PathBuf,
    about: Metadata,
    place: Option<Georeference>,
    /// Metres of the unit of its values.
    metres: Option<f64>,
    notes: Vec<String>,
}

impl ZarrArray {
    /// Opens an array, or the only raster of a group, and reads no chunks.
    ///
    /// # Errors
    /// An error that says what is wrong with its metadata; a group without a raster or with several.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = array_of(path)?;
        let json = json_of(&folder)?;
        let about = Metadata::of(&json).map_err(|reason| Error::malformed(&folder, reason))?;
        match about.shape[..] {
            [_, _] | [1, _, _] => {}
            [bands, _, _] => {
                let reason = format!("a raster has one band, this array has {bands}");
                return Err(Error::malformed(&folder, reason));
            }
            _ => {
                let reason =
                    format!("a raster has two dimensions, this array has {}", about.shape.len());
                return Err(Error::malformed(&folder, reason));
            }
        }
        // So that no number of cells or bytes overflows.
        if about.shape.iter().any(|side| i32::try_from(*side).is_err()) {
            return Err(Error::malformed(
                &folder,
                format!("its shape {:?} is too large", about.shape),
            ));
        }
        let band = Band::of_attributes(&about.attributes);
        let (place, of_place) = place_of(&folder, &about)?;
        let of_nodata = about.note_on_nodata();
        let of_nodata = of_nodata.map(|note| format!("{}: {note}", folder.display()));
        let notes = band.notes(&folder).into_iter().chain(of_nodata).chain(of_place).collect();
        Ok(Self { folder, about, place, metres: band.metres, notes })
    }

    /// Columns and rows of a chunk.
    fn chunk(&self) -> (usize, usize) {
        let side = |i: usize| usize::try_from(self.about.chunk[self.about.chunk.len() - i]);
        (side(1).unwrap_or(usize::MAX), side(2).unwrap_or(usize::MAX))
    }

    fn values<T: Sample>(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Vec<T>> {
        let cells = (rows.len() as u64).saturating_mul(columns.len() as u64);
        let asked =
            cells.saturating_mul(size_of::<T>() as u64).saturating_add(self.unpacking_bytes());
        let memory = |_| Error::OutOfMemory { path: self.folder.clone(), asked };
        host_memory::require(asked).map_err(memory)?;
        let room = usize::try_from(cells).unwrap_or(usize::MAX);
        let mut values = host_memory::with_capacity(room).map_err(memory)?;
        values.resize(room, T::nearest(self.about.fill));
        if !values.is_empty() {
            self.copy(rows, columns, bytemuck::cast_slice_mut(&mut values))?;
        }
        Ok(values)
    }

    /// Copies the elements that there are, as bytes, over those of a window.
    fn copy(&self, rows: Range<usize>, columns: Range<usize>, values: &mut [u8]) -> Result<()> {
        let (wide, tall) = self.chunk();
        let size = self.value_bytes() as usize;
        let across = columns.start / wide..columns.end.div_ceil(wide);
        let planes = (self.about.shape.len() == 3).then_some(0);
        let mut chunks = Chunks::default();
        for line in rows.start / tall..rows.end.div_ceil(tall) {
            let place = |column| planes.into_iter().chain([line as u64, column as u64]).collect();
            let places: Vec<Vec<u64>> = across.clone().map(place).collect();
            chunks.prepare(&self.folder, &self.about, &places)?;
            let chunk = |i: usize| chunks.unpacked(&self.folder, &self.about, &places[i]);
            for (i, chunk) in parallel::map(across.len(), 1, chunk).into_iter().enumerate() {
                let Some(chunk) = chunk? else { continue };
                let (top, left) = (line * tall, (across.start + i) * wide);
                let of_chunk =
                    left.max(columns.start)..(left.saturating_add(wide)).min(columns.end);
                for row in top.max(rows.start)..(top.saturating_add(tall)).min(rows.end) {
                    let from = (row - top) * wide + of_chunk.start - left;
                    let to = (row - rows.start) * columns.len() + of_chunk.start - columns.start;
                    let of = |first: usize| size * first..size * (first + of_chunk.len());
                    values[of(to)].copy_from_slice(&chunk[of(from)]);
                }
            }
        }
        Ok(())
    }
}

impl Windows for ZarrArray {
    fn size(&self) -> (usize, usize) {
        let side = |i: usize| self.about.shape[self.about.shape.len() - i] as usize;
        (side(1), side(2))
    }

    fn value_bytes(&self) -> u64 {
        self.about.sample_type.bytes()
    }

    /// A row of chunks, each as it is packed and as it is not, and the indices of their shards.
    fn unpacking_bytes(&self) -> u64 {
        let across = self.size().0.div_ceil(self.chunk().0) as u64;
        let chunks = self.about.chunk_bytes().saturating_mul(2).saturating_mul(across);
        let indices = self.about.sharding.as_ref().map_or(0, |s| s.bytes_of_indices(across));
        chunks.saturating_add(indices)
    }

    fn block_rows(&self) -> usize {
        self.chunk().1
    }

    fn place(&self) -> Option<&Georeference> {
        self.place.as_ref()
    }

    fn nodata(&self) -> Option<Number> {
        self.about.nodata()
    }

    fn metres(&self) -> Option<f64> {
        self.metres
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        with_sample_type!(self.about.sample_type, T => Ok(T::array(self.values(rows, columns)?)))
    }
}

/// The folder of an array: the path's own, or that of the only raster of a group.
pub(crate) fn array_of(path: &Path) -> Result<PathBuf> {
    let json = json_of(path)?;
    match json["node_type"].as_str() {
        Some("array") => return Ok(path.to_owned()),
        Some("group") => {}
        _ => return Err(Error::malformed(path, "it is neither an array nor a group")),
    }
    let failed = |reason| Error::read(path, reason);
    let mut rasters = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let folder = entry.map_err(failed)?.path();
        let is_raster = |json: serde_json::Value| {
            json["node_type"] == "array" && json["shape"].as_array().is_some_and(|s| s.len() > 1)
        };
        if json_of(&folder).is_ok_and(is_raster) {
            rasters.push(folder);
        }
    }
    rasters.sort();
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match &mut rasters[..] {
        [one] => Ok(std::mem::take(one)),
        [] => Err(Error::malformed(path, "this group has no array of two dimensions")),
        several => {
            let names: Vec<String> = several.iter().map(name).collect();
            let reason = format!(
                "this group has several rasters: give one, {}/{}",
                path.display(),
                names.join(" or ")
            );
            Err(Error::malformed(path, reason))
        }
    }
}
