//! Tables of points as programs and people write them: read as they are meant, or refused by name.

use std::path::{Path, PathBuf};

use geo_io::{CsvColumns, Error, Filter, PointCloud, Result, Returns, read_batches, read_points};
use testing::Random;
use testing::files::csv::{Ends, OddTable};

/// A folder with one table.
struct Table {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Table {
    fn new(bytes: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.csv");
        std::fs::write(&path, bytes).unwrap();
        Self { _folder: folder, path }
    }

    fn read(&self, columns: [&str; 3], filter: &Filter) -> Result<PointCloud> {
        read_points(&self.path, filter, &named(columns), &gpu_core::Silent)
    }
}

fn named(columns: [&str; 3]) -> CsvColumns {
    CsvColumns::new(columns.map(str::to_owned))
}

fn read(text: impl AsRef<[u8]>) -> Result<PointCloud> {
    Table::new(text).read(["x", "y", "z"], &Filter::default())
}

fn read_columns(text: &str, columns: [&str; 3]) -> Result<PointCloud> {
    Table::new(text).read(columns, &Filter::default())
}

fn points(cloud: &PointCloud) -> Vec<[f64; 3]> {
    (0..cloud.len()).map(|i| [cloud.x[i], cloud.y[i], cloud.z[i]]).collect()
}

/// The one line that refuses a table.
#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> String {
    let error = read(text).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_title_that_holds_the_names_of_columns_is_not_the_line_of_names() {
    for text in [
        "survey of x and y and z\nx,y,z\n1,2,3\n4,5,6\n",
        "Easting x, northing y, height z\nnumber;x;y;z\na;1;2;3\nb;4;5;6\n",
        "x, y, z\n\nof 2020\nx y z\n1 2 3\n4 5 6\n",
        // As many words as columns.
        "all of x y z\nn x y z code\na 1 2 3 g\nb 4 5 6 g\n",
        "x y z\nz\ty\tx\n3\t2\t1\n6\t5\t4\n",
    ] {
        let cloud = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(points(&cloud), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "{text}");
        assert!(cloud.notes[0].contains("before the one with the names"), "{:?}", cloud.notes);
    }
    // What is wrong with a row below the names is said of it.
    assert!(refused("x,y,z\n1,2,oops\nx,y,z\n1,2,3\n").contains("oops"));
    assert!(refused("x,y,z\n-,-,-\n1,2,3\n").contains("row 1"));
    assert!(refused("survey of x and y and z\n1,2,3\n").contains("row 1"));
    assert!(points(&read("x,y,z\nNA,NA,NA\n").unwrap_or_default()).is_empty());
}

#[test]
fn titles_before_the_names_of_columns_are_passed_over_with_a_note() {
    for (titles, rows) in [
        ("Survey 2020\n", "x,y,z\n1,2,3\n4,5,6\n"),
        ("Survey, of 2020\n\n# by hand\nUnits: m\n", "name,Y,X,Z\na,2,1,3\nb,5,4,6\n"),
        ("Station;Ort\n12;Ulm\n", "x;y;z\n1,0;2,0;3,0\n4;5;6\n"),
    ] {
        let cloud = read(format!("{titles}{rows}")).unwrap();
        assert_eq!(points(&cloud), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "{titles}");
        assert!(cloud.notes[0].contains("before the one with the names"), "{:?}", cloud.notes);
    }
    // A row is named by its line.
    let error = refused("Survey 2020\nby hand\nx,y,z\n1,2,3\n4,five,6\n");
    assert!(error.contains("row 2 (line 5)") && error.contains("five"), "{error}");
    // Without the names the first line is what is told of, and numbers may be meant by any line.
    let error = refused("Survey 2020\nx,y,height\n1,2,3\n");
    assert!(error.contains("its columns are Survey, 2020"), "{error}");
    let error = read_columns("Survey 2020\na,b,c\n1,2,3\n", ["1", "2", "3"]).unwrap_err();
    assert!(error.to_string().contains("Survey"), "{error}");
}

#[test]
fn whole_numbers_that_floats_do_not_hold_are_noted() {
    let noted = |text: &str| {
        let cloud = read(text).unwrap();
        cloud.notes.iter().find(|note| note.contains("2^53")).cloned()
    };
    for exact in ["9007199254740992", "-9007199254740994", "1e30", "18446744073709551616", "5"] {
        assert_eq!(noted(&format!("x,y,z\n1,2,{exact}\n3,4,5\n")), None, "{exact}");
    }
    let note = noted("x,y,z\n1,2,9007199254740993\n-9007199254740995,4,5\n").unwrap();
    assert!(note.contains(": 2, the first 9007199254740993 in row 1, column \"z\""), "{note}");
}

#[test]
fn each_way_to_write_a_table_gives_the_same_points() {
    const POINTS: [[f64; 3]; 6] = [
        [1025.25, 2009.5, 87.75],
        [-35.5, 2019.125, 140.0],
        [1031.0, 2037.6875, -0.5],
        [1009.0625, -2029.5, 115.5],
        [0.0, 7.5, 3.25],
        [12.5, 1.0, 2.0],
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.txt");
    // Of 27,000 every seventh: no axis has a multiple of seven ways, so each meets each of another's.
    for table in OddTable::all().into_iter().step_by(7) {
        let bytes = table.write(&POINTS);
        std::fs::write(&path, &bytes).unwrap();
        let found =
            read_points(&path, &Filter::default(), &named(table.columns()), &gpu_core::Silent);
        let text = String::from_utf8_lossy(&bytes);
        match found {
            Ok(cloud) => {
                assert_eq!(points(&cloud), POINTS, "{table:?}\n{text}");
                let is_noted = cloud.notes.iter().any(|note| note.starts_with("NUL bytes"));
                assert_eq!(is_noted, table.ends == Ends::Nul, "{table:?}\n{text}");
                assert_eq!(cloud.notes.len(), usize::from(is_noted), "{:?}\n{text}", cloud.notes);
            }
            Err(error) => assert!(!table.is_clear(), "{table:?}\n{text}\n{error}"),
        }
    }
}

#[test]
fn columns_are_found_by_name_whatever_the_separator() {
    for text in [
        "Z,name,X,Y\n3,a,1,2\n6.5,\"b, c\",-4e1,5\n",
        "\u{feff}z;X;y;name\n3;1;2;a\n6.5;-40;5;b\n",
        "x\ty\tz\n1\t2\t3\n-40\t5\t6.5\n",
        "x y z\r\n1 2 3\r\n-40 5 6.5\r\n",
        "name|z|y|x\na|3|2|1\nb; c, d|6.5|5|-40\n",
        "x,y,z,note; remark\n1,2,3,a;b\n-40,5,6.5,c d\n",
        "x, y, z\n1, 2, 3\n-40,5 ,6.5\n",
        "x y z\n1, 2, 3\n-40, 5, 6.5\n",
        "x\ty\tz\n1,\t2,\t3\n-40,\t5,\t6.5\n",
        "1,\t2,\t3\n-40.0,\t5.0,\t6.5\n",
    ] {
        let cloud = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(points(&cloud), [[1.0, 2.0, 3.0], [-40.0, 5.0, 6.5]], "{text}");
        assert_eq!((cloud.tally.read, cloud.tally.kept), (2, 2));
    }
}

#[test]
fn bad_fields_name_row_line_and_column() {
    for field in ["NaN", "inf", "seven", "", "NA", "1e999", "1\u{0}2"] {
        let text = refused(format!("x,y,z\n\n1,2,3\n4,{field},6\n"));
        assert!(text.contains("row 2 (line 4), column \"y\""), "{text}");
        let shown = field.replace('\0', "\\u{0}");
        let shown = match field {
            "" => "the field is empty".to_owned(),
            _ => format!("\"{shown}\""),
        };
        assert!(text.contains(&shown), "{text}");
    }
    let text = refused("x,y,z\n1;2;3\n");
    assert!(
        text.ends_with("row 1 (line 2) has 1 field, the first has 3, which commas separate"),
        "{text}"
    );
    let text = refused("x,y,z\n1,2\n");
    assert!(text.contains("row 1 (line 2) has 2 fields, the first has 3"), "{text}");
    // A row without any number in the middle is none that a spreadsheet left.
    let text = refused("x,y,z\n1,2,3\n,,\n4,5,6\n");
    assert!(text.contains("row 2 (line 3), column \"x\": the field is empty"), "{text}");
}

/// The error says how such a number is written here.
#[test]
fn numbers_in_the_writing_of_other_fields_are_refused_with_what_to_write() {
    for (text, tip) in [
        ("12\u{b0}30'15\"", "decimal degrees"),
        ("12.5N", "decimal degrees"),
        ("W 12.5", "decimal degrees"),
        ("1.0D+03", "exponent with E"),
        ("-2d0", "exponent with E"),
        ("\u{2212}5", "minus sign"),
        ("\u{2013}0.25", "minus sign"),
    ] {
        let error = refused(format!("x,y,z\n1,2,3\n4,5,{text}\n"));
        assert!(error.contains("row 2 (line 3), column \"z\""), "{error}");
        assert!(error.contains(text) && error.contains(tip), "{error}");
    }
    for text in ["N", "\u{b0}", "D", "\u{2013}", "east"] {
        let error = refused(format!("x,y,z\n1,2,3\n4,5,{text}\n"));
        assert!(error.ends_with("is not a finite number"), "{error}");
    }
    let error = refused("x,y,z,\"a\nb\"\n1,2,3,4\n");
    assert!(
        error.contains("line 1") && error.contains("take line breaks out of fields"),
        "{error}"
    );
}

#[test]
fn a_first_row_without_a_number_is_no_line_of_names() {
    for (text, columns) in [
        ("NA,2,3\n4,5,6\n", ["x", "y", "z"]),
        ("1,NA,2,3,GRD\n2,4,5,6,GRD\n", ["2", "3", "4"]),
        ("1,,2,3,GRD\n2,4,5,6,GRD\n", ["3", "4", "2"]),
        ("\"1,025.5\",\"2,009\",3\n", ["x", "y", "z"]),
    ] {
        let error = read_columns(text, columns).unwrap_err().to_string();
        assert!(error.contains("row 1 (line 1)"), "{text}: {error}");
    }
}

#[test]
fn tables_without_names_and_with_decimal_commas_are_read() {
    for text in [
        "  1.5   2   3\n 4\t 5    6.25\n",
        "1.5 2 3 255 0 0\n4 5 6.25 0 0 0\n",
        "# x y z\n1.5,2,3\n4,5,6.25\n",
        "1,5;2;3\n4;5;6,25\n",
        "x;y;z\n1,5;2,0;3,0\n4;5;6,25\n",
        "1,5 2,0 3,0\n4 5 6,25\n",
        "x,y,z\n\"1,5\",\"2\",\"3,0\"\n\"4,0\",\"5\",\"6,25\"\n",
        "\"1,500\",\"2,000\",\"3,000\"\n\"4,0\",\"5\",\"6,25\"\n",
        "1,500;2,000;3,000\n4;5;6,250\n",
    ] {
        let cloud = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(points(&cloud), [[1.5, 2.0, 3.0], [4.0, 5.0, 6.25]], "{text}");
    }
    let commas = refused("x,y,z\n1,5,2,0,3,0\n");
    assert!(commas.contains("decimal commas"), "{commas}");
    // Rows of two lengths are no matter of decimal commas.
    let ragged = refused("1.5 2.5 3.5\n1.5 2.5 3.5 255 0 12\n");
    assert!(ragged.contains("line 2) has 6 fields, the first has 3"), "{ragged}");
    assert!(!ragged.contains("comma"), "{ragged}");
    let short = refused("1,2\n3,4\n");
    assert!(short.contains("no column \"3\""), "{short}");
}

#[test]
fn numbers_between_blanks_and_a_tab_are_no_names() {
    for text in [
        "1.5 2.5\t3.5\n4 5 6\n",
        "1.5\t2.5 3.5\n4\t5\t6\n",
        " 1.5 \t 2.5  3.5\n4 5 6\n",
        "1,5 2,5\t3,5\n4 5 6\n",
    ] {
        let cloud = read(text).unwrap();
        assert_eq!(points(&cloud), [[1.5, 2.5, 3.5], [4.0, 5.0, 6.0]], "{text}");
    }
    // Names with blanks within.
    assert_eq!(read("site name\tx\ty\tz\na b\t1\t2\t3\n").unwrap().z, [3.0]);
}

#[test]
fn thousands_are_neither_taken_apart_nor_for_decimals() {
    for text in [
        "500 000,5\t4 000 000\t12\n",
        "-1 234\t5 678\t9\n",
        "x;y;z\n1.234,5;2;3\n",
        "x;y;z\n1'234.5;2;3\n",
        "x\ty\tz\n1\u{a0}234,5\t2\t3\n",
        "x,y,z\n\"1,234.5\",2,3\n",
        "x,y,z\n\"1,234,567\",2,3\n",
    ] {
        let error = refused(text);
        assert!(error.contains("without thousands separators"), "{text}: {error}");
    }
    // Which of the two it is the table does not tell.
    for text in ["x,y,z\n\"1,234\",2,3\n", "x;y;z\n1,234;2.5;3\n"] {
        let error = refused(text);
        assert!(error.contains("line 2") && error.contains("clear number"), "{text}: {error}");
    }
    let error = refused("x;y;z\n0,5;0,5;1.234\n");
    assert!(error.contains("line 2") && error.contains("separate thousands"), "{error}");
    // Another number tells.
    assert_eq!(read("x;y;z\n0,5;0,5;1.234\n3,5;1,5;0.25\n").unwrap().z, [1.234, 0.25]);
    assert_eq!(read("x;y;z\n1;2;1.234\n").unwrap().z, [1.234]);
}

#[test]
fn of_two_columns_of_a_name_none_is_taken() {
    for (text, name) in [
        ("x,y,z,z\n1,2,3,4\n", "\"z\""),
        ("X,x ,Y,z,X\n1,2,3,4,5\n", ""),
        ("X,X,y,z\n1,2,3,4\n", "\"x\""),
        ("x,y,z,CLASS,Class\n1,2,3,4,5\n", "\"class\""),
    ] {
        match name {
            // The wanted name matches one of them exactly.
            "" => assert_eq!(read(text).unwrap().x, [2.0]),
            _ => {
                let error = refused(text);
                assert!(error.contains("2 columns") && error.contains(name), "{error}");
            }
        }
    }
    // What is not asked for may have one name.
    assert_eq!(read("x,y,z,note,note\n1,2,3,4,5\n").unwrap().z, [3.0]);
}

#[test]
fn names_may_stand_behind_a_comment_mark() {
    for text in [
        "//X Y Z R G B Classification\n1.5 2.5 3.5 0 0 255 2.000000\n",
        "// X, Y, Z, Class\r\n1.5, 2.5, 3.5, 2\r\n",
        "\u{feff}//X;Y;Z;Class\n1,5;2,5;3,5;2\n",
        "% id y x z class\n7 2.5 1.5 3.5 2\n",
        "# made by hand\n#z,class,x,y\n3.5,2,1.5,2.5\n",
    ] {
        let cloud = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(points(&cloud), [[1.5, 2.5, 3.5]], "{text}");
        assert_eq!(cloud.class, Some(vec![2]), "{text}");
    }
    // A row that somebody took out, and other comments.
    for text in
        ["//1 2 3\n4 5 6\n", "//1,2,3\n4,5,6\n", "// made by hand\n4 5 6\n", "!a b c\n4 5 6"]
    {
        assert_eq!(points(&read(text).unwrap()), [[4.0, 5.0, 6.0]], "{text}");
    }
    let cloud = read("x,y,z\n1,2,3\n#4,5,6\n7,8,9\n").unwrap();
    assert_eq!(cloud.x, [1.0, 7.0]);
    assert!(cloud.notes[0].contains("comment mark") && cloud.notes[0].contains(": 1,"));
    for class in ["2.5", "-1", "256", "nan", ""] {
        assert!(refused(format!("x,y,z,class\n1,2,3,{class}\n")).contains("0 to 255"), "{class}");
    }
}

#[test]
fn columns_are_wanted_by_number_where_a_text_stands_in_the_first_row() {
    let survey = "1,2013.137,1016.100,81.610,GRD\n2,2003.805,1016.159,53.731,EP\n";
    let cloud = read_columns(survey, ["3", "2", "4"]).unwrap();
    assert_eq!(points(&cloud), [[1016.1, 2013.137, 81.61], [1016.159, 2003.805, 53.731]]);
    // Below names too, where no name is such a number.
    let cloud = read_columns(&format!("P,N,E,Z,D\n{survey}"), ["3", "2", "4"]).unwrap();
    assert_eq!(cloud.x, [1016.1, 1016.159]);
    let cloud = read_columns(&format!("P,N,E,Z,D\n{survey}"), ["e", "2", "Z"]).unwrap();
    assert_eq!(cloud.x, [1016.1, 1016.159]);
    let cloud = read_columns("name,2,1,3\na,5,4,6\n", ["1", "2", "3"]).unwrap();
    assert_eq!(points(&cloud), [[4.0, 5.0, 6.0]]);
    // Rows that begin with numbers have no names.
    for text in ["1,2,3,GRD\n4,5,6,EP\n", "1;2;3;\"a; b\"\n4;5;6;\n"] {
        assert_eq!(points(&read(text).unwrap()), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "{text}");
    }
    let error = read_columns(survey, ["3", "2", "6"]).unwrap_err().to_string();
    assert!(error.contains("no column \"6\""), "{error}");
}

#[test]
fn a_first_column_that_counts_rows_is_noted() {
    let notes = |text: &str| read(text).unwrap().notes;
    let counted = notes("1,20.5,10.5,3,GRD\n2,21.5,11.5,4,GRD\n3,22.5,12.5,5,EP\n");
    assert!(counted[0].contains("--columns 2,3,4"), "{counted:?}");
    for text in [
        "1 5 3\n2 6 4\n3 7 5\n",
        "x,y,z,w\n1,5,3,0\n2,6,4,0\n3,7,5,0\n",
        "1 2 3 4\n3 4 5 6\n4 5 6 7",
    ] {
        assert_eq!(notes(text), [""; 0], "{text}");
    }
}

#[test]
fn a_count_on_the_first_line_is_held_against_the_rows() {
    assert_eq!(read("2\n1 2 3\n4 5 6\n").unwrap().notes, [""; 0]);
    let cloud = read("3\n1 2 3\n4 5 6\n").unwrap();
    assert_eq!(cloud.notes, ["its first line promises 3 points, it holds 2"]);
    let table = Table::new("2\n1 2 3\n4 5 6\n");
    let mut taken = 0;
    let take = &mut |cloud: &PointCloud| {
        taken += cloud.len();
        Ok(())
    };
    read_batches(
        &table.path,
        &Filter::default(),
        &CsvColumns::default(),
        1,
        &gpu_core::Silent,
        take,
    )
    .unwrap();
    assert_eq!(taken, 2);
}

#[test]
fn a_quote_that_is_not_closed_swallows_no_row() {
    for (text, line) in [
        ("x,y,z,note\n1,2,3,a\n4,5,6,\"b\n7,8,9,c\n", 3),
        ("x,y,z,note\n1,2,3,\"\n4,5,6,\"\n", 2),
        ("x,y,z\n1,2,3\n4,5,\"6", 3),
        ("x,y,z,\"no\nte\"\n1,2,3,4\n", 1),
        ("1 2 3 \"a\n4 5 6 b\"\n", 1),
    ] {
        let error = refused(text);
        assert!(error.contains(&format!("line {line}")) && error.contains("quote"), "{error}");
    }
    // Nor does a quote within a text open anything, whatever follows it.
    assert_eq!(read("1,2,3,5\" pipe; \"new\n4,5,6,a; \"b\"\n").unwrap().len(), 2);
    assert_eq!(read("x,y,z,note\n1,2,3,5\" pipe\n4,5,6,\"a \"\"b\"\"\"\n").unwrap().len(), 2);
}

#[test]
fn names_in_latin_1_are_found() {
    let cloud = Table::new(b"Rechtswert;Hochwert;H\xF6he\n1;2;3\n")
        .read(["rechtswert", "hochwert", "H\u{f6}he"], &Filter::default());
    assert_eq!(points(&cloud.unwrap()), [[1.0, 2.0, 3.0]]);
    let upper = Table::new("x,y,H\u{d6}HE\n1,2,3\n");
    assert_eq!(upper.read(["x", "y", "h\u{f6}he"], &Filter::default()).unwrap().z, [3.0]);
}

#[test]
fn what_is_no_text_is_refused_by_its_name() {
    for of in [u16::to_le_bytes, u16::to_be_bytes] {
        for text in ["\u{feff}x,y,z\n1,2,3\n", "x,y,z\n1,2,3\n"] {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(of).collect();
            assert!(refused(bytes).contains("UTF-16"));
        }
    }
    for of in [u32::to_le_bytes, u32::to_be_bytes] {
        let bytes: Vec<u8> = "\u{feff}x,y\n".chars().map(u32::from).flat_map(of).collect();
        assert!(refused(bytes).contains("UTF-32"));
    }
    for (start, name) in [
        (&b"\x1F\x8B\x08\x00"[..], "is packed with gzip"),
        (b"PK\x03\x04\x14\x00", "ZIP archive"),
        (b"SQLite format 3\0", "GeoPackage"),
        (b"PAR1\x15", "Parquet"),
        (b"LASF\0\0", "LAS or LAZ"),
        (b"%PDF-1.4\n", "PDF"),
        (b"\xEF\xBB\xBF {\"type\":1}", "JSON"),
        (b"<?xml", "XML"),
    ] {
        let error = refused(start);
        assert!(error.contains(name) && error.contains("points.csv"), "{error}");
    }
    for text in ["   \n\n  ", "\n", "\0\0\0\0", "\u{feff}", "\t\r\n", "\u{1a}", "# x\n"] {
        assert!(matches!(read(text), Err(Error::Empty { .. })), "{text:?}");
    }
}

#[test]
fn a_missing_column_lists_those_there() {
    let text = refused("lon,lat,z\n1,2,3\n");
    assert!(text.contains("\"x\"") && text.contains("lon, lat, z"), "{text}");
    let text = refused("x:y:z\n1:2:3\n");
    assert!(text.contains("x:y:z alone") && text.contains('|'), "{text}");
    // The blank belongs to the names, and commas separate.
    let text = refused("x [m],y [m],z [m]\n1,2,3\n");
    assert!(text.contains("\"x\"") && text.contains("x [m], y [m], z [m]"), "{text}");
    let error = read_columns("1,2,3\n", ["lon", "lat", "z"]).unwrap_err().to_string();
    assert!(error.contains("its columns are 1, 2, 3"), "{error}");
}

#[test]
fn classes_are_filtered_and_missing_ones_refused() {
    let ground = Filter { classes: Some(vec![2]), ..Filter::default() };
    let read = |text: &str, filter: &Filter| Table::new(text).read(["x", "y", "z"], filter);
    let cloud = read("x,y,z,Class\n1,2,3,2\n4,5,6,9\n", &ground).unwrap();
    assert_eq!((cloud.x, cloud.class), (vec![1.0], Some(vec![2])));
    assert_eq!(cloud.tally.dropped_class, 1);
    assert!(matches!(read("x,y,z\n1,2,3\n", &ground), Err(Error::NoAttribute { .. })));
    let first = Filter { returns: Returns::First, ..Filter::default() };
    assert!(matches!(read("x,y,z\n", &first), Err(Error::NoAttribute { .. })));
}

#[test]
fn a_number_that_an_error_cuts_short_is_seen_to_be_cut() {
    let long = format!("1{}", "0".repeat(400));
    let error = refused(format!("x,y,z\n{long},2,3\n"));
    assert!(error.contains(&format!("\"1{}...\"", "0".repeat(39))), "{error}");
}

#[test]
fn a_table_without_rows_is_an_empty_cloud() {
    assert!(read("x,y,z\n").unwrap().is_empty());
    assert!(read("x,y,z\n,,\n").unwrap().is_empty());
}

#[test]
fn values_that_mean_none_elsewhere_are_noted() {
    let cloud = read("1 2 -9999\n2 2 5\n3 2 -9999.0\n").unwrap();
    assert_eq!(cloud.len(), 3);
    assert!(cloud.notes[0].contains("-9999: 2"), "{:?}", cloud.notes);
    let cloud = read("1 2 -99999\n2 2 -32768\n3 2 -3.40282e38\n4 2 1.70141E+38\n5 2 5\n").unwrap();
    assert_eq!((cloud.len(), cloud.notes.len()), (5, 4), "{:?}", cloud.notes);
    assert!(
        cloud.notes.iter().all(|note| note.contains(": 1; many programs")),
        "{:?}",
        cloud.notes
    );
    assert_eq!(read("1 2 -9998.9\n2 2 32768\n3 2 3.40282e38\n").unwrap().notes.len(), 0);
}

/// Bytes as they come, and rows of sound ones in which bytes were changed.
#[test]
fn damaged_tables_give_points_or_one_line() {
    let mut random = Random::new(7);
    let mut below = |n: usize| (random.unit() * n as f64) as usize;
    let alphabet = b"0123456789.,;|\t \"\n\r-+eExyz#%/\0\x1A\xEF\xBB\xBF\xF6na='";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.csv");
    let tables = OddTable::all();
    for case in 0..4000 {
        let bytes: Vec<u8> = if case % 2 == 0 {
            (0..below(80)).map(|_| alphabet[below(alphabet.len())]).collect()
        } else {
            let mut bytes = tables[below(tables.len())].write(&[[1.5, 2.5, 3.5], [4.0, 5.0, 6.0]]);
            for _ in 0..1 + below(4) {
                let at = below(bytes.len());
                bytes[at] = alphabet[below(alphabet.len())];
            }
            bytes
        };
        std::fs::write(&path, &bytes).unwrap();
        match read_points(
            Path::new(&path),
            &Filter::default(),
            &CsvColumns::default(),
            &gpu_core::Silent,
        ) {
            Ok(cloud) => assert!(cloud.x.iter().chain(&cloud.z).all(|v| v.is_finite())),
            Err(error) => assert!(!error.to_string().contains(['\n', '\r', '\0']), "{error:?}"),
        }
    }
}

#[test]
fn classes_have_decimal_commas_where_other_numbers_do() {
    let cloud = read("x;y;z;class\n1,5;2,5;3,5;2,00\n1,5;2,5;3,5;6\n").unwrap();
    assert_eq!((cloud.x[0], cloud.class), (1.5, Some(vec![2, 6])));
}
