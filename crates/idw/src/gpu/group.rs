//! A group of values in a call over all points, with what its launches share.

use device_std::In;
use gpu_core::Column;
use kernels_rs::idw::points::Points;
use kernels_rs::idw::targets::{Frame, PATCH_ROWS, ROW_THREADS};
use kernels_rs::idw::weights::Weighting;
use kernels_rs::idw::{BLOCK, Summing};

use super::Call;
use super::index::Tiled;
use super::targets::OnDevice;
use crate::ground::RADIUS;
use crate::{Result, Weight};

/// The instance of a kernel for what is summed: for its law, or for any. `find` finds an instance by its key.
pub(super) fn instance<K>(summing: Summing, find: impl Fn(&Summing) -> Option<K>) -> K {
    let any = Summing { law: 0, ..summing };
    find(&summing).or_else(|| find(&any)).expect("an instance for any law")
}

/// A group of values of a call: one, or several.
pub(super) struct Group<'a> {
    pub call: &'a Call<'a>,
    pub tiled: &'a Tiled,
    /// The targets, along a curve where far points are expanded.
    pub targets: &'a OnDevice<'a>,
    /// Minus half the power of each target.
    pub exponents: Option<&'a Column<f64>>,
    /// For each sorted point the target that leaves it out.
    pub left_out: Option<&'a Column<u32>>,
    /// The first of the values, and their number.
    pub first: usize,
    pub values: u32,
}

impl Group<'_> {
    /// Whether there are several values.
    pub fn is_several(&self) -> bool {
        self.values > 1
    }

    /// Whether targets have powers of their own, or leave themselves out.
    pub fn has_each(&self) -> bool {
        self.exponents.is_some() || self.call.leave_out
    }

    /// Returns the key of the kernels that sum the group.
    pub fn summing(&self) -> Summing {
        Summing {
            on_grid: self.targets.grid.is_some(),
            law: self.law(),
            values: self.values as usize,
            has_each: self.has_each(),
        }
    }

    /// The power that has kernels of its own, or 0.
    pub fn law(&self) -> u32 {
        self.call.params.law()
    }

    /// The points with the group's values.
    pub fn points(&self) -> Result<Points<'_>> {
        let (count, last) = (self.call.index.len(), self.first + self.values as usize);
        Ok(Points {
            places: self.tiled.places.input(),
            values: self.tiled.values.slice(self.first * count..last * count)?.input(),
            ranges: self.ranges()?,
            count: count as u32,
        })
    }

    /// The ranges of the group's values.
    pub fn ranges(&self) -> Result<In<'_, f64>> {
        let last = self.first + self.values as usize;
        Ok(self.call.index.ranges.slice(3 * self.first..3 * last)?.input())
    }

    /// The middle of the data, and the unit.
    pub fn frame(&self) -> Frame {
        Frame { centre: self.call.index.about.centre, scale: self.scale() }
    }

    /// How weights follow from distances; `smoothing` is the square of the smoothing.
    pub fn weighting(&self, smoothing: f64) -> Weighting<'_> {
        let exponents = self.exponents.map(Column::input);
        Weighting { smoothing, exponent: self.exponent(), exponents }
    }

    /// The factor that converts coordinates of places to the sums' unit; on the sphere, places are unit vectors.
    pub fn scale(&self) -> f64 {
        self.ground_scale() / self.unit()
    }

    /// Returns how many ground units one unit of the coordinates has.
    pub fn ground_scale(&self) -> f64 {
        if self.call.params.geographic { RADIUS } else { 1.0 }
    }

    fn unit(&self) -> f64 {
        self.call.index.about.ground.unit()
    }

    /// The weight of a point at a distance of 1 in the sums' unit, as a power of two for [`Weight`]. On the sphere,
    /// distances to nodes are in radians.
    pub fn weight_at_one(&self, in_radians: bool) -> f64 {
        let one = if in_radians { RADIUS } else { self.unit() };
        Weight::at_square(one * one, self.exponent(), 1.0).exponent
    }

    /// The smoothing's square, in units.
    pub fn smoothing(&self) -> f64 {
        (self.call.params.smoothing / self.unit()).powi(2)
    }

    /// Minus half the power.
    pub fn exponent(&self) -> f64 {
        -0.5 * self.call.params.power
    }

    /// Half the extent of the points, in units.
    pub fn extent(&self) -> [f64; 2] {
        self.call.index.about.extent.map(|half| half / self.unit())
    }

    /// Blocks of the kernels in f32, whose threads have this number of targets.
    pub fn blocks(&self, per_thread: u32) -> Result<u32> {
        let blocks = match self.targets.grid {
            Some(grid) => {
                let across = grid.width.div_ceil(ROW_THREADS * per_thread);
                u64::from(across) * u64::from(grid.height.div_ceil(PATCH_ROWS))
            }
            None => self.targets.count.div_ceil(u64::from(BLOCK * per_thread)),
        };
        gpu_core::require_at_most("blocks of targets", blocks, i32::MAX as u64)?;
        Ok(blocks as u32)
    }
}
