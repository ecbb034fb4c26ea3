//! The descent from the root to each square.

use device_std::{Out, kernel, thread, warp};

use super::super::{LEVELS, SIDE};
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::{
    BLOCK, ConditionSearch, FoundQuadrants, NONE, OPEN, Question, Results, Verdict, listed_words,
};

/// Goes down to each square. Without `results.out` it counts the quadrants that end above a square, and lists the
/// squares in which the search goes on. With `results.out` it writes these quadrants, from where the scanned
/// `results.counts` says, and lists nothing. Grid: a thread for each square.
///
/// # Safety
/// The slices have what [`Question`] and [`Results`] say, and the rasters have the sides of the ground. `listed` has
/// [`listed_words`] for each square, and `listed_len` is 0.
#[kernel(block = BLOCK, key: usize = N, instances(
    one: <1>;
    two: <2>;
    four: <4>;
))]
pub unsafe fn descend<const N: usize>(
    question: Question<'_>,
    results: Results<'_>,
    listed: Out<'_, u32>,
    listed_len: Out<'_, u32>,
) {
    let search = ConditionSearch::<N>::new(question);
    let (columns, rows) = search.ground.squares();
    let index = thread::index_1d() as u32;
    let mut open = None;
    if index < columns * rows {
        let (square, place) = search.ground.square(index);
        let first = if results.out.is_none() { 0 } else { results.counts.get(place) };
        let mut found = results.from(first);
        open = search.descend(square, &mut found);
        if results.out.is_none() && open.is_none() {
            results.put(place, (columns, rows), &found);
        }
    }
    if results.out.is_some() {
        return;
    }
    // SAFETY: whether there is `out` is the same for all threads, so the whole warp is here.
    let lanes = unsafe { warp::ballot(warp::FULL, open.is_some()) };
    let mut first = 0;
    if warp::lane_id() == 0 && lanes != 0 {
        first = listed_len.fetch_add(0u32, lanes.count_ones());
    }
    // SAFETY: as above.
    let first = unsafe { warp::shuffle(warp::FULL, first, 0) };
    if let Some(positions) = open {
        let at = first + (lanes & warp::lanes_below()).count_ones();
        let to = listed.from(at as usize * listed_words(N));
        to.set(0u32, index);
        let mut i = 0;
        while i < N {
            to.set(1 + i, positions[i]);
            i += 1;
        }
    }
}

impl<const N: usize> ConditionSearch<'_, N> {
    /// Goes down to a square; returns the nodes that hold it if the search goes on there. A quadrant that ends above is
    /// taken for the square at its corner.
    #[inline(always)]
    fn descend(
        &self,
        (column, row): (u32, u32),
        found: &mut FoundQuadrants<'_>,
    ) -> Option<[u32; N]> {
        let end = self.reach((column, row));
        let is_own = end.corner == (column * SIDE, row * SIDE);
        match end.verdict.what {
            OPEN => Some(end.positions),
            what => {
                if what != NONE && is_own {
                    let side = 1 << (self.ground.bits - end.level);
                    found.take(self, end.corner, side, end.verdict);
                }
                None
            }
        }
    }

    /// Goes down from the root towards a square, as far as the search goes on, at most to the square itself.
    #[inline(always)]
    pub fn reach(&self, (column, row): (u32, u32)) -> End<N> {
        let above = self.ground.bits.saturating_sub(LEVELS);
        let (mut positions, mut level) = ([0; N], 0);
        loop {
            // The quadrant of this level that the square lies in.
            let shift = above - level;
            let corner = ((column >> shift << shift) * SIDE, (row >> shift << shift) * SIDE);
            let mut verdict = self.judge(corner, level, positions);
            if verdict.what != OPEN || level == above {
                return End { verdict, corner, level, positions };
            }
            let towards = (column >> (shift - 1) & 1) | (row >> (shift - 1) & 1) << 1;
            let (children, is_there) = self.child(corner, level, positions, towards);
            if !is_there {
                verdict.what = NONE;
                return End { verdict, corner, level, positions };
            }
            positions = children;
            level += 1;
        }
    }
}

/// The end of a descent: a quadrant, its verdict, and the nodes that hold it.
pub struct End<const N: usize> {
    /// The verdict.
    pub verdict: Verdict,
    /// The quadrant's first column and row.
    pub corner: (u32, u32),
    /// Its level.
    pub level: u32,
    /// The nodes that hold it.
    pub positions: [u32; N],
}
