//! The coordinate system of the points, and whether others fit it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use geo_io::Crs;
use gpu_core::Bounds;
use programs::cloud::Cloud;
use quadtree_sort::Quadtree;

use crate::tree::TreeArgs;

/// Returns the system of points within `bounds`, if `--crs` or their files state one, and a note on it for the user.
/// Where they state none, `--geographic` and names of columns such as lon,lat mean WGS 84.
///
/// # Errors
/// `--geographic` beside a projected system, and coordinates out of the range of longitudes and latitudes.
pub fn of_points(
    args: &TreeArgs,
    stated: Option<Crs>,
    bounds: Bounds,
) -> Result<(Option<Crs>, Option<String>)> {
    let crs = with_flag(args.geographic, stated)?;
    if crs.is_some() || !args.points.columns.are_degrees() {
        let is_geographic = crs.as_ref().is_some_and(Crs::is_geographic);
        ensure!(
            !is_geographic || on_globe(&bounds, unit_of(crs.as_ref())),
            "the points lie from {bounds}, beyond longitudes from -360 to 360 degrees or \
             latitudes from -90 to 90: see --columns and --crs"
        );
        return Ok((crs, None));
    }
    if on_globe(&bounds, 1.0) {
        return Ok((Some(Crs::parse("EPSG:4326")?), None));
    }
    let [x, y, _] = &args.points.columns.0;
    let note = format!("columns {x} and {y} have values that are not degrees: taken as a plane");
    Ok((None, Some(note)))
}

/// The system with `--geographic`, or without.
pub fn with_flag(geographic: bool, stated: Option<Crs>) -> Result<Option<Crs>> {
    match stated {
        None if geographic => Ok(Some(Crs::parse("EPSG:4326")?)),
        Some(crs) if geographic && !crs.is_geographic() => {
            bail!("--geographic: the points are in {crs}, whose coordinates are not degrees")
        }
        stated => Ok(stated),
    }
}

/// The system that a tree was saved with.
pub fn of_tree(tree: &Quadtree) -> Option<Crs> {
    tree.system().and_then(|code| Crs::parse(&format!("EPSG:{code}")).ok())
}

/// Names the first point that is not on the globe.
///
/// # Errors
/// In the case that the summary names.
pub fn require_globe(cloud: &Cloud, inputs: &[PathBuf]) -> Result<()> {
    let unit = unit_of(cloud.crs.as_ref());
    let is_off =
        |i: &usize| (cloud.x[*i] * unit).abs() > 360.0 || (cloud.y[*i] * unit).abs() > 90.0;
    let Some(found) = (0..cloud.x.len()).find(is_off) else { return Ok(()) };
    let (x, y) = (cloud.x[found], cloud.y[found]);
    let mut before = 0;
    for (path, tally) in inputs.iter().zip(&cloud.tallies) {
        let kept = tally.kept as usize;
        if found < before + kept {
            bail!(
                "{}: point {} at ({x}, {y}) is not on the globe: longitudes are from -360 to 360, latitudes from -90 to 90 \
                 (see --columns and --crs)",
                path.display(),
                found - before,
            );
        }
        before += kept;
    }
    Ok(())
}

/// Degrees of a unit of longitudes and latitudes.
fn unit_of(crs: Option<&Crs>) -> f64 {
    crs.and_then(Crs::degrees_per_unit).unwrap_or(1.0)
}

/// Whether longitudes and latitudes in units of so many degrees are some, but for a rounding.
fn on_globe(b: &Bounds, unit: f64) -> bool {
    let (longitude, latitude) = ((360.0 + 1e-6) / unit, (90.0 + 1e-6) / unit);
    b.min_x >= -longitude && b.max_x <= longitude && b.min_y >= -latitude && b.max_y <= latitude
}

/// Polygons of a file beside points.
pub struct Beside<'a> {
    /// The file of the polygons.
    pub path: &'a Path,
    /// The system that it states.
    pub stated: Option<&'a Crs>,
    /// What its polygons lie between.
    pub bounds: Bounds,
    /// The system of the points.
    pub points: Option<&'a Crs>,
    /// Whether some polygon reaches the points' rectangle.
    pub meets: bool,
}

impl Beside<'_> {
    /// What to say of both systems.
    ///
    /// # Errors
    /// Two systems that are known and differ, and polygons of no globe beside points on one. A GeoJSON file that states
    /// none has longitudes and latitudes (RFC 7946), unless its coordinates lie among the points, or out of the range
    /// of degrees.
    pub fn notes(&self) -> Result<Vec<String>> {
        let (path, meets) = (self.path.display(), self.meets);
        let mut notes = Vec::new();
        match (self.stated, self.points) {
            (Some(own), Some(points)) => ensure!(
                own.same_as(points),
                "{path} is in {own}, but the points are in {points}: project one of them, as by {}",
                projecting_to(points)
            ),
            (Some(own), None) => notes.push(format!(
                "{path} is in {own}, and the points name no coordinate system: taken as the same"
            )),
            (None, Some(points)) if !points.is_geographic() => {
                ensure!(
                    meets || !on_globe(&self.bounds, 1.0),
                    "{path} names no coordinate system, so its coordinates are longitudes and \
                     latitudes, but the points are in {points}: project one of them, as by {}",
                    projecting_to(points)
                );
                notes.push(format!(
                    "{path} names no coordinate system: taken as that of the points, {points}"
                ));
            }
            (None, Some(points)) => {
                let unit = points.degrees_per_unit().unwrap_or(1.0);
                ensure!(
                    unit == 1.0,
                    "{path} names no coordinate system, so its coordinates are degrees, but a \
                     unit of {points} is {unit} degrees: convert the points to another system, as \
                     by ogr2ogr -t_srs EPSG:4326"
                );
            }
            (None, None) => {}
        }
        let is_geographic = self.points.is_some_and(Crs::is_geographic);
        ensure!(
            !is_geographic || on_globe(&self.bounds, unit_of(self.points)),
            "{path} has polygons from {}, beyond longitudes from -360 to 360 degrees or latitudes \
             from -90 to 90, but the points are in degrees: a position is [longitude, latitude]",
            self.bounds
        );
        if !meets {
            notes.push(format!("no polygon of {path} reaches the rectangle of the points"));
        }
        Ok(notes)
    }
}

/// Returns a command that projects to a system. It names the system only by a code, which the command takes.
fn projecting_to(crs: &Crs) -> String {
    match crs.epsg() {
        Some(code) => format!("ogr2ogr -t_srs EPSG:{code}"),
        None => "ogr2ogr -t_srs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polygons on the Moon have no other form than those on the Earth, and to count points takes no distances.
    #[test]
    fn polygons_without_a_system_lie_on_the_body_of_the_points() {
        let moon = r#"GEOGCS["Moon",DATUM["D_Moon",SPHEROID["Moon",1737400,0]],PRIMEM["R",0],UNIT["degree",0.0174532925199433]]"#;
        let moon = Crs::from_wkt(moon).unwrap();
        let bounds = Bounds::of(&[1.0, 3.0], &[40.0, 50.0]).unwrap();
        let path = Path::new("polygons.geojson");
        let beside = Beside { path, stated: None, bounds, points: Some(&moon), meets: true };
        assert!(beside.notes().unwrap().is_empty());
    }

    #[test]
    fn advice_to_project_names_only_a_system_that_has_a_code() {
        let own = r#"PROJCS["Own",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",8],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]"#;
        let (own, coded) = (Crs::from_wkt(own).unwrap(), Crs::parse("EPSG:26910").unwrap());
        let degrees = Crs::parse("EPSG:4326").unwrap();
        let bounds = Bounds::of(&[1.0, 3.0], &[40.0, 50.0]).unwrap();
        let path = Path::new("polygons.geojson");
        for (points, command) in [(&own, "ogr2ogr -t_srs"), (&coded, "ogr2ogr -t_srs EPSG:26910")] {
            for stated in [None, Some(&degrees)] {
                let points = Some(points);
                let beside = Beside { path, stated, bounds, points, meets: false };
                let error = beside.notes().unwrap_err().to_string();
                assert!(error.ends_with(&format!("as by {command}")), "{error}");
            }
        }
    }
}
