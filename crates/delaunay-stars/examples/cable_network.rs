//! The shortest cables that connect all houses: the minimum spanning tree, whose edges are all edges of the Delaunay triangulation.
//!
//! `cargo run --package delaunay-stars --example cable_network`

use delaunay_stars::{Result, triangulate};
use gpu_core::{Device, DeviceChoice, Points};

/// A cable between two houses, and its length.
type Cable = (u32, u32, f64);

fn main() -> Result<()> {
    let device = Device::open(DeviceChoice::Auto)?;
    let (x, y) = houses(2000);
    let (edges, cables) = network(&device, &x, &y)?;
    let length: f64 = cables.iter().map(|cable| cable.2).sum();
    println!("{} houses have {edges} pairs of neighbours", x.len());
    println!("{} cables of {:.2} km connect them", cables.len(), length / 1000.0);
    if let Some((a, b, length)) = cables.last() {
        println!("the longest, of {length:.1} m, leads from house {a} to house {b}");
    }
    Ok(())
}

/// The number of edges of the triangulation, and the cables, the shortest first (Kruskal 1956).
fn network(device: &Device, x: &[f64], y: &[f64]) -> Result<(usize, Vec<Cable>)> {
    let triangulation = triangulate(device, Points::new(x, y))?;
    let mut edges: Vec<Cable> = Vec::new();
    for a in 0..x.len() as u32 {
        for &b in triangulation.star(a).iter().filter(|&&b| a < b) {
            let (a_at, b_at) = (a as usize, b as usize);
            edges.push((a, b, f64::hypot(x[a_at] - x[b_at], y[a_at] - y[b_at])));
        }
    }
    edges.sort_by(|one, other| one.2.total_cmp(&other.2));
    let mut leads_to: Vec<u32> = (0..x.len() as u32).collect();
    let mut cables = Vec::new();
    let count = edges.len();
    for (a, b, length) in edges {
        let (from, to) = (head(&mut leads_to, a), head(&mut leads_to, b));
        if from != to {
            leads_to[from as usize] = to;
            cables.push((a, b, length));
        }
    }
    Ok((count, cables))
}

/// The house that all houses connected to this one lead to.
fn head(leads_to: &mut [u32], mut house: u32) -> u32 {
    while leads_to[house as usize] != house {
        let next = leads_to[house as usize];
        leads_to[house as usize] = leads_to[next as usize];
        house = next;
    }
    house
}

/// Houses of a village of 3 km, the denser the nearer to its middle.
fn houses(count: u32) -> (Vec<f64>, Vec<f64>) {
    let part = |i: u32, step: f64| (f64::from(i) * step).fract();
    let place = |i: u32| {
        let turn = std::f64::consts::TAU * part(i, 0.754_877_666_246_693);
        let radius = 1500.0 * part(i, 0.569_840_290_998_053);
        (radius * turn.cos(), radius * turn.sin())
    };
    (1..=count).map(place).unzip()
}

#[cfg(test)]
#[test]
fn no_other_cables_are_shorter() {
    let (x, y) = houses(300);
    let (_, cables) = network(&Device::Cpu, &x, &y).unwrap();
    // Prim's algorithm over all pairs: the house that is nearest to the network joins it.
    let distance = |a: usize, b: usize| f64::hypot(x[a] - x[b], y[a] - y[b]);
    let mut outside: Vec<(usize, f64)> =
        (1..300).map(|house| (house, distance(0, house))).collect();
    let mut length = 0.0;
    while let Some(next) = (0..outside.len()).min_by(|&a, &b| outside[a].1.total_cmp(&outside[b].1))
    {
        let (joined, cable) = outside.swap_remove(next);
        length += cable;
        outside.iter_mut().for_each(|(house, near)| *near = near.min(distance(joined, *house)));
    }
    assert_eq!(cables.len(), 299);
    assert!((cables.iter().map(|cable| cable.2).sum::<f64>() - length).abs() < 1e-6);
    main().unwrap();
}
