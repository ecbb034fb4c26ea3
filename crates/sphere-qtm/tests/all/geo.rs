//! Sites, places and regions from and to types of geo-types.

use gpu_core::geo_types::{
    self, Coord, Geometry, GeometryCollection, Line, LineString, MultiPoint, Point, Rect,
};
use gpu_core::{ArrayPoints, Device};
use sphere_qtm::{Level, LonLat, Params, Shape, outlines, voronoi};

fn place(x: f64, y: f64) -> LonLat {
    LonLat::new(x, y).unwrap()
}

#[test]
fn every_kind_of_geometry_is_a_shape() {
    let point = Point::new(10.0, 50.0);
    let line = LineString::from(vec![(0.0, 1.0), (2.0, 3.0)]);
    let several = GeometryCollection::new_from(vec![point.into(), line.clone().into()]);
    let all: [Geometry; 6] = [
        point.into(),
        MultiPoint::from(vec![(1.0, 2.0), (3.0, 4.0)]).into(),
        line.into(),
        Line::new((0.0, 1.0), (2.0, 3.0)).into(),
        Rect::new((0.0, 1.0), (2.0, 3.0)).into(),
        Geometry::GeometryCollection(several),
    ];
    let shapes = Shape::from_geo(&all).unwrap();
    let line = Shape::Line(vec![place(0.0, 1.0), place(2.0, 3.0)]);
    assert_eq!(shapes[0], Shape::Point(place(10.0, 50.0)));
    let points = vec![Shape::Point(place(1.0, 2.0)), Shape::Point(place(3.0, 4.0))];
    assert_eq!(shapes[1], Shape::Several(points));
    assert_eq!([&shapes[2], &shapes[3]], [&line, &line]);
    let Shape::Polygon(rings) = &shapes[4] else { panic!("{:?}", shapes[4]) };
    assert_eq!((rings.len(), rings[0].len()), (1, 5));
    assert_eq!(shapes[5], Shape::Several(vec![shapes[0].clone(), line]));
    let error = Shape::from_geo([point, Point::new(0.0, 91.0)]).unwrap_err().to_string();
    assert!(error.contains("91"), "{error}");
}

#[test]
fn regions_are_polygons_that_cover_the_map() {
    let places = [(10.0, 50.0), (-120.0, 30.0), (175.0, -40.0), (0.0, -89.0), (60.0, 10.0)];
    let sites = ArrayPoints::from_geo(places.map(Point::from)).unwrap();
    let params = Params::new(Level::new(4).unwrap());
    let diagram = voronoi(&Device::Cpu, &sites.points(), &params).unwrap();
    let outlines = outlines(&diagram, places.len()).unwrap();
    let mut covered = 0.0;
    for polygon in outlines.into_iter().flatten() {
        let bits = |x: f64, y: f64| [x.to_bits(), y.to_bits()];
        let wanted: Vec<_> =
            polygon.outer.iter().map(|at| bits(at.longitude(), at.latitude())).collect();
        let polygon = geo_types::Polygon::from(polygon);
        let found: Vec<_> = polygon.exterior().coords().map(|at| bits(at.x, at.y)).collect();
        assert_eq!(found[..wanted.len()], wanted);
        let area = |ring: &LineString| -> f64 { ring.lines().map(|line| line.determinant()).sum() };
        covered += area(polygon.exterior()) + polygon.interiors().iter().map(area).sum::<f64>();
    }
    assert!((0.5 * covered - 360.0 * 180.0).abs() < 1e-6, "{covered}");
    let at = Coord::from(place(-0.0, 12.5));
    assert_eq!((at.x.to_bits(), at.y), ((-0.0_f64).to_bits(), 12.5));
}
