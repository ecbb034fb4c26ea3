//! What follows from the nearest sites: directions and coordinates.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use geo_io::{Bands, Cells, Georeference, NpyElement, Output};
use pba_voronoi::{Globe, Integers, Lay, Spacing, directions, directions_on_globe, site_centres};
use programs::args::{Format, RasterArgs, ending};
use programs::units::require_north_up;

/// Outputs that follow from the nearest sites.
#[derive(clap::Args, Debug)]
pub struct GroundArgs {
    /// Also write the direction from each pixel to its nearest site, in degrees clockwise from north (.tif, .npy):
    /// above 0, 360 is north; a site has 0
    #[arg(long, value_name = "PATH")]
    pub direction: Option<PathBuf>,
    /// Also write the first coordinate (x, east) of the centre of each pixel's nearest site, as float64 (.npy)
    #[arg(long, value_name = "PATH")]
    pub nearest_x: Option<PathBuf>,
    /// Also write the second coordinate (y, north) of it
    #[arg(long, value_name = "PATH")]
    pub nearest_y: Option<PathBuf>,
}

/// The formats of nearest sites: their coordinates, and their indices.
pub const SITES: [Format; 2] = [Format::GeoTiff, Format::Npy];

/// The formats of directions.
const DIRECTIONS: [Format; 2] = [Format::GeoTiff, Format::Npy];

impl GroundArgs {
    /// Whether there are any.
    pub fn is_some(&self) -> bool {
        self.paths().next().is_some()
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.direction.iter().chain(&self.nearest_x).chain(&self.nearest_y)
    }

    /// Refuses directions where the system's y does not grow to the north.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_north_up(&self, place: Option<&Georeference>) -> Result<()> {
        match &self.direction {
            Some(_) => require_north_up("--direction", place.and_then(|place| place.crs.as_ref())),
            None => Ok(()),
        }
    }

    /// Whether directions go into a GeoTIFF.
    pub fn is_direction_tiff(&self) -> bool {
        self.direction.as_ref().is_some_and(|path| ending(path) != "npy")
    }

    /// The two arrays of coordinates with the axis that each has.
    pub fn coordinates(&self) -> impl Iterator<Item = (usize, &Path)> {
        let x = self.nearest_x.iter().map(|path| (0, path.as_path()));
        x.chain(self.nearest_y.iter().map(|path| (1, path.as_path())))
    }

    /// Checks the names.
    pub fn check(&self) -> Result<()> {
        if let Some(path) = &self.direction {
            Format::of("--direction", path, &DIRECTIONS)?;
        }
        for (axis, path) in self.coordinates() {
            let option = ["--nearest-x", "--nearest-y"][axis];
            ensure!(
                ending(path) == "npy",
                "{option} {}: the name must end in .npy",
                path.display()
            );
        }
        Ok(())
    }

    /// Writes them all.
    pub fn write(
        &self,
        nearest: &Integers,
        lie: &Lie,
        raster: &RasterArgs,
        existing: geo_io::Existing,
    ) -> Result<()> {
        let Lie { place, sides, globe } = *lie;
        let lay = Lay::of_geotransform(place.transform);
        let (width, height) = (nearest.grid().width, nearest.grid().height);
        if let Some(path) = &self.direction {
            let found = match &globe {
                Some(globe) => directions_on_globe(nearest, globe)?,
                None => directions(nearest, &with_sides(lay, sides))?,
            };
            self.write_directions(
                Output { path, existing },
                found.values(),
                place,
                (width, height),
                raster,
            )?;
        }
        if self.nearest_x.is_some() || self.nearest_y.is_some() {
            let centres = site_centres(nearest, &lay)?;
            for (axis, path) in self.coordinates() {
                let output = Output { path, existing };
                geo_io::write_npy(output, centres[axis].values(), width as usize, height as usize)?;
            }
        }
        Ok(())
    }

    /// Writes directions that were computed.
    pub fn write_directions(
        &self,
        output: Output,
        values: &[f32],
        place: &Georeference,
        (width, height): (u32, u32),
        raster: &RasterArgs,
    ) -> Result<()> {
        if self.is_direction_tiff() {
            let cells = Cells::Values { values, nodata: raster.nodata };
            let options = raster.options_without_means();
            geo_io::write_tiff(output, place, (width, height), cells, &options)?;
        } else {
            geo_io::write_npy(output, values, width as usize, height as usize)?;
        }
        Ok(())
    }
}

/// Writes the coordinates of the centres of nearest sites as two bands.
pub fn write_centres(
    output: Output,
    nearest: &Integers,
    place: &Georeference,
    raster: &RasterArgs,
) -> Result<()> {
    /// Rows that lie one after the other in an array.
    fn copied<T: Copy>(
        values: &[T],
        width: usize,
    ) -> impl FnMut(usize, &mut [T]) -> geo_io::Result<()> {
        move |first, out| {
            out.copy_from_slice(&values[first * width..][..out.len()]);
            Ok(())
        }
    }
    let size = (nearest.grid().width, nearest.grid().height);
    let width = size.0 as usize;
    match nearest {
        Integers::U32(v) => {
            write_centre_rows(output, place, size, raster, copied(v.values(), width))
        }
        Integers::U64(v) => {
            write_centre_rows(output, place, size, raster, copied(v.values(), width))
        }
    }
}

/// Does the same for indices that `fill` returns, whole rows from the first on.
pub fn write_centre_rows<T: Index>(
    output: Output,
    place: &Georeference,
    (width, height): (u32, u32),
    raster: &RasterArgs,
    mut fill: impl FnMut(usize, &mut [T]) -> geo_io::Result<()>,
) -> Result<()> {
    let lay = Lay::of_geotransform(place.transform);
    let mut indices: Vec<T> = Vec::new();
    let mut centres = |first: usize, rows: &mut [f64]| {
        indices.resize(rows.len() / 2, T::zeroed());
        fill(first, &mut indices)?;
        for (out, index) in rows.chunks_exact_mut(2).zip(&indices) {
            let centre = index.pixel(width).map_or([f64::NAN; 2], |site| lay.centre(site));
            out.copy_from_slice(&centre);
        }
        Ok(())
    };
    let bands = Bands { names: &["x", "y"], nodata: raster.nodata };
    let (size, options) = ((width, height), raster.options_without_means());
    Ok(geo_io::write_tiff_rows(output, place, size, &bands, &options, &mut centres)?)
}

/// Where a raster lies.
pub struct Lie<'a> {
    /// Its place.
    pub place: &'a Georeference,
    /// The sides of a pixel, to which directions belong.
    pub sides: (f64, f64),
    /// Its place on the globe, where distances are measured there.
    pub globe: Option<Globe>,
}

/// A lay whose pixels have these sides.
pub fn with_sides(lay: Lay, (x, y): (f64, f64)) -> Lay {
    lay.with_spacing(Spacing { x, y })
}

/// Indices of nearest sites, some rows at a time.
pub trait Index: NpyElement + bytemuck::Pod {
    /// Column and row in a raster of so many columns; `None` where there is no site.
    fn pixel(self, width: u32) -> Option<[u32; 2]>;
}

impl Index for u32 {
    fn pixel(self, width: u32) -> Option<[u32; 2]> {
        (self != u32::MAX).then(|| [self % width, self / width])
    }
}

impl Index for u64 {
    fn pixel(self, width: u32) -> Option<[u32; 2]> {
        let width = u64::from(width);
        (self != u64::MAX).then(|| [(self % width) as u32, (self / width) as u32])
    }
}
