//! Where pixels lie on the ground: the direction from a pixel to its nearest site, and the site's coordinates.
//!
//! Both follow from the index of the nearest site alone. The host computes them from indices, which have the same bits
//! on every device. So the results do not depend on the device of the transform.

use gpu_core::parallel::{self, FINE};
use gpu_core::{Grid, GridSpec, host_memory};

use crate::{Error, Integers, Result, Spacing};

/// Returns the bearing of a step, in degrees clockwise from north: above 0 and at most 360. Due north is 360, and no
/// step is 0. NaN if a part of the step is NaN.
///
/// So a site, which is its own nearest site, has another bearing than a pixel whose site lies due north. ArcGIS's
/// Euclidean direction and xarray-spatial count in the same way.
///
/// ```
/// use pba_voronoi::bearing;
/// assert_eq!((bearing(0.0, 0.0), bearing(0.0, 2.0), bearing(2.0, 0.0)), (0.0, 360.0, 90.0));
/// assert_eq!((bearing(1.0, -1.0), bearing(-3.0, 0.0)), (135.0, 270.0));
/// ```
pub fn bearing(east: f64, north: f64) -> f32 {
    if east == 0.0 && north == 0.0 {
        return 0.0;
    }
    let degrees = east.atan2(north).to_degrees();
    let turned = if degrees <= 0.0 { degrees + 360.0 } else { degrees };
    // 0 stands for the same place, so an angle that f32 would round to 0 stays above it.
    let turned = turned as f32;
    if turned < f32::MIN_POSITIVE { f32::MIN_POSITIVE } else { turned }
}

/// Where the pixels of a raster lie. Pixel (0, 0) begins at `origin`. `column` and `row` are the steps on the ground
/// from a pixel to the next column and to the next row. Each of the three has an eastward and a northward part, in any
/// unit.
///
/// ```
/// use pba_voronoi::Lay;
/// // GDAL's geotransform of pixels of 30 x 40, north up.
/// let lay = Lay::of_geotransform([5e5, 30.0, 0.0, 4.6e6, 0.0, -40.0]);
/// assert_eq!(lay.centre([1, 0]), [5e5 + 45.0, 4.6e6 - 20.0]);
/// assert_eq!(lay.direction([0, 1], [0, 0]), 360.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lay {
    /// The corner of pixel (0, 0) towards column and row 0.
    pub origin: [f64; 2],
    /// The step to the next column.
    pub column: [f64; 2],
    /// The step to the next row.
    pub row: [f64; 2],
}

impl Lay {
    /// The lay of a grid: rows run from north to south.
    pub fn of_grid(grid: &GridSpec) -> Self {
        Self::of_geotransform(grid.geotransform())
    }

    /// Returns the lay of GDAL's geotransform.
    pub fn of_geotransform([x, ax, bx, y, ay, by]: [f64; 6]) -> Self {
        Self { origin: [x, y], column: [ax, ay], row: [bx, by] }
    }

    /// Returns the same axes with pixels of other sides, as in [`Params::spacing`](crate::Params::spacing), so that
    /// directions fit the distances.
    pub fn with_spacing(self, Spacing { x, y }: Spacing) -> Self {
        let scaled = |[east, north]: [f64; 2], side: f64| {
            let length = east.hypot(north);
            // A step along an axis keeps its zero.
            [east / length * side, north / length * side]
        };
        Self { column: scaled(self.column, x), row: scaled(self.row, y), ..self }
    }

    /// The coordinates of a pixel's centre; the pixel is a column and a row.
    pub fn centre(&self, [column, row]: [u32; 2]) -> [f64; 2] {
        let (column, row) = (f64::from(column) + 0.5, f64::from(row) + 0.5);
        let along =
            |axis: usize| self.origin[axis] + (column * self.column[axis] + row * self.row[axis]);
        [along(0), along(1)]
    }

    /// Returns the [`bearing`] from the centre of one pixel to the centre of another.
    pub fn direction(&self, from: [u32; 2], to: [u32; 2]) -> f32 {
        let step = |axis: usize| f64::from(to[axis]) - f64::from(from[axis]);
        let (columns, rows) = (step(0), step(1));
        let along = |axis: usize| columns * self.column[axis] + rows * self.row[axis];
        bearing(along(0), along(1))
    }
}

/// The [`bearing`] from each pixel to its nearest site, from [`Diagram::nearest`](crate::Diagram::nearest): 0 at a
/// site, NaN without a site.
///
/// O(pixels) on all cores. The call takes `lay` for a plane, although a pixel and its site may be as far apart as the
/// raster is wide.
///
/// ```
/// use gpu_core::{Device, DeviceChoice, GridSpec};
/// use pba_voronoi::{Input, Lay, Params, Sites, directions, transform};
///
/// # fn main() -> Result<(), pba_voronoi::Error> {
/// let device = Device::open(DeviceChoice::Cpu)?;
/// let input = Input::new(Sites::Mask(&[0, 1, 0, 0]), GridSpec::of_pixels(2, 2));
/// let diagram = transform(&device, &input, &Params::new().nearest())?;
/// let directions = directions(&diagram.nearest.unwrap(), &Lay::of_grid(&diagram.grid))?;
/// assert_eq!(directions.values(), [90.0, 0.0, 45.0, 360.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::SiteOutside`] for an index beyond the raster, [`Error::Core`] where memory fails.
pub fn directions(nearest: &Integers, lay: &Lay) -> Result<Grid<f32>> {
    let grid = *nearest.grid();
    check_indices(nearest)?;
    let mut out = host_memory::zeroed(nearest.len())?;
    parallel::for_each(&mut out, FINE, |p, out| {
        let to = |site| lay.direction(pixel(p as u64, &grid), pixel(site, &grid));
        *out = nearest.get(p).map_or(f32::NAN, to);
    });
    Ok(Grid::new(out, grid)?)
}

/// The coordinates of the centre of each pixel's nearest site, east and north, from
/// [`Diagram::nearest`](crate::Diagram::nearest): NaN without a site. O(pixels) on all cores.
///
/// ```
/// use gpu_core::{Device, GridSpec};
/// use pba_voronoi::{Input, Lay, Params, Sites, site_centres, transform};
///
/// // Pixels of side 10, from x = 100 east and from y = 20 south; the site is the north-eastern one.
/// let input = Input::new(Sites::Mask(&[0, 1, 0, 0]), GridSpec::new(100.0, 20.0, 10.0, 2, 2)?);
/// let diagram = transform(&Device::Cpu, &input, &Params::new().nearest())?;
/// let [east, north] = site_centres(&diagram.nearest.unwrap(), &Lay::of_grid(&diagram.grid))?;
/// assert_eq!((east.values(), north.values()), (&[115.0; 4][..], &[15.0; 4][..]));
/// # Ok::<(), pba_voronoi::Error>(())
/// ```
///
/// # Errors
/// [`Error::SiteOutside`] for an index beyond the raster, [`Error::Core`] where memory fails.
pub fn site_centres(nearest: &Integers, lay: &Lay) -> Result<[Grid<f64>; 2]> {
    let grid = *nearest.grid();
    check_indices(nearest)?;
    let along = |axis: usize| {
        let mut out = host_memory::zeroed(nearest.len())?;
        parallel::for_each(&mut out, FINE, |p, out| {
            let of = |site| lay.centre(pixel(site, &grid))[axis];
            *out = nearest.get(p).map_or(f64::NAN, of);
        });
        Ok::<_, Error>(Grid::new(out, grid)?)
    };
    Ok([along(0)?, along(1)?])
}

/// Column and row of an index.
pub(crate) fn pixel(index: u64, grid: &GridSpec) -> [u32; 2] {
    let width = u64::from(grid.width).max(1);
    [(index % width) as u32, (index / width) as u32]
}

pub(crate) fn check_indices(nearest: &Integers) -> Result<()> {
    let (grid, pixels) = (*nearest.grid(), nearest.len() as u64);
    let is_outside = |p: usize| nearest.get(p).is_some_and(|site| site >= pixels);
    match parallel::first(nearest.len(), FINE, is_outside) {
        Some(site) => {
            let [column, row] = pixel(nearest.get(site).unwrap_or_default(), &grid);
            Err(Error::SiteOutside { site, column, row, width: grid.width, height: grid.height })
        }
        None => Ok(()),
    }
}
