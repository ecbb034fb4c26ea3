//! The rings of sites.

use device_std::{atomic, kernel, thread};

use super::super::rings::{Ring, Rings, few_ringless};
use super::super::team::{Team, Warp};
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::given::{index_of, read_setup};
use super::memory::{CLIP_BLOCK, FewSided, InShared, Memory, WARP_SIDES, shared_bytes, team_index};
use super::records::{
    InRecords, RING_NUMBERS, SIDES_AT, WIDE_AT, WIDE_NEIGHBOURS_AT, WIDE_RECORDS, WIDE_SIDES_AT,
    write_side,
};
use super::{BLOCK, append};

/// Threads of a block of [`make_rings`].
const RING_BLOCK: u32 = 128;

/// Makes the ring of every site for which what is near suffices. Grid: a thread a point.
///
/// # Safety
/// As for [`walk_cells`](mod@super::walk_cells); `sites_before` has the number of sites at `points`; `rings` has [`RING_NUMBERS`] for each
/// site, at a multiple of 16 bytes.
// With the registers that nothing spills for, four blocks fit, and the rings of 7,000,000 points take 8.8 ms in
// place of 8.1 on an H200.
#[kernel(block = RING_BLOCK, resident = 6, spills = 48)]
pub unsafe fn make_rings(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    sites_before: *const u32,
    points: u32,
    rings: *mut f64,
) {
    let site = thread::index_1d();
    // SAFETY: passed on to the caller; the site is below the count, and sides below the most.
    unsafe {
        if site >= *sites_before.add(points as usize) as u64 {
            return;
        }
        let (cells, ..) = read_setup(setup);
        let record = rings.add(RING_NUMBERS * site as usize);
        let halves = record.cast::<u32>();
        let index = index_of(cells, places, starts);
        *halves.add(SIDES_AT) = index.ring::<false>(site as u32, |i, neighbour, corner| {
            write_side(record, i, neighbour, corner);
        });
    }
}

/// Lists the sites that have no ring: their number, then they; and notes that they have no wide one. Grid: a thread a
/// point.
///
/// # Safety
/// As for [`const@make_rings`], which wrote `rings`; `listed` has one element more than points, the first of them 0.
#[kernel(block = BLOCK)]
pub unsafe fn list_ringless(
    sites_before: *const u32,
    points: u32,
    rings: *mut f64,
    listed: *mut u32,
) {
    let site = thread::index_1d();
    // SAFETY: passed on to the caller; the site is below the count.
    unsafe {
        if site >= *sites_before.add(points as usize) as u64 {
            return;
        }
        if InRecords(rings).of(site as u32).sides() > 0 {
            return;
        }
        *rings.add(RING_NUMBERS * site as usize).cast::<u32>().add(WIDE_AT) = 0;
        append(listed, site as u32);
    }
}

/// Makes the rings of listed sites, unless they are [few](few_ringless), by whatever is far or crowded. Lists those that
/// have none then, as far as there is room for `most`, and counts them. Grid: a thread a worker; each takes sites in
/// turn.
///
/// # Safety
/// As for [`const@list_ringless`], which wrote `listed`; `left` has one element more than `most`, the first of them 0.
#[kernel(block = BLOCK)]
pub unsafe fn make_far_rings(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    listed: *const u32,
    points: u32,
    rings: *mut f64,
    most: u32,
    left: *mut u32,
    workers: u32,
) {
    // SAFETY: passed on to the caller; the list names sites.
    unsafe {
        let (cells, ..) = read_setup(setup);
        let index = index_of(cells, places, starts);
        let count = *listed as u64;
        let mut i = thread::index_1d();
        while i < count {
            let site = *listed.add(1 + i as usize);
            let record = rings.add(RING_NUMBERS * site as usize);
            let mut sides = 0;
            if count > few_ringless(points as u64) {
                sides = index.ring::<true>(site, |i, neighbour, corner| {
                    write_side(record, i, neighbour, corner);
                });
                *record.cast::<u32>().add(SIDES_AT) = sides;
            }
            if sides == 0 {
                let at = atomic::add_u32(left, 1);
                if at < most {
                    *left.add(1 + at as usize) = site;
                }
            }
            i += workers as u64;
        }
    }
}

/// Makes the wide rings of listed sites, unless they are more than `most`. Grid: a warp a worker; each takes sites in
/// turn.
///
/// # Safety
/// As for [`const@make_far_rings`], which wrote `listed` as `left`; `rings` has room for [`WIDE_RECORDS`] for each of
/// `most` behind one for each of `points`, of which there is one at least.
#[kernel(block = CLIP_BLOCK, shared = shared_bytes::<InShared<Warp>>(), resident = 4)]
pub unsafe fn clip_rings(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    listed: *const u32,
    most: u32,
    points: u32,
    rings: *mut f64,
    workers: u32,
) {
    // SAFETY: passed on to the caller; the list names sites, and polygons have at most as many sides as a wide ring.
    unsafe {
        let (cells, scene, ..) = read_setup(setup);
        let index = index_of(cells, places, starts);
        let count = if *listed <= most { *listed } else { 0 };
        let (team, worker) = (Warp::here(), team_index::<Warp>());
        let mut slots = InShared::<Warp>::slots(core::ptr::null_mut(), WARP_SIDES, workers);
        let mut i = worker;
        while i < count as u64 && worker < workers as u64 {
            let site = *listed.add(1 + i as usize);
            let at = points + WIDE_RECORDS as u32 * i as u32;
            let record = rings.add(RING_NUMBERS * at as usize);
            let halves = record.cast::<u32>();
            let write = |k: u32, neighbour: u32, [x, y]: [f64; 2]| {
                *record.add(2 * k as usize) = x;
                *record.add(2 * k as usize + 1) = y;
                *halves.add(WIDE_NEIGHBOURS_AT + k as usize) = neighbour;
            };
            let sides = index.ring_by_clipping(team, site, scene.half_extent, &mut slots, write);
            if team.leads() && sides > 0 {
                *halves.add(WIDE_SIDES_AT) = sides;
                let own = rings.add(RING_NUMBERS * site as usize).cast::<u32>();
                *own.add(WIDE_AT) = at;
            }
            i += workers as u64;
        }
    }
}
