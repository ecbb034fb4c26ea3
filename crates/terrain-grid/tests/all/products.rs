//! Products against what they must be, on the CPU and on the process's GPU, which agree in all bits.

use gpu_core::{Device, GridSpec, GridView};
use proptest::prelude::*;
use terrain_grid::{
    Aspect, Contour, ContourParams, Curvature, Edges, Error, Ground, Levels, Light, Part, Product,
    ProductParams, SlopeUnit, averaged, contours, contours_of_part, product,
};
use testing::{Random, devices};

use crate::made::{every_product, made, plane, shade, slope, view};

fn grid(width: u32, height: u32) -> GridSpec {
    GridSpec::new(100.0, 50.0, 2.0, width, height).unwrap()
}

fn lines(dem: &[f32], grid: &GridSpec, params: &ContourParams) -> Vec<Contour> {
    let of = |device| contours(&device, view(dem, grid), params).unwrap();
    let mut all = devices().into_iter().map(of);
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(other, first));
    first
}

#[test]
fn planes_have_their_slope() {
    let grid = grid(9, 7);
    for (east, south) in [(0.0, 0.0), (1.0, 0.0), (0.0, -0.5), (0.75, 0.25), (-40.0, 3.0)] {
        let dem = plane(&grid, east, south);
        let tangent = f64::hypot(east, south);
        for (unit, expected) in [
            (SlopeUnit::Degrees, tangent.atan().to_degrees()),
            (SlopeUnit::Percent, 100.0 * tangent),
        ] {
            let found = made(&dem, &grid, &ProductParams::new(Product::Slope(unit)));
            for (i, &value) in found.iter().enumerate() {
                let is_border = i % 9 == 0 || i % 9 == 8 || i / 9 == 0 || i / 9 == 6;
                assert_eq!(value.is_nan(), is_border, "cell {i}");
                let close = (f64::from(value) - expected).abs() <= 1e-5 * expected.max(1.0);
                assert!(is_border || close, "{value} is not {expected}");
            }
        }
        let steep = made(&dem, &grid, &slope().z_factor(2.0));
        assert!((f64::from(steep[10]) - (2.0 * tangent).atan().to_degrees()).abs() < 1e-4);
    }
}

#[test]
fn rasters_of_all_shapes_agree() {
    for (width, height) in
        [(1, 40), (2, 35), (3, 3), (4, 70), (8, 2), (68, 53), (69, 50), (1032, 34)]
    {
        let grid = grid(width, height);
        let value = |i: u64| match i % 97 {
            13 => f32::NAN,
            _ => 1000.0 + (i as f32 * 0.37).sin() * 20.0,
        };
        let dem: Vec<f32> = (0..grid.cells()).map(value).collect();
        for edges in [Edges::Nodata, Edges::Level] {
            every_product(&grid).for_each(|params| {
                made(&dem, &grid, &params.edges(edges));
            });
        }
    }
}

#[test]
fn slopes_that_face_the_light_are_bright() {
    let grid = grid(5, 5);
    let centre = |east, south| made(&plane(&grid, east, south), &grid, &shade(Light::new()))[12];
    let half = std::f64::consts::FRAC_1_SQRT_2;
    assert!((f64::from(centre(0.0, 0.0)) - half).abs() < 1e-7);
    // Rising to the south-east, a slope looks north-west, and at 45 degrees it meets the light.
    assert!((centre(half, half) - 1.0).abs() < 1e-6);
    assert!(centre(-half, -half) < 1e-6);
    assert!((f64::from(centre(half, -half)) - 0.5).abs() < 1e-6);
    let from_above = shade(Light::new().altitude(90.0));
    assert_eq!(made(&plane(&grid, 0.0, 0.0), &grid, &from_above)[12], 1.0);
}

#[test]
fn a_hole_takes_its_neighbours_or_leaves_them_level() {
    let grid = grid(7, 7);
    let mut dem = plane(&grid, 1.0, 0.0);
    dem[24] = f32::NAN;
    let around = [16, 17, 18, 23, 24, 25, 30, 31, 32];
    let strict = made(&dem, &grid, &slope());
    let soft = made(&dem, &grid, &slope().edges(Edges::Level));
    for i in 0..49 {
        let is_border = i % 7 == 0 || i % 7 == 6 || i / 7 == 0 || i / 7 == 6;
        assert_eq!(strict[i].is_nan(), is_border || around.contains(&i), "cell {i}");
        assert_eq!(soft[i].is_nan(), i == 24, "cell {i}");
    }
    // At the western border the missing side counts as level: half the slope.
    let expected = 0.5f64.atan().to_degrees();
    assert!((f64::from(soft[21]) - expected).abs() < 1e-5, "{} is not {expected}", soft[21]);
}

#[test]
fn a_cone_has_rings_of_one_radius() {
    let grid = GridSpec::new(0.0, 41.0, 1.0, 41, 41).unwrap();
    let height = |i: usize| {
        let (x, y) = ((i % 41) as f64 - 20.0, (i / 41) as f64 - 20.0);
        (30.0 - x.hypot(y)) as f32
    };
    let dem: Vec<f32> = (0..41 * 41).map(height).collect();
    let rings = lines(&dem, &grid, &ContourParams::at(vec![15.0, 20.0, 25.5]));
    assert_eq!(rings.len(), 3);
    for ring in &rings {
        assert!(ring.is_closed());
        let mut area = 0.0;
        for pair in ring.points.windows(2) {
            let [[x0, y0], [x1, y1]] = [pair[0], pair[1]].map(|[x, y]| [x - 20.5, y - 20.5]);
            // Linear between cells: the radius is met but for the curvature.
            assert!((x0.hypot(y0) - (30.0 - ring.level)).abs() < 0.1);
            area += (x0 * y1 - x1 * y0) / 2.0;
        }
        // The high ground is on the right, so rings of a hill go clockwise.
        assert!(area < 0.0);
    }
}

#[test]
fn saddles_are_decided_by_the_mean() {
    let grid = GridSpec::new(0.0, 2.0, 1.0, 2, 2).unwrap();
    // High in the north-west and south-east.
    for (high, joined) in [(4.0, true), (2.5, false)] {
        let found = lines(&[high, 0.0, 0.0, high], &grid, &ContourParams::at(vec![1.5]));
        assert_eq!(found.len(), 2);
        // Joined, each line goes round a low corner, the north-eastern or the south-western.
        let goes_round_low = found.iter().any(|line| {
            let [x, y] = [0, 1].map(|k| line.points.iter().map(|p| p[k]).sum::<f64>() / 2.0);
            x > 1.0 && y > 1.0
        });
        assert_eq!(goes_round_low, joined);
    }
}

#[test]
fn lines_end_at_holes_and_borders() {
    let grid = GridSpec::new(0.0, 9.0, 1.0, 9, 9).unwrap();
    let mut dem = plane(&grid, 1.0, 0.0);
    assert_eq!(lines(&dem, &grid, &ContourParams::at(vec![3.5])).len(), 1);
    dem[4 * 9 + 3] = f32::NAN;
    let parts = lines(&dem, &grid, &ContourParams::at(vec![3.5]));
    assert_eq!(parts.len(), 2);
    assert!(parts.iter().all(|line| !line.is_closed() && line.points.len() == 4));
    // Levels every 2 from 0 to 8; the lowest is not crossed, since on the level is high.
    let every = lines(&plane(&grid, 1.0, 0.0), &grid, &ContourParams::every(2.0));
    assert_eq!(every.iter().map(|line| line.level).collect::<Vec<_>>(), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(every[0].points[0], [2.5, 0.5]);
}

/// The pieces of all lines, directed, as bits of their ends.
fn pieces(lines: &[Contour]) -> Vec<(u64, [u64; 4])> {
    let ends = |line: &Contour| {
        let level = line.level.to_bits();
        let piece =
            move |p: &[[f64; 2]]| (level, [p[0][0], p[0][1], p[1][0], p[1][1]].map(f64::to_bits));
        line.points.windows(2).map(piece).collect::<Vec<_>>()
    };
    lines.iter().flat_map(ends).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn lines_separate_high_from_low(
        (width, height) in (0u32..12, 0u32..12),
        seed in any::<u64>(),
        holes in 0u32..30,
    ) {
        let grid = GridSpec::new(0.0, f64::from(height), 1.0, width, height).unwrap();
        let mut random = Random::new(seed);
        let cell = |_| match random.next_u64() as u32 {
            n if n % 100 < holes => f32::NAN,
            n => (n / 100 % 7) as f32,
        };
        let dem: Vec<f32> = (0..grid.cells()).map(cell).collect();
        let levels = [0.5, 2.0, 3.0, 3.25];
        let params = ContourParams::at(levels.to_vec());
        // A part that is the whole has the lines without a length too, and repeated points.
        let part = Part { whole: grid, first_cell: [0; 2] };
        let of_part = contours_of_part(&Device::Cpu, view(&dem, &grid), &params, &part).unwrap();
        let found: Vec<Contour> = of_part.into_iter().map(|(_, line)| line).collect();
        let has_length = |line: &&Contour| line.points.iter().any(|point| *point != line.points[0]);
        let mut with_length: Vec<Contour> = found.iter().filter(has_length).cloned().collect();
        with_length.iter_mut().for_each(|line| line.points.dedup());
        prop_assert_eq!(lines(&dem, &grid, &params), with_length);
        // Every whole square has its pieces. No piece occurs twice, but for those without length,
        // where a value lies on the level.
        let all = pieces(&found);
        let mut unique: Vec<_> =
            all.iter().filter(|(_, [x0, y0, x1, y1])| (x0, y0) != (x1, y1)).copied().collect();
        let with_length = unique.len();
        unique.sort();
        unique.dedup();
        prop_assert_eq!(unique.len(), with_length);
        let (w, h) = (width as usize, height as usize);
        let mut expected = 0;
        for y in 0..h.saturating_sub(1) {
            for x in 0..w.saturating_sub(1) {
                let corners =
                    [dem[y * w + x], dem[y * w + x + 1], dem[(y + 1) * w + x + 1], dem[(y + 1) * w + x]];
                if corners.iter().any(|v| v.is_nan()) {
                    continue;
                }
                for level in levels {
                    let high = corners.map(|v| f64::from(v) >= level);
                    let changes = (0..4).filter(|&i| high[i] != high[(i + 1) % 4]).count();
                    expected += changes / 2;
                }
            }
        }
        prop_assert_eq!(all.len(), expected);
        let edges = if seed % 2 == 0 { Edges::Level } else { Edges::Nodata };
        every_product(&grid).for_each(|params| drop(made(&dem, &grid, &params.edges(edges))));
    }
}

#[test]
fn overviews_are_means() {
    let grid = GridSpec::new(0.0, 2.0, 1.0, 3, 2).unwrap();
    let dem = [1.0, 3.0, f32::NAN, 5.0, 7.0, f32::NAN];
    let averaged = averaged(view(&dem, &grid), 2, &gpu_core::Silent).unwrap();
    let (values, coarse) = (averaged.values(), averaged.grid());
    assert_eq!((coarse.width, coarse.height, coarse.cell_size), (2, 1, 2.0));
    assert_eq!(values[0], 4.0);
    assert!(values[1].is_nan());
}

/// Parameters of which one is wrong, and its name.
fn bad_params() -> [(ProductParams, &'static str); 13] {
    let degrees = |north, width, height| {
        let Ground::Degrees { first_row, .. } = Ground::degrees_of(&grid(1, 1)) else {
            unreachable!()
        };
        slope().ground(Ground::Degrees { north, width, height, first_row })
    };
    let rectangle = |width, height| slope().ground(Ground::Rectangle { width, height });
    let aspect = Aspect::new().flat(f32::INFINITY);
    [
        (shade(Light::new().azimuth(f64::NAN)), "azimuth"),
        (shade(Light::new().altitude(f64::INFINITY)), "altitude"),
        (slope().z_factor(f64::NAN), "z factor"),
        (ProductParams::new(Product::Roughness).z_factor(f64::INFINITY), "z factor"),
        (slope().z_factor(1e30), "z factor"),
        (shade(Light::new()).z_factor(1e-30), "z factor"),
        (ProductParams::new(Product::Curvature(Curvature::Plan)).z_factor(-1e40), "z factor"),
        (ProductParams::new(Product::Aspect(aspect)), "flat aspect"),
        (rectangle(0.0, 1.0), "width of a cell"),
        (rectangle(1.0, f64::NAN), "height of a cell"),
        (degrees(1.0, -1.0, 1.0), "width of a cell"),
        (degrees(1.0, 1.0, f64::INFINITY), "height of a cell"),
        (degrees(f64::NAN, 1.0, 1.0), "northern edge"),
    ]
}

#[test]
fn bad_input_is_named() {
    let good = grid(3, 3);
    let ones = view(&[1.0; 9], &good);
    for device in devices() {
        let cell = GridView::new(&[1.0; 9], GridSpec { cell_size: 0.0, ..good });
        assert!(matches!(cell, Err(gpu_core::Error::CellSize { .. })));
        for (params, name) in bad_params() {
            let found = product(&device, ones, &params);
            assert!(
                matches!(found, Err(Error::Core(gpu_core::Error::Parameter { what, .. })) if what == name),
                "{name}: {found:?}"
            );
        }
        let rows = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0];
        let with = |params: ContourParams| contours(&device, view(&rows, &good), &params);
        assert_eq!(with(ContourParams::at([2.0, 2.0])), Err(Error::Levels { value: 2.0 }));
        for interval in [0.0, -1.0, f64::NAN] {
            let found = with(ContourParams::every(interval));
            assert!(matches!(
                found,
                Err(Error::Core(gpu_core::Error::Parameter { what: "interval", .. }))
            ));
        }
        let base = with(ContourParams::new(Levels::Every { interval: 1.0, base: f64::NAN }));
        assert!(matches!(
            base,
            Err(Error::Core(gpu_core::Error::Parameter { what: "base level", .. }))
        ));
        let dense = with(ContourParams::every(1e-9));
        assert!(matches!(dense, Err(Error::TooManyLevels { .. })));
        let empty = view(&[], &GridSpec { width: 0, ..good });
        for params in every_product(&good) {
            assert!(product(&device, empty, &params).unwrap().values().is_empty());
        }
        assert_eq!(contours(&device, empty, &ContourParams::every(1.0)), Ok(vec![]));
        let void = view(&[f32::NAN; 9], &good);
        assert_eq!(contours(&device, void, &ContourParams::every(1.0)), Ok(vec![]));
    }
}

/// Ends a call at its first report.
struct Ending;

impl gpu_core::Progress for Ending {
    fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Break(())
    }
}

#[test]
fn every_product_can_be_cancelled() {
    let grid = grid(3, 3);
    let dem = view(&[1.0; 9], &grid);
    let cancelled = Error::Cancelled(gpu_core::Cancelled);
    for device in devices() {
        for params in every_product(&grid) {
            let ended = product(device.with_progress(&Ending), dem, &params);
            assert_eq!(ended, Err(cancelled.clone()));
        }
        let lines = contours(device.with_progress(&Ending), dem, &ContourParams::every(1.0));
        assert_eq!(lines, Err(cancelled.clone()));
    }
}

/// Parts of one column, as of several DEMs; the second begins at no multiple of 16 bytes.
#[cfg(feature = "cuda")]
#[test]
fn a_dem_may_begin_anywhere_in_a_column() {
    use gpu_core::GridSlice;
    use terrain_grid::gpu::{self, Workspace};
    use testing::bits;

    let gpu = testing::gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    let grid = grid(8, 37);
    let cells = grid.cells() as usize;
    let mut random = Random::new(3);
    let heights: Vec<f32> = (0..3 * cells).map(|_| random.between(0.0, 9.0) as f32).collect();
    let column = gpu.upload(&heights).unwrap();
    for start in [0, cells, cells + 1, 2 * cells - 2] {
        let part = start..start + cells;
        let resident = GridSlice::new(column.slice(part.clone()).unwrap(), grid).unwrap();
        let dem = &heights[part];
        for params in every_product(&grid) {
            let found = gpu::product(&gpu, resident, &params).unwrap().to_host().unwrap();
            let expected = made(dem, &grid, &params);
            assert_eq!(bits(found.values()), bits(&expected), "{params:?} from {start}");
        }
        let params = ContourParams::every(2.0);
        let found = gpu::contours(&mut workspace, resident, &params).unwrap();
        assert_eq!(found, lines(dem, &grid, &params), "from {start}");
    }
}
