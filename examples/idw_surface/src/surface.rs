//! Options of the surface: its cells, and how a cell comes to its value.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use geo_io::Crs;
use gpu_core::Shortest;
use gpu_core::parallel::{self, FINE};
use idw::{Adaptive, Kernel, KernelShape, Params, Surface};
use programs::args::{
    Columns, Extent, HEIGHT, PointArgs, Size, distance, distance_or_0, positive, whole,
};
use programs::edges::CellsBy;
use programs::mercator::note_on_lengths;
use programs::units::{note_on_degrees, require_degrees};
use serde::{Deserialize, Serialize};

use crate::kriging::{self, KrigingArgs};

/// Options of the surface.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Surface")]
pub struct SurfaceArgs {
    /// Side of a cell, in the units of the coordinates [default: about 512 cells along the longer side]
    #[arg(long, value_parser = positive, conflicts_with = "size")]
    pub resolution: Option<f64>,
    /// Cells across and down; with --bounds they fill these exactly, and must come out square
    #[arg(long, value_name = "WxH")]
    pub size: Option<Size>,
    /// A point's weight is 1 / distance^POWER [default: 2, or the best with --cross-validate]
    #[arg(long, value_parser = positive)]
    pub power: Option<f64>,
    /// Derive the power of each cell from the pattern of the points around it (Lu and Wong 2008)
    #[arg(long, conflicts_with_all = ["power", "radius", "max_points", "per_quadrant"])]
    pub adaptive: bool,
    /// A point's weight is a function of its distance over --bandwidth, in place of a power. The surface is smooth,
    /// and does not pass through its points (Nadaraya 1964, Watson 1964)
    #[arg(long, value_name = "NAME", value_enum, requires = "bandwidth",
        conflicts_with_all = ["power", "adaptive", "smoothing", "variogram"])]
    pub kernel: Option<KernelName>,
    /// The distance at which the function of --kernel ends, or the standard deviation of the Gaussian; in metres with
    /// --geographic
    #[arg(long, value_name = "DISTANCE", value_parser = distance, requires = "kernel",
        conflicts_with_all = ["power", "adaptive", "smoothing", "variogram"])]
    pub bandwidth: Option<f64>,
    /// Smoothing: a distance becomes sqrt(distance^2 + SMOOTHING^2)
    #[arg(long, default_value_t = 0.0, value_parser = distance_or_0)]
    pub smoothing: f64,
    /// Only points within this distance count [default: all]; in metres with --geographic
    #[arg(long, value_parser = radius)]
    pub radius: Option<f64>,
    /// Only this many points count, the nearest ones [default: all]
    #[arg(long, value_name = "K", value_parser = whole(0..=u32::MAX))]
    pub max_points: Option<u32>,
    /// A cell with fewer points is NODATA
    #[arg(long, value_name = "M", default_value_t = 0, value_parser = whole(0..=u32::MAX))]
    pub min_points: u32,
    /// At least A and at most B points of each quadrant around a cell; B 0 for no limit
    #[arg(long, value_name = "A,B")]
    pub per_quadrant: Option<Quadrants>,
    /// x and y are degrees of longitude and latitude; distances are great circles
    #[arg(long)]
    pub geographic: bool,
    /// Write the standard deviation of the points that count for a cell, divided by their number, as a second band of a
    /// GeoTIFF; needs --max-points, --radius or --per-quadrant
    #[arg(long, conflicts_with = "variogram")]
    pub deviation: bool,
    /// Write the prediction error as a second band of a GeoTIFF. The program predicts each point from the others. A
    /// cell holds the root mean square of these errors, weighted like the values
    #[arg(long, conflicts_with_all = ["deviation", "variogram"])]
    pub prediction_error: bool,
    #[command(flatten)]
    pub kriging: KrigingArgs,
}

/// A function of u, the distance divided by the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelName {
    /// 1 up to the bandwidth
    Uniform,
    /// 1 - u
    Triangular,
    /// 1 - u^2
    Epanechnikov,
    /// (1 - u^2)^2, also called quartic
    #[value(alias = "quartic")]
    Biweight,
    /// (1 - u^2)^3
    Triweight,
    /// (1 - u^3)^3
    Tricube,
    /// exp(-u^2 / 2), which never ends: needs --radius, --max-points or --per-quadrant
    Gaussian,
}

impl KernelName {
    /// Returns the library's kernel function with a bandwidth.
    pub fn with(self, bandwidth: f64) -> Kernel {
        let shape = match self {
            Self::Uniform => KernelShape::Uniform,
            Self::Triangular => KernelShape::Triangular,
            Self::Epanechnikov => KernelShape::Epanechnikov,
            Self::Biweight => KernelShape::Biweight,
            Self::Triweight => KernelShape::Triweight,
            Self::Tricube => KernelShape::Tricube,
            Self::Gaussian => KernelShape::Gaussian,
        };
        Kernel::new(shape, bandwidth)
    }
}

/// The power where nothing says otherwise.
pub const DEFAULT_POWER: f64 = 2.0;

impl SurfaceArgs {
    /// Checks what clap cannot check.
    pub fn check(&self, bounds: Option<Extent>) -> Result<()> {
        self.kriging.require_a_fit_for_cutoff()?;
        ensure!(self.max_points != Some(0), "--max-points 0: a value needs a point");
        if let Some(most) = self.max_points.filter(|&most| most < self.min_points) {
            bail!("--min-points {} is above --max-points {most}", self.min_points);
        }
        let is_search =
            self.max_points.is_some() || self.reach().is_some() || self.per_quadrant.is_some();
        ensure!(
            is_search || self.kernel.is_none(),
            "--kernel gaussian reaches without limit: give --radius, --max-points or --per-quadrant"
        );
        ensure!(
            is_search || !self.deviation,
            "--deviation takes the points near a cell: give --max-points, --radius or \
             --per-quadrant"
        );
        if self.kriging.variogram.is_some() {
            kriging::check(self.max_points, self.min_points)?;
        }
        if let Some(extent) = bounds.filter(|_| self.geographic) {
            let b = extent.0;
            require_place(b.min_x, b.min_y).context("--bounds")?;
            require_place(b.max_x, b.max_y).context("--bounds")?;
        }
        Ok(())
    }

    /// The coordinate system, given by `--crs` or stated by the files; degrees are WGS 84 unless it says otherwise.
    ///
    /// # Errors
    /// `--geographic` with a system whose coordinates are not degrees.
    pub fn crs(&self, given: Option<Crs>, stated: Option<&Crs>) -> Result<Option<Crs>> {
        let from = if given.is_some() { "--crs gives" } else { "the files are in" };
        match given.or_else(|| stated.cloned()) {
            None if self.geographic => Ok(Some(Crs::parse("EPSG:4326")?)),
            Some(crs) if self.geographic && !crs.is_geographic() => bail!(
                "--geographic takes x and y for degrees, but {from} {crs}, which is not in \
                 degrees: leave out --geographic, or give the --crs of the coordinates"
            ),
            crs => {
                require_degrees("--geographic", crs.as_ref().filter(|_| self.geographic))?;
                Ok(crs)
            }
        }
    }

    /// The coordinate system of the result: that of [`SurfaceArgs::crs`]. If the values are those of a column other than
    /// z, the result does not state the vertical part of the files' system.
    ///
    /// # Errors
    /// The errors of [`SurfaceArgs::crs`].
    pub fn crs_of_result(&self, points: &PointArgs, stated: Option<&Crs>) -> Result<Option<Crs>> {
        let are_heights = points.columns.names().z.eq_ignore_ascii_case(HEIGHT);
        let flat = stated.filter(|_| !are_heights).map(Crs::without_heights);
        self.crs(points.crs()?, flat.as_ref().or(stated))
    }

    /// Notes on distances that are not those on the ground, for points between two values of y.
    pub fn notes_on_distances(
        &self,
        crs: Option<&Crs>,
        columns: &Columns,
        ys: [f64; 2],
    ) -> impl Iterator<Item = String> {
        let notes = [self.note_on_degrees(crs, columns), self.note_on_lengths(crs, ys)];
        notes.into_iter().flatten()
    }

    /// Returns a note where the program treats degrees as coordinates on a plane. If the points have no system, the
    /// names of their columns may say that they are in degrees.
    fn note_on_degrees(&self, crs: Option<&Crs>, columns: &Columns) -> Option<String> {
        let of_names = || Crs::parse("EPSG:4326").ok().filter(|_| columns.are_degrees());
        let crs = crs.cloned().or_else(of_names);
        let crs = crs.as_ref();
        let note = note_on_degrees(crs).filter(|_| !self.geographic)?;
        let is_plane = self.kriging.variogram.is_some() || require_degrees("", crs).is_err();
        let else_ =
            if is_plane { "project the points first" } else { "--geographic takes great circles" };
        Some(format!("{note}; {else_}"))
    }

    /// Returns a note if a distance that an option gives, or that a variogram fits, is not one on the ground between two
    /// values of y.
    fn note_on_lengths(&self, crs: Option<&Crs>, ys: [f64; 2]) -> Option<String> {
        let has_length = self.reach().is_some() || self.kriging.variogram.is_some();
        let note = || note_on_lengths("the search's distances", crs, ys);
        (has_length && !self.geographic).then(note).flatten()
    }

    /// The option that gives the surface its cells, of which this is the side.
    pub fn cells_by(&self, cell: f64) -> CellsBy<'static> {
        self.size.map_or(CellsBy::Resolution(cell), CellsBy::Size)
    }

    /// What the second band is called, where there is one.
    pub fn second_band(&self) -> Option<&'static str> {
        let variance = self.kriging.variance.then_some("variance");
        let of_points = self.prediction_error.then_some("prediction-error");
        variance.or(self.deviation.then_some("deviation")).or(of_points)
    }

    /// How many searches lead to a cell, one after the other: predicting a point needs the point's own neighbours.
    pub fn depth(&self) -> u32 {
        1 + u32::from(self.prediction_error)
    }

    /// The kernel function, with its bandwidth.
    pub fn kernel(&self) -> Option<Kernel> {
        self.kernel.zip(self.bandwidth).map(|(name, bandwidth)| name.with(bandwidth))
    }

    /// The kernel function in words.
    pub fn kernel_text(&self) -> Option<String> {
        let (name, bandwidth) = self.kernel.zip(self.bandwidth)?;
        let value = name.to_possible_value()?;
        Some(format!("{}, bandwidth {}", value.get_name(), Shortest(bandwidth)))
    }

    /// The distance up to which points count: by `--radius`, or where the kernel function ends.
    pub fn reach(&self) -> Option<f64> {
        let end = self.kernel().filter(|kernel| kernel.shape.ends());
        self.radius.or(end.map(|kernel| kernel.bandwidth))
    }

    /// The parameters of the interpolation, with this power.
    pub fn params(&self, power: f64) -> Params {
        let radius = self.reach().unwrap_or(0.0);
        let quadrants = self.per_quadrant.unwrap_or(Quadrants { min: 0, max: 0 });
        Params::default()
            .power(power)
            .smoothing(self.smoothing)
            .radius(radius)
            .max_points(self.max_points.unwrap_or(0))
            .min_points(self.min_points)
            .min_points_per_quadrant(quadrants.min)
            .max_points_per_quadrant(quadrants.max)
            .geographic(self.geographic)
            .adaptive(self.adaptive.then(Adaptive::default))
            .kernel(self.kernel())
            .statistics(self.deviation)
    }
}

/// Returns the names of the values' band and of a second band. A file of one band has no names.
pub fn bands(second: Option<&str>) -> Vec<String> {
    match second {
        None => vec![String::new()],
        Some(second) => vec!["value".to_owned(), second.to_owned()],
    }
}

/// Returns the bands of a surface: its values, and the deviations if the run computed them. A cell without a value has
/// no deviation: the points that were found do not count for it.
pub fn bands_of(surface: Surface<f32>, deviation: bool) -> Vec<Vec<f32>> {
    let statistics = surface.statistics.filter(|_| deviation);
    let deviation = statistics.map(|statistics| statistics.deviation);
    let mut bands: Vec<Vec<f32>> = surface.values.into_iter().take(1).chain(deviation).collect();
    if let [values, deviation] = &mut bands[..] {
        parallel::for_each(deviation, FINE, |i, v| {
            *v = if values[i].is_nan() { f32::NAN } else { *v }
        });
    }
    bands
}

/// Refuses degrees out of the range of longitudes and latitudes, as sphere-qtm's `LonLat` does.
pub fn require_place(longitude: f64, latitude: f64) -> Result<()> {
    ensure!(
        (-90.0..=90.0).contains(&latitude),
        "latitude {latitude} is beyond the pole (--geographic takes x for longitude and y for latitude)"
    );
    let is_known = (-360.0..=360.0).contains(&longitude);
    ensure!(is_known, "longitude {longitude} is not from -360 to 360");
    Ok(())
}

/// `--radius`.
fn radius(text: &str) -> Result<f64, String> {
    distance(text).map_err(|reason| format!("{reason}; leave out --radius to use all points"))
}

/// `--per-quadrant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quadrants {
    /// The fewest.
    pub min: u32,
    /// The most; 0 for no limit.
    pub max: u32,
}

impl FromStr for Quadrants {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (min, max) = text.split_once(',').ok_or("expected two numbers, such as 1,4")?;
        let number = whole(0..=u32::MAX);
        let (min, max) = (number(min)?, number(max)?);
        match max == 0 || min <= max {
            true => Ok(Self { min, max }),
            false => Err(format!("the minimum {min} is above the maximum {max}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrants_are_parsed_and_refused() {
        assert_eq!("1, 4".parse(), Ok(Quadrants { min: 1, max: 4 }));
        assert_eq!("2,0".parse(), Ok(Quadrants { min: 2, max: 0 }));
        for bad in ["", "1", "5,4", "a,b", "1,2,3"] {
            assert!(bad.parse::<Quadrants>().is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn geographic_and_a_system_without_degrees_contradict_each_other() {
        use clap::Parser;
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            surface: SurfaceArgs,
        }
        let of = |args: &[&str], given: Option<&str>, stated: Option<&str>| {
            let line = Line::parse_from([&["x"], args].concat());
            let [given, stated] = [given, stated].map(|text| text.map(|t| Crs::parse(t).unwrap()));
            let crs = line.surface.crs(given, stated.as_ref()).map_err(|error| error.to_string());
            crs.map(|crs| crs.map(|crs| crs.to_string()))
        };
        let named = |text: &str| Ok(Some(text.to_owned()));
        let [degrees, utm] = [Some("EPSG:4269"), Some("EPSG:26910")];
        assert_eq!(of(&["--geographic"], None, None), named("EPSG:4326"));
        assert_eq!(of(&["--geographic"], None, degrees), named("EPSG:4269"));
        assert_eq!(of(&["--geographic"], degrees, utm), named("EPSG:4269"));
        assert_eq!(of(&[], degrees, utm), named("EPSG:4269"));
        assert_eq!(of(&[], None, utm), named("EPSG:26910"));
        let error = of(&["--geographic"], utm, None).unwrap_err();
        assert!(error.contains("--geographic") && error.contains("--crs gives EPSG:26910"));
        let error = of(&["--geographic"], None, utm).unwrap_err();
        assert!(error.contains("the files are in EPSG:26910"), "{error}");
    }
}
