//! How a file lays out its chunks. What its chunk table and the heads of its chunks claim is compared with the bytes that
//! are there, before anybody takes memory by it.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use laz::laszip::ChunkTable;
use laz::{LazItem, LazItemType, LazVlr};

/// Layers of the fields that all of the formats 6 to 10 have.
const LAYERS_OF_POINT: usize = 9;

/// Bytes of these fields in a record.
const BYTES_OF_POINT: usize = 30;

/// Returns how many layers a chunk has; `None` if chunks are not layered, as those of point formats 0 to 5.
pub fn layers(vlr: &LazVlr) -> Option<usize> {
    let layers = |item: LazItemType| match item {
        LazItemType::Point14 => Some(LAYERS_OF_POINT),
        LazItemType::RGB14 | LazItemType::WavePacket14 => Some(1),
        LazItemType::RGBNIR14 => Some(2),
        LazItemType::Byte14(bytes) => Some(bytes.into()),
        _ => None,
    };
    let is_point = |item: &LazItem| {
        item.item_type() == LazItemType::Point14
            && usize::from(item.size()) == BYTES_OF_POINT
            && matches!(item.version(), 3 | 4)
    };
    let items = vlr.items();
    let is_point = items.first().is_some_and(is_point);
    let layers: Option<usize> = items.iter().map(|item| layers(item.item_type())).sum();
    layers.filter(|_| is_point)
}

/// The words between a layered chunk's first record and its layers.
pub struct Head<'a>(&'a [[u8; 4]]);

impl<'a> Head<'a> {
    /// The bytes of the head of a chunk with this many layers.
    pub fn len(layers: usize) -> usize {
        4 * (1 + layers)
    }

    /// Takes a head from the bytes behind the first record; `None` if the bytes end within it.
    pub fn of(bytes: &'a [u8], layers: usize) -> Option<Self> {
        bytes.get(..Self::len(layers)).map(|words| Self(words.as_chunks().0))
    }

    /// How many points the chunk holds.
    pub fn points(&self) -> u32 {
        u32::from_le_bytes(self.0[0])
    }

    /// The bytes of each layer.
    pub fn layers(&self) -> impl Iterator<Item = u32> {
        self.0[1..].iter().map(|&word| u32::from_le_bytes(word))
    }

    /// The bytes of the head and of all layers.
    pub fn bytes(&self) -> u64 {
        (4 * self.0.len()) as u64 + self.layers().map(u64::from).sum::<u64>()
    }
}

/// A chunk as the chunk table has it.
#[derive(Debug)]
pub struct Entry {
    /// Where it lies in the file.
    pub place: Range<u64>,
    /// How many points it holds. If all chunks of the file have one size, the last one may hold fewer.
    pub points: u64,
}

/// Reads the chunk table of a file of `size` bytes, whose points begin at byte `start`. Leaves out chunks without points,
/// with which some writers end.
///
/// # Errors
/// Why the table is of no use. Its parser may panic on damaged bytes.
pub fn chunks(
    source: &mut (impl Read + Seek),
    vlr: &LazVlr,
    start: u64,
    size: u64,
) -> Result<Vec<Entry>, String> {
    const NO_FIT: &str = "its chunk table does not fit the file";
    check_table(source, vlr, start, size)?;
    source.seek(SeekFrom::Start(start)).map_err(|e| e.to_string())?;
    let entries = ChunkTable::read_from(source, vlr).map_err(|e| e.to_string())?;
    // A chunk begins with a whole record.
    let (least, is_sized) = (vlr.items_size(), vlr.uses_variable_size_chunks());
    let (mut at, mut chunks) = (start + 8, Vec::new());
    for entry in entries.as_ref() {
        let end = at.checked_add(entry.byte_count).filter(|&end| end <= size).ok_or(NO_FIT)?;
        let is_empty = if is_sized { entry.point_count == 0 } else { entry.byte_count < least };
        if !is_empty {
            if entry.byte_count < least || entry.point_count == 0 {
                return Err(NO_FIT.into());
            }
            chunks.push(Entry { place: at..end, points: entry.point_count });
        }
        at = end;
    }
    Ok(chunks)
}

/// Refuses a chunk table that claims more than the file can hold, since its readers take memory by that.
///
/// # Errors
/// Why the table is of no use.
pub fn check_table(
    source: &mut (impl Read + Seek),
    vlr: &LazVlr,
    start: u64,
    size: u64,
) -> Result<(), String> {
    let missing = || "its chunk table is missing".to_owned();
    if !is_chunked(vlr) {
        return Err("it is compressed as a whole".into());
    }
    let mut word = |place: u64| {
        let mut bytes = [0; 8];
        source.seek(SeekFrom::Start(place)).and_then(|_| source.read_exact(&mut bytes)).ok()?;
        Some(u64::from_le_bytes(bytes))
    };
    let fits =
        |table: &u64| *table >= start + 8 && table.checked_add(8).is_some_and(|end| end <= size);
    // A writer that could not go back has put the place of the table at the end.
    let first = word(start).ok_or_else(missing)?;
    let place = match first {
        place if place as i64 > start as i64 => Some(place),
        _ => size.checked_sub(8).and_then(&mut word),
    };
    let table = place.filter(fits).ok_or_else(missing)?;
    let count = word(table).ok_or_else(missing)? >> 32;
    // A chunk begins with a whole record.
    let record = vlr.items_size().max(1);
    if count > size / record + 2 {
        return Err(format!("its chunk table claims {count} chunks, more than the file can hold"));
    }
    if count == 0 && table - (start + 8) >= record {
        return Err("its chunk table names no chunks, and points stand before it".to_owned());
    }
    Ok(())
}

/// Whether points are compressed in chunks: not by the first compressor that there was, 1 in the record.
fn is_chunked(vlr: &LazVlr) -> bool {
    let mut record = Vec::new();
    vlr.write_to(&mut record).is_ok() && matches!(record[..], [2 | 3, 0, ..])
}
