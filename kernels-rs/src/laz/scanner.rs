//! What points are predicted from: the ones before, for each of a scanner's four channels.
//!
//! Medians of five differences are kept by kind: of 6 kinds of returns, each with and without a change of time. A lane
//! has the medians of one kind, the lane with the kind's number. So it is with the last heights of 8 levels, and the
//! last intensities of 8 kinds.

use device_std::{Out, warp};

/// The fields of a point that are decoded.
#[derive(Clone, Copy)]
pub struct Point {
    /// x, y and z, in the file's unit.
    pub place: [i32; 3],
    /// The number of the return.
    pub number: u32,
    /// Returns of its pulse.
    pub returns: u32,
    /// Bits 0 to 3 as the class flags, 4 and 5 the channel, 6 the scan's direction, 7 the edge of a flight line.
    pub flags: u32,
    /// The class.
    pub class: u32,
    /// The user data.
    pub user: u32,
    /// The intensity.
    pub intensity: u32,
    /// The point source.
    pub source: u32,
    /// The scan angle, an i16.
    pub angle: i32,
}

impl Point {
    /// Makes the point of six words, as [`words`](Self::words) has them.
    #[inline(always)]
    pub fn of(words: [u32; 6]) -> Self {
        let [x, y, z, a, b, c] = words;
        Self {
            place: [x as i32, y as i32, z as i32],
            number: a & 15,
            returns: a >> 4 & 15,
            flags: a >> 8 & 255,
            class: a >> 16 & 255,
            user: a >> 24,
            intensity: b & 0xffff,
            source: b >> 16,
            angle: c as i16 as i32,
        }
    }

    /// x, y and z. Then a word of returns, flags, class and user data, a byte each from the lowest one up. Then intensity in
    /// the lower half and source in the upper one. Last the scan angle in the lower half.
    #[inline(always)]
    pub fn words(&self) -> [u32; 6] {
        let [x, y, z] = self.place;
        let returns = self.number | self.returns << 4;
        [
            x as u32,
            y as u32,
            z as u32,
            returns | self.flags << 8 | self.class << 16 | self.user << 24,
            self.intensity | self.source << 16,
            self.angle as u32 & 0xffff,
        ]
    }

    /// The scanner's channel.
    #[inline(always)]
    pub fn channel(&self) -> u32 {
        self.flags >> 4 & 3
    }

    /// Sets the scanner's channel.
    #[inline(always)]
    pub fn set_channel(&mut self, channel: u32) {
        self.flags = self.flags & !0x30 | channel << 4;
    }
}

/// The median of the last five numbers, but for the order in which they leave.
#[derive(Clone, Copy)]
pub struct Median {
    sorted: [i32; 5],
    /// Whether the greatest number leaves next, else the least.
    is_high: bool,
}

impl Median {
    /// Zeros.
    pub const NEW: Self = Self { sorted: [0; 5], is_high: true };

    /// Takes in a number.
    #[inline(always)]
    pub fn add(&mut self, number: i32) {
        let [a, b, c, d, e] = self.sorted;
        // The four that stay, in order: without the greatest or the least.
        let stay = if self.is_high { [a, b, c, d] } else { [b, c, d, e] };
        // The other end is next, if the number is beyond the median on this end.
        let middle = c;
        self.is_high = if self.is_high { number < middle } else { number <= middle };
        let [p, q, r, s] = stay;
        self.sorted = [
            i32::min(p, number),
            i32::max(p, i32::min(q, number)),
            i32::max(q, i32::min(r, number)),
            i32::max(r, i32::min(s, number)),
            i32::max(s, number),
        ];
    }
}

/// What the points of a channel are predicted from.
#[derive(Clone, Copy)]
pub struct Scanner {
    /// The point before.
    pub point: Point,
    /// Whether its time differed from that of the point before it.
    pub is_new_time: bool,
    /// The lane's medians of differences, along x and along y.
    medians: [Median; 2],
    /// The lane's height.
    height: i32,
    /// The lane's intensity.
    intensity: u32,
}

/// Words of a lane that [`Scanner::save`] writes.
const SAVED: u32 = 19;

/// Words of a warp that [`Scanner::save`] writes.
pub const WORDS_OF_SCANNER: u32 = SAVED * warp::SIZE;

impl Scanner {
    /// Begins after a point.
    #[inline(always)]
    pub fn new(point: Point) -> Self {
        let (height, intensity) = (point.place[2], point.intensity);
        Self { point, is_new_time: false, medians: [Median::NEW; 2], height, intensity }
    }

    /// The median difference along an axis, of a kind.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same kind.
    #[inline(always)]
    pub unsafe fn median(&self, axis: usize, kind: u32) -> i32 {
        // SAFETY: passed on to the caller.
        unsafe { warp::shuffle(warp::FULL, self.medians[axis].sorted[2] as u32, kind) as i32 }
    }

    /// Takes in a difference along an axis, of a kind.
    #[inline(always)]
    pub fn add_difference(&mut self, axis: usize, kind: u32, difference: i32) {
        if warp::lane_id() == kind {
            self.medians[axis].add(difference);
        }
    }

    /// The last height of a level.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same level.
    #[inline(always)]
    pub unsafe fn height(&self, level: u32) -> i32 {
        // SAFETY: passed on to the caller.
        unsafe { warp::shuffle(warp::FULL, self.height as u32, level) as i32 }
    }

    /// Sets the last height of a level.
    #[inline(always)]
    pub fn set_height(&mut self, level: u32, height: i32) {
        self.height = if warp::lane_id() == level { height } else { self.height };
    }

    /// The last intensity of a kind.
    ///
    /// # Safety
    /// The whole warp comes to the same call, with the same kind.
    #[inline(always)]
    pub unsafe fn intensity(&self, kind: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { warp::shuffle(warp::FULL, self.intensity, kind) }
    }

    /// Sets the last intensity of a kind.
    #[inline(always)]
    pub fn set_intensity(&mut self, kind: u32, intensity: u32) {
        self.intensity = if warp::lane_id() == kind { intensity } else { self.intensity };
    }

    /// Keeps the state in memory, from a word on, while another channel is at work.
    #[inline(always)]
    pub fn save(&self, words: Out<'_, u32>, first: u32) {
        let [x, y, z, a, b, c] = self.point.words();
        let [[p, q, r, s, t], [u, v, w, k, l]] = self.medians.map(|m| m.sorted.map(|n| n as u32));
        let [m, n] = self.medians.map(|median| median.is_high as u32);
        let flags = self.is_new_time as u32 | m << 1 | n << 2;
        let state = [
            x,
            y,
            z,
            a,
            b,
            c,
            p,
            q,
            r,
            s,
            t,
            u,
            v,
            w,
            k,
            l,
            flags,
            self.height as u32,
            self.intensity,
        ];
        let mut i = 0;
        while i < state.len() {
            words.set(first + i as u32 * warp::SIZE + warp::lane_id(), state[i]);
            i += 1;
        }
    }

    /// The state that was kept.
    #[inline(always)]
    pub fn load(words: Out<'_, u32>, first: u32) -> Self {
        let get = |i: u32| words.get(first + i * warp::SIZE + warp::lane_id());
        let flags = get(16);
        let median = |from: u32, is_high: u32| Median {
            sorted: [0, 1, 2, 3, 4].map(|i| get(from + i) as i32),
            is_high: is_high != 0,
        };
        Self {
            point: Point::of([get(0), get(1), get(2), get(3), get(4), get(5)]),
            is_new_time: flags & 1 != 0,
            medians: [median(6, flags & 2), median(11, flags & 4)],
            height: get(17) as i32,
            intensity: get(18),
        }
    }
}
