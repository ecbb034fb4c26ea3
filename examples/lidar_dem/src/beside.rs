//! Lines and polygons beside points: whether their coordinate systems fit.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use geo_io::Crs;
use programs::systems::require_same_if_stated;

/// A file with lines or polygons.
pub struct Beside<'a> {
    /// The option that names it.
    pub option: &'static str,
    pub path: &'a Path,
    /// The content: lines or polygons.
    pub what: &'static str,
    /// The system that it states.
    pub stated: Option<&'a Crs>,
    /// What its reader says.
    pub notes: &'a [String],
}

/// An option's file beside the points, and the system that it states.
pub type Stated<'a> = (&'static str, &'a Path, Option<&'a Crs>);

/// Refuses files beside the points that state different systems: the points may name none to compare them with.
///
/// # Errors
/// Two of the systems differ.
pub fn require_one_system(files: &[Stated]) -> Result<()> {
    let stated = files.iter().filter(|(_, _, crs)| crs.is_some());
    let named = stated.map(|(option, path, crs)| (format!("{option} {}", path.display()), *crs));
    let named: Vec<_> = named.collect();
    let Some(((first, its), others)) = named.split_first() else { return Ok(()) };
    let remedy = "project one of them, as by ogr2ogr or gdalwarp -t_srs";
    others
        .iter()
        .try_for_each(|(other, own)| require_same_if_stated((first, *its), (other, *own), remedy))
}

impl Beside<'_> {
    /// Compares the system with the points', and gives notes; `meets` says whether a line or polygon reaches the
    /// points. GeoJSON that states no system has longitudes and latitudes (RFC 7946), unless it lies among the points.
    ///
    /// # Errors
    /// The systems differ.
    pub fn notes(&self, points: Option<&Crs>, meets: bool) -> Result<Vec<String>> {
        let (option, path, what) = (self.option, self.path.display(), self.what);
        let mut notes: Vec<String> =
            self.notes.iter().map(|note| format!("{path}: {note}")).collect();
        match (self.stated, points) {
            (Some(own), Some(points)) => match own.compare(points) {
                Ok(note) => notes.extend(note.map(|note| format!("{path}: {note}"))),
                Err(difference) => bail!(
                    "{option} {path} is in {own}, the points are in {points} ({difference}): project the {what}, as by \
                     ogr2ogr -t_srs"
                ),
            },
            (Some(own), None) => notes.push(format!(
                "{path} is in {own}, and the points name no coordinate system: taken as the same"
            )),
            (None, Some(points)) if !points.is_geographic() => {
                ensure!(
                    meets,
                    "{option} {path} names no coordinate system, and none of its {what} reaches the points, which are in \
                     {points}: project the {what}, as by ogr2ogr -t_srs"
                );
                notes.push(format!(
                    "{path} names no coordinate system: taken as that of the points, {points}"
                ));
            }
            _ => {}
        }
        Ok(notes)
    }
}
