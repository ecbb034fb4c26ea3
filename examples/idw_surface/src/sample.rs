//! A seeded sample of a made-up field, for a first run without data.

use programs::cloud::Cloud;

/// Side of the square that is sampled.
const SIDE: f64 = 1000.0;

/// Measurements of two hills, a valley and a slope, at places that are denser towards the south-west.
pub fn field(points: u32, seed: u64) -> Cloud {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    // xorshift64* (Marsaglia 2003).
    let mut unit = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut cloud = Cloud::default();
    for _ in 0..points {
        let (x, y) = (unit().powf(1.3) * SIDE, unit().powf(1.3) * SIDE);
        cloud.x.push(x);
        cloud.y.push(y);
        cloud.z.push(height(x / SIDE, y / SIDE));
    }
    cloud
}

fn height(x: f64, y: f64) -> f64 {
    let hill = |cx: f64, cy: f64, width: f64| {
        (-((x - cx).powi(2) + (y - cy).powi(2)) / (width * width)).exp()
    };
    let valley = (-(y - 0.5 - 0.15 * (x * 9.0).sin()).powi(2) / 0.002).exp();
    200.0 + 120.0 * hill(0.3, 0.7, 0.2) + 180.0 * hill(0.75, 0.25, 0.15) - 60.0 * valley + 80.0 * x
}
