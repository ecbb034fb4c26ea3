//! Trees in files: the same tree comes back, and what is none is refused.

use std::path::{Path, PathBuf};

use gpu_core::{Bounds, Device, Points};
use quadtree_sort::{Error, Outside, Params, PointsFile, Quadtree, Regions, build};
use testing::{Cloud, Random, clouds};

fn tree_of(cloud: &Cloud, params: &Params) -> Quadtree {
    build(&Device::Cpu, Points::new(&cloud.x, &cloud.y), params).unwrap()
}

fn example() -> Quadtree {
    let mut cloud = clouds::heaps(300, 11);
    cloud.push((990.0, 990.0, 0.0));
    let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 1000.0, max_y: 900.0 };
    let tree = tree_of(&cloud, &Params::new().threshold(5).bounds(bounds).outside(Outside::Skip));
    let class: Vec<u8> = (0..cloud.len()).map(|i| i as u8 % 19).collect();
    tree.with_values("z", &cloud.z).unwrap().with_values("class", &class).unwrap()
}

/// A file of the given bytes.
fn file_of(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("bytes.qtree");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_tree_comes_back_as_it_was_and_answers_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    let clouds = [
        Cloud::default(),
        Cloud::of([(-3.0, 4.0, 0.0)]),
        Cloud::of([(1.0, 1.0, 0.0); 100]),
        Cloud::uniform(3000, [0.0, 0.0, 50.0, 30.0], 12, |_, _| 0.0),
    ];
    for cloud in &clouds {
        for params in [Params::new(), Params::new().threshold(1).max_level(9).square(false)] {
            let tree = tree_of(cloud, &params);
            tree.save(&path).unwrap();
            let opened = Quadtree::open(&path).unwrap();
            assert_eq!(opened, tree);
            // SAFETY: nobody else has the folder.
            assert_eq!(unsafe { Quadtree::map(&path) }.unwrap(), tree);
            assert_eq!(opened.summary(), tree.summary());
            let window = [Bounds { min_x: 3.0, min_y: 2.0, max_x: 40.0, max_y: 21.0 }];
            let windows = Regions::Windows(&window);
            assert_eq!(opened.list_in(windows).unwrap(), tree.list_in(windows).unwrap());
            let [x, y] = [[3.0, 49.0], [7.5, 1.0]];
            assert_eq!(opened.nearest(&x, &y, 4).unwrap(), tree.nearest(&x, &y, 4).unwrap());
        }
    }
    let tree = example();
    assert!(tree.summary().skipped > 0);
    tree.save(&path).unwrap();
    assert_eq!(Quadtree::open(&path).unwrap().summary(), tree.summary());
    let first = std::fs::read(&path).unwrap();
    tree.save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), first, "the same bytes for the same tree");
}

/// A safe call may do anything to a file; what was read of it stays.
#[test]
fn a_file_that_changes_after_it_was_opened_does_the_tree_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    let tree = example();
    let changes: [&dyn Fn(); 4] = [
        &|| std::fs::write(&path, vec![0xff; 5000]).unwrap(),
        &|| std::fs::write(&path, "").unwrap(),
        &|| drop(std::fs::File::create(&path).unwrap()),
        &|| tree_of(&Cloud::of([(1.0, 1.0, 0.0)]), &Params::new()).save(&path).unwrap(),
    ];
    for change in changes {
        tree.save(&path).unwrap();
        let opened = Quadtree::open(&path).unwrap();
        let points = folder.path().join("points");
        std::fs::write(&points, [0; 64]).unwrap();
        let read = PointsFile::open(&points).unwrap();
        change();
        std::fs::write(&points, "").unwrap();
        assert_eq!(
            opened.nearest(&[7.0], &[3.0], 9).unwrap(),
            tree.nearest(&[7.0], &[3.0], 9).unwrap()
        );
        assert_eq!(
            opened.leaves_of(tree.x(), tree.y()).unwrap(),
            tree.leaves_of(tree.x(), tree.y()).unwrap()
        );
        assert_eq!(opened, tree);
        assert_eq!((read.points().x, read.points().y), (&[0.0; 4][..], &[0.0; 4][..]));
    }
}

#[test]
fn a_tree_is_saved_to_where_it_was_opened_or_mapped_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    let tree = example();
    tree.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    // SAFETY: the file is replaced by its name, and not changed.
    let mapped = unsafe { Quadtree::map(&path) }.unwrap();
    for same in [&Quadtree::open(&path).unwrap(), &mapped] {
        same.save(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(same, &tree);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn two_trees_saved_under_one_name_at_once_leave_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    let trees = [
        example(),
        tree_of(&Cloud::uniform(900, [0.0, 0.0, 9.0, 9.0], 1, |_, _| 0.0), &Params::new()),
    ];
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for tree in &trees {
                scope.spawn(|| tree.save(&path).unwrap());
            }
        });
        assert!(trees.contains(&Quadtree::open(&path).unwrap()));
    }
}

#[test]
fn every_changed_byte_and_every_length_but_the_right_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    example().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut random = Random::new(13);
    for place in 0..bytes.len() {
        // All of the header, and of the rest some.
        if place >= 256 && !place.is_multiple_of(37) {
            continue;
        }
        let mut changed = bytes.clone();
        changed[place] ^= 1 << random.below(8);
        let error = Quadtree::open(file_of(folder.path(), &changed)).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "byte {place}: {error}");
        assert!(error.to_string().contains(".qtree: not a quadtree"), "{error}");
    }
    for len in (0..200).chain((200..bytes.len()).step_by(211)) {
        let error = Quadtree::open(file_of(folder.path(), &bytes[..len])).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{len} bytes: {error}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(Quadtree::open(file_of(folder.path(), &longer)).is_err());
    assert!(Quadtree::open(file_of(folder.path(), &bytes)).is_ok());
}

/// Puts the right checksums into a file, as whoever makes one on purpose would.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    let contents = crc32fast::hash(&bytes[128..]);
    bytes[16..20].copy_from_slice(&contents.to_le_bytes());
    bytes[12..16].fill(0);
    let header = crc32fast::hash(&bytes[..128]);
    bytes[12..16].copy_from_slice(&header.to_le_bytes());
    bytes
}

#[test]
fn contents_made_on_purpose_are_refused_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.qtree");
    let tree = example();
    tree.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(with_checksums(bytes.clone()), bytes);
    // Two columns have 16 bytes each that tell of them.
    let nodes = 192..192 + 32 * tree.nodes().len();
    let mut random = Random::new(14);
    let mut refused = 0;
    for case in 0..3000 {
        let mut changed = bytes.clone();
        // Levels, counts, bounds, columns of values; then nodes.
        let place = match case % 3 {
            0 => 20 + random.below(nodes.start as u64 - 20) as usize,
            _ => nodes.start + random.below(nodes.len() as u64) as usize,
        };
        changed[place] = random.next_u64() as u8;
        match Quadtree::open(file_of(folder.path(), &with_checksums(changed))) {
            Err(Error::Damaged { .. }) => refused += 1,
            Err(other) => panic!("byte {place}: {other}"),
            // Another threshold, other bounds: a tree that may find less, but nothing that is not there.
            Ok(tree) => {
                let found = tree.nearest(&[1.0, 30.0], &[2.0, 9.0], 5).unwrap();
                assert!(found.indices.iter().all(|&index| index < 301));
                let all = f64::INFINITY;
                let window = [Bounds { min_x: -all, min_y: -all, max_x: all, max_y: all }];
                let lists = tree.list_in(Regions::Windows(&window)).unwrap();
                assert_eq!(lists.indices.len(), tree.order().len());
                let leaves: Vec<u32> = (0..tree.nodes().len() as u32).collect();
                tree.adjacent_leaves(&leaves, Default::default()).unwrap();
                tree.leaves_of(tree.x(), tree.y()).unwrap();
                tree.nodes().iter().for_each(|node| {
                    tree.cell(node);
                });
                tree.summary();
            }
        }
    }
    assert!(refused > 1500, "{refused}");
}

/// What no build gives is refused by both readers.
#[test]
fn points_that_are_no_numbers_and_indices_that_stand_twice_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tree = example();
    let mut bytes = Vec::new();
    tree.write_to(&mut bytes).unwrap();
    let array = |at: usize, len: usize| (at, (at + len).next_multiple_of(64));
    let (nodes, next) = array(192, 32 * tree.nodes().len());
    let (order, next) = array(next, 4 * tree.order().len());
    let (x, next) = array(next, 8 * tree.order().len());
    let (y, _) = array(next, 8 * tree.order().len());
    let last = tree.order().len() - 1;
    let leaf = |is_wanted: fn(u64) -> bool| {
        let mut leaves = tree.leaves().filter(|leaf| leaf.start > 0);
        leaves.find(|leaf| is_wanted(leaf.count)).unwrap().start as usize
    };
    let (lone, several) = (leaf(|count| count == 1), leaf(|count| count > 1));
    let threshold = 24..28;
    let other = tree.x()[last].next_down();
    let changes: [(&str, usize, &[u8]); 9] = [
        ("NaN", x + 8 * last, &f64::NAN.to_le_bytes()),
        ("NaN", y, &f64::NAN.to_le_bytes()),
        ("inf", x, &f64::INFINITY.to_le_bytes()),
        ("not of its leaf", x, &tree.x()[last].to_le_bytes()),
        ("not of its leaf", y, &(-1.0_f64).to_le_bytes()),
        ("not in order", order + 4 * (several + 1), &tree.order()[several].to_le_bytes()),
        ("one index", order + 4 * lone, &tree.order()[lone - 1].to_le_bytes()),
        ("node", threshold.start, &4_u32.to_le_bytes()),
        ("node", threshold.start, &400_u32.to_le_bytes()),
    ];
    for (said, at, change) in changes {
        let mut changed = bytes.clone();
        changed[at..at + change.len()].copy_from_slice(change);
        let path = file_of(folder.path(), &with_checksums(changed));
        // SAFETY: nobody else has the folder.
        for opened in [Quadtree::open(&path), unsafe { Quadtree::map(&path) }] {
            let error = opened.unwrap_err().to_string();
            assert!(error.contains(said), "{said}: {error}");
        }
    }
    // A point that stays in its leaf is another tree's.
    let mut changed = bytes.clone();
    changed[x + 8 * last..][..8].copy_from_slice(&other.to_le_bytes());
    assert!(Quadtree::open(file_of(folder.path(), &with_checksums(changed))).is_ok());
    assert_eq!(bytemuck::pod_read_unaligned::<u64>(&bytes[nodes..nodes + 8]), tree.nodes()[0].code);
}

#[test]
fn foreign_and_missing_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Quadtree::open(folder.path().join("none.qtree")).unwrap_err();
    assert!(matches!(missing, Error::File { .. }), "{missing}");
    let words = b"level,xmin,ymin,xmax,ymax,count\n".repeat(20);
    let foreign = Quadtree::open(file_of(folder.path(), &words)).unwrap_err();
    let said = foreign.to_string();
    assert!(
        said.ends_with(
            ".qtree: not a quadtree: it does not begin with the signature of a quadtree"
        ),
        "{said}"
    );
    let tree = example();
    let nowhere = tree.save(folder.path().join("no/such/folder.qtree")).unwrap_err();
    assert!(matches!(nowhere, Error::File { .. }), "{nowhere}");
    let path = folder.path().join("tree.qtree");
    tree.save(&path).unwrap();
    let mut newer = std::fs::read(&path).unwrap();
    newer[8] = 3;
    let newer = Quadtree::open(file_of(folder.path(), &newer)).unwrap_err();
    let said = newer.to_string();
    let words = ".qtree: not a quadtree: its version is 3, but this program reads versions 1 and 2";
    assert!(said.ends_with(words), "{said}");
}

/// A file of version 1 is one of version 2 without values.
#[test]
fn a_file_of_the_version_without_values_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree_of(&clouds::heaps(300, 11), &Params::new());
    let mut older = Vec::new();
    tree.write_to(&mut older).unwrap();
    older[8] = 1;
    let path = file_of(folder.path(), &with_checksums(older));
    assert_eq!(Quadtree::open(&path).unwrap(), tree);
    // SAFETY: nobody else has the folder.
    assert_eq!(unsafe { Quadtree::map(&path) }.unwrap(), tree);
    let mut older = Vec::new();
    example().write_to(&mut older).unwrap();
    older[8] = 1;
    let refused = Quadtree::open(file_of(folder.path(), &with_checksums(older))).unwrap_err();
    assert!(refused.to_string().ends_with("a file of version 1 has no values"), "{refused}");
}

#[test]
fn points_of_a_mapped_file_give_the_tree_of_the_same_points() {
    let folder = tempfile::tempdir().unwrap();
    for count in [0, 1, 700] {
        let cloud = Cloud::uniform(count, [0.0, 0.0, 50.0, 30.0], 15, |_, _| 0.0);
        let numbers: Vec<f64> = cloud.x.iter().chain(&cloud.y).copied().collect();
        let path = file_of(folder.path(), bytemuck::cast_slice(&numbers));
        // SAFETY: nobody else has the folder.
        let points = unsafe { PointsFile::map(&path) }.unwrap();
        let read = PointsFile::open(&path).unwrap();
        assert_eq!((read.points().x, read.points().y), (points.points().x, points.points().y));
        for device in testing::devices() {
            let tree = build(&device, points.points(), &Params::new()).unwrap();
            assert_eq!(tree, tree_of(&cloud, &Params::new()));
        }
    }
    let error = PointsFile::open(file_of(folder.path(), &[0; 23])).unwrap_err().to_string();
    assert!(error.ends_with("23 bytes are not columns of x and y, 16 bytes a point"), "{error}");
    assert!(matches!(PointsFile::open("no such file"), Err(Error::File { .. })));
}
