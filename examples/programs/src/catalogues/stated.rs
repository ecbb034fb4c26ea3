//! What a catalogue states of a file, and whether the file agrees.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use geo_io::{Crs, Georeference, Header, RasterPlace};
use gpu_core::Bounds;

use super::Content;

/// How far a file may reach beyond the box that is stated for it, as a share of the box's longer side: boxes are
/// written with few digits.
const ROUNDED: f64 = 1e-4;

/// What a catalogue states of a file.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    /// The system of the file's coordinates.
    pub crs: Option<Crs>,
    /// Where the file lies, in its own coordinates.
    pub bounds: Option<Bounds>,
    /// Where the file lies in a system that may be another; `None` for one that is not named.
    pub footprint: Option<(Bounds, Option<Crs>)>,
    /// How many points the file has.
    pub points: Option<u64>,
    /// Columns and rows of a raster.
    pub size: Option<(u64, u64)>,
    /// GDAL's geotransform of a raster.
    pub transform: Option<[f64; 6]>,
}

impl Stated {
    /// Whether the file may overlap a ground, which is in the system `given`, or else in the file's own. True if the
    /// statements do not tell.
    pub fn meets(&self, ground: &Bounds, given: Option<&Crs>) -> bool {
        let footprint = || self.usable_footprint(given).map(|(bounds, _)| *bounds);
        let Some(b) = self.bounds.or_else(footprint) else { return true };
        let slack = slack(&b);
        b.min_x - slack <= ground.max_x
            && b.max_x + slack >= ground.min_x
            && b.min_y - slack <= ground.max_y
            && b.max_y + slack >= ground.min_y
    }

    /// The footprint, if it is in the system of the file's coordinates: in that which is given or stated, else it is
    /// taken to be.
    fn usable_footprint(&self, given: Option<&Crs>) -> Option<&(Bounds, Option<Crs>)> {
        let footprint = self.footprint.as_ref()?;
        match (given.or(self.crs.as_ref()), &footprint.1) {
            (Some(system), Some(of_footprint)) => system.same_as(of_footprint).then_some(footprint),
            _ => Some(footprint),
        }
    }

    /// Compares the header of the file with the statements; tables and arrays have no such header. `given` is a system
    /// that counts in place of the file's, and `is_part` says that the file was chosen by where it lies.
    ///
    /// # Errors
    /// An error that says what is wrong with the file, and a contradiction, with both values.
    pub fn check(
        &self,
        path: &Path,
        content: Content,
        given: Option<&Crs>,
        is_part: bool,
    ) -> Result<()> {
        let (bounds, crs) = match content {
            Content::Points => {
                let Some(header) = geo_io::read_header(path)? else { return Ok(()) };
                self.require_points(path, &header)?;
                (header.bounds, header.crs)
            }
            Content::Rasters => {
                let RasterPlace { size, georeference, .. } = match geo_io::read_place(path) {
                    // Arrays and pictures have no such header.
                    Err(geo_io::Error::UnknownEnding { .. }) => return Ok(()),
                    place => place?,
                };
                let size = (size.0 as u64, size.1 as u64);
                self.require_raster(path, size, georeference.as_ref())?;
                let bounds = georeference.as_ref().map(|place| corners(&place.transform, size));
                (bounds, georeference.and_then(|place| place.crs))
            }
        };
        self.require_within(path, bounds)?;
        if let (None, Some(crs)) = (given, crs) {
            self.require_system(path, &crs, is_part)?;
        }
        Ok(())
    }

    fn require_points(&self, path: &Path, header: &Header) -> Result<()> {
        let (path, found) = (path.display(), header.points);
        match self.points.filter(|&stated| stated != found) {
            Some(stated) => bail!("pc:count is {stated}, but {path} has {found} points"),
            None => Ok(()),
        }
    }

    /// Refuses a raster of another size, or with a corner a hundredth of a pixel from where it is said to be.
    fn require_raster(
        &self,
        path: &Path,
        size: (u64, u64),
        place: Option<&Georeference>,
    ) -> Result<()> {
        let path = path.display();
        if let Some((columns, rows)) = self.size.filter(|&stated| stated != size) {
            let (width, height) = size;
            bail!(
                "proj:shape is {rows} rows of {columns} columns, but {path} has {height} rows of \
                 {width}"
            );
        }
        let (Some(stated), Some(place)) = (self.transform, place) else { return Ok(()) };
        let [_, ax, bx, _, ay, by] = place.transform;
        let most = 0.01 * f64::max(ax.hypot(ay), bx.hypot(by));
        let (width, height) = (size.0 as f64, size.1 as f64);
        let is_near = |&(column, row): &(f64, f64)| {
            let [one, other] = [&stated, &place.transform].map(|t| corner(t, column, row));
            (one[0] - other[0]).hypot(one[1] - other[1]) <= most
        };
        ensure!(
            [(0.0, 0.0), (width, 0.0), (0.0, height)].iter().all(is_near),
            "proj:transform is {stated:?} in the order of GDAL's geotransform, but {path} has {:?}",
            place.transform
        );
        Ok(())
    }

    /// Refuses a file that reaches beyond the box that is stated for it: it would be missed where it is wanted.
    fn require_within(&self, path: &Path, found: Option<Bounds>) -> Result<()> {
        let (Some(stated), Some(b)) = (self.bounds, found) else { return Ok(()) };
        let slack = slack(&stated);
        let is_within = b.min_x >= stated.min_x - slack
            && b.min_y >= stated.min_y - slack
            && b.max_x <= stated.max_x + slack
            && b.max_y <= stated.max_y + slack;
        let path = path.display();
        ensure!(is_within, "its box (proj:bbox) is {stated}, but {path} reaches beyond it, at {b}");
        Ok(())
    }

    /// Refuses a system that is not the stated one. If the file was chosen by a footprint, that is in the stated
    /// system.
    fn require_system(&self, path: &Path, crs: &Crs, is_part: bool) -> Result<()> {
        let path = path.display();
        if let Some(stated) = &self.crs
            && let Err(difference) = stated.compare(crs)
        {
            bail!(
                "it states the system {stated}, but {path} is in {crs} ({difference}): correct \
                 the wrong one, or give --crs"
            );
        }
        let by_footprint = is_part && self.bounds.is_none();
        if let Some((_, Some(stated))) = self.usable_footprint(None).filter(|_| by_footprint)
            && let Err(difference) = stated.compare(crs)
        {
            bail!(
                "its footprint is in {stated}, but {path} is in {crs} ({difference}): give --crs \
                 {crs} to ignore footprints"
            );
        }
        Ok(())
    }
}

fn slack(b: &Bounds) -> f64 {
    ROUNDED * f64::max(b.max_x - b.min_x, b.max_y - b.min_y)
}

/// The place of a column and a row by a geotransform.
fn corner(transform: &[f64; 6], column: f64, row: f64) -> [f64; 2] {
    let [x, ax, bx, y, ay, by] = transform;
    [x + column * ax + row * bx, y + column * ay + row * by]
}

/// The rectangle around a raster of some columns and rows.
pub fn corners(transform: &[f64; 6], (width, height): (u64, u64)) -> Bounds {
    let (width, height) = (width as f64, height as f64);
    let all = [(0.0, 0.0), (width, 0.0), (0.0, height), (width, height)];
    let all = all.map(|(column, row)| corner(transform, column, row));
    // Of four corners there is always a rectangle.
    bounds_of(all).unwrap_or(Bounds { min_x: 0.0, min_y: 0.0, max_x: 0.0, max_y: 0.0 })
}

/// The rectangle around some places; `None` around none.
pub fn bounds_of(places: impl IntoIterator<Item = [f64; 2]>) -> Option<Bounds> {
    let each = places.into_iter().map(|[x, y]| Bounds { min_x: x, min_y: y, max_x: x, max_y: y });
    each.reduce(crate::scale::joined)
}
