//! Systems as PROJJSON (WKT 2 as JSON), the form that GeoParquet uses.
//!
//! To JSON: from WKT 2 node by node; from WKT 1 with the names and codes of methods and parameters in the EPSG list.
//! From JSON: by the EPSG code if the text states one, else as WKT 2.

use serde_json::{Value, json};

use super::vertical::Heights;
use super::wkt::{DATUMS, Kind, Node, horizontal, outermost, vertical};
use super::{Crs, Definition};

/// Parameters: code, name.
const PARAMETERS: [(u16, &str); 21] = [
    (8801, "Latitude of natural origin"),
    (8802, "Longitude of natural origin"),
    (8805, "Scale factor at natural origin"),
    (8806, "False easting"),
    (8807, "False northing"),
    (8811, "Latitude of projection centre"),
    (8812, "Longitude of projection centre"),
    (8813, "Azimuth of initial line"),
    (8814, "Angle from Rectified to Skew Grid"),
    (8815, "Scale factor on initial line"),
    (8816, "Easting at projection centre"),
    (8817, "Northing at projection centre"),
    (8818, "Latitude of pseudo standard parallel"),
    (8819, "Scale factor on pseudo standard parallel"),
    (8821, "Latitude of false origin"),
    (8822, "Longitude of false origin"),
    (8823, "Latitude of 1st standard parallel"),
    (8824, "Latitude of 2nd standard parallel"),
    (8826, "Easting at false origin"),
    (8827, "Northing at false origin"),
    (8832, "Latitude of standard parallel"),
];

/// More of them.
const RARE: [(u16, &str); 2] = [(8833, "Longitude of origin"), (1036, "Co-latitude of cone axis")];

/// Names of parameters in WKT 1, and the codes that they have in a method.
type Names = &'static [(&'static str, u16)];

const NATURAL: Names = &[
    ("latitude_of_origin", 8801),
    ("latitude_of_center", 8801),
    ("central_meridian", 8802),
    ("longitude_of_center", 8802),
    ("scale_factor", 8805),
    ("false_easting", 8806),
    ("false_northing", 8807),
    ("standard_parallel_1", 8823),
];
const FALSE_ORIGIN: Names = &[
    ("latitude_of_origin", 8821),
    ("latitude_of_center", 8821),
    ("central_meridian", 8822),
    ("longitude_of_center", 8822),
    ("standard_parallel_1", 8823),
    ("standard_parallel_2", 8824),
    ("false_easting", 8826),
    ("false_northing", 8827),
];
const OBLIQUE_A: Names = &[
    ("latitude_of_center", 8811),
    ("longitude_of_center", 8812),
    ("azimuth", 8813),
    ("rectified_grid_angle", 8814),
    ("scale_factor", 8815),
    ("false_easting", 8806),
    ("false_northing", 8807),
];
const OBLIQUE_B: Names = &[
    ("latitude_of_center", 8811),
    ("longitude_of_center", 8812),
    ("azimuth", 8813),
    ("rectified_grid_angle", 8814),
    ("scale_factor", 8815),
    ("false_easting", 8816),
    ("false_northing", 8817),
];
const POLAR_B: Names = &[
    ("latitude_of_origin", 8832),
    ("central_meridian", 8833),
    ("false_easting", 8806),
    ("false_northing", 8807),
];
const KROVAK: Names = &[
    ("latitude_of_center", 8811),
    ("longitude_of_center", 8833),
    ("azimuth", 1036),
    ("pseudo_standard_parallel_1", 8818),
    ("scale_factor", 8819),
    ("false_easting", 8806),
    ("false_northing", 8807),
];

/// Methods of WKT 1: their names there, code and name, and what their parameters are.
const METHODS: [(&str, u16, &str, Names); 23] = [
    ("transverse_mercator", 9807, "Transverse Mercator", NATURAL),
    ("gauss_kruger", 9807, "Transverse Mercator", NATURAL),
    (
        "transverse_mercator_south_orientated",
        9808,
        "Transverse Mercator (South Orientated)",
        NATURAL,
    ),
    ("mercator_1sp", 9804, "Mercator (variant A)", NATURAL),
    ("mercator_2sp", 9805, "Mercator (variant B)", NATURAL),
    (PSEUDO_MERCATOR, 1024, "Popular Visualisation Pseudo Mercator", NATURAL),
    ("lambert_conformal_conic_1sp", 9801, "Lambert Conic Conformal (1SP)", NATURAL),
    ("lambert_conformal_conic_2sp", 9802, "Lambert Conic Conformal (2SP)", FALSE_ORIGIN),
    (
        "lambert_conformal_conic_2sp_belgium",
        9803,
        "Lambert Conic Conformal (2SP Belgium)",
        FALSE_ORIGIN,
    ),
    ("albers_conic_equal_area", 9822, "Albers Equal Area", FALSE_ORIGIN),
    ("albers", 9822, "Albers Equal Area", FALSE_ORIGIN),
    ("lambert_azimuthal_equal_area", 9820, "Lambert Azimuthal Equal Area", NATURAL),
    (POLAR, 9810, "Polar Stereographic (variant A)", NATURAL),
    (POLAR_OF_PARALLEL, 9829, "Polar Stereographic (variant B)", POLAR_B),
    ("oblique_stereographic", 9809, "Oblique Stereographic", NATURAL),
    ("double_stereographic", 9809, "Oblique Stereographic", NATURAL),
    ("cassini_soldner", 9806, "Cassini-Soldner", NATURAL),
    ("hotine_oblique_mercator", 9812, "Hotine Oblique Mercator (variant A)", OBLIQUE_A),
    (
        "hotine_oblique_mercator_azimuth_center",
        9815,
        "Hotine Oblique Mercator (variant B)",
        OBLIQUE_B,
    ),
    ("krovak", 9819, "Krovak", KROVAK),
    (KROVAK_NORTH_UP, 1041, "Krovak (North Orientated)", KROVAK),
    ("polyconic", 9818, "American Polyconic", NATURAL),
    ("cylindrical_equal_area", 9835, "Lambert Cylindrical Equal Area", NATURAL),
];

const KROVAK_NORTH_UP: &str = "krovak of easting and northing";
const PSEUDO_MERCATOR: &str = "mercator_auxiliary_sphere";
const POLAR: &str = "polar_stereographic";
const POLAR_OF_PARALLEL: &str = "polar_stereographic of a parallel";

impl Crs {
    /// Returns the system as PROJJSON. `None` if the system has neither an EPSG code nor WKT, or if its projection has
    /// no name in the EPSG list.
    ///
    /// ```
    /// let utm = geo_io::Crs::parse("EPSG:26910")?.projjson().unwrap();
    /// assert_eq!(utm["type"], "ProjectedCRS");
    /// assert_eq!(utm["id"]["code"], 26910);
    /// # Ok::<(), geo_io::Error>(())
    /// ```
    pub fn projjson(&self) -> Option<Value> {
        let text = self.text_behind()?;
        let node = horizontal(text)?;
        let mut places = system(&node, node.kind()?)?;
        // The code of a compound system is not its horizontal part's.
        let own = node.code().or_else(|| {
            self.epsg().filter(|_| outermost(text).is_some_and(|all| all.whole == node.whole))
        });
        set_id(&mut places, own);
        let Some(heights) = self.heights() else { return Some(places) };
        let heights = of_heights(&heights, vertical(text).as_ref());
        let name = format!("{} + {}", word(&places), word(&heights));
        let mut both =
            json!({"type": "CompoundCRS", "name": name, "components": [places, heights]});
        if let Definition::Epsg(code, None) = self.0 {
            set_id(&mut both, Some(code));
        }
        Some(both)
    }

    /// Returns the system that PROJJSON states; `None` for a system without x and y, or one that this crate does not
    /// understand.
    pub fn from_projjson(stated: &Value) -> Option<Self> {
        let of_code = |stated: &Value| code(stated).and_then(|code| Self::parse(&code).ok());
        if let Some(known) = of_code(stated) {
            return Some(known);
        }
        if let Some(parts) = stated.get("components").and_then(Value::as_array) {
            if let [places, heights] = &parts[..]
                && let (Some(places), Some(heights)) = (code(places), code(heights))
                && let Some((_, heights)) = heights.split_once(':')
                && let Ok(known) = Self::parse(&format!("{places}+{heights}"))
            {
                return Some(known);
            }
        } else if let Some(source) = stated.get("source_crs") {
            return Self::from_projjson(source);
        }
        Self::from_wkt(&text(stated)?)
    }
}

/// A name.
fn word(of: &Value) -> &str {
    of.get("name").and_then(Value::as_str).unwrap_or("unknown")
}

fn set_id(of: &mut Value, code: Option<u16>) {
    if let Some(code) = code {
        of["id"] = json!({"authority": "EPSG", "code": code});
    }
}

/// A unit by its name and size; `None` for what has none.
fn unit(kind: &str, name: &str, size: f64) -> Value {
    match kind {
        "LinearUnit" if size == 1.0 => "metre".into(),
        "AngularUnit" if (size - 1_f64.to_radians()).abs() < 1e-12 => "degree".into(),
        _ => json!({"type": kind, "name": name, "conversion_factor": size}),
    }
}

/// The unit directly inside a node, or of its first axis.
fn unit_of(node: &Node<'_>, kind: &str) -> Option<Value> {
    let own = node.child(&["UNIT", "LENGTHUNIT", "ANGLEUNIT"]);
    let own = own.or_else(|| node.child(&["AXIS"])?.child(&["UNIT", "LENGTHUNIT", "ANGLEUNIT"]))?;
    Some(unit(kind, &own.name()?, own.number(1)?))
}

/// The system that a node defines, without its code.
fn system(node: &Node<'_>, kind: Kind) -> Option<Value> {
    let name = node.name()?;
    match kind {
        Kind::Geographic => geographic(node),
        Kind::Local => {
            let unit = unit_of(node, "LinearUnit")?;
            let axes = axes(node, &unit, ["Easting", "Northing"]);
            Some(
                json!({"type": "EngineeringCRS", "name": name, "datum": {"type": "EngineeringDatum", "name": name},
                "coordinate_system": {"subtype": "Cartesian", "axis": axes}}),
            )
        }
        Kind::Projected => {
            let base = node.child(&["GEOGCS", "BASEGEOGCRS", "BASEGEODCRS"])?;
            let mut of_base = geographic(&base)?;
            set_id(&mut of_base, base.code());
            let unit = unit_of(node, "LinearUnit")?;
            let conversion = match node.child(&["CONVERSION"]) {
                Some(conversion) => conversion_of(&conversion)?,
                None => projection_of(node, &unit, &angle_of(&base))?,
            };
            let axes = axes(node, &unit, ["Easting", "Northing"]);
            Some(
                json!({"type": "ProjectedCRS", "name": name, "base_crs": of_base, "conversion": conversion,
                "coordinate_system": {"subtype": "Cartesian", "axis": axes}}),
            )
        }
    }
}

fn angle_of(node: &Node<'_>) -> Value {
    unit_of(node, "AngularUnit").unwrap_or_else(|| "degree".into())
}

fn geographic(node: &Node<'_>) -> Option<Value> {
    let datum = node.child(&DATUMS)?;
    let ellipsoid = datum.child(&["SPHEROID", "ELLIPSOID"])?;
    let (axis, flattening) = (ellipsoid.number(1)?, ellipsoid.number(2)?);
    // A sphere.
    let mut of_ellipsoid = match flattening == 0.0 {
        true => json!({"name": ellipsoid.name()?, "radius": axis}),
        false => {
            json!({"name": ellipsoid.name()?, "semi_major_axis": axis, "inverse_flattening": flattening})
        }
    };
    set_id(&mut of_ellipsoid, ellipsoid.code());
    let mut of_datum = json!({"type": "GeodeticReferenceFrame", "name": datum.name()?.replace('_', " "), "ellipsoid": of_ellipsoid});
    set_id(&mut of_datum, datum.code());
    if let Some(meridian) = node.child(&["PRIMEM", "PRIMEMERIDIAN"])
        && meridian.number(1)? != 0.0
    {
        let longitude = meridian.number(1)?;
        let of_meridian = meridian.child(&["UNIT", "ANGLEUNIT"]);
        let of_meridian =
            of_meridian.and_then(|of| Some(unit("AngularUnit", &of.name()?, of.number(1)?)));
        let longitude = match of_meridian {
            Some(unit) if unit != "degree" => json!({"value": longitude, "unit": unit}),
            _ => longitude.into(),
        };
        of_datum["prime_meridian"] = json!({"name": meridian.name()?, "longitude": longitude});
    }
    let unit = angle_of(node);
    let axis = |name: &str, short: &str, to: &str| json!({"name": name, "abbreviation": short, "direction": to, "unit": unit});
    let axes =
        [axis("Geodetic latitude", "Lat", "north"), axis("Geodetic longitude", "Lon", "east")];
    Some(json!({"type": "GeographicCRS", "name": node.name()?, "datum": of_datum,
        "coordinate_system": {"subtype": "ellipsoidal", "axis": axes}}))
}

/// The axes of a plane, as the node has them.
fn axes(node: &Node<'_>, unit: &Value, names: [&str; 2]) -> Vec<Value> {
    let axes: Vec<Node<'_>> = node.children().filter(|part| part.is("AXIS")).take(2).collect();
    let way = |i: usize| {
        let word = axes.get(i)?.word(1)?.to_ascii_lowercase();
        ["east", "north", "west", "south"].into_iter().find(|way| *way == word)
    };
    let projection = node.child(&["PROJECTION"]).and_then(|projection| projection.name());
    let is_krovak = projection.is_some_and(|name| name.eq_ignore_ascii_case("Krovak"));
    let default = match is_krovak && !node.is_krovak_north_up(node) {
        true => ["south", "west"],
        false => ["east", "north"],
    };
    (0..2)
        .map(|i| {
            let way = if axes.len() == 2 { way(i) } else { None }.unwrap_or(default[i]);
            let name = match way {
                "east" => names[0],
                "north" => names[1],
                "west" => "Westing",
                _ => "Southing",
            };
            json!({"name": name, "abbreviation": name[..1], "direction": way, "unit": unit})
        })
        .collect()
}

/// The conversion of WKT 2.
fn conversion_of(node: &Node<'_>) -> Option<Value> {
    let named = |node: &Node<'_>| -> Option<Value> {
        let mut of = json!({"name": node.name()?});
        set_id(&mut of, node.code());
        Some(of)
    };
    let parameter = |part: Node<'_>| -> Option<Value> {
        let unit_node = part.child(&["LENGTHUNIT", "ANGLEUNIT", "SCALEUNIT", "UNIT"])?;
        let kind = match unit_node.keyword.to_ascii_uppercase().as_str() {
            "ANGLEUNIT" => "AngularUnit",
            "SCALEUNIT" => "ScaleUnit",
            _ => "LinearUnit",
        };
        let unit = match kind {
            "ScaleUnit" if unit_node.number(1)? == 1.0 => "unity".into(),
            kind => unit(kind, &unit_node.name()?, unit_node.number(1)?),
        };
        let mut of = named(&part)?;
        of["value"] = part.number(1)?.into();
        of["unit"] = unit;
        Some(of)
    };
    let parameters = node.children().filter(|part| part.is("PARAMETER")).map(parameter);
    let parameters = parameters.collect::<Option<Vec<_>>>()?;
    let method = named(&node.child(&["METHOD", "PROJECTION"])?)?;
    Some(json!({"name": node.name()?, "method": method, "parameters": parameters}))
}

/// The projection of WKT 1.
fn projection_of(node: &Node<'_>, length: &Value, angle: &Value) -> Option<Value> {
    let plain = |name: String| name.to_ascii_lowercase().replace([' ', '-'], "_");
    let parts: Vec<Node<'_>> = node.children().filter(|part| part.is("PARAMETER")).collect();
    let value = |name: &str| {
        let part = parts.iter().find(|part| part.name().map(plain).as_deref() == Some(name))?;
        part.number(1)
    };
    let stated = plain(node.child(&["PROJECTION"])?.name()?);
    let is_pseudo =
        node.child(&["EXTENSION"]).is_some_and(|part| part.inside.contains("+nadgrids=@null"));
    let word = match stated.as_str() {
        "mercator_1sp" if is_pseudo => PSEUDO_MERCATOR,
        "krovak" if node.is_krovak_north_up(node) => KROVAK_NORTH_UP,
        POLAR if value("latitude_of_origin").is_some_and(|at| at.abs() < 90.0) => POLAR_OF_PARALLEL,
        // Esri has one name for both.
        "lambert_conformal_conic" if value("standard_parallel_2").is_some() => {
            "lambert_conformal_conic_2sp"
        }
        word => word,
    };
    let (_, code, name, names) = METHODS.iter().find(|(of, ..)| *of == word)?;
    let parameter = |part: &Node<'_>| -> Option<Value> {
        let (own, value) = (plain(part.name()?), part.number(1)?);
        let code = names.iter().find(|(name, _)| *name == own).map(|(_, code)| *code);
        let Some(code) = code else {
            // What changes nothing is left out.
            let is_direction = ["x_scale", "y_scale", "xy_plane_rotation"].contains(&own.as_str());
            let is_nothing = value == 0.0
                || own == "scale_factor" && value == 1.0
                || *names == KROVAK && is_direction;
            return is_nothing.then_some(Value::Null);
        };
        let name = PARAMETERS.iter().chain(&RARE).find(|(of, _)| *of == code)?.1;
        let unit = match code {
            8805 | 8815 | 8819 => &"unity".into(),
            8806 | 8807 | 8816 | 8817 | 8826 | 8827 => length,
            _ => angle,
        };
        let mut of = json!({"name": name, "value": value, "unit": unit});
        set_id(&mut of, Some(code));
        Some(of)
    };
    let parameters = parts.iter().map(parameter).collect::<Option<Vec<_>>>()?;
    let parameters: Vec<Value> = parameters.into_iter().filter(|of| !of.is_null()).collect();
    let mut method = json!({"name": name});
    set_id(&mut method, Some(*code));
    Some(json!({"name": node.name()?, "method": method, "parameters": parameters}))
}

/// A vertical system; that of a code alone is named by it.
fn of_heights(heights: &Heights, node: Option<&Node<'_>>) -> Value {
    let by_code = || heights.code.map(|code| format!("EPSG:{code}"));
    let name = Some(heights.name.clone()).filter(|name| !name.is_empty()).or_else(by_code);
    let name = name.unwrap_or_else(|| "unknown".to_owned());
    let datum = node.and_then(|node| {
        node.child(&["VERT_DATUM", "VDATUM", "VERTICALDATUM", "VRF", "ENSEMBLE", "DATUM"])
    });
    let datum = datum.and_then(|datum| datum.name()).unwrap_or_else(|| name.clone());
    let unit = unit("LinearUnit", "unit", heights.unit.unwrap_or(1.0));
    let axis = json!({"name": "Gravity-related height", "abbreviation": "H", "direction": "up", "unit": unit});
    let mut of = json!({"type": "VerticalCRS", "name": name, "datum": {"type": "VerticalReferenceFrame", "name": datum},
        "coordinate_system": {"subtype": "vertical", "axis": [axis]}});
    set_id(&mut of, heights.code);
    of
}

/// The EPSG code that an object states, as EPSG:26910.
fn code(of: &Value) -> Option<String> {
    let listed = of.get("ids").and_then(Value::as_array).into_iter().flatten();
    of.get("id").into_iter().chain(listed).find_map(|id| {
        let code = match id.get("code")? {
            Value::String(code) => code.clone(),
            code => code.to_string(),
        };
        let authority = id.get("authority")?.as_str()?;
        match (authority, code.as_str()) {
            ("OGC", "CRS84") => Some("EPSG:4326".to_owned()),
            _ => authority.eq_ignore_ascii_case("EPSG").then(|| format!("EPSG:{code}")),
        }
    })
}

/// The system as WKT 2.
fn text(of: &Value) -> Option<String> {
    let name = quoted(word(of));
    match of.get("type")?.as_str()? {
        "GeographicCRS" | "GeodeticCRS" => {
            Some(format!("GEOGCRS[{name},{}]", text_of_base(of, true)?))
        }
        "ProjectedCRS" => {
            let (base, conversion) = (of.get("base_crs")?, of.get("conversion")?);
            let method = format!(
                "METHOD[{}{}]",
                quoted(word(conversion.get("method")?)),
                text_of_id(conversion.get("method")?)
            );
            let parameters = conversion.get("parameters").and_then(Value::as_array)?;
            let parameters: Option<String> = parameters
                .iter()
                .map(|part| {
                    let (value, unit) =
                        (part.get("value")?.as_f64()?, text_of_unit(part.get("unit")?)?);
                    Some(format!(
                        ",PARAMETER[{},{value},{unit}{}]",
                        quoted(word(part)),
                        text_of_id(part)
                    ))
                })
                .collect();
            let conversion = quoted(word(conversion));
            Some(format!(
                "PROJCRS[{name},BASEGEOGCRS[{},{}],CONVERSION[{conversion},{method}{}],{}]",
                quoted(word(base)),
                text_of_base(base, false)?,
                parameters?,
                text_of_axes(of, "Cartesian")?
            ))
        }
        "CompoundCRS" => {
            let parts = of.get("components")?.as_array()?;
            let parts = parts.iter().map(text).collect::<Option<Vec<_>>>()?;
            Some(format!("COMPOUNDCRS[{name},{}]", parts.join(",")))
        }
        "VerticalCRS" => {
            let datum = of.get("datum").or_else(|| of.get("datum_ensemble"))?;
            let datum = quoted(word(datum));
            Some(format!(
                "VERTCRS[{name},VDATUM[{datum}],{}{}]",
                text_of_axes(of, "vertical")?,
                text_of_id(of)
            ))
        }
        "EngineeringCRS" => Some(format!(
            "ENGCRS[{name},EDATUM[{}],{}]",
            quoted(word(of.get("datum")?)),
            text_of_axes(of, "Cartesian")?
        )),
        _ => None,
    }
}

/// The datum of a geographic system, and its axes where these are wanted.
fn text_of_base(of: &Value, with_axes: bool) -> Option<String> {
    let datum = of.get("datum").or_else(|| of.get("datum_ensemble"))?;
    let ellipsoid = datum.get("ellipsoid")?;
    let number = |key: &str| {
        let of = ellipsoid.get(key)?;
        let unit =
            of.get("unit").and_then(|unit| unit.get("conversion_factor")).and_then(Value::as_f64);
        Some(of.as_f64().or_else(|| of.get("value")?.as_f64())? * unit.unwrap_or(1.0))
    };
    let axis = number("semi_major_axis").or_else(|| number("radius"))?;
    let of_axes = || {
        number("semi_minor_axis")
            .map(|minor| if minor == axis { 0.0 } else { axis / (axis - minor) })
    };
    let flattening = number("inverse_flattening").or_else(of_axes).unwrap_or(0.0);
    let meridian = datum.get("prime_meridian").map(|meridian| {
        let longitude = meridian.get("longitude")?;
        let (value, unit) = match longitude.as_f64() {
            Some(value) => (value, "degree".into()),
            None => (longitude.get("value")?.as_f64()?, longitude.get("unit")?.clone()),
        };
        Some(format!(",PRIMEM[{},{value},{}]", quoted(word(meridian)), text_of_unit(&unit)?))
    });
    let meridian = match meridian {
        Some(stated) => stated?,
        None => String::new(),
    };
    let unit = of.get("coordinate_system").and_then(|axes| axes.get("axis")?.get(0)?.get("unit"));
    let unit = text_of_unit(unit.unwrap_or(&"degree".into()))?;
    let datum = format!(
        "DATUM[{},ELLIPSOID[{},{axis},{flattening},LENGTHUNIT[\"metre\",1]]{}]{meridian}",
        quoted(word(datum)),
        quoted(word(ellipsoid)),
        text_of_id(datum)
    );
    Some(match with_axes {
        true => format!(
            "{datum},CS[ellipsoidal,2],AXIS[\"latitude\",north],AXIS[\"longitude\",east],{unit}"
        ),
        false => format!("{datum},{unit}"),
    })
}

fn text_of_axes(of: &Value, subtype: &str) -> Option<String> {
    let axes = of.get("coordinate_system")?.get("axis")?.as_array()?;
    let unit = text_of_unit(axes.first()?.get("unit")?)?;
    let each: Option<String> = axes
        .iter()
        .map(|axis| {
            let way = axis.get("direction")?.as_str()?;
            Some(format!(",AXIS[{},{way}]", quoted(word(axis))))
        })
        .collect();
    Some(format!("CS[{subtype},{}]{},{unit}", axes.len(), each?))
}

fn text_of_unit(unit: &Value) -> Option<String> {
    let known = |word: &str, size: f64, keyword: &str| format!("{keyword}[\"{word}\",{size}]");
    match unit {
        Value::String(word) => match word.as_str() {
            "metre" => Some(known("metre", 1.0, "LENGTHUNIT")),
            "degree" => Some(known("degree", 1_f64.to_radians(), "ANGLEUNIT")),
            "unity" => Some(known("unity", 1.0, "SCALEUNIT")),
            _ => None,
        },
        of => {
            let keyword = match of.get("type")?.as_str()? {
                "LinearUnit" => "LENGTHUNIT",
                "AngularUnit" => "ANGLEUNIT",
                "ScaleUnit" => "SCALEUNIT",
                _ => "UNIT",
            };
            Some(known(word(of), of.get("conversion_factor")?.as_f64()?, keyword))
        }
    }
}

fn text_of_id(of: &Value) -> String {
    let code = code(of).and_then(|code| code.split_once(':').map(|(_, code)| code.to_owned()));
    code.map(|code| format!(",ID[\"EPSG\",{code}]")).unwrap_or_default()
}

/// A name as WKT has it, which writes no quotes within.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    #[test]
    fn systems_come_back_from_projjson() {
        for text in [
            "EPSG:4326",
            "EPSG:26910",
            "EPSG:26910+5703",
            "EPSG:2056",
            "EPSG:3857",
            "EPSG:31370",
            "EPSG:4807",
            "EPSG:3031",
            "EPSG:3035",
            "EPSG:2227",
            "EPSG:5498",
            "EPSG:32661",
            "EPSG:27572",
            "EPSG:5513",
            "EPSG:5514",
        ] {
            let crs = Crs::parse(text).unwrap();
            let json = crs.projjson().unwrap_or_else(|| panic!("{text}"));
            assert_eq!(Crs::from_projjson(&json), Some(crs.clone()), "{text}");
            // Without its codes it is what it is defined to be.
            let own = Crs::from_projjson(&without_codes(json)).unwrap_or_else(|| panic!("{text}"));
            let places =
                Crs::from_wkt(horizontal(crs.text_behind().unwrap()).unwrap().whole).unwrap();
            let own = Crs::from_wkt(horizontal(own.text_behind().unwrap()).unwrap().whole).unwrap();
            assert_eq!(own.compare(&places), Ok(None), "{text}: {own:?}");
        }
    }

    fn without_codes(value: Value) -> Value {
        match value {
            Value::Object(of) => {
                let kept = of.into_iter().filter(|(key, _)| key != "id");
                Value::Object(kept.map(|(key, of)| (key, without_codes(of))).collect::<Map<_, _>>())
            }
            Value::Array(all) => Value::Array(all.into_iter().map(without_codes).collect()),
            other => other,
        }
    }

    /// GDAL, where it is installed, reads PROJJSON as the same system as the code.
    #[test]
    fn gdal_takes_it_for_the_same() {
        let proj4 = |text: &str| {
            let ran = std::process::Command::new("gdalsrsinfo")
                .args(["-o", "proj4", text])
                .output()
                .ok()?;
            Some(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
        };
        for code in [
            "4326", "26910", "2056", "31370", "3031", "3035", "2227", "27572", "32661", "3857",
            "6933", "2048",
        ] {
            let json = Crs::parse(&format!("EPSG:{code}")).unwrap().projjson().unwrap();
            let Some(own) = proj4(&without_codes_of_systems(json).to_string()) else {
                return println!("skipped: no gdalsrsinfo");
            };
            let expected = proj4(&format!("EPSG:{code}")).unwrap();
            // GDAL names ellipsoids by what surrounds them.
            let plain = |text: &str| {
                let mut words: Vec<String> = text
                    .split(' ')
                    .filter(|word| {
                        !["+datum", "+ellps", "+a=", "+b=", "+rf", "+towgs84", "+nadgrids"]
                            .iter()
                            .any(|w| word.starts_with(w))
                    })
                    .map(str::to_owned)
                    .collect();
                words.sort();
                words
            };
            assert!(own.len() > 10 && plain(&own) == plain(&expected), "{code}: {own} {expected}");
        }
    }

    /// Without the code of the whole, so that it counts what defines it.
    fn without_codes_of_systems(mut value: Value) -> Value {
        if let Value::Object(of) = &mut value {
            of.remove("id");
        }
        value
    }

    #[test]
    fn what_cannot_be_written_or_read_is_none() {
        for text in [
            "{}",
            "[]",
            r#"{"type": "VerticalCRS", "name": "h"}"#,
            r#"{"type": "ProjectedCRS", "name": "p", "base_crs": {}}"#,
        ] {
            assert_eq!(Crs::from_projjson(&serde_json::from_str(text).unwrap()), None, "{text}");
        }
        let wkt = r#"PROJCS["x",GEOGCS["g",DATUM["d",SPHEROID["s",6378137,298.257]],UNIT["degree",0.0174532925199433]],PROJECTION["Bonne"],UNIT["metre",1]]"#;
        assert_eq!(Crs::from_wkt(wkt).unwrap().projjson(), None);
        let local = Crs::from_wkt(r#"LOCAL_CS["site",UNIT["foot",0.3048]]"#).unwrap();
        let again = Crs::from_projjson(&local.projjson().unwrap()).unwrap();
        assert_eq!((again.compare(&local), again.metres_per_unit()), (Ok(None), Some(0.3048)));
    }
}
