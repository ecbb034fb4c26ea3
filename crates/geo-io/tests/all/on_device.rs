//! Layered LAZ files whose chunks a GPU decodes: the same points, notes and errors as without.

use std::cell::Cell;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use geo_io::{
    CsvColumns, Error, Filter, MultiFileReader, PointCloud, ReadOn, Returns, read_points,
};
use gpu_core::{Device, Progress, Silent};
use laz::{LasZipCompressor, LazItemRecordBuilder, LazVlrBuilder};
use proptest::prelude::*;
use software_gpu::{Operation, fail};
use testing::{Random, damaged};

use crate::bounds::{bounds, copc, copc_header, vlr};

/// Points of a chunk.
const CHUNK: usize = 60;

/// A file of this many points of format 6 in chunks of [`CHUNK`], with fields that change from point to point.
fn laz(points: usize) -> Vec<u8> {
    let mut random = Random::new(points as u64);
    let items = LazItemRecordBuilder::default_for_point_format_id(6, 0).unwrap();
    let compression = LazVlrBuilder::new(items).with_fixed_chunk_size(CHUNK as u32).build();
    let mut record = Cursor::new(Vec::new());
    compression.write_to(&mut record).unwrap();
    let record = vlr("laszip encoded", 22204, record.get_ref());
    let start = 375 + record.len();
    let mut file = Cursor::new(vec![0; start]);
    file.set_position(start as u64);
    let mut compressor = LasZipCompressor::new(&mut file, compression).unwrap();
    for i in 0..points as u64 {
        let mut below = |end: u64| random.below(end);
        let place = [i * 997 % 1_000_000, i * 31 % 1_000_000, 400 + below(90)];
        let mut record: Vec<u8> = place.iter().flat_map(|&v| (v as u32).to_le_bytes()).collect();
        record.extend((below(4000) as u16).to_le_bytes());
        // Returns, flags of which some mean withheld, class and user data.
        let of = 1 + below(3);
        record
            .extend([(1 + below(of)) | of << 4, below(8), 1 + below(7), below(5)].map(|b| b as u8));
        record.extend((below(9000) as i16 - 4500).to_le_bytes());
        record.extend((20 + i / 100).to_le_bytes()[..2].iter());
        record.extend((i as f64 * 0.001).to_le_bytes());
        compressor.compress_one(&record).unwrap();
    }
    compressor.done().unwrap();
    drop(compressor);
    let mut file = file.into_inner();
    let mut header = copc_header(points, start, 0);
    // One record, and none behind the points.
    header[100] = 1;
    header[243] = 0;
    file[..start].copy_from_slice(&[header, record].concat());
    file
}

/// The points, or the error's text.
type Outcome = Result<PointCloud, String>;

/// Reads a file on the cores, then by the device in batches of several sizes, and returns the first outcome if all are
/// the same. A read that should use the device must have asked for it.
fn outcome(path: &Path, filter: &Filter, fields: &[&str], asks: bool) -> Outcome {
    let names: Vec<String> = fields.iter().map(|&name| name.to_owned()).collect();
    let columns = CsvColumns::default().values(names);
    let read = |on: ReadOn| read_points(path, filter, &columns, on).map_err(|e| e.to_string());
    let on_cores = read((&Silent).into());
    for (least, most) in [(1, 2), (2, 5), (4, 1000)] {
        let asked = AtomicUsize::new(0);
        let device = || {
            asked.fetch_add(1, Ordering::Relaxed);
            Some(Device::Gpu(testing::gpu()))
        };
        let on_device = read(ReadOn::once_open(&device, &Silent).with_chunks(least, most));
        assert!(
            on_device == on_cores,
            "batches of {least} to {most}: {:?}",
            on_device.map(|c| c.tally)
        );
        assert_eq!(asked.into_inner() > 0, asks, "batches of {least} to {most}");
    }
    on_cores
}

#[test]
fn points_filters_and_fields_are_those_of_the_cores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.laz");
    // The last chunk has few points.
    std::fs::write(&path, laz(20 * CHUNK + 7)).unwrap();
    let some = bounds(100.0, 5.0, 600.0, 20.0);
    let all = Filter::default();
    let kept =
        |filter: &Filter, fields: &[&str]| outcome(&path, filter, fields, true).unwrap().len();
    let count = kept(&all, &[]);
    assert!(count > 400, "{count}");
    let fields = ["intensity", "scan_angle", "user_data", "source", "return", "returns", "class"];
    assert_eq!(kept(&all, &fields), count);
    for filter in [
        Filter { classes: Some(vec![2, 5]), ..all.clone() },
        Filter { returns: Returns::Last, ..all.clone() },
        Filter { bounds: Some(some), ..all.clone() },
        Filter { bounds: Some(some), numbered: true, ..all.clone() },
    ] {
        let part = kept(&filter, &["source"]);
        assert!(0 < part && part < count, "{filter:?}: {part}");
    }
}

#[test]
fn what_a_gpu_does_not_decode_is_left_to_the_cores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.laz");
    std::fs::write(&path, laz(10 * CHUNK)).unwrap();
    assert!(outcome(&path, &Filter::default(), &["intensity", "gps_time"], false).is_ok());
    // Without layers.
    let path = folder.path().join("old.laz");
    let mut builder = las::Builder::from((1, 2));
    builder.point_format.is_compressed = true;
    let mut writer = las::Writer::from_path(&path, builder.into_header().unwrap()).unwrap();
    writer.write_point(las::Point::default()).unwrap();
    writer.close().unwrap();
    drop(writer);
    let device = || -> Option<Device> { unreachable!("no GPU decodes this") };
    let on = ReadOn::once_open(&device, &Silent).with_chunks(1, 10);
    assert_eq!(read_points(&path, &Filter::default(), &Default::default(), on).unwrap().len(), 1);
    // A few chunks are not worth a GPU.
    let path = folder.path().join("survey.laz");
    let on = ReadOn::once_open(&device, &Silent);
    assert!(read_points(&path, &Filter::default(), &Default::default(), on).is_ok());
}

#[test]
fn a_device_that_is_not_there_leaves_the_work_to_the_cores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.laz");
    std::fs::write(&path, laz(10 * CHUNK)).unwrap();
    let read =
        |on: ReadOn| read_points(&path, &Filter::default(), &Default::default(), on).unwrap();
    let expected = read((&Silent).into());
    assert_eq!(read(ReadOn::once_open(&|| None, &Silent).with_chunks(2, 4)), expected);
    assert_eq!(read(ReadOn::from(&Device::Cpu).with_chunks(2, 4)), expected);
}

#[test]
fn windows_of_a_copc_are_those_of_the_cores() {
    let (_folder, path, places) = copc();
    let within = |b| Filter { bounds: Some(b), numbered: true, ..Filter::default() };
    let windows = [
        bounds(0.0, 0.0, 499.0, 499.0),
        bounds(100.0, 300.0, 800.0, 350.0),
        bounds(0.0, 0.0, 1e3, 1e3),
    ];
    for window in windows {
        let cloud = outcome_of_few(&path, &within(window)).unwrap();
        assert!(!cloud.is_empty());
    }
    let mut bytes = std::fs::read(&path).unwrap();
    let (at, length) = places[2];
    bytes[at as usize + 30..(at + length) as usize].fill(0xA5);
    std::fs::write(&path, bytes).unwrap();
    assert!(outcome_of_few(&path, &within(bounds(600.0, 100.0, 900.0, 400.0))).is_err());
}

/// Like [`outcome`], where it does not matter whether the device is used.
fn outcome_of_few(path: &Path, filter: &Filter) -> Outcome {
    let read = |on: ReadOn| {
        read_points(path, filter, &Default::default(), on).map_err(|error| error.to_string())
    };
    let (on_cores, device) = (read((&Silent).into()), Device::Gpu(testing::gpu()));
    for most in [2, 3, 100] {
        let on_device = read(ReadOn::from(&device).with_chunks(2, most));
        assert!(on_device == on_cores, "{:?}", on_device.map(|cloud| cloud.tally));
    }
    on_cores
}

#[test]
fn damage_is_named_as_by_the_cores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.laz");
    let whole = laz(20 * CHUNK);
    for (from, len) in [(2, 1), (2, 40), (3, 400)] {
        let mut bytes = whole.clone();
        let from = bytes.len() / from;
        bytes[from..from + len].fill(0xA5);
        std::fs::write(&path, bytes).unwrap();
        let _ = outcome(&path, &Filter::default(), &["intensity"], true);
    }
    // A point outside of the header's bounds is a stray, and no damage.
    let mut bytes = whole;
    bytes[179..187].copy_from_slice(&500.0_f64.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let cloud = outcome(&path, &Filter::default(), &[], true).unwrap();
    assert!(cloud.strays.points > 100, "{:?}", cloud.strays);
}

/// Ends a read at a report.
struct EndedAt(Cell<u32>);

impl Progress for EndedAt {
    fn report(&self, _: &'static str, _: f64) -> ControlFlow<()> {
        self.0.set(self.0.get().saturating_sub(1));
        if self.0.get() == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_progress_ends_the_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.laz");
    std::fs::write(&path, laz(20 * CHUNK)).unwrap();
    let device = Device::Gpu(testing::gpu());
    // At the beginning and at the end.
    for report in [1, 2] {
        let ended = EndedAt(Cell::new(report));
        let on = ReadOn::from(device.with_progress(&ended)).with_chunks(2, 5);
        let read = read_points(&path, &Filter::default(), &Default::default(), on);
        assert!(matches!(read, Err(Error::Cancelled)), "{report}");
    }
}

#[test]
fn where_the_device_fails_the_cores_go_on() {
    let gpu = testing::gpu();
    if !gpu.is_software() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.laz");
    std::fs::write(&path, laz(9 * CHUNK)).unwrap();
    let read =
        |on: ReadOn| read_points(&path, &Filter::default(), &Default::default(), on).unwrap();
    let (expected, device) = (read((&Silent).into()), Device::Gpu(gpu));
    // Failures are those of a thread.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for operation in [Operation::Allocation, Operation::Copy, Operation::Launch] {
        let happens = |successes| {
            pool.install(|| {
                let failure = fail(operation, successes);
                assert!(read(ReadOn::from(&device).with_chunks(2, 4)) == expected);
                failure.happened()
            })
        };
        let failures = (0..).take_while(|&successes| happens(successes)).count();
        // Two batches, of which the second one is not tried if the first one fails.
        assert!(failures >= 2, "{operation:?}: {failures}");
    }
}

#[test]
fn several_files_share_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let file = |i: usize| {
        let path = folder.path().join(format!("{i}.laz"));
        std::fs::write(&path, laz(300 + 200 * i)).unwrap();
        path
    };
    let paths: Vec<_> = (0..5).map(file).collect();
    let (filter, columns, device) =
        (Filter::default(), CsvColumns::default(), Device::Gpu(testing::gpu()));
    let read = |on: ReadOn| {
        let mut clouds = Vec::new();
        let take = |_: &Path, cloud| {
            clouds.push(cloud);
            Ok::<_, Error>(())
        };
        MultiFileReader::new(&filter, &columns).at_once(3).read(&paths, on, take).unwrap();
        clouds
    };
    assert_eq!(read(ReadOn::from(&device).with_chunks(2, 4)), read((&Silent).into()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]

    #[test]
    fn whatever_is_damaged_the_outcome_is_that_of_the_cores(seed in 0u64..1_000_000) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("survey.laz");
        std::fs::write(&path, damaged(&laz(8 * CHUNK), &mut Random::new(seed))).unwrap();
        let _ = outcome_of_few(&path, &Filter::default());
    }
}
