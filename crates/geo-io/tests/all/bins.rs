//! Points put into bins come back: those of any rectangle, in the order in which they were given.

use std::path::Path;

use geo_io::{
    BinSpec, BinWriter, Bins, Error, Filter, LasPoints, PointCloud, Position, read_batches,
    read_points, remove_bins, write_las,
};
use gpu_core::{Bounds, Silent};
use proptest::prelude::*;

/// A point: x, y and its values.
type Point = Vec<f64>;

/// Inputs of points on a ground of 100 x 70.
fn inputs(values: usize) -> impl Strategy<Value = Vec<Vec<Point>>> {
    let point = (0..1000_u32, 0..700_u32, prop::collection::vec(any::<i16>(), values)).prop_map(
        |(x, y, values)| {
            let place = [f64::from(x) / 10.0, f64::from(y) / 10.0];
            place.into_iter().chain(values.into_iter().map(f64::from)).collect()
        },
    );
    // Runs have 4096 points at least: inputs of several, and of none.
    let points = prop::collection::vec(point, 1..400).prop_flat_map(|some| {
        (Just(some), 0..30_usize).prop_map(|(some, times)| {
            let shifted = |i: usize| {
                let shift = (i * 7) as f64 / 10.0;
                some.iter().cloned().map(move |mut point: Point| {
                    point[0] = (point[0] + shift) % 100.0;
                    point
                })
            };
            (0..times).flat_map(shifted).collect()
        })
    });
    prop::collection::vec(points, 1..4)
}

/// Gives points to a writer, of an input from behind `done` of them on; those of `parts` at a time.
fn push(writer: &mut BinWriter, points: &[Point], done: usize, parts: usize) -> geo_io::Result<()> {
    for part in points[done..].chunks(parts) {
        let column = |i: usize| part.iter().map(|point| point[i]).collect::<Vec<f64>>();
        let values: Vec<Vec<f64>> = (2..part[0].len()).map(column).collect();
        let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        writer.push(&column(0), &column(1), &values)?;
    }
    Ok(())
}

/// The points of a rectangle, and the number of each among all.
fn rows(bins: &Bins, bounds: &Bounds) -> Vec<(u64, Point)> {
    let found = bins.read(bounds, &Silent).unwrap();
    let (same, numbers) = bins.read_numbered(bounds, &Silent).unwrap();
    assert_eq!(found, same);
    let row = |(number, i): (u64, usize)| {
        let values = found.values.iter().map(|column| column[i]);
        (number, [found.x[i], found.y[i]].into_iter().chain(values).collect())
    };
    numbers.into_iter().zip(0..found.x.len()).map(row).collect()
}

fn within(inputs: &[Vec<Point>], b: &Bounds) -> Vec<(u64, Point)> {
    let is_in =
        |p: &Point| (b.min_x..=b.max_x).contains(&p[0]) && (b.min_y..=b.max_y).contains(&p[1]);
    (0..).zip(inputs.iter().flatten().cloned()).filter(|(_, point)| is_in(point)).collect()
}

/// A ground that is not all of the points'.
const GROUND: Bounds = Bounds { min_x: 10.0, min_y: 0.0, max_x: 100.0, max_y: 60.0 };

fn rectangle() -> impl Strategy<Value = Bounds> {
    (-100..1100_i32, -100..800_i32, 0..900_i32, 0..900_i32).prop_map(|(x, y, width, height)| {
        let [min_x, min_y, max_x, max_y] =
            [x, y, x + width, y + height].map(|tenths| f64::from(tenths) / 10.0);
        Bounds { min_x, min_y, max_x, max_y }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    /// Whatever the memory, the expected number of points and the moments at which the writer is given up and begun again.
    #[test]
    fn rectangles_have_their_points_in_order(
        (values, inputs) in (0..3_usize).prop_flat_map(|values| (Just(values), inputs(values))),
        rectangles in prop::collection::vec(rectangle(), 1..6),
        memory in 0..1_000_000_u64,
        expected in prop_oneof![Just(0_u64), 1..1_000_000_u64],
        parts in 1..6000_usize,
        stops in prop::collection::vec((0..4_usize, 0..12_000_usize), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let spec = BinSpec::new("these", GROUND, expected).values(values);
        let folder = folder.path();
        // Given up within an input: what is in runs is not given again.
        for (number, kept) in stops.into_iter().chain([(usize::MAX, 0)]) {
            let mut writer = BinWriter::open(folder, &spec, memory).unwrap();
            let begin = writer.position();
            for (i, points) in inputs.iter().enumerate().skip(begin.input as usize) {
                let done = if i as u64 == begin.input { begin.kept as usize } else { 0 };
                let end = if i == number { kept.clamp(done, points.len().max(done)) } else { points.len() };
                push(&mut writer, &points[..end], done, parts).unwrap();
                if i == number {
                    break;
                }
                writer.next_input();
            }
            if number < inputs.len() {
                prop_assert!(Bins::open(folder, "these").unwrap().is_none());
                continue;
            }
            if number == usize::MAX {
                prop_assert_eq!(writer.points() as usize, inputs.iter().map(Vec::len).sum::<usize>());
                writer.finish().unwrap();
            }
        }
        let bins = Bins::open(folder, "these").unwrap().expect("they are whole");
        for bounds in &rectangles {
            prop_assert_eq!(rows(&bins, bounds), within(&inputs, bounds));
        }
        // By their numbers, as many at a time as were given.
        let places: Vec<(f64, f64)> = inputs.iter().flatten().map(|p| (p[0], p[1])).collect();
        for (number, some) in places.chunks(parts).enumerate() {
            let first = (number * parts) as u64;
            let found = bins.read_range(first..first + parts as u64, &Silent).unwrap();
            prop_assert!(found.x.into_iter().zip(found.y).eq(some.iter().copied()));
        }
        prop_assert!(bins.read_range(bins.points()..u64::MAX, &Silent).unwrap().x.is_empty());
        let writer = BinWriter::open(folder, &spec, memory).unwrap();
        prop_assert!(writer.is_whole());
        writer.finish().unwrap();
        prop_assert!(remove_bins(folder).unwrap() > 0 && !folder.exists());
        std::fs::create_dir(folder).unwrap();
    }
}

const ALL: Bounds = Bounds { min_x: -1e9, min_y: -1e9, max_x: 1e9, max_y: 1e9 };

/// Three runs of points along a line, in `folder`.
fn three_runs(folder: &Path) -> BinSpec {
    let spec = BinSpec::new("line", GROUND, 10_000);
    let mut writer = BinWriter::open(folder, &spec, 0).unwrap();
    let x: Vec<f64> = (0..10_000).map(|i| f64::from(i * 37 % 1000) / 10.0).collect();
    writer.push(&x, &x, &[&x]).unwrap();
    writer.next_input();
    writer.finish().unwrap();
    spec
}

#[test]
fn whatever_is_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    three_runs(folder.path());
    let read = || Bins::open(folder.path(), "line")?.expect("whole").read(&ALL, &Silent);
    assert_eq!(read().unwrap().x.len(), 10_000);
    let path = folder.path().join("1.points");
    let whole = std::fs::read(&path).unwrap();
    let named = |error: Error| {
        let text = error.to_string();
        assert!(text.contains("1.points") && !text.contains('\n'), "{text}");
    };
    for at in (0..whole.len()).step_by(997).chain(0..200).chain(whole.len() - 200..whole.len()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        named(read().expect_err("a byte is another"));
    }
    for length in [0, 1, 100, 172, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = read().expect_err("it ends too early");
        assert!(error.to_string().contains("1.points"), "{error}");
    }
    std::fs::write(&path, [&whole[..], b"more"].concat()).unwrap();
    named(read().expect_err("it is longer"));
    // A run in another's place.
    std::fs::copy(folder.path().join("0.points"), &path).unwrap();
    named(read().expect_err("it is another run"));
}

#[test]
fn without_its_last_run_there_are_none_and_the_writer_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let spec = three_runs(folder.path());
    let last = folder.path().join("2.points");
    let whole = std::fs::read(&last).unwrap();
    std::fs::remove_file(&last).unwrap();
    assert!(Bins::open(folder.path(), "line").unwrap().is_none());
    let writer = BinWriter::open(folder.path(), &spec, 0).unwrap();
    assert_eq!((writer.position(), writer.points()), (Position { input: 0, kept: 8192 }, 8192));

    // Of two writers one stops, and nothing is mixed.
    let tail = |mut writer: BinWriter| {
        let x: Vec<f64> = (8192..10_000).map(|i| f64::from(i * 37 % 1000) / 10.0).collect();
        writer.push(&x, &x, &[&x])?;
        writer.next_input();
        writer.finish()
    };
    let other = BinWriter::open(folder.path(), &spec, 1 << 20).unwrap();
    tail(writer).unwrap();
    assert!(matches!(tail(other), Err(Error::Exists { path }) if path == last));
    assert!(std::fs::read(&last).unwrap() == whole);

    // Other points, and other blocks.
    assert!(matches!(Bins::open(folder.path(), "other"), Err(Error::Malformed { .. })));
    let refused = |spec: &BinSpec| {
        assert!(matches!(BinWriter::open(folder.path(), spec, 0), Err(Error::Malformed { .. })));
    };
    refused(&spec.clone().values(2));
    refused(&BinSpec::new("line", GROUND, 1 << 30));
    refused(&BinSpec::new("lines", GROUND, 10_000));
    let long = BinSpec::new("x".repeat(33), GROUND, 1);
    assert!(matches!(BinWriter::open(folder.path(), &long, 0), Err(Error::Shape { .. })));

    // What is not of the bins stays.
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    assert_eq!(remove_bins(folder.path()).unwrap(), 3);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(remove_bins(&folder.path().join("missing")).unwrap(), 0);
}

/// As many values as a piece of 262,144 bytes holds of one point.
const MAX_VALUES: usize = 32_765;

#[test]
fn points_of_more_values_than_fit_are_refused_and_of_as_many_come_back() {
    let folder = tempfile::tempdir().unwrap();
    for values in [MAX_VALUES + 1, 40_000, 1 << 40, usize::MAX] {
        let spec = BinSpec::new("a", GROUND, 1).values(values);
        let error = BinWriter::open(folder.path(), &spec, 0).err().expect("they are too many");
        assert!(matches!(error, Error::Shape { .. }), "{error}");
        assert!(spec.bytes(1) > 8 * (MAX_VALUES as u64));
    }
    let spec = BinSpec::new("a", GROUND, 1).values(MAX_VALUES);
    let mut writer = BinWriter::open(folder.path(), &spec, 0).unwrap();
    let columns: Vec<[f64; 3]> = (0..MAX_VALUES).map(|i| [i as f64, 1.0, -2.0]).collect();
    let values: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
    writer.push(&[20.0, 30.0, 20.5], &[1.0, 2.0, 1.5], &values).unwrap();
    writer.next_input();
    writer.finish().unwrap();
    let bins = Bins::open(folder.path(), "a").unwrap().expect("they are whole");
    assert_eq!(bins.read(&ALL, &Silent).unwrap().values, columns);
}

#[test]
fn what_cannot_be_put_into_bins_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = BinWriter::open(folder.path(), &BinSpec::new("a", GROUND, 1), 0).unwrap();
    assert!(matches!(writer.push(&[1.0], &[1.0, 2.0], &[&[1.0]]), Err(Error::Shape { .. })));
    assert!(matches!(writer.push(&[1.0], &[1.0], &[&[]]), Err(Error::Shape { .. })));
    assert!(matches!(writer.push(&[1.0], &[1.0], &[]), Err(Error::Shape { .. })));
    let nan = writer.push(&[f64::NAN], &[1.0], &[&[1.0]]);
    assert!(matches!(nan, Err(Error::BadValue { .. })));
    assert_eq!(writer.points(), 0);
}

/// The points of a file, joined from its batches, and the most that came at once.
fn in_batches(path: &Path, filter: &Filter, most: usize) -> geo_io::Result<(PointCloud, usize)> {
    let (mut all, mut largest) = (PointCloud::default(), 0);
    all.tally = read_batches(path, filter, &Default::default(), most, &Silent, &mut |batch| {
        assert!(!batch.is_empty());
        largest = largest.max(batch.len());
        all.x.extend(&batch.x);
        all.y.extend(&batch.y);
        all.z.extend(&batch.z);
        Ok(())
    })?;
    Ok((all, largest))
}

fn write_points(path: &Path) {
    let column = |step: u32| (0..120_000).map(|i| f64::from(i * step % 997)).collect::<Vec<f64>>();
    let class: Vec<u8> = (0..120_000).map(|i| 2 + (i % 3) as u8).collect();
    let (x, y, z) = (column(1), column(31), column(7));
    let points = LasPoints { x: &x, y: &y, z: &z, class: &class, ..Default::default() };
    write_las(path, &points, None).unwrap();
}

#[test]
fn batches_are_the_file_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("x,y,z,class\n");
    for i in 0..120_000 {
        text += &format!("{},{},{},{}\n", i % 997, i * 31 % 997, i * 7 % 997, 2 + i % 3);
    }
    std::fs::write(folder.path().join("a.csv"), text).unwrap();
    let bounds = Bounds { min_x: 100.0, min_y: 50.0, max_x: 800.0, max_y: 900.0 };
    for name in ["a.las", "a.laz", "a.csv"] {
        let path = folder.path().join(name);
        if !name.ends_with("csv") {
            write_points(&path);
        }
        for filter in [
            Filter::default(),
            Filter { classes: Some(vec![3]), bounds: Some(bounds), ..Filter::default() },
            Filter { classes: Some(vec![9]), ..Filter::default() },
        ] {
            let all = read_points(&path, &filter, &Default::default(), &Silent).unwrap();
            for most in [1, 1000, 70_000, 1 << 20] {
                let (found, largest) = in_batches(&path, &filter, most).unwrap();
                assert!(largest <= most.max(1), "{name}: {largest} at once of {most}");
                let columns = |c: &PointCloud| [c.x.clone(), c.y.clone(), c.z.clone()];
                assert!(columns(&found) == columns(&all), "{name}, {most} at once");
                assert_eq!(found.tally, all.tally);
            }
        }
    }
}

#[test]
fn batches_end_where_their_taker_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.laz");
    write_points(&path);
    let mut count = 0;
    let result =
        read_batches(&path, &Filter::default(), &Default::default(), 1000, &Silent, &mut |_| {
            count += 1;
            if count == 3 { Err(Error::Cancelled) } else { Ok(()) }
        });
    assert!(matches!(result, Err(Error::Cancelled)));
    assert_eq!(count, 3);
}

/// A caller plans by a header, so a read of all points must report a header that lies.
#[test]
fn a_point_outside_of_its_header_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.las");
    write_points(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    // The greatest x, of 996.
    bytes[179..187].copy_from_slice(&900_f64.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let error = in_batches(&path, &Filter::default(), 1000).unwrap_err().to_string();
    assert!(error.contains("a.las") && error.contains("at 901 "), "{error}");
    let bounds = Some(Bounds { min_x: 0.0, min_y: 0.0, max_x: 900.0, max_y: 1000.0 });
    assert!(in_batches(&path, &Filter { bounds, ..Filter::default() }, 1000).is_ok());
}

/// What a damaged file gives in batches is what it gives at once, or an error of one line.
#[test]
fn batches_of_a_damaged_file_are_its_points_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.laz");
    write_points(&path);
    let whole = std::fs::read(&path).unwrap();
    let at_once = |path: &Path| read_points(path, &Filter::default(), &Default::default(), &Silent);
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(|| {
        let mut read = 0;
        // Points, and the chunk table at the end.
        let tail = whole.len() - 60..whole.len();
        for at in (1000..whole.len()).step_by(whole.len() / 12).chain(tail) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x81;
            std::fs::write(&path, &bytes).unwrap();
            match (in_batches(&path, &Filter::default(), 30_000), at_once(&path)) {
                (Ok((found, _)), Ok(all)) => {
                    let bits =
                        |column: &[f64]| column.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    assert!(bits(&found.x) == bits(&all.x) && bits(&found.z) == bits(&all.z));
                    read += 1;
                }
                (Ok(_), Err(error)) => panic!("batches of what is damaged: {error}"),
                (Err(error), _) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
        assert!(read > 0);
    });
    let _ = std::panic::take_hook();
    assert!(result.is_ok(), "{:?}", result.unwrap_err().downcast_ref::<String>());
}
