//! How to interpolate, checked.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use gpu_core::{GridSpec, ValueRange, require_parameter};

use crate::{Error, Result};

/// The finest supersampling.
pub const MAX_SUPERSAMPLE: u32 = 8;

/// The most pixels on a side of the Voronoi raster: positions in half pixels are `i32`.
pub const MAX_SIDE: u64 = 1 << 29;

/// The value of a site if several points share its place or pixel.
///
/// ```
/// use gpu_core::{Device, GridSpec, Points};
/// use nni_grid::{Duplicates, Input, Params, interpolate};
///
/// // Two points at the centre of the only cell.
/// let points = Points { x: &[0.5, 0.5], y: &[0.5, 0.5], values: &[&[1.0, 3.0]] };
/// let cell = GridSpec::new(0.0, 1.0, 1.0, 1, 1)?;
/// for (policy, expected) in [("mean", 2.0), ("min", 1.0), ("max", 3.0), ("first", 1.0), ("last", 3.0)] {
///     let params = Params::new().duplicates(policy.parse::<Duplicates>()?);
///     let dem = interpolate(&Device::Cpu, Input::new(points, cell), &params)?;
///     assert_eq!(dem.values[0].values(), [expected]);
/// }
/// # Ok::<(), nni_grid::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// The mean of the points, rounded to the fixed-point resolution.
    #[default]
    Mean,
    /// The lowest.
    Min,
    /// The highest.
    Max,
    /// The value of the first point in input order.
    First,
    /// The value of the last point in input order.
    Last,
}

impl Duplicates {
    /// Every policy.
    pub const ALL: [Self; 5] = [Self::Mean, Self::Min, Self::Max, Self::First, Self::Last];

    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::First => "first",
            Self::Last => "last",
        }
    }
}

impl fmt::Display for Duplicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Duplicates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| Error::UnknownDuplicates { name: text.to_owned() })
    }
}

/// Where the weights come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Computes areas from the Voronoi cells themselves: exact up to rounding.
    #[default]
    Exact,
    /// Counts pixels of a raster: the published method, whose accuracy grows with [`Params::supersample`].
    Pixels,
}

impl FromStr for Method {
    type Err = Error;

    /// Parses `exact` or `pixels`.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "exact" => Ok(Self::Exact),
            "pixels" => Ok(Self::Pixels),
            _ => Err(Error::UnknownMethod { name: text.to_owned() }),
        }
    }
}

/// How much each natural neighbour counts.
///
/// ```
/// use gpu_core::{Device, GridSpec, Points};
/// use nni_grid::{Input, Params, Weights, interpolate};
///
/// // A triangle, and a cell with its centre in the middle of the slanting side.
/// let points = Points { x: &[0.0, 2.0, 0.0], y: &[0.0, 0.0, 2.0], values: &[&[9.0, 1.0, 3.0]] };
/// let cell = GridSpec::new(0.5, 1.5, 1.0, 1, 1)?;
/// let params = Params::new().weights(Weights::Linear);
/// let dem = interpolate(&Device::Cpu, Input::new(points, cell), &params)?;
/// assert_eq!(dem.values[0].values(), [2.0]); // between the ends of that side
/// # Ok::<(), nni_grid::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// By the area that the query point takes from the neighbour's cell (Sibson 1981).
    #[default]
    Sibson,
    /// By the length of the border between query point and neighbour, divided by their distance (Laplace's or
    /// non-Sibsonian weights; Belikov, Ivanov, Kontorovich, Korytnik and Semenov 1997). Needs an infinite
    /// [`Params::query_radius`].
    Laplace,
    /// Sibson's smooth interpolant (1981): areas, and planes through the neighbours with gradients
    /// that are estimated by weighted least squares. The surface has no creases at the points, and
    /// may leave the range of the data. Needs an infinite [`Params::query_radius`].
    SibsonC1,
    /// By the plane through the corners of the Delaunay triangle that holds the query point: the surface of a TIN
    /// (triangulated irregular network). Only [`Method::Exact`] has it. It has creases at the edges. A query on an edge
    /// has the value between its ends. Where four or more points lie on an empty circle, the rule of `delaunay-stars`
    /// chooses the triangles.
    Linear,
}

impl FromStr for Weights {
    type Err = Error;

    /// Parses `sibson`, `laplace`, `c1` or `linear`.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "sibson" => Ok(Self::Sibson),
            "laplace" => Ok(Self::Laplace),
            "c1" => Ok(Self::SibsonC1),
            "linear" => Ok(Self::Linear),
            _ => Err(Error::UnknownWeights { name: text.to_owned() }),
        }
    }
}

/// The value of a cell that has no value by interpolation.
///
/// ```
/// use gpu_core::{Device, GridSpec, Points};
/// use nni_grid::{Fill, Input, Params, interpolate};
///
/// let points = Points { x: &[0.5], y: &[0.5], values: &[&[7.0]] };
/// let row = GridSpec::new(0.0, 1.0, 1.0, 3, 1)?;
/// let params = Params::new().max_distance(1.0).fill(Fill::Value(-1.0));
/// let dem = interpolate(&Device::Cpu, Input::new(points, row), &params)?;
/// assert_eq!(dem.values[0].values(), [7.0, 7.0, -1.0]); // the last cell is 2 cells away
/// # Ok::<(), nni_grid::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fill {
    /// NODATA.
    #[default]
    Nodata,
    /// The value of the nearest site.
    Nearest,
    /// This, a finite number.
    Value(f32),
}

/// How to interpolate.
///
/// ```
/// use nni_grid::{Params, Weights};
///
/// let params = Params::new().max_distance(25.0).weights(Weights::SibsonC1).hull(true);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// Where the weights come from.
    pub method: Method,
    /// Cells farther from the nearest site, in DEM cells, have no value. May be infinite. It does not decide which sites
    /// count: a cell within it has the weights of all its natural neighbours, however far away they are.
    pub max_distance: f64,
    /// Region of influence of a site, in DEM cells, for the method on pixels alone. A cell farther away does not use
    /// the site, as in TerraNNI. The surface has a step where a cell loses a natural neighbour in this way. Infinite
    /// for no limit.
    pub region_of_influence: f64,
    /// The radius of the query circle, in DEM cells, for the method on pixels alone: pixels farther from a cell do not
    /// count for it. An infinite radius gives the weights of the whole natural neighbourhood. In gaps wider than a
    /// finite radius, the weights differ from natural neighbours' weights.
    pub query_radius: f64,
    /// Pixels of the Voronoi raster along a cell's side: 1 to [`MAX_SUPERSAMPLE`]. For the method on pixels alone.
    pub supersample: u32,
    /// How to merge several points at one place (with the method on pixels, in one pixel).
    pub duplicates: Duplicates,
    /// How much each natural neighbour counts.
    pub weights: Weights,
    /// Whether cells outside the sites' convex hull get no value; cells on the hull do. Without this option the exact
    /// method gives cells outside the value at the nearest place of the hull. With this option, the method on pixels
    /// waits for the sites on the GPU, and a graph cannot hold it.
    pub hull: bool,
    /// The value of cells that have no value by interpolation.
    pub fill: Fill,
    /// Whether each cell gets the number of natural neighbours that count. The method on pixels gives the number of
    /// stolen pixels instead, with Sibson's weights alone.
    pub counts: bool,
    /// Whether each cell gets the distance to its nearest site, in cells.
    pub distances: bool,
    /// Whether each cell gets its local-coordinates deviation: the distance, in cells, from the cell's centre to
    /// the weighted mean of the sites' places. It is 0 for exact weights; outside the hull it is the distance to
    /// the hull. The method on pixels gives it for Sibson's weights alone.
    pub deviations: bool,
    /// The range that decides the fixed-point scale of values ([`ValueScale`](crate::ValueScale)). If a point's value
    /// lies outside, the range grows to include it. `None` takes the range of the points' own values.
    ///
    /// If all parts of a DEM get the range of the whole, they have the same scale. With the method on pixels and finite
    /// radii, the parts then have the bits of the whole.
    pub value_range: Option<ValueRange>,
}

impl Params {
    /// Returns the defaults: the exact method by Sibson's weights of all natural neighbours, and no layers. Cells
    /// farther than 10 cells from a point have no value. Points at one place count with their mean.
    pub fn new() -> Self {
        Self {
            method: Method::Exact,
            max_distance: 10.0,
            region_of_influence: f64::INFINITY,
            query_radius: f64::INFINITY,
            supersample: 1,
            duplicates: Duplicates::Mean,
            weights: Weights::Sibson,
            hull: false,
            fill: Fill::Nodata,
            counts: false,
            distances: false,
            deviations: false,
            value_range: None,
        }
    }

    /// Returns the published setting: the method on pixels, with region of influence 10 and query radius 3, without
    /// other limits or supersampling. All else is as in [`new`](Self::new).
    pub fn on_pixels() -> Self {
        let (region_of_influence, max_distance) = (10.0, f64::INFINITY);
        let base = Self { region_of_influence, max_distance, ..Self::new() };
        Self { method: Method::Pixels, query_radius: 3.0, ..base }
    }

    gpu_core::builders! {
        method: Method;
        max_distance: f64;
        region_of_influence: f64;
        query_radius: f64;
        supersample: u32;
        duplicates: Duplicates;
        weights: Weights;
        hull: bool;
        fill: Fill;
        counts: bool;
        distances: bool;
        deviations: bool;
    }

    /// Sets the field `value_range`: the range of the points' values.
    pub fn value_range(self, value_range: impl Into<Option<ValueRange>>) -> Self {
        Self { value_range: value_range.into(), ..self }
    }

    /// The range that the fixed point follows, of values in this one.
    pub(crate) fn widened(&self, range: ValueRange) -> ValueRange {
        let ValueRange { min, max } = self.value_range.unwrap_or(range);
        ValueRange { min: range.min.min(min), max: range.max.max(max) }
    }

    /// Whether a pass over the cells follows the queries.
    pub(crate) fn needs_finish(&self, has_mask: bool) -> bool {
        let limits = self.hull || self.max_distance < f64::INFINITY || has_mask;
        limits || self.distances || self.fill != Fill::Nodata
    }

    /// The squared distance to the nearest site, in half pixels, beyond which cells are left out.
    pub(crate) fn max_squared(&self) -> u64 {
        let length = self.max_distance * 2.0 * f64::from(self.supersample);
        // A cast from infinity saturates.
        (length * length).floor() as u64
    }

    /// Checks what goes beyond the plain DEM.
    fn check_extras(&self) -> Result<()> {
        if let Some(ValueRange { min, max }) = self.value_range
            && !(min <= max && f64::max(-min, max) <= f64::from(f32::MAX))
        {
            return Err(Error::ValueRange { min, max });
        }
        let (distance, weights) = (self.max_distance, self.weights);
        require_parameter("maximum distance", distance, distance >= 0.0, "0 or more")?;
        if let Fill::Value(value) = self.fill {
            require_parameter("fill value", value, value.is_finite(), "a finite number")?;
        }
        if weights == Weights::Linear && self.method == Method::Pixels {
            return Err(Error::LinearOnPixels);
        }
        if weights != Weights::Sibson && self.method == Method::Pixels {
            if self.query_radius.is_finite() {
                return Err(Error::WeightsRadius { weights, query_radius: self.query_radius });
            }
            if self.counts || self.deviations {
                return Err(Error::WeightsLayers { weights });
            }
        }
        Ok(())
    }

    /// Checks what the parameters are by themselves.
    fn check(&self) -> Result<()> {
        let &Self { region_of_influence, query_radius, supersample, .. } = self;
        const { assert!(MAX_SUPERSAMPLE == 8) } // as the error says
        let is_offered = (1..=MAX_SUPERSAMPLE).contains(&supersample);
        require_parameter("supersample", supersample, is_offered, "from 1 to 8")?;
        require_parameter("query radius", query_radius, query_radius > 0.0, "above 0")?;
        let reaches = region_of_influence > 0.0;
        require_parameter("region of influence", region_of_influence, reaches, "above 0")?;
        if self.method == Method::Exact && region_of_influence.is_finite() {
            return Err(Error::ExactRegionOfInfluence { region_of_influence });
        }
        if self.method == Method::Exact && query_radius.is_finite() {
            return Err(Error::ExactQueryRadius { query_radius });
        }
        self.check_extras()
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::new()
    }
}

/// Parameters that were checked, and the grid that they are for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnGrid {
    /// The DEM.
    pub grid: GridSpec,
    params: Params,
}

impl Deref for OnGrid {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.params
    }
}

impl OnGrid {
    /// Checks everything except the size of the Voronoi raster.
    pub fn new(grid: GridSpec, params: &Params) -> Result<Self> {
        params.check()?;
        grid.check()?;
        check_sides(&grid, 1)?;
        Ok(Self { grid, params: *params })
    }

    /// Returns the same parameters without layers other than values.
    pub fn values_alone(&self) -> Self {
        let params = Params { counts: false, distances: false, deviations: false, ..self.params };
        Self { params, ..*self }
    }

    /// The Voronoi raster.
    pub fn raster(&self) -> Result<GridSpec> {
        check_sides(&self.grid, self.supersample)?;
        Ok(self.grid.refined(self.supersample)?)
    }
}

/// Checks that a grid, refined by a supersampling, can be named.
fn check_sides(grid: &GridSpec, supersample: u32) -> Result<()> {
    let side = |cells: u32| u64::from(cells) * u64::from(supersample);
    let (width, height) = (side(grid.width), side(grid.height));
    if width.max(height) > MAX_SIDE || width * height > pba_voronoi::MAX_PIXELS {
        return Err(Error::TooLarge { width, height });
    }
    Ok(())
}
