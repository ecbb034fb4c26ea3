//! Every resident function on memory of another stream than its handle's. The software device reports
//! work that nothing orders.

use gpu_core::{Column, Element, Gpu, GridSlice, GridSpec};
use pba_voronoi::gpu::{self, Input, Sites};
use pba_voronoi::{Baseline, Method, Params};
use testing::gpu as handle;

const WIDTH: u32 = 70;
const HEIGHT: u32 = 50;

/// A column that the handle's own stream has written last.
fn written<T: Element>(gpu: &Gpu, host: &[T]) -> Column<T> {
    let mut column: Column<T> = gpu.zeroed(host.len()).unwrap();
    column.copy_from(&gpu.upload(host).unwrap()).unwrap();
    column
}

fn mask() -> Vec<u8> {
    (0..WIDTH * HEIGHT).map(|i| u8::from(i % 97 == 0)).collect()
}

#[test]
fn nearest_sites() {
    let (a, b) = (handle(), handle());
    let sites = written(&a, &mask());
    let sites_of = GridSlice::new(&sites, GridSpec::of_pixels(WIDTH, HEIGHT)).unwrap();
    let nearest = gpu::nearest_sites(&b, sites_of).unwrap();
    drop(sites);
    assert_eq!(nearest.to_host().unwrap().values()[..3], [0; 3]);
}

#[test]
fn every_input_of_a_transform() {
    let (a, b) = (handle(), handle());
    let grid = GridSpec::of_pixels(WIDTH, HEIGHT);
    let pixels = grid.cells() as usize;
    for (case, method) in [Method::Baseline(Baseline::ScanPrune), Method::Monotone]
        .into_iter()
        .cycle()
        .take(8)
        .enumerate()
    {
        let mask = written(&a, &mask());
        let labels = written(&a, &vec![1u32; pixels]);
        let words = written(&a, &vec![1u32; (WIDTH.div_ceil(32) * HEIGHT) as usize]);
        let (columns, rows) = (written(&a, &[3u32]), written(&a, &[4u32]));
        let excluded = written(&a, &vec![0u8; pixels]);
        let values = written(&a, &vec![2.5f32; if case / 2 == 2 { 1 } else { pixels }]);
        let sites = match case / 2 {
            0 => Sites::Mask((&mask).into()),
            1 => Sites::Bits((&words).into()),
            2 => Sites::List { columns: (&columns).into(), rows: (&rows).into() },
            _ => Sites::Labels((&labels).into()),
        };
        let input = Input::new(sites, grid).excluded(&excluded).values(&values);
        let params = Params::new()
            .method(method)
            .nearest()
            .coordinates()
            .squared_distance()
            .distance()
            .distance_f64()
            .signed_distance()
            .value();
        let params = if case / 2 == 3 { params.label() } else { params };
        let diagram = gpu::transform(&b, &input, &params).unwrap();
        drop((mask, labels, words, columns, rows, excluded, values));
        assert_eq!(diagram.nearest.unwrap().to_host().unwrap().len(), pixels);
        assert_eq!(diagram.value.unwrap().to_host().unwrap().values(), vec![2.5; pixels]);
        let signed = diagram.signed_distance.unwrap().to_host().unwrap();
        assert!(signed.values().iter().all(|distance| !distance.is_nan()));
    }
}
