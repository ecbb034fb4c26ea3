//! How a long call tells its caller where it is.

use std::ops::ControlFlow;

/// Watches a long call, and may end it.
///
/// `&()` watches nothing. Calls come from the thread that made the long call.
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

impl Progress for () {
    fn report(&self, _: &'static str, _: f64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The caller's [`Progress`] ended a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;
