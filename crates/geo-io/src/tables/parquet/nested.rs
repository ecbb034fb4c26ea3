//! Geometries as lists of numbers, as in GeoArrow: separated, with a column for each coordinate, or interleaved, with
//! one column of vertices that are lists.

use ::parquet::basic::Repetition;
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};

use super::columns::{Batch, Values};
use super::{Geometries, Geometry};
use crate::tables::Vertex;

/// The kinds of geometries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Point,
    Line,
    Polygon,
    Points,
    Lines,
    Polygons,
}

impl Kind {
    /// The kind of geometry that an encoding's name means.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "point" => Self::Point,
            "linestring" => Self::Line,
            "polygon" => Self::Polygon,
            "multipoint" => Self::Points,
            "multilinestring" => Self::Lines,
            "multipolygon" => Self::Polygons,
            _ => return None,
        })
    }

    /// How deep lists of vertices lie in lists.
    fn depth(self) -> usize {
        match self {
            Self::Point => 0,
            Self::Line | Self::Points => 1,
            Self::Polygon | Self::Lines => 2,
            Self::Polygons => 3,
        }
    }
}

/// Geometries whose vertices are in leaves of the schema.
pub(super) struct Nested {
    /// The leaf columns of x, y and z, or the single one of all.
    pub leaves: Vec<usize>,
    kind: Kind,
    is_interleaved: bool,
    /// The definition level from which a geometry is there.
    is_there: i16,
    /// The definition level from which each list has an element, from the outermost on.
    has_element: Vec<i16>,
    /// The definition level at which a number is there.
    most: i16,
}

impl Nested {
    pub fn new(schema: &SchemaDescriptor, leaves: &[usize], kind: Kind) -> Result<Self, String> {
        let name = |&leaf: &usize| schema.column(leaf).name().to_ascii_lowercase();
        let named = |axis: &str| leaves.iter().copied().find(|leaf| name(leaf) == axis);
        let (leaves, is_interleaved) = match (named("x"), named("y"), leaves) {
            (Some(x), Some(y), _) => {
                ([Some(x), Some(y), named("z")].into_iter().flatten().collect(), false)
            }
            (_, _, &[leaf]) => (vec![leaf], true),
            _ => return Err("its geometry has no columns x and y".to_owned()),
        };
        let first = schema.column(leaves[0]);
        let (is_there, has_element) = levels(schema.get_column_root(leaves[0]), &first);
        let expected = kind.depth() + usize::from(is_interleaved);
        if has_element.len() != expected {
            return Err(format!(
                "its geometry has lists {} deep, but its encoding wants {expected}",
                has_element.len()
            ));
        }
        let most = first.max_def_level();
        Ok(Self { leaves, kind, is_interleaved, is_there, has_element, most })
    }

    /// The geometries of the rows of a batch.
    pub fn geometries(&self, parts: Vec<Batch>) -> Result<Geometries, String> {
        let floats: Vec<Vec<f64>> = parts.iter().map(floats).collect::<Result<_, _>>()?;
        let batch = &parts[0];
        if parts.iter().any(|part| part.levels.len() != batch.levels.len())
            || floats.iter().any(|part| part.len() != floats[0].len())
        {
            return Err("its columns of coordinates have different lengths".to_owned());
        }
        let rows = self.rows(batch)?;
        Ok(rows
            .into_iter()
            .map(|row| row.map(|row| self.geometry(&row, &floats)).transpose())
            .collect())
    }

    /// Returns each row's numbers, as values in lists.
    fn rows(&self, batch: &Batch) -> Result<Vec<Option<Node>>, String> {
        let (mut rows, mut values): (Vec<Option<Node>>, usize) = (Vec::new(), 0);
        let depth = self.has_element.len();
        for (i, &level) in batch.levels.iter().enumerate() {
            let repeat =
                batch.repeats.get(i).map_or(0, |&repeat| usize::from(repeat.unsigned_abs()));
            let value = (level == self.most).then(|| {
                values += 1;
                values - 1
            });
            if repeat == 0 {
                let empty = if depth == 0 { Node::Value(value) } else { Node::List(Vec::new()) };
                rows.push((level >= self.is_there).then_some(empty));
            }
            let Some(Some(mut node)) = rows.last_mut().map(Option::as_mut) else { continue };
            for (k, &least) in self.has_element.iter().enumerate() {
                let Node::List(list) = node else { break };
                if level < least {
                    break;
                }
                if k + 1 >= repeat.max(1) {
                    let is_last = k + 1 == depth;
                    list.push(if is_last { Node::Value(value) } else { Node::List(Vec::new()) });
                }
                node = list.last_mut().ok_or(
                    "a repetition level in its lists comes before the list begins".to_owned(),
                )?;
            }
        }
        Ok(rows)
    }

    fn geometry(&self, row: &Node, floats: &[Vec<f64>]) -> Result<Geometry, String> {
        let vertex = |node: &Node| self.vertex(node, floats);
        let line =
            |node: &Node| node.list()?.iter().map(vertex).collect::<Result<Vec<Vertex>, String>>();
        let lines = |node: &Node| node.list()?.iter().map(line).collect::<Result<Vec<_>, String>>();
        Ok(match self.kind {
            Kind::Point => match row {
                // An empty list, or a point without its numbers.
                Node::List(list) if list.is_empty() => Geometry::Points(Vec::new()),
                Node::Value(None) => Geometry::Points(Vec::new()),
                row => Geometry::Points(vec![vertex(row)?]),
            },
            Kind::Points => Geometry::Points(line(row)?),
            Kind::Line => Geometry::Lines(vec![line(row)?]),
            Kind::Lines => Geometry::Lines(lines(row)?),
            Kind::Polygon => Geometry::Polygons(vec![lines(row)?]),
            Kind::Polygons => {
                Geometry::Polygons(row.list()?.iter().map(lines).collect::<Result<_, String>>()?)
            }
        })
    }

    fn vertex(&self, node: &Node, floats: &[Vec<f64>]) -> Result<Vertex, String> {
        let missing = || "a vertex lacks a number".to_owned();
        let at = |column: usize, node: &Node| match node {
            Node::Value(Some(value)) => floats[column].get(*value).copied().ok_or_else(missing),
            _ => Err(missing()),
        };
        match (self.is_interleaved, floats.len()) {
            (false, 2) => Ok([at(0, node)?, at(1, node)?, f64::NAN]),
            (false, _) => Ok([at(0, node)?, at(1, node)?, at(2, node)?]),
            (true, _) => match node.list()? {
                [x, y] => Ok([at(0, x)?, at(0, y)?, f64::NAN]),
                [x, y, z] | [x, y, z, _] => Ok([at(0, x)?, at(0, y)?, at(0, z)?]),
                list => Err(format!("a vertex has {} numbers", list.len())),
            },
        }
    }
}

/// A list, or the number of a value, which may be missing.
enum Node {
    List(Vec<Node>),
    Value(Option<usize>),
}

impl Node {
    fn list(&self) -> Result<&[Node], String> {
        match self {
            Self::List(list) => Ok(list),
            Self::Value(_) => Err("its geometry has a number where a list should be".to_owned()),
        }
    }
}

/// The definition level from which a column is there, and that from which each of its lists has an element.
fn levels(root: &Type, leaf: &ColumnDescriptor) -> (i16, Vec<i16>) {
    let (mut node, mut level, mut elements) = (root, 0, Vec::new());
    let mut is_there = 0;
    for (i, part) in leaf.path().parts().iter().enumerate() {
        if i > 0 {
            match node.get_fields().iter().find(|field| field.name() == part) {
                Some(next) => node = next,
                None => break,
            }
        }
        match node.get_basic_info().repetition() {
            Repetition::REQUIRED => {}
            Repetition::OPTIONAL => level += 1,
            Repetition::REPEATED => {
                level += 1;
                elements.push(level);
            }
        }
        if i == 0 {
            is_there = level;
        }
    }
    (is_there, elements)
}

fn floats(batch: &Batch) -> Result<Vec<f64>, String> {
    match &batch.values {
        Values::Doubles(all) => Ok(all.clone()),
        Values::Floats(all) => Ok(all.iter().map(|&value| value.into()).collect()),
        _ => Err("its coordinates are not floats".to_owned()),
    }
}
