//! The pixels that a query point steals, or that an owner has, as the queries see them: an interval in each row.
//!
//! There are two implementations. [`Cell`](super::spans::Cell) finds the intervals anywhere in the raster. On the
//! device, `Boxed` finds them if the region lies in a box of some pixels. Both visit rows and runs in the same order,
//! so sums of floats have the same bits.

use device_std::math;

/// A site seen from a query point: the vector to it, in half pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The site's pixel.
    pub site: u32,
    /// To the east.
    pub dx: i32,
    /// To the south.
    pub dy: i32,
}

impl Neighbour {
    /// Squared distance.
    #[inline(always)]
    pub fn squared(self) -> i64 {
        self.dx as i64 * self.dx as i64 + self.dy as i64 * self.dy as i64
    }
}

/// Where a query point, or an owner, is.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// In half pixels.
    pub q: [i32; 2],
    /// Columns and rows of the raster.
    pub extent: [i32; 2],
}

impl Position {
    /// The pixel under the query point; if the point is a corner, the pixel to its lower right.
    #[inline(always)]
    pub fn base(self) -> [i32; 2] {
        [self.q[0] >> 1, self.q[1] >> 1]
    }

    /// 1 if the query point is the corner of pixels, 0 if it is the centre of one.
    #[inline(always)]
    pub fn on_corner(self) -> i32 {
        1 - (self.q[0] & 1)
    }

    /// Whether the raster has a column, given as an offset from the base.
    #[inline(always)]
    pub fn is_column(self, r: i32) -> bool {
        ((self.base()[0] + r) as u32) < self.extent[0] as u32
    }

    /// The index of a pixel of the raster: its column as an offset from the base, and its row.
    #[inline(always)]
    pub fn index(self, r: i32, y: i32) -> usize {
        y as usize * self.extent[0] as usize + (self.base()[0] + r) as usize
    }

    /// The distance from the query point to row `y`, in half pixels; positive if the row lies to the south.
    #[inline(always)]
    pub fn down(self, y: i32) -> i32 {
        2 * y + 1 - self.q[1]
    }
}

/// The part of the raster that a query reads: the raster, and the circle around the query point.
#[derive(Clone, Copy)]
pub struct Bounds<R> {
    /// Columns and rows of the raster.
    pub extent: [i32; 2],
    /// Rows of the circle; `i32::MAX` without a circle.
    pub circle_rows: i32,
    /// For a row of the circle, from the top, how many of its pixels lie to the left of the query point; as many lie to
    /// the right.
    pub reach: R,
}

impl Bounds<()> {
    /// All of a raster.
    #[inline(always)]
    pub fn of_raster(extent: [i32; 2]) -> Bounds<impl Fn(i32) -> i32 + Copy> {
        Bounds { extent, circle_rows: i32::MAX, reach: |_| 0 }
    }
}

impl<R: Fn(i32) -> i32> Bounds<R> {
    /// Whether a row is in the raster and in the circle.
    #[inline(always)]
    pub fn has_row(&self, at: Position, y: i32) -> bool {
        let in_raster = (y as u32) < self.extent[1] as u32;
        in_raster && (self.circle_row(at, y) as u32) < self.circle_rows as u32
    }

    /// The row of the circle; without a circle, any number.
    #[inline(always)]
    fn circle_row(&self, at: Position, y: i32) -> i32 {
        match self.circle_rows {
            i32::MAX => 0,
            rows => y - at.base()[1] + (rows >> 1),
        }
    }

    /// The first and the last column that a row has in the raster and in the circle, as offsets from the base.
    #[inline(always)]
    pub fn columns(&self, at: Position, y: i32) -> [i32; 2] {
        let west = at.base()[0];
        self.in_circle(at, y, [-west, self.extent[0] - 1 - west])
    }

    /// The part of a row's interval that lies in the circle; the row is one of the circle's.
    #[inline(always)]
    pub fn in_circle(&self, at: Position, y: i32, [first, last]: [i32; 2]) -> [i32; 2] {
        if self.circle_rows == i32::MAX {
            return [first, last];
        }
        let reach = (self.reach)(self.circle_row(at, y));
        [i32::max(first, -reach), i32::min(last, reach - at.on_corner())]
    }
}

/// If at most this many pixels of the row are left, a run is found pixel by pixel.
pub(super) const FEW: i32 = 4;

/// The pixels that a query point steals, or that an owner has. Columns of pixels are offsets from the base.
pub trait Region {
    /// The position of the query point, or of the owner.
    fn position(&self) -> Position;

    /// The site of a pixel, seen from the query point.
    fn neighbour(&self, r: i32, y: i32) -> Neighbour;

    /// Whether [`neighbour`](Self::neighbour) works for a column.
    #[inline(always)]
    fn has_column(&self, r: i32) -> bool {
        self.position().is_column(r)
    }

    /// Calls `row(y, first, last)` for the rows in which something may be stolen: from the query point's own row to the
    /// south, then from the row above it to the north. If the point is a corner, its own row is the row below it.
    /// `first > last` if nothing in the row is stolen. After the last row with stolen pixels comes one without, if the
    /// raster and the circle have it.
    ///
    /// The raster has a site.
    fn rows(&self, row: impl FnMut(i32, i32, i32));

    /// Calls `run(site, pixels)` for the sites of row `y` from offset `first` to `last`, in order, without sites whose
    /// squared distance is `site_limit` or more.
    fn runs(&self, y: i32, first: i32, last: i32, site_limit: u64, run: impl FnMut(Neighbour, u32));

    /// Calls `run(site, pixels)` for the sites of all rows, as [`runs`](Self::runs), but in any order.
    #[inline(always)]
    fn in_any_order(&self, site_limit: u64, mut run: impl FnMut(Neighbour, u32)) {
        self.rows(|y, first, last| self.runs(y, first, last, site_limit, &mut run));
    }

    /// The first row of [`rows`](Self::rows).
    #[inline(always)]
    fn start_row(&self) -> i32 {
        self.position().base()[1]
    }

    /// Calls `site` for the sites among the pixels that touch the query point: one pixel, or four if the point is a
    /// corner.
    #[inline(always)]
    fn touching_sites(&self, mut site: impl FnMut(Neighbour)) {
        self.touching(|pixel, neighbour| {
            if pixel == neighbour.site {
                site(neighbour);
            }
        });
    }

    /// Calls `look(pixel, its site)` for the pixels that touch the query point, which is not on the
    /// border of the raster.
    #[inline(always)]
    fn touching(&self, mut look: impl FnMut(u32, Neighbour)) {
        let at = self.position();
        let mut y = at.base()[1] - at.on_corner();
        while y <= at.base()[1] {
            let mut r = -at.on_corner();
            while r <= 0 {
                look(at.index(r, y) as u32, self.neighbour(r, y));
                r += 1;
            }
            y += 1;
        }
    }

    /// Whether all sites are at least the squared distance `site_limit`, in half pixels, from the query point; `false`
    /// if a quick test cannot tell.
    #[inline(always)]
    fn is_beyond(&self, site_limit: u64) -> bool {
        if site_limit == u64::MAX {
            return false;
        }
        let site = self.neighbour(0, self.start_row());
        if self.position().on_corner() == 0 {
            // This is the nearest site of all.
            return site.squared() as u64 >= site_limit;
        }
        // The site is the nearest to a pixel whose centre is the root of 2 away.
        let to_pixel = Neighbour { dx: site.dx - 1, dy: site.dy - 1, ..site };
        let bound = math::sqrt(site_limit as f64) + 1.5;
        to_pixel.squared() as f64 >= bound * bound
    }
}
