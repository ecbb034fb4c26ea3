//! Room that is taken for an array before its values are there.

use std::path::Path;
use std::time::Duration;

use geo_io::*;
use tempfile::TempDir;

/// Sides of an array of f32 that is worth room, and not whole pages.
const LARGE: (usize, usize) = (4111, 4099);

fn values((width, height): (usize, usize)) -> Vec<f32> {
    (0..width * height).map(|i| (i * 37 % 10_007) as f32).collect()
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Whether two files have the same bytes, which are too many to be printed.
fn are_same(a: &Path, b: &Path) -> bool {
    std::fs::read(a).unwrap() == std::fs::read(b).unwrap()
}

#[test]
fn an_array_in_its_room_has_the_bytes_of_one_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // At once, after a part of the zeros, after them all; and what is too small for any.
    for (size, wait) in [(LARGE, 0), (LARGE, 3), (LARGE, 400), ((31, 33), 0), ((0, 5), 0)] {
        let values = values(size);
        write_npy(&at("written.npy"), &values, size.0, size.1).unwrap();
        let room = NpyRoom::begin(&at("room.npy"), size.0, size.1).unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let ahead = room.write(&values).unwrap();
        assert!(ahead.bytes <= 4 * values.len() as u64);
        assert!(are_same(&at("written.npy"), &at("room.npy")), "{size:?} after {wait} ms");
        assert_eq!(names(&folder), ["room.npy", "written.npy"]);
    }
    assert!(NpyRoom::<f32>::is_worth((LARGE.0 * LARGE.1) as u64) && !NpyRoom::<u8>::is_worth(9));
}

#[test]
fn the_old_file_stays_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let new = values(LARGE);
    let old: Vec<f32> = new.iter().map(|v| v + 0.5).collect();
    write_npy(&at("d.npy"), &old, LARGE.0, LARGE.1).unwrap();
    std::fs::copy(at("d.npy"), at("copy.npy")).unwrap();
    // One that was written long ago, whose pages are given up at once.
    let file = std::fs::File::options().write(true).open(at("d.npy")).unwrap();
    file.sync_all().unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600)).unwrap();
    drop(file);

    let room = NpyRoom::<f32>::begin(&at("d.npy"), LARGE.0, LARGE.1).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert!(are_same(&at("d.npy"), &at("copy.npy")));
    drop(room);
    assert!(are_same(&at("d.npy"), &at("copy.npy")));
    assert_eq!(names(&folder), ["copy.npy", "d.npy"]);

    let room = NpyRoom::<f32>::begin(&at("d.npy"), LARGE.0, LARGE.1).unwrap();
    let lacking = room.write(&new[1..]).unwrap_err();
    assert!(matches!(lacking, Error::Shape { .. }), "{lacking}");
    assert!(are_same(&at("d.npy"), &at("copy.npy")));
    assert_eq!(names(&folder), ["copy.npy", "d.npy"]);

    let room = NpyRoom::<f32>::begin(&at("d.npy"), LARGE.0, LARGE.1).unwrap();
    room.write(&new).unwrap();
    assert_eq!(read_npy(&at("d.npy")).unwrap().data, ArrayData::F32(new));
    assert_eq!(names(&folder), ["copy.npy", "d.npy"]);
}

#[test]
fn what_is_to_stay_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.npy");
    let with = |existing| Output { path: &path, existing };
    let (old, new) = (values(LARGE), vec![1.0_f32; LARGE.0 * LARGE.1]);
    // There before, and come meanwhile.
    let room = NpyRoom::<f32>::begin(with(Existing::Refuse), LARGE.0, LARGE.1).unwrap();
    write_npy(&path, &old, LARGE.0, LARGE.1).unwrap();
    assert!(matches!(room.write(&new), Err(Error::Exists { .. })));
    let refused = NpyRoom::<f32>::begin(with(Existing::Refuse), LARGE.0, LARGE.1).map(drop);
    assert!(matches!(refused, Err(Error::Exists { .. })));
    let same = || NpyRoom::<f32>::begin(with(Existing::KeepSame), LARGE.0, LARGE.1).unwrap();
    same().write(&old).unwrap();
    assert!(matches!(same().write(&new), Err(Error::Differs { .. })));
    assert_eq!(read_npy(&path).unwrap().data, ArrayData::F32(old));
    assert_eq!(names(&folder), ["d.npy"]);
}

#[test]
#[cfg(unix)]
fn a_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink("real.npy", at("link.npy")).unwrap();
    let room = NpyRoom::begin(&at("link.npy"), LARGE.0, LARGE.1).unwrap();
    room.write(&values(LARGE)).unwrap();
    assert!(at("link.npy").is_symlink());
    assert_eq!(names(&folder), ["link.npy", "real.npy"]);
    assert_eq!(read_npy(&at("real.npy")).unwrap().data, ArrayData::F32(values(LARGE)));
}

#[test]
#[cfg(target_os = "linux")]
fn a_disk_without_room_is_an_error_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.npy");
    for (width, height) in [(1 << 30, 1 << 26), (usize::MAX, usize::MAX)] {
        let error = NpyRoom::<f64>::begin(&path, width, height).map(drop).unwrap_err().to_string();
        assert!(error.contains("d.npy") && !error.contains('\n'), "{error}");
        assert_eq!(names(&folder), [""; 0]);
    }
}

#[test]
fn the_size_of_a_mask_is_told_by_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, bytes: &[u8]| std::fs::write(at(name), bytes).unwrap();
    write_npy(&at("m.npy"), &[1_u8; 6], 3, 2).unwrap();
    write_npy_list(&at("list.npy"), &[1_u8; 6]).unwrap();
    let pixels = gpu_core::GridSpec::of_pixels(4, 3);
    write_geotiff(&at("m.tif"), &pixels, &[1.0; 12], None, f32::NAN).unwrap();
    let array = std::fs::read(at("m.npy")).unwrap();
    let packed = |name: &str, entries: &[(&str, &[u8])]| {
        let mut archive = zip::ZipWriter::new(std::fs::File::create(at(name)).unwrap());
        for (entry, bytes) in entries {
            archive.start_file(*entry, zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut archive, bytes).unwrap();
        }
        archive.finish().unwrap();
    };
    packed("m.npz", &[("other.npy", &[0; 9]), ("mask.npy", &array)]);
    packed("only.npz", &[("a.npy", &array)]);
    packed("two.npz", &[("a.npy", &array), ("b.npy", &array)]);
    for (name, size) in
        [("m.npy", (3, 2)), ("m.tif", (4, 3)), ("m.npz", (3, 2)), ("only.npz", (3, 2))]
    {
        assert_eq!(mask_size(&at(name)), Some(size), "{name}");
        let mask = read_mask(&at(name), &SiteValues::default()).unwrap();
        assert_eq!((mask.width, mask.height), size, "{name}");
    }
    // A header that promises what is not there.
    let header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (99999999, 99999), }";
    let mut promised = header.to_vec();
    promised.resize(127, b' ');
    promised.extend(b"\n\x01\x01");
    write("far.npy", &promised);
    packed("far.npz", &[("mask.npy", &promised)]);
    write("cut.npy", &array[..20]);
    write("m.png", b"\x89PNG");
    for name in
        ["list.npy", "two.npz", "far.npy", "far.npz", "cut.npy", "m.png", "none.npy", "m.xyz"]
    {
        assert_eq!(mask_size(&at(name)), None, "{name}");
    }
}

#[test]
fn a_tiff_whose_rows_or_blocks_do_not_fit_the_memory_is_refused_at_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.tif");
    let (place, options) = (Georeference::north_up((0.0, 0.0), (1.0, 1.0)), TiffOptions::default());
    for size in [(u32::MAX, u32::MAX), (u32::MAX, 1000)] {
        let mut fill = |_: usize, _: &mut [f32]| panic!("rows are asked for");
        let error = write_tiff_rows(&path, &place, size, &Bands::one(-1.0), &options, &mut fill);
        let error = error.unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        assert!(names(&folder).is_empty());
    }
}

#[test]
fn a_zarr_store_whose_coordinates_do_not_fit_the_memory_is_refused_at_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.zarr");
    let place = Georeference::north_up((0.0, 0.0), (1.0, 1.0));
    if gpu_core::host_memory::require(16 * u64::from(u32::MAX)).is_ok() {
        // A machine with as much memory would pack them for minutes.
        return;
    }
    for size in [(u32::MAX, 1), (1, u32::MAX)] {
        let mut fill = |_: usize, _: &mut [f32]| panic!("rows are asked for");
        let options = TiffOptions::default();
        let error = write_zarr_rows(&path, &place, size, &Bands::one(-1.0), &options, &mut fill);
        let error = error.unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        assert!(names(&folder).is_empty());
    }
}
