//! Nearest sites on the sphere, on all cores.
//!
//! Plan. Let h be the square of half a chord ([`crate::globe`]) between a pixel of column j and a site of row i'. In
//! every row of the pixel, h is smallest for the site that is nearest in longitude. Only the part `c_i c_i' B` depends
//! on the site's column, and it grows with the difference of longitudes. So the diagram separates as on the plane.
//!
//! 1. Rows, in parallel: find for every pixel its *candidate*, the column of the site of its row that is nearest in
//!    longitude, the short way round. Only a site across the raster's edges can be nearer than the plane's candidate
//!    ([`rows`](super::rows)), and the nearest such sites are the row's first and last. In a row at a pole, all sites
//!    are at one place, and the first counts.
//! 2. Columns, in parallel over groups of [`LANES`]: each column has one candidate a row. Find each pixel's *winner*
//!    among them ([`columns`]), and write the outputs of a group at once ([`outputs`]).
//!
//! Why step 2 is as easy as on the plane: **down a column the winner's row never goes back**. The pixels of a column
//! lie on half a meridian, from pole to pole. The places equally far from two candidates make a great circle, which
//! meets half a meridian in one point or contains it. So each of two candidates is nearer on one side of that point. At
//! the north pole the candidate with the greater latitude is nearer. So the northern candidate is nearer in the north,
//! and the southern one in the south.

use gpu_core::parallel::{FINE, for_chunks, for_each, map_init};
use gpu_core::{Grid, GridSpec, Progress, host_memory};

use super::rows::{Candidates, Column};
use super::{bands, report};
use crate::globe::{Tables, check_strip};
use crate::metric::MAX_NARROW;
use crate::{Diagram, Globe, Input, NONE, Params, Result, Sites, Strip};

mod columns;
mod ellipsoid;
mod outputs;

use columns::Scratch;
use ellipsoid::Ellipsoid;
use outputs::{Lanes, Poles, Sinks};

/// Columns of a group: a task's.
const LANES: usize = 16;

/// Computes [`geodesic`](crate::geodesic()) on all cores of the CPU.
///
/// # Errors
/// The errors of [`geodesic`](crate::geodesic()).
pub fn geodesic(
    input: &Input<'_>,
    globe: &Globe,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    on_figure(input, globe, params, (None, progress))
}

/// Finds the nearest sites by geodesics on the WGS 84 ellipsoid, and their lengths in metres, on all cores of the CPU.
/// Inputs, outputs and limits are as in [`geodesic`](crate::geodesic()). Latitudes are geodetic, and [`Globe::radius`]
/// is ignored.
///
/// The site is the nearest up to the rounding of lengths, some nanometres (Karney 2013, doi:10.1007/s00190-012-0578-z;
/// crate geographiclib-rs). Among sites with the same computed length the lowest index counts.
///
/// Needs the feature `ellipsoid`, which is off by default. A geodesic takes about a microsecond. A pixel needs one
/// geodesic for each row whose candidate, on the sphere, is at most 1.02% farther than the nearest.
///
/// ```
/// use gpu_core::{GridSpec, Silent};
/// use pba_voronoi::{Globe, Input, Params, Sites, geodesic_on_ellipsoid};
///
/// # fn main() -> Result<(), pba_voronoi::Error> {
/// // A column of two pixels, whose centres lie at the north pole and on the equator.
/// let input = Input::new(Sites::Mask(&[1, 0]), GridSpec::of_pixels(1, 2));
/// let globe = Globe::new([0.0, 135.0], [1.0, 90.0]);
/// let diagram = geodesic_on_ellipsoid(&input, &globe, &Params::new().distance_f64(), &Silent)?;
/// assert_eq!(diagram.distance_f64.unwrap().values()[1].round(), 10_001_966.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`geodesic`](crate::geodesic()).
#[cfg(feature = "ellipsoid")]
pub fn geodesic_on_ellipsoid(
    input: &Input<'_>,
    globe: &Globe,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    on_figure(input, globe, params, (Some(&Ellipsoid::new()), progress))
}

/// A figure to measure on, the sphere where it is `None`, and who watches.
type Work<'a> = (Option<&'a Ellipsoid>, &'a dyn Progress);

fn on_figure(input: &Input<'_>, globe: &Globe, params: &Params, work: Work<'_>) -> Result<Diagram> {
    let shape = input.shape();
    params.check_on_globe(&shape)?;
    input.check_sites(true)?;
    let tables = globe.tables(shape.columns(), input.grid.height)?;
    check_strip(&shape, tables.has_pole())?;
    host_memory::require(bytes_needed(input, params))?;
    let wide = shape.columns() > MAX_NARROW;
    let pass = if wide { pass::<u32> } else { pass::<u16> };
    let mut diagram = pass(input, &tables, params, work)?;
    if params.signed_distance {
        let mut only = Params::new().distance();
        only.max_distance = params.max_distance;
        let outside = match diagram.distance.take() {
            Some(outside) if params.distance => {
                diagram.distance = Some(outside.clone());
                outside
            }
            Some(outside) => outside,
            None => pass(input, &tables, &only, work)?.distance.unwrap_or(empty(input)?),
        };
        let others = Input { excluded: None, ..input.inverted() };
        let inside = pass(&others, &tables, &only, work)?.distance;
        let mut signed = outside;
        if let Some(inside) = inside {
            let inside = inside.values();
            for_each(signed.values_mut(), FINE, |i, outside| *outside -= inside[i]);
        }
        diagram.signed_distance = Some(signed);
    }
    Ok(diagram)
}

fn empty(input: &Input<'_>) -> Result<Grid<f32>> {
    let values = host_memory::zeroed(input.grid.cells() as usize)?;
    Ok(Grid::new(values, input.grid)?)
}

/// Bytes that a call takes at its peak.
fn bytes_needed(input: &Input<'_>, params: &Params) -> u64 {
    let GridSpec { width, height, .. } = input.grid;
    let pixels = u64::from(width) * u64::from(height);
    let written = params.bytes_of_pixel(input.shape().is_short(), false);
    let candidate = if input.shape().columns() > MAX_NARROW { 4 } else { 2 };
    let listed = if matches!(input.sites, Sites::List { .. }) { pixels / 8 } else { 0 };
    let threads = rayon::current_num_threads() as u64;
    pixels * (candidate + written) + listed + threads * u64::from(height) * LANES as u64 * 20
}

/// One diagram; signed distances take two.
fn pass<C: Column>(
    input: &Input<'_>,
    tables: &Tables,
    params: &Params,
    (ellipsoid, progress): Work<'_>,
) -> Result<Diagram> {
    let width = input.grid.width as usize;
    let values = if params.value { input.value_raster()? } else { None };
    let sinks = Sinks::new(params, input, values.as_deref())?;
    if input.grid.cells() == 0 {
        return sinks.into_diagram();
    }
    let mut candidates = Candidates::<C>::find(input, progress)?;
    go_round(&mut candidates, tables, input.strip.as_ref());
    let poles = Poles::of(&candidates, tables);
    let groups = width.div_ceil(LANES);
    for band in bands(groups) {
        report(progress, "globe columns", band.start, groups)?;
        let scratch = || (Scratch::new(tables), Lanes::default());
        map_init(band.len(), 1, scratch, |(scratch, lanes), i| {
            let first = (band.start + i) * LANES;
            let columns = first..(first + LANES).min(width);
            scratch.take(&candidates, columns.clone());
            for (lane, x) in columns.clone().enumerate() {
                let x = candidates.place(x);
                scratch.solve(lane, x, &candidates.rows, tables);
                match ellipsoid {
                    Some(ellipsoid) => ellipsoid.measure(lane, x, scratch, tables),
                    None if sinks.has_distances() => tables.make_distances(&mut scratch.squares),
                    None => {}
                }
                sinks.keep(lane, scratch, lanes);
            }
            // SAFETY: no other task has these columns.
            unsafe { sinks.put(columns, scratch, lanes, &poles) };
        });
    }
    report(progress, "globe columns", groups, groups)?;
    sinks.into_diagram()
}

/// Makes candidates on the plane those on the sphere: across the raster's edges, and at the poles.
fn go_round<C: Column>(candidates: &mut Candidates<C>, tables: &Tables, strip: Option<&Strip<'_>>) {
    let (width, start) = (candidates.width as usize, candidates.first);
    let (pitch, is_round) = (candidates.pitch, tables.is_round());
    for_chunks(&mut candidates.columns, pitch, |row, columns| {
        let columns = &mut columns[..width];
        let (first, last) = match strip {
            Some(strip) => (strip.before[row], strip.after[row]),
            None if columns[0] == C::NONE => (NONE, NONE),
            None => (columns[0].number(), columns[width - 1].number()),
        };
        if columns[0] == C::NONE {
            return;
        }
        if tables.is_pole(row as u32) {
            columns.fill(columns[0]);
            return;
        }
        if !is_round {
            return;
        }
        // Whoever goes from between the two over an edge meets one of them before.
        let between = match strip.is_none() && tables.is_past(first, last) {
            true => first..last + 1,
            false => 0..0,
        };
        let beyond = (0..between.start).chain(between.end..width as u32);
        for x in beyond {
            let column = &mut columns[x as usize];
            let steps = |site: u32| tables.steps(site.abs_diff(start + x));
            let mut nearest = (steps(column.number()), column.number());
            for other in [first, last].into_iter().filter(|&site| site != NONE) {
                // The western one of two at the same difference.
                let other = (steps(other), other);
                nearest = if other < nearest { other } else { nearest };
            }
            *column = C::new(nearest.1 as usize);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Random;

    /// A raster somewhere on the globe. It may be a part or a whole turn, and may reach from pole to pole, with rows at
    /// the poles. It may have one row or one column. Its rows may go from south to north, and its columns from east to
    /// west.
    fn raster(random: &mut Random, most: u64) -> (Globe, u32, u32) {
        let side = |random: &mut Random| match random.below(8) {
            0 => 1,
            1..=4 => 1 + random.below(most.min(40)) as u32,
            _ => 1 + random.below(most) as u32,
        };
        let (width, height) = (side(random), side(random));
        let x = match random.below(4) {
            0 | 1 => 360.0 / f64::from(width),
            // The first column stands again at the end.
            2 if width > 1 => 360.0 / f64::from(width - 1),
            _ => 360.0 / f64::from(width) * 10f64.powf(-5.0 * random.unit()),
        };
        let rows = f64::from(height);
        let (north, y) = match random.below(6) {
            0 | 1 => (90.0, 180.0 / rows),
            // Rows at both poles.
            2 if height > 1 => (90.0 + 90.0 / (rows - 1.0), 180.0 / (rows - 1.0)),
            3 => (90.0, 180.0 / rows * 10f64.powf(-4.0 * random.unit())),
            _ => {
                let y = 180.0 / rows * 10f64.powf(-5.0 * random.unit());
                (90.0 - (180.0 - rows * y) * random.unit(), y)
            }
        };
        let west = -180.0 + 360.0 * random.unit();
        let globe = match random.below(6) {
            0 => Globe::new([west, -north], [x, -y]),
            1 => Globe::new([west, north], [-x, y]),
            _ => Globe::new([west, north], [x, y]),
        };
        (globe, width, height)
    }

    /// The definition, over all sites. Takes in every row of sites the one that is nearest in longitude, the western of
    /// two. Of the rows it then takes the one with the least h, the first of several.
    fn brute_force(
        mask: &[u8],
        (width, height): (u32, u32),
        tables: &Tables,
        ties: &mut usize,
    ) -> Vec<Option<([u32; 2], f64)>> {
        let sites_of = |row: u32| {
            let sites = (0..width).filter(move |x| mask[(row * width + x) as usize] != 0);
            (row, sites.collect::<Vec<u32>>())
        };
        let rows: Vec<(u32, Vec<u32>)> =
            (0..height).map(sites_of).filter(|(_, sites)| !sites.is_empty()).collect();
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
        pixels
            .map(|from| {
                let mut best: Option<([u32; 2], f64)> = None;
                for (row, sites) in &rows {
                    let is_pole = tables.is_pole(*row) || tables.is_pole(from[1]);
                    let steps =
                        |x: u32| if is_pole { 0.0 } else { tables.steps(x.abs_diff(from[0])) };
                    let nearer = |a: u32, b: u32| if steps(b) < steps(a) { b } else { a };
                    let Some(column) = sites.iter().copied().reduce(nearer) else { continue };
                    let h = tables.squared_half_chord(from, [column, *row]);
                    *ties += usize::from(best.is_some_and(|(_, least)| h == least));
                    if best.is_none_or(|(_, least)| h < least) {
                        best = Some(([column, *row], h));
                    }
                    // No site of the row has less, whatever its difference of longitudes.
                    let least = sites.iter().map(|&x| tables.squared_half_chord(from, [x, *row]));
                    assert_eq!(least.fold(f64::INFINITY, f64::min), h);
                }
                best
            })
            .collect()
    }

    /// Index for index, and bit for bit.
    #[test]
    fn nearest_sites_on_the_globe_are_those_of_brute_force() {
        let mut random = Random::new(5);
        let (mut ties, mut round) = (0, 0);
        while round < 500 {
            let most = if round % 10 == 0 { 200 } else { 70 };
            let (mut globe, mut width, mut height) = raster(&mut random, most);
            if round % 4 == 1 {
                (width, height) = (4 * width.div_ceil(4), height | 1);
                let sides = [360.0 / f64::from(width), 180.0 / f64::from(height)];
                globe = Globe::new([-180.0, 90.0], sides);
            } else if round % 8 == 3 {
                // Rows that f64 hardly tells apart a quarter of a turn away.
                (width, height) = (4, 2 + random.below(most) as u32);
                let y = 10f64.powf(-9.0 + 4.0 * random.unit());
                globe = Globe::new([0.0, y * f64::from(height) * random.unit()], [90.0, y]);
            }
            let Ok(tables) = globe.tables(width, height) else {
                panic!("{globe:?} of {width} x {height}: {:?}", globe.tables(width, height).err());
            };
            let pixels = u64::from(width) * u64::from(height);
            // Brute force takes pixels x sites.
            let density = match round % 5 {
                0 => 0.0,
                1 => 1.5 / pixels as f64,
                _ => (10f64.powf(-3.0 * random.unit())).min(4e6 / (pixels * pixels) as f64),
            };
            let mut mask: Vec<u8> =
                (0..pixels).map(|_| u8::from(random.unit() < density)).collect();
            if round % 8 == 3 {
                mask.iter_mut().skip(1).step_by(2).for_each(|site| *site = 0);
                mask.iter_mut().skip(2).step_by(4).for_each(|site| *site = 0);
            } else if round % 4 == 1 && width % 4 == 0 {
                // All sites on one meridian: a quarter of a turn from them, on the equator, all are as near but for rounding.
                let meridian = random.below(u64::from(width)) as u32;
                let is_on = |p: usize| p as u32 % width == meridian && random.unit() < 0.7;
                mask = (0..pixels as usize).map(is_on).map(u8::from).collect();
            } else if round % 3 == 0 {
                // The same to the north and to the south, and turned by half: many ties.
                for p in 0..pixels as usize {
                    mask[p] |= mask[pixels as usize - 1 - p];
                }
            }
            let expected = brute_force(&mask, (width, height), &tables, &mut ties);
            let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(width, height));
            let params = Params::new().coordinates().nearest().distance_f64();
            for wide in [false, true] {
                let found = if wide { pass::<u32> } else { pass::<u16> };
                let found = found(&input, &tables, &params, (None, &gpu_core::Silent)).unwrap();
                let (sites, distance) = (found.coordinates.unwrap(), found.distance_f64.unwrap());
                let nearest = found.nearest.unwrap();
                for (p, expected) in expected.iter().enumerate() {
                    let what = format!("{globe:?}, {width} x {height}, pixel {p}");
                    let Some((site, h)) = expected else {
                        assert_eq!(sites.values()[p], [u32::MAX; 2], "{what}");
                        assert_eq!((nearest.get(p), distance.values()[p]), (None, f64::INFINITY));
                        continue;
                    };
                    let from = [p as u32 % width, p as u32 / width];
                    let own = tables.squared_half_chord(from, sites.values()[p]);
                    assert_eq!((sites.values()[p], own), (*site, *h), "{what}");
                    assert_eq!(nearest.get(p), Some(u64::from(site[1] * width + site[0])));
                    assert_eq!(distance.values()[p], tables.distance(from, *site));
                }
            }
            round += 1;
        }
        assert!(ties > 1_000, "{ties}");
    }
}
