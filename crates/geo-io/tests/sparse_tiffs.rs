//! TIFFs take no memory for what they only state. Sparse TIFFs take the memory of their values, however large the blocks that they state and do not have. In a binary of its
//! own, since memory is counted for the whole process.

use geo_io::{ArrayData, SiteValues, read_mask, read_raster};
use testing::allocations::{Counting, peak};
use testing::files::tiff::{Field, Tiff};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn a_tile_that_is_absent_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.tif");
    // 8 x 6 values in a tile of 2,621,440 x 1,024 bytes.
    let tiff = Tiff::of_bytes(8, &[1; 48]).tiles(16, 16).without_block(0).nodata("7");
    let sides = [(322, 40 << 16), (323, 1024)];
    let tiff =
        sides.into_iter().fold(tiff, |tiff, (tag, side)| tiff.tag(tag, Field::Longs(vec![side])));
    tiff.write(&path);
    let (raster, most) = peak(|| read_raster(&path, None).unwrap());
    assert_eq!(raster.values, ArrayData::U8(vec![7; 48]));
    assert!(most < 1 << 20, "{most} bytes");
    let (mask, most) = peak(|| read_mask(&path, &SiteValues::default()).unwrap());
    assert_eq!(mask.without_value, 48);
    assert!(most < 1 << 20, "{most} bytes");
}

/// A blob of LERC's first version that is whole: zeros, as many as it states.
fn first_lerc(width: i32, height: i32) -> Vec<u8> {
    let mut blob = b"CntZImage ".to_vec();
    [11, 8, height, width].iter().for_each(|word| blob.extend(word.to_le_bytes()));
    blob.extend(0.0_f64.to_le_bytes());
    // All pixels are valid.
    [0, 0, 0].iter().for_each(|word: &i32| blob.extend(word.to_le_bytes()));
    blob.extend(1.0_f32.to_le_bytes());
    // One block, of zeros.
    [1, 1, 1].iter().for_each(|word: &i32| blob.extend(word.to_le_bytes()));
    blob.extend(0.0_f32.to_le_bytes());
    blob.push(2);
    blob
}

#[test]
fn lerc_of_the_first_version_is_refused_before_it_takes_the_memory_that_it_states() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("first.tif");
    let plain = first_lerc(4000, 4000);
    let packed = testing::files::tiff::zlib(&plain);
    for (block, again) in [(plain, 0), (packed, 1)] {
        let tiff = Tiff::of_floats(16, &[0.0; 256])
            .blocks(&[block])
            .tag(259, Field::Shorts(vec![34887]))
            .tag(50674, Field::Longs(vec![4, again]));
        tiff.write(&path);
        let (error, most) = peak(|| read_raster(&path, None).unwrap_err().to_string());
        assert!(error.contains("first version of LERC"), "{error}");
        assert!(most < 1 << 20, "{most} bytes");
    }
}
