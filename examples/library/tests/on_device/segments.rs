//! Points, a quadtree of them, its leaves and their neighbours, a DEM segment by segment.

use gpu_core::{Bounds, Device, Extent, GridSpec, Points, UploadedPoints};
use gpu_scan::gpu::Workspace;
use library::segments::{self, Params, differing, leaves_of};
use nni_grid::{Dependence, Input, interpolate};
use quadtree_sort::{Adjacency, build};
use testing::{Cloud, bits, gpu};

use crate::bytes_to_host;

const SIDE: u32 = 48;

fn cloud(count: usize) -> Cloud {
    let rectangle = [0.0, 0.0, SIDE.into(), SIDE.into()];
    Cloud::uniform(count, rectangle, 17, |x, y| 9.0 * (x / 7.0).sin() + 0.2 * y)
}

fn params(threshold: u32) -> Params {
    Params::new(GridSpec::new(0.0, SIDE.into(), 1.0, SIDE, SIDE).unwrap(), threshold)
}

#[test]
fn a_dem_by_segments_is_made_on_the_device() {
    let gpu = gpu();
    let mut workspace = Workspace::new(&gpu).unwrap();
    for (count, threshold) in [(1, 9), (60, 9), (1500, 200)] {
        let (cloud, params) = (cloud(count), params(threshold));
        let (wanted, segments) = cloud.with(|points| {
            let tree = build(&Device::Cpu, Points::new(points.x, points.y), &params.tree).unwrap();
            let leaves = leaves_of(tree.nodes());
            let around = tree.adjacent_leaves(&leaves, Adjacency::EdgesAndCorners).unwrap();
            let lists = 8 * around.offsets.len() + 4 * around.indices.len();
            let plan = 32 * tree.nodes().len() + lists;
            (segments::dem(points, &params).unwrap(), (leaves.len(), plan))
        });
        let there = cloud.with(|points| UploadedPoints::new(&gpu, &points)).unwrap();
        let points = there.points(cloud.with(|points| Extent::of(&points)).unwrap()).unwrap();
        let (dem, bytes) =
            bytes_to_host(&gpu, || segments::gpu::dem(&mut workspace, &points, &params).unwrap());
        assert_eq!(bits(dem.to_host().unwrap().values()), bits(wanted.values()), "{count}");
        // The plan, and the few numbers that each step waits for, however many points there are.
        let (leaves, plan) = segments;
        if gpu.is_software() {
            assert!(
                (plan as u64..=(plan + 1024 + 128 * leaves) as u64).contains(&bytes),
                "{bytes}"
            );
        }
    }
}

/// A cell's height depends on its circles and half-planes. If a segment has all points in these, the cell has the
/// height of the whole: to rounding in general, for these points to the last bit. The other cells lie towards the
/// border of the segment's ground.
#[test]
fn segments_have_the_heights_of_the_whole_but_where_a_further_point_may_matter() {
    let (cloud, params) = (cloud(1500), params(100));
    cloud.with(|points| {
        let whole =
            interpolate(&Device::Cpu, Input::new(points, params.grid), &params.interpolation);
        let whole = &whole.unwrap().values[0];
        let dem = segments::dem(points, &params).unwrap();
        let differing = differing(dem.view(), whole.view(), 0.0);

        let all = Bounds::of(points.x, points.y).unwrap();
        let tree = build(&Device::Cpu, Points::new(points.x, points.y), &params.tree).unwrap();
        let leaves = leaves_of(tree.nodes());
        let around = tree.adjacent_leaves(&leaves, Adjacency::EdgesAndCorners).unwrap();
        let segments = segments::segments(tree.nodes(), &leaves, &around, &params).unwrap();
        let (mut unsettled, mut cells) = (Vec::new(), 0);
        for segment in &segments {
            let mut is_own = vec![false; tree.x().len()];
            segment.points.iter().for_each(|range| is_own[range.clone()].fill(true));
            let of = |column: &[f64]| -> Vec<f64> {
                column.iter().zip(&is_own).filter(|(_, own)| **own).map(|(v, _)| *v).collect()
            };
            let known = segment.known(&tree);
            let is_known = |i: usize| {
                let (x, y) = (tree.x()[i], tree.y()[i]);
                (known.min_x..=known.max_x).contains(&x) && (known.min_y..=known.max_y).contains(&y)
            };
            assert!((0..is_own.len()).all(|i| is_own[i] || !is_known(i)));
            let mut dependence = Dependence::new(segment.grid, &params.interpolation, all).unwrap();
            let is_settled = dependence.look(&of(tree.x()), &of(tree.y()), &known).unwrap();
            assert_eq!(is_settled, dependence.unsettled().is_empty());
            cells += segment.grid.cells() as usize;
            let [column, row] = segment.corner;
            let cell_of = |cell: &u32| {
                let (own_row, own_column) = (cell / segment.grid.width, cell % segment.grid.width);
                ((row + own_row) * SIDE + column + own_column) as usize
            };
            unsettled.extend(dependence.unsettled().iter().map(cell_of));
        }
        assert_eq!(cells, (SIDE * SIDE) as usize, "each cell lies in a segment");
        assert!(differing.iter().all(|cell| unsettled.contains(cell)), "{differing:?}");
        assert!(!differing.is_empty() && 100 * unsettled.len() < cells);
        let settled = segments::settled_dem(points, &params).unwrap();
        assert_eq!(bits(settled.values()), bits(whole.values()));
    });
}

#[test]
fn ground_without_points_has_no_height() {
    // Three quadrants of the root have points.
    let mut cloud = cloud(300);
    let kept = |i: &usize| !(cloud.x[*i] > 24.0 && cloud.y[*i] > 24.0);
    let kept: Vec<usize> = (0..cloud.len()).filter(kept).collect();
    cloud = Cloud::of(kept.iter().map(|&i| (cloud.x[i], cloud.y[i], cloud.z[i])));
    let params = params(200);
    let dem = cloud.with(|points| segments::settled_dem(points, &params)).unwrap();
    for row in 0..SIDE {
        for column in 0..SIDE {
            let is_void = column >= 24 && row < 24;
            assert_eq!(dem.get(column, row).unwrap().is_nan(), is_void, "{column} {row}");
        }
    }
}

/// Two clusters, between which the tree has no leaf.
#[test]
fn a_segment_is_widened_across_ground_without_points() {
    let mut cloud = Cloud::uniform(60, [0.0, 0.0, 5.0, 5.0], 3, |x, y| x + y);
    let other = Cloud::uniform(60, [43.0, 43.0, 48.0, 48.0], 4, |x, y| x - y);
    (0..other.len()).for_each(|i| cloud.push((other.x[i], other.y[i], other.z[i])));
    let mut params = params(20);
    params.interpolation = params.interpolation.max_distance(f64::INFINITY);
    cloud.with(|points| {
        let input = Input::new(points, params.grid);
        let whole = interpolate(&Device::Cpu, input, &params.interpolation).unwrap();
        let dem = segments::settled_dem(points, &params).unwrap();
        let pairs = dem.values().iter().zip(whole.values[0].values());
        let (mut same, mut void) = (0, 0);
        for (found, wanted) in pairs {
            match found.is_nan() {
                true => void += 1,
                false => {
                    assert!((found - wanted).abs() <= 1e-4, "{found} {wanted}");
                    same += 1;
                }
            }
        }
        assert!(same > 50 && void > 1000, "{same} {void}");
    });
}
