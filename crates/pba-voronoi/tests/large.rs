//! More pixels than 32 bits can number, only on a GPU with the memory for it. The test leaves little memory to others,
//! so it is a test binary of its own.
#![cfg(feature = "cuda")]

use gpu_core::{Column, DeviceGrid, Element, Gpu, GridSlice, GridSpec};
use pba_voronoi::Params;
use pba_voronoi::gpu::{self, Input, Integers};
use testing::Random;

const WIDTH: u32 = 70_000;
const HEIGHT: u32 = 65_000;

/// The memory that the largest output and all it is made from take.
const BYTES: u64 = WIDTH as u64 * HEIGHT as u64 * 18;

/// The GPU, if it is one and has room.
fn open() -> Option<Gpu> {
    let gpu = testing::gpu();
    if gpu.is_software() || gpu.free_memory().unwrap() < BYTES + (1 << 30) {
        println!("skipped: needs a GPU with {} GiB of free memory", (BYTES >> 30) + 1);
        return None;
    }
    Some(gpu)
}

/// Columns and rows of sites.
type Places = Vec<(u32, u32)>;

/// Random sites, and some on the raster's last and the 2^32nd pixel's rows.
fn sites(count: usize, random: &mut Random) -> Places {
    let mut sites: Places = (0..count)
        .map(|_| (random.below(WIDTH.into()) as u32, random.below(HEIGHT.into()) as u32))
        .collect();
    let beyond = (1u64 << 32) / u64::from(WIDTH);
    sites.extend([(WIDTH - 1, HEIGHT - 1), (5, beyond as u32), (WIDTH - 7, beyond as u32)]);
    sites
}

/// Pixels to look at: `rows` whole rows, among them those at the ends and around pixel 2^32, and
/// `single` pixels anywhere. As ranges of indices.
fn samples(rows: usize, single: usize, random: &mut Random) -> Vec<std::ops::Range<u64>> {
    let beyond = ((1u64 << 32) / u64::from(WIDTH)) as u32;
    let mut whole = vec![0, HEIGHT - 1, beyond, beyond + 1, 255, 256, 32_767, 61_439, 61_440];
    whole.resize_with(rows.max(whole.len()), || random.below(HEIGHT.into()) as u32);
    whole.truncate(rows);
    let pixel = |x: u32, y: u32| u64::from(y) * u64::from(WIDTH) + u64::from(x);
    let mut samples: Vec<_> = whole.into_iter().map(|y| pixel(0, y)..pixel(0, y + 1)).collect();
    samples.extend((0..single).map(|_| {
        let at = pixel(random.below(WIDTH.into()) as u32, random.below(HEIGHT.into()) as u32);
        at..at + 1
    }));
    samples
}

/// Squared distance and index of the nearest site, by looking at all.
fn nearest(pixel: u64, sites: &Places) -> (u64, u64) {
    let width = u64::from(WIDTH);
    let (x, y) = (pixel % width, pixel / width);
    let cost = |&(sx, sy): &(u32, u32)| {
        let (sx, sy) = (u64::from(sx), u64::from(sy));
        (x.abs_diff(sx).pow(2) + y.abs_diff(sy).pow(2), sy * width + sx)
    };
    sites.iter().map(cost).min().unwrap()
}

fn part<T: Element>(gpu: &Gpu, column: &Column<T>, range: &std::ops::Range<u64>) -> Vec<T> {
    let mut host = vec![T::zeroed(); (range.end - range.start) as usize];
    let from = column.slice(range.start as usize..range.end as usize).unwrap();
    // SAFETY: the host array stays until the stream has run.
    unsafe { gpu.enqueue_read(from, &mut host).unwrap() };
    gpu.synchronize().unwrap();
    host
}

fn long(numbers: Option<Integers>) -> DeviceGrid<u64> {
    match numbers {
        Some(Integers::U64(grid)) => grid,
        _ => panic!("indices of {WIDTH} x {HEIGHT} pixels are not in 64 bits"),
    }
}

/// Compares indices, squares and distances with the definition at the samples.
fn check(gpu: &Gpu, input: &Input, sites: &Places, samples: &[std::ops::Range<u64>]) {
    let expected: Vec<Vec<(u64, u64)>> = samples
        .iter()
        .map(|range| range.clone().map(|pixel| nearest(pixel, sites)).collect())
        .collect();
    let diagram = gpu::transform(gpu, input, &Params::new().nearest()).unwrap();
    let indices = long(diagram.nearest);
    for (range, expected) in samples.iter().zip(&expected) {
        let found = part(gpu, indices.column(), range);
        assert!(found.iter().eq(expected.iter().map(|(_, site)| site)), "pixels {range:?}");
    }
    drop(indices);
    let diagram = gpu::transform(gpu, input, &Params::new().squared_distance()).unwrap();
    let squares = long(diagram.squared_distance);
    for (range, expected) in samples.iter().zip(&expected) {
        let found = part(gpu, squares.column(), range);
        assert!(found.iter().eq(expected.iter().map(|(square, _)| square)), "pixels {range:?}");
    }
    drop(squares);
    let diagram = gpu::transform(gpu, input, &Params::new().distance()).unwrap();
    let distances = diagram.distance.unwrap();
    for (range, expected) in samples.iter().zip(&expected) {
        let found = part(gpu, distances.column(), range);
        let root = |&(square, _): &(u64, u64)| (square as f64).sqrt() as f32;
        assert!(found.into_iter().eq(expected.iter().map(root)), "pixels {range:?}");
    }
}

/// From a mask of bytes, every pixel of many rows.
#[test]
fn few_sites_in_a_mask() {
    let Some(gpu) = open() else { return };
    let mut random = Random::new(1);
    let sites = sites(40, &mut random);
    let mut mask = gpu.zeroed::<u8>(WIDTH as usize * HEIGHT as usize).unwrap();
    for &(x, y) in &sites {
        let at = y as usize * WIDTH as usize + x as usize;
        // SAFETY: the byte is a constant.
        unsafe { gpu.enqueue_write(mask.slice_mut(at..at + 1).unwrap(), &[1]).unwrap() };
    }
    let input = GridSlice::new(&mask, GridSpec::of_pixels(WIDTH, HEIGHT)).unwrap();
    check(&gpu, &input.into(), &sites, &samples(60, 2000, &mut random));
}

/// From a list, single pixels.
#[test]
fn many_listed_sites() {
    let Some(gpu) = open() else { return };
    let mut random = Random::new(2);
    let sites = sites(50_000, &mut random);
    let (columns, rows): (Vec<u32>, Vec<u32>) = sites.iter().copied().unzip();
    let (columns, rows) = (gpu.upload(&columns).unwrap(), gpu.upload(&rows).unwrap());
    let listed = gpu::Sites::List { columns: (&columns).into(), rows: (&rows).into() };
    let input = Input::new(listed, GridSpec::of_pixels(WIDTH, HEIGHT));
    check(&gpu, &input, &sites, &samples(0, 3000, &mut random));
}
