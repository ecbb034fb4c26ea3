//! A file as the crate `parquet` reads it.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom};

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;

/// A file whose end is an error to whoever reads on.
///
/// In the head of a page the crate skips what it does not know, element after element, and does not look whether bytes are
/// left. A damaged head that claimed two thousand million elements took minutes. What is claimed to lie behind the end is an
/// error before memory is taken.
pub(super) struct Source {
    file: File,
    size: u64,
}

impl Source {
    pub fn new(file: File) -> Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Source {
    type T = BufReader<Ending>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(Ending(file)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        match start.checked_add(length as u64) {
            Some(end) if end <= self.size => self.file.get_bytes(start, length),
            _ => Err(ParquetError::EOF("it ends before what it names".to_owned())),
        }
    }
}

/// Fails where a file ends.
pub(super) struct Ending(File);

impl Read for Ending {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        match self.0.read(bytes)? {
            0 if !bytes.is_empty() => {
                Err(Error::new(ErrorKind::UnexpectedEof, "it ends within the head of a page"))
            }
            read => Ok(read),
        }
    }
}
