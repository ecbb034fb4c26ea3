//! Chunks as a file has them, and where their layers lie.

use kernels_rs::laz::{LAYERS, WORDS};
use laz::{LazItem, LazItemType, LazVlr};

use crate::{Error, Result};

/// Layers of the fields that all of the formats 6 to 10 have.
const LAYERS_OF_POINT: usize = 9;

/// Bytes of these fields in a record.
const BYTES_OF_POINT: usize = 30;

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

/// Chunks that are decoded together: their bytes on the host.
#[derive(Clone, Debug)]
pub struct PackedChunks {
    pub(crate) vlr: LazVlr,
    pub(crate) fields: Fields,
    /// Bytes of a point that is not packed.
    pub(crate) record: usize,
    /// Layers of a chunk.
    layers_of_chunk: usize,
    /// All chunks, one behind the other.
    pub(crate) bytes: Vec<u8>,
    /// Where each chunk ends.
    pub(crate) ends: Vec<u32>,
    /// For each layer of each chunk where it begins and ends.
    pub(crate) layers: Vec<u32>,
    /// The words of each chunk's first point.
    pub(crate) firsts: Vec<u32>,
    /// Points before each chunk, and all points.
    pub(crate) starts: Vec<u64>,
}

impl PackedChunks {
    /// No chunks yet, of a file whose points are compressed as `vlr` says, its record of that.
    ///
    /// # Errors
    /// [`Error::NoLayers`] for other point formats than 6 to 10.
    pub fn new(vlr: &LazVlr, fields: Fields) -> Result<Self> {
        let layers = |item: LazItemType| match item {
            LazItemType::Point14 => Some(LAYERS_OF_POINT),
            LazItemType::RGB14 | LazItemType::WavePacket14 => Some(1),
            LazItemType::RGBNIR14 => Some(2),
            LazItemType::Byte14(bytes) => Some(bytes.into()),
            _ => None,
        };
        let items = vlr.items();
        let is_point = |item: &LazItem| {
            item.item_type() == LazItemType::Point14
                && usize::from(item.size()) == BYTES_OF_POINT
                && matches!(item.version(), 3 | 4)
        };
        let is_point = items.first().is_some_and(is_point);
        let layers: Option<usize> = items.iter().map(|item| layers(item.item_type())).sum();
        let layers_of_chunk = layers.filter(|_| is_point).ok_or(Error::NoLayers)?;
        let record = vlr.items_size() as usize;
        Ok(Self {
            vlr: vlr.clone(),
            fields,
            record,
            layers_of_chunk,
            bytes: vec![],
            ends: vec![],
            layers: vec![],
            firsts: vec![],
            starts: vec![0],
        })
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

    /// Adds a chunk, given by all its bytes.
    ///
    /// # Errors
    /// - [`Error::Damaged`] for a chunk whose head contradicts its bytes or the size of the file's chunks.
    /// - [`Error::TooManyBytes`] beyond 2^32 - 1 bytes of all chunks.
    pub fn push(&mut self, chunk: &[u8]) -> Result<()> {
        let damaged = |reason: &str| Error::Damaged { chunk: self.len(), reason: reason.into() };
        let record = self.record;
        let head = record + 4 * (1 + self.layers_of_chunk);
        if chunk.len() < head {
            return Err(damaged("it is shorter than its head"));
        }
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| chunk[at + i]));
        let points = word(record);
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
        let layers = self.layers_from(self.bytes.len() + head, |i| word(record + 4 * (1 + i)));
        let ends =
            layers.ok_or(()).and_then(|(ends, end)| if end > bytes { Err(()) } else { Ok(ends) });
        let ends = ends.map_err(|()| damaged("its layers are longer than the chunk"))?;
        if ends[0] == ends[1] && points > 1 {
            return Err(damaged("it has no coordinates"));
        }
        self.layers.extend(ends);
        let half = |at: usize| u32::from(u16::from_le_bytes([chunk[at], chunk[at + 1]]));
        let fields = half(14) | half(16) << 16;
        let first = [word(0), word(4), word(8), fields, half(12) | half(20) << 16, half(18)];
        self.firsts.extend::<[u32; WORDS as usize]>(first);
        self.starts.push(self.points() + u64::from(points));
        self.bytes.extend_from_slice(chunk);
        self.ends.push(bytes as u32);
        Ok(())
    }

    /// Where each layer begins and ends, from the first one's place and all sizes, and the end of all layers. A layer that
    /// is not to be decoded ends where it begins.
    fn layers_from(
        &self,
        first: usize,
        size: impl Fn(usize) -> u32,
    ) -> Option<([u32; 2 * LAYERS as usize], u64)> {
        // In the file's order: places, z, class, flags, intensity, scan angle, user data, source; then times and others.
        let Fields { intensity, scan_angle, user_data, source } = self.fields;
        let is_wanted = [true, true, true, true, intensity, scan_angle, user_data, source];
        let (mut ends, mut at) = ([0; 2 * LAYERS as usize], first as u64);
        for layer in 0..self.layers_of_chunk {
            let end = at + u64::from(size(layer));
            if let Some(&is_wanted) = is_wanted.get(layer) {
                ends[2 * layer] = u32::try_from(at).ok()?;
                ends[2 * layer + 1] = if is_wanted { u32::try_from(end).ok()? } else { at as u32 };
            }
            at = end;
        }
        Some((ends, at))
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
