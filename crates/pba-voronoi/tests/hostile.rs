//! What lies in device memory is the caller's: indices beyond the raster, bits beyond its width, sites
//! outside it. None of it makes a call read or write outside what it was given.
#![cfg(feature = "cuda")]

use gpu_core::{DeviceChoice, Gpu};
use pba_voronoi::gpu::{Bits, distances, squared_distances};
use pba_voronoi::{Error, Integers, NONE, Transform};

fn open() -> Gpu {
    Gpu::open(DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software)).unwrap()
}

/// The nearest sites of every pixel.
fn indices(gpu: &Gpu, bits: &Bits) -> Vec<u32> {
    let winners = Transform::new().search(gpu, bits).unwrap();
    match winners.indices(gpu).unwrap().to_host().unwrap() {
        Integers::U32(indices) => indices,
        Integers::U64(_) => panic!("a small raster has short indices"),
    }
}

/// An index of which no pixel has the number is as good as none: the squared distance to it might not
/// even fit 64 bits.
#[test]
fn indices_beyond_the_raster_are_infinitely_far() {
    let gpu = open();
    let nearest = [0, 2, 3, NONE, NONE - 1, 1 << 31];
    for (width, height) in [(3, 2), (1, 6), (6, 1)] {
        let mut nearest = nearest;
        nearest[2] = 6;
        let grid = gpu.upload_grid(&nearest, width, height).unwrap();
        let squared = squared_distances(&gpu, &grid).unwrap().into_column().to_host().unwrap();
        let distance = distances(&gpu, &grid).unwrap().into_column().to_host().unwrap();
        assert_eq!((squared[0], distance[0]), (0, 0.0));
        assert!(squared[1] < 9 && distance[1] < 3.0);
        assert_eq!(squared[2..], [u64::MAX; 4], "{width} x {height}");
        assert_eq!(distance[2..], [f32::INFINITY; 4], "{width} x {height}");
    }
}

#[test]
fn bits_beyond_the_width_are_no_sites() {
    let gpu = open();
    for width in [1u32, 31, 33, 70] {
        let (words, height) = (width.div_ceil(32), 40);
        let last_bits = if width % 32 == 0 { u32::MAX } else { (1 << (width % 32)) - 1 };
        // Only bits that are not of the raster, but for one site.
        let mut host = vec![0u32; (words * height) as usize];
        host.iter_mut()
            .skip(words as usize - 1)
            .step_by(words as usize)
            .for_each(|w| *w = !last_bits);
        host[(words * 7) as usize] |= 1;
        let bits = Bits::from_words(gpu.upload(&host).unwrap(), width, height).unwrap();
        let expected = vec![7 * width; (width * height) as usize];
        assert_eq!(indices(&gpu, &bits), expected, "width {width}");
    }
}

#[test]
fn listed_sites_outside_the_raster_are_left_out() {
    let gpu = open();
    let (width, height) = (40, 30);
    let columns = gpu.upload(&[3, 40, 0, u32::MAX, 63, 64, 5]).unwrap();
    let rows = gpu.upload(&[4, 0, 30, u32::MAX, 29, 1 << 31, u32::MAX]).unwrap();
    let bits = Bits::from_list(&gpu, &columns, &rows, width, height).unwrap();
    assert_eq!(indices(&gpu, &bits), vec![4 * 40 + 3; 1200]);
    let refused = Bits::from_list(&gpu, &columns, &gpu.upload(&[1u32]).unwrap(), width, height);
    let expected = Error::Length { what: "list of rows", width, height, expected: 7, found: 1 };
    assert_eq!(refused.err(), Some(expected));
}

/// The end of a tile that begins before the last column must still be an `i32`.
#[test]
fn sides_beyond_which_a_tile_cannot_step_are_refused() {
    let gpu = open();
    for side in [pba_voronoi::MAX_SIDE + 1, i32::MAX as u32 - 254, i32::MAX as u32] {
        for (width, height) in [(side, 1), (1, side)] {
            let refused = pba_voronoi::voronoi(
                &gpu_core::Device::Gpu(gpu.clone()),
                &[],
                width,
                height,
                pba_voronoi::Outputs::default(),
                &(),
            );
            assert_eq!(refused, Err(Error::TooLarge { width, height }));
        }
    }
}
