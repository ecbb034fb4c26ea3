//! What the program prints at its end.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use geo_io::Tally;
use gpu_core::{Device, DeviceChoice};
use nni_grid::Dem;

use crate::stages::Stage;

/// The report under way: lines of text, each under a heading of the same width.
#[derive(Default)]
pub struct Report(String);

impl Report {
    fn line(&mut self, heading: &str, text: impl Display) {
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

    /// Classes that were asked for and that no point has.
    pub fn absent_classes(&mut self, absent: &[u8]) {
        for class in absent {
            self.line("note", format_args!("no point has class {class}"));
        }
    }

    /// The coordinate system of the result.
    pub fn crs(&mut self, crs: Option<&geo_io::Crs>) {
        match crs {
            Some(crs) => self.line("crs", crs),
            None => self.line("crs", "unknown: the files name none (--crs gives one)"),
        }
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

    /// The grid, its values, and what became of the points.
    pub fn dem(&mut self, dem: &Dem) {
        let (s, g) = (&dem.summary, &dem.grid);
        self.line(
            "sites",
            format_args!(
                "{} from {} points; {} merged into a shared pixel, {} outside the grid",
                s.sites, s.points, s.merged, s.outside
            ),
        );
        let share = 100.0 * s.nodata as f64 / g.cells().max(1) as f64;
        self.line(
            "dem",
            format_args!("{} x {} cells of {}, {share:.1}% NODATA", g.width, g.height, g.cell_size),
        );
        let b = g.bounds();
        self.line("extent", format_args!("{} {} to {} {}", b.min_x, b.min_y, b.max_x, b.max_y));
        match range(&dem.values) {
            Some((low, high)) => self.line("heights", format_args!("{low:.2} to {high:.2}")),
            None => self.line("heights", "none: every cell is NODATA"),
        }
    }

    /// The contour lines.
    pub fn contours(&mut self, lines: usize, interval: f64) {
        self.line("contours", format_args!("{lines} lines, one every {interval}"));
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
    pub fn written(&mut self, paths: &[PathBuf]) {
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

/// Lowest and highest value that is not NODATA.
fn range(values: &[f32]) -> Option<(f32, f32)> {
    values
        .iter()
        .copied()
        .filter(|v| !v.is_nan())
        .map(|v| (v, v))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}
