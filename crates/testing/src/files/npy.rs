//! NPY files and NPZ archives.

/// An NPY file of a version, with a header's text as it stands and elements behind it.
pub fn npy(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    file.extend(header.bytes());
    file.extend(elements);
    file
}

/// The header of an array by rows: NumPy's name of its type, and its shape such as `(2, 3)`.
pub fn header(kind: &str, shape: &str) -> String {
    format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

/// An entry of an archive.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, ending included.
    pub name: &'static str,
    /// The number of its packing: 0 for none, 8 Deflate, 12 bzip2, 14 LZMA.
    pub method: u16,
    /// Its bytes, as they are packed.
    pub bytes: Vec<u8>,
    /// The CRC-32 that is stated.
    pub sum: u32,
    /// The sizes that are stated, packed and not.
    pub sizes: [u32; 2],
}

impl Entry {
    /// One that is not packed, and right.
    pub fn stored(name: &'static str, bytes: Vec<u8>) -> Self {
        let (sum, sizes) = (crc(&bytes), [bytes.len() as u32; 2]);
        Self { name, method: 0, bytes, sum, sizes }
    }
}

/// An archive of entries.
pub fn npz(entries: &[Entry]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = file.len() as u32;
        let mut about = [20u16, 0, entry.method, 0, 33].map(u16::to_le_bytes).concat();
        about.extend(entry.sum.to_le_bytes());
        about.extend(entry.sizes.map(u32::to_le_bytes).concat());
        about.extend((entry.name.len() as u16).to_le_bytes());
        about.extend([0; 2]);
        file.extend(b"PK\x03\x04");
        file.extend(&about);
        file.extend(entry.name.bytes());
        file.extend(&entry.bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&about);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(entry.name.bytes());
    }
    let (at, count) = (file.len() as u32, entries.len() as u16);
    let length = directory.len() as u32;
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count; 2].map(u16::to_le_bytes).concat());
    file.extend([length, at].map(u32::to_le_bytes).concat());
    file.extend([0; 2]);
    file
}

/// The CRC-32 of archives, bit by bit.
pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            (sum >> 1) ^ (0xEDB8_8320 & (sum & 1).wrapping_neg())
        })
    })
}
