//! Reads a point file of any format.

use std::path::Path;

use gpu_core::Progress;

use super::read_on::ReadOn;
use super::{Filter, Header, Keep, PointCloud, Tally, csv, ending, features, las};
use crate::input::{is_las, is_url};
use crate::tables::Kind;
use crate::{CsvColumns, Error, Result, stream};

/// Reads a point cloud.
///
/// The ending of the name, in upper or lower case, tells the format:
///
/// - `.las` and `.laz`: LAS and LAZ. A COPC is read only where its chunks touch the filter's bounds.
/// - `.csv`, `.txt` and `.xyz`: a table.
/// - `.parquet`, `.fgb`, `.gpkg` and `.shp`: tables with geometries. Geometries give x, y and the reference system, and
///   also elevations if no column has that name. `.parquet` and `.gpkg` need geo-io's features `parquet` and
///   `geopackage`.
///
/// With the feature `http`, the path of a LAZ or LAS file may be its address (`https://..`). The reader requests bytes
/// as it needs them: for a COPC file, the chunks that touch the filter's bounds; for other files, all.
///
/// The name `-` stands for standard input. Bytes from it, or from a pipe whose name has no ending, are LAS or LAZ if
/// they begin like these formats, else a table. LAS and LAZ from a pipe go to a temporary file, and take as much space
/// there.
///
/// `columns` names the columns of a table, and further values of each point. In a LAS file, these are its fields
/// ([`LasField`](crate::LasField)); the reader decodes only the named fields. A file without points gives an empty cloud.
///
/// `on` is a progress, to which the reader reports the share of the file read, a device, or both ([`ReadOn`]). A GPU
/// decodes the chunks of large LAZ files.
///
/// ```
/// use geo_io::{CsvColumns, Filter, read_points};
/// use gpu_core::{Bounds, Silent};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "x,y,z\n1,1,10\n2,2,20\n9,9,90\n")?;
/// let bounds = Some(Bounds { min_x: 0.0, min_y: 0.0, max_x: 5.0, max_y: 5.0 });
/// let filter = Filter { bounds, ..Filter::default() };
/// let points = read_points(&path, &filter, &CsvColumns::default(), &Silent)?;
/// assert_eq!(points.z, [10.0, 20.0]);
/// assert_eq!((points.tally.read, points.tally.dropped_outside), (3, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - [`Error::UnknownEnding`]: no format has this ending.
/// - [`Error::NotBuilt`]: the format needs a feature of this crate.
/// - [`Error::NoAttribute`]: a table lacks an attribute that the filter needs.
/// - [`Error::NoField`] and [`Error::NoColumn`]: a file lacks values that `columns` names.
/// - [`Error::Cancelled`]: the progress ended the call.
/// - Any other error of the file.
pub fn read_points<'on>(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    on: impl Into<ReadOn<'on>>,
) -> Result<PointCloud> {
    read(path, filter, columns, on.into(), Keep::All { at_once: 1, is_checked: false })
}

/// Reads a point file as [`read_points`] does, but passes points on as they come. Use it for files that memory does not
/// hold. `take` gets the kept points among at most `most` points, in the order of the file, and never an empty cloud.
/// Returns how many points were read, kept and dropped.
///
/// The cores decode all chunks: a GPU would need more points at once than `most` allows.
///
/// Memory: about 60 bytes for each of `most` points, and 16 more for each further value; the same again for a chunk of
/// a LAZ file.
///
/// ```
/// use geo_io::{CsvColumns, Filter, read_batches};
/// use gpu_core::Silent;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "x,y,z\n1,1,10\n2,2,20\n9,9,90\n")?;
/// let (mut sum, columns) = (0.0, CsvColumns::default());
/// let tally = read_batches(&path, &Filter::default(), &columns, 2, &Silent, &mut |points| {
///     sum += points.z.iter().sum::<f64>(); // of one or two points
///     Ok(())
/// })?;
/// assert_eq!((tally.kept, sum), (3, 120.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// - The errors of [`read_points`] and of `take`.
/// - [`Error::Malformed`]: a point of a LAS or LAZ file is kept, but lies outside of the bounds that the header
///   states.
/// - [`Error::Malformed`]: the chunk table of a LAZ file contradicts its points after some points were passed on.
pub fn read_batches(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    most: usize,
    progress: &dyn Progress,
    take: &mut dyn FnMut(&PointCloud) -> Result<()>,
) -> Result<Tally> {
    read(path, filter, columns, progress.into(), Keep::Batches { most: most.max(1), take })
        .map(|cloud| cloud.tally)
}

pub(crate) fn read(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    on: ReadOn,
    keep: Keep,
) -> Result<PointCloud> {
    let progress = on.progress;
    let read = match Format::of(path)? {
        Format::Las => las::read(path, filter, &columns.values, on, keep),
        Format::Table => csv::read(path, filter, columns, progress, keep),
        Format::Features(kind) => features::read(path, kind, filter, columns, progress, keep),
    };
    stream::forget(path);
    read
}

/// Reads the header of a point file, and no points; `None` for a table, which has no header.
///
/// ```
/// use geo_io::{LasPoints, read_header, write_las};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.las");
/// let points = LasPoints { x: &[1.0, 2.0], y: &[3.0, 4.0], z: &[5.0, 6.0], ..LasPoints::default() };
/// write_las(&path, &points, None)?;
/// let header = read_header(&path)?.expect("a LAS file has one");
/// assert_eq!((header.points, header.heights), (2, Some([5.0, 6.0])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An error that says what is wrong with the file.
pub fn read_header(path: &Path) -> Result<Option<Header>> {
    match ending(path).as_str() {
        "las" | "laz" => las::read_header(path).map(Some),
        _ => Ok(None),
    }
}

/// The formats of point files.
enum Format {
    Las,
    Table,
    Features(Kind),
}

impl Format {
    /// By the ending, or where a pipe has none, by how it begins.
    fn of(path: &Path) -> Result<Self> {
        let is_nameless =
            || path.as_os_str() == "-" || path.starts_with("/dev") || stream::is_stream(path);
        if is_url(path) && !matches!(ending(path).as_str(), "las" | "laz") {
            let known = ".laz or .las, of which parts are read by their address; download others";
            return Err(Error::unknown_ending(path, known));
        }
        if let Some(kind) = Kind::of(path) {
            return Ok(Self::Features(kind));
        }
        match ending(path).as_str() {
            "las" | "laz" => Ok(Self::Las),
            "csv" | "txt" | "xyz" => Ok(Self::Table),
            _ if is_nameless() => Ok(if is_las(path)? { Self::Las } else { Self::Table }),
            _ => {
                let known = ".las, .laz, .csv, .txt, .xyz, .parquet, .fgb, .gpkg or .shp";
                Err(Error::unknown_ending(path, known))
            }
        }
    }
}
