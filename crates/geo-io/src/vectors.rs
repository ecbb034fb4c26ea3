//! Points, lines, polygons and meshes.

pub(crate) mod areas;
#[cfg(feature = "geo")]
mod geo;
pub(crate) mod json_text;
pub(crate) mod lines;
pub(crate) mod mesh;
pub(crate) mod shapes;
