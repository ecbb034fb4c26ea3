//! The neighbours without a list: any number of them, quadrants, all within a radius.

use device_std::math;

use super::results::{Results, Sums, Values, mean};
use super::search::{Candidate, CellBox, Index, Search, TargetPlace};
use super::turns::{by_turns, fewer, total};
use super::{Limits, Method};

/// Which of a quadrant's candidates count: those nearer than `squared`, and at that distance those with an index up to
/// `index`.
#[derive(Clone, Copy)]
struct Limit {
    squared: f64,
    index: u32,
}

/// The circle in which a search without a list works.
#[derive(Clone, Copy)]
pub struct Circle {
    cells: CellBox,
    /// Candidates beyond this do not count, since the cells may not hold all of them.
    squared: f64,
    limited: bool,
}

impl Circle {
    /// Shows every candidate in the circle with its group: its quadrant, or 0.
    #[inline(always)]
    fn visit(
        &self,
        index: &Index,
        search: &Search,
        target: &TargetPlace,
        mut see: impl FnMut(Candidate, u32),
    ) {
        let quadrants = search.by_quadrants;
        index.visit(&self.cells, target, search, self.limited, |candidate| {
            if candidate.squared <= self.squared {
                see(candidate, if quadrants { candidate.quadrant } else { 0 });
            }
        });
    }

    /// Returns the circle that surely holds `wanted` candidates of each group, or all candidates, and how many of each
    /// group it holds.
    #[inline(always)]
    fn around(
        index: &Index,
        search: &Search,
        target: &TargetPlace,
        wanted: u32,
        limited: bool,
    ) -> (Self, [u32; 4]) {
        let sphere = search.is_sphere();
        let groups = if search.by_quadrants { 4 } else { 1 };
        let endless = wanted == u32::MAX;
        let mut radius = if endless {
            f64::INFINITY
        } else {
            index.first_radius(target, u32::min(wanted, 1 << 20) * groups, sphere).radius
        };
        loop {
            let reach = search.reach_within(radius, limited);
            let cells = index.cells_within(target, reach, sphere);
            let is_all = cells.whole || (reach[0] < radius && reach[1] < radius);
            let squared = if is_all { f64::INFINITY } else { search.certain(radius) };
            let cells = if is_all { cells } else { cells.round(radius, sphere) };
            let circle = Self { cells, squared, limited };
            let mut counts = [0; 4];
            circle.visit(index, search, target, |_, group| {
                counts[0] += (group == 0) as u32;
                counts[1] += (group == 1) as u32;
                counts[2] += (group == 2) as u32;
                counts[3] += (group == 3) as u32;
            });
            let least = if groups == 4 {
                u32::min(u32::min(counts[0], counts[1]), u32::min(counts[2], counts[3]))
            } else {
                counts[0]
            };
            if is_all || least >= wanted {
                return (circle, counts);
            }
            radius *= 1.6;
        }
    }

    /// The limit within which `wanted` of a group's candidates lie, by bisection.
    #[inline(always)]
    fn limit(
        &self,
        index: &Index,
        search: &Search,
        target: &TargetPlace,
        group: u32,
        wanted: u32,
    ) -> Limit {
        // The bits of floats that are not negative are in the order of their values.
        let (mut low, mut high) = (0u64, f64::INFINITY.to_bits());
        while low < high {
            let middle = low + (high - low) / 2;
            let mut count = 0;
            self.visit(index, search, target, |candidate, of| {
                count += (of == group && candidate.squared.to_bits() <= middle) as u32;
            });
            if count >= wanted {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let squared = f64::from_bits(low);
        let (mut low, mut high) = (0u32, u32::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            let mut count = 0;
            self.visit(index, search, target, |candidate, of| {
                let nearer = candidate.squared < squared
                    || (candidate.squared == squared && index.point(candidate.at) <= middle);
                count += (of == group && nearer) as u32;
            });
            if count >= wanted {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Limit { squared, index: low }
    }
}

impl Method for Circle {
    const SHARED: u32 = 0;

    #[inline(always)]
    unsafe fn interpolate(
        index: &Index,
        values: &Values<'_>,
        search: &Search,
        target: &TargetPlace,
        wanted: &Limits,
        results: &Results<'_>,
    ) {
        let (search, taken) = take(index, *search, target, wanted);
        interpolate(index, values, &search, target, &taken, results);
    }
}

/// The circle of a target, and how many of its candidates in each group (a quadrant, or all) are neighbours.
struct Taken {
    circle: Circle,
    limits: [Limit; 4],
    taken: [u32; 4],
    enough: bool,
}

/// Finds the neighbours of a target, and the search that found them.
#[inline(always)]
fn take(index: &Index, search: Search, target: &TargetPlace, wanted: &Limits) -> (Search, Taken) {
    let mut search = search;
    let &Limits { max_points, min_points, max_per_quadrant, min_per_quadrant, .. } = wanted;
    let of_group = wanted.of_list();
    let (mut circle, mut counts) = Circle::around(index, &search, target, of_group, true);
    let mut taken = by_turns(counts, max_per_quadrant, max_points);
    let mut enough = total(taken) >= min_points && total(taken) > 0;
    if search.by_quadrants {
        enough = enough && fewer(counts, min_per_quadrant) == 0;
    }
    if !enough && wanted.falls_back != 0 {
        // Without quadrants and without reach.
        search.by_quadrants = false;
        let least = u32::max(1, u32::max(min_points, min_per_quadrant.saturating_mul(4)));
        (circle, counts) = Circle::around(index, &search, target, least, false);
        taken = by_turns(counts, u32::MAX, least);
        enough = total(taken) >= min_points && total(taken) > 0;
    }
    let no_limit = Limit { squared: f64::INFINITY, index: u32::MAX };
    let mut limits = [no_limit; 4];
    let mut group = 0;
    while group < 4 {
        if taken[group] < counts[group] {
            limits[group] = circle.limit(index, &search, target, group as u32, taken[group]);
        }
        group += 1;
    }
    (search, Taken { circle, limits, taken, enough })
}

impl Taken {
    /// Whether a candidate of a group is a neighbour.
    #[inline(always)]
    fn has(&self, index: &Index, candidate: Candidate, group: u32) -> bool {
        let (limit, taken) = match group {
            0 => (self.limits[0], self.taken[0]),
            1 => (self.limits[1], self.taken[1]),
            2 => (self.limits[2], self.taken[2]),
            _ => (self.limits[3], self.taken[3]),
        };
        let i = index.point(candidate.at);
        taken > 0
            && (candidate.squared < limit.squared
                || (candidate.squared == limit.squared && i <= limit.index))
    }
}

/// Writes values, and statistics, from the neighbours of a target.
#[inline(always)]
fn interpolate(
    index: &Index,
    values: &Values<'_>,
    search: &Search,
    target: &TargetPlace,
    taken: &Taken,
    results: &Results<'_>,
) {
    let (circle, enough) = (&taken.circle, taken.enough);
    let [first_offset, _, _] = values.range(0);
    let mut all = Sums::EMPTY;
    let mut nearest = f64::INFINITY;
    circle.visit(index, search, target, |candidate, of| {
        if taken.has(index, candidate, of) {
            nearest = f64::min(nearest, candidate.squared);
            if results.has_statistics() {
                let point = index.point(candidate.at);
                let distance = math::sqrt(search.on_ground(candidate.squared));
                all.add(values.get(0, point), first_offset, distance);
            }
        }
    });
    if results.has_statistics() {
        all.write(first_offset, target.index, results);
    }
    let nearest = search.smoothed(nearest);
    let coincident = search.is_exact(nearest);
    let mut v = 0;
    while v < values.columns {
        let [offset, low, high] = values.range(v);
        let offset = if coincident { 0.0 } else { offset };
        let (mut weights, mut sum) = (0.0, 0.0);
        circle.visit(index, search, target, |candidate, of| {
            if taken.has(index, candidate, of) {
                let weight = if coincident {
                    (candidate.squared == 0.0) as u32 as f64
                } else {
                    search.weight(candidate.squared, nearest)
                };
                let point = index.point(candidate.at);
                weights += weight;
                sum += weight * (values.get(v, point) - offset);
            }
        });
        let value = if enough { mean(offset, sum, weights, low, high) } else { f64::NAN };
        results.put(v, target.index, value);
        v += 1;
    }
}
