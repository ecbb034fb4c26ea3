//! Nearest sites on the globe, of a raster in longitude and latitude.
//!
//! The square of half the chord between two pixels is `h = A + c (c' B)`: A is a table by the difference of rows, B one by the
//! difference of columns, c and c' are the cosines of the rows' latitudes. `pba_voronoi::cpu::geodesic` has the same plan and its
//! proofs.
//!
//! 1. [`rows`](super::rows) gives every pixel the nearest site of its row on the plane. [`find_row_ends`](const@find_row_ends) keeps each row's
//!    first and last site, and [`go_round`](const@go_round) takes one of these where it is nearer the other way round the globe.
//! 2. [`halve_rows`](const@halve_rows), level by level, a thread a pixel of the level's rows: the winner among the candidates between those that
//!    are *near* in the rows solved before, above and below, the *window*. Near are those whose h is the least but for rounding.
//! 3. [`name_sites`](mod@name_sites): the indices of the winners' sites.
//! 4. [`measure_arcs`](mod@measure_arcs): great-circle distances, from indices.

use device_std::real::Real;
use device_std::{In, Out, arguments, kernel, thread, vector, warp};

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

/// What a search of a row has found.
#[derive(Clone, Copy)]
struct Found {
    /// The least h.
    least: f64,
    /// The first row that has it.
    winner: u32,
    /// The first row that is near.
    first: u32,
    /// The row after the last that is near.
    end: u32,
}

impl Found {
    /// Takes a row's candidate. Rows come in any order.
    #[inline(always)]
    fn meet(&mut self, row: u32, h: f64, slack: f64) {
        if h + slack < self.least {
            // None of those before is near.
            *self = Self { least: h, winner: row, first: row, end: row + 1 };
        } else if (h <= self.least + slack) & (h < f64::INFINITY) {
            self.first = u32::min(self.first, row);
            self.end = u32::max(self.end, row + 1);
            if (h < self.least) | ((h == self.least) & (row < self.winner)) {
                (self.least, self.winner) = (h, row);
            }
        }
    }
}

/// Solves the rows whose number, counted from 1, is an odd multiple of `spacing`, given those that are multiples of twice that.
/// Grid: a thread a pixel of the level's rows, in rows of `pitch`.
///
/// A site is its own winner, and a window of one candidate has its winner: in seven of eight warps of the last level of land and oceans all
/// lanes are so. The others search from their own row on, two rows to either side a step, until no row farther off can be near: all lanes of a
/// warp then read the same rows.
///
/// # Safety
/// `nearest` has `pitch * height` elements as [`go_round`](const@go_round) left them; rows of the levels before are solved.
#[kernel(block = BLOCK)]
pub unsafe fn halve_rows(nearest: In<'_, u32>, solved: Solved<'_>, globe: Globe<'_>, spacing: u32) {
    let at = thread::index_1d();
    let (pitch, height) = (globe.pitch as u64, globe.height);
    // A warp's lanes have one row, for rows are whole warps.
    let number = at / pitch.max(1);
    let x = (at - number * pitch) as u32;
    let row = spacing as u64 * (2 * number + 1) - 1;
    if row >= height as u64 {
        return;
    }
    let element = row * pitch + x as u64;
    let row = row as u32;
    let (is_in, place) = (x < globe.width, globe.first.wrapping_add(x));
    let slack = globe.slack;
    // Where rows are so near that the slack spans several, those beside a site are as near as it.
    let is_apart = globe.along.get(u32::min(1, height - 1)) > slack;
    let (mut low, mut high) = (0, height);
    if is_in & is_apart & (nearest.get(element) == place) {
        (low, high) = (row, row + 1);
    } else if is_in {
        if row > spacing {
            low = solved.first.get(element - spacing as u64 * pitch);
        }
        if row as u64 + (spacing as u64) < height as u64 {
            high = solved.end.get(element + spacing as u64 * pitch);
        }
    }
    let mut found = Found { least: f64::INFINITY, winner: NONE, first: low, end: high };
    let is_open = is_in & (high - low > 1);
    // All lanes begin with the nearest row that one of them has.
    let to_window = u32::max(low.saturating_sub(row), (row + 1).saturating_sub(high));
    // SAFETY: all lanes of a warp come here, or none: they have one row.
    let mut away = unsafe { warp::min(if is_open { to_window } else { u32::MAX }) };
    if is_open {
        let cosine = globe.cosine.get(row);
        let h = |other: u32, along: f64| {
            // Rows outside the window are passed over.
            if other.wrapping_sub(low) >= high - low {
                return f64::INFINITY;
            }
            let site = nearest.get(other as u64 * pitch + x as u64);
            if site == NONE {
                return f64::INFINITY;
            }
            along + cosine * (globe.cosine.get(other) * globe.across.get(site.abs_diff(place)))
        };
        let farthest = u32::max(row.saturating_sub(low), (high - 1).saturating_sub(row));
        while away <= vector::unknown(farthest) {
            let along = globe.along.get(away);
            if along > found.least + slack {
                break;
            }
            let next = away + 1;
            let along_next = globe.along.get(u32::min(next, height - 1));
            let (above, below) = (row.wrapping_sub(away), row + away);
            let (above_next, below_next) = (row.wrapping_sub(next), row + next);
            let looks = [h(above, along), h(below, along)];
            let looks_next = [h(above_next, along_next), h(below_next, along_next)];
            found.meet(above, looks[0], slack);
            found.meet(below, looks[1], slack);
            found.meet(above_next, looks_next[0], slack);
            found.meet(below_next, looks_next[1], slack);
            away += 2;
        }
    } else if is_in & (nearest.get(low as u64 * pitch + x as u64) != NONE) {
        found.winner = low;
    }
    if is_in {
        solved.winners.set(element, found.winner);
        solved.first.set(element, found.first);
        solved.end.set(element, found.end);
    }
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
