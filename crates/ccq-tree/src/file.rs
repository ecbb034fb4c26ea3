//! Trees in files.
//!
//! A file is a header, the nodes and the flags of children, each at a multiple of 64 bytes, numbers with the lowest
//! byte first: so the nodes lie in a mapped file as they do in memory. `docs/ccq-tree.md` has the fields. The
//! header's last number is its own CRC-32, and it has those of the other two parts: a file that was cut short or
//! changed is refused.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;

use gpu_core::{GridSpec, host_memory};
use rayon::prelude::*;

use crate::params::MAX_SIDE;
use crate::tree::{Node, Storage};
use crate::{Cell, Error, Params, Result, Tree};

const MAGIC: [u8; 8] = *b"\x89CCQ\r\n\x1a\n";
const VERSION: u32 = 1;

/// What parts begin at multiples of.
const ALIGNMENT: usize = 64;

/// Bytes before the level starts.
const FIXED: usize = 96;

/// The names of the types, by their numbers.
const KINDS: [&str; 6] = ["u8", "i16", "u16", "i32", "u32", "f32"];

/// What a header says; the sums of the other parts too.
struct Header {
    kind: u32,
    grid: GridSpec,
    bits: u32,
    params: Params,
    starts: Vec<u64>,
    presence: u64,
    crc_of_nodes: u32,
    crc_of_presence: u32,
}

/// The type of the cells of a file's tree, by the name of Rust's type.
///
/// # Errors
/// [`Error::File`] where it cannot be read, or its header is not sound.
pub fn cells_of_file(path: impl AsRef<Path>) -> Result<&'static str> {
    let path = path.as_ref();
    let mut start = Vec::new();
    let most = (FIXED + (31 + 256) * 8 + ALIGNMENT) as u64;
    let file = File::open(path).map_err(|e| failed(path, e))?;
    file.take(most).read_to_end(&mut start).map_err(|e| failed(path, e))?;
    let (header, _) = Header::parse(&start).map_err(|reason| failed(path, reason))?;
    Ok(KINDS[header.kind as usize])
}

impl<T: Cell> Tree<T> {
    /// Writes the tree to a file, which appears whole or not at all; one of the name is replaced.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let name = path.file_name().ok_or_else(|| failed(path, "not the name of a file"))?;
        let mut unfinished = std::ffi::OsString::from(".");
        unfinished.push(name);
        unfinished.push(format!(".{}.part", std::process::id()));
        let unfinished = path.with_file_name(unfinished);
        let written = File::create(&unfinished)
            .and_then(|file| self.write_to(BufWriter::with_capacity(1 << 20, file)))
            .and_then(|()| std::fs::rename(&unfinished, path));
        if written.is_err() {
            // The first error says what happened.
            let _ = std::fs::remove_file(&unfinished);
        }
        written.map_err(|e| failed(path, e))
    }

    /// Writes the file's bytes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, mut to: impl Write) -> std::io::Result<()> {
        if cfg!(target_endian = "big") {
            return Err(std::io::Error::other("files need a machine with the lowest byte first"));
        }
        let nodes: &[u8] = bytemuck::cast_slice(self.nodes());
        let lengths = [self.nodes.len() as u64, self.presence.len() as u64];
        let header = self.header(lengths, [crc(nodes), crc(self.presence())]);
        to.write_all(&header)?;
        to.write_all(nodes)?;
        to.write_all(&[0; ALIGNMENT][..padding(nodes.len())])?;
        to.write_all(self.presence())?;
        to.flush()
    }

    /// The header of the tree, or of one like it with as many nodes and flags as said, by their sums.
    pub(crate) fn header(&self, [nodes, presence]: [u64; 2], sums: [u32; 2]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let bins = &self.params.bins;
        let has_nodata = u32::from(self.params.nodata.is_some());
        let GridSpec { origin_x, origin_y, cell_size, width, height } = self.grid;
        for word in [VERSION, T::KIND, width, height, self.bits, bins.len() as u32, has_nodata, 0] {
            bytes.extend(word.to_le_bytes());
        }
        for number in [origin_x, origin_y, cell_size, self.params.nodata.unwrap_or(0.0)] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([nodes, presence].iter().flat_map(|length| length.to_le_bytes()));
        bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
        bytes.extend(self.starts.iter().flat_map(|start| start.to_le_bytes()));
        bytes.extend(bins.iter().flat_map(|boundary| boundary.to_le_bytes()));
        bytes.resize(header_length(self.starts.len(), bins.len()) - 4, 0);
        bytes.extend(crc(&bytes).to_le_bytes());
        bytes
    }

    /// Reads a tree from a file into memory of its own.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is not there, foreign, of another version or type, cut short, or damaged;
    /// [`Error::Core`] where there is not the memory.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = File::open(path).map_err(|e| failed(path, e))?;
        let length = file.metadata().map_err(|e| failed(path, e))?.len();
        host_memory::require(length)?;
        let mut bytes = host_memory::with_capacity(length as usize)?;
        file.read_to_end(&mut bytes).map_err(|e| failed(path, e))?;
        Self::from_bytes(&bytes).map_err(|reason| failed(path, reason))
    }

    /// Reads a tree from a file's bytes.
    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let (header, [nodes, presence]) = Self::check(bytes)?;
        // The bytes may lie anywhere; the copy is aligned.
        let mut owned =
            vec![Node::<T>::new(T::of_key(0), T::of_key(0), 0); nodes.len() / size_of::<Node<T>>()];
        bytemuck::cast_slice_mut(&mut owned).copy_from_slice(&bytes[nodes]);
        let presence = bytes[presence].to_vec();
        Ok(header.tree(Storage::Owned(owned), Storage::Owned(presence)))
    }

    /// Opens a tree in a file without copying it: its nodes are the mapped file's bytes. All of it is read once, to
    /// compare the sums, at the speed at which the system brings it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Safety
    /// Nobody changes or shortens the file while the tree lives.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|e| failed(path, e))?;
        if file.metadata().map_err(|e| failed(path, e))?.len() == 0 {
            // What no system maps.
            return Err(failed(path, "it is cut short"));
        }
        // SAFETY: passed on to the caller.
        let mapped = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| failed(path, e))?;
        let checked = Self::check(&mapped).map_err(|reason| failed(path, reason))?;
        let (header, [nodes, presence]) = checked;
        let file = Arc::new(mapped);
        let len = nodes.len() / size_of::<Node<T>>();
        let nodes = Storage::Mapped { file: file.clone(), start: nodes.start, len };
        let (start, len) = (presence.start, presence.len());
        Ok(header.tree(nodes, Storage::Mapped { file, start, len }))
    }

    /// Where the nodes and the flags lie in a file that is sound.
    fn check(bytes: &[u8]) -> Result<(Header, [std::ops::Range<usize>; 2]), String> {
        if cfg!(target_endian = "big") {
            return Err("files need a machine with the lowest byte first".to_owned());
        }
        let (header, start) = Header::parse(bytes)?;
        if header.kind != T::KIND {
            let kind = KINDS[header.kind as usize];
            return Err(format!("its cells are {kind}, not {}", T::NAME));
        }
        let needed = if header.params.may_lack_values::<T>() {
            header.starts[header.bits as usize]
        } else {
            0
        };
        if header.presence != needed {
            return Err("its header contradicts itself".to_owned());
        }
        let count = header.starts.last().copied().unwrap_or(0) as usize;
        let nodes = start..start + count * size_of::<Node<T>>();
        let presence = nodes.end + padding(nodes.len());
        let presence = presence..presence + header.presence as usize;
        if bytes.len() != presence.end {
            return Err(format!("it has {} bytes, not {}", bytes.len(), presence.end));
        }
        for (what, part, sum) in [
            ("nodes", &nodes, header.crc_of_nodes),
            ("flags of children", &presence, header.crc_of_presence),
        ] {
            if crc(&bytes[part.clone()]) != sum {
                return Err(format!("its {what} are damaged"));
            }
        }
        if bytes[nodes.end..presence.start].iter().any(|&byte| byte != 0) {
            return Err("its padding is damaged".to_owned());
        }
        Ok((header, [nodes, presence]))
    }
}

impl Header {
    fn tree<T: Cell>(self, nodes: Storage<Node<T>>, presence: Storage<u8>) -> Tree<T> {
        let Self { grid, bits, params, starts, .. } = self;
        Tree { grid, bits, params, starts, nodes, presence }
    }

    /// Reads a header and checks everything that it says by itself; gives its length too.
    fn parse(bytes: &[u8]) -> Result<(Self, usize), String> {
        let short = || "it is cut short".to_owned();
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
        if version != VERSION {
            return Err(format!("it is of version {version}, this program knows {VERSION}"));
        }
        let (kind, width, height) = (word(12)?, word(16)?, word(20)?);
        let (bits, bins, has_nodata) = (word(24)?, word(28)?, word(32)?);
        if bits > 30 || bins >= 256 || kind as usize >= KINDS.len() || has_nodata > 1 {
            return Err("its header is damaged".to_owned());
        }
        let (levels, bins) = (bits as usize + 2, bins as usize);
        let length = header_length(levels, bins);
        let sum = word(length - 4)?;
        if crc(&bytes[..length - 4]) != sum {
            return Err("its header is damaged".to_owned());
        }
        let grid = GridSpec {
            origin_x: number(40)?,
            origin_y: number(48)?,
            cell_size: number(56)?,
            width,
            height,
        };
        let nodata = if has_nodata == 1 { Some(number(64)?) } else { None };
        let (nodes, presence) = (long(72)?, long(80)?);
        let starts = (0..levels).map(|i| long(FIXED + 8 * i)).collect::<Result<Vec<_>, _>>()?;
        let first_bin = FIXED + 8 * levels;
        let bins = (0..bins).map(|i| number(first_bin + 8 * i)).collect::<Result<Vec<_>, _>>()?;
        let params = Params { bins, nodata };
        let is_sound = params.check().is_ok()
            && grid.check().is_ok()
            && width.max(height) <= MAX_SIDE.min(1 << bits)
            && starts[0] == 0
            && starts.windows(2).all(|pair| pair[0] <= pair[1])
            && starts[levels - 1] == nodes
            && nodes <= crate::MAX_NODES
            && (presence == 0 || presence == starts[bits as usize]);
        if !is_sound {
            return Err("its header contradicts itself".to_owned());
        }
        let (crc_of_nodes, crc_of_presence) = (word(88)?, word(92)?);
        let header =
            Self { kind, grid, bits, params, starts, presence, crc_of_nodes, crc_of_presence };
        Ok((header, length))
    }
}

/// Bytes of a header, its sum included.
fn header_length(levels: usize, bins: usize) -> usize {
    (FIXED + 8 * (levels + bins) + 4).next_multiple_of(ALIGNMENT)
}

/// Bytes from the end of a part of this length to the next.
pub(crate) fn padding(length: usize) -> usize {
    length.next_multiple_of(ALIGNMENT) - length
}

/// The CRC-32 of a part, on all cores.
fn crc(bytes: &[u8]) -> u32 {
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

fn failed(path: &Path, reason: impl ToString) -> Error {
    Error::File { path: path.to_owned(), reason: reason.to_string() }
}
