//! Diagrams on the CPU, on all cores.
//!
//! The plan goes from the octants down. A triangle takes its parent's candidates and drops candidates that others beat
//! everywhere in it (`kernels_rs::sphere_qtm::nearest`). A cell of the wanted level takes the nearest candidate that is
//! left. The outputs of a triangle's cells lie side by side, so slices of them are split in four on the way down. The
//! first levels are divided among the cores.

mod shapes;

use gpu_core::{Points, Progress, host_memory};
use kernels_rs::sphere_qtm::nearest::{NONE, NearSite, Pruning, Two, squared_chord};
use kernels_rs::sphere_qtm::outputs;
use kernels_rs::sphere_qtm::triangle::{Triangle, Vector};
use rayon::prelude::*;

pub use shapes::voronoi_of_shapes;

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
    let search = Search { sites: &sites, wanted: params.wanted(), prunes: params.is_pruned() };
    let all: Vec<u32> = (0..sites.len() as u32).collect();
    let mut rest = Part::of(&mut diagram);
    for octant in 0..8 {
        progress.at("voronoi", f64::from(octant) / 8.0)?;
        let (part, others) = rest.split_at(cells / 8);
        rest = others;
        search.fill(&Triangle::octant(octant), &all, params.level, 0, part);
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
    wanted: u32,
    prunes: bool,
}

impl Search<'_> {
    /// Fills the part of a triangle's cells from its parent's candidates. `depth` is its level.
    fn fill(
        &self,
        triangle: &Triangle,
        candidates: &[u32],
        level: Level,
        depth: u32,
        part: Part<'_>,
    ) {
        if depth == level.get() {
            return part.write(self.nearest(triangle.centre(), candidates));
        }
        let kept = self.kept(triangle, candidates);
        let candidates = kept.as_deref().unwrap_or(candidates);
        let children = triangle.children();
        let children = children.iter().zip(part.quarters());
        let fill = |(child, part): (&Triangle, Part<'_>)| {
            self.fill(child, candidates, level, depth + 1, part);
        };
        if depth < PARALLEL {
            children.collect::<Vec<_>>().into_par_iter().for_each(fill);
        } else {
            children.for_each(fill);
        }
    }

    fn nearest(&self, centre: Vector, candidates: &[u32]) -> Two {
        candidates.iter().fold(Two::NOTHING, |two, &site| {
            let squared = squared_chord(centre, self.sites[site as usize]);
            two.with(NearSite { squared, site })
        })
    }

    /// Returns the candidates that a triangle keeps, if that may be fewer.
    fn kept(&self, triangle: &Triangle, candidates: &[u32]) -> Option<Vec<u32>> {
        if !self.prunes || candidates.len() <= SHORT {
            return None;
        }
        let two = self.nearest(triangle.centre(), candidates);
        let place = |site: u32| self.sites[site as usize];
        let pruning = Pruning::new(*triangle, two, place, self.wanted);
        Some(candidates.iter().copied().filter(|&site| pruning.keeps(site, place(site))).collect())
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
