//! Which of the cells of the DEM lie outside the hull, and how large their windows are: see [`outside`](super::super::outside).

use device_std::{atomic, kernel, thread, warp};

use super::super::outside::{DIRECTIONS, Seen, direction, is_clearly_inside, outwardness, site_of};
use super::super::scene::LEAST_ANGLE;
use super::super::search::NEAR;
#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::given::{index_of, read_setup};
use super::records::pair;
use super::{BLOCK, append};

/// What stands for no site where the outermost are looked for, byte by byte: less than any [`outwardness`].
pub const NONE_OUTERMOST: u8 = 0x80;

/// The most cells whose windows are told.
pub const MOST_WINDOWS: u32 = 1 << 22;

/// The most listed cells for which the hull is not looked at: it would cost more than these.
const fn few_listed(points: u32) -> u32 {
    points / 256
}

/// Finds the outermost site in each direction, if more than a few cells are listed. Grid: a warp a worker; each takes
/// pairs of sites in turn.
///
/// # Safety
/// As for [`tell_windows`](const@tell_windows); every byte of `outermost` is [`NONE_OUTERMOST`].
#[kernel(block = BLOCK)]
pub unsafe fn find_outermost(
    setup: *const f64,
    places: *const f64,
    sites_before: *const u32,
    points: u32,
    listed: *const u32,
    outermost: *mut i64,
    workers: u32,
) {
    // SAFETY: passed on to the caller; sites are below their count.
    unsafe {
        if *listed <= few_listed(points) {
            return;
        }
        let (cells, ..) = read_setup(setup);
        let sites = *sites_before.add(points as usize) as u64;
        let lane = warp::lane_id();
        // Half of the lanes look at the one site, and half at the other.
        let (k, half) = (lane % DIRECTIONS, lane / DIRECTIONS);
        let direction = direction(k);
        let mut outer = i64::MIN;
        let mut site = thread::index_1d() / warp::SIZE as u64 * 2 + half as u64;
        while site < sites {
            let [x, y] = pair(places.add(2 * site as usize));
            let way = [x - cells.west, y - cells.south];
            outer = i64::max(outer, outwardness(direction, way, site as u32));
            site += 2 * workers as u64;
        }
        if outer > i64::MIN {
            atomic::max_i64(outermost.add(k as usize), outer);
        }
    }
}

/// Lists the sites that are not clearly inside of the polygon of the outermost ones, behind their number. Grid: a thread a
/// point.
///
/// # Safety
/// As for [`find_outermost`](const@find_outermost), which wrote `outermost`; `outer` has one element more than points,
/// the first of them 0.
#[kernel(block = BLOCK)]
pub unsafe fn list_outer(
    places: *const f64,
    sites_before: *const u32,
    points: u32,
    listed: *const u32,
    outermost: *const i64,
    outer: *mut u32,
) {
    let site = thread::index_1d();
    // SAFETY: passed on to the caller; the site is below the count.
    unsafe {
        if *listed <= few_listed(points) || site >= *sites_before.add(points as usize) as u64 {
            return;
        }
        let place = |site: u32| pair(places.add(2 * site as usize));
        let outermost = |k: u32| place(site_of(*outermost.add(k as usize)));
        if !is_clearly_inside(place(site as u32), outermost) {
            append(outer, site as u32);
        }
    }
}

/// Writes half the side of the window of each listed cell that lies outside the hull, 0 for others; of the first
/// [`MOST_WINDOWS`]. Grid: a thread a worker; each takes cells in turn.
///
/// # Safety
/// As for [`walk_cells`](mod@super::walk_cells), which wrote `listed`; `sites_before` has the number of sites at
/// `points`; `outermost` has an element for each direction, and with `outer` what
/// [`find_outermost`](const@find_outermost) and [`list_outer`](const@list_outer) wrote; `windows` has an element for
/// each listed cell, or [`MOST_WINDOWS`].
#[kernel(block = BLOCK)]
pub unsafe fn tell_windows(
    setup: *const f64,
    starts: *const u32,
    places: *const f64,
    points: u32,
    listed: *const u32,
    outermost: *const i64,
    outer: *const u32,
    windows: *mut f64,
    workers: u32,
) {
    // SAFETY: passed on to the caller; lists name cells of the DEM and sites.
    unsafe {
        let are_few = *listed <= few_listed(points);
        let count = u32::min(*listed, MOST_WINDOWS) as u64;
        let mut i = thread::index_1d();
        while i < count {
            let (cells, scene, ..) = read_setup(setup);
            let index = index_of(cells, places, starts);
            let cell = *listed.add(1 + i as usize);
            let row = cell.checked_div(scene.columns).unwrap_or(0);
            let query = scene.query(scene.centre(cell - row * scene.columns, row), NEAR);
            // There are outer sites where there are any.
            let sites = if are_few || *outer == 0 { 0 } else { DIRECTIONS + *outer };
            let site = |k: u32| match k {
                0..DIRECTIONS => site_of(*outermost.add(k as usize)),
                _ => *outer.add((1 + k - DIRECTIONS) as usize),
            };
            let (mut k, mut is_open) = (1, sites > 0);
            let mut window = 0.0;
            if is_open {
                let mut seen = Seen::one(index.way(&query, site(0)));
                while is_open && k < sites {
                    is_open = seen.meet(index.way(&query, site(k)));
                    k += 1;
                }
                if is_open && seen.opens(2.0 * LEAST_ANGLE) {
                    window = scene.open_window(index.nearest_of_all(&query));
                }
            }
            *windows.add(i as usize) = window;
            i += workers as u64;
        }
    }
}
