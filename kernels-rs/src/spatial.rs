//! Computations on places. Host and device run the same functions.

pub mod cells;
pub mod chart;
pub mod frame;
pub mod hilbert;
pub mod keys;
pub mod morton;
pub mod place;
pub mod side;
pub mod sphere;
