//! Sites that are points, lines and polygons.

use anyhow::{Context, Result, ensure};
use geo_io::Shape as Feature;
use sphere_qtm::{LonLat, Shape, Shapes};

use crate::Sites;

/// A site for each feature.
pub fn sites(features: &[Feature]) -> Result<Sites> {
    ensure!(!features.is_empty(), "there are no sites");
    let mut sites = Sites::default();
    let mut shapes = Vec::with_capacity(features.len());
    for (i, feature) in features.iter().enumerate() {
        let mut first = None;
        let shape = shape(feature, &mut first).with_context(|| format!("feature {i}"))?;
        let first = first.with_context(|| format!("feature {i} has no places"))?;
        sites.x.push(first.longitude());
        sites.y.push(first.latitude());
        shapes.push(shape);
    }
    sites.shapes = Some(Shapes::new(&shapes)?);
    Ok(sites)
}

/// A feature on the globe, and its first place.
fn shape(feature: &Feature, first: &mut Option<LonLat>) -> Result<Shape> {
    let mut place = |&[longitude, latitude]: &[f64; 2]| -> Result<LonLat> {
        let place = LonLat::new(longitude, latitude)?;
        first.get_or_insert(place);
        Ok(place)
    };
    let mut several: Vec<Shape> = match feature {
        Feature::Points(places) => {
            places.iter().map(|p| Ok(Shape::Point(place(p)?))).collect::<Result<_>>()?
        }
        Feature::Lines(lines) => lines
            .iter()
            .map(|line| Ok(Shape::Line(line.iter().map(&mut place).collect::<Result<_>>()?)))
            .collect::<Result<_>>()?,
        Feature::Polygons(polygons) => {
            let mut ring = |ring: &Vec<[f64; 2]>| ring.iter().map(&mut place).collect();
            let mut polygon = |rings: &Vec<Vec<[f64; 2]>>| -> Result<Shape> {
                Ok(Shape::Polygon(rings.iter().map(&mut ring).collect::<Result<_>>()?))
            };
            polygons.iter().map(&mut polygon).collect::<Result<_>>()?
        }
        Feature::Several(all) => all.iter().map(|one| shape(one, first)).collect::<Result<_>>()?,
        other => anyhow::bail!("{other:?} is no shape that this program knows"),
    };
    // One by itself is what it is.
    Ok(if several.len() == 1 { several.remove(0) } else { Shape::Several(several) })
}
