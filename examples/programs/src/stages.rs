//! Progress bars and the seconds of each stage, both from the same reports.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Instant;

use gpu_core::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// One step of the program, and the steps that the library reported inside it.
pub struct Stage {
    /// The name of the work.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// The library's own steps and their seconds, in order of first report.
    pub parts: Vec<(&'static str, f64)>,
}

/// Work that a separate thread did beside stages.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The name of the work.
    pub what: String,
    /// The stages meanwhile.
    pub stages: &'static str,
    /// How long it took.
    pub seconds: f64,
}

/// Runs the program's stages one after the other, each under a bar.
///
/// The bar goes to standard error and is hidden where that is not a terminal.
pub struct Stages {
    is_quiet: bool,
    begun: Instant,
    done: Vec<Stage>,
    beside: Vec<Beside>,
    running: RefCell<Running>,
}

struct Running {
    bar: ProgressBar,
    parts: Vec<(&'static str, f64)>,
    /// The part under way, and since when.
    part: Option<(&'static str, Instant)>,
}

impl Default for Running {
    fn default() -> Self {
        Self { bar: ProgressBar::hidden(), parts: Vec::new(), part: None }
    }
}

/// A bar's length: fractions are shown to a thousandth.
const STEPS: u64 = 1000;

impl Stages {
    /// Makes an empty list of stages. If `is_quiet`, stages show no bars.
    pub fn new(is_quiet: bool) -> Self {
        let (done, beside) = (Vec::new(), Vec::new());
        Self { is_quiet, begun: Instant::now(), done, beside, running: RefCell::default() }
    }

    /// Runs one stage; `work` gets the bar to report to.
    pub fn run<T>(&mut self, name: &'static str, work: impl FnOnce(&dyn Progress) -> T) -> T {
        let start = Instant::now();
        let bar = if self.is_quiet { ProgressBar::hidden() } else { ProgressBar::new(STEPS) };
        let bar = bar.with_prefix(name).with_style(style());
        self.running.replace(Running { bar, ..Running::default() });
        let result = work(&*self);
        let mut running = self.running.take();
        running.end_part();
        running.bar.finish_and_clear();
        let seconds = start.elapsed().as_secs_f64();
        self.done.push(Stage { name, seconds, parts: running.parts });
        result
    }

    /// Notes parts of the last stage that it measured by itself.
    pub fn note_parts(&mut self, parts: impl IntoIterator<Item = (&'static str, f64)>) {
        if let Some(stage) = self.done.last_mut() {
            stage.parts.extend(parts);
        }
    }

    /// Notes work that ran beside a stage.
    pub fn note_beside(&mut self, what: &str, stages: &'static str, seconds: f64) {
        self.beside.push(Beside { what: what.to_owned(), stages, seconds });
    }

    /// What ran beside stages.
    pub fn beside(&self) -> &[Beside] {
        &self.beside
    }

    /// What has run so far.
    pub fn done(&self) -> &[Stage] {
        &self.done
    }

    /// The seconds since the first stage could begin, and the stage that took most of them.
    pub fn in_all(&self) -> Option<(f64, &Stage)> {
        let slowest = self.done.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
        Some((self.begun.elapsed().as_secs_f64(), slowest))
    }
}

impl Progress for Stages {
    fn report(&self, part: &'static str, fraction: f64) -> ControlFlow<()> {
        let mut running = self.running.borrow_mut();
        running.enter(part);
        running.bar.set_message(part);
        running.bar.set_position((fraction.clamp(0.0, 1.0) * STEPS as f64) as u64);
        ControlFlow::Continue(())
    }
}

impl Running {
    fn enter(&mut self, part: &'static str) {
        if self.part.is_none_or(|(name, _)| name != part) {
            self.end_part();
            self.part = Some((part, Instant::now()));
        }
    }

    fn end_part(&mut self) {
        let Some((part, since)) = self.part.take() else { return };
        let seconds = since.elapsed().as_secs_f64();
        match self.parts.iter_mut().find(|(name, _)| *name == part) {
            Some((_, sum)) => *sum += seconds,
            None => self.parts.push((part, seconds)),
        }
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{prefix:12} [{bar:40}] {percent:>3}% {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
