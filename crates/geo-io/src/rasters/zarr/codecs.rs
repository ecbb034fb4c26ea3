//! What chunks are packed by.

use std::io::{Read, Write};

use flate2::Compression as Level;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::Compression;

/// A codec from bytes to bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Codec {
    Gzip,
    Zstd,
    Crc32c,
}

/// How the elements of an array become the bytes of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Codecs {
    pub is_big_endian: bool,
    pub packed: Vec<Codec>,
}

impl Codecs {
    /// Returns the codecs of a compression. Zarr has no LZW.
    pub fn of(compression: Compression) -> Self {
        let packed = match compression {
            Compression::Deflate | Compression::Lzw => vec![Codec::Gzip],
            Compression::Zstd => vec![Codec::Zstd],
            Compression::None => vec![],
        };
        Self { is_big_endian: false, packed }
    }

    /// Reads the list of a `zarr.json`.
    ///
    /// # Errors
    /// The name of a codec that geo-io does not read.
    pub fn read(list: &Value) -> Result<Self, String> {
        let list = list.as_array().ok_or("its codecs are no list")?;
        let (mut is_big_endian, mut packed, mut has_bytes) = (false, Vec::new(), false);
        for codec in list {
            // A codec without configuration may be a word.
            let name = codec.as_str().or_else(|| codec["name"].as_str()).unwrap_or_default();
            let configuration = &codec["configuration"];
            match name {
                "bytes" if !has_bytes => {
                    is_big_endian = configuration["endian"] == "big";
                    has_bytes = true;
                }
                "gzip" if has_bytes => packed.push(Codec::Gzip),
                "zstd" if has_bytes => packed.push(Codec::Zstd),
                "crc32c" if has_bytes => packed.push(Codec::Crc32c),
                _ => {
                    return Err(format!(
                        "its codec is {name:?}: geo-io reads bytes, gzip, zstd and crc32c"
                    ));
                }
            }
        }
        if !has_bytes {
            return Err("its codecs lack the codec `bytes`".to_owned());
        }
        Ok(Self { is_big_endian, packed })
    }

    /// The list of a `zarr.json`.
    pub fn to_json(&self) -> Value {
        let order = if self.is_big_endian { "big" } else { "little" };
        let bytes = json!({"name": "bytes", "configuration": {"endian": order}});
        let packed = self.packed.iter().map(|codec| match codec {
            Codec::Gzip => json!({"name": "gzip", "configuration": {"level": 6}}),
            Codec::Zstd => {
                json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}})
            }
            Codec::Crc32c => json!({"name": "crc32c"}),
        });
        std::iter::once(bytes).chain(packed).collect()
    }

    /// Compresses the bytes of a chunk.
    ///
    /// # Errors
    /// There are none: a vector takes all bytes.
    pub fn pack(&self, mut bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
        for codec in &self.packed {
            bytes = match codec {
                Codec::Gzip => {
                    let mut encoder = GzEncoder::new(Vec::new(), Level::new(6));
                    encoder.write_all(&bytes)?;
                    encoder.finish()?
                }
                Codec::Zstd => {
                    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
                    compress_to_vec(&bytes[..], CompressionLevel::Fastest)
                }
                Codec::Crc32c => {
                    bytes.extend(crc32c(&bytes).to_le_bytes());
                    bytes
                }
            };
        }
        Ok(bytes)
    }

    /// Decompresses a chunk, which must have `length` bytes. It takes no more memory than these bytes, and no more than
    /// the compressed data yield.
    ///
    /// # Errors
    /// Names the damaged part.
    pub fn unpack(&self, mut bytes: Vec<u8>, length: u64) -> Result<Vec<u8>, String> {
        // What a codec before the last gives may be longer: by checksums, and by what packing adds to what cannot be packed.
        let most = length.saturating_add(length / 64).saturating_add(1024);
        for codec in self.packed.iter().rev() {
            let mut unpacked = Vec::new();
            let read = match codec {
                Codec::Gzip => GzDecoder::new(&bytes[..]).take(most).read_to_end(&mut unpacked),
                Codec::Zstd => {
                    let decoder = ruzstd::decoding::StreamingDecoder::new(&bytes[..]);
                    let decoder = decoder.map_err(|error| format!("zstd: {error}"))?;
                    decoder.take(most).read_to_end(&mut unpacked)
                }
                Codec::Crc32c => {
                    let (content, sum) = bytes.split_last_chunk().ok_or("it has no checksum")?;
                    if crc32c(content) != u32::from_le_bytes(*sum) {
                        return Err("its checksum does not match its bytes".to_owned());
                    }
                    unpacked.extend_from_slice(content);
                    Ok(unpacked.len())
                }
            };
            read.map_err(|error| format!("{codec:?}: {error}"))?;
            bytes = unpacked;
        }
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(format!("it has {} bytes, not {length}", bytes.len())),
        }
    }
}

/// CRC-32C (Castagnoli), of RFC 3720.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let (mut table, mut i) = ([0; 256], 0);
        while i < 256 {
            let (mut value, mut bit) = (i as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { (value >> 1) ^ 0x82f6_3b78 } else { value >> 1 };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    let step = |sum: u32, &byte: &u8| TABLE[((sum ^ u32::from(byte)) & 255) as usize] ^ (sum >> 8);
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_rfc_3720() {
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[255; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn what_is_packed_is_unpacked_and_damage_is_found() {
        let bytes: Vec<u8> = (0..9000u32).map(|i| (i * i % 251) as u8).collect();
        for packed in [
            vec![],
            vec![Codec::Gzip],
            vec![Codec::Zstd, Codec::Crc32c],
            vec![Codec::Crc32c, Codec::Gzip],
        ] {
            let codecs = Codecs { is_big_endian: false, packed };
            assert_eq!(Codecs::read(&codecs.to_json()).unwrap(), codecs);
            let chunk = codecs.pack(bytes.clone()).unwrap();
            assert_eq!(codecs.unpack(chunk.clone(), 9000).unwrap(), bytes);
            assert!(codecs.unpack(chunk.clone(), 8999).is_err());
            assert!(codecs.unpack(chunk.clone(), 9001).is_err());
            assert!(codecs.unpack(chunk[..chunk.len() / 2].to_vec(), 9000).is_err());
            if codecs.packed.contains(&Codec::Crc32c) {
                let mut other = chunk;
                let last = other.len() - 2;
                other[last] ^= 1;
                assert!(codecs.unpack(other, 9000).is_err());
            }
        }
    }
}
