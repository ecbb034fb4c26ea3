//! Writes the corpus that fuzzing begins with: a few small inputs of each reader, made by Tessera's own writers and by
//! hand. `seeds FOLDER` makes a folder in it for each target.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use ccq_tree::Cell;
use geo_io::{
    Bands, BinSpec, BinWriter, Cells, Compression, Crs, Georeference, LasPoints, Shape, TiffOptions,
};
use gpu_core::{Bounds, Device, Grid, GridSpec, Points};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// The folders of the corpus.
struct Corpus(PathBuf);

impl Corpus {
    /// Adds an input to the corpus of a target.
    fn add(&self, target: &str, name: &str, bytes: &[u8]) -> Result {
        let folder = self.0.join(target);
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join(name), bytes)?)
    }

    /// Adds an input that `write` writes. Before it stands the byte by which a target of several formats tells them
    /// apart.
    fn add_file(
        &self,
        target: &str,
        name: &str,
        kind: Option<u8>,
        write: impl FnOnce(&Path) -> Result,
    ) -> Result {
        let path = tessera_fuzz::empty_folder("seed").join(name);
        write(&path)?;
        let mut bytes: Vec<u8> = kind.into_iter().collect();
        bytes.extend(fs::read(path)?);
        self.add(target, name, &bytes)
    }
}

fn main() -> Result {
    let folder = std::env::args_os().nth(1).ok_or("seeds FOLDER")?;
    let corpus = Corpus(folder.into());
    points(&corpus)?;
    tables(&corpus)?;
    features(&corpus)?;
    rasters(&corpus)?;
    grids(&corpus)?;
    stores(&corpus)?;
    texts(&corpus)?;
    trees(&corpus)?;
    Ok(())
}

/// LAS and LAZ with and without a system.
fn points(corpus: &Corpus) -> Result {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i % 7) * 3.25).collect();
    let y: Vec<f64> = (0..40).map(|i| f64::from(i / 7) * 2.5).collect();
    let points = LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    let utm = Crs::parse("EPSG:32632")?;
    for (name, kind, crs) in [
        ("plain.las", 0, None),
        ("utm.las", 0, Some(&utm)),
        ("plain.laz", 1, None),
        ("utm.laz", 1, Some(&utm)),
    ] {
        let write = |path: &Path| Ok(geo_io::write_las(path, &points, crs)?);
        corpus.add_file("las", name, Some(kind), write)?;
    }
    // All fields of a chunk.
    corpus.add_file("laz_chunks", "plain.laz", Some(15), |path| {
        Ok(geo_io::write_las(path, &points, None)?)
    })?;
    corpus.add_file("bins", "0.points", None, |path| {
        let folder = path.parent().ok_or("a folder")?;
        let ground = Bounds { min_x: 0.0, min_y: 0.0, max_x: 20.0, max_y: 20.0 };
        let mut bins = BinWriter::open(folder, &BinSpec::new("fuzz", ground, 40), 1 << 20)?;
        bins.push(&x, &y, &[&x])?;
        Ok(bins.finish()?)
    })
}

/// Tables with every separator.
fn tables(corpus: &Corpus) -> Result {
    let texts: [(&str, &str); 8] = [
        ("names.csv", "x,y,z\n1,2,3\n4,5.5,6e3\n"),
        ("semicolons.csv", "x;y;z;class\r\n1,5;2;3;2\r\n4;5;6;6\r\n"),
        ("blanks.xyz", "1 2 3\n4  5 6 \n\n7\t8 9\n"),
        ("tabs.txt", "# a comment\nx\ty\tz\n1\t2\t3\n"),
        ("quotes.csv", "\"x\",\"y\",\"z, m\",z\n1,2,\"a\",3\n"),
        ("marked.csv", "\u{feff}//X Y Z\n1 2 3\n"),
        ("numbers.csv", "7,2013.1,1016.2,81.6,GRD\n8,2014.1,1017.2,82.6,GRD\n"),
        ("pipes.csv", "x|y|z\n1|2|3\n"),
    ];
    for (i, (name, text)) in texts.iter().enumerate() {
        corpus.add("table", name, &[&[i as u8], text.as_bytes()].concat())?;
    }
    Ok(())
}

/// TIFF, PNG, NPY and NPZ.
fn rasters(corpus: &Corpus) -> Result {
    let values: Vec<f32> =
        (0..20 * 12).map(|i| if i % 9 == 0 { f32::NAN } else { i as f32 * 0.1 }).collect();
    let grid = GridSpec::new(500_000.0, 4_000_000.0, 30.0, 20, 12)?;
    let place = Georeference::of_grid(&grid, Some(&Crs::parse("EPSG:32633")?));
    for (name, compression, cloud_optimised) in [
        ("deflate.tif", Compression::default(), false),
        ("plain.tif", Compression::None, false),
        ("cog.tif", Compression::default(), true),
    ] {
        let options = TiffOptions { compression, cloud_optimised, ..TiffOptions::default() };
        let cells = Cells::Values { values: &values, nodata: -9999.0 };
        corpus.add_file("tiff", name, None, |path| {
            Ok(geo_io::write_tiff(path, &place, (20, 12), cells, &options)?)
        })?;
    }
    let bytes: Vec<u8> = (0..20 * 12).map(|i| (i * 7 % 256) as u8).collect();
    corpus.add_file("tiff", "grey.tif", None, |path| {
        Ok(geo_io::write_tiff(
            path,
            &place,
            (20, 12),
            Cells::Grey(&bytes),
            &TiffOptions::default(),
        )?)
    })?;
    let pixels: Vec<[u8; 4]> = bytes.iter().map(|&b| [b, 255 - b, b / 2, 255]).collect();
    corpus.add_file("png", "colours.png", None, |path| {
        Ok(geo_io::write_colours(path, &pixels, 20, 12)?)
    })?;
    corpus.add_file("png", "picture.png", None, |path| {
        Ok(geo_io::write_picture(path, &values, 20, 12)?)
    })?;
    corpus
        .add_file("npy", "f4.npy", Some(0), |path| Ok(geo_io::write_npy(path, &values, 20, 12)?))?;
    corpus
        .add_file("npy", "u1.npy", Some(0), |path| Ok(geo_io::write_npy(path, &bytes, 12, 20)?))?;
    let path = tessera_fuzz::empty_folder("seed").join("member.npy");
    geo_io::write_npy(path.as_path(), &bytes, 20, 12)?;
    corpus.add("npy", "stored.npz", &[&[1][..], &stored("mask.npy", &fs::read(path)?)].concat())
}

/// ASCII grids, and virtual rasters of the target's sources.
fn grids(corpus: &Corpus) -> Result {
    let place = "ncols 3\nnrows 2\nxllcorner 10\nyllcorner 20\ncellsize 5\n";
    for (name, text) in [
        ("integers.asc", format!("{place}NODATA_value -9999\n1 2 3\n4 5 -9999\n")),
        ("floats.asc", format!("{place}NODATA_value -3.4e38\r\n1,5 2e3 3\r\nnan 5 -3.4e38\r\n")),
        ("centre.asc", "dx 1 dy 2 XLLCENTER 0 YLLCENTER 0 NROWS 1 NCOLS 2 5000000000 1".to_owned()),
        ("few.asc", format!("{place}1 2 3\n4 5\n")),
    ] {
        corpus.add("asc", name, text.as_bytes())?;
    }
    let source = |kind: &str, file: &str, inner: &str| {
        format!(
            "<{kind}><SourceFilename relativeToVRT=\"1\">{file}</SourceFilename><SourceBand>1</SourceBand>{inner}</{kind}>"
        )
    };
    let part = "<SrcRect xOff=\"1\" yOff=\"2\" xSize=\"9\" ySize=\"7\"/><DstRect xOff=\"3\" yOff=\"0\" xSize=\"9\" ySize=\"7\"/>";
    let scaled = "<NODATA>7</NODATA><ScaleRatio>0.5</ScaleRatio><ScaleOffset>-3</ScaleOffset>";
    let array = source("SimpleSource", "source.npy", part);
    for (name, kind, sources) in [
        ("simple.vrt", "Byte", array.clone()),
        ("complex.vrt", "Float32", source("ComplexSource", "source.npy", &[part, scaled].concat())),
        ("two.vrt", "Int16", array + &source("SimpleSource", "source.asc", "")),
        ("own.vrt", "Byte", source("SimpleSource", "input.vrt", "")),
    ] {
        let text = format!(
            "<VRTDataset rasterXSize=\"20\" rasterYSize=\"12\"><SRS>EPSG:32633</SRS><GeoTransform>1, 2, 0, 3, 0, -4</GeoTransform>\
             <VRTRasterBand dataType=\"{kind}\" band=\"1\"><NoDataValue>0</NoDataValue>{sources}</VRTRasterBand></VRTDataset>"
        );
        corpus.add("vrt", name, text.as_bytes())?;
    }
    Ok(())
}

/// The metadata of a group.
const GROUP: &[u8] = br#"{"zarr_format":3,"node_type":"group"}"#;

/// Zarr stores by every codec, and shards by the text of the specification.
fn stores(corpus: &Corpus) -> Result {
    let values: Vec<f32> = (0..7 * 5).map(|i| i as f32 * 0.5).collect();
    let grid = GridSpec::new(500_000.0, 4_000_000.0, 30.0, 7, 5)?;
    let place = Georeference::of_grid(&grid, Some(&Crs::parse("EPSG:32633")?));
    for (name, compression) in
        [("gzip", Compression::Deflate), ("zstd", Compression::Zstd), ("plain", Compression::None)]
    {
        let store = tessera_fuzz::empty_folder("seed").join("dem.zarr");
        let options = TiffOptions { compression, ..TiffOptions::default() };
        let bands = Bands::one(-1.0);
        geo_io::write_zarr(store.as_path(), &place, (7, 5), &[&values], &bands, &options)?;
        let mut files = Vec::new();
        for (number, file) in tessera_fuzz::ZARR_FILES.iter().enumerate() {
            if let Ok(bytes) = fs::read(store.join(file)) {
                files.push((number as u8, bytes));
            }
        }
        let parts = files.iter().map(|(number, bytes)| (*number, &bytes[..]));
        corpus.add("zarr", name, &tessera_fuzz::join_zarr(parts))?;
    }
    let about = |sides: &str, chunk: &str, codecs: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{sides},"data_type":"uint8","fill_value":7,
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk}}}}},"codecs":[{codecs}],
            "chunk_key_encoding":{{"name":"default"}},"dimension_names":["y","x"],"attributes":{{"_CRS":{{"url":"EPSG:32633"}}}}}}"#
        )
    };
    let bytes = r#"{"name":"bytes"}"#;
    let shards = |place: &str| {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2,2],"codecs":[{bytes}],"index_codecs":[{bytes}],
            "index_location":"{place}"}}}}"#
        )
    };
    // Two of four chunks are there, of which one lies across the edge.
    let index = |first: u64| {
        let places = [[first, 4], [u64::MAX; 2], [u64::MAX; 2], [first + 4, 4]];
        places.as_flattened().iter().flat_map(|place| place.to_le_bytes()).collect::<Vec<u8>>()
    };
    let axis = about("[3]", "[2]", bytes).replace("\"y\",", "");
    for (place, shard) in [
        ("end", [&(1..=8).collect::<Vec<u8>>()[..], &index(0)].concat()),
        ("start", [&index(64)[..], &(1..=8).collect::<Vec<u8>>()].concat()),
    ] {
        let array = about("[3,3]", "[4,4]", &shards(place));
        let files: [(u8, &[u8]); 8] = [
            (1, array.as_bytes()),
            (0, GROUP),
            (2, &shard),
            (10, axis.as_bytes()),
            (11, &[2, 4]),
            (12, &[6, 8]),
            (13, axis.as_bytes()),
            (14, &[9, 8]),
        ];
        corpus.add("zarr", &format!("shard_{place}"), &tessera_fuzz::join_zarr(files))?;
    }
    let planes = about("[1,2,2]", "[1,2,2]", bytes);
    let files: [(u8, &[u8]); 3] = [(0, GROUP), (1, planes.as_bytes()), (6, &[1, 2, 3, 4])];
    corpus.add("zarr", "planes", &tessera_fuzz::join_zarr(files))
}

/// Writes tables with geometries. Files in formats that Tessera does not write are made by hand.
fn features(corpus: &Corpus) -> Result {
    let line = vec![[1.0, 2.0], [3.5, 4.25], [0.0, 9.0]];
    let ring = vec![[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 0.0]];
    let utm = Crs::parse("EPSG:32632")?;
    let shapes = [
        Shape::Points(vec![[1.5, 2.0]]),
        Shape::Lines(vec![line.clone()]),
        Shape::Polygons(vec![vec![ring.clone()], vec![ring]]),
        Shape::Several(vec![Shape::Points(line.clone())]),
    ];
    for (i, shape) in shapes.into_iter().enumerate() {
        let row = [(vec![("a", 1.5), ("b", 2.0)], shape)];
        corpus.add_file("parquet", &format!("{i}.parquet"), None, |path| {
            Ok(geo_io::write_geoparquet_features(path, row, Some(&utm))?)
        })?;
    }
    corpus.add_file("flatgeobuf", "lines.fgb", None, |path| {
        Ok(geo_io::write_flatgeobuf(path, [Ok((1.5, &line[..]))], Some(&utm))?)
    })?;
    let vertices = [[0.0, 0.0, 1.5], [4.0, 0.0, 2.0], [4.0, 4.0, 2.5]];
    corpus.add_file("flatgeobuf", "mesh.fgb", None, |path| {
        Ok(geo_io::write_flatgeobuf_mesh(path, &vertices, &[[0, 1, 2]], None)?)
    })?;
    corpus.add_file("geopackage", "points.gpkg", None, geopackage)?;
    corpus.add("shapefile", "point", &shapefile())
}

/// Writes a GeoPackage of a point and a row without geometry.
fn geopackage(path: &Path) -> Result {
    let file = rusqlite::Connection::open(path)?;
    file.execute_batch(
        "PRAGMA page_size = 512;
         CREATE TABLE gpkg_spatial_ref_sys (srs_id, organization, organization_coordsys_id, definition);
         INSERT INTO gpkg_spatial_ref_sys VALUES (32632, 'EPSG', 32632, '');
         CREATE TABLE gpkg_contents (table_name, data_type);
         INSERT INTO gpkg_contents VALUES ('t', 'features');
         CREATE TABLE gpkg_geometry_columns (table_name, column_name, srs_id);
         INSERT INTO gpkg_geometry_columns VALUES ('t', 'geom', 32632);
         CREATE TABLE t (fid INTEGER PRIMARY KEY, geom BLOB, z REAL, name TEXT);
         INSERT INTO t VALUES (2, NULL, 2.5, 'two');",
    )?;
    let places = [1.5_f64, 2.0].map(f64::to_le_bytes).concat();
    let blob = [&b"GP\0\x01\0\0\0\0\x01\x01\0\0\0"[..], &places].concat();
    file.execute("INSERT INTO t VALUES (1, ?1, 1.5, 'one')", [blob])?;
    Ok(())
}

/// A shapefile of a point with one field, as its target divides it.
fn shapefile() -> Vec<u8> {
    let content = [&1_u32.to_le_bytes()[..], &[0; 16]].concat();
    let record = [&1_u32.to_be_bytes()[..], &10_u32.to_be_bytes(), &content].concat();
    let words = ((100 + record.len()) / 2) as u32;
    let head = [&9994_u32.to_be_bytes()[..], &[0; 20], &words.to_be_bytes()].concat();
    let about = [&1000_u32.to_le_bytes()[..], &1_u32.to_le_bytes(), &[0; 64]].concat();
    let shapes = [head, about, record].concat();
    let descriptor = [b"value\0\0\0\0\0\0N\0\0\0\0\x04\x01".as_slice(), &[0; 14]].concat();
    let head = [&[3, 0, 0, 0, 1, 0, 0, 0, 65, 0, 5, 0][..], &[0; 20]].concat();
    let fields = [&head[..], &descriptor, b"\r", b"  1.5"].concat();
    [&(shapes.len() as u16).to_le_bytes()[..], &shapes, &fields].concat()
}

/// Returns a ZIP archive of one member that is not packed.
fn stored(name: &str, bytes: &[u8]) -> Vec<u8> {
    let (sum, length) = (crc32fast::hash(bytes).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    let about = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &sum,
        &length,
        &length,
        &[name.len() as u8, 0, 0, 0],
    ]
    .concat();
    let member = [b"PK\x03\x04", &about[..], name.as_bytes(), bytes].concat();
    let entry = [b"PK\x01\x02\x14\x00", &about[..], &[0; 14], name.as_bytes()].concat();
    let sizes = [(entry.len() as u32).to_le_bytes(), (member.len() as u32).to_le_bytes()].concat();
    [&member[..], &entry, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &sizes, &[0, 0]].concat()
}

/// Reference systems, shapes, plans.
fn texts(corpus: &Corpus) -> Result {
    let utm = Crs::parse("EPSG:32632")?;
    for (name, text) in [
        ("code", "EPSG:26910+5703".to_owned()),
        ("wkt1", utm.wkt().unwrap_or_default().to_owned()),
        ("local", "LOCAL_CS[\"site\",UNIT[\"US survey foot\",0.3048006096012192]]".to_owned()),
        ("wkt2", "GEOGCRS[\"WGS 84\",DATUM[\"World Geodetic System 1984\",ELLIPSOID[\"WGS 84\",6378137,298.257223563]],\
            CS[ellipsoidal,2],AXIS[\"latitude\",north],AXIS[\"longitude\",east],\
            ANGLEUNIT[\"degree\",0.0174532925199433],ID[\"EPSG\",4326]]".to_owned()),
    ] {
        corpus.add("crs", name, text.as_bytes())?;
    }
    for (name, text) in [
        ("point", r#"{"type":"Point","coordinates":[1.5,2]}"#),
        (
            "line",
            r#"{"type":"Feature","properties":{"a":1},"geometry":{"type":"LineString","coordinates":[[1,2],[3,4,5]]}}"#,
        ),
        (
            "polygons",
            r#"{"type":"FeatureCollection","features":[{"type":"Feature","properties":null,"geometry":
            {"type":"MultiPolygon","coordinates":[[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[2,1],[2,2],[1,1]]]]}},
            {"type":"Feature","properties":null,"geometry":null}]}"#,
        ),
        (
            "collection",
            r#"{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}]}"#,
        ),
    ] {
        corpus.add("shapes", name, text.as_bytes())?;
    }
    Ok(())
}

/// Trees of points and of values.
fn trees(corpus: &Corpus) -> Result {
    let x: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 61)).collect();
    let y: Vec<f64> = (0..60).map(|i| f64::from(i * 17 % 59)).collect();
    let params = quadtree_sort::Params::new().threshold(4);
    let tree = quadtree_sort::build(&Device::Cpu, Points::new(&x, &y), &params)?;
    corpus.add_file("qtree_file", "points.qtree", None, |path| Ok(tree.save(path)?))?;
    let heights: Vec<f64> = x.iter().map(|x| x / 4.0).collect();
    let classes: Vec<u8> = (0..60).map(|i| i % 19).collect();
    let tree = tree.with_values("z", &heights)?.with_values("class", &classes)?;
    corpus.add_file("qtree_file", "values.qtree", None, |path| Ok(tree.save(path)?))?;
    index(corpus, "u8.ccq", |i| i as u8, None)?;
    index(corpus, "f32.ccq", |i| i as f32, Some(7.0))?;
    index(corpus, "i16.ccq", |i| i as i16, Some(3.0))
}

/// Adds the index of a small raster.
fn index<T: ccq_tree::Cell + Cell>(
    corpus: &Corpus,
    name: &str,
    of: fn(usize) -> T,
    nodata: Option<f64>,
) -> Result {
    let values: Vec<T> = (0..30 * 20).map(|i| of(i * 7 % 23)).collect();
    let raster = Grid::new(values, GridSpec::of_pixels(30, 20))?;
    let params = ccq_tree::Params::new().nodata(nodata);
    let tree = ccq_tree::build(&Device::Cpu, raster.view(), &params)?;
    corpus.add_file("ccq_file", name, None, |path| Ok(tree.save(path)?))
}
