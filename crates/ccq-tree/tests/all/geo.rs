//! Regions as polygons of geo-types.

use ccq_tree::{Condition, Connectivity, Params, Query, build, regions};
use gpu_core::geo_types::LineString;
use gpu_core::{Device, GridSpec, GridView};
use proptest::prelude::*;

/// The area of a ring, positive where it turns counterclockwise.
fn area(ring: &LineString) -> f64 {
    0.5 * ring.lines().map(|line| line.determinant()).sum::<f64>()
}

proptest! {
    #[test]
    fn polygons_have_the_area_of_their_cells(
        values in prop::collection::vec(0..2_i32, 63),
        corners in prop::sample::select(vec![Connectivity::Four, Connectivity::Eight]),
    ) {
        let grid = GridSpec::new(-3.5, 40.0, 0.5, 9, 7).unwrap();
        let tree = build(&Device::Cpu, GridView::new(&values, grid).unwrap(), &Params::new()).unwrap();
        let ones = [Condition::new(&tree).range(1.0, 1.0)];
        let found = regions(&Device::Cpu, &ones, &Query::new(), corners).unwrap();
        let polygons = found.multi_polygons(&grid).unwrap();
        prop_assert_eq!(polygons.len(), found.regions().len());
        for (region, polygons) in found.regions().iter().zip(&polygons) {
            if corners == Connectivity::Four {
                prop_assert_eq!(polygons.0.len(), 1);
            }
            let mut sum = 0.0;
            for polygon in polygons {
                let (outer, holes) = (area(polygon.exterior()), polygon.interiors());
                prop_assert!(outer > 0.0 && holes.iter().all(|hole| area(hole) < 0.0));
                sum += outer + holes.iter().map(area).sum::<f64>();
                let bounds = grid.bounds();
                for at in polygon.exterior() {
                    prop_assert!((bounds.min_x..=bounds.max_x).contains(&at.x));
                    prop_assert!((bounds.min_y..=bounds.max_y).contains(&at.y));
                }
            }
            prop_assert_eq!(sum, 0.25 * region.cells as f64);
        }
    }
}
