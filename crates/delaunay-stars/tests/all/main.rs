//! The triangulation, against exact arithmetic, brute force and `spade`.

mod exact;
mod geo;
mod lines;
mod predicates;
mod queries;
mod triangulations;

#[cfg(feature = "cuda")]
mod resident;
#[cfg(feature = "cuda")]
mod stars;
