//! Exact discrete Voronoi diagram and distance transform by monotone search: crate `pba-voronoi`,
//! `Algorithm::Monotone`.
//!
//! 1. [`bits`]: the sites as bits, 32 pixels a word. All that follows reads bits, so every kind of input
//!    begins here.
//! 2. [`rows`], a warp a row: for every pixel the column of the nearest site of its own row, the left
//!    one where two tie, by counting zeros in words. 16 bits a pixel where the raster is narrow enough.
//! 3. [`search`], a thread a column and every 256th row (before that every 2048th, 16384th .., as tall as
//!    the raster is): the *winner* there, the row whose candidate is nearest.
//! 4. [`spread`], a block a tile of 32 columns and 256 rows: the winners of every 32nd row, then of every
//!    8th, then of all, and indices, squared distances or distances are written.
//! 5. [`derived`], a thread a pixel: what follows from these.
//!
//! Why so few candidates do: in a column the winner's row never decreases from north to south. For
//! rows a < b the difference of the costs, (y - a)^2 + g_a^2 - (y - b)^2 - g_b^2, grows with y, so a
//! wins down to some y and b from there on. (The matrix of costs is totally monotone: Aggarwal,
//! Klawe, Moran, Shor and Wilber 1987, doi:10.1007/BF01840359.) Between two rows whose winners are
//! known only the candidates between these winners count: over a column that is one candidate a
//! pixel and level, whatever the density and the distances. A winner is also no farther in rows than
//! the best distance so far, which bounds the first search.
//!
//! Of a strip of columns of a wider raster, as tall as it, the other columns matter by one site on each side of a row alone:
//! [`beyond`] puts these among the candidates, after step 2.
//!
//! Of a raster in longitude and latitude steps 3 to 5 are those of [`globe`], in f64.
//!
//! All other comparisons are in integers, of 32 bits where the squared diagonal fits, and a tie goes to
//! the lowest row, there to the left site: to the lowest index.

pub mod beyond;
pub mod bits;
pub mod cut;
pub mod derived;
pub mod globe;
pub mod rows;
pub mod search;
pub mod spread;

pub use super::BLOCK;
pub use beyond::*;
pub use bits::*;
pub use derived::*;
pub use globe::*;
pub use rows::*;
pub use search::*;
pub use spread::*;

/// A winner's row where no site is within the limit.
pub const NONE: u32 = u32::MAX;

/// Pixels of a word of the site bits; rows of words and of columns are padded to it.
pub const WORD: u32 = 32;

/// Set in a winner's row, between kernels, where it is far: rows are below it.
pub const FAR: u32 = 1 << 31;

/// Rows between the winners that [`spread`] starts from.
pub const TILE_ROWS: u32 = 256;

/// Each level of [`search`] has this many times the rows of the level above.
pub const LEVEL_RATIO: u32 = 8;

/// Rows between two winners that are spread by one warp.
pub const SPAN: u32 = TILE_ROWS / (BLOCK / WORD);

/// Tiles side by side that are worked on together, before those below them: the memory of a group
/// is contiguous enough, and its rows are still in the cache for the tiles below.
pub const GROUP: u32 = 16;

device_std::ptx_module! { "monotone" }
