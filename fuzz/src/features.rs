//! What must hold of a table of features, whichever format it has.

use std::path::Path;

use geo_io::{
    CsvColumns, Filter, Shape, has_features, read_features, read_lines, read_points, read_polygons,
};

/// Reads a table as points, as shapes and as lines.
///
/// # Panics
/// A coordinate that is kept is not finite, or shapes and polygons differ in number.
pub fn read_table(path: &Path) {
    let numbers = CsvColumns::new(["1", "2", "3"].map(str::to_owned));
    for columns in [CsvColumns::default(), numbers] {
        if let Ok(cloud) = read_points(path, &Filter::default(), &columns, &gpu_core::Silent) {
            let all = cloud.x.iter().chain(&cloud.y).chain(&cloud.z);
            assert!(all.into_iter().all(|number| number.is_finite()));
            assert_eq!(cloud.x.len() as u64, cloud.tally.kept);
        }
    }
    let (shapes, polygons) = (read_features(path), read_polygons(path));
    if let Ok(shapes) = &shapes {
        assert!(has_features(path).is_ok_and(|has| has));
        assert!(shapes.shapes.iter().flatten().all(is_finite));
    }
    if let (Ok(shapes), Ok(polygons)) = (shapes, polygons) {
        assert_eq!(shapes.shapes.len(), polygons.shapes.len());
    }
    if let Ok(lines) = read_lines(path) {
        assert!(lines.lines.iter().flat_map(|line| &line.places).flatten().all(|v| v.is_finite()));
    }
}

fn is_finite(shape: &Shape) -> bool {
    match shape {
        Shape::Points(places) => places.iter().flatten().all(|v| v.is_finite()),
        Shape::Lines(lines) => lines.iter().flatten().flatten().all(|v| v.is_finite()),
        Shape::Polygons(all) => all.iter().flatten().flatten().flatten().all(|v| v.is_finite()),
        Shape::Several(parts) => parts.iter().all(is_finite),
        _ => true,
    }
}
