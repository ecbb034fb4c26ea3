//! Nearest sites on the sphere, on all cores.
//!
//! Plan. h, the square of half a chord ([`crate::globe`]), is for a pixel of column j and a site of row i' smallest where the
//! site is nearest in longitude, whatever row the pixel has: the part `c_i c_i' B` alone depends on the site's column, and
//! it grows with the difference of longitudes. So the diagram separates as on the plane.
//!
//! 1. Rows, in parallel: for every pixel the column of the site of its row that is nearest in longitude, the short way round, its
//!    *candidate*. On the plane's answer ([`rows`](super::rows)) a site to the other side can improve only across the raster's
//!    edges, and of these the row's first and last are nearest. In a row at a pole all sites are one place, and the first counts.
//! 2. Columns, in parallel over groups of [`LANES`]: of the candidates of a column, one a row, each pixel has a *winner*
//!    ([`columns`]).
//! 3. Outputs, row by row.
//!
//! Why step 2 is as easy as on the plane: **down a column the winner's row never goes back**. The pixels of a column lie on half
//! a meridian, from pole to pole. The places as far from one candidate as from another are a great circle, which meets
//! half a meridian in one point, or holds all of it. So of two candidates each is nearer on one side of that point. At the
//! north pole the nearer one is that with the greater latitude: the northern candidate is nearer in the north, the southern one in
//! the south.

use std::ops::Range;

use bytemuck::Pod;
use gpu_core::{Grid, GridSpec, Progress, host_memory};
use rayon::prelude::*;

use super::rows::{Candidates, Column};
use super::{bands, report};
use crate::globe::{Tables, reached};
use crate::metric::MAX_NARROW;
use crate::{Diagram, Globe, Input, Integers, NONE, Params, Result, Sites};

mod columns;

/// Columns of a group: a task's.
const LANES: usize = 32;

/// [`geodesic`](crate::geodesic()) on all cores of the CPU.
///
/// # Errors
/// As [`geodesic`](crate::geodesic()).
pub fn geodesic(
    input: &Input<'_>,
    globe: &Globe,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    params.check_on_globe(&input.shape())?;
    input.check_sites()?;
    let GridSpec { width, height, .. } = input.grid;
    let tables = globe.tables(width, height)?;
    host_memory::require(bytes_needed(input, params))?;
    let wide = width > MAX_NARROW;
    let pass = if wide { pass::<u32> } else { pass::<u16> };
    let mut diagram = pass(input, &tables, params, progress)?;
    if params.signed_distance {
        let mut only = Params::new().distance();
        only.max_distance = params.max_distance;
        let outside = match diagram.distance.take() {
            Some(outside) if params.distance => {
                diagram.distance = Some(outside.clone());
                outside
            }
            Some(outside) => outside,
            None => pass(input, &tables, &only, progress)?.distance.unwrap_or(empty(input)?),
        };
        let others = Input { excluded: None, ..input.inverted() };
        let inside = pass(&others, &tables, &only, progress)?.distance;
        let mut signed = outside;
        if let Some(inside) = inside {
            let pairs = signed.values_mut().par_iter_mut().zip(inside.values());
            pairs.for_each(|(outside, inside)| *outside -= inside);
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
    let candidate = if width > MAX_NARROW { 4 } else { 2 };
    let listed = if matches!(input.sites, Sites::List { .. }) { pixels / 8 } else { 0 };
    let threads = rayon::current_num_threads() as u64;
    pixels * (candidate + 4 + written) + listed + threads * u64::from(height) * LANES as u64 * 8
}

/// One diagram; signed distances take two.
fn pass<C: Column>(
    input: &Input<'_>,
    tables: &Tables,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    let GridSpec { width, height, .. } = input.grid;
    let values = if params.value { input.value_raster()? } else { None };
    if input.grid.cells() == 0 {
        let nothing = Nearest::<u32> { candidates: None, winners: Vec::new(), tables, input };
        return nothing.diagram(params, values.as_deref());
    }
    let mut candidates = Candidates::<C>::find(input, progress)?;
    go_round(&mut candidates, tables);
    let groups = (width as usize).div_ceil(LANES);
    let group = LANES * height as usize;
    let mut winners = host_memory::zeroed::<u32>(groups * group)?;
    for band in bands(groups) {
        report(progress, "globe columns", band.start, groups)?;
        winners[band.start * group..band.end * group]
            .par_chunks_exact_mut(group)
            .zip(band)
            .for_each_init(columns::Scratch::default, |scratch, (winners, number)| {
                let first = number * LANES;
                let columns = first..(first + LANES).min(width as usize);
                columns::group(&candidates, tables, columns, winners, scratch);
            });
    }
    report(progress, "globe columns", groups, groups)?;
    let nearest = Nearest { candidates: Some(candidates), winners, tables, input };
    nearest.diagram(params, values.as_deref())
}

/// Makes candidates on the plane those on the sphere: across the raster's edges, and at the poles.
fn go_round<C: Column>(candidates: &mut Candidates<C>, tables: &Tables) {
    let (width, pitch, is_round) = (candidates.width as usize, candidates.pitch, tables.is_round());
    let rows = candidates.columns.par_chunks_exact_mut(pitch).enumerate();
    rows.for_each(|(row, columns)| {
        let columns = &mut columns[..width];
        let (first, last) = (columns[0], columns[width - 1]);
        if first == C::NONE {
            return;
        }
        if tables.is_pole(row as u32) {
            columns.fill(first);
            return;
        }
        if !is_round {
            return;
        }
        for (x, column) in (0..).zip(columns) {
            let steps = |of: C| tables.steps(of.number().abs_diff(x));
            let mut nearest = (steps(*column), column.number());
            for other in [first, last] {
                // Of two at the same difference the western one.
                let other = (steps(other), other.number());
                nearest = if other < nearest { other } else { nearest };
            }
            *column = C::new(nearest.1 as usize);
        }
    });
}

/// The nearest site of every pixel.
struct Nearest<'a, C> {
    /// `None` in a raster without pixels.
    candidates: Option<Candidates<C>>,
    /// The rows of the winners, [`NONE`] where there is no site: of each group row by row.
    winners: Vec<u32>,
    tables: &'a Tables,
    input: &'a Input<'a>,
}

impl<C: Column> Nearest<'_, C> {
    /// The site of each of a row's pixels, as a column and a row; none where it is excluded.
    fn row(&self, y: usize, mut each: impl FnMut(usize, Option<[u32; 2]>)) {
        let Some(candidates) = &self.candidates else { return };
        let GridSpec { width, height, .. } = self.input.grid;
        let excluded = self.input.excluded.map(|mask| &mask[y * width as usize..]);
        let pole = self.site_of_pole(y);
        for first in (0..width as usize).step_by(LANES) {
            let start = first * height as usize + y * LANES;
            let columns: Range<usize> = first..(first + LANES).min(width as usize);
            for (x, &row) in columns.zip(&self.winners[start..]) {
                let is_in = row != NONE && excluded.is_none_or(|mask| mask[x] == 0);
                let column = || pole.unwrap_or_else(|| candidates.at(row, x).number());
                each(x, is_in.then(|| [column(), row]));
            }
        }
    }

    /// The column of the site of a row at a pole: all sites of the winner's row are as near, and the first counts.
    fn site_of_pole(&self, y: usize) -> Option<u32> {
        let candidates = self.candidates.as_ref()?;
        let height = self.input.grid.height as usize;
        let row = self.winners[y * LANES];
        if height == 0 || row == NONE || !self.tables.is_pole(y as u32) {
            return None;
        }
        // Each site is its own candidate.
        let columns = 0..self.input.grid.width as usize;
        columns.map(|x| candidates.at(row, x).number()).min()
    }

    /// A raster of what each pixel's site gives.
    fn raster<T: Pod + Send + Sync>(
        &self,
        none: T,
        of: impl Fn([u32; 2], [u32; 2]) -> T + Sync,
    ) -> Result<Grid<T>> {
        let grid = self.input.grid;
        let width = (grid.width as usize).max(1);
        let mut out = host_memory::zeroed(grid.cells() as usize)?;
        out.par_chunks_exact_mut(width).enumerate().for_each(|(y, out)| {
            self.row(y, |x, site| {
                out[x] = site.map_or(none, |site| of([x as u32, y as u32], site));
            });
        });
        Ok(Grid::new(out, grid)?)
    }

    /// Forgets winners that are farther than the limit.
    fn limit(&mut self, most: f64) {
        let GridSpec { width, height, .. } = self.input.grid;
        let (Some(candidates), tables) = (&self.candidates, self.tables) else { return };
        if most == f64::INFINITY {
            return;
        }
        let groups = self.winners.par_chunks_exact_mut(LANES * height as usize).enumerate();
        groups.for_each(|(group, winners)| {
            let first = group * LANES;
            for (y, rows) in (0..).zip(winners.chunks_exact_mut(LANES)) {
                for (x, row) in (first..width as usize).zip(rows).filter(|(_, row)| **row != NONE) {
                    let site = [candidates.at(*row, x).number(), *row];
                    if tables.distance([x as u32, y], site) > most {
                        *row = NONE;
                    }
                }
            }
        });
    }

    /// The outputs that are wanted.
    fn diagram(mut self, params: &Params, values: Option<&[f32]>) -> Result<Diagram> {
        let input = self.input;
        if let Some(most) = params.max_distance {
            self.limit(reached(most));
        }
        let mut diagram = Diagram::new(input.grid, 0.0);
        let width = input.grid.width as usize;
        let index = |[column, row]: [u32; 2]| row as usize * width + column as usize;
        if params.nearest {
            diagram.nearest = Some(match input.shape().is_short() {
                true => Integers::U32(self.raster(u32::MAX, |_, site| index(site) as u32)?),
                false => Integers::U64(self.raster(u64::MAX, |_, site| index(site) as u64)?),
            });
        }
        if params.coordinates {
            diagram.coordinates = Some(self.raster([u32::MAX; 2], |_, site| site)?);
        }
        if params.distance || params.signed_distance {
            diagram.distance = Some(self.distances(|distance| distance as f32, f32::NAN)?);
        }
        if params.distance_f64 {
            diagram.distance_f64 = Some(self.distances(|distance| distance, f64::NAN)?);
        }
        if let Some(values) = values {
            diagram.value = Some(self.raster(f32::NAN, |_, site| values[index(site)])?);
        }
        if let (true, Sites::Labels(labels)) = (params.label, input.sites) {
            diagram.label = Some(self.raster(0, |_, site| labels[index(site)])?);
        }
        Ok(diagram)
    }

    /// The raster of distances as `of` rounds them, infinite where there is no site, `excluded` where a pixel is left out. The
    /// arcs of a row are computed together, in vectors.
    fn distances<T: Pod + Send + Sync>(
        &self,
        of: impl Fn(f64) -> T + Sync,
        excluded: T,
    ) -> Result<Grid<T>> {
        let grid = self.input.grid;
        let width = (grid.width as usize).max(1);
        let mut out = host_memory::zeroed(grid.cells() as usize)?;
        out.par_chunks_exact_mut(width).enumerate().for_each_init(
            || vec![0.0; width],
            |distances, (y, out)| {
                self.row(y, |x, site| {
                    let h = |site| self.tables.squared_half_chord([x as u32, y as u32], site);
                    distances[x] = site.map_or(f64::INFINITY, h);
                });
                self.tables.make_distances(distances);
                for (out, &distance) in out.iter_mut().zip(&*distances) {
                    *out = of(distance);
                }
                if let Some(mask) = self.input.excluded {
                    let pairs = out.iter_mut().zip(&mask[y * width..]);
                    pairs.filter(|(_, mask)| **mask != 0).for_each(|(out, _)| *out = excluded);
                }
            },
        );
        Ok(Grid::new(out, grid)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Random;

    /// A raster somewhere on the globe: a part, a whole turn, from pole to pole, with rows at the poles, one row, one column,
    /// from south to north or from east to west.
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

    /// The definition, over all sites: in every row of sites the one that is nearest in longitude, the western of two; of the
    /// rows the one with the least h, the first of several.
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
                let found = found(&input, &tables, &params, &gpu_core::Silent).unwrap();
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
