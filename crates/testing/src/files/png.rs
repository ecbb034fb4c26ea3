//! PNG written by hand, with Deflate's stored blocks.

use std::path::Path;

/// What the samples of a pixel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Colour {
    Grey = 0,
    Rgb = 2,
    Palette = 3,
    GreyAlpha = 4,
    Rgba = 6,
}

impl Colour {
    /// Samples of a pixel.
    pub fn samples(self) -> usize {
        match self {
            Self::Grey | Self::Palette => 1,
            Self::GreyAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }
}

/// A PNG.
///
/// ```
/// use testing::files::png::{Colour, Png};
/// let bytes = Png::new(4, &[0, 1, 2, 3], Colour::Palette, 2).palette(&[[0, 0, 0], [9, 9, 9]]).bytes();
/// assert_eq!(&bytes[1..4], b"PNG");
/// ```
#[derive(Clone, Debug)]
pub struct Png {
    size: (usize, usize),
    samples: Vec<u16>,
    colour: Colour,
    depth: u8,
    is_interlaced: bool,
    chunks: Vec<([u8; 4], Vec<u8>)>,
    claimed: Option<(u32, u32)>,
}

impl Png {
    /// Of samples of 1, 2, 4, 8 or 16 bits, row by row.
    pub fn new(width: usize, samples: &[u16], colour: Colour, depth: u8) -> Self {
        let size = (width, samples.len() / colour.samples() / width);
        Self {
            size,
            samples: samples.to_vec(),
            colour,
            depth,
            is_interlaced: false,
            chunks: Vec::new(),
            claimed: None,
        }
    }

    /// Writes the pixels in the seven passes of Adam7.
    #[must_use]
    pub fn interlaced(self) -> Self {
        Self { is_interlaced: true, ..self }
    }

    /// Claims other columns and rows in its header than it has.
    #[must_use]
    pub fn claiming(self, width: u32, height: u32) -> Self {
        Self { claimed: Some((width, height)), ..self }
    }

    /// Adds a palette of red, green and blue.
    #[must_use]
    pub fn palette(mut self, entries: &[[u8; 3]]) -> Self {
        self.chunks.push((*b"PLTE", entries.as_flattened().to_vec()));
        self
    }

    /// Adds the chunk tRNS: the opacity of entries, or the samples of 16 bits of the transparent colour.
    #[must_use]
    pub fn transparency(mut self, bytes: &[u8]) -> Self {
        self.chunks.push((*b"tRNS", bytes.to_vec()));
        self
    }

    /// Writes the file.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.bytes()).expect("the file is written");
    }

    /// The file's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let (width, height) = self.claimed.unwrap_or((self.size.0 as u32, self.size.1 as u32));
        let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
        header.extend([self.depth, self.colour as u8, 0, 0, self.is_interlaced.into()]);
        put(&mut file, *b"IHDR", &header);
        self.chunks.iter().for_each(|(name, bytes)| put(&mut file, *name, bytes));
        put(&mut file, *b"IDAT", &stored(&self.lines()));
        put(&mut file, *b"IEND", &[]);
        file
    }

    /// All lines, each with the filter 0 before it.
    fn lines(&self) -> Vec<u8> {
        /// First column and row of each pass, and the steps.
        const PASSES: [[usize; 4]; 7] = [
            [0, 0, 8, 8],
            [4, 0, 8, 8],
            [0, 4, 4, 8],
            [2, 0, 4, 4],
            [0, 2, 2, 4],
            [1, 0, 2, 2],
            [0, 1, 1, 2],
        ];
        let passes = if self.is_interlaced { &PASSES[..] } else { &[[0, 0, 1, 1]] };
        let mut lines = Vec::new();
        for &[left, top, across, down] in passes {
            for row in (top..self.size.1).step_by(down) {
                if left < self.size.0 {
                    lines.push(0);
                    lines.extend(self.line(row, (left..self.size.0).step_by(across)));
                }
            }
        }
        lines
    }

    fn line(&self, row: usize, columns: impl Iterator<Item = usize>) -> Vec<u8> {
        let (each, depth) = (self.colour.samples(), u32::from(self.depth));
        let pixel = |column: usize| {
            let first = (row * self.size.0 + column) * each;
            self.samples[first..first + each].iter()
        };
        let bit = |&sample: &u16| (0..depth).rev().map(move |bit| (sample >> bit & 1) as u8);
        let bits: Vec<u8> = columns.flat_map(pixel).flat_map(bit).collect();
        let byte = |bits: &[u8]| (0..8).fold(0, |byte, i| byte << 1 | bits.get(i).unwrap_or(&0));
        bits.chunks(8).map(byte).collect()
    }
}

/// Appends a chunk.
fn put(file: &mut Vec<u8>, name: [u8; 4], bytes: &[u8]) {
    file.extend((bytes.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(bytes);
    let mut crc = u32::MAX;
    for &byte in &file[start..] {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    file.extend((!crc).to_be_bytes());
}

/// A zlib stream that stores bytes as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 1];
    let count = bytes.len().div_ceil(0xffff).max(1);
    for i in 0..count {
        let block = &bytes[i * 0xffff..bytes.len().min((i + 1) * 0xffff)];
        let length = block.len() as u16;
        stream.push(u8::from(i + 1 == count));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    let (mut a, mut b) = (1u32, 0u32);
    for &byte in bytes {
        a = (a + u32::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}
