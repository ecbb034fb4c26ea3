//! Points, lines, polygons and meshes.

pub(crate) mod areas;
pub(crate) mod json_text;
pub(crate) mod lines;
pub(crate) mod mesh;
pub(crate) mod shapes;
