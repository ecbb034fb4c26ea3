//! The values of targets that were searched together, in vectors of targets. The operations and their order are as in
//! [`Scratch`], so the bits are the same.
//!
//! [`Scratch`]: crate::cpu::search::neighbours::Scratch
#![expect(clippy::needless_range_loop, reason = "as loops over lanes they become vectors")]

use crate::Params;
use crate::cpu::index::Index;
use crate::cpu::search::min_lists::{LANES, Row};
use crate::cpu::search::neighbours::{Law, mean};
use crate::cpu::search::together::Together;
use crate::search::Search;

/// The weighed neighbours of a patch: memory that searches of one thread share.
#[derive(Default)]
pub(crate) struct Abreast {
    /// Which targets are in these vectors; each other target is computed alone.
    pub here: [bool; LANES],
    is_exact: [bool; LANES],
    /// Neighbour j of each target: its place among the sorted points, and its weight; a missing neighbour weighs 0.
    neighbours: Vec<([u32; LANES], Row)>,
}

impl Abreast {
    /// Weighs what a search found. Operations are the same on every processor: wider instructions change no bit.
    pub fn weigh(&mut self, together: &Together, search: &Search, params: &Params) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f")]
            fn widest(a: &mut Abreast, together: &Together, search: &Search, params: &Params) {
                a.weigh_all(together, search, params);
            }
            #[target_feature(enable = "avx2")]
            fn wide(a: &mut Abreast, together: &Together, search: &Search, params: &Params) {
                a.weigh_all(together, search, params);
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { widest(self, together, search, params) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { wide(self, together, search, params) };
            }
        }
        self.weigh_all(together, search, params);
    }

    #[inline(always)]
    fn weigh_all(&mut self, together: &Together, search: &Search, params: &Params) {
        self.here = together.settled(search);
        self.neighbours.clear();
        self.neighbours.extend((0..search.max_points as usize).map(|j| together.entry(j)));
        let law = Law::of(params);
        let mut nearest = self.neighbours[0].1;
        for lane in 0..LANES {
            self.is_exact[lane] = law.is_exact(nearest[lane]);
            nearest[lane] = law.smoothed(nearest[lane]);
        }
        for (_, row) in &mut self.neighbours {
            for lane in 0..LANES {
                let weight = law.weight(self.is_exact[lane], nearest[lane], row[lane]);
                row[lane] = if row[lane] < f64::INFINITY { weight } else { 0.0 };
            }
        }
    }

    /// Value `v` of each target.
    pub fn value(&self, index: &Index, v: usize) -> Row {
        let (range, values) = (index.range(v), &index.values[v][..]);
        let (mut offset, mut weights, mut sums) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            offset[lane] = range.offset_of(self.is_exact[lane]);
        }
        for (points, row) in &self.neighbours {
            let mut of_points = [0.0; LANES];
            for lane in 0..LANES {
                of_points[lane] = values[points[lane] as usize];
            }
            for lane in 0..LANES {
                weights[lane] += row[lane];
                let sum = sums[lane] + row[lane] * (of_points[lane] - offset[lane]);
                sums[lane] = if row[lane] > 0.0 { sum } else { sums[lane] };
            }
        }
        let mut means = [0.0; LANES];
        for lane in 0..LANES {
            means[lane] = mean(range, self.is_exact[lane], weights[lane], sums[lane]);
        }
        means
    }
}
