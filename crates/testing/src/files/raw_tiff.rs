//! TIFF files, tag by tag.

/// What a tag holds.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Value {
    Ascii(&'static str),
    Short(Vec<u16>),
    Long(Vec<u32>),
    SByte(Vec<i8>),
    SShort(Vec<i16>),
    SLong(Vec<i32>),
    Double(Vec<f64>),
}

impl Value {
    /// The number of the type, how many there are, and their bytes.
    fn encoded(&self) -> (u16, u32, Vec<u8>) {
        macro_rules! of {
            ($code:literal, $values:expr) => {
                (
                    $code,
                    $values.len() as u32,
                    $values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                )
            };
        }
        match self {
            Self::Ascii(text) => {
                (2, text.len() as u32 + 1, text.bytes().chain([0]).collect::<Vec<u8>>())
            }
            Self::Short(v) => of!(3, v),
            Self::Long(v) => of!(4, v),
            Self::SByte(v) => of!(6, v),
            Self::SShort(v) => of!(8, v),
            Self::SLong(v) => of!(9, v),
            Self::Double(v) => of!(12, v),
        }
    }
}

/// A TIFF with one image: the lowest byte first, from byte 8 on its blocks, then the directory.
#[derive(Clone, Debug)]
pub struct RawTiff {
    tags: Vec<(u16, Value)>,
    blocks: Vec<Vec<u8>>,
}

impl RawTiff {
    /// An image of bytes, not packed, in strips of so many rows; its tags are right.
    pub fn strips(width: u16, rows: u16, strips: &[&[u8]]) -> Self {
        let bytes: usize = strips.iter().map(|strip| strip.len()).sum();
        let height = bytes / usize::from(width);
        let tiff = Self { tags: Vec::new(), blocks: strips.iter().map(|s| s.to_vec()).collect() };
        let counts = strips.iter().map(|strip| strip.len() as u32).collect();
        [(256, width), (257, height as u16), (258, 8), (259, 1), (262, 1), (277, 1), (278, rows)]
            .into_iter()
            .fold(tiff, |tiff, (code, number)| tiff.tag(code, Value::Short(vec![number])))
            .tag(279, Value::Long(counts))
    }

    /// The same with a tag, in place of one of that number.
    #[must_use]
    pub fn tag(mut self, code: u16, value: Value) -> Self {
        self = self.without(code);
        self.tags.push((code, value));
        self
    }

    /// The same without a tag.
    #[must_use]
    pub fn without(mut self, code: u16) -> Self {
        self.tags.retain(|(other, _)| *other != code);
        self
    }

    /// The same with other blocks.
    #[must_use]
    pub fn blocks(mut self, blocks: &[Vec<u8>]) -> Self {
        self.blocks = blocks.to_vec();
        self
    }

    /// The file. Without a tag 273 it says where its blocks are.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = b"II\x2a\x00\0\0\0\0".to_vec();
        let mut offsets = Vec::new();
        for block in &self.blocks {
            offsets.push(file.len() as u32);
            file.extend(block);
            file.resize(file.len().next_multiple_of(2), 0);
        }
        let mut tags = self.tags.clone();
        if tags.iter().all(|(code, _)| *code != 273) {
            tags.push((273, Value::Long(offsets)));
        }
        tags.sort_by_key(|(code, _)| *code);
        let mut entries = Vec::new();
        for (code, value) in &tags {
            let (kind, count, mut bytes) = value.encoded();
            if bytes.len() > 4 {
                let at = file.len() as u32;
                file.extend(&bytes);
                file.resize(file.len().next_multiple_of(2), 0);
                bytes = at.to_le_bytes().to_vec();
            }
            bytes.resize(4, 0);
            entries.extend(code.to_le_bytes());
            entries.extend(kind.to_le_bytes());
            entries.extend(count.to_le_bytes());
            entries.extend(bytes);
        }
        let directory = (file.len() as u32).to_le_bytes();
        file[4..8].copy_from_slice(&directory);
        file.extend((tags.len() as u16).to_le_bytes());
        file.extend(entries);
        file.extend([0; 4]);
        file
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
