//! Points of LAZ files: the layered chunks of point formats 6 to 10 (LAS 1.4), decoded by a warp each.
//!
//! In: the packed bytes of many chunks. Out: columns of coordinates and fields.
//!
//! # Idea
//!
//! A chunk holds some 50,000 points. LASzip (Isenburg 2013, "LASzip: lossless compression of LiDAR data",
//! doi:10.14358/PERS.79.2.209) writes each field of them as a *layer*. A layer is a stream of symbols by an arithmetic
//! coder, whose models adapt to what came before. So a chunk can only be decoded from its beginning, one symbol after the
//! other. But chunks are independent of each other, and a file of 100 million points has 2,000 of them.
//!
//! A thread by itself would wait for memory at each step of its search in a model, and 32 threads of a warp would search
//! in 32 models. So a warp takes one chunk, and its lanes decode each symbol together:
//!
//! ```text
//! lanes:      four symbols of the model each: how many of them begin at or below the value?
//! ballot:     the last lane with such a symbol has the one that was written
//! shuffle:    all lanes learn the symbol and its interval
//! that lane:  counts the symbol; now and then all lanes compute the model anew, by a scan over the counts
//! ```
//!
//! Everything else of a point is computed by all lanes alike. The 32 latest points wait in the lanes' registers, a point
//! a lane, and are stored together.
//!
//! - [`chunks`]: the kernel, and the order of a point's symbols.
//! - [`layer`]: the arithmetic decoder of a layer.
//! - [`models`]: adaptive models, and where those of a chunk lie.
//! - [`integers`]: integers as a prediction and a correction.
//! - [`scanner`]: what is predicted from: the points before, for each channel of a scanner.
//! - [`places`]: coordinates in f64.

pub mod chunks;
mod integers;
mod layer;
pub mod models;
pub mod places;
mod scanner;

pub use chunks::{BLOCK, Chunks, Columns, LAYERS, WORDS, WORDS_OF_CHUNK, decode_chunks};
pub use places::{coordinate, place_points};

device_std::ptx_module! { "laz" }
