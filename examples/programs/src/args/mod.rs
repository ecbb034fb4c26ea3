//! Options that several programs have, each with one name and one meaning.

mod belonging;
mod light;
mod points;
mod raster;
mod run;
mod size;
mod streams;
mod words;

pub use belonging::{Given, require_owner};
pub use light::LightArgs;
pub use points::PointArgs;
pub use raster::{Format, RasterArgs, ending};
pub use run::RunArgs;
pub use size::Size;
pub use streams::{is_stream, require_file, require_files};
pub use words::{
    Classes, Columns, Extent, HEIGHT, bytes, count, distance, distance_or_0, fraction, number,
    positive, require_x_first, threads, value_name, whole,
};
