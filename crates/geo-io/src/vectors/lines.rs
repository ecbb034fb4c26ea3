//! Lines with a height, such as contour lines, as GeoJSON and as FlatGeobuf.

use flatgeobuf::geozero::{self, ColumnValue, GeomProcessor, PropertyProcessor};
use flatgeobuf::{ColumnType, FgbCrs, FgbWriter, FgbWriterOptions, GeometryType, GeozeroGeometry};
use geojson::{Feature, Geometry, JsonObject, Value};
use std::io::Write;

use crate::crs::is_compound;
use crate::output::{Output, write_atomic};
use crate::{Crs, Error, Result};

/// Writes lines as a GeoJSON FeatureCollection of LineStrings, each with its height as the property `elevation`. A line
/// is its height and its points (x, y). It takes lines one after the other, so that they need not fit the memory
/// together. An error from the iterator ends the call.
///
/// GeoJSON (RFC 7946) knows only longitude and latitude on WGS 84. Coordinates are written unchanged. The member `crs`
/// of the format's 2008 version names any other reference system; GDAL, QGIS and GeoPandas read it. The name is an EPSG
/// code, or both codes of a compound system, or WKT, which GDAL takes as well. [`is_named_in_geojson`] tells whether
/// the system can be named, and [`has_named_heights`] whether its vertical part can.
///
/// ```
/// use geo_io::{Shape, read_features, write_lines};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("contours.geojson");
/// let line = [[0.0, 0.0], [4.0, 3.0]];
/// write_lines(&path, [Ok((100.0, line))], None)?;
/// let found = read_features(&path)?;
/// assert_eq!(found.shapes, [Some(Shape::Lines(vec![line.to_vec()]))]);
/// assert_eq!(found.properties[0].get("elevation").and_then(|z| z.as_f64()), Some(100.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::BadValue`]: a coordinate is not finite.
/// - The error that the iterator returns instead of a line.
/// - The errors of writing.
pub fn write_lines<'a, L: AsRef<[[f64; 2]]>>(
    output: impl Into<Output<'a>>,
    lines: impl IntoIterator<Item = Result<(f64, L)>>,
    crs: Option<&Crs>,
) -> Result<()> {
    let features = lines.into_iter().map(|line| {
        let (elevation, points) = line?;
        feature(elevation, points.as_ref())
    });
    write_collection(output.into(), features, crs)
}

/// Returns whether readers of Tessera's GeoJSON files recognise the system: it has an EPSG code, or WKT.
///
/// ```
/// use geo_io::{Crs, is_named_in_geojson};
///
/// assert!(is_named_in_geojson(&Crs::parse("EPSG:32632")?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_named_in_geojson(crs: &Crs) -> bool {
    crs.epsg().is_some() || crs.wkt().is_some()
}

/// Whether a GeoJSON file can name the vertical part of a system. It can if the part has an EPSG code, or if the system
/// has WKT. True for a system without a vertical part.
///
/// ```
/// use geo_io::{Crs, has_named_heights};
///
/// assert!(has_named_heights(&Crs::parse("EPSG:32632+5773")?)); // 5773: heights above EGM96
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn has_named_heights(crs: &Crs) -> bool {
    !crs.has_heights() || crs.vertical_epsg().is_some() || crs.wkt().is_some()
}

/// Writes features one after the other, so that the collection need not be in memory.
pub(crate) fn write_collection(
    output: Output<'_>,
    features: impl Iterator<Item = Result<Feature>>,
    crs: Option<&Crs>,
) -> Result<()> {
    let path = output.path;
    write_atomic(output, |file| {
        let failed = |e: std::io::Error| Error::write(path, e);
        write!(file, "{{\"type\":\"FeatureCollection\",").map_err(failed)?;
        if let Some(name) = crs.and_then(name_of) {
            let member = serde_json::json!({"type": "name", "properties": {"name": name}});
            write!(file, "\"crs\":{member},").map_err(failed)?;
        }
        write!(file, "\"features\":[").map_err(failed)?;
        for (i, feature) in features.enumerate() {
            let separator = if i == 0 { "\n" } else { ",\n" };
            write!(file, "{separator}{}", feature?).map_err(failed)?;
        }
        writeln!(file, "\n]}}").map_err(failed)
    })
}

/// The name of a system in the member `crs`; `None` for the one that GeoJSON has without it, and for one whose only form is
/// GeoTIFF keys without a code.
fn name_of(crs: &Crs) -> Option<String> {
    const WGS_84: u16 = 4326;
    let of_text = || crs.wkt().map(str::to_owned);
    match (crs.epsg(), crs.vertical_epsg()) {
        (Some(code), Some(heights)) if !is_compound(code) => {
            Some(format!("urn:ogc:def:crs,crs:EPSG::{code},crs:EPSG::{heights}"))
        }
        (Some(code), None) if crs.has_heights() => of_text().or_else(|| of_code(code)),
        (Some(WGS_84), _) => None,
        (Some(code), _) => of_code(code),
        (None, _) => of_text(),
    }
}

fn of_code(code: u16) -> Option<String> {
    Some(format!("urn:ogc:def:crs:EPSG::{code}"))
}

/// Writes lines as FlatGeobuf: LineStrings with an index, each with its height as the column `elevation`. A line is its
/// height and its points (x, y). The file names the reference system by its EPSG code, or states it as WKT. It does not
/// write a vertical part beside a code.
///
/// The lines go to an unnamed file until all have come.
///
/// ```
/// use geo_io::{Crs, read_features, write_flatgeobuf};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("contours.fgb");
/// let utm = Crs::parse("EPSG:32632")?;
/// write_flatgeobuf(&path, [Ok((100.0, [[0.0, 0.0], [4.0, 3.0]]))], Some(&utm))?;
/// let found = read_features(&path)?;
/// assert_eq!(found.crs, Some(utm));
/// assert_eq!(found.properties[0].get("elevation").and_then(|z| z.as_f64()), Some(100.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_lines`].
pub fn write_flatgeobuf<'a, L: AsRef<[[f64; 2]]>>(
    output: impl Into<Output<'a>>,
    lines: impl IntoIterator<Item = Result<(f64, L)>>,
    crs: Option<&Crs>,
) -> Result<()> {
    let output = output.into();
    write_atomic(output, |file| {
        let failed = |e: &dyn std::fmt::Display| Error::write(output.path, e);
        let options = options(crs);
        let kind = GeometryType::LineString;
        let mut writer =
            FgbWriter::create_with_options("contours", kind, options).map_err(|e| failed(&e))?;
        writer.add_column("elevation", ColumnType::Double, |_, _| {});
        for line in lines {
            let (elevation, points) = line?;
            let points = points.as_ref();
            check(elevation, points)?;
            let mut stated = Ok(false);
            let added = writer.add_feature_geom(Line(points), |feature| {
                stated = feature.property(0, "elevation", &ColumnValue::Double(elevation));
            });
            added.and(stated.map(drop)).map_err(|e| failed(&e))?;
        }
        writer.write(file).map_err(|e| failed(&e))
    })
}

/// How FlatGeobuf is written: in a system, each feature of the type that is said.
pub(crate) fn options(crs: Option<&Crs>) -> FgbWriterOptions<'_> {
    let crs = FgbCrs {
        code: crs.and_then(Crs::epsg).map_or(0, i32::from),
        wkt: crs.and_then(Crs::wkt),
        ..Default::default()
    };
    FgbWriterOptions { crs, detect_type: false, promote_to_multi: false, ..Default::default() }
}

/// A line's points, for a writer.
struct Line<'a>(&'a [[f64; 2]]);

impl GeozeroGeometry for Line<'_> {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> geozero::error::Result<()> {
        processor.linestring_begin(true, self.0.len(), 0)?;
        for (i, [x, y]) in self.0.iter().enumerate() {
            processor.xy(*x, *y, i)?;
        }
        processor.linestring_end(true, 0)
    }
}

/// Numbers that GeoJSON has no word for are refused.
pub(crate) fn check(number: f64, points: &[[f64; 2]]) -> Result<()> {
    let mut all = points.iter().flatten().chain([&number]);
    match all.find(|value| !value.is_finite()) {
        Some(&value) => {
            Err(Error::BadValue { what: "coordinate", value, expected: "a finite number" })
        }
        None => Ok(()),
    }
}

fn feature(elevation: f64, points: &[[f64; 2]]) -> Result<Feature> {
    check(elevation, points)?;
    let line = points.iter().map(|point| point.to_vec()).collect();
    let mut properties = JsonObject::new();
    properties.insert("elevation".to_owned(), elevation.into());
    Ok(Feature {
        geometry: Some(Geometry::new(Value::LineString(line))),
        properties: Some(properties),
        ..Feature::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use geojson::GeoJson;

    fn nothing() -> [Result<(f64, Vec<[f64; 2]>)>; 0] {
        []
    }

    #[test]
    fn lines_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.geojson");
        let (a, b) = ([[0.5, 1.0], [2.0, 3.25]], [[7.0, 8.0], [9.0, 10.0], [7.0, 8.0]]);
        let lines = [(10.0, &a[..]), (12.5, &b[..])];
        write_lines(&path, lines.map(Ok), Some(&Crs::parse("EPSG:26910").unwrap())).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("EPSG::26910"));
        let GeoJson::FeatureCollection(collection) = text.parse::<GeoJson>().unwrap() else {
            panic!("no collection: {text}")
        };
        assert_eq!(collection.features.len(), 2);
        for (feature, (elevation, points)) in collection.features.iter().zip(lines) {
            assert_eq!(feature.property("elevation").unwrap().as_f64(), Some(elevation));
            let Value::LineString(line) = &feature.geometry.as_ref().unwrap().value else {
                panic!("no line: {feature}")
            };
            assert_eq!(line, &points.iter().map(|p| p.to_vec()).collect::<Vec<_>>());
        }
        let wkt = "LOCAL_CS[\"site\",UNIT[\"metre\",1]]";
        write_lines(&path, nothing(), Crs::from_wkt(wkt).as_ref()).unwrap();
        let found = std::fs::read_to_string(&path).unwrap().parse::<geojson::JsonValue>().unwrap();
        assert_eq!(found["crs"]["properties"]["name"], wkt);
        write_lines(&path, nothing(), None).unwrap();
        let empty = std::fs::read_to_string(&path).unwrap().parse::<GeoJson>().unwrap();
        assert!(matches!(empty, GeoJson::FeatureCollection(c) if c.features.is_empty()));
    }

    /// `ogrinfo` reads systems by name and by WKT, and none but WGS 84 where none is stated.
    #[test]
    fn gdal_reads_the_system() {
        const WKT: &str = r#"PROJCS["own",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",3.5],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]"#;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.geojson");
        let line = [[448_006.0, 5_411_002.0], [448_997.0, 5_411_995.0]];
        let (utm, own) = (Crs::parse("EPSG:32631").unwrap(), Crs::from_wkt(WKT).unwrap());
        let both = |text: &str| Crs::parse(text).unwrap();
        let heights = [both("EPSG:32631+5703"), both("EPSG:5498"), both("EPSG:4326+5773")];
        let of_text = format!(
            r#"COMPD_CS["both",{WKT},VERT_CS["own heights",VERT_DATUM["own",2005],UNIT["metre",1]]]"#
        );
        let of_text = Crs::from_wkt(&of_text).unwrap();
        let degrees = Crs::parse("EPSG:4326").unwrap();
        for (crs, words, has_member) in [
            (Some(&utm), "ID[\"EPSG\",32631]", true),
            (Some(&own), "PROJCRS[\"own\"", true),
            (Some(&heights[0]), "VERTCRS[\"NAVD88 height\"", true),
            (Some(&heights[1]), "VERTCRS[\"NAVD88 height\"", true),
            (Some(&heights[2]), "VERTCRS[\"EGM96 height\"", true),
            (Some(&of_text), "VERTCRS[\"own heights\"", true),
            (Some(&degrees), "GEOGCRS[\"WGS 84\"", false),
            (None, "GEOGCRS[\"WGS 84\"", false),
        ] {
            write_lines(&path, [Ok((1.0, &line[..]))], crs).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text.contains("\"crs\""), has_member, "{text}");
            assert_eq!(
                crate::read_features(&path).unwrap().crs.as_ref(),
                crs.filter(|_| has_member)
            );
            let ran =
                std::process::Command::new("ogrinfo").args(["-al", "-so"]).arg(&path).output();
            match ran {
                Ok(ran) => {
                    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
                    assert!(said.contains(words), "{crs:?}: {said}");
                }
                Err(_) => println!("skipped: no ogrinfo"),
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_named_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.geojson");
        let line = [[0.0, f64::NAN], [1.0, 1.0]];
        let result = write_lines(&path, [Ok((1.0, &line[..]))], None);
        assert!(matches!(result, Err(Error::BadValue { .. })));
        let result = write_flatgeobuf(&path, [Ok((1.0, &line[..]))], None);
        assert!(matches!(result, Err(Error::BadValue { .. })));
        // So does a line that cannot be had.
        let lines = || [Ok((1.0, &line[1..])), Err(Error::Cancelled)];
        assert!(matches!(write_lines(&path, lines(), None), Err(Error::Cancelled)));
        assert!(matches!(write_flatgeobuf(&path, lines(), None), Err(Error::Cancelled)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
