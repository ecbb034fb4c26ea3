//! LAS and LAZ, versions 1.0 to 1.4, point formats 0 to 10.
//!
//! Reading. The crates `las` and `laz` decode headers, records and compression; this module guards them against damaged
//! files. Every length that a header states is compared with the file's length before memory is allocated. Points come
//! in batches, and a decoder that panics gives an error. LAZ is decoded on all cores through its chunk table. If the
//! table is missing, as in a file cut short, or the parallel decoder fails, the reader decodes points one by one from
//! the start. So it still reads a file with intact points but a damaged table, and the error for a truncated file says
//! how many points the file holds.
//!
//! If the filter has bounds, the reader skips a large file whose header lies outside them, and reads only those chunks
//! of a COPC file that touch them. If a sample of the records contradicts the header or the octree, it reads
//! everything.
//!
//! The same code reads a file on a web server, in parts ([`Source`]). There each read is a request, so the sample is
//! one record, and adjacent chunks come together ([`packed`]).

mod chunks;
mod count;
mod fields;
mod on_device;
mod one_by_one;
mod packed;
mod records;
mod system;
mod vlrs;
mod write;

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use ::las::{Builder, raw};
use ::laz::LazVlr;
use gpu_core::{Bounds, Shortest};
use laz_chunks::layout;

use crate::error::unwinding;
use crate::points::Keep;
use crate::points::chunk::{Chunk, holds, points_of};
use crate::points::copc::Info;
use crate::points::read_on::ReadOn;
use crate::source::Source;
use crate::{Error, Filter, Header, PointCloud, Result};
use chunks::Table;
use count::Count;
use fields::Taken;
use one_by_one::{Decoded, chunk_by_chunk, point_by_point};
use records::{Layout, bounds_of};
use vlrs::{Record, User};

pub use fields::LasField;
pub use write::{LasPoints, write_las};

/// Points between two reports of progress, at least.
const BATCH: usize = 1 << 19;

/// Points decoded at once for each core, or ahead of their turn: a few chunks of the customary size.
const BATCH_OF_CORE: usize = 200_000;

/// Bytes of records that are read at once, at most.
const BATCH_BYTES: usize = 1 << 26;

/// Bytes that are read at once of records one behind the other.
const AHEAD: usize = 1 << 20;

/// Points of a file that is read whatever its header says of its bounds: a few hundredths of a second.
const SMALL: u64 = 1 << 20;

/// The same of a compressed file.
const SMALL_COMPRESSED: u64 = 1 << 18;

/// Reads a LAS or LAZ file; which of the two it is, its header says.
pub(crate) fn read(
    path: &Path,
    filter: &Filter,
    values: &[String],
    on: ReadOn,
    keep: Keep,
) -> Result<PointCloud> {
    let mut file = LasFile::open(path)?;
    let read = file.read_kept(path, filter, values, on, keep);
    match (read, file.file.failure()) {
        (Err(Error::Cancelled), _) => Err(Error::Cancelled),
        (_, Some(reason)) => Err(Error::read(path, reason)),
        (read, None) => read,
    }
}

/// Reads what the header of a LAS or LAZ file says of its points.
pub(crate) fn read_header(path: &Path) -> Result<Header> {
    let file = LasFile::open(path)?;
    let (crs, mut notes) = file.crs(path)?;
    notes.extend(file.note.clone());
    notes.extend(file.notes_on_chunks(path)?);
    let mut bounds = bounds_of(&file.raw);
    if bounds.is_some() && !file.is_believed(path)? {
        notes.push("the bounds of its header do not hold its points".to_owned());
        bounds = None;
    }
    Ok(Header { points: file.points, bounds, heights: file.heights(), crs, notes })
}

/// Looks up fields of a LAS or LAZ file by their names, and returns the lowest and the highest value that each can
/// hold. `None` means that the range is known only after reading the points. Reads no points.
///
/// ```
/// use geo_io::{LasPoints, ranges_of_fields, write_las};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.las");
/// let points = LasPoints { x: &[1.0, 2.0], y: &[3.0, 4.0], z: &[5.0, 6.0], ..LasPoints::default() };
/// write_las(&path, &points, None)?;
/// let ranges = ranges_of_fields(&path, &["intensity".to_owned()])?;
/// assert_eq!(ranges, [Some([0.0, 65_535.0])]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::NoField`]: the file's points lack a field.
/// - Any other error of the file.
pub fn ranges_of_fields(path: &Path, names: &[String]) -> Result<Vec<Option<[f64; 2]>>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let file = LasFile::open(path)?;
    let taken = Taken::of(path, names, file.layout.format)?;
    Ok(taken.iter().map(|taken| taken.field.range()).collect())
}

/// Points that are decoded at once of one file.
fn usual_batch() -> usize {
    BATCH.max(BATCH_OF_CORE * rayon::current_num_threads())
}

/// A file whose header has been read and compared with its length.
struct LasFile {
    file: Source,
    size: u64,
    raw: raw::Header,
    layout: Layout,
    points: u64,
    /// Where the header's number of points is not believed, why.
    note: Option<String>,
    vlrs: Vec<Record>,
    laz: Option<LazVlr>,
    /// In a compressed file, its chunks or why they are not known.
    table: Option<Result<Table, String>>,
}

impl LasFile {
    fn open(path: &Path) -> Result<Self> {
        let (file, size) = Source::open(path)?;
        // The file that is opened has a clone of the source.
        let source = file.try_clone().map_err(|e| Error::read(path, e))?;
        let opened = Self::of(path, file, size);
        source.failure().map_or(opened, |reason| Err(Error::read(path, reason)))
    }

    fn of(path: &Path, file: Source, size: u64) -> Result<Self> {
        let bad = |reason: String| Error::malformed(path, reason);
        let mut reader = BufReader::new(file.try_clone().map_err(|e| Error::read(path, e))?);
        let mut signature = [0; 4];
        let known = reader.read_exact(&mut signature).is_ok() && signature == *b"LASF";
        if !known {
            return Err(Error::NotA { path: path.to_owned(), format: "LAS or LAZ" });
        }
        reader.rewind().map_err(|e| Error::read(path, e))?;
        let raw = raw::Header::read_from(&mut reader)
            .map_err(|e| bad(format!("its header is not a LAS header: {e}")))?;
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

        let vlrs = vlrs::read(&mut reader, &raw, size).map_err(bad)?;
        let builder = Builder::new(raw::Header { evlr: None, ..raw.clone() })
            .map_err(|e| bad(e.to_string()))?;
        let format = builder.point_format;
        let laz = vlrs.iter().find(|v| v.user == User::LasZip && v.id == 22204);
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
            return Err(bad(
                "the point size in the compression record differs from the size in the header"
                    .into(),
            ));
        }
        let layout = Layout::of(&raw, &format).map_err(bad)?;
        let mut las =
            Self { file, size, raw, layout, points: 0, note: None, vlrs, laz, table: None };
        let count = match &las.laz {
            None => las.count_records().map_err(|e| Error::read(path, e))?,
            Some(laz) => {
                let table = Table::read(&las, laz);
                let count = las.count_chunks(laz, &table).map_err(bad)?;
                las.table = Some(table);
                count
            }
        };
        Count { points: las.points, note: las.note } = count;
        Ok(las)
    }

    /// The chunks that hold the points, by the chunk table.
    fn chunks_of_table(&self) -> Result<Vec<Chunk>, String> {
        match &self.table {
            Some(table) => table.as_ref().map_err(Clone::clone)?.of_points(self.points),
            None => Err("it is not compressed".into()),
        }
    }

    /// The chunks that hold the points: by the chunk table, or where chunks are layered and state their lengths, without.
    fn chunks(&self, laz: &LazVlr, notes: &mut Vec<String>) -> Result<Vec<Chunk>, String> {
        self.chunks_of_table().or_else(|reason| {
            let found = self.layered_chunks(laz, self.points).unwrap_or_default();
            if found.is_empty() || points_of(&found) != self.points {
                return Err(reason);
            }
            notes.push(format!("its chunks were found one after the other: {reason}"));
            Ok(found)
        })
    }

    /// The number of the first point of each of some chunks, by the chunk table; `None` if it does not name one of them.
    fn firsts_of(&self, chunks: &[Chunk]) -> Option<Vec<u64>> {
        let all = self.chunks_of_table().ok()?;
        let mut next = 0;
        let mut firsts: Vec<(u64, u64)> = Vec::with_capacity(all.len());
        for chunk in &all {
            firsts.push((chunk.offset, next));
            next += chunk.points;
        }
        let first = |chunk: &Chunk| {
            let at = firsts.binary_search_by_key(&chunk.offset, |&(offset, _)| offset).ok()?;
            Some(firsts[at].1)
        };
        chunks.iter().map(first).collect()
    }

    /// Reads the points that a filter keeps.
    fn read_kept(
        &mut self,
        path: &Path,
        filter: &Filter,
        values: &[String],
        on: ReadOn,
        mut keep: Keep,
    ) -> Result<PointCloud> {
        self.layout.taken = Taken::of(path, values, self.layout.format)?;
        let (crs, mut notes) = self.crs(path)?;
        notes.extend(self.note.clone());
        let heights = self.heights();
        let ranges = self.layout.taken.iter().map(|taken| taken.field.range()).collect();
        let of_fields = PointCloud::of_las(0, values.len(), filter);
        let bounds = bounds_of(&self.raw);
        let mut cloud = PointCloud { crs, bounds, heights, notes, ranges, ..of_fields };
        let is_outside = filter.bounds.is_some_and(|bounds| self.is_outside(&bounds));
        if !is_outside || !self.is_believed(path)? {
            if filter.bounds.is_some() && self.file.is_remote() && self.copc_record().is_none() {
                cloud.notes.push(
                    "it is not a COPC, so all of it came from its server: a COPC gives parts"
                        .to_owned(),
                );
            }
            self.read_points(path, filter, on, (&mut cloud, &mut keep))?;
            cloud.bounds = cloud.bounds.filter(|_| cloud.strays.points == 0);
            return Ok(cloud);
        }
        let begun = cloud.clone();
        if self.is_small() && keep.is_whole() && !self.file.is_remote() {
            match self.read_points(path, filter, on, (&mut cloud, &mut keep)) {
                Ok(()) => return Ok(cloud),
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                // Damage outside of the bounds does not matter.
                Err(_) => {}
            }
        }
        let mut cloud = PointCloud { is_left_out: true, ..begun };
        cloud.tally.read = self.points;
        cloud.tally.dropped_outside = self.points;
        Ok(cloud)
    }

    /// Reads the points, compressed or not.
    fn read_points(
        &self,
        path: &Path,
        filter: &Filter,
        on: ReadOn,
        (cloud, keep): (&mut PointCloud, &mut Keep),
    ) -> Result<()> {
        match &self.laz {
            Some(laz) if self.points > 0 => self.read_laz(path, laz, filter, on, (cloud, keep)),
            _ => {
                self.require_records(path)?;
                let mut source = self.at_points(AHEAD).map_err(|e| Error::read(path, e))?;
                let decode = move |out: &mut [u8]| source.read_exact(out);
                let batch = keep.batch(usual_batch());
                let to = (cloud, keep, &mut Decoded::behind(None));
                self.read_all(path, Box::new(decode), batch, filter, on.progress, to)
            }
        }
    }

    /// Whether all points are read in a moment.
    fn is_small(&self) -> bool {
        self.points <= if self.laz.is_some() { SMALL_COMPRESSED } else { SMALL }
    }

    /// Whether the header's bounds hold the points, as far as a sample of them tells.
    fn is_believed(&self, path: &Path) -> Result<bool> {
        self.holds_sample().map_err(|e| Error::read(path, e))
    }

    /// A reader at the first point, which takes `ahead` bytes at once. Readers of a file share its place, so that one
    /// alone may be in use.
    fn at_points(&self, ahead: usize) -> io::Result<BufReader<Source>> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(self.raw.offset_to_point_data.into()))?;
        Ok(BufReader::with_capacity(ahead, file))
    }

    /// The lowest and the highest elevation, as the header has it.
    fn heights(&self) -> Option<[f64; 2]> {
        let [low, high] = [self.raw.min_z, self.raw.max_z];
        (low.is_finite() && high.is_finite() && low <= high).then_some([low, high])
    }

    /// Whether all points lie outside some bounds, as the header has it.
    fn is_outside(&self, bounds: &Bounds) -> bool {
        self.layout.stated.is_some_and(|all| {
            all.min_x > bounds.max_x
                || all.max_x < bounds.min_x
                || all.min_y > bounds.max_y
                || all.max_y < bounds.min_y
        })
    }

    /// The record that makes the file a COPC.
    fn copc_record(&self) -> Option<&Record> {
        self.vlrs.iter().find(|v| v.user == User::Copc && v.id == 1)
    }

    /// The chunks that a COPC's index names for the filter's bounds; `None` of another file, and where the index contradicts
    /// the file, which a note says.
    fn chunks_within(&self, filter: &Filter, notes: &mut Vec<String>) -> Option<Vec<Chunk>> {
        let bounds = filter.bounds?;
        let info = self.copc_record()?;
        let (mut file, is_remote) = (self.file.try_clone().ok()?, self.file.is_remote());
        // A chunk that is gone tells nothing, and each chunk of a server would be a request.
        let is_there = |offset| !is_remote && matches!(self.is_blank(offset), Ok(false));
        let place = |offset| is_there(offset).then(|| self.place_at(offset).ok()).flatten();
        let of_file = (self.size, self.points);
        let chunks = Info::of(&info.data)
            .and_then(|info| {
                let within = (&bounds, self.layout.steps());
                info.chunks_within(&mut file, of_file, within, &place)
            })
            .filter(|chunks| !filter.numbered || self.firsts_of(chunks).is_some());
        if chunks.is_none() {
            notes.push("its octree contradicts its records: all chunks were read".to_owned());
        }
        chunks
    }

    /// Reads a LAZ file: the chunks within the filter's bounds, or all on all cores, or else point by point.
    fn read_laz(
        &self,
        path: &Path,
        laz: &LazVlr,
        filter: &Filter,
        on: ReadOn,
        (cloud, keep): (&mut PointCloud, &mut Keep),
    ) -> Result<()> {
        let mut decoded = Decoded::behind(None);
        if let Some(chunks) = self.chunks_within(filter, &mut cloud.notes) {
            let begun = cloud.clone();
            let to = (&mut *cloud, &mut *keep, &mut decoded);
            let read = chunks::read((self, path), laz, &chunks, filter, on, to)?;
            let Err(reason) = read else { return Ok(()) };
            // What was handed on cannot be called back.
            if keep.is_by_batches() {
                return Err(Error::malformed(path, reason));
            }
            (*cloud, decoded) = (begun, Decoded::behind(None));
            cloud.notes.push(format!("all of its chunks were read: {reason}"));
        }
        let table = self.chunks(laz, &mut cloud.notes);
        let is_whole = table.is_ok();
        let reason = match table {
            Err(reason) => reason,
            Ok(chunks) => {
                let begun = cloud.clone();
                let to = (&mut *cloud, &mut *keep, &mut decoded);
                let read = chunks::read((self, path), laz, &chunks, filter, on, to)?;
                let Err(reason) = read else { return Ok(()) };
                // What was handed on cannot be called back.
                decoded = match keep.is_by_batches() {
                    true => Decoded::behind(Some(decoded)),
                    false => {
                        *cloud = begun;
                        Decoded::behind(None)
                    }
                };
                reason
            }
        };
        cloud.notes.push(format!("its points were decoded by one core: {reason}"));
        // With its chunk table a file has all of its bytes: what ends early then is damaged.
        let judged = |error: Error| match error {
            Error::Truncated { found, .. } if is_whole => {
                self.damaged(path, found, "its compressed data contradict themselves")
            }
            other => other,
        };
        let decode = match self.require_chunks(path, laz).map_err(judged)? {
            Some(chunks) => chunk_by_chunk(self, laz, chunks),
            None => point_by_point(self, laz),
        };
        let decode = decode.map_err(|e| Error::malformed(path, e))?;
        let to = (cloud, keep, &mut decoded);
        self.read_all(path, decode, 1, filter, on.progress, to).map_err(judged)
    }

    /// Takes what was kept of chunks, each with the number of its first point, and hands it on where it is to be.
    fn hand_on_parts(
        &self,
        (path, parts): (&Path, &[(PointCloud, u64)]),
        (cloud, keep): (&mut PointCloud, &mut Keep),
        is_last: bool,
    ) -> Result<()> {
        for (part, _) in parts {
            cloud.tally += part.tally;
            cloud.strays.add(&part.strays);
        }
        if !keep.is_by_batches() {
            cloud.append_all(path, parts)?;
            return self.hand_on((cloud, keep), path, is_last);
        }
        for (i, (part, first)) in parts.iter().enumerate() {
            let is_last = is_last && i + 1 == parts.len();
            let mut at: usize = 0;
            loop {
                let end = part.len().min(at.saturating_add(keep.room(cloud)));
                cloud.append(path, (part, *first), at..end)?;
                at = end;
                self.hand_on((cloud, keep), path, is_last && at == part.len())?;
                if at == part.len() {
                    break;
                }
            }
        }
        Ok(())
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
            && let Some(stated) = self.layout.stated
        {
            let mut places = cloud.x.iter().zip(&cloud.y);
            if let Some((x, y)) = places.find(|(x, y)| !holds(&stated, **x, **y)) {
                let (x, y) = (Shortest(*x), Shortest(*y));
                let reason = format!("its point at {x} {y} lies outside of its header's bounds");
                return Err(Error::malformed(path, reason));
            }
        }
        keep.hand_on(cloud, is_last)
    }

    /// Refuses a file that ends before its last point. Of other files returns the notes on chunks that a reader of the
    /// points would give. If only a decoder can tell where chunks end, this decodes all points.
    fn notes_on_chunks(&self, path: &Path) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        match &self.laz {
            None => self.require_records(path)?,
            Some(laz) if self.points > 0 && self.chunks(laz, &mut notes).is_err() => {
                let none = Filter { classes: Some(Vec::new()), ..Filter::default() };
                let mut cloud = PointCloud::of_las(0, 0, &none);
                let mut keep = Keep::All { at_once: 1, is_checked: false };
                self.read_points(path, &none, (&gpu_core::Silent).into(), (&mut cloud, &mut keep))?;
                notes = cloud.notes;
            }
            Some(_) => {}
        }
        Ok(notes)
    }

    /// Refuses a file without compression that ends before its last record.
    fn require_records(&self, path: &Path) -> Result<()> {
        let start = self.raw.offset_to_point_data.into();
        let whole = self.size.saturating_sub(start) / self.layout.record as u64;
        if whole < self.points { Err(self.truncated(path, whole)) } else { Ok(()) }
    }

    /// Returns the chunks of a file whose chunks are layered, and refuses the file if it ends before the last of them.
    /// It does without the chunk table. Returns `None` if only a decoder can tell where chunks end.
    fn require_chunks(&self, path: &Path, laz: &LazVlr) -> Result<Option<Vec<Chunk>>> {
        if layout::layers(laz).is_none() {
            return Ok(None);
        }
        let chunks = self.layered_chunks(laz, self.points).map_err(|e| Error::read(path, e))?;
        let found = points_of(&chunks);
        if found < self.points { Err(self.truncated(path, found)) } else { Ok(Some(chunks)) }
    }

    fn truncated(&self, path: &Path, found: u64) -> Error {
        Error::Truncated { path: path.to_owned(), expected: self.points, found }
    }

    fn damaged(&self, path: &Path, done: u64, reason: &str) -> Error {
        Error::malformed(path, self.behind(done, reason))
    }

    /// Describes a fault behind the first `done` points.
    fn behind(&self, done: u64, reason: &str) -> String {
        format!("after {done} of {} points: {reason}", self.points)
    }
}
