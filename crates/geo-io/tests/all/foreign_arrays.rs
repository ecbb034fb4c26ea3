//! Arrays as others write them, and such as nobody should.

use std::path::{Path, PathBuf};

use geo_io::{Array, ArrayData, ValuesFile, npz_names, read_npy, read_npz, read_raster};
use testing::files::npy::{Entry, header, npy, npz};

const SIX: [u8; 6] = [1, 2, 3, 4, 5, 6];

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn six() -> Array {
    Array { shape: vec![2, 3], data: ArrayData::U8(SIX.to_vec()) }
}

#[test]
fn headers_of_every_version_and_of_python_2_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let plain = header("|u1", "(2, 3)");
    let long = header("|u1", "(2L, 3L)");
    let named = "{b'descr': b'|u1', u'fortran_order': False, 'shape': (2, 3)}".to_owned();
    let double = plain.replace('\'', "\"");
    let other = header("uint8", "(2, 3)");
    for version in [1, 2, 3] {
        for text in [&plain, &long, &named, &double, &other] {
            let path = write(folder.path(), "a.npy", &npy(version, text, &SIX));
            assert_eq!(read_npy(&path).unwrap(), six(), "{version}: {text}");
            let window = ValuesFile::open(&path).unwrap().window(1..2, 1..3).unwrap();
            assert_eq!(window, ArrayData::U8(vec![5, 6]), "{version}: {text}");
        }
    }
}

/// In the same words whether a file is read whole or opened for a plan.
#[test]
fn arrays_that_are_not_read_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let records =
        "{'descr': [('x', '<i4'), ('name', '<i4')], 'fortran_order': False, 'shape': (1, 1)}";
    for (text, words) in [
        (header("|O", "(1, 1)"), "Python objects"),
        (header("<c16", "(1, 1)"), "its type is <c16"),
        (header("<f16", "(1, 1)"), "its type is <f16"),
        (header("<M8[ns]", "(1, 2)"), "its type is <M8[ns]"),
        (header("<U4", "(1, 1)"), "its type is <U4"),
        (records.to_owned(), "records of x, name"),
        (header("|u1", "(1, 2, 8)"), "3 dimensions"),
        (header("|u1", "(16,)"), "dimension"),
    ] {
        let path = write(folder.path(), "a.npy", &npy(1, &text, &[0; 16]));
        let whole = read_raster(&path, None).unwrap_err().to_string();
        let opened = ValuesFile::open(&path).err().unwrap().to_string();
        assert!(whole.contains(words) && whole.contains("a.npy"), "{text}: {whole}");
        assert!(opened.contains(words), "{text}: {opened}");
        assert!(whole == opened || text.contains("(16,)"), "{whole}, {opened}");
    }
    let path = write(folder.path(), "a.npy", &npy(9, &header("|u1", "(2, 3)"), &SIX));
    assert!(read_npy(&path).unwrap_err().to_string().contains("version 9.0"));
    let mut long = npy(2, "", &[]);
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let path = write(folder.path(), "a.npy", &long);
    assert!(read_npy(&path).unwrap_err().to_string().contains("4294967295 bytes"));
}

#[test]
fn what_follows_the_last_element_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let twice = [npy(1, &header("|u1", "(2, 3)"), &SIX), npy(1, &header("|u1", "(1, 1)"), &[7])];
    let path = write(folder.path(), "a.npy", &twice.concat());
    for error in [read_npy(&path).unwrap_err(), ValuesFile::open(&path).err().unwrap()] {
        assert!(error.to_string().contains("follows its last element"), "{error}");
    }
    let longer = npy(1, &header("|u1", "(2, 3)"), &[1, 2, 3, 4, 5, 6, 7]);
    let path = write(folder.path(), "a.npz", &npz(&[Entry::stored("a.npy", longer)]));
    let error = read_npz(&path, None).unwrap_err().to_string();
    assert!(error.contains("follows its last element"), "{error}");
}

#[test]
fn a_flipped_bit_in_an_archive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let array = npy(1, &header("|u1", "(2, 3)"), &SIX);
    let whole = Entry::stored("mask.npy", array.clone());
    let path = write(folder.path(), "a.npz", &npz(std::slice::from_ref(&whole)));
    assert_eq!(read_npz(&path, None).unwrap(), six());
    let first = array.len() - 6;
    for byte in first..array.len() {
        let mut damaged = whole.clone();
        damaged.bytes[byte] ^= 1;
        let path = write(folder.path(), "a.npz", &npz(&[damaged]));
        let error = read_npz(&path, None).unwrap_err().to_string();
        assert!(error.contains("a.npz") && error.to_lowercase().contains("checksum"), "{error}");
    }
    // An array without elements has a sum as well.
    let mut empty = Entry::stored("mask.npy", npy(1, &header("|u1", "(0, 3)"), &[]));
    empty.sum ^= 1;
    let path = write(folder.path(), "a.npz", &npz(&[empty]));
    assert!(read_npz(&path, None).is_err());
}

#[test]
fn other_entries_of_an_archive_are_no_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let array = npy(1, &header("|u1", "(2, 3)"), &SIX);
    let about = Entry::stored("meta.json", b"{}".to_vec());
    let entries = [about.clone(), Entry::stored("data.npy", array.clone())];
    let path = write(folder.path(), "a.npz", &npz(&entries));
    assert_eq!(npz_names(&path).unwrap(), ["data"]);
    assert_eq!(read_npz(&path, None).unwrap(), six());
    assert_eq!(read_npz(&path, Some("data")).unwrap(), six());
    let error = read_npz(&path, Some("meta.json")).unwrap_err().to_string();
    assert!(error.contains("its arrays are data"), "{error}");
    let path = write(folder.path(), "a.npz", &npz(&[Entry::stored("data", array)]));
    assert_eq!(read_npz(&path, None).unwrap(), six());
}

#[test]
fn packings_that_are_not_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (method, name) in [(12, "bzip2"), (14, "lzma"), (93, "zstd")] {
        let array = npy(1, &header("|u1", "(2, 3)"), &SIX);
        let entry = Entry { method, ..Entry::stored("mask.npy", array) };
        let path = write(folder.path(), "a.npz", &npz(&[entry]));
        let error = read_npz(&path, None).unwrap_err().to_string();
        assert!(error.to_lowercase().contains(name), "{error}");
        assert!(error.contains("savez_compressed"), "{error}");
    }
}

/// A directory that claims 5.9 GB of a file of 300 bytes.
#[test]
fn sizes_that_an_archive_claims_are_held_against_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let array = npy(1, &header("|u1", "(60000, 60000)"), &SIX);
    let mut entry = Entry::stored("mask.npy", array);
    entry.sizes = [3_600_000_100; 2];
    let path = write(folder.path(), "a.npz", &npz(&[entry]));
    let error = read_npz(&path, None).unwrap_err().to_string();
    assert!(error.contains("a.npz"), "{error}");
    assert!(error.contains("promises 3600000000 bytes"), "{error}");
}

#[test]
fn an_archive_of_a_mac_has_its_own_members_alone_and_errors_name_the_array() {
    let folder = tempfile::tempdir().unwrap();
    let array = npy(1, &header("|u1", "(2, 3)"), &SIX);
    let extra = Entry::stored("__MACOSX/._a.npy", vec![0, 5, 22, 7]);
    let entries = [Entry::stored("folder/a.npy", array), extra];
    let path = write(folder.path(), "a.npz", &npz(&entries));
    assert_eq!(npz_names(&path).unwrap(), ["folder/a"]);
    assert_eq!(read_npz(&path, None).unwrap(), six());
    let damaged = Entry::stored("a.npy", b"no array at all".to_vec());
    let path = write(folder.path(), "a.npz", &npz(&[damaged]));
    let error = read_npz(&path, None).unwrap_err().to_string();
    assert!(error.contains("a.npz") && error.contains("array a is damaged"), "{error}");
    let path = write(folder.path(), "a.npz", &npz(&[]));
    let error = read_npz(&path, None).unwrap_err().to_string();
    assert!(error.ends_with("it has no array"), "{error}");
}
