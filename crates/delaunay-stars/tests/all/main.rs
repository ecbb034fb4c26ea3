//! The triangulation, against exact arithmetic, brute force and `spade`.

mod exact;
mod predicates;
mod stars;
mod triangulations;
