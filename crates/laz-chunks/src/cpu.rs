//! Decodes chunks on the host's cores, by the crate `laz`.

use std::io::Cursor;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};

use laz::record::{LayeredPointRecordDecompressor, RecordDecompressor};
use laz::{DecompressionSelection, LasZipError};
use rayon::prelude::*;

use crate::{Error, Fields, PackedChunks, Points};

/// Records that are decoded before their fields go into columns: few enough for a core's cache.
const PIECE: usize = 1 << 10;

/// See [`decode_each`](crate::decode_each()).
pub fn decode_each(chunks: &PackedChunks) -> (Points, Vec<Error>) {
    let mut points = Points::zeros(chunks.points() as usize, chunks.fields);
    let mut rest = Part::of(&mut points);
    let counts = chunks.starts.windows(2).map(|starts| (starts[1] - starts[0]) as usize);
    let parts: Vec<_> = counts.map(|count| rest.split_off(count)).collect();
    let decoded = parts.into_par_iter().enumerate().map(|(chunk, part)| {
        // Damaged bytes may end in a panic.
        let reason = match catch_unwind(AssertUnwindSafe(|| of_chunk(chunks, chunk, part))) {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its symbols contradict each other".to_owned(),
        };
        Some(Error::Damaged { chunk, reason })
    });
    let damaged = decoded.flatten_iter().collect();
    (points, damaged)
}

/// Decodes a chunk into its part of the columns.
fn of_chunk(chunks: &PackedChunks, i: usize, mut part: Part<'_>) -> Result<(), LasZipError> {
    let mut records = LayeredPointRecordDecompressor::new(Cursor::new(chunks.chunk(i)));
    records.set_fields_from(chunks.vlr.items())?;
    records.set_selection(selection(chunks.fields));
    let mut bytes = vec![0; PIECE * chunks.record];
    while !part.x.is_empty() {
        let count = part.x.len().min(PIECE);
        let piece = &mut bytes[..count * chunks.record];
        records.decompress_many(piece)?;
        part.split_off(count).fill(piece, chunks.record);
    }
    Ok(())
}

/// What the crate `laz` is to decode.
fn selection(fields: Fields) -> DecompressionSelection {
    let mut wanted = DecompressionSelection::base()
        .decompress_z()
        .decompress_classification()
        .decompress_flags();
    if fields.intensity {
        wanted = wanted.decompress_intensity();
    }
    if fields.scan_angle {
        wanted = wanted.decompress_scan_angle();
    }
    if fields.user_data {
        wanted = wanted.decompress_user_data();
    }
    if fields.source {
        wanted = wanted.decompress_point_source_id();
    }
    wanted
}

impl Points {
    /// Points whose fields are all 0.
    fn zeros(count: usize, fields: Fields) -> Self {
        Self {
            x: vec![0; count],
            y: vec![0; count],
            z: vec![0; count],
            returns: vec![0; count],
            flags: vec![0; count],
            class: vec![0; count],
            intensity: fields.intensity.then(|| vec![0; count]),
            scan_angle: fields.scan_angle.then(|| vec![0; count]),
            user_data: fields.user_data.then(|| vec![0; count]),
            source: fields.source.then(|| vec![0; count]),
        }
    }
}

/// Some points that follow each other, in all columns. A column that is not wanted is empty.
struct Part<'a> {
    x: &'a mut [i32],
    y: &'a mut [i32],
    z: &'a mut [i32],
    returns: &'a mut [u8],
    flags: &'a mut [u8],
    class: &'a mut [u8],
    intensity: &'a mut [u16],
    scan_angle: &'a mut [i16],
    user_data: &'a mut [u8],
    source: &'a mut [u16],
}

impl<'a> Part<'a> {
    /// All points.
    fn of(points: &'a mut Points) -> Self {
        Self {
            x: &mut points.x,
            y: &mut points.y,
            z: &mut points.z,
            returns: &mut points.returns,
            flags: &mut points.flags,
            class: &mut points.class,
            intensity: points.intensity.as_deref_mut().unwrap_or_default(),
            scan_angle: points.scan_angle.as_deref_mut().unwrap_or_default(),
            user_data: points.user_data.as_deref_mut().unwrap_or_default(),
            source: points.source.as_deref_mut().unwrap_or_default(),
        }
    }

    /// Takes the first `count` points away.
    fn split_off(&mut self, count: usize) -> Self {
        fn first<'a, T>(column: &mut &'a mut [T], count: usize) -> &'a mut [T] {
            // A column that is not wanted has none.
            let count = count.min(column.len());
            let (first, rest) = take(column).split_at_mut(count);
            *column = rest;
            first
        }
        Self {
            x: first(&mut self.x, count),
            y: first(&mut self.y, count),
            z: first(&mut self.z, count),
            returns: first(&mut self.returns, count),
            flags: first(&mut self.flags, count),
            class: first(&mut self.class, count),
            intensity: first(&mut self.intensity, count),
            scan_angle: first(&mut self.scan_angle, count),
            user_data: first(&mut self.user_data, count),
            source: first(&mut self.source, count),
        }
    }

    /// Sets the fields of all points from their records.
    fn fill(self, bytes: &[u8], record: usize) {
        fn set<T>(column: &mut [T], (bytes, record): (&[u8], usize), field: impl Fn(&[u8]) -> T) {
            let records = bytes.chunks_exact(record);
            column.iter_mut().zip(records).for_each(|(to, record)| *to = field(record));
        }
        fn bytes_at<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
            std::array::from_fn(|i| record[at + i])
        }
        let all = (bytes, record);
        set(self.x, all, |r| i32::from_le_bytes(bytes_at(r, 0)));
        set(self.y, all, |r| i32::from_le_bytes(bytes_at(r, 4)));
        set(self.z, all, |r| i32::from_le_bytes(bytes_at(r, 8)));
        set(self.intensity, all, |r| u16::from_le_bytes(bytes_at(r, 12)));
        set(self.returns, all, |r| r[14]);
        set(self.flags, all, |r| r[15]);
        set(self.class, all, |r| r[16]);
        set(self.user_data, all, |r| r[17]);
        set(self.scan_angle, all, |r| i16::from_le_bytes(bytes_at(r, 18)));
        set(self.source, all, |r| u16::from_le_bytes(bytes_at(r, 20)));
    }
}
