//! The command line, and the checks before any work starts.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use geo_io::{CsvColumns, Existing, Output};
use programs::args::{Given, RunArgs, ending, is_stream, whole};
use sphere_qtm::{Baseline, Latitude, Level, MAX_LEVEL, Method, Params};

use crate::ids::Grid;

/// Find the nearest site of every cell of the globe. Cells are the triangles of a mesh; distances are along great
/// circles.
#[derive(Parser, Debug)]
#[command(name = "sphere_voronoi", version, after_help = AFTER_HELP)]
pub struct Args {
    /// The options of the command line.
    #[command(flatten)]
    given: Given,
    /// Sites: points (.csv, .txt), or - for a table on standard input; or points, lines and polygons (.geojson, .json,
    /// .parquet, .fgb, .gpkg, .shp), whose edges are arcs of great circles
    #[arg(value_name = "SITES")]
    pub sites: Option<PathBuf>,
    /// A table's columns of longitudes and latitudes in degrees, by name, or by number if no column has that number as
    /// its name
    #[arg(long, value_name = "LON,LAT", default_value = "lon,lat")]
    pub columns: Columns,
    /// Level of the mesh: it has 8 x 4^LEVEL cells
    #[arg(long, default_value_t = 9, value_parser = whole(0..=MAX_LEVEL))]
    pub level: u32,
    /// How the geodetic latitudes in files become latitudes on the sphere
    #[arg(long = "latitude", value_enum, default_value_t = Kind::Authalic)]
    pub kind: Kind,
    /// How the nearest sites are found; the result is the same
    #[arg(long = "kernel", value_enum, default_value_t = How::Auto)]
    pub method: How,
    /// The site of each cell, as the site's row from 0. An array (.npy) has the sites in the order of the cells'
    /// ids. A table (.csv) has ids and sites; --ids needs a table
    #[arg(short, long, value_name = "PATH", default_value = "cells.npy")]
    pub output: PathBuf,
    /// Give --output the cells of another grid: h3:LEVEL, healpix:LEVEL (nested indices), healpix-nuniq:LEVEL (the
    /// IVOA's NUNIQ, 4 * 4^LEVEL + nested index) or a5:LEVEL. A row has a cell's id, the site nearest to its centre,
    /// and the distance in metres (.csv; .parquet with the centres)
    #[arg(long, value_name = "GRID:LEVEL")]
    pub ids: Option<Grid>,
    /// Give --output these cells alone, in their order: a table (.csv, .txt, .parquet, .fgb, .gpkg, .shp, - for
    /// standard input). Its ids are as --ids writes them, or numbers of 64 bits. Without a level, --ids h3,
    /// healpix-nuniq and a5 take cells of all levels
    #[arg(long, value_name = "TABLE", requires = "ids")]
    pub cells: Option<PathBuf>,
    /// The column of the ids, in --cells and in --output
    #[arg(long, value_name = "NAME", default_value = "cell")]
    pub cell_column: String,
    /// The unit vectors of the cells' centres, three a cell (.npy)
    #[arg(long, value_name = "PATH")]
    pub centres: Option<PathBuf>,
    /// The outlines of the sites' regions (.geojson, .parquet)
    #[arg(long, value_name = "PATH")]
    pub regions: Option<PathBuf>,
    /// The area of each site's region (.csv)
    #[arg(long, value_name = "PATH")]
    pub areas: Option<PathBuf>,
    /// Pairs of sites whose regions touch (.csv), with the line between their places (.parquet)
    #[arg(long, value_name = "PATH")]
    pub neighbours: Option<PathBuf>,
    /// A map of the world (.png)
    #[arg(long, value_name = "PATH")]
    pub map: Option<PathBuf>,
    /// What the map shows: all of the globe, or the half around --centre
    #[arg(long, value_enum, default_value_t = Projection::Equirectangular)]
    pub projection: Projection,
    /// The middle of an orthographic map
    #[arg(long, value_name = "LON,LAT", default_value = "10,30")]
    pub centre: Centre,
    /// Pixels of the map from west to east
    #[arg(long, value_name = "PIXELS", default_value_t = 2048, value_parser = whole::<u32>(2..=32768))]
    pub map_width: u32,
    #[command(flatten)]
    pub run: RunArgs,
    /// Number of sites in the sample
    #[arg(long, hide = true, default_value_t = 1000, value_parser = whole(0..=u32::MAX), conflicts_with = "sites")]
    pub sample_sites: u32,
    /// Seed of the sample
    #[arg(long, hide = true, default_value_t = 1, value_parser = whole(0..=u64::MAX), conflicts_with = "sites")]
    pub seed: u64,
}

const AFTER_HELP: &str = "\
Without SITES 1000 seeded places all over the globe are taken; their files may be there already from the \
last time, if they are the same.\n\n\
Files have geodetic latitudes, those of WGS 84, read and written alike; only the vectors of --centres lie on the sphere. \
--latitude says where on the sphere a place lies; distances are those of great circles there. Areas are in square kilometres. \
With authalic latitudes they are areas on WGS 84; with geodetic ones they are up to 0.45% too large at the equator and 0.9% too \
small at the poles.\n\n\
Exit status: 0 where the files were written, 2 where something was wrong, 130 where it was interrupted; then \
one line on standard error says what, and no unfinished file is left.";

/// `--kernel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// The fastest
    Auto,
    /// Lists of candidates, level by level
    Pruned,
    /// All pairs, several cells a thread
    Registers,
    /// All pairs, sites as read-only data
    ReadOnly,
    /// All pairs, sites in shared memory
    Shared,
    /// All pairs, sites in global memory
    Global,
}

/// `--latitude`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Authalic latitude, which keeps areas
    Authalic,
    /// The direction from the centre of the Earth
    Geocentric,
    /// The geodetic latitude unchanged, up to 22 km off
    Geodetic,
}

impl Kind {
    /// Returns the library's value.
    pub fn latitude(self) -> Latitude {
        match self {
            Self::Authalic => Latitude::Authalic,
            Self::Geocentric => Latitude::Geocentric,
            Self::Geodetic => Latitude::Geodetic,
        }
    }
}

/// `--projection`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Projection {
    /// Equirectangular: longitudes to the right, latitudes upward
    Equirectangular,
    /// Orthographic: the globe from far away
    Orthographic,
}

impl Args {
    /// All files to write, each with its option and the endings that it may have.
    fn outputs(&self) -> Vec<(&'static str, &Path, &'static [&'static str])> {
        let of_cells: &[&str] =
            if self.ids.is_some() { &["csv", "parquet"] } else { &["npy", "csv"] };
        let mut all: Vec<(&'static str, &Path, &'static [&'static str])> =
            vec![("--output", &self.output, of_cells)];
        let others: [(&str, &Option<PathBuf>, &[&str]); 5] = [
            ("--centres", &self.centres, &["npy"]),
            ("--regions", &self.regions, &["geojson", "json", "parquet"]),
            ("--areas", &self.areas, &["csv"]),
            ("--neighbours", &self.neighbours, &["csv", "parquet"]),
            ("--map", &self.map, &["png"]),
        ];
        all.extend(others.into_iter().filter_map(|(o, p, e)| Some((o, p.as_deref()?, e))));
        all
    }

    /// Checks what clap cannot check, above all that the program can write its outputs.
    pub fn check(&self) -> Result<()> {
        ensure!(self.sample_sites > 0, "--sample-sites 0: a diagram needs a site");
        self.check_owners()?;
        let outputs = self.outputs();
        for (option, path, endings) in &outputs {
            let known = endings.contains(&ending(path).as_str());
            let shown = path.display();
            let when = match (*option, self.ids) {
                ("--output", Some(_)) => "with --ids ",
                ("--output", None) => "without --ids ",
                _ => "",
            };
            ensure!(
                known,
                "{option} {shown}: {when}the name must end in .{}",
                endings.join(" or .")
            );
        }
        let inputs: Vec<PathBuf> = self.sites.iter().chain(&self.cells).cloned().collect();
        ensure!(
            inputs.iter().filter(|input| is_stream(input)).count() < 2,
            "SITES and --cells are both standard input, which only one of them can have: give the other a file"
        );
        let paths: Vec<&Path> = outputs.iter().map(|(_, path, _)| *path).collect();
        geo_io::check_distinct(&inputs, &paths)?;
        paths.into_iter().try_for_each(|path| Ok(geo_io::check_output(self.to(path))?))
    }

    /// Refuses options without the output that depends on them.
    fn check_owners(&self) -> Result<()> {
        let map = [("--map", self.map.is_some())];
        let is_orthographic = self.projection == Projection::Orthographic;
        self.given.require_owner("--projection", &map)?;
        self.given.require_owner("--map-width", &map)?;
        let projection = [("--projection orthographic", is_orthographic)];
        self.given.require_owner("--centre", &projection)?;
        self.given.require_owner("--cell-column", &[("--ids", self.ids.is_some())])
    }

    /// Where an output goes.
    pub fn to<'p>(&self, path: &'p Path) -> Output<'p> {
        let existing = self.existing();
        Output { path, existing }
    }

    fn existing(&self) -> Existing {
        let is_sample = self.sites.is_none();
        if is_sample { self.run.existing_example() } else { self.run.existing() }
    }

    /// The files that the program has written.
    pub fn written(&self) -> Vec<PathBuf> {
        self.outputs().into_iter().map(|(_, path, _)| path.to_owned()).collect()
    }

    /// The diagram.
    pub fn params(&self) -> Result<Params> {
        let method = match self.method {
            How::Auto => Method::Auto,
            How::Pruned => Method::Pruned,
            How::Registers => Method::Baseline(Baseline::Registers),
            How::ReadOnly => Method::Baseline(Baseline::ReadOnly),
            How::Shared => Method::Baseline(Baseline::Shared),
            How::Global => Method::Baseline(Baseline::Global),
        };
        Ok(Params::new(Level::new(self.level)?).method(method))
    }
}

/// `--columns`.
#[derive(Clone, Debug)]
pub struct Columns {
    longitude: String,
    latitude: String,
}

impl Columns {
    /// Returns the columns for geo-io; a third column does not matter.
    pub fn names(&self) -> CsvColumns {
        let (x, y) = (self.longitude.clone(), self.latitude.clone());
        CsvColumns::new([x, y.clone(), y])
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(',').map(|(a, b)| (a.trim(), b.trim())) {
            Some((a, b)) if !a.is_empty() && !b.is_empty() && !b.contains(',') => {
                programs::args::require_x_first(&[a, b])?;
                Ok(Self { longitude: a.to_owned(), latitude: b.to_owned() })
            }
            _ => Err("expected 2 names, as lon,lat".to_owned()),
        }
    }
}

/// `--centre`.
#[derive(Clone, Copy, Debug)]
pub struct Centre(pub sphere_qtm::LonLat);

impl FromStr for Centre {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(',');
        let numbers =
            parts.and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
        let (longitude, latitude) = numbers.ok_or("expected two numbers, as 10,30")?;
        let place = sphere_qtm::LonLat::new(longitude, latitude);
        Ok(Self(place.map_err(|error| error.to_string())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn columns_and_places_are_parsed_and_refused() {
        let names = "a , b".parse::<Columns>().unwrap().names();
        assert_eq!((names.x.as_str(), names.y.as_str()), ("a", "b"));
        for bad in ["", "a", "a,", ",b", "a,b,c", "Lat,Lon", "latitude, long"] {
            assert!(bad.parse::<Columns>().is_err(), "{bad:?} was taken");
        }
        assert_eq!("-10,5.5".parse::<Centre>().unwrap().0.longitude(), -10.0);
        for bad in ["", "5", "0,91", "a,b"] {
            assert!(bad.parse::<Centre>().is_err(), "{bad:?} was taken");
        }
    }
}
