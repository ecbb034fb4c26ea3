//! The nearest of a few sites, for several places, in vectors.

use kernels_rs::sphere_qtm::nearest::{NONE, NearSite};
use kernels_rs::sphere_qtm::triangle::Vector;

use crate::balls::Ball;

/// Sites that are compared at once.
const LANES: usize = 8;

/// Sites at least, else they are compared faster one by one; and at most.
pub(super) const LEAST: usize = 8;
pub(super) const MOST: usize = 128;

/// A few sites by coordinates.
pub(super) struct Few {
    along: [[f64; MOST]; 3],
    sites: [u32; MOST],
    /// How many groups of [`LANES`] they fill. The last is filled up with places that are infinitely far.
    groups: usize,
}

impl Few {
    /// At most [`MOST`] sites.
    pub(super) fn new(sites: impl Iterator<Item = Ball>) -> Self {
        let mut few = Self { along: [[f64::INFINITY; MOST]; 3], sites: [NONE; MOST], groups: 0 };
        for (i, Ball { centre, site, .. }) in sites.enumerate() {
            for (along, at) in few.along.iter_mut().zip(centre) {
                along[i] = at;
            }
            few.sites[i] = site;
            few.groups = i / LANES + 1;
        }
        few
    }

    /// The nearest site of each place; none of a place from which two are equally near.
    pub(super) fn nearest<const N: usize>(&self, places: [Vector; N]) -> [Option<NearSite>; N] {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
            fn widest<const N: usize>(few: &Few, places: [Vector; N]) -> [Option<NearSite>; N] {
                places.map(|place| few.nearest_of(place))
            }
            #[target_feature(enable = "avx2")]
            fn wide<const N: usize>(few: &Few, places: [Vector; N]) -> [Option<NearSite>; N] {
                places.map(|place| few.nearest_of(place))
            }
            let has_widest = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw");
            if has_widest {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { widest(self, places) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { wide(self, places) };
            }
        }
        places.map(|place| self.nearest_of(place))
    }

    /// As `squared_chord` has it, to the bit.
    #[inline(always)]
    fn nearest_of(&self, place: Vector) -> Option<NearSite> {
        let (mut least, mut group_of) = ([f64::INFINITY; LANES], [0u64; LANES]);
        let mut tied = [false; LANES];
        for group in 0..self.groups {
            let from = group * LANES;
            let [x, y, z] = self.along.each_ref().map(|along| &along[from..from + LANES]);
            for lane in 0..LANES {
                let (x, y, z) = (place[0] - x[lane], place[1] - y[lane], place[2] - z[lane]);
                let squared = x * x + y * y + z * z;
                let is_less = squared < least[lane];
                tied[lane] = (tied[lane] & !is_less) | (squared == least[lane]);
                group_of[lane] = if is_less { group as u64 } else { group_of[lane] };
                least[lane] = if is_less { squared } else { least[lane] };
            }
        }
        let mut best = 0;
        for lane in 1..LANES {
            best = if least[lane] < least[best] { lane } else { best };
        }
        let squared = least[best];
        let is_first = |lane: usize| least[lane] == squared && (lane != best || tied[lane]);
        if squared == f64::INFINITY || (0..LANES).any(is_first) {
            return None;
        }
        Some(NearSite { squared, site: self.sites[group_of[best] as usize * LANES + best] })
    }
}
