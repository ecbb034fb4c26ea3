//! Writes rasters as a group of an array, its coordinates and its reference system, as one store or tile by tile.
//!
//! ```text
//! dem.zarr/zarr.json             the group
//!          dem/zarr.json         y, x of f32; several bands: band, y, x
//!          dem/c/0/3             a chunk
//!          x, y                  the centres of columns and rows, f64; none where rows are turned
//!          spatial_ref           the place and the system (CF)
//! ```

use std::path::{Path, PathBuf};

use gpu_core::{files, host_memory, parallel};
use serde_json::{Map, Value, json};

use super::METADATA;
use super::codecs::Codecs;
use super::metadata::Metadata;
use super::place::attributes;
use crate::output::folder::PendingFolder;
use crate::output::{Output, failed};
use crate::rasters::tiff::rows::FillRows;
use crate::{Bands, Compression, Error, Georeference, Result, RowMajor, TiffOptions};

/// Columns and rows of a chunk.
const CHUNK: u32 = 512;

/// Writes a raster of f32 as Zarr version 3. The raster need not fit the memory: `fill` returns whole rows, from the
/// first on, in one pass. Cells without a value are NaN. With several bands the array has three dimensions.
///
/// The options' compression becomes gzip (deflate and LZW), zstd or none; a store has no overviews, whatever the
/// options say. Memory: a few times 512 rows. The folder gets its name when it is complete, and replaces only another
/// store.
///
/// # Errors
/// - What `fill` gives.
/// - [`Error::BadValue`]: the raster has no cells or no bands.
/// - The errors of writing.
pub fn write_zarr_rows<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    size: (u32, u32),
    bands: &Bands,
    options: &TiffOptions,
    fill: &mut FillRows<f32>,
) -> Result<()> {
    let output = output.into();
    bands.check()?;
    let spec = Spec { path: output.path, place, size, names: bands.names, chunk: (CHUNK, CHUNK) };
    let about = spec.about(options.compression)?;
    let store = PendingFolder::begin(output)?;
    for (name, bytes) in spec.files(&about)? {
        store.add(&name, &bytes)?;
    }
    let (width, count) = (size.0 as usize, bands.names.len());
    let mut rows = Vec::new();
    for top in (0..size.1).step_by(CHUNK as usize) {
        let tall = CHUNK.min(size.1 - top);
        rows.resize(tall as usize * width * count, f32::NAN);
        fill(top as usize, &mut rows)?;
        let across = size.0.div_ceil(CHUNK) as usize;
        let write = |i: usize| {
            let (band, column) = (i / across, i % across * CHUNK as usize);
            let cell = |row: usize, column: usize| rows[(row * width + column) * count + band];
            let taken = (tall as usize, width.min(column + CHUNK as usize) - column);
            let values = (0..taken.0).flat_map(|row| (0..taken.1).map(move |x| (row, column + x)));
            let values: Vec<f32> = values.map(|(row, column)| cell(row, column)).collect();
            let bytes = packed(&about, &values, taken.1)?;
            let place = [(top / CHUNK) as u64, (i % across) as u64];
            store.add(&Path::new(&spec.name()).join(key(&about, band, place)), &bytes)
        };
        parallel::map(across * count, 1, write).into_iter().collect::<Result<()>>()?;
    }
    store.finish()
}

/// Writes a raster of bands of f32 as [`write_zarr_rows`] does.
///
/// # Errors
/// [`Error::Shape`] unless every band has a value for each cell, and the errors of [`write_zarr_rows`].
pub fn write_zarr<'a>(
    output: impl Into<Output<'a>>,
    place: &Georeference,
    (width, height): (u32, u32),
    values: &[impl RowMajor<f32>],
    bands: &Bands,
    options: &TiffOptions,
) -> Result<()> {
    let size = (width as usize, height as usize);
    let values = values.iter().map(|band| band.row_major(size)).collect::<Result<Vec<_>>>()?;
    let mut fill = |first: usize, rows: &mut [f32]| {
        let start = first * width as usize;
        for (i, cell) in rows.chunks_exact_mut(values.len()).enumerate() {
            cell.iter_mut().zip(&values).for_each(|(number, band)| *number = band[start + i]);
        }
        Ok(())
    };
    write_zarr_rows(output, place, (width, height), bands, options, &mut fill)
}

/// A Zarr store into which several processes can write tiles at the same time: every chunk lies within one tile.
///
/// A chunk appears whole or not at all, and has the same bytes whenever it is written. Missing chunks are NaN.
pub struct ZarrTiles {
    path: PathBuf,
    name: String,
    size: (u32, u32),
    about: Metadata,
    /// The files that say what the store is.
    stated: Vec<(PathBuf, Vec<u8>)>,
}

impl ZarrTiles {
    /// Describes a store: the size of its raster, the names of its bands, and chunks of `chunk` columns and rows.
    /// Nothing is written yet.
    ///
    /// # Errors
    /// [`Error::BadValue`]: the raster has no cells or no bands, or a chunk has none.
    pub fn new(
        path: &Path,
        place: &Georeference,
        size: (u32, u32),
        names: &[&str],
        chunk: (u32, u32),
    ) -> Result<Self> {
        let spec = Spec { path, place, size, names, chunk };
        let about = spec.about(Compression::Deflate)?;
        let files = spec.files(&about)?.into_iter();
        let stated = files.map(|(name, bytes)| (path.join(name), bytes)).collect();
        Ok(Self { path: path.to_owned(), name: spec.name(), size, about, stated })
    }

    /// Writes the store's metadata. The first process writes it; the other processes find the same metadata.
    ///
    /// # Errors
    /// The errors of writing, and [`Error::Differs`] for another store.
    pub fn begin(&self) -> Result<()> {
        for (file, bytes) in &self.stated {
            match std::fs::read(file) {
                Ok(there) if there == *bytes => {}
                Ok(_) => return Err(Error::Differs { path: file.clone() }),
                Err(_) => write(file, bytes)?,
            }
        }
        Ok(())
    }

    /// Whether the store exists with the expected metadata.
    pub fn has_begun(&self) -> bool {
        self.stated
            .iter()
            .all(|(file, bytes)| std::fs::read(file).is_ok_and(|found| found == *bytes))
    }

    /// Returns the files of a part of the raster. The part must begin at the first column and row of a chunk.
    pub fn files(&self, part: [u32; 4]) -> Vec<PathBuf> {
        let bands = if self.about.shape.len() == 3 { self.about.shape[0] as usize } else { 1 };
        let all = (0..bands).flat_map(|band| self.places(part).into_iter().map(move |p| (band, p)));
        all.map(|(band, place)| self.file(band, place)).collect()
    }

    /// Writes the values of a band in a part: first column and row, columns and rows.
    ///
    /// # Errors
    /// [`Error::BadValue`] for a part that divides a chunk; [`Error::Shape`]; the errors of writing.
    pub fn write(&self, band: usize, part: [u32; 4], values: &[f32]) -> Result<()> {
        let [left, top, width, height] = part;
        let (expected, found) = (u64::from(width) * u64::from(height), values.len() as u64);
        if expected != found {
            return Err(Error::Shape { what: "values of a tile", expected, found });
        }
        let [tall, wide] = self.chunk();
        for (first, count, side, all) in
            [(left, width, wide, self.size.0), (top, height, tall, self.size.1)]
        {
            if first % side != 0 || (count % side != 0 && first + count != all) {
                let expected = "a whole number of chunks";
                return Err(Error::BadValue {
                    what: "side of a tile",
                    value: count.into(),
                    expected,
                });
            }
        }
        let places = self.places(part);
        let write_one = |i: usize| {
            let place = places[i];
            let (row, column) = (place[0] as u32 * tall - top, place[1] as u32 * wide - left);
            let (rows, columns) = (tall.min(height - row), wide.min(width - column));
            let line = |row: u32| {
                let start = (row * width + column) as usize;
                &values[start..start + columns as usize]
            };
            let cells: Vec<f32> = (row..row + rows).flat_map(|row| line(row).to_vec()).collect();
            write(&self.file(band, place), &packed(&self.about, &cells, columns as usize)?)
        };
        parallel::map(places.len(), 1, write_one).into_iter().collect()
    }

    /// Rows and columns of a chunk.
    fn chunk(&self) -> [u32; 2] {
        let side = |i: usize| self.about.chunk[self.about.chunk.len() - i] as u32;
        [side(2), side(1)]
    }

    fn places(&self, [left, top, width, height]: [u32; 4]) -> Vec<[u64; 2]> {
        let [tall, wide] = self.chunk();
        let rows = top / tall..(top + height).div_ceil(tall);
        let columns = left / wide..(left + width).div_ceil(wide);
        rows.flat_map(|row| columns.clone().map(move |column| [row.into(), column.into()]))
            .collect()
    }

    fn file(&self, band: usize, place: [u64; 2]) -> PathBuf {
        self.path.join(&self.name).join(key(&self.about, band, place))
    }
}

/// Writes a file that appears whole or not at all, in folders that are made where they are not there.
fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let saved = std::fs::create_dir_all(files::folder_of(file))
        .and_then(|()| files::replace(file, |out| std::io::Write::write_all(out, bytes)));
    saved.map_err(|e| failed(file, e))
}

fn key(about: &Metadata, band: usize, [row, column]: [u64; 2]) -> String {
    match about.shape.len() {
        3 => about.key(&[band as u64, row, column]),
        _ => about.key(&[row, column]),
    }
}

/// A chunk of rows of `columns` values; its other values are NaN.
fn packed(about: &Metadata, values: &[f32], columns: usize) -> Result<Vec<u8>> {
    let [.., tall, wide] = about.chunk[..] else { return Ok(Vec::new()) };
    let mut chunk = vec![f32::NAN; (tall * wide) as usize];
    for (to, from) in chunk.chunks_exact_mut(wide as usize).zip(values.chunks_exact(columns)) {
        to[..columns].copy_from_slice(from);
    }
    let bytes = chunk.iter().flat_map(|value| value.to_le_bytes()).collect();
    about.codecs.pack(bytes).map_err(|e| Error::write(Path::new("a chunk"), e))
}

/// The parameters of a store.
struct Spec<'a> {
    path: &'a Path,
    place: &'a Georeference,
    size: (u32, u32),
    names: &'a [&'a str],
    chunk: (u32, u32),
}

impl Spec<'_> {
    /// The array's name: the store's.
    fn name(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        match &*stem {
            "" | "x" | "y" | "spatial_ref" => "values".to_owned(),
            name => name.to_owned(),
        }
    }

    fn about(&self, compression: Compression) -> Result<Metadata> {
        let (width, height) = self.size;
        if [width, height, self.chunk.0, self.chunk.1, self.names.len() as u32].contains(&0) {
            return Err(Error::BadValue {
                what: "number of cells",
                value: 0.0,
                expected: "positive",
            });
        }
        let codecs = Codecs::of(compression);
        let (mut attributes, _) = attributes(self.place);
        let (mut shape, mut chunk) =
            (vec![height.into(), width.into()], vec![self.chunk.1.into(), self.chunk.0.into()]);
        let mut dimensions = vec![Some("y".to_owned()), Some("x".to_owned())];
        match self.names {
            [""] => {}
            [name] => drop(attributes.insert("long_name".into(), (*name).into())),
            names => {
                attributes.insert("band_names".into(), names.to_vec().into());
                shape.insert(0, names.len() as u64);
                chunk.insert(0, 1);
                dimensions.insert(0, Some("band".to_owned()));
            }
        }
        let (sample_type, fill) = (crate::SampleType::F32, f64::NAN.into());
        let (separator, is_prefixed) = ("/".to_owned(), true);
        Ok(Metadata {
            shape,
            chunk,
            sample_type,
            fill,
            codecs,
            sharding: None,
            separator,
            is_prefixed,
            attributes,
            dimensions,
        })
    }

    /// All files but the chunks of the raster.
    fn files(&self, about: &Metadata) -> Result<Vec<(PathBuf, Vec<u8>)>> {
        let text = |json: &Value| json.to_string().into_bytes();
        let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"Conventions": "CF-1.10"}});
        let (_, mapping) = attributes(self.place);
        let array = array(about);
        let system = json!({"zarr_format": 3, "node_type": "array", "shape": [], "data_type": "int32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0, "codecs": about.codecs.to_json(), "attributes": mapping});
        let at = |name: &str| Path::new(name).join(METADATA);
        let mut files = vec![(at(&self.name()), text(&array)), (at("spatial_ref"), text(&system))];
        let [left, across, bx, top, ay, down] = self.place.transform;
        let is_degrees = self.place.crs.as_ref().is_some_and(|crs| crs.is_geographic());
        if bx == 0.0 && ay == 0.0 {
            for (name, first, step, count) in
                [("x", left, across, self.size.0), ("y", top, down, self.size.1)]
            {
                let standard = match (name, is_degrees) {
                    ("x", true) => "longitude",
                    ("y", true) => "latitude",
                    _ => &format!("projection_{name}_coordinate"),
                };
                let attributes = Map::from_iter([("standard_name".to_owned(), standard.into())]);
                let side = vec![count.into()];
                let (shape, chunk, dimensions) = (side.clone(), side, vec![Some(name.to_owned())]);
                let sample_type = crate::SampleType::F64;
                let own =
                    Metadata { shape, chunk, sample_type, attributes, dimensions, ..about.clone() };
                // As they are, and packed.
                let asked = 2 * own.chunk_bytes();
                let memory = |_| Error::OutOfMemory { path: self.path.to_owned(), asked };
                host_memory::require(asked).map_err(memory)?;
                let centres = (0..count).map(|i| first + (f64::from(i) + 0.5) * step);
                let bytes = centres.flat_map(f64::to_le_bytes).collect();
                let packed = own.codecs.pack(bytes).map_err(|e| Error::write(self.path, e))?;
                files.push((at(name), text(&self::array(&own))));
                files.push((Path::new(name).join(own.key(&[0])), packed));
            }
        }
        // Without it nobody takes the folder for a store.
        files.push((PathBuf::from(METADATA), text(&group)));
        Ok(files)
    }
}

/// The `zarr.json` of an array of floats.
fn array(about: &Metadata) -> Value {
    json!({"zarr_format": 3, "node_type": "array", "shape": about.shape,
        "data_type": if about.sample_type == crate::SampleType::F32 { "float32" } else { "float64" },
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": about.chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": about.separator}},
        "fill_value": "NaN", "codecs": about.codecs.to_json(), "attributes": about.attributes,
        "dimension_names": about.dimensions})
}
