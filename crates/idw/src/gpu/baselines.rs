//! The launches of the kernels of Mei (2014): [`Baseline`]; the kernels are in `kernels_rs::idw::baselines`.

use gpu_core::{Blocks, Column, SliceMut};
use kernels_rs::idw::baselines::sum_as_paper;

use super::group::Group;
use crate::points::Range;
use crate::{Baseline, Error, Number, Result};

impl Group<'_> {
    /// Sums over all points and writes the value of each target. Lists the targets whose sums f64 must compute again.
    pub fn sum_by_paper<T: Number>(
        &self,
        baseline: Baseline,
        values: &mut SliceMut<'_, T>,
        rescued: &mut Column<u32>,
    ) -> Result<()> {
        if !T::IS_SINGLE || self.is_several() || self.call.leave_out {
            return Err(Error::Conflict {
                option: "a kernel of the paper",
                with: "f64, several values or leaving points out",
            });
        }
        let (call, targets) = (self.call, self.targets);
        let about = &call.index.about;
        let Range { offset, low, high } = about.range(self.first);
        let points = self.points()?;
        let arguments = sum_as_paper::Args {
            places: points.places,
            values: points.values,
            range: [offset, low, high],
            points: points.count,
            targets: targets.argument()?,
            frame: self.frame(),
            smoothing: self.smoothing(),
            exponent: self.exponent(),
            // SAFETY: results are f32, as was checked.
            results: unsafe { values.reborrow().output().cast() },
            rescued: rescued.output(),
        };
        let kernel = match (baseline, self.law()) {
            (Baseline::Tiled, 2) => sum_as_paper::tiled_square,
            (Baseline::Tiled, _) => sum_as_paper::tiled_any,
            (Baseline::Naive, 2) => sum_as_paper::naive_square,
            (Baseline::Naive, _) => sum_as_paper::naive_any,
        };
        // SAFETY: the columns have the lengths that the kernel needs; results are f32.
        unsafe {
            let blocks = Blocks::for_each(&kernel, targets.count)?;
            Ok(call.gpu.enqueue(kernel, blocks, arguments)?)
        }
    }
}
