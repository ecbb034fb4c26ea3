//! Reads records in the order of the file: of a LAS file, in batches, and of a LAZ file whose chunks cannot be decoded
//! separately.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use ::laz::{LasZipDecompressor, LazVlr};
use gpu_core::Progress;
use laz_chunks::layout::{self, Head};

use super::chunks::record_decoder;
use super::fields::selection;
use super::{AHEAD, BATCH, BATCH_BYTES, LasFile};
use crate::error::unwinding;
use crate::points::chunk::Chunk;
use crate::points::{Keep, report};
use crate::source::Source;
use crate::{Filter, PointCloud, Result};

/// How far a decoder has come, and a checksum of its records. The checksum proves that a second decoder, which starts
/// again, gives the same records that the first one handed on.
#[derive(Default)]
pub(super) struct Decoded {
    points: u64,
    checksum: crc32fast::Hasher,
    /// The points that another decoder gave, and their checksum: they are not kept again.
    before: Option<(u64, u32)>,
}

impl Decoded {
    /// Returns a decoder at the start of the file; another decoder may have returned points before.
    pub fn behind(before: Option<Self>) -> Self {
        let before = before.map(|other| (other.points, other.checksum.finalize()));
        Self { before, ..Self::default() }
    }

    /// Takes the next result of a decoder that has begun again.
    pub fn takes(&mut self, points: u64, checksum: &crc32fast::Hasher) {
        self.points += points;
        self.checksum.combine(checksum);
    }

    /// Takes a batch; whether its points are new. A decoder that follows another gives one point at a time.
    fn is_new(&mut self, points: u64, records: &[u8]) -> Result<bool, &'static str> {
        let is_new = self.before.is_none_or(|(before, _)| self.points >= before);
        self.points += points;
        self.checksum.update(records);
        match self.before {
            Some((before, checksum))
                if self.points == before && self.checksum.clone().finalize() != checksum =>
            {
                Err("its chunk table contradicts its points")
            }
            _ => Ok(is_new),
        }
    }
}

/// Fills the buffer with the next records.
type Decoder = Box<dyn FnMut(&mut [u8]) -> io::Result<()>>;

impl LasFile {
    /// Decodes all points in batches and keeps those that pass the filter.
    pub(super) fn read_all(
        &self,
        path: &Path,
        mut decode: Decoder,
        batch: usize,
        filter: &Filter,
        progress: &dyn Progress,
        (cloud, keep, decoded): (&mut PointCloud, &mut Keep, &mut Decoded),
    ) -> Result<()> {
        // Records may be as long as 65,535 bytes: a batch is bounded in bytes too.
        let batch = batch.min(BATCH_BYTES / self.layout.record).max(1);
        let mut bytes = vec![0; batch.min(self.points as usize) * self.layout.record];
        let (mut done, mut next_report) = (0, 0);
        while done < self.points {
            if done >= next_report {
                report(progress, done, self.points)?;
                next_report = done + BATCH as u64;
            }
            let count = (self.points - done).min(batch as u64);
            let buffer = &mut bytes[..count as usize * self.layout.record];
            match unwinding(|| decode(buffer)) {
                Ok(Ok(())) => {
                    // Nothing is decoded twice where all stays in the cloud.
                    let is_new = !keep.is_by_batches()
                        || decoded
                            .is_new(count, buffer)
                            .map_err(|e| self.damaged(path, done, e))?;
                    if is_new {
                        self.layout.keep_all(path, buffer, filter, cloud)?;
                    }
                }
                Ok(Err(e)) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(self.truncated(path, done));
                }
                Ok(Err(e)) => return Err(self.damaged(path, done, &e.to_string())),
                Err(reason) => return Err(self.damaged(path, done, &reason)),
            }
            done += count;
            self.hand_on((cloud, keep), path, done == self.points)?;
        }
        report(progress, done, self.points)
    }

    /// The whole chunks of a file whose chunks are layered, from the first on, until they have enough points; none of
    /// another file.
    ///
    /// A layered chunk is its first record, its number of points, the lengths of its layers, and the layers. The
    /// decoder allocates up to 4 GB a layer by these lengths, before it checks that the file has as much. So they are
    /// compared with the file's length first.
    pub(super) fn layered_chunks(&self, vlr: &LazVlr, most: u64) -> io::Result<Vec<Chunk>> {
        let Some(layers) = layout::layers(vlr) else { return Ok(Vec::new()) };
        let mut head = vec![0; Head::len(layers)];
        let mut source = self.file.try_clone()?;
        let mut offset = u64::from(self.raw.offset_to_point_data) + 8;
        let (mut chunks, mut points) = (Vec::new(), 0);
        while points < most {
            let start = offset + self.layout.record as u64;
            if start + head.len() as u64 > self.size {
                break;
            }
            source.seek(SeekFrom::Start(start))?;
            source.read_exact(&mut head)?;
            let Some(head) = Head::of(&head, layers) else { break };
            let (count, end) = (head.points().into(), start + head.bytes());
            if count == 0 || end > self.size {
                break;
            }
            chunks.push(Chunk { offset, bytes: end - offset, points: count, square: None });
            (offset, points) = (end, points + count);
        }
        Ok(chunks)
    }
}

/// Decodes from the first point on, without a chunk table where the compression allows that.
pub(super) fn point_by_point(las: &LasFile, vlr: &LazVlr) -> Result<Decoder, String> {
    let needs_table = vlr.uses_variable_size_chunks();
    let mut source = las.at_points(AHEAD).map_err(|e| e.to_string())?;
    if needs_table {
        let start = las.raw.offset_to_point_data.into();
        layout::check_table(&mut source, vlr, start, las.size)?;
        source.seek(SeekFrom::Start(start)).map_err(|e| e.to_string())?;
    }
    let source = Forward { source, seeks: needs_table };
    let vlr = vlr.clone();
    let fields = selection(&las.layout.taken);
    let mut laz = unwinding(|| LasZipDecompressor::selective(source, vlr, fields))?
        .map_err(|e| e.to_string())?;
    Ok(Box::new(move |out| laz.decompress_many(out)))
}

/// Decodes layered chunks, one after the other. Only the bytes of one chunk are in memory, and no layer of a chunk that
/// `layered_chunks` found is longer than these.
pub(super) fn chunk_by_chunk(
    las: &LasFile,
    vlr: &LazVlr,
    chunks: Vec<Chunk>,
) -> Result<Decoder, String> {
    let source = las.file.try_clone().map_err(|e| e.to_string())?;
    let (vlr, record, fields) = (vlr.clone(), las.layout.record, selection(&las.layout.taken));
    let mut chunks = chunks.into_iter();
    let (mut records, mut left) = (None, 0);
    Ok(Box::new(move |out| {
        for point in out.chunks_exact_mut(record) {
            if left == 0 {
                let chunk = chunks.next().ok_or(io::ErrorKind::UnexpectedEof)?;
                let packed = source.read_at(chunk.offset, chunk.bytes)?;
                records = Some(record_decoder(packed, &vlr, fields).map_err(io::Error::other)?);
                left = chunk.points;
            }
            let records = records.as_mut().ok_or(io::ErrorKind::UnexpectedEof)?;
            records.decompress_next(point)?;
            left -= 1;
        }
        Ok(())
    }))
}

/// A source that may refuse to seek, by which the decoder learns to do without a chunk table.
struct Forward {
    source: BufReader<Source>,
    seeks: bool,
}

impl Read for Forward {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.source.read(out)
    }
}

impl Seek for Forward {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.seeks { self.source.seek(to) } else { Err(io::ErrorKind::NotSeekable.into()) }
    }
}
