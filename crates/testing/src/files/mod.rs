//! Files byte by byte, also such as no writer should write.

pub mod npy;
pub mod raw_tiff;
