//! Putting points into bins.

use std::io::Write;
use std::path::{Path, PathBuf};

use gpu_core::Bounds;

use super::format::{Entry, Header, ID, MAX_VALUES, PIECE, record};
use super::{BinSpec, Blocks, Position, run_path, runs};
use crate::output::write_atomic;
use crate::{Error, Existing, Output, Result};

/// Points of a run at least, however little memory there is.
const LEAST: usize = 4096;

/// Writes bins, a run at a time.
///
/// Example: see [`Bins`](crate::Bins).
pub struct BinWriter {
    folder: PathBuf,
    id: String,
    blocks: Blocks,
    /// Points of a run.
    room: usize,
    /// x, y and the values of the points that wait.
    columns: Vec<Vec<f64>>,
    /// Their blocks.
    block: Vec<u32>,
    /// The next run.
    number: u32,
    begin: Position,
    position: Position,
    is_whole: bool,
    points: u64,
}

impl BinWriter {
    /// Begins to write bins into an existing folder, or continues after the runs in the folder. Takes `memory` bytes: 8
    /// for each point and 8 for each of its columns, x, y and the values.
    ///
    /// # Errors
    /// - [`Error::Shape`]: the id is longer than 32 bytes, or a point has more than 32,765 values.
    /// - [`Error::Malformed`]: a run of the folder is damaged, or has other points.
    /// - The errors of reading, and [`Error::OutOfMemory`].
    pub fn open(folder: &Path, spec: &BinSpec, memory: u64) -> Result<Self> {
        if spec.id.len() > ID {
            let found = spec.id.len() as u64;
            return Err(Error::Shape { what: "id", expected: ID as u64, found });
        }
        if spec.values > MAX_VALUES {
            let (expected, found) = (MAX_VALUES as u64, spec.values as u64);
            return Err(Error::Shape { what: "values of a point, at most", expected, found });
        }
        let (runs, is_whole) = runs(folder, &spec.id)?;
        let blocks = Blocks::over(&spec.ground, spec.points);
        if let Some(first) = runs.first()
            && (first.blocks != blocks || first.values != spec.values)
        {
            let path = run_path(folder, 0);
            return Err(Error::malformed(&path, "its blocks belong to other points"));
        }
        let a_point = 8 * (2 + spec.values) + 8;
        let room = memory / a_point as u64;
        let room = room.clamp(LEAST as u64, spec.points.clamp(LEAST as u64, u32::MAX.into()));
        let mut writer = Self {
            folder: folder.to_owned(),
            id: spec.id.clone(),
            blocks,
            room: room as usize,
            columns: vec![Vec::new(); 2 + spec.values],
            block: Vec::new(),
            number: runs.len() as u32,
            begin: Position::default(),
            position: runs.last().map_or(Position::default(), |last| last.end),
            is_whole,
            points: runs.iter().map(|run| run.points).fold(0, u64::saturating_add),
        };
        writer.begin = writer.position;
        if !is_whole {
            writer.reserve(a_point as u64)?;
        }
        Ok(writer)
    }

    /// Takes the memory of a run at once, so that no column grows by doubling.
    fn reserve(&mut self, a_point: u64) -> Result<()> {
        let (room, columns) = (self.room, self.columns.iter_mut());
        let made = columns.into_iter().try_for_each(|column| column.try_reserve_exact(room));
        made.and_then(|()| self.block.try_reserve_exact(room)).map_err(|_| {
            let asked = room as u64 * a_point;
            Error::OutOfMemory { path: run_path(&self.folder, self.number), asked }
        })
    }

    /// Returns where to continue: all points before this position are in runs.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether the bins are complete.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The number of points in runs and in memory.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Takes points, in their order: entry `i` of each column is point `i`.
    ///
    /// # Errors
    /// [`Error::Shape`] for columns of different lengths or another number of values, [`Error::BadValue`] for a place
    /// that is not finite, and the errors of writing, which name the file.
    pub fn push(&mut self, x: &[f64], y: &[f64], values: &[&[f64]]) -> Result<()> {
        self.check(x, y, values)?;
        let mut from = 0;
        while from < x.len() {
            let count = (x.len() - from).min(self.room - self.block.len());
            let range = from..from + count;
            let places = x[range.clone()].iter().zip(&y[range.clone()]);
            self.block.extend(places.map(|(&x, &y)| self.blocks.of(x, y)));
            for (column, given) in self.columns.iter_mut().zip([x, y].iter().chain(values)) {
                column.extend_from_slice(&given[range.clone()]);
            }
            // A run may say that it ends anywhere.
            self.position.kept = self.position.kept.saturating_add(count as u64);
            self.points += count as u64;
            from += count;
            if self.block.len() == self.room {
                self.write_run(false)?;
            }
        }
        Ok(())
    }

    fn check(&self, x: &[f64], y: &[f64], values: &[&[f64]]) -> Result<()> {
        let wanted = self.columns.len() - 2;
        if values.len() != wanted {
            let (expected, found) = (wanted as u64, values.len() as u64);
            return Err(Error::Shape { what: "columns of values", expected, found });
        }
        for (what, column) in [("y", y)].into_iter().chain(values.iter().map(|&v| ("values", v))) {
            let (expected, found) = (x.len() as u64, column.len() as u64);
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        for (what, column) in [("x", x), ("y", y)] {
            if let Some(&value) = column.iter().find(|v| !v.is_finite()) {
                return Err(Error::BadValue { what, value, expected: "a finite number" });
            }
        }
        Ok(())
    }

    /// Notes that the caller has given all points of an input.
    pub fn next_input(&mut self) {
        self.position = Position { input: self.position.input.saturating_add(1), kept: 0 };
    }

    /// Writes the last run.
    ///
    /// # Errors
    /// The errors of writing, which name the file.
    pub fn finish(mut self) -> Result<()> {
        if self.is_whole { Ok(()) } else { self.write_run(true) }
    }

    /// Writes the points that wait as a run.
    fn write_run(&mut self, is_last: bool) -> Result<()> {
        let (order, mut entries) = self.sorted();
        let path = run_path(&self.folder, self.number);
        let header = Header {
            id: self.id.clone(),
            values: self.columns.len() - 2,
            number: self.number,
            is_last,
            points: order.len() as u64,
            filled: entries.len() as u64,
            begin: self.begin,
            end: self.position,
            blocks: self.blocks,
            bounds: bounds_of(&self.columns[0], &self.columns[1]),
        };
        // The second of two writers in one folder stops here.
        let output = Output { path: &path, existing: Existing::Refuse };
        write_atomic(output, |file| {
            let failed = |e: std::io::Error| Error::write(&path, e);
            file.write_all(&header.to_bytes()).map_err(failed)?;
            for entry in &mut entries {
                let first = entry.first as usize;
                let of_block = &order[first..first + entry.points as usize];
                entry.checksum = self.write_block(file, of_block).map_err(failed)?;
            }
            let index: Vec<u8> = entries.iter().flat_map(|entry| entry.to_bytes()).collect();
            file.write_all(&index).map_err(failed)?;
            file.write_all(&crc32fast::hash(&index).to_le_bytes()).map_err(failed)
        })?;
        self.columns.iter_mut().for_each(Vec::clear);
        self.block.clear();
        self.number += 1;
        self.begin = self.position;
        Ok(())
    }

    /// The places of the points that wait, by block and in each by place; and the blocks that have some.
    fn sorted(&self) -> (Vec<u32>, Vec<Entry>) {
        let mut next = vec![0_u32; self.blocks.count()];
        for &block in &self.block {
            next[block as usize] += 1;
        }
        let (mut entries, mut first) = (Vec::new(), 0);
        for (block, next) in next.iter_mut().enumerate() {
            let points = std::mem::replace(next, first);
            if points > 0 {
                let (block, first) = (block as u32, u64::from(first));
                entries.push(Entry { block, points, checksum: 0, first });
            }
            first += points;
        }
        let mut order = vec![0; self.block.len()];
        for (place, &block) in self.block.iter().enumerate() {
            let next = &mut next[block as usize];
            order[*next as usize] = place as u32;
            *next += 1;
        }
        (order, entries)
    }

    /// Writes the points of a block; gives their checksum.
    fn write_block(&self, file: &mut impl Write, order: &[u32]) -> std::io::Result<u32> {
        let mut checksum = crc32fast::Hasher::new();
        let record = record(self.columns.len() - 2);
        let mut piece = Vec::with_capacity(PIECE.min(order.len() * record));
        for places in order.chunks(PIECE / record) {
            piece.clear();
            for &place in places {
                for column in &self.columns {
                    piece.extend_from_slice(&column[place as usize].to_le_bytes());
                }
                piece.extend_from_slice(&place.to_le_bytes());
            }
            checksum.update(&piece);
            file.write_all(&piece)?;
        }
        Ok(checksum.finalize())
    }
}

/// Where points lie; the wrong way round where there are none.
fn bounds_of(x: &[f64], y: &[f64]) -> Bounds {
    let of = |column: &[f64]| {
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        column.iter().fold(none, |(low, high), &v| (low.min(v), high.max(v)))
    };
    let ((min_x, max_x), (min_y, max_y)) = (of(x), of(y));
    Bounds { min_x, min_y, max_x, max_y }
}
