//! The keys with which a GeoTIFF and a LAS file state a coordinate reference system (OGC 19-008r4).

use std::borrow::Cow;

use super::units::{degrees_of, metres_of, unit_code};
use super::vertical::Heights;
use super::wkt::{self, Kind};

pub(super) const MODEL_TYPE: u16 = 1024;
pub(super) const RASTER_TYPE: u16 = 1025;
pub(super) const CITATION: u16 = 1026;
pub(super) const GEOGRAPHIC_TYPE: u16 = 2048;
pub(super) const PROJECTED_TYPE: u16 = 3072;
const GEOGRAPHIC_CITATION: u16 = 2049;
const PROJECTED_CITATION: u16 = 3073;
pub(super) const LINEAR_UNITS: u16 = 3076;
const LINEAR_UNIT_SIZE: u16 = 3077;
pub(super) const VERTICAL_TYPE: u16 = 4096;
const VERTICAL_CITATION: u16 = 4097;
const VERTICAL_UNITS: u16 = 4099;
pub(super) const USER_DEFINED: u16 = 32767;

// The tags of a TIFF, and of the records of a LAS file.
pub(crate) const DIRECTORY_TAG: u16 = 34735;
pub(crate) const DOUBLES_TAG: u16 = 34736;
pub(crate) const ASCII_TAG: u16 = 34737;

/// How well-known text begins in a citation.
const TEXT_BEGINS: &str = "ESRI PE String = ";

/// The longest text that GDAL (3.6) takes from a citation. GDAL cuts a longer text off, and the beginning is no system.
const LONGEST_CITED: usize = 2399 - TEXT_BEGINS.len();

/// The three GeoTIFF tags that state a coordinate reference system (OGC 19-008r4).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeoKeys {
    /// GeoKeyDirectoryTag, 34735: version, revision, minor revision, number of keys, then four
    /// numbers a key.
    pub directory: Vec<u16>,
    /// GeoDoubleParamsTag, 34736.
    pub doubles: Vec<f64>,
    /// GeoAsciiParamsTag, 34737, without the closing NUL; ASCII.
    pub ascii: String,
}

impl GeoKeys {
    /// Whether they state more than what a raster's values are.
    pub(crate) fn is_system(&self) -> bool {
        self.entries().any(|e| e[0] != RASTER_TYPE)
    }

    /// Whether they say that a raster's values are those of points, the pixels' middles.
    pub(crate) fn is_point(&self) -> bool {
        self.short(RASTER_TYPE) == Some(2)
    }

    /// One entry of four numbers a key: identifier, tag that holds the value, count, value.
    fn entries(&self) -> impl Iterator<Item = [u16; 4]> + '_ {
        let count = self.directory.get(3).copied().unwrap_or(0);
        let entries = self.directory.get(4..).unwrap_or_default().chunks_exact(4);
        entries.take(count.into()).map(|e| [e[0], e[1], e[2], e[3]])
    }

    /// Returns the keys that a reader can interpret, in the required ascending order, and the numbers of the dropped
    /// keys. A key is dropped if:
    ///
    /// - its number is 0, or an earlier key has the same number;
    /// - its value lies in an unknown tag, or beyond the end of its tag;
    /// - it lies beyond the end of the directory;
    /// - its value lies in the directory itself, and other keys are dropped or were out of order.
    pub fn cleaned(&self) -> (Self, Vec<u16>) {
        let (mut kept, mut dropped): (Vec<[u16; 4]>, Vec<u16>) = (Vec::new(), Vec::new());
        for entry @ [key, tag, ..] in self.entries() {
            let known = matches!(tag, 0 | DIRECTORY_TAG | DOUBLES_TAG | ASCII_TAG);
            let is_good = key != 0 && known && self.check_entry(entry).is_ok();
            if is_good && kept.iter().all(|other| other[0] != key) {
                kept.push(entry);
            } else {
                dropped.push(key);
            }
        }
        let promised = usize::from(self.directory.get(3).copied().unwrap_or(0));
        let cut = promised.saturating_sub(self.entries().count());
        dropped.extend(std::iter::repeat_n(0, cut));
        let in_order = kept.is_sorted_by_key(|entry| entry[0]);
        if dropped.is_empty() && in_order {
            return (self.clone(), dropped);
        }
        // Values within the directory lie behind the entries, whose number changes: none is in use.
        let (kept, within): (Vec<[u16; 4]>, Vec<[u16; 4]>) =
            kept.into_iter().partition(|entry| entry[1] != DIRECTORY_TAG);
        dropped.extend(within.iter().map(|entry| entry[0]));
        let mut kept = kept;
        kept.sort_unstable_by_key(|entry| entry[0]);
        let clean = Self::of_entries(&kept, self.ascii.clone());
        (Self { doubles: self.doubles.clone(), ..clean }, dropped)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let promised = self.directory.get(3).copied().unwrap_or(0);
        let found = self.entries().count();
        if found != usize::from(promised) {
            return Err(format!("its GeoTIFF keys end too early: {found} of {promised} are there"));
        }
        self.entries().try_for_each(|entry| self.check_entry(entry))
    }

    fn check_entry(&self, [key, tag, count, offset]: [u16; 4]) -> Result<(), String> {
        let length = match tag {
            DIRECTORY_TAG => self.directory.len(),
            DOUBLES_TAG => self.doubles.len(),
            // Some writers count the closing NUL.
            ASCII_TAG => self.ascii.len() + 1,
            _ => return Ok(()),
        };
        if usize::from(offset) + usize::from(count) > length {
            return Err(format!("its GeoTIFF key {key} points outside tag {tag}"));
        }
        Ok(())
    }

    /// Metres of a unit of projected coordinates.
    pub(super) fn linear_unit(&self) -> Option<f64> {
        let stated = self.short(LINEAR_UNITS).and_then(metres_of);
        let size = || self.double(LINEAR_UNIT_SIZE);
        let of_code = || {
            let definition = crs_definitions::from_code(self.code()?)?;
            wkt::horizontal(definition.wkt)?.unit()
        };
        stated.or_else(size).or_else(of_code).filter(|unit| unit.is_finite() && *unit > 0.0)
    }

    /// Degrees of a unit of longitudes and latitudes, of a system without a code.
    pub(super) fn angular_unit(&self) -> Option<f64> {
        const ANGULAR_UNITS: u16 = 2054;
        const ANGULAR_UNIT_SIZE: u16 = 2055;
        let stated = self.short(ANGULAR_UNITS).and_then(degrees_of);
        stated.or_else(|| self.double(ANGULAR_UNIT_SIZE).map(f64::to_degrees))
    }

    /// The longitude of the prime meridian, of a system without a code; NaN for a meridian that a code names, but for
    /// Greenwich.
    pub(super) fn prime_meridian(&self) -> Option<f64> {
        const PRIME_MERIDIAN: u16 = 2051;
        const GREENWICH: u16 = 8901;
        const LONGITUDE: u16 = 2061;
        match self.short(PRIME_MERIDIAN) {
            Some(GREENWICH) => Some(0.0),
            None | Some(0 | USER_DEFINED) => self.double(LONGITUDE),
            Some(_) => Some(f64::NAN),
        }
    }

    /// The ellipsoid's radius at the equator in metres, of a system without a code.
    pub(super) fn radius(&self) -> Option<f64> {
        const SEMI_MAJOR_AXIS: u16 = 2057;
        const GEODETIC_UNITS: u16 = 2052;
        let unit = self.short(GEODETIC_UNITS).and_then(metres_of).unwrap_or(1.0);
        self.double(SEMI_MAJOR_AXIS).map(|radius| radius * unit)
    }

    /// Returns what the keys state of heights, if anything.
    pub(super) fn heights(&self) -> Option<Heights> {
        let unit = self.short(VERTICAL_UNITS).and_then(metres_of);
        let code = self.short(VERTICAL_TYPE).filter(|&code| code != USER_DEFINED && code != 0);
        if let Some(code) = code {
            let known = Heights::of_code(code);
            return Some(Heights { unit: unit.or(known.unit), ..known });
        }
        let name = self.citation(VERTICAL_CITATION);
        let is_stated = unit.is_some() || name.is_some();
        is_stated.then(|| Heights::of_name(name.unwrap_or_default(), unit))
    }

    /// Well-known text in the place of parameters, as this crate, GDAL and ArcGIS write it.
    pub(super) fn text(&self) -> Option<&str> {
        [PROJECTED_CITATION, CITATION]
            .into_iter()
            .find_map(|key| self.ascii_of(key)?.strip_prefix(TEXT_BEGINS))
    }

    /// A number of the second record.
    pub(super) fn double(&self, key: u16) -> Option<f64> {
        let [.., offset] = self.entries().find(|e| e[0] == key && e[1] == DOUBLES_TAG)?;
        self.doubles.get(usize::from(offset)).copied()
    }

    /// Returns the keys that define the system, sorted, with their values: without texts and without the kind of raster
    /// values.
    pub(super) fn without_words(&self) -> Vec<(u16, u16, Option<u64>)> {
        let counts = |e: &[u16; 4]| e[1] != ASCII_TAG && e[0] != RASTER_TYPE;
        let value = |e: [u16; 4]| match e[1] {
            0 => (e[0], e[3], None),
            _ => (e[0], 0, self.double(e[0]).map(f64::to_bits)),
        };
        let mut all: Vec<_> = self.entries().filter(counts).map(value).collect();
        all.sort_unstable();
        all
    }

    /// The same keys with the model of their code, where a writer left the model out or stated the code under the key of
    /// the other model. GDAL loads no system without a model.
    pub(super) fn with_model(self) -> Self {
        let kind = |key| {
            let listed = crs_definitions::from_code(self.short(key)?)?;
            wkt::horizontal(listed.wkt)?.kind()
        };
        let is_unknown = matches!(self.short(MODEL_TYPE), None | Some(0));
        let (model, from, to) = match (kind(PROJECTED_TYPE), kind(GEOGRAPHIC_TYPE)) {
            (Some(Kind::Geographic), _) => (2, PROJECTED_TYPE, GEOGRAPHIC_TYPE),
            (None, Some(Kind::Projected)) => (1, GEOGRAPHIC_TYPE, PROJECTED_TYPE),
            (Some(Kind::Projected), _) if is_unknown => (1, PROJECTED_TYPE, PROJECTED_TYPE),
            (None, Some(Kind::Geographic)) if is_unknown && self.is_geographic() => {
                (2, GEOGRAPHIC_TYPE, GEOGRAPHIC_TYPE)
            }
            _ => return self,
        };
        let code = self.short(from).unwrap_or_default();
        let mut entries: Vec<[u16; 4]> =
            self.entries().filter(|e| ![MODEL_TYPE, from, to].contains(&e[0])).collect();
        // Values within the directory lie behind the entries, whose number changes.
        if self.text().is_some() || entries.iter().any(|e| e[1] == DIRECTORY_TAG) {
            return self;
        }
        entries.extend([[MODEL_TYPE, 0, 1, model], [to, 0, 1, code]]);
        entries.sort_unstable_by_key(|entry| entry[0]);
        let settled = Self::of_entries(&entries, self.ascii.clone());
        Self { doubles: self.doubles, ..settled }
    }

    /// Whether coordinates are longitudes and latitudes. Some writers leave out the model.
    pub(super) fn is_geographic(&self) -> bool {
        let is_stated = |key| self.short(key).is_some_and(|value| value != 0);
        match self.short(MODEL_TYPE) {
            Some(2) => true,
            None | Some(0 | USER_DEFINED) => {
                let others = [PROJECTED_TYPE, 3074, 3075, LINEAR_UNITS];
                self.text().is_none()
                    && is_stated(GEOGRAPHIC_TYPE)
                    && !others.map(is_stated).contains(&true)
            }
            _ => false,
        }
    }

    pub(super) fn short(&self, key: u16) -> Option<u16> {
        self.entries().find(|e| e[0] == key && e[1] == 0).map(|e| e[3])
    }

    /// Whether the model type is geocentric. Some writers state it of any system: where there is a code beside it, that
    /// counts.
    pub(super) fn is_geocentric(&self) -> bool {
        let code = self.short(GEOGRAPHIC_TYPE).and_then(crs_definitions::from_code);
        self.short(MODEL_TYPE) == Some(3) && code.is_none_or(|code| wkt::is_geocentric(code.wkt))
    }

    pub(super) fn code(&self) -> Option<u16> {
        // Geographic and geocentric: both are geodetic.
        let is_geodetic = self.is_geographic() || self.is_geocentric();
        let key = if is_geodetic { GEOGRAPHIC_TYPE } else { PROJECTED_TYPE };
        let stated = self.short(key).filter(|&code| code != USER_DEFINED && code != 0);
        stated.or_else(|| self.utm().filter(|_| !is_geodetic))
    }

    /// The code of a system of UTM that is stated by its datum and its zone.
    fn utm(&self) -> Option<u16> {
        const DATUM: u16 = 2050;
        let zones = match (self.short(GEOGRAPHIC_TYPE)?, self.short(DATUM)) {
            (4326, _) | (USER_DEFINED, Some(6326)) => 32600,
            (4269, _) | (USER_DEFINED, Some(6269)) => 26900,
            (4267, _) | (USER_DEFINED, Some(6267)) => 26700,
            (4258, _) | (USER_DEFINED, Some(6258)) => 25800,
            _ => return None,
        };
        let zone = match self.utm_zone()? {
            north @ 1.. => north,
            south if zones == 32600 => 100 - south,
            _ => return None,
        };
        let is_metre = self.short(LINEAR_UNITS).is_none_or(|unit| unit == 9001 || unit == 0);
        let code = zones + zone as u16;
        crs_definitions::from_code(code).filter(|_| is_metre).map(|_| code)
    }

    /// The zone of UTM, negative in the south.
    pub(super) fn utm_zone(&self) -> Option<i32> {
        const PROJECTION: u16 = 3074;
        match self.short(PROJECTION)? {
            north @ 16001..=16060 => Some(i32::from(north) - 16000),
            south @ 16101..=16160 => Some(16100 - i32::from(south)),
            _ => None,
        }
    }

    /// The projected system's citation, else the general one, up to its closing bar; else the name in that of a geographic one.
    pub(super) fn name(&self) -> Option<String> {
        let stated = self.citation(PROJECTED_CITATION).or_else(|| self.citation(CITATION));
        stated.or_else(|| {
            let citation = self.citation(GEOGRAPHIC_CITATION)?;
            Some(self.word_of_citation("GCS Name = ").unwrap_or(citation))
        })
    }

    /// The name of the datum, where a citation states it as GDAL does.
    pub(super) fn datum_name(&self) -> Option<String> {
        self.word_of_citation("Datum = ")
    }

    /// A part of the citation of longitudes and latitudes: GCS Name = x|Datum = y|Ellipsoid = z.
    fn word_of_citation(&self, key: &str) -> Option<String> {
        let citation = self.citation(GEOGRAPHIC_CITATION)?;
        citation.split('|').find_map(|part| part.trim().strip_prefix(key)).map(str::to_owned)
    }

    fn citation(&self, key: u16) -> Option<String> {
        self.ascii_of(key).map(str::to_owned)
    }

    fn ascii_of(&self, key: u16) -> Option<&str> {
        let [_, _, count, offset] = self.entries().find(|e| e[0] == key && e[1] == ASCII_TAG)?;
        let (start, end) = (usize::from(offset), usize::from(offset) + usize::from(count));
        let text = self.ascii.get(start..end.min(self.ascii.len()))?;
        let text = text.trim_end_matches(['|', '\0']).trim();
        (!text.is_empty()).then_some(text)
    }

    /// The same keys with "a pixel is an area". Keys stay in ascending order, as they must be.
    pub(super) fn as_area(&self) -> Self {
        let mut keys = self.clone();
        let (head, tail) = keys.directory.split_at(4.min(keys.directory.len()));
        let mut entries: Vec<[u16; 4]> = self.entries().filter(|e| e[0] != RASTER_TYPE).collect();
        // Values stored in the directory itself lie behind the entries and would move with them.
        let moves = entries.iter().any(|e| e[1] == DIRECTORY_TAG);
        if moves && self.short(RASTER_TYPE).is_none() {
            return keys;
        }
        let rest = tail.get(4 * self.entries().count()..).unwrap_or_default();
        let place = entries.partition_point(|e| e[0] < RASTER_TYPE);
        entries.insert(place, [RASTER_TYPE, 0, 1, 1]);
        let minor = head[2].max(minor_revision(&entries));
        let head = [head[0], head[1], minor, entries.len() as u16];
        keys.directory = [&head[..], entries.as_flattened(), rest].concat();
        keys
    }

    /// The same keys, of those alone whose numbers are wanted.
    pub(super) fn filtered(&self, is_wanted: impl Fn(u16) -> bool) -> Self {
        // Values within the directory lie behind the entries, whose number changes: none is in use.
        let entries: Vec<[u16; 4]> =
            self.entries().filter(|e| is_wanted(e[0]) && e[1] != DIRECTORY_TAG).collect();
        let kept = Self::of_entries(&entries, self.ascii.clone());
        Self { doubles: self.doubles.clone(), ..kept }
    }

    /// The same keys with those of heights behind them; they have none yet.
    pub(super) fn with_heights(&self, heights: &Heights) -> Self {
        let mut entries: Vec<[u16; 4]> = self.entries().filter(|e| e[1] != DIRECTORY_TAG).collect();
        let mut ascii = self.ascii.clone();
        push_heights(heights, &mut entries, &mut ascii);
        entries.sort_unstable_by_key(|entry| entry[0]);
        let all = Self::of_entries(&entries, ascii);
        Self { doubles: self.doubles.clone(), ..all }
    }

    /// Keys for a system; `code` is used where its horizontal part states none, `heights` are its vertical part.
    pub(super) fn of_wkt(wkt: &str, code: Option<u16>, heights: Option<&Heights>) -> Self {
        let node = wkt::horizontal(wkt);
        let geographic = node.as_ref().is_some_and(|n| n.kind() == Some(Kind::Geographic));
        let Some(code) = node.and_then(|n| n.system_code()).or(code) else {
            return Self::of_text(wkt, heights);
        };
        let (model, type_key) = if geographic { (2, GEOGRAPHIC_TYPE) } else { (1, PROJECTED_TYPE) };
        let mut entries =
            vec![[MODEL_TYPE, 0, 1, model], [RASTER_TYPE, 0, 1, 1], [type_key, 0, 1, code]];
        let mut ascii = String::new();
        if let Some(heights) = heights {
            push_heights(heights, &mut entries, &mut ascii);
        }
        Self::of_entries(&entries, ascii)
    }

    /// Returns keys that hold the text itself. GDAL looks for the text in the projected citation, and only where the
    /// model type is user-defined. With a projected model type GDAL takes the whole citation for the name of an
    /// engineering system. A text longer than GDAL reads is written as [`wkt::concise`] does. If that is still too
    /// long, the text is the part that defines x and y, and keys state the heights.
    fn of_text(wkt: &str, heights: Option<&Heights>) -> Self {
        let mut text = Cow::Borrowed(wkt);
        if text.len() > LONGEST_CITED {
            text = wkt::concise(wkt).into();
        }
        let within = wkt::horizontal(&text).map(|node| node.whole.to_owned());
        let (is_cut, within) = (text.len() > LONGEST_CITED, within.unwrap_or_default());
        if is_cut && !within.is_empty() {
            text = within.into();
        }
        let mut ascii = format!("{TEXT_BEGINS}{}|", ascii_only(&text, usize::from(u16::MAX) - 512));
        let mut entries = vec![
            [MODEL_TYPE, 0, 1, USER_DEFINED],
            [RASTER_TYPE, 0, 1, 1],
            [PROJECTED_CITATION, ASCII_TAG, ascii.len() as u16, 0],
        ];
        if let Some(heights) = heights.filter(|_| is_cut) {
            push_heights(heights, &mut entries, &mut ascii);
        }
        let mut keys = Self::of_entries(&entries, ascii);
        // GDAL passes over heights in revision 1.0, those of a text too.
        keys.directory[2] = heights.is_some().into();
        keys
    }

    fn of_entries(entries: &[[u16; 4]], ascii: String) -> Self {
        let head = [1, 1, minor_revision(entries), entries.len() as u16];
        Self { directory: [&head[..], entries.as_flattened()].concat(), doubles: vec![], ascii }
    }
}

/// Adds keys for heights.
fn push_heights(heights: &Heights, entries: &mut Vec<[u16; 4]>, ascii: &mut String) {
    entries.push([VERTICAL_TYPE, 0, 1, heights.code.unwrap_or(USER_DEFINED)]);
    if heights.code.is_none() && !heights.name.is_empty() {
        let name = format!("{}|", ascii_only(&heights.name, 255));
        let place = [name.len() as u16, ascii.len() as u16];
        entries.push([VERTICAL_CITATION, ASCII_TAG, place[0], place[1]]);
        ascii.push_str(&name);
    }
    let unit = heights.unit.and_then(unit_code);
    entries.extend(unit.map(|unit| [VERTICAL_UNITS, 0, 1, unit]));
}

/// Text in which what is not ASCII, or ends a citation, is a question mark; of a length that a count can state.
fn ascii_only(text: &str, most: usize) -> String {
    let is_plain = |c: char| c.is_ascii() && c != '|' && c != '\0';
    text.chars().map(|c| if is_plain(c) { c } else { '?' }).take(most).collect()
}

/// Tells a user what the dropped keys mean; `None` if no key was dropped.
pub(crate) fn words_on_dropped(dropped: &[u16]) -> Option<String> {
    let mut numbers: Vec<u16> = dropped.iter().copied().filter(|&key| key != 0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let empty = dropped.iter().filter(|&&key| key == 0).count();
    let mut parts = Vec::new();
    if !numbers.is_empty() {
        let words: Vec<String> = numbers.iter().map(u16::to_string).collect();
        let (keys, were) = if words.len() == 1 { ("key", "was") } else { ("keys", "were") };
        let words = words.join(", ");
        parts.push(format!("{keys} {words} {were} dropped, being there twice or without a value"));
    }
    if empty > 0 {
        let entries = if empty == 1 { "entry" } else { "entries" };
        parts.push(format!("their directory promises {empty} more {entries} than it has"));
    }
    let is_any = !parts.is_empty();
    is_any.then(|| {
        format!(
            "the GeoTIFF keys of its coordinate system are broken: {}; the others were taken",
            parts.join(", and ")
        )
    })
}

/// Revision 1.1 of GeoTIFF with a vertical system, which GDAL passes over in 1.0, else 1.0.
fn minor_revision(entries: &[[u16; 4]]) -> u16 {
    entries.iter().any(|entry| entry[0] == VERTICAL_TYPE).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Crs;

    #[test]
    fn broken_keys_are_dropped_and_the_others_stay() {
        let good = [[1024, 0, 1, 1], [1026, ASCII_TAG, 2, 0], [3072, 0, 1, 26910]];
        let of = |entries: &[[u16; 4]]| GeoKeys::of_entries(entries, "a|".to_owned());
        assert_eq!(of(&good).cleaned(), (of(&good), vec![]));
        let zero = [0; 4];
        for (broken, numbers) in [
            (vec![good[0], good[1], good[2], zero], vec![0]),
            (vec![zero, good[2], good[0], zero, good[1]], vec![0, 0]),
            (vec![good[0], good[0], good[1], good[2]], vec![1024]),
            (vec![good[0], [1025, 7, 1, 1], good[1], good[2]], vec![1025]),
            (vec![good[0], good[1], [2049, ASCII_TAG, 9, 0], good[2]], vec![2049]),
        ] {
            assert_eq!(of(&broken).cleaned(), (of(&good), numbers), "{broken:?}");
        }
        let mut cut = of(&good);
        cut.directory.truncate(12);
        assert_eq!(cut.cleaned(), (of(&good[..2]), vec![0]));
        assert_eq!(of(&[zero]).cleaned().0.directory[3], 0);
    }

    #[test]
    fn dropped_keys_are_told_in_words() {
        assert_eq!(words_on_dropped(&[]), None);
        let words = words_on_dropped(&[0; 7]).unwrap();
        assert!(
            words.contains("promises 7 more entries than it has") && !words.contains("0,"),
            "{words}"
        );
        let words = words_on_dropped(&[2049, 0, 1025]).unwrap();
        assert!(
            words.contains("keys 1025, 2049 were dropped") && words.contains("1 more entry"),
            "{words}"
        );
    }

    #[test]
    fn keys_are_carried_and_made_area() {
        let keys = GeoKeys {
            directory: vec![1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 2, 3072, 0, 1, 26910],
            ..GeoKeys::default()
        };
        let crs = Crs::from_geokeys(keys.clone()).unwrap().unwrap();
        assert_eq!(crs.epsg(), Some(26910));
        let written = crs.geokeys();
        assert_eq!(written.directory[..8], keys.directory[..8]);
        assert_eq!(written.short(RASTER_TYPE), Some(1));
        let cut = GeoKeys { directory: keys.directory[..12].to_vec(), ..keys.clone() };
        assert!(Crs::from_geokeys(cut).is_err());
        let mut outside = keys;
        outside.directory[13..16].copy_from_slice(&[DOUBLES_TAG, 1, 7]);
        assert!(Crs::from_geokeys(outside).is_err());
        assert_eq!(Crs::from_geokeys(GeoKeys::default()).unwrap(), None);
    }
}
