//! A tile of a scan: in which order its elements are combined.
//!
//! This is the kernel's order (`kernels_rs::primitives::scan`) written for one thread. A tile is a sequence of warps, a
//! warp of rows, a row of 32 vectors of 16 bytes. All levels use [`Partial`] sums, and [`Tile::walk`] alone defines the
//! order. If the operator is associative to the last bit, the order does not matter, and the whole tile is one vector.

use device_std::lookback::GROUP;
use device_std::scalar::Scalar;
use kernels_rs::primitives::operators::{Operator, Partial};
use kernels_rs::primitives::scan::{BLOCK, Scans};

/// Vectors of a row.
const LANES_OF_WARP: usize = 32;
const WARPS: usize = BLOCK / LANES_OF_WARP;

/// Elements of a tile of an associative operator: they stay in the nearest cache.
const ASSOCIATIVE_TILE: usize = 4096;

/// The partial sums up to and with each lane: of two neighbours first, then of four, and so on
/// (Hillis and Steele 1986, *Data parallel algorithms*, doi:10.1145/7902.7903).
pub(super) fn scan_lanes<E: Copy, P: Operator<E>>(operator: P, sums: &mut [Partial<E>]) {
    let mut delta = 1;
    while delta < sums.len() {
        for lane in (delta..sums.len()).rev() {
            sums[lane] = sums[lane - delta].then(operator, sums[lane]);
        }
        delta *= 2;
    }
}

/// The sums up to and with each tile: within groups of tiles as of lanes, one group after the other (the
/// order of `device_std::lookback`).
pub(super) fn scan_tiles<E: Copy, P: Operator<E>>(operator: P, sums: &mut [Partial<E>]) {
    let mut before: Option<Partial<E>> = None;
    for group in sums.chunks_mut(GROUP as usize) {
        scan_lanes(operator, group);
        if let Some(before) = before {
            group.iter_mut().for_each(|sum| *sum = before.then(operator, *sum));
        }
        before = group.last().copied();
    }
}

/// A scan of tiles, in the order of the scan: backward, tiles come here mirrored.
#[derive(Clone, Copy)]
pub(super) struct Tile<E, P> {
    operator: P,
    /// The value before each segment, if elements are not part of their own sums.
    initial: Option<E>,
    /// Rows of a warp; none where the tile is one vector.
    rows: Option<usize>,
}

impl<E: Scalar, P: Scans<E>> Tile<E, P> {
    pub(super) fn new(operator: P, initial: Option<E>) -> Self {
        let initial = initial.map(|element| operator.lift(element));
        Self { operator, initial, rows: (!P::ASSOCIATIVE).then_some(P::ROWS_OF_TILE) }
    }

    /// Elements of a tile.
    pub(super) fn len(&self) -> usize {
        self.rows.map_or(ASSOCIATIVE_TILE, |rows| WARPS * rows * LANES_OF_WARP * E::LANES)
    }

    /// To what multiple the array is padded: in front, if the scan goes backward.
    pub(super) fn padded_to(&self) -> usize {
        if self.rows.is_some() { E::LANES } else { 1 }
    }

    /// Returns the value of elements beyond the array.
    pub(super) fn fill(&self) -> E {
        self.operator.lower(self.operator.identity())
    }

    /// The partial sum of nothing.
    pub(super) fn nothing(&self) -> Partial<E> {
        Partial { value: self.operator.identity(), closed: false }
    }

    /// `before` and, after it, `next`.
    pub(super) fn then(&self, before: Partial<E>, next: Partial<E>) -> Partial<E> {
        before.then(self.operator, next)
    }

    /// The sums up to and with each tile, of their own.
    pub(super) fn scan_sums(&self, sums: &mut [Partial<E>]) {
        scan_tiles(self.operator, sums);
    }

    /// The tile's own sum. Heads are none, or one for each element.
    pub(super) fn sum(&self, elements: &mut [E], heads: &[bool]) -> Partial<E> {
        self.walk(elements, heads, |_, _, _, _| ())
    }

    /// Overwrites the elements by the results, after all that comes before the tile.
    pub(super) fn scan(&self, elements: &mut [E], heads: &[bool], before: E) {
        let before = Partial { value: before, closed: false };
        self.walk(elements, heads, |elements, heads, of_block, of_warp| {
            let outer = self.then(before, of_block);
            self.finish(elements, heads, self.then(outer, of_warp).value);
        });
    }

    /// Calls `visit` with each vector, its heads, the sum of the warps before its own and the sum
    /// of what comes before it in its warp; returns the tile's sum.
    fn walk(
        &self,
        elements: &mut [E],
        heads: &[bool],
        mut visit: impl FnMut(&mut [E], &[bool], Partial<E>, Partial<E>),
    ) -> Partial<E> {
        let nothing = self.nothing();
        let Some(rows) = self.rows else {
            let sum = self.sum_of_vector(elements, heads);
            visit(elements, heads, nothing, nothing);
            return sum;
        };
        let row_len = LANES_OF_WARP * E::LANES;
        let mut warps_before = nothing;
        for warp in 0..WARPS {
            let mut before = nothing;
            for row in warp * rows..(warp + 1) * rows {
                let vector = |lane: usize| {
                    let first = row * row_len + lane * E::LANES;
                    first..first + E::LANES
                };
                let heads_of = |lane| heads.get(vector(lane)).unwrap_or_default();
                let mut inclusive: [Partial<E>; LANES_OF_WARP] = std::array::from_fn(|lane| {
                    self.sum_of_vector(&elements[vector(lane)], heads_of(lane))
                });
                scan_lanes(self.operator, &mut inclusive);
                for lane in 0..LANES_OF_WARP {
                    let before_lane = match lane.checked_sub(1) {
                        None => before,
                        Some(below) => self.then(before, inclusive[below]),
                    };
                    visit(&mut elements[vector(lane)], heads_of(lane), warps_before, before_lane);
                }
                before = self.then(before, inclusive[LANES_OF_WARP - 1]);
            }
            warps_before = self.then(warps_before, before);
        }
        warps_before
    }

    /// One element after the other.
    fn sum_of_vector(&self, elements: &[E], heads: &[bool]) -> Partial<E> {
        let is_head = |i| heads.get(i).is_some_and(|&head| head);
        let mut partials = elements.iter().enumerate().map(|(i, &element)| Partial {
            value: self.operator.lift(element),
            closed: is_head(i),
        });
        let first = partials.next().unwrap_or(self.nothing());
        partials.fold(first, |sum, next| self.then(sum, next))
    }

    /// The results for a vector, after what comes before it.
    fn finish(&self, elements: &mut [E], heads: &[bool], before: E) {
        match (self.initial, heads) {
            (None, []) => self.finish_inclusive(elements, before, |_| false),
            (None, _) => self.finish_inclusive(elements, before, |i| heads[i]),
            (Some(initial), []) => self.finish_exclusive(elements, before, initial, |_| false),
            (Some(initial), _) => self.finish_exclusive(elements, before, initial, |i| heads[i]),
        }
    }

    #[inline(always)]
    fn finish_inclusive(&self, elements: &mut [E], before: E, is_head: impl Fn(usize) -> bool) {
        let operator = self.operator;
        let mut sum = before;
        for (i, element) in elements.iter_mut().enumerate() {
            let lifted = operator.lift(*element);
            sum = if is_head(i) { lifted } else { operator.combine(sum, lifted) };
            *element = operator.lower(sum);
        }
    }

    #[inline(always)]
    fn finish_exclusive(
        &self,
        elements: &mut [E],
        before: E,
        initial: E,
        is_head: impl Fn(usize) -> bool,
    ) {
        let operator = self.operator;
        let mut sum = before;
        for (i, element) in elements.iter_mut().enumerate() {
            let lifted = operator.lift(*element);
            let until = if is_head(i) { operator.identity() } else { sum };
            *element = operator.lower(operator.combine(initial, until));
            sum = if is_head(i) { lifted } else { operator.combine(sum, lifted) };
        }
    }
}
