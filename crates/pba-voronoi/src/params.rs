//! What a caller may ask for, and what a raster must be.

use crate::{Error, Result};

/// The most pixels of a raster: every index, and [`NONE`](crate::NONE), fits 32 bits.
pub const MAX_PIXELS: u64 = u32::MAX as u64 - 1;

/// The most columns or rows of a raster: coordinates are `i32`, and so is the end of a tile of 256 that
/// begins within it.
pub const MAX_SIDE: u32 = i32::MAX as u32 - 255;

/// How a diagram is made. Every way gives the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// The fastest for the raster at hand: [`Monotone`](Self::Monotone), which was faster at every
    /// shape and density measured.
    #[default]
    Auto,
    /// The paper's: row scans, and pruning of each column's candidates until every one wins a row.
    ScanPrune,
    /// Row scans over bits, and a search of each column's winners from coarse to fine, which uses
    /// that the winners of successive rows never go back.
    Monotone,
}

/// What a Voronoi diagram holds beside the nearest sites. The default is neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The exact squared distance to the nearest site, in pixels, as `u64`.
    pub squared_distance: bool,
    /// The distance to the nearest site, in pixels, as `f32`.
    pub distance: bool,
}

/// Checks the sides of a raster and gives the number of pixels.
///
/// # Errors
/// [`Error::TooLarge`].
pub(crate) fn check_size(width: u32, height: u32) -> Result<u64> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS || (pixels > 0 && width.max(height) > MAX_SIDE) {
        return Err(Error::TooLarge { width, height });
    }
    Ok(pixels)
}

/// Checks a mask against its raster and gives the number of pixels.
///
/// # Errors
/// [`Error::TooLarge`] and [`Error::MaskLength`].
pub(crate) fn check_raster(sites: &[u8], width: u32, height: u32) -> Result<usize> {
    let expected = check_size(width, height)?;
    let found = sites.len() as u64;
    if found != expected {
        return Err(Error::MaskLength { width, height, expected, found });
    }
    Ok(sites.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rasters_beyond_the_limits_are_named() {
        for (width, height) in [(u32::MAX, 1), (1, u32::MAX), (MAX_SIDE + 1, 1), (65536, 65536)] {
            assert_eq!(check_raster(&[], width, height), Err(Error::TooLarge { width, height }));
        }
        assert_eq!(check_raster(&[], u32::MAX, 0), Ok(0));
        let too_short = check_raster(&[0; 5], 2, 3);
        assert_eq!(
            too_short.unwrap_err().to_string(),
            "the site mask has 5 bytes, a raster of 2 x 3 pixels needs 6"
        );
        assert_eq!(check_raster(&[0; 6], 2, 3), Ok(6));
    }
}
