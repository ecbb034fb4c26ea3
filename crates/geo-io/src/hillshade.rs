//! A picture of a DEM: hillshade times a colour ramp.

use std::path::Path;

use image::{ImageFormat, Rgba, RgbaImage};
use rayon::prelude::*;

use crate::output::whole_file;
use crate::{Error, Result};

/// How to light a DEM.
#[derive(Clone, Copy, Debug)]
pub struct HillshadeOptions {
    /// Where the light comes from, in degrees clockwise from north.
    pub azimuth: f64,
    /// The light's height above the horizon, in degrees.
    pub altitude: f64,
    /// Factor on the elevations before slopes are taken.
    pub z_factor: f64,
    /// Longest side of the picture: a larger DEM is thinned to every n-th cell.
    pub max_side: u32,
}

impl Default for HillshadeOptions {
    fn default() -> Self {
        Self { azimuth: 315.0, altitude: 45.0, z_factor: 1.0, max_side: 4096 }
    }
}

/// Green lowland to white peaks, after common hypsometric tints; from low to high.
const RAMP: [[f64; 3]; 6] = [
    [92.0, 142.0, 112.0],
    [158.0, 188.0, 128.0],
    [230.0, 222.0, 160.0],
    [206.0, 172.0, 118.0],
    [176.0, 140.0, 116.0],
    [248.0, 246.0, 244.0],
];

/// Writes the picture of a DEM as PNG; NODATA is transparent.
///
/// `values` is row-major, row 0 in the north; slopes are taken as by Horn (1981,
/// doi:10.1109/PROC.1981.11918), from the eight neighbours, of which one without a value counts as
/// the cell itself.
///
/// # Errors
/// [`Error::Folder`], [`Error::Io`], [`Error::Format`].
pub fn write_hillshade(
    path: &Path,
    values: &[f32],
    width: u32,
    height: u32,
    cell_size: f64,
    options: &HillshadeOptions,
) -> Result<()> {
    let picture = render(values, width, height, cell_size, options);
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).map_err(|e| Error::format(path, e))?;
    whole_file(path, |out| std::io::Write::write_all(out, bytes.get_ref()).map_err(Error::io(path)))
}

/// Draws the picture.
fn render(
    values: &[f32],
    width: u32,
    height: u32,
    cell_size: f64,
    options: &HillshadeOptions,
) -> RgbaImage {
    let step = width.max(height).div_ceil(options.max_side.max(1)).max(1);
    let (columns, rows) = (width.div_ceil(step).max(1), height.div_ceil(step).max(1));
    let dem = Dem { values, width: width as usize, height: height as usize, cell_size };
    let (low, high) = dem.range();
    let mut picture = RgbaImage::new(columns, rows);
    picture.par_enumerate_pixels_mut().for_each(|(column, row, pixel)| {
        let (x, y) = ((column * step) as usize, (row * step) as usize);
        if let Some(z) = dem.at(x as i64, y as i64) {
            let tint = ramp((z - low) / (high - low).max(f64::MIN_POSITIVE));
            let shade = 0.25 + 0.85 * dem.shade(x as i64, y as i64, z, options);
            let [r, g, b] = tint.map(|c| (c * shade).clamp(0.0, 255.0) as u8);
            *pixel = Rgba([r, g, b, 255]);
        }
    });
    picture
}

/// The ramp's colour at 0 (low) to 1 (high).
fn ramp(at: f64) -> [f64; 3] {
    let place = at.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let below = (place as usize).min(RAMP.len() - 2);
    let part = place - below as f64;
    [0, 1, 2].map(|c| RAMP[below][c] * (1.0 - part) + RAMP[below + 1][c] * part)
}

struct Dem<'a> {
    values: &'a [f32],
    width: usize,
    height: usize,
    cell_size: f64,
}

impl Dem<'_> {
    fn at(&self, x: i64, y: i64) -> Option<f64> {
        let inside = (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y);
        let value =
            if inside { self.values[y as usize * self.width + x as usize] } else { f32::NAN };
        (!value.is_nan()).then_some(f64::from(value))
    }

    fn range(&self) -> (f64, f64) {
        let known = self.values.iter().filter(|v| !v.is_nan()).map(|&v| f64::from(v));
        known.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    }

    /// The light on a cell, 0 to 1.
    fn shade(&self, x: i64, y: i64, z: f64, options: &HillshadeOptions) -> f64 {
        let z_at = |dx: i64, dy: i64| self.at(x + dx, y + dy).unwrap_or(z);
        let side = |dx: i64| z_at(dx, -1) + 2.0 * z_at(dx, 0) + z_at(dx, 1);
        let end = |dy: i64| z_at(-1, dy) + 2.0 * z_at(0, dy) + z_at(1, dy);
        let scale = options.z_factor / (8.0 * self.cell_size);
        let (east, north) = ((side(1) - side(-1)) * scale, (end(-1) - end(1)) * scale);
        // The normal of the surface against the direction of the light.
        let (azimuth, altitude) = (options.azimuth.to_radians(), options.altitude.to_radians());
        let light =
            [azimuth.sin() * altitude.cos(), azimuth.cos() * altitude.cos(), altitude.sin()];
        let facing = -east * light[0] - north * light[1] + light[2];
        (facing / (east * east + north * north + 1.0).sqrt()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(height: impl Fn(u32, u32) -> f32) -> RgbaImage {
        let values: Vec<f32> = (0..30 * 20u32).map(|p| height(p % 30, p / 30)).collect();
        render(&values, 30, 20, 1.0, &HillshadeOptions::default())
    }

    #[test]
    fn slopes_towards_the_light_are_brighter() {
        let brightness = |image: &RgbaImage| {
            image.get_pixel(15, 10).0[..3].iter().map(|&c| u32::from(c)).sum::<u32>()
        };
        // The light comes from the north-west: a slope that falls to there faces it.
        let facing = picture(|x, y| (x + y) as f32);
        let averted = picture(|x, y| 48.0 - (x + y) as f32);
        assert!(brightness(&facing) > brightness(&averted) + 100);
    }

    #[test]
    fn nodata_is_transparent() {
        let image = picture(|x, _| if x == 3 { f32::NAN } else { 1.0 });
        assert_eq!(image.get_pixel(3, 5).0[3], 0);
        assert_eq!(image.get_pixel(4, 5).0[3], 255);
    }

    #[test]
    fn a_large_dem_is_thinned() {
        let values = vec![0.0; 1000 * 10];
        let options = HillshadeOptions { max_side: 100, ..HillshadeOptions::default() };
        let image = render(&values, 1000, 10, 1.0, &options);
        assert_eq!(image.dimensions(), (100, 1));
    }
}
