//! What the units of a coordinate system mean for slopes, shades and cell sizes.

use anyhow::{Result, bail};
use geo_io::Crs;
use gpu_core::{Bounds, Device, GridSpec, GridView, Progress};
use terrain_grid::{Ground, ProductParams};

/// How the ground and the heights of a raster are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Units {
    /// Longitudes and latitudes.
    Degrees {
        /// Metres of a unit of height: 1 where the system does not say.
        height: f64,
    },
    /// Plane coordinates.
    Plane {
        /// Units of the ground in a unit of height: 1 where the system does not say.
        height: f64,
    },
}

impl Units {
    /// Those of a coordinate system, if there is one.
    pub fn of(crs: Option<&Crs>) -> Self {
        let height = crs.and_then(Crs::metres_per_height);
        match crs {
            Some(crs) if crs.is_geographic() => Self::Degrees { height: height.unwrap_or(1.0) },
            _ => {
                let ground = crs.and_then(Crs::metres_per_unit);
                let ratio = height.zip(ground).map_or(1.0, |(height, ground)| height / ground);
                Self::Plane { height: ratio }
            }
        }
    }

    /// A product of a raster, with the ground and the factor on heights that these units give.
    ///
    /// # Errors
    /// Those of terrain-grid.
    pub fn product(
        self,
        device: &Device,
        dem: GridView<'_, f32>,
        params: &ProductParams,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>> {
        let params = match self {
            Self::Degrees { height } => {
                params.ground(Ground::degrees_of(dem.grid())).z_factor(params.z_factor * height)
            }
            Self::Plane { height } => params.z_factor(params.z_factor * height),
        };
        Ok(terrain_grid::product(device.with_progress(progress), dem, &params)?.into_values())
    }

    /// In words, for a report.
    pub fn text(self, crs: Option<&Crs>) -> String {
        let ground = crs.and_then(Crs::metres_per_unit);
        let height = crs.and_then(Crs::metres_per_height);
        let word = |metres: Option<f64>| match metres {
            Some(1.0) => "metres".to_owned(),
            Some(m) if (m / 0.3048 - 1.0).abs() < 1e-5 => "feet".to_owned(),
            Some(m) => format!("units of {m} m"),
            None => "unknown units".to_owned(),
        };
        match (self, height) {
            (Self::Degrees { .. }, None) => "degrees; heights taken as metres".to_owned(),
            (Self::Degrees { .. }, _) => format!("degrees; heights in {}", word(height)),
            (Self::Plane { .. }, None) => {
                format!("{}; heights taken as the same", word(ground))
            }
            (Self::Plane { .. }, _) => format!("{}; heights in {}", word(ground), word(height)),
        }
    }
}

/// What is to be said where distances are counted in the units of a system, and these are degrees.
pub fn note_on_degrees(crs: Option<&Crs>) -> Option<&'static str> {
    crs.filter(|crs| crs.is_geographic()).map(|_| {
        "distances are in degrees, as on a plane: one of longitude counts as much as one of latitude, but is shorter \
         away from the equator"
    })
}

/// The cell size where none is given: 1 in metres and in units of which nothing is known, 3 in feet.
///
/// # Errors
/// In degrees there is none that fits, and one is suggested.
pub fn default_resolution(crs: Option<&Crs>) -> Result<f64> {
    if crs.is_some_and(Crs::is_geographic) {
        bail!(
            "the coordinates are degrees: give a cell size in degrees, such as --resolution 0.00001 \
             (about 1 m)"
        );
    }
    let is_foot = |metres: f64| (metres / 0.3048 - 1.0).abs() < 1e-3;
    Ok(if crs.and_then(Crs::metres_per_unit).is_some_and(is_foot) { 3.0 } else { 1.0 })
}

/// Refuses a default cell size that makes a grid of a few cells of many points.
///
/// # Errors
/// As said, with a suggestion: about one point a cell.
pub fn check_default(grid: &GridSpec, bounds: &Bounds, points: usize) -> Result<()> {
    const FEW: u32 = 8;
    if grid.width >= FEW || grid.height >= FEW || grid.cells() >= points as u64 {
        return Ok(());
    }
    let (width, height) = (bounds.max_x - bounds.min_x, bounds.max_y - bounds.min_y);
    let spacing = (width * height / points as f64).sqrt().max(width.max(height) / points as f64);
    if spacing <= 0.0 {
        return Ok(());
    }
    bail!(
        "cells of {}, the default, make a grid of {} x {} of {points} points: give a cell size in the \
         coordinates' units, such as --resolution {}",
        grid.cell_size,
        grid.width,
        grid.height,
        round(spacing)
    )
}

/// The number 1, 2 or 5 times a power of ten that is next to a positive one.
pub fn round(value: f64) -> f64 {
    let power = value.log10().floor() as i32;
    let steps = [1.0, 2.0, 5.0, 10.0];
    // Powers of ten below 1 are not exact, but their text is.
    let nice = |step: f64| format!("{step}e{power}").parse().unwrap_or(value);
    let away = |nice: f64| (nice / value).ln().abs();
    steps.map(nice).into_iter().min_by(|a, b| away(*a).total_cmp(&away(*b))).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_system() {
        let of = |text| Units::of(Some(&Crs::parse(text).unwrap()));
        assert_eq!(of("EPSG:26910"), Units::Plane { height: 1.0 });
        assert_eq!(of("EPSG:4326+8228"), Units::Degrees { height: 0.3048 });
        assert_eq!(of("EPSG:2994+5703"), Units::Plane { height: 1.0 / 0.3048 });
        assert_eq!(Units::of(None), Units::Plane { height: 1.0 });
        let resolution = |text| default_resolution(Some(&Crs::parse(text).unwrap()));
        assert_eq!(
            (resolution("EPSG:26910").unwrap(), resolution("EPSG:2994").unwrap()),
            (1.0, 3.0)
        );
        assert!(resolution("EPSG:4326").unwrap_err().to_string().contains("--resolution 0.00001"));
    }

    #[test]
    fn sizes_are_rounded_to_what_people_write() {
        for (value, nice) in
            [(0.93, 1.0), (0.000_018, 0.000_02), (37.0, 50.0), (0.7, 0.5), (1e-9, 1e-9)]
        {
            assert_eq!(round(value), nice);
        }
    }
}
