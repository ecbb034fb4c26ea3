//! What a plan of points is made from.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use geo_io::{Crs, Header};
use gpu_core::Bounds;
use tile_plan::Input;

use super::{name, stamp};
use crate::args::PointArgs;
use crate::cloud::{require_map, require_same_crs};

/// What the headers of the inputs say; of tables, which have none, the points.
pub struct Headers {
    /// Those that have points.
    pub inputs: Vec<Input>,
    /// The lowest and the highest value, where all headers say.
    range: Option<[f64; 2]>,
    /// Where the points lie.
    pub bounds: Bounds,
    /// The coordinate system, as given or as all inputs name it.
    pub crs: Option<Crs>,
}

impl Headers {
    /// Reads headers. Where the order of the inputs counts it becomes a part of the plan.
    ///
    /// # Errors
    /// What is wrong with a file; a header that does not say where its points lie; two coordinate systems, of which
    /// `--crs` chooses none, and a geocentric one; inputs without points, and standard input.
    pub fn read(paths: &[PathBuf], points: &PointArgs, is_ordered: bool) -> Result<Self> {
        ensure!(!paths.is_empty(), "a plan needs point files: give at least one");
        let has_stream = paths.iter().any(|path| path.as_os_str() == "-");
        ensure!(!has_stream, "a plan needs files, not standard input");
        let given = points.crs()?;
        let mut inputs = Vec::new();
        let mut range: Option<[f64; 2]> = None;
        let mut all: Option<Bounds> = None;
        let mut first: Option<(&Path, Option<Crs>)> = None;
        for (i, path) in paths.iter().enumerate() {
            // Before it is read: where it changes meanwhile a tile's job sees that.
            let about = stamp(path)?;
            let header = header(path, points)?;
            if given.is_none() {
                require_map(path, header.crs.as_ref())?;
                let (other, crs) = first.get_or_insert((path, header.crs.clone()));
                require_same_crs((other, crs.as_ref()), (path, header.crs.as_ref()))?;
            }
            range = match (range, header.heights) {
                (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].max(b[1])]),
                (a, b) => a.or(b),
            };
            if header.points == 0 {
                continue;
            }
            let bounds = header.bounds.with_context(|| {
                format!("{}: its header does not say where its points lie", path.display())
            })?;
            all = Some(all.map_or(bounds, |all| joined(all, bounds)));
            let rank = if is_ordered { i as u32 } else { 0 };
            let input = Input::new(name(path)?).bounds(bounds).points(header.points);
            inputs.push(input.stamp(about).rank(rank));
        }
        let bounds = all.context("the input has no points")?;
        Ok(Self { inputs, range, bounds, crs: given.or(first.and_then(|(_, crs)| crs)) })
    }

    /// The lowest and the highest value.
    ///
    /// # Errors
    /// The headers do not say.
    pub fn range(&self) -> Result<[f64; 2]> {
        self.range.context(
            "the headers do not say between which heights the points lie: a tile cannot know",
        )
    }

    /// Points of all inputs.
    pub fn points(&self) -> u64 {
        self.inputs.iter().map(|input| input.points).sum()
    }
}

/// What a header says, or what a table has.
fn header(path: &Path, points: &PointArgs) -> Result<Header> {
    if let Some(header) = geo_io::read_header(path)? {
        return Ok(header);
    }
    let (filter, columns) = (points.filter(None), points.columns.names());
    let cloud = geo_io::read_points(path, &filter, &columns, &())?;
    let (count, bounds) = (cloud.len() as u64, Bounds::of(&cloud.x, &cloud.y));
    Ok(Header { points: count, bounds, heights: cloud.heights, crs: cloud.crs })
}

/// The least rectangle that holds two.
pub fn joined(a: Bounds, b: Bounds) -> Bounds {
    Bounds {
        min_x: a.min_x.min(b.min_x),
        min_y: a.min_y.min(b.min_y),
        max_x: a.max_x.max(b.max_x),
        max_y: a.max_y.max(b.max_y),
    }
}
