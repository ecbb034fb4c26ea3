//! A DEM of more points than memory holds, segment by segment, after Agarwal, Arge and Danner (*From point cloud to
//! grid DEM: A scalable approach*, 2006). A quadtree divides the points. The cells of each leaf are interpolated from
//! the leaf's own points and from the points of the leaves around it.
//!
//! 1. Build the tree of the points, which carries their heights.
//! 2. Read the nodes on the host: which are leaves, and which cells of the DEM lie in each.
//! 3. Find the leaves around each leaf, over edges and corners.
//! 4. For each leaf, copy its points and those of the leaves around it together. The points of a leaf lie side by side
//!    in the tree, so these copies stay on the device. Interpolate them onto the leaf's cells, and put the cells into
//!    the DEM.
//!
//! A cell has the height of the DEM of all points, to rounding, if no further point could be one of its natural
//! neighbours. [`nni_grid::Dependence`] says which cells these are. Only the others may differ, towards the border of a
//! segment that has few points around it. [`settled_dem`] leaves none of these: it adds the leaves around the leaves,
//! and so on, until no further point matters.
//!
//! Ground where the tree has no leaf, for no point lies there, is NODATA.

use std::ops::Range;

use gpu_core::{Bounds, Device, Extent, Grid, GridSpec, GridView, Points};
use nni_grid::{Dependence, Input, interpolate};
use quadtree_sort::{Adjacency, Cells, Lists, Node, Quadtree, build};

use crate::Result;

/// How a DEM is made of segments.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// The cells of the DEM.
    pub grid: GridSpec,
    /// How the tree is built; its bounds are the grid's.
    pub tree: quadtree_sort::Params,
    /// The parameters of each segment's interpolation.
    pub interpolation: nni_grid::Params,
}

impl Params {
    /// Leaves of at most so many points.
    pub fn new(grid: GridSpec, threshold: u32) -> Self {
        let tree = quadtree_sort::Params::new().threshold(threshold).bounds(grid.bounds());
        Self { grid, tree, interpolation: nni_grid::Params::new() }
    }

    /// Returns the parameters for segments of points that lie within `extent`. All segments share one fixed-point scale
    /// of heights.
    fn of_segments(&self, extent: &Extent) -> nni_grid::Params {
        self.interpolation.value_range(extent.ranges.first().copied())
    }
}

/// A segment: the cells of the DEM in a leaf, and the points from which they are interpolated.
#[derive(Clone, Debug)]
pub struct Segment {
    /// The leaf's cells.
    pub grid: GridSpec,
    /// The first column and row of them in the DEM.
    pub corner: [u32; 2],
    /// The leaf, and the leaves around it, by their places among the nodes.
    pub leaves: Vec<u32>,
    /// The points of each, as ranges of the order of the tree.
    pub points: Vec<Range<usize>>,
}

impl Segment {
    /// How many points it is made of.
    pub fn len(&self) -> usize {
        self.points.iter().map(Range::len).sum()
    }

    /// Returns whether the segment has no points. It always has some.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its points of a column in the order of the tree.
    fn together(&self, column: &[f64]) -> Vec<f64> {
        self.points.iter().flat_map(|range| column[range.clone()].iter().copied()).collect()
    }

    /// The ground, around its own, whose points are all its.
    pub fn known(&self, tree: &Quadtree) -> Bounds {
        let own = self.grid.bounds();
        let mut is_its = vec![false; tree.nodes().len()];
        self.leaves.iter().for_each(|&leaf| is_its[leaf as usize] = true);
        let others =
            tree.nodes().iter().zip(&is_its).filter(|(node, is_its)| node.is_leaf() && !**is_its);
        let apart = others.map(|(node, _)| {
            let cell = tree.cell(node);
            let across = (cell.min_x - own.max_x).max(own.min_x - cell.max_x);
            across.max(cell.min_y - own.max_y).max(own.min_y - cell.max_y)
        });
        // A cell's edge may belong to the cell.
        let margin = apart.fold(f64::INFINITY, f64::min) * (1.0 - 1e-9);
        let Bounds { min_x, min_y, max_x, max_y } = own;
        Bounds {
            min_x: min_x - margin,
            min_y: min_y - margin,
            max_x: max_x + margin,
            max_y: max_y + margin,
        }
    }

    /// Adds the leaves around the segment's leaves. If only ground without points is around them, adds all other
    /// leaves.
    fn widen(&mut self, tree: &Quadtree) -> Result<()> {
        let around = tree.adjacent_leaves(&self.leaves, Adjacency::EdgesAndCorners)?;
        let mut more: Vec<u32> = around.indices;
        more.sort_unstable();
        more.dedup();
        more.retain(|leaf| !self.leaves.contains(leaf));
        if more.is_empty() {
            more = leaves_of(tree.nodes());
            more.retain(|leaf| !self.leaves.contains(leaf));
        }
        self.points.extend(more.iter().map(|&leaf| tree.nodes()[leaf as usize].points()));
        self.leaves.extend(more);
        Ok(())
    }

    /// Where its row lies among the cells of the DEM.
    fn row_of(&self, row: u32, dem: &GridSpec) -> Range<usize> {
        let first = (self.corner[1] + row) as usize * dem.width as usize + self.corner[0] as usize;
        first..first + self.grid.width as usize
    }

    /// Where its row lies among its own cells.
    fn own_row(&self, row: u32) -> Range<usize> {
        let width = self.grid.width as usize;
        row as usize * width..(row as usize + 1) * width
    }
}

/// The leaves of a tree, by their places among the nodes.
pub fn leaves_of(nodes: &[Node]) -> Vec<u32> {
    (0..).zip(nodes).filter(|(_, node)| node.is_leaf()).map(|(place, _)| place).collect()
}

/// The segments of a tree with leaves around each leaf. Leaves so small that no cell's centre lies in them have none.
pub fn segments(
    nodes: &[Node],
    leaves: &[u32],
    around: &Lists,
    params: &Params,
) -> Result<Vec<Segment>> {
    let grid = &params.grid;
    let cells = Cells::new(grid.bounds(), &params.tree)?;
    let mut segments = Vec::new();
    for (i, &leaf) in leaves.iter().enumerate() {
        let node = &nodes[leaf as usize];
        let [columns, rows] = cells_within(grid, cells.edges(node.level.into(), node.code));
        if columns.is_empty() || rows.is_empty() {
            continue;
        }
        let side = grid.cell_size;
        let (west, north) = (f64::from(columns.start) * side, f64::from(rows.start) * side);
        let [origin_x, origin_y] = [grid.bounds().min_x, grid.bounds().max_y];
        let (width, height) = (columns.len() as u32, rows.len() as u32);
        let own = GridSpec::new(origin_x + west, origin_y - north, side, width, height)?;
        let leaves: Vec<u32> = std::iter::once(&leaf).chain(around.of(i)).copied().collect();
        let points = leaves.iter().map(|&leaf| nodes[leaf as usize].points()).collect();
        segments.push(Segment { grid: own, corner: [columns.start, rows.start], leaves, points });
    }
    Ok(segments)
}

/// Returns the columns and rows of a grid's cells that have their centres in a rectangle, or on its western or southern
/// edge. A tree's last cells include the grid's eastern and northern edges too, but no cell has its centre there.
fn cells_within(grid: &GridSpec, within: Bounds) -> [Range<u32>; 2] {
    let first = |count: u32, is_within: &dyn Fn(u32) -> bool| {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_within(middle) { high = middle } else { low = middle + 1 }
        }
        low
    };
    let x = |column: u32| grid.cell_centre(column, 0).0;
    let y = |row: u32| grid.cell_centre(0, row).1;
    let columns =
        first(grid.width, &|c| x(c) >= within.min_x)..first(grid.width, &|c| x(c) >= within.max_x);
    let rows =
        first(grid.height, &|r| y(r) < within.max_y)..first(grid.height, &|r| y(r) < within.min_y);
    [columns, rows]
}

/// The DEM of the heights of points, segment by segment, on the host.
pub fn dem(points: Points<'_>, params: &Params) -> Result<Grid<f32>> {
    dem_of(points, params, |_, _| Ok(()))
}

/// Computes a [`dem`] whose cells all have the heights of the DEM of all points, to rounding.
pub fn settled_dem(points: Points<'_>, params: &Params) -> Result<Grid<f32>> {
    let Some(all) = Bounds::of(points.x, points.y) else { return dem(points, params) };
    dem_of(points, params, |tree, segment| {
        let mut dependence = Dependence::new(segment.grid, &params.interpolation, all)?;
        loop {
            let known = segment.known(tree);
            let [x, y] = [tree.x(), tree.y()].map(|column| segment.together(column));
            if dependence.look(&x, &y, &known)? {
                return Ok(());
            }
            segment.widen(tree)?;
        }
    })
}

/// The DEM of segments that are prepared in some way.
fn dem_of(
    points: Points<'_>,
    params: &Params,
    prepare: impl Fn(&Quadtree, &mut Segment) -> Result<()>,
) -> Result<Grid<f32>> {
    let device = Device::Cpu;
    let heights = points.values.first().ok_or("points without heights")?;
    let tree = build(&device, Points::new(points.x, points.y), &params.tree)?;
    let tree = tree.with_values("z", heights)?;
    let leaves = leaves_of(tree.nodes());
    let around = tree.adjacent_leaves(&leaves, Adjacency::EdgesAndCorners)?;
    let interpolation = params.of_segments(&Extent::of(&points)?);
    let z = tree.values_of("z").ok_or("a tree without heights")?;
    let mut dem = vec![f32::NAN; params.grid.cells() as usize];
    for mut segment in segments(tree.nodes(), &leaves, &around, params)? {
        prepare(&tree, &mut segment)?;
        let [x, y, z] = [tree.x(), tree.y(), z].map(|column| segment.together(column));
        let points = Points { x: &x, y: &y, values: &[&z] };
        let own = interpolate(&device, Input::new(points, segment.grid), &interpolation)?;
        for row in 0..segment.grid.height {
            dem[segment.row_of(row, &params.grid)]
                .copy_from_slice(&own.values[0].values()[segment.own_row(row)]);
        }
    }
    Ok(Grid::new(dem, params.grid)?)
}

/// Returns the cells in which two DEMs differ by more than `least`, or only one has a height.
pub fn differing(a: GridView<'_, f32>, b: GridView<'_, f32>, least: f32) -> Vec<usize> {
    let differ = |(a, b): (&f32, &f32)| a.is_nan() != b.is_nan() || (a - b).abs() > least;
    let pairs = a.values().iter().zip(b.values());
    pairs.enumerate().filter(|&(_, pair)| differ(pair)).map(|(cell, _)| cell).collect()
}

/// Works on a device, from device memory to device memory.
#[cfg(feature = "cuda")]
pub mod gpu {
    use gpu_core::{Column, DeviceGrid, DevicePoints};
    use gpu_scan::gpu::{Workspace, fill};
    use nni_grid::gpu::{Input, interpolate};
    use quadtree_sort::Adjacency;
    use quadtree_sort::gpu::{adjacent_leaves, build};

    use super::{Params, Segment, leaves_of, segments};
    use crate::Result;

    /// Computes the [DEM](super::dem) of points in device memory. It copies to the host the nodes of the tree and
    /// the leaves around each leaf, which decide the segments. It also copies a few numbers for each segment, for
    /// which the interpolation waits.
    pub fn dem(
        workspace: &mut Workspace,
        points: &DevicePoints<'_>,
        params: &Params,
    ) -> Result<DeviceGrid<f32>> {
        let gpu = workspace.gpu().clone();
        let heights = *points.values().first().ok_or("points without heights")?;
        let tree = build(workspace, points.x(), points.y(), &params.tree)?;
        let tree = tree.with_values(workspace, "z", heights)?;
        let nodes = tree.nodes_to_host()?;
        let leaves = leaves_of(&nodes);
        let around =
            adjacent_leaves(workspace, &tree, &gpu.upload(&leaves)?, Adjacency::EdgesAndCorners)?;
        let interpolation = params.of_segments(points.extent());
        let mut dem = gpu.zeroed::<f32>(params.grid.cells() as usize)?;
        fill(workspace, f32::NAN, &mut dem)?;
        let z = tree.values_of::<f64>("z").ok_or("a tree without heights")?;
        for segment in segments(&nodes, &leaves, &around.to_host()?, params)? {
            let [x, y] = [tree.x(), tree.y()].map(|column| together(&gpu, column.into(), &segment));
            let (x, y, z) = (x?, y?, together(&gpu, z, &segment)?);
            let points = DevicePoints::new(&x, &y, [(&z).into()], points.extent().clone())?;
            let own = interpolate(workspace, &Input::new(points, segment.grid), &interpolation)?;
            let own = own.values(0)?.values();
            for row in 0..segment.grid.height {
                let to = dem.slice_mut(segment.row_of(row, &params.grid))?;
                gpu.copy(own.slice(segment.own_row(row))?, to)?;
            }
        }
        Ok(DeviceGrid::from_column(dem, params.grid)?)
    }

    /// A column of a segment's points.
    fn together(
        gpu: &gpu_core::Gpu,
        column: gpu_core::Slice<'_, f64>,
        segment: &Segment,
    ) -> Result<Column<f64>> {
        let mut all = gpu.zeroed::<f64>(segment.len())?;
        let mut first = 0;
        for range in &segment.points {
            gpu.copy(column.slice(range.clone())?, all.slice_mut(first..first + range.len())?)?;
            first += range.len();
        }
        Ok(all)
    }
}
