//! Triangle meshes: PLY and Wavefront OBJ.

use std::io::Write;

use crate::output::write_file;
use crate::{Error, Output, Result};

/// Writes triangles as binary PLY (Turk 1994, "The PLY polygon file format"): coordinates as doubles, so that those of a
/// projected system keep their digits.
///
/// `triangles` name their corners by the numbers of `vertices`.
///
/// # Errors
/// [`Error::BadValue`] for a coordinate that is not finite and for a corner that is no vertex, and those of writing.
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
/// # Errors
/// As [`write_ply`].
pub fn write_obj<'a>(
    output: impl Into<Output<'a>>,
    vertices: &[[f64; 3]],
    triangles: &[[u32; 3]],
) -> Result<()> {
    check(vertices, triangles)?;
    write_file(output, |file| {
        for [x, y, z] in vertices {
            writeln!(file, "v {x} {y} {z}")?;
        }
        for corners in triangles {
            // They count from 1.
            let [a, b, c] = corners.map(|corner| u64::from(corner) + 1);
            writeln!(file, "f {a} {b} {c}")?;
        }
        Ok(())
    })
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
