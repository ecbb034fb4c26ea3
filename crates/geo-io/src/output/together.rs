//! Several outputs that take their names together, or none of them.

use std::cell::RefCell;

use crate::Result;

/// The last step of an output.
type Finish = Box<dyn FnOnce() -> Result<()>>;

thread_local! {
    /// The last steps of complete outputs that wait for others, inside [`write_together`].
    static WAITING: RefCell<Option<Vec<Finish>>> = const { RefCell::new(None) };
}

/// Runs `work`, and gives the files that it writes on this thread their names when all of it has succeeded. Until then
/// they have temporary names; if `work` fails, they are removed.
///
/// ```
/// use geo_io::{Error, write_file, write_together};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("log.txt");
/// let failed = write_together(|| {
///     write_file(&path, |_| Ok(()))?;
///     Err::<(), Error>(Error::Cancelled) // the next file
/// });
/// assert!(failed.is_err() && !path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of `work`, and [`Error::Write`](crate::Error::Write) or another if a file cannot take its name.
pub fn write_together<T, E: From<crate::Error>>(
    work: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let outer = Outer(WAITING.replace(Some(Vec::new())));
    let done = work();
    let waiting = WAITING.take().unwrap_or_default();
    drop(outer);
    let done = done?;
    waiting.into_iter().try_for_each(finish)?;
    Ok(done)
}

/// Takes the last step of an output, or lets it wait for the others.
pub(crate) fn finish(step: impl FnOnce() -> Result<()> + 'static) -> Result<()> {
    let step = WAITING.with_borrow_mut(|waiting| match waiting {
        Some(waiting) => {
            waiting.push(Box::new(step));
            None
        }
        None => Some(step),
    });
    step.map_or(Ok(()), |step| step())
}

/// What waits around a call, which comes back however the call ends.
struct Outer(Option<Vec<Finish>>);

impl Drop for Outer {
    fn drop(&mut self) {
        WAITING.set(self.0.take());
    }
}
