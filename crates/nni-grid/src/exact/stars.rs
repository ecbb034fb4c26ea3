//! The stars of the sites of points, on the host.

use delaunay_stars::{SiteStars, Span};
use gpu_core::parallel::{self, FINE};
use gpu_core::{GridSpec, Points, Progress, host_memory};
use kernels_rs::stars::angles::{square, way};

use crate::Result;

/// Returns the stars of points, for the cells of a grid. Points that are not finite do not count: if there are some, also
/// returns the indices of the others, which the stars number anew.
pub(crate) fn stars_of_finite(
    x: &[f64],
    y: &[f64],
    grid: &GridSpec,
    progress: &dyn Progress,
) -> Result<(SiteStars, Option<Vec<u32>>)> {
    let of = |x: &[f64], y: &[f64]| SiteStars::of(Points::new(x, y), span_of(grid), progress);
    let is_finite = |i: usize| x[i].is_finite() && y[i].is_finite();
    if parallel::first(x.len(), FINE, |i| !is_finite(i)).is_none() {
        return Ok((of(x, y)?, None));
    }
    let kept = parallel::filter(x.len() as u32, FINE, |i| is_finite(i as usize));
    let column = |all: &[f64]| parallel::map(kept.len(), FINE, |i| all[kept[i] as usize]);
    Ok((of(&column(x), &column(y))?, Some(kept)))
}

/// The bits of the centres of a grid's cells.
pub fn span_of(grid: &GridSpec) -> Span {
    let area = grid.bounds();
    let ends = [area.min_x, area.min_y, area.max_x, area.max_y];
    let greatest = ends.into_iter().map(f64::abs).fold(0.0, f64::max);
    Span::of_grid([grid.origin_x, grid.origin_y], grid.cell_size, greatest)
}

/// Returns a site near a place, to begin a walk there. It is the nearest of a sample of sites along the curve, as many as the
/// square root of their number. `None` if there are no sites.
pub(crate) fn site_near(stars: &SiteStars, at: [f64; 2]) -> Option<u32> {
    let step = (stars.len() as f64).sqrt().ceil() as usize;
    let squared = |site: &u32| square(way(at, stars.places[*site as usize]));
    let sites = (0..stars.len() as u32).step_by(step.max(1));
    sites.min_by(|a, b| squared(a).total_cmp(&squared(b)))
}

/// The points of all sites.
pub(crate) struct Members {
    /// Where the points of each site begin, and at last where they end.
    pub firsts: Vec<u32>,
    /// The points; those of one site are in the order in which they were given.
    pub points: Vec<u32>,
}

impl Members {
    /// The points of stars that [`stars_of_finite`] returned, with the points that it kept.
    pub fn of(stars: &SiteStars, kept: Option<&[u32]>) -> Result<Self> {
        let count = stars.points.len() + stars.duplicates.len();
        let given = |point: u32| kept.map_or(point, |kept| kept[point as usize]);
        let mut firsts: Vec<u32> = host_memory::with_capacity(stars.len() + 1)?;
        firsts.extend(0..=stars.len() as u32);
        let mut sites = Vec::new();
        if !stars.duplicates.is_empty() {
            sites = host_memory::filled(0_u32, count)?;
            stars.points.iter().zip(0..).for_each(|(&point, site)| sites[point as usize] = site);
            let mut more = host_memory::filled(0_u32, stars.len() + 1)?;
            stars.duplicates.iter().for_each(|&[_, at]| more[sites[at as usize] as usize + 1] += 1);
            let mut sum = 0;
            firsts.iter_mut().zip(more).for_each(|(first, more)| {
                sum += more;
                *first += sum;
            });
        }
        let mut points = host_memory::filled(0_u32, count)?;
        let slots = firsts.iter().zip(&stars.points);
        slots.for_each(|(&slot, &point)| points[slot as usize] = given(point));
        let mut next = firsts.clone();
        for &[point, at] in &stars.duplicates {
            let slot = &mut next[sites[at as usize] as usize];
            *slot += 1;
            points[*slot as usize] = given(point);
        }
        Ok(Self { firsts, points })
    }
}
