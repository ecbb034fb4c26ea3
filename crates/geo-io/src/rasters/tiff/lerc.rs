//! Blocks of a TIFF that LERC compresses.
//!
//! LERC has two versions. A blob of the first version, `CntZImage`, states its own columns and rows, and the decoder
//! allocates memory for these before it compares them with the block's. No writer of TIFF makes such blobs: libtiff,
//! and so GDAL, writes the second version alone. So the reader refuses a block with such a blob before decoding it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use flate2::read::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;
use tiff_reader::ifd::{Ifd, LercAdditionalCompression};

/// The first bytes of a blob of the first version.
const FIRST: &[u8] = b"CntZImage";

/// The first bytes of a blob of the second version.
const SECOND: &[u8] = b"Lerc2 ";

/// The bytes of a blob up to its length, at most.
const HEAD: usize = 38;

/// The blocks of a file that are packed by LERC.
pub(crate) struct LercBlocks {
    file: Mutex<File>,
    packed_again: LercAdditionalCompression,
}

impl LercBlocks {
    /// The value of the tag for this compression.
    pub const CODE: u16 = 34887;

    /// Returns the LERC blocks of an image.
    pub fn of(file: File, image: &Ifd) -> Self {
        let parameters = image.lerc_parameters().ok().flatten();
        let packed_again = parameters
            .map_or(LercAdditionalCompression::None, |found| found.additional_compression);
        Self { file: Mutex::new(file), packed_again }
    }

    /// Returns whether the block at a place has a blob of the first version. It leaves errors of decompression to the
    /// reader.
    pub fn has_first_version(&self, offset: u64, bytes: u64) -> io::Result<bool> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        let block = Read::by_ref(&mut *file).take(bytes);
        let found = match self.packed_again {
            LercAdditionalCompression::None => meets_first_version(block),
            LercAdditionalCompression::Deflate => meets_first_version(ZlibDecoder::new(block)),
            LercAdditionalCompression::Zstd => match StreamingDecoder::new(block) {
                Ok(decoder) => meets_first_version(decoder),
                Err(_) => return Ok(false),
            },
        };
        Ok(found.unwrap_or(false))
    }
}

/// Whether a blob of the first version is among blobs that lie one behind the other.
fn meets_first_version(mut blobs: impl Read) -> io::Result<bool> {
    loop {
        let mut head = Vec::with_capacity(HEAD);
        (&mut blobs).take(HEAD as u64).read_to_end(&mut head)?;
        if head.starts_with(FIRST) {
            return Ok(true);
        }
        let Some(length) = length_of(&head) else { return Ok(false) };
        let rest = length.saturating_sub(head.len() as u64);
        if length < head.len() as u64
            || io::copy(&mut (&mut blobs).take(rest), &mut io::sink())? < rest
        {
            return Ok(false);
        }
    }
}

/// The length that a blob of the second version states.
fn length_of(head: &[u8]) -> Option<u64> {
    let word = |at: usize| head.get(at..)?.first_chunk().map(|&bytes| i32::from_le_bytes(bytes));
    if !head.starts_with(SECOND) {
        return None;
    }
    let at = match word(SECOND.len())? {
        1 | 2 => 26,
        3 => 30,
        4..=6 => 34,
        _ => return None,
    };
    u64::try_from(word(at)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A blob of the second version with this many bytes behind its head.
    fn second(version: i32, at: usize, behind: usize) -> Vec<u8> {
        let mut blob = [SECOND, &version.to_le_bytes()].concat();
        blob.resize(HEAD + behind, 0);
        let length = blob.len() as i32;
        blob[at..at + 4].copy_from_slice(&length.to_le_bytes());
        blob
    }

    #[test]
    fn the_first_version_is_seen_wherever_it_stands() {
        let first = b"CntZImage \x0b\0\0\0".to_vec();
        let blobs = [second(2, 26, 40), second(3, 30, 0), second(6, 34, 90)];
        let all = blobs.concat();
        for (bytes, expected) in [
            (first.clone(), true),
            ([all.clone(), first].concat(), true),
            (all.clone(), false),
            (all[..all.len() - 1].to_vec(), false),
            (b"CntZ".to_vec(), false),
            (vec![], false),
        ] {
            assert_eq!(meets_first_version(&bytes[..]).unwrap(), expected, "{bytes:?}");
        }
    }
}
