//! Mercator's projection of the world: its metres are shorter on the ground, the more so the farther from the equator.

use geo_io::{Crs, Georeference};

/// Its systems: that of web maps, and World Mercator.
const SYSTEMS: [&str; 2] = ["EPSG:3857", "EPSG:3395"];

/// The equatorial radius that its coordinates are made with, in metres.
const RADIUS: f64 = 6_378_137.0;

/// From this length on a metre counts as one on the ground: up to 8 degrees of latitude.
const NEARLY_ONE: f64 = 0.99;

/// Returns a note if coordinates are Mercator's, and a metre of them is not one on the ground somewhere between two
/// values of y. `what` takes the coordinates' lengths for those on the ground.
pub fn note_on_lengths(what: &str, crs: Option<&Crs>, [a, b]: [f64; 2]) -> Option<String> {
    let crs = crs?;
    let is_it = |code: &str| Crs::parse(code).is_ok_and(|known| crs.same_as(&known));
    if !SYSTEMS.into_iter().any(is_it) {
        return None;
    }
    let [a, b] = [a, b].map(|y| (y, length(y)));
    let shortest = a.1.min(b.1);
    let longest = if a.0 * b.0 < 0.0 { 1.0 } else { a.1.max(b.1) };
    (shortest < NEARLY_ONE).then(|| {
        let [shortest, longest] = [shortest, longest].map(|length| format!("{length:.3}"));
        let range = match shortest == longest {
            true => shortest,
            false => format!("{shortest} to {longest}"),
        };
        format!(
            "a metre of {crs} is {range} m on the ground here, and {what} take it for one: project to a system of the place, \
             such as UTM (gdalwarp or ogr2ogr -t_srs)"
        )
    })
}

/// The same for a raster of some columns and rows.
pub fn note_on_lengths_of(
    what: &str,
    place: &Georeference,
    (width, height): (u32, u32),
) -> Option<String> {
    let [_, _, _, top, along, down] = place.transform;
    let (along, down) = (f64::from(width) * along, f64::from(height) * down);
    let ends = [top, top + along, top + down, top + along + down];
    let [low, high] = [f64::min, f64::max].map(|of| ends.into_iter().fold(top, of));
    note_on_lengths(what, place.crs.as_ref(), [low, high])
}

/// The length on the ground of a metre at some y: the cosine of the latitude, on the sphere.
fn length(y: f64) -> f64 {
    (y / RADIUS).cosh().recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metre_of_web_maps_is_the_cosine_of_the_latitude() {
        // PROJ has these y for latitudes of 30, 45 and 60 degrees in EPSG:3857.
        for (y, latitude) in [
            (3_503_549.843_504_375, 30.0),
            (5_621_521.486_192_066, 45.0),
            (8_399_737.889_818_357, 60.0_f64),
        ] {
            for y in [y, -y] {
                assert!((length(y) - latitude.to_radians().cos()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn lengths_of_web_maps_are_noted_away_from_the_equator_alone() {
        let esri = r#"PROJCS["WGS_1984_Web_Mercator_Auxiliary_Sphere",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Mercator_Auxiliary_Sphere"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",0.0],PARAMETER["Auxiliary_Sphere_Type",0.0],UNIT["Meter",1.0]]"#;
        let parsed = ["EPSG:3857", "EPSG:3395"].map(|code| Crs::parse(code).unwrap());
        for crs in parsed.into_iter().chain([Crs::from_wkt(esri).unwrap()]) {
            let note = |ys| note_on_lengths("slopes", Some(&crs), ys);
            let at_60 = note([8_399_738.0, 8_399_748.0]).unwrap();
            assert!(at_60.contains("is 0.500 m on the ground here, and slopes take"), "{at_60}");
            let around = note([-8_399_738.0, 5_621_521.0]).unwrap();
            assert!(around.contains("is 0.500 to 1.000 m"), "{around}");
            assert_eq!(note([-500_000.0, 800_000.0]), None);
        }
        let utm = Crs::parse("EPSG:32633").unwrap();
        assert_eq!(note_on_lengths("slopes", Some(&utm), [8e6, 9e6]), None);
        assert_eq!(note_on_lengths("slopes", None, [8e6, 9e6]), None);
    }
}
