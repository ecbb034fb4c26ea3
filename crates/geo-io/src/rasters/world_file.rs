//! World files, which lie beside a raster and state its place on the ground.

use std::path::{Path, PathBuf};

/// More than any such file has.
const MOST: u64 = 16 << 20;

/// A world file.
pub(crate) struct WorldFile {
    pub path: PathBuf,
    /// Returns the geotransform; `None` if the text is not six numbers.
    pub transform: Option<[f64; 6]>,
}

impl WorldFile {
    /// Reads the world file beside a raster, under the names that GDAL tries: for `a.tif` these are `a.tfw`, `a.tifw`
    /// or `a.wld`, in lower or upper case.
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

/// The MapInfo table beside a raster that says where it lies, in lower or upper case. GDAL reads such a table; we do not.
pub(crate) fn map_info_beside(path: &Path) -> Option<PathBuf> {
    let mut paths = ["tab", "TAB"].map(|ending| path.with_extension(ending)).into_iter();
    let path = paths.find(|path| path.is_file())?;
    let is_of_raster = text_of(&path)?.to_ascii_lowercase().contains("\"raster\"");
    is_of_raster.then_some(path)
}

/// The geotransform of a world file's six lines: two of x, two of y for a column and a row, and the middle of the first
/// pixel.
fn transform_of(text: &str) -> Option<[f64; 6]> {
    // Lines of old writers end with a carriage return alone. Words behind a number are remarks.
    let words = text.split(['\n', '\r']).filter_map(|line| line.split_whitespace().next());
    // Some writers have their language's commas.
    let numbers = words.take(6).map(|word| word.replace(',', ".").parse().ok());
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
        assert_eq!(transform_of("5\r0\r0\r-5\r1000\r2000\r"), expected);
        assert_eq!(transform_of("5 east\n0\n0\n-5 // south\n1000\n2000\n"), expected);
        let turned = Some([997.5, 0.0, 5.0, 1997.5, 5.0, 0.0]);
        assert_eq!(transform_of("0\n5\n5\n0\n1000\n2000\n"), turned);
        for bad in ["", "5\n0\n0\n-5\n1000\n", "5 0 0 -5 1000 2000", "0\n0\n0\n0\n1\n2\n", "a"] {
            assert_eq!(transform_of(bad), None, "{bad:?}");
        }
    }
}
