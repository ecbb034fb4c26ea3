//! Neighbours of queries that lie side by side where points are far, or crowd: what
//! [`interpolate_together`](mod@super::together::interpolate_together) has left, again for 32 queries at a time.
//!
//! 1. A warp takes the next of the patches with queries that were left, until there is none: launched for nothing it ends at
//!    once.
//! 2. It goes down the pyramid above the cells to those that hold the neighbours of its queries: [`descent`](super::descent).
//! 3. Of their points each lane keeps the nearest: [`chosen`](super::chosen).
//! 4. The f64 distances decide, and the answer is certain, as where queries are searched together.
//! 5. Where there are too many cells or points, fewer queries are taken at a time, at last one. What is not certain then, since points
//!    are as far as each other or crowd, is left to [`interpolate`](mod@super::interpolate).

use device_std::real::Real;
use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::{atomic, kernel, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::Wanted;
use super::chosen::{Chosen, Room, Sought};
use super::descent::{Below, Crowded, Queues, Sight, find_parts};
use super::ground::{Frame, Outline, least_half_axis};
use super::patches::Patches;
use super::ranks::{Ranked, Ranks};
use super::results::Results;
use super::search::{ALL_QUADRANTS, Index, Query, Search};
use super::together::{bytes_of_block, is_surely_within, room_of_warp};
use super::turns::{by_turns, fewer, total};
use crate::idw::plan::Plan;
use crate::idw::targets::Targets;

/// Threads of a block.
pub use super::together::TEAM;

/// Blocks that large devices have at once, about: more gain nothing.
pub const MOST_BLOCKS: u32 = 2048;

/// Words of the list of patches before the first of them: how many there are, and how many were taken.
pub const LIST_HEAD: u32 = 2;

/// How many times fewer queries are taken at a time where there are too many cells or points for them.
const FEWER: u32 = 4;

/// Interpolates as [`interpolate`](mod@super::interpolate) does, for queries by patches, in the plane: those of `list`
/// whose bits in `left` are set. What it answers is left no longer. `bounds` are those of the points. Grid: at most
/// [`MOST_BLOCKS`].
///
/// # Safety
/// As for [`interpolate_together`](mod@super::together::interpolate_together), which has written `left` and `list`; `sums`
/// are those above the index's cells, and `boxes` those of the runs of crowded ones, in whose order their points are.
#[kernel(block = TEAM, shared = <S as Team>::SHARED, instances(
    f32_16: <f32, Kept<18, 1>>, resident = 12, spills = 1000;
    f32_32: <f32, Kept<34, 1>>, resident = 10, spills = 1000;
    f32_64: <f32, Kept<66, 1>>, resident = 8, spills = 1000;
    f32_quadrants_16: <f32, Kept<18, 4>>, spills = 64;
    f64_16: <f64, Kept<18, 1>>, resident = 12, spills = 1000;
    f64_32: <f64, Kept<34, 1>>, resident = 10, spills = 1000;
    f64_64: <f64, Kept<66, 1>>, resident = 8, spills = 1000;
    f64_quadrants_16: <f64, Kept<18, 4>>, spills = 64;
))]
pub unsafe fn interpolate_far<T: Real, S: Team>(
    plan: *const Plan,
    starts: *const u32,
    sums: *const u32,
    order: *const u32,
    places: *const f64,
    point_values: *const f64,
    ranges: *const f64,
    points: u32,
    bounds: [f64; 4],
    boxes: *const f64,
    x: *const f64,
    y: *const f64,
    target_order: *const u32,
    count: u64,
    width: u32,
    grid: [f64; 3],
    law: u32,
    smoothing: f64,
    exponent: f64,
    exponents: *const f64,
    reach: f64,
    extent: [f64; 2],
    ellipse: [f64; 3],
    leaves_out: u32,
    max_points: u32,
    min_points: u32,
    max_per_quadrant: u32,
    min_per_quadrant: u32,
    falls_back: u32,
    value_count: u32,
    values: *mut T,
    statistics: *mut T,
    left: *mut u32,
    list: *mut u32,
) {
    let targets = Targets { x, y, count, width, height: 0, grid };
    let results = Results { values, value_count, statistics, count };
    let mut search = Search::within(reach);
    (search.law, search.smoothing, search.leaves_out) = (law, smoothing, leaves_out != 0);
    (search.extent, search.ellipse) = (extent, ellipse);
    let falls_back = falls_back != 0;
    let wanted = Wanted { max_points, min_points, max_per_quadrant, min_per_quadrant, falls_back };
    // SAFETY: passed on to the caller; the warp stays together until a search is done, and comes together after it.
    unsafe {
        let index = Index::new(plan, (starts, order), (places, point_values, ranges), points);
        let patches = Patches { targets, order: target_order };
        let scene = Scene { index: &index, search: &search, wanted, sums, bounds, boxes };
        while let Some(patch) = next(list) {
            let mine = patch as u64 * warp::SIZE as u64 + warp::lane_id() as u64;
            let of_patch = *left.add(patch as usize);
            let is_mine = of_patch >> warp::lane_id() & 1 != 0;
            let query = match is_mine {
                true => Query::new(patches.index(mine), &targets, core::ptr::null()),
                false => Query::NOWHERE,
            };
            // Lanes that wait; of them those that are alone before all is said.
            let (mut waiting, mut alone, mut together) = (of_patch, 0, warp::SIZE);
            let mut is_left = is_mine;
            while waiting != 0 {
                let first = waiting.trailing_zeros() & !(together - 1);
                let is_of_these = warp::lane_id().wrapping_sub(first) < together;
                let is_wanted = is_of_these && waiting >> warp::lane_id() & 1 != 0;
                let (mut is_done, mut is_coarse) = (is_of_these, false);
                match S::find(&scene, &query, is_wanted) {
                    Err(Crowded { is_wide: true }) if together > 1 => {
                        (is_done, together) = (false, u32::max(together / FEWER, 1));
                    }
                    Err(_) => {}
                    Ok(Answer::Certain(found)) => {
                        let own = exponents.wrapping_add(query.index as usize);
                        let exponent = if exponents.is_null() { exponent } else { *own };
                        let search = Search { exponent, ..search };
                        results.interpolate(&index, &search, &query, &found);
                        is_left = false;
                    }
                    Ok(Answer::Coarse) => is_coarse = together > 1,
                    Ok(Answer::Left) => {}
                }
                // The lists make room.
                warp::sync_warp(warp::FULL);
                waiting &= !warp::ballot(warp::FULL, is_done);
                alone |= warp::ballot(warp::FULL, is_wanted && is_coarse);
                if waiting == 0 {
                    (waiting, alone, together) = (alone, 0, 1);
                }
            }
            let still = warp::ballot(warp::FULL, is_left);
            if warp::lane_id() == 0 {
                *left.add(patch as usize) = still;
            }
        }
    }
}

/// The next patch of the list.
///
/// # Safety
/// The whole warp comes to the same call; the list says how many patches it has.
#[inline(always)]
unsafe fn next(list: *mut u32) -> Option<u32> {
    // SAFETY: passed on to the caller; what was taken is counted behind that.
    unsafe {
        let mut taken = 0;
        if warp::lane_id() == 0 {
            taken = atomic::add_u32(list.add(1), 1);
        }
        let taken = warp::shuffle(warp::FULL, taken, 0);
        if taken < *list { Some(*list.add((LIST_HEAD + taken) as usize)) } else { None }
    }
}

/// What all queries share.
pub struct Scene<'a> {
    index: &'a Index,
    search: &'a Search,
    wanted: Wanted,
    sums: *const u32,
    bounds: [f64; 4],
    boxes: *const f64,
}

/// How a warp searches.
pub trait Team {
    /// Bytes of shared memory of a block.
    const SHARED: u32;

    /// Groups of neighbours.
    type Found: super::results::Neighbours;

    /// Finds the neighbours of each lane's query, if it is wanted.
    ///
    /// # Safety
    /// The whole warp comes to the same call; the scene is as [`interpolate_far`](mod@interpolate_far) says.
    unsafe fn find(
        scene: &Scene,
        query: &Query,
        is_wanted: bool,
    ) -> Result<Answer<Self::Found>, Crowded>;
}

/// What is known of a lane's query.
pub enum Answer<F> {
    /// Its neighbours.
    Certain(F),
    /// Not enough, since too wide a ground was seen in f32.
    Coarse,
    /// Not enough, or it was not wanted.
    Left,
}

/// With the `L` least keys of each of `G` groups, all points or the quadrants: for up to `L - 2` neighbours of each.
pub struct Kept<const L: usize, const G: usize>;

/// The shared memory of a warp.
#[derive(Clone, Copy)]
struct Memory {
    outline: SharedArray<Vector>,
    queues: Queues,
    room: Room,
    ranks: Ranks,
}

impl<const L: usize, const G: usize> Kept<L, G> {
    /// Slots of each group.
    const ROOM: u32 = L as u32 - 1;
    /// Vectors of the neighbours.
    const OF_RANKS: u32 = G as u32 * Self::ROOM * warp::SIZE / 4;
    /// Vectors before the neighbours: those of one group come in the place of what was searched, but for the parts; of
    /// several one is searched after the other.
    const BEFORE_RANKS: u32 = 1 + if G == 1 { Queues::OF_PARTS } else { Queues::VECTORS };
    /// Vectors of a warp.
    const OF_WARP: u32 = {
        assert!(Room::VECTORS <= Queues::VECTORS - Queues::USED);
        let (searched, ranked) = (1 + Queues::VECTORS, Self::BEFORE_RANKS + Self::OF_RANKS);
        if searched > ranked { searched } else { ranked }
    };

    #[inline(always)]
    fn memory() -> Memory {
        let outline: SharedArray<Vector> = room_of_warp(Self::OF_WARP);
        let queues = outline.skip(1);
        Memory {
            outline,
            queues: Queues::new(queues),
            room: Room::new(queues.skip(Queues::USED)),
            ranks: Ranks {
                positions: outline.skip(Self::BEFORE_RANKS).as_elements(),
                threads: warp::SIZE,
                thread: warp::lane_id(),
            },
        }
    }

    /// Leaves the neighbours of a group in its slots.
    ///
    /// # Safety
    /// As for [`Team::find`]; some lane is wanted.
    #[inline(always)]
    unsafe fn find_group(
        scene: &Scene,
        sought: &Sought,
        memory: Memory,
        from: u32,
        wanted: u32,
    ) -> Result<OfGroup, Crowded> {
        let &Scene { index, search, sums, bounds, boxes, .. } = scene;
        let &Sought { query, frame, is_wanted, quadrant, .. } = sought;
        let cells = &index.cells;
        // SAFETY: passed on to the caller; slots of a group are below `L - 1`.
        unsafe {
            let inner = least_half_axis(search, cells);
            let given = (bounds, boxes);
            let Some(sight) = Sight::new(index, frame, given, inner, quadrant) else {
                return Err(Crowded { is_wide: false });
            };
            let needed = wanted.saturating_add(search.leaves_out as u32);
            // A little more, so that what lies on the edge is covered for certain.
            let reach = (sought.reach * cells.per_unit) as f32;
            let most = reach * (1.0 + 1e-4) + 1e-3 + 1e-4 * sight.width();
            let below = Below { index, sums, frame, is_wanted, needed, most };
            let found = find_parts(&below, &sight, memory.queues)?;
            let chosen = Chosen::<L>::of(sought, &found, memory.room)?;
            if !is_wanted {
                return Ok(OfGroup { count: 0, is_certain: false, is_coarse: false });
            }
            let kept = chosen.write(&found, memory.ranks, from);
            let decided = memory.ranks.decide(index, search, query, from, kept);
            let decided = u32::min(decided, wanted);
            // No point that counts and was not found is nearer than this.
            let covered = found.covered as f64 * cells.side;
            let is_whole = covered > sought.reach * (1.0 + 1e-9);
            let covered = if is_whole { f64::INFINITY } else { covered };
            let least = f64::min(covered, chosen.least_distance(cells));
            if decided < wanted {
                let is_certain = search.has_all_within(least);
                return Ok(OfGroup { count: decided, is_certain, is_coarse: false });
            }
            let last = memory.ranks.rank(index, query, from + decided - 1);
            let is_certain = is_surely_within(last.squared, least);
            // Where all points were seen one query alone would see them, too.
            let is_coarse =
                !is_certain && covered < f64::INFINITY && chosen.is_coarse(cells, last.squared);
            Ok(OfGroup { count: decided, is_certain, is_coarse })
        }
    }
}

/// The neighbours of a group.
struct OfGroup {
    count: u32,
    is_certain: bool,
    is_coarse: bool,
}

impl<const L: usize, const G: usize> Team for Kept<L, G> {
    const SHARED: u32 = bytes_of_block(Self::OF_WARP);

    type Found = Ranked<G>;

    #[inline(always)]
    unsafe fn find(
        scene: &Scene,
        query: &Query,
        is_wanted: bool,
    ) -> Result<Answer<Ranked<G>>, Crowded> {
        let &Scene { index, search, wanted, .. } = scene;
        let memory = Self::memory();
        // SAFETY: all lanes come to the same cells and points, so that they stay together.
        unsafe {
            let lanes = warp::ballot(warp::FULL, is_wanted);
            if lanes == 0 {
                return Ok(Answer::Left);
            }
            let Some(frame) = Frame::new(&index.cells, query, is_wanted, lanes) else {
                return Err(Crowded { is_wide: false });
            };
            let outline = Outline::new(search, &frame, &index.cells, memory.outline);
            let of_group = if G == 1 { wanted.max_points } else { wanted.of_group() };
            // A byte for each group, so that none of an array need be found at run time.
            let (mut counts, mut is_certain, mut is_coarse, mut group) =
                (0u32, is_wanted, false, 0);
            while group < G as u32 {
                let sought = Sought {
                    index,
                    query,
                    frame: &frame,
                    outline: &outline,
                    is_wanted,
                    quadrant: if G == 1 { ALL_QUADRANTS } else { group },
                    reach: search.widest(),
                };
                let from = group * Self::ROOM;
                let group_found = Self::find_group(scene, &sought, memory, from, of_group)?;
                counts |= group_found.count << (8 * group);
                is_certain = is_certain && group_found.is_certain;
                is_coarse = is_coarse || group_found.is_coarse;
                warp::sync_warp(warp::FULL);
                group += 1;
            }
            if !is_certain {
                return Ok(if is_coarse { Answer::Coarse } else { Answer::Left });
            }
            let counts = [counts & 255, counts >> 8 & 255, counts >> 16 & 255, counts >> 24];
            let taken = match G {
                1 => counts,
                _ => by_turns(counts, wanted.max_per_quadrant, wanted.max_points),
            };
            let is_full = G == 1 || fewer(counts, wanted.min_per_quadrant) == 0;
            let are_enough = is_full && total(taken) >= u32::max(1, wanted.min_points);
            if !are_enough && wanted.falls_back {
                return Ok(Answer::Left);
            }
            let found = Ranked { ranks: memory.ranks, room: Self::ROOM, taken, are_enough };
            Ok(Answer::Certain(found))
        }
    }
}
