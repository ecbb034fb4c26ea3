//! The bytes of a run.
//!
//! | bytes | what |
//! |---|---|
//! | 0 | `TESSBINS`, the version (u32), values of a point (u32) |
//! | 16 | id, 32 bytes, filled up with zeros |
//! | 48 | number of the run (u32), 1 where it is the last (u32), points (u64), blocks that have some (u64) |
//! | 72 | where it begins in the inputs and where it ends: number of an input and points of it, each u64 |
//! | 104 | blocks: west, south, side (f64), columns, rows (u32) |
//! | 136 | bounds of the points: least x, least y, greatest x, greatest y (f64) |
//! | 168 | CRC-32 of all before (u32) |
//! | 172 | the points, block by block: x, y, values (f64), place in the run (u32) |
//! | then | of each block that has points: its number, its points, the CRC-32 of these (u32) |
//! | then | CRC-32 of that index (u32) |

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use gpu_core::Bounds;

use super::Blocks;
use crate::input::open;
use crate::{Error, Result};

const MAGIC: [u8; 8] = *b"TESSBINS";
const VERSION: u32 = 1;

/// Bytes of a header.
pub(super) const HEADER: usize = 172;

/// Bytes of an id.
pub(super) const ID: usize = 32;

/// Bytes of an entry of the index.
const ENTRY: usize = 12;

/// Bytes of points that are read or written at once.
pub(super) const PIECE: usize = 1 << 18;

/// Values of a point at most: a piece holds a point.
pub(super) const MAX_VALUES: usize = (PIECE - 4) / 8 - 2;

/// Bytes of a point.
pub(super) const fn record(values: usize) -> usize {
    values.saturating_add(2).saturating_mul(8).saturating_add(4)
}

/// A position in the points of all inputs: an input, and how many of its points come before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The number of the input, from 0.
    pub input: u64,
    /// How many of its points come before.
    pub kept: u64,
}

/// The header of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub id: String,
    pub values: usize,
    pub number: u32,
    pub is_last: bool,
    pub points: u64,
    /// Blocks that have points.
    pub filled: u64,
    pub begin: Position,
    pub end: Position,
    pub blocks: Blocks,
    /// The bounds of its points; without points, the lower end is above the upper.
    pub bounds: Bounds,
}

impl Header {
    /// Whether another header can belong to the same bins.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.values == other.values && self.blocks == other.blocks
    }

    /// Where the index begins.
    pub fn index_at(&self) -> u64 {
        HEADER as u64 + self.points * record(self.values) as u64
    }

    /// Returns the bytes of the whole file; `None` if the header's numbers cannot be those of a file.
    fn length(&self) -> Option<u64> {
        let points = self.points.checked_mul(record(self.values) as u64)?;
        let index = self.filled.checked_mul(ENTRY as u64)?;
        points.checked_add(index)?.checked_add(HEADER as u64 + 4)
    }

    pub fn to_bytes(&self) -> [u8; HEADER] {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.values as u32).to_le_bytes());
        bytes.extend(self.id.as_bytes());
        bytes.resize(16 + ID, 0);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(u32::from(self.is_last).to_le_bytes());
        let (begin, end) = (self.begin, self.end);
        for word in [self.points, self.filled, begin.input, begin.kept, end.input, end.kept] {
            bytes.extend(word.to_le_bytes());
        }
        let Blocks { west, south, side, columns, rows } = self.blocks;
        bytes.extend([west, south, side].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend([columns, rows].iter().flat_map(|v| v.to_le_bytes()));
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds;
        bytes.extend([min_x, min_y, max_x, max_y].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let mut header = [0; HEADER];
        header.copy_from_slice(&bytes);
        header
    }

    /// Reads the header of a file, and compares it with the file's length.
    pub fn read(path: &Path) -> Result<Self> {
        let (mut file, size) = open(path)?;
        let mut bytes = [0; HEADER];
        let is_there = file.read_exact(&mut bytes).is_ok();
        if !(is_there && bytes.starts_with(&MAGIC)) {
            return Err(Error::NotA { path: path.to_owned(), format: "bins" });
        }
        let bad = |reason: String| Error::malformed(path, reason);
        match word(&bytes, 8) {
            VERSION => {}
            other => {
                return Err(bad(format!("it has version {other}, and geo-io reads {VERSION}")));
            }
        }
        let header = Self::of(&bytes).ok_or_else(|| bad("its header is damaged".to_owned()))?;
        match header.length() {
            Some(length) if length == size => Ok(header),
            length => Err(bad(match length {
                Some(length) => format!("it has {size} bytes in place of {length}"),
                None => "its header is damaged".to_owned(),
            })),
        }
    }

    fn of(bytes: &[u8; HEADER]) -> Option<Self> {
        if crc32fast::hash(&bytes[..HEADER - 4]) != word(bytes, HEADER - 4) {
            return None;
        }
        let position = |at: usize| Position { input: long(bytes, at), kept: long(bytes, at + 8) };
        let id = bytes[16..16 + ID].split(|&byte| byte == 0).next()?;
        let blocks = Blocks {
            west: number(bytes, 104),
            south: number(bytes, 112),
            side: number(bytes, 120),
            columns: word(bytes, 128),
            rows: word(bytes, 132),
        };
        let [min_x, min_y, max_x, max_y] = [136, 144, 152, 160].map(|at| number(bytes, at));
        Some(Self {
            id: String::from_utf8(id.to_vec()).ok()?,
            values: Some(word(bytes, 12) as usize).filter(|&values| values <= MAX_VALUES)?,
            number: word(bytes, 48),
            is_last: word(bytes, 52) == 1,
            points: long(bytes, 56),
            filled: long(bytes, 64),
            begin: position(72),
            end: position(88),
            blocks: blocks.is_sound().then_some(blocks)?,
            bounds: Bounds { min_x, min_y, max_x, max_y },
        })
    }

    /// Reads the blocks that have points.
    pub fn read_index(&self, path: &Path, file: &mut File) -> Result<Vec<Entry>> {
        let damaged = || Error::malformed(path, "its index is damaged");
        let most = self.blocks.count() as u64;
        if self.filled > most {
            return Err(damaged());
        }
        let mut bytes = vec![0; self.filled as usize * ENTRY + 4];
        let read =
            file.seek(SeekFrom::Start(self.index_at())).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|e| Error::read(path, e))?;
        let (entries, checksum) = bytes.split_at(bytes.len() - 4);
        if crc32fast::hash(entries) != word(checksum, 0) {
            return Err(damaged());
        }
        let mut first = 0;
        let entries = entries.as_chunks::<ENTRY>().0.iter().map(|bytes| {
            let [block, points, checksum] = [0, 4, 8].map(|at| word(bytes, at));
            let entry = Entry { block, points, checksum, first };
            first += u64::from(points);
            entry
        });
        let entries: Vec<Entry> = entries.collect();
        let is_rising = entries.windows(2).all(|two| two[0].block < two[1].block);
        let is_sound = is_rising && first == self.points;
        if is_sound { Ok(entries) } else { Err(damaged()) }
    }
}

/// A block that has points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub block: u32,
    pub points: u32,
    pub checksum: u32,
    /// How many points of the run come before this block.
    pub first: u64,
}

impl Entry {
    pub fn to_bytes(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        for (to, word) in
            bytes.as_chunks_mut::<4>().0.iter_mut().zip([self.block, self.points, self.checksum])
        {
            *to = word.to_le_bytes();
        }
        bytes
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| bytes[at + i]))
}

fn number(bytes: &[u8], at: usize) -> f64 {
    f64::from_bits(long(bytes, at))
}
