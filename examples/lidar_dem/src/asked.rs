//! The grid that the command line defines.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use geo_io::{Crs, Georeference};
use gpu_core::{Bounds, GridSpec};
use programs::args::PointArgs;
use programs::cloud::{NoPoints, on_ground};
use programs::units;

use crate::lattice::Lattice;
use crate::size::cell_of;
use crate::surface::SurfaceArgs;

/// What the options tell about the grid, before any point is read.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The lattice of its cells; without one, edges lie at multiples of the resolution, or of the default.
    pub lattice: Option<Lattice>,
    /// The ground that it covers; without one, the ground of the points.
    pub bounds: Option<Bounds>,
    /// The coordinate system of a template, and the template's name.
    template: Option<(String, Option<Crs>)>,
    /// What the user should know of the template's file.
    pub notes: Vec<String>,
}

impl Asked {
    /// What the options say.
    ///
    /// # Errors
    /// `--size` comes without `--bounds`, or makes cells that are not square, or differ from `--resolution`. The
    /// template cannot be read, has no place, or has cells that are turned, mirrored or not square.
    pub fn of(points: &PointArgs, surface: &SurfaceArgs) -> Result<Self> {
        let bounds = points.bounds.map(|extent| extent.0);
        if let Some(path) = &surface.template {
            return Self::of_template(path);
        }
        let Some(size) = surface.size else {
            let lattice = surface.resolution.map(Lattice::of_multiples);
            return Ok(Self { lattice, bounds, ..Self::default() });
        };
        let bounds = bounds.with_context(|| {
            format!("--size {size} divides the ground of --bounds: give --bounds too")
        })?;
        let cell = cell_of(size, &bounds, surface.resolution)?;
        let lattice = Some(Lattice { anchor: [bounds.min_x, bounds.max_y], cell });
        // Sides that are nearly whole numbers of cells would begin another row.
        let grid = GridSpec::new(bounds.min_x, bounds.max_y, cell, size.width, size.height)?;
        Ok(Self { lattice, bounds: Some(grid.bounds()), ..Self::default() })
    }

    fn of_template(path: &Path) -> Result<Self> {
        let name = format!("--template {}", path.display());
        let place = geo_io::read_place(path).context("--template")?;
        let (width, height) = place.size;
        let Some(Georeference { transform, crs }) = place.georeference else {
            let why = place.notes.first().map(|note| format!(" ({note})")).unwrap_or_default();
            bail!(
                "{name}: it does not say where it lies on the ground{why}: take a GeoTIFF, or a \
                 raster with a world file"
            );
        };
        let [left, across, bx, top, ay, down] = transform;
        ensure!(
            bx == 0.0 && ay == 0.0,
            "{name}: its rows do not run east: take a raster whose rows do (gdalwarp makes one)"
        );
        ensure!(
            across > 0.0 && down < 0.0,
            "{name}: its rows or columns are mirrored: take a raster whose first row is the \
             northernmost (gdalwarp makes one)"
        );
        let sides = (across + down).abs() * width.max(height) as f64;
        ensure!(
            sides <= 1e-3 * across,
            "{name}: its cells are {across} x {}, not square: take one with square cells",
            -down
        );
        let side = |side: usize| u32::try_from(side).context(name.clone());
        let grid = GridSpec::new(left, top, across, side(width)?, side(height)?)
            .with_context(|| name.clone())?;
        let lattice = Lattice { anchor: [left, top], cell: across };
        let template = Some((path.display().to_string(), crs));
        let notes = place.notes.iter().map(|note| format!("--template {note}")).collect();
        Ok(Self { lattice: Some(lattice), bounds: Some(grid.bounds()), template, notes })
    }

    /// Adds the ground of the options to an error that says that no point lies there. If the template has another
    /// coordinate system than the points, the error says that instead.
    pub fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let Some(none) = error.downcast_ref::<NoPoints>() else { return error };
        if let Err(difference) = self.crs(none.crs.clone()) {
            return difference;
        }
        match &self.template {
            Some((name, _)) => on_ground(error, &format!("--template {name}"), self.bounds),
            None => on_ground(error, "--bounds", self.bounds),
        }
    }

    /// The lattice, of the default cell size of a coordinate system where none is given.
    ///
    /// # Errors
    /// The system has no default.
    pub fn lattice(&self, crs: Option<&Crs>) -> Result<Lattice> {
        match self.lattice {
            Some(lattice) => Ok(lattice),
            None => Ok(Lattice::of_multiples(units::default_resolution(crs)?)),
        }
    }

    /// The coordinate system of the result: the points', or if they name none the template's without its vertical part.
    /// The heights are those of the points, whatever datum the template has.
    ///
    /// # Errors
    /// The two differ.
    pub fn crs(&self, points: Option<Crs>) -> Result<Option<Crs>> {
        let Some((name, of_template)) = &self.template else { return Ok(points) };
        if let (Some(points), Some(template)) = (&points, of_template)
            && let Err(difference) = points.without_heights().compare(&template.without_heights())
        {
            bail!(
                "--template {name} is in {template}, the points are in {points} ({difference}): give a template in the points' \
                 system, or the right --crs if the points' files are wrong"
            )
        }
        Ok(points.or_else(|| of_template.as_ref().map(Crs::without_heights)))
    }
}
