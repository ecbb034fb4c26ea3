//! Distances against `scipy.ndimage.distance_transform_edt`, whose arrays `scipy/make.py` made.
//!
//! SciPy measures from every nonzero element to the nearest zero: its zeros are our sites. Distances
//! agree; of several nearest sites SciPy names any, we the lowest index. Where nothing is a site SciPy's
//! result has no meaning, and ours is infinite.

use gpu_core::GridSpec;
use pba_voronoi::{Input, Params, Sites, transform};
use testing::devices;

macro_rules! case {
    ($name:ident, $width:literal, $height:literal, $x:literal, $y:literal) => {
        #[test]
        fn $name() {
            let mask = include_bytes!(concat!("../scipy/", stringify!($name), ".mask"));
            let distance = include_bytes!(concat!("../scipy/", stringify!($name), ".distance"));
            check(mask, distance, ($width, $height), ($x, $y));
        }
    };
}

case!(square, 61, 47, 1.0, 1.0);
case!(dense, 64, 32, 1.0, 1.0);
case!(one, 40, 33, 1.0, 1.0);
case!(tall, 50, 37, 1.0, 2.0);
case!(metres, 45, 52, 30.0, 30.0);

fn check(mask: &[u8], expected: &[u8], (width, height): (u32, u32), (x, y): (f64, f64)) {
    let expected: Vec<f64> =
        expected.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let input = Input::new(Sites::Mask(mask), GridSpec::of_pixels(width, height));
    // The squares are whole numbers in one unit and not in the other: roots differ by a rounding.
    let tolerance = if x == 30.0 { 2.0 * f64::EPSILON } else { 0.0 };
    for device in devices() {
        let params = Params::new().distance_f64().spacing(x, y);
        let found = transform(&device, &input, &params).unwrap().distance_f64.unwrap();
        let found = found.values();
        assert_eq!(found.len(), expected.len());
        for (p, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let near = (found - expected).abs() <= tolerance * expected;
            assert!(near, "{}: pixel {p}: {found}, {expected}", device.name());
        }
    }
}
