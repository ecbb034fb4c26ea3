//! Shards: files that hold several chunks, with an index of where in the file each lies (the codec `sharding_indexed`, version 1.0).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::codecs::{Codec, Codecs};
use super::metadata::{Metadata, whole_numbers};
use crate::{Error, Result};

/// The name of the codec.
const NAME: &str = "sharding_indexed";

/// The offset and the length of a chunk that is not there.
const MISSING: [u64; 2] = [u64::MAX; 2];

/// How chunks lie in shards.
#[derive(Clone, Debug)]
pub(crate) struct Sharding {
    /// Chunks of a shard along each dimension.
    chunks: Vec<u64>,
    /// How the index is packed.
    index: Codecs,
    is_at_start: bool,
}

impl Sharding {
    /// Takes the codecs of an array whose chunk grid has these sides. If the codecs make shards, the chunk grid is the
    /// grid of shards. Then the function returns the sides of chunks, the chunks' codecs, and how chunks lie in shards.
    /// Else it returns `None`.
    ///
    /// # Errors
    /// Names the part that is missing or that geo-io does not read.
    pub fn of(list: &Value, shard: &[u64]) -> Result<Option<(Vec<u64>, Codecs, Self)>, String> {
        let codecs = list.as_array().map_or(&[][..], Vec::as_slice);
        let Some(codec) = codecs.iter().find(|codec| codec["name"] == NAME) else {
            return Ok(None);
        };
        if codecs.len() > 1 {
            return Err(format!("it has codecs besides {NAME}, which geo-io does not read"));
        }
        let about = &codec["configuration"];
        let chunk = whole_numbers(&about["chunk_shape"], "chunk_shape in shards")?;
        let divides = |(chunk, shard): (&u64, &u64)| *chunk > 0 && shard.is_multiple_of(*chunk);
        if chunk.len() != shard.len() || !chunk.iter().zip(shard).all(divides) {
            return Err(format!("its chunks {chunk:?} do not divide its shards {shard:?}"));
        }
        let chunks = shard.iter().zip(&chunk).map(|(shard, chunk)| shard / chunk).collect();
        let index = Codecs::read(&about["index_codecs"]).map_err(|e| format!("shards: {e}"))?;
        if index.packed.iter().any(|codec| *codec != Codec::Crc32c) {
            return Err(
                "its codecs pack the index of its shards, so geo-io cannot tell the index's length"
                    .to_owned(),
            );
        }
        let is_at_start = match about["index_location"].as_str() {
            Some("start") => true,
            Some("end") | None => false,
            Some(other) => {
                return Err(format!("its index_location is {other:?}: geo-io reads start and end"));
            }
        };
        let own = Codecs::read(&about["codecs"]).map_err(|e| format!("shards: {e}"))?;
        Ok(Some((chunk, own, Self { chunks, index, is_at_start })))
    }

    /// Bytes of an unpacked index: two numbers for each chunk.
    fn index_bytes(&self) -> u64 {
        self.chunks.iter().fold(16, |bytes: u64, &side| bytes.saturating_mul(side))
    }

    /// Returns the bytes of the indices for a row of this many chunks.
    pub fn bytes_of_indices(&self, chunks: u64) -> u64 {
        let across = self.chunks.last().map_or(0, |&of_shard| chunks.div_ceil(of_shard));
        self.index_bytes().saturating_mul(across)
    }

    /// The shard that holds a chunk.
    fn shard_of(&self, chunk: &[u64]) -> Vec<u64> {
        chunk.iter().zip(&self.chunks).map(|(place, count)| place / count).collect()
    }

    /// The number of a chunk among those of its shard, of which the last dimension's come one after the other.
    fn number_of(&self, chunk: &[u64]) -> usize {
        let places = chunk.iter().zip(&self.chunks);
        places.fold(0, |number, (place, count)| number * count + place % count) as usize
    }
}

/// Where the chunks of an array are: in files of their own, or in shards whose indices were read.
#[derive(Default)]
pub(crate) struct Chunks {
    /// By the place of a shard. `None` stands for one without a file.
    shards: BTreeMap<Vec<u64>, Option<Shard>>,
}

impl Chunks {
    /// Reads the indices of the shards that hold some chunks, and drops the indices of all other shards.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn prepare(&mut self, folder: &Path, about: &Metadata, chunks: &[Vec<u64>]) -> Result<()> {
        let Some(sharding) = &about.sharding else { return Ok(()) };
        let mut before = std::mem::take(&mut self.shards);
        for chunk in chunks {
            let place = sharding.shard_of(chunk);
            if self.shards.contains_key(&place) {
                continue;
            }
            let shard = match before.remove(&place) {
                Some(shard) => shard,
                None => Shard::open(folder.join(about.key(&place)), sharding)?,
            };
            self.shards.insert(place, shard);
        }
        Ok(())
    }

    /// Returns the file with a chunk, and the chunk's compressed bytes; `None` for a missing chunk. Its shard was
    /// prepared.
    ///
    /// # Errors
    /// The file cannot be read, or does not hold the chunk.
    pub fn packed(
        &self,
        folder: &Path,
        about: &Metadata,
        chunk: &[u64],
    ) -> Result<Option<(PathBuf, Vec<u8>)>> {
        if let Some(sharding) = &about.sharding {
            let Some(Some(shard)) = self.shards.get(&sharding.shard_of(chunk)) else {
                return Ok(None);
            };
            let bytes = shard.packed(chunk, sharding.number_of(chunk))?;
            return Ok(bytes.map(|bytes| (shard.path.clone(), bytes)));
        }
        let path = folder.join(about.key(chunk));
        match std::fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            bytes => bytes.map_err(|e| Error::read(&path, e)).map(|bytes| Some((path, bytes))),
        }
    }
}

/// A file of chunks.
struct Shard {
    path: PathBuf,
    bytes: u64,
    /// The offset and the length of each chunk.
    index: Vec<[u64; 2]>,
}

impl Shard {
    /// Reads the index of a file; `None` where there is no file.
    fn open(path: PathBuf, sharding: &Sharding) -> Result<Option<Self>> {
        let mut file = match File::open(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|e| Error::read(&path, e))?,
        };
        let bytes = file.metadata().map_err(|e| Error::read(&path, e))?.len();
        let length = sharding.index_bytes();
        let packed = length.saturating_add(4 * sharding.index.packed.len() as u64);
        if packed > bytes {
            let reason = format!("its index needs {packed} bytes, and it has {bytes}");
            return Err(Error::malformed(&path, reason));
        }
        let offset = if sharding.is_at_start { 0 } else { bytes - packed };
        let index = part(&mut file, offset, packed).map_err(|e| Error::read(&path, e))?;
        let index = sharding.index.unpack(index, length);
        let index =
            index.map_err(|reason| Error::malformed(&path, format!("its index: {reason}")))?;
        let number = |bytes: &[u8; 8]| match sharding.index.is_big_endian {
            true => u64::from_be_bytes(*bytes),
            false => u64::from_le_bytes(*bytes),
        };
        let numbers = index.as_chunks().0.iter().map(number);
        let index = numbers.collect::<Vec<_>>().as_chunks().0.to_vec();
        Ok(Some(Self { path, bytes, index }))
    }

    /// The bytes of a chunk; `None` where it is not there.
    fn packed(&self, chunk: &[u64], number: usize) -> Result<Option<Vec<u8>>> {
        let [offset, length] = self.index.get(number).copied().unwrap_or(MISSING);
        if [offset, length] == MISSING {
            return Ok(None);
        }
        let end = offset.checked_add(length).filter(|&end| end <= self.bytes);
        if end.is_none() {
            let bytes = self.bytes;
            let reason = format!(
                "its index has chunk {chunk:?} from byte {offset} on, {length} long, and it has {bytes} bytes"
            );
            return Err(Error::malformed(&self.path, reason));
        }
        let read = File::open(&self.path).and_then(|mut file| part(&mut file, offset, length));
        read.map(Some).map_err(|e| Error::read(&self.path, e))
    }
}

/// Some bytes of a file, which has them.
fn part(file: &mut File, offset: u64, length: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(std::io::Error::other)?];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
