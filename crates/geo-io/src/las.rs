//! LAS and LAZ, by the crate `las`.

use std::error::Error as StdError;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;

use gpu_core::Progress;
use las::point::{Classification, Format};
use las::{Builder, Point, PointData, Reader, Transform, Vector, Version, Writer};

use crate::output::whole_file;
use crate::points::{Filter, PointCloud};
use crate::{Crs, Error, Result};

/// Points decoded at a time: enough for all cores, and for a progress bar.
const CHUNK: u64 = 1 << 20;

/// Reads a LAS or LAZ file.
pub(crate) fn read(path: &Path, filter: &Filter, progress: &dyn Progress) -> Result<PointCloud> {
    let mut reader = Reader::from_path(path).map_err(|error| match error {
        las::Error::Io(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::io(path)(source)
        }
        error => Error::format(path, format!("not a LAS or LAZ file: {error}")),
    })?;
    let promised = reader.header().number_of_points();
    let crs = Crs::of_las(reader.header());
    let mut cloud = PointCloud { crs, class: Some(Vec::new()), ..PointCloud::default() };
    while cloud.tally.read < promised {
        let fraction = cloud.tally.read as f64 / promised as f64;
        if let ControlFlow::Break(()) = progress.report("read", fraction) {
            return Err(Error::Cancelled);
        }
        let found = cloud.tally.read;
        let truncated = || Error::Truncated { path: path.to_owned(), promised, found };
        let chunk = reader.read_points(CHUNK.min(promised - found)).map_err(|error| {
            let reason = format!("damaged after {found} of {promised} points: {error}");
            if ends_early(&error) { truncated() } else { Error::format(path, reason) }
        })?;
        if chunk.is_empty() {
            return Err(truncated());
        }
        keep(&chunk, filter, &mut cloud);
    }
    let _ = progress.report("read", 1.0);
    Ok(cloud)
}

/// Whether the end of the file is behind an error, through the layers of the LAZ decoder too.
fn ends_early(error: &(dyn StdError + 'static)) -> bool {
    let is_end = error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof);
    is_end || error.source().is_some_and(ends_early)
}

/// Adds the points of a chunk that pass the filter.
fn keep(chunk: &PointData, filter: &Filter, cloud: &mut PointCloud) {
    // Byte 15 holds the withheld flag: beside the class, or in newer formats beside other flags.
    let mask = if chunk.format().is_extended { 0x04 } else { 0x80 };
    let withheld = chunk.raw_bytes().chunks_exact(chunk.record_len()).map(|r| r[15] & mask != 0);
    let coordinates = chunk.x().zip(chunk.y()).zip(chunk.z());
    let returns = chunk.return_number().zip(chunk.number_of_returns());
    for ((((x, y), z), class), ((number, count), withheld)) in
        coordinates.zip(chunk.classification()).zip(returns.zip(withheld))
    {
        let tally = &mut cloud.tally;
        tally.read += 1;
        if withheld {
            tally.dropped_withheld += 1;
        } else if filter.classes.as_ref().is_some_and(|classes| !classes.contains(&class)) {
            tally.dropped_class += 1;
        } else if !filter.returns.keep(number, count) {
            tally.dropped_return += 1;
        } else {
            tally.kept += 1;
            cloud.x.push(x);
            cloud.y.push(y);
            cloud.z.push(z);
            cloud.class.get_or_insert_default().push(class);
        }
    }
}

/// Points to be written, as columns of equal length.
#[derive(Clone, Copy, Debug)]
pub struct LasPoints<'a> {
    /// Eastings.
    pub x: &'a [f64],
    /// Northings.
    pub y: &'a [f64],
    /// Elevations.
    pub z: &'a [f64],
    /// Classes, as the ASPRS numbers them.
    pub class: &'a [u8],
    /// Return numbers, from 1.
    pub return_number: &'a [u8],
    /// Returns of each pulse.
    pub number_of_returns: &'a [u8],
}

/// Writes points as LAS 1.4, compressed if the name ends in `.laz`, with a resolution of 1/1000.
///
/// # Errors
/// [`Error::Folder`], [`Error::Io`], [`Error::Format`] where a point does not fit the format.
pub fn write_las(path: &Path, points: &LasPoints, crs: Option<&Crs>) -> Result<()> {
    let failed = |error: las::Error| Error::format(path, error);
    let is_laz = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("laz"));
    let mut format = Format::new(6).map_err(failed)?;
    format.is_compressed = is_laz;
    let mut builder = Builder::from(Version::new(1, 4));
    builder.point_format = format;
    let first = |column: &[f64]| column.first().map_or(0.0, |v| v.floor());
    let transform = |column| Transform { scale: 0.001, offset: first(column) };
    builder.transforms =
        Vector { x: transform(points.x), y: transform(points.y), z: transform(points.z) };
    builder.generating_software = "Tessera".to_owned();
    let mut header = builder.into_header().map_err(failed)?;
    if let Some(text) = crs.and_then(Crs::wkt) {
        header.set_wkt_crs(text.as_bytes().to_vec()).map_err(failed)?;
    }
    let mut writer = Writer::new(Cursor::new(Vec::new()), header).map_err(failed)?;
    for i in 0..points.z.len() {
        let point = Point {
            x: points.x[i],
            y: points.y[i],
            z: points.z[i],
            classification: Classification::new(points.class[i]).map_err(failed)?,
            return_number: points.return_number[i],
            number_of_returns: points.number_of_returns[i],
            gps_time: Some(0.0),
            ..Point::default()
        };
        writer.write_point(point).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(failed)?.into_inner();
    whole_file(path, |out| std::io::Write::write_all(out, &bytes).map_err(Error::io(path)))
}
