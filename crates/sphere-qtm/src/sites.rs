//! Sites as unit vectors, from degrees.

use gpu_core::{Points, host_memory};
use kernels_rs::spatial::sphere;
use kernels_rs::sphere_qtm::locate::is_on_globe;
use kernels_rs::sphere_qtm::triangle::Vector;
use rayon::prelude::*;

use crate::{Error, Result};

/// Checks that each row is a place.
pub(crate) fn check_rows(what: &'static str, points: &Points<'_>) -> Result<()> {
    points.check_lengths()?;
    let wrong = (0..points.len()).find(|&i| !is_on_globe(points.x[i], points.y[i]));
    match wrong {
        Some(i) => {
            let (longitude, latitude) = (points.x[i], points.y[i]);
            Err(Error::Row { what, row: i as u64, longitude, latitude })
        }
        None => Ok(()),
    }
}

/// Their unit vectors, in f64 with the bits that a GPU makes.
pub(crate) fn vectors(what: &'static str, points: &Points<'_>) -> Result<Vec<Vector>> {
    check_rows(what, points)?;
    let mut vectors = host_memory::with_capacity(points.len())?;
    let all = points.x.par_iter().zip(points.y);
    vectors.par_extend(all.map(|(&longitude, &latitude)| sphere::unit_vector(longitude, latitude)));
    Ok(vectors)
}
