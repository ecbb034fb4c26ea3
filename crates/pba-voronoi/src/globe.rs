//! Rasters in longitude and latitude: where their pixels lie on the sphere, and how to compare distances there.
//!
//! Let pixel (i, j) lie at latitude `phi_i`, and let two columns j and j' lie `dl` apart in longitude, the short way round.
//! The square of half the chord between the centres of (i, j) and (i', j') is (the haversine formula; Sinnott 1984)
//!
//! ```text
//! h = A[|i - i'|] + c_i (c_i' B[|j - j'|]),   A[n] = sin^2(n step / 2),   c_i = cos phi_i,   B[k] = sin^2(dl / 2)
//! ```
//!
//! and grows with the great-circle distance, `2 R asin(sqrt(h))`. The rows of a raster are equally far apart, and so
//! are its columns, so A, B and c are tables: a comparison takes a multiplication and an addition. Two sites that lie
//! symmetrically to a pixel have the same numbers in the formula, so their h has the same bits. So the tie rule
//! decides.

use gpu_core::parallel::{self, FINE};
use gpu_core::{Grid, GridSpec, host_memory};
use kernels_rs::spatial::sphere::{arc_of_squared_chord, sine_cosine};

use crate::ground::{bearing, check_indices, pixel};
use crate::input::Shape;
use crate::{Error, Integers, Result};

/// The mean radius of the Earth in metres (IUGG's R1).
pub const EARTH_RADIUS: f64 = 6_371_008.8;

/// The radius in metres of the sphere with the area of the WGS 84 ellipsoid.
pub const AUTHALIC_RADIUS: f64 = 6_371_007.180_918_474;

/// The part of a pixel by which the centre of a row may lie beyond a pole: it is then at the pole. So far is a side off
/// that a file has with few digits.
const BEYOND_POLE: f64 = 1e-3;

/// The part of a turn by which a number of pixels may miss it.
const OF_TURN: f64 = 1e-9;

/// Where the pixels of a raster in longitude and latitude lie on the sphere.
///
/// Latitudes count as latitudes on the sphere, as in sphere-qtm and most programs. If they are geodetic latitudes of
/// WGS 84, great-circle distances differ from distances on the ellipsoid by up to 0.56%.
///
/// ```
/// use pba_voronoi::Globe;
/// // The whole Earth in pixels of half a degree, from 180 degrees west on.
/// let globe = Globe::new([-180.0, 90.0], [0.5, 0.5]);
/// assert_eq!((globe.radius, globe.sides), (6_371_008.8, [0.5, 0.5]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Globe {
    /// Longitude and latitude of the corner of pixel (0, 0) towards column and row 0, in degrees.
    pub corner: [f64; 2],
    /// The sides of a pixel in degrees: the first is the step of longitude eastward from column to column, the second
    /// the step of latitude southward from row to row. Either may be negative, for rasters from east to west or from
    /// south to north.
    pub sides: [f64; 2],
    /// The radius of the sphere; distances come in its unit.
    pub radius: f64,
}

impl Globe {
    /// Returns a raster on the [mean sphere](EARTH_RADIUS), with distances in metres.
    pub fn new(corner: [f64; 2], sides: [f64; 2]) -> Self {
        Self { corner, sides, radius: EARTH_RADIUS }
    }

    /// Returns the raster of a grid whose coordinates are degrees.
    pub fn of_grid(grid: &GridSpec) -> Self {
        Self::new([grid.origin_x, grid.origin_y], [grid.cell_size; 2])
    }

    /// Returns the raster of GDAL's geotransform in degrees; `None` if its rows do not run along parallels.
    pub fn of_geotransform([x, ax, bx, y, ay, by]: [f64; 6]) -> Option<Self> {
        (bx == 0.0 && ay == 0.0).then(|| Self::new([x, y], [ax, -by]))
    }

    gpu_core::builders! {
        radius: f64;
    }

    /// Whether the first or the last row of a raster of `width` columns and `height` rows lies at a pole.
    ///
    /// # Errors
    /// [`Error::Globe`] for the place, [`Error::Core`] where memory fails.
    pub fn has_pole(&self, width: u32, height: u32) -> Result<bool> {
        Ok(self.tables(width, height)?.has_pole())
    }

    /// Whether the first and the last of this many columns are one meridian.
    pub fn is_closed(&self, width: u32) -> bool {
        columns_of_turn(self.sides[0]) == f64::from(width.saturating_sub(1))
    }

    /// Returns the tables of a raster of `width` columns and `height` rows.
    ///
    /// # Errors
    /// [`Error::Globe`].
    pub(crate) fn tables(&self, width: u32, height: u32) -> Result<Tables> {
        let Self { corner, sides, radius } = *self;
        let refused = |what| Err(Error::Globe { what, corner, sides, width, height });
        let is_finite = corner.into_iter().chain(sides).chain([radius]).all(f64::is_finite);
        if !is_finite || sides.contains(&0.0) || radius <= 0.0 {
            return refused("every number must be finite, a side not 0, the radius positive");
        }
        // Distances are floats of 32 bits: from a hundredth of a second of arc to half a turn.
        if !(1e-30..=1e38).contains(&radius) {
            return refused("the radius must be from 1e-30 to 1e38");
        }
        // By these the squares of half a side are far from the least numbers there are.
        if sides.iter().any(|side| !(1e-9..=360.0).contains(&side.abs())) {
            return refused("sides must be from 1e-9 to 360 degrees");
        }
        if f64::from(width.saturating_sub(1)) * sides[0].abs() > 360.0 * (1.0 + OF_TURN) {
            return refused("columns must not cover more than one turn");
        }
        let Some([first, last]) = self.latitudes(height) else {
            return refused("the centre of every row must lie between the poles");
        };
        Tables::new(self, (width, height), [first, last]).map(Ok)?
    }

    /// The latitudes of the centres of the first and the last row, if they are between the poles.
    fn latitudes(&self, height: u32) -> Option<[f64; 2]> {
        let side = self.sides[1];
        let first = self.corner[1] - 0.5 * side;
        let last = first - f64::from(height.saturating_sub(1)) * side;
        let within = |latitude: f64| {
            let beyond = latitude.abs() - 90.0;
            (beyond <= BEYOND_POLE * side.abs()).then(|| latitude.clamp(-90.0, 90.0))
        };
        Some([within(first)?, within(last)?])
    }
}

/// Checks that the raster of a strip has no row at a pole, where the first site of a whole row counts.
pub(crate) fn check_strip(input: &Shape, has_pole: bool) -> Result<()> {
    match input.strip.is_some() && has_pole {
        true => Err(Error::NotOnGlobe { what: "strips of a raster with a row at a pole" }),
        false => Ok(()),
    }
}

/// Columns of a turn, whole where they are so but for rounding.
fn columns_of_turn(side: f64) -> f64 {
    let turn = 360.0 / side.abs();
    let whole = turn.round();
    let is_whole = (turn - whole).abs() <= OF_TURN * turn;
    if is_whole { whole } else { turn }
}

/// A limit, and what a distance that is the limit may be more by its rounding.
pub(crate) fn reached(limit: f64) -> f64 {
    limit * (1.0 + 4.0 * f64::EPSILON)
}

/// The tables that distances between pixels are computed from.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    /// A, one for each difference of rows.
    pub along: Vec<f64>,
    /// B, one for each difference of columns.
    pub across: Vec<f64>,
    /// c, one for each row: exactly 0 at a pole, and nowhere else.
    pub cosine: Vec<f64>,
    /// The sines of the rows' latitudes.
    sine: Vec<f64>,
    /// The rows' latitudes in degrees.
    pub latitudes: Vec<f64>,
    /// Columns of a turn.
    pub turn: f64,
    /// Degrees from a column to the next.
    east: f64,
    /// Degrees north from a row to the next.
    north: f64,
    /// The radius of the sphere.
    pub radius: f64,
    /// A bound of the rounding error of any h, times two.
    pub slack: f64,
}

impl Tables {
    fn new(globe: &Globe, (width, height): (u32, u32), [first, last]: [f64; 2]) -> Result<Self> {
        let (columns, rows) = (width as usize, height as usize);
        let side = match height {
            0 | 1 => globe.sides[1],
            // Where a row was moved to its pole the others share that.
            _ => (first - last) / f64::from(height - 1),
        };
        let turn = columns_of_turn(globe.sides[0]);
        let degrees = 360.0 / turn;
        let squared_half_sine = |degrees: f64| sine_cosine(0.5 * degrees)[0].powi(2);
        let mut tables = Self {
            along: host_memory::zeroed(rows)?,
            across: host_memory::zeroed(columns)?,
            cosine: host_memory::zeroed(rows)?,
            sine: host_memory::zeroed(rows)?,
            latitudes: host_memory::zeroed(rows)?,
            turn,
            east: degrees.copysign(globe.sides[0]),
            north: -side,
            radius: globe.radius,
            slack: 0.0,
        };
        for (n, along) in tables.along.iter_mut().enumerate() {
            *along = squared_half_sine(n as f64 * side.abs());
        }
        for k in 0..columns {
            tables.across[k] = squared_half_sine(tables.steps(k as u32) * degrees);
        }
        for i in 0..rows {
            // From the nearer pole, so that the cosine of a row beside it is as exact as that of any other.
            let (from_first, from_last) = (i as f64 * side, (rows - 1 - i) as f64 * side);
            let from_north = (90.0 - first) + from_first;
            let from_south = (90.0 + last) + from_last;
            let is_north = from_north <= from_south;
            let from_pole = f64::max(0.0, if is_north { from_north } else { from_south });
            tables.latitudes[i] = if is_north { 90.0 - from_pole } else { from_pole - 90.0 };
            let [sine, cosine] = sine_cosine(if from_pole < 1e-13 { 0.0 } else { from_pole });
            tables.cosine[i] = sine.abs();
            tables.sine[i] = if is_north { cosine } else { -cosine };
        }
        let most = |all: &[f64]| all.iter().fold(0.0, |most, &value| f64::max(most, value));
        let (across, cosine) = (most(&tables.across), most(&tables.cosine));
        let largest = most(&tables.along) + cosine * cosine * across;
        // h is rounded by some 5 units in its last place, and c by what a latitude of 90 degrees is rounded by.
        tables.slack = 1e-13 * largest.min(1.0) + 8e-15 * cosine * across;
        Ok(tables)
    }

    /// Returns the distance in columns, the short way round, of two columns that are `columns` apart.
    #[inline(always)]
    pub fn steps(&self, columns: u32) -> f64 {
        let columns = f64::from(columns);
        columns.min((self.turn - columns).abs())
    }

    /// Whether the short way between two columns may lead over the raster's edges.
    pub fn is_round(&self) -> bool {
        2.0 * self.across.len().saturating_sub(1) as f64 > self.turn
    }

    /// Whether the columns from one to another make up less than a full turn, with a margin for rounding.
    pub fn is_past(&self, first: u32, last: u32) -> bool {
        self.turn - f64::from(last - first) > 0.5
    }

    /// Whether any row lies at a pole.
    pub fn has_pole(&self) -> bool {
        self.cosine.contains(&0.0)
    }

    /// Whether a row lies at a pole, where all its pixels are one place.
    pub fn is_pole(&self, row: u32) -> bool {
        self.cosine[row as usize] == 0.0
    }

    /// Returns the degrees eastward from one column to another, the short way round.
    pub fn difference(&self, from: u32, to: u32) -> f64 {
        let columns = f64::from(to) - f64::from(from);
        (columns - self.turn * (columns / self.turn).round()) * self.east
    }

    /// Returns h of a pixel and a site; each is a column and a row.
    #[inline(always)]
    pub fn squared_half_chord(&self, from: [u32; 2], to: [u32; 2]) -> f64 {
        let across = self.across[from[0].abs_diff(to[0]) as usize];
        let (own, other) = (self.cosine[from[1] as usize], self.cosine[to[1] as usize]);
        self.along[from[1].abs_diff(to[1]) as usize] + own * (other * across)
    }

    /// The great-circle distance, in the unit of the radius.
    #[cfg(test)]
    pub fn distance(&self, from: [u32; 2], to: [u32; 2]) -> f64 {
        self.radius * arc_of_squared_chord(4.0 * self.squared_half_chord(from, to))
    }

    /// Makes distances of values of h, and leaves what is infinite.
    pub fn make_distances(&self, values: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions.
            return unsafe { self.make_distances_avx2(values) };
        }
        self.make_distances_of(values);
    }

    /// The same, compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn make_distances_avx2(&self, values: &mut [f64]) {
        self.make_distances_of(values);
    }

    #[inline(always)]
    fn make_distances_of(&self, values: &mut [f64]) {
        for vector in values.chunks_mut(8) {
            // Sites themselves, of which land has whole vectors, are done.
            if vector.iter().fold(true, |are, &h| are & (h == 0.0)) {
                continue;
            }
            for value in vector {
                let distance = self.radius * arc_of_squared_chord(4.0 * *value);
                *value = if *value == f64::INFINITY { *value } else { distance };
            }
        }
    }

    /// The bearing at a pixel of the great circle to a site: 0 where they are one place.
    ///
    /// With the difference of latitudes `dp`, its tangent is `c' sin dl / (sin dp + 2 sin(phi) c' sin^2(dl / 2))`, in which
    /// nothing cancels where the two are near.
    pub fn direction(&self, from: [u32; 2], to: [u32; 2]) -> f32 {
        if from == to || self.squared_half_chord(from, to) == 0.0 {
            return 0.0;
        }
        let rows = f64::from(to[1]) - f64::from(from[1]);
        let [east, _] = sine_cosine(self.difference(from[0], to[0]));
        let [north, _] = sine_cosine(rows * self.north);
        let (row, other) = (from[1] as usize, self.cosine[to[1] as usize]);
        let across = self.across[from[0].abs_diff(to[0]) as usize];
        match bearing(other * east, north + 2.0 * self.sine[row] * other * across) {
            // From the antipode every direction leads to the site.
            0.0 => 360.0,
            direction => direction,
        }
    }
}

/// Computes the bearing at each pixel of the great circle to its nearest site, from the
/// [`nearest`](crate::Diagram::nearest) of [`geodesic`](crate::geodesic()). Bearings are degrees clockwise from north,
/// above 0 and at most 360, which is north. A site has 0, and so has a pixel in a site's place; without a site a pixel
/// has NaN. At a pole the bearing is counted from the pixel's own meridian.
///
/// O(pixels) on all cores.
///
/// ```
/// use gpu_core::{Device, GridSpec};
/// use pba_voronoi::{Globe, Input, Params, Sites, directions_on_globe, geodesic};
///
/// // Pixels of a degree around the equator; the site is in the middle.
/// let globe = Globe::new([0.0, 1.5], [1.0, 1.0]);
/// let mask = [0, 0, 0, 0, 1, 0, 0, 0, 0];
/// let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(3, 3));
/// let diagram = geodesic(&Device::Cpu, &input, &globe, &Params::new().nearest())?;
/// let directions = directions_on_globe(&diagram.nearest.unwrap(), &globe)?;
/// let (north, middle, south) = (directions.values()[1], directions.values()[4], directions.values()[7]);
/// assert_eq!((north, middle, south), (180.0, 0.0, 360.0)); // from the north the site lies south
/// # Ok::<(), pba_voronoi::Error>(())
/// ```
///
/// # Errors
/// [`Error::Globe`] for the place, [`Error::SiteOutside`] for an index beyond the raster, [`Error::Core`] where memory
/// fails.
pub fn directions_on_globe(nearest: &Integers, globe: &Globe) -> Result<Grid<f32>> {
    let grid = *nearest.grid();
    check_indices(nearest)?;
    let bearings = Bearings::new(globe, grid.width, grid.height)?;
    let mut out = host_memory::zeroed(nearest.len())?;
    parallel::for_each(&mut out, FINE, |p, out| {
        let to = |site| bearings.direction(pixel(p as u64, &grid), pixel(site, &grid));
        *out = nearest.get(p).map_or(f32::NAN, to);
    });
    Ok(Grid::new(out, grid)?)
}

/// The bearings of great circles between the pixels of a raster, which [`directions_on_globe`] gives of all pixels at once.
///
/// Example: see [`directions_on_globe`].
#[derive(Clone, Debug)]
pub struct Bearings(Tables);

impl Bearings {
    /// Prepares the bearings of a raster of `width` columns and `height` rows.
    ///
    /// # Errors
    /// [`Error::Globe`] for the place, [`Error::Core`] where memory fails.
    pub fn new(globe: &Globe, width: u32, height: u32) -> Result<Self> {
        globe.tables(width, height).map(Self)
    }

    /// The bearing at a pixel, a column and a row, of the great circle to a site.
    ///
    /// # Panics
    /// If one of the two is not of the raster.
    pub fn direction(&self, pixel: [u32; 2], site: [u32; 2]) -> f32 {
        self.0.direction(pixel, site)
    }
}
