//! Several outputs that take their names together, or none of them.

use std::cell::RefCell;

use crate::Result;

/// An output whose bytes are on the disk, under a temporary name. Dropped, it is removed.
pub(crate) trait Nameless {
    /// Refuses what makes it impossible to take the name: a file that must stay, or that is read-only.
    fn check(&mut self) -> Result<()>;

    /// Takes the name.
    fn take_name(self: Box<Self>) -> Result<()>;
}

thread_local! {
    /// The complete outputs that wait for others, inside [`write_together`].
    static WAITING: RefCell<Option<Vec<Box<dyn Nameless>>>> = const { RefCell::new(None) };
}

/// Runs `work`, and gives the files that it writes on this thread their names when all of it has succeeded.
///
/// Until then the files have temporary names, and their bytes are on the disk. If `work` fails, or if one of the names is
/// taken by a file that must stay, all of them are removed, and old files stay as they are. Only an error of the system
/// between two renames can leave one file new and another old.
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
    let mut waiting = WAITING.take().unwrap_or_default();
    drop(outer);
    let done = done?;
    let is_inner = WAITING
        .with_borrow_mut(|outer| outer.as_mut().map(|outer| outer.append(&mut waiting)).is_some());
    if !is_inner {
        name_all(waiting)?;
    }
    Ok(done)
}

/// Gives an output its name, or lets it wait for the others.
pub(crate) fn finish(output: impl Nameless + 'static) -> Result<()> {
    let output: Box<dyn Nameless> = Box::new(output);
    let alone = WAITING.with_borrow_mut(|waiting| match waiting {
        Some(waiting) => {
            waiting.push(output);
            None
        }
        None => Some(output),
    });
    name_all(alone.into_iter().collect())
}

/// Gives outputs their names when all of them can take theirs.
fn name_all(mut outputs: Vec<Box<dyn Nameless>>) -> Result<()> {
    outputs.iter_mut().try_for_each(|output| output.check())?;
    outputs.into_iter().try_for_each(Nameless::take_name)
}

/// What waits around a call, which comes back however the call ends.
struct Outer(Option<Vec<Box<dyn Nameless>>>);

impl Drop for Outer {
    fn drop(&mut self) {
        WAITING.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;
    use crate::{Error, Existing, Output, write_file};

    fn write(path: &Path, existing: Existing, text: &str) -> Result<()> {
        write_file(Output { path, existing }, |file| file.write_all(text.as_bytes()))
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn if_another_program_takes_one_name_all_old_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
        for existing in [Existing::Refuse, Existing::KeepSame] {
            std::fs::write(&first, "old").unwrap();
            let done = write_together(|| {
                write(&first, Existing::Replace, "new")?;
                write(&second, existing, "new")?;
                // Another program's, after the check at the beginning.
                std::fs::write(&second, "other").map_err(|e| Error::write(&second, e))
            });
            assert!(done.is_err());
            assert_eq!(std::fs::read_to_string(&first).unwrap(), "old");
            assert_eq!(std::fs::read_to_string(&second).unwrap(), "other");
            std::fs::remove_file(&second).unwrap();
        }
        assert_eq!(names(folder.path()), ["a.txt"]);
    }

    #[test]
    fn what_is_written_together_within_others_waits_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
        let both = |end: Result<()>| {
            write_together(|| {
                write_together(|| write(&first, Existing::Refuse, "inner"))?;
                assert!(!first.exists(), "it waits");
                write(&second, Existing::Refuse, "outer")?;
                end
            })
        };
        assert!(both(Err(Error::Cancelled)).is_err());
        assert_eq!(names(folder.path()), [""; 0]);
        both(Ok(())).unwrap();
        assert_eq!(names(folder.path()), ["a.txt", "b.txt"]);
    }
}
