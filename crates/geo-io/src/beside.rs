//! What files beside a raster say of where it lies: world files, and the `.aux.xml` of GDAL.

use std::path::{Path, PathBuf};

use crate::{Crs, Error, Result};

/// More than any such file has.
const MOST: u64 = 16 << 20;

/// What GDAL has put beside a raster, as `NAME.aux.xml`.
#[derive(Default)]
pub(crate) struct Auxiliary {
    /// The geotransform.
    pub transform: Option<[f64; 6]>,
    pub crs: Option<Crs>,
    /// How many ground control points it has.
    pub control_points: usize,
}

impl Auxiliary {
    /// Reads what lies beside a raster; nothing of a raster that has no such file.
    ///
    /// # Errors
    /// A place or a system that is none.
    pub fn beside(path: &Path) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".aux.xml");
        let name = Path::new(&name);
        let Some(text) = text_of(name) else { return Ok(Self::default()) };
        let bad = |reason: &str| Error::malformed(name, reason);
        let transform = element(&text, "GeoTransform").map(|numbers| {
            let numbers = numbers.split(',').map(|word| word.trim().parse().ok());
            let numbers = numbers.collect::<Option<Vec<f64>>>();
            let transform = numbers.and_then(|numbers| numbers.try_into().ok());
            transform.ok_or_else(|| bad("its GeoTransform is not six numbers"))
        });
        let system = element(&text, "SRS").filter(|text| !text.trim().is_empty());
        let crs = system.map(|text| {
            let text = unescaped(text);
            let is_text = text.contains('[');
            let crs = if is_text { Crs::from_wkt(&text) } else { Crs::parse(&text).ok() };
            crs.ok_or_else(|| bad("its SRS is neither well-known text nor an EPSG code"))
        });
        let control_points =
            element(&text, "GCPList").map_or(0, |list| list.matches("<GCP ").count());
        Ok(Self { transform: transform.transpose()?, crs: crs.transpose()?, control_points })
    }
}

/// The content of the first element of a name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.match_indices(&format!("<{name}")).find(|(at, found)| {
        // Not of a longer name.
        text[at + found.len()..].starts_with(|c: char| c == '>' || c.is_whitespace())
    })?;
    let (_, content) = text[start.0..].split_once('>')?;
    Some(content.split_once(&format!("</{name}>"))?.0)
}

/// The text that an element's content stands for.
fn unescaped(text: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    marks.iter().fold(text.trim().to_owned(), |text, (mark, sign)| text.replace(mark, sign))
}

/// A world file.
pub(crate) struct WorldFile {
    pub path: PathBuf,
    /// The geotransform; `None` where it has not the six numbers of one.
    pub transform: Option<[f64; 6]>,
}

impl WorldFile {
    /// Reads the world file beside a raster, by the names that GDAL looks for: of `a.tif` that is `a.tfw`, `a.tifw` or
    /// `a.wld`, in lower or upper case.
    pub fn beside(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_lowercase();
        let (first, last) = (ending.chars().next()?, ending.chars().last()?);
        let endings = [format!("{first}{last}w"), format!("{ending}w"), "wld".to_owned()];
        let names = endings.iter().flat_map(|e| [e.clone(), e.to_uppercase()]);
        let mut paths = names.map(|ending| path.with_extension(ending));
        let path = paths.find(|path| path.is_file())?;
        let transform = text_of(&path).and_then(|text| transform_of(&text));
        Some(Self { path, transform })
    }
}

/// The geotransform of a world file's six lines: two of x, two of y for a column and a row, and the middle of the first
/// pixel.
fn transform_of(text: &str) -> Option<[f64; 6]> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // Some writers have their language's commas.
    let numbers = lines.take(6).map(|line| line.replace(',', ".").parse().ok());
    let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
    let [ax, ay, bx, by, x, y] = numbers.try_into().ok()?;
    let has_area = (ax != 0.0 || bx != 0.0) && (ay != 0.0 || by != 0.0);
    has_area.then(|| [x - (ax + bx) / 2.0, ax, bx, y - (ay + by) / 2.0, ay, by])
}

/// The text of a small file, if there is one.
fn text_of(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    let bytes = (about.is_file() && about.len() <= MOST).then(|| std::fs::read(path).ok())??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_file_places_the_middle_of_the_first_pixel() {
        let expected = Some([997.5, 5.0, 0.0, 2002.5, 0.0, -5.0]);
        assert_eq!(transform_of("5\n0\n0\n-5\n1000\n2000\n"), expected);
        assert_eq!(transform_of("\u{20}5,0\r\n\r\n0\r\n0\r\n-5,0\r\n1000\r\n2000"), expected);
        let turned = Some([997.5, 0.0, 5.0, 1997.5, 5.0, 0.0]);
        assert_eq!(transform_of("0\n5\n5\n0\n1000\n2000\n"), turned);
        for bad in ["", "5\n0\n0\n-5\n1000\n", "5 0 0 -5 1000 2000", "0\n0\n0\n0\n1\n2\n", "a"] {
            assert_eq!(transform_of(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn elements_are_found_by_their_whole_names() {
        let text = "<A><SRSList>x</SRSList><SRS axes=\"1,2\">GEOGCS[&quot;a&amp;b&quot;]</SRS></A>";
        assert_eq!(element(text, "SRS").map(unescaped), Some("GEOGCS[\"a&b\"]".to_owned()));
        assert_eq!(element(text, "GeoTransform"), None);
        assert_eq!(element("<SRS>cut", "SRS"), None);
    }
}
