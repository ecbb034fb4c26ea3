//! Warp operations.
