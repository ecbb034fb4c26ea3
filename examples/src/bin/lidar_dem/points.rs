//! The points of all inputs, joined.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use geo_io::{Crs, LasPoints, PointCloud, Tally};
use gpu_core::Progress;

use crate::args::Args;
use crate::survey;

/// The points to interpolate, and where they come from.
#[derive(Default)]
pub struct Cloud {
    /// Easting of each point.
    pub x: Vec<f64>,
    /// Northing of each point.
    pub y: Vec<f64>,
    /// Height of each point.
    pub z: Vec<f64>,
    /// The coordinate system, if any file or the caller names one.
    pub crs: Option<Crs>,
    /// What was read and dropped, one per file.
    pub tallies: Vec<Tally>,
    /// Classes asked for that no kept point has.
    pub absent_classes: Vec<u8>,
}

impl Cloud {
    /// Reads and joins the files.
    ///
    /// Fails where two files name different coordinate systems and `--crs` does not settle it,
    /// and where no point is left.
    pub fn read(paths: &[PathBuf], args: &Args, progress: &dyn Progress) -> Result<Self> {
        let mut cloud = Self::default();
        let (filter, columns) = (args.filter(), args.columns.names());
        let mut absent = filter.classes.clone().unwrap_or_default();
        let given = args.crs()?;
        for (i, path) in paths.iter().enumerate() {
            let part = geo_io::read_points(path, &filter, &columns, progress)?;
            if i == 0 {
                cloud.crs = part.crs.clone();
            } else if given.is_none() && cloud.crs != part.crs {
                bail!(
                    "{} is in {}, {} is in {}: give --crs to settle it",
                    paths[0].display(),
                    name(cloud.crs.as_ref()),
                    path.display(),
                    name(part.crs.as_ref()),
                );
            }
            absent.retain(|class| !part.class.iter().flatten().any(|c| c == class));
            cloud.append(part);
        }
        cloud.crs = given.or(cloud.crs);
        cloud.absent_classes = absent;
        cloud.require_points(args)?;
        Ok(cloud)
    }

    fn append(&mut self, part: PointCloud) {
        self.x.extend(part.x);
        self.y.extend(part.y);
        self.z.extend(part.z);
        self.tallies.push(part.tally);
    }

    fn require_points(&self, args: &Args) -> Result<()> {
        if !self.x.is_empty() {
            return Ok(());
        }
        let read: u64 = self.tallies.iter().map(|t| t.read).sum();
        match &args.classes {
            _ if read == 0 => bail!("the input has no points"),
            Some(list) if self.tallies.iter().all(|t| t.dropped_class == t.read) => {
                bail!("none of the {read} points has a class of {:?}", list.0)
            }
            _ => bail!("none of the {read} points is left: see --classes and --returns"),
        }
    }
}

fn name(crs: Option<&Crs>) -> String {
    crs.map_or_else(|| "no named coordinate system".to_owned(), Crs::to_string)
}

/// Surveys the simulated landscape and writes its points to a LAZ file.
pub fn simulate(args: &Args, path: &Path, progress: &dyn Progress) -> Result<()> {
    let survey = survey::fly(args.survey_points, args.seed, progress);
    let points = LasPoints {
        x: &survey.x,
        y: &survey.y,
        z: &survey.z,
        class: &survey.class,
        return_number: &survey.return_number,
        number_of_returns: &survey.number_of_returns,
    };
    let crs = Crs::parse(survey::CRS)?;
    Ok(geo_io::write_las(path, &points, Some(&crs))?)
}
