//! Files as odd as tests need them, written byte by byte: what ordinary writers never write, others do.

pub mod catalogues;
pub mod csv;
pub mod grid;
pub mod las;
pub mod npy;
pub mod png;
pub mod tiff;
