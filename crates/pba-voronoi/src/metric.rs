//! How squared distances are counted: in integers, whatever the sides of a pixel.

/// Most columns of a raster whose candidates are kept in 16 bits; the rest of their range tells a
/// row without a site from every site near enough to be compared without care.
const MAX_NARROW: u32 = 60_000;

/// The squares of a step in x and in y, and the squared distance beyond which there is no site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Metric {
    /// The square of a step in x.
    pub across: u32,
    /// The square of a step in y.
    pub down: u32,
    /// Most squared distance of a site; `u64::MAX` without a limit.
    pub limit: u64,
    /// Whether columns fit 16 bits and squared distances, of square pixels, 32.
    pub is_narrow: bool,
}

impl Metric {
    /// Square pixels, no limit.
    pub(crate) fn pixels(width: u32, height: u32) -> Self {
        let square = |n: u32| u64::from(n) * u64::from(n);
        let is_narrow = width <= MAX_NARROW
            && square(width).saturating_add(square(height)) < u64::from(u32::MAX);
        Self { across: 1, down: 1, limit: u64::MAX, is_narrow }
    }

    /// The squared limit of a search so many rows away: it finds a site wherever one is within the
    /// limit of a row that is no farther.
    pub(crate) fn limit_within(&self, rows: u32) -> u64 {
        if self.limit == u64::MAX {
            return u64::MAX;
        }
        let reach = (self.limit as f64).sqrt() + f64::from(rows) * f64::from(self.down).sqrt();
        // Rounded up by more than the errors of the roots.
        (reach * reach * (1.0 + 1e-9)).ceil() as u64 + 1
    }
}
