//! Inclusive and exclusive scans in one pass: crate `gpu-scan`.
//!
//! A block does one [`Tile`](device_std::tile::Tile). The plan:
//!
//! 1. Load: each thread has `ROWS` vectors of 16 bytes copied to shared memory, for registers are
//!    too few to hold as many tiles as the memory needs under way, and sums each.
//! 2. Warp: a scan over the lanes for each row, then over the rows, one after the other.
//! 3. Block: the warps' sums go to shared memory, and every thread adds up those before its own.
//! 4. Device: warp 0 looks back for the sum of all tiles before.
//! 5. Every thread walks once more over its vectors, from the sum of all that comes before them,
//!    and stores them.
//!
//! So each element is read once and written once, by 16 bytes a thread. A thread touches its own
//! vectors only: there is no exchange through shared memory. The PTX of level 80 copies past the
//! registers. A segmented scan does the same with sums that begin anew at a head; a head is a
//! bit in an array with one bit an element, which the kernels of `flags` make. Backward, the tile
//! lies mirrored over the array, and its "head" is a segment's last element.
//!
//! The order in which elements are combined is fixed: see `gpu-scan`'s documentation of it.

use device_std::atomic::Pair;
use device_std::kernel;
use device_std::scalar::Scalar;
use device_std::shared::{Carver, Plain};

use crate::operators::{BACKWARD, EXCLUSIVE, Last, Least, Operator, Sum};
pub use crate::tile_scan::BLOCK;
use crate::tile_scan::{Scan, Shared};

/// Bytes of shared memory.
const fn shared_bytes<T: Plain>(rows: usize) -> u32 {
    let mut carver = Carver::new();
    let _ = Shared::<T>::new(&mut carver, rows);
    carver.bytes()
}

/// The scan of an array, the body of every kernel here.
#[inline(always)]
unsafe fn scan<T: Scalar, O: Operator<T>, const ROWS: usize, const SEGMENTED: bool>(
    (input, output, len): (*const T, *mut T, u64),
    heads: *const u32,
    mode: u32,
    initial: T,
    operator: O,
    control: *mut u64,
    status: *mut Pair,
) {
    let shared = Shared::<T>::new(&mut Carver::new(), ROWS);
    let exclusive = mode & EXCLUSIVE != 0;
    let initial = operator.lift(initial);
    let scan = Scan::<T, O, ROWS, SEGMENTED> { operator, exclusive, initial, shared };
    // SAFETY: the caller gives arrays of `len` elements; the block's threads stay together.
    unsafe {
        let ticket = shared.tickets.take(control);
        scan.tile((input, output, len), heads, mode & BACKWARD != 0, status, ticket);
    }
}

/// The kernels of an operator over elements of one type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Scans<T: Copy>: Operator<T> {
    /// Rows of a tile.
    const ROWS: usize;
    /// The scan of the whole array.
    const WHOLE: device_std::host::Kernel<Arguments<T>>;
    /// The scan that begins anew at each head.
    const SEGMENTED: device_std::host::Kernel<Arguments<T>>;
    /// Bytes of shared memory.
    const SHARED: u32;
    /// Elements of a tile.
    const TILE: u64 = (BLOCK * Self::ROWS * 16 / size_of::<T>()) as u64;
}

/// What the kernels take: input, output and length, head bits, mode, initial value, the operator's
/// parameters, control word, status array.
#[cfg(not(target_arch = "nvptx64"))]
pub type Arguments<T> =
    (*const T, *mut T, u64, *const u32, u32, T, u64, u64, u64, u64, *mut u64, *mut Pair);

macro_rules! scans {
    ($($whole:ident, $segmented:ident: $type:ty, $operator:ty, $rows:literal,
        $resident:literal, $resident_segmented:literal;)+) => {
        $(
            scans! { @kernel $whole, $type, $operator, $rows, false, $resident }
            scans! { @kernel $segmented, $type, $operator, $rows, true, $resident_segmented }
            #[cfg(not(target_arch = "nvptx64"))]
            impl Scans<$type> for $operator {
                const ROWS: usize = $rows;
                const SHARED: u32 = shared_bytes::<$type>($rows);
                const WHOLE: device_std::host::Kernel<Arguments<$type>> = $whole;
                const SEGMENTED: device_std::host::Kernel<Arguments<$type>> = $segmented;
            }
        )+
    };
    (@kernel $name:ident, $type:ty, $operator:ty, $rows:literal, $is_segmented:literal, $resident:literal) => {
        /// A scan; see the module's plan. Grid: one block a tile.
        ///
        /// # Safety
        /// `input` and `output` have `len` elements and are the same array or apart; `heads` has a
        /// bit for each (segmented scans only); `status` an element for each block. `control` and
        /// `status` are as [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
        #[kernel(block = 256, resident = $resident)]
        pub unsafe fn $name(
            input: *const $type,
            output: *mut $type,
            len: u64,
            heads: *const u32,
            mode: u32,
            initial: $type,
            parameter_0: u64,
            parameter_1: u64,
            parameter_2: u64,
            parameter_3: u64,
            control: *mut u64,
            status: *mut Pair,
        ) {
            let parameters = [parameter_0, parameter_1, parameter_2, parameter_3];
            let operator = <$operator as Operator<$type>>::new(parameters);
            let arrays = (input, output, len);
            // SAFETY: passed on to the caller.
            unsafe {
                scan::<$type, $operator, $rows, $is_segmented>(
                    arrays, heads, mode, initial, operator, control, status,
                )
            }
        }
    };
}

// Columns: kernels; type and operator; rows of a tile; blocks on a multiprocessor, at least.
scans! {
    scan_sum_u8, segmented_scan_sum_u8: u8, Sum, 4, 4, 2;
    scan_sum_u16, segmented_scan_sum_u16: u16, Sum, 8, 4, 3;
    scan_sum_u32, segmented_scan_sum_u32: u32, Sum, 8, 5, 4;
    scan_sum_u64, segmented_scan_sum_u64: u64, Sum, 8, 3, 2;
    scan_sum_f32, segmented_scan_sum_f32: f32, Sum, 8, 5, 4;
    scan_sum_f64, segmented_scan_sum_f64: f64, Sum, 8, 3, 2;
    scan_least_u8, segmented_scan_least_u8: u8, Least<u8>, 4, 3, 1;
    scan_least_u16, segmented_scan_least_u16: u16, Least<u16>, 8, 3, 1;
    scan_least_u32, segmented_scan_least_u32: u32, Least<u32>, 8, 5, 4;
    scan_least_u64, segmented_scan_least_u64: u64, Least<u64>, 8, 2, 2;
    scan_last_u8, segmented_scan_last_u8: u8, Last<u8>, 4, 4, 1;
    scan_last_u16, segmented_scan_last_u16: u16, Last<u16>, 8, 4, 1;
    scan_last_u32, segmented_scan_last_u32: u32, Last<u32>, 8, 4, 3;
    scan_last_u64, segmented_scan_last_u64: u64, Last<u64>, 8, 4, 2;
}

device_std::ptx_module! {
    "scan" at 75 80:
    scan_sum_u8, segmented_scan_sum_u8, scan_sum_u16, segmented_scan_sum_u16, scan_sum_u32,
    segmented_scan_sum_u32, scan_sum_u64, segmented_scan_sum_u64, scan_sum_f32,
    segmented_scan_sum_f32, scan_sum_f64, segmented_scan_sum_f64, scan_least_u8,
    segmented_scan_least_u8, scan_least_u16, segmented_scan_least_u16, scan_least_u32,
    segmented_scan_least_u32, scan_least_u64, segmented_scan_least_u64, scan_last_u8,
    segmented_scan_last_u8, scan_last_u16, segmented_scan_last_u16, scan_last_u32,
    segmented_scan_last_u32, scan_last_u64, segmented_scan_last_u64
}
