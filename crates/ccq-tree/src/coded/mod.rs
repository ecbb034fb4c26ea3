//! Trees over codes, which stand for values or bins. Codes allow values of 64 bits, and nodes of 8 bytes if there are
//! few codes.

mod codes;
mod file;
mod forest;
mod searched;
mod tree;

use gpu_core::{GridView, On};

pub use codes::{CodedParams, Codes, MAX_CODED_BINS};
pub use forest::{CodedForest, CodedMerged};
pub use tree::CodedTree;
pub(crate) use tree::Stored;
use tree::of_stored;

use crate::{
    Bound, Cell, Error, Number, Params, Peak, Query, Result, Statistics, Tree, build, build_tile,
};

/// Builds the tree of a raster of values of any type, from the codes that stand for them.
///
/// Without bins, each value that occurs has its own code, so the tree is exact. Up to 65,535 values or bins make nodes
/// of 8 bytes; more make nodes of 12. The tree is the same on every device. The CPU makes the codes, in 8 bytes a cell;
/// without bins it sorts the values.
///
/// ```
/// use ccq_tree::{CodedParams, Condition, Query, build_coded, count};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![0.1, 0.2, 0.2, 0.3], GridSpec::of_pixels(2, 2))?;
/// let tree = build_coded(&Device::Cpu, raster.view(), &CodedParams::new())?;
/// assert_eq!(tree.codes().values(), [0.1, 0.2, 0.3]);
/// let found = count(&Device::Cpu, &[Condition::of_coded(&tree).range(0.2, 0.3)], &Query::new())?;
/// assert_eq!(found.cells, 2);
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`build`].
pub fn build_coded<'on, T: Number>(
    on: impl Into<On<'on>>,
    raster: GridView<'_, T>,
    params: &CodedParams<T>,
) -> Result<CodedTree<T>> {
    build_of_side(on.into(), raster, None, params)
}

/// Builds the tree of one tile of a raster, as [`build_tile`] does: [`CodedForest::of_trees`] takes it. Its codes stand for the values
/// of the tile alone.
///
/// ```
/// use ccq_tree::{CodedForest, CodedParams, build_coded_tile};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let west = Grid::new(vec![0.1; 64 * 64], GridSpec::new(0.0, 64.0, 1.0, 64, 64)?)?;
/// let east = Grid::new(vec![0.7; 64 * 64], GridSpec::new(64.0, 64.0, 1.0, 64, 64)?)?;
/// let params = CodedParams::new();
/// let build = |tile: &Grid<f64>| build_coded_tile(&Device::Cpu, tile.view(), 64, &params);
/// let trees = vec![build(&west)?, build(&east)?];
/// let whole = CodedForest::of_trees(GridSpec::of_pixels(128, 64), 64, trees)?.merge()?;
/// assert_eq!(whole.bounds(), Some([0.1.into(), 0.7.into()]));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
///
/// # Errors
/// The errors of [`build_tile`].
pub fn build_coded_tile<'on, T: Number>(
    on: impl Into<On<'on>>,
    tile: GridView<'_, T>,
    tile_side: u32,
    params: &CodedParams<T>,
) -> Result<CodedTree<T>> {
    build_of_side(on.into(), tile, Some(tile_side), params)
}

/// The tree of a raster, or of a tile of a side.
fn build_of_side<T: Number>(
    on: On<'_>,
    raster: GridView<'_, T>,
    side: Option<u32>,
    params: &CodedParams<T>,
) -> Result<CodedTree<T>> {
    fn tree<C: Cell>(
        on: On<'_>,
        coded: GridView<'_, C>,
        side: Option<u32>,
        params: &Params,
    ) -> Result<Tree<C>> {
        match side {
            None => build(on, coded, params),
            Some(side) => build_tile(on, coded, side, params),
        }
    }
    let On { device, progress } = on;
    let codes = progress.during("code", || Codes::new(raster.values(), params))?;
    let (inner, on) = (codes.params(params.nodata), device.with_progress(progress));
    let tree = match codes.are_short() {
        true => {
            let coded = codes.encode(raster, params.nodata, |code| code as u16, u16::MAX)?;
            Stored::Short(tree(on, coded.view(), side, &inner)?)
        }
        false => {
            let coded = codes.encode(raster, params.nodata, |code| code, u32::MAX)?;
            Stored::Long(tree(on, coded.view(), side, &inner)?)
        }
    };
    Ok(CodedTree { tree, codes: codes.into(), nodata: params.nodata })
}

impl<T: Number> CodedTree<T> {
    /// Returns [`statistics`](crate::statistics()) of the values, or of the numbers of bins.
    ///
    /// # Errors
    /// The errors of [`statistics`](crate::statistics()).
    pub fn statistics<'on>(&self, on: impl Into<On<'on>>, query: &Query) -> Result<Statistics> {
        let found = of_stored!(&self.tree, tree => crate::statistics(on, tree, query))?;
        let value = |code: Bound| self.codes.bound(code.to_f64() as u32);
        Ok(Statistics { min: found.min.map(value), max: found.max.map(value), ..found })
    }

    /// [`top_k`](crate::top_k()) of the values.
    ///
    /// # Errors
    /// The errors of [`top_k`](crate::top_k()).
    pub fn top_k<'on>(&self, on: impl Into<On<'on>>, k: usize, query: &Query) -> Result<Vec<Peak>> {
        if self.codes.are_bins() {
            return Err(Error::Binned { what: "a search for the greatest values" });
        }
        let mut found = of_stored!(&self.tree, tree => crate::top_k(on, tree, k, query))?;
        let value = |code: Bound| self.codes.bound(code.to_f64() as u32);
        found.iter_mut().for_each(|peak| peak.value = value(peak.value));
        Ok(found)
    }
}
