//! The reference systems of rasters and of their indices.

use std::path::Path;

use anyhow::{Context, Result, bail};
use geo_io::Crs;
use programs::scale::System;

/// Refuses two of which both have a system, and not the same.
pub fn require_same(a: (&Path, Option<&Crs>), b: (&Path, Option<&Crs>)) -> Result<()> {
    let ((a, Some(of_a)), (b, Some(of_b))) = (a, b) else { return Ok(()) };
    let Err(why) = of_a.compare(of_b) else { return Ok(()) };
    let (a, b) = (a.display(), b.display());
    bail!(
        "{b} is in {of_b}, {a} in {of_a} ({why}): `gdalwarp -t_srs` brings a raster into the other's system"
    )
}

/// The system of rasters that lie beside each other: the first that one of them states.
pub fn of_all<'a>(
    mut rasters: impl Iterator<Item = (&'a Path, Option<&'a Crs>)>,
) -> Result<Option<&'a Crs>> {
    let Some(first) = rasters.by_ref().find(|(_, crs)| crs.is_some()) else { return Ok(None) };
    for other in rasters {
        require_same(first, other)?;
    }
    Ok(first.1)
}

/// The form in which an index keeps a system; `None` where no form gives it back.
pub fn kept(crs: &Crs) -> Option<String> {
    System::of(crs).ok().and_then(|system| serde_json::to_string(&system).ok())
}

/// The form in which an index keeps a system; a note says where there is none.
pub fn kept_or_noted(crs: &Crs, notes: &mut Vec<String>) -> Option<String> {
    let kept = kept(crs);
    if kept.is_none() {
        notes.push(format!("the index does not keep the reference system {crs}: it has no code"));
    }
    kept
}

/// The system that an index keeps.
pub fn of_index(path: &Path, text: Option<&str>) -> Result<Option<Crs>> {
    let Some(text) = text else { return Ok(None) };
    let system = serde_json::from_str::<System>(text).map_err(anyhow::Error::from);
    let crs = system.and_then(|system| system.crs());
    crs.map(Some).with_context(|| format!("{}: its reference system is none", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_compared_by_their_codes() {
        let crs = |text| Crs::parse(text).unwrap();
        let keys = Crs::from_geokeys(crs("EPSG:32633").geokeys()).unwrap().unwrap();
        let [a, b] = ["a.tif", "b.tif"].map(Path::new);
        let (zone, other) = (crs("EPSG:32633"), crs("EPSG:32634"));
        let error = require_same((a, Some(&zone)), (b, Some(&other))).unwrap_err().to_string();
        assert!(error.starts_with("b.tif is in EPSG:32634, a.tif in EPSG:32633"), "{error}");
        for same in [None, Some(&keys), Some(&crs("EPSG:32633+5703"))] {
            require_same((a, Some(&zone)), (b, same)).unwrap();
        }
    }

    #[test]
    fn an_index_gives_back_the_system_that_it_keeps() {
        for text in ["EPSG:32633", "EPSG:4326", "EPSG:26910+5703"] {
            let crs = Crs::parse(text).unwrap();
            let kept = kept(&crs).unwrap();
            assert_eq!(of_index(Path::new("a.ccq"), Some(&kept)).unwrap(), Some(crs), "{kept}");
        }
        let error = of_index(Path::new("a.ccq"), Some("{}")).unwrap_err();
        assert!(error.to_string().contains("a.ccq"), "{error}");
    }
}
