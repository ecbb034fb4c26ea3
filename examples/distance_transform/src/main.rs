//! `distance_transform`: a raster of sites in, the distance to the nearest one out.
//!
//! The way from here to the kernel: [`run`] calls `pba_voronoi::transform`, whose `cpu.rs` and `gpu.rs` are
//! siblings; the latter launches the kernels of `kernels-rs/src/voronoi/monotone.rs`.

mod args;
mod globe;
mod ground;
mod rooms;
mod scale;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use geo_io::{Bands, Cells, Georeference, Mask, Output};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Device, Grid, GridSpec, GridView, Progress, Shortest};
use pba_voronoi::{Diagram, Input, Integers, Params, Sites};
use programs::args::Format;
use programs::opening::Opening;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use rayon::prelude::*;
use serde_json::json;

use args::{Args, Spacing};
use globe::OnGlobe;
use ground::Lie;
use rooms::Rooms;
use scale::CommandLine;

/// Most pixels on the longest side of a picture.
const PICTURE_SIDE: u32 = 2048;

fn main() -> ExitCode {
    program::run("distance_transform", |line: &CommandLine| {
        match (&line.command, &line.transform) {
            (Some(command), _) => scale::run(command),
            (None, Some(args)) => run(args),
            // Without a command the mask is required.
            (None, None) => Ok(()),
        }
    })
}

/// The program: check, read, transform, write, report.
fn run(args: &Args) -> Result<()> {
    args.check()?;
    let params = params(args);
    let loaded = match args.sites.spacing {
        Spacing::Sides(x, y) => params.spacing(x, y),
        Spacing::Georeference => params.spacing(1.0, 1.0),
    };
    let opening = Opening::begin_with(args.run.device, move |device| load(device, &loaded));
    let mut stages = Stages::new(args.run.quiet);
    let (device, (mut mask, mut rooms)) = opening.beside(&mut stages, "read", |on| {
        let rooms = Rooms::begin(args, geo_io::mask_size(&args.mask))?;
        on.progress.at("mask", 0.0)?;
        Ok((geo_io::read_mask(&args.mask, &args.sites.rule())?, rooms))
    })?;
    // Distances are not the heights that the mask may have.
    let place = mask.georeference.take().map(|place| place.without_heights());
    args.ground.require_north_up(place.as_ref())?;
    let globe = OnGlobe::of(&args.globe, &args.mask, place.as_ref(), &mask.notes)?;
    let sides = sides_of(&args.mask, args.sites.spacing, place.as_ref(), &mask.notes)?;
    let diagram = stages.run("transform", |progress| -> Result<_> {
        let input = input(args, &mask)?;
        let planar = params.spacing(sides.0, sides.1);
        Ok(match &globe {
            Some(globe) => globe.transform(&device, &args.mask, &input, &params, progress)?,
            None => pba_voronoi::transform(device.with_progress(progress), &input, &planar)
                .map_err(|error| of_sides(error, args))?,
        })
    })?;
    let sites = count(&mask.sites);
    let (without_value, notes) = (mask.without_value, std::mem::take(&mut mask.notes));
    // Nothing needs the mask any more, and a writer may need its memory.
    drop(mask);

    let mut report = Report::default();
    let (width, height) = (diagram.grid.width, diagram.grid.height);
    report.line("raster", format_args!("{width} x {height} pixels, {sites} sites"));
    if without_value > 0 {
        report.line("", format_args!("{without_value} pixels are NODATA or NaN, and no sites"));
    }
    let raster =
        json!({"width": width, "height": height, "sites": sites, "without_value": without_value});
    report.field("raster", raster);
    notes.iter().for_each(|note| report.note(note));
    report.device(&device, args.run.device);
    let distances = diagram.distance.as_ref().map_or(&[][..], |distance| distance.values());
    let (most, without) = largest(distances);
    let has_any = without < distances.len() as u64;
    report_distances(&mut report, has_any.then_some(most), without);
    let crs = place.as_ref().and_then(|place| place.crs.as_ref());
    if let Some(crs) = crs {
        report.line("system", crs);
    }
    match &globe {
        Some(globe) => globe.report(&mut report),
        None => globe::note_on_plane(crs).iter().for_each(|note| report.note(note)),
    }
    if args.sites.spacing == Spacing::Georeference {
        let [wide, tall] = [sides.0, sides.1].map(Shortest);
        report.line("pixel", format_args!("{wide} x {tall} on the ground"));
        let notes = globe::notes_on_lengths(place.as_ref(), (width, height));
        notes.for_each(|note| report.note(note));
    }
    // Without a place of its own the raster's south-west corner is (0, 0).
    let place =
        place.unwrap_or_else(|| Georeference::north_up((0.0, f64::from(height) * sides.1), sides));
    stages.run("write", |progress| {
        let globe = globe.map(|globe| globe.globe());
        let lie = Lie { place: &place, sides, globe };
        geo_io::write_together(|| write(args, &lie, diagram, &mut rooms, progress))
    })?;
    report.stages(&stages);
    report.beside(stages.beside().iter().cloned().chain(rooms.beside()));
    report.rasters_written(args.outputs(), place.crs.as_ref());
    report.print(&args.run);
    Ok(())
}

/// The mask as an input.
fn input<'a>(args: &Args, mask: &'a Mask) -> Result<Input<'a>> {
    let side = |side: usize| {
        u32::try_from(side).with_context(|| format!("{}: a side of {side}", args.mask.display()))
    };
    let (width, height) = (side(mask.width)?, side(mask.height)?);
    if mask.sites.is_empty() {
        return Err(anyhow!("{} has no pixels ({width} x {height})", args.mask.display()));
    }
    Ok(Input::new(Sites::Mask(&mask.sites), GridSpec::of_pixels(width, height)))
}

/// How many pixels are sites.
fn count(sites: &[u8]) -> u64 {
    let parts = parallel::map_ranges(sites.len(), FINE, &|range| {
        let chunks = sites[range].chunks(1 << 16);
        chunks.map(|c| u64::from(c.iter().map(|&s| u32::from(s != 0)).sum::<u32>())).sum()
    });
    parts.iter().sum::<u64>()
}

/// The sides of a mask's pixel on the ground. `notes` on the mask may say why it has no place.
fn sides_of(
    path: &Path,
    spacing: Spacing,
    place: Option<&Georeference>,
    notes: &[String],
) -> Result<(f64, f64)> {
    let mask = path.display();
    match spacing {
        Spacing::Sides(x, y) => Ok((x, y)),
        Spacing::Georeference => {
            let place = place.with_context(|| match notes {
                [] => format!("{mask} does not say where it lies"),
                notes => notes.join("; "),
            })?;
            let sides = place.pixel_sides();
            sides.with_context(|| format!("{mask}: its pixels' sides are not at right angles"))
        }
    }
}

/// Says of an error on the sides of pixels what gives them.
fn of_sides(error: pba_voronoi::Error, args: &Args) -> anyhow::Error {
    use pba_voronoi::Error::{BeyondSingle, SquaredDistance};
    let is_of_sides = matches!(
        error,
        pba_voronoi::Error::Spacing { .. } | BeyondSingle { .. } | SquaredDistance { .. }
    );
    let error = anyhow::Error::from(error);
    match args.sites.spacing {
        _ if !is_of_sides => error,
        Spacing::Sides(x, y) => error.context(format!("--spacing {},{}", Shortest(x), Shortest(y))),
        Spacing::Georeference => error.context(args.mask.display().to_string()),
    }
}

/// Transforms a small mask as the other will be, which loads the kernels.
fn load(device: &Device, params: &Params) {
    const SIDE: u32 = 256;
    let mask: Vec<u8> = (0..SIDE * SIDE).map(|i| u8::from(i % 251 == 0)).collect();
    let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(SIDE, SIDE));
    // An error comes again, where it matters.
    drop(pba_voronoi::transform(device, &input, params));
}

/// How far distances are counted, and the outputs.
fn params(args: &Args) -> Params {
    let mut params = Params::new().distance();
    if let Some(most) = args.max_distance {
        params = params.max_distance(most);
    }
    if args.wants_nearest() { params.nearest() } else { params }
}

/// Says the largest distance, which is `None` if no pixel has one, and how many pixels have none.
fn report_distances(report: &mut Report, largest: Option<f32>, without: u64) {
    let most = largest.map(Shortest);
    match (most, without) {
        (None, _) => {
            report.line("distances", format_args!("none: all {without} pixels lack a site"))
        }
        (Some(most), 0) => report.line("distances", format_args!("up to {most}")),
        (Some(most), _) => {
            report.line("distances", format_args!("up to {most}, {without} pixels without a site"))
        }
    }
    report.field("distances", json!({"largest": largest, "pixels_without": without}));
}

/// The largest of the finite distances, and how many are not finite. There may be a billion, so they are compared in
/// vectors: the bits of floats that are not negative are in their order.
fn largest(distances: &[f32]) -> (f32, u64) {
    const INFINITE: u32 = f32::INFINITY.to_bits();
    let parts = parallel::map_ranges(distances.len(), FINE, &|range| {
        distances[range].chunks(1 << 16).fold((0, 0), |(most, without), chunk| {
            let (more, others) = chunk.iter().fold((0, 0), |(most, without): (u32, u32), d| {
                let bits = d.to_bits();
                let is_finite = bits < INFINITE;
                (most.max(if is_finite { bits } else { 0 }), without + u32::from(!is_finite))
            });
            (more.max(most), without + u64::from(others))
        })
    });
    let both = |a: (u32, u64), b: (u32, u64)| (a.0.max(b.0), a.1 + b.1);
    let (most, without) = parts.into_iter().fold((0, 0), both);
    (f32::from_bits(most), without)
}

/// Writes all outputs.
fn write(
    args: &Args,
    lie: &Lie,
    mut diagram: Diagram,
    rooms: &mut Rooms,
    progress: &dyn Progress,
) -> Result<()> {
    let (width, height) = (diagram.grid.width, diagram.grid.height);
    let size = (width as usize, height as usize);
    let existing = args.run.existing();
    let nearest = diagram.nearest.take();
    if let Some(nearest) = &nearest {
        args.ground.write(nearest, lie, &args.raster, existing)?;
    }
    if let (Some(path), Some(nearest)) = (&args.nearest, nearest) {
        let output = Output { path, existing };
        match nearest {
            nearest if args::is_tiff(path) => {
                ground::write_centres(output, &nearest, lie.place, &args.raster)?
            }
            Integers::U32(v) => rooms.write_nearest(output, v.values(), size)?,
            Integers::U64(v) => geo_io::write_npy(output, v.values(), size.0, size.1)?,
        }
    }
    let mut distance = diagram.distance.take().map(Grid::into_values).unwrap_or_default();
    // GeoTIFF and Zarr come last: they turn the infinite into NODATA.
    let mut paths: Vec<&Path> = args.output.iter().map(AsRef::as_ref).collect();
    paths
        .sort_by_key(|path| args::format(path).is_ok_and(|format| Format::BANDS.contains(&format)));
    for path in paths {
        let output = Output { path, existing };
        match args::format(path)? {
            Format::Npy => rooms.write_distances(output, &distance, size)?,
            Format::Png => {
                let raster = GridView::new(&distance, GridSpec::of_pixels(width, height))?;
                let factor = width.max(height).div_ceil(PICTURE_SIDE);
                let picture = terrain_grid::averaged(raster, factor, progress)?;
                let small = picture.grid();
                geo_io::write_picture(output, picture.values(), small.width, small.height)?;
            }
            format => {
                distance.par_iter_mut().filter(|v| v.is_infinite()).for_each(|v| *v = f32::NAN);
                let (size, options) = ((width, height), args.raster.options());
                if format == Format::Zarr {
                    let bands = Bands::one(args.raster.nodata);
                    geo_io::write_zarr(output, lie.place, size, &[&distance], &bands, &options)?;
                    continue;
                }
                let cells = Cells::Values { values: &distance, nodata: args.raster.nodata };
                geo_io::write_tiff(output, lie.place, size, cells, &options)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_and_distances_are_counted_whole() {
        for len in [0_usize, 1, 31, 32, 33, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 1_000_003] {
            let sites: Vec<u8> = (0..len).map(|i| u8::from(i % 7 == 0)).collect();
            assert_eq!(count(&sites), len.div_ceil(7) as u64);
            let mut distances: Vec<f32> = (0..len).map(|i| (i % 1009) as f32 * 0.37).collect();
            let most = distances.iter().copied().fold(0.0, f32::max);
            assert_eq!(largest(&distances), (most, 0));
            for (i, d) in distances.iter_mut().enumerate().filter(|(i, _)| i % 5 == 4) {
                *d = if i % 2 == 0 { f32::INFINITY } else { f32::NAN };
            }
            let finite = distances.iter().copied().filter(|d| d.is_finite());
            assert_eq!(largest(&distances), (finite.fold(0.0, f32::max), len as u64 / 5));
        }
    }
}
