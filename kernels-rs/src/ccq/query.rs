//! Searching trees: crate `ccq-tree`.
//!
//! The raster is cut into squares of 64 x 64 cells, which share nothing. The plan:
//!
//! 1. [`descend`](mod@descend): a thread for each square goes down from the root to it, by the square's own column and
//!    row. A quadrant above the square may end the search. Then the thread of the square at the quadrant's
//!    north-western corner reports it. Squares where the search goes on are listed, in any order, with the nodes that
//!    hold them.
//! 2. [`search`](mod@search): a block takes one listed square after the other. A slot stands for 2 x 2 cells, in
//!    Z-order, and a quadrant has the slot of its north-western corner. Level by level each open quadrant is judged by
//!    one thread, and opens its children's slots or ends.
//! 3. A thread has four slots that follow each other. It counts the quadrants that ended there, and judges the cells of
//!    slots that are still open. To write, a scan over the block says where.
//!
//! A mask is made of the same squares: [`paint`](mod@paint). [`find_runs`](const@find_runs) finds the runs of its rows.
//!
//! A node is never trusted. The search ignores a link that leads out of the tree, or to a missing child. Levels bound
//! the descent. So no contents of device memory make a search read outside or run without end.
//!
//! Conditions are searched together, `N` of them: a quadrant has a node of each tree, its own or a leaf above.

pub mod above;
pub mod condition;
pub mod ground;
pub mod judge;
pub mod mask;
pub mod results;
pub mod runs;
pub mod slots;
pub mod squares;

pub use above::*;
pub use condition::*;
pub use ground::*;
pub use judge::*;
pub use mask::*;
pub use results::*;
pub use runs::*;
pub use squares::*;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// The most conditions of a search.
pub const MAX_CONDITIONS: usize = 4;

/// Words of a listed square for this number of conditions: its number, row by row, and the nodes that hold it.
pub const fn listed_words(conditions: usize) -> usize {
    conditions + 1
}

device_std::ptx_module! { "ccq_query" }
