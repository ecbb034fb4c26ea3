//! Searches of trees in host memory on a GPU: each call copies trees and rasters to the device.

use std::sync::Arc;

use gpu_core::{Gpu, Grid};
use gpu_scan::gpu::Workspace;

use super::DeviceTree;
use super::query::{Condition, Looked, Searched};
use crate::cell::Ranges;
use crate::fields::Resident;
use crate::query::{Condition as HostCondition, check, search_grid};
use crate::{
    Bound, Cell, Connectivity, Count, Peak, Quadrant, Query, Regions, Result, Run, Statistics, Tree,
};

/// Conditions whose trees and rasters were copied to the device.
struct Uploaded(Vec<One>);

/// A condition of them.
struct One {
    tree: Box<dyn Searched>,
    range: Option<(Bound, Bound)>,
    raster: Option<Arc<dyn Looked>>,
}

impl One {
    fn condition(&self) -> Condition<'_> {
        Condition::of_parts(&*self.tree, self.range, self.raster.clone())
    }
}

impl Uploaded {
    /// Checks the conditions before it copies anything.
    fn new(gpu: &Gpu, conditions: &[HostCondition<'_>], query: &Query) -> Result<Self> {
        check(conditions, query)?;
        require_aligned(conditions)?;
        let one = |condition: &HostCondition<'_>| {
            let (tree, range) = (condition.tree.upload(gpu)?, condition.range);
            // The raster is read where a bin is cut, and nowhere else.
            let Ranges { inside, touched, .. } = condition.ranges();
            let raster = condition.raster.filter(|_| inside != touched);
            let raster = raster.map(|(raster, grid)| raster.upload(gpu, grid)).transpose()?;
            Ok(One { tree, range, raster })
        };
        conditions.iter().map(one).collect::<Result<_>>().map(Self)
    }

    fn conditions(&self) -> Vec<Condition<'_>> {
        self.0.iter().map(One::condition).collect()
    }
}

/// Refuses trees that only the CPU searches together.
fn require_aligned(conditions: &[HostCondition<'_>]) -> Result<()> {
    let finest = search_grid(conditions)?;
    let trees = || conditions.iter().map(|condition| condition.tree);
    let bits = trees().map(|tree| tree.bits()).max().unwrap_or(0);
    trees().try_for_each(|tree| {
        super::query::require_aligned(tree.grid(), &finest, bits - tree.bits())
    })
}

pub(crate) fn count(gpu: &Gpu, asked: &[HostCondition<'_>], query: &Query) -> Result<Count> {
    let there = Uploaded::new(gpu, asked, query)?;
    let sums = super::count(&mut Workspace::new(gpu)?, &there.conditions(), query)?.to_host()?;
    Ok(Count { quadrants: sums[0], cells: sums[1], unsure: sums[2] })
}

pub(crate) fn quadrants(
    gpu: &Gpu,
    asked: &[HostCondition<'_>],
    query: &Query,
) -> Result<Vec<Quadrant>> {
    check(asked, query)?;
    // No raster is consulted: none is copied.
    let trees: Vec<_> = asked.iter().map(|one| HostCondition { raster: None, ..*one }).collect();
    let there = Uploaded::new(gpu, &trees, query)?;
    super::quadrants(&mut Workspace::new(gpu)?, &there.conditions(), query)
}

pub(crate) fn mask(gpu: &Gpu, asked: &[HostCondition<'_>], query: &Query) -> Result<Grid<u8>> {
    let there = Uploaded::new(gpu, asked, query)?;
    let mask = super::mask(&mut Workspace::new(gpu)?, &there.conditions(), query)?;
    Ok(mask.to_host()?)
}

pub(crate) fn runs(gpu: &Gpu, asked: &[HostCondition<'_>], query: &Query) -> Result<Vec<Run>> {
    let there = Uploaded::new(gpu, asked, query)?;
    super::runs(&mut Workspace::new(gpu)?, &there.conditions(), query)
}

pub(crate) fn regions(
    gpu: &Gpu,
    asked: &[HostCondition<'_>],
    query: &Query,
    connectivity: Connectivity,
) -> Result<Regions> {
    let there = Uploaded::new(gpu, asked, query)?;
    super::regions(&mut Workspace::new(gpu)?, &there.conditions(), query, connectivity)
}

pub(crate) fn fields<T: Cell, A: Resident<T>>(
    gpu: &Gpu,
    tree: &Tree<T>,
    aggregate: A,
) -> Result<Vec<A::Field>> {
    let there = DeviceTree::upload(gpu, tree)?;
    super::fields(&mut Workspace::new(gpu)?, &there, aggregate)?.to_host()
}

pub(crate) fn statistics<T: Cell>(gpu: &Gpu, tree: &Tree<T>, query: &Query) -> Result<Statistics> {
    check(&[HostCondition::new(tree)], query)?;
    super::statistics(&mut Workspace::new(gpu)?, &DeviceTree::upload(gpu, tree)?, query)
}

pub(crate) fn top_k<T: Cell>(
    gpu: &Gpu,
    tree: &Tree<T>,
    k: usize,
    query: &Query,
) -> Result<Vec<Peak>> {
    check(&[HostCondition::new(tree)], query)?;
    super::top_k(&mut Workspace::new(gpu)?, &DeviceTree::upload(gpu, tree)?, k, query)
}
