//! Areas, neighbours and outlines of regions.

use std::f64::consts::PI;

use crate::common::Sites;
use gpu_core::Device;
use sphere_qtm::{
    Diagram, Error, Level, LonLat, Params, Polygon, adjacency, outlines, region_areas, voronoi,
};

fn diagram(level: u32, sites: &Sites) -> Diagram {
    let params = Params::new(Level::new(level).unwrap());
    voronoi(&Device::Cpu, &sites.points(), &params).unwrap()
}

/// The vertices of the octahedron.
fn octahedron() -> Sites {
    Sites::of([(0.0, 0.0), (90.0, 0.0), (180.0, 0.0), (-90.0, 0.0), (0.0, 90.0), (0.0, -90.0)])
}

#[test]
fn areas_sum_to_the_sphere_and_are_those_of_known_regions() {
    for count in [1, 2, 7, 500] {
        let sites = Sites::random(count, 1);
        for level in [0, 3, 6] {
            let areas = region_areas(&diagram(level, &sites), count).unwrap();
            assert!((areas.iter().sum::<f64>() / (4.0 * PI) - 1.0).abs() < 1e-12, "{count}");
        }
    }
    // Two poles share the sphere at the equator, which is an edge of all cells there.
    let poles = Sites::of([(0.0, 90.0), (0.0, -90.0)]);
    let areas = region_areas(&diagram(4, &poles), 2).unwrap();
    assert!(areas.iter().all(|area| (area - 2.0 * PI).abs() < 1e-12), "{areas:?}");
    // Six vertices have a sixth each. Ties of cells that a border halves go to the lower index.
    let areas = region_areas(&diagram(8, &octahedron()), 6).unwrap();
    assert!(areas.iter().all(|area| (area * 3.0 / (2.0 * PI) - 1.0).abs() < 0.02), "{areas:?}");
}

/// A lune between two meridians has twice the angle between them: of n sites on the equator, the regions.
#[test]
fn the_error_of_areas_falls_with_the_level() {
    let sites = Sites::of((0..7).map(|i| (i as f64 * 360.0 / 7.0 + 3.0, 0.0)));
    let worst = |level| {
        let areas = region_areas(&diagram(level, &sites), 7).unwrap();
        areas.iter().map(|area| (area - 4.0 * PI / 7.0).abs()).fold(0.0, f64::max)
    };
    let errors = [3, 5, 7, 9].map(worst);
    println!("areas of lunes at levels 3, 5, 7, 9 are off by {errors:?}");
    assert!(errors.windows(2).all(|pair| pair[1] < 0.6 * pair[0]), "{errors:?}");
    assert!(errors[3] < 2e-4, "{errors:?}");
}

#[test]
fn neighbours_of_the_octahedron_and_of_random_sites() {
    let pairs = adjacency(&diagram(6, &octahedron()), 6).unwrap();
    let opposite = |[a, b]: [u32; 2]| [[0, 2], [1, 3], [4, 5]].contains(&[a, b]);
    assert_eq!(pairs.len(), 12, "{pairs:?}");
    assert!(!pairs.iter().copied().any(opposite));
    let count = 100;
    let found = diagram(8, &Sites::random(count, 2));
    let pairs = adjacency(&found, count).unwrap();
    assert!(pairs.windows(2).all(|p| p[0] < p[1]) && pairs.iter().all(|[a, b]| a < b));
    // A planar graph whose faces are triangles has 3 n - 6 edges.
    let expected = 3 * count - 6;
    assert!(pairs.len().abs_diff(expected) <= 3, "{} for {expected}", pairs.len());
    // By looking at the cells.
    for (cell, site) in found.cells().step_by(97) {
        for other in cell.edge_neighbours() {
            let there = found.nearest[other.index() as usize];
            let pair = [site.min(there), site.max(there)];
            assert!(site == there || pairs.binary_search(&pair).is_ok());
        }
    }
    assert_eq!(adjacency(&diagram(3, &Sites::random(1, 1)), 1).unwrap(), [] as [[u32; 2]; 0]);
}

/// Twice the area on the map.
fn turn(ring: &[LonLat]) -> f64 {
    let next = ring.iter().cycle().skip(1);
    let of =
        |(a, b): (&LonLat, &LonLat)| a.longitude() * b.latitude() - b.longitude() * a.latitude();
    ring.iter().zip(next).map(of).sum()
}

fn holds(ring: &[LonLat], (x, y): (f64, f64)) -> bool {
    let next = ring.iter().cycle().skip(1);
    ring.iter()
        .zip(next)
        .filter(|(a, b)| {
            (a.latitude() > y) != (b.latitude() > y)
                && x < a.longitude()
                    + (y - a.latitude()) * (b.longitude() - a.longitude())
                        / (b.latitude() - a.latitude())
        })
        .count()
        % 2
        == 1
}

fn in_polygon(polygon: &Polygon, at: (f64, f64)) -> bool {
    holds(&polygon.outer, at) && !polygon.holes.iter().any(|hole| holds(hole, at))
}

#[test]
fn outlines_cover_the_map_once() {
    let mut random = testing::Random::new(3);
    // Around a pole, across the antimeridian, an island in another region, and random ones.
    let island = Sites::of([(10.0, 10.0), (0.0, 20.0), (20.0, 0.0), (9.0, 9.0), (-60.0, 89.0)]);
    for (level, sites) in [
        (0, Sites::random(3, 4)),
        (1, octahedron()),
        (5, octahedron()),
        (4, Sites::random(1, 5)),
        (5, Sites::random(40, 6)),
        (4, Sites::random(500, 7)),
        (4, Sites::random(3000, 8)),
        (2, Sites::random(100, 9)),
        (6, Sites::of([(30.0, 90.0), (179.0, -3.0), (-179.0, 4.0), (50.0, -89.5)])),
        (6, island),
    ] {
        let found = diagram(level, &sites);
        let regions = outlines(&found, sites.len()).unwrap();
        let mut area = 0.0;
        for polygon in regions.iter().flatten() {
            assert!(turn(&polygon.outer) > 0.0 && polygon.outer.len() >= 3);
            assert!(polygon.holes.iter().all(|hole| turn(hole) < 0.0));
            area += turn(&polygon.outer) + polygon.holes.iter().map(|h| turn(h)).sum::<f64>();
            for ring in [&polygon.outer].into_iter().chain(&polygon.holes) {
                assert!(ring.iter().all(|p| p.longitude().abs() <= 180.0));
                // No edge but one along a pole is as long as a jump across the map.
                for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                    let far = (a.longitude() - b.longitude()).abs();
                    let pole = a.latitude().abs() == 90.0 && b.latitude() == a.latitude();
                    assert!(pole || far <= 90.0, "{a:?} {b:?}");
                }
            }
        }
        assert!((area / (2.0 * 360.0 * 180.0) - 1.0).abs() < 1e-9, "level {level}: {area}");
        for _ in 0..300 {
            let at = (random.between(-180.0, 180.0), random.between(-90.0, 90.0));
            let of_site = |polygons: &Vec<Polygon>| {
                polygons.iter().filter(|polygon| in_polygon(polygon, at)).count()
            };
            let counts: Vec<usize> = regions.iter().map(of_site).collect();
            assert_eq!(counts.iter().sum::<usize>(), 1, "level {level}, {at:?}");
        }
        // The centre of a cell lies in its site's polygon, read with straight edges: everywhere at the poles, and some elsewhere.
        for (i, (cell, site)) in found.cells().enumerate() {
            let centre = cell.centre().to_lon_lat();
            let at = (centre.longitude(), centre.latitude());
            if at.1.abs() > 75.0 || i % 37 == 0 {
                let inside = regions[site as usize].iter().any(|p| in_polygon(p, at));
                assert!(inside, "level {level}, {cell}");
            }
        }
    }
}

#[test]
fn a_lonely_region_is_the_whole_map() {
    let regions = outlines(&diagram(2, &Sites::random(1, 1)), 1).unwrap();
    let [polygon] = &regions[0][..] else { panic!("{regions:?}") };
    assert!(polygon.holes.is_empty());
    for corner in [(180.0, 90.0), (-180.0, 90.0), (-180.0, -90.0), (180.0, -90.0)] {
        let is_it = |p: &LonLat| (p.longitude(), p.latitude()) == corner;
        assert_eq!(polygon.outer.iter().filter(|p| is_it(p)).count(), 1, "{corner:?}");
    }
}

#[test]
fn a_diagram_of_other_sites_is_refused() {
    let found = diagram(2, &Sites::random(5, 1));
    assert!(matches!(region_areas(&found, 4), Err(Error::Site { site: 4, sites: 4 })));
    let mut short = found.clone();
    short.nearest.pop();
    assert!(matches!(adjacency(&short, 5), Err(Error::Core(_))));
    assert!(matches!(outlines(&short, 5), Err(Error::Core(_))));
}
