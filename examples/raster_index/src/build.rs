//! Building the index of a raster, or of several that lie beside each other.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use geo_io::{ArrayData, Number, Raster};
use gpu_core::{Device, GridSpec};
use programs::opening::Opening;
use programs::report::Report;
use programs::stages::Stages;

use crate::args::{BuildArgs, rasters_of};
use crate::cells::{self, Part};
use crate::info::describe;
use crate::place::{Place, place_of, place_of_all};
use crate::sample;
use crate::trees::{AnyTree, How, tree_of};
use crate::values::Values;

/// Reads or makes a raster, builds its index, writes it.
pub fn build(args: &BuildArgs) -> Result<()> {
    args.check()?;
    let files = rasters_of(&args.rasters, &args.catalogues)?;
    geo_io::check_distinct(&files.read(), &[args.output.as_path()])?;
    let paths = &files.paths;
    let opening = Opening::begin(args.run.device);
    let mut stages = Stages::new(args.run.quiet);
    let mut notes = Vec::new();
    let (device, rasters) = match paths.is_empty() {
        false => opening.beside(&mut stages, "read", |_| {
            let read = |path: &PathBuf| read(path, args, &mut notes);
            paths.iter().map(read).collect::<Result<Vec<_>>>()
        }),
        true => opening.beside(&mut stages, "sample", |_| Ok(vec![made(args)?])),
    }?;
    let stated = paths.iter().zip(&rasters).map(|(path, (raster, _))| (path, raster.nodata));
    let nodata = nodata_of(args.nodata, stated, &mut notes)?;
    let places = paths.iter().zip(&rasters);
    let places: Vec<_> = places.map(|(path, (_, place))| (path.as_path(), place)).collect();
    let place = match places.is_empty() {
        // The sample.
        true => rasters[0].1.clone(),
        false => place_of_all(&places)?,
    };
    let system = place.kept(&mut notes);
    let mut report = Report::default();
    files.report(&mut report);
    for (raster, Place { grid, .. }) in &rasters {
        let (width, height, kind) = (grid.width, grid.height, raster.values.sample_type());
        report.line("raster", format_args!("{width} x {height} cells of {kind}"));
    }
    notes.iter().for_each(|note| report.note(note));
    let (how, parts) = cells_of((args, paths), rasters, nodata)?;
    let tree = index(args, parts, how, &device, &mut stages)?;
    let tree = tree.in_system(system);
    stages
        .run("write", |_| geo_io::write_file(args.place(), |mut file| tree.write_to(&mut file)))?;
    describe(&mut report, &*tree, place.crs.as_ref());
    report.device(&device, args.run.device);
    report.stages(&stages);
    report.written([&args.output]);
    report.print(&args.run);
    Ok(())
}

/// The values of rasters as cells that an index can have, and how it is built of them, but for bins by quantiles.
fn cells_of(
    (args, paths): (&BuildArgs, &[PathBuf]),
    rasters: Vec<(Raster, Place)>,
    nodata: Option<Number>,
) -> Result<(How, Vec<(Values, GridSpec)>)> {
    let part = |i: usize, raster: &Raster| Part {
        path: paths.get(i).map_or(Path::new("sample"), PathBuf::as_path),
        nodata: nodata.and_then(|nodata| raster.values.sample_type().value(nodata)),
        corner: (0, 0),
        width: raster.width,
    };
    let all: Vec<_> = rasters.iter().enumerate().map(|(i, (raster, _))| part(i, raster)).collect();
    let kinds = all.iter().zip(&rasters);
    let kinds: Vec<_> =
        kinds.map(|(part, (raster, _))| (part.path, raster.values.sample_type())).collect();
    let check = |i: usize, cells: &str| all[i].check(&rasters[i].0.values, cells);
    let cells = cells::cells_of_all(&kinds, nodata, check)?;
    let of_cells = cells::nodata_of_cells(cells, &kinds, nodata);
    let how = How { cells: cells.to_owned(), bins: args.bins.clone(), nodata: of_cells };
    let cells_of = |(i, (raster, place)): (usize, (Raster, Place))| {
        let part = part(i, &raster);
        Ok((part.cells(raster.values, cells)?, place.grid))
    };
    Ok((how, rasters.into_iter().enumerate().map(cells_of).collect::<Result<_>>()?))
}

/// The index of rasters beside each other, whose bins are found where the command line has none but their number.
fn index(
    args: &BuildArgs,
    mut parts: Vec<(Values, GridSpec)>,
    mut how: How,
    device: &Device,
    stages: &mut Stages,
) -> Result<AnyTree> {
    let (raster, grid) = match parts.len() {
        1 => parts.remove(0),
        _ => stages.run("put together", |_| Values::put_together(&how.cells, how.nodata, parts))?,
    };
    if let Some(count) = args.quantiles {
        let bins = stages.run("quantiles", |_| raster.quantiles(grid, how.nodata, count));
        how.bins = bins.with_context(|| format!("--quantiles {count}: cells of {}", how.cells))?;
    }
    how.check()?;
    stages.run("build", |p| tree_of(&raster, grid, &how, None, device.with_progress(p)))
}

fn read(path: &Path, args: &BuildArgs, notes: &mut Vec<String>) -> Result<(Raster, Place)> {
    let mut raster = geo_io::read_raster(path, args.array.as_deref())?;
    notes.append(&mut raster.notes);
    let place = place_of(path, &raster)?;
    Ok((raster, place))
}

/// The sample.
fn made(args: &BuildArgs) -> Result<(Raster, Place)> {
    let side = u32::try_from(args.sample_side).ok().filter(|&side| side <= 1 << 15);
    let side =
        side.with_context(|| format!("--sample-side {}: at most 32768", args.sample_side))?;
    let (width, height) = (side as usize, side as usize);
    let values = ArrayData::I16(sample::landscape(side, args.seed).into_values());
    let (georeference, nodata, notes) = (None, None, Vec::new());
    let raster = Raster { width, height, values, georeference, nodata, notes };
    Ok((raster, Place::new(GridSpec::of_pixels(side, side), None, None)))
}

/// Returns the NODATA of rasters beside each other: the user's, or else the one that rasters state. A note names a raster
/// that states none, whose cells may have that value.
pub fn nodata_of<'a>(
    asked: Option<Number>,
    stated: impl Iterator<Item = (&'a PathBuf, Option<Number>)>,
    notes: &mut Vec<String>,
) -> Result<Option<Number>> {
    if asked.is_some() {
        return Ok(asked);
    }
    let (with, without): (Vec<_>, Vec<_>) = stated.partition(|(_, value)| value.is_some());
    let mut stated = with.into_iter().filter_map(|(path, value)| Some((path.display(), value?)));
    let Some((first, nodata)) = stated.next() else { return Ok(None) };
    if let Some((path, _)) = without.first() {
        let (path, others) = (path.display(), without.len() - 1);
        let (more, state, its) = match others {
            0 => (String::new(), "states", "its"),
            _ => (format!(" and {others} others"), "state", "their"),
        };
        notes.push(format!(
            "{path}{more} {state} no NODATA: {its} cells of {nodata} count as NODATA, which they are in {first}; \
             `gdalwarp -dstnodata VALUE` gives {first} another"
        ));
    }
    if let Some((other, value)) = stated.find(|(_, value)| *value != nodata) {
        bail!(
            "{first} has the NODATA {nodata}, {other} {value}: `gdalwarp -dstnodata VALUE` gives both one that no cell of them has, \
             and --nodata VALUE takes one value in all files"
        );
    }
    Ok(Some(nodata))
}
