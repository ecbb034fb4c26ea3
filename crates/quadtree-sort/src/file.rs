//! A tree in one file.
//!
//! All numbers are little-endian, and all arrays begin at a multiple of 64 bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 128 | the header, see [`Header`] |
//! | then | what columns of values there are, see [`directory`] |
//! | then | the nodes, 32 bytes each, as [`Node`] |
//! | then | the order of the points, u32 each |
//! | then | x of the points in the order of the tree, f64 each |
//! | then | y likewise |
//! | then | each column of values likewise, of its own type |
//!
//! Version 1 had no values, and zeros in their header fields: it reads as a file without values.
//!
//! Behind each array zeros fill up to the next multiple of 64. There are two checksums, CRC-32 (IEEE 802.3): one of all
//! bytes after the header, and one of the header before it. Readers check both. They also check that the nodes make a
//! tree, that each point lies in its leaf, and that no two points have the same index.

mod streamed;

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use gpu_core::{Bounds, files, host_memory, parallel};
use kernels_rs::spatial::frame::Frame;
use kernels_rs::spatial::morton::MAX_LEVEL;
use memmap2::Mmap;

use crate::array::Array;
use crate::tree::{Node, Quadtree};
use crate::values::{self, ValueType, Values};
use crate::{Error, MAX_POINTS, Result};

pub(crate) use streamed::Streamed;

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"TSRAQTRE";

/// The version that is written. The one before it is read as well.
const VERSION: u32 = 2;

/// The version without values.
const WITHOUT_VALUES: u32 = 1;

/// Arrays begin at multiples of this.
const ALIGNMENT: usize = 64;

/// Leaves whose check is worth a task.
const LEAVES: usize = 256;

/// The header of a file.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    version: u32,
    /// The checksum of the header with 0 in this place.
    header_checksum: u32,
    /// The checksum of all bytes behind the header.
    checksum: u32,
    max_level: u32,
    threshold: u32,
    /// The code of the coordinate system in the EPSG list, or 0.
    system: u32,
    nodes: u64,
    points: u64,
    /// Points given; some may have been left out.
    given: u64,
    bounds: [f64; 4],
    /// Columns and rows of the deepest level to a unit.
    per_unit: [f64; 2],
    /// Columns of values.
    columns: u64,
    /// Bytes of the directory of columns, without padding.
    directory: u64,
    more: u64,
}

const _: () = assert!(size_of::<Header>() == 2 * ALIGNMENT);

impl Header {
    /// Returns the header of a tree with this many nodes and points, and all else as `like` has it; without checksums.
    fn of(like: &Quadtree, [nodes, points]: [u64; 2]) -> Self {
        let Bounds { min_x, min_y, max_x, max_y } = like.bounds;
        Self {
            magic: MAGIC,
            version: VERSION,
            header_checksum: 0,
            checksum: 0,
            max_level: like.frame.level,
            threshold: like.threshold,
            system: like.system.into(),
            nodes,
            points,
            given: like.given,
            bounds: [min_x, min_y, max_x, max_y],
            per_unit: [like.frame.columns_per_unit, like.frame.rows_per_unit],
            columns: like.values.len() as u64,
            directory: directory(&like.values).len() as u64,
            more: 0,
        }
    }

    /// Fills in the checksum of what follows the header, and the header's own.
    fn sealed(self, checksum: u32) -> Self {
        let open = Self { checksum, ..self };
        Self { header_checksum: open.own_checksum(), ..open }
    }

    /// The header's own checksum.
    fn own_checksum(&self) -> u32 {
        crc32fast::hash(bytemuck::bytes_of(&Self { header_checksum: 0, ..*self }))
    }
}

/// Describes columns of values. Each entry has the number of the column's type ([`ValueType::code`]) and the length of
/// its name in bytes, both u32. Its name in UTF-8 follows, and zeros up to a multiple of 8 bytes.
fn directory(values: &[Values]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for column in values {
        bytes.extend(column.value_type().code().to_le_bytes());
        bytes.extend((column.name().len() as u32).to_le_bytes());
        bytes.extend(column.name().as_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes
}

/// Returns the columns that a directory describes; `None` unless they are `count`.
fn columns_of(mut bytes: &[u8], count: u64) -> Option<Vec<(String, ValueType)>> {
    let mut columns: Vec<(String, ValueType)> = Vec::new();
    while let Some((code, rest)) = bytes.split_first_chunk() {
        let (len, rest) = rest.split_first_chunk()?;
        let len = u32::from_le_bytes(*len) as usize;
        let name = std::str::from_utf8(rest.get(..len)?).ok()?;
        let names = columns.iter().map(|(name, _)| &name[..]);
        values::check(name, names, [0; 2]).ok()?;
        columns.push((name.to_owned(), ValueType::of_code(u32::from_le_bytes(*code))?));
        bytes = rest.get(len.next_multiple_of(8)..)?;
    }
    (bytes.is_empty() && columns.len() as u64 == count).then_some(columns)
}

/// Where the arrays of a file lie.
struct Layout {
    nodes: Range<usize>,
    order: Range<usize>,
    x: Range<usize>,
    y: Range<usize>,
    values: Vec<Range<usize>>,
    /// How long the file is.
    len: usize,
}

impl Layout {
    /// Returns the layout of a file with this header and columns of these types.
    fn new(header: &Header, types: impl Iterator<Item = ValueType>) -> Option<Self> {
        let mut at = size_of::<Header>();
        let mut next = |len: u64, size: usize| {
            let end = at.checked_add(usize::try_from(len).ok()?.checked_mul(size)?)?;
            let range = at..end;
            at = end.checked_next_multiple_of(ALIGNMENT)?;
            Some(range)
        };
        next(header.directory, 1)?;
        let nodes = next(header.nodes, size_of::<Node>())?;
        let order = next(header.points, size_of::<u32>())?;
        let [x, y] =
            [next(header.points, size_of::<f64>())?, next(header.points, size_of::<f64>())?];
        let values = types.map(|of| next(header.points, of.size())).collect::<Option<_>>()?;
        Some(Self { nodes, order, x, y, values, len: at })
    }
}

/// The checksum of some bytes, on all cores.
fn checksum(bytes: &[u8]) -> u32 {
    let of_parts = parallel::map_ranges(bytes.len(), 1 << 20, &|range| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[range]);
        hasher
    });
    let mut all = crc32fast::Hasher::new();
    of_parts.iter().for_each(|part| all.combine(part));
    all.finalize()
}

impl Quadtree {
    /// Writes the tree to one file, which appears whole or not at all ([`gpu_core::files`]). It replaces an existing
    /// file, even the one that this tree was opened from. Needs the feature `files`.
    ///
    /// ```
    /// use gpu_core::{Device, Points};
    /// use quadtree_sort::{Params, Quadtree, build};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tree");
    /// let tree = build(&Device::Cpu, Points::new(&[1.0, 2.0], &[3.0, 4.0]), &Params::new())?;
    /// tree.save(&path)?;
    /// assert!(Quadtree::open(&path)? == tree);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let saved = files::replace(path, |file| self.write_to(file));
        saved.map_err(|error| Error::file(path, &error))
    }

    /// Writes the same bytes as [`save`](Self::save). Needs the feature `files`.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        let directory = directory(&self.values);
        let mut parts: Vec<&[u8]> = vec![
            &directory,
            bytemuck::cast_slice(&self.nodes),
            bytemuck::cast_slice(&self.order),
            bytemuck::cast_slice(&self.x),
            bytemuck::cast_slice(&self.y),
        ];
        parts.extend(self.values.iter().map(Values::bytes));
        let padding = |part: &[u8]| vec![0; part.len().next_multiple_of(ALIGNMENT) - part.len()];
        let mut hasher = crc32fast::Hasher::new();
        for part in &parts {
            let mut own =
                crc32fast::Hasher::new_with_initial_len(checksum(part), part.len() as u64);
            own.update(&padding(part));
            hasher.combine(&own);
        }
        let header = Header::of(self, [self.nodes.len() as u64, self.order.len() as u64])
            .sealed(hasher.finalize());
        writer.write_all(bytemuck::bytes_of(&header))?;
        for part in parts {
            writer.write_all(part)?;
            writer.write_all(&padding(part))?;
        }
        Ok(())
    }

    /// Reads a tree that [`save`](Self::save) has written into memory of its own, and checks it on all cores. Needs the
    /// feature `files`.
    ///
    /// Example: see [`save`](Self::save).
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read; [`Error::Damaged`] if the file is not a tree's, has another version, was
    /// cut off, or was changed; [`Error::Core`] if memory does not suffice.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::read(path).map_err(|error| in_file(path, error))
    }

    fn read(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| Error::file(path, &error);
        let (mut file, len) = files::open(path).map_err(failed)?;
        let mut start = [0; size_of::<Header>()];
        if len < start.len() as u64 {
            return Err(too_short());
        }
        file.read_exact(&mut start).map_err(failed)?;
        let header = Header::of_file(&start, len)?;
        let mut parts = Parts { path, file, hasher: crc32fast::Hasher::new() };
        let columns = header.columns(&parts.next(header.directory as usize)?)?;
        header.layout(&columns, len)?;
        host_memory::require(len)?;
        let (nodes, points) = (header.nodes as usize, header.points as usize);
        let (nodes, order) = (parts.next(nodes)?, parts.next(points)?);
        let (x, y) = (parts.next(points)?, parts.next(points)?);
        let mut values = Vec::new();
        for column in columns {
            let words = (points * column.1.size()).div_ceil(size_of::<u64>());
            values.push(Values::of_words(column, points, parts.next(words)?));
        }
        header.check_contents(parts.hasher.finalize())?;
        header.tree(Arrays { nodes, order, x, y, values })
    }

    /// Maps a tree that [`save`](Self::save) has written into memory: its arrays lie in the file, and the call copies
    /// nothing. The call reads the file once, on all cores, to check it; searches rely on that check. Needs the feature
    /// `files`.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    ///
    /// # Safety
    /// Nobody writes to the file or shortens it while the tree or a clone of it lives. If the file changes under a
    /// search, the search reads places without points; if it is shortened, a signal ends the process.
    ///
    /// Another file that takes its name, as [`save`](Self::save) makes one, does no harm on a local file system. On a
    /// network file system the mapped file must keep its name.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, len) = files::open(path).map_err(|error| Error::file(path, &error))?;
        // An empty file cannot be mapped.
        if len < size_of::<Header>() as u64 {
            return Err(in_file(path, too_short()));
        }
        // SAFETY: the mapping is read only, and the caller has promised that nobody changes the file.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| Error::file(path, &error))?;
        Self::from_map(Arc::new(map)).map_err(|error| in_file(path, error))
    }

    fn from_map(map: Arc<Mmap>) -> Result<Self> {
        let start = map.first_chunk().ok_or_else(too_short)?;
        let header = Header::of_file(start, map.len() as u64)?;
        let misaligned = || damaged("the arrays are not aligned");
        let end = size_of::<Header>() + header.directory as usize;
        let directory = map.get(size_of::<Header>()..end).ok_or_else(too_short)?;
        let columns = header.columns(directory)?;
        let layout = header.layout(&columns, map.len() as u64)?;
        header.check_contents(checksum(&map[size_of::<Header>()..]))?;
        let arrays = (|| {
            let values = columns.into_iter().zip(layout.values).map(|(column, bytes)| {
                // Zeros fill the last word up.
                let words = bytes.start..bytes.end.next_multiple_of(size_of::<u64>());
                Some(Values::of_words(column, header.points as usize, Array::mapped(&map, words)?))
            });
            Some(Arrays {
                nodes: Array::mapped(&map, layout.nodes)?,
                order: Array::mapped(&map, layout.order)?,
                x: Array::mapped(&map, layout.x)?,
                y: Array::mapped(&map, layout.y)?,
                values: values.collect::<Option<_>>()?,
            })
        })();
        header.tree(arrays.ok_or_else(misaligned)?)
    }

    /// Checks that the nodes are those of a tree over the points, as every build makes them: searches rely on it. (The
    /// checksums find changes by chance; this check finds any false tree.)
    fn check(&self) -> Result<()> {
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds;
        let frame = &self.frame;
        let numbers = [min_x, min_y, max_x, max_y, frame.columns_per_unit, frame.rows_per_unit];
        let is_frame = numbers.iter().all(|number| number.is_finite())
            && min_x <= max_x
            && min_y <= max_y
            && frame.columns_per_unit > 0.0
            && frame.rows_per_unit > 0.0;
        let order = &self.order[..];
        let points = order.len() as u64;
        if frame.level > MAX_LEVEL || !is_frame || self.threshold == 0 {
            return Err(damaged("its levels, bounds or threshold are impossible"));
        }
        if points > MAX_POINTS || points > self.given || self.given > MAX_POINTS {
            return Err(damaged(format!("its nodes hold {points} of {} points", self.given)));
        }
        let is_beyond = |i: usize| u64::from(order[i]) >= self.given;
        if parallel::first(order.len(), parallel::FINE, is_beyond).is_some() {
            return Err(damaged("one of its points has no number"));
        }
        let root = match self.nodes.first() {
            None if points == 0 => return Ok(()),
            None => return Err(damaged("it has points but no nodes")),
            Some(root) => root,
        };
        if (root.code, root.level, root.start, root.count) != (0, 0, 0, points) || points == 0 {
            return Err(damaged("its first node is not a root"));
        }
        // Each node's children follow those of the node before it, so none is a child twice.
        let mut next = 1;
        for (place, node) in self.nodes.iter().enumerate() {
            next = self.check_node(place, node, next)?;
        }
        if next != self.nodes.len() {
            return Err(damaged("some of its nodes have no parent"));
        }
        self.check_points()
    }

    /// Checks that each point lies in its leaf, that the points of a leaf are in the order of their indices, and that
    /// no index occurs twice.
    fn check_points(&self) -> Result<()> {
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds;
        let is_in = |node: &Node, place: usize| {
            let (x, y) = (self.x[place], self.y[place]);
            let deeper = 2 * (self.frame.level - u32::from(node.level));
            (min_x..=max_x).contains(&x)
                && (min_y..=max_y).contains(&y)
                && self.frame.code(x, y) >> deeper == node.code
        };
        let fault = |node: &Node| {
            if let Some(place) = node.points().find(|&place| !is_in(node, place)) {
                let (x, y) = (self.x[place], self.y[place]);
                return Some(format!(
                    "the point in place {place}, ({x:?}, {y:?}), is not of its leaf"
                ));
            }
            let is_sorted = self.order[node.points()].is_sorted_by(|a, b| a < b);
            (!is_sorted)
                .then(|| format!("the points from place {} on are not in order", node.start))
        };
        let nodes = &self.nodes[..];
        let is_bad = |i: usize| nodes[i].is_leaf() && fault(&nodes[i]).is_some();
        match parallel::first(nodes.len(), LEAVES, is_bad).and_then(|i| fault(&nodes[i])) {
            Some(fault) => Err(damaged(fault)),
            None if has_twice(&self.order, self.given) => Err(damaged("two points have one index")),
            None => Ok(()),
        }
    }

    /// Checks a node whose children must begin at `next`. Returns where the next node's children must begin.
    fn check_node(&self, place: usize, node: &Node, next: usize) -> Result<usize> {
        let bad = || damaged(format!("its node {place} is damaged"));
        if node.quadrants > 15 || node.reserved != [0; 2] {
            return Err(bad());
        }
        let is_few = node.count <= self.threshold.into();
        let is_deepest = u32::from(node.level) == self.frame.level;
        if node.is_leaf() != (is_few || is_deepest) {
            return Err(bad());
        }
        if node.is_leaf() {
            return if node.first_child == 0 { Ok(next) } else { Err(bad()) };
        }
        let children = node.children();
        if children.start != next || u32::from(node.level) >= self.frame.level || place >= next {
            return Err(bad());
        }
        let end = children.end;
        let children = self.nodes.get(children).ok_or_else(bad)?;
        let quadrants = (0..4u64).filter(|quadrant| node.quadrants >> quadrant & 1 == 1);
        let mut start = node.start;
        for (child, quadrant) in children.iter().zip(quadrants) {
            let is_child = child.code == (node.code << 2 | quadrant)
                && child.level == node.level + 1
                && child.start == start
                && child.count > 0
                && child.count <= node.count;
            if !is_child {
                return Err(bad());
            }
            start += child.count;
        }
        if start == node.start + node.count { Ok(end) } else { Err(bad()) }
    }
}

/// Whether some index below `given` occurs twice. Takes a bit for each possible index, or 8 bytes for each index of the
/// order, whichever is less.
fn has_twice(order: &[u32], given: u64) -> bool {
    if given / 64 > order.len() as u64 {
        let mut sorted = parallel::map(order.len(), parallel::FINE, |i| u64::from(order[i]));
        parallel::sort(&mut sorted);
        return sorted.windows(2).any(|two| two[0] == two[1]);
    }
    let mut seen = vec![0_u64; given.div_ceil(64) as usize];
    order.iter().any(|&index| {
        let (word, bit) = (&mut seen[index as usize / 64], 1 << (index % 64));
        let was = *word & bit != 0;
        *word |= bit;
        was
    })
}

/// The parts of a file behind its header.
struct Arrays {
    nodes: Array<Node>,
    order: Array<u32>,
    x: Array<f64>,
    y: Array<f64>,
    values: Vec<Values>,
}

/// The arrays of a file, one after the other.
struct Parts<'a> {
    path: &'a Path,
    file: File,
    /// The checksum of all bytes so far.
    hasher: crc32fast::Hasher,
}

impl Parts<'_> {
    /// Reads the next array, and the padding behind it.
    fn next<T: Pod>(&mut self, len: usize) -> Result<Array<T>> {
        let failed = |error: io::Error| Error::file(self.path, &error);
        let mut elements: Vec<T> = host_memory::zeroed(len)?;
        self.file.read_exact(bytemuck::cast_slice_mut(&mut elements)).map_err(failed)?;
        let bytes: &[u8] = bytemuck::cast_slice(&elements);
        let mut padding = [0; ALIGNMENT];
        let padding = &mut padding[..bytes.len().next_multiple_of(ALIGNMENT) - bytes.len()];
        self.file.read_exact(padding).map_err(failed)?;
        let of_bytes = crc32fast::Hasher::new_with_initial_len(checksum(bytes), bytes.len() as u64);
        self.hasher.combine(&of_bytes);
        self.hasher.update(padding);
        Ok(elements.into())
    }
}

impl Header {
    /// Reads the header of a file of `len` bytes.
    fn of_file(start: &[u8; size_of::<Self>()], len: u64) -> Result<Self> {
        let header: Self = bytemuck::pod_read_unaligned(start);
        if header.magic != MAGIC {
            return Err(damaged("it does not begin with the signature of a quadtree"));
        }
        if ![WITHOUT_VALUES, VERSION].contains(&header.version) {
            return Err(damaged(format!(
                "its version is {}, but this program reads versions {WITHOUT_VALUES} and {VERSION}",
                header.version
            )));
        }
        if header.own_checksum() != header.header_checksum {
            return Err(damaged("the header does not match its checksum"));
        }
        if header.version == WITHOUT_VALUES && (header.columns, header.directory) != (0, 0) {
            return Err(damaged("a file of version 1 has no values"));
        }
        let room = len - start.len() as u64;
        if header
            .directory
            .checked_next_multiple_of(ALIGNMENT as u64)
            .is_none_or(|most| most > room)
        {
            return Err(too_short());
        }
        Ok(header)
    }

    /// Returns the columns of values that the directory describes.
    fn columns(&self, directory: &[u8]) -> Result<Vec<(String, ValueType)>> {
        columns_of(directory, self.columns).ok_or_else(|| {
            damaged("its columns of values have a type that this program does not know")
        })
    }

    /// Returns where the arrays lie in a file of `len` bytes, by the header. Fails unless the arrays fill the file.
    fn layout(&self, columns: &[(String, ValueType)], len: u64) -> Result<Layout> {
        let layout = Layout::new(self, columns.iter().map(|&(_, of)| of))
            .ok_or_else(|| damaged("the arrays are longer than memory"))?;
        if len != layout.len as u64 {
            return Err(damaged(format!("it has {len} bytes, not {}", layout.len)));
        }
        Ok(layout)
    }

    /// Compares the checksum of what follows the header with the stated one.
    fn check_contents(&self, checksum: u32) -> Result<()> {
        match checksum == self.checksum {
            true => Ok(()),
            false => Err(damaged("the contents do not match their checksum")),
        }
    }

    /// Makes the tree of these arrays, and checks it.
    fn tree(&self, arrays: Arrays) -> Result<Quadtree> {
        let Arrays { nodes, order, x, y, values } = arrays;
        let (frame, bounds) = (self.frame(), self.bounds());
        let (threshold, given) = (self.threshold, self.given);
        let Ok(system) = u16::try_from(self.system) else {
            return Err(damaged(format!("its coordinate system {} is unknown", self.system)));
        };
        let tree = Quadtree { frame, bounds, threshold, nodes, order, x, y, values, given, system };
        tree.check()?;
        Ok(tree)
    }

    fn bounds(&self) -> Bounds {
        let [min_x, min_y, max_x, max_y] = self.bounds;
        Bounds { min_x, min_y, max_x, max_y }
    }

    fn frame(&self) -> Frame {
        Frame::new([self.bounds[0], self.bounds[1]], self.per_unit, self.max_level)
    }
}

fn too_short() -> Error {
    damaged("it is too short for a header")
}

/// An error for a damaged file; [`in_file`] adds its name.
fn damaged(what: impl Into<String>) -> Error {
    Error::Damaged { path: String::new(), what: what.into() }
}

/// An error of reading a file, with its name.
fn in_file(path: &Path, mut error: Error) -> Error {
    if let Error::Damaged { path: name, .. } = &mut error {
        *name = path.display().to_string();
    }
    error
}
