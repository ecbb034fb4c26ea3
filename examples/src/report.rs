//! What a program prints at its end.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use geo_io::Tally;
use gpu_core::{Device, DeviceChoice, GridSpec};

use crate::stages::Stage;

/// The report under way: lines of text, each under a heading of the same width.
#[derive(Default)]
pub struct Report(String);

impl Report {
    /// A line; what goes on under the line above has no heading.
    pub fn line(&mut self, heading: &str, text: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{heading:<11} {text}");
    }

    /// One file: what was read, kept, dropped and why.
    pub fn input(&mut self, path: &Path, tally: &Tally) {
        let mut text =
            format!("{}: {} points read, {} kept", path.display(), tally.read, tally.kept);
        for (count, why) in [
            (tally.dropped_class, "by class"),
            (tally.dropped_return, "by return"),
            (tally.dropped_withheld, "withheld"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} dropped {why}");
            }
        }
        self.line("input", text);
    }

    /// The device that did the work and, where `auto` fell back to the CPU, why.
    pub fn device(&mut self, device: &Device, asked: DeviceChoice) {
        self.line("device", device.name());
        if let (DeviceChoice::Auto, Device::Cpu) = (asked, device)
            && let Some(why) = Device::why_no_gpu()
        {
            self.line("", format_args!("no GPU taken: {why}"));
        }
    }

    /// A grid and the range of its values, NaN being NODATA.
    pub fn raster(&mut self, what: &str, grid: &GridSpec, quantity: &str, values: &[f32]) {
        let (width, height) = (grid.width, grid.height);
        let known = values.iter().filter(|v| !v.is_nan());
        let share = 100.0 * (1.0 - known.clone().count() as f64 / grid.cells().max(1) as f64);
        let cell = grid.cell_size;
        self.line(what, format_args!("{width} x {height} cells of {cell}, {share:.1}% NODATA"));
        let b = grid.bounds();
        self.line("extent", format_args!("{} {} to {} {}", b.min_x, b.min_y, b.max_x, b.max_y));
        match known.map(|&v| (v, v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            Some((low, high)) => self.line(quantity, format_args!("{low:.2} to {high:.2}")),
            None => self.line(quantity, "none: every cell is NODATA"),
        }
    }

    /// Seconds per stage, and per part of a stage.
    pub fn stages(&mut self, stages: &[Stage]) {
        for stage in stages {
            self.line("time", format_args!("{:>8.3} s  {}", stage.seconds, stage.name));
            for (part, seconds) in &stage.parts {
                self.line("", format_args!("{seconds:>8.3} s    {part}"));
            }
        }
    }

    /// The files that were written.
    pub fn written<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        for path in paths {
            self.line("written", path.display());
        }
    }

    /// Prints the report; a reader that went away is no error.
    pub fn print(&self) {
        use std::io::Write as _;
        let _ = std::io::stdout().write_all(self.0.as_bytes());
    }
}
