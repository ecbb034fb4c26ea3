//! Sparse TIFFs take the memory of their values, however large the blocks that they state and do not have. In a binary of its
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
