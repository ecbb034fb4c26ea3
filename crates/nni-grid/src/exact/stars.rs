//! The stars of the sites of points, on the host.

use delaunay_stars::{Scale, Span, Triangulation, triangulate_for};
use gpu_core::parallel::{self, FINE};
use gpu_core::{GridSpec, Points, Progress, host_memory};
use kernels_rs::spatial::hilbert;
use kernels_rs::stars::angles::{square, way};
use kernels_rs::stars::natural::{self, OPEN};

use crate::Result;

/// Levels of the curve along which sites are numbered, so that those near each other lie near each other in memory.
const LEVELS: u32 = 16;

/// The sites of points, numbered along Hilbert's curve, with their stars.
pub(crate) struct SiteStars {
    /// The coordinates of sites, times the scale.
    pub places: Vec<[f64; 2]>,
    /// Where each star begins, and at last where the last star ends.
    pub starts: Vec<u32>,
    /// The neighbours of all sites; the last neighbour of a site on the hull has [`OPEN`] set.
    pub neighbours: Vec<u32>,
    /// Where the points of each site begin, and at last where they end.
    pub firsts: Vec<u32>,
    /// The points of all sites; the points of one site are in the order in which they were given.
    pub members: Vec<u32>,
    /// The factor of the coordinates.
    pub scale: Scale,
    /// Coordinates of sites and of centres of cells, times the scale, are multiples of 2 to this power.
    pub unit: i32,
}

impl SiteStars {
    /// Returns the stars of points, for the cells of a grid. Points that are not finite do not count.
    pub fn of(x: &[f64], y: &[f64], grid: &GridSpec, progress: &dyn Progress) -> Result<Self> {
        let is_finite = |i: usize| x[i].is_finite() && y[i].is_finite();
        if parallel::first(x.len(), FINE, |i| !is_finite(i)).is_none() {
            return Self::of_finite(x, y, None, grid, progress);
        }
        let kept = parallel::filter(x.len() as u32, FINE, |i| is_finite(i as usize));
        let column = |all: &[f64]| parallel::map(kept.len(), FINE, |i| all[kept[i] as usize]);
        Self::of_finite(&column(x), &column(y), Some(&kept), grid, progress)
    }

    /// Builds the stars of finite points. `kept` has their indices among all, if some points were dropped.
    fn of_finite(
        x: &[f64],
        y: &[f64],
        kept: Option<&[u32]>,
        grid: &GridSpec,
        progress: &dyn Progress,
    ) -> Result<Self> {
        // All that follows finds what it needs near what it had before.
        let order = along_curve(x, y);
        let column = |all: &[f64]| parallel::map(order.len(), FINE, |i| all[order[i] as usize]);
        let all = triangulate_for(Points::new(&column(x), &column(y)), span_of(grid), progress)?;
        host_memory::require(all.len() as u64 * 60)?;
        let (sites, numbers) = sites_of(&all)?;
        let given = |i: usize| kept.map_or(order[i], |kept| kept[order[i] as usize]);
        let (firsts, members) = members_of(&numbers, sites.len(), given)?;
        // A point that another one stands for has no star.
        let (begins, named) = (all.starts(), all.neighbours());
        let begin =
            |site: usize| sites.get(site).map_or(named.len() as u32, |&at| begins[at as usize]);
        let starts = parallel::map(sites.len() + 1, FINE, begin);
        let mut neighbours = parallel::map(named.len(), FINE, |i| numbers[named[i] as usize]);
        for (site, &point) in sites.iter().enumerate() {
            let star = &mut neighbours[starts[site] as usize..starts[site + 1] as usize];
            if let (Some(last), true) = (star.last_mut(), all.is_on_hull(point)) {
                *last |= OPEN;
            }
        }
        let places = parallel::map(sites.len(), FINE, |i| all.places()[sites[i] as usize]);
        let (scale, unit) = (all.scale(), all.predicates().unit());
        Ok(Self { places, starts, neighbours, firsts, members, scale, unit })
    }

    /// Returns a site near a place, to begin a walk there. It is the nearest of a sample of sites along the curve, as
    /// many as the square root of their number. `None` if there are no sites.
    pub fn near(&self, at: [f64; 2]) -> Option<u32> {
        let step = (self.len() as f64).sqrt().ceil() as usize;
        let squared = |site: &u32| square(way(at, self.places[*site as usize]));
        let sites = (0..self.len() as u32).step_by(step.max(1));
        sites.min_by(|a, b| squared(a).total_cmp(&squared(b)))
    }

    /// How many sites.
    pub fn len(&self) -> usize {
        self.places.len()
    }
}

impl natural::Stars for SiteStars {
    fn place(&self, site: u32) -> [f64; 2] {
        self.places[site as usize]
    }
    fn star(&self, site: u32) -> [u32; 2] {
        [self.starts[site as usize], self.starts[site as usize + 1]]
    }
    fn stored(&self, at: u32) -> u32 {
        self.neighbours[at as usize]
    }
}

/// The bits of the centres of a grid's cells.
pub fn span_of(grid: &GridSpec) -> Span {
    let area = grid.bounds();
    let ends = [area.min_x, area.min_y, area.max_x, area.max_y];
    let greatest = ends.into_iter().map(f64::abs).fold(0.0, f64::max);
    Span::of_grid([grid.origin_x, grid.origin_y], grid.cell_size, greatest)
}

/// Points along Hilbert's curve over their bounds, those of one cell of it in their order.
fn along_curve(x: &[f64], y: &[f64]) -> Vec<u32> {
    let ends = |all: &[f64]| {
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        all.iter().fold(nothing, |(low, high), &at| (low.min(at), high.max(at)))
    };
    let ((west, east), (south, north)) = (ends(x), ends(y));
    let side = (east - west).max(north - south);
    let last = (1 << LEVELS) - 1;
    let cell =
        |at: f64, from: f64| u32::min(((at - from) / side * f64::from(1 << LEVELS)) as u32, last);
    let mut keys = parallel::map(x.len(), FINE, |i| {
        let code = hilbert::number::<LEVELS>(cell(x[i], west), cell(y[i], south));
        code << 32 | i as u64
    });
    parallel::sort(&mut keys);
    parallel::map(keys.len(), FINE, |i| keys[i] as u32)
}

/// The points that stand for the sites, in their order, and the site of each point.
fn sites_of(all: &Triangulation) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut stands = host_memory::filled(true, all.len())?;
    all.duplicates().iter().for_each(|&[point, _]| stands[point as usize] = false);
    let sites = parallel::filter(all.len() as u32, FINE, |point| stands[point as usize]);
    let mut numbers = host_memory::filled(0_u32, all.len())?;
    sites.iter().zip(0..).for_each(|(&point, site)| numbers[point as usize] = site);
    all.duplicates().iter().for_each(|&[point, first]| {
        numbers[point as usize] = numbers[first as usize];
    });
    Ok((sites, numbers))
}

/// The points of each site, in the order in which they were given, from the site of each point and its index as given.
fn members_of(
    numbers: &[u32],
    sites: usize,
    given: impl Fn(usize) -> u32,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut firsts = host_memory::filled(0_u32, sites + 1)?;
    numbers.iter().for_each(|&site| firsts[site as usize + 1] += 1);
    for site in 0..sites {
        firsts[site + 1] += firsts[site];
    }
    let mut next = firsts.clone();
    let mut members = host_memory::filled(0_u32, numbers.len())?;
    for (i, &site) in numbers.iter().enumerate() {
        let slot = &mut next[site as usize];
        members[*slot as usize] = given(i);
        *slot += 1;
    }
    Ok((firsts, members))
}
