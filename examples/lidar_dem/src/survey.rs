//! A simulated airborne survey, for a first run without data.
//!
//! The landscape is a square of about one square metre per pulse, so its side follows from the number of pulses. It has
//! a tilted plane with hills, a lake, a village whose houses stand on a grid of plots, and woods with a tree in each
//! cell of a grid. Arithmetic on the position, and numbers hashed from the seed, answer every question about it ("how
//! high is the ground at x, y?", "is there a roof?"). So nothing is stored, and any pulse can be fired alone.
//!
//! The aircraft flies parallel strips northward that overlap. Its mirror sweeps across the track, to the right and
//! back, once per scan line. A pulse gives one return on bare ground and on roofs, two or three in a tree (crown,
//! sometimes a branch, ground), and none on the lake.

use std::f64::consts::TAU;
use std::ops::ControlFlow;

use gpu_core::{Progress, parallel};

/// The coordinate system of the survey: NAD83 / UTM zone 10N.
pub const CRS: &str = "EPSG:26910";

/// South-west corner of the landscape, in that system.
const CORNER: (f64, f64) = (560_000.0, 5_120_000.0);

/// ASPRS classes of the returns.
const GROUND: u8 = 2;
const TREE: u8 = 5;
const BUILDING: u8 = 6;

/// The returns of a survey, as columns.
#[derive(Default)]
pub struct Survey {
    /// Easting, metres.
    pub x: Vec<f64>,
    /// Northing, metres.
    pub y: Vec<f64>,
    /// Height, metres.
    pub z: Vec<f64>,
    /// ASPRS class.
    pub class: Vec<u8>,
    /// 1 for the first return of its pulse.
    pub return_number: Vec<u8>,
    /// Returns of the pulse.
    pub number_of_returns: Vec<u8>,
}

impl Survey {
    fn append(&mut self, mut more: Self) {
        self.x.append(&mut more.x);
        self.y.append(&mut more.y);
        self.z.append(&mut more.z);
        self.class.append(&mut more.class);
        self.return_number.append(&mut more.return_number);
        self.number_of_returns.append(&mut more.number_of_returns);
    }
}

/// Scan lines that a core takes at once, at least.
const LINES: usize = 8;

/// Flies over the landscape of `seed` and fires about `pulses` pulses.
pub fn fly(pulses: u64, seed: u64, progress: &dyn Progress) -> Survey {
    let land = Landscape::new(pulses, seed);
    let side = land.side;
    let strips = (side / 250.0).round().max(1.0);
    let swath = side / strips * 1.2;
    let per_strip = pulses as f64 / strips;
    // Equal spacing along and across the track.
    let per_line = (per_strip * swath / side).sqrt().max(1.0).round();
    let lines = (per_strip / per_line).max(1.0).round();

    let mut survey = Survey::default();
    for strip in 0..strips as u64 {
        let track = (strip as f64 + 0.5) * side / strips;
        let scan = |line: u64, returns: &mut Survey| {
            for k in 0..per_line as u64 {
                let pulse = (strip * lines as u64 + line) * per_line as u64 + k;
                let jitter = |salt| 0.5 * (land.random(pulse, salt) - 0.5);
                let across = (k as f64 + 0.5 + jitter(1)) / per_line;
                let sweep = if line.is_multiple_of(2) { across } else { 1.0 - across };
                let x = track + (sweep - 0.5) * swath;
                let y = (line as f64 + (k as f64 + jitter(2)) / per_line) / lines * side;
                land.fire(pulse, x, y, returns);
            }
        };
        let of_lines = parallel::map_ranges(lines as usize, LINES, &|lines| {
            let mut returns = Survey::default();
            lines.for_each(|line| scan(line as u64, &mut returns));
            returns
        });
        of_lines.into_iter().for_each(|returns| survey.append(returns));
        let fraction = (strip + 1) as f64 / strips;
        if let ControlFlow::Break(()) = progress.report("strips", fraction) {
            break;
        }
    }
    survey
}

/// The ground, its trees and houses; coordinates in metres from the south-west corner.
struct Landscape {
    seed: u64,
    side: f64,
    waves: [Wave; 7],
}

/// One of the waves of the open ground.
#[derive(Clone, Copy, Default)]
struct Wave {
    length: f64,
    /// Cosine and sine of the direction in which it runs.
    turn: (f64, f64),
    phase: f64,
}

impl Wave {
    fn height(&self, x: f64, y: f64) -> f64 {
        let (cos, sin) = self.turn;
        let along = (x * cos + y * sin) * TAU / self.length;
        let bend = (y * cos - x * sin) * TAU / (1.6 * self.length);
        0.028 * self.length * (along + self.phase + 0.9 * bend.sin()).sin()
    }
}

impl Landscape {
    fn new(pulses: u64, seed: u64) -> Self {
        let waves = [Wave::default(); 7];
        let mut land = Self { seed, side: (pulses as f64).sqrt(), waves };
        // Of falling length and height, each in a direction of its own.
        land.waves = std::array::from_fn(|octave| {
            let turn = TAU * land.random(octave as u64, 20);
            Wave {
                length: 420.0 / 1.75f64.powi(octave as i32),
                turn: (turn.cos(), turn.sin()),
                phase: TAU * land.random(octave as u64, 21),
            }
        });
        land
    }

    /// Records the returns of one pulse.
    fn fire(&self, pulse: u64, x: f64, y: f64, survey: &mut Survey) {
        let inside = |v: f64| v >= 0.0 && v < self.side;
        if !inside(x) || !inside(y) || self.shore(x, y) < 1.0 {
            return;
        }
        let ground = self.ground(x, y);
        let mut returns = [(0.0, GROUND); 3];
        let mut count = 0;
        let mut add = |z: f64, class: u8| {
            returns[count] = (z + 0.06 * (self.random(pulse, 10 + count as u64) - 0.5), class);
            count += 1;
        };
        if let Some(roof) = self.roof(x, y) {
            add(roof, BUILDING);
        } else {
            if let Some(crown) = self.crown(x, y) {
                add(ground + crown, TREE);
                if self.random(pulse, 3) < 0.4 {
                    add(ground + crown * (0.3 + 0.4 * self.random(pulse, 4)), TREE);
                }
            }
            add(ground, GROUND);
        }
        for (i, &(z, class)) in returns[..count].iter().enumerate() {
            survey.x.push(CORNER.0 + x);
            survey.y.push(CORNER.1 + y);
            survey.z.push(z);
            survey.class.push(class);
            survey.return_number.push(i as u8 + 1);
            survey.number_of_returns.push(count as u8);
        }
    }

    /// Height of the ground: a slope down to the south-east with waves of falling length and
    /// height, drawn down to the level of the lake around it.
    fn ground(&self, x: f64, y: f64) -> f64 {
        let level = 180.0 - 0.03 * self.side;
        let bank = ((self.shore(x, y) - 1.0) / 0.8).clamp(0.0, 1.0);
        let bank = bank * bank * (3.0 - 2.0 * bank);
        level + bank * (4.0 + self.open_ground(x, y) - level)
    }

    fn open_ground(&self, x: f64, y: f64) -> f64 {
        let slope = 180.0 - 0.05 * x + 0.04 * y;
        slope + self.waves.iter().map(|wave| wave.height(x, y)).sum::<f64>()
    }

    /// Distance from the middle of the lake in units of its shore line: below 1 is water.
    fn shore(&self, x: f64, y: f64) -> f64 {
        let (dx, dy) = (x / self.side - 0.68, y / self.side - 0.33);
        let angle = dy.atan2(dx);
        let radius = 0.13 * (1.0 + 0.22 * (2.0 * angle + 0.6).sin() + 0.1 * (5.0 * angle).sin());
        dx.hypot(dy) / radius
    }

    /// Height of the gabled roof over a position, if there is a house. Plots of 32 m, a house on
    /// most of them, in the north-west of the landscape.
    fn roof(&self, x: f64, y: f64) -> Option<f64> {
        const PLOT: f64 = 32.0;
        let (column, row) = ((x / PLOT).floor(), (y / PLOT).floor());
        let (centre_x, centre_y) = ((column + 0.5) * PLOT, (row + 0.5) * PLOT);
        let house = cell_id(column, row);
        if !self.is_village(centre_x, centre_y) || self.random(house, 30) < 0.2 {
            return None;
        }
        let half_length = 6.0 + 5.0 * self.random(house, 31);
        let half_width = 4.0 + 2.0 * self.random(house, 32);
        let (dx, dy) = (x - centre_x, y - centre_y);
        let (along, off) = if self.random(house, 33) < 0.5 { (dx, dy) } else { (dy, dx) };
        if along.abs() > half_length || off.abs() > half_width {
            return None;
        }
        let eaves = self.ground(centre_x, centre_y) + 5.0 + 3.0 * self.random(house, 34);
        Some(eaves + 0.6 * (half_width - off.abs()))
    }

    fn is_village(&self, x: f64, y: f64) -> bool {
        let (dx, dy) = (x / self.side - 0.27, y / self.side - 0.7);
        dx.hypot(dy) < 0.19
    }

    /// Height of the tree crown above the ground at a position, if there is one. A wood has a
    /// tree in each cell of 9 m, whose crown stays inside the cell.
    fn crown(&self, x: f64, y: f64) -> Option<f64> {
        const CELL: f64 = 9.0;
        let (column, row) = ((x / CELL).floor(), (y / CELL).floor());
        let tree = cell_id(column, row);
        let radius = 2.5 + 1.8 * self.random(tree, 40);
        let slack = CELL - 2.0 * radius;
        let place = |cell: f64, salt| cell * CELL + radius + slack * self.random(tree, salt);
        let (tree_x, tree_y) = (place(column, 41), place(row, 42));
        let from_stem = (x - tree_x).hypot(y - tree_y) / radius;
        if from_stem >= 1.0 || !self.is_wood(tree_x, tree_y) {
            return None;
        }
        let height = 8.0 + 9.0 * self.random(tree, 43);
        Some(height * (1.0 - 0.5 * from_stem * from_stem))
    }

    /// Woods grow where a slow wave is high, off the village and the shore.
    fn is_wood(&self, x: f64, y: f64) -> bool {
        let (u, v) = (x / self.side * TAU, y / self.side * TAU);
        let phase = TAU * self.random(0, 50);
        let wave = (1.3 * u + 0.8 * v.sin() + phase).sin() + (1.1 * v - 0.7 * u.cos()).sin();
        wave > 0.75 && !self.is_village(x, y) && self.shore(x, y) > 1.3
    }

    /// A number in [0, 1) for the `salt`-th question about thing `id`.
    fn random(&self, id: u64, salt: u64) -> f64 {
        let mixed = split_mix(split_mix(self.seed ^ split_mix(salt)).wrapping_add(id));
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A number for a cell of a landscape grid; the cells' columns and rows are below 2^32.
fn cell_id(column: f64, row: f64) -> u64 {
    (row as u64) << 32 | column as u64
}

/// SplitMix64 (Steele, Lea & Flood 2014, DOI 10.1145/2660193.2660195): the step and the finaliser.
fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_repeats_and_its_seed_matters() {
        let (a, b, c) = (
            fly(4000, 7, &gpu_core::Silent),
            fly(4000, 7, &gpu_core::Silent),
            fly(4000, 8, &gpu_core::Silent),
        );
        assert_eq!((&a.x, &a.z), (&b.x, &b.z));
        assert_ne!(a.z, c.z);
    }

    #[test]
    fn a_survey_has_what_it_promises() {
        let pulses = 40_000;
        let survey = fly(pulses, 1, &gpu_core::Silent);
        let points = survey.x.len() as f64 / pulses as f64;
        assert!((0.7..1.5).contains(&points), "{points} points a pulse");
        for class in [GROUND, TREE, BUILDING] {
            assert!(survey.class.contains(&class), "no point of class {class}");
        }
        assert!(survey.number_of_returns.contains(&3));
        let land = Landscape::new(pulses, 1);
        for (&x, &y) in survey.x.iter().zip(&survey.y) {
            assert!(land.shore(x - CORNER.0, y - CORNER.1) >= 1.0, "a return from the lake");
        }
    }

    #[test]
    fn the_smallest_surveys_end() {
        for pulses in [1, 2, 3, 10] {
            assert!(fly(pulses, 1, &gpu_core::Silent).x.len() as u64 <= 3 * pulses + 3);
        }
    }
}
