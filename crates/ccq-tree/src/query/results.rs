//! Results of a search other than quadrants: counts, runs of cells, a mask.

use gpu_core::{Grid, GridSpec, host_memory};
use rayon::prelude::*;

use super::{Condition, Hit, Quadrant, Refining, Search, quadrants, search_grid};
use crate::params::Window;
use crate::{Query, Result};

/// How much a search finds.
///
/// ```
/// use ccq_tree::Count;
///
/// // Three cells with sides of 10 m.
/// let count = Count { quadrants: 2, cells: 3, unsure: 0 };
/// assert_eq!(count.area(10.0), 300.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Quadrants.
    pub quadrants: u64,
    /// Cells that satisfy all conditions. These are the cells of quadrants that lie wholly in the ranges and, if the
    /// rasters are given, the cells of other quadrants that the rasters select.
    pub cells: u64,
    /// The number of cells that only a missing raster could decide.
    pub unsure: u64,
}

impl Count {
    /// Returns the area of the cells that surely satisfy all conditions, in square ground units of a grid.
    pub fn area(&self, cell_size: f64) -> f64 {
        self.cells as f64 * cell_size * cell_size
    }

    fn and(self, other: Self) -> Self {
        Self {
            quadrants: self.quadrants + other.quadrants,
            cells: self.cells + other.cells,
            unsure: self.unsure + other.unsure,
        }
    }
}

/// Cells of a row, from the first column up to, but without, the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The row.
    pub row: u32,
    /// The first column.
    pub column0: u32,
    /// The column after the last.
    pub column1: u32,
}

/// [`count`](crate::count()) on the CPU.
pub(crate) fn count(conditions: &[Condition<'_>], query: &Query) -> Result<Count> {
    let Some(search) = Search::new(conditions, query)? else { return Ok(Count::default()) };
    // Without a raster the cells of cut bins stay unsure.
    let rasters = search.rasters().ok();
    let parts = search.parts().into_par_iter().map(|part| {
        let mut sum = Count::default();
        search.visit(
            &part,
            u32::MAX,
            &mut |hit| sum = sum.and(of_hit(&search, rasters.as_deref(), hit)),
            &mut |_| (),
        );
        sum
    });
    Ok(parts.reduce(Count::default, Count::and))
}

fn of_hit(search: &Search<'_>, rasters: Option<&[Refining<'_>]>, hit: Hit) -> Count {
    let cells = hit.place.cells(search.bits, &search.grid).and_then(|c| search.window.and(c));
    let Some(cells) = cells else { return Count::default() };
    let mut count = Count { quadrants: 1, ..Count::default() };
    match (hit.is_partly, rasters) {
        (false, _) => count.cells = cells.cells(),
        (true, None) => count.unsure = cells.cells(),
        (true, Some(rasters)) => {
            each_run(rasters, cells, &search.grid, |run| {
                count.cells += u64::from(run.column1 - run.column0);
            });
        }
    }
    count
}

/// The runs of cells in a part of a raster that are wanted of all rasters, row by row.
fn each_run(rasters: &[Refining<'_>], cells: Window, grid: &GridSpec, mut take: impl FnMut(Run)) {
    let mut hits = vec![0usize; (cells.column1 - cells.column0) as usize];
    for row in cells.row0..cells.row1 {
        hits.fill(0);
        for raster in rasters {
            raster.each(grid, row, cells.column0..cells.column1, |cell| hits[cell] += 1);
        }
        let mut column = 0;
        for same in hits.chunk_by(|a, b| (*a == rasters.len()) == (*b == rasters.len())) {
            if same[0] == rasters.len() {
                let column0 = cells.column0 + column;
                take(Run { row, column0, column1: column0 + same.len() as u32 });
            }
            column += same.len() as u32;
        }
    }
}

/// [`runs`](crate::runs()) on the CPU.
pub(crate) fn runs(conditions: &[Condition<'_>], query: &Query) -> Result<Vec<Run>> {
    let Some(search) = Search::new(conditions, query)? else { return Ok(Vec::new()) };
    let found = quadrants(conditions, query)?;
    require_memory(&found, search.window)?;
    let rasters = rasters_for(&search, &found)?;
    let of = |quadrant: &Quadrant| {
        let mut runs = Vec::new();
        if let Some(cells) = quadrant.cells(search.window) {
            match quadrant.is_partly {
                true => each_run(&rasters, cells, &search.grid, |run| runs.push(run)),
                false => runs.extend((cells.row0..cells.row1).map(|row| {
                    let Window { column0, column1, .. } = cells;
                    Run { row, column0, column1 }
                })),
            }
        }
        runs
    };
    let mut runs: Vec<Run> = found.par_iter().flat_map_iter(of).collect();
    runs.par_sort_unstable();
    runs.dedup_by(|next, run| {
        let continues = next.row == run.row && next.column0 == run.column1;
        if continues {
            run.column1 = next.column1;
        }
        continues
    });
    Ok(runs)
}

/// Refuses runs of more rows than there is memory for: a tree of one node may stand for a raster of 2^30 rows.
fn require_memory(found: &[Quadrant], window: Window) -> Result<()> {
    /// Rows that are not worth asking the system for.
    const FEW: u64 = 1 << 20;
    let cells = found.iter().filter_map(|quadrant| quadrant.cells(window));
    let rows: u64 = cells.map(|cells| u64::from(cells.row1 - cells.row0)).sum();
    // The runs of each quadrant, and a second list of all of them.
    let bytes = rows.saturating_mul(2 * size_of::<Run>() as u64);
    if rows > FEW { Ok(host_memory::require(bytes)?) } else { Ok(()) }
}

fn rasters_for<'a>(search: &Search<'a>, found: &[Quadrant]) -> Result<Vec<Refining<'a>>> {
    if found.iter().any(|quadrant| quadrant.is_partly) { search.rasters() } else { Ok(Vec::new()) }
}

/// [`mask`](crate::mask()) on the CPU.
pub(crate) fn mask(conditions: &[Condition<'_>], query: &Query) -> Result<Grid<u8>> {
    let grid = search_grid(conditions)?;
    host_memory::require(grid.cells())?;
    let runs = runs(conditions, query)?;
    let mut cells = host_memory::filled(0u8, grid.cells() as usize)?;
    for Run { row, column0, column1 } in runs {
        let line = row as usize * grid.width as usize;
        cells[line + column0 as usize..line + column1 as usize].fill(1);
    }
    Ok(Grid::new(cells, grid)?)
}
