//! Rasters and trees of another stream: the software device reports work that nothing orders.

use crate::common::fractal;
use ccq_tree::gpu::{self, Condition, Workspace};
use ccq_tree::{Params, Query, build, count};
use gpu_core::{Device, DeviceGrid};

#[test]
fn columns_of_another_stream_are_put_in_order() {
    let home = testing::gpu();
    let away = home.fork().unwrap();
    let raster = fractal::<i16>(150, 90, 4, 0.6);
    let params = Params::new().bins([0.0, 30.0]);
    let host = build(&Device::Cpu, raster.view(), &params).unwrap();
    let condition = ccq_tree::Condition::new(&host).raster(raster.view()).range(10.0, 60.0);
    let expected = count(&Device::Cpu, &[condition], &Query::new()).unwrap();
    for _ in 0..4 {
        let resident = DeviceGrid::upload(&home, raster.view()).unwrap();
        let mut workspace = Workspace::new(&away).unwrap();
        let tree = gpu::build(&mut workspace, &resident, &params).unwrap();
        let mut other = Workspace::new(&home).unwrap();
        let condition = Condition::new(&tree).raster(&resident).range(10.0, 60.0);
        let counted = gpu::count(&mut other, &[condition], &Query::new()).unwrap();
        assert!(tree.to_host().unwrap() == host);
        let plain = gpu::build(&mut workspace, &resident, &Params::new()).unwrap();
        let fields = gpu::fields(&mut other, &plain, ccq_tree::Sum).unwrap();
        let total = fields.total(&mut workspace, &[fields.condition()], &Query::new()).unwrap();
        let sum = raster.values().iter().map(|&value| i64::from(value)).sum::<i64>();
        assert_eq!(total.map(|total| (total.cells, total.sum)), Some((150 * 90, sum)));
        drop(fields);
        drop((tree, plain, resident));
        assert_eq!(counted.to_host().unwrap()[1], expected.cells);
    }
}
