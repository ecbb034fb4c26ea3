//! The triangulation, against exact arithmetic, brute force and `spade`.

mod exact;
mod predicates;
mod queries;
mod triangulations;

#[cfg(feature = "cuda")]
mod stars;
