//! Where a scan begins again: the heads among a thread's elements, a bit each.

use device_std::scalar::Scalar;
use device_std::shared::SharedArray;
use device_std::tile::Tile;
use device_std::{In, arguments, search, warp};

/// How an array is cut into segments. Of the first two arrays one is there, or `width` is not 0.
#[arguments]
pub struct Cuts<'a> {
    /// A bit for each element, in whole words: whether a segment begins (backward, ends) with it.
    pub bits: In<'a, u32>,
    /// Where segments begin, and the end of the last, rising.
    pub offsets: In<'a, u64>,
    /// How many there are.
    pub count: u64,
    /// The elements of each segment.
    pub width: u64,
}

/// Where a scan begins again.
#[derive(Clone, Copy)]
pub(super) enum Borders<'a, T> {
    /// Nowhere.
    None,
    /// Between segments.
    Cuts(Cuts<'a>),
    /// Where a key, of the elements' size, differs from the one before.
    Keys(In<'a, T>),
}

/// The head bits of a thread's vectors, row after row. What bits say of elements beyond the array has no effect: nothing
/// comes after these.
#[derive(Clone, Copy)]
pub(super) struct Heads(u64);

impl Heads {
    /// The bits of one row.
    #[inline(always)]
    pub(super) fn of_row<T: Scalar>(self, row: usize) -> u32 {
        (self.0 >> (row * T::LANES)) as u32 & ((1 << T::LANES) - 1)
    }
}

/// The words that a warp needs for the heads of its elements.
pub(super) const fn words_of_warp<T: Scalar>(rows: usize) -> u32 {
    (rows * T::LANES) as u32
}

/// A tile whose heads are sought.
pub(super) struct Sought<'a, T, const ROWS: usize> {
    pub(super) tile: &'a Tile<T, ROWS>,
    pub(super) backward: bool,
    /// [`words_of_warp`] for each warp of the block.
    pub(super) words: SharedArray<u32>,
}

impl<T: Scalar, const ROWS: usize> Sought<'_, T, ROWS> {
    /// The heads at the borders. The whole warp comes here.
    #[inline(always)]
    pub(super) unsafe fn heads(&self, borders: Borders<T>) -> Heads {
        // SAFETY: passed on to the caller.
        unsafe {
            match borders {
                Borders::None => Heads(0),
                Borders::Keys(keys) => self.of_keys(keys),
                Borders::Cuts(cuts) if !cuts.bits.is_missing() => self.of_bits(cuts.bits),
                Borders::Cuts(cuts) if cuts.width != 0 => self.of_rows(cuts.width),
                Borders::Cuts(cuts) => self.of_offsets(cuts.offsets, cuts.count),
            }
        }
    }

    #[inline(always)]
    fn of_bits(&self, bits: In<u32>) -> Heads {
        let mut all = 0;
        let mut row = 0;
        while row < ROWS {
            all |= (self.tile.load_bits(bits, row) as u64) << (row * T::LANES);
            row += 1;
        }
        Heads(all)
    }

    /// Each vector's elements are counted from the beginning (backward, the end) of the first row that begins in it.
    #[inline(always)]
    fn of_rows(&self, width: u64) -> Heads {
        let lanes = T::LANES as u64;
        let remainder = |x: u64| x.checked_rem(width).unwrap_or(0);
        let step = remainder(32 * lanes);
        let step = if self.backward { width - step } else { step };
        // The place within its row of the vector's first element, which is the last in the order of a backward scan.
        let mut place = remainder(self.tile.element(0));
        let mut all = 0;
        let mut row = 0;
        while row < ROWS {
            let mut head = if place == 0 { 0 } else { width - place };
            if self.backward {
                head = width - 1 - place;
            }
            while head < lanes {
                let i = if self.backward { lanes - 1 - head } else { head };
                all |= 1 << (row as u64 * lanes + i);
                head += width;
            }
            place += step;
            if place >= width {
                place -= width;
            }
            row += 1;
        }
        Heads(all)
    }

    /// The warp's elements lie one after the other. It finds the first offset among them, then sets a bit in shared memory
    /// for each, 32 at a time. Offsets that are equal to each other are passed over by another search.
    #[inline(always)]
    unsafe fn of_offsets(&self, offsets: In<u64>, count: u64) -> Heads {
        let (lane, lanes) = (warp::lane_id(), T::LANES as u64);
        let each = words_of_warp::<T>(ROWS);
        let words = self.words.skip(warp::warp_id() * each);
        // A segment ends with the element before the next one's offset.
        let tail = self.backward as u64;
        // The first of the warp's elements in memory. It lies before the array, as a number beyond all lengths, if the
        // tile reaches over the end of a backward scan.
        let first = match self.backward {
            true => self.tile.element(ROWS - 1).wrapping_sub((31 - lane) as u64 * lanes),
            false => self.tile.element(0).wrapping_sub(lane as u64 * lanes),
        };
        // SAFETY: the whole warp is here, by the caller's promise. The words are its own, and the warp comes together
        // between stores and loads.
        unsafe {
            let mut word = lane;
            while word < each {
                words.store(word, 0);
                word += 32;
            }
            warp::sync_warp(warp::FULL);
            let least = i64::max(first as i64, 0) as u64 + tail;
            // Where it would be if all segments were as long.
            let guess = least as f64 / self.tile.array_len() as f64 * count as f64;
            let is_before = |i| offsets.get(i) < least;
            let mut next = search::first_of_warp_near(guess as u64, count, is_before);
            loop {
                let own = next + lane as u64;
                let offset = if own < count { offsets.get(own) } else { u64::MAX };
                let place = offset.wrapping_sub(tail).wrapping_sub(first);
                let is_in = own < count && place < each as u64 * 32;
                if is_in {
                    words.atomic_or(place as u32 / 32, 1 << (place % 32));
                }
                if !warp::all(warp::FULL, is_in) {
                    break;
                }
                let last = warp::shuffle(warp::FULL, offset, 31);
                next += 32;
                if warp::all(warp::FULL, offset == last) {
                    next = search::first_of_warp(next, count, |i| offsets.get(i) <= last);
                }
            }
            warp::sync_warp(warp::FULL);
            let mut all = 0;
            let mut row = 0;
            while row < ROWS {
                let place = self.tile.element(row).wrapping_sub(first) as u32;
                let bits = words.load(place / 32) >> (place % 32);
                let bits = match self.backward {
                    true => bits.reverse_bits() >> (32 - T::LANES as u32),
                    false => bits & ((1 << T::LANES) - 1),
                };
                all |= (bits as u64) << (row * T::LANES);
                row += 1;
            }
            Heads(all)
        }
    }

    /// Forward: a head's key has other bits than the key before.
    #[inline(always)]
    unsafe fn of_keys(&self, keys: In<T>) -> Heads {
        let first = self.tile.element(0);
        let mut all = 0;
        // SAFETY: the whole warp is here, by the caller's promise.
        unsafe {
            let rows = self.tile.load(keys, T::from_bits64(0));
            // The key before the warp's first.
            let mut before = T::lane(rows[0], 0);
            let has_before = first > 0 && self.tile.valid(first) > 0;
            if has_before && warp::lane_id() == 0 {
                before = keys.get(first - 1);
            }
            let mut row = 0;
            while row < ROWS {
                let last = T::lane(rows[row], T::LANES - 1);
                let below = warp::shuffle_up(warp::FULL, last, 1);
                let mut previous = if warp::lane_id() == 0 { before } else { below };
                let mut i = 0;
                while i < T::LANES {
                    let key = T::lane(rows[row], i);
                    let is_head = key.to_bits64() != previous.to_bits64();
                    all |= (is_head as u64) << (row * T::LANES + i);
                    previous = key;
                    i += 1;
                }
                before = warp::shuffle(warp::FULL, last, 31);
                row += 1;
            }
        }
        Heads(all | (first == 0) as u64)
    }
}
