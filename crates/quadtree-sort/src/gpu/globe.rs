//! Indexes of places on the globe, on the device: unit vectors with boxes in space, in the order of a curve over an
//! unfolded octahedron.

use gpu_core::{Blocks, Bounds, Column, Slice};
use gpu_scan::gpu::gather;
use kernels_rs::rtree::layout::Layout;
use kernels_rs::rtree::{
    Places, Tree, bound_boxes_of_vectors, bound_vectors, turn_boxes_of_vectors, turn_vectors,
    unfold_vectors,
};

use super::Workspace;
use super::index::{index_unchecked, level_of};
use crate::Result;

/// An index of unit vectors, for other crates of Tessera.
#[derive(Debug)]
pub struct GlobeIndex {
    vectors: [Column<f64>; 3],
    order: Column<u32>,
    boxes: Column<[[f64; 3]; 2]>,
    turned: Column<[[f64; 3]; 3]>,
    layout: Layout,
}

/// The square of the unfolded octahedron.
const SQUARE: Bounds = Bounds { min_x: -1.0, min_y: -1.0, max_x: 1.0, max_y: 1.0 };

/// Indexes unit vectors, given as columns of x, y and z. Waits as [`index_unchecked`] does.
///
/// # Errors
/// [`Error::Core`](crate::Error::Core) for the device.
pub fn globe_index(workspace: &mut Workspace, vectors: [Slice<'_, f64>; 3]) -> Result<GlobeIndex> {
    let (gpu, len) = (workspace.gpu().clone(), vectors[0].len());
    let order = order_on_globe(workspace, vectors)?;
    let layout = Layout::new(len as u32);
    // SAFETY: lengths are as the kernels need them, and each column is written before it is read.
    unsafe {
        let mut sorted = [0; 3].map(|_| gpu.uninitialized::<f64>(len));
        for (from, to) in vectors.into_iter().zip(&mut sorted) {
            if let Ok(to) = to {
                gather(workspace, &order, from, to)?;
            }
        }
        let [x, y, z] = sorted;
        let vectors = [x?, y?, z?];
        // Zeros stand between the levels, so that copies read nothing that nobody wrote.
        let mut boxes = gpu.zeroed::<[[f64; 3]; 2]>(layout.total as usize)?;
        let mut turned = gpu.zeroed::<[[f64; 3]; 3]>(layout.total as usize)?;
        if len > 0 {
            let places = places(vectors.each_ref().map(Slice::from));
            let arguments = bound_vectors::Args { places, boxes: boxes.output() };
            gpu.enqueue(bound_vectors, Blocks::for_each(&bound_vectors, len as u64)?, arguments)?;
            let (boxes, turned) = (boxes.input(), turned.output());
            let arguments = turn_vectors::Args { places, boxes, turned };
            let blocks = Blocks::for_each(&turn_vectors, layout.counts[0].into())?;
            gpu.enqueue(turn_vectors, blocks, arguments)?;
        }
        for level in 0..layout.top as usize {
            let (runs, level) = (layout.counts[level + 1].into(), level_of(&layout, level));
            let arguments = bound_boxes_of_vectors::Args { boxes: boxes.output(), level };
            let blocks = Blocks::for_each(&bound_boxes_of_vectors, level.len.into())?;
            gpu.enqueue(bound_boxes_of_vectors, blocks, arguments)?;
            let arguments = turn_boxes_of_vectors::Args { turned: turned.output(), level };
            let blocks = Blocks::for_each(&turn_boxes_of_vectors, runs)?;
            gpu.enqueue(turn_boxes_of_vectors, blocks, arguments)?;
        }
        Ok(GlobeIndex { vectors, order, boxes, turned, layout })
    }
}

/// The order of unit vectors along the curve.
fn order_on_globe(workspace: &mut Workspace, vectors: [Slice<'_, f64>; 3]) -> Result<Column<u32>> {
    let (gpu, len) = (workspace.gpu().clone(), vectors[0].len());
    // SAFETY: lengths are as the kernel needs them, and each column is written.
    let [x, y] = unsafe {
        let (mut x, mut y) = (gpu.uninitialized(len)?, gpu.uninitialized(len)?);
        if len > 0 {
            let (vectors, x, y) = (places(vectors), x.output(), y.output());
            let blocks = Blocks::for_each(&unfold_vectors, len as u64)?;
            gpu.enqueue(unfold_vectors, blocks, unfold_vectors::Args { vectors, x, y })?;
        }
        [x, y]
    };
    Ok(index_unchecked(workspace, &x, &y, SQUARE)?.into_order())
}

/// Unit vectors as kernels take them.
fn places<'a>([x, y, z]: [Slice<'a, f64>; 3]) -> Places<'a, f64> {
    Places { x: x.input(), y: y.input(), z: Some(z.input()), len: x.len() as u32 }
}

impl GlobeIndex {
    /// The indices of the points, as given, in the order of the index.
    pub fn order(&self) -> &Column<u32> {
        &self.order
    }

    /// The index as an argument of kernels.
    pub fn tree(&self) -> Tree<'_, f64, 3> {
        let (Layout { starts, top, roots, .. }, [x, y, z]) = (self.layout, &self.vectors);
        Tree {
            x: x.input(),
            y: y.input(),
            z: Some(z.input()),
            order: self.order.input(),
            points: self.order.len() as u32,
            boxes: self.boxes.input(),
            turned: self.turned.input(),
            starts,
            top,
            roots,
            extent: [[-1.0; 3], [1.0; 3]],
        }
    }
}
