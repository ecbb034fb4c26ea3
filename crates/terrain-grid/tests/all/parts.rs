//! Contour lines of parts, joined, beside those of the whole: the same lines in the same order with the same bits.

use gpu_core::{Device, GridSpec, GridView};
use proptest::prelude::*;
use terrain_grid::{
    Contour, ContourParams, Error, Fragment, Part, contours, contours_of_part, join,
};
use testing::{Random, devices};

/// Where a side of this many cells is cut into tiles: the first cell of each, and the end.
fn cuts(cells: u32, tile: u32) -> Vec<u32> {
    (0..cells).step_by(tile as usize).chain([cells]).collect()
}

/// The lines of a DEM that is cut into tiles, each of which is made with one more row and column where there is one.
fn joined(
    device: &Device,
    dem: &[f32],
    whole: GridSpec,
    tile: [u32; 2],
    params: &ContourParams,
) -> Vec<Contour> {
    let (mut fragments, mut points) = (Vec::new(), Vec::new());
    let (columns, rows) = (cuts(whole.width, tile[0]), cuts(whole.height, tile[1]));
    for row in rows.windows(2) {
        for column in columns.windows(2) {
            let end = [(column[1] + 1).min(whole.width), (row[1] + 1).min(whole.height)];
            let lines =
                dem.chunks(whole.width as usize).take(end[1] as usize).skip(row[0] as usize);
            let cells: Vec<f32> = lines
                .flat_map(|line| &line[column[0] as usize..end[0] as usize])
                .copied()
                .collect();
            let grid = GridSpec::of_pixels(end[0] - column[0], end[1] - row[0]);
            let part = Part { whole, first_cell: [column[0], row[0]] };
            let cells = GridView::new(&cells, grid).unwrap();
            for (fragment, line) in contours_of_part(device, cells, params, &part).unwrap() {
                assert_eq!(fragment.level(), line.level);
                assert_eq!(fragment.points(), line.points.len() as u64);
                assert_eq!(Fragment::from_words(fragment.to_words()), fragment);
                fragments.push(fragment);
                points.push(line.points);
            }
        }
    }
    let lines = join(&fragments).unwrap();
    let mut is_unused = vec![true; fragments.len()];
    let used = lines.iter().flat_map(|line| &line.fragments);
    used.for_each(|&i| assert!(std::mem::take(&mut is_unused[i as usize])));
    // Lines without a length are left out.
    let is_place = |points: &[[f64; 2]]| points.iter().all(|point| *point == points[0]);
    assert!(is_unused.iter().zip(&points).all(|(is_unused, p)| !is_unused || is_place(p)));
    let read = |i: usize| Ok::<_, Error>(points[i].clone());
    let line = |line: &terrain_grid::JoinedLine| Contour {
        level: line.level,
        points: line.points(read).unwrap(),
    };
    lines.iter().map(line).collect()
}

/// Compares by bits, so that a zero's sign counts.
fn check_on(
    device: &Device,
    dem: &[f32],
    whole: GridSpec,
    params: &ContourParams,
    tiles: &[[u32; 2]],
) {
    let bits = |lines: Vec<Contour>| -> Vec<(u64, Vec<[u64; 2]>)> {
        let of = |line: Contour| {
            let points = line.points.into_iter().map(|point| point.map(f64::to_bits));
            (line.level.to_bits(), points.collect())
        };
        lines.into_iter().map(of).collect()
    };
    let grid = GridView::new(dem, whole).unwrap();
    let expected = bits(contours(&Device::Cpu, grid, params).unwrap());
    for &tile in tiles {
        let found = bits(joined(device, dem, whole, tile, params));
        assert_eq!(found, expected, "tiles of {tile:?} on {}", device.name());
    }
}

fn check(dem: &[f32], whole: GridSpec, params: &ContourParams, tiles: &[[u32; 2]]) {
    devices().iter().for_each(|device| check_on(device, dem, whole, params, tiles));
}

const TILES: [[u32; 2]; 8] = [[1, 1], [2, 2], [3, 5], [4, 4], [5, 3], [6, 7], [11, 1], [64, 64]];

fn surface(whole: GridSpec, height: impl Fn(f64, f64) -> f64) -> Vec<f32> {
    let (columns, rows) = (whole.width as usize, whole.height as usize);
    (0..columns * rows).map(|i| height((i % columns) as f64, (i / columns) as f64) as f32).collect()
}

/// Sides of 13 and 10 leave tiles of one row and one column, and of two and three.
#[test]
fn surfaces_cut_at_odd_places_have_the_lines_of_the_whole() {
    let whole = GridSpec::new(4e5 + 0.1, 5e6 + 0.7, 2.5, 13, 10).unwrap();
    let every = ContourParams::every(1.0);
    type Surface = Box<dyn Fn(f64, f64) -> f64>;
    let surfaces: Vec<Surface> = vec![
        Box::new(|x, _| 0.7 * x),
        Box::new(|_, y| 0.3 - 0.9 * y),
        Box::new(|x, y| x + y),
        // Peaks and pits at corners of tiles of 4 and 5, heights being levels at many cells.
        Box::new(|x, y| 6.0 - f64::max((x - 4.0).abs(), (y - 4.0).abs())),
        Box::new(|x, y| (x - 5.0).abs() + (y - 5.0).abs()),
        Box::new(|x, y| if [x, y] == [4.0, 4.0] { 2.0 } else { 1.5 }),
        Box::new(|x, y| if [x, y] == [4.0, 4.0] { 1.0 } else { 1.5 }),
        // Saddles in every square, joined and apart.
        Box::new(|x, y| if (x + y) % 2.0 == 0.0 { 2.25 } else { 0.5 }),
        Box::new(|x, y| (x - 4.5) * (y - 4.5)),
        // A terrace exactly on a level, and level ground.
        Box::new(|x, y| f64::min(3.0, f64::min(x, y))),
        Box::new(|_, _| 2.0),
        // Rings within rings.
        Box::new(|x, y| 3.0 * f64::hypot(x - 6.0, y - 5.0).cos()),
    ];
    for height in surfaces {
        let dem = surface(whole, height);
        check_on(&Device::Cpu, &dem, whole, &every, &TILES);
        check(&dem, whole, &every, &[[6, 4]]);
        // Holes across borders of tiles, and one that is a border.
        for hole in
            [vec![4 * 13 + 4], vec![3 * 13 + 4, 4 * 13 + 4], (0..10).map(|y| y * 13 + 4).collect()]
        {
            let mut dem = dem.clone();
            hole.into_iter().for_each(|cell: usize| dem[cell] = f32::NAN);
            check_on(&Device::Cpu, &dem, whole, &every, &TILES);
        }
    }
}

/// Lines far from the first cell, where half a cell more or less is another rounding.
#[test]
fn fragments_have_the_bits_of_the_whole_far_from_its_corner() {
    let whole = GridSpec::of_pixels(7, 2003);
    let mut random = Random::new(5);
    let dem: Vec<f32> = (0..whole.cells()).map(|_| random.between(0.0, 9.0) as f32).collect();
    check(&dem, whole, &ContourParams::at([1.5, 4.0, 7.25]), &[[3, 500], [7, 1999]]);
}

#[test]
fn parts_beyond_the_whole_are_refused() {
    let part = Part { whole: GridSpec::of_pixels(5, 4), first_cell: [2, 2] };
    for (width, height, what) in [(4, 2, "first column"), (3, 3, "first row")] {
        let dem = vec![0.0; (width * height) as usize];
        let dem = GridView::new(&dem, GridSpec::of_pixels(width, height)).unwrap();
        let error = contours_of_part(&Device::Cpu, dem, &ContourParams::every(1.0), &part);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(what) && error.contains('2'), "{error}");
    }
    assert_eq!(join(&[]), Ok(Vec::new()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn parts_have_the_lines_of_the_whole(
        (width, height) in (0u32..24, 0u32..24),
        tile in (4u32..14, 4u32..14),
        seed in any::<u64>(),
        holes in 0u32..20,
        smooth in any::<bool>(),
    ) {
        let whole = GridSpec::new(-3.0, 8.0, 0.3, width, height).unwrap();
        let mut random = Random::new(seed);
        let (a, b) = (random.between(2.0, 9.0), random.between(2.0, 9.0));
        let cell = |i: u64| match random.next_u64() as u32 {
            n if n % 100 < holes => f32::NAN,
            n if smooth => {
                let (x, y) = ((i % u64::from(width)) as f64, (i / u64::from(width)) as f64);
                (3.0 * (x / a).sin() * (y / b).cos() + 1e-3 * f64::from(n % 8)) as f32
            }
            n => (n / 100 % 7) as f32,
        };
        let dem: Vec<f32> = (0..whole.cells()).map(cell).collect();
        check(&dem, whole, &ContourParams::at([-2.0, 0.0, 0.5, 2.0, 3.0, 3.25]), &[[tile.0, tile.1]]);
    }
}

/// A peak and a corner on the level, and the end of a ridge that is cut there, beside lines with a length.
#[test]
fn values_on_a_level_make_no_line_without_a_length() {
    let peak = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let corner = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let (one, params) = (GridSpec::of_pixels(3, 3), ContourParams::at([1.0]));
    for device in devices() {
        for dem in [&peak, &corner] {
            let dem = GridView::new(dem, one).unwrap();
            assert_eq!(contours(&device, dem, &params).unwrap(), []);
        }
    }
    check(&peak, one, &params, &[[1, 1], [2, 1]]);
    let mut random = Random::new(5);
    let whole = GridSpec::of_pixels(40, 30);
    let heights: Vec<f32> = (0..1200).map(|_| random.below(4) as f32).collect();
    check(&heights, whole, &ContourParams::at([1.0, 2.0, 3.0]), &[[7, 5], [1, 1]]);
    let dem = GridView::new(&heights, whole).unwrap();
    let lines = contours(&Device::Cpu, dem, &ContourParams::at([1.0, 2.0, 3.0])).unwrap();
    assert!(lines.len() > 10);
    assert!(lines.iter().all(|line| line.points.iter().any(|point| *point != line.points[0])));
}

/// Whole heights on whole levels, as of most DEMs of integers.
#[test]
fn no_point_of_a_line_repeats_the_one_before_it() {
    let mut random = Random::new(6);
    let whole = GridSpec::of_pixels(40, 30);
    let heights: Vec<f32> = (0..1200).map(|_| random.below(4) as f32).collect();
    let dem = GridView::new(&heights, whole).unwrap();
    for device in devices() {
        let lines = contours(&device, dem, &ContourParams::at([1.0, 2.0, 3.0])).unwrap();
        for line in &lines {
            assert!(line.points.windows(2).all(|pair| pair[0] != pair[1]), "{line:?}");
        }
    }
}
