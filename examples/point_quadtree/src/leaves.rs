//! The leaves of a tree, as polygons, a table or a picture.

use anyhow::Result;
use geo_io::{ColumnType, Output, Shape};
use gpu_core::{Bounds, Shortest};
use quadtree_sort::{Node, Quadtree};

use crate::asked::Asked;

/// Pixels along the longer side of a picture.
const PIXELS: u32 = 1024;

/// Cells narrower than this many pixels have no border drawn.
const BORDERED: u32 = 4;

/// The formats of the leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavesFormat {
    /// A polygon each.
    GeoJson,
    /// A table of the same.
    GeoParquet,
    /// A line for each leaf.
    Table,
    /// A picture of all leaves.
    Png,
}

/// Writes the leaves.
pub fn write(format: LeavesFormat, output: Output<'_>, asked: Asked<'_>) -> Result<()> {
    let Asked { tree, crs, .. } = asked;
    match format {
        LeavesFormat::GeoJson => {
            geo_io::write_shapes(output, tree.leaves().map(|leaf| outline(tree, leaf)), crs)?;
        }
        LeavesFormat::GeoParquet => {
            let columns = [("level", ColumnType::Whole), ("count", ColumnType::Whole)];
            let row = |leaf| {
                let (properties, shape) = outline(tree, leaf);
                (properties.into_iter().map(|(_, number)| number.into()).collect(), shape)
            };
            geo_io::write_geoparquet(output, &columns, tree.leaves().map(row), crs)?;
        }
        LeavesFormat::Table => {
            let names = "level,xmin,ymin,xmax,ymax,count";
            geo_io::write_rows(output, names, tree.leaves().map(|leaf| row(tree, leaf)))?;
        }
        LeavesFormat::Png => {
            let picture = Picture::of(tree);
            geo_io::write_picture(output, &picture.values, picture.width, picture.height)?;
        }
    }
    Ok(())
}

/// A leaf as a row.
fn row(tree: &Quadtree, leaf: &Node) -> String {
    let Bounds { min_x, min_y, max_x, max_y } = tree.cell(leaf);
    let [w, s, e, n] = [min_x, min_y, max_x, max_y].map(Shortest);
    format!("{},{w},{s},{e},{n},{}", leaf.level, leaf.count)
}

/// A leaf as a polygon; as a line or a point where all points lie on one, so that its cell has no area.
fn outline(tree: &Quadtree, leaf: &Node) -> (Vec<(&'static str, f64)>, Shape) {
    let Bounds { min_x: w, min_y: s, max_x: e, max_y: n } = tree.cell(leaf);
    let properties = vec![("level", leaf.level.into()), ("count", leaf.count as f64)];
    let shape = match (w < e, s < n) {
        (true, true) => Shape::Polygons(vec![vec![vec![[w, s], [e, s], [e, n], [w, n], [w, s]]]]),
        (false, false) => Shape::Points(vec![[w, s]]),
        _ => Shape::Lines(vec![vec![[w, s], [e, n]]]),
    };
    (properties, shape)
}

/// A picture: deeper leaves are lighter, borders are dark, and ground without points is blank.
struct Picture {
    values: Vec<f32>,
    width: u32,
    height: u32,
    /// What it shows.
    bounds: Bounds,
}

impl Picture {
    fn of(tree: &Quadtree) -> Self {
        // A square root over points that lie in a strip is empty beyond them.
        let bounds = tree.leaves().map(|leaf| tree.cell(leaf)).reduce(union);
        let bounds = bounds.unwrap_or(tree.bounds());
        let (across, up) = (bounds.max_x - bounds.min_x, bounds.max_y - bounds.min_y);
        let longer = across.max(up);
        let side = |length: f64| match longer > 0.0 {
            true => ((length / longer * f64::from(PIXELS)).round() as u32).clamp(1, PIXELS),
            false => 1,
        };
        let (width, height) = (side(across), side(up));
        let values = vec![f32::NAN; width as usize * height as usize];
        let mut picture = Self { values, width, height, bounds };
        let depth = tree.summary().depth;
        for leaf in tree.leaves() {
            let shade = (depth - u32::from(leaf.level)) as f32 * 0.5;
            picture.draw(tree.cell(leaf), shade, depth as f32);
        }
        picture
    }

    fn draw(&mut self, cell: Bounds, shade: f32, border: f32) {
        let [left, right] =
            span(cell.min_x, cell.max_x, self.bounds.min_x, self.bounds.max_x, self.width);
        let [low, high] =
            span(cell.min_y, cell.max_y, self.bounds.min_y, self.bounds.max_y, self.height);
        let is_bordered = right - left >= BORDERED && high - low >= BORDERED;
        for up in low..high {
            // Row 0 is in the north.
            let row = (self.height - 1 - up) as usize * self.width as usize;
            for column in left..right {
                let at_edge = up == low || column == left;
                let value = if is_bordered && at_edge { border } else { shade };
                self.values[row + column as usize] = value;
            }
        }
    }
}

/// The rectangle around two.
pub fn union(a: Bounds, b: Bounds) -> Bounds {
    Bounds {
        min_x: a.min_x.min(b.min_x),
        min_y: a.min_y.min(b.min_y),
        max_x: a.max_x.max(b.max_x),
        max_y: a.max_y.max(b.max_y),
    }
}

/// The pixels of a cell along one side, at least one.
fn span(min: f64, max: f64, from: f64, to: f64, pixels: u32) -> [u32; 2] {
    let share = |v: f64| if to > from { (v - from) / (to - from) } else { 0.0 };
    let first = ((share(min) * f64::from(pixels)).round() as u32).min(pixels - 1);
    let end = (share(max) * f64::from(pixels)).round() as u32;
    [first, end.clamp(first + 1, pixels)]
}
