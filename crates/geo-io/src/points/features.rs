//! Points from tables of features: places from geometries, values from columns.

use std::path::Path;

use gpu_core::Progress;

use super::collect::Collector;
use super::csv::note_on_rounding;
use super::{Keep, report};
use crate::tables::{self, Field, Geometry, Kind, Stop, row_name};
use crate::{CsvColumns, Error, Filter, Number, PointCloud, Result};

/// Reads the points of a table.
pub(crate) fn read(
    path: &Path,
    kind: Kind,
    filter: &Filter,
    columns: &CsvColumns,
    progress: &dyn Progress,
    keep: Keep,
) -> Result<PointCloud> {
    let table = tables::open(path, kind)?;
    let about = table.about().clone();
    let layout = Layout::find(path, &about, columns)?;
    let mut points =
        Collector::new(path, filter, keep, (columns.values.len(), layout.class.is_some()))?;
    let total = about.rows.unwrap_or(0);
    let (mut before, mut values, mut rounded) = (0, Vec::new(), Rounded::default());
    let mut take = |row: u64, geometry: Option<Geometry>, fields: Vec<Field>| {
        if row.is_multiple_of(1 << 16) {
            report(progress, row, total)?;
        }
        let row = Row { path, row, layout: &layout, fields: &fields };
        row.values(&mut values)?;
        let class = row.class()?;
        rounded.count(&row);
        for place in row.places(geometry)? {
            points.push(place, class, &values)?;
        }
        before = row.row + 1;
        Ok(())
    };
    tables::each(path, table, &layout.wanted, row_name, &mut take)?;
    report(progress, before, before)?;
    let mut cloud = points.finish()?;
    cloud.crs = about.crs;
    cloud.notes = about.notes;
    cloud.notes.extend(layout.note);
    cloud.notes.extend(rounded.note());
    Ok(cloud)
}

/// Whole numbers that floats of 64 bits do not hold.
#[derive(Default)]
struct Rounded {
    count: u64,
    first: String,
}

impl Rounded {
    fn count(&mut self, row: &Row<'_>) {
        for (field, name) in row.fields.iter().zip(&row.layout.names) {
            let Field::Number(number) = field else { continue };
            if number.to_i128().is_none() || *number == number.to_f64().into() {
                continue;
            }
            if self.count == 0 {
                self.first = format!("{number} in {}, column \"{name}\"", row_name(row.row));
            }
            self.count += 1;
        }
    }

    fn note(&self) -> Option<String> {
        (self.count > 0).then(|| note_on_rounding(self.count, &self.first))
    }
}

/// Which columns have what.
struct Layout {
    /// The columns that are read, without those of the geometry.
    wanted: Vec<usize>,
    names: Vec<String>,
    /// Where among the wanted columns x and y are; `None` where geometries have them.
    xy: Option<[usize; 2]>,
    z: Height,
    values: Vec<usize>,
    class: Option<usize>,
    note: Option<String>,
}

/// Where the third coordinate is.
#[derive(Clone, Copy, PartialEq)]
enum Height {
    Column(usize),
    /// In the geometry.
    Place,
    /// It is not wanted: y stands for it.
    None,
}

impl Layout {
    fn find(path: &Path, about: &tables::About, columns: &CsvColumns) -> Result<Self> {
        let names = &about.columns;
        let mut wanted = Vec::new();
        let mut want = |column: usize| {
            wanted.iter().position(|of| *of == column).unwrap_or_else(|| {
                wanted.push(column);
                wanted.len() - 1
            })
        };
        let find = |name: &str| position(path, names, name.trim());
        let need = |name: &str, is_value| {
            find(name)?.ok_or_else(|| no_column(path, names, name, is_value))
        };
        let CsvColumns { x, y, z, values } = columns;
        let xy = match about.has_geometry {
            true => None,
            false => Some([want(need(x, false)?), want(need(y, false)?)]),
        };
        let z = match (find(z)?, about.has_geometry) {
            _ if z == y => Height::None,
            (Some(column), _) => Height::Column(want(column)),
            // Any other name means a column, and a misspelt name is not a column.
            (None, true) if z.trim().eq_ignore_ascii_case("z") => Height::Place,
            (None, _) => return Err(no_column(path, names, z, false)),
        };
        let values = values.iter().map(|name| need(name, true).map(&mut want));
        let values = values.collect::<Result<Vec<_>>>()?;
        let is_class = |name: &String| {
            ["class", "classification"].contains(&name.to_ascii_lowercase().as_str())
        };
        let class = names.iter().position(is_class).map(&mut want);
        let is_there = find(x)?.is_some() && find(y)?.is_some();
        let note = (about.has_geometry && is_there).then(|| {
            format!("x and y are those of its geometries, not of its columns \"{x}\" and \"{y}\"")
        });
        let names = wanted.iter().map(|&column| names[column].clone()).collect();
        Ok(Self { wanted, names, xy, z, values, class, note })
    }
}

/// The column of a name, upper or lower case alike, or of a number from 1.
fn position(path: &Path, names: &[String], name: &str) -> Result<Option<usize>> {
    if let Some(exact) = names.iter().position(|of| of == name) {
        return Ok(Some(exact));
    }
    let mut alike = (0..names.len()).filter(|&i| names[i].to_lowercase() == name.to_lowercase());
    match (alike.next(), alike.count()) {
        (Some(one), 0) => Ok(Some(one)),
        (Some(_), more) => Err(Error::AmbiguousColumn {
            path: path.to_owned(),
            column: name.to_owned(),
            count: more + 1,
        }),
        (None, _) => {
            let number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            Ok(number.filter(|&column| column < names.len()))
        }
    }
}

fn no_column(path: &Path, names: &[String], name: &str, is_value: bool) -> Error {
    let columns = match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    Error::NoColumn { path: path.to_owned(), column: name.to_owned(), columns, is_value }
}

/// A row of a table.
struct Row<'a> {
    path: &'a Path,
    row: u64,
    layout: &'a Layout,
    fields: &'a [Field],
}

impl Row<'_> {
    /// The places of its points; those of a multi-point have the same values.
    fn places(&self, geometry: Option<Geometry>) -> Result<Vec<[f64; 3]>, Stop> {
        let wrong = |reason: String| Stop::Row(self.row, reason);
        let vertices = match (self.layout.xy, geometry) {
            (Some([x, y]), _) => vec![[self.number(x)?, self.number(y)?, f64::NAN]],
            (None, Some(Geometry::Points(vertices))) => vertices,
            (None, Some(other)) => {
                return Err(wrong(format!("its geometry is a {}, not a point", other.kind())));
            }
            (None, None) => {
                return Err(wrong(
                    "it has no geometry: give it one, or leave the row out".to_owned(),
                ));
            }
        };
        let z = match self.layout.z {
            Height::Column(column) => Some(self.number(column)?),
            Height::Place | Height::None => None,
        };
        let place = |[x, y, height]: [f64; 3]| match (z, self.layout.z) {
            (Some(z), _) => Ok([x, y, z]),
            (None, Height::None) => Ok([x, y, y]),
            _ if height.is_nan() => Err(wrong(
                "its point has no height: name a column of values with --columns".to_owned(),
            )),
            _ => Ok([x, y, height]),
        };
        vertices.into_iter().map(place).collect()
    }

    fn values(&self, values: &mut Vec<f64>) -> Result<(), Stop> {
        values.clear();
        for &column in &self.layout.values {
            values.push(self.number(column)?);
        }
        Ok(())
    }

    /// A finite number.
    fn number(&self, column: usize) -> Result<f64, Stop> {
        let number = match &self.fields[column] {
            Field::Number(number) | Field::Rounded(number) => Some(*number),
            Field::Text(text) => text.parse::<Number>().ok(),
            _ => None,
        };
        let value = number.map(Number::to_f64).filter(|value| value.is_finite());
        value.ok_or_else(|| self.bad(column, "a finite number"))
    }

    fn class(&self) -> Result<u8, Stop> {
        let Some(column) = self.layout.class else { return Ok(0) };
        let class = self.number(column).ok();
        let class = class.filter(|c| (0.0..=255.0).contains(c) && c.fract() == 0.0);
        class.map(|c| c as u8).ok_or_else(|| self.bad(column, "a class from 0 to 255"))
    }

    fn bad(&self, column: usize, expected: &'static str) -> Stop {
        Stop::Taker(Error::BadField {
            path: self.path.to_owned(),
            row: self.row + 1,
            line: None,
            column: self.layout.names[column].clone(),
            text: super::csv::shortened(&self.fields[column].shown()).into_owned(),
            expected,
        })
    }
}
