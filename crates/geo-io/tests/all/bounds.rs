//! Points within bounds: those outside are not kept, and where an index or a header tells, not read.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use geo_io::{
    Error, Filter, LasPoints, PointCloud, read_batches, read_header, read_points, write_las,
};
use gpu_core::{Bounds, Silent};
use laz::{LasZipCompressor, LazVlrBuilder};

pub(crate) fn bounds(min_x: f64, min_y: f64, max_x: f64, max_y: f64) -> Bounds {
    Bounds { min_x, min_y, max_x, max_y }
}

pub(crate) fn read(path: &Path, bounds: Option<Bounds>) -> geo_io::Result<PointCloud> {
    read_points(path, &Filter { bounds, ..Filter::default() }, &Default::default(), &Silent)
}

/// The points of a cloud that lie within bounds, in order.
fn within(cloud: &PointCloud, b: &Bounds) -> Vec<[f64; 3]> {
    let inside = |i: &usize| {
        let (x, y) = (cloud.x[*i], cloud.y[*i]);
        x >= b.min_x && x <= b.max_x && y >= b.min_y && y <= b.max_y
    };
    (0..cloud.len()).filter(inside).map(|i| [cloud.x[i], cloud.y[i], cloud.z[i]]).collect()
}

fn rows(cloud: &PointCloud) -> Vec<[f64; 3]> {
    (0..cloud.len()).map(|i| [cloud.x[i], cloud.y[i], cloud.z[i]]).collect()
}

#[test]
fn points_outside_are_counted_and_a_file_outside_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let column = |step: usize| (0..5000).map(|i| (i / step % 71) as f64).collect::<Vec<_>>();
    let (x, y) = (column(1), column(71));
    let points = LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    for name in ["a.las", "a.laz"] {
        let path = folder.path().join(name);
        write_las(&path, &points, None).unwrap();
        let all = read(&path, None).unwrap();
        let some = bounds(3.0, 10.0, 20.0, 20.0);
        let part = read(&path, Some(some)).unwrap();
        assert_eq!(rows(&part), within(&all, &some));
        assert_eq!(part.tally.read, 5000);
        assert_eq!(part.tally.kept + part.tally.dropped_outside, 5000);
        assert_eq!(part.heights, Some([0.0, 70.0]));
        let header = read_header(&path).unwrap().unwrap();
        assert_eq!((header.points, header.bounds), (5000, Some(bounds(0.0, 0.0, 70.0, 70.0))));

        // Nothing is read behind the header: its points may be gone.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let outside = read(&path, Some(bounds(100.0, 0.0, 200.0, 70.0))).unwrap();
        assert!(outside.is_empty() && outside.is_left_out && !part.is_left_out);
        assert_eq!((outside.tally.read, outside.tally.dropped_outside), (5000, 5000));
        assert!(read(&path, Some(some)).is_err());
    }
    let table = folder.path().join("a.csv");
    std::fs::write(&table, "x,y,z\n0,0,-5\n1,1,2\n9,9,7\n").unwrap();
    let part = read(&table, Some(bounds(0.5, 0.5, 2.0, 2.0))).unwrap();
    assert_eq!((rows(&part), part.heights), (vec![[1.0, 1.0, 2.0]], Some([-5.0, 7.0])));
    assert_eq!(read_header(&table).unwrap(), None);
}

#[test]
fn a_point_outside_of_its_header_is_kept_where_bounds_ask_for_it() {
    let folder = tempfile::tempdir().unwrap();
    // One of 100,000, which no sample of some hundreds meets but by chance; in the second chunk of the LAZ.
    let mut x: Vec<f64> = (0..100_000).map(|i| f64::from(i % 1000)).collect();
    let y: Vec<f64> = (0..100_000).map(|i| f64::from(i / 1000)).collect();
    x[61_234] = 5000.0;
    let points = LasPoints { x: &x, y: &y, z: &x, ..Default::default() };
    for name in ["a.las", "a.laz"] {
        let path = folder.path().join(name);
        write_las(&path, &points, None).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        // The greatest x.
        bytes[179..187].copy_from_slice(&999.0_f64.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let found = read(&path, Some(bounds(4000.0, 0.0, 6000.0, 100.0))).unwrap();
        assert_eq!(rows(&found), [[5000.0, 61.0, 5000.0]], "{name}");
        assert_eq!((found.strays.points, found.is_left_out), (1, false), "{name}");
        assert_eq!((found.tally.read, found.tally.dropped_outside), (100_000, 99_999));
    }
}

/// A node of the octree: level, x, y, z, and its points.
pub(crate) type Node = ([i32; 4], Vec<[i32; 3]>);

/// A record of point format 6 with these coordinates in thousandths.
fn record(point: [i32; 3]) -> Vec<u8> {
    let mut record: Vec<u8> = point.iter().flat_map(|v| v.to_le_bytes()).collect();
    record.extend([0, 0, 0x11, 0, 2]);
    record.resize(30, 0);
    record
}

/// Bytes of the record that says what a COPC covers.
const COPC_INFO: usize = 160;

/// The record of the compressor, for points of format 6 in chunks of any size.
fn laz_vlr() -> laz::LazVlr {
    let builder = LazVlrBuilder::default().with_point_format(6, 0).unwrap();
    builder.with_variable_chunk_size().build()
}

/// A variable length record.
pub(crate) fn vlr(user: &str, id: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 54];
    bytes[2..2 + user.len()].copy_from_slice(user.as_bytes());
    bytes[18..20].copy_from_slice(&id.to_le_bytes());
    bytes[20..22].copy_from_slice(&(data.len() as u16).to_le_bytes());
    [bytes, data.to_vec()].concat()
}

/// The points of nodes behind `start` empty bytes, a chunk a node, and the place of each chunk.
fn write_chunks(start: usize, nodes: &[Node]) -> (Vec<u8>, Vec<(u64, u64)>) {
    let mut packed = Cursor::new(vec![0; start]);
    packed.set_position(start as u64);
    let mut compressor = LasZipCompressor::new(&mut packed, laz_vlr()).unwrap();
    for (i, (_, points)) in nodes.iter().enumerate() {
        if i > 0 {
            compressor.finish_current_chunk().unwrap();
        }
        for point in points {
            compressor.compress_one(&record(*point)).unwrap();
        }
    }
    compressor.done().unwrap();
    drop(compressor);
    // The compressor begins with the place of the chunk table.
    packed.set_position(start as u64);
    let table = laz::laszip::ChunkTable::read_from(&mut packed, &laz_vlr()).unwrap();
    let mut at = start as u64 + 8;
    let place = |entry: &laz::laszip::ChunkTableEntry| {
        at += entry.byte_count;
        (at - entry.byte_count, entry.byte_count)
    };
    let places = table.as_ref().iter().map(place).collect();
    (packed.into_inner(), places)
}

/// Both pages of the hierarchy, which are to stand at a place of the file, and how many bytes the first has.
fn pages(nodes: &[Node], places: &[(u64, u64)], first: u64) -> (Vec<u8>, u64) {
    let entry = |key: [i32; 4], offset: u64, bytes: u64, count: i32| {
        let mut entry: Vec<u8> = key.iter().flat_map(|v| v.to_le_bytes()).collect();
        entry.extend(offset.to_le_bytes());
        entry.extend((bytes as i32).to_le_bytes());
        entry.extend(count.to_le_bytes());
        entry
    };
    let of_node = |i: usize| entry(nodes[i].0, places[i].0, places[i].1, nodes[i].1.len() as i32);
    let own = nodes.len() - 2;
    let mut pages: Vec<u8> = (0..own).flat_map(of_node).collect();
    let bytes = 32 * (own as u64 + 1);
    pages.extend(entry(nodes[own].0, first + bytes, 64, -1));
    pages.extend((own..nodes.len()).flat_map(of_node));
    (pages, bytes)
}

/// The header of a COPC of this many points, which begin at one place; an extended record stands at another.
pub(crate) fn copc_header(points: usize, start: usize, extended_at: u64) -> Vec<u8> {
    let mut header = vec![0; 375];
    header[..4].copy_from_slice(b"LASF");
    header[24..26].copy_from_slice(&[1, 4]);
    header[94..96].copy_from_slice(&375_u16.to_le_bytes());
    header[96..100].copy_from_slice(&(start as u32).to_le_bytes());
    header[100..104].copy_from_slice(&2_u32.to_le_bytes());
    header[104] = 6 | 128;
    header[105..107].copy_from_slice(&30_u16.to_le_bytes());
    let scales = [0.001_f64; 3].map(f64::to_le_bytes).concat();
    header[131..155].copy_from_slice(&scales);
    let bounds = [1000.0_f64, 0.0, 1000.0, 0.0, 1000.0, 0.0].map(f64::to_le_bytes).concat();
    header[179..227].copy_from_slice(&bounds);
    header[235..243].copy_from_slice(&extended_at.to_le_bytes());
    header[243..247].copy_from_slice(&1_u32.to_le_bytes());
    header[247..255].copy_from_slice(&(points as u64).to_le_bytes());
    header
}

/// A COPC of these nodes over the cube from 0 to 1000; the entries of the last two nodes, one
/// below the other, are on a page of their own. Gives the places of the chunks.
pub(crate) fn write_copc(path: &Path, nodes: &[Node]) -> Vec<(u64, u64)> {
    let mut laz_record = Cursor::new(Vec::new());
    laz_vlr().write_to(&mut laz_record).unwrap();
    let laz_record = vlr("laszip encoded", 22204, laz_record.get_ref());
    let start = 375 + 54 + COPC_INFO + laz_record.len();
    let (mut file, places) = write_chunks(start, nodes);

    // The hierarchy, in an extended record behind the points.
    let extended_at = file.len() as u64;
    let (pages, bytes) = pages(nodes, &places, extended_at + 60);
    let mut extended = vec![0; 60];
    extended[2..6].copy_from_slice(b"copc");
    extended[18..20].copy_from_slice(&1000_u16.to_le_bytes());
    extended[20..28].copy_from_slice(&(pages.len() as u64).to_le_bytes());
    file.extend(extended);
    file.extend(pages);

    let mut info = [500.0, 500.0, 500.0, 500.0, 1.0_f64].map(f64::to_le_bytes).concat();
    info.extend((extended_at + 60).to_le_bytes());
    info.extend(bytes.to_le_bytes());
    info.resize(COPC_INFO, 0);
    let total = nodes.iter().map(|(_, points)| points.len()).sum();
    let header = copc_header(total, start, extended_at);
    file[..start].copy_from_slice(&[header, vlr("copc", 1, &info), laz_record].concat());
    std::fs::write(path, file).unwrap();
    places
}

pub(crate) fn copc() -> (tempfile::TempDir, PathBuf, Vec<(u64, u64)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.copc.laz");
    let quadrant = |x: i32, y: i32| -> Node {
        let points = (0..400).map(|i| {
            let (a, b) = (i % 20, i / 20);
            [x * 500_000 + a * 24_000 + 7, y * 500_000 + b * 24_000 + 3, i * 100]
        });
        ([1, x, y, 0], points.collect())
    };
    let root = (0..100).map(|i| [i % 10 * 100_000, i / 10 * 100_000, 5]).collect();
    let child = (0..100).map(|i| [i % 10 * 24_000 + 5, 500_000 + i / 10 * 24_000, 9]).collect();
    let nodes = [
        ([0, 0, 0, 0], root),
        quadrant(0, 0),
        quadrant(1, 0),
        quadrant(1, 1),
        // A page of its own: a node, and one below it.
        quadrant(0, 1),
        ([2, 0, 2, 0], child),
    ];
    let places = write_copc(&path, &nodes);
    (folder, path, places)
}

#[test]
fn of_a_copc_only_the_chunks_within_the_bounds_are_read() {
    let (_folder, path, places) = copc();
    let all = read(&path, None).unwrap();
    assert_eq!(all.len(), 1800);
    for some in [
        bounds(0.0, 0.0, 499.0, 499.0),
        bounds(100.0, 300.0, 800.0, 350.0),
        bounds(-10.0, 600.0, 2000.0, 2000.0),
        bounds(0.0, 0.0, 1000.0, 1000.0),
    ] {
        let part = read(&path, Some(some)).unwrap();
        assert_eq!(rows(&part), within(&all, &some), "{some:?}");
        assert_eq!(part.tally.read, 1800);
        assert_eq!(part.tally.kept + part.tally.dropped_outside, 1800);

        let filter = Filter { bounds: Some(some), numbered: true, ..Filter::default() };
        let (mut in_batches, mut numbers) = (vec![], Vec::<u32>::new());
        let tally = read_batches(&path, &filter, &Default::default(), 500, &Silent, &mut |batch| {
            in_batches.extend(rows(batch));
            numbers.extend(batch.numbers.as_ref().unwrap());
            Ok(())
        });
        assert_eq!((tally.unwrap(), in_batches), (part.tally, rows(&part)));
        // A chunk that is passed over counts.
        let is_within = |&i: &u32| {
            let (x, y) = (all.x[i as usize], all.y[i as usize]);
            (some.min_x..=some.max_x).contains(&x) && (some.min_y..=some.max_y).contains(&y)
        };
        let wanted: Vec<u32> = (0..1800).filter(is_within).collect();
        assert_eq!(numbers, wanted);
        let at_once = read_points(&path, &filter, &Default::default(), &Silent).unwrap();
        assert_eq!(at_once.numbers, Some(wanted));
    }
    // A chunk outside the bounds may be gone: it is not read.
    let mut bytes = std::fs::read(&path).unwrap();
    let (at, length) = places[3];
    bytes[at as usize..(at + length) as usize].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let west = bounds(0.0, 0.0, 400.0, 1000.0);
    assert_eq!(rows(&read(&path, Some(west)).unwrap()), within(&all, &west));
    // Nor is a chunk that is damaged behind its first record, the only one that is sampled.
    let (at, length) = places[2];
    bytes[at as usize + 30..(at + length) as usize].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(rows(&read(&path, Some(west)).unwrap()), within(&all, &west));
    let east = bounds(600.0, 600.0, 900.0, 900.0);
    assert!(matches!(read(&path, Some(east)), Err(Error::Malformed { .. })));
}

#[test]
fn cubes_of_a_copc_that_do_not_hold_their_points_leave_none_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.copc.laz");
    let quadrant = |x: i32, y: i32| -> Vec<[i32; 3]> {
        let place = |i: i32| [x * 500_000 + i % 20 * 24_000 + 7, y * 500_000 + i / 20 * 24_000, i];
        (0..400).map(place).collect()
    };
    // Each node has the points of the one across.
    let nodes: Vec<Node> = [(0, 0), (0, 1), (1, 0), (1, 1)]
        .map(|(x, y)| ([1, x, y, 0], quadrant(1 - x, 1 - y)))
        .into_iter()
        .collect();
    let root = ([0, 0, 0, 0], vec![[1, 2, 3]]);
    let below = ([2, 0, 0, 0], vec![[9, 8, 7]]);
    let [a, b, c, d] = <[Node; 4]>::try_from(nodes).unwrap();
    write_copc(&path, &[root, a, b, c, d, below]);
    let all = read(&path, None).unwrap();
    assert_eq!(all.len(), 1602);
    let noted =
        |cloud: &PointCloud| cloud.notes.iter().any(|note| note.contains("octree contradicts"));
    for some in [bounds(0.0, 0.0, 400.0, 400.0), bounds(600.0, 0.0, 1000.0, 300.0)] {
        let part = read(&path, Some(some)).unwrap();
        assert!(part.len() > 100 && rows(&part) == within(&all, &some), "{some:?}: {}", part.len());
        assert!(noted(&part), "{:?}", part.notes);
    }
}

#[test]
fn points_of_a_copc_that_a_rounding_moved_out_of_their_cubes_are_found_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.copc.laz");
    // The root is [0.0004, 10.0004]. An eastern point at 5.00044 became 5.000 and a northern one 1, 5.000.
    let nodes: [Node; 6] = [
        ([0, 0, 0, 0], vec![[1, 2, 3]]),
        ([1, 0, 0, 0], vec![[1000, 1000, 1], [0, 2000, 1]]),
        ([1, 1, 0, 0], vec![[9000, 1000, 2], [5000, 1000, 2], [5000, 4000, 2]]),
        ([1, 1, 1, 0], vec![[9000, 9000, 3], [5000, 5000, 3]]),
        ([1, 0, 1, 0], vec![[1000, 9000, 4], [1000, 5000, 4]]),
        ([2, 0, 2, 0], vec![[1000, 7000, 5]]),
    ];
    write_copc(&path, &nodes);
    let mut bytes = std::fs::read(&path).unwrap();
    let cube = [5.0004, 5.0004, 5.0, 5.0_f64].map(f64::to_le_bytes).concat();
    bytes[375 + 54..][..32].copy_from_slice(&cube);
    std::fs::write(&path, bytes).unwrap();
    let all = read(&path, None).unwrap();
    assert_eq!(all.len(), 11);
    for (some, count) in [
        (bounds(0.0, 0.0, 5.0, 5.0), 7),
        (bounds(2.0, 0.0, 5.0, 4.5), 2),
        (bounds(0.5, 4.0, 2.0, 5.0), 1),
        (bounds(4.0, 4.0, 5.0, 5.0), 2),
        (bounds(5.0, 0.0, 10.0, 10.0), 5),
    ] {
        let part = read(&path, Some(some)).unwrap();
        assert_eq!(rows(&part), within(&all, &some), "{some:?}");
        assert_eq!((part.len(), part.notes), (count, vec![]), "{some:?}");
    }
}

#[test]
fn a_point_outside_of_its_nodes_cube_has_all_chunks_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.copc.laz");
    let quadrant = |x: i32, y: i32| -> Vec<[i32; 3]> {
        let place = |i: i32| [x * 500_000 + i % 20 * 24_000 + 7, y * 500_000 + i / 20 * 24_000, i];
        (0..400).map(place).collect()
    };
    // The two western nodes have some points of the east, behind sound first ones.
    let mut west = [quadrant(0, 0), quadrant(0, 1)];
    west.iter_mut().for_each(|points| points[200..210].fill([800_000, 100_000, 3]));
    let [a, b] = west;
    write_copc(
        &path,
        &[
            ([0, 0, 0, 0], vec![[1, 2, 3]]),
            ([1, 0, 0, 0], a),
            ([1, 0, 1, 0], b),
            ([1, 1, 0, 0], quadrant(1, 0)),
            ([1, 1, 1, 0], quadrant(1, 1)),
            ([2, 0, 0, 0], vec![[9, 8, 7]]),
        ],
    );
    let all = read(&path, None).unwrap();
    let some = bounds(0.0, 0.0, 900.0, 120.0);
    let part = read(&path, Some(some)).unwrap();
    assert_eq!(rows(&part), within(&all, &some));
    assert!(part.notes.iter().any(|note| note.contains("at 800 100")), "{:?}", part.notes);
}

#[test]
fn a_damaged_index_gives_the_same_points_or_an_error() {
    let (folder, path, _) = copc();
    let some = bounds(0.0, 0.0, 300.0, 300.0);
    let whole = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.copc.laz");
    let index = whole.len() - 6 * 32..whole.len();
    let info = 375 + 54..375 + 54 + 160;
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(|| {
        for at in index.chain(info) {
            for bits in [0x01, 0x80, 0xFF] {
                let mut bytes = whole.clone();
                bytes[at] ^= bits;
                std::fs::write(&damaged, &bytes).unwrap();
                if let Err(error) = read(&damaged, Some(some)) {
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
        }
    });
    let _ = std::panic::take_hook();
    assert!(result.is_ok(), "a read panicked");
}

#[cfg(not(feature = "http"))]
#[test]
fn an_address_needs_the_feature_and_is_named() {
    for name in ["https://example.org/a.copc.laz", "http://example.org/a.las?b=c"] {
        for result in [read(name.as_ref(), None).err(), read_header(name.as_ref()).err()] {
            let error = result.unwrap().to_string();
            assert!(error.starts_with(name) && error.contains("feature http"), "{error}");
        }
    }
}
