//! Shards: files that hold several chunks, with an index of where in the file each lies.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::metadata::Metadata;
use super::sharding::Sharding;
use crate::{Error, Result};

/// The offset and the length of a chunk that is not there.
const MISSING: [u64; 2] = [u64::MAX; 2];

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

    /// Returns the bytes of a chunk's elements; `None` for a missing chunk. Its shard was prepared.
    ///
    /// # Errors
    /// The file cannot be read, does not hold the chunk, or is damaged.
    pub fn unpacked(
        &self,
        folder: &Path,
        about: &Metadata,
        chunk: &[u64],
    ) -> Result<Option<Vec<u8>>> {
        let Some((path, packed)) = self.packed(folder, about, chunk)? else { return Ok(None) };
        let bytes = about.codecs.unpack(packed, about.chunk_bytes());
        let mut bytes = bytes.map_err(|reason| Error::malformed(&path, reason))?;
        if about.codecs.is_big_endian != cfg!(target_endian = "big") {
            bytes.chunks_exact_mut(about.sample_type.bytes() as usize).for_each(<[u8]>::reverse);
        }
        Ok(Some(bytes))
    }

    /// The file with a chunk, and the chunk's compressed bytes; `None` for a missing chunk.
    fn packed(
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
