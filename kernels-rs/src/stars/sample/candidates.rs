//! The candidates of each site: a set of sites with all its neighbours. [`sample`](super) defines it.

use device_std::{In, arguments, warp};

use super::BESIDE;

/// The triangles of each site, and the sites that conflict with each.
#[arguments]
pub struct Lists<'a> {
    /// Where the triangles of each site begin in `triangles`.
    pub starts: In<'a, u32>,
    /// How many triangles each site has.
    pub counts: In<'a, u32>,
    /// The triangles of all sites, with [`BESIDE`].
    pub triangles: In<'a, u32>,
    /// Where the sites of each triangle begin, and where the last ones end.
    pub begins: In<'a, u32>,
    /// The sites of all triangles.
    pub sites: In<'a, u32>,
}

/// Visits the candidates of a site; `LANES` lanes share one site. A site comes once for each of these triangles that it
/// conflicts with; the site itself comes, too.
pub struct Walk<'a, const LANES: u32> {
    lists: Lists<'a>,
    /// The site's triangles, and their number.
    own: In<'a, u32>,
    triangles: u32,
    /// The lane's triangle in the next round of triangles.
    triangle: u32,
    /// The lane's triangle of this round. `begin` is where its sites begin, less how many sites the lanes before have;
    /// it may wrap. `end` is how many sites the lanes up to this one have.
    begin: u32,
    end: u32,
    /// How many sites all lanes have in this round.
    all: u32,
    /// The lane's next site among these.
    next: u32,
}

impl<'a, const LANES: u32> Walk<'a, LANES> {
    /// Begins at the first candidate. The lists have the site, if there is one.
    #[inline(always)]
    pub fn new(lists: Lists<'a>, site: Option<u32>) -> Self {
        let (own, triangles) = match site {
            Some(site) => (lists.triangles.from(lists.starts.get(site)), lists.counts.get(site)),
            None => (lists.triangles, 0),
        };
        let lane = warp::lane_id() % LANES;
        Self { lists, own, triangles, triangle: lane, begin: 0, end: 0, all: 0, next: lane }
    }

    /// The lane's next candidate, and whether there is one; a lane may want none. `None` if no lane of the warp has
    /// one.
    ///
    /// # Safety
    /// The whole warp comes to the same call, and lanes of one site want the same.
    #[inline(always)]
    pub unsafe fn next(&mut self, wants: bool) -> Option<(u32, bool)> {
        let lane = warp::lane_id() % LANES;
        let first_lane = warp::lane_id() - lane;
        // SAFETY: passed on to the caller.
        unsafe {
            // Each lane has one of `LANES` triangles.
            while !warp::any(warp::FULL, wants && self.next - lane < self.all) {
                if !warp::any(warp::FULL, wants && self.triangle - lane < self.triangles) {
                    return None;
                }
                let (mut begin, mut len) = (0, 0);
                if self.triangle < self.triangles {
                    let triangle = self.own.get(self.triangle) & !BESIDE;
                    begin = self.lists.begins.get(triangle);
                    len = self.lists.begins.get(triangle + 1) - begin;
                }
                self.end = warp::inclusive_scan_from(first_lane, len, |a, b| a + b);
                self.begin = (begin + len).wrapping_sub(self.end);
                self.all = warp::shuffle(warp::FULL, self.end, first_lane + LANES - 1);
                (self.triangle, self.next) = (self.triangle + LANES, lane);
            }
            // Each lane has one site of one of these triangles.
            let of = lane_of::<LANES>(first_lane, self.end, self.next);
            let from = warp::shuffle(warp::FULL, self.begin, of);
            let is_there = wants && self.next < self.all;
            let at = if is_there { from.wrapping_add(self.next) } else { 0 };
            self.next += LANES;
            Some((self.lists.sites.get(at), is_there))
        }
    }
}

/// The first of `LANES` lanes whose `end` is above `i`; the last lane if there is none. Ends rise from lane to lane.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn lane_of<const LANES: u32>(first: u32, end: u32, i: u32) -> u32 {
    let (mut lane, mut step) = (first, LANES / 2);
    while step > 0 {
        // SAFETY: passed on to the caller.
        let before = unsafe { warp::shuffle(warp::FULL, end, lane + step - 1) };
        if before <= i {
            lane += step;
        }
        step /= 2;
    }
    lane
}
