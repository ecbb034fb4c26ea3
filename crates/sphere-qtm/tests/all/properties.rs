//! What holds for any cell and any place: random ones, shrunk to the simplest that fails.

use std::f64::consts::PI;

use gpu_core::{Device, DeviceChoice, Points, Silent};
use proptest::prelude::*;
use sphere_qtm::{Cell, Latitude, Level, LonLat, Params, nearest_sites, region_areas, voronoi};

/// Places of all kinds: poles, edges of octants and their neighbourhood among them.
fn any_place() -> impl Strategy<Value = (f64, f64)> {
    let near = |at: f64| prop_oneof![Just(at), (at - 1e-9)..(at + 1e-9)];
    let longitude = prop_oneof![-180.0..180.0, near(0.0), near(90.0), near(-90.0), near(180.0)];
    let latitude = prop_oneof![-90.0..90.0, near(0.0), Just(90.0), Just(-90.0), 89.999..90.0];
    (longitude, latitude)
}

fn any_level() -> impl Strategy<Value = Level> {
    (0u32..=29).prop_map(|level| Level::new(level).unwrap())
}

fn any_cell() -> impl Strategy<Value = Cell> {
    (any_place(), any_level()).prop_map(|((longitude, latitude), level)| {
        Cell::containing(LonLat::new(longitude, latitude).unwrap(), level)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn names_of_a_cell_are_names_of_it_alone(cell in any_cell()) {
        prop_assert_eq!(Cell::from_id(cell.id()), Ok(cell));
        prop_assert_eq!(Cell::from_index(cell.level(), cell.index()), Ok(cell));
        prop_assert_eq!(cell.to_string().parse(), Ok(cell));
        prop_assert_eq!(Cell::containing(cell.centre(), cell.level()), cell);
    }

    #[test]
    fn numbers_that_are_ids_are_those_of_cells(id: u64) {
        if let Ok(cell) = Cell::from_id(id) {
            prop_assert_eq!(cell.id(), id);
            prop_assert!(cell.level() <= Level::MAX);
        }
    }

    #[test]
    fn neighbours_are_symmetric(cell in any_cell()) {
        for next in cell.edge_neighbours() {
            prop_assert!(next != cell && next.level() == cell.level());
            prop_assert!(next.edge_neighbours().contains(&cell));
            prop_assert!(cell.vertex_neighbours().contains(&next));
        }
        for next in cell.vertex_neighbours() {
            prop_assert!(next.vertex_neighbours().contains(&cell));
        }
    }

    #[test]
    fn parents_hold_their_children(cell in any_cell()) {
        let Some(children) = cell.children() else { return Ok(()) };
        let mut ids = Vec::new();
        for (digit, child) in children.into_iter().enumerate() {
            prop_assert_eq!((child.parent(), child.digit()), (Some(cell), Some(digit as u32)));
            prop_assert!(cell.contains(child) && !child.contains(cell));
            // The child's centre lies in the cell.
            prop_assert_eq!(Cell::containing(child.centre(), cell.level()), cell);
            ids.push((*child.id_range().start(), *child.id_range().end()));
        }
        prop_assert!(ids.windows(2).all(|pair| pair[0].1 < pair[1].0));
        let area: f64 = children.iter().map(|child| child.area()).sum();
        let slack = 8.0 * (1e-13 + 1e-16 * f64::from(1 << (cell.level().get() + 1)));
        prop_assert!((area / cell.area() - 1.0).abs() < slack);
    }

    #[test]
    fn a_place_lies_in_the_ancestors_of_its_cell(place in any_place(), level in any_level()) {
        let place = LonLat::new(place.0, place.1).unwrap();
        let deepest = Cell::containing(place, Level::MAX);
        prop_assert_eq!(deepest.ancestor(level), Some(Cell::containing(place, level)));
    }

    #[test]
    fn latitudes_rise_and_come_back(a in -90.0..=90.0f64, b in -90.0..=90.0f64) {
        for how in [Latitude::Geodetic, Latitude::Geocentric, Latitude::Authalic] {
            prop_assert!((how.to_geodetic(how.on_sphere(a)) - a).abs() < 1e-13);
            prop_assert!(how.on_sphere(a).abs() <= a.abs());
            if a + 1e-12 < b {
                prop_assert!(how.on_sphere(a) < how.on_sphere(b));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_nearest_site_is_that_of_comparing_all(
        sites in prop::collection::vec(any_place(), 1..40),
        level in 0u32..4,
    ) {
        let (x, y): (Vec<f64>, Vec<f64>) = sites.iter().copied().unzip();
        let points = Points::new(&x, &y);
        let vector = |&(lon, lat): &(f64, f64)| LonLat::new(lon, lat).unwrap().to_vector().to_array();
        let vectors: Vec<[f64; 3]> = sites.iter().map(vector).collect();
        let nearest = |place: [f64; 3]| {
            let squared = |i: &usize| -> f64 {
                let [x, y, z] = [0, 1, 2].map(|k| place[k] - vectors[*i][k]);
                x * x + y * y + z * z
            };
            (0..sites.len()).min_by(|a, b| squared(a).total_cmp(&squared(b))).unwrap() as u32
        };
        let device = Device::open(DeviceChoice::Cpu).unwrap();
        let level = Level::new(level).unwrap();
        let diagram = voronoi(&device, &points, &Params::new(level)).unwrap();
        for (cell, site) in diagram.cells() {
            prop_assert_eq!(site, nearest(cell.centre().to_array()), "{}", cell);
        }
        let areas = region_areas(&diagram, sites.len()).unwrap();
        prop_assert!((areas.iter().sum::<f64>() / (4.0 * PI) - 1.0).abs() < 1e-12);
        let found = nearest_sites(&points, &points, 1, &Silent).unwrap();
        for (i, &vector) in vectors.iter().enumerate() {
            prop_assert_eq!(found.sites[i], nearest(vector));
        }
    }
}
