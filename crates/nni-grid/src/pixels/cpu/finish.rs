//! The steps after the queries of cells.

use gpu_core::host_memory;
use gpu_core::parallel;
use kernels_rs::nni::pixels::geometry::mean;
use kernels_rs::nni::pixels::{finished, in_cells, nearest_touching};

use super::query::Scene;
use crate::pixels::hull;
use crate::{Fill, Result, ValueScale};

impl<const N: usize> Scene<'_, N> {
    /// Removes values that the parameters do not allow, and returns the distances if the parameters want them.
    pub fn finish(
        &self,
        values: &mut [Vec<f32>; N],
        mask: Option<&[u8]>,
    ) -> Result<Option<Vec<f32>>> {
        let params = self.params;
        let cells = params.grid.cells() as usize;
        let mut distances = match params.distances {
            true => Some(host_memory::filled(f32::INFINITY, cells)?),
            false => None,
        };
        if cells == 0 || !params.needs_finish(mask.is_some()) {
            return Ok(distances);
        }
        let hull = params.hull.then(|| self.hull());
        let diagram = self.diagram(false);
        let (width, supersample) = (params.grid.width as usize, params.supersample);
        let max_squared = params.max_squared();
        let query = |cell: usize| {
            [cell % width, cell / width].map(|i| (supersample * (2 * i as u32 + 1)) as i32)
        };
        // The nearest site and its squared distance.
        let nearest = |cell: usize| {
            let has_sites = self.sites.occupied > 0;
            has_sites.then(|| nearest_touching(&diagram.stolen_by(query(cell))))
        };
        if let Some(distances) = &mut distances {
            parallel::for_each(distances, 64, |cell, distance| {
                if let Some((squared, _)) = nearest(cell) {
                    *distance = in_cells(squared, supersample);
                }
            });
        }
        for (k, values) in values.iter_mut().enumerate() {
            let ValueScale { offset, step } = self.scales[k];
            parallel::for_each(values, 64, |cell, value| {
                let nearest = nearest(cell);
                let fill = match (params.fill, nearest) {
                    (Fill::Nearest, Some((_, site))) => {
                        let value = self.sites.values[site as usize][k];
                        Some(mean(value.into(), 1, offset, step))
                    }
                    (Fill::Value(value), _) => Some(value),
                    _ => None,
                };
                let bounds = match &hull {
                    Some(hull) => [hull[2 * (cell / width)], hull[2 * (cell / width) + 1]],
                    None => [i32::MIN, i32::MAX],
                };
                let is_near = nearest.map_or(u64::MAX, |(squared, _)| squared) <= max_squared;
                let is_masked = mask.is_some_and(|mask| mask[cell] == 0);
                *value = finished(*value, query(cell)[0], bounds, is_near, is_masked, fill);
            });
        }
        Ok(distances)
    }

    /// The bounds of the sites' hull in each row of cells.
    fn hull(&self) -> Vec<i32> {
        let width = self.raster.width as usize;
        let extremes = parallel::map(self.raster.height as usize, 16, |y| {
            let row = &self.sites.mask[y * width..][..width];
            match row.iter().position(|&site| site != 0) {
                Some(first) => {
                    let last = row.iter().rposition(|&site| site != 0).unwrap_or(first);
                    [first as i32, last as i32]
                }
                None => [i32::MAX, -1],
            }
        });
        hull::bounds(&extremes, self.params.grid.height, self.params.supersample)
    }
}
