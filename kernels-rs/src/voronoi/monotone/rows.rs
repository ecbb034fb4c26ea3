//! Finds the nearest site of each pixel's row, from bits: the candidates.
//!
//! ```text
//! words       lane 0    lane 1    lane 2  ..           a warp has 32 words of its row at a time
//!             ...x....  ........  .x...x..
//! ballot      1         0         1                    which words have a site
//! lane 1:     last site of word 0 and first of word 2, by one shuffle each
//! then        four lanes share a word: 8 pixels each, stored as one vector of 16 bytes (wide: two)
//! ```
//!
//! The last site before the 32 words is carried along. The first one after them is read ahead, again only once the walk
//! has reached it. So a row is read twice, whatever its gaps are. A tie goes to the left site.

use core::ops::Add;

use device_std::scalar::Scalar;
use device_std::slice::Bytes;
use device_std::{In, Out, kernel, thread, warp};

use super::BLOCK;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;

/// A type that holds the column of a candidate: u16 or u32.
pub trait Column: Scalar {
    /// A signed type that holds sums of two columns.
    type Place: Copy + PartialOrd + Add<Output = Self::Place> + warp::Word;
    /// Stands for no site to the left: so far below every column that any site is nearer. Its low bits are all
    /// set, which is the mark of a row without a site.
    const NO_LEFT: Self::Place;
    /// Stands for no site to the right: so far above every column that any site is nearer. Its low bits are all set.
    const NO_RIGHT: Self::Place;

    /// A column as a place.
    fn place(column: u32) -> Self::Place;

    /// The column at a place.
    fn number(self) -> u32;

    /// Whether there is a site.
    fn is_site(self) -> bool;

    /// The bytes from row 0 to a row, if a row has `pitch` elements.
    fn bytes_between(row: u32, pitch: u32) -> Bytes;

    /// Stores eight neighbours from `at` on, which is aligned to 16 bytes.
    fn store(places: [Self::Place; 8], out: Out<Self>, at: u32);
}

impl Column for u16 {
    type Place = i32;
    const NO_LEFT: i32 = -0x2000_0001;
    const NO_RIGHT: i32 = 0x2000_ffff;

    #[inline(always)]
    fn place(column: u32) -> i32 {
        column as i32
    }
    #[inline(always)]
    fn number(self) -> u32 {
        self as u32
    }
    #[inline(always)]
    fn is_site(self) -> bool {
        self != u16::MAX
    }
    #[inline(always)]
    fn bytes_between(row: u32, pitch: u32) -> Bytes {
        Bytes((row as u64 * (pitch * 2) as u64) as usize)
    }
    #[inline(always)]
    fn store([a, b, c, d, e, f, g, h]: [i32; 8], out: Out<u16>, at: u32) {
        let pair = |low: i32, high: i32| low as u32 & 0xffff | (high as u32) << 16;
        out.set_vector(at, [pair(a, b), pair(c, d), pair(e, f), pair(g, h)]);
    }
}

impl Column for u32 {
    type Place = i64;
    const NO_LEFT: i64 = -(1 << 40) - 1;
    const NO_RIGHT: i64 = (1 << 40) + 0xffff_ffff;

    #[inline(always)]
    fn place(column: u32) -> i64 {
        column as i64
    }
    #[inline(always)]
    fn number(self) -> u32 {
        self
    }
    #[inline(always)]
    fn is_site(self) -> bool {
        self != u32::MAX
    }
    #[inline(always)]
    fn bytes_between(row: u32, pitch: u32) -> Bytes {
        Bytes((row as u64 * pitch as u64) as usize * 4)
    }
    #[inline(always)]
    fn store([a, b, c, d, e, f, g, h]: [i64; 8], out: Out<u32>, at: u32) {
        let words = |four: [i64; 4]| four.map(|place| place as u32);
        let out = out.from(at);
        out.set_vector(0, words([a, b, c, d]));
        out.set_vector(4, words([e, f, g, h]));
    }
}

/// Words that a warp reads together.
const WORDS: u32 = warp::SIZE;

/// Rows without a site that follow the raster's. A walk reads up to eight candidates at a time. The first is a row of
/// the raster, so it may read seven rows beyond the last.
pub const PADDING: u32 = 7;

/// Pixels that a lane writes at a time.
const OCTET: u32 = 8;

/// Writes the column of the nearest site in each pixel's row; all bits set in a row without one. 16 bits serve rasters
/// of at most 65,535 columns.
///
/// A row of `nearest` is padded to `32 * words` pixels, which are filled too, and [`PADDING`] rows
/// without a site follow. Grid: a warp a row, also for these.
///
/// # Safety
/// `bits` has `words * rows` elements, `nearest` `32 * words * (rows + PADDING)` and is aligned to
/// 16.
#[kernel(block = BLOCK, instances(narrow: <u16>; wide: <u32>))]
pub unsafe fn nearest_columns<C: Column>(
    bits: In<'_, u32>,
    nearest: Out<'_, C>,
    words: u32,
    rows: u32,
) {
    let warps = thread::block_dim_x() / warp::SIZE;
    let row = thread::block_idx_x() as u64 * warps as u64 + warp::warp_id() as u64;
    if row >= rows as u64 + PADDING as u64 {
        return;
    }
    let lane = warp::lane_id();
    // A row below the raster has no words: it is written as one without a site.
    let sites = if row < rows as u64 { words } else { 0 };
    let bits = bits.wrapping_from(row * words as u64);
    let nearest = nearest.from((row * words as u64) as usize * 32);
    // SAFETY: all lanes of the warp leave each loop together: the bounds come from ballots and from the row.
    unsafe {
        let mut left = C::NO_LEFT;
        let mut right = C::NO_RIGHT;
        // The word after the 32 that hold `right`: until the walk comes to these, `right` stays the first site ahead.
        let mut ahead = 0;
        let mut first = 0;
        while first < words {
            let word = if first + lane < sites { bits.get(first + lane) } else { 0 };
            if ahead < first + 2 * WORDS {
                (right, ahead) = first_site::<C>(bits, first + WORDS, sites);
            }
            let occupied = warp::ballot(warp::FULL, word != 0);
            let (before, after) = neighbours::<C>(occupied, word, first, (left, right));
            write_words(nearest, (first, words), word, (before, after));
            left = last_site::<C>(occupied, word, first, left);
            first += WORDS;
        }
    }
}

/// Returns the first site in the words from `from` on, and the word after the 32 that have it.
#[inline(always)]
unsafe fn first_site<C: Column>(bits: In<u32>, from: u32, words: u32) -> (C::Place, u32) {
    let lane = warp::lane_id();
    let mut first = from;
    let mut site = C::NO_RIGHT;
    let mut found = false;
    while first < words && !found {
        let word = if first + lane < words { bits.get(first + lane) } else { 0 };
        // SAFETY: all lanes come here, as all see the same ballot.
        unsafe {
            let occupied = warp::ballot(warp::FULL, word != 0);
            let owner = occupied.trailing_zeros();
            let bit = warp::shuffle(warp::FULL, word, owner & 31).trailing_zeros();
            if occupied != 0 {
                site = C::place((first + owner) * 32 + bit);
                found = true;
            }
        }
        first += WORDS;
    }
    (site, first)
}

/// Returns the last site of these 32 words, or `left`.
#[inline(always)]
unsafe fn last_site<C: Column>(occupied: u32, word: u32, first: u32, left: C::Place) -> C::Place {
    let owner = 31 - (occupied | 1).leading_zeros();
    // SAFETY: all lanes come here.
    let last = unsafe { warp::shuffle(warp::FULL, word, owner) };
    let bit = 31 - (last | 1).leading_zeros();
    if occupied == 0 { left } else { C::place((first + owner) * 32 + bit) }
}

/// Returns the last site before the lane's word and the first one after it. If there is no such word, `| 1` and `| 1 <<
/// 31` keep shuffles from lanes that do not exist; the value is then not used.
#[inline(always)]
unsafe fn neighbours<C: Column>(
    occupied: u32,
    word: u32,
    first: u32,
    (left, right): (C::Place, C::Place),
) -> (C::Place, C::Place) {
    let below = occupied & warp::lanes_below();
    let above = occupied & !warp::lanes_below() & !(1 << warp::lane_id());
    let previous = 31 - (below | 1).leading_zeros();
    let next = (above | 1 << 31).trailing_zeros();
    // SAFETY: all lanes come here.
    let (previous_word, next_word) = unsafe {
        (warp::shuffle(warp::FULL, word, previous), warp::shuffle(warp::FULL, word, next))
    };
    let last_bit = 31 - (previous_word | 1).leading_zeros();
    let first_bit = (next_word | 1 << 31).trailing_zeros();
    let before = if below == 0 { left } else { C::place((first + previous) * 32 + last_bit) };
    let after = if above == 0 { right } else { C::place((first + next) * 32 + first_bit) };
    (before, after)
}

/// Writes the nearest columns of 32 words, of which each lane brings one, with the sites before
/// and after it.
#[inline(always)]
unsafe fn write_words<C: Column>(
    nearest: Out<C>,
    (first, words): (u32, u32),
    word: u32,
    (before, after): (C::Place, C::Place),
) {
    let lane = warp::lane_id();
    let shift = lane % 4 * OCTET;
    let mut k = 0;
    while k < 4 {
        let owner = k * OCTET + lane / 4;
        // SAFETY: all lanes come here.
        let (word, before, after) = unsafe {
            (
                warp::shuffle(warp::FULL, word, owner),
                warp::shuffle(warp::FULL, before, owner),
                warp::shuffle(warp::FULL, after, owner),
            )
        };
        // Rows are padded to whole words: all 32 columns of a word below `words` may be stored.
        if first + owner < words {
            let x = (first + owner) * 32;
            let columns = octet::<C>(word, shift, x, (before, after));
            C::store(columns, nearest, x + shift);
        }
        k += 1;
    }
}

/// The nearest columns of the eight pixels from bit `shift` of a word on, which begins at `x`.
#[inline(always)]
fn octet<C: Column>(
    word: u32,
    shift: u32,
    x: u32,
    (before, after): (C::Place, C::Place),
) -> [C::Place; 8] {
    let below = word & ((1 << shift) - 1);
    let above = (word >> shift) >> OCTET;
    let mut left = if below == 0 { before } else { C::place(x + 31 - below.leading_zeros()) };
    let mut right =
        if above == 0 { after } else { C::place(x + shift + OCTET + above.trailing_zeros()) };
    let x = x + shift;
    let is_site = |i: usize| word >> (shift + i as u32) & 1 == 1;
    let mut rights = [right; 8];
    let mut i = 8;
    while i > 0 {
        i -= 1;
        if is_site(i) {
            right = C::place(x + i as u32);
        }
        rights[i] = right;
    }
    let mut columns = [left; 8];
    let mut i = 0;
    while i < 8 {
        let own = C::place(x + i as u32);
        if is_site(i) {
            left = own;
        }
        // x - left <= right - x: the left one where they tie.
        columns[i] = if own + own <= left + rights[i] { left } else { rights[i] };
        i += 1;
    }
    columns
}
