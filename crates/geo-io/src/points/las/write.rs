//! Writes LAS and LAZ: LAS 1.4 with point format 6 and the reference system as WKT, as the specification demands. A
//! system known only by GeoTIFF keys goes into LAS 1.2, format 0, which can hold keys.

use std::io::{Cursor, Write};

use ::las::{Builder, PointDataBuilder, Transform, Vector, Version, Vlr, Writer, point};

use gpu_core::parallel;

use crate::crs::{ASCII_TAG, DIRECTORY_TAG, DOUBLES_TAG};
use crate::output::{Output, check_output, write_atomic};
use crate::points::ending;
use crate::{Crs, Error, GeoKeys, Result};

/// Points compressed at once for each core: a few chunks of the customary size.
const BATCH_OF_CORE: usize = 200_000;

/// The columns that [`write_las`] writes: entry `i` of each is point `i`.
///
/// The last three may be empty: then points have class 0 and return 1 of 1.
///
/// Example: see [`write_las`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LasPoints<'a> {
    /// Eastings or longitudes, finite.
    pub x: &'a [f64],
    /// Northings or latitudes, finite.
    pub y: &'a [f64],
    /// Elevations, finite.
    pub z: &'a [f64],
    /// ASPRS classes.
    pub class: &'a [u8],
    /// Number of the return within its pulse, 1 to 15.
    pub return_number: &'a [u8],
    /// Returns of the pulse, 1 to 15.
    pub number_of_returns: &'a [u8],
}

/// Writes points as LAS, or as LAZ where the name ends in `.laz`.
///
/// It stores coordinates in steps of 0.001 (1e-7 for longitudes and latitudes), or in a larger power of ten if the
/// extent needs it.
///
/// ```
/// use geo_io::{LasPoints, read_points, write_las};
/// use gpu_core::Silent;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.laz");
/// let points = LasPoints { x: &[1.0, 2.0], y: &[3.0, 4.0], z: &[5.0, 6.0], ..LasPoints::default() };
/// write_las(&path, &points, None)?;
/// let found = read_points(&path, &Default::default(), &Default::default(), &Silent)?;
/// assert_eq!((found.x, found.z), (vec![1.0, 2.0], vec![5.0, 6.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] for columns of different lengths, [`Error::BadValue`] for a coordinate that is not finite or an
/// attribute out of range, [`Error::UnknownEnding`], and the errors of writing.
pub fn write_las<'a>(
    output: impl Into<Output<'a>>,
    points: &LasPoints<'_>,
    crs: Option<&Crs>,
) -> Result<()> {
    let output = output.into();
    let path = output.path;
    let compressed = match ending(path).as_str() {
        "las" => false,
        "laz" => true,
        _ => {
            return Err(Error::UnknownEnding { path: path.to_owned(), known: ".las or .laz" });
        }
    };
    check_output(output)?;
    // Only WKT 1 is LAS's WKT; what is known otherwise is written as keys.
    let wkt = crs
        .and_then(Crs::wkt)
        .filter(|w| ["PROJCS", "GEOGCS", "COMPD_CS"].iter().any(|k| w.trim_start().starts_with(k)));
    let extended = crs.is_none() || wkt.is_some();
    points.check(if extended { 255 } else { 31 }, if extended { 15 } else { 7 })?;

    let degrees = crs.is_some_and(Crs::is_geographic);
    let step = if degrees { 1e-7 } else { 1e-3 };
    let transforms = Vector {
        x: transform(points.x, step),
        y: transform(points.y, step),
        z: transform(points.z, 1e-3),
    };
    let mut builder = Builder::from(Version::new(1, if extended { 4 } else { 2 }));
    let bad = |e: ::las::Error| Error::write(path, e);
    builder.point_format = point::Format::new(if extended { 6 } else { 0 }).map_err(bad)?;
    builder.point_format.is_compressed = compressed;
    builder.transforms = transforms;
    builder.generating_software = "Tessera".into();
    builder.vlrs = match (wkt, crs) {
        (Some(wkt), _) => vec![projection(2112, wkt.bytes().chain([0]).collect())],
        (None, Some(crs)) => key_records(&crs.geokeys()),
        (None, None) => vec![],
    };
    builder.has_wkt_crs = extended;
    let header = builder.into_header().map_err(bad)?;
    let mut format = *header.point_format();
    format.is_compressed = false;

    // In memory first: the writer panics where it is dropped after a write that failed, as on a
    // full disk.
    let mut writer = Writer::new(Cursor::new(Vec::new()), header).map_err(bad)?;
    let record = usize::from(format.len());
    let batch = BATCH_OF_CORE * rayon::current_num_threads();
    for start in (0..points.x.len()).step_by(batch) {
        let count = batch.min(points.x.len() - start);
        let mut bytes = vec![0; count * record];
        parallel::for_chunks(&mut bytes, record, |i, record| {
            points.put_record(start + i, &transforms, extended, record);
        });
        let data = PointDataBuilder::new()
            .with_format(format)
            .with_transforms(transforms)
            .build_from_bytes(bytes)
            .map_err(bad)?;
        writer.write_points(&data).map_err(bad)?;
    }
    let bytes = writer.into_inner().map_err(bad)?.into_inner();
    write_atomic(output, |file| file.write_all(&bytes).map_err(|e| Error::write(path, e)))
}

impl LasPoints<'_> {
    fn check(&self, max_class: u8, max_return: u8) -> Result<()> {
        let count = self.x.len() as u64;
        let lengths = [
            ("y", self.y.len(), false),
            ("z", self.z.len(), false),
            ("class", self.class.len(), true),
        ];
        let returns = [
            ("return_number", self.return_number.len(), true),
            ("number_of_returns", self.number_of_returns.len(), true),
        ];
        for (what, length, optional) in lengths.into_iter().chain(returns) {
            let found = length as u64;
            if found != count && !(optional && found == 0) {
                return Err(Error::Shape { what, expected: count, found });
            }
        }
        for (what, column) in [("x", self.x), ("y", self.y), ("z", self.z)] {
            if let Some(&value) = column.iter().find(|v| !v.is_finite()) {
                return Err(Error::BadValue { what, value, expected: "a finite number" });
            }
        }
        let expected = "within the range of this point format";
        for (what, column, max) in [
            ("class", self.class, max_class),
            ("return number", self.return_number, max_return),
            ("number of returns", self.number_of_returns, max_return),
        ] {
            if let Some(&value) = column.iter().find(|&&v| v > max) {
                return Err(Error::BadValue { what, value: value.into(), expected });
            }
        }
        Ok(())
    }

    /// Puts point `i` into a record of zeros in the layout of format 6 (30 bytes) or 0 (20 bytes).
    fn put_record(
        &self,
        i: usize,
        transforms: &Vector<Transform>,
        extended: bool,
        record: &mut [u8],
    ) {
        let axes =
            [(self.x[i], &transforms.x), (self.y[i], &transforms.y), (self.z[i], &transforms.z)];
        for (word, (value, t)) in record.as_chunks_mut::<4>().0.iter_mut().zip(axes) {
            let step = ((value - t.offset) / t.scale).round() as i32;
            *word = step.to_le_bytes();
        }
        let or = |column: &[u8], other| column.get(i).copied().unwrap_or(other);
        let (class, number, count) =
            (or(self.class, 0), or(self.return_number, 1), or(self.number_of_returns, 1));
        if extended {
            record[14] = number | count << 4;
            record[16] = class;
        } else {
            record[14] = number | count << 3;
            record[15] = class;
        }
    }
}

/// An offset near the middle of the values and a step that lets all of them fit 32 bits.
fn transform(values: &[f64], step: f64) -> Transform {
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    if values.is_empty() {
        return Transform { scale: step, offset: 0.0 };
    }
    let mut scale = step;
    while (high / 2.0 - low / 2.0) / scale > 1e9 {
        scale *= 10.0;
    }
    Transform { scale, offset: (low / 2.0 + high / 2.0).round() }
}

fn projection(record_id: u16, data: Vec<u8>) -> Vlr {
    let user_id = "LASF_Projection".to_owned();
    Vlr { user_id, record_id, description: String::new(), data }
}

fn key_records(keys: &GeoKeys) -> Vec<Vlr> {
    let directory = keys.directory.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut records = vec![projection(DIRECTORY_TAG, directory)];
    if !keys.doubles.is_empty() {
        let doubles = keys.doubles.iter().flat_map(|v| v.to_le_bytes()).collect();
        records.push(projection(DOUBLES_TAG, doubles));
    }
    if !keys.ascii.is_empty() {
        records.push(projection(ASCII_TAG, keys.ascii.bytes().chain([0]).collect()));
    }
    records
}
