//! What is done to cells after the queries.

use gpu_core::host_memory;
use kernels_rs::nni::geometry::mean;
use kernels_rs::nni::{finished, in_cells, nearest_touching};
use rayon::prelude::*;

use super::query::Scene;
use crate::{Fill, Result, ValueScale, hull};

impl Scene<'_> {
    /// Applies the control of NODATA, and gives the distances if they are asked for.
    pub fn finish(&self, values: &mut [f32], mask: Option<&[u8]>) -> Result<Option<Vec<f32>>> {
        let params = self.params;
        let mut distances = match params.distances {
            true => Some(host_memory::filled(f32::INFINITY, values.len())?),
            false => None,
        };
        if values.is_empty() || !params.needs_finish(mask.is_some()) {
            return Ok(distances);
        }
        let has_sites = self.sites.occupied > 0;
        let hull = params.hull.then(|| self.hull());
        let diagram = self.diagram(false);
        let (width, supersample) = (params.grid.width as usize, params.supersample);
        let max_squared = params.max_squared();
        let ValueScale { offset, step } = self.scale;
        let finish = |cell: usize, value: &mut f32| {
            let (column, row) = (cell % width, cell / width);
            let q = [column, row].map(|i| (supersample * (2 * i as u32 + 1)) as i32);
            let nearest = has_sites.then(|| nearest_touching(&diagram.stolen_by(q)));
            let fill = match (params.fill, nearest) {
                (Fill::Nearest, Some((_, site))) => {
                    let value = self.sites.values[site as usize];
                    Some(mean(value.into(), 1, offset, step))
                }
                (Fill::Value(value), _) => Some(value),
                _ => None,
            };
            let bounds = match &hull {
                Some(hull) => [hull[2 * row], hull[2 * row + 1]],
                None => [i32::MIN, i32::MAX],
            };
            let squared = nearest.map_or(u64::MAX, |(squared, _)| squared);
            let is_masked = mask.is_some_and(|mask| mask[cell] == 0);
            *value = finished(*value, q[0], bounds, squared <= max_squared, is_masked, fill);
            nearest.map_or(f32::INFINITY, |(squared, _)| in_cells(squared, supersample))
        };
        match &mut distances {
            Some(distances) => values
                .par_iter_mut()
                .zip(distances)
                .enumerate()
                .for_each(|(cell, (value, distance))| *distance = finish(cell, value)),
            None => values.par_iter_mut().enumerate().for_each(|(cell, value)| {
                finish(cell, value);
            }),
        }
        Ok(distances)
    }

    /// The bounds of the sites' hull in each row of cells.
    fn hull(&self) -> Vec<i32> {
        let rows = self.sites.mask.par_chunks(self.raster.width as usize);
        let extremes: Vec<[i32; 2]> = rows
            .map(|row| match row.iter().position(|&site| site != 0) {
                Some(first) => {
                    let last = row.iter().rposition(|&site| site != 0).unwrap_or(first);
                    [first as i32, last as i32]
                }
                None => [i32::MAX, -1],
            })
            .collect();
        hull::bounds(&extremes, self.params.grid.height, self.params.supersample)
    }
}
