//! The bands of the result: a raster for each value, and layers that tell how reliable a value is.

use anyhow::{Context, Result};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Device, GridSpec, GridView, Points, Progress, ValueRange, host_memory};
use nni_grid::{Dem, Input, Summary};
use programs::args::HEIGHT;
use programs::cloud::Cloud;
use programs::products::{centres, require_finite};

use crate::above::Floor;
use crate::extent::Extents;
use crate::layer::Layer;
use crate::surface::SurfaceArgs;

/// The ranges of the interpolated values, where they are known.
pub struct Ranges {
    heights: Option<ValueRange>,
    further: Vec<Option<ValueRange>>,
}

impl Ranges {
    /// Rounds the values of points as [`Cloud::settle_heights`] does.
    pub fn settled(cloud: &mut Cloud) -> Self {
        Self { heights: cloud.settle_heights(), further: cloud.settle_values() }
    }

    /// The first of the values that count whose range is not known.
    pub fn unknown<'a>(&self, surface: &'a SurfaceArgs) -> Option<&'a str> {
        let mut further = self.further.iter();
        let is_unknown = |name: &&String| match *name == HEIGHT {
            true => self.heights.is_none(),
            false => further.next().is_some_and(Option::is_none),
        };
        surface.value.iter().find(is_unknown).map(String::as_str)
    }
}

/// Interpolates all values of points, whose places are in cells. Values of one range, such as fields of one type, are
/// interpolated by one call, which computes the geometry once.
pub fn interpolated(
    device: &Device,
    cloud: &Cloud,
    ranges: &Ranges,
    (grid, inside, surface): (GridSpec, Option<&[u8]>, &SurfaceArgs),
    progress: &dyn Progress,
) -> Result<Dem> {
    let inside = inside.map(|inside| GridView::new(inside, grid)).transpose()?;
    let mut further = cloud.values.iter().zip(&ranges.further);
    let column = |name: &String| match name == HEIGHT {
        true => Some((&cloud.z, &ranges.heights)),
        false => further.next(),
    };
    let columns: Vec<_> = surface.value.iter().filter_map(column).collect();
    let mut first: Option<Dem> = None;
    let mut rasters = vec![None; columns.len()];
    while let Some(next) = rasters.iter().position(Option::is_none) {
        let range = columns[next].1;
        let group: Vec<usize> = (next..columns.len()).filter(|&i| columns[i].1 == range).collect();
        let values: Vec<&[f64]> = group.iter().map(|&i| &columns[i].0[..]).collect();
        let points = Points { x: &cloud.x, y: &cloud.y, values: &values };
        let input = Input::new(points, grid);
        let input = inside.map_or(input, |inside| input.mask(inside));
        let mut params = surface.params(*range);
        if first.is_some() {
            params = params.distances(false).counts(false);
        }
        let mut dem = nni_grid::interpolate(device.with_progress(progress), input, &params)?;
        for (&i, raster) in group.iter().zip(dem.values.drain(..)) {
            rasters[i] = Some(raster);
        }
        first.get_or_insert(dem);
    }
    let mut dem = first.context("there is no value to interpolate")?;
    dem.values = rasters.into_iter().flatten().collect();
    Ok(dem)
}

/// The result: a raster for each band, in the order of [`SurfaceArgs::bands`].
pub struct Made {
    /// Where the cells lie.
    pub grid: GridSpec,
    /// Row by row from the north; NaN is NODATA.
    pub bands: Vec<Vec<f32>>,
    /// How many points were read, merged and left out. The number of cells without a value in the first band.
    pub summary: Summary,
    /// Cells whose height is lost, since there is no ground below.
    pub lost: u64,
    /// Cells outside the polygons of `--within`.
    pub outside: u64,
}

impl Made {
    /// Takes the bands over the DEM's own cells out of what was made with a margin. The points are in cells, each with
    /// the number of points that it stands for, if that is not 1. `inside` is the mask by which it was made.
    pub fn of(
        (dem, inside): (Dem, Option<Vec<u8>>),
        points: (Points, Option<&[u32]>),
        extents: &Extents,
        (surface, floor): (&SurfaceArgs, Option<&Floor>),
    ) -> Result<Self> {
        let (grid, mut summary) = (extents.grid, dem.summary);
        let mut bands: Vec<Vec<f32>> =
            dem.values.into_iter().map(|raster| extents.cut(raster.into_values())).collect();
        let nodata = |band: &[f32]| parallel::count(band.len(), FINE, |i| band[i].is_nan());
        let mut lost = 0;
        if let Some(floor) = floor {
            let heights = surface.value.iter().position(|name| name == HEIGHT);
            let heights = &mut bands[heights.context("--above needs heights")?];
            lost = floor.take_off(heights, &grid, &extents.lattice)?;
            let value = surface.empty_value();
            for band in &mut bands {
                parallel::for_each(band, FINE, |_, v| *v = if v.is_nan() { value } else { *v });
            }
        }
        let (mut distances, mut counts) = (dem.distances, dem.counts);
        for layer in &surface.layer {
            bands.push(match layer {
                Layer::Count => points_of_cells(points, &extents.lattice.grid_in_cells(&grid))?,
                Layer::Distance => {
                    let of_cells = distances.take().map(|raster| extents.cut(raster.into_values()));
                    in_units(of_cells.unwrap_or_default(), surface.site_reach(), grid.cell_size)
                }
                Layer::Neighbours => {
                    let of_cells = counts.take().map(|raster| extents.cut(raster.into_values()));
                    let number = |count: u32| if count > 0 { count as f32 } else { f32::NAN };
                    of_cells.unwrap_or_default().into_iter().map(number).collect()
                }
            });
        }
        let outside = inside.map_or(0, |inside| leave_out(&mut bands, &extents.cut(inside)));
        require_finite(surface.bands().iter().zip(&bands), centres(grid))?;
        summary.nodata = nodata(&bands[0]).saturating_sub(lost + outside);
        Ok(Self { grid, bands, summary, lost, outside })
    }
}

/// Leaves the cells of all bands without a value where a mask is 0; returns their number.
pub fn leave_out(bands: &mut [Vec<f32>], inside: &[u8]) -> u64 {
    for band in bands {
        parallel::for_each(band, FINE, |i, v| *v = if inside[i] == 0 { f32::NAN } else { *v });
    }
    parallel::count(inside.len(), FINE, |i| inside[i] == 0)
}

/// The bands of cells that no point reaches.
pub fn without_points(cells: usize, surface: &SurfaceArgs) -> Result<Vec<Vec<f32>>> {
    let values = std::iter::repeat_n(surface.empty_value(), surface.values());
    let layers = surface.layer.iter().map(|layer| match layer {
        Layer::Count => 0.0,
        Layer::Distance | Layer::Neighbours => f32::NAN,
    });
    let bands = values.chain(layers).map(|value| host_memory::filled(value, cells));
    Ok(bands.collect::<Result<_, _>>()?)
}

/// How many points lie in each cell.
fn points_of_cells(
    (points, stands_for): (Points, Option<&[u32]>),
    grid: &GridSpec,
) -> Result<Vec<f32>> {
    let mut counts = host_memory::filled(0_u32, grid.cells() as usize)?;
    for (i, (&x, &y)) in points.x.iter().zip(points.y).enumerate() {
        if let Some((column, row)) = grid.cell_of(x, y) {
            let count = &mut counts[row as usize * grid.width as usize + column as usize];
            *count = count.saturating_add(stands_for.map_or(1, |stands_for| stands_for[i]));
        }
    }
    Ok(counts.into_iter().map(|count| count as f32).collect())
}

/// Distances in the units of the coordinates. Those beyond the reach are NODATA: a tile does not know of farther
/// points.
fn in_units(mut distances: Vec<f32>, reach: f64, cell_size: f64) -> Vec<f32> {
    // Distances were rounded to f32 in the same way, so that none within the reach is beyond it.
    let reach = reach as f32;
    parallel::for_each(&mut distances, FINE, |_, distance| {
        let is_known = *distance <= reach && distance.is_finite();
        *distance = match is_known {
            true => (f64::from(*distance) * cell_size) as f32,
            false => f32::NAN,
        };
    });
    distances
}
