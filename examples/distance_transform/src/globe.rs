//! Distances on the globe.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use geo_io::{Crs, Georeference};
use gpu_core::{Device, Progress, Shortest};
use pba_voronoi::{
    AUTHALIC_RADIUS, Diagram, EARTH_RADIUS, Error, Globe, Input, Params, geodesic_on_ellipsoid,
};
use programs::args::fraction;
use programs::mercator::note_on_lengths_of;
use programs::report::Report;
use programs::units::{note_on_degrees, other_body};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How distances are measured on the globe.
#[derive(clap::Args, Debug)]
pub struct GlobeArgs {
    /// Measure along great circles, in metres: of a mask in longitude and latitude, over the poles and across the
    /// antimeridian too
    #[arg(long, conflicts_with = "spacing")]
    pub geodesic: bool,
    /// The radius of the sphere of --geodesic in metres, `mean` for 6371008.8, or `authalic` for that of the sphere
    /// with the Earth's area, 6371007.181. On each of these spheres, latitudes are the mask's own [default: mean]
    #[arg(long, value_name = "R", value_parser = radius, requires = "geodesic", conflicts_with = "spacing")]
    pub radius: Option<f64>,
    /// With --geodesic: measure along geodesics on the WGS 84 ellipsoid. Sites and distances are the nearest there;
    /// directions stay those of the great circle, up to 0.2 degrees off. It takes microseconds for each pixel, on the
    /// CPU
    #[arg(long, requires = "geodesic", conflicts_with_all = ["radius", "spacing"])]
    pub ellipsoid: bool,
}

/// A radius, by number or name.
fn radius(text: &str) -> Result<f64, String> {
    match text {
        "mean" => Ok(EARTH_RADIUS),
        "authalic" => Ok(AUTHALIC_RADIUS),
        _ => number_of_radius(text).map_err(|error| format!("{error}; or mean, or authalic")),
    }
}

/// A radius, by number: 0, which is refused later on, or one that distances can be computed with.
fn number_of_radius(text: &str) -> Result<f64, String> {
    let value = fraction(text)?;
    let is_good = value == 0.0 || (1e-30..=1e38).contains(&value);
    if is_good { Ok(value) } else { Err(format!("{text} is not from 1e-30 to 1e38")) }
}

/// Returns a note for a mask in longitude and latitude whose distances are computed on a plane.
pub fn note_on_plane(crs: Option<&Crs>) -> Option<String> {
    let crs = crs.filter(|crs| crs.is_geographic())?;
    let radius = other_body(crs).map(|radius| format!(" --radius {}", Shortest(radius)));
    let radius = radius.unwrap_or_default();
    Some(format!(
        "the mask lies in longitude and latitude: --geodesic{radius} gives distances along great circles, in metres"
    ))
}

/// Returns notes for a mask whose pixels have sides in coordinates that are no lengths on the ground.
pub fn notes_on_lengths(
    place: Option<&Georeference>,
    size: (u32, u32),
) -> impl Iterator<Item = String> {
    let of_degrees = note_on_degrees(place.and_then(|place| place.crs.as_ref()));
    let of_metres = place.and_then(|place| note_on_lengths_of("distances", place, size));
    of_degrees.into_iter().chain(of_metres)
}

/// Where a mask lies on the globe, and on what figure distances are measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnGlobe {
    corner: [f64; 2],
    sides: [f64; 2],
    radius: f64,
    pub ellipsoid: bool,
}

impl OnGlobe {
    /// Returns the globe that the command line gives, or `None` if distances are on the plane. `notes` may say why
    /// the mask has no place.
    pub fn of(
        args: &GlobeArgs,
        mask: &Path,
        place: Option<&Georeference>,
        notes: &[String],
    ) -> Result<Option<Self>> {
        if !args.geodesic {
            return Ok(None);
        }
        let mask = mask.display();
        let place = place.with_context(|| match notes {
            [] => format!("--geodesic: {mask} does not say where it lies"),
            notes => notes.join("; "),
        })?;
        // Grads in some systems.
        let unit = match &place.crs {
            Some(crs) => crs.degrees_per_unit().with_context(|| {
                format!(
                    "--geodesic: {mask} lies in {crs}, on a plane: measure there with --spacing \
                     georeference, or convert it to longitudes and latitudes with gdalwarp -t_srs \
                     EPSG:4326"
                )
            })?,
            None => 1.0,
        };
        let globe = Globe::of_geotransform(place.transform.map(|number| number * unit));
        let globe = globe.with_context(|| {
            format!("--geodesic: the rows of {mask} do not run along parallels: gdalwarp -t_srs EPSG:4326 makes it north up")
        })?;
        let body = place.crs.as_ref().and_then(other_body).map(Shortest);
        if let (Some(radius), true) = (body, args.ellipsoid) {
            bail!(
                "--ellipsoid: {mask} lies on a body with a radius of {radius} m, but WGS 84 is an \
                 ellipsoid of the Earth"
            );
        }
        if let (Some(radius), false) = (body, args.radius.is_some()) {
            bail!(
                "--geodesic: {mask} lies on a body with a radius of {radius} m: give --radius \
                 {radius}"
            );
        }
        let radius = args.radius.unwrap_or(globe.radius);
        ensure!(radius > 0.0, "--radius must be above 0; got {}", Shortest(radius));
        let Globe { corner, sides, .. } = globe;
        Ok(Some(Self { corner, sides, radius, ellipsoid: args.ellipsoid }))
    }

    /// Where it lies.
    pub fn globe(&self) -> Globe {
        Globe::new(self.corner, self.sides).radius(self.radius)
    }

    /// Refuses a raster that has no distances on the globe in tiles.
    pub fn require_tiles(&self, mask: &Path, (width, height): (u32, u32)) -> Result<()> {
        let mask = mask.display();
        let has_pole = self.globe().has_pole(width, height);
        let has_pole = has_pole.map_err(|error| anyhow!("--geodesic: {mask}: {error}"))?;
        ensure!(
            !has_pole,
            "--geodesic: the first or the last row of {mask} lies at a pole, where a tile cannot \
             choose among equally near sites: run distance_transform without plan"
        );
        Ok(())
    }

    /// The distances along great circles, or geodesics of the ellipsoid.
    pub fn transform(
        &self,
        device: &Device,
        mask: &Path,
        input: &Input<'_>,
        params: &Params,
        progress: &dyn Progress,
    ) -> Result<Diagram> {
        let found = match self.ellipsoid {
            true => geodesic_on_ellipsoid(input, &self.globe(), params, progress),
            false => {
                pba_voronoi::geodesic(device.with_progress(progress), input, &self.globe(), params)
            }
        };
        found.map_err(|error| match error {
            Error::Globe { .. } => anyhow!("--geodesic: {}: {error}", mask.display()),
            _ => error.into(),
        })
    }

    /// Says how distances are measured.
    pub fn report(&self, report: &mut Report) {
        if self.ellipsoid {
            report.line("ellipsoid", "WGS 84: distances are in metres along geodesics");
            report.field("ellipsoid", "WGS 84");
            return;
        }
        report.line(
            "sphere",
            format_args!("radius {} m: distances are in metres along great circles", self.radius),
        );
        report.field("sphere", json!({"radius": self.radius}));
    }
}
