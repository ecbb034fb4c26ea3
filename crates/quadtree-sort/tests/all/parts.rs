//! Trees of the cells of a tree, put together: the file has the bytes of the tree of all points.

use std::io::Cursor;

use gpu_core::{Bounds, Device, Points};
use proptest::prelude::*;
use quadtree_sort::{Cells, Error, Outside, Params, Part, Quadtree, build, join};
use testing::Random;

const CPU: Device = Device::Cpu;

/// A cell: its level and code.
type Cell = (u32, u64);

fn bytes_of(tree: &Quadtree) -> Vec<u8> {
    let mut bytes = Vec::new();
    tree.write_to(&mut bytes).unwrap();
    bytes
}

/// The tree of the points of a cell.
fn tree_of(cell: Cell, [x, y]: [&[f64]; 2], cells: &Cells, params: &Params) -> Quadtree {
    let is_its = |&i: &usize| cells.code(cell.0, x[i], y[i]) == cell.1;
    let own: Vec<usize> = (0..x.len()).filter(is_its).collect();
    let [of_x, of_y] = [x, y].map(|column| own.iter().map(|&i| column[i]).collect::<Vec<_>>());
    let indices: Vec<u32> = own.iter().map(|&i| i as u32).collect();
    let tree = with_values(build(&CPU, Points::new(&of_x, &of_y), params).unwrap(), &indices);
    tree.renumbered(&indices, x.len() as u64).unwrap()
}

/// The tree with values of four sizes that tell which points they are of.
fn with_values(tree: Quadtree, indices: &[u32]) -> Quadtree {
    let of = |times: u32| indices.iter().map(move |&i| i.wrapping_mul(times));
    let tree = tree.with_values("class", &of(7).map(|i| i as u8).collect::<Vec<_>>()).unwrap();
    let tree = tree.with_values("red", &of(77).map(|i| i as u16).collect::<Vec<_>>()).unwrap();
    let tree = tree.with_values("r", &of(3).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    tree.with_values("z", &of(9).map(f64::from).collect::<Vec<_>>()).unwrap()
}

/// Divides the root at random into cells, in no order.
fn divide(cell: Cell, deepest: u32, random: &mut Random, cells: &mut Vec<Cell>) {
    if cell.0 == deepest || random.below(3) == 0 {
        return cells.insert(random.below(cells.len() as u64 + 1) as usize, cell);
    }
    for quadrant in 0..4 {
        divide((cell.0 + 1, cell.1 << 2 | quadrant), deepest, random, cells);
    }
}

/// Uniform points, some in heaps, some at one place, some on the edges of cells.
fn points(random: &mut Random, count: usize) -> [Vec<f64>; 2] {
    let heaps: Vec<[f64; 2]> = (0..3).map(|_| [random.unit(), random.unit()]).collect();
    let mut columns = [vec![], vec![]];
    for _ in 0..count {
        let at = match random.below(4) {
            0 => [random.unit(), random.unit()],
            1 => heaps[0],
            2 => heaps[random.below(3) as usize].map(|along| along + 1e-6 * random.unit()),
            _ => [(8.0 * random.unit()).floor() / 8.0, (16.0 * random.unit()).floor() / 16.0],
        };
        columns.iter_mut().zip(at).for_each(|(column, along)| column.push(100.0 * along - 20.0));
    }
    columns
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn parts_have_the_bytes_of_the_whole(
        seed in any::<u64>(), count in 0..400_usize, threshold in 1..60_u32, max_level in 0..32_u32, square in any::<bool>(),
        deepest in 0..5_u32
    ) {
        let mut random = Random::new(seed);
        let [x, y] = points(&mut random, count);
        let bounds = Bounds { min_x: -21.0, min_y: -20.5, max_x: 80.5, max_y: 83.0 };
        let params =
            Params::new().threshold(threshold).max_level(max_level).square(square).bounds(bounds);
        let whole = build(&CPU, Points::new(&x, &y), &params).unwrap();
        let whole = with_values(whole, &(0..count as u32).collect::<Vec<_>>());
        let cells = Cells::new(bounds, &params).unwrap();
        prop_assert_eq!(cells, whole.cells());
        let mut places = Vec::new();
        divide((0, 0), deepest.min(max_level), &mut random, &mut places);
        let trees: Vec<Quadtree> =
            places.iter().map(|&cell| tree_of(cell, [&x, &y], &cells, &params)).collect();
        let parts: Vec<Part> =
            trees.iter().zip(&places).map(|(tree, &(level, code))| Part::new(tree, level, code)).collect();
        let joined = join(&parts).unwrap();
        // Behind what is in the file already.
        let mut file = Cursor::new(b"before".to_vec());
        file.set_position(6);
        joined.write_to(&mut file).unwrap();
        let (file, end) = (file.get_ref(), file.position());
        prop_assert_eq!(end, file.len() as u64);
        prop_assert!(file[6..] == bytes_of(&whole), "{:?}", places);
        prop_assert_eq!(joined.summary(), whole.summary());
        prop_assert_eq!((joined.nodes(), joined.points()), (whole.nodes().len() as u64, count as u64));
    }
}

#[test]
fn a_cell_holds_the_places_within_its_edges_and_no_others() {
    let bounds = Bounds { min_x: 0.1, min_y: -3.3, max_x: 7.7, max_y: 1.0 };
    let cells = Cells::new(bounds, &Params::new().max_level(9)).unwrap();
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let level = random.below(10) as u32;
        let (x, y) = (random.between(0.1, 7.7), random.between(-3.3, 1.0));
        let edges = cells.edges(level, cells.code(level, x, y));
        assert!(edges.min_x <= x && x < edges.max_x && edges.min_y <= y && y < edges.max_y);
        // The last number before an edge belongs to another cell, or lies outside of the root.
        let before = edges.min_x.next_down();
        let is_other = cells.code(level, before, y) != cells.code(level, x, y);
        assert!(is_other || edges.min_x == bounds.min_x, "{level} {x} {y}");
    }
}

#[test]
fn parts_that_are_none_of_one_tree_are_refused() {
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 8.0, max_y: 8.0 };
    let params = Params::new().threshold(2).bounds(bounds);
    let (x, y) = ([0.5, 1.0, 1.5, 7.0], [0.5, 1.0, 1.5, 7.0]);
    let cells = Cells::new(bounds, &params).unwrap();
    let near = tree_of((1, 0), [&x, &y], &cells, &params);
    let far = tree_of((1, 3), [&x, &y], &cells, &params);
    let what = |parts: &[Part]| match join(parts).unwrap_err() {
        Error::Part { part, what } => (part, what),
        other => panic!("{other}"),
    };
    assert_eq!(what(&[]).0, 0);
    let (part, text) = what(&[Part::new(&near, 1, 0), Part::new(&far, 1, 2)]);
    assert!(part == 1 && text.contains("outside"), "{text}");
    // Three points are divided, and one node above the cell is none of those around it.
    let (part, text) = what(&[Part::new(&near, 1, 1)]);
    assert!(part == 0 && text.contains("outside"), "{text}");
    let (part, text) = what(&[Part::new(&near, 1, 0), Part::new(&far, 0, 0)]);
    assert!(part == 1 && text.contains("overlaps"), "{text}");
    for cell in [(32, 0), (1, 4)] {
        let (_, text) = what(&[Part::new(&near, cell.0, cell.1)]);
        assert!(text.contains("no such cell"), "{text}");
    }
    let other = build(&CPU, Points::new(&x[3..], &y[3..]), &params.threshold(3)).unwrap();
    let other = other.renumbered(&[3], 4).unwrap();
    let (part, text) = what(&[Part::new(&near, 1, 0), Part::new(&other, 1, 3)]);
    assert!(part == 1 && text.contains("parameters"), "{text}");
    let other = build(&CPU, Points::new(&x[3..], &y[3..]), &params.threshold(2)).unwrap();
    let other = other.renumbered(&[3], 4).unwrap();
    let (part, text) = what(&[Part::new(&near, 1, 0), Part::new(&other, 1, 3)]);
    assert!(part == 1 && text.contains("values"), "{text}");
}

#[test]
fn indices_that_points_cannot_have_are_refused() {
    let points = Points::new(&[1.0, 2.0], &[1.0, 2.0]);
    let params = Params::new().outside(Outside::Skip);
    let tree = || build(&CPU, points, &params).unwrap();
    for (indices, given) in [(&[0][..], 9), (&[1, 1], 9), (&[3, 2], 9), (&[0, 9], 9)] {
        let error = tree().renumbered(indices, given).unwrap_err();
        assert!(matches!(error, Error::Indices { .. }), "{error}");
    }
    let error = tree().renumbered(&[0, 1], 1 << 32).unwrap_err();
    assert!(matches!(error, Error::Core(gpu_core::Error::TooMany { .. })), "{error}");
    assert_eq!(tree().renumbered(&[4, 8], 9).unwrap().order(), [4, 8]);
}
