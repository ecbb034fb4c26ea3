//! The report that a program prints at its end: lines for people, or one JSON object for programs.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use geo_io::{Crs, Tally};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Device, DeviceChoice, GridSpec, Shortest};
use serde_json::{Map, Value, json};

use crate::args::{RunArgs, ending, is_stream};
use crate::stages::{Beside, Stages};

/// How many points were dropped, the name of the reason, and the reason in words; without those of which there are none.
pub(crate) fn dropped_in_words(
    tally: &Tally,
) -> impl Iterator<Item = (u64, &'static str, &'static str)> {
    let all = [
        (tally.dropped_class, "class", "by class"),
        (tally.dropped_noise, "noise", "as noise (classes 7 and 18)"),
        (tally.dropped_return, "return", "by return"),
        (tally.dropped_withheld, "withheld", "withheld"),
        (tally.dropped_outside, "outside", "out of reach of --bounds"),
    ];
    all.into_iter().filter(|(count, ..)| *count > 0)
}

/// The report under way: lines of text, each under a heading of the same width, and the same as fields.
#[derive(Default)]
pub struct Report {
    text: String,
    fields: Map<String, Value>,
    /// Whether a result went to standard output.
    is_output_taken: bool,
}

/// What the values of a band are.
#[derive(Clone, Copy, Debug)]
pub enum Quantity<'a> {
    /// A word of the program's, which no other member of the report has.
    Own(&'a str),
    /// A name that the user gave, such as one of a column. Any member may have it, so such names stand under `values`.
    Users(&'a str),
}

impl<'a> Quantity<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Own(name) | Self::Users(name) => name,
        }
    }
}

impl Report {
    /// Adds a line without a field. An empty heading continues the line above.
    pub fn line(&mut self, heading: &str, text: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{heading:<11} {text}");
    }

    /// A field without a line.
    pub fn field(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    /// An element of a field that is a list.
    pub fn element(&mut self, name: &str, value: impl Into<Value>) {
        let list = self.fields.entry(name).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(value.into());
        }
    }

    /// Notes for the user.
    pub fn note(&mut self, text: impl Display) {
        let text = text.to_string();
        self.line("note", &text);
        self.element("notes", text);
    }

    /// Reports how many points of a file were read, kept and dropped, and why.
    pub fn input(&mut self, path: &Path, tally: &Tally) {
        let mut text =
            format!("{}: {} points read, {} kept", path.display(), tally.read, tally.kept);
        let mut dropped = Map::new();
        for (count, name, why) in dropped_in_words(tally) {
            let _ = write!(text, ", {count} dropped {why}");
            dropped.insert(name.to_owned(), count.into());
        }
        self.line("input", text);
        let path = path.display().to_string();
        let (read, kept) = (tally.read, tally.kept);
        let input = json!({"path": path, "read": read, "kept": kept, "dropped": dropped});
        self.element("inputs", input);
    }

    /// Reports how many features of a file have no geometry.
    pub fn features_skipped(&mut self, skipped: usize, features: usize) {
        if skipped > 0 {
            let have = if skipped == 1 { "has" } else { "have" };
            self.note(format_args!("{skipped} of {features} features {have} no geometry"));
        }
        self.field("features_skipped", skipped);
    }

    /// The coordinate system.
    pub fn crs(&mut self, crs: Option<&Crs>) {
        match crs {
            Some(crs) => self.line("crs", crs),
            None => self.line("crs", "unknown: the files name none (--crs gives one)"),
        }
        self.field("crs", crs.map(Crs::to_string));
    }

    /// Reports the device that did the work and, if `auto` fell back to the CPU, why.
    pub fn device(&mut self, device: &Device, asked: DeviceChoice) {
        let name = match device {
            // The number of threads that this program uses, which may be fewer than the machine has.
            Device::Cpu => format!("CPU ({} threads)", rayon::current_num_threads()),
            // Without CUDA there is no other.
            #[allow(unreachable_patterns)]
            other => other.name(),
        };
        self.line("device", &name);
        self.field("device", name);
        if let (DeviceChoice::Auto, Device::Cpu) = (asked, device)
            && let Some(why) = Device::why_no_gpu()
        {
            self.line("", format_args!("no GPU taken: {why}"));
        }
    }

    /// The devices that did the work, by their numbers where they are several.
    pub fn devices(&mut self, devices: &[Device], asked: DeviceChoice) {
        if let [device] = devices {
            return self.device(device, asked);
        }
        for (card, device) in devices.iter().enumerate() {
            let heading = if card == 0 { "devices" } else { "" };
            self.line(heading, format_args!("{card}: {}", device.name()));
            self.element("devices", device.name());
        }
    }

    /// A grid and the range of its values, NaN being NODATA.
    pub fn raster(&mut self, what: &str, grid: &GridSpec, quantity: Quantity<'_>, values: &[f32]) {
        let (width, height) = (grid.width, grid.height);
        let (count, range) = ends_of(values);
        let share = 100.0 * (1.0 - count as f64 / grid.cells().max(1) as f64);
        let cell = Shortest(grid.cell_size);
        self.line(what, format_args!("{width} x {height} cells of {cell}, {share:.1}% NODATA"));
        let b = grid.bounds();
        self.line("extent", b);
        self.range(quantity.name(), range);
        let mut about = json!({
            "width": width, "height": height, "cell_size": cell.0,
            "bounds": [b.min_x, b.min_y, b.max_x, b.max_y],
            "nodata_cells": grid.cells() - count as u64,
        });
        let range = range.map(|(low, high)| [low, high]);
        match quantity {
            Quantity::Own(name) => about[name] = json!(range),
            Quantity::Users(name) => about["values"] = json!({name: range}),
        }
        self.field(what, about);
    }

    /// The range of a further band of a raster, NaN being NODATA.
    pub fn quantity(&mut self, quantity: Quantity<'_>, values: &[f32]) {
        let (count, range) = ends_of(values);
        self.range(quantity.name(), range);
        let range = range.map(|(low, high)| [low, high]);
        let about = json!({"nodata_cells": values.len() - count, "range": range});
        match quantity {
            Quantity::Own(name) => self.field(name, about),
            Quantity::Users(name) => {
                self.fields.entry("values").or_insert_with(|| json!({}))[name] = about;
            }
        }
    }

    fn range(&mut self, quantity: &str, range: Option<(f32, f32)>) {
        match range {
            Some((low, high)) => {
                let [low, high] = digits([low.into(), high.into()], 2);
                self.line(quantity, format_args!("{low} to {high}"));
            }
            None => self.line(quantity, "none: every cell is NODATA"),
        }
    }

    /// Adds the seconds of each stage and of its parts, the sum, and the slowest stage.
    pub fn stages(&mut self, stages: &Stages) {
        let mut seconds = Map::new();
        for stage in stages.done() {
            self.line("time", format_args!("{:>8.3} s  {}", stage.seconds, stage.name));
            seconds.insert(stage.name.to_owned(), stage.seconds.into());
            for (part, seconds) in &stage.parts {
                self.line("", format_args!("{seconds:>8.3} s    {part}"));
            }
        }
        self.field("seconds", seconds);
        if let Some((whole, slowest)) = stages.in_all() {
            let (name, share) = (slowest.name, 100.0 * slowest.seconds / whole);
            let slowest = match stages.done() {
                [_] => String::new(),
                _ => format!(", {share:.0}% of it the slowest stage: {name}"),
            };
            self.line("", format_args!("{whole:>8.3} s  in all{slowest}"));
            self.field("in_all", json!({"seconds": whole, "slowest": name}));
        }
    }

    /// Adds the work that ran beside the stages. The stages' seconds include only the time that they waited for it.
    pub fn beside(&mut self, beside: impl IntoIterator<Item = Beside>) {
        for Beside { what, stages, seconds } in beside {
            self.line("beside", format_args!("{seconds:>8.3} s  {what}, during {stages}"));
            self.element("beside", json!({"what": what, "stages": stages, "seconds": seconds}));
        }
    }

    /// The files that were written.
    pub fn written<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        for path in paths {
            self.is_output_taken |= is_stream(path);
            self.line("written", path.display());
            self.element("written", path.display().to_string());
            for older in files_of_another(path) {
                self.note(format_args!(
                    "{} is older than {}, but GDAL reads both as one raster: remove the older \
                     file if it does not belong",
                    older.display(),
                    path.display()
                ));
            }
        }
    }

    /// The files that were written, rasters of a coordinate system among them.
    pub fn rasters_written<'a>(
        &mut self,
        paths: impl IntoIterator<Item = &'a PathBuf>,
        crs: Option<&Crs>,
    ) {
        for path in paths {
            note_on_zarr(Some(path), crs).iter().for_each(|note| self.note(note));
            self.written([path]);
        }
    }

    /// Prints the report in the form that the options say. If one of the [written](Self::written) files is standard
    /// output, the report goes to standard error. A reader that has gone is not an error.
    pub fn print(&self, how: &RunArgs) {
        use std::io::Write as _;
        let text = match (how.quiet, how.json) {
            (true, _) => return,
            (false, true) => format!("{}\n", Value::Object(self.fields.clone())),
            (false, false) => self.text.clone(),
        };
        let written = if self.is_output_taken {
            std::io::stderr().write_all(text.as_bytes())
        } else {
            std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush())
        };
        match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                *LOST.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            _ => {}
        }
    }
}

/// Returns a note if a raster is a Zarr store, which cannot name its coordinate system.
pub fn note_on_zarr(path: Option<&PathBuf>, crs: Option<&Crs>) -> Option<String> {
    let path = path.filter(|path| ending(path) == "zarr")?.display();
    let crs = crs.filter(|crs| !geo_io::is_named_in_zarr(crs))?;
    Some(format!(
        "{path} names no coordinate system: {crs} has no EPSG code and no text; a GeoTIFF keeps it"
    ))
}

/// Why a report could not be written. The program fails with it after all else is done.
static LOST: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Why this program's report could not be written, if so.
pub(crate) fn lost() -> Option<std::io::Error> {
    LOST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The ends of no values.
const NO_ENDS: (f32, f32) = (f32::INFINITY, f32::NEG_INFINITY);

/// How many cells have a value, and the lowest and the highest.
fn ends_of(values: &[f32]) -> (usize, Option<(f32, f32)>) {
    let of_parts = parallel::map_ranges(values.len(), FINE, &|range| summary(&values[range]));
    let count: usize = of_parts.iter().map(|(count, _)| count).sum();
    let ends = of_parts.into_iter().map(|(_, ends)| ends);
    let (low, high) = ends.fold(NO_ENDS, |a, b| (a.0.min(b.0), a.1.max(b.1)));
    (count, (count > 0).then_some((low, high)))
}

/// The number of values that are not NaN, and the lowest and the highest of them.
fn summary(values: &[f32]) -> (usize, (f32, f32)) {
    values
        .iter()
        .filter(|v| !v.is_nan())
        .fold((0, NO_ENDS), |(count, (low, high)), &v| (count + 1, (low.min(v), high.max(v))))
}

/// Returns files beside a raster, older than it, that GDAL would take for parts of it: overviews, statistics, a mask.
/// They belong to a raster that this one replaced.
fn files_of_another(raster: &Path) -> Vec<PathBuf> {
    let written = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    let ending = raster.extension().unwrap_or_default().to_ascii_lowercase();
    let (true, Some(new)) = (["tif", "tiff", "png"].iter().any(|e| ending == *e), written(raster))
    else {
        return Vec::new();
    };
    let beside = |ending| {
        let mut name = raster.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let files = [".ovr", ".aux.xml", ".msk"].map(beside);
    files.into_iter().filter(|file| written(file).is_some_and(|old| old < new)).collect()
}

/// Returns numbers as text with this many decimals, or more if the largest would have fewer than three digits. Very
/// small and very large numbers have an exponent.
pub fn digits<const N: usize>(numbers: [f64; N], decimals: usize) -> [String; N] {
    let largest = numbers.iter().fold(0.0f64, |most, number| most.max(number.abs()));
    if largest > 0.0 && !(1e-4..1e15).contains(&largest) {
        return numbers.map(|number| format!("{number:.2e}"));
    }
    let zeros = if largest > 0.0 { (-largest.log10().floor()).max(0.0) as usize } else { 0 };
    let decimals = decimals.max(if zeros > 0 { zeros + 2 } else { 0 });
    numbers.map(|number| format!("{number:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_slowest_of_several_stages_is_named() {
        let text = |names: &[&'static str], parts: &[(&'static str, f64)]| {
            let mut stages = Stages::new(true);
            for (i, name) in names.iter().enumerate() {
                stages.run(name, |_| std::thread::sleep(Duration::from_millis(30 * i as u64)));
            }
            stages.note_parts(parts.iter().copied());
            let mut report = Report::default();
            report.stages(&stages);
            (report.text, report.fields["in_all"]["slowest"].clone())
        };
        let (several, slowest) = text(&["read", "write"], &[]);
        assert!(several.trim_end().ends_with("of it the slowest stage: write"), "{several}");
        assert_eq!(slowest, "write");
        // With one stage no slowest stage is named, and the parts of the stage stand below it.
        let (one, _) = text(&["tiles"], &[("make", 1.0)]);
        let lines: Vec<_> = one.lines().map(str::trim_end).collect();
        assert!(lines[1].ends_with("1.000 s    make"), "{one}");
        assert!(lines[2].ends_with(" s  in all"), "{one}");
    }

    #[test]
    fn small_numbers_have_digits_that_tell_something() {
        assert_eq!(digits([12.345, 1234.5], 2), ["12.35", "1234.50"]);
        assert_eq!(digits([0.0, 0.0], 2), ["0.00", "0.00"]);
        assert_eq!(digits([-0.5, 0.25], 2), ["-0.500", "0.250"]);
        assert_eq!(digits([0.001_234, -0.000_1], 4), ["0.00123", "-0.00010"]);
        assert_eq!(digits([1.5e-6, 3e-6], 2), ["1.50e-6", "3.00e-6"]);
        assert_eq!(digits([1.0e-50, -2.5e-50, 0.0], 4), ["1.00e-50", "-2.50e-50", "0.00e0"]);
    }

    #[test]
    fn what_belonged_to_the_raster_before_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let [raster, table] = ["a.tif", "a.csv"].map(|name| folder.path().join(name));
        for name in
            ["a.tif.ovr", "a.tif.msk", "a.csv.ovr", "b.tif.ovr", "a.tif", "a.csv", "a.tif.aux.xml"]
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let long_ago = FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(60));
        for name in ["a.tif.ovr", "a.tif.msk", "a.csv.ovr", "b.tif.ovr"] {
            File::options()
                .write(true)
                .open(folder.path().join(name))
                .unwrap()
                .set_times(long_ago)
                .unwrap();
        }
        let mut report = Report::default();
        report.written([&raster, &table]);
        let notes: Vec<_> = report.text.lines().filter(|line| line.starts_with("note")).collect();
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].contains("a.tif.ovr is older than") && notes[1].contains("a.tif.msk"));
    }

    #[test]
    fn names_that_users_gave_replace_no_member() {
        let mut report = Report::default();
        let grid = GridSpec::of_pixels(1, 1);
        report.raster("dem", &grid, Quantity::Users("height"), &[3.0]);
        report.quantity(Quantity::Users("dem"), &[4.0]);
        report.quantity(Quantity::Own("count"), &[5.0]);
        let of = |path: &str| Value::Object(report.fields.clone()).pointer(path).cloned();
        assert_eq!(of("/dem/height"), Some(json!(1)));
        assert_eq!(of("/dem/values/height"), Some(json!([3.0, 3.0])));
        assert_eq!(of("/values/dem/range"), Some(json!([4.0, 4.0])));
        assert_eq!(of("/count/nodata_cells"), Some(json!(0)));
    }
}
