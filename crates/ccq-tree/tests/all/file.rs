//! Trees in files: they come back as they were, and what is not whole is refused.

use std::path::PathBuf;

use crate::common::{Made, fractal, noise};
use ccq_tree::{Condition, Error, Params, Query, Tree, build, kind_of_file, quadrants};
use gpu_core::{Device, Grid, GridSpec};
use proptest::prelude::*;
use tempfile::TempDir;

fn tree<T: Made>(raster: &Grid<T>, params: &Params) -> Tree<T> {
    build(&Device::Cpu, raster.view(), params).unwrap()
}

/// A tree in a file of a folder that lives as long as the first.
fn saved<T: Made>(tree: &Tree<T>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.ccq");
    tree.save(&path).unwrap();
    (folder, path)
}

#[test]
fn trees_of_all_types_come_back() {
    fn of<T: Made>(params: &Params) {
        let raster = fractal::<T>(130, 77, 3, 0.6);
        let place = GridSpec::new(-3.5, 70.25, 0.125, 130, 77).unwrap();
        let raster = Grid::new(raster.into_values(), place).unwrap();
        let tree = tree(&raster, params);
        let (folder, path) = saved(&tree);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished");
        assert_eq!(kind_of_file(&path).unwrap().values, T::NAME);
        assert!(Tree::<T>::read(&path).unwrap() == tree);
        // SAFETY: nobody else has the folder.
        let mapped = unsafe { Tree::<T>::map(&path).unwrap() };
        assert!(mapped == tree && mapped.grid() == &place);
        let ask = |tree: &Tree<T>| {
            quadrants(&Device::Cpu, &[Condition::new(tree).range(0.0, 1e9)], &Query::new())
        };
        assert_eq!(ask(&mapped), ask(&tree));
    }
    of::<u8>(&Params::new());
    of::<i16>(&Params::new().bins([-20.0, 0.5, 1e5]).nodata(-7.0));
    of::<u16>(&Params::new().nodata(-1.0));
    of::<i32>(&Params::new().bins([-69_900.0]));
    of::<u32>(&Params::new());
    of::<f32>(&Params::new().bins([100.0]).nodata(f64::NAN));
}

#[test]
fn a_tree_without_nodes_comes_back() {
    for (width, height, nodata) in [(0, 0, 1.0), (30, 20, 1.0), (1, 1, 0.0)] {
        let raster = crate::common::raster(width, height, |_, _| 1u8);
        let tree = tree(&raster, &Params::new().nodata(nodata));
        let (_folder, path) = saved(&tree);
        assert!(Tree::<u8>::read(&path).unwrap() == tree);
        // SAFETY: nobody else has the folder.
        assert!(unsafe { Tree::<u8>::map(&path).unwrap() } == tree);
    }
}

fn refused(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.ccq");
    std::fs::write(&path, bytes).unwrap();
    let error = Tree::<u8>::read(&path).unwrap_err();
    // SAFETY: nobody else has the folder.
    assert_eq!(unsafe { Tree::<u8>::map(&path) }.unwrap_err(), error);
    let words = error.to_string();
    assert!(
        matches!(error, Error::File { .. }) && words.contains("tree.ccq") && !words.contains('\n')
    );
    words
}

fn bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    let tree = tree(&noise::<u8>(21, 13, 1, 3), &Params::new().nodata(2.0).bins([1.0, 2.0]));
    tree.write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn files_cut_short_or_longer_are_refused_at_every_length() {
    let bytes = bytes();
    for length in 0..bytes.len() {
        refused(&bytes[..length]);
    }
    refused(&[&bytes[..], &[0]].concat());
}

#[test]
fn files_with_any_byte_changed_are_refused() {
    let bytes = bytes();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        refused(&damaged);
    }
}

#[test]
fn foreign_files_other_versions_and_other_types_are_named() {
    assert!(refused(b"\x89PNG\r\n\x1a\n, and so on").contains("not a .ccq file"));
    assert!(refused(b"").contains("ends too early"));
    let mut newer = bytes();
    newer[8] = 4;
    assert!(refused(&newer).contains("its version is 4"));
    let (_folder, path) = saved(&tree(&noise::<i16>(4, 4, 1, 3), &Params::new()));
    let error = Tree::<f32>::read(&path).unwrap_err().to_string();
    assert!(error.contains("its cells are i16, not f32"), "{error}");
    let missing = Tree::<u8>::read("no/such/file.ccq").unwrap_err();
    assert!(matches!(missing, Error::File { .. }));
    assert!(kind_of_file("no/such/file.ccq").is_err());
}

#[test]
fn a_file_keeps_its_reference_system_and_one_without_has_the_bytes_of_version_1() {
    let plain = || tree(&noise::<i16>(40, 30, 1, 3), &Params::new().bins([1.0, 2.0]));
    let (_folder, path) = saved(&plain());
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!((bytes[8], &bytes[36..40]), (1, &[0; 4][..]));
    assert_eq!(Tree::<i16>::read(&path).unwrap().system(), None);
    for text in ["{\"name\":\"EPSG:32633\"}", &"\u{e9}".repeat(1 << 15)] {
        let placed = plain().in_system(text.to_owned());
        let (_folder, path) = saved(&placed);
        assert_eq!(std::fs::read(&path).unwrap()[8], 2);
        assert_eq!(kind_of_file(&path).unwrap().values, "i16");
        let found = Tree::<i16>::read(&path).unwrap();
        assert_eq!(found.system(), Some(text));
        assert!(found == placed && found != plain());
        // SAFETY: nobody changes the file.
        let mapped = unsafe { Tree::<i16>::map(&path) }.unwrap();
        assert!(mapped == placed);
    }
    let folder = tempfile::tempdir().unwrap();
    let long = plain().in_system("x".repeat((1 << 16) + 1));
    let error = long.save(folder.path().join("a.ccq")).unwrap_err().to_string();
    assert!(error.contains("65537 bytes"), "{error}");
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(&noise::<u8>(4, 4, 1, 3), &Params::new());
    assert!(matches!(tree.save(folder.path().join("none/tree.ccq")), Err(Error::File { .. })));
    assert!(tree.save(folder.path()).is_err(), "a folder's name");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A name that somebody can foresee must not be written to.
#[test]
#[cfg(unix)]
fn a_link_that_waits_beside_the_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("victim.txt"), "mine").unwrap();
    for name in [format!(".tree.ccq.{}.part", std::process::id()), ".tree.ccq.part".to_owned()] {
        std::os::unix::fs::symlink("victim.txt", at(&name)).unwrap();
    }
    let tree = tree(&noise::<u8>(40, 40, 1, 3), &Params::new());
    tree.save(at("tree.ccq")).unwrap();
    assert_eq!(std::fs::read_to_string(at("victim.txt")).unwrap(), "mine");
    assert!(Tree::<u8>::read(at("tree.ccq")).unwrap() == tree);
}

#[test]
fn two_trees_saved_under_one_name_at_once_leave_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.ccq");
    let trees = [1, 2].map(|seed| tree(&noise::<u8>(200, 150, seed, 3), &Params::new()));
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for tree in &trees {
                scope.spawn(|| tree.save(&path).unwrap());
            }
        });
        assert!(trees.contains(&Tree::<u8>::read(&path).unwrap()));
    }
    // Onto the file that it is mapped from.
    // SAFETY: the file is replaced by its name, and not changed.
    let mapped = unsafe { Tree::<u8>::map(&path) }.unwrap();
    mapped.save(&path).unwrap();
    assert!(trees.contains(&mapped) && Tree::<u8>::read(&path).unwrap() == mapped);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn files_full_of_damage_are_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 1u8..), 1..20),
        cut: prop::sample::Index, is_cut: bool,
    ) {
        let whole = bytes();
        let mut damaged = whole.clone();
        for (at, with) in changes {
            let at = at.index(damaged.len());
            damaged[at] = damaged[at].wrapping_add(with);
        }
        if is_cut {
            damaged.truncate(cut.index(damaged.len()));
        }
        prop_assume!(damaged != whole);
        refused(&damaged);
    }
}
