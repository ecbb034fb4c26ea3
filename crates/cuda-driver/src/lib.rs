//! The CUDA driver API, bound at run time.
