//! How large a raster may be.

use crate::{Error, Result};

/// The most pixels of a raster whose indices, and [`NONE`](crate::NONE), fit 32 bits.
pub const MAX_PIXELS: u64 = u32::MAX as u64 - 1;

/// The most columns or rows of a raster: coordinates are `i32`, and so is the end of a tile of 256 pixels that begins
/// within the raster.
pub const MAX_SIDE: u32 = i32::MAX as u32 - 255;

/// Checks the sides of a raster and gives the number of pixels.
///
/// # Errors
/// [`Error::TooLarge`].
pub(crate) fn check_sides(width: u32, height: u32) -> Result<u64> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > 0 && (width.max(height) > MAX_SIDE || usize::try_from(pixels).is_err()) {
        return Err(Error::TooLarge { width, height });
    }
    Ok(pixels)
}

/// The same for rasters whose indices shall fit 32 bits.
///
/// # Errors
/// [`Error::TooLarge`].
pub(crate) fn check_short(width: u32, height: u32) -> Result<u64> {
    match check_sides(width, height)? {
        pixels if pixels <= MAX_PIXELS => Ok(pixels),
        _ => Err(Error::TooLarge { width, height }),
    }
}
