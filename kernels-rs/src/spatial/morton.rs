//! Morton codes: the bits of two coordinates, interleaved. Sorting by them walks the quadrants of a square depth first
//! (Morton 1966, A computer oriented geodetic data base).
//!
//! x has the even bits, y the odd ones: among the four children of a quadrant x goes first. The code of a quadrant of
//! level l is the code of any place in it without the last bits, two for each level below.

/// The deepest level: 31 bits of each coordinate, 62 of a code.
pub const MAX_LEVEL: u32 = 31;

/// The code of a column and a row, each below 2^31 (or below 2^32, for a code of 64 bits).
#[inline(always)]
pub const fn encode(column: u32, row: u32) -> u64 {
    spread(column) | spread(row) << 1
}

/// The column and the row of a code.
#[inline(always)]
pub const fn decode(code: u64) -> (u32, u32) {
    (gather(code), gather(code >> 1))
}

/// The code of a column and a row below 2^16, in 32 bits.
#[inline(always)]
pub const fn encode32(column: u16, row: u16) -> u32 {
    spread16(column) | spread16(row) << 1
}

/// The levels that two codes of quadrants `level` deep share: the deepest level at which they lie in one
/// quadrant.
#[inline(always)]
pub const fn common_level(a: u64, b: u64, level: u32) -> u32 {
    let differing = u64::BITS - (a ^ b).leading_zeros();
    level - differing.div_ceil(2)
}

/// The bits of a number at the even places.
#[inline(always)]
const fn spread(number: u32) -> u64 {
    let mut bits = number as u64;
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}

#[inline(always)]
const fn spread16(number: u16) -> u32 {
    let mut bits = number as u32;
    bits = (bits | bits << 8) & 0x00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333;
    (bits | bits << 1) & 0x5555_5555
}

/// The number whose bits stand at the even places.
#[inline(always)]
const fn gather(code: u64) -> u32 {
    let mut bits = code & 0x5555_5555_5555_5555;
    bits = (bits | bits >> 1) & 0x3333_3333_3333_3333;
    bits = (bits | bits >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits >> 4) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits >> 8) & 0x0000_ffff_0000_ffff;
    (bits | bits >> 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, as the definition says.
    fn by_definition(column: u32, row: u32) -> u64 {
        (0..32).fold(0, |code, bit| {
            let (x, y) = (u64::from(column >> bit & 1), u64::from(row >> bit & 1));
            code | x << (2 * bit) | y << (2 * bit + 1)
        })
    }

    #[test]
    fn codes_take_the_bits_in_turn() {
        let sides = [0, 1, 2, 3, 0xffff, 0x1_0000, 0x1234_5678, 0x7fff_ffff, u32::MAX];
        for column in sides {
            for row in sides {
                let code = encode(column, row);
                assert_eq!(code, by_definition(column, row), "{column} {row}");
                assert_eq!(decode(code), (column, row));
                if let (Ok(x), Ok(y)) = (u16::try_from(column), u16::try_from(row)) {
                    assert_eq!(u64::from(encode32(x, y)), code);
                }
            }
        }
        assert!(encode(0x7fff_ffff, 0x7fff_ffff) < 1 << (2 * MAX_LEVEL));
    }

    #[test]
    fn the_common_level_is_that_of_the_smallest_quadrant_around_both() {
        let place = encode(0b1011, 0b0110);
        assert_eq!(common_level(place, place, 4), 4);
        assert_eq!(common_level(place, encode(0b1010, 0b0110), 4), 3);
        assert_eq!(common_level(place, encode(0b1011, 0b0111), 4), 3);
        assert_eq!(common_level(place, encode(0b1011, 0b0010), 4), 1);
        assert_eq!(common_level(place, encode(0b0011, 0b0110), 4), 0);
        assert_eq!(common_level(0, encode(1 << 30, 0), MAX_LEVEL), 0);
    }
}
