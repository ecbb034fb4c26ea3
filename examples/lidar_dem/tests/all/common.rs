//! What several modules share: points with known values, and bands as a file has them.

use std::path::Path;

use testing::{Random, tiles};
use tiff_reader::TiffFile;

use crate::PROGRAM;

/// The numbers of each band of a GeoTIFF, and what the file says of the bands.
pub fn bands(path: &Path) -> (Vec<Vec<f32>>, String) {
    let file = TiffFile::open(path).unwrap();
    let image = file.ifd(0).unwrap();
    let metadata = image.tag(42112).and_then(|tag| tag.value.as_str()).unwrap_or_default();
    let bytes = file.read_image_bytes(0).unwrap();
    let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|&b| f32::from_ne_bytes(b)).collect();
    let cells = image.width() as usize * image.height() as usize;
    let count = numbers.len() / cells;
    let band = |k: usize| numbers.iter().skip(k).step_by(count).copied().collect();
    ((0..count).map(band).collect(), metadata.to_owned())
}

/// Whether a file says that its bands are called so, in this order.
pub fn are_named(metadata: &str, names: &[&str]) -> bool {
    let item = |(band, name): (usize, &&str)| {
        format!("<Item name=\"DESCRIPTION\" sample=\"{band}\" role=\"description\">{name}</Item>")
    };
    metadata.matches("DESCRIPTION").count() == names.len()
        && names.iter().enumerate().map(item).all(|item| metadata.contains(&item))
}

/// Random places in a rectangle whose south-west corner is the origin, none on an edge of a cell of 1.
pub fn places(count: usize, [width, height]: [f64; 2], seed: u64) -> Vec<[f64; 2]> {
    let mut random = Random::new(seed);
    (0..count).map(|_| [random.unit() * width, random.unit() * height]).collect()
}

/// Runs plan, run and merge; gives the number of tiles.
pub fn in_tiles(folder: &Path, plan: &[&str], device: &str, output: &str) -> u64 {
    tiles::in_tiles(&PROGRAM, folder, plan, &[], device, &["-o", output])
}

/// Whether all numbers have the same bits.
pub fn are_same(a: &[f32], b: &[f32]) -> bool {
    a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
}

/// Writes a LAS or LAZ file of a point format, whose points are as given but for fields that the format lacks.
pub fn write_points(path: &Path, format: u8, points: impl IntoIterator<Item = las::Point>) {
    let mut format = las::point::Format::new(format).unwrap();
    let (has_colour, has_time) = (format.has_color, format.has_gps_time);
    format.is_compressed = path.extension().is_some_and(|ending| ending == "laz");
    let mut builder = las::Builder::from(las::Version::new(1, 4));
    builder.point_format = format;
    let mut writer = las::Writer::from_path(path, builder.into_header().unwrap()).unwrap();
    for mut point in points {
        point.color = point.color.filter(|_| has_colour);
        point.gps_time = point.gps_time.filter(|_| has_time);
        writer.write_point(point).unwrap();
    }
    writer.close().unwrap();
}
