//! The tree that answers questions.

use geo_io::Crs;
use gpu_core::Device;
use quadtree_sort::Quadtree;

/// A tree, and the device that answers questions about it.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub device: &'a Device,
    pub tree: &'a Quadtree,
    /// The coordinate system of the points.
    pub crs: Option<&'a Crs>,
    /// Says which rows of which files points are, where their numbers do not.
    pub rows: Option<Rows<'a>>,
}

/// Says which rows of which files points are.
pub type Rows<'a> = &'a dyn Fn(&[usize]) -> Vec<String>;
