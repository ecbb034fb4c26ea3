//! Decodes chunks of points: the kernel `decode_chunks`, a warp a chunk.
//!
//! ```text
//! the first point is not packed
//! each further point:
//!     what changed        a symbol of 7 bits: channel, source, time, angle, returns, and how the return's number differs
//!     channel             if it changed: the point is predicted from the last one of that channel
//!     returns, number     if they changed
//!     x, y                differences, predicted by the median of the last five of the same kind
//!     z                   predicted by the last height of the same level
//!     class, flags, intensity, angle, user data, source: from the last ones
//! ```
//!
//! Each line but the first three has a layer of its own, x and y are in the first one. Layers without bytes are not
//! decoded: all points have the first one's value. Times are left out.

use device_std::{In, Out, arguments, kernel, thread, vector, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::integers::Integers;
use super::layer::{Layer, Packed};
use super::models::{Row, WORDS_BEHIND, Words};
use super::scanner::{Point, Scanner, WORDS_OF_SCANNER};

/// Threads of a block: two chunks.
pub const BLOCK: u32 = 64;

/// Layers of a chunk that are decoded: x and y with returns and channel, z, class, flags, intensity, scan angle, user
/// data, source.
pub const LAYERS: u32 = 8;

/// Words of a point before it is packed: x, y, z; returns, flags, class and user data, a byte each; intensity and source;
/// the scan angle.
pub const WORDS: u32 = 6;

/// Channels of a scanner.
const CHANNELS: u32 = 4;

// The models of a channel, one behind the other.
const CHANGES: Row = Row { first: 0, symbols: 128, count: 8 };
const CHANNEL: Row = Row { first: CHANGES.end(), symbols: 3, count: 1 };
const RETURNS: Row = Row { first: CHANNEL.end(), symbols: 16, count: 16 };
const NUMBER: Row = Row { first: RETURNS.end(), symbols: 16, count: 16 };
const NUMBER_OF_PULSE: Row = Row { first: NUMBER.end(), symbols: 13, count: 1 };
const X: Integers = Integers::new(NUMBER_OF_PULSE.end(), 32, 2);
const Y: Integers = Integers::new(X.end(), 32, 22);
const Z: Integers = Integers::new(Y.end(), 32, 20);
const CLASS: Row = Row { first: Z.end(), symbols: 256, count: 64 };
const FLAGS: Row = Row { first: CLASS.end(), symbols: 64, count: 64 };
const INTENSITY: Integers = Integers::new(FLAGS.end(), 16, 4);
const ANGLE: Integers = Integers::new(INTENSITY.end(), 16, 2);
const USER: Row = Row { first: ANGLE.end(), symbols: 256, count: 64 };
const SOURCE: Integers = Integers::new(USER.end(), 16, 1);
const SCANNER: u32 = SOURCE.end();
const WORDS_OF_CHANNEL: u32 = SCANNER + WORDS_OF_SCANNER;

/// Words of memory that a chunk's models take.
pub const WORDS_OF_CHUNK: u32 = CHANNELS * WORDS_OF_CHANNEL;

/// Chunks as they are packed.
#[arguments]
pub struct Chunks<'a> {
    /// The chunks' bytes; word `i` has bytes `4 i` to `4 i + 3`, the first one in its lowest bits.
    pub words: In<'a, u32>,
    /// How many words there are: one or more.
    pub word_count: u32,
    /// For each chunk the bytes where its [`LAYERS`] layers begin, and where each ends: two numbers a layer. Both are the
    /// same for a layer that is not to be decoded.
    pub layers: In<'a, u32>,
    /// For each chunk the [`WORDS`] words of its first point.
    pub firsts: In<'a, u32>,
    /// For each chunk the number of points before it, and at the end that of all points.
    pub starts: In<'a, u64>,
    /// How many chunks there are.
    pub count: u32,
}

/// Decoded points, in the order of the chunks: an element for each point.
#[arguments]
pub struct Columns<'a> {
    /// x, in the file's unit.
    pub x: Out<'a, i32>,
    /// y.
    pub y: Out<'a, i32>,
    /// z.
    pub z: Out<'a, i32>,
    /// The number of the return in bits 0 to 3, that of all returns of its pulse in bits 4 to 7.
    pub returns: Out<'a, u8>,
    /// Class flags in bits 0 to 3, the channel in 4 and 5, the scan's direction in 6, the edge of a flight line in 7.
    pub flags: Out<'a, u8>,
    /// The class.
    pub class: Out<'a, u8>,
    /// The intensity.
    pub intensity: Option<Out<'a, u16>>,
    /// The scan angle.
    pub scan_angle: Option<Out<'a, i16>>,
    /// The user data.
    pub user_data: Option<Out<'a, u8>>,
    /// The point source.
    pub source: Option<Out<'a, u16>>,
}

/// Decodes all points of chunks. `is_broken` is not 0 for a chunk that no encoder can have written: its points have no
/// meaning. `models` are [`WORDS_OF_CHUNK`] words for each of `warps` warps, which take chunks in turn. Grid: these
/// warps.
///
/// # Safety
/// Chunks have one or more points. Layers lie within the words. `is_broken` has an element for each chunk, and `models`
/// begins at a multiple of 16 bytes.
#[kernel(block = BLOCK, resident = 8, spills = 400)]
pub unsafe fn decode_chunks(
    chunks: Chunks<'_>,
    columns: Columns<'_>,
    models: Out<'_, u32>,
    warps: u32,
    is_broken: Out<'_, u32>,
) {
    let warp = (thread::index_1d() / warp::SIZE as u64) as u32;
    if warp >= warps {
        return;
    }
    let words = Words::new(models.from(warp as u64 * WORDS_OF_CHUNK as u64));
    let mut chunk = warp;
    while chunk < vector::unknown(chunks.count) {
        let mut decoder = Decoder::new(&chunks, chunk, words);
        let (first, end) = (chunks.starts.get(chunk), chunks.starts.get(chunk + 1));
        // SAFETY: whole warps come here.
        unsafe { decoder.decode(&columns, first, (end - first) as u32) };
        if warp::lane_id() == 0 {
            is_broken.set(chunk, decoder.is_broken() as u32);
        }
        chunk += warps;
    }
}

impl Columns<'_> {
    /// Sets the fields of a point.
    #[inline(always)]
    fn set(&self, i: u64, point: &Point) {
        let [x, y, z] = point.place;
        self.x.set(i, x);
        self.y.set(i, y);
        self.z.set(i, z);
        self.returns.set(i, (point.number | point.returns << 4) as u8);
        self.flags.set(i, point.flags as u8);
        self.class.set(i, point.class as u8);
        if let Some(column) = self.intensity {
            column.set(i, point.intensity as u16);
        }
        if let Some(column) = self.scan_angle {
            column.set(i, point.angle as i16);
        }
        if let Some(column) = self.user_data {
            column.set(i, point.user as u8);
        }
        if let Some(column) = self.source {
            column.set(i, point.source as u16);
        }
    }
}

/// The state of a chunk.
struct Decoder<'a> {
    words: Words<'a>,
    /// x and y with returns and channel.
    places: Layer<'a>,
    heights: Layer<'a>,
    classes: Layer<'a>,
    flags: Layer<'a>,
    intensities: Layer<'a>,
    angles: Layer<'a>,
    users: Layer<'a>,
    sources: Layer<'a>,
    /// The channel of the point before.
    channel: u32,
    /// A bit for each channel that had a point.
    begun: u32,
    scanner: Scanner,
}

impl<'a> Decoder<'a> {
    /// Begins with the first point of a chunk.
    #[inline(always)]
    fn new(chunks: &Chunks<'a>, chunk: u32, words: Words<'a>) -> Self {
        let packed = Packed { words: chunks.words, count: chunks.word_count };
        let layer = |i: u32| {
            let at = 2 * (chunk * LAYERS + i);
            Layer::new(packed, chunks.layers.get(at), chunks.layers.get(at + 1))
        };
        let first = [0, 1, 2, 3, 4, 5].map(|i| chunks.firsts.get(chunk * WORDS + i));
        let scanner = Scanner::new(Point::of(first));
        let mut decoder = Self {
            words,
            places: layer(0),
            heights: layer(1),
            classes: layer(2),
            flags: layer(3),
            intensities: layer(4),
            angles: layer(5),
            users: layer(6),
            sources: layer(7),
            channel: scanner.point.channel(),
            begun: 0,
            scanner,
        };
        decoder.begin_models();
        decoder
    }

    /// Where the models of the channel begin.
    #[inline(always)]
    fn base(&self) -> u32 {
        self.channel * WORDS_OF_CHANNEL
    }

    /// Makes the models of the channel anew.
    #[inline(always)]
    fn begin_models(&mut self) {
        self.begun |= 1 << self.channel;
        begin_models(self.words.all, self.base());
    }

    /// Whether a layer cannot have been written by an encoder.
    #[inline(always)]
    fn is_broken(&self) -> bool {
        self.places.is_broken()
            || self.heights.is_broken()
            || self.classes.is_broken()
            || self.flags.is_broken()
            || self.intensities.is_broken()
            || self.angles.is_broken()
            || self.users.is_broken()
            || self.sources.is_broken()
    }

    /// Goes on with the channel that comes `step` after this one.
    #[inline(always)]
    fn change_channel(&mut self, step: u32) {
        self.scanner.save(self.words.all, self.base() + SCANNER);
        self.channel = (self.channel + step) % CHANNELS;
        if self.begun >> self.channel & 1 != 0 {
            self.scanner = Scanner::load(self.words.all, self.base() + SCANNER);
        } else {
            self.begin_models();
            self.scanner = Scanner::new(self.scanner.point);
        }
        self.scanner.point.set_channel(self.channel);
    }

    /// Decodes the points of the chunk into the columns, from `first` on.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn decode(&mut self, columns: &Columns<'_>, first: u64, count: u32) {
        let (mut kept, mut i) = (self.scanner.point.words(), 0);
        while i < vector::unknown(count) {
            if i > 0 {
                // SAFETY: passed on to the caller.
                unsafe { self.next() };
            }
            let lane = i % warp::SIZE;
            if warp::lane_id() == lane {
                kept = self.scanner.point.words();
            }
            i += 1;
            if (lane == warp::SIZE - 1 || i == count) && warp::lane_id() <= lane {
                columns.set(first + (i - 1 - lane + warp::lane_id()) as u64, &Point::of(kept));
            }
        }
    }

    /// Decodes the next point.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn next(&mut self) {
        let words = self.words;
        // SAFETY: passed on to the caller.
        unsafe {
            let Point { number, returns, .. } = self.scanner.point;
            let kind = (number == 1) as u32
                | ((number >= returns) as u32) << 1
                | (self.scanner.is_new_time as u32) << 2;
            let changes = self.places.symbol(CHANGES.of(words, self.base(), kind));
            if changes & 64 != 0 {
                let step = self.places.symbol(CHANNEL.of(words, self.base(), 0)) + 1;
                self.change_channel(step);
            }
            let is_new_time = changes & 16 != 0;
            self.next_return(changes, is_new_time);
            let Point { number, returns, .. } = self.scanner.point;
            self.next_place(number, returns, is_new_time);
            let kind = ((number == 1) as u32) << 1 | (number >= returns) as u32;
            self.next_class_and_flags(kind == 3);
            self.next_fields(changes, kind, is_new_time);
            self.scanner.is_new_time = is_new_time;
        }
    }

    /// Decodes the return's number, and how many there are.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn next_return(&mut self, changes: u32, is_new_time: bool) {
        let (words, base) = (self.words, self.base());
        let Point { number, returns, .. } = self.scanner.point;
        // SAFETY: passed on to the caller.
        unsafe {
            if changes & 4 != 0 {
                self.scanner.point.returns = self.places.symbol(RETURNS.of(words, base, returns));
            }
            self.scanner.point.number = match changes & 3 {
                0 => number,
                1 => (number + 1) % 16,
                2 => (number + 15) % 16,
                _ if is_new_time => self.places.symbol(NUMBER.of(words, base, number)),
                _ => (number + 2 + self.places.symbol(NUMBER_OF_PULSE.of(words, base, 0))) % 16,
            };
        }
    }

    /// Decodes x, y and z.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn next_place(&mut self, number: u32, returns: u32, is_new_time: bool) {
        let models = (self.words, self.base());
        let kind = kind_of_return(number, returns) << 1 | is_new_time as u32;
        let is_single = (returns == 1) as u32;
        // SAFETY: passed on to the caller.
        unsafe {
            let median = self.scanner.median(0, kind);
            let (dx, bits_of_x) = X.decode(&mut self.places, models, median, is_single);
            let median = self.scanner.median(1, kind);
            let context = is_single + u32::min(bits_of_x & !1, 20);
            let (dy, bits_of_y) = Y.decode(&mut self.places, models, median, context);
            self.scanner.add_difference(0, kind, dx);
            self.scanner.add_difference(1, kind, dy);
            let place = &mut self.scanner.point.place;
            place[0] = place[0].wrapping_add(dx);
            place[1] = place[1].wrapping_add(dy);
            if self.heights.is_there() {
                let level = u32::min(number.abs_diff(returns), 7);
                let context = is_single + u32::min(((bits_of_x + bits_of_y) / 2) & !1, 18);
                let last = self.scanner.height(level);
                let (z, _) = Z.decode(&mut self.heights, models, last, context);
                self.scanner.set_height(level, z);
                self.scanner.point.place[2] = z;
            }
        }
    }

    /// Decodes class and flags.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn next_class_and_flags(&mut self, is_single: bool) {
        let (words, base) = (self.words, self.base());
        let Point { class, flags, .. } = self.scanner.point;
        // SAFETY: passed on to the caller.
        unsafe {
            if self.classes.is_there() {
                let context = (class & 31) << 1 | is_single as u32;
                self.scanner.point.class = self.classes.symbol(CLASS.of(words, base, context));
            }
            if self.flags.is_there() {
                let last = flags & 15 | flags >> 2 & 48;
                let symbol = self.flags.symbol(FLAGS.of(words, base, last));
                self.scanner.point.flags = symbol & 15 | (symbol & 48) << 2;
                self.scanner.point.set_channel(self.channel);
            }
        }
    }

    /// Decodes intensity, scan angle, user data and source.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn next_fields(&mut self, changes: u32, kind: u32, is_new_time: bool) {
        let models = (self.words, self.base());
        // SAFETY: passed on to the caller.
        unsafe {
            if self.intensities.is_there() {
                let kept = kind << 1 | is_new_time as u32;
                let last = self.scanner.intensity(kept) as i32;
                let (found, _) = INTENSITY.decode(&mut self.intensities, models, last, kind);
                self.scanner.set_intensity(kept, found as u32);
                self.scanner.point.intensity = found as u32 & 0xffff;
            }
            if self.angles.is_there() && changes & 8 != 0 {
                let last = self.scanner.point.angle;
                let context = is_new_time as u32;
                let (found, _) = ANGLE.decode(&mut self.angles, models, last, context);
                self.scanner.point.angle = found as i16 as i32;
            }
            if self.users.is_there() {
                let model = USER.of(models.0, models.1, self.scanner.point.user / 4);
                self.scanner.point.user = self.users.symbol(model);
            }
            if self.sources.is_there() && changes & 32 != 0 {
                let last = self.scanner.point.source as i32;
                let (found, _) = SOURCE.decode(&mut self.sources, models, last, 0);
                self.scanner.point.source = found as u32 & 0xffff;
            }
        }
    }
}

/// Makes the models of a channel anew, which begin at a word. It is rare, so it is not a part of its callers.
#[inline(never)]
fn begin_models(words: Out<'_, u32>, base: u32) {
    const ROWS: [Row; 8] = [CHANGES, CHANNEL, RETURNS, NUMBER, NUMBER_OF_PULSE, CLASS, FLAGS, USER];
    const INTEGERS: [Integers; 6] = [X, Y, Z, INTENSITY, ANGLE, SOURCE];
    let words = Words::new(words);
    let mut i = 0;
    while i < ROWS.len() {
        ROWS[i].begin(words, base);
        i += 1;
    }
    i = 0;
    while i < INTEGERS.len() {
        INTEGERS[i].begin(words, base);
        i += 1;
    }
    // Lanes without a symbol of the last model load these.
    const { assert!(WORDS_BEHIND == 4 * warp::SIZE && WORDS_OF_SCANNER >= WORDS_BEHIND) };
    words.all.set_vector(base + SCANNER + 4 * warp::lane_id(), [0; 4]);
}

/// The kind of a return, 0 to 5, by which differences are kept, as LASzip's table has it. A single return is of kind 0,
/// returns of two are of kinds 1 and 2.
#[inline(always)]
fn kind_of_return(number: u32, returns: u32) -> u32 {
    let (low, high) = (u32::min(number, returns), u32::max(number, returns));
    match low {
        // Numbers of 0 are not valid, but files have them: a digit for each `high`.
        0 => (0x5555_5554_4354_3210_u64 >> (4 * high)) as u32 & 15,
        1 if high == 1 => 0,
        1 => {
            if high == 2 {
                1
            } else {
                3
            }
        }
        2 if high == 2 => 2,
        2 => {
            if high < 11 {
                4
            } else {
                3
            }
        }
        _ if high == low || low >= 11 && high == low + 1 => 5,
        _ => 4,
    }
}
