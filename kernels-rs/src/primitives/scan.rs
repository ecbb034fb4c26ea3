//! Inclusive and exclusive scans in one pass: crate `gpu-scan`.
//!
//! A block does one [`Tile`](device_std::tile::Tile). The plan:
//!
//! 1. Load: each thread copies `ROWS` vectors of 16 bytes to shared memory and sums each. Registers are too few to keep
//!    as many tiles in flight as the memory needs.
//! 2. Warp: a scan over the lanes for each row, then over the rows, one after the other.
//! 3. Block: the warps' sums go to shared memory, and every thread adds up those before its own.
//! 4. Device: warp 0 looks back for the sum of all tiles before.
//! 5. Every thread walks once more over its vectors, from the sum of all that comes before them,
//!    and stores them.
//!
//! So each element is read once and written once, by 16 bytes a thread. A thread touches its own vectors only: there is
//! no exchange through shared memory. The PTX of level 80 copies past the registers.
//!
//! A segmented scan does the same with sums that begin again at a head. Each warp finds the heads
//! among its own elements while these are being copied: by a search in the offsets, or by a division by the rows' width.
//! Forward, it finds them in keys as wide as elements. For other keys the kernel of `flags` marks heads in an array of one bit an element. Backward, the
//! tile lies mirrored over the array, and its "head" is a segment's last element.
//!
//! The order in which elements are combined is fixed: see `gpu-scan`'s documentation of it.

use device_std::atomic::Pair;
use device_std::scalar::Scalar;
use device_std::shared::Carver;
use device_std::{In, Out, arguments, kernel};

use super::operators::{BACKWARD, EXCLUSIVE, Last, Least, Operator, Sum};

mod heads;
mod tile_scan;

use heads::Borders;
pub use heads::Cuts;
pub use tile_scan::BLOCK;
use tile_scan::{Scan, Shared};

/// The input of a scan, and its output.
#[arguments]
pub struct Arrays<'a, T> {
    /// `len` of them.
    pub input: In<'a, T>,
    /// `len` elements: the same array as `input`, or one that does not overlap it.
    pub output: Out<'a, T>,
    /// How many there are.
    pub len: u64,
}

/// How it is scanned.
#[arguments]
pub struct How<T> {
    /// [`EXCLUSIVE`] and [`BACKWARD`], or neither.
    pub mode: u32,
    /// The value that precedes the first element.
    pub initial: T,
    /// The parameters of the operator.
    pub parameters: [u64; 4],
}

/// How a tile learns the sum of the tiles before it.
#[arguments]
pub struct Chain<'a> {
    /// One element, as [`Tickets::take`](device_std::lookback::Tickets::take) asks.
    pub control: Out<'a, u64>,
    /// One for each block, as [`Lookback::exclusive_prefix`](device_std::lookback::Lookback::exclusive_prefix) asks.
    pub status: Out<'a, Pair>,
}

/// The scan of an array, the body of every kernel here.
///
/// # Safety
/// The whole block comes here, with what the kernels ask for.
#[inline(always)]
unsafe fn scan<T: Scalar, O: Operator<T>, const ROWS: usize, const SEGMENTED: bool>(
    arrays: Arrays<T>,
    borders: Borders<T>,
    How { mode, initial, parameters }: How<T>,
    Chain { control, status }: Chain,
) {
    let operator = O::new(parameters);
    let cuts = matches!(borders, Borders::Cuts(_));
    let shared = Shared::<T>::new(&mut Carver::new(), ROWS, cuts);
    let exclusive = mode & EXCLUSIVE != 0;
    let initial = operator.lift(initial);
    let scan = Scan::<T, O, ROWS, SEGMENTED> { operator, exclusive, initial, shared };
    // SAFETY: the block's threads stay together.
    unsafe {
        let ticket = shared.tickets.take(control);
        scan.tile(arrays, borders, mode & BACKWARD != 0, status, ticket);
    }
}

/// A scan of the whole array; see the module's plan. Grid: one block a tile.
///
/// # Safety
/// The arguments are as [`Arrays`] and [`Chain`] say.
#[kernel(block = BLOCK, carve = |carver| Shared::<T>::new(carver, ROWS, false), instances(
    sum_u8: <u8, Sum, 4>, resident = 4;
    sum_u16: <u16, Sum, 8>, resident = 4;
    sum_u32: <u32, Sum, 8>, resident = 5;
    sum_u64: <u64, Sum, 8>, resident = 5, spills = 16;
    sum_f32: <f32, Sum, 8>, resident = 5;
    sum_f64: <f64, Sum, 8>, resident = 5, spills = 16;
    least_u8: <u8, Least<u8>, 4>, resident = 3;
    least_u16: <u16, Least<u16>, 8>, resident = 3;
    least_u32: <u32, Least<u32>, 8>, resident = 5;
    least_u64: <u64, Least<u64>, 8>, resident = 2;
    last_u8: <u8, Last<u8>, 4>, resident = 4;
    last_u16: <u16, Last<u16>, 8>, resident = 4;
    last_u32: <u32, Last<u32>, 8>, resident = 4;
    last_u64: <u64, Last<u64>, 8>, resident = 4;
))]
pub unsafe fn whole<T: Scalar, O: Operator<T>, const ROWS: usize>(
    arrays: Arrays<'_, T>,
    how: How<T>,
    chain: Chain<'_>,
) {
    // SAFETY: the whole block comes here; the arguments are the caller's promise.
    unsafe { scan::<T, O, ROWS, false>(arrays, Borders::None, how, chain) }
}

/// A scan that begins again at each head. Grid: one block a tile.
///
/// # Safety
/// As for [`mod@whole`]; the cuts are as [`Cuts`] says.
#[kernel(block = BLOCK, carve = |carver| Shared::<T>::new(carver, ROWS, true), instances(
    sum_u8: <u8, Sum, 4>, resident = 2;
    sum_u16: <u16, Sum, 8>, resident = 3, spills = 16;
    sum_u32: <u32, Sum, 8>, resident = 4, spills = 8;
    sum_u64: <u64, Sum, 8>, resident = 2;
    sum_f32: <f32, Sum, 8>, resident = 4, spills = 40;
    sum_f64: <f64, Sum, 8>, resident = 2;
    least_u8: <u8, Least<u8>, 4>, resident = 1;
    least_u16: <u16, Least<u16>, 8>, resident = 1;
    least_u32: <u32, Least<u32>, 8>, resident = 4, spills = 40;
    least_u64: <u64, Least<u64>, 8>, resident = 2;
    last_u8: <u8, Last<u8>, 4>, resident = 1;
    last_u16: <u16, Last<u16>, 8>, resident = 1;
    last_u32: <u32, Last<u32>, 8>, resident = 3;
    last_u64: <u64, Last<u64>, 8>, resident = 2;
))]
pub unsafe fn segmented<T: Scalar, O: Operator<T>, const ROWS: usize>(
    arrays: Arrays<'_, T>,
    cuts: Cuts<'_>,
    how: How<T>,
    chain: Chain<'_>,
) {
    // SAFETY: as for the whole array.
    unsafe { scan::<T, O, ROWS, true>(arrays, Borders::Cuts(cuts), how, chain) }
}

/// A forward scan that begins again where a key has other bits than the one before. Grid: one block a tile.
///
/// # Safety
/// As for [`mod@whole`]; `keys` has `len` elements, of the size of the others.
#[kernel(block = BLOCK, carve = |carver| Shared::<T>::new(carver, ROWS, false), instances(
    sum_u8: <u8, Sum, 4>, resident = 2;
    sum_u16: <u16, Sum, 8>, resident = 2, spills = 8;
    sum_u32: <u32, Sum, 8>, resident = 4;
    sum_u64: <u64, Sum, 8>, resident = 2;
    sum_f32: <f32, Sum, 8>, resident = 4;
    sum_f64: <f64, Sum, 8>, resident = 2;
    least_u8: <u8, Least<u8>, 4>, resident = 1;
    least_u16: <u16, Least<u16>, 8>, resident = 1;
    least_u32: <u32, Least<u32>, 8>, resident = 4;
    least_u64: <u64, Least<u64>, 8>, resident = 2;
    last_u8: <u8, Last<u8>, 4>, resident = 1;
    last_u16: <u16, Last<u16>, 8>, resident = 1;
    last_u32: <u32, Last<u32>, 8>, resident = 3;
    last_u64: <u64, Last<u64>, 8>, resident = 2;
))]
pub unsafe fn by_keys<T: Scalar, O: Operator<T>, const ROWS: usize>(
    arrays: Arrays<'_, T>,
    keys: In<'_, T>,
    how: How<T>,
    chain: Chain<'_>,
) {
    let forward = How { mode: how.mode & !BACKWARD, ..how };
    // SAFETY: as for the whole array.
    unsafe { scan::<T, O, ROWS, true>(arrays, Borders::Keys(keys), forward, chain) }
}

/// The operators that scans support, over elements of one type.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Scans<T: Copy>:
    Operator<T> + whole::Instance<T> + segmented::Instance<T> + by_keys::Instance<T>
{
    /// Vectors of a thread, in all three kernels.
    const ROWS_OF_TILE: usize = <Self as whole::Instance<T>>::ROWS;
    /// Elements of a tile.
    const TILE: u64 = (BLOCK * Self::ROWS_OF_TILE * 16 / size_of::<T>()) as u64;
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T: Copy, O> Scans<T> for O where
    O: Operator<T> + whole::Instance<T> + segmented::Instance<T> + by_keys::Instance<T>
{
}

device_std::ptx_module! { "scan" }
