//! Values of points in device memory.

use gpu_core::{Column, Gpu, Slice};
use gpu_scan::Number;
use gpu_scan::gpu::{gather, scatter, sequence};

use super::{Coordinate, DeviceQuadtree, Workspace};
use crate::{Result, Value, ValueType, Values};

/// [`Values`] in device memory: a number for each point of a tree, in the order of the tree.
///
/// Example: see [`Values`](crate::Values), called in [this form](crate::gpu#examples).
#[derive(Debug)]
pub struct DeviceValues {
    name: String,
    value_type: ValueType,
    numbers: Numbers,
}

/// Numbers by their size.
#[derive(Debug)]
enum Numbers {
    One(Column<u8>),
    Two(Column<u16>),
    Four(Column<u32>),
    Eight(Column<u64>),
}

impl DeviceValues {
    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its numbers.
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Returns the numbers; `None` if they have another type.
    pub fn slice<V: Value>(&self) -> Option<Slice<'_, V>> {
        (V::TYPE == self.value_type).then(|| match &self.numbers {
            Numbers::One(column) => Slice::from(column).cast(),
            Numbers::Two(column) => Slice::from(column).cast(),
            Numbers::Four(column) => Slice::from(column).cast(),
            Numbers::Eight(column) => Slice::from(column).cast(),
        })
    }

    /// Enqueues the gather of values into the order of a tree.
    pub(super) fn gathered<V: Value>(
        workspace: &mut Workspace,
        name: &str,
        order: &Column<u32>,
        given: Slice<'_, V>,
    ) -> Result<Self> {
        let numbers = match size_of::<V>() {
            1 => Numbers::One(in_order(workspace, order, given.cast())?),
            2 => Numbers::Two(in_order(workspace, order, given.cast())?),
            4 => Numbers::Four(in_order(workspace, order, given.cast())?),
            _ => Numbers::Eight(in_order(workspace, order, given.cast())?),
        };
        Ok(Self { name: name.to_owned(), value_type: V::TYPE, numbers })
    }

    /// Copies the values to the host. Waits for the stream.
    pub(super) fn to_host(&self) -> Result<Values> {
        let kind = (self.name.clone(), self.value_type);
        match &self.numbers {
            Numbers::One(column) => filled(kind, column),
            Numbers::Two(column) => filled(kind, column),
            Numbers::Four(column) => filled(kind, column),
            Numbers::Eight(column) => filled(kind, column),
        }
    }

    /// Copies values to a device.
    pub(super) fn from_host(gpu: &Gpu, values: &Values) -> Result<Self> {
        let value_type = values.value_type();
        let numbers = match value_type.size() {
            1 => Numbers::One(gpu.upload(values.numbers())?),
            2 => Numbers::Two(gpu.upload(values.numbers())?),
            4 => Numbers::Four(gpu.upload(values.numbers())?),
            _ => Numbers::Eight(gpu.upload(values.numbers())?),
        };
        Ok(Self { name: values.name().to_owned(), value_type, numbers })
    }
}

/// Enqueues the gather of a column into an order.
fn in_order<B: Number>(
    workspace: &mut Workspace,
    order: &Column<u32>,
    given: Slice<'_, B>,
) -> Result<Column<B>> {
    // SAFETY: the gather writes every element, as the indices of a tree's order are below the number of points given.
    let mut numbers = unsafe { workspace.gpu().uninitialized::<B>(order.len())? };
    gather(workspace, order, given, &mut numbers)?;
    Ok(numbers)
}

/// A copy of a column on the host.
fn filled<B: Number>(kind: (String, ValueType), column: &Column<B>) -> Result<Values> {
    let numbers = column.to_host()?;
    Values::filled(kind, numbers.len(), |values: &mut [B]| values.copy_from_slice(&numbers))
}

/// Returns the places of points in the order of the tree, as [`Quadtree::places_of`](crate::Quadtree::places_of). A
/// gather by these places gives the x, the y and the values of the points that a search found. Enqueues and returns.
///
/// Cost: a scatter of the tree's points and a gather of the wanted ones; scratch of 4 bytes for each point of the tree,
/// and 4 for each point given.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu};
/// use quadtree_sort::Params;
/// use quadtree_sort::gpu::{Workspace, build, places_of};
///
/// # fn main() -> Result<(), quadtree_sort::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let (x, y) = (gpu.upload(&[8.0, 0.0])?, gpu.upload(&[8.0, 0.0])?);
/// let tree = build(&mut workspace, &x, &y, &Params::new().threshold(1))?;
/// let tree = tree.with_values(&mut workspace, "class", &gpu.upload(&[6u8, 2])?)?;
/// let indices = gpu.upload(&[0u32])?; // of the points as given
/// let places = places_of(&mut workspace, &tree, &indices)?.to_host()?;
/// assert_eq!(places, [1]); // the point in the north-east is the last of the tree
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::Core`](crate::Error::Core).
pub fn places_of<'a, T: Coordinate>(
    workspace: &mut Workspace,
    tree: &DeviceQuadtree<T>,
    indices: impl Into<Slice<'a, u32>>,
) -> Result<Column<u32>> {
    let (gpu, indices) = (workspace.gpu().clone(), indices.into());
    let mut found = gpu.filled_with_byte::<u32>(0xff, indices.len())?;
    let mut places = gpu.filled_with_byte::<u32>(0xff, tree.given as usize)?;
    // SAFETY: the sequence writes every element.
    let mut numbers = unsafe { gpu.uninitialized::<u32>(tree.len())? };
    sequence(workspace, 0, 1, &mut numbers)?;
    scatter(workspace, &tree.order, &numbers, &mut places)?;
    gather(workspace, indices, &places, &mut found)?;
    Ok(found)
}
