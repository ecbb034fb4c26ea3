//! The device, opened while files are read: the driver takes a quarter of a second for that, and on a machine's first
//! run seconds to compile the kernels.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::Result;
use geo_io::ReadOn;
use gpu_core::{Device, DeviceChoice, Progress};

use crate::stages::Stages;

/// What loads the kernels.
type Load = Box<dyn FnOnce(&Device) + Send>;

/// A device that is being opened.
pub struct Opening {
    /// The device, what was done for it, and the seconds that it took.
    opened: JoinHandle<(gpu_core::Result<Device>, &'static str, f64)>,
    /// The same device as soon as it is open, for a stage that runs at the same time; `None` if it cannot be opened.
    early: Arc<OnceLock<Option<Device>>>,
    has_failed: Arc<AtomicBool>,
    /// A channel that tells whether the device will be needed.
    is_wanted: Sender<bool>,
}

impl Opening {
    /// Begins to open the device.
    pub fn begin(choice: DeviceChoice) -> Self {
        Self::new(choice, None)
    }

    /// Begins to open the device, and loads kernels if it is a GPU. To load them, `load` does a small piece of the
    /// device's later work, and its result is dropped.
    ///
    /// `load` waits for the first report of progress from the stage that runs at the same time. So unreadable input
    /// does not wait for kernels.
    pub fn begin_with(choice: DeviceChoice, load: impl FnOnce(&Device) + Send + 'static) -> Self {
        Self::new(choice, Some(Box::new(load)))
    }

    fn new(choice: DeviceChoice, load: Option<Load>) -> Self {
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = Arc::clone(&has_failed);
        let early = Arc::new(OnceLock::new());
        let told = Told(Arc::clone(&early));
        let (is_wanted, wanted) = channel();
        let opened = std::thread::spawn(move || {
            let begin = Instant::now();
            let device = Device::open(choice);
            told.tell(device.as_ref().ok().cloned());
            failed.store(device.is_err(), Ordering::Relaxed);
            let (mut what, mut seconds) = ("device opened", begin.elapsed().as_secs_f64());
            if let (Ok(device), Some(load)) = (&device, load)
                && !matches!(device, Device::Cpu)
                && choice != DeviceChoice::Software
                && wanted.recv() == Ok(true)
            {
                let begin = Instant::now();
                load(device);
                what = "device opened, kernels loaded";
                seconds += begin.elapsed().as_secs_f64();
            }
            (device, what, seconds)
        });
        Self { opened, early, has_failed, is_wanted }
    }

    /// Runs a stage that can do without the device while the device opens. A stage that reads large point files may wait
    /// for the device, and have their chunks decoded there. If the device cannot be opened, the stage ends at its next
    /// report of progress, with the device's error.
    pub fn beside<T>(
        self,
        stages: &mut Stages,
        name: &'static str,
        work: impl FnOnce(ReadOn) -> Result<T>,
    ) -> Result<(Device, T)> {
        let Self { opened, early, has_failed, is_wanted } = self;
        let device = || early.wait().clone();
        let done = stages.run(name, |progress| {
            let watched = Watched { progress, has_failed: &has_failed, is_wanted: &is_wanted };
            work(ReadOn::once_open(&device, &watched))
        });
        // The other thread reads the first message only, and may have ended: an error here means nothing.
        let _ = is_wanted.send(done.is_ok());
        let (device, what, seconds) = opened.join().unwrap_or_else(|panic| resume_unwind(panic));
        stages.note_beside(what, name, seconds);
        Ok((device?, done?))
    }
}

/// Tells of a device that was opened, and however opening ends, that it has ended.
struct Told(Arc<OnceLock<Option<Device>>>);

impl Told {
    fn tell(&self, device: Option<Device>) {
        // It is told once: where that fails, somebody knows already.
        let _ = self.0.set(device);
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.tell(None);
    }
}

/// Progress that reports that the device is needed, and ends the stage if the device could not be opened.
struct Watched<'a> {
    progress: &'a dyn Progress,
    has_failed: &'a AtomicBool,
    is_wanted: &'a Sender<bool>,
}

impl Progress for Watched<'_> {
    fn report(&self, stage: &'static str, fraction: f64) -> ControlFlow<()> {
        if self.has_failed.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        // The other thread reads the first message only, and may have ended: an error here means nothing.
        let _ = self.is_wanted.send(true);
        self.progress.report(stage, fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_ends_the_stage_and_is_the_error() {
        let opening = Opening::begin(DeviceChoice::Cuda(4096));
        let mut reports = 0;
        let outcome = opening.beside(&mut Stages::new(true), "read", |on| {
            loop {
                on.progress.at("points", 0.5)?;
                reports += 1;
            }
            #[expect(unreachable_code, reason = "the type of what it would give")]
            Ok(())
        });
        let error = outcome.map(drop).unwrap_err();
        assert!(error.downcast_ref::<gpu_core::Error>().is_some(), "{error:#} after {reports}");
    }

    #[test]
    fn a_stage_gets_the_device_that_is_opened_meanwhile_or_none() {
        for (choice, is_there) in [(DeviceChoice::Cpu, true), (DeviceChoice::Cuda(4096), false)] {
            let opening = Opening::begin(choice);
            assert_eq!(opening.early.wait().is_some(), is_there);
        }
        // A thread that panics tells that there is none.
        let early = Arc::new(OnceLock::new());
        let told = Told(Arc::clone(&early));
        let opened = std::thread::spawn(move || {
            let _told = told;
            panic!("as a driver may")
        });
        assert!(early.wait().is_none() && opened.join().is_err());
    }

    #[test]
    fn kernels_are_loaded_for_a_stage_that_reports_and_for_no_other() {
        let loads = |reports: bool, succeeds: bool| {
            let (is_wanted, wanted) = channel();
            let opened = std::thread::spawn(move || match wanted.recv() {
                Ok(true) => (Ok(Device::Cpu), "loaded", 0.0),
                _ => (Ok(Device::Cpu), "not loaded", 0.0),
            });
            let (early, has_failed) = (Arc::default(), Arc::default());
            let opening = Opening { opened, early, has_failed, is_wanted };
            let mut stages = Stages::new(true);
            let _ = opening.beside(&mut stages, "read", |on| -> Result<()> {
                if reports {
                    on.progress.at("points", 0.0)?;
                }
                anyhow::ensure!(succeeds, "no such file");
                Ok(())
            });
            stages.beside()[0].what == "loaded"
        };
        assert_eq!([loads(true, true), loads(true, false), loads(false, true)], [true; 3]);
        assert!(!loads(false, false));
    }

    #[test]
    fn a_stage_that_fails_is_the_error_of_a_device_that_is_there() {
        let opening = Opening::begin(DeviceChoice::Cpu);
        let fails = |_: ReadOn| -> Result<()> { anyhow::bail!("no such file") };
        let error = opening.beside(&mut Stages::new(true), "read", fails).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "no such file");
    }
}
