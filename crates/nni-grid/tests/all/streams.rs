//! Points of one stream, the interpolation on another. The software device reports work that nothing
//! orders.

use crate::common::{bits, only, random, square};
use gpu_core::{DevicePoints, Extent, GridSlice, Slice};
use nni_grid::{Input, Params, gpu, interpolate};

#[test]
fn points_and_mask_of_another_stream() {
    let cloud = random(200, 20.0, 3, |x, y| x - y);
    let mask: Vec<u8> = (0..400).map(|i| u8::from(i % 7 != 0)).collect();
    let (a, b) = (testing::gpu(), testing::gpu());
    let mut workspace = gpu::Workspace::new(&b).unwrap();
    for params in [Params::new(), Params::on_pixels()] {
        let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| a.upload(column).unwrap());
        let mask_there = a.upload(&mask).unwrap();
        let extent = cloud.with(|points| Extent::of(&points)).unwrap();
        let points = DevicePoints::new(&x, &y, [Slice::from(&z)], extent).unwrap();
        let input = gpu::Input::new(points, square(20))
            .mask(GridSlice::new(&mask_there, square(20)).unwrap());
        let dem = gpu::interpolate(&mut workspace, &input, &params).unwrap();
        drop((x, y, z, mask_there));
        let again = a.zeroed::<f64>(1000).unwrap();
        let found = dem.to_host().unwrap();
        drop(again);
        let expected = cloud.with(|points| {
            let mask = gpu_core::GridView::new(&mask, square(20)).unwrap();
            interpolate(&gpu_core::Device::Cpu, Input::new(points, square(20)).mask(mask), &params)
        });
        assert_eq!(bits(only(&found)), bits(only(&expected.unwrap())));
        assert_eq!(found.summary.points, 200);
    }
}
