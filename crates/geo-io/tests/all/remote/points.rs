//! Point clouds on a web server.

use geo_io::*;
use gpu_core::Silent;

use super::Server;
use crate::bounds::{Node, bounds, read, write_copc};

/// A COPC of a megabyte and a half, whose points cannot be packed well: the root, four quadrants and a cube below. Gives
/// the places of the chunks too.
fn copc() -> (tempfile::TempDir, std::path::PathBuf, Vec<(u64, u64)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.copc.laz");
    let mut random = testing::Random::new(3);
    let mut node = |key: [i32; 4], count: usize| -> Node {
        let side = 1_000_000 >> key[0];
        let mut at = |axis: usize| key[axis] * side + random.below(side as u64) as i32;
        let points = (0..count).map(|_| [at(1), at(2), at(3)]);
        (key, points.collect())
    };
    let nodes = [
        // More than a block, which comes with the head.
        node([0, 0, 0, 0], 9_000),
        node([1, 0, 0, 0], 40_000),
        node([1, 1, 0, 0], 40_000),
        node([1, 1, 1, 0], 40_000),
        node([1, 0, 1, 0], 40_000),
        node([2, 0, 2, 0], 5_000),
    ];
    let places = write_copc(&path, &nodes);
    (folder, path, places)
}

/// The number of requests since the last time, and the bytes that they asked for.
fn traffic(server: &Server) -> (usize, u64) {
    let asked = std::mem::take(&mut *server.asked.lock().unwrap());
    let length = |line: &String| {
        let (first, last) = line.split_once("Some((").unwrap().1.split_once(", ").unwrap();
        last.trim_end_matches("))").parse::<u64>().unwrap() + 1 - first.parse::<u64>().unwrap()
    };
    (asked.len(), asked.iter().map(length).sum())
}

#[test]
fn of_a_copc_the_chunks_within_the_bounds_are_asked_for_together() {
    let (_folder, path, places) = copc();
    let bytes = std::fs::read(&path).unwrap();
    let server = Server::of(bytes);
    let remote = server.path("ok/tree.copc.laz?token=a/b.c");
    let length = |i: usize| places[i].1;
    // The window, the requests for its chunks, and their bytes.
    for (window, requests, chunks) in [
        (bounds(10.0, 10.0, 400.0, 400.0), 1, length(0) + length(1)),
        (bounds(600.0, 600.0, 900.0, 900.0), 2, length(0) + length(3)),
        (bounds(0.0, 600.0, 400.0, 900.0), 2, length(0) + length(4) + length(5)),
        (bounds(100.0, 300.0, 800.0, 350.0), 1, length(0) + length(1) + length(2)),
        (bounds(0.0, 0.0, 1000.0, 1000.0), 1, (0..6).map(length).sum()),
    ] {
        let filter = Filter { bounds: Some(window), numbered: true, ..Filter::default() };
        let get = |path| read_points(path, &filter, &Default::default(), &Silent).unwrap();
        let expected = get(&path);
        assert!(expected.notes.is_empty(), "{:?}", expected.notes);
        traffic(&server);
        assert_eq!(get(&remote), expected);
        let (count, sum) = traffic(&server);
        // The head, and one or two blocks at the end of the file.
        assert!((requests + 2..=requests + 3).contains(&count), "{window:?}: {count} requests");
        assert!(sum <= chunks + (3 << 16), "{window:?}: {sum} bytes for {chunks}");
    }
    let outside = bounds(5e3, 5e3, 6e3, 6e3);
    assert!(read(&remote, Some(outside)).unwrap().is_left_out);
    assert!(traffic(&server).0 <= 3);
    assert_eq!(read_header(&remote).unwrap(), read_header(&path).unwrap());
    assert!(traffic(&server).0 <= 3);
    let names = ["intensity".to_owned()];
    let ranges = [&remote, &path].map(|path| ranges_of_fields(path, &names).unwrap());
    assert_eq!(ranges[0], ranges[1]);
    for other in ["moved.copc.laz", "flaky.copc.laz"] {
        let window = Some(bounds(10.0, 10.0, 400.0, 900.0));
        assert_eq!(read(&server.path(other), window).unwrap(), read(&path, window).unwrap());
    }
}

#[test]
fn other_clouds_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = testing::Random::new(5);
    let mut column = || (0..180_000).map(|_| random.between(0.0, 1000.0)).collect::<Vec<f64>>();
    let (x, y, z) = (column(), column(), column());
    let points = LasPoints { x: &x, y: &y, z: &z, ..Default::default() };
    for name in ["a.laz", "a.las"] {
        let path = folder.path().join(name);
        write_las(&path, &points, None).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let size = bytes.len() as u64;
        let server = Server::of(bytes);
        let remote = server.path(&format!("ok/{name}"));
        assert_eq!(read(&remote, None).unwrap(), read(&path, None).unwrap());
        let (count, sum) = traffic(&server);
        assert!(count as u64 <= 5 + size / (1 << 20), "{name}: {count} requests for {size} bytes");
        assert!(sum <= size + (4 << 16), "{name}: {sum} of {size} bytes");
        let some = bounds(100.0, 100.0, 200.0, 300.0);
        let (mut part, expected) = (read(&remote, Some(some)).unwrap(), read(&path, Some(some)));
        let note = part.notes.pop().unwrap();
        assert!(note.contains("not a COPC") && note.contains("all of it"), "{note}");
        assert_eq!(part, expected.unwrap());
        let filter = Filter { bounds: Some(some), ..Filter::default() };
        let mut count = 0;
        let take = &mut |batch: &PointCloud| {
            count += batch.len();
            Ok(())
        };
        read_batches(&remote, &filter, &Default::default(), 500, &Silent, take).unwrap();
        assert_eq!(count, part.len());
        traffic(&server);
        assert!(read(&remote, Some(bounds(5e3, 5e3, 6e3, 6e3))).unwrap().is_left_out);
        assert!(traffic(&server).0 <= 3, "{name}");
    }
}

#[test]
fn what_a_server_does_wrong_with_points_is_an_error_with_the_address() {
    let (_folder, path, _) = copc();
    let bytes = std::fs::read(&path).unwrap();
    let server = Server::of(bytes.clone());
    let window = Some(bounds(10.0, 10.0, 400.0, 900.0));
    for (name, what) in [
        ("none.laz", "HTTP status 404"),
        ("secret.laz", "HTTP status 403"),
        ("broken.laz", "HTTP status 503"),
        ("whole.laz", "sends whole files only"),
        ("silent.laz", "does not say which part"),
        ("shifted.laz", "a part of the file that nobody requested"),
        ("cut.laz", "cannot read"),
        ("round.laz", "cannot read"),
        ("empty.laz", "is empty"),
        ("changed.laz", "has changed on the server"),
        ("longer.laz", "has changed on the server"),
        ("small.laz", "HTTP status 404"),
        ("ok/a.csv", "unknown file ending"),
        ("ok/a.parquet", "unknown file ending"),
    ] {
        traffic(&server);
        let path = server.path(name);
        let error = read(&path, window).unwrap_err().to_string();
        let has_address = error.contains(&*path.to_string_lossy());
        assert!(error.contains(what) && has_address && !error.contains('\n'), "{name}: {error}");
        // No other way to read is tried.
        let count = server.count();
        assert!(count <= 12, "{name}: {count} requests");
    }
    // A page of the octree of more bytes than come, of a file that claims to have them.
    let mut lying = bytes;
    let record = lying.windows(4).position(|four| four == b"copc").unwrap() + 52;
    lying[record + 48..record + 56].copy_from_slice(&(1_u64 << 45).to_le_bytes());
    let vast = Server::of(lying).path("vast.laz");
    let error = read(&vast, window).unwrap_err().to_string();
    assert!(error.contains(&*vast.to_string_lossy()), "{error}");
    let page = Server::of(b"<html>".repeat(99)).path("ok/a.laz");
    let error = read(&page, window).unwrap_err().to_string();
    assert!(error.ends_with("/ok/a.laz is not a LAS or LAZ file"), "{error}");
}
