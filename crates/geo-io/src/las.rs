//! LAS and LAZ, versions 1.0 to 1.4, point formats 0 to 10.
//!
//! Reading. The crates `las` and `laz` decode headers, records and compression; what a damaged
//! file could make them do is fenced in here. Every length that a header states is held against
//! the file's length before memory is asked for; points come in batches; a decoder that panics
//! gives an error. LAZ is decoded on all cores through its chunk table. Where that table is
//! missing, as in a file cut short, or where the parallel decoder fails, points are decoded again
//! one by one from the start: a file with whole points but a damaged table is still read, and of
//! a truncated one the error says how many points it holds.
//!
//! Where the filter has bounds, a file whose header lies outside them is not read at all, and of a COPC
//! only the chunks that touch them.
//!
//! Writing. LAS 1.4 with point format 6 and the reference system as WKT, as the specification
//! asks; a system known only by GeoTIFF keys goes into LAS 1.2, format 0, which can hold keys.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use ::las::{Builder, PointDataBuilder, Transform, Vector, Version, Vlr, Writer, point, raw};
use ::laz::laszip::{ChunkTable, ChunkTableEntry};
use ::laz::{LasZipDecompressor, LazItemType, LazVlr, ParLasZipDecompressor, par_decompress};
use gpu_core::{Bounds, Progress};

use crate::copc::{Chunk, Info};
use crate::crs::{ASCII_TAG, DIRECTORY_TAG, DOUBLES_TAG};
use crate::error::unwinding;
use crate::output::{Output, check_output, write_atomic};
use crate::points::{Attributes, Keep, ending, open, report};
use crate::{Crs, Error, Filter, GeoKeys, Header, PointCloud, Result};

/// Points decoded between two progress reports, at least.
const BATCH: usize = 1 << 19;

/// Points decoded at once for each core: two chunks of the customary size.
const BATCH_OF_CORE: usize = 100_000;

/// Bytes of a batch at most.
const BATCH_BYTES: usize = 1 << 26;

/// Reads a LAS or LAZ file; which of the two it is, its header says.
pub(crate) fn read(
    path: &Path,
    filter: &Filter,
    progress: &dyn Progress,
    mut keep: Keep,
) -> Result<PointCloud> {
    let file = LasFile::open(path)?;
    let (crs, notes) = file.crs(path)?;
    let heights = file.heights();
    let empty = PointCloud { class: Some(vec![]), crs, heights, notes, ..Default::default() };
    let mut cloud = empty.clone();
    if filter.bounds.is_some_and(|bounds| file.is_outside(&bounds)) {
        cloud.tally.read = file.points;
        cloud.tally.dropped_outside = file.points;
        return Ok(cloud);
    }
    if let Some(laz) = &file.laz
        && file.points > 0
    {
        if let Some(chunks) = file.chunks_within(filter) {
            let to = (&mut cloud, &mut keep);
            file.read_chunks(path, laz, &chunks, filter, progress, to)?;
            return Ok(cloud);
        }
        let parallel = parallel_decoder(&file, laz);
        // With its chunk table a file has all of its bytes: what ends early then is damaged.
        let is_whole = parallel.is_ok();
        let judged = |error: Error| match error {
            Error::Truncated { found, .. } if is_whole => {
                file.damaged(path, found, "its compressed data contradict themselves")
            }
            other => other,
        };
        if is_layered(laz) {
            let found = file.layered_points(laz).map_err(|e| Error::read(path, e))?;
            if found < file.points {
                return Err(judged(file.truncated(path, found)));
            }
        }
        let mut before = None;
        if let Ok(source) = parallel {
            let mut decoded = Decoded::behind(None);
            let batch = keep.batch(usual_batch());
            let to = (&mut cloud, &mut keep, &mut decoded);
            let parallel = file.read_all(path, source, batch, filter, progress, to);
            if !matches!(parallel, Err(Error::Malformed { .. } | Error::Truncated { .. })) {
                return parallel.map(|()| cloud);
            }
            // What was handed on cannot be called back.
            match keep.is_by_batches() {
                true => before = Some(decoded),
                false => cloud = empty,
            }
        }
        let source = sequential_decoder(&file, laz).map_err(|e| Error::malformed(path, e))?;
        let mut decoded = Decoded::behind(before);
        let to = (&mut cloud, &mut keep, &mut decoded);
        file.read_all(path, source, 1, filter, progress, to).map_err(judged)?;
    } else {
        let mut source = file.at_points().map_err(|e| Error::read(path, e))?;
        let read = move |out: &mut [u8]| source.read_exact(out);
        let (batch, mut decoded) = (keep.batch(usual_batch()), Decoded::behind(None));
        let to = (&mut cloud, &mut keep, &mut decoded);
        file.read_all(path, Box::new(read), batch, filter, progress, to)?;
    }
    Ok(cloud)
}

/// How far a decoder has come, and a checksum of the records that it gave: by it a second decoder, which begins anew,
/// is known to give what was handed on of the first.
#[derive(Default)]
struct Decoded {
    points: u64,
    checksum: crc32fast::Hasher,
    /// The points that another decoder gave, and their checksum: they are not kept again.
    before: Option<(u64, u32)>,
}

impl Decoded {
    /// A decoder that begins, where another may have given points before.
    fn behind(before: Option<Self>) -> Self {
        let before = before.map(|other| (other.points, other.checksum.finalize()));
        Self { before, ..Self::default() }
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

/// Reads what the header of a LAS or LAZ file says of its points.
pub(crate) fn read_header(path: &Path) -> Result<Header> {
    let file = LasFile::open(path)?;
    let (crs, _) = file.crs(path)?;
    Ok(Header { points: file.points, bounds: file.bounds(), heights: file.heights(), crs })
}

/// Points that are decoded at once of one file.
fn usual_batch() -> usize {
    BATCH.max(BATCH_OF_CORE * rayon::current_num_threads())
}

/// Fills the buffer with the next records.
type Decoder = Box<dyn FnMut(&mut [u8]) -> io::Result<()>>;

/// A file whose header has been read and held against its length.
struct LasFile {
    file: File,
    size: u64,
    raw: raw::Header,
    extended: bool,
    record: usize,
    points: u64,
    vlrs: Vec<Vlr>,
    laz: Option<LazVlr>,
}

impl LasFile {
    fn open(path: &Path) -> Result<Self> {
        let (file, size) = open(path)?;
        let bad = |reason: String| Error::malformed(path, reason);
        let mut reader = BufReader::new(file.try_clone().map_err(|e| Error::read(path, e))?);
        let mut signature = [0; 4];
        let known = reader.read_exact(&mut signature).is_ok() && signature == *b"LASF";
        if !known {
            return Err(Error::NotA { path: path.to_owned(), format: "LAS or LAZ" });
        }
        reader.rewind().map_err(|e| Error::read(path, e))?;
        let raw = raw::Header::read_from(&mut reader)
            .map_err(|e| bad(format!("its header cannot be read: {e}")))?;
        if raw.version.major != 1 || raw.version.minor > 4 {
            return Err(bad(format!("LAS version {} is not 1.0 to 1.4", raw.version)));
        }
        let transforms = [
            [raw.x_scale_factor, raw.x_offset],
            [raw.y_scale_factor, raw.y_offset],
            [raw.z_scale_factor, raw.z_offset],
        ];
        if !transforms.as_flattened().iter().all(|v| v.is_finite()) {
            return Err(bad("a scale or an offset of its header is not finite".into()));
        }
        for (axis, scale) in
            [("x", raw.x_scale_factor), ("y", raw.y_scale_factor), ("z", raw.z_scale_factor)]
        {
            if scale == 0.0 {
                return Err(bad(format!("the scale of {axis} in its header is 0")));
            }
        }
        if u64::from(raw.header_size) > size {
            return Err(bad("it ends within its header".into()));
        }

        let vlrs = read_vlrs(&mut reader, &raw, size).map_err(bad)?;
        let builder = Builder::new(raw::Header { evlr: None, ..raw.clone() })
            .map_err(|e| bad(e.to_string()))?;
        let format = builder.point_format;
        let laz = vlrs.iter().find(|v| v.user_id == "laszip encoded" && v.record_id == 22204);
        let laz = match (format.is_compressed, laz) {
            (false, _) => None,
            (true, None) => {
                return Err(bad("the record that describes its compression is missing".into()));
            }
            (true, Some(vlr)) => Some(
                unwinding(|| LazVlr::from_buffer(&vlr.data))
                    .and_then(|r| r.map_err(|e| e.to_string()))
                    .map_err(bad)?,
            ),
        };
        let record = usize::from(raw.point_data_record_length);
        if laz.as_ref().is_some_and(|vlr| vlr.items_size() != record as u64) {
            return Err(bad("compressed and stated point sizes differ".into()));
        }
        let large = raw.large_file.map_or(0, |l| l.number_of_point_records);
        let points = if large > 0 { large } else { raw.number_of_point_records.into() };
        let extended = format.is_extended;
        Ok(Self { file, size, raw, extended, record, points, vlrs, laz })
    }

    /// A reader of its own at the first point.
    fn at_points(&self) -> io::Result<BufReader<File>> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(self.raw.offset_to_point_data.into()))?;
        Ok(BufReader::with_capacity(1 << 20, file))
    }

    /// Where the points lie, as the header has it. Some writers leave its bounds at zero.
    fn bounds(&self) -> Option<Bounds> {
        let h = &self.raw;
        let all = [h.min_x, h.max_x, h.min_y, h.max_y];
        let stated = all.iter().all(|v| v.is_finite()) && all.iter().any(|v| *v != 0.0);
        (stated && h.min_x <= h.max_x && h.min_y <= h.max_y).then_some(Bounds {
            min_x: h.min_x,
            min_y: h.min_y,
            max_x: h.max_x,
            max_y: h.max_y,
        })
    }

    /// The lowest and the highest elevation, as the header has it.
    fn heights(&self) -> Option<[f64; 2]> {
        let [low, high] = [self.raw.min_z, self.raw.max_z];
        (low.is_finite() && high.is_finite() && low <= high).then_some([low, high])
    }

    /// Whether all points lie outside some bounds, as the header has it.
    fn is_outside(&self, bounds: &Bounds) -> bool {
        self.bounds().is_some_and(|all| {
            let all = self.with_rounding(&all);
            all.min_x > bounds.max_x
                || all.max_x < bounds.min_x
                || all.min_y > bounds.max_y
                || all.max_y < bounds.min_y
        })
    }

    /// Stated bounds and a step around: a coordinate is rounded once more than its bound may be.
    fn with_rounding(&self, all: &Bounds) -> Bounds {
        let (x, y) = (self.raw.x_scale_factor.abs(), self.raw.y_scale_factor.abs());
        Bounds {
            min_x: all.min_x - x,
            min_y: all.min_y - y,
            max_x: all.max_x + x,
            max_y: all.max_y + y,
        }
    }

    /// The chunks that a COPC's index names for the filter's bounds; `None` of another file.
    fn chunks_within(&self, filter: &Filter) -> Option<Vec<Chunk>> {
        let bounds = filter.bounds?;
        let info = self.vlrs.iter().find(|v| v.user_id == "copc" && v.record_id == 1)?;
        let mut file = BufReader::new(self.file.try_clone().ok()?);
        Info::of(&info.data)?.chunks_within(&mut file, (self.size, self.points), &bounds)
    }

    /// Decodes some chunks on all cores, a few megabytes at a time. The other points count as outside.
    fn read_chunks(
        &self,
        path: &Path,
        vlr: &LazVlr,
        chunks: &[Chunk],
        filter: &Filter,
        progress: &dyn Progress,
        (cloud, keep): (&mut PointCloud, &mut Keep),
    ) -> Result<()> {
        let wanted: u64 = chunks.iter().map(|chunk| chunk.points).sum();
        let damaged = |done: u64, reason: &str| self.damaged(path, done, reason);
        let mut source = self.file.try_clone().map_err(|e| Error::read(path, e))?;
        let (mut done, mut rest) = (0, chunks);
        while !rest.is_empty() {
            report(progress, done, wanted)?;
            let points = |count: usize| rest[..count].iter().map(|c| c.points).sum::<u64>();
            let most = keep.batch(usual_batch()) as u64;
            let fits = |&count: &usize| points(count) <= most;
            let (batch, after) =
                rest.split_at((2..=rest.len()).take_while(fits).last().unwrap_or(1));
            let mut packed = Vec::new();
            for chunk in batch {
                let start = packed.len();
                packed.resize(start + chunk.bytes as usize, 0);
                source
                    .seek(SeekFrom::Start(chunk.offset))
                    .and_then(|_| source.read_exact(&mut packed[start..]))
                    .map_err(|e| Error::read(path, e))?;
                if !is_sound(&packed[start..], self.record, vlr, chunk.points) {
                    return Err(damaged(done, "a chunk contradicts its index"));
                }
            }
            let entry = |c: &Chunk| ChunkTableEntry { point_count: c.points, byte_count: c.bytes };
            let table: Vec<_> = batch.iter().map(entry).collect();
            let count = batch.iter().map(|c| c.points).sum::<u64>();
            let mut records = vec![0; count as usize * self.record];
            unwinding(|| par_decompress(&packed, &mut records, vlr, &table))
                .and_then(|decoded| decoded.map_err(|e| e.to_string()))
                .map_err(|reason| damaged(done, &reason))?;
            self.keep(path, &records, filter, cloud)?;
            (done, rest) = (done + count, after);
            self.hand_on((cloud, keep), path, rest.is_empty())?;
        }
        cloud.tally.read += self.points - wanted;
        cloud.tally.dropped_outside += self.points - wanted;
        report(progress, wanted, wanted)
    }

    /// The reference system: WKT where the header says so or nothing else is there, else keys. And what
    /// was passed over, in words.
    fn crs(&self, path: &Path) -> Result<(Option<Crs>, Vec<String>)> {
        let find = |record| {
            let mut vlrs = self.vlrs.iter();
            vlrs.find(|v| v.user_id == "LASF_Projection" && v.record_id == record)
        };
        let wkt = find(2112).and_then(|v| Crs::from_wkt(&String::from_utf8_lossy(&v.data)));
        let says_wkt = self.raw.global_encoding & 16 != 0;
        let Some(directory) = find(DIRECTORY_TAG).filter(|_| !(says_wkt && wkt.is_some())) else {
            return Ok((wkt, vec![]));
        };
        let bytes = |record| find(record).map_or(&[][..], |v| &v.data);
        let ascii = bytes(ASCII_TAG).strip_suffix(b"\0").unwrap_or(bytes(ASCII_TAG));
        let words = directory.data.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b));
        let keys = GeoKeys {
            directory: words.collect(),
            doubles: bytes(DOUBLES_TAG)
                .as_chunks()
                .0
                .iter()
                .map(|&b| f64::from_le_bytes(b))
                .collect(),
            // One byte for one byte: the directory counts them.
            ascii: ascii.iter().map(|&b| if b.is_ascii() { b as char } else { '?' }).collect(),
        };
        let (keys, dropped) = keys.cleaned();
        let notes = match dropped[..] {
            [] => vec![],
            _ => {
                let numbers: Vec<String> = dropped.iter().map(u16::to_string).collect();
                let numbers = numbers.join(", ");
                vec![format!("broken GeoTIFF keys of its coordinate system dropped: {numbers}")]
            }
        };
        let crs = Crs::from_geokeys(keys).map_err(|reason| Error::malformed(path, reason))?;
        Ok((crs.or(wkt), notes))
    }

    /// Decodes all points in batches and keeps those that pass the filter.
    fn read_all(
        &self,
        path: &Path,
        mut decode: Decoder,
        batch: usize,
        filter: &Filter,
        progress: &dyn Progress,
        (cloud, keep, decoded): (&mut PointCloud, &mut Keep, &mut Decoded),
    ) -> Result<()> {
        // Records may be as long as 65,535 bytes: a batch is bounded in bytes too.
        let batch = batch.min(BATCH_BYTES / self.record).max(1);
        let mut bytes = vec![0; batch.min(self.points as usize) * self.record];
        let (mut done, mut next_report) = (0, 0);
        while done < self.points {
            if done >= next_report {
                report(progress, done, self.points)?;
                next_report = done + BATCH as u64;
            }
            let mut count = (self.points - done).min(batch as u64);
            if self.laz.is_none() {
                let start = u64::from(self.raw.offset_to_point_data) + done * self.record as u64;
                let whole = self.size.saturating_sub(start) / self.record as u64;
                if whole == 0 {
                    return Err(self.truncated(path, done));
                }
                count = count.min(whole);
            }
            let buffer = &mut bytes[..count as usize * self.record];
            match unwinding(|| decode(buffer)) {
                Ok(Ok(())) => {
                    // Nothing is decoded twice where all stays in the cloud.
                    let is_new = !keep.is_by_batches()
                        || decoded
                            .is_new(count, buffer)
                            .map_err(|e| self.damaged(path, done, e))?;
                    if is_new {
                        self.keep(path, buffer, filter, cloud)?;
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

    /// Hands on what was kept, where it is to be. Whoever gets a part relies on the header's bounds for the whole: so
    /// no point may lie outside of them.
    fn hand_on(
        &self,
        (cloud, keep): (&mut PointCloud, &mut Keep),
        path: &Path,
        is_last: bool,
    ) -> Result<()> {
        if keep.is_to_check(cloud, is_last)
            && let Some(all) = self.bounds()
        {
            let b = self.with_rounding(&all);
            let places = cloud.x.iter().zip(&cloud.y);
            let mut outside = places.filter(|(x, y)| {
                !((b.min_x..=b.max_x).contains(x) && (b.min_y..=b.max_y).contains(y))
            });
            if let Some((x, y)) = outside.next() {
                let reason = format!("its point at {x} {y} lies outside of its header's bounds");
                return Err(Error::malformed(path, reason));
            }
        }
        keep.hand_on(cloud, is_last)
    }

    /// Points in whole chunks, from the first on, of a file whose chunks are layered.
    ///
    /// A layered chunk is its first record, its number of points, the lengths of its layers, and
    /// the layers. The decoder asks for memory by these lengths, up to 4 GB a layer, before it
    /// looks whether the file has as much; so they are held against the file's length first.
    fn layered_points(&self, vlr: &LazVlr) -> io::Result<u64> {
        let layers: usize = vlr.items().iter().map(|item| layers_of(item.item_type())).sum();
        let mut head = vec![0; 4 * (1 + layers)];
        let mut source = self.at_points()?;
        let mut position = u64::from(self.raw.offset_to_point_data) + 8;
        let mut points = 0;
        while points < self.points {
            let layers_start = position + self.record as u64 + head.len() as u64;
            if layers_start > self.size {
                break;
            }
            source.seek(SeekFrom::Start(position + self.record as u64))?;
            source.read_exact(&mut head)?;
            let mut words = head.as_chunks().0.iter().map(|&b| u64::from(u32::from_le_bytes(b)));
            let count = words.next().unwrap_or(0);
            position = layers_start + words.sum::<u64>();
            if count == 0 || position > self.size {
                break;
            }
            points += count;
        }
        Ok(points)
    }

    fn truncated(&self, path: &Path, found: u64) -> Error {
        Error::Truncated { path: path.to_owned(), expected: self.points, found }
    }

    fn damaged(&self, path: &Path, done: u64, reason: &str) -> Error {
        Error::malformed(path, format!("after {done} of {} points: {reason}", self.points))
    }

    /// Takes coordinates and attributes out of whole records.
    fn keep(
        &self,
        path: &Path,
        records: &[u8],
        filter: &Filter,
        cloud: &mut PointCloud,
    ) -> Result<()> {
        cloud.reserve(path, records.len() / self.record)?;
        let word = |r: &[u8], at: usize| {
            f64::from(i32::from_le_bytes([r[at], r[at + 1], r[at + 2], r[at + 3]]))
        };
        let h = &self.raw;
        let place = |r: &[u8]| {
            let x = word(r, 0) * h.x_scale_factor + h.x_offset;
            (x, word(r, 4) * h.y_scale_factor + h.y_offset)
        };
        for r in records.chunks_exact(self.record) {
            let (x, y) = place(r);
            let point = if self.extended {
                Attributes {
                    x,
                    y,
                    class: r[16],
                    return_number: r[14] & 15,
                    number_of_returns: r[14] >> 4,
                    withheld: r[15] & 4 != 0,
                }
            } else {
                Attributes {
                    x,
                    y,
                    class: r[15] & 31,
                    return_number: r[14] & 7,
                    number_of_returns: r[14] >> 3 & 7,
                    withheld: r[15] & 128 != 0,
                }
            };
            if filter.keeps(point, &mut cloud.tally) {
                cloud.x.push(x);
                cloud.y.push(y);
                cloud.z.push(word(r, 8) * h.z_scale_factor + h.z_offset);
                cloud.class.iter_mut().for_each(|column| column.push(point.class));
            }
        }
        Ok(())
    }
}

/// The variable length records behind the header, and the extended ones behind the points where
/// the file reaches that far: a file cut short within its points has lost them.
fn read_vlrs(
    reader: &mut BufReader<File>,
    raw: &raw::Header,
    size: u64,
) -> Result<Vec<Vlr>, String> {
    const HEADER: u64 = 54;
    const EXTENDED_HEADER: u64 = 60;
    let mut vlrs = Vec::new();
    let mut position = u64::from(raw.header_size);
    reader.seek(SeekFrom::Start(position)).map_err(|e| e.to_string())?;
    for _ in 0..raw.number_of_variable_length_records {
        let vlr = raw::Vlr::read_from(&mut *reader, false)
            .map_err(|_| "it ends within its variable length records".to_owned())?;
        position += HEADER + vlr.data.len() as u64;
        vlrs.push(Vlr::new(vlr));
    }
    if position > raw.offset_to_point_data.into() {
        return Err("its variable length records reach into its points".to_owned());
    }
    let Some(extended) = raw.evlr else { return Ok(vlrs) };
    let mut position = extended.start_of_first_evlr;
    for _ in 0..extended.number_of_evlrs {
        let mut header = [0; EXTENDED_HEADER as usize];
        let there = position.checked_add(EXTENDED_HEADER).is_some_and(|end| end <= size);
        if !there
            || reader.seek(SeekFrom::Start(position)).is_err()
            || reader.read_exact(&mut header).is_err()
        {
            break;
        }
        let length = header[20..28].try_into().map_or(u64::MAX, u64::from_le_bytes);
        let end = (position + EXTENDED_HEADER).checked_add(length).filter(|&end| end <= size);
        let Some(end) = end else { break };
        reader.seek(SeekFrom::Start(position)).map_err(|e| e.to_string())?;
        match raw::Vlr::read_from(&mut *reader, true) {
            Ok(vlr) => vlrs.push(Vlr::new(vlr)),
            Err(_) => break,
        }
        position = end;
    }
    Ok(vlrs)
}

/// Whether the fields of a chunk lie one behind the other, as for point formats 6 to 10.
fn is_layered(vlr: &LazVlr) -> bool {
    vlr.items().first().is_some_and(|item| matches!(item.version(), 3 | 4))
}

/// Whether a layered chunk holds as many points as stated and is as long as its layers are.
fn is_sound(chunk: &[u8], record: usize, vlr: &LazVlr, points: u64) -> bool {
    let layers: usize = vlr.items().iter().map(|item| layers_of(item.item_type())).sum();
    let Some(words) = chunk.get(record..record + 4 * (1 + layers)) else { return false };
    let mut words = words.as_chunks().0.iter().map(|&b| u64::from(u32::from_le_bytes(b)));
    let count = words.next().unwrap_or(0);
    let head = record + 4 * (1 + layers);
    is_layered(vlr) && count == points && head as u64 + words.sum::<u64>() <= chunk.len() as u64
}

/// Layers in which LASzip stores an item of a layered chunk.
fn layers_of(item: LazItemType) -> usize {
    match item {
        LazItemType::Point14 => 9,
        LazItemType::RGBNIR14 => 2,
        LazItemType::Byte14(bytes) => bytes.into(),
        _ => 1,
    }
}

/// Decodes chunks on all cores. Refuses a chunk table that does not fit the file.
fn parallel_decoder(las: &LasFile, vlr: &LazVlr) -> Result<Decoder, String> {
    let text = |e: io::Error| e.to_string();
    let mut source = las.at_points().map_err(text)?;
    let start = u64::from(las.raw.offset_to_point_data);
    let mut bytes = [0; 8];
    source.read_exact(&mut bytes).map_err(text)?;
    let table = u64::from_le_bytes(bytes);
    let fits = table > start && table.checked_add(8).is_some_and(|end| end <= las.size);
    if !fits {
        return Err("its chunk table is missing".into());
    }
    source.seek(SeekFrom::Start(table + 4)).map_err(text)?;
    let mut count = [0; 4];
    source.read_exact(&mut count).map_err(text)?;
    if u64::from(u32::from_le_bytes(count)) > las.size {
        return Err("its chunk table has more chunks than the file has bytes".into());
    }
    source.seek(SeekFrom::Start(start)).map_err(text)?;
    let chunks =
        unwinding(|| ChunkTable::read_from(&mut source, vlr))?.map_err(|e| e.to_string())?;
    let entries: &[_] = chunks.as_ref();
    let total = entries.iter().try_fold(start + 8, |sum, e| sum.checked_add(e.byte_count));
    // A chunk of the customary size has 50,000 points.
    let plausible = |points: u64| points <= las.points.max(50_000);
    let room = entries.iter().all(|e| plausible(e.point_count));
    if !room || total.is_none_or(|end| end > las.size) {
        return Err("its chunk table does not fit the file".into());
    }
    source.seek(SeekFrom::Start(start)).map_err(text)?;
    let vlr = vlr.clone();
    let mut laz =
        unwinding(|| ParLasZipDecompressor::new(source, vlr))?.map_err(|e| e.to_string())?;
    Ok(Box::new(move |out| laz.decompress_many(out).map_err(plain)))
}

/// Decodes from the first point on, without a chunk table where the compression allows that.
fn sequential_decoder(las: &LasFile, vlr: &LazVlr) -> Result<Decoder, String> {
    let source = las.at_points().map_err(|e| e.to_string())?;
    let source = Forward { source, seeks: vlr.uses_variable_size_chunks() };
    let vlr = vlr.clone();
    let mut laz = unwinding(|| LasZipDecompressor::new(source, vlr))?.map_err(|e| e.to_string())?;
    Ok(Box::new(move |out| laz.decompress_many(out)))
}

fn plain(error: ::laz::LasZipError) -> io::Error {
    match error {
        ::laz::LasZipError::IoError(e) => e,
        other => io::Error::other(other.to_string()),
    }
}

/// A source that may refuse to seek, by which the decoder learns to do without a chunk table.
struct Forward {
    source: BufReader<File>,
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

/// The columns that [`write_las`] writes: entry `i` of each is point `i`.
///
/// The last three may be empty: class 0, and return 1 of 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct LasPoints<'a> {
    /// Eastings or longitudes, finite.
    pub x: &'a [f64],
    /// Northings or latitudes, finite.
    pub y: &'a [f64],
    /// Elevations, finite.
    pub z: &'a [f64],
    /// ASPRS classes.
    pub class: &'a [u8],
    /// Number of the return within its pulse, 1 to 15.
    pub return_number: &'a [u8],
    /// Returns of the pulse, 1 to 15.
    pub number_of_returns: &'a [u8],
}

/// Writes points as LAS, or as LAZ where the name ends in `.laz`.
///
/// Coordinates are stored in steps of 0.001 (1e-7 for longitudes and latitudes), or of the next
/// larger power of ten where the extent asks for it.
///
/// # Errors
/// [`Error::Shape`] for columns of different lengths, [`Error::BadValue`] for a coordinate that is
/// not finite or an attribute out of range, [`Error::UnknownEnding`], and those of writing.
pub fn write_las<'a>(
    output: impl Into<Output<'a>>,
    points: &LasPoints<'_>,
    crs: Option<&Crs>,
) -> Result<()> {
    let output = output.into();
    let path = output.path;
    let compressed = match ending(path).as_str() {
        "las" => false,
        "laz" => true,
        _ => {
            return Err(Error::UnknownEnding { path: path.to_owned(), known: ".las or .laz" });
        }
    };
    check_output(output)?;
    // Only WKT 1 is LAS's WKT; what is known otherwise is written as keys.
    let wkt = crs
        .and_then(Crs::wkt)
        .filter(|w| ["PROJCS", "GEOGCS", "COMPD_CS"].iter().any(|k| w.trim_start().starts_with(k)));
    let extended = crs.is_none() || wkt.is_some();
    points.check(if extended { 255 } else { 31 }, if extended { 15 } else { 7 })?;

    let degrees = crs.is_some_and(Crs::is_geographic);
    let step = if degrees { 1e-7 } else { 1e-3 };
    let transforms = Vector {
        x: transform(points.x, step),
        y: transform(points.y, step),
        z: transform(points.z, 1e-3),
    };
    let mut builder = Builder::from(Version::new(1, if extended { 4 } else { 2 }));
    let bad = |e: ::las::Error| Error::write(path, e);
    builder.point_format = point::Format::new(if extended { 6 } else { 0 }).map_err(bad)?;
    builder.point_format.is_compressed = compressed;
    builder.transforms = transforms;
    builder.generating_software = "Tessera".into();
    builder.vlrs = match (wkt, crs) {
        (Some(wkt), _) => vec![projection(2112, wkt.bytes().chain([0]).collect())],
        (None, Some(crs)) => key_records(&crs.geokeys()),
        (None, None) => vec![],
    };
    builder.has_wkt_crs = extended;
    let header = builder.into_header().map_err(bad)?;
    let mut format = *header.point_format();
    format.is_compressed = false;

    // In memory first: the writer panics where it is dropped after a write that failed, as on a
    // full disk.
    let mut writer = Writer::new(Cursor::new(Vec::new()), header).map_err(bad)?;
    for start in (0..points.x.len()).step_by(BATCH) {
        let batch = start..points.x.len().min(start + BATCH);
        let bytes = batch.flat_map(|i| points.record(i, &transforms, extended)).collect();
        let data = PointDataBuilder::new()
            .with_format(format)
            .with_transforms(transforms)
            .build_from_bytes(bytes)
            .map_err(bad)?;
        writer.write_points(&data).map_err(bad)?;
    }
    let bytes = writer.into_inner().map_err(bad)?.into_inner();
    write_atomic(output, |file| file.write_all(&bytes).map_err(|e| Error::write(path, e)))
}

impl LasPoints<'_> {
    fn check(&self, max_class: u8, max_return: u8) -> Result<()> {
        let count = self.x.len() as u64;
        let lengths = [
            ("y", self.y.len(), false),
            ("z", self.z.len(), false),
            ("class", self.class.len(), true),
        ];
        let returns = [
            ("return_number", self.return_number.len(), true),
            ("number_of_returns", self.number_of_returns.len(), true),
        ];
        for (what, length, optional) in lengths.into_iter().chain(returns) {
            let found = length as u64;
            if found != count && !(optional && found == 0) {
                return Err(Error::Shape { what, expected: count, found });
            }
        }
        for (what, column) in [("x", self.x), ("y", self.y), ("z", self.z)] {
            if let Some(&value) = column.iter().find(|v| !v.is_finite()) {
                return Err(Error::BadValue { what, value, expected: "a finite number" });
            }
        }
        let expected = "within the range of this point format";
        for (what, column, max) in [
            ("class", self.class, max_class),
            ("return number", self.return_number, max_return),
            ("number of returns", self.number_of_returns, max_return),
        ] {
            if let Some(&value) = column.iter().find(|&&v| v > max) {
                return Err(Error::BadValue { what, value: value.into(), expected });
            }
        }
        Ok(())
    }

    /// Point `i` in the layout of format 6 (30 bytes) or 0 (20 bytes).
    fn record(&self, i: usize, transforms: &Vector<Transform>, extended: bool) -> Vec<u8> {
        let step = |v: f64, t: &Transform| ((v - t.offset) / t.scale).round() as i32;
        let or = |column: &[u8], other| column.get(i).copied().unwrap_or(other);
        let (class, number, count) =
            (or(self.class, 0), or(self.return_number, 1), or(self.number_of_returns, 1));
        let mut record = Vec::with_capacity(30);
        record.extend(step(self.x[i], &transforms.x).to_le_bytes());
        record.extend(step(self.y[i], &transforms.y).to_le_bytes());
        record.extend(step(self.z[i], &transforms.z).to_le_bytes());
        record.extend([0, 0]);
        if extended {
            record.extend([number | count << 4, 0, class]);
        } else {
            record.extend([number | count << 3, class]);
        }
        record.resize(if extended { 30 } else { 20 }, 0);
        record
    }
}

/// An offset near the middle of the values and a step that lets all of them fit 32 bits.
fn transform(values: &[f64], step: f64) -> Transform {
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    if values.is_empty() {
        return Transform { scale: step, offset: 0.0 };
    }
    let mut scale = step;
    while (high / 2.0 - low / 2.0) / scale > 1e9 {
        scale *= 10.0;
    }
    Transform { scale, offset: (low / 2.0 + high / 2.0).round() }
}

fn projection(record_id: u16, data: Vec<u8>) -> Vlr {
    let user_id = "LASF_Projection".to_owned();
    Vlr { user_id, record_id, description: String::new(), data }
}

fn key_records(keys: &GeoKeys) -> Vec<Vlr> {
    let directory = keys.directory.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut records = vec![projection(DIRECTORY_TAG, directory)];
    if !keys.doubles.is_empty() {
        let doubles = keys.doubles.iter().flat_map(|v| v.to_le_bytes()).collect();
        records.push(projection(DOUBLES_TAG, doubles));
    }
    if !keys.ascii.is_empty() {
        records.push(projection(ASCII_TAG, keys.ascii.bytes().chain([0]).collect()));
    }
    records
}
