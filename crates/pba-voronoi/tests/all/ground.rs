//! Directions to the nearest sites, and their coordinates, on the CPU and on the process's GPU.

use gpu_core::{Grid, GridSpec};
use pba_voronoi::{
    Error, Input, Integers, Lay, Params, Sites, Spacing, bearing, directions, site_centres,
    transform,
};
use testing::{Random, devices};

/// The definition: turning by the bearing from north, and going the distance, leads from the pixel to the site.
#[test]
fn a_direction_and_a_distance_lead_to_the_site() {
    let mut random = Random::new(3);
    for round in 0..40 {
        let (width, height) = (1 + random.below(60) as u32, 1 + random.below(60) as u32);
        let pixels = width as usize * height as usize;
        let density = [0.0, 0.003, 0.05, 1.0][round % 4];
        let mask: Vec<u8> = (0..pixels).map(|_| u8::from(random.unit() < density)).collect();
        let sides = [(1.0, 1.0), (30.0, 40.0), (1.0, 4097.0)][round % 3];
        // Whatever way the axes point; distances keep the sides.
        let turn = [0.0, 0.3, 2.0][round / 3 % 3] * f64::from(round as u32 % 2);
        let mirror = if round % 5 == 0 { -1.0 } else { 1.0 };
        let (sine, cosine) = f64::sin_cos(turn);
        let lay = Lay {
            origin: [5e5, 4.6e6],
            column: [7.0 * cosine, 7.0 * sine],
            row: [mirror * 3.0 * sine, mirror * -3.0 * cosine],
        };
        let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(width, height));
        let params = Params::new().nearest().distance_f64().spacing(sides.0, sides.1);
        let on_ground = lay.with_spacing(Spacing { x: sides.0, y: sides.1 });
        let mut first: Option<Vec<u32>> = None;
        for device in devices() {
            let diagram = transform(&device, &input, &params).unwrap();
            let nearest = diagram.nearest.unwrap();
            let distance = diagram.distance_f64.unwrap();
            let found = directions(&nearest, &on_ground).unwrap();
            let [east, north] = site_centres(&nearest, &on_ground).unwrap();
            for p in 0..pixels {
                let direction = f64::from(found.values()[p]);
                let site = [east.values()[p], north.values()[p]];
                let Some(index) = nearest.get(p) else {
                    assert!(direction.is_nan() && site[0].is_nan() && site[1].is_nan());
                    continue;
                };
                assert_eq!(direction == 0.0, index == p as u64);
                assert!((0.0..=360.0).contains(&direction));
                let own = on_ground.centre([p as u32 % width, p as u32 / width]);
                let step = [site[0] - own[0], site[1] - own[1]];
                let far = distance.values()[p];
                let (sine, cosine) = direction.to_radians().sin_cos();
                let off = (step[0] - far * sine).hypot(step[1] - far * cosine);
                assert!(off <= 1e-6 * far + 4e-9, "{} pixel {p}: off by {off}", device.name());
            }
            let bits: Vec<u32> = found.values().iter().map(|d| d.to_bits()).collect();
            assert_eq!(first.get_or_insert(bits.clone()), &bits, "{}", device.name());
        }
    }
}

#[test]
fn bearings_go_clockwise_from_north() {
    for (east, north, expected) in [
        (0.0, 0.0, 0.0),
        (0.0, 1e-300, 360.0),
        (1.0, 1.0, 45.0),
        (5e-324, 0.0, 90.0),
        (0.0, -1.0, 180.0),
        (-0.0, -1.0, 180.0),
        (-1.0, -1.0, 225.0),
        (-1.0, 1.0, 315.0),
    ] {
        assert_eq!(bearing(east, north), expected, "{east} {north}");
    }
    // A step that is no number has no bearing.
    for (east, north) in [(f64::NAN, 1.0), (0.0, f64::NAN), (f64::NAN, f64::NAN)] {
        assert!(bearing(east, north).is_nan(), "{east} {north}");
    }
    // A hair east of north is not a site, a hair west of it not more than a turn.
    assert!(bearing(1e-200, 1e200) > 0.0 && bearing(-1e-200, 1e200) == 360.0);
}

#[test]
fn indices_of_another_raster_are_refused() {
    let nearest =
        Integers::U32(Grid::new(vec![0, u32::MAX, 4], GridSpec::of_pixels(3, 1)).unwrap());
    let lay = Lay::of_grid(nearest.grid());
    let expected = Error::SiteOutside { site: 2, column: 1, row: 1, width: 3, height: 1 };
    assert_eq!(directions(&nearest, &lay).unwrap_err(), expected);
    assert_eq!(site_centres(&nearest, &lay).unwrap_err(), expected);
    let none = Integers::U32(Grid::new(vec![], GridSpec::of_pixels(0, 4)).unwrap());
    assert!(directions(&none, &lay).unwrap().values().is_empty());
}
