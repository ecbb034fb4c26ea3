//! Building trees: crate `ccq-tree`.
//!
//! A square has 64 x 64 elements in 64 [patches](super::patch) of 8 x 8. The plan:
//!
//! 1. [`reduce`](mod@reduce) the cells. A warp has a square, and a lane two of its patches. The lane reads rows of
//!    eight cells at once and keeps the least and the greatest key. It looks only these two up among the bins, so a
//!    patch costs two searches. By shuffles the patches make the square: its element of the tier above, and which
//!    quadrants are nodes. The few divided patches are read again, by half a warp each, a lane a quadrant of 2 x 2, and
//!    their nodes are counted.
//! 2. [`reduce_squares`](const@reduce_squares) each tier above, where nearly all quadrants are divided: a block has a
//!    square, half a warp a patch.
//! 3. A scan of the counts, by gpu-scan.
//! 4. [`write`](mod@write) and [`write_squares`](const@write_squares), for each tier: the nodes of divided squares.
//!    Step 1 has kept its results for a square's patches, so again only the divided ones are read.
//!
//! A square of cells keeps 12 bytes, 24 bytes of counts, and if it is divided 768 bytes for its patches.
//!
//! A forest becomes one tree by [`move_nodes`](mod@move_nodes).

use device_std::warp;

use super::plan::Tier;
use super::source::PATCH;
use super::{LEVELS, SIDE};
use crate::spatial::morton;

pub mod cells;
pub mod counts;
pub mod levels;
pub mod merge;
pub mod squares;
pub mod steps;

pub use cells::*;
pub use counts::*;
pub use levels::*;
pub use merge::*;
pub use squares::*;
pub use steps::*;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Squares of cells of a block.
pub const SQUARES: u32 = BLOCK as u32 / warp::SIZE;

/// Patches of a square.
const PATCHES: u32 = 64;

/// Words that are kept of a square's patches: least keys, greatest keys, tallies.
pub const PATCH_WORDS: u32 = 3 * PATCHES;

/// The column and row of a square of a tier, by its number.
#[inline(always)]
fn square_at(tier: &Tier, index: u32) -> (u32, u32) {
    let columns = tier.grid().0;
    let row = index.checked_div(columns).unwrap_or(0);
    (index - row * columns, row)
}

/// The first element of a patch of a square.
#[inline(always)]
fn patch_at(tier: &Tier, (column, row): (u32, u32), patch: u32) -> (u32, u32) {
    let (x, y) = morton::decode(patch as u64);
    (column * tier.side() + x * PATCH, row * tier.side() + y * PATCH)
}

/// The column and the row after a square's last.
#[inline(always)]
fn end_of(tier: &Tier, (column, row): (u32, u32)) -> (u32, u32) {
    let end = |at: u32, length: u32| u32::min((at + 1) << tier.side_bits, length);
    (end(column, tier.width), end(row, tier.height))
}

/// A lane's two patches, the northern and the southern.
#[inline(always)]
fn own_patches() -> [u32; 2] {
    [warp::lane_id(), warp::lane_id() + warp::SIZE]
}

const _: () = assert!(SIDE == 8 * PATCH && PATCHES == 2 * warp::SIZE && LEVELS == 6);

device_std::ptx_module! { "ccq_build" }
