//! How many of each quadrant count.

/// How many of each quadrant count. Quadrants take turns: the nearest of each, then the second nearest of each, and so
/// on up to `most`.
#[inline(always)]
pub fn by_turns(counts: [u32; 4], per_quadrant: u32, most: u32) -> [u32; 4] {
    let counts = [
        u32::min(counts[0], per_quadrant),
        u32::min(counts[1], per_quadrant),
        u32::min(counts[2], per_quadrant),
        u32::min(counts[3], per_quadrant),
    ];
    let total = |rounds: u32| {
        u32::min(counts[0], rounds) as u64
            + u32::min(counts[1], rounds) as u64
            + u32::min(counts[2], rounds) as u64
            + u32::min(counts[3], rounds) as u64
    };
    if total(u32::MAX) <= most as u64 {
        return counts;
    }
    // The most whole rounds.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if total(middle) <= most as u64 {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let mut rest = most - total(low) as u32;
    let mut turn = |count: u32| {
        let extra = (count > low && rest > 0) as u32;
        rest -= extra;
        u32::min(count, low) + extra
    };
    [turn(counts[0]), turn(counts[1]), turn(counts[2]), turn(counts[3])]
}

/// The sum over the groups.
#[inline(always)]
pub fn total(of: [u32; 4]) -> u32 {
    of[0] + of[1] + of[2] + of[3]
}

/// How many groups have fewer than `least`.
#[inline(always)]
pub fn fewer(counts: [u32; 4], least: u32) -> u32 {
    (counts[0] < least) as u32
        + (counts[1] < least) as u32
        + (counts[2] < least) as u32
        + (counts[3] < least) as u32
}
