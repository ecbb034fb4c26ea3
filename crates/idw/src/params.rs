//! How to interpolate, checked.

use gpu_core::{ValueRange, require_parameter};

use crate::points::{LEAST_LENGTH, has_square};
use crate::{Error, Kernel, Result, expansion};

/// How to interpolate. Names and meanings are as in `gdal_grid` where it has the option.
///
/// ```
/// use idw::Params;
/// let params = Params::nearest(12).power(3.0).radius(250.0).min_points(3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// The weight of a point at distance d is 1 / d^power; positive. 1, 2, 3, 4 are fastest.
    pub power: f64,
    /// Smoothing: the square of a distance becomes d^2 + smoothing^2. In ground units; 0, or between 1e-130 and 1e150.
    pub smoothing: f64,
    /// First half-axis of the search ellipse, in ground units (metres where `geographic`). Both 0: no
    /// limit.
    pub radius1: f64,
    /// Second half-axis.
    pub radius2: f64,
    /// Rotation of the ellipse, counter-clockwise, in degrees.
    pub angle: f64,
    /// The most points of a target: its nearest. 0: no limit.
    pub max_points: u32,
    /// With fewer points, a target gets no value; `too_few_points` can change this.
    pub min_points: u32,
    /// The most points of each quadrant around the target. 0: no limit.
    pub max_points_per_quadrant: u32,
    /// With fewer points in any quadrant, a target gets no value; `too_few_points` can change this.
    pub min_points_per_quadrant: u32,
    /// What a target without a value gets. On the device it always gets NaN.
    pub nodata: f64,
    /// How to treat a target with too few points.
    pub too_few_points: TooFewPoints,
    /// x and y are degrees of longitude and latitude, and distances are on a sphere, in metres.
    pub geographic: bool,
    /// Derives the power of each target from the pattern of the points around it, instead of `power`.
    pub adaptive: Option<Adaptive>,
    /// Weights by a kernel function of the distance, instead of a power: the local mean of Nadaraya (1964,
    /// doi:10.1137/1109020) and Watson (1964, Sankhya A 26, 359-372). It smooths: a target on a point does not get the
    /// point's value. Needs a search; a target without a neighbour of positive weight has no value.
    pub kernel: Option<Kernel>,
    /// How to treat points that are not finite.
    pub non_finite: NonFinite,
    /// How all pairs are summed.
    pub method: Method,
    /// Whether the result has statistics of each target's points.
    pub statistics: bool,
    /// The range that clamps results, and that gives the offset of sums. If a point's value lies outside, the range
    /// grows to include it. `None` takes the range of the points' values. Calls on the device take the range of the
    /// points' extent instead.
    ///
    /// To make a surface in parts, give each part the range of the whole. Also give it all points that its search
    /// needs, in the order of the whole. Then the part has the same bits as the whole:
    ///
    /// - on the CPU, unless a radius alone holds more than 256 points;
    /// - on a device, if the search takes at most 64 points, or 16 of each quadrant.
    pub value_range: Option<ValueRange>,
    /// The radius that [`Params::kernel`] derived from a bandwidth; 0 if there is none.
    pub(crate) radius_of_kernel: f64,
}

/// How to treat a target with too few points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooFewPoints {
    /// It gets no value.
    #[default]
    Nodata,
    /// It takes the nearest points, at any distance and in any quadrant: `min_points` of them, or four times
    /// `min_points_per_quadrant` if that is more, but at least one. If there are fewer than these in all, it takes all.
    /// If there are fewer than `min_points` in all, it gets no value.
    Nearest,
}

/// How to treat points that are not finite, or have a latitude beyond a pole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NonFinite {
    /// They are an error.
    #[default]
    Refuse,
    /// The call leaves these points out, and counts them.
    Skip,
}

/// How all pairs are summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The expansion, if the parameters allow it and there are enough points and targets for it to be faster; else the
    /// direct sum.
    #[default]
    Auto,
    /// Every pair of a point and a target, one after the other.
    Direct,
    /// A few nodes replace each group of points that is far from a group of targets. The result has the accuracy that
    /// the crate states for its type (`docs/internals/idw.md`). Where each point is left out in turn, it has the
    /// accuracy of f32. The last bits of a target's value depend on the other targets.
    ///
    /// The expansion takes powers of at most 4, adaptive ones too; on the sphere it takes only f32.
    Expansion,
    /// A published method, for comparison.
    Baseline(Baseline),
}

/// The published methods that [`Method`] is compared with: the kernels of Mei, *Evaluating the Power of GPU
/// Acceleration for IDW Interpolation Algorithm* (2014, doi:10.1155/2014/171574), for f32 in the plane. Sums are in f32
/// throughout, so many points cost accuracy. On the CPU, [`Method::Direct`] replaces them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Baseline {
    /// Every thread reads every point from global memory.
    Naive,
    /// Points pass through shared memory.
    Tiled,
}

/// The adaptive power of Lu and Wong (2008, doi:10.1016/j.cageo.2007.07.010).
///
/// The power follows from how dispersed the points around a target are. The measure is the mean distance of the
/// target to its `neighbours` nearest points, divided by the mean distance that is expected in a random pattern. A
/// cosine maps this ratio from the range `r_min` to `r_max` to the range 0 to 1. From 0.1 to 0.9 the power is
/// interpolated linearly between the five levels. So a random pattern has a ratio near 1, and the middle level by
/// default.
///
/// The paper expects half the spacing of the points, which is the distance of only the nearest point. This crate
/// expects the mean distance of as many neighbours as it measures (Thompson 1956, doi:10.2307/1933159). With one
/// neighbour both are the same.
///
/// ```
/// use gpu_core::{Device, Points, Targets};
/// use idw::{Adaptive, Input, Params, interpolate};
///
/// let points = Points { x: &[0.0, 4.0], y: &[0.0; 2], values: &[&[10.0, 20.0]] };
/// let targets = Targets::Points { x: &[2.0], y: &[0.0] };
/// let params = Params::default().adaptive(Adaptive::default().neighbours(2));
/// let surface = interpolate::<f64>(&Device::Cpu, Input::new(points, targets), &params)?;
/// assert!((surface.values[0][0] - 15.0).abs() < 1e-9); // halfway, every power gives the mean
/// # Ok::<(), idw::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Adaptive {
    /// The number of neighbours whose pattern counts; positive.
    pub neighbours: u32,
    /// The powers, from a clustered pattern to a dispersed one; positive.
    pub levels: [f64; 5],
    /// The ratio at and below which a pattern counts as clustered.
    pub r_min: f64,
    /// The ratio at and above which a pattern counts as dispersed.
    pub r_max: f64,
    /// The area of the points, in square ground units. 0 takes the area of their bounding box, or on a sphere the area
    /// of the zone between their bounds.
    pub area: f64,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            neighbours: 10,
            levels: [0.5, 1.0, 2.0, 3.0, 4.0],
            r_min: 0.0,
            r_max: 2.0,
            area: 0.0,
        }
    }
}

impl Adaptive {
    gpu_core::builders! {
        neighbours: u32;
        levels: [f64; 5];
        r_min: f64;
        r_max: f64;
        area: f64;
    }
}

impl Default for Params {
    /// All pairs at power 2, without smoothing; NODATA is NaN.
    fn default() -> Self {
        Self {
            power: 2.0,
            smoothing: 0.0,
            radius1: 0.0,
            radius2: 0.0,
            angle: 0.0,
            max_points: 0,
            min_points: 0,
            max_points_per_quadrant: 0,
            min_points_per_quadrant: 0,
            nodata: f64::NAN,
            too_few_points: TooFewPoints::Nodata,
            geographic: false,
            adaptive: None,
            kernel: None,
            non_finite: NonFinite::Refuse,
            method: Method::Auto,
            statistics: false,
            value_range: None,
            radius_of_kernel: 0.0,
        }
    }
}

impl Params {
    /// Returns parameters that take the `max_points` nearest points, at power 2.
    pub fn nearest(max_points: u32) -> Self {
        Self { max_points, ..Self::default() }
    }

    gpu_core::builders! {
        power: f64;
        smoothing: f64;
        angle: f64;
        max_points: u32;
        min_points: u32;
        max_points_per_quadrant: u32;
        min_points_per_quadrant: u32;
        nodata: f64;
        too_few_points: TooFewPoints;
        geographic: bool;
        non_finite: NonFinite;
        method: Method;
        statistics: bool;
    }

    /// Sets [`adaptive`](Self#structfield.adaptive): a power for each target.
    #[must_use]
    pub fn adaptive(self, adaptive: impl Into<Option<Adaptive>>) -> Self {
        Self { adaptive: adaptive.into(), ..self }
    }

    /// Sets [`radius1`](Self#structfield.radius1).
    #[must_use]
    pub fn radius1(self, radius1: f64) -> Self {
        Self { radius1, radius_of_kernel: 0.0, ..self }
    }

    /// Sets [`radius2`](Self#structfield.radius2).
    #[must_use]
    pub fn radius2(self, radius2: f64) -> Self {
        Self { radius2, radius_of_kernel: 0.0, ..self }
    }

    /// Sets [`kernel`](Self#structfield.kernel). If there is no radius and the function ends at its bandwidth, the
    /// bandwidth becomes the radius. A later call takes such a radius away again; a radius that the caller set stays.
    #[must_use]
    pub fn kernel(self, kernel: impl Into<Option<Kernel>>) -> Self {
        let kernel = kernel.into();
        // The fields are public, so the caller may have set a radius without a method. Bits compare NaN too.
        let is_of_kernel = [self.radius1, self.radius2].map(f64::to_bits)
            == [self.radius_of_kernel; 2].map(f64::to_bits);
        let params = if is_of_kernel { self.radius(0.0) } else { self };
        let params = Self { kernel, ..params };
        match kernel.filter(|kernel| kernel.shape.ends() && params.radius1 == 0.0) {
            Some(Kernel { bandwidth, .. }) => {
                Self { radius_of_kernel: bandwidth, ..params.radius(bandwidth) }
            }
            None => params,
        }
    }

    /// Sets the field `value_range`: the range of the whole.
    #[must_use]
    pub fn value_range(self, value_range: impl Into<Option<ValueRange>>) -> Self {
        Self { value_range: value_range.into(), ..self }
    }

    /// Sets both half-axes: the points within a circle.
    #[must_use]
    pub fn radius(self, radius: f64) -> Self {
        self.radius1(radius).radius2(radius)
    }

    /// The search among all points for the pattern that adaptive powers follow from.
    pub(crate) fn of_pattern(&self, how: Adaptive) -> Self {
        Self::nearest(how.neighbours).geographic(self.geographic)
    }

    /// The search for the nearest point alone.
    pub(crate) fn of_nearest(&self) -> Self {
        self.max_points(1).adaptive(None)
    }

    /// Whether every point counts for every target.
    pub fn is_all_pairs(&self) -> bool {
        self.max_points == 0 && self.radius1 == 0.0 && !self.has_quadrants()
    }

    /// Whether the points within a radius can be summed without a list of them.
    pub(crate) fn are_summed_within(&self) -> bool {
        let is_of_all = self.max_points == 0 && self.radius1 > 0.0 && !self.has_quadrants();
        is_of_all
            && !self.statistics
            && self.kernel.is_none()
            && self.highest_power() <= expansion::HIGHEST_POWER
    }

    pub(crate) fn has_quadrants(&self) -> bool {
        self.max_points_per_quadrant > 0 || self.min_points_per_quadrant > 0
    }

    /// The power where it has a specialised weight, else 0; or the kernel function.
    pub(crate) fn law(&self) -> u32 {
        if let Some(kernel) = self.kernel {
            return kernel.law();
        }
        let law = (1..=4).find(|&law| f64::from(law) == self.power);
        if self.adaptive.is_some() { 0 } else { law.unwrap_or(0) }
    }

    /// Minus half the power; of a kernel function the square of its bandwidth.
    pub(crate) fn exponent(&self) -> f64 {
        self.kernel.map_or(-0.5 * self.power, |kernel| kernel.bandwidth * kernel.bandwidth)
    }

    /// The highest power that a target may have.
    pub(crate) fn highest_power(&self) -> f64 {
        self.adaptive.map_or(self.power, |how| how.levels.into_iter().fold(0.0, f64::max))
    }

    /// Checks the parameters by themselves.
    pub(crate) fn check(&self) -> Result<()> {
        let &Self { power, smoothing, radius1, radius2, angle, .. } = self;
        let is_power = power.is_finite() && power > 0.0;
        require_parameter("power", power, is_power, "a positive number")?;
        let is_smoothing = smoothing >= 0.0 && has_square(smoothing);
        require_parameter("smoothing", smoothing, is_smoothing, "0 or from 1e-130 to 1e150")?;
        // The radius may be the bandwidth: an error names what the caller gave.
        self.kernel.map_or(Ok(()), |kernel| kernel.check(self))?;
        let is_radius = |radius: f64| radius >= LEAST_LENGTH;
        let both = (is_radius(radius1) && is_radius(radius2)) || (radius1 == 0.0 && radius2 == 0.0);
        if !(both && radius1.is_finite() && radius2.is_finite()) {
            return Err(Error::Radius { radius1, radius2 });
        }
        require_parameter("angle", angle, angle.is_finite(), "a number of degrees")?;
        if let Some(ValueRange { min, max }) = self.value_range
            && !(min.is_finite() && max.is_finite() && min <= max)
        {
            return Err(Error::ValueRange { min, max });
        }
        self.check_counts()?;
        if self.geographic && radius1 != radius2 {
            return Err(Error::Conflict { option: "an ellipse", with: "geographic coordinates" });
        }
        self.check_method()?;
        self.adaptive.map_or(Ok(()), |adaptive| self.check_adaptive(adaptive))
    }

    /// Checks the parameters of a sum over a part of the points.
    pub(crate) fn check_part(&self) -> Result<()> {
        self.check()?;
        let option = "a part of the points";
        let conflicts = [
            (!self.is_all_pairs(), "a search"),
            (self.adaptive.is_some(), "the adaptive power"),
            (self.statistics, "statistics"),
            (matches!(self.method, Method::Baseline(_)), "a kernel of the paper"),
            // The power of two of a weight must be a number.
            (self.power > 1e300, "a power above 1e300"),
        ];
        match conflicts.into_iter().find(|(conflicts, _)| *conflicts) {
            Some((_, with)) => Err(Error::Conflict { option, with }),
            None => Ok(()),
        }
    }

    fn check_counts(&self) -> Result<()> {
        let pairs = [
            (self.min_points, self.max_points),
            (self.min_points_per_quadrant, self.max_points_per_quadrant),
        ];
        match pairs.into_iter().find(|&(min, max)| max > 0 && min > max) {
            Some((min, max)) => Err(Error::MinAboveMax { min, max }),
            None => Ok(()),
        }
    }

    fn check_method(&self) -> Result<()> {
        let (option, is_of_paper) = match self.method {
            Method::Auto | Method::Direct => return Ok(()),
            Method::Expansion => ("the expansion", false),
            Method::Baseline(_) => ("a kernel of the paper", true),
        };
        if !self.is_all_pairs() {
            return Err(Error::Conflict { option, with: "neighbours" });
        }
        if is_of_paper && self.geographic {
            return Err(Error::Conflict { option, with: "geographic coordinates" });
        }
        if is_of_paper && self.adaptive.is_some() {
            return Err(Error::Conflict { option, with: "the adaptive power" });
        }
        if !is_of_paper && self.highest_power() > expansion::HIGHEST_POWER {
            return Err(Error::Conflict { option, with: "a power above 4" });
        }
        Ok(())
    }

    fn check_adaptive(&self, adaptive: Adaptive) -> Result<()> {
        let Adaptive { neighbours, levels, r_min, r_max, area } = adaptive;
        let (positive, not_negative) = ("a positive number", "0 or a positive number");
        require_parameter("adaptive neighbours", neighbours, neighbours > 0, positive)?;
        for level in levels {
            let is_power = level.is_finite() && level > 0.0;
            require_parameter("adaptive level", level, is_power, positive)?;
        }
        let is_r_min = r_min.is_finite() && r_min >= 0.0;
        require_parameter("adaptive r_min", r_min, is_r_min, not_negative)?;
        let is_r_max = r_max.is_finite() && r_max > r_min;
        require_parameter("adaptive r_max", r_max, is_r_max, "above r_min")?;
        let is_area = area.is_finite() && area >= 0.0;
        Ok(require_parameter("adaptive area", area, is_area, not_negative)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_parameters_are_named() {
        let base = Params::default();
        for power in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = base.power(power).check().unwrap_err();
            assert!(error.to_string().contains(&power.to_string()), "{error}");
        }
        for smoothing in [-1.0, f64::NAN] {
            assert!(matches!(
                base.smoothing(smoothing).check(),
                Err(Error::Core(gpu_core::Error::Parameter { what: "smoothing", .. }))
            ));
        }
        for (radius1, radius2) in [(-1.0, -1.0), (0.0, 1.0), (1.0, 0.0), (f64::NAN, f64::NAN)] {
            let params = base.radius1(radius1).radius2(radius2);
            assert!(matches!(params.check(), Err(Error::Radius { .. })));
        }
        let params = base.min_points(4).max_points(3);
        assert_eq!(params.check(), Err(Error::MinAboveMax { min: 4, max: 3 }));
        let params = base.geographic(true).radius1(1.0).radius2(2.0);
        assert!(matches!(params.check(), Err(Error::Conflict { .. })));
        for (min, max) in [(2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            let params = base.value_range(ValueRange { min, max });
            assert!(matches!(params.check(), Err(Error::ValueRange { .. })));
        }
        let adaptive = Adaptive::default().levels([1.0, 2.0, 0.0, 1.0, 1.0]);
        let params = base.adaptive(adaptive);
        assert!(matches!(
            params.check(),
            Err(Error::Core(gpu_core::Error::Parameter { what: "adaptive level", .. }))
        ));
        assert_eq!(base.check(), Ok(()));
    }

    #[test]
    fn the_last_kernel_gives_the_radius_unless_the_caller_did() {
        use crate::KernelShape::{Biweight, Gaussian};
        let [two, five] = [2.0, 5.0].map(|bandwidth| Kernel::new(Biweight, bandwidth));
        let radii = |params: Params| [params.radius1, params.radius2];
        // NaN differs from itself.
        let base = Params::default().nodata(0.0);
        assert_eq!(radii(base.kernel(two).kernel(five)), [5.0; 2]);
        assert_eq!(radii(base.kernel(two).kernel(Kernel::new(Gaussian, 5.0))), [0.0; 2]);
        assert_eq!(base.kernel(two).kernel(None), base);
        for own in [2.0, 3.0] {
            assert_eq!(radii(base.radius(own).kernel(two).kernel(five)), [own; 2]);
            assert_eq!(radii(base.kernel(two).radius(own).kernel(five)), [own; 2]);
            assert_eq!(radii(base.radius(own).kernel(two).kernel(None)), [own; 2]);
        }
        let mut edited = base.kernel(two);
        (edited.radius1, edited.radius2) = (4.0, 3.0);
        assert_eq!(radii(edited.kernel(five)), [4.0, 3.0]);
    }

    #[test]
    fn laws_are_the_whole_powers_to_four() {
        let law = |power| Params::default().power(power).law();
        assert_eq!([1.0, 2.0, 3.0, 4.0, 5.0, 2.5].map(law), [1, 2, 3, 4, 0, 0]);
    }
}
