//! Heights above another raster, the ground.
//!
//! The ground at the centre of a cell is interpolated between the four centres of its raster around it (bilinear). If
//! both rasters have the same cells, it is the ground's own value. Within half a cell of the ground's edge, it is the
//! value of the nearest centres. If one of these centres has no value, there is no ground.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};
use geo_io::{Crs, ValuesFile};
use gpu_core::{Bounds, GridSpec, parallel};
use programs::units::assumed_metres_per_height;

use crate::beside::Stated;
use crate::lattice::Lattice;

/// How near to a centre a place is on it, in cells of the ground.
const ON_CENTRE: f64 = 1e-6;

/// Rows of heights whose ground is read at once.
const AT_ONCE: usize = 64;

/// A raster of the ground.
pub struct Floor {
    path: PathBuf,
    file: ValuesFile,
    /// Left, cell's width, top, cell's height.
    place: [f64; 4],
    crs: Option<Crs>,
}

impl Floor {
    /// Opens a raster, and reads no values.
    ///
    /// # Errors
    /// An error that says what is wrong with the file; one that does not say where it lies, or whose rows are turned or
    /// mirrored.
    pub fn open(path: &Path) -> Result<Self> {
        let name = format!("--above {}", path.display());
        let file = ValuesFile::open(path).map_err(|error| anyhow!("--above: {error}"))?;
        let Some(place) = file.georeference() else {
            bail!(
                "{name}: it does not say where it lies on the ground: take a GeoTIFF, or a raster \
                 with a world file"
            );
        };
        let [left, across, bx, top, ay, down] = place.transform;
        ensure!(
            bx == 0.0 && ay == 0.0 && across > 0.0 && down < 0.0,
            "{name}: its rows do not run east, or the first is not the northernmost: take a \
             raster whose rows do (gdalwarp makes one)"
        );
        let (crs, place) = (place.crs.clone(), [left, across, top, -down]);
        Ok(Self { path: path.to_owned(), file, place, crs })
    }

    /// The file and its system.
    pub fn stated(&self) -> Stated<'_> {
        ("--above", &self.path, self.crs.as_ref())
    }

    /// Compares the coordinate system of the points with the ground's; returns what the user should know of both and of
    /// the ground's file.
    ///
    /// # Errors
    /// The two differ, or their units of height do.
    pub fn notes(&self, points: Option<&Crs>) -> Result<Vec<String>> {
        let path = self.path.display();
        let note = match (points, &self.crs) {
            (Some(points), Some(own)) => points.compare(own).map_err(|difference| {
                anyhow!(
                    "--above {path} is in {own}, the points are in {points} ({difference}): give a raster in the points' \
                     system, or the right --crs if the points' files are wrong"
                )
            })?,
            (None, Some(own)) => {
                Some(format!("it is in {own}, and the points name no coordinate system: taken as the same"))
            }
            (_, None) => None,
        };
        let unit = |crs: Option<&Crs>, of_values: Option<f64>| {
            let stated = crs.and_then(Crs::metres_per_height).or(of_values);
            stated.or_else(|| crs.and_then(assumed_metres_per_height))
        };
        let own = unit(self.crs.as_ref(), self.file.metres_per_value());
        if let Some((points, own)) = unit(points, None).zip(own) {
            ensure!(
                (points / own - 1.0).abs() < 1e-5,
                "--above {path}: a unit of its heights is {own} m, of the points' {points} m: give a raster in the points' \
                 unit. If a unit is wrong, --crs or gdal_edit.py -a_srs states the vertical system"
            );
        }
        let of_file = self.file.notes().iter().map(|note| format!("--above {note}"));
        Ok(note.map(|note| format!("--above {path}: {note}")).into_iter().chain(of_file).collect())
    }

    /// Refuses a ground that lies beside all cells of a grid.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_overlap(&self, grid: &GridSpec) -> Result<()> {
        let ((columns, rows), [left, across, top, down]) = (self.file.size(), self.place);
        let own = Bounds {
            min_x: left,
            min_y: top - rows as f64 * down,
            max_x: left + columns as f64 * across,
            max_y: top,
        };
        let b = grid.bounds();
        let is_beside = own.max_x <= b.min_x
            || b.max_x <= own.min_x
            || own.max_y <= b.min_y
            || b.max_y <= own.min_y;
        ensure!(
            !is_beside,
            "--above {}: it lies in {own}, and the result in {b}: give a raster of the same ground",
            self.path.display()
        );
        Ok(())
    }

    /// Subtracts the ground from heights, row by row of a grid of the lattice. Returns how many heights are lost
    /// because there is no ground.
    ///
    /// # Errors
    /// The ground cannot be read.
    pub fn take_off(&self, heights: &mut [f32], grid: &GridSpec, lattice: &Lattice) -> Result<u64> {
        let (columns, rows) = self.file.size();
        let [left, across, top, down] = self.place;
        let [x, y] = lattice.centres(grid);
        let along_x: Vec<Between> =
            x.iter().map(|x| Between::of((x - left) / across - 0.5, columns)).collect();
        let along_y: Vec<Between> =
            y.iter().map(|y| Between::of((top - y) / down - 0.5, rows)).collect();
        let before = count(heights);
        let strips = heights.chunks_mut(AT_ONCE * grid.width as usize);
        for (heights, along_y) in strips.zip(along_y.chunks(AT_ONCE)) {
            self.take_off_rows(heights, &along_x, along_y)?;
        }
        Ok(before - count(heights))
    }

    /// The same of some rows, whose ground is in memory at once.
    fn take_off_rows(
        &self,
        heights: &mut [f32],
        along_x: &[Between],
        along_y: &[Between],
    ) -> Result<()> {
        let (wanted_x, wanted_y) = (Between::range(along_x), Between::range(along_y));
        let window = self.file.window(wanted_y.clone(), wanted_x.clone())?;
        let ground = window.to_floats(self.file.nodata());
        let at = |column: usize, row: usize| {
            ground[(row - wanted_y.start) * wanted_x.len() + column - wanted_x.start]
        };
        parallel::for_chunks(heights, along_x.len(), |row, heights| {
            for (height, across) in heights.iter_mut().zip(along_x) {
                let ground = along_y[row].mix(|row| across.mix(|column| at(column, row)));
                *height = (f64::from(*height) - ground) as f32;
            }
        });
        Ok(())
    }
}

/// How many cells have a value.
fn count(values: &[f32]) -> u64 {
    parallel::count(values.len(), parallel::FINE, |i| !values[i].is_nan())
}

/// Where a place lies among centres along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Between {
    /// The centre before it; `None` beyond the raster.
    first: Option<usize>,
    /// The share of the next.
    share: f64,
}

impl Between {
    /// A place in cells from the first of some centres.
    fn of(place: f64, centres: usize) -> Self {
        let last = centres as f64 - 1.0;
        if centres == 0 || !(-0.5 - ON_CENTRE..=last + 0.5 + ON_CENTRE).contains(&place) {
            return Self { first: None, share: 0.0 };
        }
        let place = place.clamp(0.0, last);
        let nearest = place.round();
        let place = if (place - nearest).abs() <= ON_CENTRE { nearest } else { place };
        Self { first: Some(place.floor() as usize), share: place.fract() }
    }

    /// Returns the value at this place, NaN outside. A neighbour whose share is 0 does not count, even if it is NaN.
    fn mix(self, value: impl Fn(usize) -> f64) -> f64 {
        match self.first {
            None => f64::NAN,
            Some(first) if self.share == 0.0 => value(first),
            Some(first) => value(first) * (1.0 - self.share) + value(first + 1) * self.share,
        }
    }

    /// The centres that places need.
    fn range(places: &[Self]) -> std::ops::Range<usize> {
        let ends = places.iter().filter_map(|place| {
            let first = place.first?;
            Some((first, first + if place.share > 0.0 { 2 } else { 1 }))
        });
        let ends = ends.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
        ends.map_or(0..0, |(first, end)| first..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_between_centres_or_beyond() {
        let of = |place| Between::of(place, 4);
        assert_eq!(of(1.25), Between { first: Some(1), share: 0.25 });
        assert_eq!(of(2.0 - 1e-9), Between { first: Some(2), share: 0.0 });
        assert_eq!(of(-0.5), Between { first: Some(0), share: 0.0 });
        assert_eq!(of(3.5), Between { first: Some(3), share: 0.0 });
        assert!(of(-0.6).first.is_none() && of(3.6).first.is_none());
        assert!(Between::of(0.0, 0).first.is_none());
        assert_eq!(Between::range(&[of(-2.0), of(1.25), of(2.0)]), 1..3);
        assert_eq!(of(1.25).mix(|centre| centre as f64 * 8.0), 10.0);
    }
}
