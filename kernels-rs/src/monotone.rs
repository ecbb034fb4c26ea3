//! Exact discrete Voronoi diagram and distance transform by monotone search: crate `pba-voronoi`,
//! `Algorithm::Monotone`.
//!
//! 1. [`pack_bytes`]: the sites as bits, 32 pixels a word ([`pack`]). All that follows reads bits,
//!    so every kind of input begins here or beside it.
//! 2. [`nearest_columns`], a warp a row: for every pixel the column of the nearest site of its own
//!    row, the left one where two tie, by counting zeros in words ([`rows`]). 16 bits a pixel where
//!    the raster is narrow enough.
//! 3. [`search_rows`], a thread a column and every 256th row (before that every 2048th, 16384th ..,
//!    as tall as the raster is): the *winner* there, the row whose candidate is nearest ([`search`]).
//! 4. [`spread_indices`] and its sisters, a block a tile of 32 columns and 256 rows: the winners of
//!    every 32nd row, then of every 8th, then of all, and what is asked for is written ([`spread`]).
//!
//! Why so few candidates do: in a column the winner's row never decreases from north to south. For
//! rows a < b the difference of the costs, (y - a)^2 + g_a^2 - (y - b)^2 - g_b^2, grows with y, so a
//! wins down to some y and b from there on. (The matrix of costs is totally monotone: Aggarwal,
//! Klawe, Moran, Shor and Wilber 1987, doi:10.1007/BF01840359.) Between two rows whose winners are
//! known only the candidates between these winners count: over a column that is one candidate a
//! pixel and level, whatever the density and the distances. A winner is also no farther in rows than
//! the best distance so far, which bounds the first search.
//!
//! All comparisons are in integers, of 32 bits where the squared diagonal fits, and a tie goes to
//! the lowest row, there to the left site: to the lowest index.

pub mod cut;
pub mod pack;
pub mod pixels;
pub mod rows;
pub mod search;
pub mod spread;

use device_std::kernel;

use search::{Ground, Pixels};
use spread::{Distances32, Indices32, Indices64, Squares32, Squares64};

/// Threads of a block, in every kernel of this module.
pub const BLOCK: u32 = 256;

/// A winner's row where no site is within the limit.
pub const NONE: u32 = u32::MAX;

/// Pixels of a word of the site bits; rows of words and of columns are padded to it.
pub const WORD: u32 = 32;

/// Set in a winner's row, between kernels, where it is far: rows are below it.
pub const FAR: u32 = 1 << 31;

/// Rows between the winners that [`spread_indices`] starts from.
pub const TILE_ROWS: u32 = 256;

/// Each level of [`search_rows`] has this many times the rows of the level above.
pub const LEVEL_RATIO: u32 = 8;

/// Rows between two winners that are spread by one warp.
pub const SPAN: u32 = TILE_ROWS / (BLOCK / WORD);

/// Tiles side by side that are worked on together, before those below them: the memory of a group
/// is contiguous enough, and its rows are still in the cache for the tiles below.
pub const GROUP: u32 = 16;

pub use rows::PADDING;
pub use spread::{MAX_NARROW, SHARED as SPREAD_SHARED};

/// Packs a byte mask into bits: bit i of word w of a row is set where pixel 32 w + i is not zero.
/// Bits beyond the width are 0.
///
/// `words` is the width over 32, rounded up. Grid: a warp for every 32 words of a row; x covers a
/// row, y the rows, striding.
///
/// # Safety
/// `mask` has `width * rows` elements, `bits` has `words * rows`.
#[kernel(block = 256)]
pub unsafe fn pack_bytes(mask: *const u8, bits: *mut u32, width: u32, words: u32, rows: u32) {
    // SAFETY: passed on to the caller.
    unsafe { pack::by_ballots(mask, bits, width, words, rows) }
}

/// [`pack_bytes`] where `width` is a multiple of 16 and `mask` is aligned to 16. Grid: a thread for
/// every word.
///
/// # Safety
/// As [`pack_bytes`].
#[kernel(block = 256)]
pub unsafe fn pack_vectors(mask: *const u8, bits: *mut u32, width: u32, words: u32, rows: u32) {
    // SAFETY: passed on to the caller.
    unsafe { pack::by_vectors(mask, bits, width, words, rows) }
}

/// The column of the nearest site in each pixel's row; all bits set in a row without one.
///
/// A row of `nearest` is padded to `32 * words` pixels, which are filled too, and [`PADDING`] rows
/// without a site follow. Grid: a warp a row, also for these.
///
/// # Safety
/// `bits` has `words * rows` elements, `nearest` `32 * words * (rows + PADDING)` and is aligned to
/// 16.
#[kernel(block = 256)]
pub unsafe fn nearest_columns(bits: *const u32, nearest: *mut u16, words: u32, rows: u32) {
    // SAFETY: passed on to the caller.
    unsafe { rows::nearest_columns(bits, nearest, words, rows) }
}

/// [`nearest_columns`] for rasters wider than 65,535.
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn nearest_columns_wide(bits: *const u32, nearest: *mut u32, words: u32, rows: u32) {
    // SAFETY: passed on to the caller.
    unsafe { rows::nearest_columns(bits, nearest, words, rows) }
}

/// The winners of the rows 0, `spacing`, 2 `spacing` .. and of the last row, `winners[k]` those of
/// row `min(k spacing, height - 1)`, with [`FAR`] where it is so; `levels` counts them. `above` holds the winners of every
/// `8 spacing`-th row, or is null. A winner farther than `limit`, squared, may be given as [`NONE`].
///
/// Grid: a warp for every 32 columns and winner row: blocks of 8 winner rows, the columns fastest.
///
/// # Safety
/// `nearest` comes from [`nearest_columns`], `winners` `pitch * levels`, `above` what its level has.
#[kernel(block = 256)]
pub unsafe fn search_rows(
    nearest: *const u16,
    above: *const u32,
    winners: *mut u32,
    pitch: u32,
    height: u32,
    spacing: u32,
    levels: u32,
    limit: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        search::level(Pixels, nearest, above, winners, (pitch, height), (spacing, levels), limit);
    }
}

/// [`search_rows`] for large rasters, and for pixels that are not square: a step in x costs
/// `across`, one in y `down`, both squared.
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn search_rows_wide(
    nearest: *const u32,
    above: *const u32,
    winners: *mut u32,
    pitch: u32,
    height: u32,
    spacing: u32,
    levels: u32,
    limit: u64,
    across: u32,
    down: u32,
) {
    let ground = Ground { across, down };
    // SAFETY: passed on to the caller.
    unsafe {
        search::level(ground, nearest, above, winners, (pitch, height), (spacing, levels), limit);
    }
}

/// The nearest site's linear index (row * width + column) of every pixel; all bits set where
/// none is within `limit`, squared.
///
/// `winners` holds the winners of every 256th row; those of the rows between are searched up to
/// `search_limit`, squared, which a pixel in a span's middle reaches if an end does not. Grid: a
/// block a tile, ordered by [`spread::tile`].
///
/// # Safety
/// `nearest` comes from [`nearest_columns`], `winners` a row of `pitch` for every tile row and one
/// more, `indices` `width * height`.
#[kernel(block = 256, resident = 4)]
pub unsafe fn spread_indices(
    nearest: *const u16,
    winners: *const u32,
    indices: *mut u32,
    pitch: u32,
    width: u32,
    height: u32,
    search_limit: u64,
    limit: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let out = Indices32 { out: indices, width };
        let raster = spread::Raster { pitch, width, height };
        spread::tile(Pixels, nearest, winners, raster, (search_limit, limit), out);
    }
}

/// The squared distance to the nearest site; see [`spread_indices`].
///
/// # Safety
/// As there.
#[kernel(block = 256, resident = 4)]
pub unsafe fn spread_squares(
    nearest: *const u16,
    winners: *const u32,
    squares: *mut u32,
    pitch: u32,
    width: u32,
    height: u32,
    search_limit: u64,
    limit: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let raster = spread::Raster { pitch, width, height };
        spread::tile(
            Pixels,
            nearest,
            winners,
            raster,
            (search_limit, limit),
            Squares32 { out: squares },
        );
    }
}

/// The distance to the nearest site, times `scale`; infinite where none is within the limit. See
/// [`spread_indices`].
///
/// # Safety
/// As there.
#[kernel(block = 256, resident = 4)]
pub unsafe fn spread_distances(
    nearest: *const u16,
    winners: *const u32,
    distances: *mut f32,
    pitch: u32,
    width: u32,
    height: u32,
    search_limit: u64,
    limit: u64,
    scale: f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let out = Distances32 { out: distances, scale };
        let raster = spread::Raster { pitch, width, height };
        spread::tile(Pixels, nearest, winners, raster, (search_limit, limit), out);
    }
}

/// [`spread_indices`] for large rasters, and for pixels that are not square, as in
/// [`search_rows_wide`].
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn spread_indices_wide(
    nearest: *const u32,
    winners: *const u32,
    indices: *mut u32,
    pitch: u32,
    width: u32,
    height: u32,
    search_limit: u64,
    limit: u64,
    across: u32,
    down: u32,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let out = Indices32 { out: indices, width };
        let raster = spread::Raster { pitch, width, height };
        let ground = Ground { across, down };
        spread::tile(ground, nearest, winners, raster, (search_limit, limit), out);
    }
}

/// [`spread_indices_wide`] in 64 bits, for more pixels than 32 bits can name.
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn spread_long_indices(
    nearest: *const u32,
    winners: *const u32,
    indices: *mut u64,
    pitch: u32,
    width: u32,
    height: u32,
    search_limit: u64,
    limit: u64,
    across: u32,
    down: u32,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let out = Indices64 { out: indices, width };
        let raster = spread::Raster { pitch, width, height };
        let ground = Ground { across, down };
        spread::tile(ground, nearest, winners, raster, (search_limit, limit), out);
    }
}

/// The squared distance in 64 bits: `across dx^2 + down dy^2`. See [`spread_indices_wide`].
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn spread_long_squares(
    nearest: *const u32,
    winners: *const u32,
    squares: *mut u64,
    pitch: u32,
    width: u32,
    height: u32,
    search_limit: u64,
    limit: u64,
    across: u32,
    down: u32,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let raster = spread::Raster { pitch, width, height };
        let ground = Ground { across, down };
        spread::tile(
            ground,
            nearest,
            winners,
            raster,
            (search_limit, limit),
            Squares64 { out: squares },
        );
    }
}

/// Sets the bits of listed sites; what is listed outside the raster is left out. Grid: one thread a
/// site.
///
/// # Safety
/// `columns` and `rows` have `sites` elements; `bits` are those of `width * height` pixels.
#[kernel(block = 256)]
pub unsafe fn scatter_sites(
    columns: *const u32,
    rows: *const u32,
    bits: *mut u32,
    width: u32,
    height: u32,
    sites: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::scatter(columns, rows, bits, (width, height), sites) }
}

/// Sets the bits beyond the width to 0. Grid: one thread a row.
///
/// # Safety
/// `bits` has `words` elements a row, for a width that does not fill the last.
#[kernel(block = 256)]
pub unsafe fn trim_bits(bits: *mut u32, width: u32, words: u32, rows: u32) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::trim(bits, width, words, rows) }
}

/// Packs a raster of labels into bits, set where the label is not zero. Grid: a warp for each of the
/// `total` words.
///
/// # Safety
/// `bits` has `total` elements, `words` a row, `labels` `width` a row.
#[kernel(block = 256)]
pub unsafe fn pack_labels(labels: *const u32, bits: *mut u32, width: u32, words: u32, total: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::pack_labels(labels, bits, width, words, total) }
}

/// Unpacks bits into bytes of 0 and 1. Grid: one thread a pixel.
///
/// # Safety
/// `bits` has `words` elements a row, `mask` `width` a row and `pixels` in all.
#[kernel(block = 256)]
pub unsafe fn unpack_bits(bits: *const u32, mask: *mut u8, width: u32, words: u32, pixels: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::unpack(bits, mask, width, words, pixels) }
}

/// The sites' complement. Grid: one thread a word.
///
/// # Safety
/// `from` and `to` have `total` elements, `words` a row.
#[kernel(block = 256)]
pub unsafe fn flip_bits(from: *const u32, to: *mut u32, width: u32, words: u32, total: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::flip(from, to, width, words, total) }
}

/// Column (low half) and row (high half) of every index; all bits set where there is none. Grid: one thread a pixel.
///
/// # Safety
/// `indices` and `out` have `pixels` elements.
#[kernel(block = 256)]
pub unsafe fn coordinates(indices: *const u32, out: *mut u64, width: u32, pixels: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::coordinates(indices, out, width, pixels) }
}

/// [`coordinates`] for 64 bits. Grid: one thread a pixel.
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn coordinates_long(indices: *const u64, out: *mut u64, width: u32, pixels: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::coordinates(indices, out, width, pixels) }
}

/// The 32-bit value at every index; `none` where there is none. Grid: one thread a pixel.
///
/// # Safety
/// `indices`, `values` and `out` have `pixels` elements.
#[kernel(block = 256)]
pub unsafe fn gather(
    indices: *const u32,
    values: *const u32,
    out: *mut u32,
    none: u32,
    pixels: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::gather(indices, values, out, none, pixels) }
}

/// [`gather`] for 64 bits. Grid: one thread a pixel.
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn gather_long(
    indices: *const u64,
    values: *const u32,
    out: *mut u32,
    none: u32,
    pixels: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::gather(indices, values, out, none, pixels) }
}

/// The root of every square times `scale`, infinite where there is none, as f32, or as f64 if `out` is null. Grid: one thread a pixel.
///
/// # Safety
/// `squares` and the output that is not null have `pixels` elements.
#[kernel(block = 256)]
pub unsafe fn roots(
    squares: *const u32,
    out: *mut f32,
    out_f64: *mut f64,
    scale: f64,
    pixels: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::roots(squares, out, out_f64, scale, pixels) }
}

/// [`roots`] for 64 bits. Grid: one thread a pixel.
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn roots_long(
    squares: *const u64,
    out: *mut f32,
    out_f64: *mut f64,
    scale: f64,
    pixels: u64,
) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::roots(squares, out, out_f64, scale, pixels) }
}

/// Writes `value` where the mask is not zero. Grid: one thread a pixel.
///
/// # Safety
/// `mask` and `out` have `pixels` elements.
#[kernel(block = 256)]
pub unsafe fn exclude(mask: *const u8, out: *mut u32, value: u32, pixels: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::exclude(mask, out, value, pixels) }
}

/// [`exclude`] for 64 bits. Grid: one thread a pixel.
///
/// # Safety
/// As there.
#[kernel(block = 256)]
pub unsafe fn exclude_long(mask: *const u8, out: *mut u64, value: u64, pixels: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::exclude(mask, out, value, pixels) }
}

/// The distance outside less the distance inside, in place of the first. Grid: one thread a pixel.
///
/// # Safety
/// Both have `pixels` elements.
#[kernel(block = 256)]
pub unsafe fn signed_distances(outside: *mut f32, inside: *const f32, pixels: u64) {
    // SAFETY: passed on to the caller.
    unsafe { pixels::signed(outside, inside, pixels) }
}

device_std::ptx_module! {
    "monotone": pack_bytes, pack_vectors, nearest_columns, nearest_columns_wide, search_rows,
    search_rows_wide, spread_indices, spread_squares, spread_distances, spread_indices_wide,
    spread_long_indices, spread_long_squares, scatter_sites, trim_bits, pack_labels, unpack_bits,
    flip_bits, coordinates, coordinates_long, gather, gather_long, roots, roots_long, exclude,
    exclude_long, signed_distances
}
