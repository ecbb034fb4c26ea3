//! A picture of terrain: elevation as colour, slope and aspect as light.

use std::path::Path;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use rayon::prelude::*;

use crate::output::write_atomic;
use crate::{Error, Result};

/// How the light falls and how large the picture may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HillshadeOptions {
    /// Where the light comes from, in degrees clockwise from north.
    pub azimuth: f64,
    /// Height of the light above the horizon, in degrees.
    pub altitude: f64,
    /// Factor on elevations: exaggeration, or the ratio of vertical to horizontal units.
    pub z_factor: f64,
    /// Longest side of the picture in pixels; larger rasters are averaged down.
    pub max_side: Option<u32>,
}

impl Default for HillshadeOptions {
    fn default() -> Self {
        Self { azimuth: 315.0, altitude: 45.0, z_factor: 1.0, max_side: None }
    }
}

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
/// ramp from its lowest to its highest value. NaN is transparent.
///
/// Slopes are Horn's: weighted differences over the 3 x 3 neighbourhood (Horn, B.K.P., 1981, Hill
/// shading and the reflectance map, doi:10.1109/PROC.1981.11918), the light is Lambert's. A
/// neighbour that is NaN or outside counts as level with the cell.
///
/// # Errors
/// [`Error::Shape`], [`Error::BadValue`] for a cell size that is not positive, an option that is
/// not finite or a raster without cells, and those of writing.
pub fn write_hillshade(
    path: &Path,
    values: &[f32],
    width: u32,
    height: u32,
    cell_size: f64,
    options: &HillshadeOptions,
) -> Result<()> {
    check(values, width, height, cell_size, options)?;
    let longest = width.max(height);
    let factor = options.max_side.map_or(1, |side| longest.div_ceil(side.max(1))).max(1);
    let smaller;
    let (values, width, height) = if factor == 1 {
        (values, width as usize, height as usize)
    } else {
        smaller = averaged(values, width as usize, height as usize, factor as usize);
        (&smaller[..], width.div_ceil(factor) as usize, height.div_ceil(factor) as usize)
    };
    let light = Light::new(options, cell_size * f64::from(factor));
    let pixels = shaded(values, width, height, &light);
    write_atomic(path, |file| {
        PngEncoder::new(file)
            .write_image(&pixels, width as u32, height as u32, ExtendedColorType::Rgba8)
            .map_err(|e| Error::write(path, e))
    })
}

fn check(
    values: &[f32],
    width: u32,
    height: u32,
    cell_size: f64,
    options: &HillshadeOptions,
) -> Result<()> {
    let (expected, found) = (u64::from(width) * u64::from(height), values.len() as u64);
    if expected != found {
        return Err(Error::Shape { what: "raster", expected, found });
    }
    let bad = |what, value, expected| Err(Error::BadValue { what, value, expected });
    if expected == 0 {
        return bad("number of cells", 0.0, "positive");
    }
    if !(cell_size.is_finite() && cell_size > 0.0) {
        return bad("cell size", cell_size, "a positive finite number");
    }
    if options.max_side == Some(0) {
        return bad("longest side", 0.0, "positive");
    }
    for (what, value) in [
        ("azimuth", options.azimuth),
        ("altitude", options.altitude),
        ("z factor", options.z_factor),
    ] {
        if !value.is_finite() {
            return bad(what, value, "a finite number");
        }
    }
    Ok(())
}

/// Means over blocks of `factor` x `factor` cells, of the cells that are not NaN.
pub(crate) fn averaged(values: &[f32], width: usize, height: usize, factor: usize) -> Vec<f32> {
    let (columns, rows) = (width.div_ceil(factor), height.div_ceil(factor));
    let mut out = vec![f32::NAN; columns * rows];
    out.par_chunks_mut(columns).enumerate().for_each(|(row, line)| {
        for (column, cell) in line.iter_mut().enumerate() {
            let (x0, x1) = (column * factor, width.min((column + 1) * factor));
            let block = (row * factor..height.min((row + 1) * factor))
                .flat_map(|y| &values[y * width + x0..y * width + x1])
                .filter(|v| !v.is_nan());
            let (sum, count) = block.fold((0.0, 0_u32), |(s, n), &v| (s + f64::from(v), n + 1));
            if count > 0 {
                *cell = (sum / f64::from(count)) as f32;
            }
        }
    });
    out
}

/// The direction to the light: x east, y south (as rows grow), z up; and the slope's scale.
struct Light {
    x: f32,
    y: f32,
    z: f32,
    slope: f32,
}

impl Light {
    fn new(options: &HillshadeOptions, cell_size: f64) -> Self {
        let (azimuth, altitude) = (options.azimuth.to_radians(), options.altitude.to_radians());
        Self {
            x: (azimuth.sin() * altitude.cos()) as f32,
            y: (-azimuth.cos() * altitude.cos()) as f32,
            z: altitude.sin() as f32,
            slope: (options.z_factor / (8.0 * cell_size)) as f32,
        }
    }

    /// Lambert's cosine for a 3 x 3 neighbourhood in row-major order.
    fn shade(&self, n: [f32; 9]) -> f32 {
        let dx = ((n[2] + 2.0 * n[5] + n[8]) - (n[0] + 2.0 * n[3] + n[6])) * self.slope;
        let dy = ((n[6] + 2.0 * n[7] + n[8]) - (n[0] + 2.0 * n[1] + n[2])) * self.slope;
        let cosine = (self.z - dx * self.x - dy * self.y) / (1.0 + dx * dx + dy * dy).sqrt();
        cosine.clamp(0.0, 1.0)
    }
}

/// RGBA, four bytes a pixel.
fn shaded(values: &[f32], width: usize, height: usize, light: &Light) -> Vec<u8> {
    let (low, high) = values
        .par_iter()
        .filter(|v| v.is_finite())
        .fold(|| (f32::MAX, f32::MIN), |(l, h), &v| (l.min(v), h.max(v)))
        .reduce(|| (f32::MAX, f32::MIN), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let span = if high > low { high - low } else { 1.0 };
    let mut pixels = vec![0; 4 * width * height];
    pixels.par_chunks_mut(4 * width).enumerate().for_each(|(y, line)| {
        for (x, pixel) in line.chunks_exact_mut(4).enumerate() {
            let centre = values[y * width + x];
            if !centre.is_finite() {
                continue;
            }
            let at = |dx: usize, dy: usize| {
                // Offsets 0, 1, 2 stand for -1, 0, 1.
                let (nx, ny) = ((x + dx).wrapping_sub(1), (y + dy).wrapping_sub(1));
                let inside = nx < width && ny < height;
                let value = if inside { values[ny * width + nx] } else { centre };
                if value.is_finite() { value } else { centre }
            };
            let neighbours = std::array::from_fn(|i| at(i % 3, i / 3));
            let brightness = AMBIENT + (1.0 - AMBIENT) * light.shade(neighbours);
            let colour = colour((centre - low) / span);
            let [r, g, b] = colour.map(|c| (c * brightness).round() as u8);
            pixel.copy_from_slice(&[r, g, b, 255]);
        }
    });
    pixels
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

    fn picture(values: &[f32], width: u32, options: &HillshadeOptions) -> image::RgbaImage {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shade.png");
        let height = values.len() as u32 / width;
        write_hillshade(&path, values, width, height, 1.0, options).unwrap();
        image::open(path).unwrap().to_rgba8()
    }

    #[test]
    fn light_from_the_north_west_brightens_slopes_that_face_it() {
        let plane = |sx: f32, sy: f32| -> [f32; 9] {
            std::array::from_fn(|i| sx * (i % 3) as f32 + sy * (i / 3) as f32)
        };
        let light = Light::new(&HillshadeOptions::default(), 1.0);
        let level = light.shade([5.0; 9]);
        assert!((level - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-6);
        // Rising to the south-east, a slope looks north-west. At 45 degrees it meets the light.
        let tilt = std::f32::consts::FRAC_1_SQRT_2;
        assert!((light.shade(plane(tilt, tilt)) - 1.0).abs() < 1e-6);
        assert!(light.shade(plane(-tilt, -tilt)) < 1e-6);
        // Across the light's direction only the tilt itself counts.
        let across = light.shade(plane(tilt, -tilt));
        assert!((across - level * level).abs() < 1e-6);
    }

    #[test]
    fn nodata_is_transparent_and_leaves_its_neighbours_finite() {
        let mut values: Vec<f32> = (0..35).map(|i| i as f32).collect();
        values[17] = f32::NAN;
        let picture = picture(&values, 7, &HillshadeOptions::default());
        assert_eq!(picture.dimensions(), (7, 5));
        for (x, y, pixel) in picture.enumerate_pixels() {
            assert_eq!(pixel[3], if (x, y) == (3, 2) { 0 } else { 255 });
        }
    }

    #[test]
    fn large_rasters_are_averaged_down() {
        let values = vec![3.0; 50 * 21];
        let options = HillshadeOptions { max_side: Some(16), ..Default::default() };
        assert_eq!(picture(&values, 50, &options).dimensions(), (13, 6));
        let block = averaged(&[1.0, 3.0, f32::NAN, 5.0, 7.0, f32::NAN], 3, 2, 2);
        assert_eq!(block[0], 4.0);
        assert!(block[1].is_nan());
    }

    #[test]
    fn bad_arguments_are_named() {
        let path = Path::new("shade.png");
        let plain = HillshadeOptions::default();
        let shape = write_hillshade(path, &[1.0; 5], 2, 2, 1.0, &plain);
        assert!(matches!(shape, Err(Error::Shape { expected: 4, found: 5, .. })));
        let size = write_hillshade(path, &[1.0; 4], 2, 2, 0.0, &plain);
        assert!(matches!(size, Err(Error::BadValue { .. })));
    }
}
