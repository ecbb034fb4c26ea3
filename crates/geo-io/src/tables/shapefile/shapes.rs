//! The shapes of a shapefile (.shp), by ESRI's description of 1998.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::{Geometry, Vertex, nested};
use crate::input::open;
use crate::{Error, Result};

/// Bytes before the first record.
const HEADER: u64 = 100;

/// The records of a file, one after the other or where its index says.
pub(super) struct Shapes {
    file: BufReader<File>,
    /// Where the file is.
    at: u64,
    end: u64,
    index: Option<std::vec::IntoIter<u64>>,
}

impl Shapes {
    pub fn open(path: &Path, index: Option<&Path>) -> Result<Self> {
        let (file, length) = open(path)?;
        let mut file = BufReader::new(file);
        let mut header = [0; HEADER as usize];
        let is_one =
            file.read_exact(&mut header).is_ok() && header.starts_with(&[0, 0, 0x27, 0x0A]);
        if !is_one {
            return Err(Error::NotA { path: path.to_owned(), format: "shapefile" });
        }
        let end = bytes_of([header[24], header[25], header[26], header[27]]);
        if end > length {
            let reason = format!("it promises {end} bytes and has {length}");
            return Err(Error::malformed(path, reason));
        }
        let index = index.map(starts_of).transpose()?.map(Vec::into_iter);
        Ok(Self { file, at: HEADER, end, index })
    }

    /// The content of the next record.
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        let start = match &mut self.index {
            Some(index) => index.next(),
            None => Some(self.at).filter(|at| at + 8 <= self.end),
        };
        let Some(start) = start else { return Ok(None) };
        let words = |error: std::io::Error| error.to_string();
        if start + 8 > self.end {
            return Err("its .shx says that it begins beyond the end of the file".to_owned());
        }
        if start != self.at {
            self.file.seek(SeekFrom::Start(start)).map_err(words)?;
        }
        let mut header = [0; 8];
        self.file.read_exact(&mut header).map_err(words)?;
        let length = bytes_of([header[4], header[5], header[6], header[7]]);
        self.at = start + 8 + length;
        if self.at > self.end {
            return Err("its shape reaches beyond the end of the file".to_owned());
        }
        let mut record = vec![0; length as usize];
        self.file.read_exact(&mut record).map_err(words)?;
        Ok(Some(record))
    }
}

/// Where an index (.shx) says that the records begin.
fn starts_of(index: &Path) -> Result<Vec<u64>> {
    let bytes = std::fs::read(index).map_err(|reason| Error::read(index, reason))?;
    let entries = bytes.get(HEADER as usize..);
    let promised = match bytes.get(24..28) {
        Some(words) => bytes_of([words[0], words[1], words[2], words[3]]),
        None => HEADER,
    };
    match entries {
        Some(entries) if promised <= bytes.len() as u64 && entries.len() % 8 == 0 => {
            Ok(entries.chunks_exact(8).map(|e| bytes_of([e[0], e[1], e[2], e[3]])).collect())
        }
        _ => {
            let reason = format!(
                "it promises {promised} bytes and has {}: remove it, and shapes are read one after the other",
                bytes.len()
            );
            Err(Error::malformed(index, reason))
        }
    }
}

/// Bytes, which the format counts in words of two.
fn bytes_of(words: [u8; 4]) -> u64 {
    2 * u64::from(u32::from_be_bytes(words))
}

/// The geometry of a record; `None` for the null shape. Measures are ignored.
pub(super) fn geometry(record: &[u8]) -> Result<Option<Geometry>, String> {
    let mut bytes = Bytes(record);
    let kind = bytes.count()?;
    let has_z = matches!(kind, 11 | 13 | 15 | 18 | 31);
    Ok(Some(match kind {
        0 => return Ok(None),
        1 | 11 | 21 => {
            let [x, y] = [bytes.float()?, bytes.float()?];
            let z = if has_z { bytes.float()? } else { f64::NAN };
            Geometry::Points(vec![[x, y, z]])
        }
        8 | 18 | 28 => {
            bytes.take(32)?;
            let count = bytes.count()?;
            Geometry::Points(bytes.vertices(count, has_z)?)
        }
        3 | 13 | 23 => Geometry::Lines(bytes.parts(has_z, false)?),
        5 | 15 | 25 => nested(bytes.parts(has_z, false)?),
        31 => nested(bytes.parts(has_z, true)?),
        other => return Err(format!("its shape is of the unknown type {other}")),
    }))
}

/// The rest of a record.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or("its shape ends too early".to_owned())?;
        self.0 = rest;
        Ok(taken)
    }

    fn count(&mut self) -> Result<usize, String> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    fn float(&mut self) -> Result<f64, String> {
        self.floats(1).map(|all| all[0])
    }

    fn floats(&mut self, count: usize) -> Result<Vec<f64>, String> {
        let bytes = self.take(count.saturating_mul(8))?;
        let float = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        Ok(bytes.chunks_exact(8).map(float).collect())
    }

    fn vertices(&mut self, count: usize, has_z: bool) -> Result<Vec<Vertex>, String> {
        let places = self.floats(count.saturating_mul(2))?;
        let heights = match has_z {
            true => {
                self.take(16)?;
                self.floats(count)?
            }
            false => vec![f64::NAN; count],
        };
        Ok(places.chunks_exact(2).zip(heights).map(|(p, z)| [p[0], p[1], z]).collect())
    }

    /// The lists of vertices of a line, a polygon or a surface, whose parts have types.
    fn parts(&mut self, has_z: bool, has_types: bool) -> Result<Vec<Vec<Vertex>>, String> {
        self.take(32)?;
        let (parts, count) = (self.count()?, self.count()?);
        let starts = self.take(parts.saturating_mul(4))?.to_vec();
        if has_types {
            let types = self.take(parts * 4)?;
            // Strips and fans of triangles, which lie in space.
            if types.chunks_exact(4).any(|kind| kind[0] < 2) {
                return Err(
                    "it is a MultiPatch (a surface in space): write it as polygons".to_owned()
                );
            }
        }
        let vertices = self.vertices(count, has_z)?;
        let start = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize;
        let starts: Vec<usize> = starts.chunks_exact(4).map(start).collect();
        let ends = starts.iter().skip(1).copied().chain([count]);
        let part = |(&start, end): (&usize, usize)| {
            let part = vertices.get(start..end).map(<[Vertex]>::to_vec);
            part.ok_or("a part of it begins beyond its last vertex".to_owned())
        };
        starts.iter().zip(ends).map(part).collect()
    }
}
