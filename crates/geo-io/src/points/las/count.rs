//! How many points a file holds, and whether they lie where its header says. Writers write headers last, or never: if
//! the header contradicts the records, the records count.

use std::io::{self, Read, Seek, SeekFrom};

use crate::points::chunk::{holds, points_of, spread};
use ::laz::LazVlr;

use super::LasFile;
use super::chunks::Table;

/// Places of an uncompressed file that are sampled to judge a header's bounds.
const SAMPLE: u64 = 64;

/// Records that are read from each place on.
const RUN: u64 = 2048;

/// Chunks of a compressed file whose first points are sampled.
const CHUNKS: u64 = 1024;

/// The believed number of points.
pub(super) struct Count {
    pub points: u64,
    /// What a user should know.
    pub note: Option<String>,
}

impl LasFile {
    /// The number of points that the header states: of two, that for large files.
    fn stated(&self) -> u64 {
        let large = self.raw.large_file.map_or(0, |l| l.number_of_point_records);
        if large > 0 { large } else { self.raw.number_of_point_records.into() }
    }

    /// The points of all returns that the header states.
    fn stated_by_return(&self) -> u64 {
        let older = self.raw.number_of_points_by_return;
        let older = older.into_iter().map(u64::from).sum::<u64>();
        let newer = self.raw.large_file.map_or([0; 15], |large| large.number_of_points_by_return);
        newer.into_iter().fold(0, u64::saturating_add).max(older)
    }

    /// Where the records of a file without compression end: where something else begins, or the file ends.
    fn end_of_records(&self) -> u64 {
        let start = u64::from(self.raw.offset_to_point_data);
        let extended = self.raw.evlr.map(|evlr| evlr.start_of_first_evlr);
        let others = [extended, self.raw.start_of_waveform_data_packet_record];
        let behind = others.into_iter().flatten().filter(|&place| place >= start);
        behind.fold(self.size, u64::min)
    }

    /// The points of a file without compression.
    pub(super) fn count_records(&self) -> io::Result<Count> {
        let start = u64::from(self.raw.offset_to_point_data);
        let (record, bytes) =
            (self.layout.record as u64, self.end_of_records().saturating_sub(start));
        let (fit, is_exact) = (bytes / record, bytes.is_multiple_of(record));
        let (stated, legacy) = (self.stated(), u64::from(self.raw.number_of_point_records));
        let believed = |points| {
            let note = format!(
                "its header promises {stated} points, {points} records follow: these were read"
            );
            Ok(Count { points, note: Some(note) })
        };
        if stated == 0 && fit > 0 || stated > fit && is_exact && legacy == fit && fit > 0 {
            return believed(fit);
        }
        // Some writers take room ahead, and leave it as it was.
        let is_written = || Ok::<_, io::Error>(!self.is_blank(start + (fit - 1) * record)?);
        if stated < fit && is_exact && is_written()? && self.are_within_header(stated..fit)? {
            return believed(fit);
        }
        let left = (stated < fit).then(|| {
            format!(
                "its header promises {stated} points: {} bytes behind them, as many as {} records have, were not read",
                bytes - stated * record,
                fit - stated
            )
        });
        Ok(Count { points: stated, note: left })
    }

    /// The points of a compressed file, by its chunks.
    pub(super) fn count_chunks(
        &self,
        laz: &LazVlr,
        table: &Result<Table, String>,
    ) -> Result<Count, String> {
        let nowhere = |(least, most): (u64, Option<u64>)| {
            let range = match most {
                Some(most) => format!("{least} to {most} compressed ones follow"),
                None => "compressed ones follow".to_owned(),
            };
            format!(
                "its header promises no points, but {range}, and their number is stated nowhere: write it into bytes 108 \
                 to 111 of the header, or have the file written anew by the program that made it"
            )
        };
        let stated = self.stated();
        let believed = |points| {
            let note = format!(
                "its header promises {stated} points, its chunks hold {points}: these were read"
            );
            let note = (points != stated).then_some(note);
            Ok(Count { points, note })
        };
        let table = match table {
            Ok(table) => table,
            Err(_) if stated > 0 => return Ok(Count { points: stated, note: None }),
            Err(_) => {
                let start = u64::from(self.raw.offset_to_point_data);
                // The place of the chunk table, and a point.
                if self.size < start + 8 + self.layout.record as u64 {
                    return Ok(Count { points: 0, note: None });
                }
                let found = self.layered_chunks(laz, u64::MAX).map_err(|e| e.to_string())?;
                let found = points_of(&found);
                return if found > 0 { believed(found) } else { Err(nowhere((1, None))) };
            }
        };
        if let Some(points) = table.points {
            return believed(points);
        }
        // All chunks but the last are full.
        let (least, most) = table.range();
        match stated {
            0 => {
                let by_return = self.stated_by_return();
                let fits = least <= by_return && most.is_some_and(|most| by_return <= most);
                let note = format!(
                    "its header promises no points, and {by_return} of all returns, which its chunks hold: these were read"
                );
                let count = fits.then_some(Count { points: by_return, note: Some(note) });
                count.ok_or_else(|| nowhere((least, most)))
            }
            _ if stated < least => {
                let note = format!(
                    "its header promises {stated} points, its chunks hold {least} or more: the first {stated} were read"
                );
                Ok(Count { points: stated, note: Some(note) })
            }
            _ => Ok(Count { points: stated, note: None }),
        }
    }

    /// Whether the header's bounds hold the points, as far as a sample of them tells: of a compressed file, the first of
    /// chunks.
    pub(super) fn holds_sample(&self) -> io::Result<bool> {
        let Some(Ok(table)) = &self.table else {
            // A compressed file without known chunks: only its first point.
            let points = if self.laz.is_some() { self.points.min(1) } else { self.points };
            return self.are_within_header(0..points);
        };
        let (chunks, most) = (&table.chunks, if self.file.is_remote() { 1 } else { CHUNKS });
        for i in spread(0..chunks.len() as u64, most) {
            if !self.is_within_header(chunks[i as usize].offset)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the header's bounds hold a sample of some records.
    fn are_within_header(&self, records: std::ops::Range<u64>) -> io::Result<bool> {
        // The place of the chunk table comes before the first point.
        let ahead = if self.laz.is_some() { 8 } else { 0 };
        let start = u64::from(self.raw.offset_to_point_data) + ahead;
        let run = if self.laz.is_some() { 1 } else { RUN };
        // On a server each place is a request.
        let most = if self.file.is_remote() { 1 } else { SAMPLE };
        for i in spread(records.clone(), most) {
            // The last run ends with the last record.
            let last = records.end.saturating_sub(run).max(records.start);
            let count = records.end.saturating_sub(i.min(last)).min(run);
            let place = i.min(last).saturating_mul(self.layout.record as u64).saturating_add(start);
            if !self.is_run_within_header(place, count)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same for `count` records from a place on. The reader of the points reports a file cut short.
    fn is_run_within_header(&self, place: u64, count: u64) -> io::Result<bool> {
        let Some(bounds) = self.layout.stated else { return Ok(true) };
        let record = self.layout.record as u64;
        let count = count.min(self.size.saturating_sub(place) / record);
        let (mut source, mut records) =
            (self.file.try_clone()?, vec![0; (count * record) as usize]);
        source.seek(SeekFrom::Start(place))?;
        source.read_exact(&mut records)?;
        let mut places = records.chunks_exact(self.layout.record).map(|r| self.layout.place(r));
        Ok(places.all(|[x, y]| holds(&bounds, x, y)))
    }

    /// Whether the header's bounds, where it has any, hold the record at a place.
    fn is_within_header(&self, place: u64) -> io::Result<bool> {
        let Some(bounds) = self.layout.stated else { return Ok(true) };
        let [x, y] = self.place_at(place)?;
        Ok(holds(&bounds, x, y))
    }

    /// Whether the record at a place has no bit that is set.
    pub(super) fn is_blank(&self, place: u64) -> io::Result<bool> {
        let (mut source, mut record) = (self.file.try_clone()?, vec![0; self.layout.record]);
        source.seek(SeekFrom::Start(place))?;
        source.read_exact(&mut record)?;
        Ok(record.iter().all(|&byte| byte == 0))
    }

    /// x and y of the record at a place of the file.
    pub(super) fn place_at(&self, place: u64) -> io::Result<[f64; 2]> {
        let (mut source, mut record) = (self.file.try_clone()?, [0; 12]);
        source.seek(SeekFrom::Start(place))?;
        source.read_exact(&mut record)?;
        Ok(self.layout.place(&record))
    }
}
