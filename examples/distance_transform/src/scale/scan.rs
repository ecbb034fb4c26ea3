//! The first pass over a mask whose distances have no limit.
//!
//! A tile is a strip of columns. Beyond it only two sites of each row count: the last one before the strip and the
//! first one after it. A tile could find these only by reading all rows whole. So the scan finds them for all tiles at
//! once: it reads the mask from north to south, some rows at a time.
//!
//! The scan writes the folder `rows-ID` beside the plan, with an NPY file for every band of [`BAND`] rows. Row 2n of a
//! file has the columns of the sites before tile n, and row 2n + 1 the columns of the sites after it. Each row ends
//! with the CRC-32 of its columns, so that a tile checks what it reads. A file appears whole or not at all, so a scan
//! that was killed goes on with the files that are missing.

use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use geo_io::{ArrayFile, MaskFile, Output};
use gpu_core::{Progress, host_memory};
use pba_voronoi::NONE;
use programs::report::Report;
use programs::scale::{FIXED, require_unchanged};
use programs::stages::Stages;
use rayon::prelude::*;
use serde_json::json;
use tile_plan::Tile;

use crate::globe::OnGlobe;
use crate::scale::Planned;
use crate::scale::args::ScanArgs;
use crate::scale::mask::open_mask;

/// Rows of a file.
const BAND: usize = 4096;

/// Rows that are read at once, at least: those of a GeoTIFF's tile.
const LEAST: usize = 256;

/// The sites of each row beyond a tile, as columns of the whole; [`NONE`] where there is none.
pub struct Beyond {
    pub before: Vec<u32>,
    pub after: Vec<u32>,
}

impl Beyond {
    /// What a scan has found for a tile.
    pub fn read(planned: &Planned, tile: &Tile) -> Result<Self> {
        let number = planned.plan.tiles().iter().position(|other| other == tile);
        let number = number.context("this plan is damaged: a tile does not belong to it")?;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for band in bands(planned) {
            let both = read(planned, band, 2 * number, 2)?;
            let (first, second) = both.split_at(both.len() / 2);
            before.extend_from_slice(first);
            after.extend_from_slice(second);
        }
        Ok(Self { before, after })
    }
}

/// Refuses a plan whose scan is not there, or not whole.
pub fn require_all(planned: &Planned) -> Result<()> {
    bands(planned).try_for_each(|band| open(planned, band).map(drop)).context(
        "the tiles of this plan need a scan of the mask: run distance_transform scan with this plan first",
    )
}

/// Whether something is there that a scan wrote for a plan.
pub fn is_there(planned: &Planned) -> bool {
    folder(planned).is_dir()
}

/// Makes what is not there of a plan's files, or removes them.
pub fn scan(args: &ScanArgs) -> Result<()> {
    let planned = Planned::read(&args.plan)?;
    if args.remove {
        return remove(&planned, args);
    }
    let is_strip = planned.recipe.is_strip();
    ensure!(is_strip, "tiles of a plan with --max-distance need no scan");
    // Refused before anything is made.
    open_mask(&planned)?;
    let folder = folder(&planned);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let all = bands(&planned);
    let missing: Vec<usize> = all.clone().filter(|&band| !is_whole(&planned, band)).collect();
    let mut stages = Stages::new(args.run.quiet);
    stages.run("scan", |progress| {
        missing.iter().try_for_each(|&band| make(&planned, band, progress))
    })?;
    let mut report = Report::default();
    let (made, there) = (missing.len(), all.len() - missing.len());
    report.line("bands", format_args!("of {BAND} rows: {made} made, {there} were there"));
    report.field("bands", json!({"made": made, "there": there}));
    report.stages(&stages);
    report.written([&folder]);
    report.print(&args.run);
    Ok(())
}

/// The folder of a plan's files.
fn folder(planned: &Planned) -> PathBuf {
    planned.folder.with_file_name(format!("rows-{}", planned.id))
}

fn path_of(planned: &Planned, band: usize) -> PathBuf {
    folder(planned).join(format!("{band}.npy"))
}

/// The bands of a plan's rows.
fn bands(planned: &Planned) -> Range<usize> {
    0..planned.plan.grid().height.div_ceil(BAND as u32) as usize
}

/// The rows of a band.
fn rows_of(planned: &Planned, band: usize) -> Range<usize> {
    let height = planned.plan.grid().height as usize;
    band * BAND..height.min((band + 1) * BAND)
}

/// Opens the file of a band, which must have its size: columns of sites, and one of checksums.
fn open(planned: &Planned, band: usize) -> Result<ArrayFile> {
    let path = path_of(planned, band);
    let file = ArrayFile::open(&path)?;
    let size = (rows_of(planned, band).len() + 1, 2 * planned.plan.tiles().len());
    ensure!(file.size() == size, "{} does not belong to this plan", path.display());
    file.rows::<u32>(0, 0)?;
    Ok(file)
}

/// Reads some rows of a band's file, and checks them by their checksums.
fn read(planned: &Planned, band: usize, first: usize, count: usize) -> Result<Vec<u32>> {
    let length = rows_of(planned, band).len();
    let rows = open(planned, band)?.rows::<u32>(first, count)?;
    let mut sites = Vec::with_capacity(count * length);
    for (number, row) in (first..).zip(rows.chunks_exact(length + 1)) {
        let (own, sum) = row.split_at(length);
        ensure!(
            sum == [sum_of(own)],
            "row {number} of {} is damaged: distance_transform scan makes it again",
            path_of(planned, band).display()
        );
        sites.extend_from_slice(own);
    }
    Ok(sites)
}

fn sum_of(row: &[u32]) -> u32 {
    crc32fast::hash(bytemuck::cast_slice(row))
}

/// Whether the file of a band is there, with the contents that were written.
fn is_whole(planned: &Planned, band: usize) -> bool {
    (0..planned.plan.tiles().len()).all(|tile| read(planned, band, 2 * tile, 2).is_ok())
}

/// Makes the file of a band.
fn make(planned: &Planned, band: usize, progress: &dyn Progress) -> Result<()> {
    let (input, mask) = open_mask(planned)?;
    let (tiles, rows) = (planned.plan.tiles(), rows_of(planned, band));
    let (length, height) = (rows.len(), f64::from(planned.plan.grid().height));
    let mut columns = host_memory::filled(NONE, 2 * tiles.len() * length)?;
    let (step, together) = window(planned, length);
    for first in rows.clone().step_by(step) {
        progress.at("scan", first as f64 / height)?;
        let part = first..(first + step).min(rows.end);
        let groups = tiles.chunks(together).zip(columns.chunks_mut(2 * together * length));
        for (tiles, columns) in groups {
            own_sites(planned, &mask, (&rows, part.clone()), tiles, columns)?;
        }
    }
    let round = planned.recipe.globe.map(|globe| Round::of(planned, &globe));
    beyond_of_own(&mut columns, length, round);
    // What was read is what was planned with, even where a file was replaced meanwhile.
    require_unchanged(input)?;
    let path = path_of(planned, band);
    let size = (length + 1, 2 * tiles.len());
    let mut fill = |first: usize, rows: &mut [u32]| {
        let own = columns.chunks_exact(length).skip(first);
        for (row, own) in rows.chunks_exact_mut(length + 1).zip(own) {
            row[..length].copy_from_slice(own);
            row[length] = sum_of(own);
        }
        Ok(())
    };
    Ok(geo_io::write_npy_rows(Output::from(&path), size, &mut fill)?)
}

/// Returns the rows and the tiles that are read at once: as many rows as fit the plan's memory, and all tiles if
/// possible.
fn window(planned: &Planned, length: usize) -> (usize, usize) {
    let (grid, tiles) = (planned.plan.grid(), planned.plan.tiles());
    // Where the plan has none, half of what is free.
    let memory = planned.memory.or_else(|| host_memory::available().map(|free| free / 2));
    let found = 8 * tiles.len() as u64 * length as u64;
    let room = memory.unwrap_or(0).saturating_sub(FIXED + found);
    let pixels = room / planned.recipe.kind(grid).read();
    let rows = pixels / u64::from(grid.width) / LEAST as u64 * LEAST as u64;
    if rows > 0 {
        return (rows.min(BAND as u64) as usize, tiles.len());
    }
    let widest = tiles.iter().map(|tile| tile.width).max().unwrap_or(1);
    let together = pixels / LEAST as u64 / u64::from(widest);
    (LEAST, together.max(1) as usize)
}

/// Finds the last and the first site of each tile's own columns, for a part of a band's rows. Writes them where the
/// sites before and after the tile will stand.
fn own_sites(
    planned: &Planned,
    mask: &MaskFile,
    (band, rows): (&Range<usize>, Range<usize>),
    tiles: &[Tile],
    columns: &mut [u32],
) -> Result<()> {
    let (Some(first), Some(last)) = (tiles.first(), tiles.last()) else { return Ok(()) };
    let (west, east) = (first.column as usize, (last.column + last.width) as usize);
    let own = rows.start - band.start..rows.end - band.start;
    let sites = mask.window(rows, west..east, &planned.recipe.sites()?)?.sites;
    let of_tiles = columns.par_chunks_exact_mut(2 * band.len()).zip(tiles);
    of_tiles.for_each(|(columns, tile)| {
        let (last, first) = columns.split_at_mut(band.len());
        let both = last[own.clone()].iter_mut().zip(&mut first[own.clone()]);
        let start = tile.column as usize - west;
        for (row, (last, first)) in sites.chunks_exact(east - west).zip(both) {
            let row = &row[start..start + tile.width as usize];
            let column = |x: Option<usize>| x.map_or(NONE, |x| tile.column + x as u32);
            *last = column(row.iter().rposition(|&site| site != 0));
            *first = column(row.iter().position(|&site| site != 0));
        }
    });
    Ok(())
}

/// How rows continue beyond their ends on the globe.
#[derive(Clone, Copy)]
struct Round {
    /// The last column, if it lies on the same meridian as the first.
    seam: Option<u32>,
}

impl Round {
    fn of(planned: &Planned, globe: &OnGlobe) -> Self {
        let width = planned.plan.grid().width;
        Self { seam: globe.globe().is_closed(width).then(|| width - 1) }
    }
}

/// Replaces each tile's own last and first sites by the last site before the tile and the first site after it.
/// `columns` has a row of `length` for each. On the globe, before means west and after means east, and the search goes
/// on around the globe.
fn beyond_of_own(columns: &mut [u32], length: usize, round: Option<Round>) {
    /// The last site of each row in all lines.
    fn end_of<'a>(lines: impl DoubleEndedIterator<Item = &'a [u32]>, length: usize) -> Vec<u32> {
        let mut ends = vec![NONE; length];
        for line in lines.rev() {
            for (end, &own) in ends.iter_mut().zip(line) {
                *end = if *end == NONE { own } else { *end };
            }
        }
        ends
    }
    /// Each line gets what the lines before it have last.
    fn carry<'a>(lines: impl Iterator<Item = &'a mut [u32]>, mut carried: Vec<u32>) {
        for line in lines {
            for (own, carried) in line.iter_mut().zip(&mut carried) {
                let found = if *own == NONE { *carried } else { *own };
                *own = std::mem::replace(carried, found);
            }
        }
    }
    let [mut lasts, mut firsts] = [vec![NONE; length], vec![NONE; length]];
    if round.is_some() {
        lasts = end_of(columns.chunks_exact(length).step_by(2), length);
        firsts = end_of(columns.chunks_exact(length).rev().step_by(2), length);
    }
    let is_seam = |row: usize, seam: u32| firsts[row] == 0 && lasts[row] == seam;
    let seam = round.and_then(|round| round.seam);
    let closed: Vec<(usize, u32)> = seam.map_or(Vec::new(), |seam| {
        (0..length).filter(|&row| is_seam(row, seam)).map(|row| (row, seam)).collect()
    });
    carry(columns.chunks_exact_mut(length).step_by(2), lasts);
    carry(columns.chunks_exact_mut(length).rev().step_by(2), firsts);
    // The first and the last column may be one meridian. If both have a site there, the first column counts.
    for line in columns.chunks_exact_mut(length) {
        for &(row, seam) in &closed {
            line[row] = if line[row] == seam { 0 } else { line[row] };
        }
    }
}

/// Removes a plan's files.
fn remove(planned: &Planned, args: &ScanArgs) -> Result<()> {
    let folder = folder(planned);
    let mut removed = 0;
    for path in bands(planned).map(|band| path_of(planned, band)).filter(|path| path.exists()) {
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        removed += 1;
    }
    // It stays where there is something else in it, or it is a link.
    let _ = std::fs::remove_dir(&folder);
    let mut report = Report::default();
    report.line("removed", format_args!("{removed} files, {}", folder.display()));
    report.field("removed", removed);
    report.print(&args.run);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_sites_become_those_beyond() {
        const N: u32 = NONE;
        // Three tiles of ten columns, and two rows: the last and the first site of each.
        let mut columns = [
            [7, N],
            [2, N], //
            [N, 15],
            [N, 15], //
            [28, N],
            [21, N],
        ]
        .concat();
        let own = columns.clone();
        beyond_of_own(&mut columns, 2, None);
        let expected = [
            [N, N],
            [21, 15], //
            [7, N],
            [21, N], //
            [7, 15],
            [N, N],
        ];
        assert_eq!(columns, expected.concat());
        let mut columns = own;
        beyond_of_own(&mut columns, 2, Some(Round { seam: None }));
        let expected = [
            [28, 15],
            [21, 15], //
            [7, 15],
            [21, 15], //
            [7, 15],
            [2, 15],
        ];
        assert_eq!(columns, expected.concat());
        // Column 29 is the meridian of column 0; the other row has no site in that.
        let mut columns = [[0, 3], [0, 3], [N, N], [N, N], [29, 29], [29, 29]].concat();
        beyond_of_own(&mut columns, 2, Some(Round { seam: Some(29) }));
        let expected = [[0, 29], [0, 29], [0, 3], [0, 29], [0, 3], [0, 3]];
        assert_eq!(columns, expected.concat());
    }
}
