//! Writes a tree's file from its nodes on, since the whole tree is not in memory.

use std::io::{self, Seek, SeekFrom, Write};

use bytemuck::{NoUninit, bytes_of, cast_slice};

use super::{ALIGNMENT, Header, directory};
use crate::Quadtree;

/// Writes the nodes, the order, x, y and the columns of values, each front to back, and the header when their checksum is known.
pub(crate) struct Streamed<W> {
    writer: W,
    header: Header,
    /// Where the file begins in the writer.
    start: u64,
    checksum: crc32fast::Hasher,
    /// Bytes behind the header.
    len: usize,
}

impl<W: Write + Seek> Streamed<W> {
    /// Begins the file of a tree with `len` nodes and points; all else is as in `like`.
    pub fn begin(mut writer: W, like: &Quadtree, len: [u64; 2]) -> io::Result<Self> {
        let header = Header::of(like, len);
        let start = writer.stream_position()?;
        // A header of zeros: a file that is left in the middle is not a tree.
        writer.write_all(&[0; size_of::<Header>()])?;
        let checksum = crc32fast::Hasher::new();
        let mut file = Self { writer, header, start, checksum, len: 0 };
        file.write(&directory(&like.values))?;
        file.end_array()?;
        Ok(file)
    }

    /// Goes on with the array.
    pub fn write<T: NoUninit>(&mut self, elements: &[T]) -> io::Result<()> {
        self.write_bytes(cast_slice(elements))
    }

    /// Ends the array.
    pub fn end_array(&mut self) -> io::Result<()> {
        let zeros = self.len.next_multiple_of(ALIGNMENT) - self.len;
        self.write_bytes(&[0; ALIGNMENT][..zeros])
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.len += bytes.len();
        self.writer.write_all(bytes)
    }

    /// Writes the header; the writer then stands at the end of the file.
    pub fn finish(mut self) -> io::Result<()> {
        let end = self.writer.stream_position()?;
        self.writer.seek(SeekFrom::Start(self.start))?;
        self.writer.write_all(bytes_of(&self.header.sealed(self.checksum.finalize())))?;
        self.writer.seek(SeekFrom::Start(end))?;
        self.writer.flush()
    }
}
