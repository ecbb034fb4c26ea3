//! The chunks of a LAZ file, decoded on all cores, or those of a large file on a GPU ([`on_device`](super::on_device)).
//!
//! Each chunk is decoded alone: a task of the pool reads its bytes, decodes a few records at a time, and keeps the
//! points that pass the filter. Ready chunks wait for their turn, and the reader begins only as many as the caller's
//! share of memory allows. So cores wait for each other only at the end of the file.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::Duration;

use ::laz::record::{
    LayeredPointRecordDecompressor, RecordDecompressor, SequentialPointRecordDecompressor,
};
use ::laz::{DecompressionSelection, LasZipError, LazVlr};
use gpu_core::{Shortest, parallel};
use laz_chunks::layout::{self, Entry, Head};
use rayon::Yield;

use super::fields::selection;
use super::on_device::{Batch, Batches, in_order};
use super::packed::Packed;
use super::{BATCH, Decoded, LasFile};
use crate::error::unwinding;
use crate::points::chunk::{Chunk, holds, points_of};
use crate::points::read_on::ReadOn;
use crate::points::{Keep, report};
use crate::{Error, Filter, PointCloud, Result};

/// Bytes of records that are decoded before the filter sees them: few enough for a core's cache.
const PIECE: usize = 1 << 16;

/// Bytes of a chunk table that are read at once: of a server's file they come from blocks that are kept.
const TABLE: usize = 1 << 13;

/// Points that a part of a cloud has room for at first, at most: a header may lie.
const ROOM: u64 = 1 << 16;

/// The chunks that hold points, as a file's table states them.
pub(super) struct Table {
    /// Where they lie. If all chunks have one size, the most points of a chunk.
    pub chunks: Vec<Chunk>,
    /// The number of all points, if the file states it outside of its header.
    pub points: Option<u64>,
}

impl Table {
    /// Reads the table of a file. Refuses a table that does not fit the file.
    pub fn read(las: &LasFile, vlr: &LazVlr) -> Result<Self, String> {
        const NO_FIT: &str = "its chunk table does not fit the file";
        let mut source = las.at_points(TABLE).map_err(|e| e.to_string())?;
        let start = las.raw.offset_to_point_data.into();
        let entries = unwinding(|| layout::chunks(&mut source, vlr, start, las.size))??;
        let chunk = |Entry { place, points }: Entry| {
            let (offset, bytes) = (place.start, place.end - place.start);
            Chunk { offset, bytes, points, square: None }
        };
        let chunks = entries.into_iter().map(chunk).collect();
        let mut table = Self { chunks, points: None };
        let most = table.range().1.ok_or(NO_FIT)?;
        table.points = match table.chunks.last() {
            None => Some(0),
            _ if vlr.uses_variable_size_chunks() => Some(most),
            // The last of chunks of one size may have fewer points, which a layered one states.
            Some(last) if is_layered(vlr) => {
                let found = points_of_layered(las, last).map_err(|e| e.to_string())?;
                let fits = found > 0 && found <= last.points;
                Some(most - last.points + Some(found).filter(|_| fits).ok_or(NO_FIT)?)
            }
            Some(_) => None,
        };
        Ok(table)
    }

    /// The fewest and the most points that chunks of one size may hold.
    pub fn range(&self) -> (u64, Option<u64>) {
        let most = self.chunks.iter().try_fold(0_u64, |sum, chunk| sum.checked_add(chunk.points));
        let last = self.chunks.last().map_or(0, |chunk| chunk.points - 1);
        (most.unwrap_or(u64::MAX).saturating_sub(last), most)
    }

    /// Returns the chunks that hold the first `points` points. Fails if the chunks hold fewer.
    pub fn of_points(&self, points: u64) -> Result<Vec<Chunk>, String> {
        let mut rest = points;
        let mut taken = Vec::new();
        for chunk in &self.chunks {
            if rest == 0 {
                break;
            }
            taken.push(Chunk { points: chunk.points.min(rest), ..*chunk });
            rest = rest.saturating_sub(chunk.points);
        }
        match rest {
            0 => Ok(taken),
            _ => Err("its chunk table has fewer points than its header promises".into()),
        }
    }
}

/// Points of a layered chunk, which stand behind its first record.
fn points_of_layered(las: &LasFile, chunk: &Chunk) -> std::io::Result<u64> {
    let (mut source, mut count) = (las.file.try_clone()?, [0; 4]);
    source.seek(SeekFrom::Start(chunk.offset + las.layout.record as u64))?;
    source.read_exact(&mut count)?;
    Ok(u32::from_le_bytes(count).into())
}

/// Decodes some chunks and keeps their points, in the order of the chunks. The file's other points count as outside. Where
/// a chunk cannot be decoded it is said why, and the points of those before it were kept.
pub(super) fn read(
    (las, path): (&LasFile, &Path),
    vlr: &LazVlr,
    chunks: &[Chunk],
    filter: &Filter,
    on: ReadOn,
    (cloud, keep, decoded): (&mut PointCloud, &mut Keep, &mut Decoded),
) -> Result<Result<(), String>> {
    let wanted = points_of(chunks);
    let usual_ahead = keep.batch(super::usual_batch()) as u64;
    if filter.bounds.is_none() && !keep.is_by_batches() {
        // Chunks may claim any number of points, but a point takes a byte or more in ordinary files.
        cloud.expect(wanted.min(las.size));
    }
    let source = las.file.try_clone().map_err(|e| Error::read(path, e))?;
    let is_checksum_wanted = keep.is_by_batches();
    let source = Packed::new(source, chunks);
    let batches = Batches::of(on.unpacking, (las, vlr), chunks, filter, keep);
    let stop = AtomicBool::new(false);
    let decoder = Decoder { las, vlr, filter, source, is_checksum_wanted, batches, stop: &stop };
    let firsts = match filter.numbered {
        true => las.firsts_of(chunks).unwrap_or_else(|| firsts_in_a_row(chunks)),
        false => vec![0; chunks.len()],
    };
    let done = rayon::in_place_scope(|scope| -> Result<Result<(), String>> {
        // However this ends, tasks that wait for a core then end at once.
        let _stops = Stops(&stop);
        let (give, take) = channel();
        let mut ready: BTreeMap<usize, Part> = BTreeMap::new();
        let (mut begun, mut begun_points) = (0, 0);
        let (mut turn, mut done, mut next_report) = (0, 0, 0);
        while turn < chunks.len() {
            if done >= next_report {
                report(on.progress, done, wanted)?;
                next_report = done + BATCH as u64;
            }
            while let Some(next) = decoder.next(chunks, begun)
                && let points = points_of(next)
                && let ahead = decoder.ahead().unwrap_or(usual_ahead)
                && (begun == turn || begun_points + points <= done + ahead)
            {
                let (give, first, decoder) = (give.clone(), begun, &decoder);
                scope.spawn(move |_| {
                    decoder.parts(next, &|number, part| {
                        // Nobody waits for it any more where it cannot be given.
                        let _ = give.send((first + number, part));
                    });
                });
                (begun, begun_points) = (begun + next.len(), begun_points + points);
            }
            let (number, part) = received(&take)?;
            ready.insert(number, part);
            ready.extend(take.try_iter());
            let mut parts = Vec::new();
            while let Some(part) = ready.remove(&turn) {
                let part = match part {
                    Ok(part) => part,
                    Err(reason) => {
                        las.hand_on_parts((path, &parts), (cloud, keep), false)?;
                        return Ok(Err(las.behind(done, &reason)));
                    }
                };
                decoded.takes(chunks[turn].points, &part.checksum);
                parts.push((part.cloud, firsts[turn]));
                (done, turn) = (done + chunks[turn].points, turn + 1);
            }
            las.hand_on_parts((path, &parts), (cloud, keep), turn == chunks.len())?;
        }
        Ok(Ok(()))
    })?;
    cloud.tally.read += las.points - wanted;
    cloud.tally.dropped_outside += las.points - wanted;
    report(on.progress, wanted, wanted).map(|()| done)
}

/// The number of the first point of each chunk of those that follow each other from the first point on.
fn firsts_in_a_row(chunks: &[Chunk]) -> Vec<u64> {
    let mut next = 0;
    let first = |chunk: &Chunk| {
        next += chunk.points;
        next - chunk.points
    };
    chunks.iter().map(first).collect()
}

/// The result of a chunk.
type Part = Result<DecodedChunk, String>;

struct DecodedChunk {
    cloud: PointCloud,
    checksum: crc32fast::Hasher,
    /// A point outside of the square that the chunk's node states.
    stray: Option<[f64; 2]>,
}

/// Waits for the next chunk that is ready. A thread of the pool works meanwhile: there may be no other.
fn received<T>(take: &Receiver<T>) -> Result<T> {
    const A_MOMENT: Duration = Duration::from_millis(1);
    loop {
        if rayon::current_thread_index().is_none() {
            return take.recv().map_err(|_| Error::Cancelled);
        }
        match take.try_recv() {
            Ok(part) => return Ok(part),
            Err(TryRecvError::Disconnected) => return Err(Error::Cancelled),
            Err(TryRecvError::Empty) if rayon::yield_now() == Some(Yield::Executed) => {}
            Err(TryRecvError::Empty) => match take.recv_timeout(A_MOMENT) {
                Ok(part) => return Ok(part),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Cancelled),
            },
        }
    }
}

/// Tells tasks that have not begun to end.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The shared state of tasks that decode chunks.
struct Decoder<'a> {
    las: &'a LasFile,
    vlr: &'a LazVlr,
    filter: &'a Filter,
    source: Packed,
    is_checksum_wanted: bool,
    /// A GPU, where it is worth it.
    batches: Option<Batches>,
    stop: &'a AtomicBool,
}

impl Decoder<'_> {
    /// The chunks of the next task, from a chunk on: one, or a batch; `None` at the end.
    fn next<'c>(&self, chunks: &'c [Chunk], begun: usize) -> Option<&'c [Chunk]> {
        let left = &chunks[begun..];
        let count = self.batches.as_ref().map_or(1, |batches| batches.next(left.len()));
        left.get(..count).filter(|next| !next.is_empty())
    }

    /// How many points may be decoded before their turn, if a GPU decodes.
    fn ahead(&self) -> Option<u64> {
        self.batches.as_ref()?.ahead()
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Decodes the chunks of a task and gives the result of each with its number in the task.
    fn parts(&self, chunks: &[Chunk], give: &(dyn Fn(usize, Part) + Sync)) {
        let batch = match &self.batches {
            Some(batches) if chunks.len() > 1 && !self.is_stopped() => {
                let bytes = |i: usize| self.bytes(&chunks[i]).ok();
                batches.decoded(self.vlr, parallel::map(chunks.len(), 1, bytes))
            }
            _ => Batch::for_cores(),
        };
        in_order(chunks.len(), &|i| {
            if !self.is_stopped() {
                let records = batch.records(i, self.las.layout.record);
                give(i, unwinding(|| self.part(&chunks[i], records)).flatten());
            }
        });
    }

    /// The bytes of a chunk, if they are what the chunk table states.
    fn bytes(&self, chunk: &Chunk) -> Result<Vec<u8>, String> {
        let bytes = self.source.of(chunk).map_err(|e| e.to_string())?;
        match is_sound(&bytes, self.las.layout.record, self.vlr, chunk.points) {
            true => Ok(bytes),
            false => Err("a chunk contradicts its index".into()),
        }
    }

    /// Keeps the points of a chunk, whose records a GPU has decoded or a core decodes now.
    fn part(&self, chunk: &Chunk, records: Option<impl FnMut(&mut [u8])>) -> Part {
        let decoded = match records {
            Some(mut records) => self.kept(chunk, |piece| {
                records(piece);
                Ok(())
            }),
            None => {
                let bytes = self.bytes(chunk)?;
                let fields = selection(&self.las.layout.taken);
                record_decoder(bytes, self.vlr, fields).and_then(|mut records| {
                    self.kept(chunk, |piece| Ok(records.decompress_many(piece)?))
                })
            }
        };
        let decoded = decoded.map_err(|e| e.to_string())?;
        if let Some([x, y]) = decoded.stray {
            let [x, y] = [x, y].map(Shortest);
            return Err(format!(
                "its records have a point at {x} {y}, but its octree has none there"
            ));
        }
        Ok(decoded)
    }

    /// Keeps the points of a chunk, whose next records `decode` writes.
    fn kept(
        &self,
        chunk: &Chunk,
        mut decode: impl FnMut(&mut [u8]) -> Result<(), LasZipError>,
    ) -> Result<DecodedChunk, LasZipError> {
        let (layout, points) = (&self.las.layout, chunk.points);
        let mut stray = None;
        let room = points.min(ROOM) as usize;
        let mut cloud = PointCloud::of_las(room, layout.taken.len(), self.filter);
        let mut checksum = crc32fast::Hasher::new();
        let at_once = (PIECE / layout.record).max(1);
        let mut buffer = vec![0; at_once * layout.record];
        let mut left = points;
        while left > 0 {
            let count = left.min(at_once as u64);
            let piece = &mut buffer[..count as usize * layout.record];
            decode(piece)?;
            layout.keep(piece, self.filter, &mut cloud);
            if let Some(square) = &chunk.square {
                let mut places = piece.chunks_exact(layout.record).map(|r| layout.place(r));
                stray = stray.or_else(|| places.find(|[x, y]| !holds(square, *x, *y)));
            }
            if self.is_checksum_wanted {
                checksum.update(piece);
            }
            left -= count;
        }
        Ok(DecodedChunk { cloud, checksum, stray })
    }
}

/// Returns a decoder for the records of a chunk's bytes, one after the other. Of layered chunks it decodes the selected
/// fields.
pub(super) fn record_decoder<'a, Bytes: AsRef<[u8]> + 'a>(
    packed: Bytes,
    vlr: &LazVlr,
    selection: DecompressionSelection,
) -> Result<Box<dyn RecordDecompressor<Cursor<Bytes>> + 'a>, LasZipError> {
    let packed = Cursor::new(packed);
    let mut records: Box<dyn RecordDecompressor<_>> = if is_layered(vlr) {
        Box::new(LayeredPointRecordDecompressor::new(packed))
    } else {
        Box::new(SequentialPointRecordDecompressor::new(packed))
    };
    records.set_fields_from(vlr.items())?;
    records.set_selection(selection);
    Ok(records)
}

/// Whether the fields of a chunk lie one behind the other, as for point formats 6 to 10.
fn is_layered(vlr: &LazVlr) -> bool {
    layout::layers(vlr).is_some()
}

/// Whether a chunk, if it is layered, holds as many points as stated and is as long as its layers are.
///
/// The decoder asks for memory by the lengths of layers, up to 4 GB each, before it looks whether there is as much.
fn is_sound(bytes: &[u8], record: usize, vlr: &LazVlr, points: u64) -> bool {
    let Some(layers) = layout::layers(vlr) else { return true };
    let head = bytes.get(record..).and_then(|rest| Head::of(rest, layers));
    head.is_some_and(|head| {
        u64::from(head.points()) == points && record as u64 + head.bytes() <= bytes.len() as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LasPoints, write_las};

    /// A layered file of six chunks and more bytes than a reader has ahead.
    fn long_file(path: &Path) -> Vec<f64> {
        let mixed = |i: u64| (i.wrapping_mul(i | 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let coordinate = |i: u64| mixed(i) as f64 * 1e-3;
        let x: Vec<f64> = (0..270_000).map(coordinate).collect();
        let class: Vec<u8> = (0..x.len()).map(|i| (i % 3) as u8).collect();
        let points = LasPoints { x: &x, y: &x, z: &x, class: &class, ..Default::default() };
        write_las(path, &points, None).unwrap();
        assert!(std::fs::metadata(path).unwrap().len() > 1 << 20);
        x
    }

    #[test]
    fn chunks_are_decoded_and_taken_in_order_by_any_number_of_cores() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.laz");
        let x = long_file(&path);
        let las = LasFile::open(&path).unwrap();
        let laz = las.laz.as_ref().unwrap();
        let chunks = las.chunks_of_table().unwrap();
        assert_eq!(chunks.iter().map(|c| c.points).collect::<Vec<_>>()[4..], [50_000, 20_000]);
        for classes in [None, Some(vec![2])] {
            let filter = Filter { classes, ..Default::default() };
            let kept = |i: usize| filter.classes.is_none() || i % 3 == 2;
            let expected: Vec<f64> =
                x.iter().enumerate().filter(|(i, _)| kept(*i)).map(|(_, x)| *x).collect();
            let read_all = || {
                let mut cloud = PointCloud::of_las(0, 0, &filter);
                let mut keep = Keep::All { at_once: 1, is_checked: true };
                let to = (&mut cloud, &mut keep, &mut Decoded::behind(None));
                read((&las, &path), laz, &chunks, &filter, (&gpu_core::Silent).into(), to)?
                    .unwrap();
                Ok::<_, Error>(cloud)
            };
            // From outside of the pool, and from within one of a core that waits for itself.
            let outside = read_all().unwrap();
            for cores in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().unwrap();
                assert_eq!(pool.install(read_all).unwrap(), outside);
            }
            assert_eq!(outside.tally.read, 270_000);
            assert_eq!(outside.len(), expected.len());
            assert!(outside.x.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-3));
        }
    }

    #[test]
    fn a_table_that_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.laz");
        long_file(&path);
        let whole = std::fs::read(&path).unwrap();
        let las = LasFile::open(&path).unwrap();
        let mut record = las.vlrs.iter().find(|v| v.id == 22204).unwrap().data.clone();
        record[0] = 1;
        assert!(Table::read(&las, &LazVlr::from_buffer(&record).unwrap()).is_err());
        let table = las.table.as_ref().unwrap().as_ref().unwrap();
        assert_eq!(table.of_points(250_000).unwrap().len(), 5);
        assert!(table.of_points(300_001).is_err());
        // A table of more chunks than the file has bytes for.
        let start = las.raw.offset_to_point_data as usize;
        let place = u64::from_le_bytes(whole[start..start + 8].try_into().unwrap()) as usize;
        let mut bytes = whole;
        bytes[place + 4..place + 8].copy_from_slice(&u32::MAX.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let las = LasFile::open(&path).unwrap();
        let reason = las.chunks_of_table().unwrap_err();
        assert!(reason.contains("4294967295 chunks"), "{reason}");
    }
}
