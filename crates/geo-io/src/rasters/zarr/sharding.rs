//! How chunks lie in shards, by the codec `sharding_indexed`, version 1.0.

use serde_json::Value;

use super::codecs::{Codec, Codecs};
use super::json::whole_numbers;

/// The name of the codec.
const NAME: &str = "sharding_indexed";

/// How chunks lie in shards.
#[derive(Clone, Debug)]
pub(crate) struct Sharding {
    /// Chunks of a shard along each dimension.
    chunks: Vec<u64>,
    /// How the index is packed.
    pub index: Codecs,
    /// Whether the index comes before the chunks.
    pub is_at_start: bool,
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
    pub fn index_bytes(&self) -> u64 {
        self.chunks.iter().fold(16, |bytes: u64, &side| bytes.saturating_mul(side))
    }

    /// Returns the bytes of the indices for a row of this many chunks.
    pub fn bytes_of_indices(&self, chunks: u64) -> u64 {
        let across = self.chunks.last().map_or(0, |&of_shard| chunks.div_ceil(of_shard));
        self.index_bytes().saturating_mul(across)
    }

    /// The shard that holds a chunk.
    pub fn shard_of(&self, chunk: &[u64]) -> Vec<u64> {
        chunk.iter().zip(&self.chunks).map(|(place, count)| place / count).collect()
    }

    /// The number of a chunk among those of its shard, of which the last dimension's come one after the other.
    pub fn number_of(&self, chunk: &[u64]) -> usize {
        let places = chunk.iter().zip(&self.chunks);
        places.fold(0, |number, (place, count)| number * count + place % count) as usize
    }
}
