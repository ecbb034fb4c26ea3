//! Sites that are points, lines and polygons.

use anyhow::{Context, Result, ensure};
use geo_io::Shape as Feature;
use sphere_qtm::{Error, LonLat, Shape, Shapes};

use crate::Sites;

/// A site for each feature that has a geometry.
pub fn sites(features: &[Option<Feature>]) -> Result<Sites> {
    let mut sites = Sites::default();
    let (mut shapes, mut numbers) = (Vec::with_capacity(features.len()), Vec::new());
    for (i, feature) in features.iter().enumerate() {
        let Some(feature) = feature else {
            sites.x.push(f64::NAN);
            sites.y.push(f64::NAN);
            continue;
        };
        let mut first = None;
        let shape = shape(feature, &mut first).with_context(|| format!("feature {i}"))?;
        let first = first.with_context(|| format!("feature {i} has no places"))?;
        sites.x.push(first.longitude());
        sites.y.push(first.latitude());
        shapes.push(shape);
        numbers.push(i as u32);
    }
    ensure!(!shapes.is_empty(), "there are no sites");
    sites.shapes = Some(Shapes::new(&shapes).map_err(|error| numbered(error, &numbers))?);
    sites.numbers = Some(numbers);
    Ok(sites)
}

/// An error whose site is that of its feature.
fn numbered(error: Error, numbers: &[u32]) -> Error {
    let number = |site: u64| numbers.get(site as usize).map_or(site, |&number| number.into());
    match error {
        Error::Arc { site, from, to, why } => Error::Arc { site: number(site), from, to, why },
        Error::Shape { site, why } => Error::Shape { site: number(site), why },
        other => other,
    }
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
