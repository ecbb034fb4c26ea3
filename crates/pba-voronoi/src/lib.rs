//! Exact discrete Voronoi diagrams.
