//! Nearest sites on the globe, of a raster in longitude and latitude.
//!
//! The square of half the chord between two pixels is `h = A + c (c' B)`: A is a table by the difference of rows, B one by the
//! difference of columns, c and c' are the cosines of the rows' latitudes. The CPU of `pba_voronoi::geodesic` has the same plan and its
//! proofs.
//!
//! 1. [`rows`](super::rows) gives every pixel the nearest site of its row on the plane. [`find_row_ends`](const@find_row_ends) keeps each row's
//!    first and last site, and [`go_round`](const@go_round) takes one of these where it is nearer the other way round the globe.
//! 2. [`halve_rows`](const@halve_rows), level by level, a thread a pixel of the level's rows: the winner among the candidates between those that
//!    are *near* in the rows solved before, above and below. Near are those whose h is the least but for rounding.
//! 3. [`name_sites`](mod@name_sites): the indices of the winners' sites.
//! 4. [`measure_arcs`](mod@measure_arcs): great-circle distances, from indices.

use device_std::real::Real;
use device_std::{In, Out, arguments, kernel, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::spread::Number;
use super::{BLOCK, NONE};

/// A raster on the globe.
#[arguments]
pub struct Globe<'a> {
    /// A, one for each row.
    pub along: In<'a, f64>,
    /// B, one for each column of the whole.
    pub across: In<'a, f64>,
    /// c, one for each row: exactly 0 at a pole.
    pub cosine: In<'a, f64>,
    /// Columns of a turn.
    pub turn: f64,
    /// More than rounding takes from any h.
    pub slack: f64,
    /// The radius of the sphere.
    pub radius: f64,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Columns of the raster of which this one is a strip; its own where it is none.
    pub whole: u32,
    /// The number there of the first column.
    pub first: u32,
    /// Elements from a row of candidates to the next.
    pub pitch: u32,
}

impl Globe<'_> {
    /// How many columns lie between two, the short way round.
    #[inline(always)]
    fn steps(self, a: u32, b: u32) -> f64 {
        let columns = a.abs_diff(b) as f64;
        f64::min(columns, (self.turn - columns).abs())
    }

    /// Column and row of an element of the candidates; `None` beyond the raster.
    #[inline(always)]
    fn pixel(self, at: u64) -> Option<(u32, u32)> {
        let row = at / self.pitch.max(1) as u64;
        let x = (at - row * self.pitch as u64) as u32;
        ((x < self.width) & (row < self.height as u64)).then_some((x, row as u32))
    }

    /// How many rows, from one on, have an A of at most this.
    #[inline(always)]
    fn reach(self, most: f64) -> u32 {
        let (mut low, mut high) = (0, vector::unknown(self.height));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.along.get(middle) <= most {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The first and the last site of each row; [`NONE`] in a row without one. Grid: a thread a row.
///
/// # Safety
/// `nearest` has `pitch * height` elements as [`nearest_columns`](mod@super::rows::nearest_columns) gives them, `firsts` and `lasts` one a row.
#[kernel(block = BLOCK)]
pub unsafe fn find_row_ends(
    nearest: In<'_, u32>,
    firsts: Out<'_, u32>,
    lasts: Out<'_, u32>,
    globe: Globe<'_>,
) {
    let row = thread::index_1d();
    if (row < globe.height as u64) & (globe.width > 0) {
        let first = row * globe.pitch as u64;
        firsts.set(row, nearest.get(first));
        lasts.set(row, nearest.get(first + globe.width as u64 - 1));
    }
}

/// Makes candidates on the plane those on the globe: across the raster's edges, and at the poles, where all sites of a row are
/// one place and the first counts. Grid: a thread an element of the candidates.
///
/// In a strip, which has no rows at the poles, `firsts` and `lasts` are the sites that one meets going from it to the west and to the
/// east; those that are not in the whole count as none.
///
/// # Safety
/// `nearest` has `pitch * height` elements, of a strip as [`reach_beyond`](const@super::reach_beyond) gives them; `firsts` and `lasts`
/// have one a row, of a whole raster what [`find_row_ends`](const@find_row_ends) gave of `nearest`.
#[kernel(block = BLOCK)]
pub unsafe fn go_round(
    nearest: Out<'_, u32>,
    firsts: In<'_, u32>,
    lasts: In<'_, u32>,
    globe: Globe<'_>,
) {
    let at = thread::index_1d();
    let Some((x, row)) = globe.pixel(at) else { return };
    let (first, last) = (firsts.get(row), lasts.get(row));
    if globe.whole == globe.width {
        if first == NONE {
            return;
        }
        if globe.cosine.get(row) == 0.0 {
            nearest.set(at, first);
            return;
        }
        // Whoever goes from between the two over an edge meets one of them before.
        if (first <= x) & (x <= last) & (globe.turn - last.wrapping_sub(first) as f64 > 0.5) {
            return;
        }
    }
    let place = globe.first.wrapping_add(x);
    let mut site = nearest.get(at);
    let mut steps = if site == NONE { f64::INFINITY } else { globe.steps(site, place) };
    // Of two at the same difference the western one.
    if first < globe.whole {
        let round = globe.steps(first, place);
        if (round < steps) | ((round == steps) & (first < site)) {
            (site, steps) = (first, round);
        }
    }
    if last < globe.whole {
        let round = globe.steps(last, place);
        if (round < steps) | ((round == steps) & (last < site)) {
            site = last;
        }
    }
    nearest.set(at, site);
}

/// What is known of the rows that were solved: `pitch * height` elements each.
#[arguments]
pub struct Solved<'a> {
    /// The winner's row; [`NONE`] where there is no site.
    pub winners: Out<'a, u32>,
    /// The first row whose candidate is near.
    pub first: Out<'a, u32>,
    /// The row after the last whose candidate is near.
    pub end: Out<'a, u32>,
}

/// Candidates beyond which it is worth finding out which can win at all.
const MANY: u32 = 48;

/// Solves the rows whose number, counted from 1, is an odd multiple of `spacing`, given those that are multiples of twice that.
/// Grid: a thread a pixel of the level's rows, in rows of `pitch`.
///
/// # Safety
/// `nearest` has `pitch * height` elements as [`go_round`](const@go_round) left them; rows of the levels before are solved.
#[kernel(block = BLOCK)]
pub unsafe fn halve_rows(nearest: In<'_, u32>, solved: Solved<'_>, globe: Globe<'_>, spacing: u32) {
    let at = thread::index_1d();
    let (pitch, height) = (globe.pitch as u64, globe.height);
    let number = at / pitch.max(1);
    let x = (at - number * pitch) as u32;
    let row = spacing as u64 * (2 * number + 1) - 1;
    if (x >= globe.width) | (row >= height as u64) {
        return;
    }
    let element = row * pitch + x as u64;
    let row = row as u32;
    let mut low = 0;
    if row > spacing {
        low = solved.first.get(element - spacing as u64 * pitch);
    }
    let mut high = height;
    if row as u64 + (spacing as u64) < height as u64 {
        high = solved.end.get(element + spacing as u64 * pitch);
    }
    let cosine = globe.cosine.get(row);
    let h = |other: u32| {
        let site = nearest.get(other as u64 * pitch + x as u64);
        if site == NONE {
            return f64::INFINITY;
        }
        let gap =
            globe.cosine.get(other) * globe.across.get(site.abs_diff(globe.first.wrapping_add(x)));
        globe.along.get(other.abs_diff(row)) + cosine * gap
    };
    if high - low > MANY {
        let own = u32::min(u32::max(row, low), high - 1);
        let known = f64::min(h(own), f64::min(h(low), h(high - 1)));
        let reach = globe.reach(known + globe.slack);
        // One of the three is among these.
        low = u32::max(low, (row + 1).saturating_sub(reach));
        high = u32::min(high, row + reach);
    }
    let (mut least, mut winner) = (f64::INFINITY, NONE);
    let (mut first, mut end) = (low, high);
    let mut other = low;
    while other < vector::unknown(high) {
        let found = h(other);
        if found < f64::INFINITY {
            // Those before are not near, if this is so much nearer than the nearest of them.
            if found + globe.slack < least {
                first = other;
            }
            if found <= least + globe.slack {
                end = other + 1;
            }
            if found < least {
                (least, winner) = (found, other);
            }
        }
        other += 1;
    }
    solved.winners.set(element, winner);
    solved.first.set(element, first);
    solved.end.set(element, end);
}

/// The linear index of each pixel's site, all bits set where there is none. Grid: a thread an element of the candidates.
///
/// # Safety
/// `nearest` and `winners` have `pitch * height` elements, `firsts` one a row, `indices` `width * height`.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn name_sites<I: Number>(
    nearest: In<'_, u32>,
    winners: In<'_, u32>,
    firsts: In<'_, u32>,
    indices: Out<'_, I>,
    globe: Globe<'_>,
) {
    let at = thread::index_1d();
    let Some((x, row)) = globe.pixel(at) else { return };
    let winner = winners.get(at);
    let mut index = I::NONE;
    if winner < globe.height {
        // At a pole all sites of the winner's row are as near, and the first counts.
        let column = if globe.cosine.get(row) == 0.0 {
            firsts.get(winner as u64)
        } else {
            nearest.get(winner as u64 * globe.pitch as u64 + x as u64)
        };
        index = I::of(winner as u64 * globe.whole as u64 + column as u64);
    }
    indices.set(row as u64 * globe.width as u64 + x as u64, index);
}

/// Forgets indices of sites that are farther than `most`, and writes the great-circle distances that are wanted, infinite where
/// there is no site. Grid: a thread a pixel.
///
/// # Safety
/// `indices` and the outputs that are there have `width * height` elements.
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn measure_arcs<I: Number>(
    indices: Out<'_, I>,
    out: Option<Out<'_, f32>>,
    out_f64: Option<Out<'_, f64>>,
    globe: Globe<'_>,
    most: f64,
) {
    let p = thread::index_1d();
    let width = globe.width.max(1) as u64;
    if p >= width * globe.height as u64 {
        return;
    }
    let index = indices.get(p);
    let mut distance = f64::INFINITY;
    let whole = globe.whole.max(1) as u64;
    if index.wide() < whole * globe.height as u64 {
        let (row, site_row) = ((p / width) as u32, (index.wide() / whole) as u32);
        let column = globe.first + (p - row as u64 * width) as u32;
        let site = (index.wide() - site_row as u64 * whole) as u32;
        let gap = globe.cosine.get(site_row) * globe.across.get(site.abs_diff(column));
        let h = globe.along.get(site_row.abs_diff(row)) + globe.cosine.get(row) * gap;
        distance = globe.radius * (4.0 * h).arc_of_squared_chord();
        if distance > most {
            distance = f64::INFINITY;
            indices.set(p, I::NONE);
        }
    }
    if let Some(out) = out {
        out.set(p, distance as f32);
    }
    if let Some(out) = out_f64 {
        out.set(p, distance);
    }
}
