//! Files as other programs leave them, made by code: what readers must take or refuse by name.

pub mod csv;
