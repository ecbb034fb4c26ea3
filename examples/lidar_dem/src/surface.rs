//! How the surface through the points is made, and how far away points count.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Args;
use geo_io::Crs;
use gpu_core::{Shortest, ValueRange};
use nni_grid::{Duplicates, Fill, Method, Params, Weights};
use programs::args::{Given, HEIGHT, Size, number, positive, value_name, whole};
use programs::cloud::Cloud;
use programs::edges::CellsBy;

use crate::above::Floor;
use crate::dsm::keep_highest;
use crate::lattice::Lattice;
use crate::layer::{ABOVE, Layer};

/// How the surface through the points is made.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Surface")]
pub struct SurfaceArgs {
    /// The options of the command line.
    #[command(flatten)]
    pub given: Given,
    /// Side of a DEM cell, in ground units [default: 1, in feet 3, in degrees none]
    #[arg(long, value_parser = positive)]
    pub resolution: Option<f64>,
    /// Divide --bounds into this many columns and rows of square cells; their edges then need not be multiples of the
    /// side
    #[arg(long, value_name = "WxH")]
    pub size: Option<Size>,
    /// Give the result the cells of this raster (place, side and number), and its coordinate system if the points name
    /// none. The raster's cells must be square, and its rows run east, the northernmost first
    #[arg(long, value_name = "RASTER", conflicts_with_all = ["resolution", "size", "bounds"])]
    pub template: Option<PathBuf>,
    /// The largest distance from the nearest point at which ground has a height, in DEM cells ("inf": everywhere);
    /// farther ground is NODATA. All natural neighbours count for a height, however far away they are
    #[arg(long, value_name = "CELLS", default_value_t = 10.0, value_parser = number)]
    pub max_distance: f64,
    /// Leave out cells outside the convex hull of the points
    #[arg(long)]
    pub hull: bool,
    /// Values to interpolate, separated by commas; each is a band of a GeoTIFF: z for the heights, fields of LAS files,
    /// or columns of tables by name or number. The fields are intensity, return, returns, class, scan_angle, user_data,
    /// source, gps_time, red, green, blue and nir. Hillshade, relief, slope and contours show the first value
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = HEIGHT, value_parser = value_name)]
    pub value: Vec<String>,
    /// What ground without a height holds: nodata, nearest (the height of the nearest point), or a number
    #[arg(long, value_name = "nodata|nearest|VALUE", default_value = "nodata", value_parser = fill)]
    pub fill: Fill,
    /// Further bands of a GeoTIFF, separated by commas: count, distance or neighbours. Count is how many points lie in
    /// each cell; with --dsm too, which makes the surface of one of them. Distance is from a cell's centre to the nearest
    /// point of the surface, in the coordinates' units, up to --max-distance. Neighbours is how many natural neighbours a
    /// height has; not with --method pixels
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub layer: Vec<Layer>,
    /// Make the surface of the highest points: in each cell only the highest point counts, at its own place. Natural
    /// neighbours fill cells without a point
    #[arg(long)]
    pub dsm: bool,
    /// Give heights above this raster (.tif, .vrt, .asc, .zarr), such as the ground: the program subtracts the raster's
    /// value at the centre of each cell (bilinear). Cells where the raster has no value are NODATA. Such heights have no
    /// vertical datum, so the result states none
    #[arg(long, value_name = "RASTER")]
    pub above: Option<PathBuf>,
    /// Lines that no triangle crosses, such as ridges, banks and walls: GeoJSON, FlatGeobuf (.fgb), GeoParquet
    /// (.parquet), GeoPackage (.gpkg) or Shapefile (.shp). Points along a line become sites, at most a cell apart; a
    /// line without heights takes its heights from the points. A cell nearer to a line than half its side may have
    /// natural neighbours on both sides
    #[arg(long, value_name = "LINES")]
    pub breaklines: Option<PathBuf>,
    /// Leave cells outside these polygons without a value, in all bands: GeoJSON, FlatGeobuf (.fgb), GeoParquet (.parquet), GeoPackage (.gpkg)
    /// or Shapefile (.shp). A cell is inside if its centre is. Points count wherever they lie
    #[arg(long, value_name = "POLYGONS")]
    pub within: Option<PathBuf>,
    /// How natural neighbours are found: exact (by geometry) or pixels (by a raster). Pixels lie beyond the DEM with
    /// --bounds alone, so heights at the border depend on that option
    #[arg(long, value_name = "NAME", default_value = "exact")]
    pub method: Method,
    /// The weights of natural neighbours: sibson, laplace, or c1 (smooth). With --method pixels, laplace and c1 need
    /// --query-radius inf. Or linear: heights lie on the plane of the Delaunay triangle (a TIN)
    #[arg(long, value_name = "NAME", default_value = "sibson")]
    pub weights: Weights,
    /// The height of several points at one place (with --method pixels, in one pixel): mean, min, max, first or last
    #[arg(long, value_name = "POLICY", default_value = "mean")]
    pub duplicates: Duplicates,
    /// With --method pixels: how far from a DEM cell pixels count for it, in DEM cells; "inf" for no limit. In gaps
    /// wider than twice this, heights differ from natural neighbour interpolation. With "inf", heights near the border
    /// of --bounds depend on --max-distance [default: 3 with weights sibson, inf with others]
    #[arg(long, value_name = "CELLS", value_parser = number)]
    pub query_radius: Option<f64>,
    /// With --method pixels: how far from a point cells use it, in DEM cells, as in the paper. The surface has a step
    /// where a cell loses a natural neighbour by this limit [default: inf]
    #[arg(long, value_name = "CELLS", value_parser = number)]
    pub region_of_influence: Option<f64>,
    /// With --method pixels: pixels along the side of a DEM cell, 1 to 8; more is more accurate and slower
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u32::MAX))]
    pub supersample: u32,
    /// An option of earlier versions
    #[arg(long, hide = true, allow_hyphen_values = true)]
    pub site_radius: Option<String>,
}

/// How far a DEM cell looks on pixels where no radius is given.
const DEFAULT_QUERY_RADIUS: f64 = 3.0;

/// If there is no query radius, points count as far away beyond this many times the largest distance of ground with a
/// height.
const WIDE: f64 = 10.0;

/// The width of the halo that the exact method reads first: a multiple of the largest distance of ground with a height,
/// and the least number of cells.
const HALO: (f64, f64) = (3.0, 16.0);

/// The names of values other than heights, which every point has.
pub fn further(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| *name != HEIGHT).cloned().collect()
}

/// What `--fill` says.
pub fn fill(text: &str) -> Result<Fill, String> {
    let value = |text: &str| {
        let value = text.trim().parse::<f32>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| {
            format!("\"{text}\" is not nodata, nearest or a number that f32 can hold")
        })
    };
    match text {
        "nodata" => Ok(Fill::Nodata),
        "nearest" => Ok(Fill::Nearest),
        _ => value(text).map(Fill::Value),
    }
}

impl SurfaceArgs {
    /// The coordinate system of the result: the points', without a vertical datum for heights above a ground, and
    /// without heights for other values.
    pub fn crs_of_result(&self, points: Option<&Crs>) -> Option<Crs> {
        match self.above {
            Some(_) => points.map(Crs::of_relative_heights),
            None if !self.has_heights() => points.map(Crs::without_heights),
            None => points.cloned(),
        }
    }

    /// Opens the raster that heights are above, and reads no values.
    ///
    /// # Errors
    /// The errors of [`Floor::open`].
    pub fn floor(&self) -> Result<Option<Floor>> {
        self.above.as_deref().map(Floor::open).transpose()
    }

    /// Checks what clap cannot check.
    pub fn check(&self) -> Result<()> {
        if let Some(cells) = &self.site_radius {
            bail!(
                "--site-radius {cells}: this program no longer has this option. --max-distance \
                 {cells} says how far from the nearest point ground has a height; all natural \
                 neighbours count, however far away"
            );
        }
        let distance = Shortest(self.max_distance);
        ensure!(distance.0 >= 0.0, "--max-distance must be 0 or more; got {distance}");
        let on_pixels = [
            ("--query-radius", self.query_radius),
            ("--region-of-influence", self.region_of_influence),
        ];
        for (name, radius) in on_pixels {
            let Some(radius) = radius.map(Shortest) else { continue };
            ensure!(radius.0 > 0.0, "{name} must be above 0; got {radius}");
            ensure!(
                self.method == Method::Pixels,
                "{name} {radius} belongs to --method pixels: the exact method takes all natural \
                 neighbours; --max-distance says how far from the nearest point ground has a height"
            );
        }
        let s = self.supersample;
        let most = nni_grid::MAX_SUPERSAMPLE;
        ensure!((1..=most).contains(&s), "--supersample {s} is not from 1 to {most}");
        let on_pixels = [("--method pixels", self.method == Method::Pixels)];
        self.given.require_owner("--supersample", &on_pixels)?;
        for (i, name) in self.value.iter().enumerate() {
            ensure!(
                !name.trim().is_empty(),
                "--value has an empty name: give names separated by commas"
            );
            ensure!(!self.value[..i].contains(name), "--value has {name} twice: name it once");
        }
        if let Some(path) = &self.above {
            let path = path.display();
            ensure!(
                self.has_heights(),
                "--above {path} needs heights, but --value has none: add {HEIGHT} to --value"
            );
        }
        for (i, layer) in self.layer.iter().enumerate() {
            let name = layer.name();
            ensure!(!self.layer[..i].contains(layer), "--layer has {name} twice: name it once");
            ensure!(
                !self.value.iter().any(|value| value.eq_ignore_ascii_case(name)),
                "--layer {name} and --value {name} would be two bands with one name: give the \
                 column of --value by its number"
            );
        }
        ensure!(
            self.method == Method::Exact || !self.layer.contains(&Layer::Neighbours),
            "--layer neighbours belongs to --method exact: the method on pixels counts pixels, \
             not natural neighbours"
        );
        ensure!(
            self.method == Method::Exact || self.weights != Weights::Linear,
            "--weights linear belongs to --method exact: leave out --method pixels"
        );
        ensure!(
            self.method == Method::Exact || self.breaklines.is_none(),
            "--breaklines belongs to --method exact: leave out --method pixels"
        );
        let is_bounded = self.query_radius().is_finite();
        ensure!(
            self.method == Method::Exact || self.weights == Weights::Sibson || !is_bounded,
            "with --method pixels, --weights other than sibson need --query-radius inf"
        );
        let has_duplicates = !self.dsm || self.breaklines.is_some();
        ensure!(
            has_duplicates || !self.given.has("--duplicates"),
            "--duplicates has no effect with --dsm, which takes the highest point of each cell: leave out one of the two"
        );
        Ok(())
    }

    /// Returns the parameters for nni-grid, for values in a range if it is known.
    pub fn params(&self, range: Option<ValueRange>) -> Params {
        Params::new()
            .method(self.method)
            .max_distance(self.max_distance)
            .region_of_influence(self.region_of_influence())
            .query_radius(self.query_radius())
            .supersample(self.supersample)
            .duplicates(self.duplicates)
            .weights(self.weights)
            .hull(self.hull)
            .fill(self.fill_of_heights())
            .distances(self.layer.contains(&Layer::Distance))
            .counts(self.layer.contains(&Layer::Neighbours))
            .value_range(range)
    }

    /// Returns what the interpolation fills. Numbers wait until the ground is subtracted.
    fn fill_of_heights(&self) -> Fill {
        match (&self.above, self.fill) {
            (Some(_), Fill::Value(_)) => Fill::Nodata,
            (_, fill) => fill,
        }
    }

    /// The option that gives the DEM its cells, of which this is the side.
    pub fn cells_by(&self, cell: f64) -> CellsBy<'_> {
        match (self.size, &self.template) {
            (Some(size), _) => CellsBy::Size(size),
            (None, Some(path)) => CellsBy::Template(path),
            (None, None) => CellsBy::Resolution(cell),
        }
    }

    /// Leaves out the points that do not count. A second call changes nothing.
    pub fn choose(&self, cloud: &mut Cloud, lattice: &Lattice) {
        if self.dsm {
            keep_highest(cloud, lattice, self.layer.contains(&Layer::Count));
        }
    }

    /// The files that the program reads in addition to the points.
    pub fn read_beside(&self) -> impl Iterator<Item = &PathBuf> {
        self.template.iter().chain(&self.above).chain(&self.breaklines).chain(&self.within)
    }

    /// How many rasters of values there are.
    pub fn values(&self) -> usize {
        self.value.len()
    }

    /// Whether heights are among the values.
    pub fn has_heights(&self) -> bool {
        self.value.iter().any(|name| name == HEIGHT)
    }

    /// The values to read in addition to coordinates.
    pub fn further(&self) -> Vec<String> {
        further(&self.value)
    }

    /// The names of the bands of the result; heights alone have no name.
    pub fn bands(&self) -> Vec<String> {
        if self.layer.is_empty() && self.value == [HEIGHT] && self.above.is_none() {
            return vec![String::new()];
        }
        let value = |name: &String| match (&self.above, name == HEIGHT) {
            (Some(_), true) => ABOVE.to_owned(),
            _ => name.clone(),
        };
        let layers = self.layer.iter().map(|layer| layer.name().to_owned());
        self.value.iter().map(value).chain(layers).collect()
    }

    /// The value of a cell that no point reaches.
    pub fn empty_value(&self) -> f32 {
        match self.fill {
            Fill::Value(value) => value,
            _ => f32::NAN,
        }
    }

    /// The query radius of a DEM cell, in cells.
    pub fn query_radius(&self) -> f64 {
        let is_bounded = self.method == Method::Pixels && self.weights == Weights::Sibson;
        let other = if is_bounded { DEFAULT_QUERY_RADIUS } else { f64::INFINITY };
        self.query_radius.unwrap_or(other)
    }

    /// How far from a point cells use it, in cells.
    pub fn region_of_influence(&self) -> f64 {
        self.region_of_influence.unwrap_or(f64::INFINITY)
    }

    /// Returns the width of the halo that the exact method reads first, in cells. The method has yet to find the points
    /// farther away that cells depend on. Returns `None` if it can never find them, so that the program must read all
    /// points, and for the method on pixels.
    pub fn first_halo(&self) -> Option<f64> {
        let is_known = self.method == Method::Exact && self.endless().is_empty();
        is_known.then(|| (HALO.0 * self.max_distance).max(HALO.1).ceil() + 1.0)
    }

    /// Returns how far from a cell a point may lie and still show in its height, with the method on pixels. The
    /// distance is in cells, and infinite if there is no limit.
    ///
    /// If the [`reaches`](Self::reaches) are finite, no point beyond them counts. Without a query radius a point
    /// farther away counts only across a gap in the points that is wider than [`WIDE`] times the distance.
    pub fn reach_on_pixels(&self) -> f64 {
        if self.hull || self.fill == Fill::Nearest || self.site_reach().is_infinite() {
            f64::INFINITY
        } else if self.query_radius().is_infinite() {
            (WIDE * self.site_reach() + 1.0).ceil()
        } else {
            self.reach_within_radii()
        }
    }

    /// The options by which points reach everywhere.
    fn endless(&self) -> Vec<&'static str> {
        let is_on_pixels = self.method == Method::Pixels;
        let options = [
            ("--hull", self.hull),
            ("--fill nearest", self.fill == Fill::Nearest),
            ("--query-radius inf", is_on_pixels && self.query_radius().is_infinite()),
            ("--max-distance inf", self.site_reach().is_infinite()),
            ("--weights c1", self.weights == Weights::SibsonC1),
            // The pieces of a breakline depend on the points beside it along its whole length.
            ("--breaklines", self.breaklines.is_some()),
        ];
        options.into_iter().filter(|(_, is_so)| *is_so).map(|(name, _)| name).collect()
    }

    /// Returns the width of a tile's halo in cells, and the options that decide it.
    pub fn reaches(&self) -> Vec<(&'static str, f64)> {
        let endless = self.endless();
        if !endless.is_empty() {
            return endless.into_iter().map(|name| (name, f64::INFINITY)).collect();
        }
        vec![match self.first_halo() {
            Some(halo) => ("--max-distance", halo),
            None => ("--max-distance and --query-radius", self.reach_within_radii()),
        }]
    }

    /// Returns options that give points a finite reach, in place of the options that make it infinite.
    pub fn bounded(&self) -> Vec<&'static str> {
        let is_on_pixels = self.method == Method::Pixels;
        let is_wide = self.query_radius.is_some_and(f64::is_infinite);
        let is_laplace_on_pixels = is_on_pixels && self.weights == Weights::Laplace;
        let options = [
            ("--method exact", is_laplace_on_pixels),
            ("--weights sibson", self.weights == Weights::SibsonC1),
            ("--query-radius 4", is_wide && !is_laplace_on_pixels),
            ("--max-distance 10", self.site_reach().is_infinite()),
            ("without --hull", self.hull),
            ("--fill nodata", self.fill == Fill::Nearest),
        ];
        options.into_iter().filter(|(_, is_needed)| *is_needed).map(|(option, _)| option).collect()
    }

    /// Returns the largest distance from a cell to its nearest site at which the cell has a height.
    pub fn site_reach(&self) -> f64 {
        self.max_distance.min(self.region_of_influence())
    }

    /// Returns how far points reach by the two radii of the method on pixels.
    ///
    /// A pixel within the query radius of a cell belongs to its nearest site. If the cell has a height, its own nearest
    /// site lies within the distance. So the pixel's site is no farther from the pixel than the distance plus the query
    /// radius. From the cell it is no farther than the distance plus twice the query radius.
    pub fn reach_within_radii(&self) -> f64 {
        // The least circle, and the cell's own size.
        (1.0 + self.site_reach() + 2.0 * self.query_radius().max(1.0)).ceil()
    }

    /// Returns how far around itself a cell counts pixels with the method on pixels, wherever their sites lie: at least
    /// that far, where one of its radii is infinite.
    pub fn view_on_pixels(&self) -> f64 {
        let of_queries = (1.0 + 2.0 * self.query_radius().max(1.0)).ceil();
        let finite = [self.reach_within_radii(), of_queries].into_iter().filter(|r| r.is_finite());
        finite.fold(1.0, f64::max)
    }

    /// Returns whether a part of a DEM has the bits of the whole. With the method on pixels it has, since that sums
    /// integers. With the exact method, a part has the whole's heights up to rounding.
    pub fn is_exact_in_parts(&self) -> bool {
        self.method == Method::Pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::CommandLine;
    use clap::Parser;

    fn of(words: &[&str]) -> SurfaceArgs {
        CommandLine::parse_from([&["lidar_dem"], words].concat()).dem.surface
    }

    fn on_pixels(words: &[&str]) -> SurfaceArgs {
        of(&[&["--method", "pixels"], words].concat())
    }

    #[test]
    fn other_weights_have_no_limit_unless_one_is_given() {
        assert_eq!(of(&[]).query_radius(), f64::INFINITY);
        assert_eq!(on_pixels(&[]).query_radius(), 3.0);
        assert_eq!(on_pixels(&["--weights", "c1"]).query_radius(), f64::INFINITY);
        assert_eq!(on_pixels(&["--query-radius", "5"]).reach_on_pixels(), 21.0);
        assert_eq!(on_pixels(&["--query-radius", "inf"]).reach_on_pixels(), 101.0);
        let influence = ["--region-of-influence", "6", "--max-distance", "inf"];
        assert_eq!(on_pixels(&influence).reach_on_pixels(), 13.0);
        assert_eq!(on_pixels(&["--max-distance", "inf"]).reach_on_pixels(), f64::INFINITY);
        assert_eq!(on_pixels(&["--hull"]).reach_on_pixels(), f64::INFINITY);
    }

    #[test]
    fn the_exact_method_reads_a_halo_first_or_everything() {
        assert_eq!(of(&[]).first_halo(), Some(31.0));
        assert_eq!(of(&["--max-distance", "0.5"]).first_halo(), Some(17.0));
        assert_eq!(of(&["--weights", "laplace"]).first_halo(), Some(31.0));
        let endless = [&["--weights", "c1"][..], &["--hull"], &["--max-distance", "inf"]];
        for words in endless.into_iter().chain([&["--method", "pixels"][..]]) {
            assert_eq!(of(words).first_halo(), None, "{words:?}");
        }
    }

    #[test]
    fn what_reaches_everywhere_is_named() {
        assert_eq!(of(&[]).reaches(), [("--max-distance", 31.0)]);
        let radii = "--max-distance and --query-radius";
        assert_eq!(on_pixels(&["--query-radius", "5"]).reaches(), [(radii, 21.0)]);
        for (name, words) in [
            ("--hull", &["--hull"][..]),
            ("--fill nearest", &["--fill", "nearest"]),
            ("--max-distance inf", &["--max-distance", "inf"]),
            ("--weights c1", &["--weights", "c1"]),
            ("--query-radius inf", &["--method", "pixels", "--query-radius", "inf"]),
        ] {
            assert_eq!(of(words).reaches(), [(name, f64::INFINITY)]);
        }
    }
}
