//! What the samples of rasters mean: NODATA, blocks that are absent, pictures, every depth. GDAL is the oracle where it is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use geo_io::*;
use testing::files::png::{Colour, Png};
use testing::files::tiff::{Field, Tiff};

/// The samples that GDAL reads, as bytes in this machine's order; `None` where GDAL is not installed.
fn gdal_samples(path: &Path) -> Option<Vec<u8>> {
    let raw = PathBuf::from(format!("{}.raw", path.display()));
    for left in ["raw", "raw.aux.xml", "hdr"] {
        let _ = std::fs::remove_file(format!("{}.{left}", path.display()));
    }
    let tool =
        Command::new("gdal_translate").args(["-q", "-of", "ENVI"]).arg(path).arg(&raw).output();
    let Ok(output) = tool else {
        println!("skipped: gdal_translate is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(std::fs::read(&raw).unwrap())
}

/// NODATA as GDAL has it, as text; `None` where GDAL is not installed, empty where it has none.
fn gdal_nodata(path: &Path) -> Option<String> {
    let output = Command::new("gdalinfo").arg(path).output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("NoData Value="));
    Some(line.unwrap_or_default().to_owned())
}

fn bytes_of(values: &ArrayData) -> Vec<u8> {
    macro_rules! of {
        ($($variant:ident),+) => {
            match values {
                $(ArrayData::$variant(values) => values.iter().flat_map(|v| v.to_ne_bytes()).collect(),)+
                ArrayData::Bool(values) => values.iter().map(|&v| u8::from(v)).collect(),
                // GDAL reads these as floats of 32 bits.
                ArrayData::F16(values) => values.iter().flat_map(|v| v.to_f32().to_ne_bytes()).collect(),
            }
        };
    }
    of!(U8, I8, U16, I16, U32, I32, U64, I64, F32, F64)
}

/// Reads a raster whole and in windows of every reader, which must agree, and with GDAL.
fn read(path: &Path) -> Raster {
    let raster = read_raster(path, None).unwrap_or_else(|error| panic!("{error}"));
    // The format that GDAL converts to has no integers of 64 bits.
    let is_long = matches!(raster.values.sample_type(), SampleType::I64 | SampleType::U64);
    if let Some(expected) = (!is_long).then(|| gdal_samples(path)).flatten() {
        assert_eq!(bytes_of(&raster.values), expected, "{}", path.display());
    }
    if path.extension().unwrap() == "tif" {
        let (width, height) = (raster.width, raster.height);
        let values = ValuesFile::open(path).unwrap();
        assert_eq!(values.nodata(), raster.nodata);
        let size = bytes_of(&raster.values).len() / (width * height);
        let rule = SiteValues::default();
        let (mask, masks) = (read_mask(path, &rule).unwrap(), MaskFile::open(path).unwrap());
        for (row, column) in [(0, 0), (1, 0), (height - 1, width - 1), (height / 2, width / 2)] {
            let window = values.window(row..height, column..width).unwrap();
            let whole = bytes_of(&raster.values);
            let lines = whole.chunks(width * size).skip(row);
            let expected: Vec<u8> =
                lines.flat_map(|line| &line[column * size..]).copied().collect();
            assert_eq!(bytes_of(&window), expected);
            let window = masks.window(row..height, column..width, &rule).unwrap();
            let lines = mask.sites.chunks(width).skip(row);
            let expected: Vec<u8> = lines.flat_map(|line| &line[column..]).copied().collect();
            assert_eq!(window.sites, expected);
        }
    }
    raster
}

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

#[test]
fn absent_blocks_are_nodata_in_every_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.tif");
    let bytes: Vec<u8> = (1..=48).collect();
    let sites = |path: &Path| read_mask(path, &SiteValues::default()).unwrap();
    // Strips of two rows of eight, of which the second is not there.
    Tiff::of_bytes(8, &bytes).rows_per_strip(2).without_block(1).nodata("200").write(&path);
    let raster = read(&path);
    let expected: Vec<u8> =
        bytes.iter().map(|&byte| if (17..=32).contains(&byte) { 200 } else { byte }).collect();
    assert_eq!(raster.values, ArrayData::U8(expected));
    let mask = sites(&path);
    assert_eq!(
        (mask.without_value, mask.sites.iter().map(|&site| u32::from(site)).sum()),
        (16, 32)
    );
    // Tiles that pass the edge, and none of them there.
    let tiles = Tiff::of_bytes(8, &bytes).tiles(16, 16);
    tiles.clone().without_block(0).nodata("7").write(&path);
    assert_eq!(read(&path).values, ArrayData::U8(vec![7; 48]));
    assert_eq!(sites(&path).without_value, 48);
    // Without NODATA they are 0, as where a block has a place and no bytes.
    tiles.without_block(0).write(&path);
    assert_eq!(read(&path).values, ArrayData::U8(vec![0; 48]));
    Tiff::of_bytes(8, &bytes).rows_per_strip(2).without_count(0).nodata("9").write(&path);
    assert_eq!(read(&path).nodata, Some(number("9")));
    assert_eq!(sites(&path).without_value, 16);
    let floats: Vec<f32> = (0..1200).map(|i| i as f32).collect();
    let floats = Tiff::of_floats(40, &floats).tiles(16, 16).without_block(1).without_block(5);
    for text in ["-9999", "nan", "-3.4028234663852886e+38", "0.1"] {
        floats.clone().nodata(text).write(&path);
        let raster = read(&path);
        let mask = sites(&path);
        // A whole tile, and of the last in its row of tiles 8 columns by 14 rows.
        assert_eq!(mask.without_value, 256 + 8 * 14, "{text}");
        assert_eq!(raster.nodata.unwrap().is_nan(), text == "nan");
    }
}

/// As GDAL fills them: with the value of the samples' type that is nearest.
#[test]
fn absent_blocks_of_a_nodata_that_the_type_has_not_are_what_gdal_makes_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.tif");
    for (text, expected) in [("256", 255), ("-1", 0), ("5.5", 6), ("nan", 0)] {
        Tiff::of_bytes(2, &[1, 2, 3, 4])
            .rows_per_strip(1)
            .without_block(0)
            .nodata(text)
            .write(&path);
        let raster = read(&path);
        assert_eq!(
            (raster.values, raster.nodata),
            (ArrayData::U8(vec![expected, expected, 3, 4]), None)
        );
    }
}

#[test]
fn nodata_is_the_number_that_gdal_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let floats = Tiff::of_floats(2, &[0.0, -0.0, 0.1, 5.0]);
    let bytes = Tiff::of_bytes(2, &[0, 1, 2, 5]);
    let longs = Tiff::new(2, &[0, 9007199254740992, 9007199254740993, u64::MAX], (64, 1));
    let signed = Tiff::new(2, &[0, 9007199254740993, 1 << 63, u64::MAX], (64, 2));
    for (tiff, text, missing) in [
        (&floats, "0", 2),
        (&floats, "-0", 2),
        (&floats, "0.1", 1),
        (&floats, "0.100000001490116119384765625", 1),
        (&floats, "  5  ", 1),
        (&floats, "5\n", 1),
        (&floats, "0,1", 1),
        (&floats, "nan", 0),
        (&bytes, "0", 1),
        (&bytes, "5 6 7", 1),
        (&bytes, "0x5", 1),
        (&bytes, "5e0", 1),
        (&bytes, "256", 0),
        (&bytes, "nan", 0),
        (&longs, "9007199254740993", 1),
        (&longs, "18446744073709551615", 1),
        (&longs, "-1", 1),
        (&signed, "9007199254740992", 0),
        (&signed, "-9223372036854775808", 1),
        (&signed, "-1", 1),
    ] {
        for tiff in [tiff.clone(), tiff.clone().big_endian()] {
            tiff.nodata(text).write(&path);
            let mask = read_mask(&path, &SiteValues::default()).unwrap();
            assert_eq!(mask.without_value, missing, "{text:?}");
            let raster = read(&path);
            let (found, kind) = (raster.nodata, raster.values.sample_type());
            let Some(expected) = gdal_nodata(&path) else { continue };
            let expected = expected.parse().ok().and_then(|number| kind.value(number));
            // GDAL prints as many digits as a float has.
            assert_eq!(
                found.map(Number::to_f64).map(|v| (v as f32).to_bits()),
                expected.map(Number::to_f64).map(|v| (v as f32).to_bits()),
                "{text:?}"
            );
        }
    }
}

#[test]
fn the_least_float_is_nodata_where_that_is_stated_with_fewer_digits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let floats = Tiff::of_floats(2, &[f32::MIN, 2.0, f32::MAX, -3.4e38]);
    let double = |value: f64| value.to_bits();
    let doubles = [f64::MIN, 2.0, f64::MAX, -3.4e38].map(double);
    let doubles = Tiff::new(2, &doubles, (64, 3));
    for (tiff, text, missing) in [
        (&floats, "-3.40282e+38", 1),
        (&floats, "-3.403e38", 1),
        (&floats, "3.4028e+038", 1),
        // What the cells hold as well.
        (&floats, "-3.4e38", 2),
        (&floats, "-3.3e38", 0),
        (&floats, "-3.4028234663852886e38", 1),
        (&doubles, "-1.79769e+308", 1),
        (&doubles, "-3.40282e+38", 0),
    ] {
        tiff.clone().nodata(text).write(&path);
        let mask = read_mask(&path, &SiteValues::default()).unwrap();
        assert_eq!(mask.without_value, missing, "{text:?}");
    }
}

#[test]
fn nodata_beside_the_file_counts_before_that_within() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let beside = |name: &str, band: &str| {
        let text =
            format!("<PAMDataset><PAMRasterBand band=\"1\">{band}</PAMRasterBand></PAMDataset>");
        std::fs::write(folder.path().join(format!("{name}.aux.xml")), text).unwrap();
    };
    Tiff::of_bytes(2, &[0, 200, 5, 1]).rows_per_strip(1).without_block(1).nodata("0").write(&path);
    for (band, expected, missing) in [
        ("<NoDataValue>200</NoDataValue>", "200", 3),
        ("<NoDataValue>0</NoDataValue>", "0", 3),
        ("<Description>no word of it</Description>", "0", 3),
        ("<NoDataValue le_hex_equiv=\"0000000000000840\">9</NoDataValue>", "3", 2),
    ] {
        beside("r.tif", band);
        let raster = read(&path);
        assert_eq!(raster.nodata, Some(number(expected)), "{band}");
        assert_eq!(
            read_mask(&path, &SiteValues::default()).unwrap().without_value,
            missing,
            "{band}"
        );
    }
    let picture = folder.path().join("p.png");
    Png::new(2, &[1, 2], Colour::Grey, 8).write(&picture);
    beside("p.png", "<NoDataValue>2</NoDataValue>");
    assert_eq!(read(&picture).nodata, Some(number("2")));
    // A picture's own counts first.
    Png::new(2, &[1, 2], Colour::Grey, 8).transparency(&[0, 1]).write(&picture);
    assert_eq!(read(&picture).nodata, Some(number("1")));
}

#[test]
fn samples_of_every_depth_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let kinds = (1..=16).map(|bits| (bits, 1)).chain([32, 64].map(|bits| (bits, 1)));
    let kinds = kinds
        .chain([8, 16, 32, 64].map(|bits| (bits, 2)))
        .chain([16, 32, 64].map(|bits| (bits, 3)));
    for (bits, format) in kinds {
        let most = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        // Of floats the bits of numbers between 1 and 2.
        let one = match (bits, format) {
            (16, 3) => 0x3c00,
            (32, 3) => 0x3f80_0000,
            (64, 3) => 0x3ff0_0000_0000_0000,
            _ => 0,
        };
        let sample = |i: u64| match format {
            3 => one + i * 7,
            _ => i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(9) & most,
        };
        let samples: Vec<u64> = (0..11 * 5).map(sample).collect();
        let tiff = Tiff::new(11, &samples, (bits, format));
        for tiff in [tiff.clone(), tiff.clone().big_endian(), tiff.rows_per_strip(2)] {
            tiff.write(&path);
            assert_eq!(
                (read(&path).width, read(&path).height),
                (11, 5),
                "{bits} bits of format {format}"
            );
        }
    }
    for (bits, format, word) in [
        (24, 1, "integers of 24 bits"),
        (4, 2, "signed integers of 4 bits"),
        (24, 3, "floats of 24 bits"),
        (64, 5, "complex"),
    ] {
        Tiff::new(2, &[0, 1], (bits, format)).write(&path);
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(
            error.contains("r.tif") && error.contains(word) && error.contains("gdal_translate"),
            "{error}"
        );
    }
}

/// A palette's entries are classes: their colours are none of the values.
#[test]
fn the_values_of_a_picture_are_those_it_stores() {
    let folder = tempfile::tempdir().unwrap();
    let (path, tiff) = (folder.path().join("p.png"), folder.path().join("p.tif"));
    let palette: Vec<[u8; 3]> = (0..=255).map(|i| [255 - i, i / 2, 7]).collect();
    for depth in [1, 2, 4, 8, 16] {
        for colour in [Colour::Grey, Colour::Palette] {
            if (colour, depth) == (Colour::Palette, 16) {
                continue;
            }
            let most = ((1u32 << depth) - 1) as u16;
            for (width, height) in [(2, 1), (3, 1), (1, 9), (13, 11)] {
                let samples: Vec<u16> = (0..width * height)
                    .map(|i| (i as u16).wrapping_mul(40503) >> (16 - depth) & most)
                    .collect();
                let mut png = Png::new(width, &samples, colour, depth);
                if colour == Colour::Palette {
                    png = png.palette(&palette[..1 << depth]);
                }
                for (png, is_interlaced) in [(png.clone(), false), (png.interlaced(), true)] {
                    png.write(&path);
                    // GDAL 3.6 swaps the bytes of interlaced samples of 16 bits.
                    let found = match is_interlaced && depth == 16 {
                        true => read_raster(&path, None).unwrap(),
                        false => read(&path),
                    };
                    let expected = match depth {
                        16 => ArrayData::U16(samples.clone()),
                        _ => ArrayData::U8(samples.iter().map(|&sample| sample as u8).collect()),
                    };
                    assert_eq!((found.width, found.height), (width, height));
                    assert_eq!(
                        (found.values, found.nodata),
                        (expected.clone(), None),
                        "{colour:?} of {depth} bits"
                    );
                    let wide: Vec<u64> = samples.iter().map(|&sample| sample.into()).collect();
                    Tiff::new(width, &wide, (depth.into(), 1)).write(&tiff);
                    assert_eq!(read(&tiff).values, expected);
                }
            }
        }
    }
}

#[test]
fn a_transparent_value_of_a_picture_is_nodata() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.png");
    let colours = [[0, 0, 0], [255, 0, 0], [0, 255, 0], [0, 0, 255]];
    let classes = Png::new(4, &[0, 1, 2, 3], Colour::Palette, 2).palette(&colours);
    let words = Png::new(4, &[0, 1, 258, 3], Colour::Grey, 16);
    for (png, expected) in [
        (classes.clone().transparency(&[0]), Some("0")),
        (classes.clone().transparency(&[255, 128, 0, 255]), Some("2")),
        (classes.clone().transparency(&[128]), None),
        (words.transparency(&[1, 2]), Some("258")),
        (Png::new(4, &[0, 1, 2, 3], Colour::Grey, 2).transparency(&[0, 3]), Some("3")),
    ] {
        png.write(&path);
        let raster = read(&path);
        assert_eq!(raster.nodata, expected.map(number));
        if let Some(text) = gdal_nodata(&path) {
            assert_eq!(text, expected.unwrap_or_default());
        }
        let missing = u64::from(expected.is_some());
        assert_eq!(read_mask(&path, &SiteValues::default()).unwrap().without_value, missing);
    }
    classes.transparency(&[255, 0, 0]).write(&path);
    let error = read_raster(&path, None).unwrap_err().to_string();
    assert!(
        error.contains("p.png") && error.contains("entries 1 and 2") && error.contains("-a_nodata"),
        "{error}"
    );
}

#[test]
fn pictures_of_several_samples_are_grey_and_opaque_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.png");
    let read = |colour: Colour, depth: u8, samples: &[u16]| {
        Png::new(2, samples, colour, depth).write(&path);
        read_raster(&path, None).map(|raster| raster.values).map_err(|error| error.to_string())
    };
    let bytes = Ok(ArrayData::U8(vec![7, 200]));
    assert_eq!(read(Colour::Rgb, 8, &[7, 7, 7, 200, 200, 200]), bytes);
    assert_eq!(read(Colour::Rgba, 8, &[7, 7, 7, 255, 200, 200, 200, 255]), bytes);
    assert_eq!(read(Colour::GreyAlpha, 8, &[7, 255, 200, 255]), bytes);
    let words = Ok(ArrayData::U16(vec![7, 60000]));
    assert_eq!(read(Colour::GreyAlpha, 16, &[7, 65535, 60000, 65535]), words);
    for (colour, samples, expected) in [
        (Colour::Rgb, &[7, 7, 7, 200, 200, 201][..], "row 0, column 1 is coloured (200 200 201)"),
        (Colour::Rgba, &[7, 7, 7, 254, 200, 200, 200, 255], "row 0, column 0 is not opaque"),
        (Colour::GreyAlpha, &[7, 255, 200, 0], "row 0, column 1 is not opaque"),
    ] {
        let error = read(colour, 8, samples).unwrap_err();
        assert!(error.contains("p.png") && error.contains(expected), "{error}");
        assert!(error.contains("gdal_translate"), "{error}");
    }
}

/// A few bytes do not take gigabytes.
#[test]
fn a_picture_that_claims_more_than_its_file_can_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.png");
    for colour in [Colour::Grey, Colour::Rgba] {
        Png::new(1, &vec![0; colour.samples()], colour, 16).claiming(30_000, 30_000).write(&path);
        let start = std::time::Instant::now();
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(error.contains("p.png") && error.contains("more than it can hold"), "{error}");
        assert!(start.elapsed().as_secs() < 2);
    }
}

#[test]
fn a_scale_that_is_not_applied_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let xml = "<GDALMetadata><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.1</Item>\
        <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">5</Item></GDALMetadata>";
    let tiff = Tiff::of_bytes(2, &[0, 1, 2, 3]);
    tiff.clone().tag(42112, Field::Text(xml.to_owned())).write(&path);
    let notes = read(&path).notes;
    assert!(
        notes.len() == 1
            && notes[0].contains("r.tif")
            && notes[0].contains("scale 0.1 and offset 5"),
        "{notes:?}"
    );
    assert_eq!(read_mask(&path, &SiteValues::default()).unwrap().notes, notes);
    tiff.write(&path);
    assert_eq!(read(&path).notes, [""; 0]);
}
