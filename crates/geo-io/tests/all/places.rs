//! Where a raster lies: by its tags, by a world file, by GDAL's file beside it. Where GDAL is installed, it is asked too.

use std::path::Path;
use std::process::Command;

use geo_io::{
    Cells, Crs, Georeference, TiffOptions, ValuesFile, read_mask, read_place, read_raster,
    write_tiff,
};
use testing::files::tiff::{Field, Tiff};

const WORLD: &str = "5\n0\n0\n-5\n1000\n2000\n";
const OF_WORLD: [f64; 6] = [997.5, 5.0, 0.0, 2002.5, 0.0, -5.0];
const AUX: &str = "<PAMDataset>\n  <SRS dataAxisToSRSAxisMapping=\"1,2\">EPSG:32634</SRS>\n  \
    <GeoTransform>  1.0e+02,  7.0e+00, 0, 2.0e+02, 0, -7.0e+00</GeoTransform>\n</PAMDataset>\n";
const OF_AUX: [f64; 6] = [100.0, 7.0, 0.0, 200.0, 0.0, -7.0];
const OF_SCALE: [f64; 6] = [500_000.0, 30.0, 0.0, 4_000_000.0, 0.0, -30.0];
const OF_MATRIX: [f64; 6] = [100.0, 10.0, 0.0, 200.0, 0.0, -10.0];

/// A tag's number, and the numbers that it holds.
type Tag<'a> = (u16, &'a [f64]);

/// Tags, the place that they state, and words of the note where they state none.
type Case<'a> = (&'a [Tag<'a>], Option<[f64; 6]>, &'a str);

fn tiff(tags: &[Tag<'_>]) -> Tiff {
    let plain = Tiff::of_bytes(8, &[1; 32]);
    tags.iter()
        .fold(plain, |tiff, (code, numbers)| tiff.tag(*code, Field::Doubles(numbers.to_vec())))
}

const SCALE: Tag<'static> = (33550, &[30.0, 30.0, 0.0]);
const POINT: Tag<'static> = (33922, &[0.0, 0.0, 0.0, 500_000.0, 4_000_000.0, 0.0]);
const MATRIX: Tag<'static> = (
    34264,
    &[10.0, 0.0, 0.0, 100.0, 0.0, -10.0, 0.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
);

/// The same in zone 33.
fn in_zone(tiff: Tiff) -> Tiff {
    tiff.tag(
        34735,
        Field::Shorts(vec![1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633]),
    )
}

/// What is to be said of a file.
fn note(path: &Path) -> Option<String> {
    let notes = read_raster(path, None).unwrap().notes;
    assert_eq!(read_mask(path, &Default::default()).unwrap().notes, notes);
    assert!(notes.len() < 2, "{notes:?}");
    notes.into_iter().next()
}

/// Where a file lies, which all ways of reading say alike, and GDAL too.
fn place(path: &Path) -> Option<Georeference> {
    let found = read_raster(path, None).unwrap().georeference;
    assert_eq!(read_mask(path, &Default::default()).unwrap().georeference, found);
    if path.extension().is_some_and(|ending| ending == "tif") {
        assert_eq!(ValuesFile::open(path).unwrap().georeference(), found.as_ref());
    }
    let stated = found.as_ref().map(|place| place.transform.to_vec());
    match Command::new("gdalinfo").arg("-json").arg(path).output() {
        Ok(output) => {
            let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let expected = info["geoTransform"].as_array().map(|numbers| {
                numbers.iter().filter_map(serde_json::Value::as_f64).collect::<Vec<f64>>()
            });
            assert_eq!(stated, expected, "{}", path.display());
        }
        Err(_) => println!("skipped: gdalinfo is not installed"),
    }
    found
}

#[test]
fn tags_of_a_place_count_in_gdals_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tif");
    let zero: Tag<'_> = (33550, &[0.0, 0.0, 0.0]);
    let short: Tag<'_> = (34264, &MATRIX.1[..8]);
    let cut: Tag<'_> = (33922, &POINT.1[..4]);
    let four: Vec<f64> = [(0.0, 0.0), (8.0, 0.0), (0.0, 4.0), (8.0, 4.0)]
        .iter()
        .flat_map(|(x, y)| [*x, *y, 0.0, 500_000.0 + 30.0 * x, 4_000_000.0 - 30.0 * y, 0.0])
        .collect();
    let four: Tag<'_> = (33922, &four);
    let south: Tag<'_> = (33550, &[30.0, -30.0, 0.0]);
    let cases: [Case<'_>; 14] = [
        (&[], None, ""),
        (&[SCALE, POINT], Some(OF_SCALE), ""),
        (&[MATRIX], Some(OF_MATRIX), ""),
        (&[SCALE, POINT, MATRIX], Some(OF_SCALE), ""),
        (&[POINT, MATRIX], Some(OF_MATRIX), ""),
        (&[zero, POINT, MATRIX], Some(OF_MATRIX), ""),
        (&[SCALE, four], Some(OF_SCALE), ""),
        (&[south, POINT], Some(OF_SCALE), ""),
        (&[SCALE], None, "no point on the ground"),
        (&[SCALE, MATRIX], None, "no point on the ground"),
        (&[SCALE, cut], None, "no point on the ground"),
        (&[short], None, "16 numbers"),
        (&[four], None, "ground control points (4)"),
        (&[zero, POINT], None, "ground control points (1)"),
    ];
    for (tags, transform, words) in cases {
        std::fs::write(&path, tiff(tags).bytes()).unwrap();
        assert_eq!(place(&path).map(|place| place.transform), transform, "{tags:?}");
        let found = note(&path).unwrap_or_default();
        assert!(found.contains(words) && found.is_empty() == words.is_empty(), "{tags:?}: {found}");
    }
}

#[test]
fn a_system_without_a_place_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tif");
    std::fs::write(&path, in_zone(tiff(&[])).bytes()).unwrap();
    assert_eq!(place(&path), None);
    let note = note(&path).unwrap();
    assert!(note.contains("t.tif: it states the system EPSG:32633"), "{note}");
}

#[test]
fn a_world_file_gives_a_place_where_the_tags_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tif");
    for name in ["t.tfw", "t.tifw", "t.wld", "t.TFW", "t.WLD"] {
        std::fs::write(&path, in_zone(tiff(&[])).bytes()).unwrap();
        let world = folder.path().join(name);
        std::fs::write(&world, WORLD).unwrap();
        let found = place(&path).unwrap();
        assert_eq!((found.transform, found.crs.unwrap().epsg()), (OF_WORLD, Some(32633)));
        assert_eq!(note(&path), None);
        // It is more than control points are, and less than tags of a place.
        let two = [POINT.1, &[8.0, 4.0, 0.0, 500_240.0, 3_999_880.0, 0.0]].concat();
        std::fs::write(&path, tiff(&[(33922, &two)]).bytes()).unwrap();
        assert_eq!(place(&path).unwrap().transform, OF_WORLD);
        std::fs::write(&path, tiff(&[SCALE, POINT]).bytes()).unwrap();
        assert_eq!(place(&path).unwrap().transform, OF_SCALE);
        std::fs::write(&path, tiff(&[]).bytes()).unwrap();
        std::fs::write(&world, "5 0 0 -5 1000 2000").unwrap();
        assert_eq!(place(&path), None);
        let note = note(&path).unwrap();
        assert!(note.contains(name) && note.contains("six numbers"), "{note}");
        std::fs::remove_file(&world).unwrap();
    }
}

#[test]
fn a_map_info_table_that_would_give_a_place_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tif");
    let table = folder.path().join("t.tab");
    std::fs::write(&path, in_zone(tiff(&[])).bytes()).unwrap();
    // A table of other things.
    std::fs::write(&table, "!table\nDefinition Table\n  Type NATIVE\n").unwrap();
    assert!(!note(&path).unwrap().contains("t.tab"));
    std::fs::write(&table, "!table\nDefinition Table\n  Type \"RASTER\"\n").unwrap();
    let found = note(&path).unwrap();
    assert!(found.contains("t.tab, a MapInfo table, is not read"), "{found}");
    std::fs::write(&path, tiff(&[SCALE, POINT]).bytes()).unwrap();
    assert_eq!((place(&path).unwrap().transform, note(&path)), (OF_SCALE, None));
}

#[test]
fn the_place_of_any_tiff_is_read_without_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("colours.tif");
    let place = Georeference::north_up((10.0, 20.0), (0.5, 0.25));
    let cells = Cells::Colours(&[255; 24]);
    write_tiff(&path, &place, (3, 2), cells, &TiffOptions::default()).unwrap();
    let found = read_place(&path).unwrap();
    assert_eq!((found.size, found.georeference), ((3, 2), Some(place)));
    let missing = read_place(&folder.path().join("missing.tif")).unwrap_err();
    assert!(missing.to_string().contains("missing.tif"), "{missing}");
    std::fs::write(folder.path().join("a.npy"), b"\x93NUMPY").unwrap();
    let other = read_place(&folder.path().join("a.npy")).unwrap_err().to_string();
    assert!(other.contains("a.npy") && other.contains(".tif"), "{other}");
}

#[test]
fn gdals_file_beside_a_tiff_comes_before_its_tags() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tif");
    let aux = folder.path().join("t.tif.aux.xml");
    std::fs::write(&aux, AUX).unwrap();
    std::fs::write(folder.path().join("t.tfw"), WORLD).unwrap();
    std::fs::write(&path, in_zone(tiff(&[SCALE, POINT])).bytes()).unwrap();
    let found = place(&path).unwrap();
    assert_eq!((found.transform, found.crs.unwrap().epsg()), (OF_AUX, Some(32634)));
    // Points of its own, too.
    let points = "<PAMDataset><GCPList Projection=\"\"><GCP Id=\"1\" Pixel=\"0\" Line=\"0\" X=\"1\" Y=\"2\"/>\
        </GCPList></PAMDataset>";
    std::fs::write(&aux, points).unwrap();
    assert_eq!(place(&path), None);
    assert!(note(&path).unwrap().contains("ground control points (1)"));
    // A system alone.
    std::fs::write(&aux, "<PAMDataset><SRS>EPSG:32634</SRS></PAMDataset>").unwrap();
    let found = place(&path).unwrap();
    assert_eq!((found.transform, found.crs.unwrap().epsg()), (OF_SCALE, Some(32634)));
    let wkt = Crs::parse("EPSG:32635").unwrap().wkt().unwrap().replace('"', "&quot;");
    std::fs::write(&aux, format!("<PAMDataset><SRS>{wkt}</SRS></PAMDataset>")).unwrap();
    assert_eq!(place(&path).unwrap().crs.unwrap().epsg(), Some(32635));
    for bad in ["<SRS>zone 34</SRS>", "<GeoTransform>1, 2</GeoTransform>"] {
        std::fs::write(&aux, format!("<PAMDataset>{bad}</PAMDataset>")).unwrap();
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(error.contains("t.tif.aux.xml"), "{error}");
    }
}

#[test]
fn a_picture_lies_by_its_world_file_or_gdals_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.png");
    let file = std::fs::File::create(&path).unwrap();
    let mut encoder = png::Encoder::new(file, 2, 2);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[1, 2, 3, 4]).unwrap();
    assert_eq!(place(&path), None);
    std::fs::write(folder.path().join("p.png.aux.xml"), AUX).unwrap();
    let found = place(&path).unwrap();
    assert_eq!((found.transform, found.crs.unwrap().epsg()), (OF_AUX, Some(32634)));
    for name in ["p.pgw", "p.pngw", "p.wld"] {
        let world = folder.path().join(name);
        std::fs::write(&world, WORLD).unwrap();
        let found = place(&path).unwrap();
        assert_eq!((found.transform, found.crs.unwrap().epsg()), (OF_WORLD, Some(32634)));
        std::fs::remove_file(world).unwrap();
    }
}

/// As weather models have it, with a turned pole: the place counts all the same.
#[test]
fn a_system_beside_a_raster_that_is_not_understood_is_noted_and_the_place_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tif");
    std::fs::write(&path, in_zone(tiff(&[SCALE, POINT])).bytes()).unwrap();
    let turned = "GEOGCRS[&quot;t&quot;,BASEGEOGCRS[&quot;b&quot;,DATUM[&quot;d&quot;,ELLIPSOID[&quot;e&quot;,6378137,298.2]]],\
                  DERIVINGCONVERSION[&quot;c&quot;,METHOD[&quot;PROJ ob_tran o_proj=longlat&quot;]],CS[ellipsoidal,2]]";
    let aux = AUX.replace("EPSG:32634", turned);
    std::fs::write(folder.path().join("t.tif.aux.xml"), aux).unwrap();
    let found = read_raster(&path, None).unwrap().georeference.unwrap();
    assert_eq!((found.transform, found.crs), (OF_AUX, None));
    let said = note(&path).unwrap();
    assert!(
        said.contains("t.tif.aux.xml is not understood") && said.contains("gdalwarp"),
        "{said}"
    );
    // Beside what gives no place neither note hides the other.
    std::fs::write(&path, tiff(&[(33922, &[0.0; 12])]).bytes()).unwrap();
    let aux = format!("<PAMDataset><SRS>{turned}</SRS></PAMDataset>");
    std::fs::write(folder.path().join("t.tif.aux.xml"), aux).unwrap();
    let notes = read_raster(&path, None).unwrap().notes;
    assert!(notes.len() == 2 && notes[0].contains("control points (2)"), "{notes:?}");
    assert!(notes[1].contains("is not understood"), "{notes:?}");
}
