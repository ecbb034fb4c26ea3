//! Neighbours: the kernels that a search takes, and their arguments.

use device_std::warp::SIZE;
use gpu_core::{Blocks, Column};
use kernels_rs::idw::neighbours::globe::interpolate_on_globe;
use kernels_rs::idw::neighbours::plane::interpolate_in_plane;
use kernels_rs::idw::neighbours::weighing::Weights;
use kernels_rs::idw::neighbours::{Limits, Results};
use kernels_rs::idw::statistic;

use super::index::Trees;
use super::number::ListKind;
use super::{Call, Workspace};
use crate::ground::RADIUS;
use crate::search::Search;
use crate::{Number, Result, TooFewPoints};

/// Values, and statistics where they are wanted.
struct Columns<T: Number> {
    values: Column<T>,
    statistics: Option<Column<T>>,
    targets: u64,
}

impl<T: Number> Columns<T> {
    fn results(&mut self) -> Results<'_> {
        let (values_f32, values_f64) = T::results(&mut self.values);
        let statistics = self.statistics.as_mut().map(T::results);
        let (statistics_f32, statistics_f64) = statistics.unwrap_or_default();
        let targets = self.targets;
        Results { values_f32, values_f64, statistics_f32, statistics_f64, targets }
    }
}

impl Search {
    /// The limits as the kernels take them.
    fn limits(&self, leave_out: bool) -> Limits {
        Limits {
            reach: self.reach,
            extent: self.extent,
            ellipse: self.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
            leaves_out: leave_out.into(),
            by_quadrants: self.quadrants.into(),
            max_points: self.max_points,
            min_points: self.min_points,
            max_per_quadrant: self.max_per_quadrant,
            min_per_quadrant: self.min_per_quadrant,
        }
    }

    /// The search of the targets that have too few points in this one.
    fn of_fallback(&self) -> Self {
        Self {
            max_points: self.fallback(),
            min_points: self.min_points.max(1),
            max_per_quadrant: u32::MAX,
            min_per_quadrant: 0,
            quadrants: false,
            too_few_points: TooFewPoints::Nodata,
            reach: f64::INFINITY,
            arc: f64::INFINITY,
            ellipse: None,
            extent: [f64::INFINITY; 2],
            many: usize::MAX,
        }
    }
}

impl Call<'_> {
    /// The values of all targets from their neighbours, and statistics of those; `exponents`, where each
    /// target has a power of its own. Enqueues and returns.
    pub(super) fn search<T: Number>(
        &self,
        workspace: &mut Workspace,
        exponents: Option<&Column<f64>>,
    ) -> Result<(Column<T>, Option<Column<T>>)> {
        let about = &self.index.about;
        let count = self.targets.count as usize;
        // SAFETY: every value of every target, and every statistic, is written, but for the columns that
        // only fill up.
        let mut columns = unsafe {
            let values = self.gpu.uninitialized::<T>(about.padded() * count)?;
            let statistics = match self.params.statistics {
                true => Some(self.gpu.uninitialized::<T>(statistic::ALL * count)?),
                false => None,
            };
            Columns { values, statistics, targets: self.targets.count }
        };
        let (search, kept) = (Search::of(self.params), ListKind::of(self.params));
        let order = self.targets.order_of_search(workspace)?;
        let (order, mut too_few) = (order.as_ref(), None);
        if search.too_few_points == TooFewPoints::Nearest {
            let words = self.targets.threads().div_ceil(u64::from(SIZE)).next_multiple_of(2);
            // SAFETY: each warp of the launch writes its word.
            too_few = Some(unsafe { self.gpu.uninitialized::<u32>(words as usize)? });
        }
        let first = Together { kept, search: &search, order, exponents };
        self.launch(first, None, too_few.as_mut(), &mut columns)?;
        // Once more for those that fall back.
        if let Some(too_few) = too_few {
            let search = &search.of_fallback();
            let kept = ListKind::of_nearest(search.max_points);
            self.launch(Together { kept, search, ..first }, Some(&too_few), None, &mut columns)?;
        }
        Ok((columns.values, columns.statistics))
    }

    /// Enqueues a search of the tree for all targets, or those that are `wanted`.
    fn launch<T: Number>(
        &self,
        together: Together<'_>,
        wanted: Option<&Column<u32>>,
        too_few: Option<&mut Column<u32>>,
        columns: &mut Columns<T>,
    ) -> Result<()> {
        let (index, trees) = (self.index, self.index.trees()?);
        let patches = self.targets.patches(together.order, wanted)?;
        let values = index.values_as(trees.values());
        let weights = self.weights(together.exponents);
        let (limits, results) = (together.search.limits(self.leave_out), columns.results());
        let too_few = too_few.map(Column::output);
        let threads = self.targets.threads();
        // SAFETY: the columns have the lengths that the kernels need, and what is read was written before.
        unsafe {
            match trees {
                Trees::Plane(tree, _) => {
                    let kernel =
                        together.kept.in_plane(together.search.ellipse.is_some(), self.leave_out);
                    let arguments = interpolate_in_plane::Args {
                        tree: tree.tree(),
                        patches,
                        values,
                        weights,
                        limits,
                        results,
                        too_few,
                    };
                    self.gpu.enqueue(kernel, Blocks::for_each(&kernel, threads)?, arguments)?;
                }
                Trees::Globe(tree, _) => {
                    let kernel = together.kept.on_globe(self.leave_out);
                    let arguments = interpolate_on_globe::Args {
                        tree: tree.tree(),
                        patches,
                        values,
                        weights,
                        limits,
                        results,
                        too_few,
                    };
                    self.gpu.enqueue(kernel, Blocks::for_each(&kernel, threads)?, arguments)?;
                }
            }
        }
        Ok(())
    }

    fn weights<'a>(&self, exponents: Option<&'a Column<f64>>) -> Weights<'a> {
        let params = self.params;
        Weights {
            law: params.law(),
            smoothing: params.smoothing * params.smoothing,
            exponent: params.exponent(),
            exponents: exponents.map(|exponents| exponents.input()),
            globe: if params.geographic { RADIUS } else { 0.0 },
        }
    }
}

/// A search of the tree.
#[derive(Clone, Copy)]
struct Together<'a> {
    kept: ListKind,
    search: &'a Search,
    /// The order in which threads have the targets, unless they are a grid's.
    order: Option<&'a Column<u32>>,
    exponents: Option<&'a Column<f64>>,
}
