//! A picture of terrain: elevation as colour, brightness as light.

use gpu_core::parallel::{self, FINE};

use crate::output::Output;
use crate::rasters::png;
use crate::{Error, FillRows, Result};

/// Colours from the lowest to the highest elevation, evenly spaced: lowland green, straw, brown,
/// grey, snow.
const RAMP: [[f32; 3]; 6] = [
    [70.0, 130.0, 92.0],
    [142.0, 178.0, 112.0],
    [226.0, 214.0, 154.0],
    [190.0, 146.0, 98.0],
    [158.0, 132.0, 120.0],
    [246.0, 244.0, 242.0],
];

/// Share of the colour that stays in full shadow.
const AMBIENT: f32 = 0.25;

/// Writes a raster of elevations (row-major, row 0 in the north) as a shaded PNG with a colour
/// ramp from its lowest to its highest value. `brightness` is from 0 to 1, as of crate `terrain-grid`'s
/// `hillshade`. NaN in either is transparent.
///
/// ```
/// use geo_io::write_relief;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("relief.png");
/// write_relief(&path, &[100.0, 200.0], &[0.5, 1.0], 2, 1)?; // heights, and how bright they are
/// assert_eq!(std::fs::read(&path)?[1..4], *b"PNG");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Shape`], [`Error::BadValue`] for a raster without cells, and the errors of writing.
pub fn write_relief<'a>(
    output: impl Into<Output<'a>>,
    values: &[f32],
    brightness: &[f32],
    width: u32,
    height: u32,
) -> Result<()> {
    let expected = u64::from(width) * u64::from(height);
    check(values, "raster", expected)?;
    check(brightness, "brightness", expected)?;
    let pixels = relief_colours(values, brightness, finite_range(values))?;
    png::write_rgba(output.into(), &pixels, width, height)
}

/// Writes a raster of brightness (row-major, row 0 in the north, from 0 to 1) as a grey PNG; NaN is
/// transparent.
///
/// ```
/// use geo_io::{ArrayData, read_raster, write_shade};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("shade.png");
/// write_shade(&path, &[0.0, 0.5, 1.0], 3, 1)?;
/// assert_eq!(read_raster(&path, None)?.values, ArrayData::U8(vec![1, 128, 255]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_relief`].
pub fn write_shade<'a>(
    output: impl Into<Output<'a>>,
    brightness: &[f32],
    width: u32,
    height: u32,
) -> Result<()> {
    check(brightness, "brightness", u64::from(width) * u64::from(height))?;
    write_shade_rows(output, (width, height), &mut |first, rows| {
        rows.copy_from_slice(&brightness[first * width as usize..][..rows.len()]);
        Ok(())
    })
}

/// Writes like [`write_shade`] a raster that need not fit the memory: `fill` returns whole rows, from the first on,
/// each once.
///
/// ```
/// use geo_io::{ArrayData, read_raster, write_shade_rows};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("shade.png");
/// write_shade_rows(&path, (2, 2), &mut |first, rows| {
///     for (i, row) in rows.chunks_mut(2).enumerate() {
///         row.fill((first + i) as f32); // row 0 is dark, row 1 is bright
///     }
///     Ok(())
/// })?;
/// assert_eq!(read_raster(&path, None)?.values, ArrayData::U8(vec![1, 1, 255, 255]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of `fill` and of [`write_shade`].
pub fn write_shade_rows<'a>(
    output: impl Into<Output<'a>>,
    size: (u32, u32),
    fill: &mut FillRows,
) -> Result<()> {
    let mut brightness = Vec::new();
    png::write_grey_rows(output.into(), size, &mut |first, rows| {
        brightness.resize(rows.len() / 2, f32::NAN);
        fill(first, &mut brightness)?;
        let pixels = rows.as_chunks_mut::<2>().0.iter_mut();
        for (pixel, grey) in pixels.zip(shade_bytes(&brightness)) {
            *pixel = [grey, if grey == 0 { 0 } else { 255 }];
        }
        Ok(())
    })
}

fn check(raster: &[f32], what: &'static str, expected: u64) -> Result<()> {
    let found = raster.len() as u64;
    if expected != found {
        return Err(Error::Shape { what, expected, found });
    }
    if expected == 0 {
        return Err(Error::BadValue { what: "number of cells", value: 0.0, expected: "positive" });
    }
    Ok(())
}

/// Converts brightness from 0 to 1 to bytes from 1 to 255, as gdaldem does; NaN becomes 0.
///
/// ```
/// use geo_io::shade_bytes;
///
/// assert_eq!(shade_bytes(&[0.0, 0.5, 1.0, f32::NAN]), [1, 128, 255, 0]);
/// ```
pub fn shade_bytes(brightness: &[f32]) -> Vec<u8> {
    let byte = |b: f32| match b.is_nan() {
        true => 0,
        false => (1.0 + 254.0 * b.clamp(0.0, 1.0)).round() as u8,
    };
    parallel::map(brightness.len(), FINE, |i| byte(brightness[i]))
}

/// Returns the lowest and the highest finite value; the lowest is above the highest if there is none.
///
/// ```
/// use geo_io::finite_range;
///
/// assert_eq!(finite_range(&[3.0, f32::NAN, -1.0, f32::INFINITY]), [-1.0, 3.0]);
/// ```
pub fn finite_range(values: &[f32]) -> [f32; 2] {
    let of_parts = parallel::map_ranges(values.len(), FINE, &|range| {
        let finite = values[range].iter().filter(|v| v.is_finite());
        finite.fold([f32::MAX, f32::MIN], |[low, high], &v| [low.min(v), high.max(v)])
    });
    let unite = |a: [f32; 2], b: [f32; 2]| [a[0].min(b[0]), a[1].max(b[1])];
    of_parts.into_iter().fold([f32::MAX, f32::MIN], unite)
}

/// The colours of [`write_relief`], with the ramp from `low` to `high`: red, green, blue and opacity, four bytes a cell.
///
/// ```
/// use geo_io::relief_colours;
///
/// let colours = relief_colours(&[100.0, 100.0, f32::NAN], &[0.5, 1.0, 1.0], [0.0, 200.0])?;
/// let (dark, bright, none) = (&colours[..4], &colours[4..8], &colours[8..]);
/// assert!((0..3).all(|band| dark[band] < bright[band]) && bright[3] == 255);
/// assert_eq!(none, [0; 4]); // transparent
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] unless there is a brightness for each value.
pub fn relief_colours(
    values: &[f32],
    brightness: &[f32],
    [low, high]: [f32; 2],
) -> Result<Vec<u8>> {
    let (expected, found) = (values.len() as u64, brightness.len() as u64);
    if expected != found {
        return Err(Error::Shape { what: "brightness", expected, found });
    }
    let span = if high > low { high - low } else { 1.0 };
    let mut pixels = vec![0; 4 * values.len()];
    parallel::for_chunks(&mut pixels, 4, |i, pixel| {
        let (value, brightness) = (values[i], brightness[i]);
        if value.is_finite() && brightness.is_finite() {
            let light = AMBIENT + (1.0 - AMBIENT) * brightness.clamp(0.0, 1.0);
            let [r, g, b] = colour((value - low) / span).map(|c| (c * light).round() as u8);
            pixel.copy_from_slice(&[r, g, b, 255]);
        }
    });
    Ok(pixels)
}

/// The ramp at a position from 0 to 1.
fn colour(position: f32) -> [f32; 3] {
    let place = position.clamp(0.0, 1.0) * (RAMP.len() - 1) as f32;
    let i = (place as usize).min(RAMP.len() - 2);
    let t = place - i as f32;
    std::array::from_fn(|c| RAMP[i][c] * (1.0 - t) + RAMP[i + 1][c] * t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_brightens_and_nodata_is_transparent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("relief.png");
        let mut values: Vec<f32> = (0..35).map(|i| i as f32).collect();
        values[17] = f32::NAN;
        let mut brightness = vec![0.5; 35];
        (brightness[0], brightness[1], brightness[20]) = (0.0, 1.0, f32::NAN);
        write_relief(&path, &values, &brightness, 7, 5).unwrap();
        let (width, height, pixels) = png::read_rgba(&path);
        assert_eq!((width, height), (7, 5));
        for (i, pixel) in pixels.iter().enumerate() {
            let is_clear = i == 17 || i == 20;
            assert_eq!(pixel[3], if is_clear { 0 } else { 255 });
        }
        let green = |x: usize| pixels[x][1];
        assert!(green(0) < green(2) && green(2) < green(1));
        assert_eq!(green(0), (130.0 * AMBIENT).round() as u8);
    }

    #[test]
    fn bad_arguments_are_named() {
        let path = std::path::Path::new("relief.png");
        let shape = write_relief(path, &[1.0; 5], &[1.0; 4], 2, 2);
        assert!(matches!(shape, Err(Error::Shape { expected: 4, found: 5, .. })));
        let shape = write_relief(path, &[1.0; 4], &[1.0; 3], 2, 2);
        assert!(matches!(shape, Err(Error::Shape { what: "brightness", found: 3, .. })));
        assert!(matches!(write_relief(path, &[], &[], 0, 2), Err(Error::BadValue { .. })));
    }
}
