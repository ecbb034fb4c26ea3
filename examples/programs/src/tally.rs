//! What a raster holds that is written some rows after the other.

use serde_json::json;

use crate::report::{Report, digits};

/// How many cells have a value, and the lowest and the highest.
#[derive(Default)]
pub struct Tally {
    /// Rows that were counted: later passes over them are not.
    rows: usize,
    cells: u64,
    known: u64,
    range: Option<(f32, f32)>,
}

impl Tally {
    /// Counts rows, unless they were counted before. NaN is NODATA.
    pub fn add(&mut self, first: usize, values: &[f32], width: usize) {
        if first != self.rows {
            return;
        }
        self.rows += values.len() / width;
        self.cells += values.len() as u64;
        for &value in values.iter().filter(|value| !value.is_nan()) {
            let (low, high) = self.range.unwrap_or((value, value));
            self.range = Some((low.min(value), high.max(value)));
            self.known += 1;
        }
    }

    /// Returns the highest value.
    pub fn highest(&self) -> Option<f32> {
        self.range.map(|(_, high)| high)
    }

    /// Returns how many cells have no value.
    pub fn nodata(&self) -> u64 {
        self.cells - self.known
    }

    /// Says the range, with its unit if there is one.
    pub fn report(&self, report: &mut Report, name: &str, unit: Option<&str>) {
        let share = 100.0 * self.nodata() as f64 / self.cells.max(1) as f64;
        let unit = unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
        match self.range {
            Some((low, high)) => {
                let [low, high] = digits([low.into(), high.into()], 2);
                report.line(name, format_args!("{low} to {high}{unit}, {share:.1}% NODATA"));
            }
            None => report.line(name, "none: every cell is NODATA"),
        }
        let range = self.range.map(|(low, high)| [low, high]);
        report.field(name, json!({"range": range, "nodata_cells": self.nodata()}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_once() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.add(0, &[1.0, f32::NAN, -2.0, 4.0], 2);
            tally.add(2, &[7.0, 3.0], 2);
        }
        assert_eq!((tally.cells, tally.known, tally.range), (6, 5, Some((-2.0, 7.0))));
    }
}
