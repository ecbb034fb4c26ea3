//! Operations of the 32 threads of a warp together.
//!
//! All lanes of `mask` call every function at once; [`FULL`] names the whole warp.
//!
//! | function | valid in |
//! |---|---|
//! | [`shuffle`], [`shuffle_up`], [`shuffle_down`] | every lane of the mask |
//! | [`ballot`], [`any`], [`all`] | every lane of the mask |
//! | [`match_any`], [`match_bits`] | every lane of the mask |
//! | [`inclusive_scan`], [`inclusive_scan_from`] | every lane, for the lanes up to it |
//! | [`reduce`], [`min`], [`max`] | every lane |

/// Threads of a warp.
pub const SIZE: u32 = 32;

/// All lanes.
pub const FULL: u32 = u32::MAX;

/// A value that a shuffle can carry, a 32-bit word at a time.
pub trait Word: Copy {
    /// Applies `exchange` to each of the value's words.
    fn map_words(self, exchange: impl FnMut(u32) -> u32) -> Self;
}

macro_rules! words {
    ($($type:ty, $bits:ty;)+) => {$(
        impl Word for $type {
            #[inline(always)]
            fn map_words(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
                let bits = self as $bits;
                exchange(bits as u32) as $bits as Self
            }
        }
    )+};
}

words! { u8, u8; u16, u16; u32, u32; i32, u32; }

impl Word for u64 {
    #[inline(always)]
    fn map_words(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
        let low = exchange(self as u32);
        let high = exchange((self >> 32) as u32);
        low as u64 | (high as u64) << 32
    }
}

impl Word for i64 {
    #[inline(always)]
    fn map_words(self, exchange: impl FnMut(u32) -> u32) -> Self {
        (self as u64).map_words(exchange) as i64
    }
}

impl Word for f32 {
    #[inline(always)]
    fn map_words(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
        f32::from_bits(exchange(self.to_bits()))
    }
}

impl Word for f64 {
    #[inline(always)]
    fn map_words(self, exchange: impl FnMut(u32) -> u32) -> Self {
        f64::from_bits(self.to_bits().map_words(exchange))
    }
}

impl<A: Word, B: Word> Word for (A, B) {
    #[inline(always)]
    fn map_words(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
        let first = self.0.map_words(&mut exchange);
        (first, self.1.map_words(exchange))
    }
}

#[cfg(target_arch = "nvptx64")]
mod device {
    #[allow(improper_ctypes)]
    unsafe extern "C" {
        #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
        fn shfl_up(mask: u32, value: i32, delta: u32, clamp: u32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
        fn shfl_down(mask: u32, value: i32, delta: u32, clamp: u32) -> i32;
        #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
        fn shfl_idx(mask: u32, value: i32, lane: u32, clamp: u32) -> i32;
        #[link_name = "llvm.nvvm.vote.ballot.sync"]
        fn vote_ballot(mask: u32, predicate: bool) -> u32;
        #[link_name = "llvm.nvvm.match.any.sync.i32"]
        fn match_any(mask: u32, value: u32) -> u32;
        #[link_name = "llvm.nvvm.bar.warp.sync"]
        fn bar_warp(mask: u32);
    }

    // SAFETY (all): the lanes of `mask` call together, as the public functions demand.
    #[inline(always)]
    pub unsafe fn up(mask: u32, value: u32, delta: u32) -> u32 {
        unsafe { shfl_up(mask, value as i32, delta, 0) as u32 }
    }
    #[inline(always)]
    pub unsafe fn down(mask: u32, value: u32, delta: u32) -> u32 {
        unsafe { shfl_down(mask, value as i32, delta, 31) as u32 }
    }
    #[inline(always)]
    pub unsafe fn index(mask: u32, value: u32, lane: u32) -> u32 {
        unsafe { shfl_idx(mask, value as i32, lane, 31) as u32 }
    }
    #[inline(always)]
    pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
        unsafe { vote_ballot(mask, predicate) }
    }
    #[inline(always)]
    pub unsafe fn equals(mask: u32, value: u32) -> u32 {
        unsafe { match_any(mask, value) }
    }
    #[inline(always)]
    pub unsafe fn equals_in<const BITS: u32>(mask: u32, value: u32) -> u32 {
        let mut peers = mask;
        let mut even = mask;
        let mut bit = 0;
        while bit < BITS {
            // Without the empty assembly the compiler computes the ballot's condition and the other one separately;
            // with it they are one. A selection in place of the predicated instruction would take two.
            let mut of_lane = value & 1 << bit;
            unsafe {
                core::arch::asm!("// {0}", inout(reg32) of_lane, options(pure, nomem, nostack));
            }
            let mut same = unsafe { vote_ballot(mask, of_lane != 0) };
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred set; setp.ne.u32 set, {1}, 0; @!set not.b32 {0}, {0}; }}",
                    inout(reg32) same, in(reg32) of_lane, options(pure, nomem, nostack),
                );
            }
            // Three operands make one instruction.
            if bit % 2 == 0 {
                even = same;
            } else {
                peers &= even & same;
            }
            bit += 1;
        }
        if BITS % 2 == 0 { peers } else { peers & even }
    }
    #[inline(always)]
    pub unsafe fn sync(mask: u32) {
        unsafe { bar_warp(mask) }
    }
    #[cfg(feature = "sm_80")]
    #[inline(always)]
    pub unsafe fn min(value: u32) -> u32 {
        let least;
        unsafe {
            core::arch::asm!(
                "redux.sync.min.u32 {0}, {1}, 0xffffffff;", out(reg32) least, in(reg32) value,
                options(nostack),
            );
        }
        least
    }
    #[cfg(feature = "sm_80")]
    #[inline(always)]
    pub unsafe fn max(value: u32) -> u32 {
        let greatest;
        unsafe {
            core::arch::asm!(
                "redux.sync.max.u32 {0}, {1}, 0xffffffff;", out(reg32) greatest, in(reg32) value,
                options(nostack),
            );
        }
        greatest
    }
    #[cfg(not(feature = "sm_80"))]
    #[inline(always)]
    pub unsafe fn min(value: u32) -> u32 {
        unsafe { super::reduce(value, u32::min) }
    }
    #[cfg(not(feature = "sm_80"))]
    #[inline(always)]
    pub unsafe fn max(value: u32) -> u32 {
        unsafe { super::reduce(value, u32::max) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod device {
    use crate::host::current;
    use crate::warp::lane_id;

    /// Returns what `take` makes of the values of all lanes.
    #[inline]
    fn exchange<R: Default>(
        mask: u32,
        operation: &'static str,
        value: u64,
        take: impl Fn(&[u64; 32]) -> R,
    ) -> R {
        let mut taken = R::default();
        current(|t| t.exchange(mask, operation, value, &mut |all| taken = take(all)));
        taken
    }
    #[inline]
    pub unsafe fn up(mask: u32, value: u32, delta: u32) -> u32 {
        let lane = lane_id();
        let from = lane.checked_sub(delta).unwrap_or(lane);
        exchange(mask, "shuffle_up", value.into(), |all| all[from as usize] as u32)
    }
    #[inline]
    pub unsafe fn down(mask: u32, value: u32, delta: u32) -> u32 {
        let from = (lane_id() + delta) as usize;
        exchange(mask, "shuffle_down", value.into(), |all| {
            all.get(from).map_or(value, |&v| v as u32)
        })
    }
    #[inline]
    pub unsafe fn index(mask: u32, value: u32, lane: u32) -> u32 {
        exchange(mask, "shuffle", value.into(), |all| all[lane as usize % 32] as u32)
    }
    #[inline]
    pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
        let bit = u64::from(predicate) << lane_id();
        exchange(mask, "ballot", bit, |all| all.iter().fold(0, |bits, &v| bits | v) as u32)
    }
    #[inline]
    pub unsafe fn equals(mask: u32, value: u32) -> u32 {
        exchange(mask, "match_any", value.into(), |all| {
            let same = |lane: &u32| all[*lane as usize] == u64::from(value);
            (0..32).filter(same).fold(0, |lanes, lane| lanes | 1 << lane) & mask
        })
    }
    #[inline]
    pub unsafe fn equals_in<const BITS: u32>(mask: u32, value: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { equals(mask, value & ((1 << BITS) - 1)) }
    }
    #[inline]
    pub unsafe fn sync(mask: u32) {
        exchange(mask, "sync_warp", 0, |_| ());
    }
    #[inline]
    pub unsafe fn min(value: u32) -> u32 {
        exchange(u32::MAX, "min", value.into(), |all| {
            all.iter().fold(u32::MAX, |m, &v| m.min(v as u32))
        })
    }
    #[inline]
    pub unsafe fn max(value: u32) -> u32 {
        exchange(u32::MAX, "max", value.into(), |all| all.iter().fold(0, |m, &v| m.max(v as u32)))
    }
}

/// Index of the thread in its warp.
#[inline(always)]
pub fn lane_id() -> u32 {
    crate::thread::thread_idx_x() % SIZE
}

/// Index of the warp in its block.
#[inline(always)]
pub fn warp_id() -> u32 {
    crate::thread::thread_idx_x() / SIZE
}

/// The value of the lane `delta` below; its own in the lowest `delta` lanes.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn shuffle_up<T: Word>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: passed on to the caller.
    value.map_words(|word| unsafe { device::up(mask, word, delta) })
}

/// The value of the lane `delta` above; its own in the highest `delta` lanes.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn shuffle_down<T: Word>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: passed on to the caller.
    value.map_words(|word| unsafe { device::down(mask, word, delta) })
}

/// The value of lane `lane` (modulo 32).
///
/// # Safety
/// All lanes of `mask` come to the same call, and `lane` is one of them.
#[inline(always)]
pub unsafe fn shuffle<T: Word>(mask: u32, value: T, lane: u32) -> T {
    // SAFETY: passed on to the caller.
    value.map_words(|word| unsafe { device::index(mask, word, lane) })
}

/// Bit `i` is lane `i`'s predicate.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { device::ballot(mask, predicate) }
}

/// Whether the predicate holds in any lane.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { ballot(mask, predicate) != 0 }
}

/// Whether the predicate holds in every lane of the mask.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { ballot(mask, predicate) == mask }
}

/// The lanes of `mask` whose value is the same as this lane's.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn match_any(mask: u32, value: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { device::equals(mask, value) }
}

/// [`match_any`] for values of few bits, by a ballot for each of the lower `BITS` bits. For 8 bits this takes less time
/// than the single instruction, which handles distinct values one after the other.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn match_bits<const BITS: u32>(mask: u32, value: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { device::equals_in::<BITS>(mask, value) }
}

/// The lanes below this one, as a mask.
#[inline(always)]
pub fn lanes_below() -> u32 {
    (1 << lane_id()) - 1
}

/// Waits for the lanes of `mask`. What they wrote to memory before, all of them see after.
///
/// # Safety
/// All lanes of `mask` come to the same call.
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: passed on to the caller.
    unsafe { device::sync(mask) }
}

/// Combines the values of the lanes up to this one, in lane order.
///
/// `combine` need not be commutative; its left argument comes from the lower lanes.
///
/// # Safety
/// All 32 lanes come to the same call.
#[inline(always)]
pub unsafe fn inclusive_scan<T: Word>(value: T, combine: impl Fn(T, T) -> T) -> T {
    // SAFETY: passed on to the caller.
    unsafe { inclusive_scan_from(0, value, combine) }
}

/// Combines the values of the lanes from `start` up to this one, in lane order: a segmented scan,
/// if `start` is the first lane of this lane's segment, or 0.
///
/// # Safety
/// All 32 lanes come to the same call; lanes of one segment give the same `start`.
#[inline(always)]
pub unsafe fn inclusive_scan_from<T: Word>(start: u32, value: T, combine: impl Fn(T, T) -> T) -> T {
    let above = lane_id() - start;
    let mut sum = value;
    let mut delta = 1;
    while delta < SIZE {
        // SAFETY: passed on to the caller.
        let below = unsafe { shuffle_up(FULL, sum, delta) };
        if above >= delta {
            sum = combine(below, sum);
        }
        delta *= 2;
    }
    sum
}

/// The first lane of this lane's segment; `heads` are the lanes that begin a segment. 0 before the first head.
#[inline(always)]
pub fn segment_start(heads: u32) -> u32 {
    let heads = heads & (lanes_below() | 1 << lane_id());
    31 - (heads | 1).leading_zeros()
}

/// Combines the values of all lanes, in lane order: pairs first, then pairs of pairs.
///
/// # Safety
/// All 32 lanes come to the same call.
#[inline(always)]
pub unsafe fn reduce<T: Word>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut sum = value;
    let mut delta = 1;
    while delta < SIZE {
        // SAFETY: passed on to the caller. Lane 0, whose value counts, never lacks a partner.
        sum = combine(sum, unsafe { shuffle_down(FULL, sum, delta) });
        delta *= 2;
    }
    // SAFETY: passed on to the caller.
    unsafe { shuffle(FULL, sum, 0) }
}

/// The least of the values of all lanes: one instruction on compute capability 8.0 and up.
///
/// # Safety
/// All 32 lanes come to the same call.
#[inline(always)]
pub unsafe fn min(value: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { device::min(value) }
}

/// The greatest of the values of all lanes, as [`min`].
///
/// # Safety
/// All 32 lanes come to the same call.
#[inline(always)]
pub unsafe fn max(value: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { device::max(value) }
}
