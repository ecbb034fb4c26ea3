//! Connected regions against a flood fill of the mask, and their outlines against the cells.

use std::collections::{BTreeMap, BTreeSet};

use ccq_tree::{Condition, Connectivity, Outline, Params, Query, Window, build, mask, regions};
use gpu_core::{Device, Grid};
use proptest::prelude::*;

use crate::common::{fractal, noise, raster};

fn devices() -> Vec<Device> {
    #[cfg(feature = "cuda")]
    return vec![Device::Cpu, Device::Gpu(testing::gpu())];
    #[cfg(not(feature = "cuda"))]
    vec![Device::Cpu]
}

/// For each cell of a mask the first cell of its region.
fn flood(mask: &Grid<u8>, connectivity: Connectivity) -> BTreeMap<usize, usize> {
    let (width, height) = (mask.grid().width as i64, mask.grid().height as i64);
    let is_in = |x: i64, y: i64| {
        (0..width).contains(&x)
            && (0..height).contains(&y)
            && mask.values()[(y * width + x) as usize] == 1
    };
    let mut first = BTreeMap::new();
    for start in 0..(width * height) {
        if !is_in(start % width, start / width) || first.contains_key(&(start as usize)) {
            continue;
        }
        let mut open = vec![(start % width, start / width)];
        first.insert(start as usize, start as usize);
        while let Some((x, y)) = open.pop() {
            for (dx, dy) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))) {
                let (u, v) = (x + dx, y + dy);
                let is_near = connectivity == Connectivity::Eight || dx == 0 || dy == 0;
                if is_near && is_in(u, v) && !first.contains_key(&((v * width + u) as usize)) {
                    first.insert((v * width + u) as usize, start as usize);
                    open.push((u, v));
                }
            }
        }
    }
    first
}

/// Twice the area of a ring, by the rows below its horizontal edges.
fn area(ring: &[[u32; 2]]) -> i64 {
    let next = ring.iter().cycle().skip(1);
    let of = |(a, b): (&[u32; 2], &[u32; 2])| {
        -2 * (i64::from(b[0]) - i64::from(a[0])) * -i64::from(a[1])
    };
    ring.iter().zip(next).map(of).sum()
}

/// The cells that a polygon holds, each once.
fn cells_of(outline: &Outline, width: u32, height: u32) -> BTreeSet<usize> {
    let mut cells = BTreeSet::new();
    for polygon in outline {
        for (i, ring) in polygon.iter().enumerate() {
            assert_eq!(
                area(ring) > 0,
                i == 0,
                "outer rings turn counterclockwise, holes clockwise"
            );
            let corners: BTreeSet<_> = ring.iter().collect();
            assert_eq!(corners.len(), ring.len(), "no ring touches itself");
            for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                assert!((a[0] == b[0]) != (a[1] == b[1]), "{a:?} {b:?}");
            }
        }
        for row in 0..height {
            for column in 0..width {
                // Edges east of the cell's centre that cross its row.
                let crossings = polygon.iter().flat_map(|ring| {
                    ring.iter().zip(ring.iter().cycle().skip(1)).filter(|(a, b)| {
                        let (low, high) = (a[1].min(b[1]), a[1].max(b[1]));
                        a[0] == b[0] && a[0] > column && low <= row && row < high
                    })
                });
                if crossings.count() % 2 == 1 {
                    assert!(cells.insert((row * width + column) as usize), "polygons lie apart");
                }
            }
        }
    }
    cells
}

fn check(cells: &Grid<u8>, low: u8, high: u8, window: Option<Window>) {
    let tree = build(&Device::Cpu, cells.view(), &Params::new()).unwrap();
    let asked = [Condition::new(&tree).range(low, high)];
    let query = Query::new().window(window);
    let mask = mask(&Device::Cpu, &asked, &query).unwrap();
    for connectivity in [Connectivity::Four, Connectivity::Eight] {
        let expected = flood(&mask, connectivity);
        let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
        expected.values().for_each(|&first| *sizes.entry(first).or_default() += 1);
        let own = regions(&Device::Cpu, &asked, &query, connectivity).unwrap();
        for device in devices() {
            assert!(regions(&device, &asked, &query, connectivity).unwrap() == own);
        }
        let width = mask.grid().width;
        let found: Vec<_> =
            own.regions().iter().map(|r| ((r.row * width + r.column) as usize, r.cells)).collect();
        assert_eq!(found, sizes.into_iter().collect::<Vec<_>>(), "{connectivity:?}");
        let mut labelled = BTreeMap::new();
        for (run, region) in own.runs() {
            for column in run.column0..run.column1 {
                labelled.insert((run.row * width + column) as usize, found[region as usize].0);
            }
        }
        assert!(labelled == expected);
        for (outline, (first, _)) in own.outlines().unwrap().iter().zip(&found) {
            let cells = expected.iter().filter(|(_, of)| *of == first).map(|(&cell, _)| cell);
            assert_eq!(cells_of(outline, width, mask.grid().height), cells.collect());
            if connectivity == Connectivity::Four {
                assert_eq!(outline.len(), 1);
            }
        }
    }
}

#[test]
fn regions_are_those_of_a_flood_fill() {
    for (width, height) in [(1, 1), (1, 40), (40, 1), (33, 21), (64, 64), (70, 45)] {
        let part = Window { row0: height / 4, column0: width / 3, row1: height, column1: width };
        for window in [None, (part.row0 < part.row1 && part.column0 < part.column1).then_some(part)]
        {
            check(&fractal(width, height, 7, 0.7), 100, 140, window);
            check(&noise(width, height, 3, 2), 1, 2, window);
            check(&noise(width, height, 4, 5), 0, 4, window);
        }
    }
}

#[test]
fn odd_shapes_have_sound_outlines() {
    let of = |rows: &[&str]| {
        let width = rows[0].len() as u32;
        let cell = |x: u32, y: u32| u8::from(rows[y as usize].as_bytes()[x as usize] == b'#');
        check(&raster(width, rows.len() as u32, cell), 1, 2, None);
    };
    of(&["#"]);
    of(&["...", "...", "..."]);
    of(&["###", "#.#", "###"]);
    // A ring around a ring around a cell.
    of(&["#######", "#.....#", "#.###.#", "#.#.#.#", "#.###.#", "#.....#", "#######"]);
    // Corners that touch: of cells, of holes, of a hole and the outside.
    of(&["#.#", ".#.", "#.#"]);
    of(&["#####", "#.###", "##.##", "#.#.#", "#####"]);
    of(&["####", "#.##", "##.#", "###."]);
    of(&[".##.", "#..#", "#..#", ".##."]);
    of(&["##..", "#.#.", "####", "..##"]);
    of(&["#.#.#.#", "#######", "#.#.#.#", "...#...", "###.###"]);
}

#[test]
fn nothing_found_has_no_regions() {
    let cells = raster(70, 30, |_, _| 3u8);
    let tree = build(&Device::Cpu, cells.view(), &Params::new()).unwrap();
    for device in devices() {
        let asked = [Condition::new(&tree).range(5.0, 9.0)];
        let found = regions(&device, &asked, &Query::new(), Connectivity::Eight).unwrap();
        assert!(found.regions().is_empty() && found.outlines().unwrap().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn random_masks_have_the_regions_of_a_flood_fill(
        width in 1u32..24, height in 1u32..24, seed: u64, values in 1u64..5,
    ) {
        check(&noise(width, height, seed, values), 0, 2, None);
    }
}
