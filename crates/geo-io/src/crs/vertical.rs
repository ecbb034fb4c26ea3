//! The usual vertical systems, which the crate with the list of coordinate systems lacks.

use super::units::{metres_of, unit_code};
use super::wkt::{DATUMS, Node};

/// Code of a vertical system, code of its unit, and its datum as [`known_datum`] calls it.
const SYSTEMS: [(u16, u16, &str); 24] = [
    (5703, 9001, "navd88"),
    (6360, 9003, "navd88"),
    (8228, 9002, "navd88"),
    (7968, 9001, "ngvd29"),
    (5702, 9003, "ngvd29"),
    // Depths: their unit alone is of use.
    (6358, 9003, ""),
    (5798, 9001, "egm84"),
    (5773, 9001, "egm96"),
    (3855, 9001, "egm2008"),
    (5701, 9001, "odn"),
    (5709, 9001, "nap"),
    (5711, 9001, "ahd"),
    (5713, 9001, "cgvd28"),
    (6647, 9001, "cgvd2013"),
    (5720, 9001, "ngfign69"),
    (5728, 9001, "ln02"),
    (5783, 9001, "dhhn92"),
    (7837, 9001, "dhhn2016"),
    (5621, 9001, "evrf2007"),
    (5613, 9001, "rh2000"),
    (5941, 9001, "nn2000"),
    (5799, 9001, "dvr90"),
    (3900, 9001, "n2000"),
    (7839, 9001, "nzvd2016"),
];

/// Other names of these datums, without what [`known_datum`] leaves out.
const NAMES: [(&str, &str); 15] = [
    ("northamericanvertical1988", "navd88"),
    ("navd1988", "navd88"),
    ("nationalgeodeticvertical1929", "ngvd29"),
    ("ngvd1929", "ngvd29"),
    ("egm2008geoid", "egm2008"),
    ("egm96geoid", "egm96"),
    ("ordnancenewlyn", "odn"),
    ("normaalamsterdamspeil", "nap"),
    ("australian", "ahd"),
    ("canadiangeodeticvertical1928", "cgvd28"),
    ("canadiangeodeticvertical2013", "cgvd2013"),
    ("nivellementgeneraldelafranceign69", "ngfign69"),
    ("deutscheshaupthoehennetz1992", "dhhn92"),
    ("deutscheshaupthoehennetz2016", "dhhn2016"),
    ("europeanverticalreferenceframe2007", "evrf2007"),
];

/// The vertical part of a system.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Heights {
    /// Its EPSG code, as stated or as datum and unit tell it.
    pub code: Option<u16>,
    /// Its name in the file; empty without a name.
    pub name: String,
    /// The name of its datum, normalised, since writers spell it in different ways.
    pub datum: String,
    /// Metres of a unit.
    pub unit: Option<f64>,
}

/// Whether a code is one of the vertical systems that are known here.
pub(super) fn is_system(code: u16) -> bool {
    SYSTEMS.iter().any(|system| system.0 == code)
}

impl Heights {
    /// The system of a code.
    pub fn of_code(code: u16) -> Self {
        let datum = SYSTEMS.iter().find(|s| s.0 == code).map_or("", |s| s.2).to_owned();
        let unit = Some(metres_of_heights(code));
        Self { code: Some(code), name: String::new(), datum, unit }
    }

    /// Returns the system with a name and a unit; either may be missing. Names of the EPSG list end with the unit.
    pub fn of_name(name: String, unit: Option<f64>) -> Self {
        let (datum, lower) = (known_datum(&name), name.to_lowercase());
        let ending =
            [("(ftus)", 9003), ("(ft)", 9002)].into_iter().find(|(end, _)| lower.ends_with(end));
        let unit = unit.or_else(|| metres_of(ending?.1));
        Self { code: code_of(&datum, unit), name, datum, unit }
    }

    /// The system of a node of well-known text.
    pub fn of_node(node: &Node) -> Self {
        let named = Self::of_name(node.name().unwrap_or_default(), node.unit());
        if let Some(code) = node.code() {
            let known = Self::of_code(code);
            return Self { unit: named.unit.or(known.unit), ..Self { name: named.name, ..known } };
        }
        let keywords = ["VERT_DATUM", "VDATUM", "VERTICALDATUM", "VRF"];
        let datum = node.child(&keywords).or_else(|| node.child(&DATUMS));
        let datum = datum.and_then(|node| node.name()).map(|name| known_datum(&name));
        match datum.filter(|datum| named.code.is_none() && is_known(datum)) {
            Some(datum) => Self { code: code_of(&datum, named.unit), datum, ..named },
            None => named,
        }
    }

    /// Compares it with another, and says in words how they differ; `Ok(false)` if one of them says too little for a
    /// comparison.
    pub fn compare(&self, other: &Self) -> Result<bool, String> {
        if let (Some(a), Some(b)) = (self.unit, other.unit)
            && (a / b - 1.0).abs() > 1e-7
        {
            return Err(format!("a unit of height is {a} m in one and {b} m in the other"));
        }
        match (self.code, other.code) {
            (Some(a), Some(b)) if a == b => return Ok(true),
            (Some(_), Some(_)) => {}
            // A system without a name has a unit alone.
            _ if self.has_unit_alone() || other.has_unit_alone() => return Ok(false),
            _ if !self.datum.is_empty() && self.datum == other.datum => return Ok(true),
            _ => {}
        }
        Err(format!("their heights are in {} and {}", self.words(), other.words()))
    }

    /// Whether nothing but a unit is known of it.
    fn has_unit_alone(&self) -> bool {
        self.code.is_none() && self.name.is_empty() && self.datum.is_empty()
    }

    /// What it is called.
    pub fn words(&self) -> String {
        match self.code {
            Some(code) => format!("EPSG:{code}"),
            None if self.name.is_empty() => "a vertical system without a name".to_owned(),
            None => format!("\"{}\"", self.name),
        }
    }
}

/// Metres of a unit of a vertical system's heights: all that are in use and not in the list have metres.
pub(super) fn metres_of_heights(system: u16) -> f64 {
    let known = SYSTEMS.iter().find(|(code, ..)| *code == system);
    known.and_then(|(_, unit, _)| metres_of(*unit)).unwrap_or(1.0)
}

fn is_known(datum: &str) -> bool {
    SYSTEMS.iter().any(|system| !datum.is_empty() && system.2 == datum)
}

fn code_of(datum: &str, unit: Option<f64>) -> Option<u16> {
    let unit = unit_code(unit?)?;
    SYSTEMS.iter().find(|s| !datum.is_empty() && s.2 == datum && s.1 == unit).map(|s| s.0)
}

/// A datum's name by which it is compared: "NAVD88 height (ftUS)", "NAVD_1988" and "North American Vertical Datum 1988" are
/// one. The geoid by which it was reached does not count.
fn known_datum(name: &str) -> String {
    let mut name: String = name
        .to_lowercase()
        .replace("(ftus)", "")
        .replace("(ft)", "")
        .chars()
        .filter(|c| c.is_alphanumeric())
        .collect();
    if !name.contains("depth") {
        for word in ["height", "datumof", "datum"] {
            name = name.replace(word, "");
        }
        // EGM's name begins with its geoid.
        let end = name.find("geoid").filter(|_| name.starts_with("navd"));
        name.truncate(end.unwrap_or(name.len()));
        name = name.trim_end_matches("footus").trim_end_matches("metres").to_owned();
    }
    let found = NAMES.iter().find(|(other, _)| *other == name);
    found.map_or(name, |(_, datum)| (*datum).to_owned())
}
