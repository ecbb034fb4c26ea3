//! The units of a coordinate system, and their use for slopes, shades and cell sizes.

use anyhow::{Result, bail};
use geo_io::Crs;
use gpu_core::{Bounds, Device, GridSpec, GridView, Progress, Shortest};
use terrain_grid::{Ground, ProductParams};

/// The units of a raster's ground and heights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Units {
    /// Longitudes and latitudes.
    Degrees {
        /// Metres of a unit of height: 1 where the system does not say.
        height: f64,
        /// Degrees of a unit of longitudes and latitudes, which some systems have in grads.
        unit: f64,
        /// The radius of the body that they are of, if it is not the Earth.
        other: Option<f64>,
    },
    /// Plane coordinates.
    Plane {
        /// Units of the ground in a unit of height: 1 where the system does not say, but for kilometres and the like,
        /// beside which heights are taken as metres.
        height: f64,
    },
}

impl Units {
    /// Returns the units of a coordinate system, if there is one.
    pub fn of(crs: Option<&Crs>) -> Self {
        Self::of_heights(crs, crs.and_then(Crs::metres_per_height))
    }

    /// Returns the units of a coordinate system, and of heights whose unit has that many metres.
    pub fn of_heights(crs: Option<&Crs>, height: Option<f64>) -> Self {
        match crs {
            Some(crs) if crs.is_geographic() => {
                let unit = crs.degrees_per_unit().unwrap_or(1.0);
                Self::Degrees { height: height.unwrap_or(1.0), unit, other: other_body(crs) }
            }
            _ => {
                let ground = crs.and_then(Crs::metres_per_unit);
                let height = height.or_else(|| is_large(ground).then_some(1.0));
                let ratio = height.zip(ground).map_or(1.0, |(height, ground)| height / ground);
                Self::Plane { height: ratio }
            }
        }
    }

    /// Degrees on the Earth, and heights in metres.
    pub const DEGREES: Self = Self::Degrees { height: 1.0, unit: 1.0, other: None };

    /// Refuses longitudes and latitudes of another body than the Earth, whose degrees have other lengths.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_earth(self) -> Result<()> {
        match self {
            Self::Degrees { other: Some(radius), .. } => bail!(
                "the coordinates are degrees on a body with a radius of {} m, not on the Earth: project them onto \
                 a plane first, as by gdalwarp -t_srs or ogr2ogr -t_srs",
                Shortest(radius)
            ),
            _ => Ok(()),
        }
    }

    /// Computes a product of a raster, with the ground and the factor on heights that these units give.
    ///
    /// # Errors
    /// The errors of terrain-grid, and degrees of another body than the Earth.
    pub fn product(
        self,
        device: &Device,
        dem: GridView<'_, f32>,
        params: &ProductParams,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>> {
        self.require_earth()?;
        let params = match self {
            Self::Degrees { height, unit, .. } => {
                let GridSpec { origin_y, cell_size, .. } = *dem.grid();
                let (north, side) = (origin_y * unit, cell_size * unit);
                let ground = Ground::Degrees { north, width: side, height: side, first_row: 0 };
                params.ground(ground).z_factor(params.z_factor * height)
            }
            Self::Plane { height } => params.z_factor(params.z_factor * height),
        };
        Ok(terrain_grid::product(device.with_progress(progress), dem, &params)?.into_values())
    }

    /// In words, for a report. `height` is the metres of a unit of height, if they are stated.
    pub fn text(self, crs: Option<&Crs>, height: Option<f64>) -> String {
        let ground = crs.and_then(Crs::metres_per_unit);
        let word = |metres: Option<f64>| match metres {
            Some(1.0) => "metres".to_owned(),
            Some(m) if (m / 0.3048 - 1.0).abs() < 1e-5 => "feet".to_owned(),
            Some(m) => format!("units of {m} m"),
            None => "unknown units".to_owned(),
        };
        match (self, height) {
            (Self::Degrees { unit, .. }, None) => {
                format!("{}; heights taken as metres", angle(unit))
            }
            (Self::Degrees { unit, .. }, _) => {
                format!("{}; heights in {}", angle(unit), word(height))
            }
            (Self::Plane { .. }, None) => {
                let heights = if is_large(ground) { "metres" } else { "the same" };
                format!("{}; heights taken as {heights}", word(ground))
            }
            (Self::Plane { .. }, _) => format!("{}; heights in {}", word(ground), word(height)),
        }
    }
}

/// What longitudes and latitudes are counted in, by the degrees of a unit.
fn angle(unit: f64) -> String {
    match unit {
        1.0 => "degrees".to_owned(),
        0.9 => "grads".to_owned(),
        _ => format!("units of {unit} degrees"),
    }
}

/// The metres of a unit of height in a coordinate system, where nothing states it: metres beside degrees and
/// kilometres, else the unit of the ground.
pub fn assumed_metres_per_height(crs: &Crs) -> Option<f64> {
    let ground = crs.metres_per_unit();
    if crs.is_geographic() || is_large(ground) { Some(1.0) } else { ground }
}

/// Returns whether a unit of the ground is too large for heights, such as the kilometre.
fn is_large(ground: Option<f64>) -> bool {
    ground.is_some_and(|metres| metres >= 100.0)
}

/// The radius of the body whose longitudes and latitudes a system has, if it is not the Earth. (Ellipsoids of the Earth
/// differ by less than a thousandth.)
pub fn other_body(crs: &Crs) -> Option<f64> {
    const EARTH: f64 = 6_378_137.0;
    crs.equatorial_radius().filter(|radius| (radius / EARTH - 1.0).abs() > 0.01)
}

/// Refuses longitudes and latitudes that searches along great circles do not support: in grads, or on another body than
/// the Earth.
///
/// # Errors
/// The coordinates are such; the error names the option that needs the search.
pub fn require_degrees(option: &str, crs: Option<&Crs>) -> Result<()> {
    let Some(crs) = crs.filter(|crs| crs.is_geographic()) else { return Ok(()) };
    if let Some(radius) = other_body(crs).map(Shortest) {
        bail!(
            "{option}: {crs} describes a body with a radius of {radius} m, but distances are \
             computed on the Earth: project the points first, as by ogr2ogr -t_srs"
        );
    }
    let unit = crs.degrees_per_unit().unwrap_or(1.0);
    if unit != 1.0 {
        bail!(
            "{option}: a unit of {crs} is {unit} degrees, but one degree is needed: convert the \
             points to another system, as by ogr2ogr -t_srs EPSG:4326"
        );
    }
    Ok(())
}

/// Refuses a system whose x and y do not grow to the east and the north, where `what` needs to know the north.
///
/// # Errors
/// In the case that the summary names.
pub fn require_north_up(what: &str, crs: Option<&Crs>) -> Result<()> {
    let Some((crs, [x, y])) = crs.and_then(|crs| Some((crs, crs.turned_axes()?))) else {
        return Ok(());
    };
    bail!(
        "{what} needs the north at the top, but in {crs} x grows to the {x} and y to the {y}: project the data, \
         as by gdalwarp -t_srs or ogr2ogr -t_srs"
    )
}

/// Returns a note if distances are in the units of a system and these are angles.
pub fn note_on_degrees(crs: Option<&Crs>) -> Option<String> {
    let unit = angle(crs?.degrees_per_unit()?);
    Some(format!(
        "distances are in {unit}, as on a plane: one of longitude counts as much as one of latitude, but is shorter away from the \
         equator"
    ))
}

/// Returns the default cell size: 1 in metres and in unknown units, 3 in feet.
///
/// # Errors
/// The coordinates are degrees or other angles, for which no default fits. The error suggests a size.
pub fn default_resolution(crs: Option<&Crs>) -> Result<f64> {
    if let Some(unit) = crs.and_then(Crs::degrees_per_unit) {
        let (words, about_a_metre) = (angle(unit), round(0.00001 / unit));
        bail!(
            "the coordinates are {words}: give a cell size in {words}, such as --resolution {} (about 1 m)",
            Shortest(about_a_metre)
        );
    }
    let is_foot = |metres: f64| (metres / 0.3048 - 1.0).abs() < 1e-3;
    Ok(if crs.and_then(Crs::metres_per_unit).is_some_and(is_foot) { 3.0 } else { 1.0 })
}

/// Refuses a default cell size that puts many points into a few cells.
///
/// # Errors
/// The cell size is too large; the error suggests one with about one point a cell.
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
        Shortest(round(spacing))
    )
}

/// Returns the number nearest to a positive one that is 1, 2 or 5 times a power of ten.
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
        assert_eq!(of("EPSG:4326+8228"), Units::Degrees { height: 0.3048, unit: 1.0, other: None });
        let grads = Crs::parse("EPSG:4807").unwrap();
        let Units::Degrees { unit, .. } = Units::of(Some(&grads)) else { panic!("a plane") };
        assert!(unit == 0.9 && require_degrees("--nearest", Some(&grads)).is_err());
        assert_eq!(
            Units::of(Some(&grads)).text(Some(&grads), None),
            "grads; heights taken as metres"
        );
        let wide = r#"PROJCS["k",GEOGCS["g",DATUM["d",SPHEROID["s",6378137,298.257]]],PROJECTION["Transverse_Mercator"],UNIT["kilometre",1000]]"#;
        let wide = Crs::from_wkt(wide).unwrap();
        assert_eq!(Units::of(Some(&wide)), Units::Plane { height: 0.001 });
        let words = Units::of(Some(&wide)).text(Some(&wide), None);
        assert_eq!(words, "units of 1000 m; heights taken as metres");
        let moon = r#"GEOGCS["Moon",DATUM["D_Moon",SPHEROID["Moon",1737400,0]],PRIMEM["R",0],UNIT["degree",0.0174532925199433]]"#;
        let moon = Crs::from_wkt(moon).unwrap();
        for error in
            [Units::of(Some(&moon)).require_earth(), require_degrees("--nearest", Some(&moon))]
        {
            assert!(error.unwrap_err().to_string().contains("1737400"));
        }
        assert!(
            of("EPSG:4326").require_earth().is_ok() && of("EPSG:32631").require_earth().is_ok()
        );
        assert!(require_degrees("--nearest", Crs::parse("EPSG:4269").ok().as_ref()).is_ok());
        assert_eq!(of("EPSG:2994+5703"), Units::Plane { height: 1.0 / 0.3048 });
        assert_eq!(Units::of(None), Units::Plane { height: 1.0 });
        let resolution = |text| default_resolution(Some(&Crs::parse(text).unwrap()));
        assert_eq!(
            (resolution("EPSG:26910").unwrap(), resolution("EPSG:2994").unwrap()),
            (1.0, 3.0)
        );
        let error = |text| resolution(text).unwrap_err().to_string();
        assert!(error("EPSG:4326").contains("--resolution 0.00001 "), "{}", error("EPSG:4326"));
        assert!(error("EPSG:4807").contains("are grads: give a cell size in grads"));
        let note = |text| note_on_degrees(Crs::parse(text).ok().as_ref());
        assert!(note("EPSG:4326").unwrap().contains("in degrees"));
        assert!(note("EPSG:4807").unwrap().contains("in grads") && note("EPSG:26910").is_none());
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
