//! A tree in device memory.

use device_std::In;
use gpu_core::parallel::{self, FINE};
use gpu_core::{Bounds, Column, Gpu, Slice};
use kernels_rs::quadtree::Words;
use kernels_rs::spatial::frame::Frame;

use super::values::DeviceValues;
use super::{Coordinate, Workspace};
use crate::tree::{Node, Quadtree};
use crate::{Result, Value, values};

/// A point quadtree in device memory, with coordinates as they were given.
///
/// Example: see [the module](crate::gpu#examples).
#[derive(Debug)]
pub struct DeviceQuadtree<T: Coordinate> {
    pub(super) frame: Frame,
    pub(super) bounds: Bounds,
    pub(super) threshold: u32,
    /// Memory for nodes; the first `node_count` exist.
    pub(super) nodes: Column<Node>,
    pub(super) node_count: usize,
    pub(super) order: Column<u32>,
    pub(super) x: Column<T>,
    pub(super) y: Column<T>,
    pub(super) values: Vec<DeviceValues>,
    pub(super) given: u64,
    pub(super) system: u16,
}

impl<T: Coordinate> DeviceQuadtree<T> {
    /// The nodes, as [`Quadtree::nodes`].
    ///
    /// # Errors
    /// Never: the call cannot fail today.
    pub fn nodes(&self) -> Result<Slice<'_, Node>> {
        Ok(self.nodes.slice(0..self.node_count)?)
    }

    /// Copies only the nodes to the host, for programs that plan their work by the nodes. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn nodes_to_host(&self) -> Result<Vec<Node>> {
        Ok(self.nodes.first_to_host(self.node_count)?)
    }

    /// The number of nodes.
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// The indices of the points, as [`Quadtree::order`].
    pub fn order(&self) -> &Column<u32> {
        &self.order
    }

    /// The x of the points in the order of the tree.
    pub fn x(&self) -> &Column<T> {
        &self.x
    }

    /// The y of the points in the order of the tree.
    pub fn y(&self) -> &Column<T> {
        &self.y
    }

    /// Returns the same tree, whose points also carry values, as [`Quadtree::with_values`] does. Enqueues a gather and
    /// returns.
    ///
    /// # Errors
    /// The errors of [`Quadtree::with_values`].
    pub fn with_values<'a, V: Value>(
        mut self,
        workspace: &mut Workspace,
        name: &str,
        values: impl Into<Slice<'a, V>>,
    ) -> Result<Self> {
        let values = values.into();
        let names = self.values.iter().map(DeviceValues::name);
        values::check(name, names, [self.given, values.len() as u64])?;
        self.values.push(DeviceValues::gathered(workspace, name, &self.order, values)?);
        Ok(self)
    }

    /// The columns of values that the points carry, as [`Quadtree::values`].
    pub fn values(&self) -> &[DeviceValues] {
        &self.values
    }

    /// The column of values of a name, as [`Quadtree::values_of`].
    pub fn values_of<V: Value>(&self, name: &str) -> Option<Slice<'_, V>> {
        self.values.iter().find(|values| values.name() == name)?.slice()
    }

    /// The number of points in the tree.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it has no points.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the root's ground.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// The most points of a leaf above the deepest level.
    pub fn threshold(&self) -> u32 {
        self.threshold
    }

    /// The deepest level that a node may have.
    pub fn max_level(&self) -> u32 {
        self.frame.level
    }

    /// The nodes, as the kernels see them.
    pub(super) fn words(&self) -> In<'_, Words> {
        Slice::from(&self.nodes).cast().input()
    }

    /// Copies the tree to the host, coordinates widened to f64. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn to_host(&self) -> Result<Quadtree> {
        let widened = |column: &Column<T>| -> Result<Vec<f64>> {
            let column = column.to_host()?;
            Ok(parallel::map(column.len(), FINE, |i| column[i].widened()))
        };
        Ok(Quadtree {
            frame: self.frame,
            bounds: self.bounds,
            threshold: self.threshold,
            nodes: self.nodes_to_host()?.into(),
            order: self.order.to_host()?.into(),
            x: widened(&self.x)?.into(),
            y: widened(&self.y)?.into(),
            values: self.values.iter().map(DeviceValues::to_host).collect::<Result<_>>()?,
            given: self.given,
            system: self.system,
        })
    }
}

impl DeviceQuadtree<f64> {
    /// Copies a tree to a device: one that was read from a file, or built on the CPU. Waits for the copies.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core).
    pub fn from_host(gpu: &Gpu, tree: &Quadtree) -> Result<Self> {
        let values = tree.values.iter().map(|values| DeviceValues::from_host(gpu, values));
        Ok(Self { values: values.collect::<Result<_>>()?, ..Self::without_values(gpu, tree)? })
    }

    /// Copies of a tree what searches need.
    pub(super) fn without_values(gpu: &Gpu, tree: &Quadtree) -> Result<Self> {
        Ok(Self {
            frame: tree.frame,
            bounds: tree.bounds,
            threshold: tree.threshold,
            nodes: gpu.upload(&tree.nodes)?,
            node_count: tree.nodes.len(),
            order: gpu.upload(&tree.order)?,
            x: gpu.upload(&tree.x)?,
            y: gpu.upload(&tree.y)?,
            values: Vec::new(),
            given: tree.given,
            system: tree.system,
        })
    }
}
