//! Pictures of rasters of distances, in colours from 0 to the largest distance.

use gpu_core::parallel::{self, FINE};

use crate::output::Output;
use crate::rasters::png;
use crate::{Error, FillRows, Result};

/// Colours from distance 0 to the largest, evenly spaced: land, shallows, deep water, night.
const RAMP: [[f32; 3]; 5] = [
    [232.0, 224.0, 200.0],
    [120.0, 196.0, 196.0],
    [38.0, 120.0, 176.0],
    [22.0, 50.0, 116.0],
    [14.0, 14.0, 44.0],
];

/// Writes a raster of distances (row-major, row 0 in the north, from 0 up) as a coloured PNG.
///
/// A colour depends on the square root of the distance divided by the largest, so that small distances show too.
/// Distances that are not finite are transparent.
///
/// ```
/// use geo_io::write_picture;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("distances.png");
/// write_picture(&path, &[0.0, 1.0, 4.0, f32::INFINITY], 2, 2)?;
/// assert_eq!(std::fs::read(&path)?[1..4], *b"PNG");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] unless there are `width * height` values, [`Error::BadValue`] for a raster without cells, and the
/// errors of writing.
pub fn write_picture<'a>(
    output: impl Into<Output<'a>>,
    values: &[f32],
    width: u32,
    height: u32,
) -> Result<()> {
    let (expected, found) = (u64::from(width) * u64::from(height), values.len() as u64);
    if found != expected {
        return Err(Error::Shape { what: "raster", expected, found });
    }
    if found == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    let finite = values.iter().filter(|value| value.is_finite());
    let largest = finite.fold(0.0, |largest: f32, &value| largest.max(value));
    let pixels = parallel::map(values.len(), FINE, |i| colour(values[i], largest));
    png::write_rgba(output.into(), pixels.as_flattened(), width, height)
}

/// Writes colours (red, green, blue and opacity of each pixel, row-major, row 0 on top) as a PNG.
///
/// ```
/// use geo_io::write_colours;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("colours.png");
/// write_colours(&path, &[[255, 0, 0, 255], [0, 0, 255, 255]], 2, 1)?; // red and blue
/// assert_eq!(std::fs::read(&path)?[1..4], *b"PNG");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] unless there are `width * height` colours, [`Error::BadValue`] for a picture without pixels, and
/// the errors of writing.
pub fn write_colours<'a>(
    output: impl Into<Output<'a>>,
    pixels: &[[u8; 4]],
    width: u32,
    height: u32,
) -> Result<()> {
    let (expected, found) = (u64::from(width) * u64::from(height), pixels.len() as u64);
    if found != expected {
        return Err(Error::Shape { what: "picture", expected, found });
    }
    if found == 0 {
        return Err(Error::BadValue { what: "number of pixels", value: 0.0, expected: "positive" });
    }
    png::write_rgba(output.into(), pixels.as_flattened(), width, height)
}

/// Writes like [`write_colours`] a picture that need not fit the memory: `fill` returns whole rows, four bytes a pixel,
/// from the first on, each once.
///
/// ```
/// use geo_io::{write_colour_rows, write_colours};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("colours.png");
/// write_colours(&path, &[[255, 0, 0, 255]; 4], 2, 2)?;
/// let at_once = std::fs::read(&path)?;
/// write_colour_rows(&path, (2, 2), &mut |_, rows| {
///     rows.chunks_mut(4).for_each(|pixel| pixel.copy_from_slice(&[255, 0, 0, 255]));
///     Ok(())
/// })?;
/// assert!(std::fs::read(&path)? == at_once);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of `fill`, [`Error::BadValue`] for a picture without pixels, and the errors of writing.
pub fn write_colour_rows<'a>(
    output: impl Into<Output<'a>>,
    size: (u32, u32),
    fill: &mut FillRows<u8>,
) -> Result<()> {
    png::write_rgba_rows(output.into(), size, fill)
}

fn colour(value: f32, largest: f32) -> [u8; 4] {
    if !value.is_finite() {
        return [0; 4];
    }
    let share = if largest > 0.0 { (value.max(0.0) / largest).sqrt() } else { 0.0 };
    let place = share * (RAMP.len() - 1) as f32;
    let below = (place as usize).min(RAMP.len() - 2);
    let part = place - below as f32;
    let mix =
        |c: usize| (RAMP[below][c] + (RAMP[below + 1][c] - RAMP[below][c]) * part).round() as u8;
    [mix(0), mix(1), mix(2), 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_run_from_one_end_to_the_other() {
        assert_eq!(colour(0.0, 9.0), [232, 224, 200, 255]);
        assert_eq!(colour(9.0, 9.0), [14, 14, 44, 255]);
        assert_eq!(colour(0.0, 0.0), [232, 224, 200, 255]);
        assert_eq!(colour(f32::INFINITY, 9.0)[3], 0);
        assert_eq!(colour(f32::NAN, 9.0)[3], 0);
    }

    #[test]
    fn a_picture_has_a_pixel_for_each_cell() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.png");
        let values: Vec<f32> = (0..300 * 20).map(|p| (p % 300) as f32).collect();
        write_picture(&path, &values, 300, 20).unwrap();
        let (width, height, pixels) = png::read_rgba(&path);
        assert_eq!((width, height), (300, 20));
        assert_eq!(pixels[3 * 300 + 299], [14, 14, 44, 255]);
        assert!(write_picture(&path, &values, 300, 21).is_err());
        assert!(write_picture(&path, &[], 0, 0).is_err());
    }
}
