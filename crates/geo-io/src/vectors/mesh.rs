//! Triangle meshes: PLY, Wavefront OBJ and FlatGeobuf.

use std::io::Write;

use flatgeobuf::geozero::{self, GeomProcessor};
use flatgeobuf::{FgbWriter, FgbWriterOptions, GeometryType, GeozeroGeometry};
use gpu_core::Shortest;

use crate::output::{write_atomic, write_file};
use crate::vectors::lines::options;
use crate::{Crs, Error, Output, Result};

/// Writes triangles as binary PLY (Turk 1994, "The PLY polygon file format"): coordinates are doubles, so that
/// projected coordinates keep their digits.
///
/// `triangles` name their corners by the numbers of `vertices`.
///
/// ```
/// use geo_io::write_ply;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("mesh.ply");
/// write_ply(&path, &[[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 6.0]], &[[0, 1, 2]])?;
/// let bytes = std::fs::read(&path)?;
/// let header = String::from_utf8_lossy(&bytes);
/// assert!(header.contains("element vertex 3") && header.contains("element face 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::BadValue`]: a coordinate is not finite, or a triangle names a corner beyond the vertices.
/// - The errors of writing.
pub fn write_ply<'a>(
    output: impl Into<Output<'a>>,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
) -> Result<()> {
    check(vertices, triangles)?;
    write_file(output, |file| {
        write!(file, "ply\nformat binary_little_endian 1.0\nelement vertex {}\n", vertices.len())?;
        for axis in ["x", "y", "z"] {
            writeln!(file, "property double {axis}")?;
        }
        writeln!(file, "element face {}", triangles.len())?;
        write!(file, "property list uchar uint vertex_indices\nend_header\n")?;
        for number in vertices.iter().flatten() {
            file.write_all(&number.to_le_bytes())?;
        }
        for corners in triangles {
            file.write_all(&[3])?;
            corners.iter().try_for_each(|corner| file.write_all(&corner.to_le_bytes()))?;
        }
        Ok(())
    })
}

/// Writes triangles as Wavefront OBJ: text, with as many digits as f64 needs. As [`write_ply`].
///
/// ```
/// use geo_io::write_obj;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("mesh.obj");
/// write_obj(&path, &[[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 6.0]], &[[0, 1, 2]])?;
/// let text = std::fs::read_to_string(&path)?;
/// assert!(text.lines().any(|line| line == "f 1 2 3")); // OBJ counts from 1
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_ply`].
pub fn write_obj<'a>(
    output: impl Into<Output<'a>>,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
) -> Result<()> {
    check(vertices, triangles)?;
    write_file(output, |file| {
        for [x, y, z] in vertices {
            writeln!(file, "v {} {} {}", Shortest(*x), Shortest(*y), Shortest(*z))?;
        }
        for corners in triangles {
            // They count from 1.
            let [a, b, c] = corners.map(|corner| u64::from(corner) + 1);
            writeln!(file, "f {a} {b} {c}")?;
        }
        Ok(())
    })
}

/// Writes triangles as FlatGeobuf: polygons with heights (Z) and an index. The file names the reference system by its
/// EPSG code, or states it as WKT. `triangles` name their corners by the numbers of `vertices`.
///
/// Triangles go to an unnamed file until all have come.
///
/// ```
/// use geo_io::{Shape, read_features, write_flatgeobuf_mesh};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("mesh.fgb");
/// write_flatgeobuf_mesh(&path, &[[0.0, 0.0, 5.0], [1.0, 0.0, 5.0], [0.0, 1.0, 6.0]], &[[0, 1, 2]], None)?;
/// let found = read_features(&path)?;
/// let ring = vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
/// assert_eq!(found.shapes, [Some(Shape::Polygons(vec![vec![ring]]))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`write_ply`].
pub fn write_flatgeobuf_mesh<'a>(
    output: impl Into<Output<'a>>,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
    crs: Option<&Crs>,
) -> Result<()> {
    let output = output.into();
    check(vertices, triangles)?;
    write_atomic(output, |file| {
        let failed = |e: &dyn std::fmt::Display| Error::write(output.path, e);
        let options = FgbWriterOptions { has_z: true, ..options(crs) };
        let kind = GeometryType::Polygon;
        let mut writer =
            FgbWriter::create_with_options("triangles", kind, options).map_err(|e| failed(&e))?;
        for corners in triangles {
            let triangle = Triangle(corners.map(|corner| vertices[corner as usize]));
            writer.add_feature_geom(triangle, |_| {}).map_err(|e| failed(&e))?;
        }
        writer.write(file).map_err(|e| failed(&e))
    })
}

/// A triangle's corners, for a writer.
struct Triangle([[f64; 3]; 3]);

impl GeozeroGeometry for Triangle {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> geozero::error::Result<()> {
        processor.polygon_begin(true, 1, 0)?;
        processor.linestring_begin(false, 4, 0)?;
        for (i, [x, y, z]) in self.0.iter().chain(&self.0[..1]).enumerate() {
            processor.coordinate(*x, *y, Some(*z), None, None, None, i)?;
        }
        processor.linestring_end(false, 0)?;
        processor.polygon_end(true, 0)
    }
}

fn check(vertices: &[[f64; 3]], triangles: &[[u32; 3]]) -> Result<()> {
    if let Some(&value) = vertices.iter().flatten().find(|value| !value.is_finite()) {
        return Err(Error::BadValue { what: "coordinate", value, expected: "finite" });
    }
    match triangles.iter().flatten().find(|&&corner| corner as usize >= vertices.len()) {
        Some(&corner) => {
            Err(Error::BadValue { what: "corner", value: corner.into(), expected: "a vertex" })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ogrinfo` reads triangles, their heights and their system.
    #[test]
    fn gdal_reads_triangles() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mesh.fgb");
        let at = |x: f64, y: f64, z: f64| [448_000.0 + x, 5_411_000.0 + y, z];
        let vertices = [at(0.0, 0.0, 1.5), at(4.0, 0.0, 2.0), at(4.0, 4.0, 3.0), at(0.0, 4.0, 4.0)];
        let triangles = [[0, 1, 2], [0, 2, 3]];
        let crs = Crs::parse("EPSG:32631").unwrap();
        write_flatgeobuf_mesh(&path, &vertices, &triangles, Some(&crs)).unwrap();
        match std::process::Command::new("ogrinfo").arg("-al").arg(&path).output() {
            Ok(ran) => {
                let said = String::from_utf8_lossy(&ran.stdout).into_owned();
                for words in [
                    "Geometry: 3D Polygon",
                    "Feature Count: 2",
                    "ID[\"EPSG\",32631]",
                    "POLYGON Z ((448000 5411000 1.5,448004 5411000 2,448004 5411004 3,448000 5411000 1.5))",
                ] {
                    assert!(said.contains(words), "no {words:?} in {said}");
                }
            }
            Err(_) => println!("skipped: no ogrinfo"),
        }
        assert!(write_flatgeobuf_mesh(&path, &vertices, &[[0, 1, 9]], None).is_err());
    }
}
