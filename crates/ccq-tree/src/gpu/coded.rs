//! Coded trees in device memory.

use std::sync::Arc;

use device_std::In;
use gpu_core::{Column, Gpu, GridSpec};

use super::DeviceTree;
use super::query::Searched;
use crate::cell::Ranges;
use crate::coded::Stored;
use crate::{Bound, CodedTree, Codes, Number, Result};

/// A [`CodedTree`] whose nodes are in device memory, and whose table of codes is on the host.
///
/// ```
/// use ccq_tree::gpu::{Condition, DeviceCodedTree, Workspace, count};
/// use ccq_tree::{CodedParams, Query, build_coded};
/// use gpu_core::{Device, DeviceChoice, Gpu, Grid, GridSpec};
///
/// # fn main() -> Result<(), ccq_tree::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let raster = Grid::new(vec![0.1, 0.2, 0.2, 0.3], GridSpec::of_pixels(2, 2))?;
/// let tree = build_coded(&Device::Cpu, raster.view(), &CodedParams::new())?;
/// let tree = DeviceCodedTree::upload(&gpu, &tree)?;
/// let condition = Condition::of_coded(&tree).range(0.2, 0.3); // 0.2, not 0.3
/// let counted = count(&mut workspace, &[condition], &Query::new())?;
/// assert_eq!(counted.to_host()?[1], 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DeviceCodedTree<T: Number> {
    tree: Nodes,
    codes: Arc<Codes<T>>,
    nodata: Option<T>,
}

#[derive(Debug)]
enum Nodes {
    Short(DeviceTree<u16>),
    Long(DeviceTree<u32>),
}

impl Nodes {
    fn searched(&self) -> &dyn Searched {
        match self {
            Self::Short(tree) => tree,
            Self::Long(tree) => tree,
        }
    }
}

impl<T: Number> DeviceCodedTree<T> {
    /// Copies a tree to the device. Waits for the copy.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where the device's memory does not suffice.
    pub fn upload(gpu: &Gpu, tree: &CodedTree<T>) -> Result<Self> {
        let nodes = match &tree.tree {
            Stored::Short(tree) => Nodes::Short(DeviceTree::upload(gpu, tree)?),
            Stored::Long(tree) => Nodes::Long(DeviceTree::upload(gpu, tree)?),
        };
        Ok(Self { tree: nodes, codes: tree.codes.clone(), nodata: tree.nodata })
    }

    /// Returns where the raster lies.
    pub fn grid(&self) -> &GridSpec {
        self.tree.searched().grid()
    }

    /// Returns the table of codes: what each code stands for.
    pub fn codes(&self) -> &Codes<T> {
        &self.codes
    }
}

impl<T: Number> Searched for DeviceCodedTree<T> {
    fn grid(&self) -> &GridSpec {
        self.grid()
    }

    fn bits(&self) -> u32 {
        self.tree.searched().bits()
    }

    fn kind(&self) -> u32 {
        self.tree.searched().kind()
    }

    fn nodes(&self) -> (In<'_, u32>, u32) {
        self.tree.searched().nodes()
    }

    fn presence(&self) -> &Column<u8> {
        self.tree.searched().presence()
    }

    fn ranges(&self, range: (Bound, Bound)) -> Ranges {
        self.codes.ranges(range)
    }

    fn nodata(&self) -> Option<u32> {
        self.tree.searched().nodata()
    }

    fn nodata_value(&self) -> Option<Bound> {
        self.nodata.map(Number::bound)
    }

    fn value(&self, key: u32) -> Bound {
        // The key of an unsigned number is itself.
        self.codes.bound(key)
    }

    fn is_coded(&self) -> bool {
        true
    }
}
