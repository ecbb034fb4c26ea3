//! Natural neighbour interpolation.
