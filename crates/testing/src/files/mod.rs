//! Odd files for tests, written byte by byte, since some programs write what ordinary writers never do.

pub mod catalogues;
pub mod csv;
pub mod grid;
pub mod las;
pub mod npy;
pub mod png;
pub mod tiff;
