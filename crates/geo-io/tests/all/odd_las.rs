//! LAS and LAZ files whose headers contradict their records, and whose systems stand where writers put them.

use std::io::{Cursor, Seek, SeekFrom};
use std::path::Path;
use std::process::Command;

use geo_io::{
    Crs, Filter, LasPoints, PointCloud, read_header, read_points, write_geotiff, write_las,
};
use gpu_core::{Bounds, GridSpec};
use testing::files::las::{Las, Record};

fn read(path: &Path, filter: &Filter) -> geo_io::Result<PointCloud> {
    read_points(path, filter, &Default::default(), &gpu_core::Silent)
}

/// What is read of a file of these bytes.
fn of_bytes(name: &str, bytes: &[u8]) -> geo_io::Result<PointCloud> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read(&path, &Filter::default())
}

fn points() -> Vec<[f64; 3]> {
    Las::lattice(500_000.0, 4_100_000.0, 10)
}

fn utm() -> String {
    Crs::parse("EPSG:26910").unwrap().wkt().unwrap().to_owned()
}

#[test]
fn systems_are_found_under_every_user_id_and_behind_the_points() {
    let wkt = utm();
    let text = |user: &str, end: &str| Record::new(user, 2112, format!("{wkt}{end}"));
    let keys = |user: &str| Record {
        user_id: user.into(),
        ..Record::keys(&[(1024, 1), (3072, 26910), (3076, 9001)])
    };
    let older = |record| Las::new(points()).with(record);
    let behind = |record| Las { extended: vec![record], ..Las::extended(points()) };
    for (what, las) in [
        ("libLAS", older(text("liblas", "\0"))),
        ("libLAS in upper case", older(text("LIBLAS", "\0"))),
        ("lower case", older(text("lasf_projection", "\0"))),
        ("blanks behind the user", older(text("LASF_Projection ", "\0"))),
        ("without a NUL", older(text("LASF_Projection", ""))),
        ("NULs and blanks behind", older(text("LASF_Projection", " \n\0\0\0  "))),
        ("keys of libLAS", older(keys("liblas"))),
        ("keys in lower case", older(keys("lasf_projection"))),
        ("behind the points", behind(text("LASF_Projection", "\0"))),
        ("behind the points, of libLAS", behind(text("liblas", "\0"))),
        ("keys behind the points", behind(keys("LASF_Projection"))),
        ("both", behind(text("LASF_Projection", "\0")).with(Record::wkt(&wkt))),
        ("text and keys", older(text("LASF_Projection", "\0")).with(keys("LASF_Projection"))),
    ] {
        let cloud = of_bytes("a.las", &las.bytes()).unwrap();
        assert_eq!(cloud.crs.and_then(|crs| crs.epsg()), Some(26910), "{what}");
        assert_eq!(cloud.notes, Vec::<String>::new(), "{what}");
        assert_eq!(cloud.x.len(), 100, "{what}");
    }
}

#[test]
fn of_two_systems_that_differ_the_one_that_the_header_asks_for_is_taken_with_a_note() {
    let other = Record::keys(&[(1024, 1), (3072, 32610)]);
    for (las, code) in [
        (Las::new(points()), 32610),
        (Las { says_wkt: true, ..Las::new(points()) }, 26910),
        // Its point format knows no keys, whatever the header says.
        (Las { says_wkt: false, ..Las::extended(points()) }, 26910),
    ] {
        let las = las.with(Record::wkt(&utm())).with(other.clone());
        let cloud = of_bytes("a.las", &las.bytes()).unwrap();
        assert_eq!(cloud.crs.and_then(|crs| crs.epsg()), Some(code));
        let [note] = &cloud.notes[..] else { panic!("{:?}", cloud.notes) };
        assert!(note.contains("EPSG:26910") && note.contains("EPSG:32610"), "{note}");
    }
}

#[test]
fn text_that_is_no_system_is_passed_over_with_a_note_and_a_sound_part_is_taken() {
    let utm = utm();
    let heights = r#"VERT_CS["NAVD88 height",VERT_DATUM["North American Vertical Datum 1988",2005],UNIT["metre",1]]"#;
    for (text, system) in [
        ("hello world".to_owned(), None),
        (r#"PROJCS["x",GEOGCS["g",AUTHORITY["EPSG","4326"]]]"#.to_owned(), None),
        (format!(r#"COMPD_CS["bla",{utm}],{heights}]]"#), Some("EPSG:26910+5703")),
        (format!(r#"COMPD_CS["bla",{utm},{heights}"#), Some("EPSG:26910+5703")),
        (format!("{utm}]"), Some("EPSG:26910")),
    ] {
        let las = Las::new(points()).with(Record::wkt(&text));
        let cloud = of_bytes("a.las", &las.bytes()).unwrap();
        assert_eq!(cloud.crs.map(|crs| crs.to_string()).as_deref(), system, "{text}");
        let [note] = &cloud.notes[..] else { panic!("{text}: {:?}", cloud.notes) };
        assert!(note.contains("text of its coordinate system"), "{note}");
    }
}

/// GDAL loads what is written into a GeoTIFF.
#[test]
fn whatever_system_a_file_states_gdal_loads_the_one_of_its_raster() {
    let utm = utm();
    let own = utm.replace(r#",AUTHORITY["EPSG","26910"]"#, "").replace("-123", "-122");
    let heights = r#"VERT_CS["harbour",VERT_DATUM["tide gauge",2005],UNIT["foot",0.3048]]"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    for (text, words) in [
        (utm.clone(), &["UTM zone 10N"][..]),
        (own.clone(), &["-122"]),
        (format!(r#"COMPD_CS["c",{utm},{heights}]"#), &["UTM zone 10N", "harbour", "0.3048"]),
        (format!(r#"COMPD_CS["c",{own},{heights}]"#), &["-122", "harbour", "0.3048"]),
        (format!(r#"COMPD_CS["c",{own}],{heights}]]"#), &["-122", "harbour"]),
        (format!("{own},{heights}"), &["-122", "harbour"]),
        (r#"LOCAL_CS["site",UNIT["US survey foot",0.3048006096]]"#.into(), &["site", "0.30480"]),
    ] {
        let las = Las::new(points()).with(Record::wkt(&text));
        let crs = of_bytes("a.las", &las.bytes()).unwrap().crs.unwrap();
        let grid = GridSpec::new(0.0, 2.0, 1.0, 2, 2).unwrap();
        let _ = std::fs::remove_file(&path);
        write_geotiff(&path, &grid, &[1.0; 4], Some(&crs), f32::NAN).unwrap();
        let run = Command::new("gdalsrsinfo").args(["-o", "wkt2_2019"]).arg(&path).output();
        let Ok(output) = run else {
            println!("skipped: gdalsrsinfo is not there");
            return;
        };
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(words.iter().all(|word| found.contains(word)), "{text}: {found}");
    }
}

#[test]
fn records_behind_a_header_that_promises_fewer_are_read_with_a_note() {
    let [older, newer] = [Las::new(points()), Las::extended(points())];
    let extended = vec![Record::wkt(&utm())];
    for (las, is_noted) in [
        (older.clone(), false),
        (Las { count: Some(0), ..older.clone() }, true),
        (Las { count: Some(40), ..older.clone() }, true),
        (newer.clone(), false),
        (Las { extended_count: Some(0), ..newer.clone() }, true),
        (Las { extended_count: Some(99), extended, ..newer.clone() }, true),
        // The older field is right, the newer one is not.
        (Las { count: Some(100), extended_count: Some(1 << 40), ..newer }, true),
    ] {
        let cloud = of_bytes("a.las", &las.bytes()).unwrap();
        assert_eq!((cloud.len(), cloud.tally.read), (100, 100), "{:?}", cloud.notes);
        assert_eq!(cloud.notes.iter().any(|note| note.contains("its header promises")), is_noted);
    }
    // Bytes behind the points that are not records of the survey are not read, and told.
    let mut bytes = older.bytes();
    bytes.extend([0; 20]);
    let cloud = of_bytes("a.las", &bytes).unwrap();
    assert!(cloud.len() == 100 && cloud.notes[0].contains("were not read"), "{:?}", cloud.notes);
    // Nor does a header that promises more make any.
    let error = of_bytes("a.las", &Las { count: Some(101), ..older }.bytes()).unwrap_err();
    assert!(error.to_string().contains("promises 101 points, it holds 100"), "{error}");
}

/// A compressed file of `count` points, of point format 0 or 6.
fn compressed(count: usize, is_layered: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.laz");
    let x: Vec<f64> = (0..count).map(|i| 100.0 + i as f64 * 0.5).collect();
    let points = LasPoints { x: &x, y: &x, z: &x, ..Default::default() };
    // A system without a text is written as keys, into an older version.
    let crs = Crs::parse("EPSG:26910+5703").unwrap();
    write_las(&path, &points, Some(&crs).filter(|_| !is_layered)).unwrap();
    std::fs::read(&path).unwrap()
}

#[test]
fn chunks_are_believed_more_than_the_count_of_a_compressed_files_header() {
    for count in [1_000, 120_000] {
        for stated in [0_u64, 10, 999_999] {
            let mut bytes = compressed(count, true);
            bytes[107..111].fill(0);
            bytes[247..255].copy_from_slice(&stated.to_le_bytes());
            let cloud = of_bytes("a.laz", &bytes).unwrap();
            assert_eq!(cloud.len(), count, "{:?}", cloud.notes);
            assert!(cloud.notes[0].contains(&format!("promises {stated} points, its chunks hold")));
            assert_eq!(cloud.notes.len(), 1, "{:?}", cloud.notes);
        }
    }
    // Of the older compression nothing else says how many points the last chunk has.
    let mut bytes = compressed(1_000, false);
    bytes[107..131].fill(0);
    let error = of_bytes("a.laz", &bytes).unwrap_err().to_string();
    let words = ["a.laz", "promises no points, but 1 to 50000", "bytes 108 to 111"];
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
    // And there are files without points.
    for is_layered in [true, false] {
        let cloud = of_bytes("a.laz", &compressed(0, is_layered)).unwrap();
        assert!(cloud.is_empty() && cloud.notes.is_empty(), "{:?}", cloud.notes);
    }
}

/// Only a decoder tells where chunks of the older compression end.
#[test]
fn of_the_older_compression_a_header_tells_what_was_cut_off_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.laz");
    let bytes = compressed(60_000, false);
    let read = || read_points(&path, &Filter::default(), &Default::default(), &gpu_core::Silent);
    std::fs::write(&path, &bytes[..bytes.len() * 3 / 4]).unwrap();
    let error = read().unwrap_err().to_string();
    assert!(error.contains("promises 60000 points, it holds "), "{error}");
    assert_eq!(read_header(&path).unwrap_err().to_string(), error);
    // Without its chunk table it is whole.
    let mut whole = bytes;
    let start = u32::from_le_bytes(whole[96..100].try_into().unwrap()) as usize;
    whole[start..start + 8].fill(0);
    let behind = whole.len() - 8;
    whole[behind..].fill(0);
    std::fs::write(&path, &whole).unwrap();
    let notes = read().unwrap().notes;
    assert!(notes[0].contains("decoded by one core"), "{notes:?}");
    assert_eq!(read_header(&path).unwrap().unwrap().notes, notes);
}

#[test]
fn of_the_older_compression_points_are_as_many_as_their_returns_if_the_header_promises_none() {
    for (count, returns, is_read) in
        [(1_000, [600_u32, 400], true), (60_000, [60_000, 0], true), (60_000, [9, 1], false)]
    {
        let mut bytes = compressed(count, false);
        bytes[107..131].fill(0);
        bytes[111..115].copy_from_slice(&returns[0].to_le_bytes());
        bytes[115..119].copy_from_slice(&returns[1].to_le_bytes());
        match of_bytes("a.laz", &bytes) {
            Ok(cloud) => {
                assert_eq!((cloud.len(), is_read), (count, true));
                assert!(cloud.notes[0].contains("of all returns"), "{:?}", cloud.notes);
            }
            Err(error) => {
                assert!(!is_read && error.to_string().contains("50001 to 100000"), "{error}")
            }
        }
    }
}

/// Points of format 0 or 6 in chunks of any size, the last of them empty.
fn with_an_empty_last_chunk(is_layered: bool) -> Vec<u8> {
    const USER: &[u8] = b"laszip encoded";
    let whole = compressed(1_000, is_layered);
    let start = u32::from_le_bytes(whole[96..100].try_into().unwrap()) as usize;
    let item = if is_layered { laz::LazItemType::Point14 } else { laz::LazItemType::Point10 };
    let items = laz::LazItemRecordBuilder::new().add_item(item).build();
    let vlr = laz::LazVlrBuilder::new(items).with_variable_chunk_size().build();
    let mut record = Vec::new();
    vlr.write_to(&mut record).unwrap();
    let at = whole[..start].windows(USER.len()).position(|bytes| bytes == USER).unwrap();
    let data = at + 16 + 2 + 2 + 32;
    let mut head = whole[..start].to_vec();
    head[data..data + record.len()].copy_from_slice(&record);
    let mut file = Cursor::new(head);
    file.seek(SeekFrom::End(0)).unwrap();
    let mut writer = laz::LasZipCompressor::new(file, vlr).unwrap();
    for i in 0..1_000_i32 {
        let mut point = vec![0; if is_layered { 30 } else { 20 }];
        point[..4].copy_from_slice(&i.to_le_bytes());
        point[14] = if is_layered { 0x11 } else { 0x09 };
        writer.compress_one(&point).unwrap();
        if i % 250 == 249 {
            writer.finish_current_chunk().unwrap();
        }
    }
    writer.done().unwrap();
    writer.into_inner().into_inner()
}

#[test]
fn an_empty_last_chunk_is_no_reason_to_read_by_one_core() {
    for is_layered in [true, false] {
        let cloud = of_bytes("a.laz", &with_an_empty_last_chunk(is_layered)).unwrap();
        assert_eq!((cloud.len(), &cloud.notes[..]), (1_000, &[][..]));
    }
}

#[test]
fn a_chunk_table_that_claims_gigabytes_is_an_error_or_is_not_needed() {
    let claim = |mut bytes: Vec<u8>| {
        let start = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        let table = u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap()) as usize;
        bytes[table + 4..table + 8].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes
    };
    let layered = with_an_empty_last_chunk(true);
    for bytes in [compressed(1_000, true), compressed(1_000, false), layered] {
        let cloud = of_bytes("a.laz", &claim(bytes)).unwrap();
        assert!(cloud.len() == 1_000 && cloud.notes[0].contains("claims 4294967295 chunks"));
    }
    let error = of_bytes("a.laz", &claim(with_an_empty_last_chunk(false))).unwrap_err();
    assert!(error.to_string().contains("claims 4294967295 chunks"), "{error}");
}

#[test]
fn a_chunk_table_without_chunks_hides_no_points() {
    for is_layered in [true, false] {
        let mut bytes = compressed(1_000, is_layered);
        let start = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        let table = u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap()) as usize;
        bytes[table + 4..table + 8].fill(0);
        let cloud = of_bytes("a.laz", &bytes).unwrap();
        assert_eq!(cloud.len(), 1_000, "{is_layered}");
        assert!(cloud.notes[0].contains("names no chunks"), "{:?}", cloud.notes);
    }
}

/// The points decoded one after the other must come from the chunks that were held against the file's length. A decoder
/// that found its own way by the stated compressor began 8 bytes early, and asked for gigabytes.
#[test]
fn layered_chunks_are_decoded_where_they_were_found_whatever_the_compressor_is_named() {
    const USER: &[u8] = b"laszip encoded";
    let whole = of_bytes("a.laz", &compressed(1_000, true)).unwrap();
    for compressor in [1, 2, 3] {
        let mut bytes = compressed(1_000, true);
        let start = u32::from_le_bytes(bytes[96..100].try_into().unwrap()) as usize;
        let record = bytes[..start].windows(USER.len()).position(|bytes| bytes == USER).unwrap();
        bytes[record + 52] = compressor;
        // No chunk table, and fewer points than the chunk holds.
        bytes[start..start + 8].fill(0);
        let behind = bytes.len() - 8;
        bytes[behind..].fill(0);
        bytes[107..111].copy_from_slice(&900_u32.to_le_bytes());
        bytes[247..255].copy_from_slice(&900_u64.to_le_bytes());
        let cloud = of_bytes("a.laz", &bytes).unwrap();
        assert_eq!(cloud.x, whole.x[..900], "compressor {compressor}");
        assert!(cloud.notes[0].contains("decoded by one core"), "{:?}", cloud.notes);
    }
}

#[test]
fn a_header_whose_bounds_do_not_hold_the_points_leaves_none_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.las");
    let elsewhere = Some([[0.0, 10.0], [0.0, 10.0], [0.0, 20.0]]);
    let las = Las { bounds: elsewhere, ..Las::new(points()) };
    std::fs::write(&path, las.bytes()).unwrap();
    let half =
        Bounds { min_x: 500_000.0, min_y: 4_100_000.0, max_x: 500_010.0, max_y: 4_100_005.0 };
    let cloud = read(&path, &Filter { bounds: Some(half), ..Default::default() }).unwrap();
    assert_eq!((cloud.len(), cloud.strays.points), (50, 100));
    assert!(cloud.strays.to_string().contains("outside of its header's bounds"));
    let header = read_header(&path).unwrap().unwrap();
    assert!(header.bounds.is_none() && header.notes[0].contains("do not hold its points"));
    // Some of the points alone.
    let most = Some([[500_000.0, 500_008.0], [4_100_000.0, 4_100_010.0], [0.0, 20.0]]);
    std::fs::write(&path, Las { bounds: most, ..las }.bytes()).unwrap();
    let cloud = read(&path, &Filter::default()).unwrap();
    assert_eq!((cloud.len(), cloud.strays.points), (100, 20));
    assert!((cloud.strays.bounds.unwrap().max_x - 500_009.5).abs() < 1e-6);
}

#[test]
fn points_of_a_header_that_promises_more_records_than_any_file_has_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for count in [1 << 40, u64::MAX / 20, u64::MAX] {
        let mut bytes = Las::extended(points()).bytes();
        // The number of points, in the header of LAS 1.4.
        bytes[247..255].copy_from_slice(&u64::to_le_bytes(count));
        let path = folder.path().join("a.las");
        std::fs::write(&path, bytes).unwrap();
        // A header alone may be read; that the file is cut short is said by whoever reads the points.
        let _ = read_header(&path);
        assert!(read(&path, &Filter::default()).is_err(), "{count}");
    }
}
