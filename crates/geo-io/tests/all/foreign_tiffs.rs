//! TIFFs as others write them: what is left out or stated in another way. The expected values are those of GDAL 3.6.

use std::path::Path;

use geo_io::{
    ArrayData, Cells, Compression, Georeference, SiteValues, TiffOptions, ValuesFile, f16,
    read_mask, read_raster, write_tiff,
};
use testing::files::tiff::{Field, Tiff, zlib};

const WIDTH: usize = 8;

/// Four rows of 1, 2, 3 and 4.
fn rows() -> Vec<[u8; WIDTH]> {
    (1..=4).map(|value| [value; WIDTH]).collect()
}

fn all() -> Vec<u8> {
    rows().concat()
}

/// An image of four strips of a row.
fn four_strips() -> Tiff {
    one_strip().rows_per_strip(1)
}

/// An image of one strip.
fn one_strip() -> Tiff {
    Tiff::of_bytes(8, &all())
}

/// The same with packed strips, and their lengths.
fn packed(tiff: Tiff, strips: &[&[u8]]) -> Tiff {
    let blocks: Vec<Vec<u8>> = strips.iter().map(|strip| zlib(strip)).collect();
    let counts = blocks.iter().map(|block| block.len() as u32).collect();
    tiff.blocks(&blocks).tag(259, Field::Shorts(vec![8])).tag(279, Field::Longs(counts))
}

fn write(folder: &Path, tiff: &Tiff) -> std::path::PathBuf {
    let path = folder.join("t.tif");
    std::fs::write(&path, tiff.bytes()).unwrap();
    path
}

/// The bytes of an image, which whole files and windows give alike.
fn read(tiff: &Tiff) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), tiff);
    let whole = read_raster(&path, None).map_err(|e| e.to_string());
    let window = ValuesFile::open(&path).and_then(|file| file.window(0..4, 0..WIDTH));
    assert_eq!(whole.is_ok(), window.is_ok(), "{whole:?}, {window:?}");
    let ArrayData::U8(whole) = whole?.values else { panic!("other values") };
    assert_eq!(window.unwrap(), ArrayData::U8(whole.clone()));
    let sites = read_mask(&path, &"1-3".parse::<SiteValues>().unwrap()).unwrap().sites;
    assert_eq!(sites, whole.iter().map(|v| u8::from((1..=3).contains(v))).collect::<Vec<_>>());
    Ok(whole)
}

#[test]
fn lengths_of_strips_that_are_not_packed_do_not_matter_but_for_0() {
    assert_eq!(read(&four_strips()).unwrap(), all());
    for counts in [vec![3; 4], vec![3000; 4], vec![8, 16, 8, 8]] {
        assert_eq!(read(&four_strips().tag(279, Field::Longs(counts))).unwrap(), all());
    }
    for count in [0, 5, 5000] {
        assert_eq!(read(&one_strip().tag(279, Field::Longs(vec![count]))).unwrap(), all());
    }
    assert_eq!(read(&one_strip().without(279)).unwrap(), all());
    assert_eq!(read(&four_strips().without(279)).unwrap(), all());
    assert_eq!(read(&one_strip().without(278)).unwrap(), all());
    // Of several strips one of no length is not there.
    let mut expected = all();
    expected[WIDTH..2 * WIDTH].fill(0);
    let absent = four_strips().tag(279, Field::Longs(vec![8, 0, 8, 8]));
    assert_eq!(read(&absent).unwrap(), expected);
}

#[test]
fn lengths_of_packed_strips_may_be_missing_0_or_too_large() {
    let one = packed(one_strip(), &[&all()]);
    for tiff in [
        one.clone(),
        one.clone().without(279),
        one.clone().tag(279, Field::Longs(vec![0])),
        one.tag(279, Field::Longs(vec![900_000])),
    ] {
        assert_eq!(read(&tiff).unwrap(), all());
    }
    let rows = rows();
    let four = packed(four_strips(), &rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
    assert_eq!(read(&four.clone().without(279)).unwrap(), all());
    assert!(read(&four.tag(279, Field::Longs(vec![5; 4]))).is_err());
}

#[test]
fn numbers_of_signed_types_count_and_others_are_refused_by_name() {
    let signed = four_strips()
        .tag(256, Field::SShorts(vec![8]))
        .tag(257, Field::SLongs(vec![4]))
        .tag(258, Field::SBytes(vec![8]))
        .tag(259, Field::SShorts(vec![1]))
        .tag(273, Field::SLongs(vec![8, 16, 24, 32]))
        .tag(278, Field::SLongs(vec![1]))
        .tag(279, Field::SLongs(vec![8; 4]));
    assert_eq!(read(&signed).unwrap(), all());
    let packed = packed(one_strip(), &[&all()]);
    assert_eq!(read(&packed.clone().tag(259, Field::SLongs(vec![8]))).unwrap(), all());
    // Passed over, its strips would be taken as they are.
    let error = read(&packed.tag(259, Field::Text("8".to_owned()))).unwrap_err();
    assert!(error.contains("Compression"), "{error}");
    let error = read(&four_strips().tag(256, Field::SShorts(vec![-8]))).unwrap_err();
    assert!(error.contains("ImageWidth"), "{error}");
}

#[test]
fn a_predictor_counts_only_before_a_codec_that_has_one() {
    for predictor in [2, 3] {
        let tiff = four_strips().tag(317, Field::Shorts(vec![predictor]));
        assert_eq!(read(&tiff).unwrap(), all());
    }
    // Of differences of 0 each row is its first value.
    let firsts: Vec<u8> = (1..=4).flat_map(|value| [value, 0, 0, 0, 0, 0, 0, 0]).collect();
    let tiff = packed(one_strip(), &[&firsts]).tag(317, Field::Shorts(vec![2]));
    assert_eq!(read(&tiff).unwrap(), all());
}

#[test]
fn blocks_that_are_missing_or_beyond_the_end_are_refused() {
    let few = four_strips().tag(273, Field::Longs(vec![8, 16, 24]));
    let error = read(&few).unwrap_err();
    assert!(error.contains("3 of 4 strips"), "{error}");
    let beyond = four_strips().tag(273, Field::Longs(vec![8, 16, 24, 9000]));
    let error = read(&beyond).unwrap_err();
    assert!(error.contains("strip 3 promises 8 bytes"), "{error}");
    let error = read(&four_strips().tag(278, Field::Shorts(vec![0]))).unwrap_err();
    assert!(error.contains("no rows"), "{error}");
    let more = four_strips().tag(273, Field::Longs(vec![8, 16, 24, 32, 32]));
    assert_eq!(read(&more).unwrap(), all());
}

#[test]
fn tiles_whose_places_stand_in_the_tags_of_strips_are_read() {
    let values: Vec<u8> = (0..=255).collect();
    let tiff = Tiff::of_bytes(16, &values)
        .tag(322, Field::Shorts(vec![16]))
        .tag(323, Field::Shorts(vec![16]));
    let folder = tempfile::tempdir().unwrap();
    let found = read_raster(&write(folder.path(), &tiff), None).unwrap();
    assert_eq!(found.values, ArrayData::U8(values));
}

#[test]
fn what_a_few_bytes_cannot_hold_is_refused_before_memory_is_taken() {
    let sides = |tiff: Tiff, side| {
        tiff.tag(256, Field::Longs(vec![side]))
            .tag(257, Field::Longs(vec![side]))
            .tag(278, Field::Longs(vec![side]))
    };
    for tiff in [one_strip(), packed(one_strip(), &[&all()])] {
        let error = read(&sides(tiff, 30_000)).unwrap_err();
        assert!(error.contains("strip 0 promises 900000000 bytes"), "{error}");
    }
    let packbits = one_strip().tag(259, Field::Shorts(vec![32773]));
    assert!(read(&sides(packbits, 30_000)).unwrap_err().contains("strip 0 promises"));
    // Sides whose product no number holds.
    let error = read(&sides(one_strip(), u32::MAX)).unwrap_err();
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Opened as a plan opens it, as well as read.
#[test]
fn codecs_that_are_not_read_are_named_before_any_window() {
    let folder = tempfile::tempdir().unwrap();
    for (number, name) in [(7, "JPEG"), (4, "CCITT"), (34712, "JPEG 2000"), (50002, "JPEG XL")] {
        let path = write(folder.path(), &one_strip().tag(259, Field::Shorts(vec![number])));
        let opened = ValuesFile::open(&path).err().unwrap().to_string();
        let words = format!("compression is {name} ({number})");
        assert!(opened.contains(&words) && opened.contains("gdal_translate"), "{opened}");
        assert_eq!(read_raster(&path, None).unwrap_err().to_string(), opened);
    }
}

#[test]
fn floats_of_16_bits_are_read_as_numbers() {
    let tiff = Tiff::new(4, &[0x3C00, 0xC000, 0x7BFF, 0x0001], (16, 3));
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &tiff);
    let expected = [1.0, -2.0, 65504.0, 2f32.powi(-24)].map(f16::from_f32);
    let expected = ArrayData::F16(expected.to_vec());
    assert_eq!(read_raster(&path, None).unwrap().values, expected);
    assert_eq!(ValuesFile::open(&path).unwrap().window(0..1, 0..4).unwrap(), expected);
}

/// One strip that is not packed is read in parts, whatever it has: a window takes the memory of the window.
#[test]
fn a_window_of_one_large_strip_is_read_alone() {
    let value = |row: u32, column: u32| (row * 31 + column * 7) as u8;
    let bytes: Vec<u8> =
        (0..4000).flat_map(|row| (0..5000).map(move |column| value(row, column))).collect();
    let tiff = Tiff::of_bytes(5000, &bytes);
    let folder = tempfile::tempdir().unwrap();
    let file = ValuesFile::open(&write(folder.path(), &tiff)).unwrap();
    assert!(file.unpacking_bytes() < 1 << 23, "{}", file.unpacking_bytes());
    let window = file.window(3990..4000, 4990..5000).unwrap();
    let expected = (3990..4000).flat_map(|row| (4990..5000).map(move |column| value(row, column)));
    assert_eq!(window, ArrayData::U8(expected.collect()));
    assert_eq!(file.window(0..4000, 0..5000).unwrap(), ArrayData::U8(bytes));
}

#[test]
fn narrow_and_low_rasters_do_not_grow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let place = Georeference::north_up((0.0, 0.0), (1.0, 1.0));
    for (width, height) in [(1, 100_000), (100_000, 1), (100, 1000), (300, 7)] {
        let count = width * height;
        let values: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let cells = Cells::Values { values: &values, nodata: -1.0 };
        for cloud_optimised in [false, true] {
            let options = TiffOptions {
                compression: Compression::None,
                cloud_optimised,
                ..Default::default()
            };
            write_tiff(&path, &place, (width, height), cells, &options).unwrap();
            let length = std::fs::metadata(&path).unwrap().len();
            // Tiles have 16 columns or rows at least. Overviews of a row or a column have half as many cells each.
            let most = if cloud_optimised { 2 * 16 * 4 + 2 } else { 5 };
            assert!(length < u64::from(count * most) + 4096, "{width} x {height}: {length}");
            let found = read_raster(&path, None).unwrap();
            assert_eq!(found.values, ArrayData::F32(values.clone()), "{width} x {height}");
        }
    }
}

/// Of one band the stored values are read, whatever they stand for: GDAL reads each of these.
#[test]
fn what_the_one_band_stands_for_does_not_matter() {
    for kind in [0, 1, 2, 3, 4, 5, 8, 9, 32803, 34892, 51177] {
        let tiff = one_strip().tag(262, Field::Shorts(vec![kind]));
        assert_eq!(read(&tiff).unwrap(), all(), "photometric interpretation {kind}");
    }
    for opacity in [0, 1, 2] {
        assert_eq!(read(&one_strip().tag(338, Field::Shorts(vec![opacity]))).unwrap(), all());
    }
    let short = one_strip().tag(262, Field::Shorts(vec![3])).tag(320, Field::Shorts(vec![0; 12]));
    assert_eq!(read(&short).unwrap(), all());
}

#[test]
fn numbers_beyond_one_for_each_band_are_ignored() {
    let twice = |code, value| one_strip().tag(code, Field::Shorts(vec![value; 2]));
    for tiff in [twice(258, 8), twice(339, 1), twice(259, 1), twice(277, 1), twice(262, 1)] {
        assert_eq!(read(&tiff).unwrap(), all());
    }
    // A predictor with two numbers is one all the same.
    let firsts: Vec<u8> = (1..=4).flat_map(|value| [value, 0, 0, 0, 0, 0, 0, 0]).collect();
    let tiff = packed(one_strip(), &[&firsts]).tag(317, Field::Shorts(vec![2; 2]));
    assert_eq!(read(&tiff).unwrap(), all());
}

/// The last of the strips of three rows has one row of the image, and some writers fill it up.
#[test]
fn a_packed_last_strip_may_be_filled_up() {
    let rows = rows().concat();
    let (first, last) = rows.split_at(3 * WIDTH);
    let filled = [last, &[9; 2 * WIDTH]].concat();
    let strips = |last: &[u8]| packed(one_strip().rows_per_strip(3), &[first, last]);
    assert_eq!(read(&strips(last)).unwrap(), all());
    assert_eq!(read(&strips(&filled)).unwrap(), all());
    for bad in [&last[..5], &[&filled[..], &[9]].concat()] {
        assert!(read(&strips(bad)).unwrap_err().contains("strip/tile 1"));
    }
}

/// GDAL's own masks beside a file are such images.
#[test]
fn a_first_image_that_calls_itself_a_mask_is_read() {
    for kind in [1, 2, 4, 5] {
        assert_eq!(read(&one_strip().tag(254, Field::Longs(vec![kind]))).unwrap(), all());
    }
}

#[test]
fn tags_of_other_types_say_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let nodata = |field| {
        let path = write(folder.path(), &one_strip().tag(42113, field));
        read_raster(&path, None).unwrap().nodata.map(|nodata| nodata.to_string())
    };
    assert_eq!(nodata(Field::Bytes(b"3\0".to_vec())).as_deref(), Some("3"));
    assert_eq!(nodata(Field::SBytes(vec![51, 0])).as_deref(), Some("3"));
    assert_eq!(nodata(Field::Shorts(vec![3])), None);
    // Keys of 32 bits: pixels are points, in zone 33.
    let keys = vec![1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 2, 3072, 0, 1, 32633];
    let tiff = one_strip()
        .tag(33550, Field::Doubles(vec![10.0, 10.0, 0.0]))
        .tag(33922, Field::Doubles(vec![0.0, 0.0, 0.0, 5e5, 4e6, 0.0]))
        .tag(34735, Field::Longs(keys));
    let place = read_raster(&write(folder.path(), &tiff), None).unwrap().georeference.unwrap();
    assert_eq!(place.transform, [499_995.0, 10.0, 0.0, 4_000_005.0, 0.0, -10.0]);
    assert_eq!(place.crs.unwrap().epsg(), Some(32633));
}

#[test]
fn nodata_that_is_no_number_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (text, is_said) in
        [("none", true), ("\"3\"", true), ("", false), ("  ", false), ("3", false)]
    {
        let path = write(folder.path(), &one_strip().nodata(text));
        let raster = read_raster(&path, None).unwrap();
        assert_eq!(raster.nodata.is_some(), text == "3", "{text}");
        let notes = raster.notes.join("\n");
        assert_eq!(notes.contains("t.tif: its NODATA is not a number"), is_said, "{notes}");
    }
}
