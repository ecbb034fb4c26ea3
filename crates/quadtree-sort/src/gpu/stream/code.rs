//! The keys of points, by vectors as wide as the processor has them.

use std::mem::MaybeUninit;

use gpu_core::Bounds;
use kernels_rs::spatial::frame::Frame;

use crate::cpu::{self, Range};

/// The key of a point that is left out.
const LEFT_OUT: u16 = u16::MAX;

/// Points whose keys are computed before they are counted: they stay in a core's cache, and each column is read for some
/// time before the other.
const BLOCK: usize = 8192;

/// Makes the keys of points.
pub(super) struct Coder {
    pub frame: Frame,
    /// The level of the keys' cells.
    pub level: u32,
    /// The bounds, if points beyond them are left out.
    pub inside: Option<Bounds>,
}

impl Coder {
    /// Writes the keys of some points. Returns how many points have each of the first `cells` keys, and the ranges of x
    /// and y.
    pub fn count(
        &self,
        keys: &mut [MaybeUninit<u16>],
        x: &[f64],
        y: &[f64],
        cells: usize,
    ) -> (Vec<u32>, [Range; 2]) {
        let mut counts = vec![0; cells];
        let mut ranges = [Range::default(); 2];
        for ((keys, x), y) in keys.chunks_mut(BLOCK).zip(x.chunks(BLOCK)).zip(y.chunks(BLOCK)) {
            let (keys, of_block) = self.code(keys, x, y);
            ranges = [0, 1].map(|axis| Range::join(ranges[axis], of_block[axis]));
            for &key in keys {
                // Points that are left out have no count.
                if let Some(count) = counts.get_mut(usize::from(key)) {
                    *count += 1;
                }
            }
        }
        (counts, ranges)
    }

    /// Writes the keys of a block; gives them, and the ranges of x and y.
    fn code<'a>(
        &self,
        keys: &'a mut [MaybeUninit<u16>],
        x: &[f64],
        y: &[f64],
    ) -> (&'a [u16], [Range; 2]) {
        assert!(keys.len() == x.len() && keys.len() == y.len());
        let ranges = self.write(keys, x, y);
        // SAFETY: all were written, and a `MaybeUninit` lies in memory as what it holds.
        (unsafe { &*(std::ptr::from_mut(keys) as *const [u16]) }, ranges)
    }

    fn write(&self, keys: &mut [MaybeUninit<u16>], x: &[f64], y: &[f64]) -> [Range; 2] {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq")]
            fn widest(
                of: &Coder,
                keys: &mut [MaybeUninit<u16>],
                x: &[f64],
                y: &[f64],
            ) -> [Range; 2] {
                of.write_each(keys, x, y)
            }
            #[target_feature(enable = "avx2")]
            fn wide(of: &Coder, keys: &mut [MaybeUninit<u16>], x: &[f64], y: &[f64]) -> [Range; 2] {
                of.write_each(keys, x, y)
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
            {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { widest(self, keys, x, y) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { wide(self, keys, x, y) };
            }
        }
        self.write_each(keys, x, y)
    }

    /// The loops: without a branch, for vectors, where none are left out.
    #[inline(always)]
    fn write_each(&self, keys: &mut [MaybeUninit<u16>], x: &[f64], y: &[f64]) -> [Range; 2] {
        // One column after the other comes from memory faster than both at a time.
        let ranges = [Range::of(x), Range::of(y)];
        let &Self { frame, level, inside } = self;
        let above = frame.level - level;
        let key = |x: f64, y: f64| {
            let (column, row) = (frame.column(x) >> above, frame.row(y) >> above);
            (row << level | column) as u16
        };
        let places = keys.iter_mut().zip(x.iter().zip(y));
        match inside {
            None => {
                for (to, (&x, &y)) in places {
                    to.write(key(x, y));
                }
            }
            Some(bounds) => {
                for (to, (&x, &y)) in places {
                    to.write(if cpu::is_inside(&bounds, x, y) { key(x, y) } else { LEFT_OUT });
                }
            }
        }
        ranges
    }
}
