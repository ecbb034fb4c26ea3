//! The nearest points of places by great-circle distance, in a tree over longitudes and latitudes.
//!
//! The search compares points by squared chords between unit vectors. From each node the search goes to the children,
//! the nearest first, as long as their cells may hold a point that belongs in the list. No point of a cell is nearer
//! than the nearest place of its rectangle of longitudes and latitudes:
//!
//! - On one parallel, the smaller a place's difference in longitude, the nearer it is. So the nearest place of the
//!   rectangle lies on the query's own meridian if the rectangle has it. Otherwise it lies on the nearer of the
//!   rectangle's two edges in longitude, the short way round the globe.
//! - On a meridian that is D away, the cosine of the distance from latitude p to latitude q is sin p sin q + cos p cos
//!   D cos q. This is a multiple of cos (q - q0), so it is greatest at q0, or at one end.

use gpu_core::{Bounds, parallel};
use kernels_rs::spatial::sphere::{sine_cosine, unit_vector};

use super::{NearestList, Neighbours};
use crate::tree::Node;
use crate::{Error, Quadtree, Result};

/// More than rounding may take from the square of a chord.
const SLACK: f64 = 1e-14;

/// See [`Quadtree::nearest_on_globe`]; `k` is positive.
pub(super) fn nearest(tree: &Quadtree, x: &[f64], y: &[f64], k: usize) -> Result<Neighbours> {
    require_globe("place", x, y, |i| i as u64)?;
    require_globe("point", &tree.x, &tree.y, |i| tree.order[i].into())?;
    let mut all = Neighbours::none(x.len(), k)?;
    if !tree.nodes.is_empty() {
        all.fill(0..x.len(), |i, indices, distances| {
            search(tree, [x[i], y[i]], indices, distances);
        });
    }
    Ok(all)
}

fn require_globe(
    what: &'static str,
    x: &[f64],
    y: &[f64],
    index: impl Fn(usize) -> u64,
) -> Result<()> {
    let is_off = |i: usize| x[i].abs() > 360.0 || y[i].abs() > 90.0;
    match parallel::first(x.len(), parallel::FINE, is_off) {
        None => Ok(()),
        Some(i) => Err(Error::Globe { what, index: index(i), longitude: x[i], latitude: y[i] }),
    }
}

/// The nearest points of a place, as many as there is room for.
fn search(tree: &Quadtree, place: [f64; 2], indices: &mut [u32], distances: &mut [f64]) {
    let list = NearestList::new(indices, distances);
    let vector = unit_vector(place[0], place[1]);
    let mut search = Search { tree, place, vector, sines: sine_cosine(place[1]), list };
    search.visit(&tree.nodes[0]);
    search.list.finish();
    distances.iter_mut().filter(|chord| chord.is_finite()).for_each(|chord| {
        *chord = 2.0 * (0.5 * chord.sqrt()).min(1.0).asin();
    });
}

struct Search<'a> {
    tree: &'a Quadtree,
    place: [f64; 2],
    vector: [f64; 3],
    /// Sine and cosine of the latitude.
    sines: [f64; 2],
    list: NearestList<'a>,
}

impl Search<'_> {
    fn visit(&mut self, node: &Node) {
        if node.is_leaf() {
            return self.look(node);
        }
        let children = &self.tree.nodes[node.children()];
        let mut near = [(f64::INFINITY, 0); 4];
        for (i, (near, child)) in near.iter_mut().zip(children).enumerate() {
            *near = (self.least_chord(&self.tree.cell(child)), i);
        }
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for (chord, child) in near.into_iter().take(children.len()) {
            if chord <= self.list.reach() {
                self.visit(&children[child]);
            }
        }
    }

    /// A square of a chord that no point of a cell is nearer than.
    fn least_chord(&self, cell: &Bounds) -> f64 {
        let [sine, cosine] = self.sines;
        // Cells may reach beyond the globe, where there are no points.
        let (south, north) = (cell.min_y.clamp(-90.0, 90.0), cell.max_y.clamp(-90.0, 90.0));
        let along = cosine * cosine_of_difference(self.place[0], cell.min_x, cell.max_x);
        let mut most = f64::NEG_INFINITY;
        for latitude in [south, north] {
            let [of_sine, of_cosine] = sine_cosine(latitude);
            most = most.max(sine * of_sine + along * of_cosine);
        }
        let nearest = sine.atan2(along).to_degrees();
        if (south..=north).contains(&nearest) {
            most = most.max(sine.hypot(along));
        }
        2.0 - 2.0 * most - SLACK
    }

    /// Compares all points of a leaf.
    fn look(&mut self, leaf: &Node) {
        for place in leaf.points() {
            let point = unit_vector(self.tree.x[place], self.tree.y[place]);
            let gap: [f64; 3] = std::array::from_fn(|k| point[k] - self.vector[k]);
            let squared = gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2];
            self.list.offer((squared, self.tree.order[place]));
        }
    }
}

/// The cosine of the least difference in longitude between a place and an interval.
fn cosine_of_difference(longitude: f64, west: f64, east: f64) -> f64 {
    // How far east of the western edge the place is, and so of the eastern one.
    let from_west = (longitude - west).rem_euclid(360.0);
    if from_west <= east - west {
        return 1.0;
    }
    let to_west = (360.0 - from_west).min(from_west);
    let from_east = from_west - (east - west);
    sine_cosine(to_west.min(from_east.min(360.0 - from_east)))[1]
}
