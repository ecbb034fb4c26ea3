//! Chunks as a file has them.

use gpu_core::host_memory;
use laz::LazVlr;

use crate::layout::{self, Head};
use crate::{Error, Result};

/// Fields to decode beside coordinates, returns, flags and class. Each costs time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The intensity.
    pub intensity: bool,
    /// The scan angle.
    pub scan_angle: bool,
    /// The user data.
    pub user_data: bool,
    /// The point source.
    pub source: bool,
}

impl Fields {
    /// The bytes of a decoded point.
    pub fn bytes_of_point(self) -> u64 {
        let Self { intensity, scan_angle, user_data, source } = self;
        let further = [(intensity, 2), (scan_angle, 2), (user_data, 1), (source, 2)];
        15 + further.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, n)| n).sum::<u64>()
    }
}

/// Chunks that are decoded together: their bytes on the host.
#[derive(Clone, Debug)]
pub struct PackedChunks {
    pub(crate) vlr: LazVlr,
    pub(crate) fields: Fields,
    /// Bytes of a point that is not packed.
    pub(crate) record: usize,
    /// Layers of a chunk.
    pub(crate) layers: usize,
    /// All chunks, one behind the other.
    pub(crate) bytes: Vec<u8>,
    /// Where each chunk ends.
    pub(crate) ends: Vec<u32>,
    /// Points before each chunk, and all points.
    pub(crate) starts: Vec<u64>,
}

impl PackedChunks {
    /// No chunks yet, of a file whose points are compressed as `vlr` says, its record of that.
    ///
    /// # Errors
    /// [`Error::NoLayers`] for other point formats than 6 to 10.
    pub fn new(vlr: &LazVlr, fields: Fields) -> Result<Self> {
        let layers = layout::layers(vlr).ok_or(Error::NoLayers)?;
        let (vlr, record) = (vlr.clone(), vlr.items_size() as usize);
        Ok(Self { vlr, fields, record, layers, bytes: vec![], ends: vec![], starts: vec![0] })
    }

    /// The record that says how the points are compressed.
    pub fn vlr(&self) -> &LazVlr {
        &self.vlr
    }

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many points the chunks hold.
    pub fn points(&self) -> u64 {
        self.starts[self.len()]
    }

    /// Takes memory for chunks of this many bytes in all.
    ///
    /// # Errors
    /// [`Error::Core`] where the allocator refuses.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        if self.bytes.is_empty() {
            self.bytes = host_memory::with_capacity(bytes)?;
        }
        Ok(())
    }

    /// Adds a chunk, given by all its bytes.
    ///
    /// # Errors
    /// - [`Error::Damaged`] for a chunk whose head contradicts its bytes or the size of the file's chunks.
    /// - [`Error::TooManyBytes`] beyond 2^32 - 1 bytes of all chunks.
    pub fn push(&mut self, chunk: &[u8]) -> Result<()> {
        let damaged = |reason: &str| Error::Damaged { chunk: self.len(), reason: reason.into() };
        let head = chunk.get(self.record..).and_then(|rest| Head::of(rest, self.layers));
        let head = head.ok_or_else(|| damaged("it is shorter than its head"))?;
        let points = head.points();
        if points == 0 {
            return Err(damaged("it has no points"));
        }
        if !self.vlr.uses_variable_size_chunks() && points > self.vlr.chunk_size() {
            return Err(damaged("it has more points than the file's chunks may have"));
        }
        let bytes = self.bytes.len() as u64 + chunk.len() as u64;
        if bytes > u32::MAX.into() {
            return Err(Error::TooManyBytes { bytes });
        }
        if self.record as u64 + head.bytes() > chunk.len() as u64 {
            return Err(damaged("its layers are longer than the chunk"));
        }
        if points > 1 && head.layers().next() == Some(0) {
            return Err(damaged("it has no coordinates"));
        }
        self.starts.push(self.points() + u64::from(points));
        self.bytes.extend_from_slice(chunk);
        self.ends.push(bytes as u32);
        Ok(())
    }

    /// The bytes of each chunk.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.chunk(i))
    }

    /// The bytes of a chunk.
    pub(crate) fn chunk(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start as usize..self.ends[i] as usize]
    }
}
