//! Damaged files, as disks, programs and people leave them.

use crate::Random;

/// Numbers that headers have where somebody wants trouble.
const BAD: [u64; 10] = [
    0,
    1,
    u64::MAX,
    i64::MAX as u64,
    u32::MAX as u64,
    1 << 31,
    1 << 40,
    1 << 62,
    // NaN and infinity.
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0000,
];

/// Returns the bytes with one to four changes: bits flipped, bytes and numbers replaced, parts copied elsewhere or filled with
/// zeros, the end cut off or repeated.
pub fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        change(&mut bytes, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let len = bytes.len();
    if len < 16 {
        bytes.push(random.next_u64() as u8);
        return;
    }
    // Half of all changes are near the beginning, where headers are.
    let within = if random.below(2) == 0 { len.min(200) } else { len };
    let at = random.below(within as u64) as usize;
    let bad = match random.below(3) {
        0 => random.next_u64(),
        _ => BAD[random.below(BAD.len() as u64) as usize],
    };
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = bad as u8,
        2 | 3 => {
            let at = at.min(len - 4) / 4 * 4;
            bytes[at..at + 4].copy_from_slice(&(bad as u32).to_le_bytes());
        }
        4 => {
            let at = at.min(len - 8) / 8 * 8;
            bytes[at..at + 8].copy_from_slice(&bad.to_le_bytes());
        }
        5 => {
            let count = 1 + random.below(((len - at) as u64).min(64)) as usize;
            bytes[at..at + count.min(len - at)].fill(0);
        }
        6 => {
            let count = 4 * (1 + random.below(8) as usize);
            let from = random.below(len as u64) as usize;
            let count = count.min(len - from).min(len - at);
            bytes.copy_within(from..from + count, at);
        }
        _ => match random.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            // Small whole numbers take each other's places.
            _ => {
                let at = at.min(len - 4) / 4 * 4;
                bytes[at..at + 4].copy_from_slice(&(random.below(64) as u32).to_le_bytes());
            }
        },
    }
}
