//! Types of other crates: points and polygons of geo-types in, answers as arrays of Arrow.

use gpu_core::arrow_array::cast::AsArray;
use gpu_core::arrow_array::types::{Float64Type, UInt32Type};
use gpu_core::arrow_array::{Array, LargeListArray};
use gpu_core::geo_types::{Geometry, GeometryCollection, LineString, MultiPolygon, Point, Polygon};
use gpu_core::{ArrayPoints, Device, Points};
use proptest::prelude::*;
use quadtree_sort::{Lists, NONE, Params, Polygons, Quadtree, Regions, build};

fn tree_of(places: &[(f64, f64)]) -> Quadtree {
    let points = ArrayPoints::from_geo(places.iter().copied().map(Point::from)).unwrap();
    build(&Device::Cpu, points.points(), &Params::new().threshold(3)).unwrap()
}

fn places() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-1e3..1e3, -1e3..1e3), 0..80)
}

proptest! {
    #[test]
    fn points_of_geo_types_give_the_tree_of_their_columns(places in places()) {
        let (x, y): (Vec<f64>, Vec<f64>) = places.iter().copied().unzip();
        let wanted = build(&Device::Cpu, Points::new(&x, &y), &Params::new().threshold(3)).unwrap();
        prop_assert_eq!(tree_of(&places), wanted);
    }

    #[test]
    fn polygons_of_geo_types_are_those_of_their_rings(rings in prop::collection::vec(places(), 1..4)) {
        let mut wanted = Polygons::new();
        let close = |ring: &Vec<(f64, f64)>| LineString::from(ring.clone());
        let polygon = Polygon::new(close(&rings[0]), rings[1..].iter().map(close).collect());
        let places = |ring: &LineString| ring.coords().map(|at| [at.x, at.y]).collect::<Vec<_>>();
        let all = std::iter::once(polygon.exterior()).chain(polygon.interiors());
        wanted.push(all.clone().map(places)).unwrap();
        wanted.push(all.clone().chain(all).map(places)).unwrap();
        let twice = MultiPolygon(vec![polygon.clone(), polygon.clone()]);
        let found = Polygons::from_geo([Geometry::from(polygon), twice.into()]).unwrap();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn answers_are_arrays(places in places(), k in 1..5_usize) {
        let (x, y): (Vec<f64>, Vec<f64>) = places.iter().copied().unzip();
        let tree = tree_of(&places);
        let near = tree.nearest(&x, &y, k).unwrap();
        let [indices, distances] = near.clone().into_arrow().unwrap();
        prop_assert_eq!((indices.value_length(), indices.len()), (k as i32, x.len()));
        let found = indices.values().as_primitive::<UInt32Type>();
        let lengths = distances.values().as_primitive::<Float64Type>();
        prop_assert_eq!((found.len(), lengths.len()), (near.indices.len(), near.indices.len()));
        for (i, &index) in near.indices.iter().enumerate() {
            prop_assert_eq!((found.is_null(i), lengths.is_null(i)), (index == NONE, index == NONE));
            prop_assert_eq!(found.values()[i], index);
            prop_assert_eq!(lengths.values()[i].to_bits(), near.distances[i].to_bits());
        }
        prop_assert_eq!(indices.null_count(), 0);

        let mut squares = Polygons::new();
        for corner in [-1e3, 0.0] {
            squares.push([[[corner, corner], [0.5, corner], [0.5, 0.5], [corner, 0.5]]]).unwrap();
        }
        let lists = tree.list_in(Regions::Polygons(&squares)).unwrap();
        let array = LargeListArray::from(lists.clone());
        prop_assert_eq!(array.len(), 2);
        for i in 0..2 {
            let list = array.value(i);
            prop_assert_eq!(list.as_primitive::<UInt32Type>().values(), lists.of(i));
        }
    }
}

#[test]
fn answers_become_arrays_without_a_copy() {
    let tree = tree_of(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]);
    let near = tree.nearest(&[0.1], &[0.1], 5).unwrap();
    let (first, second) = (near.indices.as_ptr(), near.distances.as_ptr());
    let [indices, distances] = near.into_arrow().unwrap();
    assert_eq!(indices.values().as_primitive::<UInt32Type>().values().as_ptr(), first);
    assert_eq!(distances.values().as_primitive::<Float64Type>().values().as_ptr(), second);
    assert_eq!(indices.values().null_count(), 2);
    let mut square = Polygons::new();
    square.push([[[-1.0, -1.0], [9.0, -1.0], [9.0, 9.0], [-1.0, 9.0]]]).unwrap();
    let lists = tree.list_in(Regions::Polygons(&square)).unwrap();
    let (offsets, first) = (lists.offsets.as_ptr(), lists.indices.as_ptr());
    let array = LargeListArray::from(lists);
    assert_eq!(array.value_offsets().as_ptr().cast::<u64>(), offsets);
    assert_eq!(array.values().as_primitive::<UInt32Type>().values().as_ptr(), first);
    assert_eq!(LargeListArray::from(Lists::default()).len(), 0);
}

#[test]
fn what_is_no_polygon_is_refused_with_its_row() {
    let polygon = Geometry::from(gpu_core::geo_types::Rect::new((0.0, 0.0), (1.0, 1.0)));
    let says =
        |other: Geometry| Polygons::from_geo([polygon.clone(), other]).unwrap_err().to_string();
    let wanted = "expected a Polygon, Rect, Triangle or MultiPolygon";
    assert_eq!(says(Point::new(0.0, 0.0).into()), format!("row 1: found a Point, {wanted}"));
    let all = Geometry::GeometryCollection(GeometryCollection::new_from(vec![polygon.clone()]));
    assert_eq!(says(all), format!("row 1: found a GeometryCollection, {wanted}"));
    let none: [Polygon; 0] = [];
    assert_eq!(Polygons::from_geo(none).unwrap(), Polygons::new());
    assert_eq!(Polygons::from_geo([Polygon::empty()]).unwrap().len(), 1);
    let line = LineString::from(vec![(0.0, 0.0), (1.0, f64::NAN), (1.0, 1.0)]);
    assert!(
        Polygons::from_geo([Polygon::new(line, vec![])]).unwrap_err().to_string().contains("NaN")
    );
}
