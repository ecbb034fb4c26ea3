//! Targets in patches: neighbouring targets are searched together.

use std::ops::Range;

use gpu_core::parallel;

use crate::cpu::index::{Index, curve_of, order_along};
use crate::cpu::search::descent::Sought;
use crate::cpu::search::kd_tree::Halves;
use crate::cpu::search::min_lists::LANES;
use crate::cpu::search::neighbours::Scratch;
use crate::cpu::search::patch::Patch;
use crate::cpu::search::single_search;
use crate::cpu::search::together::Together;
use crate::cpu::search::vector_weights::Abreast;
use crate::search::Search;
use crate::{Params, Targets};

/// After k patches in a row that the cells did not serve, the next 2^k - 1 go straight to the tree; k is at most this.
const MAX_UNSERVED: u32 = 4;

/// The targets of a search, by patches.
pub(crate) struct Patches<'a> {
    index: &'a Index<'a>,
    targets: Targets<'a>,
    search: Search,
    /// Whether the targets are the points, and each leaves itself out.
    leave_out: bool,
    order: Order,
}

/// Which targets make a patch.
enum Order {
    /// Targets that come one after the other; each is searched by itself.
    Given,
    /// Targets that come one after the other along a curve.
    Curve(Vec<u32>),
    /// Rectangles of this many columns and rows of a grid.
    Grid { columns: usize, rows: usize },
}

/// The state of one thread.
#[derive(Default)]
pub(crate) struct Own<'a> {
    /// The tree of the points, once it is wanted.
    halves: Option<&'a Halves>,
    /// How many patches in a row the cells did not serve, and how many more go straight to the tree.
    unserved: u32,
    unasked: u32,
    together: Together,
    abreast: Abreast,
    scratch: Scratch,
    /// Targets of the patch whose points are summed without a list.
    pub many: Vec<u32>,
}

impl<'a> Patches<'a> {
    pub fn new(index: &'a Index, targets: Targets<'a>, params: &Params, leave_out: bool) -> Self {
        let search = Search::of(params);
        let order = match targets {
            _ if !Together::serves(&search) => Order::Given,
            Targets::Points { x, y } => {
                let place = |i: usize| (x[i], y[i]);
                Order::Curve(order_along(&curve_of(x, y), x.len(), place))
            }
            Targets::Grid(grid) => {
                // Square, as far as the grid is high and wide enough.
                let rows = match (grid.width, grid.height) {
                    (_, 1) => 1,
                    (_, 2..4) => 2,
                    (1, _) => LANES,
                    (2..4, _) => LANES / 2,
                    _ => 4,
                };
                Order::Grid { columns: LANES / rows, rows }
            }
        };
        Self { index, targets, search, leave_out, order }
    }

    /// How many.
    pub fn len(&self) -> usize {
        match (&self.order, self.targets) {
            (&Order::Grid { columns, rows }, Targets::Grid(grid)) => {
                (grid.width as usize).div_ceil(columns) * (grid.height as usize).div_ceil(rows)
            }
            _ => (self.targets.len() as usize).div_ceil(LANES),
        }
    }

    /// The targets of a patch.
    pub fn targets(&self, patch: usize) -> impl Iterator<Item = usize> + use<> {
        let (mut all, mut count) = ([0; LANES], 0);
        let mut push = |target: usize| {
            all[count] = target;
            count += 1;
        };
        let run = || patch * LANES..(self.targets.len() as usize).min((patch + 1) * LANES);
        match (&self.order, self.targets) {
            (&Order::Grid { columns, rows }, Targets::Grid(grid)) => {
                let (width, height) = (grid.width as usize, grid.height as usize);
                let across = width.div_ceil(columns);
                let (column, row) = (patch % across * columns, patch / across * rows);
                for row in row..height.min(row + rows) {
                    (column..width.min(column + columns)).for_each(|x| push(row * width + x));
                }
            }
            (Order::Curve(order), _) => order[run()].iter().for_each(|&i| push(i as usize)),
            _ => run().for_each(push),
        }
        all.into_iter().take(count)
    }

    /// Returns what `of_patch` returns for some patches. It may return `None` if a patch needs the tree instead of
    /// cells; then `map` calls it again, with the tree.
    pub fn map<R: Send>(
        &self,
        patches: Range<usize>,
        of_patch: impl Fn(&mut Own<'a>, usize) -> Option<R> + Sync,
    ) -> Vec<R> {
        let first = |own: &mut Own<'a>, i: usize| of_patch(own, patches.start + i);
        let mut all: Vec<Option<R>> = match self.order {
            Order::Given if self.search.quadrants => patches.clone().map(|_| None).collect(),
            _ => parallel::map_init(patches.len(), 4, Own::default, first),
        };
        let rest: Vec<usize> = (0..all.len()).filter(|&i| all[i].is_none()).collect();
        if !rest.is_empty() {
            let halves = Some(self.index.halves());
            let own = || Own { halves, ..Own::default() };
            let again = |own: &mut Own<'a>, i: usize| of_patch(own, patches.start + rest[i]);
            let made = parallel::map_init(rest.len(), 4, own, again);
            rest.into_iter().zip(made).for_each(|(i, made)| all[i] = made);
        }
        all.into_iter().flatten().collect()
    }

    /// Searches for the neighbours of each target of a patch, and passes them to `of_target` with the target's number;
    /// `None` if that needs the tree.
    pub fn each(
        &self,
        own: &mut Own,
        patch: usize,
        mut of_target: impl FnMut(&mut Scratch, usize),
    ) -> Option<()> {
        let found = self.find(own, patch)?;
        for (lane, target) in self.targets(patch).enumerate() {
            self.take(own, found, lane, target)?;
            of_target(&mut own.scratch, target);
        }
        Some(())
    }

    /// Searches for the neighbours of a patch, and returns the first few values of each of its targets, one target
    /// after the other. `None` if that needs the tree.
    pub fn values(
        &self,
        own: &mut Own,
        patch: usize,
        params: &Params,
        columns: usize,
    ) -> Option<Vec<f64>> {
        let found = self.find(own, patch)?;
        own.many.clear();
        let mut rows = Vec::new();
        if found {
            own.abreast.weigh(&own.together, &self.search, params);
            rows.extend((0..columns).map(|v| own.abreast.value(self.index, v)));
        }
        let mut values = Vec::with_capacity(LANES * columns);
        for (lane, target) in self.targets(patch).enumerate() {
            if found && own.abreast.here[lane] {
                values.extend(rows.iter().map(|row| row[lane]));
                continue;
            }
            self.take(own, found, lane, target)?;
            if own.scratch.many {
                own.many.push(target as u32);
            }
            own.scratch.weigh(params);
            values.extend((0..columns).map(|v| own.scratch.value(self.index, v)));
        }
        Some(values)
    }

    /// Searches for the neighbours of a patch together; false where they must be searched one by one, nothing where that
    /// takes the tree.
    fn find(&self, own: &mut Own, patch: usize) -> Option<bool> {
        match (&self.order, own.halves) {
            (Order::Given, halves) => (halves.is_some() || !self.search.quadrants).then_some(false),
            (_, Some(tree)) => {
                let sought = Sought { index: self.index, tree, search: &self.search };
                Some(own.together.descend(sought, &self.patch(patch)))
            }
            (_, None) => self.find_in_cells(own, patch).then_some(true),
        }
    }

    /// Searches the cells of the index; false where these do not serve. Patches behind such a one are likely to be like
    /// it, so fewer and fewer of them are tried.
    fn find_in_cells(&self, own: &mut Own, patch: usize) -> bool {
        if own.unasked > 0 {
            own.unasked -= 1;
            return false;
        }
        let found = own.together.find(&self.patch(patch), &self.search);
        own.unserved = if found { 0 } else { (own.unserved + 1).min(MAX_UNSERVED) };
        own.unasked = (1 << own.unserved) - 1;
        found
    }

    /// Takes the neighbours of a target, from what was found for its patch if anything was; nothing where that takes the
    /// tree.
    fn take(&self, own: &mut Own, found: bool, lane: usize, target: usize) -> Option<()> {
        let Own { together, scratch, halves, .. } = own;
        let is_taken = found && together.take(self.index, &self.search, lane, scratch)
            || self.search_alone(*halves, target, scratch);
        is_taken.then_some(())
    }

    /// How many points and nodes a search of all patches visits.
    #[cfg(test)]
    pub fn looks(&self) -> u64 {
        let [mut cells, mut tree] = self.ways();
        for patch in 0..self.len() {
            if self.each(&mut cells, patch, |_, _| ()).is_none() {
                self.each(&mut tree, patch, |_, _| ()).unwrap();
            }
        }
        let of = |own: &Own| {
            let Together { way, candidates, .. } = &own.together;
            way.looks + candidates.looks + own.scratch.way.looks
        };
        of(&cells) + of(&tree)
    }

    /// Gives what each way of searching finds, as far as it serves, with the number of the target.
    #[cfg(test)]
    pub fn each_way(&self, mut of_target: impl FnMut(&Scratch, usize)) {
        for mut own in self.ways() {
            for patch in 0..self.len() {
                own.unasked = 0;
                self.each(&mut own, patch, |scratch, target| of_target(scratch, target));
                for target in self.targets(patch) {
                    if self.search_alone(own.halves, target, &mut own.scratch) {
                        of_target(&own.scratch, target);
                    }
                }
            }
        }
    }

    /// By cells, and down the tree.
    #[cfg(test)]
    fn ways(&self) -> [Own<'a>; 2] {
        [None, Some(self.index.halves())].map(|halves| Own { halves, ..Own::default() })
    }

    fn patch(&self, patch: usize) -> Patch<'a, 'a> {
        let place = |target| (self.targets.place(target), self.left_out(target));
        Patch::new(self.index, self.targets(patch).map(place))
    }

    fn search_alone(&self, tree: Option<&Halves>, target: usize, scratch: &mut Scratch) -> bool {
        let (place, left_out) = (self.targets.place(target), self.left_out(target));
        single_search::find((self.index, tree), &self.search, place, left_out, scratch)
    }

    fn left_out(&self, target: usize) -> Option<u32> {
        self.leave_out.then_some(target as u32)
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::{GridSpec, Points};
    use testing::Random;

    use super::*;
    use crate::TooFewPoints;
    use crate::cpu::search::neighbours::Candidate;
    use crate::points::Data;
    use crate::{Kernel, KernelShape};

    /// Random points of a square with a side of 100.
    fn even(count: usize, seed: u64) -> Vec<[f64; 2]> {
        let mut random = Random::new(seed);
        (0..count).map(|_| [100.0 * random.unit(), 100.0 * random.unit()]).collect()
    }

    /// Searches for targets together, and for each by itself: the same neighbours in the same order, and the same
    /// values, to the bit. Tells for how many the first served, by cells and down the tree.
    fn check(
        points: &[[f64; 2]],
        targets: Targets,
        params: &Params,
        leave_out: bool,
    ) -> [usize; 2] {
        let [x, y] = [0, 1].map(|axis| points.iter().map(|p| p[axis]).collect::<Vec<f64>>());
        let z: Vec<f64> = x.iter().zip(&y).map(|(x, y)| (37.0 * x + 91.0 * y).sin()).collect();
        let points = Points { x: &x, y: &y, values: &[&z, &x] };
        let data = Data::of(points, params).unwrap();
        let index = Index::to_search(&data, params.geographic);
        let targets = if leave_out { data.as_targets() } else { targets };
        let patches = Patches::new(&index, targets, params, leave_out);
        let mut seen = vec![0; targets.len() as usize];
        let mut wanted = Scratch::default();
        let keys = |s: &Scratch| s.candidates.iter().map(Candidate::key).collect::<Vec<_>>();
        let mut counts = [0; 2];
        // By cells, and down the tree.
        for (way, halves) in [None, Some(index.halves())].into_iter().enumerate() {
            let mut own = Own { halves, ..Own::default() };
            for patch in 0..patches.len() {
                own.unasked = 0;
                let values = patches.values(&mut own, patch, params, 2);
                own.unasked = 0;
                let found = patches.find(&mut own, patch) == Some(true);
                for (lane, i) in patches.targets(patch).enumerate() {
                    seen[i] += 1;
                    patches.search_alone(Some(index.halves()), i, &mut wanted);
                    if patches.search_alone(None, i, &mut own.scratch) {
                        assert_eq!(keys(&own.scratch), keys(&wanted), "target {i}, {params:?}");
                        assert_eq!(own.scratch.enough, wanted.enough, "target {i}, {params:?}");
                    }
                    wanted.weigh(params);
                    for v in (0..2).filter(|_| values.is_some()) {
                        let value = values.as_ref().unwrap()[2 * lane + v];
                        let wanted = wanted.value(&index, v);
                        let same = value.to_bits() == wanted.to_bits();
                        assert!(same, "target {i}, {value} for {wanted}, {params:?}");
                    }
                    let Own { together, scratch, .. } = &mut own;
                    if found && together.take(&index, &patches.search, lane, scratch) {
                        assert_eq!(keys(scratch), keys(&wanted), "target {i}, {params:?}");
                        assert_eq!(scratch.enough, wanted.enough, "target {i}, {params:?}");
                        counts[way] += 1;
                    }
                }
            }
        }
        assert!(seen.iter().all(|&times| times == 2), "{seen:?}");
        counts
    }

    fn grid(west: f64, north: f64, cell: f64, width: u32, height: u32) -> Targets<'static> {
        GridSpec::new(west, north, cell, width, height).unwrap().into()
    }

    const COUNTS: [u32; 12] = [1, 2, 4, 5, 8, 12, 13, 16, 24, 32, 48, 64];

    #[test]
    fn even_points_are_found_together_for_grids_of_every_shape() {
        let points = even(3000, 1);
        let shapes = [(1, 40), (40, 1), (2, 33), (33, 2), (3, 18), (18, 3), (31, 30), (1, 1)];
        for (width, height) in shapes {
            let targets = grid(20.0, 80.0, 1.9, width, height);
            for most in COUNTS {
                let count = check(&points, targets, &Params::nearest(most), false);
                assert_eq!(count, [width as usize * height as usize; 2], "{most} nearest");
            }
        }
    }

    #[test]
    fn beyond_the_points_and_in_gaps_lists_are_certain_too() {
        let heap = |i: usize| f64::from(i as u32 % 5) * 1000.0;
        let all = even(2000, 2).into_iter().enumerate();
        let points: Vec<[f64; 2]> = all.map(|(i, [x, y])| [heap(i) + x * 0.1, y]).collect();
        for most in COUNTS {
            let targets = grid(-500.0, 400.0, 30.0, 170, 27);
            check(&points, targets, &Params::nearest(most), false);
        }
        // Fewer points than are wanted.
        for count in [1, 2, 11, 12, 13] {
            let targets = grid(-500.0, 400.0, 100.0, 9, 9);
            assert_eq!(check(&points[..count], targets, &Params::nearest(12), false)[1], 81);
        }
    }

    #[test]
    fn ties_and_points_in_one_place_go_to_the_lower_index() {
        // A lattice whose points come in no order, and targets on it, on its edges and amid it.
        let lattice = |i: u32| [f64::from(i * 389 % 1600 % 40), f64::from(i * 389 % 1600 / 40)];
        let mut points: Vec<[f64; 2]> = (0..1600).map(lattice).collect();
        let targets = grid(-2.0, 42.0, 0.25, 150, 170);
        for most in [1, 3, 4, 5, 12, 21, 64] {
            let count = check(&points, targets, &Params::nearest(most), false);
            assert_eq!(count, [150 * 170; 2], "{most} nearest");
        }
        // Sixty in one place, and places a last bit apart.
        points.extend([[7.0, 7.0]; 60]);
        points.extend((0..60).map(|i| [20.0 + f64::from(i) * f64::EPSILON * 16.0, 20.0]));
        for most in [1, 12, 24, 64] {
            check(&points, targets, &Params::nearest(most), false);
        }
        // More in one place than there can be candidates.
        points.extend([[30.0, 30.0]; 5000]);
        let [cells, tree] = check(&points, targets, &Params::nearest(12), false);
        assert!(cells > 0 && cells < 150 * 170 && tree == 150 * 170, "{cells} {tree}");
    }

    #[test]
    fn every_law_of_weights_has_its_bits() {
        let mut points = even(2000, 8);
        // Targets on points, and on several.
        let on = |i: usize| [20.25 + f64::from(i as u32 % 9) * 2.5, 79.75];
        points.extend((0..18).map(on));
        let targets = grid(20.0, 80.0, 0.5, 60, 20);
        for power in [1.0, 2.0, 3.0, 4.0, 2.5, 100.0] {
            for smoothing in [0.0, 0.5] {
                let params = Params::nearest(12).power(power).smoothing(smoothing);
                assert!(check(&points, targets, &params, false) == [1200; 2], "{params:?}");
                let params = params.radius(1.5).min_points(2);
                assert!(check(&points, targets, &params, false) == [1200; 2], "{params:?}");
            }
        }
        for shape in [KernelShape::Triangular, KernelShape::Tricube, KernelShape::Gaussian] {
            let params = Params::nearest(12).kernel(Kernel::new(shape, 1.5)).min_points(2);
            assert!(check(&points, targets, &params, false) == [1200; 2], "{params:?}");
        }
    }

    #[test]
    fn a_patch_after_one_that_needed_no_radius_is_found_too() {
        let mut points = even(1000, 7);
        points.extend([[50.0, 50.0]; 30]);
        let mut places = vec![[50.0, 50.0]; 2 * LANES];
        places.extend((0..LANES).map(|i| [50.0 + f64::from(i as u32), 50.0]));
        let [x, y] = [0, 1].map(|axis| places.iter().map(|p| p[axis]).collect::<Vec<f64>>());
        let targets = Targets::Points { x: &x, y: &y };
        assert_eq!(check(&points, targets, &Params::nearest(12), false), [3 * LANES; 2]);
    }

    #[test]
    fn radius_and_ellipse_limit_what_is_found_together() {
        let points = even(2500, 3);
        let targets = grid(-20.0, 120.0, 2.9, 49, 47);
        for below in [TooFewPoints::Nodata, TooFewPoints::Nearest] {
            for (a, b, angle) in
                [(0.5, 0.5, 0.0), (3.0, 3.0, 0.0), (9.0, 2.0, 30.0), (1e3, 1.0, -75.0)]
            {
                let params = Params::nearest(12).radius1(a).radius2(b).angle(angle);
                for least in [0, 3, 12] {
                    let count = check(
                        &points,
                        targets,
                        &params.min_points(least).too_few_points(below),
                        false,
                    );
                    assert!(below == TooFewPoints::Nearest || count.iter().all(|&count| count > 0));
                }
            }
        }
    }

    #[test]
    fn scattered_targets_and_points_left_out_are_found_together() {
        let points = even(4000, 4);
        let places = even(3000, 5);
        let [x, y] =
            [0, 1].map(|axis| places.iter().map(|p| 1.2 * p[axis] - 10.0).collect::<Vec<f64>>());
        for most in COUNTS {
            let targets = Targets::Points { x: &x, y: &y };
            assert_eq!(check(&points, targets, &Params::nearest(most), false)[1], 3000);
            assert_eq!(check(&points, targets, &Params::nearest(most), true), [4000; 2]);
        }
    }

    #[test]
    fn on_the_sphere_patches_pass_the_date_line_and_the_poles() {
        let points = even(4000, 6);
        let points: Vec<[f64; 2]> =
            points.iter().map(|p| [3.6 * p[0] - 180.0, 1.8 * p[1] - 90.0]).collect();
        let params = Params::nearest(12).geographic(true);
        for (targets, all) in [
            (grid(-180.0, 90.0, 2.5, 144, 72), 144 * 72),
            (grid(170.0, 10.0, 0.5, 40, 40), 1600),
            (grid(-10.0, 90.0, 0.25, 40, 8), 320),
        ] {
            for params in [params, params.radius(4e5), params.max_points(3).radius(3e7)] {
                let [cells, tree] = check(&points, targets, &params, false);
                assert!(cells * 10 > all * 9 && tree >= cells, "{cells} {tree} {all}, {params:?}");
            }
        }
        check(&points, grid(0.0, 0.0, 1.0, 1, 1), &params, true);
    }
}
