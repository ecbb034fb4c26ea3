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
use crate::{Crs, Error, Result};

const TILE: usize = 256;
const MODEL_PIXEL_SCALE: u16 = 33550;
const MODEL_TIEPOINT: u16 = 33922;
const GEO_KEY_DIRECTORY: u16 = 34735;
const GEO_DOUBLE_PARAMS: u16 = 34736;
const GEO_ASCII_PARAMS: u16 = 34737;
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
    let found = values.len() as u64;
    if found != grid.cells() {
        return Err(Error::Shape { what: "raster", expected: grid.cells(), found });
    }
    if found == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    if values.par_iter().any(|&v| v == nodata) {
        let expected = "usable as NODATA: a cell has that value; choose another";
        return Err(Error::BadValue { what: "the value", value: nodata.into(), expected });
    }
    let mut image = ImageBuilder::new(grid.width, grid.height)
        .sample_type::<f32>()
        .compression(Compression::Deflate)
        .predictor(Predictor::FloatingPoint)
        .tiles(TILE as u32, TILE as u32);
    for tag in tags(grid, crs, nodata) {
        image = image.tag(tag);
    }
    write_atomic(path, |file| {
        let bad = |e: tiff_writer::Error| Error::write(path, e);
        let mut tiff = TiffWriter::new(file, WriteOptions::auto()).map_err(bad)?;
        let handle = tiff.add_image(image).map_err(bad)?;
        let (across, down) =
            ((grid.width as usize).div_ceil(TILE), (grid.height as usize).div_ceil(TILE));
        for row in 0..down {
            let blocks: Vec<_> = (0..across)
                .into_par_iter()
                .map(|column| compressed(grid, values, nodata, column, row))
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
    grid: &GridSpec,
    values: &[f32],
    nodata: f32,
    column: usize,
    row: usize,
) -> tiff_writer::Result<Vec<u8>> {
    let (width, height) = (grid.width as usize, grid.height as usize);
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

fn tags(grid: &GridSpec, crs: Option<&Crs>, nodata: f32) -> Vec<Tag> {
    let cell = grid.cell_size;
    let corner = vec![0.0, 0.0, 0.0, grid.origin_x, grid.origin_y, 0.0];
    let nodata = if nodata.is_nan() { "nan".to_owned() } else { nodata.to_string() };
    // Without a reference system the keys say that a pixel is an area, and nothing else.
    let keys = crs.map(Crs::geokeys).unwrap_or_else(|| crate::GeoKeys {
        directory: vec![1, 1, 0, 1, 1025, 0, 1, 1],
        ..Default::default()
    });
    let mut tags = vec![
        Tag::new(MODEL_PIXEL_SCALE, TagValue::Double(vec![cell, cell, 0.0])),
        Tag::new(MODEL_TIEPOINT, TagValue::Double(corner)),
        Tag::new(GEO_KEY_DIRECTORY, TagValue::Short(keys.directory)),
        Tag::new(GDAL_NODATA, TagValue::Ascii(nodata)),
    ];
    if !keys.doubles.is_empty() {
        tags.push(Tag::new(GEO_DOUBLE_PARAMS, TagValue::Double(keys.doubles)));
    }
    if !keys.ascii.is_empty() {
        tags.push(Tag::new(GEO_ASCII_PARAMS, TagValue::Ascii(keys.ascii)));
    }
    tags
}
