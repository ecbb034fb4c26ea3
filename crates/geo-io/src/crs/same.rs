//! Whether two systems are the same, in whatever form: by their codes if both have one, else by their definitions.

use std::f64::consts::TAU;

use super::datums;
use super::geokeys::{GEOGRAPHIC_TYPE, GeoKeys, USER_DEFINED};
use super::wkt::{DATUMS, Kind, Node, horizontal, outermost};

/// Words of a datum's name that some writers spell out and others do not.
const DATUM_WORDS: [(&str, &str); 16] = [
    ("datum", ""),
    ("ensemble", ""),
    ("worldgeodeticsystem", "wgs"),
    ("northamerican", "nad"),
    ("nad83", "nad1983"),
    ("nad27", "nad1927"),
    ("nationalspatialreferencesystem", ""),
    ("highaccuracyreferencenetwork", "harn"),
    ("canadianspatialreferencesystem", "csrs"),
    ("europeanterrestrialreferencesystem", "etrs"),
    ("geocentricofaustralia", "gda"),
    ("newzealandgeodetic", "nzgd"),
    ("ordnancesurveyofgreatbritain", "osgb"),
    ("reseaugeodesiquefrancais", "rgf"),
    ("japanesegeodetic", "jgd"),
    ("sistemadereferenciageocentricoparalasamericas", "sirgas"),
];

/// Names of one projection.
const METHODS: [(&str, &str); 26] = [
    ("lambertconicconformal2sp", "lambertconformalconic2sp"),
    ("lambertconformalconic", "lambertconformalconic2sp"),
    ("lambertconicconformal1sp", "lambertconformalconic1sp"),
    ("albersequalarea", "albersconicequalarea"),
    ("albers", "albersconicequalarea"),
    ("mercatorvarianta", "mercator1sp"),
    ("mercatorvariantb", "mercator2sp"),
    ("gausskruger", "transversemercator"),
    ("doublestereographic", "obliquestereographic"),
    ("polarstereographicvarianta", "polarstereographic"),
    // WKT 1 has one name for both, and the parallel as the latitude of origin.
    ("polarstereographicvariantb", "polarstereographic"),
    ("cassini", "cassinisoldner"),
    ("mercator", "mercator2sp"),
    ("equidistantcylindrical", "equirectangular"),
    ("equidistantcylindricalspherical", "equirectangular"),
    ("modifiedazimuthalequidistant", "azimuthalequidistant"),
    ("lambertcylindricalequalarea", "cylindricalequalarea"),
    ("lambertcylindricalequalareaspherical", "cylindricalequalarea"),
    ("behrmann", "cylindricalequalarea"),
    ("americanpolyconic", "polyconic"),
    ("mercatorauxiliarysphere", PSEUDO_MERCATOR),
    ("hotineobliquemercator", "hotineobliquemercatorvarianta"),
    ("hotineobliquemercatorazimuthnaturalorigin", "hotineobliquemercatorvarianta"),
    ("rectifiedskeworthomorphicnaturalorigin", "hotineobliquemercatorvarianta"),
    ("hotineobliquemercatorazimuthcenter", "hotineobliquemercatorvariantb"),
    ("rectifiedskeworthomorphiccenter", "hotineobliquemercatorvariantb"),
];

/// The projection of maps in browsers: a sphere's, of places on an ellipsoid.
const PSEUDO_MERCATOR: &str = "popularvisualisationpseudomercator";

/// Methods of key 3075 of a GeoTIFF.
const METHODS_OF_KEYS: [(u16, &str); 25] = [
    (1, TRANSVERSE_MERCATOR),
    (3, "hotineobliquemercatorvarianta"),
    (7, "mercator1sp"),
    (8, "lambertconformalconic2sp"),
    (9, "lambertconformalconic1sp"),
    (10, "lambertazimuthalequalarea"),
    (11, "albersconicequalarea"),
    (12, "azimuthalequidistant"),
    (13, "equidistantconic"),
    (14, "stereographic"),
    (15, "polarstereographic"),
    (16, "obliquestereographic"),
    (17, "equirectangular"),
    (18, "cassinisoldner"),
    (19, "gnomonic"),
    (20, "millercylindrical"),
    (21, "orthographic"),
    (22, "polyconic"),
    (23, "robinson"),
    (24, "sinusoidal"),
    (25, "vandergrinten"),
    (26, "newzealandmapgrid"),
    (27, "transversemercatorsouthorientated"),
    (28, "cylindricalequalarea"),
    (9815, "hotineobliquemercatorvariantb"),
];

const TRANSVERSE_MERCATOR: &str = "transversemercator";

/// Parameters of a projection, as [`parameter`] calls them.
const PARAMETERS: [&str; 9] = [
    "latitude of origin",
    "longitude of origin",
    "scale",
    "false easting",
    "false northing",
    "1st standard parallel",
    "2nd standard parallel",
    "azimuth",
    "angle of the grid",
];

/// Which of [`PARAMETERS`] the keys of a GeoTIFF from 3078 on state.
const PARAMETERS_OF_KEYS: [usize; 19] = [5, 6, 1, 0, 3, 4, 1, 0, 3, 4, 1, 0, 3, 4, 2, 2, 7, 1, 8];

type Parameters = [Option<f64>; PARAMETERS.len()];

/// The definition of horizontal coordinates, in metres and radians.
pub(super) struct Definition {
    kind: Kind,
    /// The datum's code and its name; of a local system, its own name.
    datum: (Option<u16>, String),
    /// Radius and inverse flattening.
    ellipsoid: Option<[f64; 2]>,
    meridian: f64,
    method: String,
    parameters: Parameters,
    /// Metres or radians.
    unit: f64,
}

impl Definition {
    /// Returns the definition in well-known text; `None` if a necessary part is missing.
    pub fn of_wkt(text: &str) -> Option<Self> {
        let node = horizontal(text)?;
        let kind = node.kind()?;
        let degree = 1_f64.to_radians();
        if kind == Kind::Local {
            return Some(Self::local(node.name().unwrap_or_default(), node.unit()?));
        }
        let base = node.child(&["GEOGCS", "BASEGEOGCRS", "BASEGEODCRS"]);
        let base = base.as_ref().unwrap_or(&node);
        let angle = base.unit().unwrap_or(degree);
        let datum = base.child(&DATUMS)?;
        let ellipsoid = datum.child(&["SPHEROID", "ELLIPSOID"]);
        let meridian = base.child(&["PRIMEM", "PRIMEMERIDIAN"]);
        let meridian = meridian.and_then(|m| Some(m.number(1)? * m.unit().unwrap_or(degree)));
        let mut found = Self {
            kind,
            datum: (datum.code(), plain_datum(&datum.name().unwrap_or_default())),
            ellipsoid: ellipsoid.and_then(|e| {
                let metres = e.unit().unwrap_or(1.0);
                Some([e.number(1)? * metres, e.number(2)?])
            }),
            meridian: meridian.unwrap_or(0.0),
            method: String::new(),
            parameters: Default::default(),
            unit: angle,
        };
        if kind == Kind::Projected {
            found.unit = node.unit()?;
            let conversion = node.child(&["CONVERSION"]);
            let list = conversion.as_ref().unwrap_or(&node);
            found.method = method(&list.child(&["PROJECTION", "METHOD"])?.name()?);
            found.take_pseudo_mercator(&node);
            for part in list.children().filter(|part| part.is("PARAMETER")) {
                found.take(&part, angle)?;
            }
            found.take_one_parallel();
            found.take_krovak(list, &node);
        }
        Some(found)
    }

    /// Takes the projection of maps in browsers, for which WKT 1 has no name. An extension says so, or, where a writer left
    /// that out, the name of the system.
    fn take_pseudo_mercator(&mut self, system: &Node) {
        let is_extended = || {
            let extension = system.child(&["EXTENSION"]);
            extension.is_some_and(|part| part.inside.contains("+nadgrids=@null"))
        };
        let is_named =
            || system.name().is_some_and(|name| plain(&name).ends_with("pseudomercator"));
        if self.method == "mercator1sp" && (is_extended() || is_named()) {
            self.method = PSEUDO_MERCATOR.to_owned();
        }
    }

    /// Takes a parameter; `None` for one that is not known.
    fn take(&mut self, part: &Node, angle: f64) -> Option<()> {
        let (name, value) = (plain(&part.name()?), part.number(1)?);
        let is_known = name == "auxiliaryspheretype" && value == 0.0;
        if is_known || ["xscale", "yscale"].contains(&name.as_str()) {
            return Some(());
        }
        let i = parameter(&name)?;
        let unit = part.child(&["LENGTHUNIT", "ANGLEUNIT", "SCALEUNIT", "UNIT"]);
        let unit = unit.and_then(|unit| unit.number(1)).unwrap_or(match i {
            2 => 1.0,
            3 | 4 => self.unit,
            _ => angle,
        });
        self.parameters[i] = Some(value * unit);
        Some(())
    }

    /// Gives one name to projections that writers name in two ways. Esri states the one parallel of a conic in place of
    /// a latitude of origin, also of a polar stereographic projection. A Mercator projection that is true to scale at the
    /// equator has a scale of 1.
    fn take_one_parallel(&mut self) {
        let [latitude, .., first, second, _, _] = self.parameters;
        let name = match self.method.as_str() {
            "lambertconformalconic2sp" if second.is_none() && first == latitude => {
                "lambertconformalconic1sp"
            }
            "mercator2sp" if first.unwrap_or(0.0) == 0.0 => "mercator1sp",
            "stereographicnorthpole" | "stereographicsouthpole" => {
                self.parameters[0] = first.or(latitude);
                "polarstereographic"
            }
            _ => return,
        };
        self.method = name.to_owned();
        self.parameters[5] = None;
    }

    /// Takes Krovak's projection by its directions. Its name says them in WKT 2.
    fn take_krovak(&mut self, list: &Node, system: &Node) {
        if self.method == "krovak" {
            // The angle by which Esri turns the axes.
            self.parameters[8] = None;
            if system.is_krovak_north_up(list) {
                self.method = "krovaknorthorientated".to_owned();
            }
        }
    }

    fn local(name: String, unit: f64) -> Self {
        Self {
            kind: Kind::Local,
            datum: (None, plain(&name)),
            ellipsoid: None,
            meridian: 0.0,
            method: String::new(),
            parameters: Default::default(),
            unit,
        }
    }

    /// Returns the definition in keys that have no code; `None` if a necessary part is missing.
    pub fn of_keys(keys: &GeoKeys) -> Option<Self> {
        if let Some(text) = keys.text() {
            return Self::of_wkt(text);
        }
        let geographic = keys.short(GEOGRAPHIC_TYPE).and_then(crs_definitions::from_code);
        let base = match geographic {
            Some(geographic) => Some(Self::of_wkt(geographic.wkt)?),
            None => Self::of_datum_in_keys(keys),
        };
        let Some(base) = base else {
            let has_datum = [GEOGRAPHIC_TYPE, 2050, 3075].iter().any(|&k| keys.short(k).is_some());
            let unit = keys.linear_unit().filter(|_| !has_datum)?;
            return Some(Self::local(keys.name().unwrap_or_default(), unit));
        };
        if keys.is_geographic() {
            return Some(base);
        }
        let unit = keys.linear_unit().unwrap_or(1.0);
        let (method, parameters) = match keys.utm_zone() {
            Some(zone) => (TRANSVERSE_MERCATOR.to_owned(), parameters_of_utm(zone)),
            None => Self::projection_in_keys(keys, base.unit, unit)?,
        };
        Some(Self { kind: Kind::Projected, method, parameters, unit, ..base })
    }

    /// The method and the parameters that keys state.
    fn projection_in_keys(keys: &GeoKeys, angle: f64, unit: f64) -> Option<(String, Parameters)> {
        const METHOD: u16 = 3075;
        const FIRST_PARAMETER: u16 = 3078;
        let number = keys.short(METHOD)?;
        let method = METHODS_OF_KEYS.iter().find(|(n, _)| *n == number)?.1.to_owned();
        let mut parameters = Parameters::default();
        for (key, i) in (FIRST_PARAMETER..).zip(PARAMETERS_OF_KEYS) {
            let scale = match i {
                2 => 1.0,
                3 | 4 => unit,
                _ => angle,
            };
            parameters[i] = keys.double(key).map(|value| value * scale).or(parameters[i]);
        }
        Some((method, parameters))
    }

    /// Longitudes and latitudes in degrees whose datum keys state, not a code of the system.
    fn of_datum_in_keys(keys: &GeoKeys) -> Option<Self> {
        const DATUM: u16 = 2050;
        const MERIDIAN: u16 = 2051;
        const RADIUS: u16 = 2057;
        const FLATTENING: u16 = 2059;
        const LONGITUDE: u16 = 2061;
        let is_known = |code: &u16| *code != 0 && *code != USER_DEFINED;
        let code = keys.short(DATUM).filter(is_known);
        let name = keys.datum_name().map(|name| plain_datum(&name));
        let name = name.or_else(|| datum_of_code(code?)).unwrap_or_default();
        let is_other_unit = keys.angular_unit().is_some_and(|unit| (unit - 1.0).abs() > 1e-9);
        if code.is_none() && name.is_empty() || is_other_unit {
            return None;
        }
        // Greenwich has a code, and where another meridian has one its longitude is not known.
        let meridian = match (keys.double(LONGITUDE), keys.short(MERIDIAN).filter(is_known)) {
            (Some(longitude), _) => longitude,
            (None, None | Some(8901)) => 0.0,
            (None, Some(_)) => return None,
        };
        Some(Self {
            kind: Kind::Geographic,
            datum: (code, name),
            ellipsoid: keys.double(RADIUS).zip(keys.double(FLATTENING)).map(|(a, b)| [a, b]),
            meridian: meridian.to_radians(),
            method: String::new(),
            parameters: Default::default(),
            unit: 1_f64.to_radians(),
        })
    }

    /// The ellipsoid's radius at the equator in metres.
    pub fn radius(&self) -> Option<f64> {
        self.ellipsoid.map(|[radius, _]| radius)
    }

    /// Says in words how it differs from another.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let away = |a: f64, b: f64, most: f64| (a - b).abs() > most;
        let (a, b) = (self, other);
        if a.kind != b.kind {
            let word = |kind| match kind {
                Kind::Geographic => "geographic",
                Kind::Projected => "projected",
                Kind::Local => "of no place on the Earth",
            };
            return Some(format!("one is {}, the other {}", word(a.kind), word(b.kind)));
        }
        let is_same_datum = match (a.datum.0, b.datum.0) {
            (Some(a), Some(b)) => a == b,
            _ => a.datum.1 == b.datum.1,
        };
        if !is_same_datum {
            return Some(format!("their datums are \"{}\" and \"{}\"", a.datum.1, b.datum.1));
        }
        // A centimetre of the radius, and of the pole less.
        if let (Some(a), Some(b)) = (a.ellipsoid, b.ellipsoid)
            && (away(a[0], b[0], 1e-2) || away(a[1], b[1], 5e-7))
        {
            return Some(format!("their ellipsoids are {a:?} and {b:?}"));
        }
        if away(a.meridian, b.meridian, 1e-9) {
            let [a, b] = [a.meridian, b.meridian].map(f64::to_degrees);
            return Some(format!("their prime meridians are {a} and {b} degrees from Greenwich"));
        }
        if a.method != b.method {
            return Some(format!("their projections are {} and {}", a.method, b.method));
        }
        for (i, name) in PARAMETERS.iter().enumerate() {
            let default = |of: &Self| match i {
                2 => 1.0,
                // Esri states no angle where it is the azimuth.
                8 => of.parameters[7].unwrap_or(0.0),
                _ => 0.0,
            };
            let [a, b] = [a, b].map(|of| of.parameters[i].unwrap_or_else(|| default(of)));
            // Esri counts angles from -180 degrees.
            let whole = if i >= 7 { TAU } else { 0.0 };
            let [a, b] = [a, b].map(|v| if v < 0.0 { v + whole } else { v });
            let (most, show): (f64, fn(f64) -> f64) = match i {
                2 => (1e-9, |v| v),
                3 | 4 => (1e-3, |v| v),
                _ => (1e-9, f64::to_degrees),
            };
            if away(a, b, most) {
                return Some(format!("{name} is {} in one and {} in the other", show(a), show(b)));
            }
        }
        let is_unit = away(a.unit / b.unit, 1.0, 1e-7);
        is_unit.then(|| format!("a unit is {} in one and {} in the other", a.unit, b.unit))
    }
}

/// Returns the parameters of a zone of UTM. Southern zones are negative.
fn parameters_of_utm(zone: i32) -> Parameters {
    let longitude = f64::from(6 * zone.abs() - 183).to_radians();
    let northing = if zone < 0 { 1e7 } else { 0.0 };
    [Some(0.0), Some(longitude), Some(0.9996), Some(5e5), Some(northing), None, None, None, None]
}

/// The name by which a datum with a code is compared: that of a geographic system which is on it.
fn datum_of_code(code: u16) -> Option<String> {
    let geographic = |wkt: &&str| wkt.starts_with("GEOGCS");
    let systems = (1..=u16::MAX).filter_map(crs_definitions::from_code).map(|system| system.wkt);
    systems.filter(geographic).find_map(|wkt| {
        let datum = outermost(wkt)?.child(&DATUMS)?;
        (datum.code() == Some(code)).then(|| plain_datum(&datum.name().unwrap_or_default()))
    })
}

/// The code of the horizontal part of a system with a code: of a compound one, that within.
pub(super) fn horizontal_code(code: u16) -> u16 {
    let within = crs_definitions::from_code(code).and_then(|d| horizontal(d.wkt)?.code());
    within.unwrap_or(code)
}

/// The code of the horizontal part of well-known text.
pub(super) fn code_of_wkt(text: &str) -> Option<u16> {
    let node = horizontal(text)?;
    // A compound system may have the code of all.
    node.system_code().or_else(|| {
        outermost(text)
            .filter(|all| all.whole.len() > node.whole.len())?
            .code()
            .map(horizontal_code)
    })
}

fn plain(name: &str) -> String {
    // A plus tells CH1903+ from CH1903.
    name.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == '+').collect()
}

/// A datum's name by which it is compared: the first of those that it has.
pub(super) fn plain_datum(name: &str) -> String {
    let name = name.strip_prefix("D_").unwrap_or(name);
    let shorter = |name: String, (long, short): &(&str, &str)| name.replace(long, short);
    let name = DATUM_WORDS.iter().fold(plain(name), shorter);
    let same = datums::SAME.into_iter().find(|names| names.contains(&name.as_str()));
    same.map_or(name, |names| names[0].to_owned())
}

fn method(name: &str) -> String {
    let name = plain(name);
    let found = METHODS.iter().find(|(other, _)| *other == name);
    found.map_or(name, |(_, method)| (*method).to_owned())
}

/// Which of [`PARAMETERS`] a plain name means.
fn parameter(name: &str) -> Option<usize> {
    let has = |word: &str| name.contains(word);
    Some(match name {
        _ if has("easting") => 3,
        _ if has("northing") => 4,
        _ if has("scale") => 2,
        _ if has("1ststandard") || has("parallel1") || has("pseudostandard") => 5,
        _ if has("2ndstandard") || has("parallel2") => 6,
        _ if has("azimuth") || has("colatitude") => 7,
        _ if has("latitudeofstandardparallel") => 0,
        _ if has("rectified") || has("planerotation") => 8,
        _ if has("latitude") && (has("origin") || has("center") || has("centre")) => 0,
        _ if has("centralmeridian") || has("longitude") => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_datum_is_plain_and_in_one_list() {
        let mut all: Vec<&str> = datums::SAME.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        for names in datums::SAME {
            assert!(names.iter().all(|name| plain_datum(name) == names[0]), "{names:?}");
        }
    }
}
