//! TIFF written by hand.

use std::path::Path;

/// A tag's type and values.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Field {
    Bytes(Vec<u8>),
    /// Text; the NUL that ends it is added.
    Text(String),
    Shorts(Vec<u16>),
    Longs(Vec<u32>),
    SBytes(Vec<i8>),
    SShorts(Vec<i16>),
    SLongs(Vec<i32>),
    Doubles(Vec<f64>),
}

/// A classic TIFF of one image of one band, unless its tags say otherwise.
///
/// ```
/// use testing::files::tiff::{Field, Tiff};
/// let bytes = Tiff::of_bytes(3, &[1, 2, 3, 4, 5, 6]).rows_per_strip(1).without_block(1).nodata("9").bytes();
/// assert_eq!(&bytes[..4], b"II*\0");
/// ```
#[derive(Clone, Debug)]
pub struct Tiff {
    size: (usize, usize),
    /// Bits of a sample, and its format: 1 unsigned, 2 signed, 3 float.
    kind: (u16, u16),
    /// Samples, row by row, as bits of an integer each.
    samples: Vec<u64>,
    /// Rows and columns of a block.
    block: (usize, usize),
    is_tiled: bool,
    is_big_endian: bool,
    absent: Vec<usize>,
    without_count: Vec<usize>,
    /// What the blocks hold, in place of the samples.
    blocks: Option<Vec<Vec<u8>>>,
    tags: Vec<(u16, Field)>,
    without_tags: Vec<u16>,
}

impl Tiff {
    /// Of samples of some bits in a format (1 unsigned, 2 signed, 3 float), each the bits of an integer.
    pub fn new(width: usize, samples: &[u64], (bits, format): (u16, u16)) -> Self {
        let size = (width, samples.len() / width);
        Self {
            size,
            kind: (bits, format),
            samples: samples.to_vec(),
            block: (size.1, width),
            is_tiled: false,
            is_big_endian: false,
            absent: Vec::new(),
            without_count: Vec::new(),
            blocks: None,
            tags: Vec::new(),
            without_tags: Vec::new(),
        }
    }

    /// Of bytes.
    pub fn of_bytes(width: usize, samples: &[u8]) -> Self {
        let samples: Vec<u64> = samples.iter().map(|&sample| sample.into()).collect();
        Self::new(width, &samples, (8, 1))
    }

    /// Of floats of 32 bits.
    pub fn of_floats(width: usize, samples: &[f32]) -> Self {
        let samples: Vec<u64> = samples.iter().map(|sample| sample.to_bits().into()).collect();
        Self::new(width, &samples, (32, 3))
    }

    /// Cuts it into strips of this many rows.
    #[must_use]
    pub fn rows_per_strip(self, rows: usize) -> Self {
        Self { block: (rows, self.size.0), ..self }
    }

    /// Cuts it into tiles of this many columns and rows.
    #[must_use]
    pub fn tiles(self, width: usize, height: usize) -> Self {
        Self { block: (height, width), is_tiled: true, ..self }
    }

    /// Writes numbers with the highest byte first.
    #[must_use]
    pub fn big_endian(self) -> Self {
        Self { is_big_endian: true, ..self }
    }

    /// Leaves a block out, as sparse files do: its offset and its count of bytes are 0.
    #[must_use]
    pub fn without_block(mut self, block: usize) -> Self {
        self.absent.push(block);
        self
    }

    /// Gives a block that is there the count of bytes 0.
    #[must_use]
    pub fn without_count(mut self, block: usize) -> Self {
        self.without_count.push(block);
        self
    }

    /// Puts other bytes, packed ones, in place of the blocks'.
    #[must_use]
    pub fn blocks(self, blocks: &[Vec<u8>]) -> Self {
        Self { blocks: Some(blocks.to_vec()), ..self }
    }

    /// Leaves a tag out.
    #[must_use]
    pub fn without(mut self, code: u16) -> Self {
        self.without_tags.push(code);
        self
    }

    /// Adds a tag, or replaces the one that is written by default.
    #[must_use]
    pub fn tag(mut self, code: u16, field: Field) -> Self {
        self.tags.retain(|(other, _)| *other != code);
        self.tags.push((code, field));
        self
    }

    /// Adds GDAL's tag of NODATA.
    #[must_use]
    pub fn nodata(self, text: &str) -> Self {
        self.tag(42113, Field::Text(text.to_owned()))
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
        let mut file = if self.is_big_endian { b"MM\0*".to_vec() } else { b"II*\0".to_vec() };
        file.extend([0; 4]);
        let (mut offsets, mut counts) = (Vec::new(), Vec::new());
        let blocks = self.blocks.clone().unwrap_or_else(|| self.blocks_of_samples());
        for (i, block) in blocks.into_iter().enumerate() {
            let is_absent = self.absent.contains(&i);
            offsets.push(if is_absent { 0 } else { file.len() as u32 });
            let has_count = !is_absent && !self.without_count.contains(&i);
            counts.push(if has_count { block.len() as u32 } else { 0 });
            if !is_absent {
                file.extend(block);
            }
        }
        let mut tags = self.own_tags(offsets, counts);
        tags.retain(|(code, _)| self.tags.iter().all(|(other, _)| other != code));
        tags.extend(self.tags.iter().cloned());
        tags.retain(|(code, _)| !self.without_tags.contains(code));
        tags.sort_by_key(|(code, _)| *code);
        self.put_directory(&mut file, &tags);
        file
    }

    fn own_tags(&self, offsets: Vec<u32>, counts: Vec<u32>) -> Vec<(u16, Field)> {
        let (short, long) = (|value| Field::Shorts(vec![value]), |value| Field::Longs(vec![value]));
        let mut tags = vec![
            (256, long(self.size.0 as u32)),
            (257, long(self.size.1 as u32)),
            (258, short(self.kind.0)),
            (259, short(1)),
            (262, short(1)),
            (277, short(1)),
            (339, short(self.kind.1)),
        ];
        let (rows, columns) = (self.block.0 as u32, self.block.1 as u32);
        let (offsets, counts) = (Field::Longs(offsets), Field::Longs(counts));
        tags.extend(match self.is_tiled {
            true => vec![(322, long(columns)), (323, long(rows)), (324, offsets), (325, counts)],
            false => vec![(273, offsets), (278, long(rows)), (279, counts)],
        });
        tags
    }

    /// The blocks' bytes: samples of whole bytes in the file's order, others packed, each row filled up.
    fn blocks_of_samples(&self) -> Vec<Vec<u8>> {
        let ((width, height), (rows, columns)) = (self.size, self.block);
        let mut blocks = Vec::new();
        for top in (0..height).step_by(rows) {
            for left in (0..width).step_by(columns) {
                // Strips end with the image, tiles do not.
                let bottom = if self.is_tiled { top + rows } else { height.min(top + rows) };
                let line = |y: usize| {
                    let sample = move |x: usize| match x < width && y < height {
                        true => self.samples[y * width + x],
                        false => 0,
                    };
                    self.packed((left..left + columns).map(sample))
                };
                blocks.push((top..bottom).flat_map(line).collect());
            }
        }
        blocks
    }

    fn packed(&self, samples: impl Iterator<Item = u64>) -> Vec<u8> {
        let bits = usize::from(self.kind.0);
        if bits.is_multiple_of(8) {
            let bytes = |sample: u64| match self.is_big_endian {
                true => sample.to_be_bytes()[8 - bits / 8..].to_vec(),
                false => sample.to_le_bytes()[..bits / 8].to_vec(),
            };
            return samples.flat_map(bytes).collect();
        }
        let bit = |sample: u64| (0..bits).rev().map(move |bit| (sample >> bit & 1) as u8);
        let all: Vec<u8> = samples.flat_map(bit).collect();
        let byte = |bits: &[u8]| (0..8).fold(0, |byte, i| byte << 1 | bits.get(i).unwrap_or(&0));
        all.chunks(8).map(byte).collect()
    }

    fn put_directory(&self, file: &mut Vec<u8>, tags: &[(u16, Field)]) {
        let mut entries = Vec::new();
        for (code, field) in tags {
            let (kind, size, bytes) = self.field(field);
            entries.extend(self.short(*code));
            entries.extend(self.short(kind));
            entries.extend(self.long((bytes.len() / size) as u32));
            if bytes.len() <= 4 {
                entries.extend(bytes.iter().copied().chain([0; 4]).take(4));
                continue;
            }
            file.resize(file.len().next_multiple_of(2), 0);
            entries.extend(self.long(file.len() as u32));
            file.extend(bytes);
        }
        file.resize(file.len().next_multiple_of(2), 0);
        let place = self.long(file.len() as u32);
        file[4..8].copy_from_slice(&place);
        file.extend(self.short(tags.len() as u16));
        file.extend(entries);
        file.extend([0; 4]);
    }

    /// The number of a field's type, bytes of a value, and the bytes of all.
    fn field(&self, field: &Field) -> (u16, usize, Vec<u8>) {
        let double = |value: &f64| match self.is_big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        };
        match field {
            Field::Bytes(bytes) => (1, 1, bytes.clone()),
            Field::Text(text) => (2, 1, text.bytes().chain([0]).collect()),
            Field::Shorts(values) => (3, 2, values.iter().flat_map(|&v| self.short(v)).collect()),
            Field::Longs(values) => (4, 4, values.iter().flat_map(|&v| self.long(v)).collect()),
            Field::SBytes(values) => (6, 1, values.iter().map(|&v| v as u8).collect()),
            Field::SShorts(values) => {
                (8, 2, values.iter().flat_map(|&v| self.short(v as u16)).collect())
            }
            Field::SLongs(values) => {
                (9, 4, values.iter().flat_map(|&v| self.long(v as u32)).collect())
            }
            Field::Doubles(values) => (12, 8, values.iter().flat_map(double).collect()),
        }
    }

    fn short(&self, value: u16) -> [u8; 2] {
        if self.is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn long(&self, value: u32) -> [u8; 4] {
        if self.is_big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// Bytes in the form of zlib (RFC 1950) that packs nothing: a block as it is.
pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u16;
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65521;
        (a, (b + a) % 65521)
    });
    let mut out = vec![0x78, 0x01, 0x01];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(bytes);
    out.extend((b << 16 | a).to_be_bytes());
    out
}
