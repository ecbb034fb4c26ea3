//! Zarr: what is written comes back, also through zarr-python; what other programs write is read; what is damaged is refused.

use std::path::Path;
use std::process::Command;

use geo_io::*;
use serde_json::json;

/// Runs Python with zarr-python 3, and returns what it prints; `None` where that is not installed.
fn python(folder: &Path, code: &str) -> Option<String> {
    let mut command = Command::new("python3");
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/zarr");
    if Path::new(tools).is_dir() {
        command.env("PYTHONPATH", tools);
    }
    let code = format!("import zarr, json, numpy as np\nassert zarr.__version__ >= '3'\n{code}");
    let output = command.current_dir(folder).args(["-c", &code]).output().ok()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && errors.contains("No module named 'zarr'") {
        println!("skipped: zarr-python is not installed");
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn place() -> Georeference {
    let crs = Crs::parse("EPSG:32633").ok();
    Georeference { crs, ..Georeference::north_up((500_000.1, 4e6 + 0.3), (2.5, 5.0)) }
}

fn value(column: usize, row: usize, band: usize) -> f32 {
    match (column + 3 * row) % 17 {
        4 => f32::NAN,
        _ => column as f32 * 0.37 + row as f32 * 100.0 - band as f32 * 1e4,
    }
}

/// Writes bands of such values.
fn write(
    path: &Path,
    (width, height): (u32, u32),
    names: &[&str],
    compression: Compression,
) -> Result<()> {
    let options = TiffOptions { compression, ..Default::default() };
    let mut fill = |first: usize, rows: &mut [f32]| {
        for (i, number) in rows.iter_mut().enumerate() {
            let (cell, band) = (i / names.len(), i % names.len());
            *number = value(cell % width as usize, first + cell / width as usize, band);
        }
        Ok(())
    };
    let bands = Bands { names, nodata: -9999.0 };
    write_zarr_rows(path, &place(), (width, height), &bands, &options, &mut fill)
}

fn expected((width, height): (usize, usize)) -> String {
    let cells = (0..height).flat_map(|row| (0..width).map(move |column| value(column, row, 0)));
    format!("{:?}", ArrayData::F32(cells.collect()))
}

#[test]
fn what_is_written_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.zarr");
    for (size, compression) in [
        ((1, 1), Compression::Deflate),
        ((700, 513), Compression::Deflate),
        ((512, 1030), Compression::Zstd),
        ((31, 40), Compression::None),
    ] {
        write(&path, size, &[""], compression).unwrap();
        let raster = read_raster(&path, None).unwrap();
        let sides = (size.0 as usize, size.1 as usize);
        assert_eq!((raster.width, raster.height), sides);
        assert!(format!("{:?}", raster.values) == expected(sides));
        let found = raster.georeference.unwrap();
        assert_eq!(found.transform, place().transform);
        assert!(found.crs.unwrap().same_as(&place().crs.unwrap()));
        assert!(raster.nodata.unwrap().is_nan() && raster.notes.is_empty());
        let file = ValuesFile::open(&path.join("dem")).unwrap();
        let (rows, columns) = (sides.1 / 3..sides.1, sides.0 / 2..sides.0);
        let window = file.window(rows.clone(), columns.clone()).unwrap();
        let cells = rows.flat_map(|row| columns.clone().map(move |column| value(column, row, 0)));
        assert!(format!("{window:?}") == format!("{:?}", ArrayData::F32(cells.collect())));
        assert_eq!(read_place(&path).unwrap().size, sides);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    let cells: Vec<f32> = (0..35).map(|i| value(i % 7, i / 7, 0)).collect();
    let (bands, options) = (Bands::one(-1.0), TiffOptions::default());
    write_zarr(&path, &place(), (7, 5), &[&cells], &bands, &options).unwrap();
    assert!(format!("{:?}", read_raster(&path, None).unwrap().values) == expected((7, 5)));
    let short = write_zarr(&path, &place(), (7, 6), &[&cells], &bands, &options);
    assert!(matches!(short, Err(Error::Shape { .. })));
    // Without coordinates' grid mapping, their centres say where it lies.
    let at = |name: &str| path.join(name);
    std::fs::remove_dir_all(at("spatial_ref")).unwrap();
    let found = read_raster(&path, None).unwrap().georeference.unwrap().transform;
    let close = |(a, b): (f64, f64)| (a - b).abs() < 1e-6;
    assert!(found.into_iter().zip(place().transform).all(close), "{found:?}");
}

#[test]
fn zarr_python_reads_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (name, size, names, compression) in [
        ("a.zarr", (700, 513), &[""][..], Compression::Deflate),
        ("b.zarr", (30, 20), &["height", "count"], Compression::Zstd),
    ] {
        write(&folder.path().join(name), size, names, compression).unwrap();
        let array = name.trim_end_matches(".zarr");
        let code = format!(
            "g = zarr.open_group('{name}', mode='r')\na = g['{array}']\nv = a[...]\n\
             print(json.dumps([list(v.shape), str(v.dtype), float(np.nansum(v.astype('f8'))), int(np.isnan(v).sum()), \
             list(a.metadata.dimension_names), float(g['x'][0]), float(g['y'][-1]), a.attrs['_CRS']['url']]))"
        );
        let Some(said) = python(folder.path(), &code) else { return };
        let (mut sum, mut missing) = (0.0, 0);
        for band in 0..names.len() {
            for (row, column) in
                (0..size.1).flat_map(|row| (0..size.0).map(move |column| (row, column)))
            {
                let value = value(column as usize, row as usize, band);
                missing += usize::from(value.is_nan());
                sum += if value.is_nan() { 0.0 } else { f64::from(value) };
            }
        }
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let (mut shape, mut axes) = (vec![size.1, size.0], vec!["y", "x"]);
        if names.len() > 1 {
            shape.insert(0, 2);
            axes.insert(0, "band");
        }
        assert_eq!(said[0], json!(shape));
        assert_eq!(
            (&said[1], &said[3], &said[4]),
            (&json!("float32"), &json!(missing), &json!(axes))
        );
        assert!((said[2].as_f64().unwrap() - sum).abs() < 1e-3);
        let bottom = 4e6 + 0.3 - 5.0 * (f64::from(size.1) - 0.5);
        assert_eq!((said[5].as_f64(), said[6].as_f64()), (Some(500_000.1 + 1.25), Some(bottom)));
        assert_eq!(said[7], "http://www.opengis.net/def/crs/EPSG/0/32633");
    }
    let error = read_raster(&folder.path().join("b.zarr"), None).unwrap_err().to_string();
    assert!(error.contains("this array has 2"), "{error}");
}

#[test]
fn what_zarr_python_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let code = "
from zarr.codecs import *
kinds = ['bool', 'u1', 'i1', 'u2', 'i2', 'u4', 'i4', 'u8', 'i8', 'f2', 'f4', 'f8']
codecs = [[], [GzipCodec()], [ZstdCodec(level=3)], [ZstdCodec(), Crc32cCodec()]]
for i, kind in enumerate(kinds):
    v = (np.arange(35).reshape(5, 7) % 2 if kind == 'bool' else np.arange(35).reshape(5, 7) * 3).astype(kind)
    a = zarr.create_array(store=f'{kind}.zarr', shape=(5, 7), chunks=(2, 3), dtype=('>' if i % 2 and i > 2 else '') + kind,
        compressors=codecs[i % 4] or None, fill_value=0, chunk_key_encoding={'name': 'v2', 'separator': '.'} if i % 3 == 0 else None)
    a[:4] = v[:4]
g = zarr.create_group('group.zarr')
a = g.create_array('t', shape=(1, 4, 3), chunks=(1, 3, 3), dtype='i2', fill_value=-5, dimension_names=['time', 'lat', 'lon'],
    attributes={'_CRS': {'url': 'http://www.opengis.net/def/crs/EPSG/0/4326'}})
a[0, :2] = [[1, 2, 3], [4, -5, 6]]
for name, values in [('lat', [10, 9.5, 9, 8.5]), ('lon', [20, 20.25, 20.5])]:
    g.create_array(name, shape=(len(values),), dtype='f8', chunks=(2,), dimension_names=[name])[:] = values
zarr.create_array(store='blosc.zarr', shape=(4, 4), chunks=(2, 2), dtype='f4', compressors=BloscCodec())[:] = 1
zarr.create_array(store='old.zarr', shape=(4, 4), chunks=(2, 2), dtype='f4', zarr_format=2)[:] = 1
zarr.create_array(store='bits.zarr', shape=(2, 2), chunks=(2, 2), dtype='f4', fill_value=float('inf'))
print('written')";
    if python(folder.path(), code).is_none() {
        return;
    }
    let read = |name: &str| read_raster(&folder.path().join(name), None);
    for kind in ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"] {
        let raster = read(&format!("{kind}.zarr")).unwrap_or_else(|e| panic!("{kind}: {e}"));
        let value = |i: u32| {
            if kind == "bool" { i % 2 } else { (i * 3) % if kind == "i1" { 128 } else { 256 } }
        };
        // The last row's chunks have it, as they hold the row before.
        let expected: Vec<f64> =
            (0..35).map(|i| if i < 28 { value(i).into() } else { 0.0 }).collect();
        assert_eq!(raster.values.to_floats(None), expected, "{kind}");
        assert_eq!((raster.nodata, raster.georeference), (None, None), "{kind}");
    }
    let raster = read("group.zarr").unwrap();
    assert_eq!(raster.values, ArrayData::I16(vec![1, 2, 3, 4, -5, 6, -5, -5, -5, -5, -5, -5]));
    assert_eq!(raster.nodata, Some(Number::from(-5)));
    let found = raster.georeference.unwrap();
    assert_eq!(found.transform, [19.875, 0.25, 0.0, 10.25, 0.0, -0.5]);
    assert_eq!(found.crs.unwrap().epsg(), Some(4326));
    let mask = read_mask(&folder.path().join("group.zarr/t"), &SiteValues::default()).unwrap();
    assert_eq!((mask.without_value, mask.sites[0]), (7, 1));
    assert_eq!(read("bits.zarr").unwrap().values.to_floats(None), [f64::INFINITY; 4]);
    for (name, what) in [
        ("blosc.zarr", "codec is \"blosc\": geo-io reads bytes"),
        ("old.zarr", "it is Zarr of version 2"),
        ("group.zarr/lat", "this array has 1"),
        ("none.zarr", "zarr.json"),
    ] {
        let error = read(name).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains(name) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn shards_of_zarr_python_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let code = "
from zarr.codecs import *
from zarr.core.array import ShardsConfigParam
v = np.arange(23 * 31, dtype='f4').reshape(23, 31)
inner = [[], [GzipCodec()], [ZstdCodec(), Crc32cCodec()]]
for i in range(6):
    shards = {'shape': (8, 12), 'index_location': ['end', 'start'][i % 2]}
    a = zarr.create_array(store=f's{i}.zarr', shape=v.shape, chunks=(4, 3), shards=shards, dtype='>f4' if i > 2 else 'f4',
        compressors=inner[i % 3] or None, fill_value=-1)
    a[:] = v
    a[8:16, 12:24] = -1 # a shard that is not there
    a[0:4, 0:3] = -1 # and a chunk
g = zarr.create_group('g.zarr')
a = g.create_array('t', shape=(1, 4, 6), chunks=(1, 2, 2), shards=(1, 4, 4), dtype='i2', dimension_names=['time', 'y', 'x'])
a[:] = np.arange(24).reshape(1, 4, 6)
for name, n in [('y', 4), ('x', 6)]:
    g.create_array(name, shape=(n,), dtype='f8', chunks=(2,), shards=(4,), dimension_names=[name])[:] = np.arange(n) * (2 if name == 'x' else -2)
print('written')";
    if python(folder.path(), code).is_none() {
        return;
    }
    let is_missing = |row: usize, column: usize| {
        (8..16).contains(&row) && (12..24).contains(&column) || row < 4 && column < 3
    };
    let value =
        |(row, column)| if is_missing(row, column) { -1.0 } else { (row * 31 + column) as f32 };
    let cells = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        let cells = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        ArrayData::F32(cells.map(value).collect())
    };
    for i in 0..6 {
        let path = folder.path().join(format!("s{i}.zarr"));
        assert_eq!(read_raster(&path, None).unwrap().values, cells(0..23, 0..31), "{i}");
        let file = ValuesFile::open(&path).unwrap();
        for (rows, columns) in [(3..23, 11..13), (7..9, 0..31), (22..23, 30..31), (5..5, 0..9)] {
            let window = file.window(rows.clone(), columns.clone()).unwrap();
            assert_eq!(window, cells(rows, columns), "{i}");
        }
    }
    let raster = read_raster(&folder.path().join("g.zarr"), None).unwrap();
    assert_eq!(raster.values, ArrayData::I16((0..24).collect()));
    assert_eq!(raster.georeference.unwrap().transform, [-1.0, 2.0, 0.0, 1.0, 0.0, -2.0]);
}

/// A shard of 2 x 2 chunks of 2 x 2 bytes, of which one is missing, by the text of the specification.
fn shard(folder: &Path, codec: serde_json::Value, index: &[[u64; 2]]) -> std::path::PathBuf {
    let mut about = json!({"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2],
        "codecs": [{"name": "bytes"}], "index_location": "start",
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}});
    for (name, value) in codec.as_object().unwrap() {
        about["configuration"][name] = value.clone();
    }
    let grid = json!({"name": "regular", "configuration": {"chunk_shape": [4, 4]}});
    let path = array(folder, &[("chunk_grid", grid), ("codecs", json!([about]))]);
    let index = index.iter().flatten().flat_map(|number| number.to_le_bytes());
    let bytes: Vec<u8> = index.chain(1..=12).collect();
    std::fs::write(path.join("c/0/0"), bytes).unwrap();
    path
}

#[test]
fn shards_that_are_damaged_or_odd_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let missing = [u64::MAX; 2];
    let good = [[72, 4], missing, [64, 4], [68, 4]];
    let path = shard(folder.path(), json!({}), &good);
    let expected = vec![9, 10, 9, 9, 11, 12, 9, 9, 1, 2, 5, 6, 3, 4, 7, 8];
    assert_eq!(read_raster(&path, None).unwrap().values, ArrayData::U8(expected));
    let none = json!([{"name": "bytes"}, {"name": "crc32c"}]);
    for (codec, index, what) in [
        (
            json!({}),
            &[[73, 4], missing, [64, 4], [68, 4]][..],
            "chunk [0, 0] from byte 73 on, 4 long, and it has 76",
        ),
        (json!({}), &[[64, 4], [u64::MAX, 4], missing, missing], "chunk [0, 1]"),
        (json!({}), &[[64, 4], [4, u64::MAX], missing, missing], "chunk [0, 1]"),
        (json!({}), &[[64, 3], missing, missing, missing], "it has 3 bytes, not 4"),
        (json!({}), &good[..2], "its index needs 64 bytes, and it has 44"),
        (json!({"index_codecs": none}), &good, "its index: its checksum"),
        (json!({"index_location": "end"}), &good, "chunk [0, 0]"),
        (json!({"index_location": "middle"}), &good, "\"middle\""),
        (
            json!({"index_codecs": [{"name": "bytes"}, {"name": "gzip"}]}),
            &good,
            "its codecs pack the index of its shards",
        ),
        (
            json!({"codecs": [{"name": "sharding_indexed"}]}),
            &good,
            "\"sharding_indexed\": geo-io reads bytes",
        ),
        (
            json!({"codecs": [{"name": "bytes"}, {"name": "blosc"}]}),
            &good,
            "\"blosc\": geo-io reads bytes",
        ),
        (json!({"chunk_shape": [3, 2]}), &good, "do not divide its shards"),
        (json!({"chunk_shape": [0, 2]}), &good, "do not divide its shards"),
        (json!({"chunk_shape": [2]}), &good, "do not divide its shards"),
        (json!({"chunk_shape": null}), &good, "is not a list"),
    ] {
        let path = shard(folder.path(), codec, index);
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(
            error.contains(what) && error.contains("a.zarr") && !error.contains('\n'),
            "{what}: {error}"
        );
    }
    // An index longer than any file.
    let side = 1u64 << 40;
    let large = json!({"name": "regular", "configuration": {"chunk_shape": [side, side]}});
    shard(folder.path(), json!({}), &good);
    let json = std::fs::read(path.join("zarr.json")).unwrap();
    let mut about: serde_json::Value = serde_json::from_slice(&json).unwrap();
    about["chunk_grid"] = large;
    std::fs::write(path.join("zarr.json"), about.to_string()).unwrap();
    let error = read_raster(&path, None).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
}

/// An array of 4 x 4 bytes in chunks of 2 x 2, of which some fields are others.
fn array(folder: &Path, fields: &[(&str, serde_json::Value)]) -> std::path::PathBuf {
    let path = folder.join("a.zarr");
    let mut about = json!({"zarr_format": 3, "node_type": "array", "shape": [4, 4], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 9, "codecs": [{"name": "bytes"}]});
    for (name, value) in fields {
        about[*name] = value.clone();
    }
    std::fs::create_dir_all(path.join("c/0")).unwrap();
    std::fs::write(path.join("zarr.json"), about.to_string()).unwrap();
    std::fs::write(path.join("c/0/1"), [1, 2, 3, 4]).unwrap();
    path
}

#[test]
fn nodata_of_attributes_is_a_number_a_list_of_one_or_what_xarray_writes_of_floats() {
    let folder = tempfile::tempdir().unwrap();
    // xarray 2024.11 and later, format 3: base64.standard_b64encode(struct.pack("<d", -9999)).
    let packed = "AAAAAICHw8A=";
    let read = |kind: &str, attributes: serde_json::Value| {
        let fields =
            [("data_type", json!(kind)), ("fill_value", json!(0)), ("attributes", attributes)];
        let path = array(folder.path(), &fields);
        std::fs::remove_file(path.join("c/0/1")).unwrap();
        read_raster(&path, None).unwrap()
    };
    for (kind, value, expected) in [
        ("float32", json!(packed), Some(-9999.0)),
        ("float64", json!(packed), Some(-9999.0)),
        ("float16", json!("AAAAAAAAJMA="), Some(-10.0)),
        // 0.1, which an array of f32 has as its nearest value.
        ("float32", json!("mpmZmZmZuT8="), Some(f64::from(0.1_f32))),
        ("float32", json!([-9999.0]), Some(-9999.0)),
        ("int16", json!([-9999]), Some(-9999.0)),
        ("uint8", json!(7), Some(7.0)),
        // Beyond the type: no cell has it.
        ("uint8", json!(-9999), None),
    ] {
        let raster = read(kind, json!({"_FillValue": value}));
        assert_eq!(raster.nodata.map(Number::to_f64), expected, "{kind} {value}");
        assert_eq!(raster.notes, [""; 0], "{kind} {value}");
    }
    for (kind, value) in
        [("uint8", json!(packed)), ("float32", json!("none")), ("int16", json!([1, 2]))]
    {
        let raster = read(kind, json!({"missing_value": value}));
        assert_eq!(raster.nodata, None);
        assert!(raster.notes[0].contains("its missing_value"), "{:?}", raster.notes);
    }
}

#[test]
fn odd_arrays_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = array(folder.path(), &[]);
    let expected = vec![9, 9, 1, 2, 9, 9, 3, 4, 9, 9, 9, 9, 9, 9, 9, 9];
    assert_eq!(read_raster(&path, None).unwrap().values, ArrayData::U8(expected));
    for (field, value, what) in [
        ("zarr_format", json!(4), "zarr_format is not 3"),
        ("node_type", json!("other"), "neither an array nor a group"),
        ("node_type", json!("group"), "no array of two dimensions"),
        ("shape", json!([4]), "do not divide its shape"),
        ("shape", json!([-4, 4]), "shape is not a list"),
        ("data_type", json!("complex64"), "is \"complex64\": geo-io reads"),
        ("data_type", json!({"name": "numpy.datetime64"}), "geo-io reads integers and floats"),
        (
            "chunk_grid",
            json!({"name": "rectangular"}),
            "is \"rectangular\": geo-io reads regular ones",
        ),
        (
            "chunk_grid",
            json!({"name": "regular", "configuration": {"chunk_shape": [0, 2]}}),
            "do not divide",
        ),
        ("fill_value", json!(256), "its fill_value 256 does not fit u8"),
        ("fill_value", json!(null), "its fill_value null"),
        ("codecs", json!([]), "lack the codec `bytes`"),
        ("codecs", json!([{"name": "transpose"}, {"name": "bytes"}]), "\"transpose\""),
        ("codecs", json!([{"name": "bytes"}, {"name": "gzip"}]), "c/0/1"),
        ("chunk_key_encoding", json!({"name": "other"}), "\"other\""),
        (
            "chunk_key_encoding",
            json!({"name": "default", "configuration": {"separator": "../"}}),
            "\"../\"",
        ),
        ("storage_transformers", json!([{"name": "a"}]), "storage transformers"),
        (
            "chunk_grid",
            json!({"name": "regular", "configuration": {"chunk_shape": [2, 3]}}),
            "it has 4 bytes, not 6",
        ),
    ] {
        let path = array(folder.path(), &[(field, value)]);
        let error = read_raster(&path, None).unwrap_err().to_string();
        assert!(
            error.contains(what) && error.contains("a.zarr") && !error.contains('\n'),
            "{what}: {error}"
        );
    }
    // Sizes that nobody has memory for.
    let grid =
        json!({"name": "regular", "configuration": {"chunk_shape": [1u64 << 40, 1u64 << 40]}});
    for (field, value) in [("shape", json!([i32::MAX, i32::MAX])), ("chunk_grid", grid)] {
        let error = read_raster(&array(folder.path(), &[(field, value)]), None).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
    std::fs::write(path.join("zarr.json"), "{").unwrap();
    assert!(read_raster(&path, None).unwrap_err().to_string().contains("zarr.json"));
}

#[test]
fn a_store_is_the_old_one_until_all_of_the_new_one_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.zarr");
    let replace = |existing| Output { path: &path, existing };
    let bands = Bands::one(-9999.0);
    let mut one = |_: usize, rows: &mut [f32]| {
        rows.fill(1.0);
        Ok(())
    };
    let options = TiffOptions::default();
    let write = |output: Output, fill: &mut FillRows| {
        write_zarr_rows(output, &place(), (600, 600), &bands, &options, fill)
    };
    write(replace(Existing::Refuse), &mut one).unwrap();
    let failing =
        &mut |first: usize, _: &mut [f32]| if first > 0 { Err(Error::Cancelled) } else { Ok(()) };
    assert!(matches!(write(replace(Existing::Replace), failing), Err(Error::Cancelled)));
    assert!(matches!(write(replace(Existing::Refuse), &mut one), Err(Error::Exists { .. })));
    assert!(matches!(check_output(replace(Existing::Refuse)), Err(Error::Exists { .. })));
    check_output(replace(Existing::Replace)).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let values = read_raster(&path, None).unwrap().values;
    assert_eq!(values, ArrayData::F32(vec![1.0; 360_000]));
    let other = folder.path().join("mine.zarr");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter.txt"), "dear").unwrap();
    let error = check_output(&other).unwrap_err().to_string();
    assert!(error.contains("not a Zarr store") && other.join("letter.txt").is_file(), "{error}");
    // A store of one raster is replaced, but not what lies beside its arrays, nor a group of several.
    for (name, text, is_said) in [
        ("notes.txt", "dear", "notes.txt"),
        ("dem/notes.txt", "dear", "dem/notes.txt"),
        ("more/zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#, "more"),
        (
            "b/zarr.json",
            r#"{"zarr_format": 3, "node_type": "array", "shape": [2, 2]}"#,
            "several rasters",
        ),
    ] {
        let more = path.join(name);
        std::fs::create_dir_all(more.parent().unwrap()).unwrap();
        std::fs::write(&more, text).unwrap();
        let error = write(replace(Existing::Replace), &mut one).unwrap_err().to_string();
        assert!(error.contains(is_said) && more.is_file(), "{name}: {error}");
        std::fs::remove_file(&more).unwrap();
        drop(std::fs::remove_dir(more.parent().unwrap()));
    }
    // A killed program leaves unfinished files, which belong to the store.
    for left in [".0123456789abcdef.part", "dem/.0123456789abcdef.part"] {
        std::fs::write(path.join(left), "half").unwrap();
    }
    write(replace(Existing::Replace), &mut one).unwrap();
    std::fs::write(other.join("zarr.json"), "{}").unwrap();
    let error = check_output(&other).unwrap_err().to_string();
    assert!(error.contains("not a Zarr store of one raster"), "{error}");
    let nowhere = folder.path().join("none/a.zarr");
    assert!(matches!(check_output(&nowhere), Err(Error::NoFolder { .. })));
}

#[test]
fn tiles_beside_each_other_make_the_store_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.zarr");
    let (width, height) = (100_u32, 70_u32);
    let tiles = ZarrTiles::new(&path, &place(), (width, height), &[""], (16, 16)).unwrap();
    let parts = [[0, 0, 48, 32], [48, 0, 52, 32], [0, 32, 48, 38], [48, 32, 52, 38]];
    let files: Vec<_> = parts.iter().flat_map(|&part| tiles.files(part)).collect();
    assert!(files.len() == 7 * 5 && !tiles.has_begun());
    std::thread::scope(|scope| {
        for part in parts {
            let tiles = &tiles;
            scope.spawn(move || {
                let [left, top, wide, tall] = part;
                let cells = (top..top + tall)
                    .flat_map(|row| (left..left + wide).map(move |column| (column, row)));
                let values: Vec<f32> =
                    cells.map(|(column, row)| value(column as usize, row as usize, 0)).collect();
                tiles.begin().unwrap();
                tiles.write(0, part, &values).unwrap();
            });
        }
    });
    assert!(files.iter().all(|file| file.is_file()) && tiles.has_begun());
    let raster = read_raster(&path, None).unwrap();
    assert!(format!("{:?}", raster.values) == expected((100, 70)));
    assert_eq!(raster.georeference.unwrap().transform, place().transform);
    assert!(matches!(tiles.write(0, [8, 0, 16, 16], &[0.0; 256]), Err(Error::BadValue { .. })));
    assert!(matches!(tiles.write(0, [0, 0, 16, 16], &[0.0; 255]), Err(Error::Shape { .. })));
    let other = ZarrTiles::new(&path, &place(), (101, 70), &[""], (16, 16)).unwrap();
    assert!(matches!(other.begin(), Err(Error::Differs { .. })));
}

/// Writers leave out chunks of fill values alone: so a coordinate may be missing, and two may not.
#[test]
fn coordinates_take_no_more_time_than_their_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("a.zarr");
    let write = |name: &str, side: u64, chunks: &[(u64, u8)]| {
        let about = json!({"zarr_format": 3, "node_type": "array", "shape": [side], "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]});
        let array = store.join(name);
        std::fs::create_dir_all(array.join("c")).unwrap();
        std::fs::write(array.join("zarr.json"), about.to_string()).unwrap();
        for (place, value) in chunks {
            std::fs::write(array.join(format!("c/{place}")), [*value]).unwrap();
        }
    };
    let raster = |side: u64| {
        let fields = [("shape", json!([3, side])), ("dimension_names", json!(["y", "x"]))];
        let made = array(folder.path(), &fields);
        std::fs::create_dir_all(store.join("dem")).unwrap();
        std::fs::rename(made.join("zarr.json"), store.join("dem/zarr.json")).unwrap();
        std::fs::write(store.join("zarr.json"), r#"{"zarr_format":3,"node_type":"group"}"#)
            .unwrap();
    };
    write("x", 3, &[(1, 10), (2, 20)]);
    write("y", 3, &[(0, 4), (1, 2)]);
    raster(3);
    let place = read_place(&store).unwrap().georeference.unwrap();
    assert_eq!(place.transform, [-5.0, 10.0, 0.0, 5.0, 0.0, -2.0]);
    write("x", 1 << 26, &[]);
    raster(1 << 26);
    let begun = std::time::Instant::now();
    let place = read_place(&store).unwrap();
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    assert_eq!(place.georeference, None);
    assert!(place.notes[0].contains("not evenly spaced"), "{:?}", place.notes);
}
