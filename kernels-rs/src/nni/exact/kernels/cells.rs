//! The cells of the DEM.

use device_std::{atomic, kernel, thread};

use super::super::team::{Near, Team, Warp};
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::append;
use super::given::{OnDevice, forgotten, index_of, read_setup};
use super::memory::{CLIP_BLOCK, InGlobal, InShared, Memory, shared_bytes, team_index};
use super::outside::MOST_WINDOWS;
use super::records::{InRecords, WithWide};
use super::results::{Done, Results};
use crate::nni::rasterise::{LEFT, count_flags};

/// Threads of a block of [`mod@walk_cells`].
const WALK_BLOCK: u32 = 64;

/// Cells of the DEM along each side of a patch: a warp or a block takes cells that lie together.
pub const PATCH: u32 = 8;

/// Cells of a patch.
const OF_PATCH: u32 = PATCH * PATCH;

/// Interpolates listed cells by rings, wide ones among them, but for those that have been `told` their windows. Cells
/// that these do not tell, and the others, go into `left`, and the
/// windows of the first [`MOST_WINDOWS`] of them ([`Scene::window_outside`](crate::nni::exact::scene::Scene::window_outside)) into `windows`. Grid: a thread a worker;
/// each takes cells in turn.
///
/// # Safety
/// As for [`mod@walk_cells`], `left` as `listed` there; `listed` names cells; [`clip_rings`](const@super::clip_rings) has put wide rings
/// behind `rings`; `told` is what [`tell_windows`](const@super::tell_windows) wrote for `listed`, and `windows` has as many
/// elements.
#[kernel(block = WALK_BLOCK, instances(mean: <false>; smooth: <true>))]
pub unsafe fn walk_far<const BLENDS: bool>(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    rings: *const f64,
    values: *const i32,
    gradients: *const f32,
    scales: *const f64,
    hull: *const i32,
    mask: *const u8,
    dem: *mut f32,
    counts: *mut u32,
    distances: *mut f32,
    deviations: *mut f32,
    listed: *const u32,
    told: *const f64,
    left: *mut u32,
    windows: *mut f64,
    workers: u32,
    tallies: *mut u64,
) {
    let worker = thread::index_1d();
    let mut i = worker;
    // SAFETY: passed on to the caller; the list names cells of the DEM.
    unsafe {
        while i < *listed as u64 && worker < workers as u64 {
            let (cells, scene, dem_rows, value_count) = read_setup(setup);
            let (writes, rows) = (true, dem_rows);
            let results = Results { writes, rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let rings = WithWide(InRecords(rings));
            let at = *listed.add(1 + i as usize);
            let done;
            let mut window = 0.0;
            if i < MOST_WINDOWS as u64 {
                window = *told.add(i as usize);
            }
            i += workers as u64;
            let row = at.checked_div(scene.columns).unwrap_or(0);
            let place = [at - row * scene.columns, row];
            if row >= dem_rows {
                continue;
            }
            if window > 0.0 {
                done = Done::Left;
            } else {
                match results.begin(&scene, value_count, place) {
                    Ok((cell, mut writer)) => {
                        let write = |k, value| writer.write(k, value);
                        let again = || read_setup(forgotten(setup)).1;
                        let answer = scene.cell_by_rings::<BLENDS, _, _, _>(
                            cell, &index, rings, &sites, again, write,
                        );
                        done = results.end(&writer, answer);
                        if done == Done::Left {
                            window = scene.window_outside(cell, &index, rings);
                        }
                    }
                    Err(left_out) => done = left_out,
                }
            }
            if done == Done::Left {
                let at = append(left, at);
                if at < MOST_WINDOWS {
                    *windows.add(at as usize) = window;
                }
            } else if done == Done::Empty {
                atomic::add_u64(tallies.add(LEFT), 1);
            }
        }
    }
}

/// Interpolates every cell of the DEM by rings. Cells that these do not tell go into `listed`: their number, then
/// they. Cells without a value in the end are counted.
///
/// Grid: a block for a patch of [`PATCH`] by [`PATCH`] cells of the DEM, row by row.
///
/// # Safety
/// `setup` has what [`setup_in_memory`](super::setup_in_memory) gave; `starts`, `places` and `values` what
/// [`find_starts`](const@super::find_starts) and [`make_sites`](const@super::make_sites) wrote, and `rings` what [`make_rings`](const@super::make_rings) did; `gradients` has two elements
/// for each value, or is null unless
/// the weights want it; `scales` is for each value. `hull` is null, or has two elements for each row; `mask`, `counts`, `distances` and `deviations` are null, or have one for
/// each cell; `dem` has one for each value of each cell, one value after the other; `listed` one more
/// than there are cells, the first of them 0.
// Without spills eight blocks fit, and 25,000,000 cells take 10.7 ms in place of 9.1 on an H200.
#[kernel(
    block = WALK_BLOCK,
    resident = 10,
    instances(mean: <false>, spills = 144; smooth: <true>, spills = 208)
)]
pub unsafe fn walk_cells<const BLENDS: bool>(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    rings: *const f64,
    values: *const i32,
    gradients: *const f32,
    scales: *const f64,
    hull: *const i32,
    mask: *const u8,
    dem: *mut f32,
    counts: *mut u32,
    distances: *mut f32,
    deviations: *mut f32,
    listed: *mut u32,
    tallies: *mut u64,
) {
    let mut is_empty = false;
    // SAFETY: passed on to the caller; the cell is checked against the DEM.
    unsafe {
        let (cells, scene, dem_rows, value_count) = read_setup(setup);
        let [column, row] = in_patches(thread::index_1d() as u32, scene.columns);
        if column < scene.columns && row < dem_rows {
            let (writes, rows) = (true, dem_rows);
            let results = Results { writes, rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let done = match results.begin(&scene, value_count, [column, row]) {
                Ok((cell, mut writer)) => {
                    let write = |k, value| writer.write(k, value);
                    let again = || read_setup(forgotten(setup)).1;
                    let rings = InRecords(rings);
                    let answer = scene.cell_by_rings::<BLENDS, _, _, _>(
                        cell, &index, rings, &sites, again, write,
                    );
                    results.end(&writer, answer)
                }
                Err(left_out) => left_out,
            };
            is_empty = done == Done::Empty;
            if done == Done::Left {
                append(listed, row * scene.columns + column);
            }
        }
        // All threads of the block come here.
        count_flags(is_empty, tallies.add(LEFT));
    }
}

/// Interpolates listed cells by clipping, or all where `listed` is null: by polygons of up to `capacity` sides in
/// `slots`, or in shared memory. Cells for which that does not suffice go into `left`.
///
/// Grid: a team a worker; each takes cells in turn.
///
/// # Safety
/// As for [`mod@walk_cells`]; `slots` as for [`Memory::slots`]; `left` as `listed` there; `windows` is null, or
/// what [`mod@walk_far`], or [`tell_windows`](const@super::tell_windows), wrote beside `listed`.
#[kernel(
    block = CLIP_BLOCK,
    shared = shared_bytes::<M>(),
    instances(
        near: <InShared<Near>>, resident = 4;
        shared: <InShared<Warp>>, resident = 4;
        global: <InGlobal>
    )
)]
pub unsafe fn clip_cells<M: Memory>(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    values: *const i32,
    gradients: *const f32,
    scales: *const f64,
    hull: *const i32,
    mask: *const u8,
    dem: *mut f32,
    counts: *mut u32,
    distances: *mut f32,
    deviations: *mut f32,
    listed: *const u32,
    windows: *const f64,
    left: *mut u32,
    slots: *mut f64,
    capacity: u32,
    workers: u32,
    tallies: *mut u64,
) {
    // SAFETY: passed on to the caller; the list names cells of the DEM.
    unsafe {
        let (_, scene, dem_rows, _) = read_setup(setup);
        let all = scene.columns.div_ceil(PATCH) * dem_rows.div_ceil(PATCH) * OF_PATCH;
        let count = if listed.is_null() { all } else { *listed };
        let (team, worker) = (M::team(), team_index::<M::Team>());
        let mut i = worker;
        while i < count as u64 && worker < workers as u64 {
            // Read anew for each cell: registers are short.
            let (cells, scene, dem_rows, value_count) = read_setup(setup);
            let (writes, rows) = (team.leads(), dem_rows);
            let results = Results { writes, rows, hull, mask, dem, counts, distances, deviations };
            let sites = OnDevice { values, gradients, scales, value_count };
            let index = index_of(cells, places, starts);
            let mut slots = M::slots(slots, capacity, workers);
            let (mut place, mut window) = (in_patches(i as u32, scene.columns), 0.0);
            if !windows.is_null() && i < MOST_WINDOWS as u64 {
                window = *windows.add(i as usize);
            }
            if !listed.is_null() {
                let cell = *listed.add(1 + i as usize);
                let row = cell.checked_div(scene.columns).unwrap_or(0);
                place = [cell - row * scene.columns, row];
            }
            i += workers as u64;
            let [column, row] = place;
            if column >= scene.columns || row >= dem_rows {
                continue;
            }
            let done = match results.begin(&scene, value_count, place) {
                Ok((cell, mut writer)) => {
                    let write = |k, value| writer.write(k, value);
                    let again = || read_setup(forgotten(setup)).1;
                    let answer = scene.cell_by_clipping(
                        team, cell, window, &index, &mut slots, &sites, again, write,
                    );
                    results.end(&writer, answer)
                }
                Err(left_out) => left_out,
            };
            if !team.leads() {
                continue;
            }
            if done == Done::Left {
                append(left, row * scene.columns + column);
            } else if done == Done::Empty {
                atomic::add_u64(tallies.add(LEFT), 1);
            }
        }
    }
}

/// The column and row of cell `i` of the DEM patch by patch; they may lie outside.
#[inline(always)]
fn in_patches(i: u32, columns: u32) -> [u32; 2] {
    let (patch, within) = (i / OF_PATCH, i % OF_PATCH);
    let patches = columns.div_ceil(PATCH);
    let patch_row = patch.checked_div(patches).unwrap_or(0);
    let patch_column = patch - patch_row * patches;
    [patch_column * PATCH + within % PATCH, patch_row * PATCH + within / PATCH]
}
