//! PNG, through the crate `png`: pictures out, grey and coloured rasters in.

use std::io::BufReader;
use std::path::Path;

use ::png::{BitDepth, ColorType, Compression, Decoder, DecodingError, Encoder, Transformations};

use crate::error::unwinding;
use crate::output::{Output, write_atomic};
use crate::points::open;
use crate::{Error, Result};

/// Writes four bytes a pixel: red, green, blue and opacity.
pub(crate) fn write_rgba(output: Output, pixels: &[u8], width: u32, height: u32) -> Result<()> {
    write(output, ColorType::Rgba, pixels, width, height)
}

/// Writes two bytes a pixel: brightness and opacity.
pub(crate) fn write_grey(output: Output, pixels: &[u8], width: u32, height: u32) -> Result<()> {
    write(output, ColorType::GrayscaleAlpha, pixels, width, height)
}

fn write(output: Output, colour: ColorType, bytes: &[u8], width: u32, height: u32) -> Result<()> {
    write_atomic(output, |file| {
        let mut encoder = Encoder::new(file, width, height);
        encoder.set_color(colour);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Fast);
        let written = encoder.write_header().and_then(|mut image| {
            image.write_image_data(bytes)?;
            image.finish()
        });
        written.map_err(|e| Error::write(output.path, e))
    })
}

/// A picture's pixels: width, height, and for each pixel its brightness, or its largest colour as a number
/// of sixteen bits; a palette is looked up, opacity left out.
pub(crate) fn read_brightness(path: &Path) -> Result<(usize, usize, Vec<u16>)> {
    let (file, _) = open(path)?;
    unwinding(|| brightness(BufReader::new(file)))
        .and_then(|picture| picture.map_err(|e| e.to_string()))
        .map_err(|reason| Error::malformed(path, reason))
}

fn brightness(source: BufReader<std::fs::File>) -> Result<(usize, usize, Vec<u16>), DecodingError> {
    let mut decoder = Decoder::new(source);
    // Palettes become colours; samples of less than eight bits become eight, of the same zeros.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info()?;
    let size = reader.output_buffer_size().ok_or(DecodingError::LimitsExceeded)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| DecodingError::LimitsExceeded)?;
    bytes.resize(size, 0);
    let info = reader.next_frame(&mut bytes)?;
    bytes.truncate(info.buffer_size());
    let samples: Vec<u16> = match info.bit_depth {
        BitDepth::Sixteen => bytes.as_chunks().0.iter().map(|&b| u16::from_be_bytes(b)).collect(),
        _ => bytes.into_iter().map(u16::from).collect(),
    };
    let per_pixel = info.color_type.samples();
    let colours = if per_pixel >= 3 { 3 } else { 1 };
    let pixels = match per_pixel {
        1 => samples,
        _ => samples
            .chunks_exact(per_pixel)
            .map(|pixel| pixel[..colours].iter().copied().max().unwrap_or(0))
            .collect(),
    };
    Ok((info.width as usize, info.height as usize, pixels))
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
