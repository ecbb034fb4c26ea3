//! The gradients of sites.

use device_std::{kernel, thread};

use super::super::rings::{Ring, Rings};
use super::super::team::{Team, Warp};
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::given::{OnDevice, index_of, read_setup};
use super::memory::{CLIP_BLOCK, InGlobal, InShared, Memory, shared_bytes, team_index};
use super::records::InRecords;
use super::{BLOCK, append};

/// Estimates the gradients of every site that has a ring. The others go into `listed`: their number, then
/// they. Grid: a thread a point.
///
/// # Safety
/// As for [`make_rings`](const@super::make_rings), which wrote `rings`; `gradients` has two elements for each value of a site, `listed` one
/// more than there are sites, the first of them 0.
#[kernel(block = BLOCK)]
pub unsafe fn fit_planes(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    rings: *const f64,
    values: *const i32,
    sites_before: *const u32,
    points: u32,
    gradients: *mut f32,
    listed: *mut u32,
) {
    let site = thread::index_1d();
    // SAFETY: passed on to the caller; the site is below the count.
    unsafe {
        if site >= *sites_before.add(points as usize) as u64 {
            return;
        }
        let (cells, scene, _, value_count) = read_setup(setup);
        let site = site as u32;
        let ring = InRecords(rings).of(site);
        if ring.sides() == 0 {
            append(listed, site);
            return;
        }
        let index = index_of(cells, places, starts);
        let sites = without_gradients(values, value_count);
        let gradients = Gradients { gradients, site, value_count };
        scene.gradients_by_ring(site, &index, ring, &sites, |k, g| gradients.write(k, g));
    }
}

/// Estimates the gradients of listed sites by clipping, by polygons of up to `capacity` sides in `slots`, or in
/// shared memory. Sites for which that does not suffice go into `left` in the same way.
///
/// Grid: a team a worker; each takes sites in turn.
///
/// # Safety
/// As for [`const@fit_planes`]; `slots` as for [`Memory::slots`]; `left` as `listed`.
#[kernel(
    block = CLIP_BLOCK,
    shared = shared_bytes::<M>(),
    instances(shared: <InShared<Warp>>, resident = 4; global: <InGlobal>)
)]
pub unsafe fn clip_sites<M: Memory>(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    values: *const i32,
    gradients: *mut f32,
    listed: *const u32,
    left: *mut u32,
    slots: *mut f64,
    capacity: u32,
    workers: u32,
) {
    // SAFETY: passed on to the caller; the list names sites.
    unsafe {
        let (cells, scene, _, value_count) = read_setup(setup);
        let index = index_of(cells, places, starts);
        let sites = without_gradients(values, value_count);
        let mut slots = M::slots(slots, capacity, workers);
        let (team, worker) = (M::team(), team_index::<M::Team>());
        let mut i = worker;
        while i < *listed as u64 && worker < workers as u64 {
            let site = *listed.add(1 + i as usize);
            let gradients = Gradients { gradients, site, value_count };
            let write = |k, g| gradients.write(k, g);
            let is_done =
                scene.gradients_by_clipping(team, site, &index, &mut slots, &sites, write);
            if !is_done && team.leads() {
                append(left, site);
            }
            i += workers as u64;
        }
    }
}

/// Sites before their gradients are known.
fn without_gradients(values: *const i32, value_count: u32) -> OnDevice {
    OnDevice { values, gradients: core::ptr::null(), scales: core::ptr::null(), value_count }
}

/// Where the gradients of a site go.
#[derive(Clone, Copy)]
struct Gradients {
    gradients: *mut f32,
    site: u32,
    value_count: u32,
}

impl Gradients {
    /// # Safety
    /// The site and value `k` are below their counts.
    #[inline(always)]
    unsafe fn write(&self, k: u32, [east, north]: [f32; 2]) {
        let i = 2 * (self.site as usize * self.value_count as usize + k as usize);
        // SAFETY: passed on to the caller.
        unsafe {
            *self.gradients.add(i) = east;
            *self.gradients.add(i + 1) = north;
        }
    }
}
