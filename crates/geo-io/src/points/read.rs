//! Reading a point file, whichever format it has.

use std::path::Path;

use gpu_core::Progress;

use super::{Filter, Header, Keep, PointCloud, Tally, csv, ending, features, las};
use crate::input::is_las;
use crate::tables::Kind;
use crate::{CsvColumns, Error, Result, stream};

/// Reads a point cloud: LAS or LAZ by the endings `.las` and `.laz`, a table by `.csv`, `.txt` and
/// `.xyz`, and by `.parquet`, `.fgb`, `.gpkg` and `.shp`, in upper or lower case. In the last four x, y and the system come with the
/// geometries, and so do elevations where no column has the name. Other crates read `.parquet` and `.gpkg`: geo-io's features `parquet`
/// and `geopackage`. The name `-` stands for standard input; what comes through it or through a pipe without
/// an ending is LAS or LAZ where it begins so, else a table. LAS and LAZ from a pipe take as much room among the temporary
/// files. `columns` names the columns of a table, and further values of each point: of a LAS file its fields
/// ([`LasField`](crate::LasField)), which are decoded where they are asked for alone.
///
/// Of a COPC only the chunks that touch the filter's bounds are read.
///
/// A file without points gives an empty cloud. `progress` is told the share of the file read.
///
/// # Errors
/// [`Error::UnknownEnding`], [`Error::NotBuilt`]; what is wrong with the file; [`Error::NoAttribute`] where a table
/// lacks what the filter asks for; [`Error::NoField`] and [`Error::NoColumn`] for values that a file lacks;
/// [`Error::Cancelled`].
pub fn read_points(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    progress: &dyn Progress,
) -> Result<PointCloud> {
    read(path, filter, columns, progress, Keep::All { at_once: 1, is_checked: false })
}

/// Reads a point file as [`read_points`] does, but hands its points on as they come, for files that memory does not
/// hold: `take` gets what was kept of at most `most` points, in the order of the file, and never an empty cloud.
/// Gives what became of all points.
///
/// Memory: about 60 bytes for each of `most` points, 16 more for each further value, and as many again of a LAZ file's chunk.
///
/// # Errors
/// As [`read_points`], and those of `take`. [`Error::Malformed`] for a LAS or LAZ file with a point that is kept and
/// lies outside of the bounds that its header states, and for a LAZ file whose chunk table contradicts its points
/// after some of these were handed on.
pub fn read_batches(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    most: usize,
    progress: &dyn Progress,
    take: &mut dyn FnMut(&PointCloud) -> Result<()>,
) -> Result<Tally> {
    read(path, filter, columns, progress, Keep::Batches { most: most.max(1), take })
        .map(|cloud| cloud.tally)
}

pub(crate) fn read(
    path: &Path,
    filter: &Filter,
    columns: &CsvColumns,
    progress: &dyn Progress,
    keep: Keep,
) -> Result<PointCloud> {
    let read = match Format::of(path)? {
        Format::Las => las::read(path, filter, &columns.values, progress, keep),
        Format::Table => csv::read(path, filter, columns, progress, keep),
        Format::Features(kind) => features::read(path, kind, filter, columns, progress, keep),
    };
    stream::forget(path);
    read
}

/// Reads the header of a point file, and no points; `None` for a table, which has none.
///
/// # Errors
/// What is wrong with the file.
pub fn read_header(path: &Path) -> Result<Option<Header>> {
    match ending(path).as_str() {
        "las" | "laz" => las::read_header(path).map(Some),
        _ => Ok(None),
    }
}

/// What a point file is.
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
        if let Some(kind) = Kind::of(path) {
            return Ok(Self::Features(kind));
        }
        match ending(path).as_str() {
            "las" | "laz" => Ok(Self::Las),
            "csv" | "txt" | "xyz" => Ok(Self::Table),
            _ if is_nameless() => Ok(if is_las(path)? { Self::Las } else { Self::Table }),
            _ => Err(Error::UnknownEnding {
                path: path.to_owned(),
                known: ".las, .laz, .csv, .txt, .xyz, .parquet, .fgb, .gpkg or .shp",
            }),
        }
    }
}
