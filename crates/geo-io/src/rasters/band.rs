//! What files state about the values of a raster's first band: NODATA, scale, offset and unit. One type holds these
//! statements for all formats, and decides which of them count.

use std::path::{Path, PathBuf};

use roxmltree::Node;
use serde_json::{Map, Value};

use crate::rasters::pam::{children, document_of, real, text_beside, text_of};
use crate::{Number, SampleType};

/// Statements about a raster's first band.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Band {
    pub nodata: Option<Number>,
    pub scale: Option<f64>,
    pub offset: Option<f64>,
    /// Metres of the unit of its values, if this is a known unit of length.
    pub metres: Option<f64>,
    /// Whether the file states NODATA as a text that is not a number.
    pub is_no_number: bool,
    /// Whether the `.aux.xml` is not XML.
    pub is_damaged: bool,
}

impl Band {
    /// Reads what GDAL has written beside a file.
    pub fn beside(path: &Path, kind: SampleType) -> Self {
        Self::of_pam(&text_beside(path).1, kind)
    }

    /// By the text of an `.aux.xml`.
    pub fn of_pam(text: &str, kind: SampleType) -> Self {
        let mut band = Self::default();
        let Some(document) = document_of(text) else {
            band.is_damaged = !text.trim().is_empty();
            return band;
        };
        let bands = children(document.root_element(), "PAMRasterBand");
        for element in bands.filter(|band| band.attribute("band") == Some("1")) {
            band.add(element, kind);
        }
        band
    }

    /// Takes the statements in the element of a band.
    pub fn add(&mut self, band: Node, kind: SampleType) {
        let number = |name| real(text_of(band, name)?);
        self.scale = number("Scale").or(self.scale);
        self.offset = number("Offset").or(self.offset);
        self.metres = text_of(band, "UnitType").and_then(metres_of_name).or(self.metres);
        // The first counts.
        if let Some(element) = children(band, "NoDataValue").next() {
            // The bits say what the digits may have lost.
            let bits = element.attribute("le_hex_equiv").and_then(float_of_bits);
            let text = element.text().unwrap_or_default();
            let nodata = bits.map(Number::from).or_else(|| kind.number_of_text(text));
            self.nodata = nodata.or(self.nodata);
            self.is_no_number |= nodata.is_none() && !text.trim().is_empty();
        }
    }

    /// Adds the statements of a GeoTIFF's own XML where statements are still missing.
    pub fn or_of_metadata(mut self, text: &str) -> Self {
        let Some(document) = document_of(text) else { return self };
        for item in children(document.root_element(), "Item") {
            let is_first = item.attribute("sample").is_none_or(|sample| sample == "0");
            let Some(text) = item.text().filter(|_| is_first) else { continue };
            if item.attribute("role") == Some("unittype") {
                self.metres = self.metres.or_else(|| metres_of_name(text));
            }
            let Some(value) = real(text) else { continue };
            match item.attribute("role") {
                Some("scale") => self.scale = self.scale.or(Some(value)),
                Some("offset") => self.offset = self.offset.or(Some(value)),
                _ => {}
            }
        }
        self
    }

    /// Takes the statements of an array's attributes by CF, the netCDF conventions.
    pub fn of_attributes(attributes: &Map<String, Value>) -> Self {
        let number = |name: &str| attributes.get(name).and_then(Value::as_f64);
        Self {
            scale: number("scale_factor"),
            offset: number("add_offset"),
            metres: attributes.get("units").and_then(Value::as_str).and_then(metres_of_name),
            ..Self::default()
        }
    }

    /// Returns notes on statements that do not count, and what to do about them.
    pub fn notes(&self, path: &Path) -> Vec<String> {
        let (scale, offset) = (self.scale.unwrap_or(1.0), self.offset.unwrap_or(0.0));
        let path = path.display();
        let all = [
            ((scale, offset) != (1.0, 0.0)).then(|| {
                format!(
                    "{path}: its scale {scale} and offset {offset} are not applied; values are those stored"
                )
            }),
            self.is_no_number.then(|| {
                format!(
                    "{path}: its NODATA is not a number of its type, so no value stands for NODATA (GDAL takes 0): \
                     `gdal_translate -a_nodata` states one"
                )
            }),
            self.is_damaged.then(|| {
                format!(
                    "{path}.aux.xml is not well-formed XML, so nothing of it is read (GDAL may read NODATA or a place): \
                     `gdal_translate` makes a raster that states them itself"
                )
            }),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Returns the `.aux.xml` beside a raster if it states NODATA, so that values depend on it.
pub(crate) fn nodata_beside(path: &Path) -> Option<PathBuf> {
    let (name, text) = text_beside(path);
    Band::of_pam(&text, SampleType::F64).nodata.map(|_| name)
}

/// Metres of a unit of length by one of its usual names.
pub(crate) fn metres_of_name(name: &str) -> Option<f64> {
    match name.trim().to_ascii_lowercase().as_str() {
        "m" | "metre" | "metres" | "meter" | "meters" => Some(1.0),
        "ft" | "foot" | "feet" | "international foot" => Some(0.3048),
        "us survey foot" | "us survey feet" | "us_survey_foot" | "us_survey_feet" | "us-ft"
        | "ftus" | "foot_us" => Some(1200.0 / 3937.0),
        "cm" | "centimetre" | "centimeter" => Some(0.01),
        "mm" | "millimetre" | "millimeter" => Some(0.001),
        "km" | "kilometre" | "kilometer" => Some(1000.0),
        _ => None,
    }
}

/// The float whose bytes are written as 16 digits, the lowest byte first.
fn float_of_bits(text: &str) -> Option<f64> {
    let bits = u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16)?;
    Some(f64::from_bits(bits.swap_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_states_nothing_is_said() {
        let notes = |text: &str| Band::of_pam(text, SampleType::U8).notes(Path::new("a.tif"));
        let band = |text: &str| {
            format!("<PAMDataset><PAMRasterBand band=\"1\">{text}</PAMRasterBand></PAMDataset>")
        };
        for (text, said) in [
            (band("<NoDataValue>none</NoDataValue>"), "a.tif: its NODATA is not a number"),
            (band("<Description>a & b</Description>"), "a.tif.aux.xml is not well-formed"),
        ] {
            let [note] = &notes(&text)[..] else { panic!("{text}") };
            assert!(note.starts_with(said) && note.contains("gdal_translate"), "{note}");
        }
        for silent in ["", &band("<NoDataValue> </NoDataValue>"), &band("")] {
            assert_eq!(notes(silent), [""; 0], "{silent}");
        }
    }

    /// As GDAL 3.6 reads each, by `gdalinfo`.
    #[test]
    fn bands_are_read_as_gdal_does() {
        let nodata = |band: &str| {
            let text = format!("<PAMDataset>{band}</PAMDataset>");
            Band::of_pam(&text, SampleType::U8).nodata.map(Number::to_f64)
        };
        let first =
            |inner: &str| nodata(&format!("<PAMRasterBand band=\"1\">{inner}</PAMRasterBand>"));
        assert_eq!(first("<NoDataValue>200</NoDataValue>"), Some(200.0));
        assert_eq!(first("<nodatavalue> 7,5 </nodatavalue>"), Some(7.0));
        assert_eq!(
            first("<NoDataValue le_hex_equiv=\"0000000000002240\">7</NoDataValue>"),
            Some(9.0)
        );
        assert!(first("<NoDataValue>nan</NoDataValue>").unwrap().is_nan());
        assert_eq!(first("<NoDataValue></NoDataValue>"), None);
        assert_eq!(first("<NoDataValue>7</NoDataValue><NoDataValue>8</NoDataValue>"), Some(7.0));
        assert_eq!(first("<Description>d</Description>"), None);
        let other = "<NoDataValue>7</NoDataValue></PAMRasterBand>";
        assert_eq!(nodata(&format!("<PAMRasterBand band=\"2\">{other}")), None);
        assert_eq!(nodata(&format!("<PAMRasterBand>{other}")), None);
        assert_eq!(
            nodata(&format!("<Metadata><PAMRasterBand band=\"1\">{other}</Metadata>")),
            None
        );
        for text in
            ["", "rubbish", "<PAMDataset><PAMRasterBand band=\"1\"><NoDataValue>7</NoDataValue>"]
        {
            let expected = Band { is_damaged: !text.is_empty(), ..Band::default() };
            assert_eq!(Band::of_pam(text, SampleType::U8), expected, "{text}");
        }
    }

    /// The names are those that GDAL writes, and that it knows of heights.
    #[test]
    fn units_of_values_are_known_by_the_names_that_gdal_has() {
        let (foot, survey) = (Some(0.3048), Some(1200.0 / 3937.0));
        for (name, metres) in [
            ("m", Some(1.0)),
            (" Metre ", Some(1.0)),
            ("ft", foot),
            ("foot", foot),
            ("US survey foot", survey),
            ("us-ft", survey),
            ("US_survey_foot", survey),
            ("K", None),
            ("", None),
        ] {
            let metadata = format!(
                "<GDALMetadata><Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">{name}</Item></GDALMetadata>"
            );
            assert_eq!(Band::default().or_of_metadata(&metadata).metres, metres, "{name}");
            let beside = format!(
                "<PAMDataset><PAMRasterBand band=\"1\"><UnitType>{name}</UnitType></PAMRasterBand></PAMDataset>"
            );
            assert_eq!(Band::of_pam(&beside, SampleType::U8).metres, metres, "{name}");
            let attributes = Map::from_iter([("units".to_owned(), name.into())]);
            assert_eq!(Band::of_attributes(&attributes).metres, metres, "{name}");
        }
    }

    #[test]
    fn scales_are_those_of_the_first_band() {
        let text = "<GDALMetadata><Item name=\"SCALE\" sample=\"1\" role=\"scale\">3</Item>\
            <Item name=\"OFFSET\" sample=\"0\" role=\"offset\">5</Item>\
            <Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.1</Item></GDALMetadata>";
        let band = Band::default().or_of_metadata(text);
        let [note] = &band.notes(Path::new("a.tif"))[..] else { panic!("{band:?}") };
        assert!(note.contains("a.tif") && note.contains("scale 0.1 and offset 5"), "{note}");
        let beside = "<PAMDataset><PAMRasterBand band=\"1\"><Scale>1</Scale><Offset>0</Offset></PAMRasterBand></PAMDataset>";
        assert_eq!(
            Band::of_pam(beside, SampleType::U8).or_of_metadata(text).notes(Path::new("a.tif")),
            [""; 0]
        );
    }
}
