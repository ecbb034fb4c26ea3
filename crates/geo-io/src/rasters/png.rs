//! PNG, through the crate `png`: writes pictures, and reads rasters of stored values.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

use ::png::{BitDepth, ColorType, Compression, Decoder, DecodingError, Encoder};
use gpu_core::host_memory;

use crate::error::unwinding;
use crate::input::open;
use crate::output::{Output, write_atomic};
use crate::rasters::band::Band;
use crate::rasters::georeference::Place;
use crate::rasters::tiff::samples::require_no_mask_beside;
use crate::{ArrayData, Error, FillRows, Number, Raster, Result};

/// Bytes of rows that are taken at once, about.
const AT_ONCE: usize = 1 << 22;

/// Bytes of a chunk of a file.
const CHUNK: usize = 1 << 16;

/// Writes four bytes a pixel: red, green, blue and opacity.
pub(crate) fn write_rgba(output: Output, pixels: &[u8], width: u32, height: u32) -> Result<()> {
    let row = 4 * width as usize;
    write_rgba_rows(output, (width, height), &mut |first, rows| {
        rows.copy_from_slice(&pixels[first * row..][..rows.len()]);
        Ok(())
    })
}

/// Writes rows of four bytes a pixel as they come.
pub(crate) fn write_rgba_rows(
    output: Output,
    size: (u32, u32),
    fill: &mut FillRows<u8>,
) -> Result<()> {
    write(output, ColorType::Rgba, size, fill)
}

/// Writes rows of two bytes a pixel, brightness and opacity, as they come.
pub(crate) fn write_grey_rows(
    output: Output,
    size: (u32, u32),
    fill: &mut FillRows<u8>,
) -> Result<()> {
    write(output, ColorType::GrayscaleAlpha, size, fill)
}

fn write(
    output: Output,
    colour: ColorType,
    (width, height): (u32, u32),
    fill: &mut FillRows<u8>,
) -> Result<()> {
    if width == 0 || height == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    let row = colour.samples() * width as usize;
    write_atomic(output, |file| {
        let failed = |e: &dyn std::fmt::Display| Error::write(output.path, e);
        let mut encoder = Encoder::new(file, width, height);
        encoder.set_color(colour);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Fast);
        let mut image = encoder.write_header().map_err(|e| failed(&e))?;
        let mut stream = image.stream_writer_with_size(CHUNK).map_err(|e| failed(&e))?;
        let (height, step) = (height as usize, (AT_ONCE / row).max(1));
        let mut rows = vec![0; step.min(height) * row];
        for first in (0..height).step_by(step) {
            rows.truncate((height - first) * row);
            fill(first, &mut rows)?;
            stream.write_all(&rows).map_err(|e| failed(&e))?;
        }
        stream.finish().and_then(|()| image.finish()).map_err(|e| failed(&e))
    })
}

/// Reads a picture as a raster of the values that it stores; [`read_raster`](crate::read_raster) says which.
pub(crate) fn read(path: &Path) -> Result<Raster> {
    require_no_mask_beside(path)?;
    let (file, length) = open(path)?;
    let picture = unwinding(|| Picture::read(path, BufReader::new(file), length))
        .map_err(|reason| Error::malformed(path, reason))??;
    let (width, height) = picture.size;
    let transparent = picture.transparent_value(path)?;
    let values = picture.values(path)?;
    // GDAL reads the picture's own NODATA first.
    let band = Band::beside(path, values.sample_type());
    let nodata = transparent.or_else(|| values.sample_type().value(band.nodata?));
    let Place { georeference, notes } = Place::of_picture(path)?;
    let notes = band.notes(path).into_iter().chain(notes).collect();
    Ok(Raster { width, height, values, georeference, nodata, notes })
}

/// A picture as its file has it.
struct Picture {
    /// Columns and rows.
    size: (usize, usize),
    colour: ColorType,
    depth: BitDepth,
    /// Rows of samples, each filled up to whole bytes.
    bytes: Vec<u8>,
    /// With a palette, the opacity of its first entries; otherwise the samples of the transparent colour.
    transparency: Option<Vec<u8>>,
}

impl Picture {
    /// Unpacks a picture whose file has `length` bytes.
    fn read(path: &Path, source: BufReader<File>, length: u64) -> Result<Self> {
        /// Bytes that Deflate makes of one, at most, and some more.
        const MAX_OF_ONE: u64 = 1040;
        let bad = |e: DecodingError| Error::malformed(path, e);
        let mut reader = Decoder::new(source).read_info().map_err(bad)?;
        let bytes = reader.output_buffer_size();
        let bytes = bytes.ok_or_else(|| Error::malformed(path, "its sides are too long"))?;
        if bytes as u64 > length.saturating_mul(MAX_OF_ONE) {
            let reason = format!("its header promises {bytes} bytes, more than it can hold");
            return Err(Error::malformed(path, reason));
        }
        // The samples are unpacked into as much again, or eight times where they are bits.
        let info = reader.info();
        let asked = bytes as u64 + u64::from(info.width) * u64::from(info.height) * 2;
        let memory = |_| Error::OutOfMemory { path: path.to_owned(), asked };
        host_memory::require(asked).map_err(memory)?;
        let mut packed = host_memory::zeroed(bytes).map_err(memory)?;
        reader.next_frame(&mut packed).map_err(bad)?;
        let info = reader.info();
        Ok(Self {
            size: (info.width as usize, info.height as usize),
            colour: info.color_type,
            depth: info.bit_depth,
            bytes: packed,
            transparency: info.trns.as_ref().map(|bytes| bytes.to_vec()),
        })
    }

    /// The value of the pixels that are transparent, which are NODATA.
    fn transparent_value(&self, path: &Path) -> Result<Option<Number>> {
        let Some(bytes) = &self.transparency else { return Ok(None) };
        if self.colour == ColorType::Indexed {
            let mut entries = (0..).zip(bytes).filter(|(_, opacity)| **opacity == 0);
            let first: Option<(u32, _)> = entries.next();
            if let (Some((first, _)), Some((second, _))) = (first, entries.next()) {
                let reason = format!(
                    "entries {first} and {second} of its palette are transparent, so that two values would be NODATA: \
                     `gdal_translate -a_nodata` makes a GeoTIFF that says which"
                );
                return Err(Error::malformed(path, reason));
            }
            return Ok(first.map(|(first, _)| first.into()));
        }
        let samples: Vec<u16> = match self.depth {
            BitDepth::Sixteen => {
                bytes.as_chunks().0.iter().map(|&b| u16::from_be_bytes(b)).collect()
            }
            _ => bytes.iter().map(|&byte| byte.into()).collect(),
        };
        // A transparent colour that is not grey is that of no pixel that is read.
        let is_grey = samples.iter().all(|sample| sample == &samples[0]);
        Ok(samples.first().filter(|_| is_grey).map(|&sample| sample.into()))
    }

    /// The value of each pixel.
    fn values(self, path: &Path) -> Result<ArrayData> {
        let (width, samples) = (self.size.0, self.colour.samples());
        match self.depth {
            BitDepth::Eight => Ok(ArrayData::U8(grey(path, self.bytes, width, samples, u8::MAX)?)),
            BitDepth::Sixteen => {
                let words = self.bytes.as_chunks().0.iter().map(|&b| u16::from_be_bytes(b));
                Ok(ArrayData::U16(grey(path, words.collect(), width, samples, u16::MAX)?))
            }
            // Samples of 1, 2 and 4 bits are alone in their pixel.
            depth => Ok(ArrayData::U8(unpacked(&self.bytes, width, depth as usize))),
        }
    }
}

/// Samples of fewer than 8 bits as bytes, the highest bits of a byte first.
fn unpacked(bytes: &[u8], width: usize, bits: usize) -> Vec<u8> {
    let row = (width * bits).div_ceil(8).max(1);
    let sample = |row: &[u8], i: usize| {
        let at = i * bits;
        row[at / 8] >> (8 - bits - at % 8) & ((1 << bits) - 1)
    };
    bytes.chunks_exact(row).flat_map(|row| (0..width).map(move |i| sample(row, i))).collect()
}

/// The one value of each pixel of one to four samples: pixels of several must be grey, and opaque.
fn grey<T: Copy + PartialEq + std::fmt::Display>(
    path: &Path,
    samples: Vec<T>,
    width: usize,
    per_pixel: usize,
    opaque: T,
) -> Result<Vec<T>> {
    if per_pixel == 1 {
        return Ok(samples);
    }
    let refused = |(i, pixel): (usize, &[T])| {
        let (row, column) = (i / width, i % width);
        let is_coloured = per_pixel >= 3 && (pixel[0] != pixel[1] || pixel[0] != pixel[2]);
        let words = pixel.iter().map(T::to_string).collect::<Vec<_>>().join(" ");
        let (what, remedy) = match is_coloured {
            true => ("is coloured", "`gdal_translate -b 1` takes one colour, red"),
            false => (
                "is not opaque",
                "`gdal_translate -b 1` takes grey without the opacity, `gdal_translate -b mask` the opacity alone",
            ),
        };
        let reason = format!(
            "its pixel in row {row}, column {column} {what} ({words}), and a raster has one value a pixel: {remedy}"
        );
        Error::malformed(path, reason)
    };
    let is_value = |pixel: &[T]| {
        let is_grey = per_pixel < 3 || (pixel[0] == pixel[1] && pixel[0] == pixel[2]);
        is_grey && (per_pixel % 2 == 1 || pixel[per_pixel - 1] == opaque)
    };
    let mut pixels = samples.chunks_exact(per_pixel).enumerate();
    match pixels.find(|(_, pixel)| !is_value(pixel)) {
        Some(pixel) => Err(refused(pixel)),
        None => Ok(samples.into_iter().step_by(per_pixel).collect()),
    }
}

/// A picture of [`write_rgba`]'s, for tests.
#[cfg(test)]
pub(crate) fn read_rgba(path: &Path) -> (u32, u32, Vec<[u8; 4]>) {
    let mut reader =
        Decoder::new(BufReader::new(std::fs::File::open(path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (ColorType::Rgba, BitDepth::Eight));
    (info.width, info.height, bytes.as_chunks().0.to_vec())
}
