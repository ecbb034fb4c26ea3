//! Diagrams on the CPU, on all cores.
//!
//! The plan goes from the octants down:
//!
//! ```text
//! fill(triangle, sites of its parent):
//!     pivots = the two sites nearest to the centre, sought from its parent's on
//!     if the parent has a list:
//!         drop sites that the pivots beat everywhere in the triangle
//!     else:
//!         go down the balls around runs of sites, and skip those of which the pivots beat all sites
//!         there is a list if at most 128 sites are left
//!     fill each child; of a triangle with a list and up to 16 cells, all cells at once
//! a cell of the wanted level takes the nearest site of its list, or of all by a search
//! ```
//!
//! A pivot beats a site that is farther from all three vertices (`kernels_rs::sphere_qtm::nearest`). The outputs of a triangle's
//! cells lie side by side, so slices of them are split in four on the way down. The first levels are divided among the cores.

mod pivots;
mod scan;
mod shapes;

use std::ops::Range;

use gpu_core::{Points, Progress, host_memory};
use kernels_rs::sphere_qtm::nearest::{NONE, NearSite, Two, squared_chord};
use kernels_rs::sphere_qtm::outputs;
use kernels_rs::sphere_qtm::triangle::{Triangle, Vector};
use rayon::prelude::*;

pub use shapes::voronoi_of_shapes;

use pivots::Pivots;
use scan::{Few, LEAST, MOST};

use crate::balls::{Ball, Balls};
use crate::locate::{BLOCK, locate_degrees};
use crate::params::check_count;
use crate::{Cell, Diagram, Level, Params, Result, sites};

/// Levels whose triangles are divided among the cores.
const PARALLEL: u32 = 5;

/// A list of this length is not worth shortening.
const SHORT: usize = 2;

/// Computes [`voronoi`](crate::voronoi) on all cores of the CPU.
///
/// # Errors
/// The errors of [`voronoi`](crate::voronoi).
pub fn voronoi(points: &Points<'_>, params: &Params, progress: &dyn Progress) -> Result<Diagram> {
    check_count(points.len() as u64)?;
    params.check_host()?;
    let sites = sites::vectors("site", points)?;
    let cells = params.level.cell_count() as usize;
    let mut diagram = empty_diagram(params)?;
    let balls = Balls::new(&sites);
    let (wanted, prunes) = (params.wanted() as usize, params.is_pruned());
    let search = Search { sites: &sites, balls: &balls, wanted, prunes };
    let all: Option<Vec<u32>> = (!prunes).then(|| (0..sites.len() as u32).collect());
    let mut rest = Part::of(&mut diagram);
    for octant in 0..8 {
        progress.at("voronoi", f64::from(octant) / 8.0)?;
        let (part, others) = rest.split_at(cells / 8);
        rest = others;
        search.fill(
            &Triangle::octant(octant),
            (all.as_deref(), Two::NOTHING),
            params.level,
            0,
            part,
        );
    }
    progress.at("voronoi", 1.0)?;
    Ok(diagram)
}

/// With what is wanted of each cell, which is to be filled.
fn empty_diagram(params: &Params) -> Result<Diagram> {
    let cells = params.level.cell_count() as usize;
    Ok(Diagram {
        level: params.level,
        nearest: host_memory::filled(NONE, cells)?,
        second: params.second.then(|| host_memory::filled(NONE, cells)).transpose()?,
        distance: params.distance.then(|| host_memory::filled(0.0, cells)).transpose()?,
        tie: params.tie.then(|| host_memory::filled(0, cells)).transpose()?,
    })
}

/// The outputs of cells that lie side by side.
struct Part<'a> {
    nearest: &'a mut [u32],
    second: Option<&'a mut [u32]>,
    distance: Option<&'a mut [f64]>,
    tie: Option<&'a mut [u8]>,
}

impl<'a> Part<'a> {
    fn of(diagram: &'a mut Diagram) -> Self {
        Self {
            nearest: &mut diagram.nearest,
            second: diagram.second.as_deref_mut(),
            distance: diagram.distance.as_deref_mut(),
            tie: diagram.tie.as_deref_mut(),
        }
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        let nearest = self.nearest.split_at_mut(at);
        let second = self.second.map(|all| all.split_at_mut(at)).unzip();
        let distance = self.distance.map(|all| all.split_at_mut(at)).unzip();
        let tie = self.tie.map(|all| all.split_at_mut(at)).unzip();
        (
            Self { nearest: nearest.0, second: second.0, distance: distance.0, tie: tie.0 },
            Self { nearest: nearest.1, second: second.1, distance: distance.1, tie: tie.1 },
        )
    }

    /// The parts of four children.
    fn quarters(self) -> [Self; 4] {
        let half = self.nearest.len() / 2;
        let (a, b) = self.split_at(half);
        let ((a, b), (c, d)) = (a.split_at(half / 2), b.split_at(half / 2));
        [a, b, c, d]
    }

    /// Writes the first cell's.
    fn write(self, two: Two) {
        self.nearest[0] = two.first.site;
        if let Some(second) = self.second {
            second[0] = two.second.site;
        }
        if let Some(distance) = self.distance {
            distance[0] = outputs::distance(two);
        }
        if let Some(tie) = self.tie {
            tie[0] = u8::from(outputs::is_tie(two));
        }
    }
}

/// A search for the nearest sites of all cells.
struct Search<'a> {
    sites: &'a [Vector],
    balls: &'a Balls,
    /// How many nearest sites of a cell are to be found.
    wanted: usize,
    prunes: bool,
}

impl Search<'_> {
    /// Fills the part of a triangle's cells from its parent's candidates, if that has a list, and the two sites that were
    /// near its parent's centre. `depth` is its level.
    fn fill(
        &self,
        triangle: &Triangle,
        (candidates, near): (Option<&[u32]>, Two),
        level: Level,
        depth: u32,
        part: Part<'_>,
    ) {
        let left = level.get() - depth;
        if left == 0 {
            return part.write(self.nearest(triangle.centre(), candidates, near));
        }
        let (kept, near) = self.kept(triangle, candidates, near, left);
        let candidates = kept.as_deref().or(candidates);
        if let Some(list) = candidates
            .filter(|list| left <= 2 && self.wanted == 1 && (LEAST..=MOST).contains(&list.len()))
        {
            let few = Few::new(list.iter().map(|&position| self.balls.ball(0, position)));
            return self.write_few(triangle, left, &few, list, part);
        }
        let children = triangle.children();
        let children = children.iter().zip(part.quarters());
        let fill = |(child, part): (&Triangle, Part<'_>)| {
            self.fill(child, (candidates, near), level, depth + 1, part);
        };
        if depth < PARALLEL {
            children.collect::<Vec<_>>().into_par_iter().for_each(fill);
        } else {
            children.for_each(fill);
        }
    }

    /// Writes the nearest sites of the cells of a triangle, of a few.
    fn write_few(
        &self,
        triangle: &Triangle,
        left: u32,
        few: &Few,
        candidates: &[u32],
        part: Part<'_>,
    ) {
        let cells = triangle.children();
        if left > 1 {
            for (child, part) in cells.iter().zip(part.quarters()) {
                self.write_few(child, left - 1, few, candidates, part);
            }
            return;
        }
        let centres = cells.each_ref().map(Triangle::centre);
        let nearest = few.nearest(centres).into_iter().zip(centres).zip(part.quarters());
        for ((found, centre), part) in nearest {
            part.write(match found {
                Some(first) => Two { first, second: NearSite::NOTHING },
                None => self.nearest(centre, Some(candidates), Two::NOTHING),
            });
        }
    }

    /// The nearest two sites of a place, of candidates or of all.
    fn nearest(&self, place: Vector, candidates: Option<&[u32]>, near: Two) -> Two {
        let Some(candidates) = candidates else {
            return self.balls.nearest_two(place, near, self.sites);
        };
        candidates.iter().fold(Two::NOTHING, |two, &position| {
            let Ball { centre, site, .. } = self.balls.ball(0, position);
            two.with(NearSite { squared: squared_chord(place, centre), site })
        })
    }

    /// The candidates that a triangle keeps, if that may be fewer; without a list the sites that it takes, if these are
    /// not too many. Then two sites near its centre. `left` levels are below it.
    fn kept(
        &self,
        triangle: &Triangle,
        candidates: Option<&[u32]>,
        near: Two,
        left: u32,
    ) -> (Option<Vec<u32>>, Two) {
        if candidates.is_some_and(|list| !self.prunes || left == 1 || list.len() <= SHORT) {
            return (None, near);
        }
        let two = self.nearest(triangle.centre(), candidates, near);
        let pivots = Pivots::new(triangle, two, self.sites, self.wanted);
        let mut kept = Vec::with_capacity(MOST);
        let Some(list) = candidates else {
            let (level, top) = self.balls.top();
            return (self.gather(&pivots, level, top, &mut kept).then_some(kept), two);
        };
        kept.extend(list.iter().copied().filter(|&at| pivots.keep(&self.balls.ball(0, at))));
        (Some(kept), two)
    }

    /// Adds the sites of balls that a triangle keeps; false if there are too many.
    fn gather(
        &self,
        pivots: &Pivots,
        level: usize,
        balls: Range<u32>,
        kept: &mut Vec<u32>,
    ) -> bool {
        for of in balls {
            if !pivots.keep(&self.balls.ball(level, of)) {
                continue;
            }
            if level > 0 {
                if !self.gather(pivots, level - 1, self.balls.inside(level, of), kept) {
                    return false;
                }
            } else if kept.len() < MOST {
                kept.push(of);
            } else {
                return false;
            }
        }
        true
    }
}

/// [`cells_of_points`](crate::cells_of_points) on all cores; the points are known to be places.
pub(crate) fn cells_of_points(
    points: &Points<'_>,
    level: Level,
    progress: &dyn Progress,
) -> Result<Vec<Cell>> {
    progress.at("cells", 0.0)?;
    let mut cells = host_memory::filled(Cell::at(level, 0), points.len())?;
    let blocks = cells.par_chunks_mut(BLOCK).zip(points.x.par_chunks(BLOCK));
    blocks.zip(points.y.par_chunks(BLOCK)).for_each(|((cells, longitudes), latitudes)| {
        let mut indices = [0; BLOCK];
        locate_degrees(longitudes, latitudes, level.get(), &mut indices);
        for (cell, index) in cells.iter_mut().zip(indices) {
            *cell = Cell::at(level, index);
        }
    });
    progress.at("cells", 1.0)?;
    Ok(cells)
}
