//! What lies in device memory is the caller's: bits beyond the raster's width, sites
//! outside it. None of it makes a call read or write outside what it was given.

use gpu_core::{Device, Gpu, GridSpec};
use pba_voronoi::gpu::{self, Input, Sites};
use pba_voronoi::{Error, Integers, Params, transform};

/// The nearest sites of every pixel.
fn indices(handle: &Gpu, input: &Input) -> Vec<u32> {
    let diagram = gpu::transform(handle, input, &Params::new().nearest()).unwrap();
    match diagram.nearest.unwrap().to_host().unwrap() {
        Integers::U32(indices) => indices.into_values(),
        _ => panic!("a small raster has short indices"),
    }
}

#[test]
fn bits_beyond_the_width_are_no_sites() {
    let gpu = testing::gpu();
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
        let bits = gpu.upload(&host).unwrap();
        let input = Input::new(Sites::Bits((&bits).into()), GridSpec::of_pixels(width, height));
        let expected = vec![7 * width; (width * height) as usize];
        assert_eq!(indices(&gpu, &input), expected, "width {width}");
        assert_eq!(bits.to_host().unwrap(), host, "the input is as it was");
    }
}

/// Kernels read masks by 16 bytes, 4 or one, by where the rows begin: each gives the same, and reads nothing around it.
#[test]
fn masks_may_begin_anywhere() {
    let gpu = testing::gpu();
    let params = Params::new().nearest();
    for width in (1..=68).chain([100, 204, 260]) {
        let (height, pixels) = (5, 5 * width as usize);
        let mask: Vec<u8> =
            (0..pixels).map(|i| if i * 7919 % 13 == 0 { 0x80 } else { 0 }).collect();
        let grid = GridSpec::of_pixels(width, height);
        let host = pba_voronoi::Input::new(pba_voronoi::Sites::Mask(&mask), grid);
        let on_cpu = transform(&Device::Cpu, &host, &params).unwrap().nearest.unwrap();
        for offset in [0, 1, 4, 8] {
            let around = [vec![1; offset], mask.clone()].concat();
            let column = gpu.upload(&around).unwrap();
            let slice = column.slice(offset..offset + pixels).unwrap();
            let input = Input::new(Sites::Mask(slice), grid);
            let Integers::U32(expected) = &on_cpu else { panic!("short indices") };
            assert_eq!(indices(&gpu, &input), expected.values(), "width {width}, offset {offset}");
        }
    }
}

#[test]
fn listed_sites_outside_the_raster_are_left_out() {
    let gpu = testing::gpu();
    let (width, height) = (40, 30);
    let columns = gpu.upload(&[3, 40, 0, u32::MAX, 63, 64, 5]).unwrap();
    let rows = gpu.upload(&[4, 0, 30, u32::MAX, 29, 1 << 31, u32::MAX]).unwrap();
    let values = gpu.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
    let sites = Sites::List { columns: (&columns).into(), rows: (&rows).into() };
    let input = Input::new(sites, GridSpec::of_pixels(width, height)).values(&values);
    assert_eq!(indices(&gpu, &input), vec![4 * 40 + 3; 1200]);
    let diagram = gpu::transform(&gpu, &input, &Params::new().value()).unwrap();
    assert_eq!(diagram.value.unwrap().to_host().unwrap().values(), [1.0; 1200]);

    let one = gpu.upload(&[1u32]).unwrap();
    let sites = Sites::List { columns: (&columns).into(), rows: (&one).into() };
    let input = Input::new(sites, GridSpec::of_pixels(width, height));
    let refused = gpu::transform(&gpu, &input, &Params::new().nearest());
    let expected = gpu_core::Error::Length { what: "list of rows", expected: 7, found: 1 };
    assert_eq!(refused.err(), Some(Error::Core(expected)));
}

/// The end of a tile that begins before the last column must still be an `i32`.
#[test]
fn sides_beyond_which_a_tile_cannot_step_are_refused() {
    let gpu = testing::gpu();
    for side in [pba_voronoi::MAX_SIDE + 1, i32::MAX as u32 - 254, i32::MAX as u32] {
        for (width, height) in [(side, 1), (1, side)] {
            let input = pba_voronoi::Input::new(
                pba_voronoi::Sites::Mask(&[]),
                GridSpec::of_pixels(width, height),
            );
            let device = Device::Gpu(gpu.clone());
            let refused = transform(&device, &input, &Params::new().nearest());
            assert_eq!(refused, Err(Error::TooLarge { width, height }));
        }
    }
}
