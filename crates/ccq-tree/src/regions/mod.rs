//! Connected regions of the cells that a search finds.
//!
//! Cells come as runs of rows. A union-find joins each run with the touching runs of the row above, and the smaller
//! number is always the root. So its first run, which has its first cell, names a region on every device.

mod outline;

use gpu_core::{On, host_memory};

pub use outline::Outline;

use crate::{Condition, Query, Result, Run};

/// Which neighbouring cells are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Connectivity {
    /// Cells that share a side. Then each region is one polygon, as GDAL's `gdal_polygonize` makes them by default.
    #[default]
    Four,
    /// Cells that share a side or a corner.
    Eight,
}

impl Connectivity {
    /// How many columns beyond its ends a run touches others.
    pub(crate) fn reach(self) -> u32 {
        match self {
            Self::Four => 0,
            Self::Eight => 1,
        }
    }
}

/// A connected region of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The row of its first cell; cells count row by row from the north-west.
    pub row: u32,
    /// The column of that cell.
    pub column: u32,
    /// How many cells it has.
    pub cells: u64,
}

/// The connected regions of the cells that a search finds.
///
/// ```
/// use ccq_tree::{Condition, Connectivity, Params, Query, build, regions};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![9u8, 0, 9, 9], GridSpec::of_pixels(4, 1))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let nines = Condition::new(&tree).range(9, 10);
/// let found = regions(&Device::Cpu, &[nines], &Query::new(), Connectivity::Four)?;
/// assert_eq!(found.regions().iter().map(|region| region.cells).collect::<Vec<_>>(), [1, 2]);
/// let of_runs: Vec<_> = found.runs().map(|(run, region)| (run.column0, region)).collect();
/// assert_eq!(of_runs, [(0, 0), (2, 1)]);
/// // The outer ring of the only polygon of the first region: corners, as column and row.
/// assert_eq!(found.outlines()?[0][0][0], [[1, 0], [0, 0], [0, 1], [1, 1]]);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    /// All cells, row by row.
    runs: Vec<Run>,
    /// The number of each run's region.
    of_runs: Vec<u32>,
    /// In the order of their first cells.
    regions: Vec<Region>,
}

/// Returns the connected regions of the cells that satisfy all conditions, in the order of their first cells. The same on every device.
///
/// Cost: as [`runs`](crate::runs()), and close to O(runs) to join the runs. A GPU joins them itself.
///
/// ```
/// use ccq_tree::{Condition, Connectivity, Params, Query, Region, build, regions};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let high = Condition::new(&tree).range(5, 8);
/// let found = regions(&Device::Cpu, &[high], &Query::new(), Connectivity::Four)?;
/// // The 7 in the first row touches the 5 below it, which touches the other 7.
/// assert_eq!(found.regions(), [Region { row: 0, column: 2, cells: 3 }]);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`runs`](crate::runs()).
pub fn regions<'on>(
    on: impl Into<On<'on>>,
    conditions: &[Condition<'_>],
    query: &Query,
    connectivity: Connectivity,
) -> Result<Regions> {
    let On { device, progress } = on.into();
    progress.during("regions", || {
        gpu_core::on_device!(
            device,
            cpu => Regions::of_runs(crate::query::runs(conditions, query)?, connectivity),
            gpu => crate::gpu::host_search::regions(gpu, conditions, query, connectivity),
        )
    })
}

impl Regions {
    /// The regions of runs: row by row, in a row from west to east, none beside another.
    pub(crate) fn of_runs(runs: Vec<Run>, connectivity: Connectivity) -> Result<Self> {
        let roots = roots(&runs, connectivity)?;
        Self::of_roots(runs, roots)
    }

    /// The regions of runs whose roots are known: of each the first run of its region.
    pub(crate) fn of_roots(runs: Vec<Run>, roots: Vec<u32>) -> Result<Self> {
        let mut regions: Vec<Region> = Vec::new();
        let mut of_runs = roots;
        for (i, run) in runs.iter().enumerate() {
            let root = of_runs[i] as usize;
            let number = match root == i {
                true => {
                    regions.push(Region { row: run.row, column: run.column0, cells: 0 });
                    regions.len() as u32 - 1
                }
                // Before it, and so numbered already.
                false => of_runs[root],
            };
            of_runs[i] = number;
            regions[number as usize].cells += u64::from(run.column1 - run.column0);
        }
        Ok(Self { runs, of_runs, regions })
    }

    /// Returns the regions, in the order of their first cells.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Returns all cells as runs, row by row, and the number of each run's region.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = (Run, u32)> {
        self.runs.iter().copied().zip(self.of_runs.iter().copied())
    }
}

/// For each run the first run of its region.
fn roots(runs: &[Run], connectivity: Connectivity) -> Result<Vec<u32>> {
    let reach = connectivity.reach();
    host_memory::require(runs.len() as u64 * 4)?;
    let mut parents: Vec<u32> = (0..runs.len() as u32).collect();
    // The first run of the row above that may touch what follows.
    let mut above = 0;
    for (i, run) in runs.iter().enumerate() {
        let is_before = |other: &Run| {
            other.row + 1 < run.row
                || other.row + 1 == run.row && other.column1 + reach <= run.column0
        };
        while is_before(&runs[above]) {
            above += 1;
        }
        let touches = |other: &Run| other.row + 1 == run.row && other.column0 < run.column1 + reach;
        for (j, _) in runs.iter().enumerate().skip(above).take_while(|(_, other)| touches(other)) {
            let (a, b) = (root(&mut parents, i as u32), root(&mut parents, j as u32));
            parents[a.max(b) as usize] = a.min(b);
        }
    }
    for i in 0..runs.len() {
        parents[i] = parents[parents[i] as usize];
    }
    Ok(parents)
}

/// The root of a run; the way there gets shorter.
fn root(parents: &mut [u32], run: u32) -> u32 {
    let mut at = run as usize;
    while parents[at] as usize != at {
        parents[at] = parents[parents[at] as usize];
        at = parents[at] as usize;
    }
    at as u32
}
