//! NumPy's arrays: NPY and NPZ, whole and in parts.

pub(crate) mod arrays;
pub(crate) mod header;
pub(crate) mod parts;
