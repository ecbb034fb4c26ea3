//! Every resident function on columns of another stream than its handle's. The software device reports work that
//! nothing orders.
#![cfg(feature = "cuda")]

mod common;

use common::Sites;
use gpu_core::{DevicePoints, Extent};
use sphere_qtm::gpu::{self, Workspace};
use sphere_qtm::{Kernel, Level, Params};
use testing::gpu as handle;

#[test]
fn diagrams_and_cells() {
    let (a, b) = (handle(), handle());
    let mut workspace = Workspace::new(&b).unwrap();
    let sites = Sites::random(50, 1);
    let level = Level::new(3).unwrap();
    let extent = Extent::of(&sites.points()).unwrap();
    let column = |values: &[f64]| {
        let mut column = a.zeroed(values.len()).unwrap();
        column.copy_from(&a.upload(values).unwrap()).unwrap();
        column
    };
    for kernel in [Kernel::Pruned, Kernel::Registers, Kernel::Shared] {
        let (x, y) = (column(&sites.x), column(&sites.y));
        let points = DevicePoints::new(&x, &y, [], extent.clone()).unwrap();
        let diagram = gpu::voronoi(&mut workspace, &points, &Params::new(level).kernel(kernel));
        drop((x, y));
        let nearest = diagram.unwrap().to_host().unwrap().nearest;
        assert!(nearest.iter().all(|&site| site < 50));
    }
    let (x, y) = (column(&sites.x), column(&sites.y));
    let cells = gpu::cells_of_points(&mut workspace, &x, &y, level).unwrap();
    let vectors = [&x, &y, &x].map(Into::into);
    let others = gpu::cells_of_vectors(&mut workspace, vectors, level).unwrap();
    drop((x, y));
    assert!(cells.to_host().unwrap().iter().all(|&id| id != 0));
    assert_eq!(others.len(), 50);
}
