//! Rasters out: GeoTIFF and NPY.

use std::path::Path;

use geotiff_writer::{Compression, GeoTiffBuilder, Predictor, TiffVariant};
use gpu_core::GridSpec;
use ndarray::ArrayView2;
use npyz::WriterBuilder;

use crate::output::whole_file;
use crate::{Crs, Error, Result};

/// Side of a GeoTIFF's tiles.
const TILE: u32 = 256;

/// Writes a float raster as a GeoTIFF: tiled, deflated, with the grid's geotransform, NaN replaced
/// by `nodata`, which is stated in the file.
///
/// `values` is row-major, row 0 in the north.
///
/// # Errors
/// [`Error::Folder`], [`Error::Io`], [`Error::Format`] where `values` does not match the grid.
pub fn write_geotiff(
    path: &Path,
    grid: &GridSpec,
    values: &[f32],
    crs: Option<&Crs>,
    nodata: f32,
) -> Result<()> {
    let filled: Vec<f32> = values.iter().map(|&v| if v.is_nan() { nodata } else { v }).collect();
    let shape = (grid.height as usize, grid.width as usize);
    let array = ArrayView2::from_shape(shape, &filled).map_err(|e| Error::format(path, e))?;
    let mut tiff = GeoTiffBuilder::new(grid.width, grid.height)
        .tile_size(TILE, TILE)
        .compression(Compression::Deflate)
        .predictor(Predictor::FloatingPoint)
        .tiff_variant(TiffVariant::Auto)
        .pixel_scale(grid.cell_size, grid.cell_size)
        .origin(grid.origin_x, grid.origin_y)
        .nodata(&nodata.to_string());
    if let Some(crs) = crs {
        tiff = crs.put(tiff);
    }
    whole_file(path, |out| tiff.write_2d_to(out, array).map_err(|e| Error::format(path, e)))
}

/// Writes a raster as a two-dimensional NPY array; NaN stays NaN.
///
/// # Errors
/// [`Error::Folder`], [`Error::Io`].
pub fn write_npy<T: npyz::AutoSerialize + Copy>(
    path: &Path,
    values: &[T],
    width: u32,
    height: u32,
) -> Result<()> {
    whole_file(path, |out| {
        let shape = [u64::from(height), u64::from(width)];
        let options = npyz::WriteOptions::new().default_dtype().shape(&shape);
        let mut writer = options.writer(out).begin_nd().map_err(Error::io(path))?;
        writer.extend(values.iter().copied()).map_err(Error::io(path))?;
        writer.finish().map_err(Error::io(path))
    })
}
