//! Variable length records: ordinary ones after the header, and extended ones after the points. The reader loads only
//! the records that it needs: others may have gigabytes of waveforms.

use std::io::{BufReader, Read, Seek, SeekFrom};

use ::las::raw;

use crate::source::Source;

/// The most bytes of an extended record that is read. The records that are needed are short.
const LONGEST: u64 = 1 << 20;

/// Bytes of a record before its data.
const HEADER: u64 = 54;
const EXTENDED_HEADER: u64 = 60;

/// Who defined a record. The order is that in which records of one number count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum User {
    Projection,
    /// The library libLAS, and those that took over its name, have systems under their own.
    LibLas,
    LasZip,
    Copc,
}

impl User {
    /// Writers disagree on upper case, and on what separates and follows the words.
    fn of(id: &[u8]) -> Option<Self> {
        let id = id.split(|&b| b == 0).next().unwrap_or_default();
        let letters = id.iter().filter(|b| b.is_ascii_alphanumeric());
        match &letters.map(u8::to_ascii_lowercase).collect::<Vec<u8>>()[..] {
            b"lasfprojection" => Some(Self::Projection),
            b"liblas" => Some(Self::LibLas),
            b"laszipencoded" => Some(Self::LasZip),
            b"copc" => Some(Self::Copc),
            _ => None,
        }
    }
}

/// A record that is needed.
#[derive(Debug)]
pub(super) struct Record {
    pub user: User,
    pub id: u16,
    pub data: Vec<u8>,
}

/// The records of a file, those first that count first. Extended ones are read where the file reaches that far: a file cut
/// short within its points has lost them.
pub(super) fn read(
    reader: &mut BufReader<Source>,
    raw: &raw::Header,
    size: u64,
) -> Result<Vec<Record>, String> {
    const TOO_SHORT: &str = "it ends within its variable length records";
    let mut records = Vec::new();
    let mut position = u64::from(raw.header_size);
    for _ in 0..raw.number_of_variable_length_records {
        let (record, end) = next(reader, position, false, size).ok_or(TOO_SHORT)?;
        records.extend(record);
        position = end;
    }
    if position > raw.offset_to_point_data.into() {
        return Err("its variable length records reach into its points".to_owned());
    }
    if let Some(extended) = raw.evlr {
        let mut position = extended.start_of_first_evlr;
        for _ in 0..extended.number_of_evlrs {
            let Some((record, end)) = next(reader, position, true, size) else { break };
            records.extend(record);
            position = end;
        }
    }
    records.sort_by_key(|record: &Record| record.user);
    Ok(records)
}

/// Returns the record at a place, if it is needed, and where it ends; `None` where the file ends before.
fn next(
    reader: &mut BufReader<Source>,
    position: u64,
    is_extended: bool,
    size: u64,
) -> Option<(Option<Record>, u64)> {
    let mut header = [0; EXTENDED_HEADER as usize];
    let header = &mut header[..if is_extended { EXTENDED_HEADER } else { HEADER } as usize];
    let start = position.checked_add(header.len() as u64).filter(|&start| start <= size)?;
    reader.seek(SeekFrom::Start(position)).ok()?;
    reader.read_exact(header).ok()?;
    let short = u64::from(u16::from_le_bytes([header[20], header[21]]));
    let length = match is_extended {
        true => u64::from_le_bytes(header[20..28].try_into().ok()?),
        false => short,
    };
    let end = start.checked_add(length).filter(|&end| end <= size)?;
    let id = u16::from_le_bytes([header[18], header[19]]);
    // The pages of a COPC's octree are read where bounds ask for them.
    let is_needed = |user: &User| length <= LONGEST && (*user != User::Copc || id == 1);
    let user = User::of(&header[2..18]).filter(is_needed);
    let Some(user) = user else { return Some((None, end)) };
    let mut data = vec![0; length as usize];
    reader.read_exact(&mut data).ok()?;
    Some((Some(Record { user, id, data }), end))
}
