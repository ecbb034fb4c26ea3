//! Adaptive models, and where those of a chunk lie in memory.
//!
//! A model has a count for each of its symbols. Now and then the counts give new probabilities: the more often a symbol
//! came, the longer its part of the interval. How often that is done, and when counts are halved, is part of the format.
//!
//! ```text
//! a model:  4 words                  symbols until the next update, that number at the last update, sum of counts, 0
//!           a word for each symbol   bits 16 .. 31 where its part begins, of 2^15; bits 0 .. 15 how often it came
//! ```
//!
//! A lane has four symbols that follow each other, and loads them at once. A model of more than 128 symbols has a second
//! vector for each lane.
//!
//! Only lane 0 reads the first four words, and only a symbol's lane its word: no lane reads what another one wrote.

use device_std::vector::Vector;
use device_std::{Out, vector, warp};

/// Symbols of a lane.
const OF_LANE: u32 = 4;

/// Symbols of which the lanes of a warp have four each.
const OF_WARP: u32 = OF_LANE * warp::SIZE;

/// Words before the first symbol.
const HEAD: u32 = 4;

/// Counts are halved if their sum is above this.
const MAX_TOTAL: u32 = 1 << 15;

/// Counts of a bit are halved if their sum is above this.
const MAX_BITS: u32 = 1 << 13;

/// What stands for a symbol that is missing: it begins behind all others, and never came.
const MISSING: u32 = 1 << 31;

/// The words of a model of so many symbols.
pub const fn words_of(symbols: u32) -> u32 {
    HEAD + symbols.next_multiple_of(OF_LANE)
}

/// The words of a model of a bit.
pub const WORDS_OF_BIT: u32 = 4;

/// The most symbols of a model of corrections: the higher ones of eight bits.
pub const CORRECTIONS: u32 = 256;

/// Words behind the last model that lanes without a symbol load, though nothing is made of them.
pub const WORDS_BEHIND: u32 = OF_WARP;

/// The words of all models of a chunk.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// From the first one on.
    pub all: Out<'a, u32>,
    /// From the lane's first symbol of a model at word 0.
    of_lane: Out<'a, u32>,
}

impl<'a> Words<'a> {
    /// Of a chunk.
    #[inline(always)]
    pub fn new(all: Out<'a, u32>) -> Self {
        Self { all, of_lane: all.from(HEAD + OF_LANE * warp::lane_id()) }
    }
}

/// A model of 2 to 256 symbols.
#[derive(Clone, Copy)]
pub struct Model<'a> {
    /// The words of all models of the chunk.
    pub words: Words<'a>,
    /// The model's first word: a multiple of four.
    pub first: u32,
    /// The number of symbols.
    pub symbols: u32,
}

/// A symbol that was decoded.
pub struct Found {
    /// The symbol.
    pub symbol: u32,
    /// Where its part of the interval begins, of 2^15.
    pub start: u32,
    /// Where the next symbol's part begins.
    pub end: u32,
    /// Whether it is the last symbol of the model.
    pub is_last: bool,
    /// The lane that has the symbol.
    lane: u32,
    /// Where the lane's symbols begin: after this many others.
    from: u32,
    /// The lane's last symbol that begins at or below the value: its word and its place among the four.
    word: u32,
    place: u32,
}

/// The bits of a start.
const START: u32 = 0x7fff;

impl Model<'_> {
    /// The lane's words of the symbols from `from` on.
    #[inline(always)]
    fn load(&self, from: u32) -> Vector {
        self.words.of_lane.get_vector(self.first + from)
    }

    /// The lanes that have symbols from `from` on.
    #[inline(always)]
    fn lanes(&self, from: u32) -> u32 {
        let count = (self.symbols - from).div_ceil(OF_LANE);
        if count < warp::SIZE { (1 << count) - 1 } else { u32::MAX }
    }

    /// Finds the last symbol whose part `begins` at or below the value. `begins` holds for the first symbol, up to some
    /// symbol, and not for [`MISSING`].
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same answers of `begins`.
    #[inline(always)]
    pub unsafe fn find(&self, begins: impl Fn(u32) -> bool) -> Found {
        let (mut words, mut from, mut behind) = (self.load(0), 0, 0);
        // SAFETY: passed on to the caller.
        unsafe {
            if self.symbols > OF_WARP {
                let others = self.load(OF_WARP);
                behind = warp::shuffle(warp::FULL, others[0] >> 16, 0);
                if begins(behind) {
                    (words, from) = (others, OF_WARP);
                }
            }
            let [a, b, c, d] = words.map(|word| word >> 16);
            let is_one = begins(a);
            let (is_b, is_c, is_d) = (begins(b), begins(c), begins(d));
            let mut next = warp::shuffle_down(warp::FULL, a, 1);
            if self.symbols > OF_WARP {
                next = if warp::lane_id() == warp::SIZE - 1 { behind } else { next };
            }
            // By selections: a jump would part the lanes.
            let (mut word, mut place) = (words[0], 0);
            (word, place) = (pick(is_b, words[1], word), pick(is_b, 1, place));
            (word, place) = (pick(is_c, words[2], word), pick(is_c, 2, place));
            (word, place) = (pick(is_d, words[3], word), pick(is_d, 3, place));
            let end = pick(is_b, pick(is_c, pick(is_d, next, d), c), b);
            let lanes = warp::ballot(warp::FULL, is_one) & self.lanes(from);
            let lane = 31 - lanes.leading_zeros();
            // Start, end and place travel in one word.
            let part = (word >> 16) << 17 | (end & START) << 2 | place;
            let part = warp::shuffle(warp::FULL, part, lane);
            let symbol = from + OF_LANE * lane + (part & 3);
            let is_last = symbol + 1 == self.symbols;
            let (start, end) = (part >> 17, part >> 2 & START);
            Found { symbol, start, end, is_last, lane, from, word, place }
        }
    }

    /// Counts a symbol, and computes the model anew when that is due.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the symbol that was found last.
    #[inline(always)]
    pub unsafe fn count(&self, found: &Found) {
        if warp::lane_id() == found.lane {
            let first = self.words.of_lane.from(self.first + found.from);
            first.set(found.place, found.word + 1);
        }
        let mut left = 1;
        if warp::lane_id() == 0 {
            left = self.words.all.get(self.first) - 1;
            self.words.all.set(self.first, left);
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if warp::any(warp::FULL, left == 0) {
                update(self.words.all, self.first, self.symbols);
            }
        }
    }

    /// Makes the model of symbols that are all equally likely.
    #[inline(always)]
    pub fn begin(&self) {
        let scale = (1_u32 << 31).checked_div(self.symbols).unwrap_or(0);
        let mut first = OF_LANE * warp::lane_id();
        while first < vector::unknown(self.symbols) {
            let words = [0, 1, 2, 3].map(|i| match first + i < self.symbols {
                true => (scale.wrapping_mul(first + i) >> 16) << 16 | 1,
                false => MISSING,
            });
            self.words.all.set_vector(self.first + HEAD + first, words);
            first += OF_WARP;
        }
        if warp::lane_id() == 0 {
            let cycle = (self.symbols + 6) / 2;
            self.words.all.set_vector(self.first, [cycle, cycle, self.symbols, 0]);
        }
    }
}

/// Computes where the parts of a model's symbols begin, from their counts.
///
/// It is not a part of its callers, so that their code fits into the cache for instructions.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(never)]
unsafe fn update(words: Out<'_, u32>, first: u32, symbols: u32) {
    let first_of_lane = |from: u32| from + OF_LANE * warp::lane_id();
    let mut counts = [0, OF_WARP].map(|from| match first_of_lane(from) < symbols {
        true => words.get_vector(first + HEAD + first_of_lane(from)).map(|word| word & 0xffff),
        false => [0; 4],
    });
    let head = if warp::lane_id() == 0 { words.get_vector(first) } else { [0; 4] };
    // SAFETY: passed on to the caller.
    unsafe {
        let cycle = warp::shuffle(warp::FULL, head[1], 0);
        let mut total = warp::shuffle(warp::FULL, head[2], 0) + cycle;
        if total > MAX_TOTAL {
            counts = counts.map(|counts| counts.map(|count| count.div_ceil(2)));
            total = warp::reduce(counts.as_flattened().iter().sum(), |a, b| a + b);
        }
        let scale = (1_u32 << 31).checked_div(total).unwrap_or(0);
        let (mut before, mut half) = (0, 0);
        while half < 2 {
            let counts = counts[half];
            let of_lane: u32 = counts.iter().sum();
            let sum = warp::inclusive_scan(of_lane, |a, b| a + b);
            let i = first_of_lane(half as u32 * OF_WARP);
            if i < symbols {
                let [a, b, c, d] = counts;
                let start = before + sum - of_lane;
                let starts = [start, start + a, start + a + b, start + a + b + c];
                let part = |j: usize, count: u32| match i + (j as u32) < symbols {
                    true => (scale.wrapping_mul(starts[j]) >> 16) << 16 | count,
                    false => MISSING,
                };
                let parts = [part(0, a), part(1, b), part(2, c), part(3, d)];
                words.set_vector(first + HEAD + i, parts);
            }
            before = warp::shuffle(warp::FULL, sum, warp::SIZE - 1);
            half += 1;
        }
        if warp::lane_id() == 0 {
            let next = u32::min(5 * cycle / 4, (symbols + 6) * 8);
            words.set_vector(first, [next, next, total, 0]);
        }
    }
}

/// One of two numbers.
#[inline(always)]
fn pick(is_first: bool, first: u32, second: u32) -> u32 {
    if is_first { first } else { second }
}

/// A model of a bit. It has four words:
///
/// ```text
/// how likely 0 is, of 2^13
/// how often 0 came
/// how many bits came
/// lower half: bits until the next update; upper half: that number at the last update
/// ```
#[derive(Clone, Copy)]
pub struct BitModel<'a> {
    /// The words of all models of the chunk.
    pub words: Words<'a>,
    /// The model's first word: a multiple of four.
    pub first: u32,
}

impl BitModel<'_> {
    /// Makes the model of a bit that is as likely 0 as 1.
    #[inline(always)]
    pub fn begin(&self) {
        if warp::lane_id() == 0 {
            self.words.all.set_vector(self.first, [MAX_BITS / 2, 1, 2, 4 << 16 | 4]);
        }
    }

    /// The words, of which lane 0 alone has them.
    #[inline(always)]
    pub fn load(&self) -> Vector {
        match warp::lane_id() {
            0 => self.words.all.get_vector(self.first),
            _ => [0; 4],
        }
    }

    /// Counts a bit; lane 0 has the words.
    #[inline(always)]
    pub fn count(&self, [mut of_zero, mut zeros, mut bits, mut updates]: Vector, bit: u32) {
        if warp::lane_id() != 0 {
            return;
        }
        zeros += 1 - bit;
        updates -= 1;
        if updates & 0xffff == 0 {
            let cycle = updates >> 16;
            bits += cycle;
            if bits > MAX_BITS {
                (bits, zeros) = (bits.div_ceil(2), zeros.div_ceil(2));
                bits += (zeros == bits) as u32;
            }
            let scale = (1_u32 << 31).checked_div(bits).unwrap_or(0);
            of_zero = zeros.wrapping_mul(scale) >> 18;
            let next = u32::min(5 * cycle / 4, 64);
            updates = next << 16 | next;
        }
        self.words.all.set_vector(self.first, [of_zero, zeros, bits, updates]);
    }
}

/// `count` models of `symbols` symbols each, one behind the other.
#[derive(Clone, Copy)]
pub struct Row {
    /// The first word of the first model.
    pub first: u32,
    /// Symbols of each model.
    pub symbols: u32,
    /// Models.
    pub count: u32,
}

impl Row {
    /// The words behind the row.
    pub const fn end(&self) -> u32 {
        self.first + self.count * words_of(self.symbols)
    }

    /// Model `i` of a chunk whose models begin at `base`.
    #[inline(always)]
    pub fn of<'a>(&self, words: Words<'a>, base: u32, i: u32) -> Model<'a> {
        let first = base + self.first + i * words_of(self.symbols);
        Model { words, first, symbols: self.symbols }
    }

    /// Makes all models anew.
    #[inline(always)]
    pub fn begin(&self, words: Words<'_>, base: u32) {
        let mut i = 0;
        while i < vector::unknown(self.count) {
            self.of(words, base, i).begin();
            i += 1;
        }
    }
}
