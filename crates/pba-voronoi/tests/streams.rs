//! Every resident function on memory of another stream than its handle's. The software device reports
//! work that nothing orders.
#![cfg(feature = "cuda")]

use gpu_core::{Column, DeviceChoice, DeviceGrid, Element, Gpu};
use pba_voronoi::gpu::{self, Bits};
use pba_voronoi::{Algorithm, Transform};

const WIDTH: u32 = 70;
const HEIGHT: u32 = 50;

fn handle() -> Gpu {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    Gpu::open(choice).unwrap()
}

/// A raster that the handle's own stream has written last.
fn raster<T: Element>(gpu: &Gpu, host: &[T]) -> DeviceGrid<T> {
    let mut column: Column<T> = gpu.zeroed(host.len()).unwrap();
    column.copy_from(&gpu.upload(host).unwrap()).unwrap();
    DeviceGrid::new(column, WIDTH, HEIGHT).unwrap()
}

fn mask() -> Vec<u8> {
    (0..WIDTH * HEIGHT).map(|i| u8::from(i % 97 == 0)).collect()
}

#[test]
fn diagrams_and_distances() {
    let (a, b) = (handle(), handle());
    for algorithm in [Algorithm::ScanPrune, Algorithm::Monotone] {
        let sites = raster(&a, &mask());
        let nearest = gpu::nearest_sites_by(&b, &sites, algorithm).unwrap();
        drop(sites);
        let squares = gpu::squared_distances(&a, &nearest).unwrap();
        let distances = gpu::distances(&a, &nearest).unwrap();
        drop(nearest);
        assert_eq!(squares.column().to_host().unwrap()[1], 1);
        assert_eq!(distances.column().to_host().unwrap()[1], 1.0);
    }
}

#[test]
fn bits_and_winners() {
    let (a, b) = (handle(), handle());
    let transform = Transform::new().distance();
    let mask = raster(&a, &mask());
    let labels = raster(&a, &vec![1u32; (WIDTH * HEIGHT) as usize]);
    let (columns, rows) = (a.upload(&[3u32]).unwrap(), a.upload(&[4u32]).unwrap());
    let all = [
        Bits::from_mask(&b, &mask).unwrap(),
        Bits::from_labels(&b, &labels).unwrap(),
        Bits::from_list(&b, &columns, &rows, WIDTH, HEIGHT).unwrap(),
    ];
    drop((mask, labels, columns, rows));
    for bits in all {
        let flipped = bits.flipped(&a).unwrap();
        drop(bits);
        let winners = transform.search(&b, &flipped).unwrap();
        drop(flipped);
        let indices = winners.indices(&a).unwrap();
        let squares = winners.squares(&a).unwrap();
        let distances = winners.distances(&a).unwrap();
        drop(winners);
        assert_eq!(indices.to_host().unwrap().len(), squares.to_host().unwrap().len());
        assert_eq!(distances.column().to_host().unwrap().len(), (WIDTH * HEIGHT) as usize);
    }
}
