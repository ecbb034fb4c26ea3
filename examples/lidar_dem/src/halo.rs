//! The points that a part of a DEM depends on.
//!
//! With the exact method, a cell's height depends on all its natural neighbours, and these may lie far away: across a
//! lake, or along the border of the survey. So the program reads the part's ground and a halo. `nni_grid::Dependence`
//! then says where further points would change a height. The program reads these places too, within halos that grow
//! until nothing is missing. At voids and borders this reads few points, since most of these places lie where there are
//! no points.

use anyhow::Result;
use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, GridSpec};
use nni_grid::{Dependence, Wanted};
use programs::cloud::Cloud;
use programs::ground::Ground;
use programs::scale::joined;

use crate::dsm::WholeCells;
use crate::lattice::{Lattice, widened};
use crate::surface::SurfaceArgs;

/// How many times as wide as the last halo the next is.
const WIDER: f64 = 4.0;

/// Strips of a ground that is not a rectangle.
const STRIPS: u32 = 16;

/// Reads the points that the heights of a grid depend on. `read` returns the points of a ground. All points lie
/// within `all`, and `halo` is the result of [`SurfaceArgs::first_halo`].
///
/// # Errors
/// The errors of `read`, and the errors of the points or the memory.
pub fn read_dependence(
    surface: &SurfaceArgs,
    (grid, lattice): (&GridSpec, Lattice),
    all: &Bounds,
    mut halo: f64,
    mut read: impl FnMut(&dyn Ground) -> Result<Cloud>,
) -> Result<Cloud> {
    let cell = grid.cell_size;
    let cells = lattice.grid_in_cells(grid);
    // Points may lie a rounding beyond the bounds of their headers.
    let all = widened(&lattice.bounds_in_cells(all), 1.0);
    let mut dependence = Dependence::new(cells, &surface.params(None), all)?;
    let near = widened(&grid.bounds(), halo * cell);
    let mut ground = Near { near, wanted: Vec::new(), lattice };
    loop {
        let mut cloud = match surface.dsm {
            true => read(&WholeCells { ground: &ground, lattice })?,
            false => read(&ground)?,
        };
        // Points that do not count are not neighbours.
        surface.choose(&mut cloud, &lattice);
        let column = |axis: usize, from: &[f64]| {
            parallel::map(from.len(), FINE, |i| lattice.in_cells(axis, from[i]))
        };
        let (x, y) = (column(0, &cloud.x), column(1, &cloud.y));
        // What lies next to the border may have been rounded beyond it.
        if dependence.look(&x, &y, &widened(&cells.bounds(), halo - 1.0))? {
            return Ok(cloud);
        }
        // The last points go before the next come.
        drop((cloud, x, y));
        halo *= WIDER;
        ground.wanted.push(dependence.wanted(&widened(&cells.bounds(), halo)));
    }
}

/// A rectangle, and the places wanted beyond it, in cells.
struct Near {
    near: Bounds,
    wanted: Vec<Wanted>,
    lattice: Lattice,
}

impl Near {
    /// The rectangles that hold what is wanted.
    fn rectangles(&self) -> impl Iterator<Item = Bounds> {
        let in_units = |b: Bounds| self.lattice.bounds(&widened(&b, 1.0));
        self.wanted.iter().filter_map(Wanted::bounds).map(in_units)
    }
}

impl Ground for Near {
    fn bounds(&self) -> Bounds {
        self.rectangles().fold(self.near, joined)
    }

    fn touches(&self, area: &Bounds) -> bool {
        let in_cells = widened(&self.lattice.bounds_in_cells(area), 1.0);
        self.near.touches(area) || self.wanted.iter().any(|wanted| wanted.touches(&in_cells))
    }

    fn holds(&self, x: f64, y: f64) -> bool {
        let Bounds { min_x, min_y, max_x, max_y } = self.near;
        let is_near = min_x <= x && x <= max_x && min_y <= y && y <= max_y;
        let place = || [self.lattice.in_cells(0, x), self.lattice.in_cells(1, y)];
        is_near || !self.wanted.is_empty() && self.is_wanted(place())
    }

    fn is_rectangle(&self) -> bool {
        self.wanted.is_empty()
    }

    fn strips(&self) -> u32 {
        if self.is_rectangle() { 1 } else { STRIPS }
    }
}

impl Near {
    fn is_wanted(&self, [x, y]: [f64; 2]) -> bool {
        self.wanted.iter().any(|wanted| wanted.holds(x, y))
    }
}
