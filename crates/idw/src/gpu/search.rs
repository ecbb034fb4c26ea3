//! Neighbours: the kernels that a search takes, and their arguments.

use device_std::warp::SIZE;
use gpu_core::{Blocks, Column};
use kernels_rs::idw::neighbours::warp_search::interpolate_together;
use kernels_rs::idw::neighbours::{Limits, Results, Sorted, Weights, interpolate};
use kernels_rs::idw::statistic;
use kernels_rs::rtree::patches::{Patches, threads_of_grid};

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
            arc: self.arc,
            extent: self.extent,
            ellipse: self.ellipse.map_or([0.0; 3], |e| [e.xx, e.xy, e.yy]),
            leaves_out: leave_out.into(),
            by_quadrants: self.quadrants.into(),
            max_points: self.max_points,
            min_points: self.min_points,
            max_per_quadrant: self.max_per_quadrant,
            min_per_quadrant: self.min_per_quadrant,
            falls_back: (self.too_few_points == TooFewPoints::Nearest).into(),
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
        let search = Search::of(self.params);
        let kept = ListKind::of(self.params);
        match kept.is_in_tree(self.params) {
            true => self.search_tree(workspace, &search, kept, exponents, &mut columns)?,
            false => self.search_cells(&search, kept, exponents, &mut columns)?,
        }
        Ok((columns.values, columns.statistics))
    }

    /// Searches the tree for 32 targets at a time, and once more for those that fall back.
    fn search_tree<T: Number>(
        &self,
        workspace: &mut Workspace,
        search: &Search,
        kept: ListKind,
        exponents: Option<&Column<f64>>,
        columns: &mut Columns<T>,
    ) -> Result<()> {
        let order = self.targets.order_along_curve(workspace)?;
        let (order, mut too_few) = (order.as_ref(), None);
        let threads = self.threads();
        if search.too_few_points == TooFewPoints::Nearest {
            let words = threads.div_ceil(u64::from(SIZE)).next_multiple_of(2);
            // SAFETY: each warp of the launch writes its word.
            too_few = Some(unsafe { self.gpu.uninitialized::<u32>(words as usize)? });
        }
        let together = Together { kept, search, order, exponents };
        self.launch(together, None, too_few.as_mut(), columns)?;
        let Some(too_few) = too_few else { return Ok(()) };
        let search = &search.of_fallback();
        let kept = ListKind::Nearest(search.max_points);
        self.launch(Together { kept, search, ..together }, Some(&too_few), None, columns)
    }

    /// Threads for the patches of the targets.
    fn threads(&self) -> u64 {
        let targets = self.targets;
        targets.grid.map_or(targets.count, |grid| threads_of_grid(grid.width, grid.height))
    }

    /// Enqueues a search of the tree for all targets, or those that are `wanted`.
    fn launch<T: Number>(
        &self,
        together: Together<'_>,
        wanted: Option<&Column<u32>>,
        too_few: Option<&mut Column<u32>>,
        columns: &mut Columns<T>,
    ) -> Result<()> {
        let targets = self.targets.argument()?;
        let in_part = together.search.ellipse.is_some();
        let kernel = together.kept.together(in_part, self.leave_out);
        let tree = self.index.tree()?;
        let arguments = interpolate_together::Args {
            tree: tree.index.tree(),
            patches: Patches {
                x: targets.x,
                y: targets.y,
                order: together.order.map(|order| order.input()),
                count: targets.count,
                width: targets.width,
                grid: targets.grid,
                wanted: wanted.map(|wanted| wanted.input()),
            },
            values: self.index.values_as(&tree.values),
            weights: self.weights(together.exponents),
            limits: together.search.limits(self.leave_out),
            results: columns.results(),
            too_few: too_few.map(|too_few| too_few.output()),
        };
        // SAFETY: the columns have the lengths that the kernel needs, and what is read was written before.
        unsafe {
            let blocks = Blocks::for_each(&kernel, self.threads())?;
            Ok(self.gpu.enqueue(kernel, blocks, arguments)?)
        }
    }

    /// Searches the cells, for each target by itself.
    fn search_cells<T: Number>(
        &self,
        search: &Search,
        kept: ListKind,
        exponents: Option<&Column<f64>>,
        columns: &mut Columns<T>,
    ) -> Result<()> {
        let &Self { index, targets, .. } = self;
        let (kernel, cells) = (kept.by_cells(), index.cells()?);
        let arguments = interpolate::Args {
            sorted: Sorted {
                plan: index.plan.input(),
                starts: cells.starts.input(),
                order: cells.order.input(),
                places: cells.places.input(),
            },
            targets: targets.argument()?,
            vectors: targets.vectors(),
            sphere: if index.about.ground.geographic { RADIUS } else { 0.0 },
            values: index.own_values(),
            weights: self.weights(exponents),
            limits: search.limits(self.leave_out),
            results: columns.results(),
        };
        // SAFETY: the index's columns and the targets' have the lengths that the kernel needs.
        unsafe {
            let blocks = Blocks::for_each(&kernel, targets.count)?;
            Ok(self.gpu.enqueue(kernel, blocks, arguments)?)
        }
    }

    fn weights<'a>(&self, exponents: Option<&'a Column<f64>>) -> Weights<'a> {
        let params = self.params;
        Weights {
            law: params.law(),
            smoothing: params.smoothing * params.smoothing,
            exponent: params.exponent(),
            exponents: exponents.map(|exponents| exponents.input()),
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
