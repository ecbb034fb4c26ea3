//! Distances on the globe.

use anyhow::{Context, Result, anyhow, bail};
use geo_io::Georeference;
use gpu_core::{Device, Grid, Progress};
use pba_voronoi::{Diagram, Error, Globe, Input, ellipsoidal_distances};
use programs::report::Report;
use programs::units::other_body;
use rayon::prelude::*;
use serde_json::json;

use crate::args::Args;

/// What is to be said of a mask in degrees whose distances are those of a plane.
pub const NOTE: &str = "the mask lies in longitude and latitude: --geodesic gives distances along great circles, in metres";

/// Where the mask lies on the globe. `notes` may say why it has no place.
pub fn of(args: &Args, place: Option<&Georeference>, notes: &[String]) -> Result<Globe> {
    let mask = args.mask.display();
    let place = place.with_context(|| match notes {
        [] => format!("--geodesic: {mask} does not say where it lies"),
        notes => notes.join("; "),
    })?;
    // Grads in some systems.
    let unit = match &place.crs {
        Some(crs) => crs.degrees_per_unit().with_context(|| {
            format!(
                "--geodesic: {mask} lies in {crs}, on a plane: there --spacing georeference measures, or \
                 gdalwarp -t_srs EPSG:4326 gives longitudes and latitudes"
            )
        })?,
        None => 1.0,
    };
    let globe = Globe::of_geotransform(place.transform.map(|number| number * unit));
    let globe = globe.with_context(|| {
        format!("--geodesic: the rows of {mask} are not parallels: gdalwarp -t_srs EPSG:4326 makes it north up")
    })?;
    match args.radius {
        Some(radius) if radius <= 0.0 => bail!("--radius must be above 0; got {radius}"),
        Some(radius) => Ok(globe.radius(radius)),
        None => {
            if let Some(radius) = place.crs.as_ref().and_then(other_body) {
                bail!(
                    "--geodesic: {mask} is of a body with a radius of {radius} m: give --radius {radius}"
                );
            }
            Ok(globe)
        }
    }
}

/// The distances along great circles, or geodesics of the ellipsoid.
pub fn transform(
    args: &Args,
    device: &Device,
    input: &Input<'_>,
    globe: &Globe,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let params = crate::params(args);
    let found = pba_voronoi::geodesic(device.with_progress(progress), input, globe, &params);
    let mut diagram = found.map_err(|error| match error {
        Error::Globe { .. } => anyhow!("--geodesic: {}: {error}", args.mask.display()),
        _ => error.into(),
    })?;
    if let (true, Some(nearest)) = (args.ellipsoid, &diagram.nearest) {
        progress.at("ellipsoid", 0.0)?;
        diagram.distance = None;
        let metres = ellipsoidal_distances(nearest, globe)?;
        let single = metres.values().par_iter().map(|&metres| metres as f32).collect();
        diagram.distance = Some(Grid::new(single, diagram.grid)?);
    }
    Ok(diagram)
}

/// Says how distances were measured.
pub fn report(report: &mut Report, globe: &Globe, is_ellipsoid: bool) {
    if is_ellipsoid {
        report.line("ellipsoid", "WGS 84: distances are in metres along geodesics");
        report.field("ellipsoid", "WGS 84");
        return;
    }
    report.line(
        "sphere",
        format_args!("radius {} m: distances are in metres along great circles", globe.radius),
    );
    report.field("sphere", json!({"radius": globe.radius}));
}
