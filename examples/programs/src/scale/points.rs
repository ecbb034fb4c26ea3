//! The points of a tile.

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, ensure};
use geo_io::{BinSpec, Bins, CsvColumns, Filter, PointCloud, Strays};
use gpu_core::{Bounds, Progress, host_memory};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tile_plan::{Input, Plan, Tile};

use super::headers::joined;
use super::{Planned, Recipe, folder_name, require_unchanged};
use crate::args::PointArgs;
use crate::cloud::Cloud;
use crate::ground::Ground;
use crate::report::Report;

/// The choice of points that tiles are made of, as a plan holds it: a flattened field of the recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    columns: [String; 3],
    classes: Option<Vec<u8>>,
    returns: String,
}

impl Selection {
    /// Returns the selection that the command line gives.
    pub fn of(args: &PointArgs) -> Self {
        let classes = args.classes.as_ref().map(|classes| classes.0.clone());
        Self { columns: args.columns.0.clone(), classes, returns: args.returns.to_string() }
    }

    /// Which points within bounds to keep.
    ///
    /// # Errors
    /// The recipe was changed by hand.
    pub fn filter(&self, bounds: Option<Bounds>) -> Result<Filter> {
        let (classes, returns) = (self.classes.clone(), self.returns.parse()?);
        Ok(Filter { classes, returns, bounds, numbered: false })
    }

    /// The columns of tables.
    pub fn columns(&self) -> CsvColumns {
        CsvColumns::new(self.columns.clone())
    }
}

/// A recipe whose tiles are made from points.
pub trait PointRecipe: Recipe {
    /// Which points of the inputs to keep.
    fn selection(&self) -> &Selection;

    /// Which points within bounds to keep.
    ///
    /// # Errors
    /// The recipe was changed by hand.
    fn filter(&self, bounds: Option<Bounds>) -> Result<Filter> {
        self.selection().filter(bounds)
    }

    /// The columns of tables.
    fn columns(&self) -> CsvColumns {
        self.selection().columns()
    }

    /// Whether a tile may need points beyond its ground; then bins must have all points.
    fn reads_beyond(&self) -> bool {
        false
    }

    /// The number of the first row of each input. If set, bins hold the number of each point's row, after its values.
    fn first_rows(&self) -> Option<&[u64]> {
        None
    }

    /// Returns how many points a tile holds at once, if it reads all of them in parts ([`read_parts`]).
    fn points_of_part(&self) -> Option<u64> {
        None
    }
}

/// Reads the points of a ground, from the plan's bins if they are complete, and otherwise from the inputs that overlap
/// it. Points at one place keep the order of the inputs. Their coordinate system is the plan's. The ground is a tile's,
/// or a larger one if the recipe says that tiles may need it.
///
/// # Errors
/// An input has changed. Or an input, or a file of the bins, cannot be read.
pub fn read_points<R: PointRecipe>(
    planned: &Planned<R>,
    ground: &dyn Ground,
    progress: &dyn Progress,
) -> Result<Cloud> {
    let plan = &planned.plan;
    // A point may lie a rounding beyond the bounds of its header.
    let side = plan.grid().cell_size;
    let reaches = |input: &&Input| {
        input.bounds.is_none_or(|Bounds { min_x, min_y, max_x, max_y }| {
            let (min_x, min_y) = (min_x - side, min_y - side);
            ground.touches(&Bounds { min_x, min_y, max_x: max_x + side, max_y: max_y + side })
        })
    };
    let inputs: Vec<&Input> = plan.inputs().iter().filter(reaches).collect();
    inputs.iter().copied().try_for_each(require_unchanged)?;
    if let Some(bins) = planned.open_bins()? {
        return read_bins(&bins, ground, progress).map_err(|error| planned.with_mend(error));
    }
    let paths: Vec<PathBuf> = inputs.iter().map(|input| PathBuf::from(&input.path)).collect();
    let (filter, columns) =
        (planned.recipe.filter(Some(ground.bounds()))?, planned.recipe.columns());
    let cloud = Cloud::read_plain(&paths, &filter, &columns, ground, progress)?;
    // What was read is what was planned with, even where a file was replaced meanwhile.
    inputs.iter().copied().try_for_each(require_unchanged)?;
    for (input, strays) in inputs.iter().zip(&cloud.strays) {
        require_within(input, strays, side)?;
    }
    Ok(cloud)
}

/// The points of a ground that lie in bins, strip by strip.
fn read_bins(bins: &Bins, ground: &dyn Ground, progress: &dyn Progress) -> Result<Cloud> {
    let (bounds, strips) = (ground.bounds(), ground.strips().max(1));
    let mut cloud = Cloud::default();
    let height = bounds.max_y - bounds.min_y;
    let edge = |strip: u32| bounds.min_y + height * f64::from(strip) / f64::from(strips);
    for strip in 0..strips {
        let (is_first, is_last) = (strip == 0, strip + 1 == strips);
        let min_y = if is_first { bounds.min_y } else { edge(strip) };
        let end = if is_last { bounds.max_y } else { edge(strip + 1) };
        let part = Bounds { min_y, max_y: end, ..bounds };
        if !ground.touches(&part) {
            continue;
        }
        let points = bins.read(&part, progress)?;
        let mut values = points.values.into_iter();
        let z = values.next().context("the bins have no values")?;
        let values = values.collect();
        let mut more = Cloud { x: points.x, y: points.y, z, values, ..Cloud::default() };
        more.keep_of(&Strip { ground, end: (!is_last).then_some(end) });
        cloud.extend(more);
    }
    Ok(cloud)
}

/// Returns the part of a ground that lies south of a strip, where the next strip begins.
struct Strip<'a> {
    ground: &'a dyn Ground,
    end: Option<f64>,
}

impl Ground for Strip<'_> {
    fn bounds(&self) -> Bounds {
        self.ground.bounds()
    }

    fn touches(&self, area: &Bounds) -> bool {
        self.ground.touches(area)
    }

    fn holds(&self, x: f64, y: f64) -> bool {
        self.end.is_none_or(|end| y < end) && self.ground.holds(x, y)
    }

    fn is_rectangle(&self) -> bool {
        self.end.is_none() && self.ground.is_rectangle()
    }
}

/// Refuses an input with points farther than this beyond the bounds of its header: another tile would miss them.
fn require_within(input: &Input, strays: &Strays, slack: f64) -> Result<()> {
    let (Some(all), Some(b)) = (input.bounds, strays.bounds) else { return Ok(()) };
    let is_within = b.min_x >= all.min_x - slack
        && b.max_x <= all.max_x + slack
        && b.min_y >= all.min_y - slack
        && b.max_y <= all.max_y + slack;
    ensure!(is_within, "{}: {strays}: the plan relies on the header, so correct it", input.path);
    Ok(())
}

/// The most points of an input, or of a part, that are read at once: they take memory beside the part.
const AT_ONCE: u64 = 1 << 17;
const PER_PART: u64 = 8;

/// Passes all points of a plan to `take`, in the order of the inputs: `most` at a time, and the rest at the end. They
/// come from the plan's bins if these are complete, and otherwise from the inputs. The parts are the same.
///
/// # Errors
/// The errors of [`read_points`] and of `take`.
pub fn read_parts<R: PointRecipe>(
    planned: &Planned<R>,
    most: u64,
    progress: &dyn Progress,
    mut take: impl FnMut(&Cloud) -> Result<()>,
) -> Result<()> {
    let inputs = planned.plan.inputs();
    inputs.iter().try_for_each(require_unchanged)?;
    if let Some(bins) = planned.open_bins()? {
        for first in (0..bins.points()).step_by(most.max(1) as usize) {
            let points = bins.read_range(first..first.saturating_add(most), progress);
            let points = points.map_err(|error| planned.with_mend(error.into()))?;
            let z = points.values.into_iter().next().context("the bins have no values")?;
            take(&Cloud { x: points.x, y: points.y, z, ..Cloud::default() })?;
        }
        return Ok(());
    }
    let mut part = Waiting::new(most, &mut take)?;
    for input in inputs {
        part.read(planned, input, progress)?;
        // What was read is what was planned with, even where a file was replaced meanwhile.
        require_unchanged(input)?;
    }
    part.hand_on()
}

/// A part that fills.
struct Waiting<'a> {
    cloud: Cloud,
    most: usize,
    take: &'a mut dyn FnMut(&Cloud) -> Result<()>,
}

impl<'a> Waiting<'a> {
    /// Takes the memory of a part at once, so that no column grows by doubling.
    fn new(most: u64, take: &'a mut dyn FnMut(&Cloud) -> Result<()>) -> Result<Self> {
        let most = most.max(1) as usize;
        let mut cloud = Cloud::default();
        for column in [&mut cloud.x, &mut cloud.y, &mut cloud.z] {
            *column = host_memory::with_capacity(most)?;
        }
        Ok(Self { cloud, most, take })
    }

    /// Goes through the points of an input.
    fn read<R: PointRecipe>(
        &mut self,
        planned: &Planned<R>,
        input: &Input,
        progress: &dyn Progress,
    ) -> Result<()> {
        let (filter, columns) = (planned.recipe.filter(None)?, planned.recipe.columns());
        let at_once = (self.most as u64 / PER_PART).clamp(1, AT_ONCE) as usize;
        // The reader knows its own errors alone.
        let mut failed: Option<Error> = None;
        let path = Path::new(&input.path);
        let read = geo_io::read_batches(path, &filter, &columns, at_once, progress, &mut |cloud| {
            self.push(cloud).map_err(|error| {
                failed = Some(error);
                geo_io::Error::Cancelled
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(read.map(drop)?),
        }
    }

    /// Adds points, and hands parts on that are full.
    fn push(&mut self, points: &PointCloud) -> Result<()> {
        let mut from = 0;
        while from < points.len() {
            let to = points.len().min(from + self.most - self.cloud.x.len());
            self.cloud.x.extend_from_slice(&points.x[from..to]);
            self.cloud.y.extend_from_slice(&points.y[from..to]);
            self.cloud.z.extend_from_slice(&points.z[from..to]);
            from = to;
            if self.cloud.x.len() == self.most {
                self.hand_on()?;
            }
        }
        Ok(())
    }

    fn hand_on(&mut self) -> Result<()> {
        if !self.cloud.x.is_empty() {
            (self.take)(&self.cloud)?;
        }
        let Cloud { x, y, z, .. } = &mut self.cloud;
        [x, y, z].into_iter().for_each(Vec::clear);
        Ok(())
    }
}

/// Where the points of all inputs lie.
pub fn bounds_of(plan: &Plan) -> Option<Bounds> {
    plan.inputs().iter().filter_map(|input| input.bounds).reduce(joined)
}

impl<R: Recipe> Planned<R> {
    /// Returns the plan's bins, if they are complete.
    ///
    /// # Errors
    /// Says what is wrong with the bins, and how to repair them.
    pub fn open_bins(&self) -> Result<Option<Bins>> {
        Bins::open(&self.bins, &self.id).map_err(|error| self.with_mend(error.into()))
    }

    /// Adds a remedy to an error of reading or writing the plan's bins, if they are damaged or a file is missing.
    pub fn with_mend(&self, error: Error) -> Error {
        use geo_io::Error::{Empty, Malformed, NotA, Read};
        let program = R::PROGRAM;
        match error.downcast_ref() {
            Some(Malformed { .. } | NotA { .. } | Read { .. } | Empty { .. }) => error
                .context(format!("make the bins again ({program} bin --remove, {program} bin)")),
            _ => error,
        }
    }
}

/// Says how often tiles that read the inputs unpack them, and how much disk space bins would take for points with this
/// many values.
pub fn report_reading<R: Recipe>(plan: &Plan, values: usize, report: &mut Report) {
    let points = |input: &Input| input.points as f64;
    let read: f64 = plan.tiles().iter().flat_map(|tile| plan.inputs_of(tile)).map(points).sum();
    let (times, program) = (read / (points_of(plan) as f64).max(1.0), R::PROGRAM);
    let bytes = bins_bytes(plan, values);
    report.line(
        "reading",
        format_args!(
            "each file by every tile that it reaches, up to {times:.1} times all points; {program} bin reads them once and \
             takes up to {} MiB of disk",
            bytes.div_ceil(1 << 20)
        ),
    );
    report.field("reading", json!({"times": times, "bins_bytes": bytes}));
}

/// Says how much disk space bins will take for points with this many values, if tiles read only bins.
pub fn report_bins_size<R: Recipe>(plan: &Plan, values: usize, report: &mut Report) {
    let (bytes, program) = (bins_bytes(plan, values), R::PROGRAM);
    let size = bytes.div_ceil(1 << 20);
    let text = format_args!("{program} bin comes first: it takes up to {size} MiB of disk");
    report.line("bins", text);
    report.field("reading", json!({"bins_bytes": bytes}));
}

fn points_of(plan: &Plan) -> u64 {
    plan.inputs().iter().map(|input| input.points).fold(0, u64::saturating_add)
}

fn bins_bytes(plan: &Plan, values: usize) -> u64 {
    BinSpec::new("", plan.grid().bounds(), 0).values(values).bytes(points_of(plan))
}

/// Says how many tiles there are, what one takes and where their files go.
pub fn report_tiles(plan: &Plan, report: &mut Report) {
    let (tiles, halo) = (plan.tiles(), plan.halo());
    let most = |of: fn(&Tile) -> u64| tiles.iter().map(of).max().unwrap_or(0);
    let (bytes, on_device) = (most(|tile| tile.bytes), most(|tile| tile.device_bytes));
    let (count, last) = (tiles.len(), tiles.len().max(1) - 1);
    report.line(
        "tiles",
        format_args!("{count}, from 0 to {last}; {halo} cells around each are read"),
    );
    let (host, card) = (bytes.div_ceil(1 << 20), on_device.div_ceil(1 << 20));
    report
        .line("memory", format_args!("{host} MiB a tile at most, estimated, of a card {card} MiB"));
    let sizes = json!({"count": count, "halo": halo, "bytes": bytes, "device_bytes": on_device});
    report.field("tiles", sizes);
    report.field("folder", folder_name(plan));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Held {
        #[serde(flatten)]
        points: Selection,
        power: f64,
    }

    #[test]
    fn a_selection_is_a_part_of_its_recipe_and_unknown_fields_are_refused() {
        let columns = ["x", "y", "z"].map(str::to_owned);
        let points = Selection { columns, classes: Some(vec![2]), returns: "all".to_owned() };
        let held = Held { points, power: 2.0 };
        let mut value = serde_json::to_value(&held).unwrap();
        assert_eq!(
            value,
            json!({"columns": ["x", "y", "z"], "classes": [2], "returns": "all", "power": 2.0})
        );
        assert_eq!(serde_json::from_value::<Held>(value.clone()).unwrap(), held);
        value["more"] = json!(1);
        assert!(serde_json::from_value::<Held>(value).is_err());
    }
}
