//! The search within the squares where it goes on.

use device_std::shared::Carver;
use device_std::{In, kernel, thread, vector};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::slots::{Shared, each_in_slots, in_square};
use super::{BLOCK, ConditionSearch, FoundQuadrants, Question, Results, listed_words};

/// Searches the squares that [`descend`](mod@super::descend) listed, and writes their numbers or quadrants as `descend`
/// does. Grid: any number of blocks.
///
/// # Safety
/// As for [`descend`](mod@super::descend), which wrote `listed`.
#[kernel(block = BLOCK, carve = |carver| Shared::<N>::new(carver), key: usize = N, instances(
    one: <1>;
    two: <2>;
    four: <4>;
))]
pub unsafe fn search<const N: usize>(
    question: Question<'_>,
    results: Results<'_>,
    listed: In<'_, u32>,
    listed_len: In<'_, u32>,
) {
    let search = ConditionSearch::<N>::new(question);
    let shared = Shared::<N>::new(&mut Carver::new());
    let mut next = thread::block_idx_x();
    let len = listed_len.get(0u32);
    while next < len {
        let own = listed.from(next as usize * listed_words(N));
        let (mut positions, mut i) = ([0; N], 0);
        while i < N {
            positions[i] = own.get(1 + i);
            i += 1;
        }
        // SAFETY: all threads of a block take the same branches.
        unsafe { search_square(&search, &results, own.get(0u32), positions, &shared) };
        next = vector::unknown(next + thread::grid_dim_x());
    }
}

/// Searches a square.
///
/// # Safety
/// Every thread of the block comes here.
#[inline(always)]
unsafe fn search_square<const N: usize>(
    search: &ConditionSearch<'_, N>,
    results: &Results<'_>,
    index: u32,
    positions: [u32; N],
    shared: &Shared<N>,
) {
    let (square, place) = search.ground.square(index);
    // SAFETY: the whole block is here; what ends it early is the same for all threads.
    unsafe {
        if results.out.is_none() {
            in_square(search, square, positions, shared);
            let mut found = results.from(0);
            each_in_slots(search, square, shared, |place, side, verdict| {
                found.take(search, place, side, verdict);
            });
            // Levels of a square have at most 4096 quadrants.
            let quadrants = shared.sums.reduce(found.quadrants as u64, 0, |a, b| a + b);
            let all = FoundQuadrants {
                quadrants: quadrants as u32,
                cells: shared.sums.reduce(found.cells, 0, |a, b| a + b),
                unsure: shared.sums.reduce(found.unsure, 0, |a, b| a + b),
                least: shared.bounds.reduce(found.least, u32::MAX, u32::min),
                greatest: shared.bounds.reduce(found.greatest, 0, u32::max),
                ..FoundQuadrants::default()
            };
            if thread::thread_idx_x() == 0 {
                results.put(place, search.ground.squares(), &all);
            }
            return;
        }
        let first = results.counts.get(place);
        if first == results.counts.get(place + 1) {
            return;
        }
        in_square(search, square, positions, shared);
        let mut quadrants = 0;
        each_in_slots(search, square, shared, |_, _, _| quadrants += 1);
        let (until, _) = shared.scan.inclusive(quadrants, 0, |a, b| a + b);
        let mut found = results.from(first + (until - quadrants));
        each_in_slots(search, square, shared, |place, side, verdict| {
            found.take(search, place, side, verdict);
        });
    }
}
