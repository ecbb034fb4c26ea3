//! Neighbours: the kernels that a search takes, and their arguments.

use device_std::warp::SIZE;
use gpu_core::{Blocks, Column};
use kernels_rs::idw::neighbours::far::{LIST_HEAD, MOST_BLOCKS, interpolate_far};
use kernels_rs::idw::neighbours::interpolate;
use kernels_rs::idw::neighbours::patches::threads_of_grid;
use kernels_rs::idw::neighbours::ranked::{MOST_OF_QUADRANT, MOST_RANKED};
use kernels_rs::idw::neighbours::together::{TEAM, interpolate_together};
use kernels_rs::idw::statistic;

use super::number::{DeviceNumber, Kept};
use super::{Call, Workspace};
use crate::ground::RADIUS;
use crate::search::Search;
use crate::{Below, Result};

/// Points of a query, on average, up to which queries side by side are searched together.
const POINTS_OF_QUERY: u64 = 8;

/// Scattered queries from which on it pays to sort them.
const LEAST_SORTED: u64 = 4096;

/// The queries that a search for 32 at a time left.
struct Left {
    threads: u64,
    /// A bit for each thread.
    words: Column<u32>,
    /// The words that are not zero, behind their number.
    list: Column<u32>,
    /// The order in which threads have the queries, unless they are a grid's.
    order: Option<Column<u32>>,
}

impl Left {
    fn threads(&self) -> u64 {
        self.threads
    }

    fn order(&self) -> *const u32 {
        self.order.as_ref().map_or(std::ptr::null(), Column::as_ptr)
    }
}

impl Call<'_> {
    /// The values of all queries from their neighbours, and statistics of those; `exponents`, where each
    /// query has a power of its own. Enqueues and returns.
    pub(super) fn search<T: DeviceNumber>(
        &self,
        workspace: &mut Workspace,
        exponents: Option<&Column<f64>>,
    ) -> Result<(Column<T>, Option<Column<T>>)> {
        let about = &self.index.about;
        let count = self.queries.count as usize;
        // SAFETY: every value of every query, and every statistic, is written, but for the columns that
        // only fill up.
        let (mut values, mut statistics) = unsafe {
            let values = self.gpu.uninitialized::<T>(about.padded() * count)?;
            let statistics = match self.params.statistics {
                true => Some(self.gpu.uninitialized::<T>(statistic::ALL * count)?),
                false => None,
            };
            (values, statistics)
        };
        let search = Search::of(self.params);
        let kernel = T::neighbours(self.kept(&search));
        let mut left =
            self.search_together(workspace, &search, exponents, &mut values, statistics.as_mut())?;
        if let Some(left) = &mut left {
            self.search_far(&search, left, exponents, &mut values, statistics.as_mut())?;
        }
        let threads = left.as_ref().map_or(self.queries.count, Left::threads);
        let arguments =
            self.arguments(&search, left.as_ref(), exponents, &mut values, statistics.as_mut())?;
        // SAFETY: the index's columns and the queries' have the lengths that the kernel needs, and so has what
        // was left.
        unsafe {
            let blocks = Blocks::for_each(&kernel, threads)?;
            self.gpu.enqueue(kernel, blocks, arguments)?;
        }
        Ok((values, statistics))
    }

    /// What the kernels keep of each query in a list; on the sphere quadrants have none.
    fn kept(&self, search: &Search) -> Kept {
        let wanted = search.max_points.min(search.max_per_quadrant).max(search.min_per_quadrant);
        // What a query falls back on must fit as well.
        let is_short = search.fallback() <= MOST_RANKED;
        match search.quadrants {
            false if is_short && wanted <= MOST_RANKED => Kept::Nearest(wanted),
            true if is_short && wanted <= MOST_OF_QUADRANT && !self.params.geographic => {
                Kept::OfQuadrants(wanted)
            }
            _ => Kept::Nothing,
        }
    }

    /// Searches for 32 queries at a time, side by side, and gives what is left; `None` where it does nothing,
    /// since queries side by side have few points in common, or too many are wanted.
    fn search_together<T: DeviceNumber>(
        &self,
        workspace: &mut Workspace,
        search: &Search,
        exponents: Option<&Column<f64>>,
        values: &mut Column<T>,
        statistics: Option<&mut Column<T>>,
    ) -> Result<Option<Left>> {
        let &Self { index, queries, params, .. } = self;
        let is_dense = queries.count * POINTS_OF_QUERY >= index.len() as u64;
        let kernel = T::together(match self.kept(search) {
            // Shorter lists are for circles.
            Kept::Nearest(wanted) if search.ellipse.is_some() => Kept::Nearest(wanted.max(16)),
            kept => kept,
        });
        let (true, false, Some(kernel)) = (is_dense, index.about.ground.geographic, kernel) else {
            return Ok(None);
        };
        let order = match queries.grid {
            Some(_) => None,
            None if queries.count < LEAST_SORTED => return Ok(None),
            None => Some(queries.order_along_curve(workspace)?),
        };
        let threads = match queries.grid {
            Some(grid) => threads_of_grid(grid.width, grid.height),
            None => queries.count,
        };
        let (about, sorted) = (&index.about, index.searched()?);
        // SAFETY: the columns have the lengths that the kernel needs; it writes a word for each of its warps.
        unsafe {
            let blocks = Blocks::for_each(&kernel, threads)?;
            let words = threads.next_multiple_of(TEAM.into()) / u64::from(SIZE);
            let mut left = Left {
                threads,
                words: self.gpu.uninitialized(words as usize)?,
                list: self.gpu.uninitialized(words as usize + LIST_HEAD as usize)?,
                order,
            };
            self.gpu.fill_with_byte(left.list.as_mut_ptr(), 0, LIST_HEAD as usize)?;
            let arguments = interpolate_together::Args {
                plan: index.plan.as_ptr(),
                starts: sorted.starts.as_ptr(),
                order: sorted.order.as_ptr(),
                places: sorted.places.as_ptr(),
                point_values: sorted.values.as_ptr(),
                ranges: index.ranges.as_ptr(),
                points: index.len() as u32,
                x: queries.x,
                y: queries.y,
                target_order: left.order(),
                count: queries.count,
                width: queries.width(),
                grid: queries.grid_numbers(),
                law: params.law(),
                smoothing: params.smoothing * params.smoothing,
                exponent: -0.5 * params.power,
                exponents: exponents.map_or(std::ptr::null(), Column::as_ptr),
                reach: search.reach,
                extent: search.extent,
                ellipse: search.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
                leaves_out: u32::from(self.leave_out),
                max_points: search.max_points,
                min_points: search.min_points,
                max_per_quadrant: search.max_per_quadrant,
                min_per_quadrant: search.min_per_quadrant,
                falls_back: u32::from(search.below == Below::Nearest),
                value_count: about.ranges.len() as u32,
                values: values.as_mut_ptr(),
                statistics: statistics.map_or(std::ptr::null_mut(), Column::as_mut_ptr),
                left: left.words.as_mut_ptr(),
                list: left.list.as_mut_ptr(),
            };
            self.gpu.enqueue(kernel, blocks, arguments)?;
            Ok(Some(left))
        }
    }

    /// Searches once more for 32 queries at a time, wherever points are, for what was left.
    fn search_far<T: DeviceNumber>(
        &self,
        search: &Search,
        left: &mut Left,
        exponents: Option<&Column<f64>>,
        values: &mut Column<T>,
        statistics: Option<&mut Column<T>>,
    ) -> Result<()> {
        let &Self { index, queries, params, .. } = self;
        let (about, sorted) = (&index.about, index.searched()?);
        let Some(kernel) = T::far(self.kept(search)) else { return Ok(()) };
        let bounds = about.ground.bounds.map_or([0.0; 4], |b| [b.min_x, b.min_y, b.max_x, b.max_y]);
        let order = left.order();
        let arguments = interpolate_far::Args {
            plan: index.plan.as_ptr(),
            starts: sorted.starts.as_ptr(),
            sums: sorted.sums.as_ptr(),
            order: sorted.order.as_ptr(),
            places: sorted.places.as_ptr(),
            point_values: sorted.values.as_ptr(),
            ranges: index.ranges.as_ptr(),
            points: index.len() as u32,
            bounds,
            boxes: sorted.boxes.as_ptr(),
            x: queries.x,
            y: queries.y,
            target_order: order,
            count: queries.count,
            width: queries.width(),
            grid: queries.grid_numbers(),
            law: params.law(),
            smoothing: params.smoothing * params.smoothing,
            exponent: -0.5 * params.power,
            exponents: exponents.map_or(std::ptr::null(), Column::as_ptr),
            reach: search.reach,
            extent: search.extent,
            ellipse: search.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
            leaves_out: u32::from(self.leave_out),
            max_points: search.max_points,
            min_points: search.min_points,
            max_per_quadrant: search.max_per_quadrant,
            min_per_quadrant: search.min_per_quadrant,
            falls_back: u32::from(search.below == Below::Nearest),
            value_count: about.ranges.len() as u32,
            values: values.as_mut_ptr(),
            statistics: statistics.map_or(std::ptr::null_mut(), Column::as_mut_ptr),
            left: left.words.as_mut_ptr(),
            list: left.list.as_mut_ptr(),
        };
        // SAFETY: the columns have the lengths that the kernel needs, and what was left has been written.
        unsafe {
            let blocks = Blocks::for_each(&kernel, left.threads)?;
            let blocks = Blocks::x(blocks.x.min(MOST_BLOCKS));
            Ok(self.gpu.enqueue(kernel, blocks, arguments)?)
        }
    }

    fn arguments<T: DeviceNumber>(
        &self,
        search: &Search,
        left: Option<&Left>,
        exponents: Option<&Column<f64>>,
        values: &mut Column<T>,
        statistics: Option<&mut Column<T>>,
    ) -> Result<interpolate::Args<T>> {
        let &Self { index, queries, params, .. } = self;
        let (about, sorted) = (&index.about, index.searched()?);
        Ok(interpolate::Args {
            plan: index.plan.as_ptr(),
            starts: sorted.starts.as_ptr(),
            order: sorted.order.as_ptr(),
            places: sorted.places.as_ptr(),
            point_values: sorted.values.as_ptr(),
            ranges: index.ranges.as_ptr(),
            points: index.len() as u32,
            x: queries.x,
            y: queries.y,
            vectors: queries.vectors,
            left: left.map_or(std::ptr::null(), |left| left.words.as_ptr()),
            target_order: left.map_or(std::ptr::null(), Left::order),
            count: queries.count,
            width: queries.width(),
            grid: queries.grid_numbers(),
            law: params.law(),
            smoothing: params.smoothing * params.smoothing,
            exponent: -0.5 * params.power,
            exponents: exponents.map_or(std::ptr::null(), Column::as_ptr),
            sphere: if about.ground.geographic { RADIUS } else { 0.0 },
            reach: [search.reach, search.arc],
            extent: search.extent,
            ellipse: search.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
            leaves_out: u32::from(self.leave_out),
            by_quadrants: u32::from(search.quadrants),
            max_points: search.max_points,
            min_points: search.min_points,
            max_per_quadrant: search.max_per_quadrant,
            min_per_quadrant: search.min_per_quadrant,
            falls_back: u32::from(search.below == Below::Nearest),
            value_count: about.ranges.len() as u32,
            values: values.as_mut_ptr(),
            statistics: statistics.map_or(std::ptr::null_mut(), Column::as_mut_ptr),
        })
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::{DevicePoints, Extent, GridSpec};

    use super::*;
    use crate::Params;
    use crate::gpu::{DeviceTargets, Index, Queries};

    use testing::Cloud;

    /// How many of 1600 queries, of a grid of the side given, are left: by the search together, and by that of far points.
    fn left(cloud: &Cloud, side: f64, params: &Params) -> [u32; 2] {
        let gpu = testing::gpu();
        let mut workspace = Workspace::new(&gpu).unwrap();
        let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| gpu.upload(column).unwrap());
        let extent = cloud.with(|points| Extent::of(&points)).unwrap();
        let points = DevicePoints::new(&x, &y, [(&z).into()], extent).unwrap();
        let index = Index::new(&mut workspace, &points, params).unwrap();
        let corner = 50.0 - 0.5 * side;
        let grid = GridSpec::new(corner, 100.0 - corner, side / 40.0, 40, 40).unwrap();
        let queries = Queries::new(&gpu, DeviceTargets::Grid(grid), false).unwrap();
        let call = Call { gpu: &gpu, index: &index, queries: &queries, params, leave_out: false };
        let mut values = gpu.upload(&[0f64; 1600]).unwrap();
        let search = Search::of(params);
        let left = call.search_together(&mut workspace, &search, None, &mut values, None).unwrap();
        let mut left = left.expect("a search together");
        let count =
            |left: &Left| left.words.to_host().unwrap().iter().map(|w| w.count_ones()).sum();
        let together = count(&left);
        call.search_far(&search, &mut left, None, &mut values, None).unwrap();
        [together, count(&left)]
    }

    fn even(count: usize) -> Cloud {
        let mut random = testing::Random::new(91);
        let mut along = || (0..count).map(|_| random.unit() * 100.0).collect::<Vec<f64>>();
        Cloud { x: along(), y: along(), z: along(), ..Cloud::default() }
    }

    #[test]
    fn nearly_all_queries_are_answered_together() {
        let quadrants = |most| Params::default().max_points_per_quadrant(most);
        let nearest = [1, 8, 12, 16, 24, 32, 48, 64].map(Params::nearest);
        let ellipse = Params::nearest(12).radius1(12.0).radius2(3.0).angle(30.0);
        let others = [ellipse, ellipse.max_points(40), Params::nearest(12).radius(4.0)];
        let all = nearest.into_iter().chain(others).chain([1, 3, 8, 16].map(quadrants));
        let cloud = even(3000);
        for params in all {
            let [left, far] = left(&cloud, 80.0, &params);
            assert!(left <= 16 && far <= left, "{left}, {far} of 1600 are left: {params:?}");
        }
        // Hundreds of neighbours within reach are not kept in lists of twelve, but they are not wanted either.
        let radius = Params::nearest(12).radius(40.0);
        assert_eq!(left(&cloud, 80.0, &radius), left(&cloud, 80.0, &Params::nearest(12)));
    }

    #[test]
    fn nearly_all_are_in_the_gaps_between_heaps() {
        let quadrants = |most| Params::default().max_points_per_quadrant(most);
        let ellipse = Params::nearest(12).radius1(40.0).radius2(10.0).angle(30.0);
        let count = 8000;
        for width in [3.0, 0.1] {
            // Five heaps, denser in their middles, of which a cell has hundreds of points, or all.
            let mut cloud = even(count);
            let centres = [(5.0, 10.0), (90.0, 20.0), (50.0, 55.0), (20.0, 85.0), (95.0, 99.0)];
            for i in 0..count {
                let (x, y) = centres[i % 5];
                let along = |at: f64| (at / 50.0 - 1.0).powi(3) * width;
                (cloud.x[i], cloud.y[i]) = (x + along(cloud.x[i]), y + along(cloud.y[i]));
            }
            let nearest = [1, 8, 12, 24, 64].map(Params::nearest).into_iter();
            for params in nearest.chain([ellipse]).chain([1, 3, 8].map(quadrants)) {
                let [left, far] = left(&cloud, 120.0, &params);
                assert!(left > 1500 && far <= 80, "{left}, {far} of 1600 are left: {params:?}");
            }
        }
    }
}
