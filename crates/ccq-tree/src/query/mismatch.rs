//! Whether a raster is the one that a tree of bins was built from.

use rayon::prelude::*;

use super::{Condition, PARTS, Searched, same_sides};
use crate::params::Window;
use crate::raster::Wanted;
use crate::tree::Place;
use crate::{Bound, RasterRef, Result};

/// Returns the row and the column of a cell where the raster of a condition contradicts the condition's tree. At such a
/// cell the raster's value is in another bin than the tree's, or only one of the two is NODATA. `None` means that no
/// cell contradicts: the raster refines the tree's bins.
///
/// If several cells differ, this is one in the first leaf in Z-order, and there the first by rows. A tree without
/// bins needs no raster, and a condition may have none: both give `None`.
///
/// Work: each cell of the raster is read once, on all cores.
///
/// # Errors
/// [`Error::Sides`](crate::Error::Sides): the raster has other sides than the tree.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ccq_tree::{Condition, Params, build, first_mismatch};
/// use gpu_core::{Device, DeviceChoice, Grid, GridSpec};
///
/// let grid = GridSpec::of_pixels(4, 2);
/// let raster = Grid::new(vec![1u8, 2, 3, 4, 5, 6, 7, 8], grid)?;
/// let other = Grid::new(vec![1u8, 2, 3, 4, 5, 1, 7, 8], grid)?;
/// let device = Device::open(DeviceChoice::Cpu)?;
/// let tree = build(&device, raster.view(), &Params::new().bins([4.0]))?;
/// assert_eq!(first_mismatch(&Condition::new(&tree).raster(raster.view()))?, None);
/// assert_eq!(first_mismatch(&Condition::new(&tree).raster(other.view()))?, Some([1, 1]));
/// # Ok(())
/// # }
/// ```
pub fn first_mismatch(condition: &Condition<'_>) -> Result<Option<[u32; 2]>> {
    let (tree, Some((raster, grid))) = (condition.tree, condition.raster) else { return Ok(None) };
    same_sides("a raster", &grid, tree.grid())?;
    let boundaries = tree.boundaries();
    if boundaries.is_empty() {
        return Ok(None);
    }
    let infinite = [f64::NEG_INFINITY, f64::INFINITY].map(Bound::from);
    let ends = [&infinite[..1], &boundaries, &infinite[1..]].concat();
    let nodata = tree.nodata();
    let bin = |ends: &[Bound]| raster.wanted(Some((ends[0], ends[1])), nodata);
    let bins = ends.windows(2).map(bin).collect();
    let both = Both { tree, raster, bins, any: raster.wanted(None, nodata) };
    Ok(both.parts().into_par_iter().find_map_first(|part| both.first(part)))
}

/// A tree, and a raster that may be its own.
struct Both<'a> {
    tree: &'a dyn Searched,
    raster: RasterRef<'a>,
    /// The cells of each bin.
    bins: Vec<Wanted>,
    /// The cells that have a value.
    any: Wanted,
}

/// A quadrant, and the node that it is.
type Part = (Place, Option<u32>);

impl Both<'_> {
    /// Quadrants that are all of the raster together, enough for all threads.
    fn parts(&self) -> Vec<Part> {
        let mut parts = vec![(Place::ROOT, Some(0))];
        for _ in 0..self.tree.bits() {
            if parts.len() >= PARTS {
                break;
            }
            let below = |part: &Part| self.children(*part).unwrap_or_else(|| vec![*part]);
            parts = parts.iter().flat_map(below).collect();
        }
        parts
    }

    /// The quadrants below one; `None` where it is not divided.
    fn children(&self, (place, node): Part) -> Option<Vec<Part>> {
        let node = node.filter(|&node| self.tree.node(node).is_some_and(|n| n.has_children))?;
        let children = self.tree.children(node, place);
        Some((0..4).map(|corner| (place.child(corner), children.get(corner))).collect())
    }

    /// The first cell of a quadrant that differs.
    fn first(&self, part: Part) -> Option<[u32; 2]> {
        let (place, node) = part;
        let cells = place.cells(self.tree.bits(), self.tree.grid())?;
        if let Some(children) = self.children(part) {
            return children.into_iter().find_map(|child| self.first(child));
        }
        match node.and_then(|node| self.tree.node(node)) {
            Some(leaf) => {
                let bin = self.tree.value(leaf.min).to_f64() as usize;
                self.first_in(cells, |row| self.first_other(self.bins.get(bin)?, row))
            }
            None => self.first_in(cells, |row| self.first_of(&self.any, row)),
        }
    }

    /// The first of a quadrant's cells for whose row, by its first and its last number in the raster, `of` gives a number.
    fn first_in(
        &self,
        cells: Window,
        of: impl Fn([usize; 2]) -> Option<usize>,
    ) -> Option<[u32; 2]> {
        let width = self.tree.grid().width as usize;
        (cells.row0..cells.row1).find_map(|row| {
            let line = row as usize * width;
            let ends = [cells.column0, cells.column1].map(|column| line + column as usize);
            of(ends).map(|cell| [row, (cell - line) as u32])
        })
    }

    /// The first cell of some that counts.
    fn first_of(&self, wanted: &Wanted, [from, to]: [usize; 2]) -> Option<usize> {
        let mut found = None;
        self.raster.each_wanted(*wanted, from..to, |cell| found = found.or(Some(cell)));
        found
    }

    /// The first cell of some that does not count.
    fn first_other(&self, wanted: &Wanted, [from, to]: [usize; 2]) -> Option<usize> {
        // Cells come in order.
        let mut next = from;
        self.raster.each_wanted(*wanted, from..to, |cell| next += usize::from(cell == next));
        (next < to).then_some(next)
    }
}
