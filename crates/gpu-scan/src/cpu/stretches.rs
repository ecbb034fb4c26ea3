//! The totals of runs, in the order of stretches.
//!
//! This is the kernel's order (`kernels_rs::primitives::reduce_by_key`) written for one thread. A tile is a sequence of
//! warps, and a warp has 32 stretches. Each stretch is added up from head to head. The sum before the first head of a
//! stretch is added to the total before the stretch in its tile. This total adds up the earlier warps, then the earlier
//! lanes, both since the last head. The sum before the first head of a tile is added to the sum of the earlier tiles.
//! If the operator is associative to the last bit, the order does not matter, and the whole tile is one stretch.

use device_std::scalar::Scalar;
use kernels_rs::primitives::operators::{Operator, Partial};
use kernels_rs::primitives::reduce_by_key::BLOCK;

use super::segments::Segments;
use super::tile::{scan_lanes, scan_tiles};
use gpu_core::parallel::map_ranges;

const LANES_OF_WARP: usize = 32;

/// Elements of a tile of an associative operator.
const ASSOCIATIVE_TILE: usize = 4096;

/// Tiles that a task takes, at least.
const TILES_OF_TASK: usize = 4;

/// The total of each run of elements from a head to the next, or to the end of the array.
pub(super) fn totals<E, P>(
    operator: P,
    stretch: usize,
    elements: &[E],
    segments: Segments<'_>,
) -> Vec<E>
where
    E: Scalar + Send + Sync,
    P: Operator<E> + Send + Sync,
{
    if elements.is_empty() {
        return Vec::new();
    }
    let shape = match P::ASSOCIATIVE {
        true => Shape { operator, stretch: ASSOCIATIVE_TILE, lanes: 1, warps: 1 },
        false => Shape { operator, stretch, lanes: LANES_OF_WARP, warps: BLOCK / LANES_OF_WARP },
    };
    let len = elements.len();
    let tile_len = shape.tile_len();
    // The end of the array is a head too.
    let tiles = map_ranges(len / tile_len + 1, TILES_OF_TASK, &|tiles| {
        let (mut heads, mut of_tile) = (Vec::new(), Vec::new());
        let totals = |tile| {
            let range = tile * tile_len..len.min((tile + 1) * tile_len);
            heads.clear();
            heads.resize(tile_len, false);
            segments.mark(range.clone(), false, &mut heads[..range.len()]);
            if range.len() < tile_len {
                heads[range.len()] = true;
            }
            of_tile.clear();
            of_tile.extend_from_slice(&elements[range]);
            of_tile.resize(tile_len, operator.lower(operator.identity()));
            shape.tile(&of_tile, &heads)
        };
        tiles.map(totals).collect::<Vec<TileTotals<E>>>()
    });
    let tiles: Vec<_> = tiles.into_iter().flatten().collect();
    let mut ends: Vec<_> = tiles.iter().map(|tile| tile.end).collect();
    scan_tiles(operator, &mut ends);
    let before_each = std::iter::once(None).chain(ends.into_iter().map(Some));
    let mut totals = Vec::new();
    for (mut tile, before) in tiles.into_iter().zip(before_each) {
        if let Some(first) = tile.totals.first_mut() {
            let combine = |a, b| operator.combine(a, b);
            let lead = tile.lead.into_iter().reduce(combine);
            let operands = before.map(|before| before.value).into_iter().chain(lead);
            *first = operands.reduce(combine).unwrap_or(*first);
        }
        totals.extend(tile.totals.iter().map(|&total| operator.lower(total)));
    }
    // No run ends where the first begins.
    totals.remove(0);
    totals
}

/// The parts of the runs that end in a tile.
struct TileTotals<E> {
    /// The total before each head; the first still lacks what comes before the tile.
    totals: Vec<E>,
    /// The terms of the first run, in order.
    lead: Vec<E>,
    /// The sum after the last head, or of everything.
    end: Partial<E>,
}

/// How a tile is cut into stretches.
#[derive(Clone, Copy)]
struct Shape<P> {
    operator: P,
    stretch: usize,
    lanes: usize,
    warps: usize,
}

impl<P> Shape<P> {
    fn tile_len(&self) -> usize {
        self.stretch * self.lanes * self.warps
    }

    /// The totals of one whole tile, with a mark for each element.
    fn tile<E: Scalar>(&self, elements: &[E], heads: &[bool]) -> TileTotals<E>
    where
        P: Operator<E>,
    {
        let part = self.stretch * self.lanes;
        let (mut totals, mut lead) = (Vec::new(), Vec::new());
        let mut warps_before: Option<Partial<E>> = None;
        for (elements, heads) in elements.chunks_exact(part).zip(heads.chunks_exact(part)) {
            let mut firsts = Vec::with_capacity(self.lanes);
            let stretches = elements.chunks_exact(self.stretch).zip(heads.chunks(self.stretch));
            let mut ends: Vec<Partial<E>> = stretches
                .map(|(elements, heads)| {
                    firsts.push(totals.len());
                    self.walk(elements, heads, &mut totals)
                })
                .collect();
            let has_head: Vec<bool> = ends.iter().map(|end| end.closed).collect();
            scan_lanes(self.operator, &mut ends);
            for lane in (0..self.lanes).filter(|&lane| has_head[lane]) {
                // From the last sum on that has a head.
                let lanes_before = lane.checked_sub(1).map(|below| ends[below]);
                let mut operands = Vec::with_capacity(3);
                let mut closed = false;
                for before in [warps_before, lanes_before].into_iter().flatten() {
                    if before.closed {
                        operands.clear();
                        closed = true;
                    }
                    operands.push(before.value);
                }
                if !heads[lane * self.stretch] {
                    operands.push(totals[firsts[lane]]);
                }
                if closed {
                    let total = operands.into_iter().reduce(|a, b| self.operator.combine(a, b));
                    totals[firsts[lane]] = total.unwrap_or(totals[firsts[lane]]);
                } else {
                    lead = operands;
                }
            }
            let of_warp = ends[self.lanes - 1];
            warps_before =
                Some(warps_before.map_or(of_warp, |sum| sum.then(self.operator, of_warp)));
        }
        let nothing = Partial { value: self.operator.identity(), closed: false };
        TileTotals { totals, lead, end: warps_before.unwrap_or(nothing) }
    }

    /// Adds up a stretch from head to head: appends what stands before each head (the identity
    /// before one at the start) and returns what stands after the last.
    fn walk<E: Scalar>(&self, elements: &[E], heads: &[bool], totals: &mut Vec<E>) -> Partial<E>
    where
        P: Operator<E>,
    {
        let mut sum = None;
        let mut closed = false;
        for (&element, &is_head) in elements.iter().zip(heads) {
            if is_head {
                totals.push(sum.take().unwrap_or(self.operator.identity()));
                closed = true;
            }
            let element = self.operator.lift(element);
            sum = Some(sum.map_or(element, |sum| self.operator.combine(sum, element)));
        }
        Partial { value: sum.unwrap_or(self.operator.identity()), closed }
    }
}
