//! How a long call tells its caller how far it is.

use std::ops::ControlFlow;

use crate::Device;

/// Watches a long call, and may end it.
///
/// [`Silent`] watches nothing. Calls come from the thread that made the long call.
pub trait Progress {
    /// `stage` is under way and `fraction` (0 to 1) of it is done; [`ControlFlow::Break`] ends the
    /// call with the crate's `Cancelled` error.
    fn report(&self, stage: &'static str, fraction: f64) -> ControlFlow<()>;

    /// Reports, as a result.
    ///
    /// # Errors
    /// [`Cancelled`] where [`report`](Self::report) breaks.
    fn at(&self, stage: &'static str, fraction: f64) -> Result<(), Cancelled> {
        match self.report(stage, fraction) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Cancelled),
        }
    }
}

impl dyn Progress + '_ {
    /// Runs a stage of a call, and reports its beginning and its end.
    ///
    /// # Errors
    /// The errors of the work, and [`Cancelled`] if a report ends the call.
    pub fn during<T, E: From<Cancelled>>(
        &self,
        stage: &'static str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.at(stage, 0.0)?;
        let made = work()?;
        self.at(stage, 1.0)?;
        Ok(made)
    }
}

/// A progress that ignores all reports: every call runs to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silent;

impl Progress for Silent {
    fn report(&self, _: &'static str, _: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The caller's [`Progress`] ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// The device of a call, and the progress that the call reports to. A `&Device` converts to one without progress.
///
/// ```
/// use std::cell::Cell;
/// use std::ops::ControlFlow;
/// use gpu_core::{Device, On, Progress};
///
/// fn halve<'on>(on: impl Into<On<'on>>, numbers: &[f64]) -> Result<Vec<f64>, gpu_core::Cancelled> {
///     let On { progress, .. } = on.into();
///     progress.at("halve", 0.0)?;
///     Ok(numbers.iter().map(|number| number / 2.0).collect())
/// }
///
/// struct Count(Cell<u32>);
/// impl Progress for Count {
///     fn report(&self, _stage: &'static str, _fraction: f64) -> ControlFlow<()> {
///         self.0.set(self.0.get() + 1);
///         ControlFlow::Continue(())
///     }
/// }
///
/// let (device, count) = (Device::Cpu, Count(Cell::new(0)));
/// assert_eq!(halve(&device, &[4.0]), Ok(vec![2.0]));
/// assert_eq!(halve(device.with_progress(&count), &[6.0]), Ok(vec![3.0]));
/// assert_eq!(count.0.get(), 1);
/// ```
#[derive(Clone, Copy)]
pub struct On<'a> {
    /// The device that does the work.
    pub device: &'a Device,
    /// Watches the call, and may end it.
    pub progress: &'a dyn Progress,
}

impl<'a> From<&'a Device> for On<'a> {
    fn from(device: &'a Device) -> Self {
        Self { device, progress: &Silent }
    }
}

impl Device {
    /// Returns this device with a progress, for one call.
    pub fn with_progress<'a>(&'a self, progress: &'a dyn Progress) -> On<'a> {
        On { device: self, progress }
    }
}
