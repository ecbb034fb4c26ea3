//! Tags that GDAL adds to the format.

/// XML with the units, scales and statistics of bands.
pub(crate) const GDAL_METADATA: u16 = 42112;
/// NODATA, as text.
pub(crate) const GDAL_NODATA: u16 = 42113;
