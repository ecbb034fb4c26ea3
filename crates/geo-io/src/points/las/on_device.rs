//! The chunks of large layered files, decoded on a GPU in batches.
//!
//! A GPU decodes a chunk slowly, but thousands at once: for any batch it takes about as long as for its largest chunk. So
//! it is worth it only for many chunks. Two batches are under way at a time. While the GPU decodes one, the cores read the
//! next one and filter the one before.

use std::sync::atomic::{AtomicBool, Ordering};

use ::laz::LazVlr;
use gpu_core::{Device, host_memory, parallel};
use laz_chunks::{Capacity, Error, Fields, PackedChunks, Points};

use super::LasFile;
use super::fields::decoded_on_device;
use crate::Filter;
use crate::error::unwinding;
use crate::points::chunk::{Chunk, points_of};
use crate::points::read_on::Unpacking;
use crate::points::{Keep, bytes_of_point};

/// Batches at a time: one that is decoded, and one that is read or filtered.
const AT_A_TIME: u64 = 2;

/// The fewest chunks that a GPU gets. It takes for any batch about as long as a core for 15 to 20 chunks
/// (docs/notes/laz-chunks.md). The cores read and filter besides, and the columns come back from the device.
fn worth_a_gpu() -> usize {
    40 * rayon::current_num_threads()
}

/// A GPU that decodes batches of a file's chunks.
pub(super) struct Batches {
    device: Device,
    fields: Fields,
    /// The fewest and the most chunks of a batch.
    least: usize,
    most: usize,
    /// The points of as many batches as are under way.
    ahead: u64,
    /// Whether a batch failed, as for lack of memory. Then the cores decode all.
    has_failed: AtomicBool,
}

impl Batches {
    /// Returns a GPU for a file's chunks, once it is open; `None` if the cores decode them as fast, or if no GPU can. No
    /// GPU can if chunks are not layered, if a field is not among those that it decodes, or if memory is short.
    pub fn of(
        unpacking: Unpacking<'_>,
        (las, vlr): (&LasFile, &LazVlr),
        chunks: &[Chunk],
        filter: &Filter,
        keep: &Keep,
    ) -> Option<Self> {
        // Batches of points are handed on with a checksum of their records, times and colours included.
        let Keep::All { at_once: files, .. } = *keep else { return None };
        let least = unpacking.chunks.map_or_else(worth_a_gpu, |[least, _]| least);
        // A server takes longer than any decoder.
        if chunks.len() < least.max(1) || las.file.is_remote() {
            return None;
        }
        let fields = decoded_on_device(&las.layout.taken)?;
        PackedChunks::new(vlr, fields).ok()?;
        let device = unpacking.device()?;
        let capacity = laz_chunks::capacity(&device).ok()??;
        let most = match unpacking.chunks {
            Some([_, most]) => most,
            None if capacity.is_software => return None,
            None => {
                let point = bytes_of_point(las.layout.taken.len(), filter.numbered);
                capacity.chunks.min(by_memory(capacity, fields, chunks, files as u64, point))
            }
        };
        let ahead = chunks.chunks(most.max(1)).map(points_of).max()? * AT_A_TIME;
        let has_failed = AtomicBool::new(false);
        (most >= least).then_some(Self { device, fields, least, most, ahead, has_failed })
    }

    /// How many of the chunks that are left are decoded together. The last ones of a file may be too few for a GPU.
    pub fn next(&self, left: usize) -> usize {
        let next = left.min(self.most);
        if next < self.least || self.has_failed() { 1 } else { next }
    }

    /// The points that may be decoded before their turn; `None` once the cores decode all.
    pub fn ahead(&self) -> Option<u64> {
        (!self.has_failed()).then_some(self.ahead)
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Decodes chunks, given by their bytes. A chunk that is missing, or that the GPU refuses, is left to the cores, which
    /// say what is wrong with it.
    pub fn decoded(&self, vlr: &LazVlr, chunks: Vec<Option<Vec<u8>>>) -> Batch {
        let count = chunks.len();
        match unwinding(|| self.try_decoded(vlr, chunks)) {
            Ok(Ok(batch)) => batch,
            Ok(Err(_)) | Err(_) => {
                self.has_failed.store(true, Ordering::Relaxed);
                Batch { points: Points::default(), firsts: vec![None; count] }
            }
        }
    }

    fn try_decoded(&self, vlr: &LazVlr, chunks: Vec<Option<Vec<u8>>>) -> Result<Batch, Error> {
        let mut packed = PackedChunks::new(vlr, self.fields)?;
        packed.reserve(chunks.iter().flatten().map(Vec::len).sum())?;
        let (mut numbers, mut firsts) = (Vec::new(), Vec::new());
        for (number, bytes) in chunks.into_iter().enumerate() {
            let first = packed.points() as usize;
            let is_packed = bytes.is_some_and(|bytes| packed.push(&bytes).is_ok());
            firsts.push(is_packed.then_some(first));
            numbers.extend(is_packed.then_some(number));
        }
        let (points, damaged) = laz_chunks::decode_each(&self.device, &packed)?;
        for error in damaged {
            if let Error::Damaged { chunk, .. } = error {
                firsts[numbers[chunk]] = None;
            }
        }
        Ok(Batch { points, firsts })
    }
}

/// Decoded chunks.
pub(super) struct Batch {
    points: Points,
    /// The number of each chunk's first point; `None` of a chunk that the cores decode.
    firsts: Vec<Option<usize>>,
}

impl Batch {
    /// A chunk that was not given to a GPU.
    pub fn for_cores() -> Self {
        Self { points: Points::default(), firsts: vec![None] }
    }

    /// Returns what writes the next records of a chunk, from its first one on; `None` of a chunk that the cores decode.
    pub fn records(&self, number: usize, bytes: usize) -> Option<impl FnMut(&mut [u8])> {
        let mut next = self.firsts[number]?;
        Some(move |records: &mut [u8]| {
            self.points.fill_records(next, records, bytes);
            next += records.len() / bytes;
        })
    }
}

/// How many chunks of a file fit into memory at once, where as many files are read at a time. `point` are the bytes of a
/// point in a cloud.
fn by_memory(
    capacity: Capacity,
    fields: Fields,
    chunks: &[Chunk],
    files: u64,
    point: u64,
) -> usize {
    let count = chunks.len() as u64;
    let (points, bytes) = (points_of(chunks), chunks.iter().map(|chunk| chunk.bytes).sum::<u64>());
    let columns = (points * fields.bytes_of_point() + bytes) / count + 1;
    let share = |memory: u64, chunk: u64| memory / (files.max(1) * AT_A_TIME) / chunk;
    // Chunks differ in size, and others take memory meanwhile: a quarter of the device's and half of the host's stay free.
    let device = share(capacity.free / 4 * 3, capacity.bytes_of_chunk + columns);
    // The points of all chunks may be kept.
    let free = host_memory::available().unwrap_or(u64::MAX).saturating_sub(points * point);
    let host = share(free / 2, columns + points * point / count + 1);
    // A call takes 4 GB of packed bytes.
    let packed = u64::from(u32::MAX) * 3 / 4 / (bytes / count + 1);
    device.min(host).min(packed) as usize
}

/// Does work for the numbers below `count` on all cores, about in the order of the numbers.
pub(super) fn in_order(count: usize, work: &(dyn Fn(usize) + Sync)) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    parallel::for_ranges(rayon::current_num_threads().min(count), 1, &|cores| {
        for _ in cores {
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    number if number < count => work(number),
                    _ => break,
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use gpu_core::{DeviceChoice, Silent};

    use super::*;
    use crate::points::read_on::ReadOn;
    use crate::{LasPoints, write_las};

    /// Whatever fails on a device, a read succeeds: so that it did not fail shows here alone.
    #[test]
    fn a_device_decodes_all_but_what_it_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.laz");
        let x: Vec<f64> = (0..150_100).map(|i| f64::from(i * 7919 % 10_007)).collect();
        write_las(&path, &LasPoints { x: &x, y: &x, z: &x, ..Default::default() }, None).unwrap();
        let las = LasFile::open(&path).unwrap();
        let (vlr, chunks) = (las.laz.as_ref().unwrap(), las.chunks_of_table().unwrap());
        let device = Device::open(DeviceChoice::Software).unwrap();
        let on = ReadOn::from(&device);
        let batches = |on: ReadOn, keep: &Keep| {
            Batches::of(on.unpacking, (&las, vlr), &chunks, &Filter::default(), keep)
        };
        let all = Keep::All { at_once: 2, is_checked: false };
        assert!(batches(on, &all).is_none());
        assert!(batches(on.with_chunks(5, 10), &all).is_none());
        assert!(batches((&Silent).into(), &all).is_none());
        let take = &mut |_: &crate::PointCloud| Ok(());
        assert!(batches(on.with_chunks(2, 3), &Keep::Batches { most: 10, take }).is_none());

        let batches = batches(on.with_chunks(2, 3), &all).unwrap();
        assert_eq!((batches.next(4), batches.next(2), batches.next(1)), (3, 2, 1));
        assert_eq!(batches.ahead(), Some(300_000));
        let bytes = |chunk: &Chunk| las.file.read_at(chunk.offset, chunk.bytes);
        let mut bytes: Vec<_> = chunks.iter().map(|chunk| bytes(chunk).ok()).collect();
        bytes[0] = None;
        // Damage that the head shows, and damage that decoding shows.
        bytes[1].as_mut().unwrap()[30..34].fill(0xff);
        bytes[2].as_mut().unwrap()[1000..1400].fill(0xA5);
        let batch = batches.decoded(vlr, bytes);
        assert_eq!(batch.firsts, [None, None, None, Some(50_000)]);
        assert_eq!(batches.ahead(), Some(300_000));
        let mut record = [0; 60];
        batch.records(3, 30).unwrap()(&mut record);
        assert!((las.layout.coordinate(&record[30..], 0) - x[150_001]).abs() < 1e-3);
    }

    #[test]
    fn batches_are_smaller_where_memory_is_short() {
        let chunk = Chunk { offset: 0, bytes: 300_000, points: 50_000, square: None };
        let chunks = vec![chunk; 10_000];
        let of = |free: u64, files: u64| {
            let device = Device::open(DeviceChoice::Software).unwrap();
            let mut capacity = laz_chunks::capacity(&device).unwrap().unwrap();
            capacity.free = free;
            by_memory(capacity, Fields::default(), &chunks, files, 25)
        };
        assert_eq!(of(0, 1), 0);
        let (one, two) = (of(1 << 30, 1), of(1 << 30, 2));
        assert!((100..500).contains(&one) && two == one / 2, "{one} {two}");
        // A call takes 4 GB of packed bytes.
        assert!(of(1 << 50, 1) <= 14_317);
    }

    #[test]
    fn numbers_come_about_in_order_and_each_once() {
        for count in [0, 1, 2, 1000] {
            let done = std::sync::Mutex::new(Vec::new());
            in_order(count, &|number| done.lock().unwrap().push(number));
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert!(done.into_iter().eq(0..count));
        }
    }
}
