//! Well-known binary by ISO and by PostGIS (EWKB), in either byte order, with heights and measures.

use super::{Geometry, Vertex};

/// Collections within collections that are read.
const DEEPEST: u32 = 16;

/// Reads a geometry. Measures are ignored.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn read(bytes: &[u8]) -> Result<Geometry, String> {
    let mut bytes = Bytes { rest: bytes, is_big: false };
    let geometry = bytes.geometry(DEEPEST)?;
    match bytes.rest.len() {
        0 => Ok(geometry),
        more => Err(format!("its field has bytes beyond its geometry: {more}")),
    }
}

struct Bytes<'a> {
    rest: &'a [u8],
    is_big: bool,
}

/// Which coordinates a vertex has.
#[derive(Clone, Copy)]
struct Axes {
    has_z: bool,
    has_m: bool,
}

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) =
            self.rest.split_first_chunk().ok_or("its geometry ends too early".to_owned())?;
        self.rest = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u32, String> {
        let bytes = self.take()?;
        Ok(if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn float(&mut self) -> Result<f64, String> {
        let bytes = self.take()?;
        Ok(if self.is_big { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) })
    }

    /// The order of bytes, and the type with its axes.
    fn head(&mut self) -> Result<(u32, Axes), String> {
        self.is_big = match self.take()? {
            [0] => true,
            [1] => false,
            [other] => {
                return Err(format!(
                    "its geometry begins with {other}, but WKB begins with 0 or 1"
                ));
            }
        };
        let code = self.number()?;
        // PostGIS has bits, ISO has thousands.
        if code & 0x2000_0000 != 0 {
            self.number()?;
        }
        let plain = code & 0x0FFF_FFFF;
        let thousands = plain / 1000;
        if thousands > 3 {
            return Err(format!("its geometry is of the unknown type {code}"));
        }
        let has_z = code & 0x8000_0000 != 0 || thousands & 1 != 0;
        let has_m = code & 0x4000_0000 != 0 || thousands & 2 != 0;
        Ok((plain % 1000, Axes { has_z, has_m }))
    }

    fn vertex(&mut self, axes: Axes) -> Result<Vertex, String> {
        let [x, y] = [self.float()?, self.float()?];
        let z = if axes.has_z { self.float()? } else { f64::NAN };
        if axes.has_m {
            self.float()?;
        }
        Ok([x, y, z])
    }

    /// As many as a count says, each of `least` bytes or more.
    fn list<T>(
        &mut self,
        least: usize,
        each: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let count = self.number()? as usize;
        if count.saturating_mul(least) > self.rest.len() {
            return Err("its geometry ends too early".to_owned());
        }
        (0..count).map(|_| each(self)).collect()
    }

    fn line(&mut self, axes: Axes) -> Result<Vec<Vertex>, String> {
        let floats = 2 + usize::from(axes.has_z) + usize::from(axes.has_m);
        self.list(8 * floats, |bytes| bytes.vertex(axes))
    }

    fn geometry(&mut self, depth: u32) -> Result<Geometry, String> {
        let (kind, axes) = self.head()?;
        if depth == 0 {
            return Err(format!("its collections lie more than {DEEPEST} deep within each other"));
        }
        let mut parts = || self.list(5, |bytes| bytes.geometry(depth - 1));
        let mixed = || "its parts are of another type than they should be".to_owned();
        Ok(match kind {
            1 => Geometry::Points(vec![self.vertex(axes)?]),
            2 => Geometry::Lines(vec![self.line(axes)?]),
            3 | 17 => Geometry::Polygons(vec![self.list(4, |bytes| bytes.line(axes))?]),
            4 => Geometry::Points(
                joined(parts()?, |part| match part {
                    Geometry::Points(all) => Some(all),
                    _ => None,
                })
                .ok_or_else(mixed)?,
            ),
            5 => Geometry::Lines(
                joined(parts()?, |part| match part {
                    Geometry::Lines(all) => Some(all),
                    _ => None,
                })
                .ok_or_else(mixed)?,
            ),
            // Of polygons, and of a surface or a network of triangles.
            6 | 15 | 16 => Geometry::Polygons(
                joined(parts()?, |part| match part {
                    Geometry::Polygons(all) => Some(all),
                    _ => None,
                })
                .ok_or_else(mixed)?,
            ),
            7 => Geometry::Several(parts()?),
            8..=12 => {
                return Err("its geometry has curves: convert them to lines, as by ogr2ogr -nlt \
                 CONVERT_TO_LINEAR"
                    .to_owned());
            }
            other => return Err(format!("its geometry is of the unknown type {other}")),
        })
    }
}

/// The elements of all parts.
fn joined<T>(parts: Vec<Geometry>, of: impl Fn(Geometry) -> Option<Vec<T>>) -> Option<Vec<T>> {
    let lists: Option<Vec<Vec<T>>> = parts.into_iter().map(of).collect();
    lists.map(|lists| lists.into_iter().flatten().collect())
}

/// Writes a geometry in little-endian ISO WKB, with heights if all of its vertices have one. Several parts become a multi-geometry.
#[cfg(feature = "parquet")]
pub(crate) fn write(geometry: &Geometry, out: &mut Vec<u8>) {
    let mut vertices = geometry.vertices();
    let has_z = geometry.vertices().next().is_some() && vertices.all(|vertex| !vertex[2].is_nan());
    Writer { out, has_z }.geometry(geometry);
}

#[cfg(feature = "parquet")]
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    has_z: bool,
}

#[cfg(feature = "parquet")]
impl Writer<'_> {
    fn head(&mut self, kind: u32) {
        self.out.push(1);
        self.count(kind as usize + if self.has_z { 1000 } else { 0 });
    }

    fn count(&mut self, count: usize) {
        self.out.extend((count as u32).to_le_bytes());
    }

    fn vertex(&mut self, vertex: &Vertex) {
        let axes = if self.has_z { 3 } else { 2 };
        vertex[..axes].iter().for_each(|value| self.out.extend(value.to_le_bytes()));
    }

    fn line(&mut self, line: &[Vertex]) {
        self.count(line.len());
        line.iter().for_each(|vertex| self.vertex(vertex));
    }

    fn polygon(&mut self, rings: &[Vec<Vertex>]) {
        self.head(3);
        self.count(rings.len());
        rings.iter().for_each(|ring| self.line(ring));
    }

    fn geometry(&mut self, geometry: &Geometry) {
        match geometry {
            Geometry::Points(all) => {
                if all.len() != 1 {
                    self.head(4);
                    self.count(all.len());
                }
                for vertex in all {
                    self.head(1);
                    self.vertex(vertex);
                }
            }
            Geometry::Lines(all) => {
                if all.len() != 1 {
                    self.head(5);
                    self.count(all.len());
                }
                for line in all {
                    self.head(2);
                    self.line(line);
                }
            }
            Geometry::Polygons(all) => {
                if all.len() != 1 {
                    self.head(6);
                    self.count(all.len());
                }
                all.iter().for_each(|rings| self.polygon(rings));
            }
            Geometry::Several(parts) => {
                self.head(7);
                self.count(parts.len());
                parts.iter().for_each(|part| self.geometry(part));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head in either order, of a type.
    fn head(is_big: bool, kind: u32) -> Vec<u8> {
        let kind = if is_big { kind.to_be_bytes() } else { kind.to_le_bytes() };
        [&[u8::from(!is_big)][..], &kind].concat()
    }

    fn floats(is_big: bool, all: &[f64]) -> Vec<u8> {
        let bytes = |v: &f64| if is_big { v.to_be_bytes() } else { v.to_le_bytes() };
        all.iter().flat_map(bytes).collect()
    }

    #[test]
    fn points_of_every_kind_of_wkb_are_read() {
        for is_big in [false, true] {
            let of = |kind, rest: &[f64]| [head(is_big, kind), floats(is_big, rest)].concat();
            let plain = Geometry::Points(vec![[0.1, -2.5, 7.0]]);
            for kind in [1001, 0x8000_0001] {
                assert_eq!(read(&of(kind, &[0.1, -2.5, 7.0])), Ok(plain.clone()));
            }
            for kind in [3001, 0xC000_0001] {
                assert_eq!(read(&of(kind, &[0.1, -2.5, 7.0, 9.0])), Ok(plain.clone()));
            }
            for (kind, rest) in [(1, &[0.1, -2.5][..]), (2001, &[0.1, -2.5, 9.0])] {
                let Ok(Geometry::Points(found)) = read(&of(kind, rest)) else { panic!("{kind}") };
                assert!(found[0][..2] == [0.1, -2.5] && found[0][2].is_nan());
            }
            // With the number of a system.
            let srid = if is_big { 4326_u32.to_be_bytes() } else { 4326_u32.to_le_bytes() };
            let with_srid =
                [head(is_big, 0xA000_0001), srid.to_vec(), floats(is_big, &[0.1, -2.5, 7.0])];
            assert_eq!(read(&with_srid.concat()), Ok(plain));
        }
        // Parts may be in another order than the whole.
        let part = [head(true, 1001), floats(true, &[1.0, 2.0, 3.0])].concat();
        let whole = [head(false, 1004), 1_u32.to_le_bytes().to_vec(), part].concat();
        assert_eq!(read(&whole), Ok(Geometry::Points(vec![[1.0, 2.0, 3.0]])));
    }

    #[test]
    fn what_is_no_wkb_says_why() {
        let deep = [head(false, 7), 1_u32.to_le_bytes().to_vec()].concat().repeat(1000);
        let many = [head(false, 7), u32::MAX.to_le_bytes().to_vec()].concat();
        let mixed =
            [head(false, 4), 1_u32.to_le_bytes().to_vec(), head(false, 2), vec![0; 4]].concat();
        for (bytes, words) in [
            (vec![], "ends too early"),
            (vec![2], "begins with 2"),
            (head(false, 1), "ends too early"),
            (head(false, 99), "unknown type 99"),
            (head(false, 5001), "unknown type 5001"),
            (head(false, 1008), "curves"),
            (deep, "more than 16 deep"),
            (many, "ends too early"),
            (mixed, "another type"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn what_is_written_is_read() {
        let line = |z: f64| vec![[0.1, 0.2, z], [0.3, -1e300, z + 1.0], [5e-324, 7.0, z]];
        let geometries = [
            Geometry::Points(vec![[0.1, 0.2, 0.3]]),
            Geometry::Points(line(1.0)),
            Geometry::Lines(vec![line(1.0)]),
            Geometry::Lines(vec![line(1.0), line(2.0)]),
            Geometry::Polygons(vec![vec![line(1.0), line(2.0)]]),
            Geometry::Polygons(vec![vec![line(1.0)], vec![line(2.0), line(3.0)]]),
            Geometry::Several(vec![Geometry::Points(line(4.0)), Geometry::Lines(vec![line(5.0)])]),
        ];
        for geometry in geometries {
            let mut bytes = Vec::new();
            write(&geometry, &mut bytes);
            assert_eq!(read(&bytes), Ok(geometry));
        }
    }
}
