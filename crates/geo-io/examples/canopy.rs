//! How densely a survey sees the ground below trees: turns a LAZ file into a GeoTIFF with the share of ground returns
//! in each cell.
//!
//! `cargo run --package geo-io --example canopy -- [SURVEY.laz SHARES.tif]`; without files it makes both in a folder of its own.

use std::path::{Path, PathBuf};

use geo_io::{Cells, Crs, Filter, Georeference, LasPoints, TiffOptions};
use geo_io::{read_points, read_raster, write_las, write_tiff};
use gpu_core::{Bounds, GridSpec, Silent};

/// The side of a cell, in the unit of the points.
const CELL: f64 = 10.0;
const GROUND: u8 = 2;
const HIGH_VEGETATION: u8 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (survey, shares) = match std::env::args_os().skip(1).collect::<Vec<_>>().as_slice() {
        [survey, shares] => (PathBuf::from(survey), PathBuf::from(shares)),
        _ => (folder.path().join("survey.laz"), folder.path().join("shares.tif")),
    };
    if !survey.exists() {
        write_survey(&survey)?;
    }
    let grid = write_shares(&survey, &shares)?;
    let raster = read_raster(&shares, None)?;
    let place = raster.georeference.ok_or("the raster has no place")?;
    let values: Vec<f64> = raster.values.to_floats(raster.nodata);
    let known: Vec<f64> = values.into_iter().filter(|share| !share.is_nan()).collect();
    println!("{} x {} cells, {} with returns", grid.width, grid.height, known.len());
    println!("{} with ground alone", known.iter().filter(|&&share| share == 1.0).count());
    let epsg =
        place.crs.and_then(|crs| crs.epsg()).map_or("none".to_owned(), |code| code.to_string());
    println!("EPSG code: {epsg}");
    Ok(())
}

/// Reads the points, counts them in cells, and writes the share of those of class 2, NaN where there is no point.
fn write_shares(survey: &Path, shares: &Path) -> Result<GridSpec, Box<dyn std::error::Error>> {
    let points = read_points(survey, &Filter::default(), &Default::default(), &Silent)?;
    println!("{} of {} points kept", points.tally.kept, points.tally.read);
    let bounds = Bounds::of(&points.x, &points.y).ok_or("the survey has no points")?;
    let grid = GridSpec::covering(bounds, CELL)?;
    let classes = points.class.as_ref().ok_or("the survey has no classes")?;
    let mut counts = vec![[0u32; 2]; grid.cells() as usize];
    for ((&x, &y), &class) in points.x.iter().zip(&points.y).zip(classes) {
        let (column, row) = grid.cell_of(x, y).ok_or("a point lies outside of its bounds")?;
        let [all, ground] = &mut counts[row as usize * grid.width as usize + column as usize];
        *all += 1;
        *ground += u32::from(class == GROUND);
    }
    let values: Vec<f32> = counts.iter().map(|&[all, ground]| ground as f32 / all as f32).collect();
    let cells = Cells::Values { values: &values, nodata: -1.0 };
    let place = Georeference::of_grid(&grid, points.crs.as_ref());
    write_tiff(shares, &place, (grid.width, grid.height), cells, &TiffOptions::default())?;
    Ok(grid)
}

/// A survey of 200 m by 100 m with a point a square metre: in its eastern half two of three returns come from a wood.
fn write_survey(path: &Path) -> geo_io::Result<()> {
    let places = || (0..20_000).map(|i| (f64::from(i % 200), f64::from(i / 200)));
    let is_tree = |(i, (x, _)): (usize, (f64, f64))| x >= 100.0 && i % 3 != 0;
    let trees: Vec<bool> = places().enumerate().map(is_tree).collect();
    let class = |&tree: &bool| if tree { HIGH_VEGETATION } else { GROUND };
    let columns = LasPoints {
        x: &places().map(|(x, _)| 500_000.5 + x).collect::<Vec<_>>(),
        y: &places().map(|(_, y)| 5_000_000.5 + y).collect::<Vec<_>>(),
        z: &trees.iter().map(|&tree| if tree { 118.0 } else { 100.0 }).collect::<Vec<_>>(),
        class: &trees.iter().map(class).collect::<Vec<_>>(),
        ..LasPoints::default()
    };
    write_las(path, &columns, Some(&Crs::parse("EPSG:32633")?))
}

#[cfg(test)]
#[test]
fn shares_are_those_of_the_survey() {
    let folder = tempfile::tempdir().unwrap();
    let (survey, shares) = (folder.path().join("survey.laz"), folder.path().join("shares.tif"));
    write_survey(&survey).unwrap();
    let grid = write_shares(&survey, &shares).unwrap();
    assert_eq!((grid.width, grid.height), (20, 10));
    let raster = read_raster(&shares, None).unwrap();
    let values = raster.values.to_floats(raster.nodata);
    for (cell, share) in values.into_iter().enumerate() {
        // A third of 100 points, as evenly as whole numbers allow.
        let expected = if cell % 20 < 10 { 1.0..=1.0 } else { 0.3..=0.37 };
        assert!(expected.contains(&share), "cell {cell}: {share}");
    }
    assert_eq!(raster.georeference.unwrap().crs.unwrap().epsg(), Some(32633));
    main().unwrap();
}
