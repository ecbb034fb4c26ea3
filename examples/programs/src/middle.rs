//! Points far from all others: they make the rectangle of all points large and mostly empty.

use gpu_core::{Bounds, Shortest};

use crate::rounded::rounded;

/// About how many points tell where nearly all lie.
pub const SAMPLE: usize = 100_000;

/// The rectangle of nearly all points, and the strays beyond it.
pub struct Middle {
    /// The `--bounds` that a note names.
    bounds: Bounds,
    /// The area of the rectangle of all points, in areas of this one.
    times: f64,
    points: u64,
    strays: u64,
    /// How far beyond the bounds the farthest stray lies, and its place.
    farthest: Option<(f64, [f64; 2])>,
}

impl Middle {
    /// Finds the rectangle of nearly all points by a sample of them, the columns of x and y. `all` is the rectangle of
    /// all points. Returns `None` if most of that rectangle is not empty, and of fewer than 20 points.
    ///
    /// The rectangle leaves out the outermost hundredth of the sample on each side, at least one point. If 100 points
    /// are spread evenly it has nine tenths of the area, of 20 points three quarters.
    pub fn of(mut sample: [Vec<f64>; 2], all: &Bounds) -> Option<Self> {
        const TIMES: f64 = 20.0;
        // Of fewer points those in the middle tell nothing of the others.
        const FEWEST: usize = 20;
        if sample[0].len() < FEWEST {
            return None;
        }
        let [[west, east], [south, north]] = sample.each_mut().map(|column| {
            column.sort_unstable_by(f64::total_cmp);
            let last = column.len() - 1;
            // Of few points one on each side.
            let outer = (0.01 * last as f64).round().max(1.0) as usize;
            [column[outer], column[last - outer]]
        });
        let times =
            (all.max_x - all.min_x) / (east - west) * ((all.max_y - all.min_y) / (north - south));
        if !times.is_finite() || times < TIMES {
            return None;
        }
        let margin = 0.1 * (east - west).max(north - south);
        let bounds = rounded(&Bounds {
            min_x: west - margin,
            min_y: south - margin,
            max_x: east + margin,
            max_y: north + margin,
        })?;
        Some(Self { bounds, times, points: 0, strays: 0, farthest: None })
    }

    /// Counts points, and the strays among them.
    pub fn add(&mut self, x: &[f64], y: &[f64]) {
        let Bounds { min_x: a, min_y: b, max_x: c, max_y: d } = self.bounds;
        self.points += x.len() as u64;
        for (&x, &y) in x.iter().zip(y) {
            let beyond = (a - x).max(x - c).max(b - y).max(y - d);
            if beyond > 0.0 {
                self.strays += 1;
                if self.farthest.is_none_or(|(most, _)| beyond >= most) {
                    self.farthest = Some((beyond, [x, y]));
                }
            }
        }
    }

    /// Returns a note on the strays that were counted, if there are any. It has their number, the place of the farthest
    /// one, and the `--bounds` that hold the others.
    pub fn note(&self) -> Option<String> {
        let (_, [x, y]) = self.farthest?;
        let Bounds { min_x, min_y, max_x, max_y } = self.bounds;
        let [a, b, c, d] = [min_x, min_y, max_x, max_y].map(Shortest);
        let (count, points, times) = (self.strays, self.points, self.times);
        let times = if times < 1e6 { format!("{times:.0}") } else { format!("{times:.0e}") };
        Some(format!(
            "{count} of {points} points {} far from the others, the farthest at {x} {y}: the rectangle of all has {times} \
             times the area of that of the others, which --bounds={a},{b},{c},{d} would hold",
            if count == 1 { "lies" } else { "lie" },
        ))
    }
}
