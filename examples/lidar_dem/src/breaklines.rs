//! Breaklines: ridges, banks and walls that no triangle crosses.
//!
//! Vertices become sites, and further sites are put between, so that each piece of a line is an edge of the
//! triangulation ([`delaunay_stars::split_lines`]). No piece is longer than a cell, so a cell has natural neighbours
//! across a line only if its centre is nearer to the line than half its side.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use delaunay_stars::{LineSites, Splitting, Triangulation};
use geo_io::{Line, Lines};
use gpu_core::{Bounds, Points, Progress, Shortest};
use nni_grid::Duplicates;
use programs::cloud::Cloud;
use programs::ground::Ground;

use crate::beside::{Beside, Stated};
use crate::triangles::heights_of_sites;

/// The lines of a file.
pub struct Breaklines {
    path: PathBuf,
    file: Lines,
}

/// The result of dividing lines.
pub struct Added {
    /// Lines that reach the points' rectangle.
    pub lines: usize,
    /// Lines that do not, and were ignored.
    pub ignored: usize,
    /// Sites that were added.
    pub sites: usize,
    /// Pieces that the lines were divided into.
    pub pieces: usize,
    /// Pieces that triangles may cross.
    pub open: usize,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Breaklines {
    /// Reads lines.
    ///
    /// # Errors
    /// An error that says what is wrong with the file, with the feature; a file without lines.
    pub fn read(path: &Path) -> Result<Self> {
        let file = geo_io::read_lines(path).context("--breaklines")?;
        ensure!(!file.lines.is_empty(), "--breaklines {} has no lines", path.display());
        Ok(Self { path: path.to_owned(), file })
    }

    /// The file and its system.
    pub fn stated(&self) -> Stated<'_> {
        ("--breaklines", &self.path, self.file.crs.as_ref())
    }

    /// Adds sites to points, behind them, so that no triangle crosses a line. Heights come from the line. If it has
    /// none, heights come from the points' natural neighbours, like all other values.
    ///
    /// # Errors
    /// The lines' coordinate system is not the points', no line reaches the points' rectangle, or the triangulation
    /// fails.
    pub fn add(
        self,
        cloud: &mut Cloud,
        cell: f64,
        duplicates: Duplicates,
        progress: &dyn Progress,
    ) -> Result<Added> {
        let area = cloud.rectangle()?;
        let (mut kept, mut ignored) = (Vec::new(), 0);
        for line in &self.file.lines {
            match bounds(line).is_some_and(|bounds| bounds.touches(&area)) {
                true => kept.push(line),
                false => ignored += 1,
            }
        }
        let (stated, notes) = (self.file.crs.as_ref(), &self.file.notes);
        let beside =
            Beside { option: "--breaklines", path: &self.path, what: "lines", stated, notes };
        let mut notes = beside.notes(cloud.crs.as_ref(), !kept.is_empty())?;
        let path = self.path.display();
        ensure!(
            !kept.is_empty(),
            "--breaklines {path}: none of its {ignored} lines reaches the rectangle of the points, {area}"
        );
        let lines: Vec<Vec<[f64; 2]>> = kept.iter().map(|line| line.places.clone()).collect();
        let points = Points::new(&cloud.x, &cloud.y);
        let found = delaunay_stars::split_lines(points, &lines, Splitting::new(cell), progress)
            .with_context(|| format!("--breaklines {path}"))?;
        let values = Values::of(cloud, duplicates, progress)?;
        values.add(cloud, &kept, &found)?;
        if found.open > 0 {
            let (open, least) = (found.open, Shortest(cell / 64.0));
            notes.push(format!(
                "{path}: {open} pieces of lines, shorter than {least}, may be crossed by triangles: lines meet there at sharp \
                 angles or nearly touch"
            ));
        }
        if ignored > 0 {
            notes.push(format!(
                "{path}: {ignored} lines do not reach the rectangle of the points and are ignored"
            ));
        }
        let (sites, pieces) = (found.x.len(), found.pieces.len());
        Ok(Added { lines: kept.len(), ignored, sites, pieces, open: found.open, notes })
    }
}

/// The values of the points, one for each site.
struct Values {
    all: Triangulation,
    /// Heights, then further values.
    columns: Vec<Vec<f64>>,
}

impl Values {
    fn of(cloud: &Cloud, duplicates: Duplicates, progress: &dyn Progress) -> Result<Self> {
        let all = delaunay_stars::triangulate(
            gpu_core::Device::Cpu.with_progress(progress),
            Points::new(&cloud.x, &cloud.y),
        )?;
        let columns = std::iter::once(&cloud.z).chain(&cloud.values);
        let columns = columns.map(|column| heights_of_sites(&all, column, duplicates)).collect();
        Ok(Self { all, columns })
    }

    /// Adds the sites of lines to the points.
    fn add(&self, cloud: &mut Cloud, lines: &[&Line], found: &LineSites) -> Result<()> {
        let mut walk = self.all.walk();
        for (i, of) in found.of.iter().enumerate() {
            let (x, y) = (found.x[i], found.y[i]);
            let natural = |walk: &mut delaunay_stars::Walk<'_>, k: usize| {
                walk.interpolate_natural(&self.columns[k], x, y).map(Option::unwrap_or_default)
            };
            let z = match &lines[of.line as usize].heights {
                Some(heights) => {
                    let from = heights[of.segment as usize];
                    let to = heights.get(of.segment as usize + 1).copied().unwrap_or(from);
                    from * (1.0 - of.part) + to * of.part
                }
                None => natural(&mut walk, 0)?,
            };
            // What lies on a line may be higher or lower than all points.
            if let Some([low, high]) = &mut cloud.range {
                (*low, *high) = (low.min(z), high.max(z));
            }
            cloud.x.push(x);
            cloud.y.push(y);
            cloud.z.push(z);
            for k in 0..cloud.values.len() {
                let value = natural(&mut walk, k + 1)?;
                cloud.values[k].push(value);
            }
        }
        Ok(())
    }
}

fn bounds(line: &Line) -> Option<Bounds> {
    let (x, y): (Vec<f64>, Vec<f64>) = line.places.iter().map(|&[x, y]| (x, y)).unzip();
    Bounds::of(&x, &y)
}
