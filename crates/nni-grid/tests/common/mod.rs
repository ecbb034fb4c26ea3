//! What the suites share: devices, points, and the comparison of devices.
#![allow(dead_code)]

use gpu_core::{Device, DeviceChoice, GridSpec};
use nni_grid::{Dem, Params, Points, Weights, interpolate};

/// The devices under test: the CPU, and the GPU named by `TESSERA_DEVICE`, else the software
/// device. A GPU that cannot be opened fails the test.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::Cpu];
    if cfg!(feature = "cuda") {
        let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
        devices.push(Device::open(choice).unwrap());
    }
    devices
}

/// Owned points.
#[derive(Clone, Debug, Default)]
pub struct Cloud {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub z: Vec<f64>,
}

impl Cloud {
    pub fn of(points: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let mut cloud = Self::default();
        for (x, y, z) in points {
            cloud.x.push(x);
            cloud.y.push(y);
            cloud.z.push(z);
        }
        cloud
    }

    /// Repeatable points in a square, with heights from a function.
    pub fn random(count: usize, side: f64, seed: u64, height: impl Fn(f64, f64) -> f64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        Self::of((0..count).map(|_| {
            let (x, y) = (next() * side, next() * side);
            (x, y, height(x, y))
        }))
    }

    pub fn points(&self) -> Points<'_> {
        Points { x: &self.x, y: &self.y, z: &self.z }
    }
}

/// The mean of two values; of one, where only that is there.
pub fn united(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ => ((f64::from(a) + f64::from(b)) / 2.0) as f32,
    }
}

pub fn square(side: u32) -> GridSpec {
    GridSpec::new(0.0, f64::from(side), 1.0, side, side).unwrap()
}

/// Interpolates on every device and checks that they agree in all bits; gives the DEM.
pub fn on_all(cloud: &Cloud, params: &Params) -> Dem {
    let params = Params { counts: params.weights == Weights::Sibson, ..*params };
    let mut dems = devices().into_iter().map(|device| {
        let dem = interpolate(&device, cloud.points(), &params, &()).unwrap();
        (device.name(), dem)
    });
    let (_, first) = dems.next().unwrap();
    for (name, dem) in dems {
        assert_eq!(dem.summary, first.summary, "{name}");
        assert_eq!(dem.counts, first.counts, "{name}");
        assert_eq!(bits(&dem.values), bits(&first.values), "{name}");
        let layers = |layer: &Option<Vec<f32>>| layer.as_ref().map(|layer| bits(layer));
        assert_eq!(layers(&dem.distances), layers(&first.distances), "{name}");
        assert_eq!(layers(&dem.deviations), layers(&first.deviations), "{name}");
    }
    first
}

/// The bits of values; all NaNs alike, since their payload means nothing.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| if v.is_nan() { u32::MAX } else { v.to_bits() }).collect()
}
