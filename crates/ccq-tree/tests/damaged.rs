//! Damaged files: whatever their bytes are, they are refused or harmless, soon, and in little memory. In a binary of its own,
//! since memory is counted for the whole process.

use std::path::Path;
use std::time::{Duration, Instant};

use ccq_tree::{
    Cell, Condition, Params, Query, Tree, build, count, kind_of_file, mask, quadrants, statistics,
    top_k,
};
use gpu_core::{Device, Grid, GridSpec};
use testing::allocations::{Counting, peak};
use testing::{Random, damaged};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that opening any file may take, beside a multiple of its length.
const FIXED: usize = 1 << 20;

fn word(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 4].iter().rev().fold(0, |word, &byte| word << 8 | usize::from(byte))
}

fn put(bytes: &mut [u8], at: usize, sum: u32) {
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Puts the right sums into a file of nodes of this many bytes, where it is long enough.
fn with_sums(mut bytes: Vec<u8>, node: usize) -> Vec<u8> {
    if bytes.len() < 96 {
        return bytes;
    }
    let (levels, bins) = (word(&bytes, 24).min(30) + 2, word(&bytes, 28).min(255));
    let header = (96 + 8 * (levels + bins) + 4).next_multiple_of(64);
    if bytes.len() < header {
        return bytes;
    }
    let nodes = (header + word(&bytes, 72).min(1 << 20) * node).min(bytes.len());
    let flags = (nodes.next_multiple_of(64)).min(bytes.len());
    let sum = crc32fast::hash(&bytes[header..nodes]);
    put(&mut bytes, 88, sum);
    let sum = crc32fast::hash(&bytes[flags..]);
    put(&mut bytes, 92, sum);
    let sum = crc32fast::hash(&bytes[..header - 4]);
    put(&mut bytes, header - 4, sum);
    bytes
}

/// Reads a file in both ways; gives the tree that both give.
fn read_both<T: Cell>(path: &Path, bytes: &[u8]) -> Result<Tree<T>, String> {
    std::fs::write(path, bytes).unwrap();
    let (read, most) = peak(|| Tree::<T>::read(path));
    assert!(most <= FIXED + 6 * bytes.len(), "{most} bytes of memory for {}", bytes.len());
    let (mapped, most) = peak(|| {
        // SAFETY: nobody else has the file.
        unsafe { Tree::<T>::map(path) }
    });
    assert!(most <= FIXED + 6 * bytes.len(), "{most} bytes of memory for {}", bytes.len());
    let _ = kind_of_file(path);
    match (read, mapped) {
        (Ok(read), Ok(mapped)) => {
            assert!(read == mapped);
            Ok(read)
        }
        (Err(one), Err(other)) => {
            assert_eq!(one, other);
            Err(one.to_string())
        }
        (read, mapped) => panic!("{read:?} but {mapped:?}"),
    }
}

/// Asks a tree in all ways that follow its links.
fn ask<T: Cell>(tree: &Tree<T>) {
    let start = Instant::now();
    let conditions = [Condition::new(tree).range(1.0, 1e9)];
    let query = Query::new();
    let _ = count(&Device::Cpu, &conditions, &query);
    let _ = quadrants(&Device::Cpu, &conditions, &query);
    let _ = statistics(&Device::Cpu, tree, &query);
    let _ = top_k(&Device::Cpu, tree, 3, &query);
    if tree.grid().cells() < 1 << 16 {
        let _ = mask(&Device::Cpu, &conditions, &query);
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{tree:?}: {:?}", start.elapsed());
}

fn fuzz<T: Cell>(value: impl Fn(u64) -> T, params: &Params, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.ccq");
    let mut random = Random::new(seed);
    let (mut taken, mut cases) = (0, 0);
    let end = Instant::now() + Duration::from_secs(5);
    for (width, height) in [(0, 0), (1, 1), (8, 8), (21, 13), (3, 40)] {
        let values = (0..width * height).map(|_| value(random.below(4))).collect();
        let raster = Grid::new(values, GridSpec::of_pixels(width, height)).unwrap();
        let mut whole = Vec::new();
        let tree = build(&Device::Cpu, raster.view(), params).unwrap();
        tree.write_to(&mut whole).unwrap();
        let node = size_of::<ccq_tree::Node<T>>();
        assert_eq!(with_sums(whole.clone(), node), whole);
        assert!(read_both::<T>(&path, &whole).unwrap() == tree);
        for _ in 0..600 {
            if Instant::now() > end {
                break;
            }
            let bytes = damaged(&whole, &mut random);
            let bytes = if random.below(8) == 0 { bytes } else { with_sums(bytes, node) };
            if let Ok(tree) = read_both::<T>(&path, &bytes) {
                taken += 1;
                ask(&tree);
            }
            cases += 1;
        }
    }
    assert!(cases > 200 && taken > 0 && taken < cases, "{taken} of {cases}");
}

/// A tree of `bits` levels below the root, of whole squares, with four nodes in each level. `link` gives a node's link
/// from its level and its number among the four.
fn tree_of_fours(bits: usize, link: impl Fn(usize, usize) -> usize) -> Vec<u8> {
    let start = |level: usize| if level == 0 { 0 } else { 4 * level - 3 };
    let mut bytes = b"\x89CCQ\r\n\x1a\n".to_vec();
    for word in [1, 0, 1 << bits, 1 << bits, bits as u32, 0, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    for number in [0.0, 0.0, 1.0, 0.0_f64] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend((start(bits + 1) as u64).to_le_bytes());
    bytes.extend([0; 16]);
    for level in 0..bits + 2 {
        bytes.extend((start(level) as u64).to_le_bytes());
    }
    bytes.resize((bytes.len() + 4).next_multiple_of(64), 0);
    for level in 0..=bits {
        for number in 0..if level == 0 { 1 } else { 4 } {
            let link = match level {
                _ if level == bits => 0,
                0 => start(1),
                _ => start(level + 1) + link(level, number),
            };
            bytes.extend([0, 255, 0, 0]);
            bytes.extend((link as u32).to_le_bytes());
        }
    }
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    with_sums(bytes, 8)
}

#[test]
fn damaged_trees_are_refused_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.ccq");
    let refused = |bytes: &[u8], words: &str| {
        let start = Instant::now();
        let error = read_both::<u8>(&path, bytes).unwrap_err();
        assert!(error.contains("tree.ccq") && error.contains(words), "{error}");
        assert!(start.elapsed() < Duration::from_secs(1));
    };
    // One level whose four nodes are cells is as it should be.
    assert!(read_both::<u8>(&path, &tree_of_fours(1, |_, _| 0)).is_ok());
    // Links that share children: all, and some of them; that fall; that lead past the level.
    for bits in [2, 13, 20, 30] {
        refused(&tree_of_fours(bits, |_, _| 0), "links of its level 1");
        refused(&tree_of_fours(bits, |_, number| number), "links of its level 1");
        refused(&tree_of_fours(bits, |_, number| 4 - number), "links of its level 1");
        refused(&tree_of_fours(bits, |_, number| 4 * number), "links of its level 1");
    }
    // Cells that have no size, and a corner that lies nowhere.
    let whole = tree_of_fours(1, |_, _| 0);
    for (at, number) in [
        (56, 0.0),
        (56, -1.0),
        (56, f64::NAN),
        (56, f64::INFINITY),
        (40, f64::NAN),
        (48, f64::INFINITY),
    ] {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&f64::to_le_bytes(number));
        refused(&with_sums(bytes, 8), "its place on the ground is invalid");
    }
    fuzz::<u8>(|v| v as u8, &Params::new(), 51);
    fuzz::<u8>(|v| v as u8, &Params::new().nodata(2.0).bins([1.0, 3.0]), 52);
    fuzz::<i16>(|v| v as i16 - 2, &Params::new().nodata(-2.0), 53);
    fuzz::<f32>(|v| if v == 0 { f32::NAN } else { v as f32 }, &Params::new(), 54);
}
