//! The fields of LAS and LAZ points, written by the crate `las`.

use std::io::Cursor;
use std::path::Path;

use geo_io::{CsvColumns, Error, Filter, LasField, PointCloud, read_batches, read_points};
use las::point::{Classification, Format, ScanDirection};
use las::{Builder, Color, Point, Version, Writer};

/// Points with a different value in each field that the format has.
fn points(format: Format) -> Vec<Point> {
    let point = |i: u16| Point {
        x: f64::from(i % 97),
        y: f64::from(i / 97),
        z: f64::from(i % 7),
        intensity: i.wrapping_mul(31) ^ 0x8000,
        return_number: 1 + (i % 5) as u8,
        number_of_returns: 5,
        scan_direction: ScanDirection::LeftToRight,
        classification: Classification::new(2 + (i % 4) as u8).unwrap(),
        scan_angle: f32::from(i % 121) - 60.0,
        user_data: (i % 251) as u8,
        point_source_id: i ^ 0x5555,
        gps_time: format.has_gps_time.then(|| 1e8 + f64::from(i) * 0.25),
        color: format.has_color.then(|| Color::new(i, i ^ 0xff00, 65_535 - i)),
        nir: format.has_nir.then_some(i ^ 0x0f0f),
        ..Point::default()
    };
    (0..3000).map(point).collect()
}

/// What the file should have.
fn value(point: &Point, field: LasField) -> Option<f64> {
    Some(match field {
        LasField::Intensity => point.intensity.into(),
        LasField::Return => point.return_number.into(),
        LasField::Returns => point.number_of_returns.into(),
        LasField::Class => u8::from(point.classification).into(),
        LasField::ScanAngle => point.scan_angle.into(),
        LasField::UserData => point.user_data.into(),
        LasField::Source => point.point_source_id.into(),
        LasField::GpsTime => point.gps_time?,
        LasField::Red => point.color?.red.into(),
        LasField::Green => point.color?.green.into(),
        LasField::Blue => point.color?.blue.into(),
        LasField::Infrared => point.nir?.into(),
    })
}

fn write(path: &Path, number: u8) -> Vec<Point> {
    let mut format = Format::new(number).unwrap();
    let points = points(format);
    format.is_compressed = path.extension().is_some_and(|ending| ending == "laz");
    let mut builder = Builder::from(Version::new(1, if number >= 6 { 4 } else { 3 }));
    builder.point_format = format;
    let mut writer = Writer::new(Cursor::new(Vec::new()), builder.into_header().unwrap()).unwrap();
    points.iter().for_each(|point| writer.write_point(point.clone()).unwrap());
    std::fs::write(path, writer.into_inner().unwrap().into_inner()).unwrap();
    points
}

fn read(path: &Path, names: &[&str]) -> geo_io::Result<PointCloud> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    read_points(path, &Filter::default(), &CsvColumns::default().values(names), &gpu_core::Silent)
}

#[test]
fn every_field_of_every_format_is_read_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for number in [0, 1, 2, 3, 6, 7, 8] {
        for ending in ["las", "laz"] {
            let path = folder.path().join(format!("{number}.{ending}"));
            let points = write(&path, number);
            assert!(read(&path, &[]).unwrap().values.is_empty());
            let mut there = Vec::new();
            for field in LasField::ALL {
                // Alone, so that nothing else has it decoded.
                let Some(first) = value(&points[0], field) else {
                    let error = read(&path, &[field.name()]).unwrap_err();
                    assert!(matches!(error, Error::NoField { .. }), "{error}");
                    continue;
                };
                there.push(field);
                let cloud = read(&path, &[field.name()]).unwrap();
                assert_eq!((cloud.len(), cloud.values.len()), (points.len(), 1));
                assert_eq!(cloud.ranges, [field.range()]);
                let step = if field == LasField::ScanAngle { 0.0061 } else { 0.0 };
                assert!((cloud.values[0][0] - first).abs() <= step, "{path:?} {field:?}");
                for (found, point) in cloud.values[0].iter().zip(&points) {
                    let expected = value(point, field).unwrap();
                    assert!((found - expected).abs() <= step, "{path:?} {field:?}: {expected}");
                    let [low, high] = field.range().unwrap_or([f64::MIN, f64::MAX]);
                    assert!((low..=high).contains(found));
                }
            }
            let names: Vec<&str> = there.iter().rev().map(|field| field.name()).collect();
            let all = read(&path, &names).unwrap();
            for (column, name) in all.values.iter().zip(&names) {
                assert_eq!(column, &read(&path, &[name]).unwrap().values[0], "{path:?} {name}");
            }
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            let columns = CsvColumns::default().values(names);
            let mut batches = vec![Vec::<f64>::new(); there.len()];
            let mut take = |part: &PointCloud| {
                batches.iter_mut().zip(&part.values).for_each(|(all, part)| all.extend(part));
                Ok(())
            };
            read_batches(&path, &Filter::default(), &columns, 700, &gpu_core::Silent, &mut take)
                .unwrap();
            assert!(batches == all.values, "{path:?}");
        }
    }
}

#[test]
fn a_filter_keeps_values_beside_their_points() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.laz");
    let points = write(&path, 7);
    let filter = Filter { classes: Some(vec![3]), ..Filter::default() };
    let columns = CsvColumns::default().values(["green".to_owned()]);
    let cloud = read_points(&path, &filter, &columns, &gpu_core::Silent).unwrap();
    let kept = points.iter().filter(|point| u8::from(point.classification) == 3);
    let green: Vec<f64> = kept.map(|point| point.color.unwrap().green.into()).collect();
    assert_eq!(cloud.values, [green]);
}

#[test]
fn what_a_file_lacks_is_named_with_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.laz");
    write(&path, 1);
    for name in ["red", "nir", "reflectance", ""] {
        let error = read(&path, &["intensity", name]).unwrap_err().to_string();
        let words =
            format!("1.laz has no field \"{name}\"; its point format has intensity, return,");
        assert!(error.contains(&words) && error.ends_with("gps_time"), "{error}");
    }
    assert!(read(&path, &["INTENSITY"]).is_ok());
}

#[test]
fn further_columns_of_tables_are_found_by_name_and_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "a;x;y;z;Rain;class\n1,5;0;1;2;7,25;2\n2,5;3;4;5;-8,5;7\n").unwrap();
    let cloud = read(&path, &["rain", "1"]).unwrap();
    // Noise is left out, and counts for the range.
    assert_eq!(cloud.values, [vec![7.25], vec![1.5]]);
    assert_eq!(cloud.ranges, [Some([-8.5, 7.25]), Some([1.5, 2.5])]);
    let error = read(&path, &["snow"]).unwrap_err().to_string();
    assert!(error.contains("no column \"snow\"") && error.contains("a, x, y, z, Rain"), "{error}");
    std::fs::write(&path, "x,y,z,w\n1,2,3,4\n1,2,3,much\n").unwrap();
    let error = read(&path, &["w"]).unwrap_err().to_string();
    assert!(error.contains("row 2") && error.contains("much"), "{error}");
    std::fs::write(&path, "1 2 3 4\n5 6 7 8\n").unwrap();
    assert_eq!(read(&path, &["4"]).unwrap().values, [[4.0, 8.0]]);
}
