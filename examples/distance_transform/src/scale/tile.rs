//! The steps of a tile.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use geo_io::{ArrayFile, Cells, Mask, NpyElement, Output, RasterFile, TiffOptions, ZarrTiles};
use gpu_core::{Device, GridSpec, Progress};
use pba_voronoi::{Input, Integers, Sites, Strip};
use programs::scale::{Recipe as _, part, require_unchanged};
use tile_plan::Tile;

use crate::scale::mask::open_mask;
use crate::scale::scan::Beyond;
use crate::scale::{Planned, is_short};

/// The end of the name of a tile's nearest sites.
pub const NEAREST: &str = ".nearest.npy";

/// What a tile is made of.
pub struct Read {
    /// The window of the mask.
    mask: Mask,
    /// What lies beyond, where it is a strip of columns.
    beyond: Option<Beyond>,
}

/// The outputs of the tile.
pub struct Made {
    /// The distances; NaN where there is no site.
    distances: Vec<f32>,
    /// The nearest sites, as indices of the whole.
    nearest: Option<Indices>,
}

/// Indices, of as many bits as those of the whole need.
enum Indices {
    Short(Vec<u32>),
    Long(Vec<u64>),
}

/// The rows and columns of the window that a tile needs: its own and the halo's, as far as there is a raster.
fn window(planned: &Planned, tile: &Tile) -> [Range<usize>; 2] {
    let (grid, halo) = (planned.plan.grid(), planned.plan.halo());
    let along = |first: u32, count: u32, side: u32| {
        let end = (first + count).saturating_add(halo).min(side);
        first.saturating_sub(halo) as usize..end as usize
    };
    [along(tile.row, tile.height, grid.height), along(tile.column, tile.width, grid.width)]
}

/// The window of the mask, and of a strip what lies beyond.
pub fn read(planned: &Planned, tile: &Tile) -> Result<Read> {
    let beyond = planned.recipe.is_strip().then(|| Beyond::read(planned, tile)).transpose()?;
    let (input, file) = open_mask(planned)?;
    let [rows, columns] = window(planned, tile);
    let mask = file.window(rows, columns, &planned.recipe.sites()?)?;
    // What was read is what was planned with, even where a file was replaced meanwhile.
    require_unchanged(input)?;
    Ok(Read { mask, beyond })
}

/// Transforms the window, and cuts the tile out.
pub fn make(
    planned: &Planned,
    tile: &Tile,
    Read { mask, beyond }: Read,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Made> {
    let whole = planned.plan.grid();
    let [rows, columns] = window(planned, tile);
    let grid = GridSpec::of_pixels(columns.len() as u32, rows.len() as u32);
    let mut input = Input::new(Sites::Mask(&mask.sites), grid);
    if let Some(Beyond { before, after }) = &beyond {
        input = input.strip(Strip { columns: whole.width, first: tile.column, before, after });
    }
    let params = planned.recipe.params(whole);
    let diagram = match &planned.recipe.globe {
        Some(globe) => {
            let path = planned.plan.inputs().first().map_or("", |input| &input.path);
            globe.transform(device, Path::new(path), &input, &params, progress)?
        }
        None => pba_voronoi::transform(device.with_progress(progress), &input, &params)?,
    };
    drop(mask);
    let (top, left) = (tile.row as usize - rows.start, tile.column as usize - columns.start);
    let cut = Cut { tile, top, left, width: columns.len() };
    let distances = diagram.distance.context("there are no distances")?;
    let distances = cut.of(distances.values(), |v| if v.is_infinite() { f32::NAN } else { v });
    if beyond.is_some() {
        // Indices are those of the whole.
        let nearest = diagram.nearest.map(|nearest| match nearest {
            Integers::U32(short) => Indices::Short(short.into_values()),
            Integers::U64(long) => Indices::Long(long.into_values()),
        });
        return Ok(Made { distances, nearest });
    }
    // An index of the window as one of the whole; what has none has the highest number.
    let index = |p: u64| {
        let (row, column) = (p / columns.len() as u64, p % columns.len() as u64);
        (rows.start as u64 + row) * u64::from(whole.width) + columns.start as u64 + column
    };
    let nearest = diagram.nearest.map(|nearest| match (nearest, is_short(whole)) {
        (Integers::U32(short), true) => Indices::Short(cut.of(short.values(), |p| match p {
            u32::MAX => p,
            _ => index(p.into()) as u32,
        })),
        (Integers::U32(short), false) => Indices::Long(cut.of(short.values(), |p| match p {
            u32::MAX => u64::MAX,
            _ => index(p.into()),
        })),
        (Integers::U64(long), _) => Indices::Long(cut.of(long.values(), |p| match p {
            u64::MAX => p,
            _ => index(p),
        })),
    });
    Ok(Made { distances, nearest })
}

/// A tile in its window.
struct Cut<'a> {
    tile: &'a Tile,
    top: usize,
    left: usize,
    /// Columns of the window.
    width: usize,
}

impl Cut<'_> {
    /// The tile's values of those of the window.
    fn of<T: Copy, U>(&self, values: &[T], number: impl Fn(T) -> U) -> Vec<U> {
        let (columns, rows) = (self.tile.width as usize, self.tile.height as usize);
        let lines = values.chunks_exact(self.width).skip(self.top).take(rows);
        lines.flat_map(|row| &row[self.left..self.left + columns]).map(|&v| number(v)).collect()
    }
}

/// Writes the files of a tile.
pub fn write(planned: &Planned, number: usize, made: Made) -> Result<()> {
    let tile = planned.tile(number)?;
    if let Some(store) = store(planned)? {
        store.begin()?;
        store.write(0, part(tile), &made.distances)?;
        return planned.write_sums(number);
    }
    let size = (tile.width as usize, tile.height as usize);
    let nearest = planned.path_of(number, NEAREST);
    match &made.nearest {
        Some(Indices::Short(values)) => geo_io::write_npy(&nearest, values, size.0, size.1)?,
        Some(Indices::Long(values)) => geo_io::write_npy(&nearest, values, size.0, size.1)?,
        None => {}
    }
    let path = planned.path_of(number, ".tif");
    let place = planned.recipe.place_from(tile.column, tile.row)?;
    let cells = Cells::Values { values: &made.distances, nodata: f32::NAN };
    let size = (tile.width, tile.height);
    geo_io::write_tiff(Output::from(&path), &place, size, cells, &TiffOptions::default())?;
    planned.write_sums(number)
}

/// The store that tiles are chunks of, if they are.
pub fn store(planned: &Planned) -> Result<Option<ZarrTiles>> {
    planned.store(&planned.recipe.place_from(0, 0)?, &[""])
}

/// Opens the distances of a tile.
pub fn open(planned: &Planned, number: usize) -> Result<RasterFile> {
    let tile = planned.tile(number)?;
    planned.open(number, ".tif", &planned.recipe.place_from(tile.column, tile.row)?)
}

/// Opens the nearest sites of a tile, which has indices of this type.
pub fn open_nearest<T: NpyElement + bytemuck::Pod>(
    planned: &Planned,
    number: usize,
) -> Result<ArrayFile> {
    let (path, tile) = (planned.path_of(number, NEAREST), planned.tile(number)?);
    let file = ArrayFile::open(&path)?;
    let is_its = file.size() == (tile.width as usize, tile.height as usize);
    ensure!(is_its, "{} is not tile {number} of the plan", path.display());
    file.rows::<T>(0, 0)?;
    Ok(file)
}

/// Whether the files of a tile are there, are the plan's, and have the contents that were written.
pub fn is_whole(planned: &Planned, number: usize) -> bool {
    if planned.recipe.zarr().is_some() {
        let has_begun = store(planned).is_ok_and(|store| store.is_some_and(|s| s.has_begun()));
        return has_begun && planned.check_sums(number).is_ok();
    }
    let nearest = || match is_short(planned.plan.grid()) {
        true => open_nearest::<u32>(planned, number).is_ok(),
        false => open_nearest::<u64>(planned, number).is_ok(),
    };
    open(planned, number).is_ok()
        && (!planned.recipe.nearest || nearest())
        && planned.check_sums(number).is_ok()
}
