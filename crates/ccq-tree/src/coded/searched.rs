//! Coded trees as searches see them: the keys of nodes are codes.

use gpu_core::GridSpec;

use super::{CodedTree, of_stored};
#[cfg(feature = "cuda")]
use crate::Result;
use crate::cell::Ranges;
use crate::query::{Keyed, Searched};
use crate::tree::{Children, Place};
use crate::{Bound, Condition, Number};

impl<'a> Condition<'a> {
    /// Accepts any value of a coded tree's raster.
    pub fn of_coded<T: Number>(tree: &'a CodedTree<T>) -> Self {
        Self { tree, range: None, raster: None }
    }
}

impl<T: Number> Searched for CodedTree<T> {
    fn grid(&self) -> &GridSpec {
        CodedTree::grid(self)
    }

    fn bits(&self) -> u32 {
        of_stored!(&self.tree, tree => tree.bits)
    }

    fn nodata(&self) -> Option<Bound> {
        self.nodata.map(Number::bound)
    }

    fn boundaries(&self) -> Vec<Bound> {
        let boundaries = self.codes.values().iter().filter(|_| self.codes.are_bins());
        boundaries.map(|boundary| boundary.bound()).collect()
    }

    fn node(&self, position: u32) -> Option<Keyed> {
        of_stored!(&self.tree, tree => Searched::node(tree, position))
    }

    fn children(&self, position: u32, place: Place) -> Children {
        of_stored!(&self.tree, tree => Searched::children(tree, position, place))
    }

    fn ranges(&self, range: (Bound, Bound)) -> Ranges {
        self.codes.ranges(range)
    }

    fn value(&self, key: u32) -> Bound {
        // The key of an unsigned number is itself.
        self.codes.bound(key)
    }

    fn starts(&self) -> &[u64] {
        of_stored!(&self.tree, tree => &tree.starts)
    }

    fn link(&self, position: u32) -> u32 {
        of_stored!(&self.tree, tree => Searched::link(tree, position))
    }

    fn presence(&self) -> &[u8] {
        of_stored!(&self.tree, tree => &tree.presence)
    }

    #[cfg(feature = "cuda")]
    fn upload(&self, gpu: &gpu_core::Gpu) -> Result<Box<dyn crate::gpu::Searched>> {
        Ok(Box::new(crate::gpu::DeviceCodedTree::upload(gpu, self)?))
    }
}
