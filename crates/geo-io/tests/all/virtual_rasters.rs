//! GDAL's virtual rasters: mosaics have the pixels that GDAL has, and what is not copied is refused by name.

use std::path::{Path, PathBuf};

use geo_io::*;
use proptest::prelude::*;

use crate::rasters::gdal;

/// A folder of rasters.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes f32 from a corner in cells of a side of 2, NODATA being -9.
    fn tile(&self, name: &str, corner: (u32, u32), size: (u32, u32), of: impl Fn(u32, u32) -> f32) {
        let (x, y) = (500_000.0 + 2.0 * f64::from(corner.0), 4e6 - 2.0 * f64::from(corner.1));
        let mut place = Georeference::north_up((x, y), (2.0, 2.0));
        place.crs = Some(Crs::parse("EPSG:32633").unwrap());
        let values = (0..size.1).flat_map(|row| (0..size.0).map(move |column| (column, row)));
        let values: Vec<f32> = values.map(|(column, row)| of(column, row)).collect();
        write_georeferenced(&self.at(name), &place, size, &values, -9.0).unwrap();
    }

    /// Runs one of GDAL's tools on files of the folder.
    fn gdal(&self, tool: &str, options: &[&str], files: &[&str]) -> Option<String> {
        let files: Vec<String> =
            files.iter().map(|name| self.at(name).display().to_string()).collect();
        let line: Vec<&str> =
            options.iter().copied().chain(files.iter().map(String::as_str)).collect();
        gdal(tool, &line)
    }

    /// Writes a virtual raster of bytes, 4 x 3 pixels, with these elements in its band.
    fn vrt(&self, name: &str, band: &str) -> PathBuf {
        self.dataset(
            name,
            "",
            &format!("<VRTRasterBand dataType=\"Byte\" band=\"1\">{band}</VRTRasterBand>"),
        )
    }

    fn dataset(&self, name: &str, attributes: &str, inner: &str) -> PathBuf {
        let text = format!(
            "<VRTDataset rasterXSize=\"4\" rasterYSize=\"3\" {attributes}>{inner}</VRTDataset>"
        );
        std::fs::write(self.at(name), text).unwrap();
        self.at(name)
    }
}

/// Compares a virtual raster with the GeoTIFF that GDAL makes of it, and returns the values.
fn check(folder: &Folder, name: &str) -> Option<Vec<f64>> {
    folder.gdal("gdal_translate", &["-q"], &[name, "whole.tif"])?;
    let (own, of_gdal) = (folder.at(name), folder.at("whole.tif"));
    let [own, of_gdal] = [own, of_gdal].map(|path| read_raster(&path, None).unwrap());
    // NaN differs from itself.
    assert!(format!("{:?}", own.values) == format!("{:?}", of_gdal.values), "{name}");
    assert_eq!(
        (own.width, own.height, own.nodata),
        (of_gdal.width, of_gdal.height, of_gdal.nodata)
    );
    assert_eq!(
        own.georeference.as_ref().map(|place| place.transform),
        of_gdal.georeference.as_ref().map(|place| place.transform)
    );
    let _ = std::fs::remove_file(folder.at("whole.tif"));
    Some(own.values.to_floats(own.nodata))
}

#[test]
fn mosaics_have_the_pixels_that_gdal_has() {
    let folder = Folder::new();
    let wave = |shift: f32| {
        move |c: u32, r: u32| {
            if (c + r) % 7 == 3 { f32::NAN } else { c as f32 * 0.3 + r as f32 * 10.0 + shift }
        }
    };
    folder.tile("a.tif", (0, 0), (300, 40), wave(0.25));
    folder.tile("b.tif", (280, 20), (90, 70), wave(1000.0));
    folder.tile("c.tif", (10, 60), (33, 31), wave(-500.5));
    let tiles = ["a.tif", "b.tif", "c.tif"];
    for options in [&[][..], &["-hidenodata"], &["-srcnodata", "10.25"], &["-vrtnodata", "-7777"]] {
        let quiet = ["-q", "-overwrite"];
        let options: Vec<&str> = quiet.iter().chain(options).copied().collect();
        if folder.gdal("gdalbuildvrt", &options, &[&["m.vrt"][..], &tiles].concat()).is_none() {
            return;
        }
        let values = check(&folder, "m.vrt").unwrap();
        assert_eq!(values.len(), 370 * 91);
        // Windows, and a mosaic in another.
        folder.gdal(
            "gdal_translate",
            &["-q", "-of", "VRT", "-srcwin", "270", "15", "60", "30"],
            &["m.vrt", "part.vrt"],
        );
        check(&folder, "part.vrt");
        let file = ValuesFile::open(&folder.at("m.vrt")).unwrap();
        let window = file.window(10..75, 5..290).unwrap().to_floats(file.nodata());
        let cut = (10..75).flat_map(|row| &values[row * 370 + 5..row * 370 + 290]);
        assert!(window.iter().zip(cut).all(|(a, b)| a == b || a.is_nan() && b.is_nan()));
        let place = read_place(&folder.at("m.vrt")).unwrap();
        assert_eq!((place.size, place.georeference.as_ref()), (file.size(), file.georeference()));
        assert_eq!(place.georeference.unwrap().crs.unwrap().epsg(), Some(32633));
    }
}

#[test]
fn values_are_scaled_and_converted_as_gdal_does_it() {
    let folder = Folder::new();
    folder.tile("a.tif", (0, 0), (61, 40), |c, r| {
        (c as f32 * 11.3 - 200.0) * if r % 5 == 2 { -1.0 } else { 1.5 }
    });
    for kind in ["Byte", "Int16", "UInt16", "Int32", "UInt32", "Float32", "Float64"] {
        for scale in [&[][..], &["-scale", "0", "100", "3", "77"], &["-a_nodata", "13"]] {
            let options = [&["-q", "-of", "VRT", "-ot", kind], scale].concat();
            if folder.gdal("gdal_translate", &options, &["a.tif", "m.vrt"]).is_none() {
                return;
            }
            check(&folder, "m.vrt");
            // From every type, too.
            folder.gdal(
                "gdal_translate",
                &["-q", "-ot", kind, "-a_nodata", "none"],
                &["a.tif", "typed.tif"],
            );
            let options = [&["-q", "-of", "VRT", "-ot", "Float64"], scale].concat();
            folder.gdal("gdal_translate", &options, &["typed.tif", "m.vrt"]);
            check(&folder, "m.vrt");
        }
    }
}

#[test]
fn sources_are_windows_of_any_raster_that_is_read() {
    let folder = Folder::new();
    write_npy(&folder.at("a.npy"), &[1_u8, 2, 3, 4, 5, 6], 3, 2).unwrap();
    std::fs::write(folder.at("b.asc"), "ncols 2 nrows 1 xllcorner 0 yllcorner 0 cellsize 1 300 8")
        .unwrap();
    let source = |file: &str, from: &str, to: &str| {
        format!(
            "<SimpleSource><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename><SourceBand>1</SourceBand>{from}{to}</SimpleSource>"
        )
    };
    let rectangle = |kind: &str, [x, y, w, h]: [f64; 4]| {
        format!("<{kind} xOff=\"{x}\" yOff=\"{y}\" xSize=\"{w}\" ySize=\"{h}\"/>")
    };
    let [from, to] = [[1.0, 0.0, 2.0, 2.0], [2.0, 1.0, 2.0, 2.0]];
    let first = source("a.npy", &rectangle("SrcRect", from), &rectangle("DstRect", to));
    // What lies beyond an edge, of the source or of the whole, is left out.
    let [from, to] = [[0.0, 0.0, 5.0, 4.0], [-1.0, 0.0, 5.0, 4.0]];
    let second = source("b.asc", &rectangle("srcrect", from), &rectangle("dstrect", to));
    let path = folder.vrt("m.vrt", &format!("<NoDataValue>7</NoDataValue>{first}{second}"));
    let raster = read_raster(&path, None).unwrap();
    let expected = [8, 7, 7, 7, 7, 7, 2, 3, 7, 7, 5, 6];
    assert_eq!(raster.values, ArrayData::U8(expected.to_vec()));
    let mask = read_mask(&path, &"2-6".parse().unwrap()).unwrap();
    assert_eq!((mask.without_value, mask.sites.iter().map(|&s| u32::from(s)).sum::<u32>()), (7, 4));
    // Without NODATA 0 is where no source is.
    let path = folder.vrt("m.vrt", &first);
    assert_eq!(
        read_raster(&path, None).unwrap().values,
        ArrayData::U8(vec![0, 0, 0, 0, 0, 0, 2, 3, 0, 0, 5, 6])
    );
    // Moved with what it names, and the whole of a source.
    std::fs::create_dir(folder.at("inner")).unwrap();
    let path = folder.vrt("inner/m.vrt", &source("../m.vrt", "", ""));
    assert_eq!(
        read_raster(&path, None).unwrap().values,
        read_raster(&folder.at("m.vrt"), None).unwrap().values
    );
}

/// The other rectangle would be all of the source, or all of the raster.
#[test]
fn a_source_with_one_of_its_two_rectangles_is_refused() {
    let folder = Folder::new();
    write_npy(&folder.at("a.npy"), &[1_u8; 12], 4, 3).unwrap();
    for (one, other) in [("SrcRect", "DstRect"), ("DstRect", "SrcRect")] {
        let band = format!(
            "<SimpleSource><SourceFilename relativeToVRT=\"1\">a.npy</SourceFilename>\
             <{one} xOff=\"0\" yOff=\"0\" xSize=\"2\" ySize=\"2\"/></SimpleSource>"
        );
        let error = read_raster(&folder.vrt("m.vrt", &band), None).unwrap_err().to_string();
        assert!(error.contains(&format!("a.npy: it has a {one} and no {other}")), "{error}");
    }
}

#[test]
fn what_is_not_copied_is_refused_by_name() {
    let folder = Folder::new();
    write_npy(&folder.at("a.npy"), &[1_u8; 12], 4, 3).unwrap();
    let source = |kind: &str, file: &str, inner: &str| {
        format!(
            "<{kind}><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename>{inner}</{kind}>"
        )
    };
    let simple = |inner: &str| source("SimpleSource", "a.npy", inner);
    let rectangles = |to: &str| {
        format!("<SrcRect xOff=\"0\" yOff=\"0\" xSize=\"2\" ySize=\"2\"/><DstRect {to}/>")
    };
    for (band, what) in [
        (source("KernelFilteredSource", "a.npy", ""), "KernelFilteredSource"),
        (source("AveragedSource", "a.npy", ""), "AveragedSource"),
        (format!("<MaskBand/>{}", simple("")), "MaskBand"),
        (source("ComplexSource", "a.npy", "<LUT>0:1,2:3</LUT>"), "geo-io does not read its LUT"),
        (source("ComplexSource", "a.npy", "<Exponent>2</Exponent>"), "its Exponent"),
        (source("ComplexSource", "a.npy", "<UseMaskBand>true</UseMaskBand>"), "its UseMaskBand"),
        (source("ComplexSource", "a.npy", "<NODATA>none</NODATA>"), "NODATA \"none\""),
        (simple("<SourceBand>2</SourceBand>"), "band 2"),
        (simple("<SourceBand>mask,1</SourceBand>"), "band mask,1"),
        (
            simple(&rectangles("xOff=\"0\" yOff=\"0\" xSize=\"4\" ySize=\"3\"")),
            "it resamples 2 x 2 pixels to 4 x 3",
        ),
        (
            simple(&rectangles("xOff=\"0.5\" yOff=\"0\" xSize=\"2\" ySize=\"2\"")),
            "between two pixels (at 0.5)",
        ),
        (
            simple(&rectangles("xOff=\"1e300\" yOff=\"0\" xSize=\"2\" ySize=\"2\"")),
            "xOff \"1e300\"",
        ),
        (simple(&rectangles("yOff=\"0\"")), "xOff \"\" of its DstRect"),
        (source("SimpleSource", "none.tif", ""), "none.tif does not exist"),
        ("<SimpleSource/>".to_owned(), "no SourceFilename"),
        (source("SimpleSource", "m.vrt", ""), "it is a source of itself"),
    ] {
        let path = folder.vrt("m.vrt", &band);
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(
            error.contains(what) && error.contains("m.vrt") && !error.contains('\n'),
            "{band}: {error}"
        );
    }
    let band =
        |attributes: &str| format!("<VRTRasterBand {attributes}>{}</VRTRasterBand>", simple(""));
    for (attributes, inner, what) in [
        ("", band("dataType=\"CFloat32\""), "CFloat32"),
        ("", band("subClass=\"VRTDerivedRasterBand\""), "VRTDerivedRasterBand"),
        ("", band("subClass=\"VRTRawRasterBand\""), "VRTRawRasterBand"),
        ("", band("band=\"1\"") + &band("band=\"2\""), "it has 2: `gdal_translate -b 1`"),
        ("", String::new(), "it has 0"),
        ("subClass=\"VRTWarpedDataset\"", band(""), "VRTWarpedDataset"),
        ("subClass=\"VRTPansharpenedDataset\"", band(""), "VRTPansharpenedDataset"),
        ("", format!("<MaskBand/>{}", band("")), "MaskBand"),
        ("", format!("<GeoTransform>1,2</GeoTransform>{}", band("")), "six numbers"),
    ] {
        let path = folder.dataset("m.vrt", attributes, &inner);
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(error.contains(what) && !error.contains('\n'), "{inner}: {error}");
    }
    for (text, what) in [
        ("", "is empty"),
        ("<VRTDataset", "not a GDAL virtual raster"),
        ("<a/>", "not a GDAL virtual raster"),
        ("<VRTDataset rasterXSize=\"0\" rasterYSize=\"1\"/>", "rasterXSize \"0\""),
        (
            "<VRTDataset rasterXSize=\"9999999999\" rasterYSize=\"1\"/>",
            "rasterXSize \"9999999999\"",
        ),
        ("<!DOCTYPE a [<!ENTITY b \"bb\">]><VRTDataset/>", "not a GDAL virtual raster"),
    ] {
        std::fs::write(folder.at("m.vrt"), text).unwrap();
        let error = read_raster(&folder.at("m.vrt"), None).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
}

#[test]
fn rasters_that_are_in_each_other_are_refused() {
    let folder = Folder::new();
    let source = |file: &str| {
        format!(
            "<SimpleSource><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename></SimpleSource>"
        )
    };
    folder.vrt("a.vrt", &source("b.vrt"));
    folder.vrt("b.vrt", &source("a.vrt"));
    let error = read_raster(&folder.at("a.vrt"), None).unwrap_err().to_string();
    assert!(error.contains("a.vrt") && error.contains("source of itself"), "{error}");
    for i in 0..12 {
        folder.vrt(&format!("{i}.vrt"), &source(&format!("{}.vrt", i + 1)));
    }
    folder.vrt("12.vrt", "");
    let error = read_raster(&folder.at("0.vrt"), None).unwrap_err().to_string();
    assert!(error.contains("within 8 other"), "{error}");
    assert_eq!(read_raster(&folder.at("6.vrt"), None).unwrap().values, ArrayData::U8(vec![0; 12]));
    // One that is not asked for is found out when it is.
    write_npy(&folder.at("a.npy"), &[1_u8; 12], 4, 3).unwrap();
    let path = folder.vrt("late.vrt", &(source("a.npy") + &source("late.vrt")));
    let file = ValuesFile::open(&path).unwrap();
    assert!(file.window(0..1, 0..1).unwrap_err().to_string().contains("source of itself"));
    // A window of a raster of any size takes no more memory than the window needs.
    let text = "<VRTDataset rasterXSize=\"2147483647\" rasterYSize=\"2147483647\"><VRTRasterBand/></VRTDataset>";
    std::fs::write(folder.at("large.vrt"), text).unwrap();
    let error = read_raster(&folder.at("large.vrt"), None).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let file = ValuesFile::open(&folder.at("large.vrt")).unwrap();
    let edge = 2_147_483_646..2_147_483_647;
    assert_eq!(file.window(edge.clone(), edge).unwrap(), ArrayData::U8(vec![0]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Windows of random mosaics, against one pixel after the other.
    #[test]
    fn windows_are_those_of_the_mosaic(
        sources in prop::collection::vec(((-4_i32..8, -4_i32..8), (1_i32..6, 1_i32..6), (-3_i32..5, -3_i32..5)), 0..5),
        (rows, columns) in ((0_usize..=9, 0_usize..=9), (0_usize..=11, 0_usize..=11)),
    ) {
        let folder = Folder::new();
        let mut inner = String::new();
        let mut expected = [[0_u8; 11]; 9];
        for (i, &((x, y), (width, height), (left, top))) in sources.iter().enumerate() {
            let values: Vec<u8> = (0..20).map(|cell| (cell + 20 * i + 1) as u8).collect();
            write_npy(&folder.at(&format!("{i}.npy")), &values, 5, 4).unwrap();
            inner += &format!(
                "<ComplexSource><SourceFilename relativeToVRT=\"1\">{i}.npy</SourceFilename><NODATA>7</NODATA>\
                 <SrcRect xOff=\"{left}\" yOff=\"{top}\" xSize=\"{width}\" ySize=\"{height}\"/>\
                 <DstRect xOff=\"{x}\" yOff=\"{y}\" xSize=\"{width}\" ySize=\"{height}\"/></ComplexSource>"
            );
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let (from_x, from_y) = (left + column, top + row);
                let to = usize::try_from(y + row).ok().zip(usize::try_from(x + column).ok());
                let to = to.filter(|&(row, column)| row < 9 && column < 11);
                if let Some((row, column)) = to.filter(|_| (0..5).contains(&from_x) && (0..4).contains(&from_y)) {
                    let value = values[(from_y * 5 + from_x) as usize];
                    expected[row][column] = if value == 7 { expected[row][column] } else { value };
                }
            }
        }
        let text = format!("<VRTDataset rasterXSize=\"11\" rasterYSize=\"9\"><VRTRasterBand>{inner}</VRTRasterBand></VRTDataset>");
        std::fs::write(folder.at("m.vrt"), text).unwrap();
        let range = |(a, b): (usize, usize)| a.min(b)..a.max(b);
        let (rows, columns) = (range(rows), range(columns));
        let window = ValuesFile::open(&folder.at("m.vrt")).unwrap().window(rows.clone(), columns.clone()).unwrap();
        let cells: Vec<u8> = rows.flat_map(|row| expected[row][columns.clone()].to_vec()).collect();
        prop_assert_eq!(window, ArrayData::U8(cells));
    }
}

/// A mosaic of many tiles takes the memory of a few.
#[test]
fn a_mosaic_is_never_in_memory_as_a_whole() {
    let folder = Folder::new();
    let mut inner = String::new();
    for i in 0..100_u32 {
        write_npy(&folder.at(&format!("{i}.npy")), &vec![i as u8; 256 * 256], 256, 256).unwrap();
        let (x, y) = (i % 10 * 256, i / 10 * 256);
        inner += &format!(
            "<SimpleSource><SourceFilename relativeToVRT=\"1\">{i}.npy</SourceFilename><SrcRect xOff=\"0\" yOff=\"0\" \
             xSize=\"256\" ySize=\"256\"/><DstRect xOff=\"{x}\" yOff=\"{y}\" xSize=\"256\" ySize=\"256\"/></SimpleSource>"
        );
    }
    let text = format!(
        "<VRTDataset rasterXSize=\"2560\" rasterYSize=\"2560\"><VRTRasterBand>{inner}</VRTRasterBand></VRTDataset>"
    );
    std::fs::write(folder.at("m.vrt"), text).unwrap();
    let file = ValuesFile::open(&folder.at("m.vrt")).unwrap();
    // All but the tiles of the window may be gone.
    for i in (0..100).filter(|i| ![0, 44, 45, 54, 55].contains(i)) {
        std::fs::remove_file(folder.at(&format!("{i}.npy"))).unwrap();
    }
    let ArrayData::U8(values) = file.window(1270..1290, 1270..1290).unwrap() else { panic!() };
    assert_eq!([values[0], values[19], values[380], values[399]], [44, 45, 54, 55]);
    let error = file.window(0..1, 0..300).unwrap_err().to_string();
    assert!(error.contains("1.npy"), "{error}");
    let _: &Path = file.path();
}

/// NODATA in fewer digits, of the raster and of a source, means the least float as in a GeoTIFF.
#[test]
fn nodata_of_few_digits_means_the_least_float() {
    let folder = Folder::new();
    folder.tile("a.tif", (0, 0), (4, 3), |c, r| if (c, r) == (1, 1) { f32::MIN } else { 5.0 });
    let source = |kind: &str, inner: &str| {
        format!(
            "<{kind}><SourceFilename relativeToVRT=\"1\">a.tif</SourceFilename><SourceBand>1</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"4\" ySize=\"3\"/>\
             <DstRect xOff=\"0\" yOff=\"0\" xSize=\"4\" ySize=\"3\"/>{inner}</{kind}>"
        )
    };
    let simple = source("SimpleSource", "");
    let complex = source("ComplexSource", "<NODATA>-3.4e+38</NODATA>");
    for (kind, band) in [
        ("float32", format!("<NoDataValue>-3.4e38</NoDataValue>{simple}")),
        ("Float64", format!("<NoDataValue>-3.4028235e38</NoDataValue>{simple}")),
        ("Float32", format!("<NoDataValue>-1</NoDataValue>{complex}")),
    ] {
        let path = folder.dataset(
            "m.vrt",
            "",
            &format!("<VRTRasterBand dataType=\"{kind}\" band=\"1\">{band}</VRTRasterBand>"),
        );
        let raster = read_raster(&path, None).unwrap();
        let floats = raster.values.to_floats(raster.nodata);
        let missing: Vec<usize> = (0..12).filter(|&i| floats[i].is_nan()).collect();
        assert_eq!(missing, [5], "{band}");
    }
}

/// As in GDAL, NODATA means the value of the source's type that is nearest to it, and what rounds to it in the band's.
#[test]
fn nodata_of_a_source_is_a_value_of_its_type() {
    let folder = Folder::new();
    folder.tile("f4.tif", (0, 0), (4, 3), |c, r| if (c, r) == (1, 1) { 0.1 } else { 5.0 });
    let values: Vec<f64> = (0..12).map(|i| if i == 5 { 0.1 } else { 5.0 }).collect();
    write_npy(&folder.at("f8.npy"), &values, 4, 3).unwrap();
    write_npy(&folder.at("u1.npy"), &[0_u8, 1, 0, 2], 4, 1).unwrap();
    let read = |source: &str, (width, height): (u32, u32), kind: &str, inner: &str| {
        let rectangle = format!("xOff=\"0\" yOff=\"0\" xSize=\"{width}\" ySize=\"{height}\"");
        let band = format!(
            "<VRTRasterBand dataType=\"{kind}\" band=\"1\"><NoDataValue>-7</NoDataValue><ComplexSource>\
             <SourceFilename relativeToVRT=\"1\">{source}</SourceFilename><SrcRect {rectangle}/>\
             <DstRect {rectangle}/><NODATA>0.1</NODATA>{inner}</ComplexSource></VRTRasterBand>"
        );
        let raster = read_raster(&folder.dataset("m.vrt", "", &band), None).unwrap();
        raster.values.to_floats(None)
    };
    for source in ["f4.tif", "f8.npy"] {
        for kind in ["Float32", "Float64", "Int32"] {
            for inner in ["", "<ScaleRatio>100</ScaleRatio>"] {
                let found = read(source, (4, 3), kind, inner);
                let missing: Vec<usize> = (0..12).filter(|&i| found[i] == -7.0).collect();
                assert_eq!(missing, [5], "{source} as {kind} {inner}: {found:?}");
            }
        }
    }
    // No byte is 0.1.
    assert_eq!(read("u1.npy", (4, 1), "Float64", "")[..4], [0.0, 1.0, 0.0, 2.0]);
}

#[test]
fn no_output_replaces_a_source() {
    let folder = Folder::new();
    folder.tile("a.tif", (0, 0), (61, 40), |_, _| 5.0);
    let band = "<VRTRasterBand dataType=\"Float32\" band=\"1\"><SimpleSource>\
        <SourceFilename relativeToVRT=\"1\">a.tif</SourceFilename></SimpleSource></VRTRasterBand>";
    let inner = folder.dataset("a.vrt", "", band);
    let outer = folder.dataset("b.vrt", "", &band.replace("a.tif", "a.vrt"));
    for input in [&inner, &outer] {
        let error =
            check_distinct(std::slice::from_ref(input), &[&folder.at("a.tif")]).unwrap_err();
        assert!(error.to_string().contains("same file as the input"), "{error}");
        check_distinct(std::slice::from_ref(input), &[&folder.at("c.tif")]).unwrap();
    }
    let error = check_distinct(&[outer], &[&folder.at("a.vrt")]).unwrap_err().to_string();
    assert!(error.contains("a.vrt is the same file"), "{error}");
    // Nor a folder that an input lies in: the group of a Zarr array.
    let array = folder.at("g.zarr/a");
    std::fs::create_dir_all(&array).unwrap();
    check_distinct(std::slice::from_ref(&array), &[&folder.at("g.zarr")]).unwrap_err();
    check_distinct(&[array], &[&folder.at("g.zarr/b")]).unwrap();
}

/// A plan depends on them.
#[test]
fn the_files_of_a_raster_have_the_one_that_states_nodata() {
    let folder = Folder::new();
    folder.tile("a.tif", (0, 0), (4, 3), |_, _| 5.0);
    let aux = folder.at("a.tif.aux.xml");
    let state = |band: &str| {
        let text =
            format!("<PAMDataset><PAMRasterBand band=\"1\">{band}</PAMRasterBand></PAMDataset>");
        std::fs::write(&aux, text).unwrap();
    };
    let source =
        "<SimpleSource><SourceFilename relativeToVRT=\"1\">a.tif</SourceFilename></SimpleSource>";
    let mosaic = folder.vrt("m.vrt", source);
    state("<Metadata><MDI key=\"STATISTICS_MAXIMUM\">5</MDI></Metadata>");
    assert_eq!(raster_files(&folder.at("a.tif")).unwrap(), [folder.at("a.tif")]);
    state("<NoDataValue>5</NoDataValue>");
    for (path, files) in [(folder.at("a.tif"), 2), (mosaic, 3)] {
        let found = raster_files(&path).unwrap();
        assert!(found.len() == files && found.contains(&aux), "{found:?}");
    }
}
