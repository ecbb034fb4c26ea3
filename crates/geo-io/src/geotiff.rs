//! GeoTIFF: one band of float32, tiled, deflated, readable by GDAL and everything built on it.
//!
//! Tiles of 256 x 256 cells with the floating-point predictor are compressed on all cores, a
//! row of tiles at a time, and written in order by `tiff-writer`, which turns to BigTIFF where
//! the file would pass 4 GiB.

use std::path::Path;

use gpu_core::GridSpec;
use rayon::prelude::*;
use tiff_core::{ByteOrder, Compression, Predictor, Tag, TagValue};
use tiff_writer::compress::{BlockEncodingOptions, compress_block};
use tiff_writer::{ImageBuilder, TiffWriter, WriteOptions};

use crate::output::write_atomic;
use crate::{Crs, Error, Georeference, Result};

const TILE: usize = 256;
const GDAL_NODATA: u16 = 42113;

/// Writes a raster as GeoTIFF. `values` are row-major, row 0 in the north; NaN becomes `nodata`.
///
/// The file states `nodata`, the grid's place on the ground (a pixel is an area) and, where
/// given, the reference system. A `nodata` of NaN is allowed.
///
/// # Errors
/// [`Error::Shape`] unless there is one value a cell, [`Error::BadValue`] for a grid without
/// cells or for a value that equals `nodata` and would be lost, and those of writing.
pub fn write_geotiff(
    path: &Path,
    grid: &GridSpec,
    values: &[f32],
    crs: Option<&Crs>,
    nodata: f32,
) -> Result<()> {
    let place = Georeference::of_grid(grid, crs);
    write_georeferenced(path, &place, (grid.width, grid.height), values, nodata)
}

/// [`write_geotiff`] of a raster of `width` columns and `height` rows, wherever it lies: pixels that are
/// not square, turned or mirrored.
///
/// # Errors
/// As there.
pub fn write_georeferenced(
    path: &Path,
    place: &Georeference,
    (width, height): (u32, u32),
    values: &[f32],
    nodata: f32,
) -> Result<()> {
    let (found, expected) = (values.len() as u64, u64::from(width) * u64::from(height));
    if found != expected {
        return Err(Error::Shape { what: "raster", expected, found });
    }
    if found == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    if values.par_iter().any(|&v| v == nodata) {
        let expected = "usable as NODATA: a cell has that value; choose another";
        return Err(Error::BadValue { what: "the value", value: nodata.into(), expected });
    }
    let mut image = ImageBuilder::new(width, height)
        .sample_type::<f32>()
        .compression(Compression::Deflate)
        .predictor(Predictor::FloatingPoint)
        .tiles(TILE as u32, TILE as u32);
    let nodata_text = if nodata.is_nan() { "nan".to_owned() } else { nodata.to_string() };
    for tag in place.tags() {
        image = image.tag(tag);
    }
    image = image.tag(Tag::new(GDAL_NODATA, TagValue::Ascii(nodata_text)));
    write_atomic(path, |file| {
        let bad = |e: tiff_writer::Error| Error::write(path, e);
        let mut tiff = TiffWriter::new(file, WriteOptions::auto()).map_err(bad)?;
        let handle = tiff.add_image(image).map_err(bad)?;
        let (width, height) = (width as usize, height as usize);
        let (across, down) = (width.div_ceil(TILE), height.div_ceil(TILE));
        for row in 0..down {
            let blocks: Vec<_> = (0..across)
                .into_par_iter()
                .map(|column| compressed((width, height), values, nodata, column, row))
                .collect();
            for (column, block) in blocks.into_iter().enumerate() {
                tiff.write_block_raw(&handle, row * across + column, &block.map_err(bad)?)
                    .map_err(bad)?;
            }
        }
        tiff.finish().map(drop).map_err(bad)
    })
}

/// One tile in the form in which it lies in the file; beyond the raster's edge it is NODATA.
fn compressed(
    (width, height): (usize, usize),
    values: &[f32],
    nodata: f32,
    column: usize,
    row: usize,
) -> tiff_writer::Result<Vec<u8>> {
    let (x0, y0) = (column * TILE, row * TILE);
    let mut tile = vec![nodata; TILE * TILE];
    for (line, y) in tile.chunks_exact_mut(TILE).zip(y0..height) {
        let source = &values[y * width + x0..y * width + width.min(x0 + TILE)];
        for (cell, &value) in line.iter_mut().zip(source) {
            *cell = if value.is_nan() { nodata } else { value };
        }
    }
    let options = BlockEncodingOptions {
        byte_order: ByteOrder::LittleEndian,
        compression: Compression::Deflate,
        predictor: Predictor::FloatingPoint,
        samples_per_pixel: 1,
        row_width_pixels: TILE,
        jpeg_options: None,
        jpeg_sampling: None,
        deflate_level: Some(6),
    };
    compress_block(&tile, options, 0)
}
