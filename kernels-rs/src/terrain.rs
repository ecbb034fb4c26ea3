//! Terrain products from a DEM: crate `terrain`.
//!
//! - [`gradient`]: slope and hillshade, from the 3 x 3 neighbourhood of each cell.
//! - [`squares`]: the pieces of contour lines, by marching squares, a thread a square; they are counted,
//!   the counts scanned, by gpu-scan, to places, and the pieces written.
//! - [`lines`]: the pieces joined to lines.
//!
//! The functions of a cell, of a square and of a piece are the host's too. They are single operations in
//! a stated order, so host and device give the same bits.

pub mod gradient;
pub mod lines;
pub mod squares;

pub use gradient::*;
pub use lines::*;
pub use squares::*;

device_std::ptx_module! {
    "terrain": slope_degrees, slope_degrees_level, slope_percent, slope_percent_level, hillshade,
        hillshade_level, count_pieces, write_pieces, link_pieces, start_heads, jump_heads,
        start_ranks, jump_ranks, key_lines, measure_lines, place_lines, write_points
}
