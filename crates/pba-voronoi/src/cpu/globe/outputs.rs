//! Writes the winners of a group of columns.

use std::ops::Range;

use bytemuck::Pod;
use gpu_core::GridSpec;

use super::LANES;
use super::columns::Scratch;
use crate::cpu::outputs::{Shared, raster};
use crate::cpu::rows::{Candidates, Column};
use crate::globe::{Tables, reached};
use crate::{Diagram, Input, Integers, NONE, Params, Result, Sites};

/// Distances of a group's pixels, of one column after the other; each empty where nobody wants it.
#[derive(Default)]
pub(super) struct Lanes {
    short: Vec<f32>,
    long: Vec<f64>,
}

/// Rows at a pole, each with the column of its site: all sites of the winner's row are as near, and the first counts.
pub(super) struct Poles([Option<(usize, u32)>; 2]);

impl Poles {
    pub fn of<C: Column>(candidates: &Candidates<C>, tables: &Tables) -> Self {
        // The sites of the northernmost row with sites and of the southernmost.
        let site = |row: usize, winner: Option<&u32>| {
            let winner = *winner.filter(|_| tables.is_pole(row as u32))?;
            // Each site is its own candidate.
            let columns = 0..candidates.width as usize;
            let first = columns.map(|x| candidates.at(winner, x).number()).min()?;
            Some((row, first))
        };
        let last = candidates.height.saturating_sub(1) as usize;
        Self([site(0, candidates.rows.first()), site(last, candidates.rows.last())])
    }

    fn column(&self, y: usize) -> Option<u32> {
        self.0.iter().flatten().find(|(row, _)| *row == y).map(|&(_, column)| column)
    }
}

/// The outputs of one pass, and what they are made with.
pub(super) struct Sinks<'a> {
    grid: GridSpec,
    /// Columns of the raster of which this is a strip, or its own.
    whole: usize,
    excluded: Option<&'a [u8]>,
    values: Option<&'a [f32]>,
    labels: Option<&'a [u32]>,
    /// The largest distance of a site.
    most: f64,
    nearest: Option<Shared<u32>>,
    long_nearest: Option<Shared<u64>>,
    coordinates: Option<Shared<[u32; 2]>>,
    distance: Option<Shared<f32>>,
    distance_f64: Option<Shared<f64>>,
    value: Option<Shared<f32>>,
    label: Option<Shared<u32>>,
}

impl<'a> Sinks<'a> {
    /// Room for the outputs.
    pub fn new(params: &Params, input: &Input<'a>, values: Option<&'a [f32]>) -> Result<Self> {
        let pixels = input.grid.cells() as usize;
        let is_long = !input.shape().is_short();
        let labels = match input.sites {
            Sites::Labels(labels) if params.label => Some(labels),
            _ => None,
        };
        let distance = params.distance || params.signed_distance;
        Ok(Self {
            grid: input.grid,
            whole: input.shape().columns() as usize,
            excluded: input.excluded,
            values,
            labels,
            most: params.max_distance.map_or(f64::INFINITY, reached),
            nearest: Shared::new(params.nearest && !is_long, pixels)?,
            long_nearest: Shared::new(params.nearest && is_long, pixels)?,
            coordinates: Shared::new(params.coordinates, pixels)?,
            distance: Shared::new(distance, pixels)?,
            distance_f64: Shared::new(params.distance_f64, pixels)?,
            value: Shared::new(values.is_some(), pixels)?,
            label: Shared::new(labels.is_some(), pixels)?,
        })
    }

    /// Whether an output or the limit needs distances.
    pub fn has_distances(&self) -> bool {
        self.most < f64::INFINITY || self.distance.is_some() || self.distance_f64.is_some()
    }

    /// Keeps the distances of the last column, and removes sites beyond the limit.
    pub fn keep<C>(&self, lane: usize, scratch: &mut Scratch<C>, lanes: &mut Lanes) {
        let distances = &mut scratch.squares;
        let height = distances.len();
        if self.most < f64::INFINITY {
            let winners = &mut scratch.winners[lane * height..][..height];
            let pairs = winners.iter_mut().zip(&mut *distances);
            for (winner, distance) in pairs.filter(|(_, distance)| **distance > self.most) {
                (*winner, *distance) = (NONE, f64::INFINITY);
            }
        }
        if self.distance.is_some() {
            lanes.short.resize(LANES * height, 0.0);
            let short = lanes.short[lane * height..].iter_mut();
            short.zip(&*distances).for_each(|(short, &distance)| *short = distance as f32);
        }
        if self.distance_f64.is_some() {
            lanes.long.resize(LANES * height, 0.0);
            lanes.long[lane * height..][..height].copy_from_slice(distances);
        }
    }

    /// Writes a group of columns.
    ///
    /// # Safety
    /// No other thread writes them.
    pub unsafe fn put<C: Column>(
        &self,
        columns: Range<usize>,
        scratch: &Scratch<C>,
        lanes: &Lanes,
        poles: &Poles,
    ) {
        let (width, height) = (self.grid.width as usize, self.grid.height as usize);
        let index = |[column, row]: [u32; 2]| row as usize * self.whole + column as usize;
        for y in 0..height {
            let pole = poles.column(y);
            let site = |lane: usize| {
                let row = scratch.winners[lane * height + y];
                let column = || scratch.candidates[lane * height + row as usize].number();
                (row != NONE).then(|| [pole.unwrap_or_else(column), row])
            };
            let start = y * width + columns.start;
            let lanes_of = start..start + columns.len();
            // SAFETY: passed on to the caller.
            unsafe {
                let place = (lanes_of.clone(), u32::MAX);
                self.each(&self.nearest, place, |lane| {
                    site(lane).map_or(u32::MAX, |site| index(site) as u32)
                });
                let place = (lanes_of.clone(), u64::MAX);
                self.each(&self.long_nearest, place, |lane| {
                    site(lane).map_or(u64::MAX, |site| index(site) as u64)
                });
                let place = (lanes_of.clone(), [u32::MAX; 2]);
                self.each(&self.coordinates, place, |lane| site(lane).unwrap_or([u32::MAX; 2]));
                let place = (lanes_of.clone(), f32::NAN);
                self.each(&self.distance, place, |lane| lanes.short[lane * height + y]);
                let place = (lanes_of.clone(), f64::NAN);
                self.each(&self.distance_f64, place, |lane| lanes.long[lane * height + y]);
                if let Some(values) = self.values {
                    let place = (lanes_of.clone(), f32::NAN);
                    self.each(&self.value, place, |lane| {
                        site(lane).map_or(f32::NAN, |site| values[index(site)])
                    });
                }
                if let Some(labels) = self.labels {
                    let place = (lanes_of.clone(), 0);
                    self.each(&self.label, place, |lane| {
                        site(lane).map_or(0, |site| labels[index(site)])
                    });
                }
            }
        }
    }

    /// Writes neighbouring pixels of an output, if it is wanted: `none` where a pixel is excluded.
    #[inline(always)]
    unsafe fn each<T: Pod>(
        &self,
        sink: &Option<Shared<T>>,
        (pixels, none): (Range<usize>, T),
        of: impl Fn(usize) -> T,
    ) {
        let Some(sink) = sink else { return };
        // SAFETY: passed on to the caller.
        let out = unsafe { sink.part(pixels.start, pixels.len()) };
        for (lane, out) in out.iter_mut().enumerate() {
            let is_excluded = self.excluded.is_some_and(|mask| mask[pixels.start + lane] != 0);
            *out = if is_excluded { none } else { of(lane) };
        }
    }

    /// Returns the written outputs as a diagram.
    pub fn into_diagram(self) -> Result<Diagram> {
        let grid = self.grid;
        let short = raster(self.nearest, grid)?.map(Integers::U32);
        Ok(Diagram {
            nearest: short.or(raster(self.long_nearest, grid)?.map(Integers::U64)),
            coordinates: raster(self.coordinates, grid)?,
            distance: raster(self.distance, grid)?,
            distance_f64: raster(self.distance_f64, grid)?,
            value: raster(self.value, grid)?,
            label: raster(self.label, grid)?,
            ..Diagram::new(grid, 0.0)
        })
    }
}
