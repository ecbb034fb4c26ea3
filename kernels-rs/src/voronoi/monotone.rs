//! The nearest site of every pixel, exactly, by monotone search: crate `pba-voronoi`, `Method::Monotone`.
//!
//! In: sites as bytes, bits, labels or a list. Out, for every pixel: the index of the nearest site, its squared
//! distance or its distance. Of several sites at the same distance it is the lowest index. [`derived`] makes the other
//! outputs from these.
//!
//! # Idea
//!
//! A squared distance is a part along the row plus a part along the column. So in each row only the site nearest along
//! the row, the *candidate* of a column, can win a pixel of that column. With gap g_a, the candidate of row a costs
//! `(y - a)^2 + g_a^2` at row y. The cheapest one is the *winner*. **Down a column the winner's row never decreases**,
//! so between two rows whose winners are known only the candidates between these two winners count.
//!
//! ```text
//!    row y     row of its winner     one column, north at the top
//!      0 ------- 12
//!      : \        :                   rows 1 .. 255:    candidates 12 .. 198 alone
//!    256 ------- 198
//!      : \        :                   rows 257 .. 511:  candidates 198 .. 201 alone
//!    512 ------- 201
//! ```
//!
//! ```text
//! bits          sites as bits, 32 pixels a word                                        bits
//! candidates    a warp a row: the nearest site of the row, from counts of zeros        rows
//!               in a strip of a wider raster: also one site on each side of a row      beyond
//! levels        a thread a column and every 2048th row (16384th .. if it is taller),   search
//!               then every 256th: search outward from the row, between known winners
//! tiles         a block 32 columns by 256 rows, a warp 32 of these rows:               spread
//!     cut       two winners known, both far: compare all between at two rows           cut
//!     span      winner of the first row; then 8 rows at a time, by one walk            span
//!                 candidates near: a key of 32 bits each                               close_sites
//!                 far or many: costs and rows compared apart                           far
//! ```
//!
//! # Why it is right
//!
//! For rows a < b the difference of costs `(y - a)^2 + g_a^2 - (y - b)^2 - g_b^2` grows with y: a wins down to some y,
//! b from there on. The matrix of costs is totally monotone (Aggarwal, Klawe, Moran, Shor and Wilber 1987,
//! doi:10.1007/BF01840359). Costs are integers, of 32 bits if the squared diagonal fits, else 64: nothing is rounded. A
//! tie goes to a, the lower row, and within a row to the left site: to the lowest index.
//!
//! # What it costs
//!
//! The ranges of a level overlap in their ends alone. So a level compares about one candidate a pixel of the column,
//! and one more a row searched, whatever the density and the distances. A search also ends where the rows alone are
//! farther than the best so far. Memory: a bit and 2 bytes a pixel (4 in wide rasters), and of each 256 rows the
//! winners of one. A raster of 16384 x 16384 pixels takes 1.2 to 2.7 ms on an H200 (docs/guide/performance.md). That is
//! bound by instructions, not by memory.
//! 256. 16384 x 16384 pixels take 1.2 to 2.7 ms on an H200 (docs/guide/performance.md). That is bound by instructions,
//! not by memory.
//!
//! # Rejected
//!
//! - Pruning candidates until each that is left wins somewhere, as `Baseline::ScanPrune` does: 3 to 13 times as long
//!   there.
//! - A launch for every 32nd row, without the barrier in tiles: 1.63 in place of 1.39 ms.
//! - Tiles by halves, with three barriers: 3.4 in place of 2.5 ms (docs/notes/pba-voronoi.md).
//!
//! [`globe`] is the same on the sphere, in f64, for rasters in longitude and latitude.

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

/// Stands for a winner's row if no site is within the limit.
pub const NONE: u32 = u32::MAX;

/// Pixels of a word of the site bits; rows of words and of columns are padded to it.
pub const WORD: u32 = 32;

/// Set in a winner's row, between kernels, if the winner is far. Rows are below it.
pub const FAR: u32 = 1 << 31;

/// Rows between the winners that [`spread`] starts from.
pub const TILE_ROWS: u32 = 256;

/// How many times the rows of the level above a level of [`search`] has.
pub const LEVEL_RATIO: u32 = 8;

/// Rows of a *span*: what one warp of a tile writes.
pub const SPAN: u32 = TILE_ROWS / (BLOCK / WORD);

/// Tiles side by side that blocks take before the tiles below them. Their rows are long enough runs of memory, and
/// candidates that the tiles below need too are still in the cache.
pub const GROUP: u32 = 16;

device_std::ptx_module! { "monotone" }
