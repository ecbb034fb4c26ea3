//! Shapes and geometries of geo-types: what goes in comes out, to the bit, by a file too.

use geo_io::{Shape, read_features, write_shapes};
use gpu_core::geo_types::Geometry;
use proptest::prelude::*;

fn place() -> impl Strategy<Value = [f64; 2]> {
    let odd = prop::sample::select(vec![-0.0, 1e300, 5e-324, 0.1 + 0.2]);
    let number = prop_oneof![4 => -180.0..180.0, 1 => odd];
    [number.clone(), number]
}

fn line() -> impl Strategy<Value = Vec<[f64; 2]>> {
    prop::collection::vec(place(), 2..6)
}

fn ring() -> impl Strategy<Value = Vec<[f64; 2]>> {
    prop::collection::vec(place(), 3..6).prop_map(|mut ring| {
        ring.push(ring[0]);
        ring
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let polygon = prop::collection::vec(ring(), 1..3);
    let one = prop_oneof![
        prop::collection::vec(place(), 1..4).prop_map(Shape::Points),
        prop::collection::vec(line(), 1..4).prop_map(Shape::Lines),
        prop::collection::vec(polygon, 1..3).prop_map(Shape::Polygons),
    ];
    one.prop_recursive(2, 6, 3, |part| prop::collection::vec(part, 1..3).prop_map(Shape::Several))
}

proptest! {
    #[test]
    fn shapes_go_out_and_in_to_the_bit(shape in shape()) {
        let geometry = Geometry::from(shape.clone());
        let found = Shape::from_geo(0, &geometry).unwrap();
        // As text, in which -0 is not 0.
        prop_assert_eq!(format!("{found:?}"), format!("{shape:?}"));
        prop_assert_eq!(Geometry::from(found), geometry);
    }
}

#[test]
fn a_geometry_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("areas.geojson");
    let rect = gpu_core::geo_types::Rect::new((0.0, 1.0), (2.0, 3.5));
    let shape = Shape::from_geo(0, &rect).unwrap();
    write_shapes(&path, [(vec![("a", 1.5)], shape)], None).unwrap();
    let found = read_features(&path).unwrap().shapes.remove(0).unwrap();
    assert_eq!(Geometry::from(found), Geometry::from(rect.to_polygon()));
}
