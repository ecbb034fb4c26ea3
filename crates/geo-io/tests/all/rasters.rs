//! GeoTIFF, arrays and masks: what was written comes back, also through other programs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use geo_io::*;
use gpu_core::GridSpec;
use proptest::prelude::*;
use tiff_reader::TiffFile;

fn real_data(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")).join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// What one of GDAL's tools prints, or `None` where it is not installed.
pub(crate) fn gdal(tool: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(tool).args(arguments).output() {
        Ok(output) => {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{tool} {arguments:?}: {errors}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
        Err(_) => {
            println!("skipped: {tool} is not installed");
            None
        }
    }
}

fn gdalinfo(path: &Path) -> Option<serde_json::Value> {
    let text = gdal("gdalinfo", &["-json", path.to_str().unwrap()])?;
    Some(serde_json::from_str(&text).unwrap())
}

/// A TIFF of bytes that says nothing of its place.
fn plain_tiff(path: &Path, values: &[u8], width: u32) {
    let image =
        tiff_writer::ImageBuilder::new(width, values.len() as u32 / width).sample_type::<u8>();
    let file = std::fs::File::create(path).unwrap();
    let mut tiff = tiff_writer::TiffWriter::new(file, tiff_writer::WriteOptions::auto()).unwrap();
    let image = tiff.add_image(image.strips(values.len() as u32 / width)).unwrap();
    tiff.write_block(&image, 0, values).unwrap();
    tiff.finish().unwrap();
}

/// A PNG of bytes, `colour` of them a pixel.
fn write_png(path: &Path, colour: png::ColorType, values: &[u8], width: u32, height: u32) {
    let mut encoder = png::Encoder::new(std::fs::File::create(path).unwrap(), width, height);
    encoder.set_color(colour);
    encoder.write_header().unwrap().write_image_data(values).unwrap();
}

fn mask_of(path: &Path) -> Result<Mask> {
    read_mask(path, &SiteValues::default())
}

/// A wavy raster with a hole.
fn raster(width: u32, height: u32) -> (GridSpec, Vec<f32>) {
    let grid = GridSpec::new(634_000.25, 851_001.5, 2.5, width, height).unwrap();
    let cell = |i: u32| (i as f32 * 0.37).sin() * 100.0 + i as f32 * 1e-3;
    let values = (0..width * height).map(|i| if i % 11 == 5 { f32::NAN } else { cell(i) });
    (grid, values.collect())
}

fn stored(values: &[f32], nodata: f32) -> Vec<f32> {
    values.iter().map(|v| if v.is_nan() { nodata } else { *v }).collect()
}

#[test]
fn geotiff_values_come_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (width, height) in [(1, 1), (255, 3), (256, 256), (257, 300), (700, 513)] {
        let (grid, values) = raster(width, height);
        let path = folder.path().join("r.tif");
        write_geotiff(&path, &grid, &values, None, -9999.0).unwrap();
        let file = TiffFile::open(&path).unwrap();
        let image = file.ifd(0).unwrap();
        assert_eq!((image.width(), image.height()), (width, height));
        // A raster that is narrower or lower than a tile lies in strips.
        let tile = (width.min(height) >= 256).then_some(256);
        assert_eq!((image.tile_width(), image.tile_height()), (tile, tile));
        let bytes = file.read_image_bytes(0).unwrap();
        let found: Vec<f32> = bytes.as_chunks().0.iter().map(|&b| f32::from_ne_bytes(b)).collect();
        assert!(found == stored(&values, -9999.0), "{width} x {height}");
    }
}

/// Sides of tiles are multiples of 16, so a column takes 16 times its bytes, and not twice that for a last tile that is all
/// but empty.
#[test]
fn narrow_cloud_optimised_rasters_take_no_more_than_tiles_of_16_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let options =
        TiffOptions { cloud_optimised: true, compression: Compression::None, ..Default::default() };
    for (width, height) in [(1, 257), (257, 1), (1, 5000), (17, 520), (300, 255), (3, 2)] {
        let (grid, values) = raster(width, height);
        let place = Georeference::north_up((grid.origin_x, grid.origin_y), (2.5, 2.5));
        let cells = Cells::Values { values: &values, nodata: -9999.0 };
        write_tiff(&path, &place, (width, height), cells, &options).unwrap();
        let along = |side: u32| side + 16 * side.div_ceil(256);
        let (mut size, mut most) = ((width, height), along(width) * along(height));
        while size.0.max(size.1) > 256 {
            size = (size.0.div_ceil(2), size.1.div_ceil(2));
            most += along(size.0) * along(size.1);
        }
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(
            length < 4096 + 4 * u64::from(most),
            "{width} x {height}: {length} of {most} cells"
        );
        let found = read_raster(&path, None).unwrap();
        assert_eq!(found.values, ArrayData::F32(stored(&values, -9999.0)), "{width} x {height}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn gdal_reads_place_values_nodata_and_system() {
    let folder = tempfile::tempdir().unwrap();
    let (grid, values) = raster(300, 270);
    for (text, code) in [("EPSG:26910", 26910), ("EPSG:2994", 2994), ("EPSG:4326", 4326)] {
        let path = folder.path().join("r.tif");
        let crs = Crs::parse(text).unwrap();
        write_geotiff(&path, &grid, &values, Some(&crs), -9999.0).unwrap();
        let Some(info) = gdalinfo(&path) else { return };
        assert_eq!(info["size"], serde_json::json!([300, 270]));
        let transform = serde_json::json!([634_000.25, 2.5, 0.0, 851_001.5, 0.0, -2.5]);
        assert_eq!(info["geoTransform"], transform);
        assert_eq!(info["bands"][0]["type"], "Float32");
        assert_eq!(info["bands"][0]["noDataValue"], -9999.0);
        assert_eq!(info["bands"][0]["block"], serde_json::json!([256, 256]));
        assert_eq!(info["stac"]["proj:epsg"], code, "{text}: {}", info["coordinateSystem"]);
        let raw = folder.path().join("r.raw");
        let (from, to) = (path.to_str().unwrap(), raw.to_str().unwrap());
        gdal("gdal_translate", &["-q", "-of", "ENVI", from, to]).unwrap();
        let bytes = std::fs::read(&raw).unwrap();
        let found: Vec<f32> = bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect();
        assert!(found == stored(&values, -9999.0));
    }
}

/// What GDAL says by an image beside the first, and not by NODATA, is not passed over.
#[test]
fn a_raster_with_a_mask_within_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    plain_tiff(&path("plain.tif"), &[1, 0, 1, 1, 0, 1], 3);
    let [from, to] = ["plain.tif", "masked.tif"].map(|name| path(name).display().to_string());
    let mask = ["-q", "--config", "GDAL_TIFF_INTERNAL_MASK", "YES", "-mask", "1"];
    // gdalwarp needs a place.
    let place = ["-b", "1", "-a_ullr", "0", "2", "3", "0"];
    if gdal("gdal_translate", &[&mask[..], &place, &[&from, &to]].concat()).is_none() {
        return;
    }
    let masked = path("masked.tif");
    for error in [
        read_raster(&masked, None).err(),
        mask_of(&masked).err(),
        ValuesFile::open(&masked).err(),
        MaskFile::open(&masked).err(),
    ] {
        let text = error.unwrap().to_string();
        assert!(text.contains("masked.tif") && text.contains("-dstnodata"), "{text}");
    }
    // What it advises is read.
    let nodata = path("nodata.tif");
    let how = ["-q", "-ot", "Float64", "-dstnodata", "-9999"];
    gdal("gdalwarp", &[&how[..], &[&to, nodata.to_str().unwrap()]].concat()).unwrap();
    assert_eq!(mask_of(&nodata).unwrap().without_value, 2);
}

/// Nor is what it says by a file beside.
#[test]
fn a_raster_with_a_mask_beside_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    plain_tiff(&path("plain.tif"), &[1, 0, 1, 1, 0, 1], 3);
    plain_tiff(&path("mask.tif"), &[255, 255, 0, 255, 255, 0], 3);
    let grey = png::ColorType::Grayscale;
    write_png(&path("picture.png"), grey, &[255, 0, 255, 255, 0, 255], 3, 2);
    for name in ["plain.tif", "picture.png"] {
        let (raster, mask) = (path(name), path(&format!("{name}.msk")));
        assert!(mask_of(&raster).is_ok() && read_raster(&raster, None).is_ok());
        std::fs::copy(path("mask.tif"), &mask).unwrap();
        let windows = ValuesFile::open(&raster).err().filter(|_| name == "plain.tif");
        let all = [read_raster(&raster, None).err(), mask_of(&raster).err()];
        for error in all.map(Option::unwrap).into_iter().chain(windows) {
            let text = error.to_string();
            assert!(text.contains(&format!("{name}.msk")) && text.contains("-dstnodata"), "{text}");
        }
    }
}

#[test]
fn without_a_system_gdal_finds_none_and_the_place_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(20, 20);
    write_geotiff(&path, &grid, &values, None, -9999.0).unwrap();
    let place = read_raster(&path, None).unwrap().georeference.unwrap();
    assert_eq!(place, Georeference::of_grid(&grid, None));
    let Some(info) = gdalinfo(&path) else { return };
    assert_eq!(info["geoTransform"], serde_json::json!(grid.geotransform()));
    let system = &info["coordinateSystem"]["wkt"];
    assert!(system.as_str().unwrap_or_default().is_empty(), "{system}");
}

#[test]
fn a_system_known_only_as_wkt_reaches_gdal() {
    let wkt = r#"PROJCS["Local grid",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",12345.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",11.25],PARAMETER["Scale_Factor",1.0],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(20, 20);
    write_geotiff(&path, &grid, &values, Crs::from_wkt(wkt).as_ref(), -9999.0).unwrap();
    let Some(info) = gdalinfo(&path) else { return };
    let found = info["coordinateSystem"]["wkt"].as_str().unwrap();
    // Not an engineering system that has the whole text for its name.
    assert!(found.starts_with("PROJCRS[\"Local grid\""), "{found}");
    for part in ["12345", "11.25", "6378137"] {
        assert!(found.contains(part), "{part} is not in {found}");
    }
}

#[test]
fn the_system_of_a_real_survey_reaches_gdal() {
    let Some(laz) = real_data("autzen.laz") else { return };
    let filter = Filter::default();
    let cloud = read_points(&laz, &filter, &Default::default(), &gpu_core::Silent).unwrap();
    let crs = cloud.crs.expect("the survey has keys");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(64, 64);
    write_geotiff(&path, &grid, &values, Some(&crs), -9999.0).unwrap();
    let Some(info) = gdalinfo(&path) else { return };
    let found = info["coordinateSystem"]["wkt"].as_str().unwrap();
    println!("{crs}\n{found}");
    // Oregon's Lambert grid in international feet, as the survey's keys state it.
    for part in ["Lambert", "41.75", "-120.5", "43", "45.5", "foot", "0.3048"] {
        assert!(found.contains(part), "{part} is not in {found}");
    }
}

/// A directory with a key of zeros, as one of the common writers leaves it, makes GDAL ignore all of it.
#[test]
fn a_system_with_a_broken_key_reaches_gdal() {
    let directory = vec![1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 26910, 0, 0, 0, 0];
    let keys = GeoKeys { directory, ..Default::default() };
    let (clean, dropped) = keys.cleaned();
    assert_eq!(dropped, [0]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(8, 8);
    let crs = Crs::from_geokeys(clean).unwrap();
    write_geotiff(&path, &grid, &values, crs.as_ref(), -9999.0).unwrap();
    let Some(info) = gdalinfo(&path) else { return };
    assert_eq!(info["stac"]["proj:epsg"], 26910, "{}", info["coordinateSystem"]);
}

#[test]
fn vertical_systems_reach_gdal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(8, 8);
    for (text, parts) in [
        ("EPSG:7415", ["28992", "5709"]),
        ("EPSG:26910+5703", ["26910", "5703"]),
        ("EPSG:2927+6360", ["2927", "6360"]),
        ("EPSG:4326+5773", ["4326", "5773"]),
    ] {
        let crs = Crs::parse(text).unwrap();
        write_geotiff(&path, &grid, &values, Some(&crs), -9999.0).unwrap();
        let Some(info) = gdalinfo(&path) else { return };
        let wkt = info["coordinateSystem"]["wkt"].as_str().unwrap();
        assert!(wkt.starts_with("COMPOUNDCRS"), "{text}: {wkt}");
        for part in parts {
            assert!(wkt.contains(&format!("ID[\"EPSG\",{part}]")), "{text}: {wkt}");
        }
    }
}

/// Every packing, plain and cloud-optimised: GDAL reads what was written, and so does `read_mask`.
#[test]
fn every_packing_comes_back_through_gdal() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("r.tif"), folder.path().join("r.raw"));
    let (grid, values) = raster(700, 513);
    let place = Georeference::of_grid(&grid, None);
    let bytes: Vec<u8> = (0..700 * 513).map(|i| (i % 251) as u8).collect();
    let colours: Vec<u8> = bytes.iter().flat_map(|&b| [b, 255 - b, 7, 255]).collect();
    let second: Vec<f32> = values.iter().map(|v| 7.0 - v).collect();
    let in_bands: Vec<f32> = values.iter().zip(&second).flat_map(|(a, b)| [*a, *b]).collect();
    let [stored, in_bands] = [&values, &in_bands]
        .map(|v| stored(v, -9999.0).iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
    let two: [&[f32]; 2] = [&values, &second];
    for compression in
        [Compression::Deflate, Compression::Zstd, Compression::Lzw, Compression::None]
    {
        for cloud_optimised in [false, true] {
            let options = TiffOptions { compression, cloud_optimised, ..Default::default() };
            let numbers = Cells::Values { values: &values, nodata: -9999.0 };
            let bands = Bands { names: &["height", "a < b & \"c\""], nodata: -9999.0 };
            for (cells, expected) in [
                (numbers, &stored),
                (Cells::Bands { values: &two, bands }, &in_bands),
                (Cells::Grey(&bytes), &bytes),
                (Cells::Colours(&colours), &colours),
            ] {
                write_tiff(&path, &place, (700, 513), cells, &options).unwrap();
                let (from, to) = (path.to_str().unwrap(), raw.to_str().unwrap());
                let bip = ["-q", "-of", "ENVI", "-co", "INTERLEAVE=BIP", from, to];
                if gdal("gdal_translate", &bip).is_none() {
                    return;
                }
                assert!(&std::fs::read(&raw).unwrap() == expected, "{options:?}");
                let Some(info) = gdalinfo(&path) else { return };
                let structure = &info["metadata"]["IMAGE_STRUCTURE"];
                let layout = cloud_optimised.then_some("COG");
                assert_eq!(structure["LAYOUT"].as_str(), layout, "{options:?}: {info}");
                let packing = structure["COMPRESSION"].as_str().map(str::to_lowercase);
                let name = compression.to_string();
                assert_eq!(packing, (name != "none").then_some(name));
                let Cells::Bands { bands, .. } = cells else { continue };
                for (stated, name) in info["bands"].as_array().unwrap().iter().zip(bands.names) {
                    assert_eq!(stated["description"], *name);
                    assert_eq!(stated["noDataValue"], -9999.0);
                }
                let (low, items) = ("STATISTICS_MINIMUM", &info["bands"][1]["metadata"][""]);
                let least = second.iter().copied().fold(f32::MAX, f32::min);
                let least = f64::from(least).to_string();
                assert_eq!(items[low].as_str(), cloud_optimised.then_some(&least[..]));
            }
        }
    }
}

#[test]
fn bands_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(20, 10);
    let place = Georeference::of_grid(&grid, None);
    let write = |values: &[&[f32]], names: &[&str]| {
        let cells = Cells::Bands { values, bands: Bands { names, nodata: -9999.0 } };
        write_tiff(&path, &place, (20, 10), cells, &TiffOptions::default()).unwrap_err()
    };
    assert!(matches!(write(&[&values], &["a", "b"]), Error::Shape { expected: 1, found: 2, .. }));
    assert!(matches!(write(&[&values, &values[1..]], &["a", "b"]), Error::Shape { .. }));
    assert!(matches!(write(&[], &[]), Error::BadValue { .. }));
    let clash = [-9999.0; 200];
    assert!(write(&[&values, &clash], &["a", "b"]).to_string().contains("choose another"));
    assert!(!path.exists());
}

/// The mean of 359 and 1 degrees would be south.
#[test]
fn overviews_of_angles_are_cells_of_the_raster() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let side = 300;
    let angle = |row: u32, column: u32| match (row % 2, column % 2) {
        (0, 0) if column.is_multiple_of(3) => f32::NAN,
        (0, 0) => 359.0,
        _ => 1.0,
    };
    let values: Vec<f32> = (0..side * side).map(|cell| angle(cell / side, cell % side)).collect();
    let place = Georeference::north_up((0.0, 300.0), (1.0, 1.0));
    let options =
        TiffOptions { cloud_optimised: true, overviews: Overviews::First, ..Default::default() };
    let expected = |cell: usize| if (cell % 150 * 2).is_multiple_of(3) { 1.0 } else { 359.0 };
    let cells = Cells::Values { values: &values, nodata: -9999.0 };
    write_tiff(&path, &place, (side, side), cells, &options).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let overview: Vec<f32> =
        TiffFile::open(&path).unwrap().read_image::<f32>(1).unwrap().into_raw_vec_and_offset().0;
    assert!(overview.len() == 150 * 150 && (0..150 * 150).all(|i| overview[i] == expected(i)));
    let mut rows = |first: usize, out: &mut [f32]| {
        out.copy_from_slice(&values[first * 300..][..out.len()]);
        Ok(())
    };
    write_tiff_rows(&path, &place, (side, side), &Bands::one(-9999.0), &options, &mut rows)
        .unwrap();
    assert!(std::fs::read(&path).unwrap() == whole);
}

/// Overviews are means of what has a value, and statistics those of the cells.
#[test]
fn a_cloud_optimised_file_has_overviews_and_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(1025, 600);
    let place = Georeference::of_grid(&grid, None);
    let options = TiffOptions { cloud_optimised: true, ..Default::default() };
    let cells = Cells::Values { values: &values, nodata: -9999.0 };
    write_tiff(&path, &place, (1025, 600), cells, &options).unwrap();
    let file = TiffFile::open(&path).unwrap();
    let sizes: Vec<_> = file.ifds().iter().map(|i| (i.width(), i.height())).collect();
    assert_eq!(sizes, [(1025, 600), (513, 300), (257, 150), (129, 75)]);
    let bytes = file.read_image_bytes(1).unwrap();
    let half: Vec<f32> = bytes.as_chunks().0.iter().map(|&b| f32::from_ne_bytes(b)).collect();
    for (column, row) in [(0, 0), (5, 3), (512, 299), (100, 200)] {
        let of = |x: usize, y: usize| (x < 1025 && y < 600).then(|| values[y * 1025 + x]);
        let four = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let four = four.map(|(dx, dy)| of(2 * column + dx, 2 * row + dy));
        let known: Vec<f64> =
            four.iter().flatten().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).collect();
        let mean = (known.iter().sum::<f64>() / known.len() as f64) as f32;
        assert_eq!(half[row * 513 + column], mean, "{column}, {row}");
    }
    // Tiles of overviews lie before those of the raster, and all directories before these.
    let first = |i: usize| file.ifd(i).unwrap().tile_offsets().unwrap()[0];
    assert!(first(3) < first(2) && first(2) < first(1) && first(1) < first(0));
    assert!(file.ifds().iter().all(|ifd| ifd.offset() < first(3)));
    let Some(info) = gdalinfo(&path) else { return };
    let stated = |name: &str| -> f64 {
        info["bands"][0]["metadata"][""][format!("STATISTICS_{name}")]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    let known: Vec<f64> = values.iter().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    assert!((stated("MEAN") - mean).abs() < 1e-9 * mean.abs());
    assert_eq!(stated("MINIMUM"), known.iter().copied().fold(f64::MAX, f64::min));
    assert_eq!(info["bands"][0]["overviews"].as_array().unwrap().len(), 3);
}

/// Masks as GDAL packs and types them.
#[test]
fn masks_of_every_packing_and_type_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("m.tif"), folder.path().join("t.tif"));
    let bytes: Vec<u8> = (0..90 * 70).map(|i| u8::from(i % 7 == 3)).collect();
    let place = Georeference::north_up((0.0, 0.0), (1.0, 1.0));
    let values: Vec<f32> = bytes.iter().map(|&b| f32::from(b)).collect();
    write_georeferenced(&from, &place, (90, 70), &values, -9999.0).unwrap();
    for options in [
        &["-ot", "Byte", "-co", "NBITS=1"][..],
        &["-ot", "Byte", "-co", "NBITS=1", "-co", "COMPRESS=DEFLATE"],
        &["-ot", "Byte", "-co", "NBITS=4", "-co", "TILED=YES"],
        &["-ot", "Byte", "-co", "COMPRESS=PACKBITS"],
        &["-ot", "UInt16", "-co", "COMPRESS=ZSTD", "-co", "PREDICTOR=2"],
        &["-ot", "Int16", "-co", "COMPRESS=LZW"],
        &["-ot", "Float32", "-co", "COMPRESS=LERC"],
        &["-ot", "Float32", "-co", "COMPRESS=LERC_ZSTD", "-co", "TILED=YES"],
        &["-ot", "Float64", "-co", "COMPRESS=DEFLATE", "-co", "BIGTIFF=YES"],
        &["-ot", "Int32", "-co", "ENDIANNESS=BIG"],
    ] {
        let ends = ["-q", "-a_nodata", "none", from.to_str().unwrap(), to.to_str().unwrap()];
        if gdal("gdal_translate", &[options, &ends].concat()).is_none() {
            return;
        }
        let mask = mask_of(&to).unwrap_or_else(|e| panic!("{options:?}: {e}"));
        assert_eq!((mask.width, mask.height, mask.without_value), (90, 70, 0));
        assert!(mask.sites == bytes, "{options:?}");
    }
}

#[test]
fn further_images_of_a_file_are_noted_and_overviews_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["m.tif", "t.tif"].map(|name| folder.path().join(name));
    let place = Georeference::north_up((0.0, 0.0), (1.0, 1.0));
    let values: Vec<f32> = (0..600 * 300).map(|i| (i % 7) as f32).collect();
    write_georeferenced(&from, &place, (600, 300), &values, -9999.0).unwrap();
    let ends = [from.to_str().unwrap(), to.to_str().unwrap()];
    let notes = |path: &Path| geo_io::read_raster(path, None).unwrap().notes;
    if gdal("gdal_translate", &[&["-q", "-of", "COG"][..], &ends].concat()).is_none() {
        return;
    }
    assert_eq!((notes(&from), notes(&to)), (vec![], vec![]));
    let pages = ["-q", "-co", "APPEND_SUBDATASET=YES"];
    for number in 2..4 {
        gdal("gdal_translate", &[&pages[..], &[ends[1], ends[0]]].concat());
        let said = notes(&from).concat();
        assert!(
            said.contains(&format!("holds {number} images")) && said.contains("m.tif"),
            "{said}"
        );
    }
}

/// libtiff gives LERC the bytes of numbers in the order of the file.
#[test]
fn numbers_that_lerc_packs_in_either_byte_order_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("m.tif");
    let place = Georeference::north_up((0.0, 0.0), (1.0, 1.0));
    let values: Vec<f32> = (0..90 * 70).map(|i| (i * i % 6007) as f32).collect();
    write_georeferenced(&from, &place, (90, 70), &values, -9999.0).unwrap();
    for kind in ["UInt16", "Int16", "UInt32", "Int32", "Float32", "Float64"] {
        for layout in [&["-co", "TILED=YES"][..], &["-co", "BLOCKYSIZE=7"]] {
            let to = folder.path().join("t.tif");
            for order in ["ENDIANNESS=LITTLE", "ENDIANNESS=BIG"] {
                let options = ["-q", "-ot", kind, "-co", "COMPRESS=LERC_DEFLATE", "-co", order];
                let ends = [from.to_str().unwrap(), to.to_str().unwrap()];
                if gdal("gdal_translate", &[&options[..], layout, &ends].concat()).is_none() {
                    return;
                }
                let found = geo_io::read_raster(&to, None).unwrap().values.to_floats(None);
                let is_same = found.iter().zip(&values).all(|(&a, &b)| a == f64::from(b));
                assert!(is_same && found.len() == values.len(), "{kind} {order}");
            }
        }
    }
}

#[test]
fn arrays_of_every_type_are_masks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    // The halves 0, 1.5, NaN, infinity, -2^-24.
    let halves = [0x0000_u16, 0x3E00, 0x7E00, 0x7C00, 0x8001];
    let of_halves: Vec<u8> = halves.iter().flat_map(|v| v.to_le_bytes()).collect();
    let of_words: Vec<u8> = [0_i16, -1, 300, 0, 7].iter().flat_map(|v| v.to_be_bytes()).collect();
    for (kind, bytes, sites) in [
        ("<f2", of_halves, [0, 1, 0, 1, 1]),
        ("|i1", vec![0, 255, 1, 0, 7], [0, 1, 1, 0, 1]),
        (">i2", of_words.clone(), [0, 1, 1, 0, 1]),
        (">u2", of_words, [0, 1, 1, 0, 1]),
    ] {
        std::fs::write(&path, by_hand(kind, false, "(1, 5)", &bytes)).unwrap();
        assert_eq!(mask_of(&path).unwrap().sites, sites, "{kind}");
    }
    std::fs::write(&path, by_hand("<f2", false, "(1, 3)", &[0, 0x3C, 1, 0, 0, 0xC5])).unwrap();
    let halves = [1.0, 2f32.powi(-24), -5.0].map(f16::from_f32);
    assert_eq!(read_npy(&path).unwrap().data, ArrayData::F16(halves.to_vec()));
}

/// Pixels that are not square, turned or mirrored: GDAL and `read_mask` find them where they were put.
#[test]
fn georeferences_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let point = folder.path().join("point.tif");
    let (_, values) = raster(6, 4);
    let transforms = [
        [-180.0, 0.5, 0.0, 90.0, 0.0, -0.25],
        [500_000.0, 30.0, 0.0, 4_600_000.0, 0.0, -60.0],
        [10.0, 3.0, 8.0, 20.0, 4.0, -6.0],
        [10.0, 3.0, 0.0, 20.0, 0.0, 6.0],
    ];
    for transform in transforms {
        for crs in [None, Some(Crs::parse("EPSG:26910").unwrap())] {
            let place = Georeference { transform, crs };
            write_georeferenced(&path, &place, (6, 4), &values, -9999.0).unwrap();
            let found = mask_of(&path).unwrap().georeference.unwrap();
            assert_eq!(found.transform, transform);
            assert_eq!(found.crs.and_then(|c| c.epsg()), place.crs.as_ref().and_then(Crs::epsg));
            let Some(info) = gdalinfo(&path) else { continue };
            assert_eq!(info["geoTransform"], serde_json::json!(transform));
            let code = place.crs.map(|_| 26910);
            assert_eq!(info["stac"]["proj:epsg"], serde_json::json!(code));
            // The same place, stated by the middles of the pixels.
            let (from, to) = (path.to_str().unwrap(), point.to_str().unwrap());
            let as_point = ["-q", "-mo", "AREA_OR_POINT=Point", from, to];
            if gdal("gdal_translate", &as_point).is_some() {
                let found = mask_of(&point).unwrap().georeference.unwrap();
                assert_eq!(found.transform, transform);
            }
        }
    }
    // A picture that says nothing.
    let plain = folder.path().join("plain.tif");
    plain_tiff(&plain, &[0, 1], 2);
    assert_eq!(mask_of(&plain).unwrap().georeference, None);
}

#[test]
fn bad_rasters_are_refused_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.tif");
    let (grid, values) = raster(4, 4);
    let write = |values: &[f32], nodata| write_geotiff(&path, &grid, values, None, nodata);
    assert!(matches!(write(&values[1..], -9999.0), Err(Error::Shape { .. })));
    let error = write(&values, values[0]).unwrap_err();
    assert!(
        matches!(error, Error::NodataTaken { .. }) && error.to_string().contains("r.tif"),
        "{error}"
    );
    write(&values, f32::NAN).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// An NPY file written by hand: type, order, shape and bytes as given.
fn by_hand(kind: &str, fortran: bool, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(bytes);
    file
}

fn npz(path: &Path, arrays: &[(&str, Vec<u8>)]) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, bytes) in arrays {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn npy_arrays_come_back(width in 0_usize..9, height in 0_usize..9, seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let bits: Vec<u64> = (0..width * height)
            .map(|i| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(i as u32 * 7))
            .collect();
        macro_rules! round {
            ($variant:ident, $convert:expr) => {
                let values: Vec<_> = bits.iter().map($convert).collect();
                write_npy(&path, &values, width, height).unwrap();
                let array = read_npy(&path).unwrap();
                prop_assert_eq!(array.shape, [height, width]);
                prop_assert_eq!(array.data, ArrayData::$variant(values));
            };
        }
        round!(F32, |b| (*b >> 40) as f32);
        round!(F64, |b| *b as f64);
        round!(U8, |b| *b as u8);
        round!(Bool, |b| b % 2 == 1);
        round!(I8, |b| *b as i8);
        round!(I16, |b| *b as i16);
        round!(U16, |b| *b as u16);
        round!(I32, |b| *b as i32);
        round!(U32, |b| *b as u32);
        round!(I64, |b| *b as i64);
        round!(U64, |b| *b);
    }

    #[test]
    fn either_order_and_either_end_give_the_same_array(
        rows in 1_usize..6, columns in 1_usize..6, fortran: bool, big: bool,
    ) {
        let expected: Vec<i32> = (0..rows * columns).map(|i| i as i32 * -70_001).collect();
        let place = |i: usize| if fortran { i % rows * columns + i / rows } else { i };
        let bytes: Vec<u8> = (0..rows * columns)
            .map(|i| expected[place(i)])
            .flat_map(|v| if big { v.to_be_bytes() } else { v.to_le_bytes() })
            .collect();
        let file = by_hand(if big { ">i4" } else { "<i4" }, fortran, &format!("({rows}, {columns})"), &bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        std::fs::write(&path, &file).unwrap();
        prop_assert_eq!(read_npy(&path).unwrap().data, ArrayData::I32(expected.clone()));
        let path = folder.path().join("a.npz");
        npz(&path, &[("a", file)]);
        prop_assert_eq!(read_npz(&path, None).unwrap().data, ArrayData::I32(expected));
    }
}

#[test]
fn archives_name_their_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.npz");
    let mask = by_hand("|b1", false, "(1, 3)", &[0, 1, 1]);
    npz(&path, &[("lat", by_hand("<f8", false, "(2,)", &[0; 16])), ("mask", mask)]);
    assert_eq!(npz_names(&path).unwrap(), ["lat", "mask"]);
    assert_eq!(read_npz(&path, Some("lat")).unwrap().shape, [2]);
    let text = read_npz(&path, Some("lon")).unwrap_err().to_string();
    assert!(text.contains("\"lon\"") && text.contains("lat, mask"), "{text}");
    let text = read_npz(&path, None).unwrap_err().to_string();
    assert!(text.contains("it must hold one array") && text.contains("lat, mask"), "{text}");
    let expected = Mask { width: 3, height: 1, sites: vec![0, 1, 1], ..Mask::default() };
    assert_eq!(mask_of(&path).unwrap(), expected);
}

#[test]
fn masks_are_read_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let expected = Mask { width: 3, height: 2, sites: vec![0, 1, 0, 1, 1, 0], ..Mask::default() };
    let check = |name: &str| {
        let found = mask_of(&folder.path().join(name)).unwrap();
        let without_value = u64::from(name == "a.npy");
        assert_eq!(found, Mask { without_value, ..expected.clone() }, "{name}");
    };
    let path = |name: &str| folder.path().join(name);
    write_npy(&path("a.npy"), &[0.0, -1.5, f32::NAN, 1.0, 2.0, 0.0], 3, 2).unwrap();
    check("a.npy");
    let grey = [0, 255, 0, 1, 7, 0];
    write_png(&path("b.png"), png::ColorType::Grayscale, &grey, 3, 2);
    check("b.png");
    let colour: Vec<u8> = grey.iter().flat_map(|&v| [v, v, v, 255]).collect();
    write_png(&path("c.png"), png::ColorType::Rgba, &colour, 3, 2);
    check("c.png");
    std::fs::write(path("d.gif"), b"GIF89a").unwrap();
    assert!(matches!(mask_of(&path("d.gif")), Err(Error::UnknownEnding { .. })));
}

#[test]
fn the_land_mask_of_the_earth_is_read() {
    let Some(path) = real_data("land_mask_30s.npz") else { return };
    if cfg!(debug_assertions) && std::env::var_os("TESSERA_LARGE").is_none() {
        println!("skipped: 933 M cells; set TESSERA_LARGE to read them in a debug build");
        return;
    }
    let mask = mask_of(&path).unwrap();
    assert_eq!((mask.width, mask.height), (43_200, 21_600));
    let ocean = mask.sites.iter().map(|&s| u64::from(s)).sum::<u64>();
    // Row 0 is the arctic ocean, the last row is Antarctica.
    assert_eq!((mask.sites[0], mask.sites[mask.sites.len() - 1]), (1, 0));
    assert!(ocean > mask.sites.len() as u64 / 2 && ocean < mask.sites.len() as u64 * 4 / 5);
}

#[test]
fn damaged_arrays_and_pictures_give_an_error_of_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
    write_npy(&path("a.npy"), &values, 4, 3).unwrap();
    npz(&path("a.npz"), &[("mask", std::fs::read(path("a.npy")).unwrap())]);
    let products: Vec<u8> = (0..81).map(|i| (i % 9) * (i / 9)).collect();
    write_png(&path("a.png"), png::ColorType::Grayscale, &products, 9, 9);
    plain_tiff(&path("a.tif"), &products, 9);
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(|| {
        for name in ["a.npy", "a.npz", "a.png", "a.tif"] {
            let whole = std::fs::read(path(name)).unwrap();
            let damaged = path(&format!("damaged-{name}"));
            let read = |bytes: &[u8]| {
                std::fs::write(&damaged, bytes).unwrap();
                mask_of(&damaged).map_err(|e| assert!(!e.to_string().contains('\n'), "{e}"))
            };
            for end in 0..whole.len() {
                let cut = read(&whole[..end]);
                assert!(
                    cut.is_err() || matches!(name, "a.png" | "a.tif"),
                    "{name} cut at {end} of {}",
                    whole.len()
                );
            }
            for at in 0..whole.len() {
                for bits in [0x01, 0x80, 0xFF] {
                    let mut bytes = whole.clone();
                    bytes[at] ^= bits;
                    let _ = read(&bytes);
                }
            }
        }
    });
    let _ = std::panic::take_hook();
    if let Err(panic) = result {
        panic!("{}", panic.downcast_ref::<String>().cloned().unwrap_or("a read panicked".into()));
    }
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    for shape in ["(18446744073709551615, 2)", "(4294967296, 4294967296)", "(2, 2, 2)", "()"] {
        std::fs::write(&path, by_hand("<f4", false, shape, &[0; 32])).unwrap();
        let error = read_npy(&path).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{shape}: {error}");
    }
}
