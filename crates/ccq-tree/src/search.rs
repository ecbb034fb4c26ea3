//! Searches from host to host, on any device.

use gpu_core::{Grid, On};

use crate::fields::{Fields, Resident, of_nodes};
use crate::query::{self, Condition, Count, Peak, Quadrant, Run, Statistics};
use crate::{Cell, Query, Result, Tree};

/// Counts the cells that satisfy all conditions. The count is exact if ranges that cut through bins have their rasters.
///
/// A GPU gets a copy of the trees and rasters for each call; a program that asks often keeps them there
/// ([`gpu::DeviceTree::upload`](crate::gpu::DeviceTree::upload)). It takes at most
/// [`gpu::MAX_CONDITIONS`](crate::gpu::MAX_CONDITIONS) conditions.
///
/// ```
/// use ccq_tree::{Condition, Params, Query, build, count};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let high = Condition::new(&tree).range(5, 8); // 5 and above, below 8
/// assert_eq!(count(&Device::Cpu, &[high], &Query::new())?.cells, 3);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`quadrants()`].
pub fn count<'on>(
    on: impl Into<On<'on>>,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Count> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => query::count(conditions, query),
            gpu => crate::gpu::host_search::count(gpu, conditions, query),
        )
    })
}

/// Returns the quadrants whose cells satisfy all conditions, in Z-order. In a quadrant all cells satisfy them, or,
/// where [`Quadrant::is_partly`] is true, some may. Rasters are not consulted. On a GPU as [`count()`].
///
/// Without a range, these are the largest quadrants in the window that have no NODATA, with the bounds of their values.
/// A search visits the nodes of the result and their ancestors, each with its siblings.
///
/// ```
/// use ccq_tree::{Condition, Params, Query, build, quadrants};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let low = Condition::new(&tree).range(0, 2);
/// let found = quadrants(&Device::Cpu, &[low], &Query::new())?;
/// assert_eq!((found[0].row, found[0].column, found[0].size), (0, 0, 2)); // four cells in one
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::Conditions`](crate::Error::Conditions), [`Error::Sides`](crate::Error::Sides), [`Error::Window`](crate::Error::Window),
/// [`Error::Range`](crate::Error::Range); [`Error::Cancelled`](crate::Error::Cancelled) where its progress ends the call;
/// [`Error::Core`](crate::Error::Core) where memory or the device fails.
pub fn quadrants<'on>(
    on: impl Into<On<'on>>,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Vec<Quadrant>> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => query::quadrants(conditions, query),
            gpu => crate::gpu::host_search::quadrants(gpu, conditions, query),
        )
    })
}

/// Returns a raster of the same sides: 1 in the cells that satisfy all conditions, 0 in the others. On a GPU as [`count()`].
///
/// ```
/// use ccq_tree::{Condition, Params, Query, build, mask};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let high = Condition::new(&tree).range(5, 8);
/// let mask = mask(&Device::Cpu, &[high], &Query::new())?;
/// assert_eq!(mask.values(), [0, 0, 1, 0, 0, 0, 1, 1]);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`runs()`].
pub fn mask<'on>(
    on: impl Into<On<'on>>,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Grid<u8>> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => query::mask(conditions, query),
            gpu => crate::gpu::host_search::mask(gpu, conditions, query),
        )
    })
}

/// Returns the cells that satisfy all conditions, as runs: row by row, from west to east. Runs of a row do not touch.
/// On a GPU as [`count()`].
///
/// ```
/// use ccq_tree::{Condition, Params, Query, Run, build, runs};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let high = Condition::new(&tree).range(5, 8);
/// let found = runs(&Device::Cpu, &[high], &Query::new())?;
/// assert_eq!(found[0], Run { row: 0, column0: 2, column1: 3 });
/// assert_eq!(found[1], Run { row: 1, column0: 2, column1: 4 });
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`quadrants()`]; [`Error::NeedsRaster`](crate::Error::NeedsRaster) where a range cuts through a bin
/// and its raster is not given, on a GPU also if no such cell is found.
pub fn runs<'on>(
    on: impl Into<On<'on>>,
    conditions: &[Condition<'_>],
    query: &Query,
) -> Result<Vec<Run>> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => query::runs(conditions, query),
            gpu => crate::gpu::host_search::runs(gpu, conditions, query),
        )
    })
}

/// Counts the values in a window, and finds the least and the greatest, from the tree alone. On a GPU as [`count()`].
///
/// ```
/// use ccq_tree::{Params, Query, Window, build, statistics};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let east = Window { row0: 0, column0: 2, row1: 2, column1: 4 };
/// let found = statistics(&Device::Cpu, &tree, &Query::new().window(east))?;
/// assert_eq!(found.cells, 4);
/// assert_eq!((found.min, found.max), (Some(3.into()), Some(7.into())));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`quadrants()`].
pub fn statistics<'on, T: Cell>(
    on: impl Into<On<'on>>,
    tree: &Tree<T>,
    query: &Query,
) -> Result<Statistics> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => query::statistics(tree, query),
            gpu => crate::gpu::host_search::statistics(gpu, tree, query),
        )
    })
}

/// Returns the `k` cells with the greatest values in a window, the greatest first. Equal values come in Z-order. On a
/// GPU as [`count()`].
///
/// On the CPU the search always goes on where the greatest value may be. So it visits few nodes beyond the ancestors of
/// its results. On a GPU it counts the values above a threshold, up to 32 times.
///
/// ```
/// use ccq_tree::{Params, Query, build, top_k};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let peaks = top_k(&Device::Cpu, &tree, 3, &Query::new())?;
/// assert_eq!((peaks[0].row, peaks[0].column), (0, 2));
/// assert_eq!(peaks.iter().map(|peak| peak.value.to_f64()).collect::<Vec<_>>(), [7.0, 7.0, 5.0]);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`quadrants()`], and [`Error::Binned`](crate::Error::Binned) for a tree of bins.
pub fn top_k<'on, T: Cell>(
    on: impl Into<On<'on>>,
    tree: &Tree<T>,
    k: usize,
    query: &Query,
) -> Result<Vec<Peak>> {
    let On { device, progress } = on.into();
    progress.during("search", || {
        gpu_core::on_device!(
            device,
            cpu => query::top_k(tree, k, query),
            gpu => crate::gpu::host_search::top_k(gpu, tree, k, query),
        )
    })
}

/// Returns a data field for each node of a tree, on any device. The kind of field must be one that a GPU can make.
/// [`cpu::fields`](crate::cpu::fields) takes any.
///
/// ```
/// use ccq_tree::{Params, Sum, build, fields};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let sums = fields(&Device::Cpu, &tree, Sum)?;
/// let total = sums.root().expect("there are values");
/// assert_eq!((total.cells, total.sum), (8, 26));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// [`Error::Core`](crate::Error::Core) where memory or the device fails.
pub fn fields<'on, 't, T: Cell, A: Resident<T> + Copy>(
    on: impl Into<On<'on>>,
    tree: &'t Tree<T>,
    aggregate: A,
) -> Result<Fields<'t, T, A>> {
    let On { device, progress } = on.into();
    progress.during("fields", || {
        gpu_core::on_device!(
            device,
            cpu => of_nodes(tree.into(), aggregate),
            gpu => {
                let fields = crate::gpu::host_search::fields(gpu, tree, aggregate)?;
                Ok(Fields::of_device(tree.into(), aggregate, fields))
            },
        )
    })
}
