//! Weights other than Sibson's areas, and the gradients of Sibson's smooth interpolant.
//!
//! Sums are in f64, always in the order in which [`Region::rows`] and [`Region::runs`] visit, so host and device give
//! the same bits.

use device_std::{math, vector};

use super::geometry::mean;
use super::query::Areas;
use super::region::{Neighbour, Region};

/// The part of the interval `first..=last` that lies outside another, on its left or on its right.
#[inline(always)]
fn difference(interval: [i32; 2], other: [i32; 2], on_right: bool) -> [i32; 2] {
    let is_other = other[0] <= other[1];
    match (is_other, on_right) {
        (false, false) => interval,
        (false, true) => [0, -1],
        (true, false) => [interval[0], i32::min(interval[1], other[0] - 1)],
        (true, true) => [i32::max(interval[0], other[1] + 1), interval[1]],
    }
}

/// A stretch of a region's border: pixels of a row inside the region, and the pixels outside that they touch. It has
/// the first of each as (offset, row), and the number of pixels.
#[derive(Clone, Copy)]
struct Border {
    inside: [i32; 2],
    outside: [i32; 2],
    pixels: i32,
}

/// Calls `border` for every pair of pixels that share a side, one in the region and one outside.
#[inline(always)]
fn borders(cell: &impl Region, mut border: impl FnMut(Border)) {
    // The interval of the row before, and of the first row of all, from which the walk to the north starts too.
    let mut before = [0, -1];
    let mut start = [0, -1];
    let start_row = cell.start_row();
    cell.rows(|y, first, last| {
        let row = if first <= last { [first, last] } else { [0, -1] };
        if y == start_row {
            start = row;
        } else if y == start_row - 1 {
            before = start;
        }
        let back = if y < start_row { 1 } else { -1 };
        // First the ends of the row, then its pixels with nothing beside them in the row before. Last come the pixels
        // of the row before with nothing beside them in this one. A loop, so that the code for a border stands once.
        let mut k = 0;
        while k < vector::unknown(6) {
            let on_right = k % 2 == 1;
            let (inside, outside, pixels) = if k < 2 {
                let [end, beyond] =
                    if on_right { [row[1], row[1] + 1] } else { [row[0], row[0] - 1] };
                let is_border = row[0] <= row[1] && cell.has_column(beyond);
                ([end, y], [beyond, y], is_border as i32)
            } else if y == start_row {
                ([0; 2], [0; 2], 0)
            } else if k < 4 {
                let [first, last] = difference(row, before, on_right);
                ([first, y], [first, y + back], last - first + 1)
            } else {
                let [first, last] = difference(before, row, on_right);
                ([first, y + back], [first, y], last - first + 1)
            };
            if pixels > 0 {
                border(Border { inside, outside, pixels });
            }
            k += 1;
        }
        before = row;
    });
}

/// The means of the sites' values by Laplace's (non-Sibsonian) weights. A site's weight is the length of the border
/// between what the query point steals from it and what it keeps, over its distance. `None` if nothing is stolen.
///
/// The border's length is counted in sides of pixels. For a straight border that is the sum of its extents in x and y.
/// So the distance is the sum of its extents in x and y too, and the quotient equals that of the true lengths.
#[inline(always)]
pub fn laplace<const N: usize>(
    cell: &impl Region,
    site_limit: u64,
    values: impl Fn(u32) -> [i32; N],
) -> Option<[f64; N]> {
    let (mut sums, mut weights) = ([0.0; N], 0.0);
    borders(cell, |border| {
        let [first, y] = border.inside;
        cell.runs(y, first, first + border.pixels - 1, site_limit, |site, pixels| {
            let weight = pixels as f64 / manhattan(site);
            weights += weight;
            let values = values(site.site);
            let mut k = 0;
            while k < N {
                sums[k] += weight * values[k] as f64;
                k += 1;
            }
        });
    });
    (weights > 0.0).then(|| sums.map(|sum| sum / weights))
}

#[inline(always)]
fn manhattan(site: Neighbour) -> f64 {
    (site.dx as i64).unsigned_abs() as f64 + (site.dy as i64).unsigned_abs() as f64
}

/// The gradients at a site, one for each value, in fixed-point values per half pixel to the east and to the south;
/// `cell` is the site's Voronoi cell. They are the planes through the site that fit its neighbours best, by weighted
/// least squares. A neighbour's weight is Laplace's over the squared distance. 0 if the neighbours lie on a line.
#[inline(always)]
pub fn gradients<const N: usize>(
    cell: &impl Region,
    own: [i32; N],
    values: impl Fn(u32) -> [i32; N],
) -> [[f32; 2]; N] {
    let mut matrix = [0.0; 3];
    let mut right = [[0.0; 2]; N];
    borders(cell, |border| {
        let [first, y] = border.outside;
        cell.runs(y, first, first + border.pixels - 1, u64::MAX, |site, pixels| {
            let weight = pixels as f64 / (manhattan(site) * site.squared() as f64);
            let (x, y) = (site.dx as f64, site.dy as f64);
            matrix[0] += weight * x * x;
            matrix[1] += weight * x * y;
            matrix[2] += weight * y * y;
            let values = values(site.site);
            let mut k = 0;
            while k < N {
                let rise = values[k] as f64 - own[k] as f64;
                right[k][0] += weight * x * rise;
                right[k][1] += weight * y * rise;
                k += 1;
            }
        });
    });
    let [xx, xy, yy] = matrix;
    let (determinant, trace) = (xx * yy - xy * xy, xx + yy);
    // Below this the neighbours lie on a line but for rounding.
    if determinant <= 1e-9 * trace * trace {
        return [[0.0; 2]; N];
    }
    right.map(|[x, y]| {
        let east = (yy * x - xy * y) / determinant;
        let south = (xx * y - xy * x) / determinant;
        [east as f32, south as f32]
    })
}

/// Sibson's smooth (C1) interpolant (1981, A brief description of natural neighbour interpolation), for each value. It
/// blends the areas' mean with a mean of the sites' planes, by areas over distances. `None` if nothing is stolen.
#[inline(always)]
pub fn smooth<const N: usize>(
    cell: &impl Region,
    site_limit: u64,
    values: impl Fn(u32) -> [i32; N],
    gradients: impl Fn(u32) -> [[f32; 2]; N],
) -> Option<[f64; N]> {
    let (mut areas, mut inverse) = (0.0, 0.0);
    let (mut means, mut planes) = ([0.0; N], [0.0; N]);
    let (mut first_moment, mut second_moment) = (0.0, 0.0);
    cell.rows(|y, first, last| {
        cell.runs(y, first, last, site_limit, |site, pixels| {
            let area = pixels as f64;
            let squared = site.squared() as f64;
            let away = math::sqrt(squared);
            let (gradients, values) = (gradients(site.site), values(site.site));
            areas += area;
            inverse += area / away;
            first_moment += area * away;
            second_moment += area * squared;
            let mut k = 0;
            while k < N {
                let ([east, south], value) = (gradients[k], values[k] as f64);
                let rise = east as f64 * site.dx as f64 + south as f64 * site.dy as f64;
                means[k] += area * value;
                planes[k] += (area / away) * (value - rise);
                k += 1;
            }
        });
    });
    if areas == 0.0 {
        return None;
    }
    let (alpha, beta) = (first_moment / inverse, second_moment / areas);
    let mut blends = [0.0; N];
    let mut k = 0;
    while k < N {
        blends[k] = (alpha * (means[k] / areas) + beta * (planes[k] / inverse)) / (alpha + beta);
        k += 1;
    }
    Some(blends)
}

/// The values of a cell from its weighted means, or from the sites that touch it. `scale` gives the
/// offset and the step of each.
#[inline(always)]
pub fn weighted_values<const N: usize>(
    means: Option<[f64; N]>,
    cell: &impl Region,
    site_limit: u64,
    values: impl Fn(u32) -> [i32; N],
    scale: impl Fn(usize) -> [f64; 2],
) -> [f32; N] {
    let mut result = [f32::NAN; N];
    let touching = match means {
        Some(_) => None,
        None => Some(Areas::touching(cell, site_limit, values)),
    };
    let mut k = 0;
    while k < N {
        let [offset, step] = scale(k);
        result[k] = match (means, touching) {
            (Some(means), _) => (offset + means[k] * step) as f32,
            (_, Some(areas)) => mean(areas.sums[k], areas.count, offset, step),
            _ => f32::NAN,
        };
        k += 1;
    }
    result
}
