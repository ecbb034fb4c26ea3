//! The coordinate system that all inputs share.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use geo_io::Crs;
use gpu_core::{Bounds, Shortest};

/// The coordinate system of several files, given by the caller or stated by all of them.
#[derive(Debug, Default)]
pub struct Shared {
    given: Option<Crs>,
    /// The file that stated the system.
    taken: Option<(PathBuf, Option<Crs>)>,
    /// A file that states less about heights, and its statement.
    differs: Option<(PathBuf, String)>,
}

impl Shared {
    /// Returns a system that the caller gives, whatever the files state.
    pub fn new(given: Option<Crs>) -> Self {
        Self { given, ..Self::default() }
    }

    /// Takes the statement of the next file. If only some files state the system of their heights, it counts for all
    /// files.
    ///
    /// # Errors
    /// A geocentric system; or, unless the caller gave a system, one that differs from the earlier files' system.
    pub fn take(&mut self, path: &Path, crs: Option<&Crs>) -> Result<()> {
        if self.given.is_some() {
            return Ok(());
        }
        require_map(path, crs)?;
        let Some((first, taken)) = &mut self.taken else {
            self.taken = Some((path.to_owned(), crs.cloned()));
            return Ok(());
        };
        let systems = ((first.as_path(), taken.as_ref()), (path, crs));
        let Some(note) = require_same_crs(systems.0, systems.1)? else { return Ok(()) };
        let says = |crs: Option<&Crs>| {
            crs.map_or(0, |crs| {
                u8::from(crs.has_heights()) + u8::from(crs.vertical_epsg().is_some())
            })
        };
        let mut less = path.to_owned();
        if says(crs) > says(taken.as_ref()) {
            less = std::mem::replace(first, less);
            *taken = crs.cloned();
        }
        self.differs.get_or_insert((less, note));
        Ok(())
    }

    /// Returns the system of the files so far.
    pub fn crs(&self) -> Option<&Crs> {
        self.given.as_ref().or(self.taken.as_ref().and_then(|(_, crs)| crs.as_ref()))
    }

    /// The system.
    pub fn into_crs(self) -> Option<Crs> {
        self.given.or(self.taken.and_then(|(_, crs)| crs))
    }

    /// What a user should know.
    pub fn note(&self) -> Option<String> {
        let ((first, _), (less, note)) = (self.taken.as_ref()?, self.differs.as_ref()?);
        Some(format!(
            "the heights of {} are taken to be in the system of {}: {note}",
            less.display(),
            first.display()
        ))
    }
}

/// Refuses a file whose stated system is geocentric, so that x and y are not a place on a map.
///
/// # Errors
/// In the case that the summary names.
pub fn require_map(path: &Path, crs: Option<&Crs>) -> Result<()> {
    match crs.filter(|crs| crs.is_geocentric()) {
        None => Ok(()),
        Some(crs) => bail!(
            "{} is in {crs}, which is geocentric: x and y count from the middle of the Earth; project the points first, \
             or give --crs if the file is wrong",
            path.display(),
        ),
    }
}

/// Refuses two files with different coordinate systems. Returns a note for the user if one of them states less about
/// its heights.
///
/// # Errors
/// The systems differ; the error says how.
pub fn require_same_crs(
    (first, crs): (&Path, Option<&Crs>),
    (path, other): (&Path, Option<&Crs>),
) -> Result<Option<String>> {
    let difference = match (crs, other) {
        (None, None) => return Ok(None),
        (Some(crs), Some(other)) => match crs.compare(other) {
            Ok(note) => return Ok(note),
            Err(difference) => format!(" ({difference})"),
        },
        _ => String::new(),
    };
    bail!(
        "{} is in {}, but {} is in {}{difference}: give --crs to settle it",
        first.display(),
        name(crs),
        path.display(),
        name(other),
    )
}

/// Refuses two files, or options with their files, that both state a system and not the same; `remedy` says what to do.
///
/// # Errors
/// The systems differ.
pub fn require_same_if_stated(
    (first, crs): (impl Display, Option<&Crs>),
    (second, other): (impl Display, Option<&Crs>),
    remedy: &str,
) -> Result<()> {
    let Some((crs, other)) = crs.zip(other) else { return Ok(()) };
    match other.compare(crs) {
        Ok(_) => Ok(()),
        Err(why) => bail!("{second} is in {other}, but {first} is in {crs} ({why}): {remedy}"),
    }
}

fn name(crs: Option<&Crs>) -> String {
    crs.map_or_else(|| "no named coordinate system".to_owned(), Crs::to_string)
}

/// Refuses coordinates out of the range of longitudes and latitudes.
///
/// # Errors
/// A longitude or latitude is out of range; the error shows it.
pub fn require_on_globe(path: &Path, crs: &Crs, bounds: Option<Bounds>) -> Result<()> {
    // A rounding beyond.
    const SLACK: f64 = 1e-6;
    let (Some(unit), Some(b)) = (crs.degrees_per_unit(), bounds) else { return Ok(()) };
    for (what, ends, least, most) in
        [("latitude", 90.0, b.min_y, b.max_y), ("longitude", 360.0, b.min_x, b.max_x)]
    {
        let beyond = [least, most].into_iter().find(|v| v.abs() * unit > ends + SLACK);
        if let Some(value) = beyond.map(Shortest) {
            bail!(
                "{} has a {what} of {value}, but {crs} has none beyond {}. x must be the longitude and y the latitude: \
                 swap --columns, or the coordinates of geometries, or give their --crs",
                path.display(),
                // Without what the unit's text has lost of its digits.
                (ends / unit * 1e6).round() / 1e6
            )
        }
    }
    Ok(())
}

/// Whether longitudes from one to another reach beyond half a turn, and none of the points does.
pub fn is_across_antimeridian([west, east]: [f64; 2], points: Bounds) -> bool {
    east > 180.0 && points.max_x <= 180.0 || west < -180.0 && points.min_x >= -180.0
}

/// Returns a note on bounds that reach across the antimeridian, beyond which the points have no longitudes.
pub fn note_on_bounds(
    bounds: Option<Bounds>,
    crs: Option<&Crs>,
    points: Option<Bounds>,
) -> Option<String> {
    let (bounds, points) = bounds.zip(points)?;
    let is_note = crs.is_some_and(Crs::is_geographic)
        && is_across_antimeridian([bounds.min_x, bounds.max_x], points);
    is_note.then(|| {
        "--bounds reaches across the antimeridian, and the points have no longitudes beyond it: points on its other side do not \
         count; give all longitudes from 0 to 360, or make a result for each side"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crs(text: &str) -> Option<Crs> {
        Some(Crs::parse(text).unwrap())
    }

    #[test]
    fn the_system_that_says_more_is_taken_whichever_file_comes_first() {
        let [less, more] = ["EPSG:26910", "EPSG:26910+5703"].map(crs);
        for (first, second) in [(&less, &more), (&more, &less)] {
            let mut shared = Shared::new(None);
            shared.take(Path::new("a.las"), first.as_ref()).unwrap();
            assert_eq!(shared.note(), None);
            shared.take(Path::new("b.las"), second.as_ref()).unwrap();
            let note = shared.note().unwrap();
            assert!(
                note.contains("a.las") && note.contains("b.las") && note.contains("EPSG:5703"),
                "{note}"
            );
            assert_eq!(shared.into_crs(), more);
        }
    }

    #[test]
    fn systems_that_differ_are_refused_with_how() {
        for (a, b, words) in [
            ("EPSG:26910", "EPSG:26911", "EPSG:26910 and EPSG:26911"),
            ("EPSG:26910+5703", "EPSG:26910+6360", "a unit of height"),
        ] {
            let mut shared = Shared::new(None);
            shared.take(Path::new("a.las"), crs(a).as_ref()).unwrap();
            let error = shared.take(Path::new("b.las"), crs(b).as_ref()).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("give --crs"), "{error}");
            let mut shared = Shared::new(crs(a));
            shared.take(Path::new("b.las"), crs(b).as_ref()).unwrap();
            assert_eq!(shared.into_crs(), crs(a));
        }
        let mut shared = Shared::new(None);
        shared.take(Path::new("a.las"), crs("EPSG:26910").as_ref()).unwrap();
        assert!(shared.take(Path::new("b.csv"), None).unwrap_err().to_string().contains("b.csv"));
    }

    #[test]
    fn what_is_beyond_a_pole_is_no_latitude() {
        let at = |y: f64| Some(Bounds { min_x: 1.0, max_x: 2.0, min_y: y, max_y: y });
        let on_globe =
            |text: &str, y| require_on_globe(Path::new("a.csv"), &crs(text).unwrap(), at(y));
        let error = on_globe("EPSG:4326", -120.0).unwrap_err().to_string();
        assert!(error.contains("a.csv has a latitude of -120"), "{error}");
        assert!(on_globe("EPSG:4326", 90.0).is_ok() && on_globe("EPSG:26910", -120.0).is_ok());
        // In grads.
        assert!(on_globe("EPSG:4807", 99.0).is_ok() && on_globe("EPSG:4807", 101.0).is_err());
    }
}
