//! Damaged files: whatever their bytes are, they are refused or harmless, soon, and in little memory. In a binary of its own,
//! since memory is counted for the whole process.

use std::path::Path;
use std::time::{Duration, Instant};

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::{Error, NONE, Params, PointsFile, Quadtree, Regions, build};
use testing::allocations::{Counting, peak};
use testing::{Cloud, Random, damaged};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that opening any file may take, beside a multiple of its length.
const FIXED: usize = 1 << 20;

/// Puts the right checksums into a file, where it is long enough.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= 128 {
        let contents = crc32fast::hash(&bytes[128..]);
        bytes[16..20].copy_from_slice(&contents.to_le_bytes());
        bytes[12..16].fill(0);
        let header = crc32fast::hash(&bytes[..128]);
        bytes[12..16].copy_from_slice(&header.to_le_bytes());
    }
    bytes
}

/// Asks a tree for all that goes by its nodes.
fn ask(tree: &Quadtree) {
    let points = tree.order().len();
    let found = tree.nearest(&[1.0, 30.0], &[2.0, 9.0], 3).unwrap();
    assert_eq!(found.indices.len(), 6);
    let window = [Bounds { min_x: -1e300, min_y: -1e300, max_x: 1e300, max_y: 1e300 }];
    assert!(tree.list_in(Regions::Windows(&window)).unwrap().indices.len() <= points);
    let nodes: Vec<u32> = (0..tree.nodes().len() as u32).collect();
    tree.adjacent_leaves(&nodes, Default::default()).unwrap();
    tree.leaves_of(&[1.0, f64::NAN], &[2.0, 1e300]).unwrap();
    tree.nodes().iter().for_each(|node| {
        tree.cell(node);
    });
    tree.summary();
    let places = tree.places_of(&found.indices).unwrap();
    for &place in places.iter().filter(|&&place| place != NONE) {
        tree.values().iter().for_each(|values| {
            values.at(place as usize);
        });
    }
}

fn open_both(path: &Path, bytes: &[u8]) -> Option<Quadtree> {
    std::fs::write(path, bytes).unwrap();
    let start = Instant::now();
    let (opened, most) = peak(|| Quadtree::open(path));
    assert!(most <= FIXED + 4 * bytes.len(), "{most} bytes of memory for {}", bytes.len());
    let (mapped, most) = peak(|| {
        // SAFETY: nobody else has the file.
        unsafe { Quadtree::map(path) }
    });
    assert!(most <= FIXED + 4 * bytes.len(), "{most} bytes of memory for {}", bytes.len());
    match (&opened, &mapped) {
        // A number may be none, which is not equal to itself.
        (Ok(opened), Ok(mapped)) => assert_eq!(format!("{opened:?}"), format!("{mapped:?}")),
        (Err(one), Err(other)) => assert_eq!(one, other),
        _ => panic!("{opened:?} but {mapped:?}"),
    }
    if let Ok(tree) = &opened {
        ask(tree);
    }
    assert!(start.elapsed() < Duration::from_secs(10));
    opened.ok()
}

#[test]
fn damaged_trees_and_points_are_refused_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    let mut random = Random::new(41);
    let (mut taken, mut cases) = (0, 0);
    let end = Instant::now() + Duration::from_secs(10);
    for (count, threshold) in [(0, 1), (1, 1), (60, 3), (400, 20)] {
        let cloud = Cloud::uniform(count, [0.0, 0.0, 50.0, 30.0], 12, |_, _| 0.0);
        let params = Params::new().threshold(threshold);
        let points = Points::new(&cloud.x, &cloud.y);
        let mut whole = Vec::new();
        let tree = build(&Device::Cpu, points, &params).unwrap();
        let tree = tree.with_values("class", &vec![2_u8; count]).unwrap();
        tree.with_values("z", &cloud.z).unwrap().write_to(&mut whole).unwrap();
        assert!(open_both(&path, &whole).is_some());
        for _ in 0..1200 {
            if Instant::now() > end {
                break;
            }
            let bytes = damaged(&whole, &mut random);
            let bytes = if random.below(8) == 0 { bytes } else { with_checksums(bytes) };
            taken += usize::from(open_both(&path, &bytes).is_some());
            cases += 1;
        }
    }
    assert!(cases > 500 && taken > 0 && taken < cases, "{taken} of {cases}");

    for _ in 0..500 {
        let mut bytes: Vec<u8> =
            (0..random.below(40)).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        bytes.truncate(bytes.len() - random.below(2) as usize * bytes.len().min(3));
        std::fs::write(&path, &bytes).unwrap();
        let (points, most) = peak(|| PointsFile::open(&path));
        assert!(most <= FIXED + 2 * bytes.len());
        match points {
            Ok(points) => {
                assert_eq!(16 * points.points().len(), bytes.len());
                let _ = build(&Device::Cpu, points.points(), &Params::new());
            }
            Err(Error::File { .. }) => assert_ne!(bytes.len() % 16, 0),
            Err(other) => panic!("{other}"),
        }
    }
}
