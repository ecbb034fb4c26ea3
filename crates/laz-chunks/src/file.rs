//! The chunks of a file.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use las::point::Format;
use las::raw;
use laz::LazVlr;

use crate::layout::{self, Entry};
use crate::{Error, Fields, PackedChunks, Result, Transform};

/// An open LAZ file: where its chunks lie, and how its coordinates are stored.
#[derive(Debug)]
pub struct LazFile {
    path: PathBuf,
    file: File,
    vlr: LazVlr,
    transforms: [Transform; 3],
    chunks: Vec<Entry>,
}

impl LazFile {
    /// Opens a file and reads its header and its chunk table.
    ///
    /// # Errors
    /// - [`Error::File`] for a file that cannot be read, is not LAZ, or whose chunk table does not fit its length.
    /// - [`Error::NoLayers`] for other point formats than 6 to 10.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |reason: String| Error::File { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|e| failed(e.to_string()))?;
        // Damaged bytes may end in a panic of a parser.
        let head = catch_unwind(AssertUnwindSafe(|| Head::read(&file)))
            .unwrap_or_else(|_| Err("its header contradicts itself".into()));
        let Head { vlr, transforms, chunks } = head.map_err(failed)?;
        PackedChunks::new(&vlr, Fields::default())?;
        Ok(Self { path: path.to_owned(), file, vlr, transforms, chunks })
    }

    /// How many chunks the file has.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// What makes coordinates along x, y and z of whole numbers.
    pub fn transforms(&self) -> [Transform; 3] {
        self.transforms
    }

    /// The record that says how the points are compressed.
    pub fn vlr(&self) -> &LazVlr {
        &self.vlr
    }

    /// Reads some chunks, of which `fields` are to be decoded.
    ///
    /// # Errors
    /// - [`Error::File`] if they cannot be read.
    /// - The errors of [`PackedChunks::push`].
    ///
    /// # Panics
    /// Panics if the range ends behind the last chunk.
    pub fn pack(&mut self, chunks: Range<usize>, fields: Fields) -> Result<PackedChunks> {
        let mut packed = PackedChunks::new(&self.vlr, fields)?;
        let mut bytes = Vec::new();
        for Entry { place, .. } in &self.chunks[chunks] {
            bytes.resize((place.end - place.start) as usize, 0);
            let read = self
                .file
                .seek(SeekFrom::Start(place.start))
                .and_then(|_| self.file.read_exact(&mut bytes));
            let failed =
                |e: std::io::Error| Error::File { path: self.path.clone(), reason: e.to_string() };
            read.map_err(failed)?;
            packed.push(&bytes)?;
        }
        Ok(packed)
    }
}

/// What stands before the points.
struct Head {
    vlr: LazVlr,
    transforms: [Transform; 3],
    chunks: Vec<Entry>,
}

impl Head {
    fn read(file: &File) -> Result<Self, String> {
        let size = file.metadata().map_err(|e| e.to_string())?.len();
        let mut source = BufReader::new(file);
        let header = raw::Header::read_from(&mut source)
            .map_err(|e| format!("it is not LAS or LAZ: {e}"))?;
        source.seek(SeekFrom::Start(header.header_size.into())).map_err(|e| e.to_string())?;
        let mut vlr = None;
        for _ in 0..header.number_of_variable_length_records {
            let record = raw::Vlr::read_from(&mut source, false).map_err(|e| e.to_string())?;
            if record.record_id == 22204 && record.user_id.starts_with(b"laszip encoded") {
                vlr = Some(LazVlr::from_buffer(record.data).map_err(|e| e.to_string())?);
            }
        }
        // A file that was unpacked may still have the record.
        let format = Format::new(header.point_data_record_format).map_err(|e| e.to_string())?;
        let vlr = vlr.filter(|_| format.is_compressed).ok_or("it is not compressed")?;
        if vlr.items_size() != u64::from(header.point_data_record_length) {
            return Err(
                "the point size in the compression record differs from the size in the header"
                    .into(),
            );
        }
        let transforms = [
            Transform { scale: header.x_scale_factor, offset: header.x_offset },
            Transform { scale: header.y_scale_factor, offset: header.y_offset },
            Transform { scale: header.z_scale_factor, offset: header.z_offset },
        ];
        let start = u64::from(header.offset_to_point_data);
        let chunks = layout::chunks(&mut source, &vlr, start, size)?;
        Ok(Self { vlr, transforms, chunks })
    }
}
