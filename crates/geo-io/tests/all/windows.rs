//! Masks and arrays that are read and written in parts.

use std::path::Path;

use geo_io::*;
use proptest::prelude::*;

/// An array file as NumPy has it, of bytes that are its elements.
fn array(kind: &str, by_columns: bool, rows: usize, columns: usize, elements: &[u8]) -> Vec<u8> {
    let order = if by_columns { "True" } else { "False" };
    let header = format!(
        "{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({rows}, {columns}), }}\n"
    );
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(elements);
    bytes
}

/// A window of a mask that was read whole.
fn cut(mask: &Mask, rows: (usize, usize), columns: (usize, usize)) -> Vec<u8> {
    let lines = mask.sites.chunks(mask.width).skip(rows.0).take(rows.1 - rows.0);
    lines.flat_map(|line| &line[columns.0..columns.1]).copied().collect()
}

/// A window of the values of a raster that was read whole, as text, which NaN has as well.
fn cut_values(raster: &Raster, rows: (usize, usize), columns: (usize, usize)) -> String {
    macro_rules! of {
        ($($variant:ident),+) => {
            match &raster.values {
                $(ArrayData::$variant(values) => {
                    let lines = values.chunks(raster.width).skip(rows.0).take(rows.1 - rows.0);
                    let window = lines.flat_map(|line| &line[columns.0..columns.1]).copied();
                    format!("{:?}", ArrayData::$variant(window.collect()))
                })+
            }
        };
    }
    of!(F16, F32, F64, U8, Bool, I8, I16, U16, I32, U32, I64, U64)
}

/// Compares a window, at two corners that are shares of the sides, with that of the whole.
fn check(path: &Path, rule: &SiteValues, corners: [(f64, f64); 2]) {
    let whole = read_mask(path, rule).unwrap();
    let file = MaskFile::open(path).unwrap();
    assert_eq!(file.size(), (whole.width, whole.height));
    assert_eq!(file.georeference(), whole.georeference.as_ref());
    let range = |a: f64, b: f64, side: usize| {
        let at = |share: f64| (share * (side as f64 + 0.999)) as usize;
        (at(a.min(b)), at(a.max(b)))
    };
    let [(x, y), (other_x, other_y)] = corners;
    let (columns, rows) = (range(x, other_x, whole.width), range(y, other_y, whole.height));
    let window = file.window(rows.0..rows.1, columns.0..columns.1, rule).unwrap();
    assert_eq!((window.width, window.height), (columns.1 - columns.0, rows.1 - rows.0));
    assert!(window.sites == cut(&whole, rows, columns));
    let raster = read_raster(path, None).unwrap();
    let values = ValuesFile::open(path).unwrap();
    assert_eq!((values.size(), values.nodata()), ((raster.width, raster.height), raster.nodata));
    assert_eq!(values.georeference(), raster.georeference.as_ref());
    let window = values.window(rows.0..rows.1, columns.0..columns.1).unwrap();
    assert_eq!(format!("{window:?}"), cut_values(&raster, rows, columns));
    let all = file.window(0..whole.height, 0..whole.width, rule).unwrap();
    assert_eq!(all.without_value, whole.without_value);
    for (rows, columns) in [(0..whole.height + 1, 0..1), (0..1, 5..whole.width + 1)] {
        let error = file.window(rows, columns, rule).unwrap_err().to_string();
        assert!(error.contains("is not within") && !error.contains('\n'), "{error}");
    }
}

fn corners() -> impl Strategy<Value = [(f64, f64); 2]> {
    let corner = || (0.0..1.0, 0.0..1.0);
    (corner(), corner()).prop_map(|(a, b)| [a, b])
}

fn rule() -> impl Strategy<Value = SiteValues> {
    let text = prop::sample::select(vec!["1", "2-9", "-5--1,3"]);
    let some = (text, any::<bool>())
        .prop_map(|(text, inverted)| SiteValues { inverted, ..text.parse().unwrap() });
    prop_oneof![Just(SiteValues::default()), some]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn windows_of_arrays_are_those_of_the_whole(
        (rows, columns) in (1..40_usize, 1..40_usize), by_columns: bool, kind in 0..5_usize,
        bytes in prop::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u8>()], 40 * 40 * 8),
        rule in rule(), corners in corners()
    ) {
        let (kind, size) = [("|u1", 1), ("<i2", 2), (">i4", 4), ("<f4", 4), ("<f8", 8)][kind];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mask.npy");
        let elements = &bytes[..rows * columns * size];
        std::fs::write(&path, array(kind, by_columns, rows, columns, elements)).unwrap();
        check(&path, &rule, corners);
    }

    #[test]
    fn windows_of_tiffs_are_those_of_the_whole(
        (width, height) in (1..700_u32, 1..700_u32), seed in 1..99_u32, rule in rule(),
        corners in corners(), is_placed: bool
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mask.tif");
        let value = |i: u32| match i.wrapping_mul(seed).wrapping_mul(2654435761) >> 28 {
            0 => f32::NAN,
            n if n < 5 => n as f32,
            _ => 0.0,
        };
        let values: Vec<f32> = (0..width * height).map(value).collect();
        let mut place = Georeference::north_up((0.25, 7.0), (2.0, 3.0));
        place.crs = is_placed.then(|| Crs::parse("EPSG:26910").unwrap());
        write_georeferenced(&path, &place, (width, height), &values, -9.0).unwrap();
        check(&path, &rule, corners);
    }

    #[test]
    fn arrays_of_rows_as_they_come_have_the_bytes_of_the_whole(
        (width, height) in (1..50_usize, 1..50_usize), seed: u32, first in 0.0..1.0
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let value = |i: usize| (i as u32).wrapping_mul(2654435761).wrapping_add(seed);
        let values: Vec<u32> = (0..width * height).map(value).collect();
        write_npy(&at("whole.npy"), &values, width, height).unwrap();
        let mut fill = |first: usize, rows: &mut [u32]| {
            rows.copy_from_slice(&values[first * width..first * width + rows.len()]);
            Ok(())
        };
        write_npy_rows(&at("rows.npy"), (width, height), &mut fill).unwrap();
        prop_assert!(std::fs::read(at("whole.npy")).unwrap() == std::fs::read(at("rows.npy")).unwrap());

        let file = ArrayFile::open(&at("rows.npy")).unwrap();
        let first = (first * height as f64) as usize;
        let read: Vec<u32> = file.rows(first, height - first).unwrap();
        prop_assert_eq!(&read[..], &values[first * width..]);
        let other = file.rows::<f32>(0, 1).unwrap_err().to_string();
        prop_assert!(other.contains("u4") && other.contains("f4"), "{}", other);
    }
}

/// More elements than are taken at once.
#[test]
fn long_arrays_are_written_in_several_parts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (width, height) = (1500, 7000);
    let values: Vec<u8> = (0..width * height).map(|i| (i % 251) as u8).collect();
    write_npy(&at("whole.npy"), &values, width, height).unwrap();
    let mut calls = 0;
    let mut fill = |first: usize, rows: &mut [u8]| {
        calls += 1;
        rows.copy_from_slice(&values[first * width..first * width + rows.len()]);
        Ok(())
    };
    write_npy_rows(&at("rows.npy"), (width, height), &mut fill).unwrap();
    assert!(calls > 1);
    assert!(std::fs::read(at("whole.npy")).unwrap() == std::fs::read(at("rows.npy")).unwrap());
    // Where the rows cannot be had there is no file.
    let mut refuse =
        |_: usize, _: &mut [u8]| Err(MaskFile::open(Path::new("none.tif")).err().unwrap());
    assert!(write_npy_rows(&at("none.npy"), (2, 2), &mut refuse).is_err());
    assert!(!at("none.npy").exists());
}

#[test]
fn files_of_which_no_part_can_be_had_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let line = array("<f4", false, 1, 6, &[0; 24]);
    let line = String::from_utf8_lossy(&line).replace("(1, 6)", "(6,)  ");
    for (name, bytes, words) in [
        ("mask.npz", &b"PK"[..], &["mask.npz", ".npy"][..]),
        ("short.npy", &array("<f4", false, 3, 3, &[0; 35]), &["promises 36 bytes"]),
        ("text.npy", b"text", &["text.npy"]),
        ("huge.npy", &array("<f8", true, usize::MAX / 3, 9, &[0; 35]), &["huge.npy"]),
        ("odd.npy", &array("|O", false, 1, 1, &[0; 8]), &["odd.npy"]),
        ("text.tif", b"text", &["text.tif"]),
        ("empty.tif", b"", &["empty.tif"]),
    ] {
        let path = write(name, bytes);
        let opened =
            MaskFile::open(&path).and_then(|file| file.window(0..1, 0..1, &Default::default()));
        let error = opened.unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word) && !error.contains('\n'), "{name}: {error}");
        }
    }
    let path = write("line.npy", line.as_bytes());
    assert!(MaskFile::open(&path).is_err());
}
