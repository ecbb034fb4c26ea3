//! Balls in space around runs of sites that lie near each other, and around runs of such balls.
//!
//! Sites are divided in halves along the longest side of their box, again and again. So runs of 4, 16, 64 .. sites are compact
//! wherever the sites lie. Level 0 has a ball of radius 0 for each site. Each ball of a level holds [`FANOUT`] consecutive balls of the level
//! below; the last may hold fewer.

use std::ops::Range;

use kernels_rs::sphere_qtm::nearest::squared_chord;
use kernels_rs::sphere_qtm::triangle::Vector;
use rayon::prelude::*;

/// Balls in a ball.
pub(crate) const FANOUT: usize = 4;

/// Runs of more sites than this are divided on two cores.
const LONG: usize = 1 << 13;

/// A ball, which holds sites.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    /// Its centre: of level 0 the site's unit vector.
    pub(crate) centre: Vector,
    /// No site is farther from the centre. 0 exactly if all sites have one place.
    pub(crate) radius: f64,
    /// The lowest index of its sites.
    pub(crate) site: u32,
}

impl Ball {
    /// A ball around others, which are not none.
    fn around(balls: &[Self]) -> Self {
        let (mut least, mut greatest) = (balls[0].centre, balls[0].centre);
        for ball in balls {
            for axis in 0..3 {
                least[axis] = least[axis].min(ball.centre[axis] - ball.radius);
                greatest[axis] = greatest[axis].max(ball.centre[axis] + ball.radius);
            }
        }
        let centre = [0, 1, 2].map(|axis| 0.5 * (least[axis] + greatest[axis]));
        // Rounding of a chord of at most 2 is far below this; a radius of 0 stays 0.
        let reach =
            |ball: &Self| (squared_chord(centre, ball.centre).sqrt() + ball.radius) * (1.0 + 1e-12);
        let radius = balls.iter().map(reach).fold(0.0, f64::max);
        let site = balls.iter().map(|ball| ball.site).min().expect("not none");
        Self { centre, radius, site }
    }
}

/// All balls, level by level: of one site each first, fewer than [`FANOUT`] squared last.
pub(crate) struct Balls {
    levels: Vec<Vec<Ball>>,
}

impl Balls {
    /// Around sites, which are not none.
    pub(crate) fn new(sites: &[Vector]) -> Self {
        let ball = |(&centre, site): (&Vector, u32)| Ball { centre, radius: 0.0, site };
        let mut first: Vec<Ball> = sites.iter().zip(0..).map(ball).collect();
        divide(&mut first);
        let mut levels = vec![first];
        while let Some(below) = levels.last().filter(|below| below.len() > FANOUT) {
            levels.push(below.par_chunks(FANOUT).map(Ball::around).collect());
        }
        Self { levels }
    }

    /// The topmost level, and its balls.
    pub(crate) fn top(&self) -> (usize, Range<u32>) {
        let level = self.levels.len() - 1;
        (level, 0..self.levels[level].len() as u32)
    }

    /// A ball of a level.
    pub(crate) fn ball(&self, level: usize, of: u32) -> Ball {
        self.levels[level][of as usize]
    }

    /// The balls of the level below that a ball holds. Level 0 has none below.
    pub(crate) fn inside(&self, level: usize, of: u32) -> Range<u32> {
        let first = of * FANOUT as u32;
        first..(first + FANOUT as u32).min(self.levels[level - 1].len() as u32)
    }
}

/// Orders sites so that runs which begin at a multiple of a power of two, and have as many sites, are compact.
fn divide(sites: &mut [Ball]) {
    if sites.len() <= FANOUT {
        return;
    }
    let side = |axis: usize| {
        let along = sites.iter().map(|site| site.centre[axis]);
        along.clone().fold(f64::MIN, f64::max) - along.fold(f64::MAX, f64::min)
    };
    let sides = [0, 1, 2].map(side);
    let axis =
        if sides[0] >= sides[1].max(sides[2]) { 0 } else { 1 + usize::from(sides[2] > sides[1]) };
    // All of a run but the last are full.
    let half = sites.len().next_power_of_two() / 2;
    sites.select_nth_unstable_by(half, |a, b| {
        a.centre[axis].total_cmp(&b.centre[axis]).then(a.site.cmp(&b.site))
    });
    let is_long = sites.len() > LONG;
    let (near, far) = sites.split_at_mut(half);
    if is_long {
        rayon::join(|| divide(near), || divide(far));
    } else {
        divide(near);
        divide(far);
    }
}
