//! A patch: sixteen targets side by side.

use crate::cpu::index::Index;
use crate::cpu::search::boxes::Place;
use crate::cpu::search::min_lists::{LANES, Row};

/// Distances are lengthened by this factor, so that no rounding makes one too short.
pub(crate) const LONGER: f64 = 1.0 + 1e-9;

/// No point.
const NONE: u32 = u32::MAX;

/// Targets that are searched together; the lanes beyond their number repeat the last.
pub(crate) struct Patch<'a, 'b> {
    pub middle: Place<'a, 'b>,
    pub lanes: Lanes,
    /// How far the targets are from the middle.
    pub apart: Row,
}

/// The places of a patch's targets, and the point that each leaves out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lanes {
    pub at: [Row; 3],
    pub left_out: [u32; LANES],
    /// Whether any target leaves out a point.
    pub leave_out: bool,
}

impl<'a, 'b> Patch<'a, 'b> {
    /// Makes a patch of at least one target, each with the point that it leaves out.
    pub fn new(
        index: &'a Index<'b>,
        targets: impl Iterator<Item = ((f64, f64), Option<u32>)>,
    ) -> Self {
        let mut lanes = Lanes { left_out: [NONE; LANES], ..Lanes::default() };
        let [mut low, mut high] = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
        let mut count = 0;
        for ((x, y), left_out) in targets {
            low = [low[0].min(x), low[1].min(y)];
            high = [high[0].max(x), high[1].max(y)];
            lanes.set(count, Place::new(index, (x, y)).at, left_out.unwrap_or(NONE));
            count += 1;
        }
        for lane in count..LANES {
            lanes.set(lane, lanes.at.map(|axis| axis[count - 1]), NONE);
        }
        let middle = [0, 1].map(|axis| low[axis] / 2.0 + high[axis] / 2.0);
        let middle = Place::new(index, middle.into());
        let apart = std::array::from_fn(|lane| lanes.squared(lane, middle.at).sqrt() * LONGER);
        Self { middle, lanes, apart }
    }
}

impl Lanes {
    fn set(&mut self, lane: usize, at: [f64; 3], left_out: u32) {
        self.at.iter_mut().zip(at).for_each(|(axis, at)| axis[lane] = at);
        self.left_out[lane] = left_out;
        self.leave_out |= left_out != NONE;
    }

    /// Returns the box of the targets.
    pub fn bounds(&self) -> [[f64; 3]; 2] {
        let along = |axis: usize| self.at[axis].iter().copied();
        let low = |axis| along(axis).fold(f64::INFINITY, f64::min);
        let high = |axis| along(axis).fold(f64::NEG_INFINITY, f64::max);
        [[0, 1, 2].map(low), [0, 1, 2].map(high)]
    }

    /// The square of a target's distance from a place. (In the plane the last square is 0, and changes no bit.)
    #[inline(always)]
    pub fn squared(&self, lane: usize, place: [f64; 3]) -> f64 {
        let [x, y, z] = &self.at;
        let (dx, dy, dz) = (place[0] - x[lane], place[1] - y[lane], place[2] - z[lane]);
        dx * dx + dy * dy + dz * dz
    }
}
