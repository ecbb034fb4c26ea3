//! Rasters, and a tree by its definition.
#![allow(dead_code)]

use ccq_tree::{Cell, Node, Params, Tree};
use gpu_core::{Grid, GridSpec};
use testing::Random;

/// A raster of a function of column and row.
pub fn raster<T>(width: u32, height: u32, of: impl Fn(u32, u32) -> T) -> Grid<T> {
    let cells = (0..height).flat_map(|row| (0..width).map(move |column| (column, row)));
    let values = cells.map(|(column, row)| of(column, row)).collect();
    Grid::new(values, GridSpec::of_pixels(width, height)).unwrap()
}

/// A type that tests make values of.
pub trait Made: Cell {
    /// A value near a number between 0 and 255.
    fn made(number: f64) -> Self;
}

macro_rules! made {
    ($($type:ty, $offset:literal;)+) => {$(
        impl Made for $type {
            fn made(number: f64) -> Self {
                (number + $offset) as $type
            }
        }
    )+};
}

made! { u8, 0.0; i16, -100.0; u16, 1000.0; i32, -70000.0; u32, 3e9; f32, -0.25; }

/// Heights of a fractal: octaves of random values at lattice points, each half as high as the one before, at twice as
/// many places.
pub fn fractal<T: Made>(width: u32, height: u32, seed: u64, rough: f64) -> Grid<T> {
    let lattice = |x: u32, y: u32, octave: u32| {
        let place = u64::from(x) << 40 ^ u64::from(y) << 8 ^ u64::from(octave);
        Random::new(place.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15)).unit()
    };
    raster(width, height, |column, row| {
        let (mut sum, mut weight, mut cell) = (0.0, 0.5, 64);
        for octave in 0..7 {
            let (x, y) = (column / cell, row / cell);
            let [u, v] = [column, row].map(|at| f64::from(at % cell) / f64::from(cell));
            let corner = |dx, dy| lattice(x + dx, y + dy, octave);
            let north = corner(0, 0) * (1.0 - u) + corner(1, 0) * u;
            let south = corner(0, 1) * (1.0 - u) + corner(1, 1) * u;
            sum += weight * (north * (1.0 - v) + south * v);
            weight *= rough;
            cell = (cell / 2).max(1);
        }
        T::made((sum * 255.0).clamp(0.0, 255.0).floor())
    })
}

/// Independent values.
pub fn noise<T: Made>(width: u32, height: u32, seed: u64, values: u64) -> Grid<T> {
    let mut random = Random::new(seed);
    let cells =
        (0..u64::from(width) * u64::from(height)).map(|_| T::made(random.below(values) as f64));
    Grid::new(cells.collect(), GridSpec::of_pixels(width, height)).unwrap()
}

/// What a quadrant holds: bounds and whether a cell is NODATA; `None` for the bounds if all are.
type Held = (Option<(f64, f64)>, bool);

/// The nodes of a raster's tree by the definition: quadrant by quadrant, each looked at cell by cell.
pub struct ByDefinition {
    /// Minimum, maximum, first child or 0, mixed.
    pub nodes: Vec<(f64, f64, u32, bool)>,
    /// Nodes of each level.
    pub levels: Vec<usize>,
}

/// The value of a cell, or of its bin.
fn seen<T: Cell>(value: T, params: &Params) -> Option<f64> {
    let number = value.to_f64();
    if number.is_nan() || params.nodata == Some(number) {
        return None;
    }
    match params.bins.is_empty() {
        true => Some(number),
        false => Some(params.bins.iter().filter(|&&boundary| boundary <= number).count() as f64),
    }
}

fn held<T: Cell>(raster: &Grid<T>, params: &Params, (x, y, side): (u32, u32, u32)) -> Held {
    let (mut bounds, mut is_missing) = (None, false);
    for row in y..(y + side).min(raster.grid().height) {
        for column in x..(x + side).min(raster.grid().width) {
            match seen(*raster.get(column, row).unwrap(), params) {
                None => is_missing = true,
                Some(v) => {
                    let (low, high) = bounds.unwrap_or((v, v));
                    bounds = Some((f64::min(low, v), f64::max(high, v)));
                }
            }
        }
    }
    (bounds, is_missing)
}

impl ByDefinition {
    pub fn of<T: Cell>(raster: &Grid<T>, params: &Params) -> Self {
        let side = raster.grid().width.max(raster.grid().height).next_power_of_two();
        let mut tree = Self { nodes: Vec::new(), levels: Vec::new() };
        let mut level: Vec<(u32, u32)> = vec![(0, 0)];
        if held(raster, params, (0, 0, side)).0.is_none() {
            level.clear();
        }
        let mut side = side;
        loop {
            tree.levels.push(level.len());
            let next_first = (tree.nodes.len() + level.len()) as u32;
            let mut next = Vec::new();
            for &(x, y) in &level {
                let (bounds, is_missing) = held(raster, params, (x, y, side));
                let (min, max) = bounds.unwrap();
                // The rule of the paper, with NODATA as a value of its own. A child is a node unless all of it is
                // NODATA, if its values differ from each other or from its parent's.
                let is_divided = min != max || is_missing;
                let first = next_first + next.len() as u32;
                if is_divided {
                    let half = side / 2;
                    for (dx, dy) in [(0, 0), (half, 0), (0, half), (half, half)] {
                        if held(raster, params, (x + dx, y + dy, half)).0.is_some() {
                            next.push((x + dx, y + dy));
                        }
                    }
                }
                tree.nodes.push((min, max, if is_divided { first } else { 0 }, is_missing));
            }
            if side == 1 {
                return tree;
            }
            (level, side) = (next, side / 2);
        }
    }

    pub fn assert_is<T: Cell>(&self, tree: &Tree<T>, what: &str) {
        let found = |node: &Node<T>| {
            let child = node.first_child().unwrap_or(0);
            (node.min().to_f64(), node.max().to_f64(), child, node.is_mixed())
        };
        let nodes: Vec<_> = tree.nodes().iter().map(found).collect();
        let levels: Vec<_> =
            tree.level_starts().windows(2).map(|w| (w[1] - w[0]) as usize).collect();
        assert_eq!(levels, self.levels, "{what}: nodes of each level");
        assert!(
            nodes == self.nodes,
            "{what}: {:?}",
            nodes.iter().zip(&self.nodes).find(|(a, b)| a != b)
        );
    }
}
