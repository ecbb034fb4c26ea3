//! How a transform measures distances, and which outputs it returns.

use gpu_core::GridSpec;

use crate::input::{Form, Shape};
use crate::limits::{MAX_PIXELS, check_sides};
use crate::metric::{Metric, Spacing};
use crate::{Error, Result};

/// How a diagram is made. Every method gives the same bits.
///
/// ```
/// use gpu_core::{Device, GridSpec};
/// use pba_voronoi::{Baseline, Input, Method, Params, Sites, transform};
///
/// let input = Input::new(Sites::Mask(&[1, 0, 0, 0, 0, 1]), GridSpec::of_pixels(3, 2));
/// let params = Params::new().nearest();
/// let published = params.method(Method::Baseline(Baseline::ScanPrune));
/// let diagram = transform(&Device::Cpu, &input, &params)?;
/// assert_eq!(transform(&Device::Cpu, &input, &published)?, diagram);
/// # Ok::<(), pba_voronoi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The fastest method: [`Monotone`](Self::Monotone), which was faster at every shape and density that was measured.
    #[default]
    Auto,
    /// Row scans over bits, and a search of each column's winners from coarse to fine, which uses the fact that the
    /// winners of successive rows never go back.
    Monotone,
    /// A published method, for comparison.
    Baseline(Baseline),
}

/// The published methods that [`Method`] is compared with.
///
/// Example: see [`Method`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Baseline {
    /// Row scans, and pruning of each column's candidates until every one wins a row: You and Zhang, *Constructing
    /// Natural Neighbor Interpolation Based Grid DEM Using CUDA* (COM.Geo 2012).
    ScanPrune,
}

/// The parameters of a distance transform: how it measures distances, and which outputs it returns. It computes an
/// output only if its field is set.
///
/// ```
/// use gpu_core::{Device, DeviceChoice, GridSpec};
/// use pba_voronoi::{Input, Params, Sites, transform};
///
/// # fn main() -> Result<(), pba_voronoi::Error> {
/// let device = Device::open(DeviceChoice::Cpu)?;
/// let labels = [7, 0, 0, 0, 0, 9];
/// let input = Input::new(Sites::Labels(&labels), GridSpec::of_pixels(6, 1));
/// let params = Params::new().spacing(30.0, 30.0).max_distance(60.0).distance().label();
/// let diagram = transform(&device, &input, &params)?;
/// assert_eq!(diagram.distance.unwrap().values(), [0.0, 30.0, 60.0, 60.0, 30.0, 0.0]);
/// assert_eq!(diagram.label.unwrap().values(), [7, 7, 7, 9, 9, 9]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// The method; every method gives the same bits.
    pub method: Method,
    /// The sides of a pixel on the ground. `None` means squares of the grid's cell size, so a side of 1 for
    /// [`GridSpec::of_pixels`].
    pub spacing: Option<Spacing>,
    /// Columns and rows of the larger raster, if this raster is a part of one: squared distances then have the larger
    /// raster's units. This matters for pixels whose sides are not in a ratio of whole numbers. Two numbers then stand
    /// for the ratio ([`Spacing`]), and in a larger raster they must be smaller.
    pub part_of: Option<(u32, u32)>,
    /// Pixels farther than this from every site have no nearest site, and infinite distances. A distance equal to the
    /// limit is within it; so is one that exceeds it by rounding, a part in 10^15. The work is then local.
    pub max_distance: Option<f64>,
    /// The linear index (row * width + column) of the nearest site.
    pub nearest: bool,
    /// The column and row of the nearest site.
    pub coordinates: bool,
    /// The squared distance, an exact integer: for square pixels in pixels, else in units of
    /// [`Diagram::square_unit`](crate::Diagram::square_unit), to a part in 10^9. It is an error if the integer does not
    /// fit.
    pub squared_distance: bool,
    /// The distance as `f32`: the distance as `f64`, rounded. The call fails if sides are so short or so long that
    /// `f32` cannot hold the distance.
    pub distance: bool,
    /// The distance as `f64`: the root of the squared distance, times the side of a square pixel, each rounded once.
    /// For pixels that are not square, [`Spacing`] defines it.
    pub distance_f64: bool,
    /// The signed distance as `f32`: outside the sites the distance to the nearest site, and at a site the negative
    /// distance to the nearest pixel that is not a site.
    pub signed_distance: bool,
    /// The nearest site's value, from the input's values.
    pub value: bool,
    /// The nearest site's label, from the input's labels.
    pub label: bool,
}

impl Params {
    /// Returns parameters with distances by the grid's cells, without a limit and without outputs.
    pub fn new() -> Self {
        Self::default()
    }

    gpu_core::builders! {
        method: Method;
    }

    /// Sets [`spacing`](Self::spacing): a pixel's width and height.
    pub fn spacing(mut self, x: f64, y: f64) -> Self {
        self.spacing = Some(Spacing { x, y });
        self
    }

    /// Sets [`part_of`](Self::part_of): the whole's columns and rows.
    pub fn part_of(mut self, width: u32, height: u32) -> Self {
        self.part_of = Some((width, height));
        self
    }

    /// Sets [`max_distance`](Self::max_distance).
    pub fn max_distance(mut self, max_distance: f64) -> Self {
        self.max_distance = Some(max_distance);
        self
    }

    /// Bytes that the outputs have for each pixel: indices of 32 bits if they are short, squares of 32 if these are narrow.
    pub(crate) fn bytes_of_pixel(&self, is_short: bool, is_narrow: bool) -> u64 {
        let bytes = |is_half| if is_half { 4 } else { 8 };
        let outputs = [
            (self.nearest, bytes(is_short)),
            (self.coordinates, 8),
            (self.squared_distance, bytes(is_narrow)),
            (self.distance || self.signed_distance, 4),
            (self.distance_f64, 8),
            (self.signed_distance, 4),
            (self.value, 4),
            (self.label, 4),
        ];
        outputs.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, bytes)| bytes).sum()
    }

    /// Adds [`nearest`](Self::nearest) to the outputs.
    pub fn nearest(mut self) -> Self {
        self.nearest = true;
        self
    }

    /// Adds [`coordinates`](Self::coordinates) to the outputs.
    pub fn coordinates(mut self) -> Self {
        self.coordinates = true;
        self
    }

    /// Adds [`squared_distance`](Self::squared_distance) to the outputs.
    pub fn squared_distance(mut self) -> Self {
        self.squared_distance = true;
        self
    }

    /// Adds [`distance`](Self::distance) to the outputs.
    pub fn distance(mut self) -> Self {
        self.distance = true;
        self
    }

    /// Adds [`distance_f64`](Self::distance_f64) to the outputs.
    pub fn distance_f64(mut self) -> Self {
        self.distance_f64 = true;
        self
    }

    /// Adds [`signed_distance`](Self::signed_distance) to the outputs.
    pub fn signed_distance(mut self) -> Self {
        self.signed_distance = true;
        self
    }

    /// Adds [`value`](Self::value) to the outputs.
    pub fn value(mut self) -> Self {
        self.value = true;
        self
    }

    /// Adds [`label`](Self::label) to the outputs.
    pub fn label(mut self) -> Self {
        self.label = true;
        self
    }

    /// The number of outputs.
    #[cfg(feature = "cuda")]
    pub(crate) fn outputs(&self) -> u32 {
        let of_indices = [self.nearest, self.coordinates, self.value, self.label];
        let distances =
            [self.squared_distance, self.distance, self.distance_f64, self.signed_distance];
        of_indices.into_iter().chain(distances).map(u32::from).sum()
    }

    /// Checks what is wanted of distances on the globe.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check), and [`Error::NotOnGlobe`].
    pub(crate) fn check_on_globe(&self, input: &Shape) -> Result<()> {
        let refused = [
            (self.squared_distance, "squared distance that is a whole number"),
            (self.method == Method::Baseline(Baseline::ScanPrune), "choice of the method"),
            (self.spacing.is_some(), "spacing: the globe has the sides of a pixel"),
            (self.part_of.is_some(), "parts of a raster"),
        ];
        if let Some(&(_, what)) = refused.iter().find(|(is_wanted, _)| *is_wanted) {
            return Err(Error::NotOnGlobe { what });
        }
        self.spacing(1.0, 1.0).check(input).map(drop)
    }

    /// Checks them and the lengths of an input, and gives how its distances are counted.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`gpu_core::Error::Length`], [`Error::Spacing`], [`Error::SideRatio`],
    /// [`Error::BeyondSingle`], [`Error::SquaredDistance`], [`gpu_core::Error::Parameter`], [`Error::Missing`], [`Error::Unsupported`].
    pub(crate) fn check(&self, input: &Shape) -> Result<Metric> {
        input.check()?;
        let GridSpec { width, height, cell_size, .. } = input.grid;
        let spacing = self.spacing.unwrap_or(Spacing { x: cell_size, y: cell_size });
        // With square pixels only the width of numbers depends on how many pixels there are.
        let whole = self.part_of.filter(|_| spacing.x != spacing.y).unwrap_or((width, height));
        let (columns, rows) = (whole.0.max(input.columns()), whole.1.max(height));
        check_sides(columns, rows)?;
        let metric = Metric::new(columns, rows, spacing, self.max_distance)?;
        let Spacing { x, y } = spacing;
        let longest = x * f64::from(columns) + y * f64::from(rows);
        let is_single = x.min(y) >= f32::MIN_POSITIVE.into() && longest <= f32::MAX.into();
        if (self.distance || self.signed_distance) && !is_single {
            return Err(Error::BeyondSingle { x, y, width: columns, height: rows });
        }
        if self.squared_distance && metric.ground.is_some_and(|ground| !ground.has_squares) {
            return Err(Error::SquaredDistance { x: spacing.x, y: spacing.y });
        }
        if input.strip.is_some() {
            let beyond = [
                (self.value, "value", "values beyond the strip"),
                (self.label, "label", "labels beyond the strip"),
                (
                    self.signed_distance,
                    "signed distance",
                    "pixels beyond the strip that are not sites",
                ),
            ];
            if let Some(&(_, output, input)) = beyond.iter().find(|(is_wanted, ..)| *is_wanted) {
                return Err(Error::Missing { output, input });
            }
        }
        if self.value && input.values.is_none() {
            return Err(Error::Missing { output: "value", input: "values" });
        }
        if self.label && !matches!(input.sites, Form::Labels(_)) {
            return Err(Error::Missing { output: "label", input: "labels" });
        }
        if self.method == Method::Baseline(Baseline::ScanPrune) {
            let why = if metric.ground.is_some() {
                "pixels that are not square"
            } else if input.grid.cells() > MAX_PIXELS {
                "more pixels than 32 bits can name"
            } else if input.strip.is_some() {
                "a strip of a wider raster"
            } else if self.max_distance.is_some() {
                "a largest distance"
            } else {
                return Ok(metric);
            };
            return Err(Error::Unsupported { method: self.method, why });
        }
        Ok(metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{MAX_SIDE, check_short};

    #[test]
    fn rasters_beyond_the_limits_are_named() {
        for (width, height) in [(u32::MAX, 1), (1, u32::MAX), (MAX_SIDE + 1, 1), (65536, 65536)] {
            assert_eq!(check_short(width, height), Err(Error::TooLarge { width, height }));
        }
        assert_eq!(check_sides(65536, 65536), Ok(1 << 32));
        assert_eq!(check_short(u32::MAX, 0), Ok(0));
        let input = crate::Input::new(crate::Sites::Mask(&[0; 5]), GridSpec::of_pixels(2, 3));
        let too_short = Params::new().check(&input.shape());
        assert_eq!(too_short.unwrap_err().to_string(), "site mask has 5 elements, expected 6");
        let input = crate::Input::new(crate::Sites::Mask(&[0; 6]), GridSpec::of_pixels(2, 3));
        assert!(Params::new().check(&input.shape()).is_ok());
    }

    #[test]
    fn distances_are_of_the_grid_s_cells_unless_a_spacing_is_set() {
        let grid = GridSpec::new(0.0, 0.0, 2.5, 4, 3).unwrap();
        let shape = crate::Input::new(crate::Sites::Mask(&[0; 12]), grid).shape();
        assert_eq!(Params::new().check(&shape).unwrap().scale, 2.5);
        assert_eq!(Params::new().spacing(1.0, 1.0).check(&shape).unwrap().scale, 1.0);
        let grid = GridSpec { cell_size: f64::NAN, ..grid };
        let shape = crate::Input::new(crate::Sites::Mask(&[0; 12]), grid).shape();
        assert!(matches!(Params::new().check(&shape), Err(Error::Spacing { .. })));
    }

    #[test]
    fn a_part_counts_distances_as_the_whole() {
        let grid = GridSpec::of_pixels(3, 2);
        let shape = crate::Input::new(crate::Sites::Mask(&[0; 6]), grid).shape();
        let (x, y) = (1.0, 1.2345678);
        let whole = Metric::new(1_000_000, 900_000, Spacing { x, y }, Some(7.0)).unwrap();
        let params = Params::new().spacing(x, y).max_distance(7.0);
        assert_ne!(params.check(&shape).unwrap(), whole);
        assert_eq!(params.part_of(1_000_000, 900_000).check(&shape).unwrap(), whole);
        let too_large = params.part_of(u32::MAX, 3).check(&shape);
        assert!(matches!(too_large, Err(Error::TooLarge { .. })));
    }
}
