//! GDAL's XML about a raster: the file `.aux.xml` beside it. Like GDAL, it ignores XML that is not well-formed.

use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use crate::{Crs, Error, Number, Result, SampleType};

/// Bytes of an XML file that are read at most.
pub(crate) const MOST: u64 = 64 << 20;

/// Where GDAL's `.aux.xml` says that a raster lies.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Place {
    /// The geotransform.
    pub transform: Option<[f64; 6]>,
    pub crs: Option<Crs>,
    /// Whether it states a system that this crate does not understand, such as one with rotated poles.
    pub is_system_unknown: bool,
    /// How many ground control points it has.
    pub control_points: usize,
}

impl Place {
    /// Reads the file beside a raster; returns no statements if there is no such file.
    ///
    /// # Errors
    /// An invalid place, and a system that is neither well-known text nor a code.
    pub fn beside(path: &Path) -> Result<Self> {
        let (name, text) = text_beside(path);
        Self::of_pam(&text).map_err(|reason| Error::malformed(&name, reason))
    }

    /// By the text of an `.aux.xml`.
    fn of_pam(text: &str) -> Result<Self, &'static str> {
        document_of(text)
            .map_or_else(|| Ok(Self::default()), |document| Self::of(document.root_element()))
    }

    /// Reads the element that holds a raster's place.
    pub fn of(root: Node) -> Result<Self, &'static str> {
        let transform = text_of(root, "GeoTransform").map(|numbers| {
            let numbers = numbers.split(',').map(|word| word.trim().parse().ok());
            let numbers = numbers.collect::<Option<Vec<f64>>>();
            let transform = numbers.and_then(|numbers| numbers.try_into().ok());
            transform.ok_or("its GeoTransform is not six numbers")
        });
        let system = text_of(root, "SRS").map(str::trim).filter(|text| !text.is_empty());
        let crs = system.map(|text| match text.contains('[') {
            true => Ok(Crs::from_wkt(text)),
            false => Crs::parse(text)
                .map(Some)
                .map_err(|_| "its SRS is neither well-known text nor an EPSG code"),
        });
        let crs = crs.transpose()?;
        let is_system_unknown = crs == Some(None);
        let lists = children(root, "GCPList");
        let control_points = lists.map(|list| children(list, "GCP").count()).sum();
        let (transform, crs) = (transform.transpose()?, crs.flatten());
        Ok(Self { transform, crs, is_system_unknown, control_points })
    }
}

/// The name of the `.aux.xml` beside a file, and its text; none where there is no such file, or one too large to be that.
pub(crate) fn text_beside(path: &Path) -> (PathBuf, String) {
    let mut name = path.as_os_str().to_owned();
    name.push(".aux.xml");
    let name = PathBuf::from(name);
    let is_small =
        std::fs::metadata(&name).is_ok_and(|about| about.is_file() && about.len() <= MOST);
    let bytes = if is_small { std::fs::read(&name).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (name, text)
}

/// A text as XML, if it is that.
pub(crate) fn document_of(text: &str) -> Option<Document<'_>> {
    Document::parse(text.trim_start_matches('\u{feff}').trim_end_matches('\0')).ok()
}

/// The children of a name; GDAL ignores the case.
pub(crate) fn children<'a, 'input>(
    of: Node<'a, 'input>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    of.children().filter(move |child| child.tag_name().name().eq_ignore_ascii_case(name))
}

/// The text of the first child of a name.
pub(crate) fn text_of<'a>(of: Node<'a, '_>, name: &str) -> Option<&'a str> {
    children(of, name).next()?.text()
}

/// The number that a text begins with.
pub(crate) fn real(text: &str) -> Option<f64> {
    SampleType::F64.number_of_text(text).map(Number::to_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_dataset_itself() {
        let place = |inner: &str| Place::of_pam(&format!("<PAMDataset>{inner}</PAMDataset>"));
        let found = place(
            "<SRSList>x</SRSList><SRS axes=\"1,2\">GEOGCS[&quot;WGS 84&quot;,AUTHORITY[&quot;EPSG&quot;,&quot;4326&quot;]]</SRS>\
             <!-- <GeoTransform>9</GeoTransform> --><GeoTransform> 1, 2, 0, 3, 0, -4 </GeoTransform>\
             <GCPList><GCP Id=\"a\"/><GCP Id=\"b\"/></GCPList>",
        )
        .unwrap();
        assert_eq!(found.transform, Some([1.0, 2.0, 0.0, 3.0, 0.0, -4.0]));
        assert_eq!(found.crs.as_ref().unwrap().epsg(), Some(4326));
        assert_eq!(found.control_points, 2);
        assert_eq!(place("<SRS> EPSG:32633 </SRS>").unwrap().crs.unwrap().epsg(), Some(32633));
        let nested = "<Metadata><GeoTransform>1,2</GeoTransform><SRS>rubbish</SRS></Metadata>";
        assert_eq!(place(nested).unwrap(), Place::default());
        assert_eq!(Place::of_pam("<PAMDataset><SRS>cut").unwrap(), Place::default());
        assert!(place("<GeoTransform>1,2,3</GeoTransform>").unwrap_err().contains("six numbers"));
        assert!(place("<SRS>rubbish</SRS>").unwrap_err().contains("SRS"));
        let unknown = place("<SRS>GEOGCRS[&quot;turned&quot;,BASEGEOGCRS[]]</SRS>").unwrap();
        assert!(unknown.is_system_unknown && unknown.crs.is_none() && !found.is_system_unknown);
    }
}
