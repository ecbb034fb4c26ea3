//! Points that the crate `laz` packed, and what the device makes of them.

use std::io::Cursor;

use laz::{LasZipCompressor, LazItemRecordBuilder, LazVlrBuilder};
use laz_chunks::{Fields, PackedChunks, Points, decode};

/// Bytes of a record of point format 6.
const RECORD: usize = 30;

/// A seeded generator of numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 24
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The fields of a record, in their order.
#[derive(Clone, Copy, Default)]
pub struct Point {
    place: [i32; 3],
    intensity: u16,
    returns: u8,
    flags: u8,
    class: u8,
    user: u8,
    angle: i16,
    source: u16,
    time: f64,
}

impl Point {
    fn record(&self) -> [u8; RECORD] {
        let mut record = [0; RECORD];
        for (to, along) in record.as_chunks_mut::<4>().0.iter_mut().zip(self.place) {
            *to = along.to_le_bytes();
        }
        record[12..14].copy_from_slice(&self.intensity.to_le_bytes());
        record[14..18].copy_from_slice(&[self.returns, self.flags, self.class, self.user]);
        record[18..20].copy_from_slice(&self.angle.to_le_bytes());
        record[20..22].copy_from_slice(&self.source.to_le_bytes());
        record[22..].copy_from_slice(&self.time.to_le_bytes());
        record
    }
}

/// Packs points in chunks of some size.
pub fn packed(points: &[Point], chunk: u32, fields: Fields) -> PackedChunks {
    let items = LazItemRecordBuilder::default_for_point_format_id(6, 0).unwrap();
    let vlr = LazVlrBuilder::new(items).with_fixed_chunk_size(chunk).build();
    let mut file = LasZipCompressor::new(Cursor::new(Vec::new()), vlr.clone()).unwrap();
    for point in points {
        file.compress_one(&point.record()).unwrap();
    }
    file.done().unwrap();
    let bytes = file.into_inner().into_inner();
    // Behind the place of the chunk table.
    let mut left = &bytes[8..];
    let mut chunks = PackedChunks::new(&vlr, fields).unwrap();
    for _ in 0..points.len().div_ceil(chunk as usize) {
        let word = |at: usize| u32::from_le_bytes(left[at..at + 4].try_into().unwrap()) as usize;
        let layers: usize = (1..=9).map(|layer| word(RECORD + 4 * layer)).sum();
        let (chunk, rest) = left.split_at(RECORD + 40 + layers);
        chunks.push(chunk).unwrap();
        left = rest;
    }
    chunks
}

pub const ALL: Fields = Fields { intensity: true, scan_angle: true, user_data: true, source: true };

/// Points as columns, of which some are wanted.
fn columns(points: &[Point], fields: Fields) -> Points {
    fn of<T>(points: &[Point], field: impl Fn(&Point) -> T) -> Vec<T> {
        points.iter().map(field).collect()
    }
    Points {
        x: of(points, |p| p.place[0]),
        y: of(points, |p| p.place[1]),
        z: of(points, |p| p.place[2]),
        returns: of(points, |p| p.returns),
        flags: of(points, |p| p.flags),
        class: of(points, |p| p.class),
        intensity: fields.intensity.then(|| of(points, |p| p.intensity)),
        scan_angle: fields.scan_angle.then(|| of(points, |p| p.angle)),
        user_data: fields.user_data.then(|| of(points, |p| p.user)),
        source: fields.source.then(|| of(points, |p| p.source)),
    }
}

/// Packs points in chunks, decodes them on all devices and compares all fields with what was packed.
fn check(points: &[Point], chunk: u32, fields: Fields, what: &str) {
    let chunks = packed(points, chunk, fields);
    assert_eq!(chunks.points(), points.len() as u64);
    let expected = columns(points, fields);
    for device in testing::devices() {
        let found = decode(&device, &chunks).unwrap();
        let differ = |i: &usize| found.x[*i] != expected.x[*i];
        let first = (0..points.len()).find(differ);
        assert_eq!(first, None, "{what} on {device:?}: x");
        assert!(found == expected, "{what} on {device:?}");
        // Back into records, of two points at a time, with bytes behind them that stay.
        for (first, points) in points.chunks_exact(2).enumerate() {
            let mut records = [0x5A; 2 * (RECORD + 3)];
            found.fill_records(2 * first, &mut records, RECORD + 3);
            for (found, point) in records.chunks_exact(RECORD + 3).zip(points) {
                let Fields { intensity, scan_angle, user_data, source } = fields;
                let mut expected = [0x5A; RECORD + 3];
                expected[..22].copy_from_slice(&point.record()[..22]);
                let unwanted = [(intensity, 12..14), (user_data, 17..18), (scan_angle, 18..20)];
                for (is_wanted, place) in unwanted.into_iter().chain([(source, 20..22)]) {
                    expected[place].iter_mut().filter(|_| !is_wanted).for_each(|byte| *byte = 0x5A);
                }
                assert_eq!(found, expected, "{what} on {device:?}");
            }
        }
    }
}

/// Points along the lines of a scanner, with pulses of some returns.
pub fn survey(count: usize, random: &mut Random) -> Vec<Point> {
    let (mut left, mut returns, mut time) = (0, 1, 1e5);
    let mut points: Vec<Point> = Vec::new();
    for i in 0..count {
        if left == 0 {
            returns = [1, 1, 1, 2, 3, 5][random.below(6) as usize];
            left = returns;
            time += 1e-5;
        }
        let number = returns - left + 1;
        left -= 1;
        let noise = |size: u64, random: &mut Random| random.below(size) as i32 - size as i32 / 2;
        points.push(Point {
            place: [
                (i % 700) as i32 * 50 + noise(9, random),
                (i / 700) as i32 * 80 + noise(30, random),
                (i as f64 / 90.0).sin() as i32 * 1000 - i32::from(number) * 300 + noise(15, random),
            ],
            intensity: random.below(4000) as u16,
            returns: number | returns << 4,
            flags: ((i / 700 % 2) << 6) as u8 | u8::from(i % 700 == 0) << 7,
            class: if number == returns { 2 } else { 5 },
            user: (i / 1000) as u8,
            angle: (i % 700) as i16 - 350,
            source: (i / 1500) as u16,
            time,
        });
    }
    points
}

#[test]
fn a_survey() {
    let points = survey(2_500, &mut Random(1));
    check(&points, 1_000, ALL, "a survey");
    check(&points[..1_100], 400, Fields::default(), "a survey's places");
    let source = Fields { source: true, ..Default::default() };
    check(&points[1_400..], 1_600, source, "a survey's sources");
    check(&points[..33], 32, ALL, "a chunk of one point");
}

#[test]
fn fields_of_any_bits() {
    let mut random = Random(2);
    let points: Vec<Point> = (0..1_500)
        .map(|_| {
            let bits = random.next();
            let wide = |random: &mut Random| (random.next() << random.below(33)) as i32;
            Point {
                place: [wide(&mut random), wide(&mut random), wide(&mut random)],
                intensity: random.next() as u16,
                returns: bits as u8,
                // All but the channel's bits.
                flags: (bits >> 8) as u8 & 0xcf,
                class: (bits >> 16) as u8,
                user: (bits >> 24) as u8,
                angle: random.next() as i16,
                source: random.next() as u16,
                time: if bits & 1 << 33 == 0 { 1.0 } else { bits as f64 },
            }
        })
        .collect();
    check(&points, 500, ALL, "fields of any bits");
}

#[test]
fn channels_of_a_scanner_take_turns() {
    let mut random = Random(3);
    let mut points = survey(2_000, &mut random);
    for point in &mut points {
        point.flags |= (random.below(4) as u8) << 4;
    }
    check(&points, 700, ALL, "channels");
}

#[test]
fn points_that_are_all_the_same() {
    check(&[Point { class: 2, returns: 0x11, ..Default::default() }; 300], 100, ALL, "the same");
}
