//! Every resident function on columns of another stream than its handle's. The software device reports work that
//! nothing orders.

use crate::common::Sites;
use gpu_core::{DevicePoints, Extent};
use sphere_qtm::gpu::{self, DeviceShapes};
use sphere_qtm::{Baseline, Level, LonLat, Method, Params, Shape, Shapes};
use testing::gpu as handle;

#[test]
fn diagrams_and_cells() {
    let (a, b) = (handle(), handle());
    let sites = Sites::random(50, 1);
    let level = Level::new(3).unwrap();
    let extent = Extent::of(&sites.points()).unwrap();
    let column = |values: &[f64]| {
        let mut column = a.zeroed(values.len()).unwrap();
        column.copy_from(&a.upload(values).unwrap()).unwrap();
        column
    };
    for method in
        [Method::Pruned, Method::Baseline(Baseline::Registers), Method::Baseline(Baseline::Shared)]
    {
        let (x, y) = (column(&sites.x), column(&sites.y));
        let points = DevicePoints::new(&x, &y, [], extent.clone()).unwrap();
        let diagram = gpu::voronoi(&b, &points, &Params::new(level).method(method));
        drop((x, y));
        let nearest = diagram.unwrap().to_host().unwrap().nearest;
        assert!(nearest.iter().all(|&site| site < 50));
    }
    let (x, y) = (column(&sites.x), column(&sites.y));
    let cells = gpu::cells_of_points(&b, &x, &y, level).unwrap();
    let vectors = [&x, &y, &x].map(Into::into);
    let others = gpu::cells_of_vectors(&b, vectors, level).unwrap();
    drop((x, y));
    assert!(cells.to_host().unwrap().iter().all(|&id| id != 0));
    assert_eq!(others.len(), 50);
}

#[test]
fn diagrams_of_shapes() {
    let (a, b) = (handle(), handle());
    let place = |longitude, latitude| LonLat::new(longitude, latitude).unwrap();
    let line = Shape::Line(vec![place(0.0, 0.0), place(90.0, 10.0)]);
    let shapes = Shapes::new(&[line, Shape::Point(place(-120.0, 5.0))]).unwrap();
    for method in [Method::Pruned, Method::Baseline(Baseline::Global)] {
        let resident = DeviceShapes::new(&a, &shapes).unwrap();
        let params = Params::new(Level::new(3).unwrap()).method(method);
        let diagram = gpu::voronoi_of_shapes(&b, &resident, &params);
        drop(resident);
        let nearest = diagram.unwrap().to_host().unwrap().nearest;
        assert!(nearest.contains(&0) && nearest.contains(&1) && nearest.iter().all(|&s| s < 2));
    }
}
