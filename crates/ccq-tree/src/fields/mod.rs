//! Data fields of the user's choice (Zhang et al., 3.1 and 3.2). Beside the least and the greatest value, a node then
//! holds more about its quadrant, such as the sum of its values, or which classes occur.
//!
//! A tree without bins has every value, so fields follow from it in one pass over its nodes, and its file need not hold
//! them. Fields have an array of their own, in the order of the nodes, so a search by values does not read them.

mod class_set;
mod ready;
mod wide_sum;

use gpu_core::{host_memory, parallel};

pub use class_set::ClassSet;
pub use ready::{Classes, Resident, Sum, Summed, Total};
pub use wide_sum::WideSum;

use crate::query::{FoundNode, Searched, each_found};
use crate::tree::{Children, Place};
use crate::{Cell, CodedTree, Codes, Condition, Error, Number, Quadrant, Query, Result, Tree};

/// A data field, and how to compute it: from the value of equal cells, and from the fields of quadrants.
///
/// [`Sum`] and [`Classes`] are provided. A device can compute these too ([`Resident`]), for trees whose nodes hold the
/// values themselves. You can write other fields, which the CPU computes.
///
/// ```
/// use ccq_tree::{Aggregate, Params, Query, build, cpu};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// /// The sum of squares.
/// struct Squares;
///
/// impl Aggregate<i16> for Squares {
///     type Field = i64;
///     fn of_value(&self, value: i16, cells: u64) -> i64 {
///         i64::from(value) * i64::from(value) * cells as i64
///     }
///     fn combine(&self, a: i64, b: i64) -> i64 {
///         a + b
///     }
/// }
///
/// # fn main() -> Result<(), ccq_tree::Error> {
/// let raster = Grid::new(vec![1i16, 2, 3, 4], GridSpec::of_pixels(2, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// let fields = cpu::fields(&tree, Squares)?;
/// assert_eq!(fields.root(), Some(30));
/// assert_eq!(fields.total(&[fields.condition().range(2, 4)], &Query::new())?, Some(13));
/// # Ok(())
/// # }
/// ```
pub trait Aggregate<T>: Sync {
    /// The field of a node.
    type Field: Copy + Send + Sync;

    /// Returns the field of `cells` cells of one value. In a tree of bins the value is the bin's number.
    fn of_value(&self, value: T, cells: u64) -> Self::Field;

    /// Combines the fields of two quadrants into one. Calls come in Z-order, from the north-west on.
    fn combine(&self, a: Self::Field, b: Self::Field) -> Self::Field;
}

/// The answer of a search by fields about a quadrant.
///
/// Example: see [`Fields`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The search finds none of its cells.
    None,
    /// All of its cells are.
    All,
    /// The search may find some of its cells: its children decide.
    Some,
}

/// A tree whose nodes can have data fields: a [`Tree`], or a [`CodedTree`] without bins.
///
/// Example: see [`cpu::fields`](crate::cpu::fields).
pub struct Fielded<'t, T: Number> {
    tree: &'t dyn Searched,
    /// The values that keys stand for, where those are codes.
    codes: Option<&'t Codes<T>>,
}

impl<'t, T: Cell> From<&'t Tree<T>> for Fielded<'t, T> {
    fn from(tree: &'t Tree<T>) -> Self {
        Self { tree, codes: None }
    }
}

impl<'t, T: Number> From<&'t CodedTree<T>> for Fielded<'t, T> {
    fn from(tree: &'t CodedTree<T>) -> Self {
        Self { tree, codes: Some(tree.codes()) }
    }
}

impl<T: Number> Fielded<'_, T> {
    /// The value of a key.
    fn value(&self, key: u32) -> T {
        match self.codes {
            // A code of no value, as damaged files may have one, is the least.
            Some(codes) => {
                codes.values().get(key as usize).copied().unwrap_or(T::of_rank(T::RANKS.0))
            }
            None => T::of_rank(key.into()),
        }
    }

    /// The field of some cells of a leaf.
    fn of_leaf<A: Aggregate<T>>(&self, aggregate: &A, leaf: u32, cells: u64) -> A::Field {
        let key = self.tree.node(leaf).map_or(0, |node| node.min);
        aggregate.of_value(self.value(key), cells)
    }
}

/// A tree with a data field for each node.
///
/// ```
/// use ccq_tree::{Classes, Judgement, Params, build, cpu};
/// use gpu_core::{Device, Grid, GridSpec};
///
/// let raster = Grid::new(vec![1u8, 1, 7, 3, 1, 1, 5, 7], GridSpec::of_pixels(4, 2))?;
/// let tree = build(&Device::Cpu, raster.view(), &Params::new())?;
/// // The largest quadrants whose cells are all of class 1.
/// let fields = cpu::fields(&tree, Classes)?;
/// let found = fields.quadrants(|&classes| match classes {
///     2 => Judgement::All, // bit 1 alone
///     _ if classes & 2 == 0 => Judgement::None,
///     _ => Judgement::Some, // its children say
/// });
/// assert_eq!(found.len(), 1);
/// assert_eq!((found[0].row, found[0].column, found[0].size), (0, 0, 2));
/// # Ok::<(), ccq_tree::Error>(())
/// ```
pub struct Fields<'t, T: Number, A: Aggregate<T>> {
    of: Fielded<'t, T>,
    aggregate: A,
    fields: Vec<A::Field>,
}

/// Nodes that are worth a task of their own.
const TOGETHER: usize = 1 << 12;

/// The fields of a tree's nodes.
///
/// Work: O(nodes), in 8 bytes a node beside the fields.
///
/// # Errors
/// [`Error::Binned`] for a coded tree of bins; [`Error::Core`] where memory does not suffice.
pub(crate) fn of_nodes<'t, T: Number, A: Aggregate<T>>(
    of: Fielded<'t, T>,
    aggregate: A,
) -> Result<Fields<'t, T, A>> {
    let tree = of.tree;
    if of.codes.is_some_and(Codes::are_bins) {
        return Err(Error::Binned { what: "a data field" });
    }
    let starts: Vec<usize> = tree.starts().iter().map(|&start| start as usize).collect();
    let nodes = starts.last().copied().unwrap_or(0);
    if nodes == 0 {
        return Ok(Fields { of, aggregate, fields: Vec::new() });
    }
    let places = places(tree, &starts)?;
    let mut fields = host_memory::filled(of.of_leaf(&aggregate, 0, 0), nodes)?;
    for level in (0..=tree.bits()).rev() {
        let (start, end) = (starts[level as usize], starts[level as usize + 1]);
        let (above, below) = fields.split_at_mut(end);
        parallel::for_chunks(&mut above[start..], TOGETHER, |i, part| {
            for (position, field) in (start + i * TOGETHER..).zip(part) {
                let [x, y] = places[position];
                let place = Place { level, x, y };
                let children = tree.children(position as u32, place);
                let of_children = (0..4).filter_map(|corner| children.get(corner));
                let of_children = of_children.map(|child| below[child as usize - end]);
                let all = of_children.reduce(|a, b| aggregate.combine(a, b));
                *field = all.unwrap_or_else(|| {
                    let cells = place.cells(tree.bits(), tree.grid());
                    let cells = cells.map_or(0, |cells| cells.cells());
                    of.of_leaf(&aggregate, position as u32, cells)
                });
            }
        });
    }
    Ok(Fields { of, aggregate, fields })
}

/// The column and row of each node's quadrant among those of its level.
fn places(tree: &dyn Searched, starts: &[usize]) -> Result<Vec<[u32; 2]>> {
    let mut places = host_memory::filled([0; 2], starts.last().copied().unwrap_or(0))?;
    for level in 0..=tree.bits() {
        for position in starts[level as usize]..starts[level as usize + 1] {
            let [x, y] = places[position];
            let place = Place { level, x, y };
            let children = tree.children(position as u32, place);
            for corner in 0..4 {
                if let Some(child) = children.get(corner) {
                    let Place { x, y, .. } = place.child(corner);
                    places[child as usize] = [x, y];
                }
            }
        }
    }
    Ok(places)
}

impl<'t, T: Number, A: Aggregate<T>> Fields<'t, T, A> {
    /// The fields that a device made of a tree's nodes.
    #[cfg(feature = "cuda")]
    pub(crate) fn of_device(of: Fielded<'t, T>, aggregate: A, fields: Vec<A::Field>) -> Self {
        Self { of, aggregate, fields }
    }

    /// Returns the field of each node, in the order of the nodes.
    pub fn fields(&self) -> &[A::Field] {
        &self.fields
    }

    /// Returns the field of the whole raster; `None` where no cell has a value.
    pub fn root(&self) -> Option<A::Field> {
        self.fields.first().copied()
    }

    /// Accepts any value of the tree's raster: the first of the conditions of [`total`](Self::total).
    pub fn condition(&self) -> Condition<'t> {
        Condition { tree: self.of.tree, range: None, raster: None }
    }

    /// Returns the field of all cells that satisfy all conditions; `None` where no cell does. The first condition
    /// must be of this [tree](Self::condition). Quadrants are combined from left to right in Z-order.
    ///
    /// # Errors
    /// - The errors of [`quadrants`](crate::quadrants()).
    /// - [`Error::NeedsRaster`](crate::Error::NeedsRaster): a range cuts through a bin.
    /// - [`Error::Fields`](crate::Error::Fields): the first condition's tree is not this one, or does not have the
    ///   finest cells.
    pub fn total(&self, conditions: &[Condition<'_>], query: &Query) -> Result<Option<A::Field>> {
        self.require_own(conditions)?;
        let found = each_found(conditions, query, &|found: FoundNode| {
            let node = self.of.tree.node(found.node);
            match node.is_some_and(|node| node.has_children) {
                false => self.of.of_leaf(&self.aggregate, found.node, found.cells),
                true => self.fields[found.node as usize],
            }
        })?;
        Ok(found.into_iter().reduce(|a, b| self.aggregate.combine(a, b)))
    }

    /// Refuses conditions of which the first is not of this tree.
    fn require_own(&self, conditions: &[Condition<'_>]) -> Result<()> {
        let own: *const dyn Searched = self.of.tree;
        let is_own = conditions.first().is_some_and(|first| std::ptr::addr_eq(first.tree, own));
        let is_finest = is_own && crate::search_grid(conditions)? == *self.of.tree.grid();
        if is_finest { Ok(()) } else { Err(Error::Fields) }
    }

    /// Returns the quadrants that a search by fields finds, in Z-order. `judge` gets the field of a quadrant, or of
    /// a part of a leaf. If it says [`Judgement::Some`] of a leaf, the leaf is taken in part.
    pub fn quadrants(&self, judge: impl Fn(&A::Field) -> Judgement) -> Vec<Quadrant> {
        let mut found = Vec::new();
        if !self.fields.is_empty() {
            self.visit(0, Place::ROOT, &judge, &mut found);
        }
        found
    }

    fn visit(
        &self,
        position: u32,
        place: Place,
        judge: &impl Fn(&A::Field) -> Judgement,
        found: &mut Vec<Quadrant>,
    ) {
        let tree = self.of.tree;
        let Some(node) = tree.node(position) else { return };
        let judgement = judge(&self.fields[position as usize]);
        let is_open = node.has_children
            && (judgement == Judgement::Some || judgement == Judgement::All && node.is_mixed);
        if judgement == Judgement::None {
            return;
        }
        if is_open {
            let children: Children = tree.children(position, place);
            for corner in 0..4 {
                if let Some(child) = children.get(corner) {
                    self.visit(child, place.child(corner), judge, found);
                }
            }
            return;
        }
        let size = place.side(tree.bits());
        found.push(Quadrant {
            row: place.y * size,
            column: place.x * size,
            size,
            min: tree.value(node.min),
            max: tree.value(node.max),
            is_partly: judgement == Judgement::Some,
        });
    }
}
