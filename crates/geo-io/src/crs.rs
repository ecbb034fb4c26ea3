//! Coordinate reference systems: carried from file to file, not interpreted.
//!
//! A system comes from the user as an EPSG code, from a LAS file as GeoTIFF keys or as WKT, and
//! goes into a GeoTIFF as keys:
//!
//! - an EPSG code becomes `ProjectedCSTypeGeoKey` or `GeographicTypeGeoKey`; of a compound
//!   system, with `VerticalGeoKey`;
//! - keys are carried as they are, user-defined parameters included, except that those which no
//!   reader can make sense of are dropped (GDAL drops all of them for one), and that
//!   `GTRasterTypeGeoKey` is set to "area", which is what the rasters written here are;
//! - WKT becomes the EPSG codes of its horizontal and its vertical part where it states them,
//!   otherwise a user-defined system whose citation holds the WKT in the form
//!   (`ESRI PE String = ...`) that GDAL and ArcGIS read back.

use std::fmt;

use crate::{Error, Result};

const MODEL_TYPE: u16 = 1024;
const RASTER_TYPE: u16 = 1025;
const CITATION: u16 = 1026;
const GEOGRAPHIC_TYPE: u16 = 2048;
const PROJECTED_TYPE: u16 = 3072;
const PROJECTED_CITATION: u16 = 3073;
const LINEAR_UNITS: u16 = 3076;
const LINEAR_UNIT_SIZE: u16 = 3077;
const VERTICAL_TYPE: u16 = 4096;
const VERTICAL_UNITS: u16 = 4099;
const USER_DEFINED: u16 = 32767;

/// Codes of units of length, and their metres.
const UNITS: [(u16, f64); 4] =
    [(9001, 1.0), (9002, 0.3048), (9003, 1200.0 / 3937.0), (9005, 0.304_797_265_4)];

/// Vertical systems whose heights are in feet: their unit's code. All others that are in use have metres.
const HEIGHTS_IN_FEET: [(u16, u16); 4] = [(5702, 9003), (6360, 9003), (8228, 9002), (6358, 9003)];

// The tags of a TIFF, and of the records of a LAS file.
pub(crate) const DIRECTORY_TAG: u16 = 34735;
pub(crate) const DOUBLES_TAG: u16 = 34736;
pub(crate) const ASCII_TAG: u16 = 34737;

/// A coordinate reference system.
#[derive(Clone, Debug, PartialEq)]
pub struct Crs(Definition);

#[derive(Clone, Debug, PartialEq)]
enum Definition {
    /// A code of the list, and that of a vertical system if it was named beside it.
    Epsg(u16, Option<u16>),
    Keys(GeoKeys),
    Wkt(String),
}

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

impl Crs {
    /// The system that a user named: `EPSG:26910`, or with a vertical system `EPSG:26910+5703`, in upper
    /// or lower case.
    ///
    /// Known are the geographic, projected and compound systems of the EPSG list; a vertical system is
    /// taken by its code.
    ///
    /// # Errors
    /// [`Error::UnknownCrs`] for another form, an unknown code, or a system without horizontal
    /// coordinates.
    pub fn parse(text: &str) -> Result<Self> {
        let unknown = |reason| Error::UnknownCrs { text: text.to_owned(), reason };
        let (authority, code) =
            text.trim().split_once(':').ok_or_else(|| unknown("the form is EPSG:26910"))?;
        if !authority.eq_ignore_ascii_case("EPSG") {
            return Err(unknown("only EPSG codes are known, as EPSG:26910"));
        }
        let (code, vertical) = match code.split_once('+') {
            Some((code, vertical)) => (code, Some(vertical)),
            None => (code, None),
        };
        let digits = |code: &str| !code.is_empty() && code.bytes().all(|b| b.is_ascii_digit());
        if !digits(code) || !vertical.is_none_or(digits) {
            return Err(unknown("the form is EPSG:26910 or EPSG:26910+5703"));
        }
        let vertical = vertical.map(|code| match code.parse() {
            Ok(code) if (1024..32767).contains(&code) => Ok(code),
            _ => Err(unknown("its vertical system has no such code")),
        });
        let vertical = vertical.transpose()?;
        // The list has every kind of system but the vertical ones.
        if vertical.is_some_and(|code| crs_definitions::from_code(code).is_some()) {
            return Err(unknown("the code behind the + is no vertical system's"));
        }
        let definition = code.parse().ok().and_then(crs_definitions::from_code);
        let definition = definition.ok_or_else(|| unknown("the EPSG list has no such code"))?;
        if horizontal(definition.wkt).is_none() {
            return Err(unknown("it is neither geographic nor projected"));
        }
        if vertical.is_some() && compound(definition.wkt).is_some() {
            return Err(unknown("the system has a vertical part already"));
        }
        Ok(Self(Definition::Epsg(definition.code, vertical)))
    }

    /// The system that GeoTIFF keys state, or `None` for a directory without keys. See
    /// [`GeoKeys::cleaned`] for keys that may be broken.
    ///
    /// # Errors
    /// The fault, in words, where the directory is cut short or points outside its parameters.
    pub fn from_geokeys(keys: GeoKeys) -> Result<Option<Self>, String> {
        if keys.directory.get(3).is_none_or(|&count| count == 0) {
            return Ok(None);
        }
        keys.check()?;
        Ok(Some(Self(Definition::Keys(keys))))
    }

    /// The system that well-known text (WKT 1 or 2) states, or `None` for blank text.
    pub fn from_wkt(wkt: &str) -> Option<Self> {
        let wkt = wkt.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!wkt.is_empty()).then(|| Self(Definition::Wkt(wkt.to_owned())))
    }

    /// The EPSG code that the system was given by or states of itself; of two codes, the horizontal one.
    pub fn epsg(&self) -> Option<u16> {
        match &self.0 {
            Definition::Epsg(code, _) => Some(*code),
            Definition::Keys(keys) => keys.code(),
            Definition::Wkt(wkt) => outermost(wkt).and_then(|n| n.code()),
        }
    }

    /// The system as WKT, where it is known in that form.
    pub fn wkt(&self) -> Option<&str> {
        match &self.0 {
            Definition::Epsg(code, None) => crs_definitions::from_code(*code).map(|d| d.wkt),
            Definition::Epsg(_, Some(_)) | Definition::Keys(_) => None,
            Definition::Wkt(wkt) => Some(wkt),
        }
    }

    /// The system as GeoTIFF keys, for a raster whose pixels are areas.
    pub fn geokeys(&self) -> GeoKeys {
        match &self.0 {
            Definition::Epsg(code, vertical) => {
                let wkt = crs_definitions::from_code(*code).map_or("", |d| d.wkt);
                GeoKeys::of_wkt(wkt, Some(*code), *vertical)
            }
            Definition::Keys(keys) => keys.as_area(),
            Definition::Wkt(wkt) => GeoKeys::of_wkt(wkt, None, None),
        }
    }

    /// Metres of a unit of the horizontal coordinates; `None` for degrees, and where the system does not
    /// say.
    pub fn metres_per_unit(&self) -> Option<f64> {
        if self.is_geographic() {
            return None;
        }
        let of_text = |wkt: &str| horizontal(wkt).and_then(|node| node.unit());
        match &self.0 {
            Definition::Epsg(code, _) => {
                crs_definitions::from_code(*code).and_then(|d| of_text(d.wkt))
            }
            Definition::Keys(keys) => keys.linear_unit(),
            Definition::Wkt(wkt) => of_text(wkt),
        }
    }

    /// Metres of a unit of the heights, where the system has a vertical part.
    pub fn metres_per_height(&self) -> Option<f64> {
        let of_text = |wkt: &str| compound(wkt).and_then(|node| node.unit());
        match &self.0 {
            Definition::Epsg(_, Some(vertical)) => metres_of_heights(*vertical),
            Definition::Epsg(code, None) => {
                crs_definitions::from_code(*code).and_then(|d| of_text(d.wkt))
            }
            Definition::Keys(keys) => {
                let unit = keys.short(VERTICAL_UNITS).and_then(metres_of);
                unit.or_else(|| metres_of_heights(keys.vertical()?))
            }
            Definition::Wkt(wkt) => of_text(wkt),
        }
    }

    /// The EPSG code of the vertical part, where the system has one that states it.
    pub fn vertical_epsg(&self) -> Option<u16> {
        match &self.0 {
            Definition::Epsg(_, Some(vertical)) => Some(*vertical),
            Definition::Epsg(code, None) => {
                crs_definitions::from_code(*code).and_then(|d| compound(d.wkt)?.code())
            }
            Definition::Keys(keys) => keys.vertical(),
            Definition::Wkt(wkt) => compound(wkt).and_then(|node| node.code()),
        }
    }

    /// Whether the coordinates are those of space, which count from the middle of the Earth: no two of them are a place
    /// on a map.
    pub fn is_geocentric(&self) -> bool {
        match &self.0 {
            // No name is taken of such a system.
            Definition::Epsg(..) => false,
            Definition::Keys(keys) => keys.is_geocentric(),
            Definition::Wkt(wkt) => is_geocentric(wkt),
        }
    }

    /// Whether the coordinates are longitudes and latitudes.
    pub fn is_geographic(&self) -> bool {
        match &self.0 {
            // Its keys state no model type where the text has no code.
            Definition::Wkt(wkt) => horizontal(wkt).is_some_and(|node| !node.is_projected()),
            _ => self.geokeys().short(MODEL_TYPE) == Some(2),
        }
    }
}

impl fmt::Display for Crs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = self.epsg() {
            write!(f, "EPSG:{code}")?;
            // A compound code has its vertical part within.
            let within = matches!(&self.0, Definition::Epsg(_, None));
            let vertical = self.vertical_epsg().filter(|_| !within);
            return vertical.map_or(Ok(()), |vertical| write!(f, "+{vertical}"));
        }
        let name = match &self.0 {
            Definition::Keys(keys) => keys.name(),
            Definition::Wkt(wkt) => outermost(wkt).and_then(|node| node.name()),
            Definition::Epsg(..) => None,
        };
        match name {
            Some(name) => write!(f, "{name} (user-defined)"),
            None => f.write_str("user-defined"),
        }
    }
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

    /// The keys that a reader can make sense of, in ascending order as they must be, and the numbers of
    /// those that were dropped: number 0, a second key of a number, values in a tag that is none of the
    /// three or beyond its end, or beyond the end of the directory.
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

    fn check(&self) -> Result<(), String> {
        let promised = self.directory.get(3).copied().unwrap_or(0);
        let found = self.entries().count();
        if found != usize::from(promised) {
            return Err(format!("its GeoTIFF keys are cut short: {found} of {promised} are there"));
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
    fn linear_unit(&self) -> Option<f64> {
        let stated = self.short(LINEAR_UNITS).and_then(metres_of);
        let size = || {
            let [.., offset] = self.entries().find(|e| e[0] == LINEAR_UNIT_SIZE)?;
            self.doubles.get(usize::from(offset)).copied()
        };
        let of_code = || {
            let definition = crs_definitions::from_code(self.code()?)?;
            horizontal(definition.wkt)?.unit()
        };
        stated.or_else(size).or_else(of_code).filter(|unit| unit.is_finite() && *unit > 0.0)
    }

    fn vertical(&self) -> Option<u16> {
        self.short(VERTICAL_TYPE).filter(|&code| code != USER_DEFINED && code != 0)
    }

    fn short(&self, key: u16) -> Option<u16> {
        self.entries().find(|e| e[0] == key && e[1] == 0).map(|e| e[3])
    }

    /// Whether the model type is geocentric. Some writers state it of any system: where there is a code beside it, that
    /// counts.
    fn is_geocentric(&self) -> bool {
        let code = self.short(GEOGRAPHIC_TYPE).and_then(crs_definitions::from_code);
        self.short(MODEL_TYPE) == Some(3) && code.is_none_or(|code| is_geocentric(code.wkt))
    }

    fn code(&self) -> Option<u16> {
        // Geographic and geocentric: both are geodetic.
        let is_geodetic = self.short(MODEL_TYPE) == Some(2) || self.is_geocentric();
        let key = if is_geodetic { GEOGRAPHIC_TYPE } else { PROJECTED_TYPE };
        self.short(key).filter(|&code| code != USER_DEFINED && code != 0)
    }

    /// The projected system's citation, else the general one, up to its closing bar.
    fn name(&self) -> Option<String> {
        let citation = |key| {
            let [_, _, count, offset] =
                self.entries().find(|e| e[0] == key && e[1] == ASCII_TAG)?;
            let (start, end) = (usize::from(offset), usize::from(offset) + usize::from(count));
            let text = self.ascii.get(start..end.min(self.ascii.len()))?;
            let text = text.trim_end_matches(['|', '\0']).trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        citation(PROJECTED_CITATION).or_else(|| citation(CITATION))
    }

    /// The same keys with "a pixel is an area". Keys stay in ascending order, as they must be.
    fn as_area(&self) -> Self {
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

    /// Keys for a system; `code` is used where its horizontal part states none, `vertical` where it has no
    /// vertical part.
    fn of_wkt(wkt: &str, code: Option<u16>, vertical: Option<u16>) -> Self {
        let node = horizontal(wkt);
        let geographic = node.as_ref().is_some_and(|n| !n.is_projected());
        let code = node.and_then(|n| n.code()).or(code);
        let stated = compound(wkt);
        let vertical = stated.as_ref().and_then(Node::code).or(vertical);
        let unit = stated.and_then(|node| node.unit()).or(vertical.and_then(metres_of_heights));
        let unit = unit.and_then(|metres| {
            UNITS.iter().find(|(_, size)| (size / metres - 1.0).abs() < 1e-9).map(|(code, _)| *code)
        });
        let heights = vertical
            .map(|code| [VERTICAL_TYPE, 0, 1, code])
            .into_iter()
            .chain(unit.filter(|_| vertical.is_some()).map(|unit| [VERTICAL_UNITS, 0, 1, unit]));
        let Some(code) = code else { return Self::of_text(wkt) };
        let (model, type_key) = if geographic { (2, GEOGRAPHIC_TYPE) } else { (1, PROJECTED_TYPE) };
        let entries = [[MODEL_TYPE, 0, 1, model], [RASTER_TYPE, 0, 1, 1], [type_key, 0, 1, code]];
        let entries: Vec<_> = entries.into_iter().chain(heights).collect();
        Self::of_entries(&entries, String::new())
    }

    /// Keys that hold the text itself. GDAL looks for it in the projected citation, and only
    /// where the model type is user-defined: with a projected one it takes the whole citation
    /// for the name of an engineering system.
    fn of_text(wkt: &str) -> Self {
        let text: String = wkt.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        let mut ascii = format!("ESRI PE String = {text}|");
        // A count is 16 bits; WKT beyond that length states no usable system.
        ascii.truncate(usize::from(u16::MAX));
        let entries = [
            [MODEL_TYPE, 0, 1, USER_DEFINED],
            [RASTER_TYPE, 0, 1, 1],
            [PROJECTED_CITATION, ASCII_TAG, ascii.len() as u16, 0],
        ];
        Self::of_entries(&entries, ascii)
    }

    fn of_entries(entries: &[[u16; 4]], ascii: String) -> Self {
        let head = [1, 1, minor_revision(entries), entries.len() as u16];
        Self { directory: [&head[..], entries.as_flattened()].concat(), doubles: vec![], ascii }
    }
}

/// Revision 1.1 of GeoTIFF with a vertical system, which GDAL passes over in 1.0, else 1.0.
fn minor_revision(entries: &[[u16; 4]]) -> u16 {
    entries.iter().any(|entry| entry[0] == VERTICAL_TYPE).into()
}

/// Metres of a unit with a code.
fn metres_of(unit: u16) -> Option<f64> {
    UNITS.iter().find(|(code, _)| *code == unit).map(|(_, metres)| *metres)
}

/// Metres of a unit of a vertical system's heights.
fn metres_of_heights(system: u16) -> Option<f64> {
    let feet = HEIGHTS_IN_FEET.iter().find(|(code, _)| *code == system);
    metres_of(feet.map_or(9001, |(_, unit)| *unit))
}

/// A node of well-known text: `KEYWORD[...]`.
struct Node<'a> {
    keyword: &'a str,
    inside: &'a str,
}

/// The node that defines horizontal coordinates, however deep: `COMPD_CS`, `BOUNDCRS` wrap it.
fn horizontal(wkt: &str) -> Option<Node<'_>> {
    let node = outermost(wkt)?;
    let is_map = ["GEOGCS", "GEOGCRS", "GEOGRAPHICCRS"].iter().any(|k| node.is(k));
    if is_map || node.is_projected() || node.is_geodetic() && !node.is_cartesian() {
        return Some(node);
    }
    let wrapper = ["COMPD_CS", "COMPOUNDCRS", "BOUNDCRS", "SOURCECRS"].iter().any(|k| node.is(k));
    let mut parts = split(node.inside).filter(|_| wrapper);
    parts.find_map(horizontal)
}

/// Whether a system's coordinates are Cartesian ones of space.
fn is_geocentric(wkt: &str) -> bool {
    let Some(node) = outermost(wkt) else { return false };
    if node.is_geodetic() {
        return node.is_cartesian();
    }
    let wrapper = ["BOUNDCRS", "SOURCECRS"].iter().any(|k| node.is(k));
    node.is("GEOCCS") || split(node.inside).filter(|_| wrapper).any(is_geocentric)
}

/// The node that defines heights, of a compound system.
fn compound(wkt: &str) -> Option<Node<'_>> {
    let node = outermost(wkt)?;
    if ["VERT_CS", "VERTCRS", "VERTICALCRS"].iter().any(|k| node.is(k)) {
        return Some(node);
    }
    let wrapper = ["COMPD_CS", "COMPOUNDCRS", "BOUNDCRS", "SOURCECRS"].iter().any(|k| node.is(k));
    split(node.inside).filter(|_| wrapper).find_map(compound)
}

fn outermost(wkt: &str) -> Option<Node<'_>> {
    let wkt = wkt.trim();
    let open = wkt.find(['[', '('])?;
    let keyword = wkt[..open].trim();
    let inside = wkt[open + 1..].strip_suffix([']', ')'])?;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!keyword.is_empty() && keyword.chars().all(word)).then_some(Node { keyword, inside })
}

impl Node<'_> {
    fn is(&self, keyword: &str) -> bool {
        self.keyword.eq_ignore_ascii_case(keyword)
    }

    fn is_projected(&self) -> bool {
        ["PROJCS", "PROJCRS", "PROJECTEDCRS"].iter().any(|k| self.is(k))
    }

    /// Geographic, or geocentric where its axes are Cartesian.
    fn is_geodetic(&self) -> bool {
        self.is("GEODCRS") || self.is("GEODETICCRS")
    }

    fn is_cartesian(&self) -> bool {
        let axes = split(self.inside).filter_map(outermost).find(|part| part.is("CS"));
        let kind = axes.and_then(|axes| split(axes.inside).next());
        kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("Cartesian"))
    }

    fn name(&self) -> Option<String> {
        split(self.inside).next().map(|part| part.trim().trim_matches('"').to_owned())
    }

    /// Metres of `UNIT["foot",0.3048]` or `LENGTHUNIT["foot",0.3048]` directly inside the node, or inside
    /// its first axis, as in WKT 2.
    fn unit(&self) -> Option<f64> {
        let parts = || split(self.inside).filter_map(outermost);
        let unit = parts().find(|part| part.is("UNIT") || part.is("LENGTHUNIT"));
        match unit {
            Some(unit) => split(unit.inside).nth(1)?.trim().parse().ok(),
            None => parts().find(|part| part.is("AXIS"))?.unit(),
        }
    }

    /// The code of `AUTHORITY["EPSG","26910"]` or `ID["EPSG",26910]` directly inside the node.
    fn code(&self) -> Option<u16> {
        split(self.inside).filter_map(outermost).find_map(|part| {
            let mut words = split(part.inside).map(|w| w.trim().trim_matches('"'));
            let stated = (part.is("AUTHORITY") || part.is("ID"))
                && words.next().is_some_and(|w| w.eq_ignore_ascii_case("EPSG"));
            if stated { words.next()?.parse().ok() } else { None }
        })
    }
}

/// The parts between the commas that lie in no inner brackets and no quotes.
fn split(inside: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quoted) = (0_usize, false);
    inside.split(move |c| {
        match c {
            '"' => quoted = !quoted,
            '[' | '(' if !quoted => depth += 1,
            ']' | ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => return true,
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_looked_up() {
        for (text, key, code) in [
            ("EPSG:26910", PROJECTED_TYPE, 26910),
            (" epsg:4326", GEOGRAPHIC_TYPE, 4326),
            ("EPSG:7415", PROJECTED_TYPE, 28992),
        ] {
            let keys = Crs::parse(text).unwrap().geokeys();
            assert_eq!(keys.short(key), Some(code), "{text}");
            assert_eq!(keys.short(RASTER_TYPE), Some(1));
        }
        assert_eq!(Crs::parse("epsg:2994").unwrap().to_string(), "EPSG:2994");
        assert!(Crs::parse("EPSG:4326").unwrap().is_geographic());
        for text in ["", "26910", "EPSG:", "EPSG:1", "EPSG:+26910", "EPSG:99999999", "ESRI:102003"]
        {
            let error = Crs::parse(text).unwrap_err();
            assert!(error.to_string().contains(&format!("\"{text}\"")), "{error}");
        }
        for text in ["EPSG:26910+", "EPSG:26910+x", "EPSG:26910+1", "EPSG:7415+5703"] {
            assert!(Crs::parse(text).is_err(), "{text}");
        }
        // Geographic in two dimensions and in three, projected, geocentric and compound.
        for code in [4326, 4979, 26910, 4978, 7415] {
            let text = format!("EPSG:32633+{code}");
            let error = Crs::parse(&text).unwrap_err().to_string();
            assert!(error.contains(&text) && error.contains("no vertical system"), "{error}");
        }
        // Geocentric: three-dimensional Cartesian coordinates are no map.
        assert!(Crs::parse("EPSG:4978").is_err());
    }

    #[test]
    fn the_outermost_code_of_wkt_counts() {
        let wkt1 = r#"PROJCS["a, [b]",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]],AUTHORITY["EPSG","32610"]]"#;
        let wkt2 = r#"PROJCRS["x",BASEGEOGCRS["WGS 84",ID["EPSG",4326]],ID["EPSG",32610]]"#;
        let compound = format!(r#"COMPD_CS["c",{wkt1},VERT_CS["v",AUTHORITY["EPSG","5703"]]]"#);
        for wkt in [wkt1, wkt2, &compound] {
            let crs = Crs::from_wkt(wkt).unwrap();
            assert_eq!(crs.geokeys().short(PROJECTED_TYPE), Some(32610), "{wkt}");
        }
        // The forms of WKT 2 beside those of its second edition.
        for (keyword, code, is_geographic) in [
            ("PROJECTEDCRS", 32610, false),
            ("GEOGRAPHICCRS", 4326, true),
            ("GEODCRS", 4326, true),
            ("GeodeticCRS", 4326, true),
        ] {
            let wkt = format!(r#"{keyword}["x",CS[ellipsoidal,2],ID["EPSG",{code}]]"#);
            for wkt in [format!("COMPOUNDCRS[\"c\",{wkt},VERTCRS[\"v\",ID[\"EPSG\",5703]]]"), wkt] {
                let crs = Crs::from_wkt(&wkt).unwrap();
                let key = if is_geographic { GEOGRAPHIC_TYPE } else { PROJECTED_TYPE };
                assert_eq!(crs.geokeys().short(key), Some(code), "{wkt}");
                assert!(crs.is_geographic() == is_geographic && !crs.is_geocentric(), "{wkt}");
            }
        }
        let user =
            Crs::from_wkt(r#"PROJCS["local",GEOGCS["g",AUTHORITY["EPSG","4326"]]]"#).unwrap();
        assert_eq!(user.epsg(), None);
        assert_eq!(user.geokeys().short(MODEL_TYPE), Some(USER_DEFINED));
        let geographic = Crs::from_wkt(r#"GEOGCS["g",PRIMEM["Greenwich",0]]"#).unwrap();
        assert!(geographic.is_geographic() && !user.is_geographic());
        assert_eq!(user.to_string(), "local (user-defined)");
        assert_eq!(Crs::from_wkt("\0"), None);
    }

    #[test]
    fn geocentric_systems_are_known_whatever_states_them() {
        let keys = |model, key, code| GeoKeys {
            directory: vec![1, 1, 0, 2, MODEL_TYPE, 0, 1, model, key, 0, 1, code],
            ..GeoKeys::default()
        };
        let of_keys = |model, key, code| Crs::from_geokeys(keys(model, key, code)).unwrap();
        let wkt = crs_definitions::from_code(4978).unwrap().wkt;
        let wkt2 = r#"GEODCRS["WGS 84",DATUM["d",ELLIPSOID["e",6378137,298.2]],CS[Cartesian,3],AXIS["(X)",geocentricX],ID["EPSG",4978]]"#;
        let found = [of_keys(3, GEOGRAPHIC_TYPE, 4978), Crs::from_wkt(wkt), Crs::from_wkt(wkt2)];
        for crs in found.iter().flatten() {
            assert!(crs.is_geocentric() && !crs.is_geographic(), "{crs:?}");
            assert_eq!(crs.to_string(), "EPSG:4978");
        }
        let unnamed = of_keys(3, GEOGRAPHIC_TYPE, USER_DEFINED).unwrap();
        assert!(unnamed.is_geocentric() && unnamed.epsg().is_none());
        // As a survey in UTM has it.
        let false_model = of_keys(3, GEOGRAPHIC_TYPE, 4326).unwrap();
        assert!(!false_model.is_geocentric() && !false_model.is_geographic());
        assert_eq!(false_model.epsg(), None);
        let others = [
            of_keys(2, GEOGRAPHIC_TYPE, 4326),
            of_keys(1, PROJECTED_TYPE, 26910),
            Crs::parse("EPSG:4979").ok(),
            crs_definitions::from_code(26910).and_then(|d| Crs::from_wkt(d.wkt)),
        ];
        assert!(others.iter().all(|crs| crs.as_ref().is_some_and(|crs| !crs.is_geocentric())));
    }

    #[test]
    fn units_are_known_whatever_states_them() {
        let foot = 1200.0 / 3937.0;
        for (text, ground, heights) in [
            ("EPSG:26910", Some(1.0), None),
            ("EPSG:2994", Some(0.3048), None),
            ("EPSG:2927", Some(foot), None),
            ("EPSG:4326", None, None),
            ("EPSG:7415", Some(1.0), Some(1.0)),
            ("EPSG:2927+6360", Some(foot), Some(foot)),
            ("EPSG:2927+5703", Some(foot), Some(1.0)),
            ("EPSG:4326+8228", None, Some(0.3048)),
        ] {
            let named = Crs::parse(text).unwrap();
            let by_keys = Crs::from_geokeys(named.geokeys()).unwrap().unwrap();
            let by_text = named.wkt().and_then(Crs::from_wkt);
            for crs in [Some(named), Some(by_keys), by_text].iter().flatten() {
                let close = |found: Option<f64>, expected: Option<f64>| match (found, expected) {
                    (Some(a), Some(b)) => (a / b - 1.0).abs() < 1e-9,
                    (a, b) => a == b,
                };
                assert!(close(crs.metres_per_unit(), ground), "{text}: {crs:?}");
                assert!(close(crs.metres_per_height(), heights), "{text}: {crs:?}");
            }
        }
        let axes = r#"PROJCRS["x",BASEGEOGCRS["g",ANGLEUNIT["degree",0.017]],CS[Cartesian,2],AXIS["e",east,LENGTHUNIT["foot",0.3048]],AXIS["n",north]]"#;
        assert_eq!(Crs::from_wkt(axes).unwrap().metres_per_unit(), Some(0.3048));
    }

    #[test]
    fn vertical_systems_are_carried() {
        for (text, name, code) in [
            ("EPSG:7415", "EPSG:7415", 5709),
            ("EPSG:26910+5703", "EPSG:26910+5703", 5703),
            ("epsg:4326+6360", "EPSG:4326+6360", 6360),
        ] {
            let crs = Crs::parse(text).unwrap();
            assert_eq!((crs.to_string().as_str(), crs.vertical_epsg()), (name, Some(code)));
            assert_eq!(crs.geokeys().short(VERTICAL_TYPE), Some(code));
            assert_eq!(crs.is_geographic(), text.contains("4326"));
        }
        let wkt = Crs::parse("EPSG:5555").unwrap().wkt().and_then(Crs::from_wkt).unwrap();
        assert_eq!(wkt.geokeys().short(VERTICAL_TYPE), Some(5783));
    }

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
