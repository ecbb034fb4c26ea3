//! ASCII grids: what GDAL reads of them is read, and what it guesses at is refused.

use std::path::Path;

use geo_io::*;
use proptest::prelude::*;

use crate::rasters::gdal;

/// Where a grid lies, in the usual form.
const PLACE: &str = "ncols 3\nnrows 2\nxllcorner 10\nyllcorner 20\ncellsize 5\n";

fn read(text: &str) -> Result<Raster> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asc");
    std::fs::write(&path, text).unwrap();
    read_raster(&path, None)
}

/// The values of a raster as GDAL has them, and its geotransform.
fn of_gdal(path: &Path) -> Option<(Vec<f64>, Vec<f64>, String)> {
    let path = path.to_str().unwrap();
    let cells = gdal("gdal_translate", &["-q", "-of", "XYZ", path, "/vsistdout/"])?;
    let values = cells.lines().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap());
    let info = gdal("gdalinfo", &["-json", path])?;
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let transform = info["geoTransform"].as_array().unwrap();
    let transform = transform.iter().map(|number| number.as_f64().unwrap()).collect();
    Some((values.collect(), transform, info["bands"][0]["type"].as_str().unwrap().to_owned()))
}

#[test]
fn grids_are_read_as_gdal_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asc");
    for (text, nodata) in [
        (format!("{PLACE}NODATA_value -9999\n1 2 3\n4 5 -9999\n"), Some(-9999.0)),
        ("CELLSIZE 5\nyllCENTER 20\nXLLCENTER 10\nNROWS 2\nNCOLS 3\n1 2 3\n4 5 6\n".into(), None),
        ("ncols 3\nnrows 2\nxllcorner 10\nyllcorner 20\ndx 5\ndy 2\n1 2 3\n4 5 6\n".into(), None),
        ("ncols 3 nrows 2 xllcorner 1,5 yllcorner 20 cellsize 2,5\n1 2 3\n4 5 6\n".into(), None),
        (format!("{PLACE}1\n2 3 4\n5\n\n6"), None),
        (format!("{PLACE}  1e1 2E-1 3\n  4.75 5 +6\n"), None),
        (format!("{PLACE}1,5 2 3\n4 5 6\n"), None),
        (format!("{PLACE}0.1 16777217 3\n4 5 6.\n"), None),
        (format!("{PLACE}NODATA_value 0x10\n16 2 3\n4 5 6\n"), Some(16.0)),
        (format!("{PLACE}nodata_VALUE -9999.0\n1 2 3\n4 5 6\n"), Some(-9999.0)),
        (format!("{PLACE}NODATA_value 5,5\n1 5.5 3\n4 5 6\n"), Some(5.5)),
        (format!("{PLACE}NODATA_value -1e3\n1 2 3\n4 5 -1000\n"), Some(-1000.0)),
        (format!("{}1 2 3\r4 5 6\r", PLACE.replace('\n', "\r")), None),
        (format!("{}1 2 3\r\n4 5 6\r\n", PLACE.replace('\n', "\r\n")), None),
        (format!("{PLACE}foo 3\nncols 2\n1 2 3\n4 5 6\n"), None),
        (
            format!(
                "ncols 360\nnrows 1\nxllcorner -180\nyllcorner -1\ncellsize 1.0000000001\n{}",
                "7 ".repeat(360)
            ),
            None,
        ),
    ] {
        std::fs::write(&path, &text).unwrap();
        let raster = read_raster(&path, None).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(raster.nodata.map(Number::to_f64), nodata, "{text}");
        let Some((values, transform, kind)) = of_gdal(&path) else { return };
        assert_eq!(raster.georeference.unwrap().transform[..], transform, "{text}");
        // GDAL writes f32 with 18 digits.
        let same = |(a, b): (f64, &f64)| (a - b).abs() <= 1e-12 * a.abs();
        assert!(raster.values.to_floats(None).into_iter().zip(&values).all(same), "{text}");
        assert_eq!(raster.width * raster.height, values.len());
        let own = raster.values.sample_type();
        assert_eq!(
            (own, &kind[..]),
            match &kind[..] {
                "Int32" => (SampleType::I32, "Int32"),
                _ => (SampleType::F32, "Float32"),
            },
            "{text}"
        );
    }
}

#[test]
fn what_gdal_spoils_is_kept() {
    // GDAL 3.6 gives 705032704.
    let wide = read(&format!("{PLACE}5000000000 2 3\n4 5 6\n")).unwrap();
    assert_eq!(wide.values, ArrayData::F64(vec![5e9, 2.0, 3.0, 4.0, 5.0, 6.0]));
    // Nor has it NODATA here, but the negative infinity.
    let least = "-3.4028235e+38";
    let least = read(&format!("{PLACE}NODATA_value {least}\n1 2 3\n4 5 {least}\n")).unwrap();
    assert!(least.values.to_floats(least.nodata)[5].is_nan());
    let none = read(&format!("{PLACE}nan 2 3\n4 5 inf\n")).unwrap().values.to_floats(None);
    assert!(none[0].is_nan() && none[5] == f64::INFINITY);
    let marked = read(&format!("\u{feff}{PLACE}1 2 3\n4 5 6\n")).unwrap();
    assert_eq!(marked.values, ArrayData::I32(vec![1, 2, 3, 4, 5, 6]));
    // The corner of one axis and the centre of the other say where the grid lies.
    let mixed = read("ncols 1 nrows 1 xllcorner 10 yllcenter 20 cellsize 5\n1").unwrap();
    assert_eq!(mixed.georeference.unwrap().transform, [10.0, 5.0, 0.0, 22.5, 0.0, -5.0]);
}

#[test]
fn odd_grids_are_refused_by_name() {
    for (text, what) in [
        (String::new(), "is empty"),
        (format!("{PLACE}1 2 3\n4 5.5\n"), "it ends in row 1 before column 2"),
        (format!("{PLACE}1 2\n"), "its header promises 2 rows of 3 values"),
        (PLACE.to_owned(), "its header promises 2 rows of 3 values"),
        // Taken as the next number, each would move all values by a cell.
        (format!("{PLACE}NODATA_value\n1 2 3\n4 5 6\n7\n"), "its field NODATA_value has no value"),
        (
            format!("{}5\n1 2 3\n4 5 6\n", PLACE.trim_end().to_owned() + " "),
            "in the line of its field cellsize",
        ),
        (format!("{PLACE}1 abc 3\n4 5 6\n"), "row 0, column 1 is \"abc\""),
        (format!("{PLACE}1;2;3\n4;5;6\n          "), "row 0, column 0 is \"1;2;3\""),
        (PLACE.replace("ncols", "columns") + "1 2 3\n4 5 6\n", "has no ncols"),
        (PLACE.replace("nrows 2", "") + "1 2 3\n4 5 6\n", "has no nrows"),
        (PLACE.replace("cellsize 5", "") + "1 2 3\n4 5 6\n", "neither cellsize nor dx"),
        (PLACE.replace("cellsize", "dx") + "1 2 3\n4 5 6\n", "neither cellsize nor dy"),
        (PLACE.replace("yllcorner 20", "") + "1 2 3\n4 5 6\n", "neither yllcorner nor yllcenter"),
        (PLACE.replace("ncols 3", "ncols -3") + "1 2 3\n4 5 6\n", "ncols \"-3\""),
        (PLACE.replace("ncols 3", "ncols 2.5") + "1 2 3\n4 5 6\n", "ncols \"2.5\""),
        (PLACE.replace("cellsize 5", "cellsize 0") + "1 2 3\n4 5 6\n", "a side of 0"),
        (PLACE.replace("xllcorner 10", "xllcorner east") + "1 2 3\n4 5 6\n", "xllcorner \"east\""),
        (format!("{PLACE}NODATA_value none\n1 2 3\n4 5 6\n"), "NODATA_value \"none\""),
        (
            PLACE.replace("ncols 3", "ncols 4000000000").replace("nrows 2", "nrows 4000000000"),
            "bytes are too few",
        ),
        (format!("{PLACE}{}", "1".repeat(5000)), "is not a number"),
        (
            "north: 3\nsouth: 1\neast: 2\nwest: 1\nrows: 2\ncols: 1\n1\n2\n".into(),
            "not an ASCII grid of Esri's form",
        ),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("a.asc"), "{text}: {error}");
        assert!(!error.contains('\n'));
    }
    let many = read(&format!("{PLACE}1 2 3\n4 5 6 7\n")).unwrap();
    assert!(many.notes[0].contains("more values follow the 2 rows of 3"), "{:?}", many.notes);
    let unknown = read(&format!("{PLACE}colour 3\n1 2 3\n4 5 6\n")).unwrap();
    assert!(unknown.notes[0].contains("its field colour is ignored"));
}

#[test]
fn systems_are_those_of_the_file_beside() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (grid, place) = (at("a.asc"), |path: &Path| read_place(path).unwrap());
    std::fs::write(&grid, format!("{PLACE}1 2 3\n4 5 6\n")).unwrap();
    assert_eq!(place(&grid).georeference.unwrap().crs, None);
    std::fs::write(at("a.prj"), "rubbish").unwrap();
    let unknown = place(&grid);
    assert!(unknown.notes[0].contains("a.prj is not understood") && unknown.size == (3, 2));
    std::fs::remove_file(at("a.prj")).unwrap();
    let options = ["-q", "-of", "AAIGrid", "-a_srs", "EPSG:32633"];
    let ends = [grid.to_str().unwrap(), &at("b.asc").display().to_string()].map(str::to_owned);
    let line: Vec<&str> = options.into_iter().chain(ends.iter().map(String::as_str)).collect();
    if gdal("gdal_translate", &line).is_none() {
        return;
    }
    let crs = place(&at("b.asc")).georeference.unwrap().crs.unwrap();
    assert!(crs.same_as(&Crs::parse("EPSG:32633").unwrap()), "{crs}");
}

/// As GDAL reads them beside a grid, where its NODATA does not count.
#[test]
fn unit_scale_and_offset_beside_a_grid_count_as_beside_a_geotiff() {
    let folder = tempfile::tempdir().unwrap();
    let grid = folder.path().join("a.asc");
    std::fs::write(&grid, format!("{PLACE}1 2 3\n4 5 6\n")).unwrap();
    let band =
        "<NoDataValue>3</NoDataValue><UnitType>ft</UnitType><Scale>0.01</Scale><Offset>5</Offset>";
    let text = format!("<PAMDataset><PAMRasterBand band=\"1\">{band}</PAMRasterBand></PAMDataset>");
    std::fs::write(folder.path().join("a.asc.aux.xml"), text).unwrap();
    let file = ValuesFile::open(&grid).unwrap();
    assert_eq!((file.metres_per_value(), file.nodata()), (Some(0.3048), None));
    let [note] = file.notes() else { panic!("{:?}", file.notes()) };
    assert!(note.contains("its scale 0.01 and offset 5 are not applied"), "{note}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Windows have the values of the whole, however the text is broken into lines.
    #[test]
    fn windows_are_parts_of_the_whole(
        (width, height, rows, columns) in (1_usize..9, 1_usize..9).prop_flat_map(|(w, h)| {
            (Just(w), Just(h), (0..=h, 0..=h), (0..=w, 0..=w))
        }),
        numbers in prop::collection::vec((any::<i32>(), 0_u8..4), 81),
    ) {
        let mut text = format!("nrows {height} ncols {width} cellsize 1 xllcorner 0 yllcorner 0 ");
        let numbers = &numbers[..width * height];
        for (number, blank) in numbers {
            text += &format!("{number}{}", [" ", "\n", "\r\n", "\t "][usize::from(*blank)]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.asc");
        std::fs::write(&path, text).unwrap();
        let file = ValuesFile::open(&path).unwrap();
        let range = |(a, b): (usize, usize)| a.min(b)..a.max(b);
        let (rows, columns) = (range(rows), range(columns));
        let window = file.window(rows.clone(), columns.clone()).unwrap();
        let cells = rows.flat_map(|row| columns.clone().map(move |column| row * width + column));
        prop_assert_eq!(window, ArrayData::I32(cells.map(|cell| numbers[cell].0).collect()));
    }
}

#[test]
fn masks_are_read_of_grids() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asc");
    std::fs::write(&path, format!("{PLACE}NODATA_value -1\n0 1 -1\n2 0 0\n")).unwrap();
    let mask = read_mask(&path, &SiteValues::default()).unwrap();
    assert_eq!((mask.sites, mask.without_value), (vec![0, 1, 0, 1, 0, 0], 1));
    assert_eq!(mask_size(&path), Some((3, 2)));
}
