//! Voronoi diagrams on the globe of any sites, beside all pairs.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Device, Points};
use libfuzzer_sys::fuzz_target;
use sphere_qtm::{Level, LonLat, Params, Shape, Shapes, voronoi, voronoi_of_shapes};
use tessera_fuzz::{Place, columns};

#[derive(Arbitrary, Debug)]
struct Case {
    sites: Vec<Place>,
    level: u8,
    rings: Vec<Vec<Place>>,
}

fuzz_target!(|case: Case| {
    let [x, y, _] = columns(&case.sites);
    let Ok(level) = Level::new(u32::from(case.level % 5)) else { return };
    let params = Params::new(level);
    if let Ok(diagram) = voronoi(&Device::Cpu, &Points::new(&x, &y), &params) {
        let sites: Vec<_> =
            (0..x.len()).map(|i| LonLat::new(x[i], y[i]).expect("a place").to_vector()).collect();
        for (cell, site) in diagram.cells() {
            let chord = |site: &sphere_qtm::UnitVector| {
                let (a, b) = (cell.centre().to_array(), site.to_array());
                (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>()
            };
            let least = sites.iter().map(chord).fold(f64::INFINITY, f64::min);
            assert!(chord(&sites[site as usize]) <= least + 1e-12, "a farther site is taken");
        }
    }
    let place = |place: &Place| LonLat::new(place.x.get(), place.y.get()).ok();
    let ring = |ring: &Vec<Place>| ring.iter().map(place).collect::<Option<Vec<_>>>();
    let Some(rings) = case.rings.iter().take(4).map(ring).collect::<Option<Vec<_>>>() else {
        return;
    };
    if let Ok(shapes) = Shapes::new(&[Shape::Polygon(rings)]) {
        let _ = voronoi_of_shapes(&Device::Cpu, &shapes, &params);
    }
});
