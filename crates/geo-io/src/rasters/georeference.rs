//! Where a raster lies on the ground: six numbers and a reference system, from GeoTIFF to GeoTIFF
//! (OGC 19-008r4).

use std::path::Path;

use gpu_core::GridSpec;
use roxmltree::Node;
use tiff_core::{Tag, TagValue};
use tiff_reader::ifd::Ifd;

use crate::crs::{ASCII_TAG, DIRECTORY_TAG, DOUBLES_TAG};
use crate::rasters::pam;
use crate::rasters::world_file::{WorldFile, map_info_beside};
use crate::{Crs, Error, GeoKeys, Result};

const MODEL_PIXEL_SCALE: u16 = 33550;
const MODEL_TIEPOINT: u16 = 33922;
const MODEL_TRANSFORMATION: u16 = 34264;

/// Where a raster lies on the ground.
///
/// ```
/// use geo_io::Georeference;
///
/// let place = Georeference::north_up((100.0, 20.0), (10.0, 5.0)); // corner, and sides of a pixel
/// assert_eq!(place.transform, [100.0, 10.0, 0.0, 20.0, 0.0, -5.0]);
/// assert_eq!(place.pixel_sides(), Some((10.0, 5.0)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Georeference {
    /// GDAL's geotransform t: the corner of a pixel towards column and row 0 lies at
    /// x = t0 + column t1 + row t2 and y = t3 + column t4 + row t5.
    pub transform: [f64; 6],
    /// The reference system, whose units the geotransform has.
    pub crs: Option<Crs>,
}

impl Georeference {
    /// Returns the place of a raster whose rows run from north to south. Pixels have the sides `width` and `height`;
    /// the north-west corner lies at `left`, `top`.
    pub fn north_up((left, top): (f64, f64), (width, height): (f64, f64)) -> Self {
        Self { transform: [left, width, 0.0, top, 0.0, -height], crs: None }
    }

    /// The place of a grid.
    pub fn of_grid(grid: &GridSpec, crs: Option<&Crs>) -> Self {
        Self { transform: grid.geotransform(), crs: crs.cloned() }
    }

    /// Returns the place of a raster whose values are not heights: its system is that of x and y alone. A reader would
    /// take a vertical part for the datum and the unit of the values.
    ///
    /// ```
    /// use geo_io::{Crs, Georeference};
    ///
    /// let crs = Crs::parse("EPSG:26910+6360")?;
    /// let dem = Georeference { crs: Some(crs), ..Georeference::north_up((5e5, 5e6), (10.0, 10.0)) };
    /// assert!(!dem.without_heights().crs.is_some_and(|crs| crs.has_heights()));
    /// # Ok::<(), geo_io::Error>(())
    /// ```
    #[must_use]
    pub fn without_heights(&self) -> Self {
        Self { transform: self.transform, crs: self.crs.as_ref().map(Crs::without_heights) }
    }

    /// Returns the width and height of a pixel; `None` if its sides are not at right angles, to a millionth.
    pub fn pixel_sides(&self) -> Option<(f64, f64)> {
        let [_, ax, bx, _, ay, by] = self.transform;
        let (width, height) = (ax.hypot(ay), bx.hypot(by));
        ((ax * bx + ay * by).abs() <= 1e-6 * width * height).then_some((width, height))
    }

    /// The tags that state it.
    pub(crate) fn tags(&self) -> Vec<Tag> {
        let [left, ax, bx, top, ay, by] = self.transform;
        let double = |tag, values: &[f64]| Tag::new(tag, TagValue::Double(values.to_vec()));
        let mut tags = if bx == 0.0 && ay == 0.0 && ax > 0.0 && by < 0.0 {
            vec![
                double(MODEL_PIXEL_SCALE, &[ax, -by, 0.0]),
                double(MODEL_TIEPOINT, &[0.0, 0.0, 0.0, left, top, 0.0]),
            ]
        } else {
            let (x, y) = ([ax, bx, 0.0, left], [ay, by, 0.0, top]);
            let rest = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
            vec![double(MODEL_TRANSFORMATION, &[&x[..], &y, &rest].concat())]
        };
        // As GDAL has it, no keys without a reference system: of any others it makes an unnamed one.
        let Some(keys) = self.crs.as_ref().map(Crs::geokeys) else { return tags };
        tags.push(Tag::new(DIRECTORY_TAG, TagValue::Short(keys.directory)));
        if !keys.doubles.is_empty() {
            tags.push(Tag::new(DOUBLES_TAG, TagValue::Double(keys.doubles)));
        }
        if !keys.ascii.is_empty() {
            tags.push(Tag::new(ASCII_TAG, TagValue::Ascii(keys.ascii)));
        }
        tags
    }
}

/// The keys of the reference system.
fn keys(image: &Ifd) -> GeoKeys {
    let value = |tag| image.tag(tag).map(|tag| &tag.value);
    let directory = value(DIRECTORY_TAG).and_then(TagValue::as_u16_slice).unwrap_or_default();
    let ascii = value(ASCII_TAG).and_then(TagValue::as_str).unwrap_or_default();
    GeoKeys {
        directory: directory.to_vec(),
        doubles: value(DOUBLES_TAG).and_then(TagValue::as_f64_vec).unwrap_or_default(),
        ascii: ascii.trim_end_matches('\0').to_owned(),
    }
}

/// The size and the place of a raster, without its values.
///
/// Example: see [`read_place`](crate::read_place).
#[derive(Clone, Debug, PartialEq)]
pub struct RasterPlace {
    /// Columns and rows.
    pub size: (usize, usize),
    /// Where it lies on the ground, if the file or a file beside it says so.
    pub georeference: Option<Georeference>,
    /// Notes on tags that do not give a place, and what to do about them.
    pub notes: Vec<String>,
}

/// The place of a raster, by its file and the files beside it, as GDAL reads them.
#[derive(Default)]
pub(crate) struct Place {
    pub georeference: Option<Georeference>,
    /// Notes on statements of the files that this crate does not keep, and what to do about them. Examples are ground
    /// control points, a reference system alone, a reference system that is not understood, and a damaged world file.
    pub notes: Vec<String>,
}

impl Place {
    /// Returns the place of an image of a TIFF. GDAL's `.aux.xml` takes precedence over the file's own tags, and these
    /// over a world file.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an invalid place.
    pub fn of_tiff(path: &Path, image: &Ifd) -> Result<Self> {
        let beside = pam::Place::beside(path)?;
        let (keys, _) = keys(image).cleaned();
        let own = Stated::of_tiff(image, keys.is_point());
        let keys = if keys.is_system() { Crs::from_geokeys(keys) } else { Ok(None) };
        let crs = match beside.crs.clone() {
            Some(crs) => Some(crs),
            None if beside.is_system_unknown => None,
            None => keys.map_err(|reason| Error::malformed(path, reason))?,
        };
        let stated = match Stated::of_auxiliary(&beside) {
            Stated::Nothing => own,
            first => first,
        };
        let is_own = beside.transform.is_none() && beside.control_points == 0;
        let world = WorldFile::beside(path).filter(|_| is_own);
        Ok(Self::of(path, stated, world, crs)?.noting(path, &beside))
    }

    /// Returns the place of a picture. As in GDAL, a world file takes precedence over the `.aux.xml`.
    ///
    /// # Errors
    /// The errors of [`Place::of_tiff`].
    pub fn of_picture(path: &Path) -> Result<Self> {
        let beside = pam::Place::beside(path)?;
        let world = WorldFile::beside(path);
        let stated = match world.as_ref().and_then(|world| world.transform) {
            Some(transform) => Stated::Transform(transform),
            None => Stated::of_auxiliary(&beside),
        };
        let crs = beside.crs.clone();
        Ok(Self::of(path, stated, world, crs)?.noting(path, &beside))
    }

    /// Returns the place that a virtual raster states in its XML.
    ///
    /// # Errors
    /// The errors of [`Place::of_tiff`].
    pub fn of_virtual(path: &Path, root: Node) -> Result<Self> {
        let stated = pam::Place::of(root).map_err(|reason| Error::malformed(path, reason))?;
        let mut place = Self::of(path, Stated::of_auxiliary(&stated), None, stated.crs.clone())?;
        if stated.is_system_unknown {
            let path = path.display();
            place
                .notes
                .push(format!("{path}: its reference system is not understood, so none is kept"));
        }
        Ok(place)
    }

    /// With what is to be said of a system in the `.aux.xml` that is not understood.
    fn noting(mut self, path: &Path, beside: &pam::Place) -> Self {
        if beside.is_system_unknown {
            let path = path.display();
            self.notes.push(format!(
                "{path}: the reference system in {path}.aux.xml is not understood, so none is kept: `gdalwarp -t_srs` brings the \
                 raster into another"
            ));
        }
        self
    }

    fn of(path: &Path, stated: Stated, world: Option<WorldFile>, crs: Option<Crs>) -> Result<Self> {
        let of_world = world.as_ref().and_then(|world| world.transform);
        let transform = match stated {
            Stated::Transform(transform) => Some(transform),
            _ => of_world,
        };
        if let Some(transform) = transform.map(without_noise) {
            let [_, ax, bx, _, ay, by] = transform;
            if transform.iter().any(|t| !t.is_finite()) || ax * by - bx * ay == 0.0 {
                let reason = format!("its pixels have no area on the ground: {transform:?}");
                return Err(Error::malformed(path, reason));
            }
            return Ok(Self {
                georeference: Some(Georeference { transform, crs }),
                notes: Vec::new(),
            });
        }
        let none = "so it has no place";
        let map_info = map_info_beside(path);
        let note = match (stated, world, map_info, crs) {
            (Stated::ControlPoints(points), ..) => Some(format!(
                "its ground control points ({points}) are not used, {none}: \
                 `gdalwarp` makes a raster of it that has one"
            )),
            (Stated::Half(what), ..) => Some(format!("{what}, {none}: a world file gives it one")),
            (_, Some(world), ..) => {
                let world = world.path.display();
                Some(format!("{world} has not the six numbers of a world file, {none}"))
            }
            (.., Some(table), _) => Some(format!(
                "{}, a MapInfo table, is not read, {none}: `gdal_translate` makes a GeoTIFF of it that has one",
                table.display()
            )),
            (.., Some(crs)) => Some(format!(
                "it states the system {crs} but not where it lies, so neither is kept: \
                 a world file gives it a place"
            )),
            _ => None,
        };
        let notes = note.into_iter().map(|note| format!("{}: {note}", path.display())).collect();
        Ok(Self { georeference: None, notes })
    }
}

/// The place as one source states it.
enum Stated {
    Nothing,
    Transform([f64; 6]),
    /// Points on the ground, this many of them.
    ControlPoints(usize),
    /// A part of what a place needs; in words.
    Half(&'static str),
}

impl Stated {
    fn of_auxiliary(beside: &pam::Place) -> Self {
        match (beside.transform, beside.control_points) {
            (Some(transform), _) => Self::Transform(transform),
            (None, 0) => Self::Nothing,
            (None, points) => Self::ControlPoints(points),
        }
    }

    /// Reads the tags of an image. If it has both a scale and a matrix, the scale counts, as in GDAL. With `is_point`,
    /// the tags place the middle of a pixel.
    fn of_tiff(image: &Ifd, is_point: bool) -> Self {
        let numbers = |tag| image.tag(tag).and_then(|tag| tag.value.as_f64_vec());
        let points = numbers(MODEL_TIEPOINT).unwrap_or_default();
        let mut transform = match (numbers(MODEL_PIXEL_SCALE).as_deref(), &points[..]) {
            (Some(&[width, height, ..]), points) if width != 0.0 && height != 0.0 => {
                let &[column, row, _, x, y, _, ..] = points else {
                    return Self::Half("it has a pixel scale, but no point on the ground");
                };
                // As GDAL has it: rows run south, whatever the sign.
                let height = height.abs();
                [x - column * width, width, 0.0, y + row * height, 0.0, -height]
            }
            (_, points) => match numbers(MODEL_TRANSFORMATION).as_deref() {
                Some(&[a, b, _, left, c, d, _, top, _, _, _, _, _, _, _, _]) => {
                    [left, a, b, top, c, d]
                }
                _ if points.len() >= 6 => return Self::ControlPoints(points.len() / 6),
                Some(_) => return Self::Half("its transformation has not 16 numbers"),
                None => return Self::Nothing,
            },
        };
        if is_point {
            transform[0] -= (transform[1] + transform[2]) / 2.0;
            transform[3] -= (transform[4] + transform[5]) / 2.0;
        }
        Self::Transform(transform)
    }
}

/// Takes shears for 0 that are rounding errors of whoever turned or reprojected a raster: by less than a thousandth of a
/// pixel over a million pixels.
fn without_noise(transform: [f64; 6]) -> [f64; 6] {
    let [left, ax, bx, top, ay, by] = transform;
    let cleaned = |shear: f64, side: f64| if shear.abs() < 1e-9 * side.abs() { 0.0 } else { shear };
    [left, cleaned(ax, bx), cleaned(bx, ax), top, cleaned(ay, by), cleaned(by, ay)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_those_of_right_angles() {
        let of = |transform| Georeference { transform, crs: None }.pixel_sides();
        assert_eq!(of([5.0, 2.0, 0.0, 9.0, 0.0, -3.0]), Some((2.0, 3.0)));
        assert_eq!(of([5.0, 3.0, 8.0, 9.0, 4.0, -6.0]), Some((5.0, 10.0)));
        assert_eq!(of([5.0, 2.0, 0.1, 9.0, 0.0, -3.0]), None);
    }

    #[test]
    fn shears_of_rounding_are_none() {
        let noisy = [5.0, 2.0, 1e-13, 9.0, -1e-13, -2.0];
        assert_eq!(without_noise(noisy), [5.0, 2.0, 0.0, 9.0, 0.0, -2.0]);
        // Turned by a right angle, and by a millionth of a degree.
        for turned in [[5.0, 1e-13, 2.0, 9.0, 2.0, 0.0], [5.0, 2.0, 4e-8, 9.0, 4e-8, -2.0]] {
            let [_, ax, bx, ..] = without_noise(turned);
            assert_eq!([ax, bx], [if turned[1] < 1.0 { 0.0 } else { 2.0 }, turned[2]]);
        }
    }
}
