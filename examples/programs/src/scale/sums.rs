//! The checksums of a tile's files.
//!
//! A file may have the right name and length but wrong contents, such as zeros after a failure of the disk. Then a
//! GeoTIFF would read as NODATA, and an array as zeros. So beside the files of tile N lies `N.sums`, with a line for
//! each of them: its CRC-32 as `crc32` prints it, its length, its name. This file is written last: without it, the tile
//! counts as missing.
//!
//! Formats with their own checksums need no such file.

use std::fs::{File, read};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use geo_io::Output;
use rayon::prelude::*;

use super::{Planned, Recipe, require_all};

/// The end of the name of the file.
const SUMS: &str = ".sums";

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// Refuses a plan if files of its tiles are missing or have changed.
///
/// # Errors
/// The first such tile, by its number and its file.
pub fn require_whole<R: Recipe>(planned: &Planned<R>) -> Result<()> {
    require_all(planned)?;
    let numbers = (0..planned.plan.tiles().len()).into_par_iter();
    let first = numbers.map(|number| planned.check_sums(number)).find_first(Result::is_err);
    first.unwrap_or(Ok(()))
}

impl<R: Recipe> Planned<R> {
    /// Writes the checksums of a tile's files, which must all exist.
    ///
    /// # Errors
    /// The errors of reading and writing.
    pub fn write_sums(&self, number: usize) -> Result<()> {
        let lines =
            R::files(self, number).iter().map(|path| line(path)).collect::<Result<String>>()?;
        let path = self.path_of(number, SUMS);
        Ok(geo_io::write_file(Output::from(&path), |file| file.write_all(lines.as_bytes()))?)
    }

    /// Compares the files of a tile with its checksums.
    ///
    /// # Errors
    /// Names the file that has changed.
    pub fn check_sums(&self, number: usize) -> Result<()> {
        let (path, program) = (self.path_of(number, SUMS), R::PROGRAM);
        let written = read(&path).map_err(|_| {
            anyhow!(
                "tile {number} is not complete: {} is missing; {program} run makes it again",
                path.display()
            )
        })?;
        let written = String::from_utf8_lossy(&written);
        let mut lines = written.split_inclusive('\n');
        for path in R::files(self, number) {
            if lines.next() != Some(&line(&path)?) {
                bail!("tile {number} is damaged: {}; {program} run makes it again", path.display());
            }
        }
        Ok(())
    }
}

/// Returns a file's line: its checksum, length and name.
fn line(path: &Path) -> Result<String> {
    let mut sum = crc32fast::Hasher::new();
    let length =
        summed(path, &mut sum).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{:08x} {length} {name}\n", sum.finalize()))
}

/// Adds the bytes of a file to a checksum, and counts them.
fn summed(path: &Path, sum: &mut crc32fast::Hasher) -> std::io::Result<u64> {
    let (mut file, mut piece, mut length) = (File::open(path)?, vec![0; PIECE], 0);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(length);
        }
        sum.update(&piece[..count]);
        length += count as u64;
    }
}
