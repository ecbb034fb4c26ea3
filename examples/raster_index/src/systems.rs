//! The reference systems of rasters and of their indices.

use std::path::Path;

use anyhow::{Context, Result};
use geo_io::Crs;
use programs::scale::System;
use programs::systems::require_same_if_stated;
use serde::{Deserialize, Serialize};

/// Refuses two of which both have a system, and not the same.
pub fn require_same(a: (&Path, Option<&Crs>), b: (&Path, Option<&Crs>)) -> Result<()> {
    let remedy = "`gdalwarp -t_srs` converts a raster to the other's system";
    require_same_if_stated((a.0.display(), a.1), (b.0.display(), b.1), remedy)
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

/// Returns the form in which an index keeps a system. If an index cannot keep it, adds a note.
pub fn kept_or_noted(crs: &Crs, notes: &mut Vec<String>) -> Option<System> {
    let kept = System::of(crs).ok();
    if kept.is_none() {
        notes.push(format!("the index does not keep the reference system {crs}: it has no code"));
    }
    kept
}

/// What an index keeps as text: a system, and the geotransform if the grid does not say where the raster lies. Without
/// the latter it is the system alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    pub transform: Option<[f64; 6]>,
}

impl Kept {
    /// The text; `None` where there is nothing to keep.
    pub fn text(&self) -> Option<String> {
        match (&self.system, &self.transform) {
            (None, None) => None,
            (Some(system), None) => serde_json::to_string(system).ok(),
            _ => serde_json::to_string(self).ok(),
        }
    }

    /// What an index keeps.
    ///
    /// # Errors
    /// It is nothing of that.
    pub fn of_index(path: &Path, text: Option<&str>) -> Result<Self> {
        let Some(text) = text else { return Ok(Self::default()) };
        let alone = serde_json::from_str::<System>(text);
        let kept = alone.map(|system| Self { system: Some(system), transform: None });
        let kept = kept.or_else(|_| serde_json::from_str::<Self>(text));
        let kept = kept.ok().filter(|kept| *kept != Self::default());
        kept.with_context(|| format!("{}: its reference system is invalid", path.display()))
    }
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
        assert!(error.starts_with("b.tif is in EPSG:32634, but a.tif is in EPSG:32633"), "{error}");
        for same in [None, Some(&keys), Some(&crs("EPSG:32633+5703"))] {
            require_same((a, Some(&zone)), (b, same)).unwrap();
        }
    }

    #[test]
    fn an_index_gives_back_the_system_and_the_place_that_it_keeps() {
        let path = Path::new("a.ccq");
        for text in ["EPSG:32633", "EPSG:4326", "EPSG:26910+5703"] {
            let crs = Crs::parse(text).unwrap();
            for transform in [None, Some([500_000.0, 30.0, 0.0, 4e6, 0.0, -20.0])] {
                let kept = Kept { system: System::of(&crs).ok(), transform };
                let found = Kept::of_index(path, kept.text().as_deref()).unwrap();
                assert_eq!(found, kept, "{text}");
                assert_eq!(found.system.unwrap().crs().unwrap(), crs);
            }
        }
        assert_eq!(Kept::default().text(), None);
        let name = r#"{"name":"EPSG:32633"}"#;
        assert_eq!(Kept::of_index(path, Some(name)).unwrap().text().as_deref(), Some(name));
        for bad in ["{}", "rubbish", r#"{"transform":[1,2]}"#] {
            let error = Kept::of_index(path, Some(bad)).unwrap_err();
            assert!(error.to_string().contains("a.ccq"), "{error}");
        }
    }
}
