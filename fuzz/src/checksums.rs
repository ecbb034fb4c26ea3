//! Checksums made right again, so that mutated files pass them and reach what lies behind.

/// Reads a number of 32 bits.
fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(word) as usize)
}

/// Reads a number of 64 bits that can be a length.
fn long(bytes: &[u8], at: usize) -> Option<usize> {
    let long = bytes.get(at..at + 8)?.try_into().ok()?;
    usize::try_from(u64::from_le_bytes(long)).ok()
}

/// Writes the CRC-32 of some bytes.
fn seal(bytes: &mut [u8], range: std::ops::Range<usize>, at: usize) -> Option<()> {
    let sum = crc32fast::hash(bytes.get(range)?);
    bytes.get_mut(at..at + 4)?.copy_from_slice(&sum.to_le_bytes());
    Some(())
}

/// Seals a .ccq file: sums of nodes, of flags and of the header (docs/internals/ccq-tree.md).
pub fn seal_ccq(bytes: &mut [u8]) -> Option<()> {
    let sizes = [4, 6, 6, 12, 12, 12];
    let (levels, bins) = (word(bytes, 24)?.min(30) + 2, word(bytes, 28)?.min(255));
    let system = if word(bytes, 8)? == 1 { 0 } else { word(bytes, 36)?.min(1 << 16) };
    let header = (96 + 8 * (levels + bins) + system + 4).next_multiple_of(64);
    let node = sizes[word(bytes, 12)?.min(5)];
    let nodes = header..header.checked_add(long(bytes, 72)?.checked_mul(node)?)?;
    let flags = nodes.end.checked_next_multiple_of(64)?;
    // Where an array does not fit, the header's own sum is still made right.
    let _ = seal(bytes, nodes, 88);
    if let Some(end) = flags.checked_add(long(bytes, 80)?) {
        let _ = seal(bytes, flags..end, 92);
    }
    seal(bytes, 0..header - 4, header - 4)
}

/// Seals a .qtree file: the sum of what follows the header, and the header's.
pub fn seal_qtree(bytes: &mut [u8]) -> Option<()> {
    let end = bytes.len();
    seal(bytes, 128..end, 16)?;
    bytes.get_mut(12..16)?.fill(0);
    seal(bytes, 0..128, 12)
}

/// Seals a run of bins: its header, its index, and each block that the index names.
pub fn seal_bins(bytes: &mut [u8]) -> Option<()> {
    const HEADER: usize = 172;
    let (values, points, filled) = (word(bytes, 12)?, long(bytes, 56)?, long(bytes, 64)?);
    seal(bytes, 0..HEADER - 4, HEADER - 4)?;
    let record = values.checked_add(2)?.checked_mul(8)?;
    let index = HEADER.checked_add(points.checked_mul(record)?)?;
    let end = index.checked_add(filled.checked_mul(12)?)?;
    let mut first = HEADER;
    for entry in (index..end).step_by(12).take(bytes.len() / 12) {
        let last = first.checked_add(word(bytes, entry + 4)?.checked_mul(record)?)?;
        seal(bytes, first..last, entry + 8)?;
        first = last;
    }
    seal(bytes, index..end, end)
}
