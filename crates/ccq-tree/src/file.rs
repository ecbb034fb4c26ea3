//! Trees in files.
//!
//! A file is a header, the nodes and the flags of children; for a coded tree, the table of codes follows. Each part
//! begins at a multiple of 64 bytes, and numbers have the lowest byte first, so the nodes lie in a mapped file as they
//! do in memory. `docs/internals/ccq-tree.md` has the fields. The header holds the CRC-32 of each other part, and ends
//! with its own CRC-32. So readers refuse a file that was cut short or changed.

use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use gpu_core::{GridSpec, files, host_memory};
use rayon::prelude::*;

use crate::params::MAX_SIDE;
use crate::tree::{Node, Storage};
use crate::{Cell, Error, Number, Params, Result, Tree, links};

const MAGIC: [u8; 8] = *b"\x89CCQ\r\n\x1a\n";
/// The version of a file with a reference system; one without has 1.
const WITH_SYSTEM: u32 = 2;
/// The version of a coded tree's file.
const VERSION: u32 = 3;

/// The most bytes of a reference system.
const MAX_OF_SYSTEM: usize = 1 << 16;

/// Parts begin at multiples of this.
const ALIGNMENT: usize = 64;

/// Bytes before the level starts, and before those what a coded tree's header has more.
const FIXED: usize = 96;
const OF_CODES: usize = 32;

/// Bytes that a header has at most, with its greatest numbers of levels and of bins and the longest system.
const LONGEST_HEADER: u64 = (FIXED + OF_CODES + (32 + 256) * 8 + MAX_OF_SYSTEM + ALIGNMENT) as u64;

const SHORT: &str = "it ends too early";
pub(crate) const CONTRADICTS: &str = "its header contradicts itself";

/// The names of the types, by their numbers.
pub(crate) const KINDS: [&str; 9] = ["u8", "i16", "u16", "i32", "u32", "f32", "f64", "i64", "u64"];

/// How many of them cells can have.
const OF_CELLS: u32 = 6;

/// The header's fields, with the sums of the other parts.
struct Header {
    kind: u32,
    grid: GridSpec,
    bits: u32,
    params: Params,
    starts: Vec<u64>,
    system: String,
    presence: u64,
    crc_of_nodes: u32,
    crc_of_presence: u32,
    codes: Option<CodesHeader>,
}

/// The further fields of a coded tree's header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodesHeader {
    /// The type of the values.
    pub kind: u32,
    pub are_bins: bool,
    /// The rank of the value that stands for NODATA.
    pub nodata: Option<u64>,
    /// The number of values, and their checksum.
    pub count: u64,
    pub crc: u32,
}

/// A coded tree's part of the header, and the ranks of what codes stand for.
pub(crate) struct CodesPart {
    pub header: CodesHeader,
    pub ranks: Vec<u64>,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileKind {
    /// The type of the values, by the name of Rust's type.
    pub values: &'static str,
    /// Whether the tree is a [`CodedTree`](crate::CodedTree), and not a [`Tree`].
    pub is_coded: bool,
}

/// Reads from a file's header what kind of tree it holds.
///
/// ```
/// use ccq_tree::{Params, build, kind_of_file};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let path = std::env::temp_dir().join(format!("kind-{}.ccq", std::process::id()));
/// tree.save(&path)?;
/// let kind = kind_of_file(&path)?;
/// assert_eq!((kind.values, kind.is_coded), ("u8", false));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::File`] where it cannot be read, or its header is damaged.
pub fn kind_of_file(path: impl AsRef<Path>) -> Result<FileKind> {
    let header = header_of_file(path.as_ref())?;
    let kind = header.codes.map_or(header.kind, |codes| codes.kind);
    Ok(FileKind { values: KINDS[kind as usize], is_coded: header.codes.is_some() })
}

/// The type of the nodes' values in a file, by its number.
pub(crate) fn node_kind(path: &Path) -> Result<u32> {
    Ok(header_of_file(path)?.kind)
}

fn header_of_file(path: &Path) -> Result<Header> {
    let mut start = Vec::new();
    let (file, _) = files::open(path).map_err(|e| failed(path, e))?;
    file.take(LONGEST_HEADER).read_to_end(&mut start).map_err(|e| failed(path, e))?;
    Ok(Header::parse(&start).map_err(|reason| failed(path, reason))?.0)
}

impl<T: Cell> Tree<T> {
    /// Writes the tree to a file, which appears whole or not at all ([`gpu_core::files`]). It replaces an existing
    /// file, even the one that this tree was read from.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        files::replace(path, |file| self.write_to(file)).map_err(|e| failed(path, e))
    }

    /// Writes the file's bytes.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_to(&self, to: impl Write) -> std::io::Result<()> {
        self.write_in(&self.system, None, to)
    }

    /// Writes the file's bytes with a reference system, and with what codes stand for in a coded tree.
    pub(crate) fn write_in(
        &self,
        system: &str,
        codes: Option<&CodesPart>,
        mut to: impl Write,
    ) -> std::io::Result<()> {
        check_system(system)?;
        if cfg!(target_endian = "big") {
            return Err(std::io::Error::other("files need a machine with the lowest byte first"));
        }
        let nodes: &[u8] = bytemuck::cast_slice(self.nodes());
        let lengths = [self.nodes.len() as u64, self.presence.len() as u64];
        let sums = [crc(nodes), crc(self.presence())];
        to.write_all(&self.header(lengths, sums, system, codes.map(|codes| codes.header)))?;
        to.write_all(nodes)?;
        to.write_all(&[0; ALIGNMENT][..padding(nodes.len())])?;
        to.write_all(self.presence())?;
        if let Some(codes) = codes {
            to.write_all(&[0; ALIGNMENT][..padding(self.presence.len())])?;
            to.write_all(bytemuck::cast_slice(&codes.ranks))?;
        }
        to.flush()
    }

    /// Returns the header of this tree, or of one like it with other numbers of nodes and flags, and with these sums.
    pub(crate) fn header(
        &self,
        [nodes, presence]: [u64; 2],
        sums: [u32; 2],
        system: &str,
        codes: Option<CodesHeader>,
    ) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let bins = &self.params.bins;
        let has_nodata = u32::from(self.params.nodata.is_some());
        let GridSpec { origin_x, origin_y, cell_size, width, height } = self.grid;
        let version = match (&codes, system.is_empty()) {
            (Some(_), _) => VERSION,
            (None, false) => WITH_SYSTEM,
            (None, true) => 1,
        };
        let sizes = [width, height, self.bits, bins.len() as u32, has_nodata, system.len() as u32];
        for word in [version, T::KIND].iter().chain(&sizes) {
            bytes.extend(word.to_le_bytes());
        }
        for number in [origin_x, origin_y, cell_size, self.params.nodata.unwrap_or(0.0)] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([nodes, presence].iter().flat_map(|length| length.to_le_bytes()));
        bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
        if let Some(CodesHeader { kind, are_bins, nodata, count, crc }) = codes {
            let words = [kind, are_bins.into(), nodata.is_some().into(), crc];
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            let longs = [count, nodata.unwrap_or(0)];
            bytes.extend(longs.iter().flat_map(|long| long.to_le_bytes()));
        }
        bytes.extend(self.starts.iter().flat_map(|start| start.to_le_bytes()));
        bytes.extend(bins.iter().flat_map(|boundary| boundary.to_le_bytes()));
        bytes.extend(system.bytes());
        let numbers = self.starts.len() + bins.len();
        bytes.resize(header_length(numbers, system.len(), codes.is_some()) - 4, 0);
        bytes.extend(crc(&bytes).to_le_bytes());
        bytes
    }

    /// Reads a tree from a file into memory of its own.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is not there, foreign, of another version or type, cut short, or damaged;
    /// [`Error::Core`] where memory does not suffice.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (tree, codes) = Self::read_with_codes(path)?;
        codes.map_or(Ok(tree), |codes| Err(failed(path, codes.header.misread())))
    }

    /// Reads a tree, and from a coded tree's file what codes stand for.
    pub(crate) fn read_with_codes(path: &Path) -> Result<(Self, Option<CodesPart>)> {
        let io = |e: std::io::Error| failed(path, e);
        let bad = |reason: String| failed(path, reason);
        let (mut file, length) = files::open(path).map_err(io)?;
        let mut start = Vec::new();
        (&file).take(LONGEST_HEADER).read_to_end(&mut start).map_err(io)?;
        let (header, at) = Header::parse(&start).map_err(bad)?;
        let parts = header.parts::<T>(at, length).map_err(bad)?;
        host_memory::require(length)?;
        let mut nodes: Vec<Node<T>> =
            host_memory::zeroed(parts.nodes.len() / size_of::<Node<T>>())?;
        let mut padding = vec![0; parts.presence.start - parts.nodes.end];
        let mut presence: Vec<u8> = host_memory::zeroed(parts.presence.len())?;
        file.seek(SeekFrom::Start(at as u64)).map_err(io)?;
        let mut padding_of_codes = vec![0; parts.codes.start - parts.presence.end];
        let mut ranks: Vec<u64> = host_memory::zeroed(parts.codes.len() / 8)?;
        for part in [
            bytemuck::cast_slice_mut(&mut nodes),
            &mut padding,
            &mut presence,
            &mut padding_of_codes,
            bytemuck::cast_slice_mut(&mut ranks),
        ] {
            file.read_exact(part).map_err(io)?;
        }
        padding.append(&mut padding_of_codes);
        let all = [bytemuck::cast_slice(&nodes), &presence[..], bytemuck::cast_slice(&ranks)];
        header.check_sums(all, &padding).map_err(bad)?;
        let codes = header.codes.map(|header| CodesPart { header, ranks });
        let tree = header.tree(Storage::Owned(nodes), Storage::Owned(presence)).map_err(bad)?;
        Ok((tree, codes))
    }

    /// Opens a tree in a file without copying it: its nodes are the mapped file's bytes. The call reads the whole file
    /// once, to compare the checksums and to check the links. Queries rely on that check.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    ///
    /// # Safety
    /// Nobody writes to the file or shortens it while the tree lives. Another file that takes its name, as
    /// [`save`](Self::save) makes one, does no harm on a local file system. On a network file system the mapped file
    /// must keep its name.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        // SAFETY: passed on to the caller.
        let (tree, codes) = unsafe { Self::map_with_codes(path) }?;
        codes.map_or(Ok(tree), |codes| Err(failed(path, codes.header.misread())))
    }

    /// Maps a tree, and copies from a coded tree's file what codes stand for.
    ///
    /// # Safety
    /// As [`map`](Self::map).
    pub(crate) unsafe fn map_with_codes(path: &Path) -> Result<(Self, Option<CodesPart>)> {
        let bad = |reason: String| failed(path, reason);
        let (file, length) = files::open(path).map_err(|e| failed(path, e))?;
        if length == 0 {
            // What no system maps.
            return Err(failed(path, SHORT));
        }
        // SAFETY: passed on to the caller.
        let bytes = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| failed(path, e))?;
        let (header, at) = Header::parse(&bytes).map_err(bad)?;
        let parts = header.parts::<T>(at, bytes.len() as u64).map_err(bad)?;
        let Parts { nodes, presence, codes } = parts;
        let gaps = [&bytes[nodes.end..presence.start], &bytes[presence.end..codes.start]];
        let all = [&bytes[nodes.clone()], &bytes[presence.clone()], &bytes[codes.clone()]];
        header.check_sums(all, &gaps.concat()).map_err(bad)?;
        let ranks = bytemuck::pod_collect_to_vec(&bytes[codes]);
        let codes = header.codes.map(|header| CodesPart { header, ranks });
        let file = Arc::new(bytes);
        let len = nodes.len() / size_of::<Node<T>>();
        let nodes = Storage::Mapped { file: file.clone(), start: nodes.start, len };
        let (start, len) = (presence.start, presence.len());
        let tree = header.tree(nodes, Storage::Mapped { file, start, len }).map_err(bad)?;
        Ok((tree, codes))
    }
}

impl CodesHeader {
    /// Why a file is not read as a [`Tree`].
    fn misread(self) -> String {
        format!(
            "its nodes hold codes of {} values: read it as a CodedTree",
            KINDS[self.kind as usize]
        )
    }
}

/// Where the nodes, the flags of children and what codes stand for lie in a file.
struct Parts {
    nodes: Range<usize>,
    presence: Range<usize>,
    codes: Range<usize>,
}

impl Header {
    /// Returns where the parts lie behind a header of `start` bytes. They must fill a file of `length` bytes.
    fn parts<T: Cell>(&self, start: usize, length: u64) -> Result<Parts, String> {
        if cfg!(target_endian = "big") {
            return Err("files need a machine with the lowest byte first".to_owned());
        }
        if self.kind != T::KIND {
            let kind = KINDS[self.kind as usize];
            return Err(format!("its cells are {kind}, not {}", T::NAME));
        }
        let is_needed = self.params.may_lack_values::<T>();
        let needed = if is_needed { self.starts[self.bits as usize] } else { 0 };
        if self.presence != needed {
            return Err(CONTRADICTS.to_owned());
        }
        let count = self.starts.last().copied().unwrap_or(0) as usize;
        let nodes = start..start + count * size_of::<Node<T>>();
        let presence = nodes.end + padding(nodes.len());
        let presence = presence..presence + self.presence as usize;
        let start = presence.end + self.codes.map_or(0, |_| padding(presence.len()));
        let codes = start..start + self.codes.map_or(0, |codes| 8 * codes.count as usize);
        if length != codes.end as u64 {
            return Err(format!("it has {length} bytes, not {}", codes.end));
        }
        Ok(Parts { nodes, presence, codes })
    }

    /// Compares the sums in the header with those of the parts behind it.
    fn check_sums(&self, parts: [&[u8]; 3], padding: &[u8]) -> Result<(), String> {
        let [nodes, presence, values] = parts;
        if crc(nodes) != self.crc_of_nodes {
            return Err("its nodes are damaged".to_owned());
        }
        if crc(presence) != self.crc_of_presence {
            return Err("its flags of children are damaged".to_owned());
        }
        if self.codes.is_some_and(|codes| crc(values) != codes.crc) {
            return Err("its table of codes is damaged".to_owned());
        }
        if padding.iter().any(|&byte| byte != 0) {
            return Err("its padding is damaged".to_owned());
        }
        Ok(())
    }

    /// The tree of these nodes, whose links are checked.
    fn tree<T: Cell>(
        self,
        nodes: Storage<Node<T>>,
        presence: Storage<u8>,
    ) -> Result<Tree<T>, String> {
        let Self { grid, bits, params, starts, system, .. } = self;
        let tree = Tree { grid, bits, params, starts, nodes, presence, system };
        links::check(&tree)?;
        Ok(tree)
    }

    /// Reads a header and checks everything that it says by itself; gives its length too.
    fn parse(bytes: &[u8]) -> Result<(Self, usize), String> {
        let short = || SHORT.to_owned();
        let magic = bytes.get(..MAGIC.len()).ok_or_else(short)?;
        if magic != MAGIC {
            return Err("it is not a .ccq file".to_owned());
        }
        let word = |at: usize| {
            let word = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
            word.map(u32::from_le_bytes).ok_or_else(short)
        };
        let long = |at: usize| {
            let long = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
            long.map(u64::from_le_bytes).ok_or_else(short)
        };
        let number = |at: usize| long(at).map(f64::from_bits);
        let version = word(8)?;
        if !(1..=VERSION).contains(&version) {
            return Err(format!(
                "its version is {version}; this program reads versions 1 to {VERSION}"
            ));
        }
        let (kind, width, height) = (word(12)?, word(16)?, word(20)?);
        let (bits, bins, has_nodata) = (word(24)?, word(28)?, word(32)?);
        let system = if version == 1 { 0 } else { word(36)? as usize };
        let is_known = bits <= 30 && bins < 256 && kind < OF_CELLS;
        if !is_known || has_nodata > 1 || system > MAX_OF_SYSTEM {
            return Err("its header is damaged".to_owned());
        }
        let (levels, bins) = (bits as usize + 2, bins as usize);
        let is_coded = version == VERSION;
        let length = header_length(levels + bins, system, is_coded);
        let sum = word(length - 4)?;
        if crc(&bytes[..length - 4]) != sum {
            return Err("its header is damaged".to_owned());
        }
        let grid = GridSpec::new(number(40)?, number(48)?, number(56)?, width, height);
        let grid = grid.map_err(|error| format!("its place on the ground is invalid: {error}"))?;
        let nodata = if has_nodata == 1 { Some(number(64)?) } else { None };
        let (nodes, presence) = (long(72)?, long(80)?);
        let codes = if is_coded { Some(CodesHeader::parse(&word, &long)?) } else { None };
        let fixed = FIXED + if is_coded { OF_CODES } else { 0 };
        let starts = (0..levels).map(|i| long(fixed + 8 * i)).collect::<Result<Vec<_>, _>>()?;
        let first_bin = fixed + 8 * levels;
        let bins = (0..bins).map(|i| number(first_bin + 8 * i)).collect::<Result<Vec<_>, _>>()?;
        let first = first_bin + 8 * bins.len();
        let system = String::from_utf8(bytes[first..first + system].to_vec());
        let system = system.map_err(|_| "its header is damaged".to_owned())?;
        let params = Params { bins, nodata };
        let is_sound = params.check().is_ok()
            && grid.check().is_ok()
            && width.max(height) <= MAX_SIDE.min(1 << bits)
            && starts[0] == 0
            && starts.windows(2).all(|pair| pair[0] <= pair[1])
            && starts[levels - 1] == nodes
            && nodes <= crate::MAX_NODES
            && (presence == 0 || presence == starts[bits as usize])
            && (!is_coded || params.bins.is_empty() && [u16::TYPE, u32::TYPE].contains(&kind));
        if !is_sound {
            return Err(CONTRADICTS.to_owned());
        }
        let (crc_of_nodes, crc_of_presence) = (word(88)?, word(92)?);
        let header = Self {
            kind,
            grid,
            bits,
            params,
            starts,
            system,
            presence,
            crc_of_nodes,
            crc_of_presence,
            codes,
        };
        Ok((header, length))
    }
}

impl CodesHeader {
    /// Reads what stands before the level starts.
    fn parse(
        word: &dyn Fn(usize) -> Result<u32, String>,
        long: &dyn Fn(usize) -> Result<u64, String>,
    ) -> Result<Self, String> {
        let at = |i: usize| word(FIXED + 4 * i);
        let (kind, are_bins, has_nodata, crc) = (at(0)?, at(1)?, at(2)?, at(3)?);
        let (count, nodata) = (long(FIXED + 16)?, long(FIXED + 24)?);
        // There are no more codes than nodes have bits for.
        if kind as usize >= KINDS.len() || are_bins > 1 || has_nodata > 1 || count > 1 << 32 {
            return Err(CONTRADICTS.to_owned());
        }
        let nodata = (has_nodata == 1).then_some(nodata);
        Ok(Self { kind, are_bins: are_bins == 1, nodata, count, crc })
    }
}

/// Refuses a reference system that no file has room for.
pub(crate) fn check_system(system: &str) -> std::io::Result<()> {
    if system.len() <= MAX_OF_SYSTEM {
        return Ok(());
    }
    let text = format!("its reference system has {} bytes, at most 65536 are kept", system.len());
    Err(std::io::Error::other(text))
}

/// Returns the bytes of a header with this many level starts and boundaries and a system of this many bytes, its sum
/// included.
fn header_length(numbers: usize, system: usize, is_coded: bool) -> usize {
    let fixed = FIXED + if is_coded { OF_CODES } else { 0 };
    (fixed + 8 * numbers + system + 4).next_multiple_of(ALIGNMENT)
}

/// Bytes from the end of a part of this length to the next.
pub(crate) fn padding(length: usize) -> usize {
    length.next_multiple_of(ALIGNMENT) - length
}

/// The CRC-32 of a part, on all cores.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let parts = bytes.par_chunks(4 << 20).map(|part| {
        let mut sum = crc32fast::Hasher::new();
        sum.update(part);
        sum
    });
    let parts: Vec<_> = parts.collect();
    let mut all = crc32fast::Hasher::new();
    parts.iter().for_each(|part| all.combine(part));
    all.finalize()
}

pub(crate) fn failed(path: &Path, reason: impl ToString) -> Error {
    Error::File { path: path.to_owned(), reason: reason.to_string() }
}
