//! Which homes have no bus stop within 400 m, and how many there are in each district: an index finds the nearest
//! stops, and a quadtree counts homes in polygons.
//!
//! `cargo run --package quadtree-sort --example bus_stops`

use gpu_core::{Device, DeviceChoice, Points};
use quadtree_sort::{Params, Polygons, Regions, Result, build, index};

/// Farther than this a stop is of no use, in metres.
const WALK: f64 = 400.0;

/// Corners of the districts of a town of 6 by 4 km, west and east of a river.
const DISTRICTS: [(&str, [[f64; 2]; 4]); 2] = [
    ("west", [[0.0, 0.0], [2000.0, 0.0], [3500.0, 4000.0], [0.0, 4000.0]]),
    ("east", [[2000.0, 0.0], [6000.0, 0.0], [6000.0, 4000.0], [3500.0, 4000.0]]),
];

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    let (homes, stops) = (places(20_000, 0), places(60, 1_000_000));
    let (far, counts) = without_stop(&device, &homes, &stops)?;
    println!("{} of {} homes have no stop within {WALK} m", far.len(), homes[0].len());
    for ((name, _), count) in DISTRICTS.iter().zip(counts) {
        println!("{name}: {count}");
    }
    Ok(())
}

/// The homes that are far from every stop, and how many of them each district has.
fn without_stop(
    device: &Device,
    [home_x, home_y]: &[Vec<f64>; 2],
    [stop_x, stop_y]: &[Vec<f64>; 2],
) -> Result<(Vec<usize>, Vec<u64>)> {
    let stops = index(device, Points::new(stop_x, stop_y), None)?;
    let nearest = stops.nearest(home_x, home_y, 1)?;
    let far: Vec<usize> =
        (0..home_x.len()).filter(|&home| nearest.distances[home] > WALK).collect();
    let of_far = |column: &[f64]| far.iter().map(|&home| column[home]).collect::<Vec<_>>();
    let tree = build(device, Points::new(&of_far(home_x), &of_far(home_y)), &Params::new())?;
    let mut districts = Polygons::new();
    for (_, corners) in DISTRICTS {
        districts.push([corners])?;
    }
    let counts = tree.count_in(Regions::Polygons(&districts))?;
    Ok((far, counts))
}

/// Places that fill the town evenly: a part of Roberts' sequence R2.
fn places(count: u32, first: u32) -> [Vec<f64>; 2] {
    let column = |step: f64, side: f64| {
        (first..first + count).map(|i| (f64::from(i) * step).fract() * side).collect()
    };
    [column(0.754_877_666_246_693, 6000.0), column(0.569_840_290_998_053, 4000.0)]
}

#[cfg(test)]
#[test]
fn the_homes_are_those_that_all_pairs_give() {
    let (homes, stops) = (places(3000, 0), places(60, 1_000_000));
    let (far, counts) = without_stop(&Device::Cpu, &homes, &stops).unwrap();
    let is_far = |&home: &usize| {
        let distance =
            |stop| f64::hypot(homes[0][home] - stops[0][stop], homes[1][home] - stops[1][stop]);
        (0..60).all(|stop| distance(stop) > WALK)
    };
    assert_eq!(far, (0..3000).filter(is_far).collect::<Vec<_>>());
    // The river leads from (2000, 0) to (3500, 4000).
    let is_west = |&&home: &&usize| homes[0][home] < 2000.0 + homes[1][home] * 1500.0 / 4000.0;
    let west = far.iter().filter(is_west).count() as u64;
    assert_eq!(counts, [west, far.len() as u64 - west]);
    main().unwrap();
}
