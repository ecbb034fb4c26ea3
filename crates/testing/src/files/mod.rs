//! Files as other programs write them, sound and odd, made byte by byte: no code under test takes part.

pub mod las;
