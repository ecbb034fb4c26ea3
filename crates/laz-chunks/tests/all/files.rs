//! Files that the crate `las` wrote, of all layered point formats.

use std::path::Path;

use gpu_core::Device;
use las::point::{Classification, Format};
use laz_chunks::{Error, Fields, LazFile, decode};

/// Writes points of a format, and returns their coordinates and classes.
fn write(path: &Path, format: u8, count: usize) -> Vec<([f64; 3], u8)> {
    let mut header = las::Builder::from((1, 4));
    header.point_format = Format::new(format).unwrap();
    header.point_format.extra_bytes = 3;
    header.point_format.is_compressed = true;
    let transform = |offset| las::Transform { scale: 0.01, offset };
    header.transforms =
        las::Vector { x: transform(500_000.0), y: transform(-20.0), z: transform(0.0) };
    let mut writer = las::Writer::from_path(path, header.into_header().unwrap()).unwrap();
    let point = |i: usize| {
        let place = [500_000.0 + i as f64, -20.0 + (i % 9) as f64 * 0.25, (i % 40) as f64 * 0.5];
        (place, [2, 5, 6][i % 3])
    };
    let points: Vec<_> = (0..count).map(point).collect();
    for &([x, y, z], class) in &points {
        let format = Format::new(format).unwrap();
        writer
            .write_point(las::Point {
                x,
                y,
                z,
                return_number: 1,
                number_of_returns: 1,
                classification: Classification::new(class).unwrap(),
                gps_time: Some(x),
                color: format.has_color.then(|| las::Color::new(x as u16, 2, 3)),
                nir: format.has_nir.then_some(7),
                extra_bytes: vec![1, (x as u64 % 5) as u8, 3],
                ..Default::default()
            })
            .unwrap();
    }
    writer.close().unwrap();
    points
}

#[test]
fn files_of_all_layered_formats() {
    let folder = tempfile::tempdir().unwrap();
    for format in [6, 7, 8] {
        let path = folder.path().join(format!("{format}.laz"));
        let expected = write(&path, format, 1_500);
        let mut file = LazFile::open(&path).unwrap();
        let transforms = file.transforms();
        let chunks = file.pack(0..file.chunks(), Fields::default()).unwrap();
        for device in testing::devices() {
            let points = decode(&device, &chunks).unwrap();
            let [x, y, z] =
                [(0, &points.x), (1, &points.y), (2, &points.z)].map(|(axis, column)| {
                    column
                        .iter()
                        .map(|&along| transforms[axis].coordinate(along))
                        .collect::<Vec<_>>()
                });
            for (i, &(place, class)) in expected.iter().enumerate() {
                let is_near = |axis: usize| ([x[i], y[i], z[i]][axis] - place[axis]).abs() < 1e-6;
                assert!([0, 1, 2].into_iter().all(is_near), "point {i} of format {format}");
                assert_eq!(points.class[i], class, "class of point {i} of format {format}");
            }
        }
    }
}

#[cfg(feature = "cuda")]
#[test]
fn coordinates_on_the_device_are_the_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.laz");
    write(&path, 6, 700);
    let mut file = LazFile::open(&path).unwrap();
    let chunks = file.pack(0..1, Fields::default()).unwrap();
    let points = laz_chunks::gpu::decode(&testing::gpu(), &chunks).unwrap();
    let on_host = points.to_host().unwrap();
    let transforms = file.transforms();
    let found = points.coordinates(transforms).unwrap();
    for (axis, column) in [&on_host.x, &on_host.y, &on_host.z].into_iter().enumerate() {
        let expected: Vec<u64> =
            column.iter().map(|&along| transforms[axis].coordinate(along).to_bits()).collect();
        let found: Vec<u64> =
            found[axis].to_host().unwrap().into_iter().map(f64::to_bits).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn no_chunks_give_no_points() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.laz");
    write(&path, 6, 10);
    let chunks = LazFile::open(&path).unwrap().pack(0..0, Fields::default()).unwrap();
    for device in testing::devices() {
        assert!(decode(&device, &chunks).unwrap().x.is_empty());
    }
}

#[test]
fn other_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        LazFile::open(&path).unwrap_err()
    };
    let is_named = |error: &Error, name: &str| error.to_string().contains(name);
    assert!(is_named(&refused("empty.laz", b""), "empty.laz"));
    assert!(is_named(&refused("text.laz", &[b'x'; 1000]), "text.laz"));
    let missing = LazFile::open(folder.path().join("missing.laz")).unwrap_err();
    assert!(is_named(&missing, "missing.laz"));
    let path = folder.path().join("old.laz");
    let mut header = las::Builder::from((1, 2));
    header.point_format = Format::new(0).unwrap();
    header.point_format.is_compressed = true;
    let mut writer = las::Writer::from_path(&path, header.into_header().unwrap()).unwrap();
    writer.write_point(las::Point::default()).unwrap();
    writer.close().unwrap();
    assert_eq!(LazFile::open(&path).unwrap_err(), Error::NoLayers);
}

#[test]
fn a_record_of_compression_counts_only_where_it_belongs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.laz");
    write(&path, 6, 400);
    let whole = std::fs::read(&path).unwrap();
    let opened = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        std::fs::write(&path, bytes).unwrap();
        LazFile::open(&path).map(|file| file.chunks()).map_err(|error| error.to_string())
    };
    // The point format without the bit of compression, and another size of records.
    assert!(opened(104, 6).unwrap_err().contains("it is not compressed"));
    assert!(opened(105, whole[105] + 1).unwrap_err().contains("point size"));
    // The record under the name of another program.
    let user = whole.windows(14).position(|bytes| bytes == b"laszip encoded").unwrap();
    assert!(opened(user, b'L').unwrap_err().contains("it is not compressed"));
    assert_eq!(opened(user, b'l'), Ok(1));
}

#[test]
fn a_file_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.laz");
    write(&path, 6, 400);
    let whole = std::fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(7) {
        std::fs::write(&path, &whole[..len]).unwrap();
        let read = LazFile::open(&path)
            .and_then(|mut file| file.pack(0..file.chunks(), Fields::default()))
            .and_then(|chunks| decode(&Device::Cpu, &chunks));
        assert!(read.is_err(), "{len} of {} bytes", whole.len());
    }
}
