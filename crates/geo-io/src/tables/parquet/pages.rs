//! Decompresses pages of columns that use Zstandard with ruzstd, since the Parquet crate would need a library written
//! in C.

use std::io::Read;
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::serialized_reader::SerializedPageReader;
use ruzstd::decoding::StreamingDecoder;

use super::source::Source;

/// Bytes that a page may unpack to, beside [`DENSEST`] of each of its own. Writers make pages of a MiB.
const MOST: u64 = 64 << 20;

/// Bytes that a byte may unpack to in a page that is larger.
const DENSEST: u64 = 1000;

/// Opens the pages of a column.
///
/// # Errors
/// A codec that is not built in, and what the file lacks.
pub(super) fn open(
    file: &Arc<Source>,
    chunk: &ColumnChunkMetaData,
    rows: usize,
) -> Result<Box<dyn PageReader>> {
    let name = chunk.column_descr().path().string();
    let unknown = |codec| {
        ParquetError::General(format!(
            "its column \"{name}\" is packed by {codec}: write the file with snappy, gzip or zstd, or without compression"
        ))
    };
    match chunk.compression() {
        Compression::ZSTD(_) => {
            // Its pages come as they are in the file.
            let builder = chunk.clone().into_builder();
            let chunk = builder.set_compression(Compression::UNCOMPRESSED).build()?;
            let pages = SerializedPageReader::new(file.clone(), &chunk, rows, None)?;
            Ok(Box::new(Unpacked { pages }))
        }
        Compression::LZO => Err(unknown("LZO")),
        Compression::BROTLI(_) => Err(unknown("Brotli")),
        Compression::LZ4 | Compression::LZ4_RAW => Err(unknown("LZ4")),
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) => {
            Ok(Box::new(SerializedPageReader::new(file.clone(), chunk, rows, None)?))
        }
    }
}

/// Pages that are unpacked as they come.
struct Unpacked {
    pages: SerializedPageReader<Source>,
}

impl Unpacked {
    fn unpacked(mut page: Page) -> Result<Page> {
        let (buffer, plain) = match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (buf, 0),
            Page::DataPageV2 { is_compressed: false, .. } => return Ok(page),
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                (buf, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)
            }
        };
        let cut = || ParquetError::General("a page ends too early".to_owned());
        let mut bytes = buffer.get(..plain).ok_or_else(cut)?.to_vec();
        let packed = buffer.get(plain..).ok_or_else(cut)?;
        if !packed.is_empty() {
            let failed = |error: &dyn ToString| {
                ParquetError::General(format!(
                    "a page packed by zstd is damaged: {}",
                    error.to_string()
                ))
            };
            let decoder = StreamingDecoder::new(packed).map_err(|e| failed(&e))?;
            let most = MOST + DENSEST * packed.len() as u64;
            let read = decoder.take(most + 1).read_to_end(&mut bytes).map_err(|e| failed(&e))?;
            if read as u64 > most {
                return Err(failed(&format!("it unpacks to more than {most} bytes")));
            }
        }
        *buffer = bytes.into();
        Ok(page)
    }
}

impl Iterator for Unpacked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Unpacked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.pages.get_next_page()?.map(Self::unpacked).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::basic::Encoding;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    #[test]
    fn pages_are_unpacked_but_for_their_levels() {
        let bytes: Vec<u8> = (0..100_000_u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
        let packed = compress_to_vec(&bytes[..], CompressionLevel::Fastest);
        assert!(packed.len() < bytes.len());
        let second = |buf: Vec<u8>, is_compressed| Page::DataPageV2 {
            buf: buf.into(),
            num_values: 1,
            encoding: Encoding::PLAIN,
            num_nulls: 0,
            num_rows: 1,
            def_levels_byte_len: 2,
            rep_levels_byte_len: 1,
            is_compressed,
            statistics: None,
        };
        let first = |buf: Vec<u8>| Page::DictionaryPage {
            buf: buf.into(),
            num_values: 1,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let with_levels = |bytes: &[u8]| [b"123", bytes].concat();
        for (page, expected) in [
            (first(packed.clone()), bytes.clone()),
            (second(with_levels(&packed), true), with_levels(&bytes)),
            (second(with_levels(&bytes), false), with_levels(&bytes)),
            (second(b"123".to_vec(), true), b"123".to_vec()),
        ] {
            assert!(Unpacked::unpacked(page).unwrap().buffer()[..] == expected);
        }
        for bad in [first(bytes), first(packed[..99].to_vec()), second(b"12".to_vec(), true)] {
            assert!(Unpacked::unpacked(bad).is_err());
        }
    }
}
