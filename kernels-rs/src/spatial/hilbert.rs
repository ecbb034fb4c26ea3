//! Hilbert's curve (1891, doi:10.1007/BF01199431): an order of the cells of a square in which successive cells touch.

/// The number of a cell along the curve over a square of `2^BITS` by `2^BITS` cells; at most 32 bits.
///
/// From the largest quarters down, two bits give the quarter, in the order in which the curve enters the quarters. The
/// square is then turned or mirrored so that its entry lies in the south-west.
#[inline(always)]
pub fn number<const BITS: u32>(mut column: u32, mut row: u32) -> u64 {
    let mut number = 0;
    let mut bit = BITS;
    while bit > 0 {
        bit -= 1;
        let (right, upper) = (column >> bit & 1, row >> bit & 1);
        number = number << 2 | ((3 * right) ^ upper) as u64;
        if upper == 0 {
            // All ones where the square is mirrored.
            let mirrored = right.wrapping_neg();
            (column, row) = (row ^ mirrored, column ^ mirrored);
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn cells_that_follow_each_other_touch() {
        // The first 32 x 32 cells of a large curve: it enters every square at the same corner.
        let cells = |of: fn(u32, u32) -> u64| {
            let all = (0..32).flat_map(|x| (0..32).map(move |y| (of(x, y), x, y)));
            let mut all: Vec<(u64, u32, u32)> = all.collect();
            all.sort_unstable();
            all
        };
        for cells in [cells(number::<16>), cells(number::<30>), cells(number::<5>)] {
            for (i, pair) in cells.windows(2).enumerate() {
                assert_eq!(pair[0].0, i as u64);
                assert_eq!(pair[0].1.abs_diff(pair[1].1) + pair[0].2.abs_diff(pair[1].2), 1);
            }
        }
    }

    #[test]
    fn the_last_cell_of_the_largest_curve_has_the_last_number() {
        assert_eq!(number::<31>((1 << 31) - 1, 0), (1 << 62) - 1);
        assert_eq!(number::<32>(u32::MAX, 0), u64::MAX);
    }
}
