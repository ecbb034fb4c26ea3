//! Where a raster lies on the ground: six numbers and a reference system, from GeoTIFF to GeoTIFF
//! (OGC 19-008r4).

use gpu_core::GridSpec;
use tiff_core::{Tag, TagValue};
use tiff_reader::ifd::Ifd;

use crate::crs::{ASCII_TAG, DIRECTORY_TAG, DOUBLES_TAG};
use crate::{Crs, GeoKeys};

const MODEL_PIXEL_SCALE: u16 = 33550;
const MODEL_TIEPOINT: u16 = 33922;
const MODEL_TRANSFORMATION: u16 = 34264;

/// Where a raster lies on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct Georeference {
    /// GDAL's geotransform t: the corner of a pixel towards column and row 0 lies at
    /// x = t0 + column t1 + row t2 and y = t3 + column t4 + row t5.
    pub transform: [f64; 6],
    /// The reference system, in whose units these are.
    pub crs: Option<Crs>,
}

impl Georeference {
    /// Rows run from north to south, and pixels have the sides `width` and `height`; the raster's
    /// north-west corner lies at `left`, `top`.
    pub fn north_up((left, top): (f64, f64), (width, height): (f64, f64)) -> Self {
        Self { transform: [left, width, 0.0, top, 0.0, -height], crs: None }
    }

    /// The place of a grid.
    pub fn of_grid(grid: &GridSpec, crs: Option<&Crs>) -> Self {
        Self { transform: grid.geotransform(), crs: crs.cloned() }
    }

    /// Width and height of a pixel; `None` where they are not at right angles, to a millionth.
    pub fn pixel_sides(&self) -> Option<(f64, f64)> {
        let [_, ax, bx, _, ay, by] = self.transform;
        let (width, height) = (ax.hypot(ay), bx.hypot(by));
        ((ax * bx + ay * by).abs() <= 1e-6 * width * height).then_some((width, height))
    }

    /// That of an image of a TIFF; `None` where it states no place, or one only by points on the ground.
    ///
    /// # Errors
    /// The fault, in words.
    pub(crate) fn of_tiff(image: &Ifd) -> Result<Option<Self>, String> {
        let (keys, _) = keys(image).cleaned();
        let Some(mut transform) = transform(image)? else { return Ok(None) };
        if keys.is_point() {
            // The numbers place the middle of a pixel.
            transform[0] -= (transform[1] + transform[2]) / 2.0;
            transform[3] -= (transform[4] + transform[5]) / 2.0;
        }
        let [_, ax, bx, _, ay, by] = transform;
        if transform.iter().any(|t| !t.is_finite()) || ax * by - bx * ay == 0.0 {
            return Err(format!("its pixels have no area on the ground: {transform:?}"));
        }
        let crs = if keys.is_system() { Crs::from_geokeys(keys)? } else { None };
        Ok(Some(Self { transform, crs }))
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

/// The numbers that a tag holds, if the file has it.
fn numbers(image: &Ifd, tag: u16) -> Result<Option<Vec<f64>>, String> {
    let Some(tag) = image.tag(tag) else { return Ok(None) };
    let numbers = tag.value.as_f64_vec();
    numbers.map(Some).ok_or_else(|| format!("its tag {} holds no numbers", tag.code))
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

/// The geotransform as the file has it, by its matrix or by its scale and first point.
fn transform(image: &Ifd) -> Result<Option<[f64; 6]>, String> {
    if let Some(matrix) = numbers(image, MODEL_TRANSFORMATION)? {
        let &[a, b, _, left, c, d, _, top, ..] = &matrix[..] else {
            return Err(format!("its transformation has {} numbers of 16", matrix.len()));
        };
        return Ok(Some([left, a, b, top, c, d]));
    }
    let scale = numbers(image, MODEL_PIXEL_SCALE)?;
    let point = numbers(image, MODEL_TIEPOINT)?;
    match (scale.as_deref(), point.as_deref()) {
        (Some(&[width, height, ..]), Some(&[column, row, _, x, y, ..])) => {
            // As GDAL has it: rows run south, whatever the sign.
            let height = height.abs();
            Ok(Some([x - column * width, width, 0.0, y + row * height, 0.0, -height]))
        }
        (Some(_), _) => Err("it has a pixel scale, but no point on the ground".to_owned()),
        (None, _) => Ok(None),
    }
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
}
