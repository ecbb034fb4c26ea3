//! The Delaunay triangulation of the points as a mesh.

use std::path::Path;

use anyhow::{Result, bail};
use delaunay_stars::Triangulation;
use geo_io::Output;
use gpu_core::{Points, Progress};
use nni_grid::Duplicates;
use programs::args::ending;
use programs::cloud::Cloud;

/// The formats of meshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// Binary.
    Ply,
    /// Text.
    Obj,
    /// Polygons with heights.
    FlatGeobuf,
    /// A table of the same.
    GeoParquet,
}

/// The format that the name of a mesh means.
pub fn mesh_format(path: &Path) -> Result<MeshFormat> {
    match ending(path).as_str() {
        "ply" => Ok(MeshFormat::Ply),
        "obj" => Ok(MeshFormat::Obj),
        "fgb" => Ok(MeshFormat::FlatGeobuf),
        "parquet" => Ok(MeshFormat::GeoParquet),
        _ => bail!(
            "--triangles {}: the name must end in .ply, .obj, .fgb or .parquet",
            path.display()
        ),
    }
}

/// Triangulates the points and writes the mesh; points at one place make one corner, and the policy decides its height.
/// Returns how many corners and triangles there are.
pub fn write(
    output: Output,
    cloud: &Cloud,
    duplicates: Duplicates,
    progress: &dyn Progress,
) -> Result<[usize; 2]> {
    let points = Points::new(&cloud.x, &cloud.y);
    let triangulation =
        delaunay_stars::triangulate(gpu_core::Device::Cpu.with_progress(progress), points)?;
    let heights = heights_of_sites(&triangulation, &cloud.z, duplicates);
    let mut numbers = vec![0; cloud.x.len()];
    let mut vertices = Vec::with_capacity(triangulation.sites());
    for (i, number) in numbers.iter_mut().enumerate() {
        if triangulation.site_of(i as u32) == i as u32 {
            *number = vertices.len() as u32;
            vertices.push([cloud.x[i], cloud.y[i], heights[i]]);
        }
    }
    let triangles: Vec<[u32; 3]> = triangulation
        .triangles()
        .map(|corners| corners.map(|corner| numbers[corner as usize]))
        .collect();
    match mesh_format(output.path)? {
        MeshFormat::Ply => geo_io::write_ply(output, &vertices, &triangles)?,
        MeshFormat::Obj => geo_io::write_obj(output, &vertices, &triangles)?,
        MeshFormat::FlatGeobuf => {
            geo_io::write_flatgeobuf_mesh(output, &vertices, &triangles, cloud.crs.as_ref())?
        }
        MeshFormat::GeoParquet => {
            geo_io::write_geoparquet_mesh(output, &vertices, &triangles, cloud.crs.as_ref())?
        }
    }
    Ok([vertices.len(), triangles.len()])
}

/// The height of each site, at the index of the point that stands for it.
pub fn heights_of_sites(triangulation: &Triangulation, z: &[f64], policy: Duplicates) -> Vec<f64> {
    let mut heights = z.to_vec();
    // Points come in their order, so that the first of a place is its site.
    let mut counts: Vec<(u32, u32)> = Vec::new();
    for &[point, site] in triangulation.duplicates() {
        let (height, of_site) = (z[point as usize], &mut heights[site as usize]);
        match policy {
            Duplicates::Mean => {
                *of_site += height;
                counts.push((site, 1));
            }
            Duplicates::Min => *of_site = of_site.min(height),
            Duplicates::Max => *of_site = of_site.max(height),
            Duplicates::First => {}
            Duplicates::Last => *of_site = height,
        }
    }
    counts.sort_unstable();
    for of_site in counts.chunk_by(|a, b| a.0 == b.0) {
        heights[of_site[0].0 as usize] /= (of_site.len() + 1) as f64;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_at_one_place_are_by_the_policy() {
        let (x, y) = ([0.0, 1.0, 0.0, 0.0, 1.0, 5.0], [0.0, 2.0, 0.0, 0.0, 2.0, 5.0]);
        let z = [3.0, 1.0, 8.0, 4.0, 2.0, 7.0];
        let triangulation =
            delaunay_stars::triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y)).unwrap();
        for (policy, [first, second]) in [
            (Duplicates::Mean, [5.0, 1.5]),
            (Duplicates::Min, [3.0, 1.0]),
            (Duplicates::Max, [8.0, 2.0]),
            (Duplicates::First, [3.0, 1.0]),
            (Duplicates::Last, [4.0, 2.0]),
        ] {
            let found = heights_of_sites(&triangulation, &z, policy);
            assert_eq!([found[0], found[1], found[5]], [first, second, 7.0], "{policy}");
        }
    }
}
