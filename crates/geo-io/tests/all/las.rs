//! LAS and LAZ: what was written comes back, and damage gives an error.

use std::path::{Path, PathBuf};

use geo_io::{Crs, Error, Filter, LasPoints, PointCloud, Returns, read_points, write_las};
use las::{Builder, Color, Point, Version, Writer, point::Format};

fn read(path: &Path, filter: &Filter) -> geo_io::Result<PointCloud> {
    read_points(path, filter, &Default::default(), &gpu_core::Silent)
}

fn real_data(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// `count` points on a curve, in columns: x, y, z, class, return number, number of returns.
struct Columns([Vec<f64>; 3], [Vec<u8>; 3]);

impl Columns {
    fn new(count: usize) -> Self {
        let column = |f: fn(usize) -> f64| (0..count).map(f).collect();
        let bytes = |f: fn(usize) -> u8| (0..count).map(f).collect();
        Self(
            [
                column(|i| 500_000.0 + (i % 97) as f64 * 0.125),
                column(|i| 4_100_000.5 - (i % 89) as f64 * 0.25),
                column(|i| 100.0 + (i as f64 * 0.01).sin()),
            ],
            [bytes(|i| [1, 2, 6, 9][i % 4]), bytes(|i| 1 + (i % 2) as u8), bytes(|_| 2)],
        )
    }

    fn points(&self) -> LasPoints<'_> {
        let Self([x, y, z], [class, return_number, number_of_returns]) = self;
        LasPoints { x, y, z, class, return_number, number_of_returns }
    }
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }
}

#[test]
fn points_come_back_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let columns = Columns::new(1000);
    for (name, crs) in [
        ("a.las", None),
        ("b.LAZ", None),
        ("c.laz", Some("EPSG:26910")),
        ("d.las", Some("EPSG:2994")),
    ] {
        let path = folder.path().join(name);
        let crs = crs.map(|text| Crs::parse(text).unwrap());
        write_las(&path, &columns.points(), crs.as_ref()).unwrap();
        let cloud = read(&path, &Filter::default()).unwrap();
        assert_close(&cloud.x, &columns.0[0], 0.000_51);
        assert_close(&cloud.y, &columns.0[1], 0.000_51);
        assert_close(&cloud.z, &columns.0[2], 0.000_51);
        assert_eq!(cloud.class.as_ref(), Some(&columns.1[0]));
        assert_eq!(cloud.crs.as_ref().and_then(Crs::epsg), crs.as_ref().and_then(Crs::epsg));
        let last =
            Filter { classes: Some(vec![2, 9]), returns: Returns::Last, ..Filter::default() };
        let cloud = read(&path, &last).unwrap();
        assert_eq!((cloud.tally.read, cloud.tally.kept), (1000, 500), "{name}");
        let first = Filter { returns: Returns::First, ..last };
        let tally = read(&path, &first).unwrap().tally;
        assert_eq!((tally.kept, tally.dropped_class, tally.dropped_return), (0, 500, 500));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn no_points_are_an_empty_cloud() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["empty.las", "empty.laz"] {
        let path = folder.path().join(name);
        write_las(&path, &LasPoints::default(), None).unwrap();
        let cloud = read(&path, &Filter::default()).unwrap();
        assert!(cloud.is_empty() && cloud.tally.read == 0, "{name}");
    }
}

/// A file of another crate's making, in any version, format and compression.
fn foreign(path: &Path, minor: u8, format: u8, compressed: bool) -> bool {
    let mut builder = Builder::from(Version::new(1, minor));
    builder.point_format = Format::new(format).unwrap();
    builder.point_format.is_compressed = compressed;
    let Ok(header) = builder.into_header() else { return false };
    let format = *header.point_format();
    let Ok(mut writer) = Writer::from_path(path, header) else { return false };
    for i in 0..100_u8 {
        let point = Point {
            x: f64::from(i),
            y: -f64::from(i),
            z: 0.5 * f64::from(i),
            classification: las::point::Classification::new(i % 7).unwrap(),
            return_number: 1 + i % 3,
            number_of_returns: 3,
            is_withheld: i % 10 == 0,
            gps_time: format.has_gps_time.then_some(f64::from(i)),
            color: format.has_color.then(|| Color::new(1, 2, 3)),
            nir: format.has_nir.then_some(7),
            waveform: format.has_waveform.then(Default::default),
            ..Default::default()
        };
        if writer.write_point(point).is_err() {
            return false;
        }
    }
    writer.close().is_ok()
}

#[test]
fn every_version_and_point_format_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut formats = [[false; 2]; 11];
    for minor in 0..=4 {
        for format in 0..=10 {
            for compressed in [false, true] {
                let name = if compressed { "f.laz" } else { "f.las" };
                let path = folder.path().join(name);
                if !foreign(&path, minor, format, compressed) {
                    continue;
                }
                formats[usize::from(format)][usize::from(compressed)] = true;
                let what = format!("LAS 1.{minor}, format {format}, {name}");
                let (classes, returns) = (Some(vec![0, 1, 2]), Returns::Last);
                let filter = Filter { classes, returns, numbered: true, bounds: None };
                let cloud = read(&path, &filter).unwrap_or_else(|e| panic!("{what}: {e}"));
                let kept = |i: &u8| !i.is_multiple_of(10) && i % 7 < 3 && i % 3 == 2;
                let expected: Vec<f64> = (0..100).filter(kept).map(f64::from).collect();
                let numbers: Vec<u32> = (0..100).filter(kept).map(u32::from).collect();
                assert_eq!(cloud.numbers, Some(numbers), "{what}");
                assert_close(&cloud.x, &expected, 1e-9);
                assert_close(&cloud.z, &expected.iter().map(|v| 0.5 * v).collect::<Vec<_>>(), 0.51);
                assert_eq!(cloud.tally.read, 100, "{what}");
                assert_eq!(cloud.tally.dropped_withheld, 10, "{what}");
            }
        }
    }
    for (format, [las, laz]) in formats.iter().enumerate() {
        assert!(las, "format {format} was never written as LAS");
        // The compressor knows no waveform packets of the old formats.
        assert!(*laz || matches!(format, 4 | 5 | 9 | 10), "format {format} never as LAZ");
    }
}

#[test]
fn truncated_files_name_both_counts() {
    let folder = tempfile::tempdir().unwrap();
    let columns = Columns::new(120_000);
    for name in ["cut.las", "cut.laz"] {
        let path = folder.path().join(name);
        write_las(&path, &columns.points(), None).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() * 3 / 4]).unwrap();
        let error = read(&path, &Filter::default()).unwrap_err();
        let Error::Truncated { expected, found, .. } = error else { panic!("{name}: {error}") };
        assert_eq!(expected, 120_000);
        // The decoder gives a chunk of 50,000 points whole or not at all.
        assert!((49_999..100_000).contains(&found), "{name}: {found}");
        let text = error.to_string();
        assert!(text.contains("120000") && text.contains(&found.to_string()), "{text}");
        // Who reads the header alone, as a plan does, hears the same.
        assert_eq!(geo_io::read_header(&path).unwrap_err().to_string(), text);
    }
}

/// Reads a damaged file: an error of one line or a cloud, never a panic.
fn survives(path: &Path, bytes: &[u8]) -> bool {
    std::fs::write(path, bytes).unwrap();
    match read(path, &Filter::default()) {
        Ok(cloud) => {
            assert_eq!(cloud.x.len() as u64, cloud.tally.kept);
            true
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            false
        }
    }
}

#[test]
fn every_cut_and_every_flipped_byte_gives_points_or_an_error() {
    // Panics inside the decoder become errors; their messages would drown the test's own.
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(|| {
        let folder = tempfile::tempdir().unwrap();
        let columns = Columns::new(40);
        let crs = Crs::parse("EPSG:26910").unwrap();
        for name in ["d.las", "d.laz"] {
            let path = folder.path().join(name);
            write_las(&path, &columns.points(), Some(&crs)).unwrap();
            let whole = std::fs::read(&path).unwrap();
            let points = whole.len() - 40 * 30;
            for end in (0..whole.len()).step_by(7).chain(whole.len() - 20..whole.len()) {
                let read = survives(&path, &whole[..end]);
                assert!(!read || name == "d.laz", "{name} cut at {end} of {}", whole.len());
            }
            for at in (0..400).chain((400..whole.len()).step_by(5)) {
                for bits in [0x01, 0xFF] {
                    let mut bytes = whole.clone();
                    bytes[at.min(whole.len() - 1)] ^= bits;
                    survives(&path, &bytes);
                }
            }
            assert!(points > 0);
        }
    });
    let _ = std::panic::take_hook();
    if let Err(panic) = result {
        let text = panic.downcast_ref::<String>().cloned();
        panic!("{}", text.unwrap_or_else(|| "a read panicked".into()));
    }
}

/// The decoder asks for the memory that a layer claims before it reads it.
#[test]
fn a_layer_that_claims_gigabytes_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.laz");
    write_las(&path, &Columns::new(40).points(), None).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let points = u32::from_le_bytes(whole[96..100].try_into().unwrap()) as usize;
    // Behind the place of the chunk table, the first record and the number of points.
    let lengths = points + 8 + 30 + 4;
    for layer in 0..9 {
        let mut bytes = whole.clone();
        bytes[lengths + 4 * layer + 3] = 0xFF;
        std::fs::write(&path, &bytes).unwrap();
        let error = read(&path, &Filter::default()).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
        assert!(error.to_string().contains("after 0 of 40 points"), "{error}");
    }
}

#[test]
fn a_header_without_a_scale_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flat.las");
    write_las(&path, &Columns::new(40).points(), None).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for (axis, at) in [("x", 131), ("y", 139), ("z", 147)] {
        let mut bytes = whole.clone();
        bytes[at..at + 8].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let text = read(&path, &Filter::default()).unwrap_err().to_string();
        assert!(text.contains(&format!("scale of {axis}")), "{text}");
    }
}

/// What is flipped in whole data is damage, not an end before its time.
#[test]
fn flipped_bytes_are_not_called_truncated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flipped.laz");
    write_las(&path, &Columns::new(60_000).points(), None).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let points = u32::from_le_bytes(whole[96..100].try_into().unwrap()) as usize;
    std::panic::set_hook(Box::new(|_| {}));
    let mut errors = Vec::new();
    for at in (points + 8..whole.len() - 100).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xFF;
        std::fs::write(&path, bytes).unwrap();
        errors.extend(read(&path, &Filter::default()).err());
    }
    let _ = std::panic::take_hook();
    for error in &errors {
        assert!(!matches!(error, Error::Truncated { .. }), "{error}");
    }
}

#[test]
fn bad_points_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.las");
    let good = [1.0, 2.0];
    let points = LasPoints { x: &good, y: &good, z: &[1.0, f64::NAN], ..Default::default() };
    assert!(matches!(write_las(&path, &points, None), Err(Error::BadValue { .. })));
    let points = LasPoints { z: &[1.0], ..points };
    assert!(matches!(write_las(&path, &points, None), Err(Error::Shape { .. })));
    let missing = folder.path().join("no/where.las");
    let points = LasPoints { z: &good, ..points };
    assert!(matches!(write_las(&missing, &points, None), Err(Error::NoFolder { .. })));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn real_surveys_are_read() {
    for (name, total) in [("autzen.laz", 110_000), ("topography.laz", 73_403)] {
        let Some(path) = real_data(name) else { continue };
        let all = read(&path, &Filter::default()).unwrap();
        assert_eq!(all.tally.read, total, "{name}");
        let ground = Filter { classes: Some(vec![2]), ..Default::default() };
        let cloud = read(&path, &ground).unwrap();
        assert!(cloud.tally.kept > total / 10 && cloud.tally.dropped_class > 0, "{name}");
        assert_eq!(cloud.len() as u64, cloud.tally.kept);
        // Keys are carried through a LAS file of our own.
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy.laz");
        let points = LasPoints { x: &cloud.x, y: &cloud.y, z: &cloud.z, ..Default::default() };
        write_las(&copy, &points, cloud.crs.as_ref()).unwrap();
        let again = read(&copy, &Filter::default()).unwrap();
        assert_close(&again.x, &cloud.x, 0.000_51);
        let keys = |c: &PointCloud| c.crs.as_ref().map(Crs::geokeys);
        assert_eq!(keys(&again), keys(&cloud), "{name}");
    }
}
