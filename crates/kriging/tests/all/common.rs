//! What the tests share: variograms, surfaces of all devices, and the definition by the textbook's system.

use gpu_core::{Device, Points, Targets};
use kriging::{Input, Model, Params, Surface, Variogram, interpolate};
use testing::{Cloud, bits64, devices};

/// Variograms of all models.
pub fn variograms() -> Vec<Variogram> {
    vec![
        Variogram::new(0.5).structure(Model::Spherical, 2.0, 30.0),
        Variogram::new(0.0).structure(Model::Exponential, 7.0, 12.0),
        Variogram::new(0.2).structure(Model::Gaussian, 3.0, 20.0),
        Variogram::new(0.1)
            .structure(Model::Spherical, 1.0, 15.0)
            .structure(Model::Exponential, 2.0, 40.0)
            .structure(Model::Gaussian, 0.5, 8.0)
            .anisotropy(30.0, 0.4),
        Variogram::new(3.0),
    ]
}

/// The surface on every device: the same bits.
pub fn surface(points: Points, targets: Targets, params: &Params) -> Surface {
    let on = |device: &Device| interpolate(device, Input::new(points, targets), params).unwrap();
    let mut surfaces = devices().iter().map(on).collect::<Vec<_>>().into_iter();
    let first = surfaces.next().unwrap();
    for other in surfaces {
        for (a, b) in first.values.iter().zip(&other.values) {
            assert_eq!(bits64(a), bits64(b), "values, {params:?}");
        }
        assert_eq!(bits64(&first.variances), bits64(&other.variances), "variances, {params:?}");
        assert_eq!((first.grid, first.summary), (other.grid, other.summary));
    }
    first
}

/// Values and variances of points with one value.
pub fn of_cloud(cloud: &Cloud, targets: Targets, params: &Params) -> (Vec<f64>, Vec<f64>) {
    let Surface { mut values, variances, .. } =
        cloud.with(|points| surface(points, targets, params));
    (values.remove(0), variances)
}

/// Half the mean squared difference of values at places so far apart.
pub fn semivariance(variogram: &Variogram, dx: f64, dy: f64) -> f64 {
    if dx == 0.0 && dy == 0.0 {
        return 0.0;
    }
    let distance = match variogram.direction() {
        None => dx.hypot(dy),
        Some(anisotropy) => {
            let (sin, cos) = anisotropy.azimuth.to_radians().sin_cos();
            (dx * sin + dy * cos).hypot((dx * cos - dy * sin) / anisotropy.ratio)
        }
    };
    variogram.structures().iter().fold(variogram.nugget(), |sum, s| {
        let r = distance / s.range;
        let rise = match s.model {
            Model::Spherical if r >= 1.0 => 1.0,
            Model::Spherical => 1.5 * r - 0.5 * r.powi(3),
            Model::Exponential => 1.0 - (-r).exp(),
            _ => 1.0 - (-r * r).exp(),
        };
        sum + s.sill * rise
    })
}

/// The neighbours of a target, nearest first, but for one.
pub fn neighbours(
    cloud: &Cloud,
    (x, y): (f64, f64),
    params: &Params,
    except: Option<usize>,
) -> Vec<usize> {
    let squared = |&i: &usize| (cloud.x[i] - x).powi(2) + (cloud.y[i] - y).powi(2);
    let mut all: Vec<usize> = (0..cloud.len()).filter(|&i| Some(i) != except).collect();
    all.sort_by(|a, b| squared(a).total_cmp(&squared(b)).then(a.cmp(b)));
    all.truncate(params.max_points as usize);
    all.retain(|i| params.radius == 0.0 || squared(i).sqrt() <= params.radius);
    if all.len() < params.min_points as usize { Vec::new() } else { all }
}

/// Value and variance of a target by the system of semivariances with a Lagrange multiplier (Cressie 1993, 3.2.2).
pub fn by_definition(
    cloud: &Cloud,
    (x, y): (f64, f64),
    params: &Params,
    except: Option<usize>,
) -> (f64, f64) {
    let near = neighbours(cloud, (x, y), params, except);
    let n = near.len();
    if n == 0 {
        return (f64::NAN, f64::NAN);
    }
    let gamma = |dx, dy| semivariance(&params.variogram, dx, dy);
    let mut rows = vec![vec![0.0; n + 2]; n + 1];
    for (row, &i) in near.iter().enumerate() {
        for (column, &j) in near.iter().enumerate() {
            rows[row][column] = gamma(cloud.x[i] - cloud.x[j], cloud.y[i] - cloud.y[j]);
        }
        rows[row][n] = 1.0;
        rows[n][row] = 1.0;
        rows[row][n + 1] = gamma(cloud.x[i] - x, cloud.y[i] - y);
    }
    rows[n][n + 1] = 1.0;
    let right: Vec<f64> = rows.iter().map(|row| row[n + 1]).collect();
    let solved = solve(rows);
    let value = near.iter().zip(&solved).map(|(&i, weight)| weight * cloud.z[i]).sum();
    (value, solved.iter().zip(&right).map(|(a, b)| a * b).sum())
}

/// Solves a linear system, whose last column is its right side, by elimination with partial pivoting.
fn solve(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let n = rows.len();
    for column in 0..n {
        let magnitude = |&row: &usize| rows[row][column].abs();
        let pivot = (column..n).max_by(|a, b| magnitude(a).total_cmp(&magnitude(b))).unwrap();
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        for row in below {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).skip(column).for_each(|(a, b)| *a -= factor * b);
        }
    }
    let mut solved = vec![0.0; n];
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|i| rows[row][i] * solved[i]).sum();
        solved[row] = (rows[row][n] - known) / rows[row][row];
    }
    solved
}

/// Asserts that numbers agree within so much; NaN only with NaN.
pub fn assert_close(found: f64, expected: f64, within: f64, what: &str) {
    let is_same = (found.is_nan() && expected.is_nan()) || (found - expected).abs() <= within;
    assert!(is_same, "{what}: {found}, expected {expected} (off by {:e})", found - expected);
}
