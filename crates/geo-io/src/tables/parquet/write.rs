//! Writes GeoParquet: rows of numbers or of properties, each with a geometry in WKB.

use std::collections::BTreeSet;
use std::io::BufWriter;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use serde_json::{Value, json};

use crate::output::write_atomic;
use crate::tables::{Geometry, Vertex, wkb};
use crate::vectors::lines::check;
use crate::{Crs, Error, Number, Output, Properties, Result, Shape};

/// Rows of a group.
const GROUP: usize = 1 << 16;

/// The column of the geometries.
const GEOMETRY: &str = "geometry";

/// The column of the features' own ids.
const ID: &str = "id";

/// What numbers a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers of 64 bits.
    Whole,
    /// Floats of 64 bits.
    Real,
}

/// Writes shapes as GeoParquet 1.1, each with numbers in columns of these names: geometries as WKB in the column
/// `geometry`, compressed by snappy. The file states the coordinate system as PROJJSON; without one, `crs` is null. It
/// writes rows as they come, 65,536 at once.
///
/// # Errors
/// - [`Error::BadValue`]: a coordinate is not finite.
/// - [`Error::Write`]: PROJJSON cannot state the system ([`Crs::projjson`]), or a column cannot hold a number.
/// - The errors of writing.
///
/// ```
/// use geo_io::{ColumnType, Crs, Number, Shape};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("stations.parquet");
/// let rows = [(vec![Number::from(21.5)], Shape::Points(vec![[500_000.0, 4_100_000.0]]))];
/// let utm = Crs::parse("EPSG:32631")?;
/// geo_io::write_geoparquet(&path, &[("value", ColumnType::Real)], rows, Some(&utm))?;
/// let found = geo_io::read_features(&path)?;
/// assert_eq!((found.shapes.len(), found.crs), (1, Some(utm)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_geoparquet<'a>(
    output: impl Into<Output<'a>>,
    columns: &[(&str, ColumnType)],
    rows: impl IntoIterator<Item = (Vec<Number>, Shape)>,
    crs: Option<&Crs>,
) -> Result<()> {
    let rows = rows.into_iter().map(|(numbers, shape)| {
        Ok((numbers.into_iter().map(Number::to_json).collect(), geometry_of(shape)))
    });
    write(output.into(), of_numbers(columns), rows, crs)
}

/// Writes shapes as GeoParquet, as [`write_geoparquet`] does, each with its properties. A column has whole numbers,
/// floats or booleans if all of its values are of that type, else text. A missing property is null. The features' own
/// ids ([`Properties::id`]) go into a column `id`. If a property has that name, in upper or lower case, the property
/// stays and the ids are dropped.
///
/// ```
/// use geo_io::{Shape, read_features, write_geoparquet_features};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("places.parquet");
/// let place = Shape::Points(vec![[8.5, 47.4]]);
/// write_geoparquet_features(&path, [(vec![("visits", 3)], place.clone())], None)?;
/// let found = read_features(&path)?;
/// assert_eq!(found.shapes, [Some(place)]);
/// assert_eq!(found.properties[0].get("visits").and_then(|visits| visits.as_i64()), Some(3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_geoparquet`].
pub fn write_geoparquet_features<'a, P: Into<Properties>>(
    output: impl Into<Output<'a>>,
    features: impl IntoIterator<Item = (P, Shape)>,
    crs: Option<&Crs>,
) -> Result<()> {
    let features = features.into_iter().map(|(of, shape)| (of.into(), geometry_of(shape)));
    let mut features: Vec<(Properties, Geometry)> = features.collect();
    ids_become_a_column(features.iter_mut().map(|(properties, _)| properties));
    let columns = of_properties(features.iter().map(|(properties, _)| properties));
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let rows = features.into_iter().map(|(Properties { mut named, .. }, geometry)| {
        let take = |name: &String| named.remove(name).unwrap_or(Value::Null);
        Ok((names.iter().map(take).collect(), geometry))
    });
    write(output.into(), columns, rows, crs)
}

/// Makes the features' own ids properties, if no property has their name. Most readers take names in upper and lower
/// case for one.
fn ids_become_a_column<'a>(all: impl Iterator<Item = &'a mut Properties>) {
    let mut all: Vec<&mut Properties> = all.collect();
    let is_taken = |of: &&mut Properties| of.names().any(|name| name.eq_ignore_ascii_case(ID));
    if all.iter().any(is_taken) {
        return;
    }
    for Properties { id, named } in &mut all {
        named.extend(id.take().map(|id| (ID.to_owned(), id)));
    }
}

/// Writes lines as GeoParquet, each with its level as `elevation`, like [`write_lines`](crate::write_lines) for
/// GeoJSON. The lines need not fit the memory together.
///
/// ```
/// use geo_io::{Shape, read_features, write_geoparquet_lines};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("contours.parquet");
/// let line = [[0.0, 0.0], [4.0, 3.0]];
/// write_geoparquet_lines(&path, [Ok((100.0, line))], None)?;
/// let found = read_features(&path)?;
/// assert_eq!(found.shapes, [Some(Shape::Lines(vec![line.to_vec()]))]);
/// assert_eq!(found.properties[0].get("elevation").and_then(|z| z.as_f64()), Some(100.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_geoparquet`], and the errors of lines.
pub fn write_geoparquet_lines<'a, L: AsRef<[[f64; 2]]>>(
    output: impl Into<Output<'a>>,
    lines: impl IntoIterator<Item = Result<(f64, L)>>,
    crs: Option<&Crs>,
) -> Result<()> {
    let rows = lines.into_iter().map(|line| {
        let (level, points) = line?;
        let shape = Shape::Lines(vec![points.as_ref().to_vec()]);
        Ok((vec![Number::from(level).to_json()], geometry_of(shape)))
    });
    write(output.into(), of_numbers(&[("elevation", ColumnType::Real)]), rows, crs)
}

/// Writes triangles as GeoParquet, as [`write_geoparquet`] does: each a polygon with the heights of its corners.
///
/// ```
/// use geo_io::{Shape, read_features, write_geoparquet_mesh};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("mesh.parquet");
/// write_geoparquet_mesh(&path, &[[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 6.0]], &[[0, 1, 2]], None)?;
/// let ring = vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
/// assert_eq!(read_features(&path)?.shapes, [Some(Shape::Polygons(vec![vec![ring]]))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - The errors of [`write_geoparquet`].
/// - [`Error::Shape`]: a triangle names a corner beyond the vertices.
pub fn write_geoparquet_mesh<'a>(
    output: impl Into<Output<'a>>,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    crs: Option<&Crs>,
) -> Result<()> {
    let is_there = |corner: &&u32| (**corner as usize) < vertices.len();
    if let Some(&corner) = triangles.iter().flatten().find(|corner| !is_there(corner)) {
        let (expected, found) = (u64::from(corner) + 1, vertices.len() as u64);
        return Err(Error::Shape { what: "vertices", expected, found });
    }
    let rows = triangles.iter().map(|&[a, b, c]| {
        let ring = [a, b, c, a].map(|corner| vertices[corner as usize]);
        Ok((Vec::new(), Geometry::Polygons(vec![vec![ring.to_vec()]])))
    });
    write(output.into(), Vec::new(), rows, crs)
}

/// A column out: its name, and what it has of the rows of a group.
struct Column {
    name: String,
    values: Values,
    /// For each row, 1 if it has a value, else 0.
    levels: Vec<i16>,
}

/// Values by their types.
#[derive(Clone, Debug)]
enum Values {
    Bools(Vec<bool>),
    Whole(Vec<i64>),
    /// With their sign for a bit.
    Unsigned(Vec<i64>),
    Real(Vec<f64>),
    Texts(Vec<ByteArray>),
}

fn of_numbers(columns: &[(&str, ColumnType)]) -> Vec<Column> {
    let column = |&(name, of): &(&str, ColumnType)| match of {
        ColumnType::Whole => Column::new(name, Values::Whole(Vec::new())),
        ColumnType::Real => Column::new(name, Values::Real(Vec::new())),
    };
    columns.iter().map(column).collect()
}

/// Floats as texts that stand for no number.
const ODD: [&str; 3] = ["NaN", "inf", "-inf"];

/// The types of the columns.
#[derive(Clone, Copy, Default)]
struct Kinds {
    bools: bool,
    negative: bool,
    /// Beyond the whole numbers of 64 bits with a sign.
    large: bool,
    /// Whole numbers that no float of 64 bits holds.
    exact: bool,
    real: bool,
    texts: bool,
    whole: bool,
    /// NaN or an infinity, which JSON has no numbers for.
    odd: bool,
}

/// The columns that hold all properties, in the order in which they first come.
fn of_properties<'a>(all: impl Iterator<Item = &'a Properties>) -> Vec<Column> {
    let mut found: Vec<(&str, Kinds)> = Vec::new();
    for (name, value) in all.flat_map(|properties| &properties.named) {
        let at = found.iter().position(|(of, _)| of == name).unwrap_or_else(|| {
            found.push((name, Kinds::default()));
            found.len() - 1
        });
        let kinds = &mut found[at].1;
        match value {
            Value::Null => {}
            Value::Bool(_) => kinds.bools = true,
            Value::Number(number) if number.is_f64() => kinds.real = true,
            Value::Number(number) => {
                kinds.whole = true;
                kinds.large |= !number.is_i64();
                kinds.negative |= !number.is_u64();
                kinds.exact |= !is_float(number);
            }
            Value::String(text) if ODD.contains(&&text[..]) => kinds.odd = true,
            _ => kinds.texts = true,
        }
    }
    let values = |kinds: Kinds| match kinds {
        Kinds { odd: true, exact: false, texts: false, bools: false, .. } => {
            Values::Real(Vec::new())
        }
        Kinds { odd: true, .. } => Values::Texts(Vec::new()),
        Kinds { texts: false, bools: true, real: false, whole: false, .. } => {
            Values::Bools(Vec::new())
        }
        // Of floats and whole numbers that floats do not hold, texts lose nothing.
        Kinds { exact: true, real: true, .. }
        | Kinds { exact: true, large: true, negative: true, .. } => Values::Texts(Vec::new()),
        Kinds { texts: false, bools: false, real: true, .. }
        | Kinds { texts: false, bools: false, large: true, negative: true, .. } => {
            Values::Real(Vec::new())
        }
        Kinds { texts: false, bools: false, large: true, .. } => Values::Unsigned(Vec::new()),
        Kinds { texts: false, bools: false, whole: true, .. } => Values::Whole(Vec::new()),
        _ => Values::Texts(Vec::new()),
    };
    found.into_iter().map(|(name, kinds)| Column::new(name, values(kinds))).collect()
}

/// Whether a float of 64 bits holds a whole number.
fn is_float(number: &serde_json::Number) -> bool {
    let whole = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    whole.is_some_and(|whole| (whole as f64) as i128 == whole)
}

fn geometry_of(shape: Shape) -> Geometry {
    let high = |line: Vec<[f64; 2]>| line.into_iter().map(|[x, y]| [x, y, f64::NAN]).collect();
    let all = |lines: Vec<Vec<[f64; 2]>>| lines.into_iter().map(high).collect::<Vec<Vec<Vertex>>>();
    match shape {
        Shape::Points(places) => Geometry::Points(high(places)),
        Shape::Lines(lines) => Geometry::Lines(all(lines)),
        Shape::Polygons(polygons) => Geometry::Polygons(polygons.into_iter().map(all).collect()),
        Shape::Several(parts) => Geometry::Several(parts.into_iter().map(geometry_of).collect()),
    }
}

type File<'a> = SerializedFileWriter<&'a mut BufWriter<std::fs::File>>;
type RowGroup<'a, 'b> = SerializedRowGroupWriter<'a, &'b mut BufWriter<std::fs::File>>;

fn write(
    output: Output<'_>,
    mut columns: Vec<Column>,
    rows: impl Iterator<Item = Result<(Vec<Value>, Geometry)>>,
    crs: Option<&Crs>,
) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| Error::write(output.path, error);
    let crs = super::system::json_of(crs).map_err(|reason| failed(&reason))?;
    let mut geometries = Column::new(GEOMETRY, Values::Texts(Vec::new()));
    for column in &mut columns {
        if column.name == GEOMETRY {
            column.name += "_value";
        }
    }
    let schema = schema(&columns).map_err(|error| failed(&error))?;
    write_atomic(output, |file| {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(|error| failed(&error))?;
        let mut about = Summary::default();
        for row in rows {
            let (values, geometry) = row?;
            about.take(&geometry)?;
            for (column, value) in columns.iter_mut().zip(values) {
                column.push(value).map_err(|reason| failed(&reason))?;
            }
            geometries.push_geometry(&geometry);
            if geometries.levels.len() == GROUP {
                flush(&mut file, &mut columns, &mut geometries).map_err(|error| failed(&error))?;
            }
        }
        flush(&mut file, &mut columns, &mut geometries).map_err(|error| failed(&error))?;
        let meta = about.meta(crs).to_string();
        file.append_key_value_metadata(KeyValue::new("geo".to_owned(), meta));
        file.close().map(drop).map_err(|error| failed(&error))
    })
}

fn schema(columns: &[Column]) -> ParquetResult<Type> {
    let geometry = Type::primitive_type_builder(GEOMETRY, Physical::BYTE_ARRAY)
        .with_repetition(Repetition::OPTIONAL)
        .build()
        .map(Arc::new);
    let fields = columns.iter().map(Column::schema).chain([geometry]);
    let fields = fields.collect::<ParquetResult<Vec<_>>>()?;
    Type::group_type_builder("schema").with_fields(fields).build()
}

/// Writes the rows so far as a group.
fn flush(
    file: &mut File<'_>,
    columns: &mut [Column],
    geometries: &mut Column,
) -> ParquetResult<()> {
    if geometries.levels.is_empty() {
        return Ok(());
    }
    let mut group = file.next_row_group()?;
    columns.iter_mut().chain([geometries]).try_for_each(|column| column.write(&mut group))?;
    group.close().map(drop)
}

impl Column {
    fn new(name: &str, values: Values) -> Self {
        Self { name: name.to_owned(), values, levels: Vec::new() }
    }

    fn schema(&self) -> ParquetResult<Arc<Type>> {
        let kind = match self.values {
            Values::Bools(_) => Physical::BOOLEAN,
            Values::Whole(_) | Values::Unsigned(_) => Physical::INT64,
            Values::Real(_) => Physical::DOUBLE,
            Values::Texts(_) => Physical::BYTE_ARRAY,
        };
        let builder =
            Type::primitive_type_builder(&self.name, kind).with_repetition(Repetition::OPTIONAL);
        let builder = match self.values {
            Values::Unsigned(_) => builder.with_logical_type(Some(LogicalType::integer(64, false))),
            Values::Texts(_) => builder.with_logical_type(Some(LogicalType::String)),
            _ => builder,
        };
        builder.build().map(Arc::new)
    }

    /// Adds a value, which may be null.
    fn push(&mut self, value: Value) -> Result<(), String> {
        self.levels.push(i16::from(!value.is_null()));
        if value.is_null() {
            return Ok(());
        }
        let taken = match &mut self.values {
            Values::Bools(all) => value.as_bool().map(|value| all.push(value)),
            Values::Whole(all) => value.as_i64().map(|value| all.push(value)),
            Values::Unsigned(all) => value.as_u64().map(|value| all.push(value as i64)),
            Values::Real(all) => {
                // What JSON has no numbers for comes as text.
                let text = value.as_str().and_then(|text| text.parse().ok());
                value.as_f64().or(text).map(|value| all.push(value))
            }
            Values::Texts(all) => {
                let text = match &value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                all.push(text.into_bytes().into());
                Some(())
            }
        };
        taken.ok_or_else(|| format!("the column \"{}\" cannot hold {value}", self.name))
    }

    /// Adds a geometry. One without vertices is null.
    fn push_geometry(&mut self, geometry: &Geometry) {
        let is_there = geometry.vertices().next().is_some();
        self.levels.push(i16::from(is_there));
        if let Values::Texts(all) = &mut self.values
            && is_there
        {
            let mut bytes = Vec::new();
            wkb::write(geometry, &mut bytes);
            all.push(bytes.into());
        }
    }

    fn write(&mut self, group: &mut RowGroup<'_, '_>) -> ParquetResult<()> {
        let levels = std::mem::take(&mut self.levels);
        match &mut self.values {
            Values::Bools(all) => write_values::<BoolType>(group, all, &levels),
            Values::Whole(all) | Values::Unsigned(all) => {
                write_values::<Int64Type>(group, all, &levels)
            }
            Values::Real(all) => write_values::<DoubleType>(group, all, &levels),
            Values::Texts(all) => write_values::<ByteArrayType>(group, all, &levels),
        }
    }
}

fn write_values<T: DataType>(
    group: &mut RowGroup<'_, '_>,
    values: &mut Vec<T::T>,
    levels: &[i16],
) -> ParquetResult<()> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, Some(levels), None)?;
    values.clear();
    column.close()
}

/// The metadata about all geometries.
#[derive(Default)]
struct Summary {
    kinds: BTreeSet<String>,
    /// The least and the greatest x and y.
    bounds: Option<[f64; 4]>,
}

impl Summary {
    fn take(&mut self, geometry: &Geometry) -> Result<()> {
        let mut has_heights = true;
        for &[x, y, z] in geometry.vertices() {
            check(if z.is_nan() { 0.0 } else { z }, &[[x, y]])?;
            has_heights &= !z.is_nan();
            let [w, s, e, n] = self.bounds.unwrap_or([x, y, x, y]);
            self.bounds = Some([w.min(x), s.min(y), e.max(x), n.max(y)]);
        }
        let (word, count) = match geometry {
            Geometry::Points(all) => ("Point", all.len()),
            Geometry::Lines(all) => ("LineString", all.len()),
            Geometry::Polygons(all) => ("Polygon", all.len()),
            Geometry::Several(_) => ("GeometryCollection", 1),
        };
        if geometry.vertices().next().is_some() {
            let multi = if count == 1 { "" } else { "Multi" };
            let heights = if has_heights { " Z" } else { "" };
            self.kinds.insert(format!("{multi}{word}{heights}"));
        }
        Ok(())
    }

    fn meta(&self, crs: Value) -> Value {
        let mut column = json!({"encoding": "WKB", "geometry_types": self.kinds, "crs": crs});
        if let Some(bounds) = self.bounds {
            column["bbox"] = json!(bounds);
        }
        json!({"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}})
    }
}
