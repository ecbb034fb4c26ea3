//! Where a raster lies, by its file of any format.

use std::path::Path;

use crate::points::ending;
use crate::rasters::georeference::{Place, RasterPlace};
use crate::rasters::tiff::image::TiffImage;
use crate::rasters::zarr::is_zarr;
use crate::rasters::{ascii_grid, virtual_raster};
use crate::{Error, Result, ValuesFile};

/// Reads the size and the place of a raster. The raster may be a TIFF or a virtual raster with bands of any number and
/// type, an ASCII grid, or Zarr of one band.
///
/// ```
/// use geo_io::{Georeference, read_place, write_georeferenced};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("dem.tif");
/// let place = Georeference::north_up((100.0, 20.0), (10.0, 10.0));
/// write_georeferenced(&path, &place, (3, 2), &[5.0; 6], -9999.0)?;
/// let found = read_place(&path)?;
/// assert_eq!((found.size, found.georeference), ((3, 2), Some(place)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::UnknownEnding`] for another file, and the errors of the file.
pub fn read_place(path: &Path) -> Result<RasterPlace> {
    match ending(path).as_str() {
        "tif" | "tiff" => {
            let image = TiffImage::open(path, (1, 1))?;
            let Place { georeference, notes } = Place::of_tiff(path, image.directory())?;
            let size = (image.layout().width, image.layout().height);
            Ok(RasterPlace { size, georeference, notes })
        }
        "asc" => ascii_grid::read_place(path),
        "vrt" => virtual_raster::read_place(path),
        _ if is_zarr(path) => {
            let file = ValuesFile::open(path)?;
            let (georeference, notes) = (file.georeference().cloned(), file.notes().to_vec());
            Ok(RasterPlace { size: file.size(), georeference, notes })
        }
        _ => {
            let known = ".tif, .tiff, .asc, .vrt or .zarr";
            Err(Error::unknown_ending(path, known))
        }
    }
}
