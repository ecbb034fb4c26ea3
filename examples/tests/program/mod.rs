//! A program as its users meet it: what its runs must and must not do.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program under test.
pub struct Program {
    /// Its name, with which its messages begin.
    pub name: &'static str,
    /// Its file.
    pub path: &'static str,
}

impl Program {
    fn run(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.path);
        command.current_dir(folder).args(arguments).output().expect("the program starts")
    }

    /// Runs the program, which must succeed in silence on standard error, and gives its report.
    pub fn succeeds(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = self.run(folder, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        assert_eq!(errors, "", "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the program on bad input: code 2, one line that holds all of `words`, no new file.
    pub fn fails(&self, folder: &Path, arguments: &[&str], words: &[&str]) {
        let before = files(folder);
        let output = self.run(folder, arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert_eq!(errors.matches('\n').count(), 1, "{arguments:?}: {errors:?}");
        let begin = format!("{}: ", self.name);
        assert!(errors.starts_with(&begin) && errors.ends_with('\n'), "{errors:?}");
        for word in words {
            assert!(errors.contains(word), "{arguments:?}: no {word:?} in {errors:?}");
        }
        assert_eq!(files(folder), before, "{arguments:?} left files");
    }
}

/// The files in a folder, by name.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
