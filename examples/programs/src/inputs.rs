//! The files that a command line means: names, folders and patterns.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Files in the order given; those of a folder or a pattern by name, and each once.
///
/// # Errors
/// A folder without point files, a pattern that no file matches.
pub fn expand(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for input in inputs {
        if input.is_dir() {
            files.extend(files_in(input)?);
        } else if is_pattern(input) {
            files.extend(matches(input)?);
        } else {
            files.push(input.clone());
        }
    }
    let mut seen = Vec::new();
    files.retain(|file: &PathBuf| {
        let place = file.canonicalize().unwrap_or_else(|_| file.clone());
        let is_new = !seen.contains(&place);
        seen.push(place);
        is_new
    });
    Ok(files)
}

/// A name with a wildcard is one, unless there is a file of that very name.
fn is_pattern(input: &Path) -> bool {
    input.to_str().is_some_and(|text| text.contains(['*', '?', '['])) && !input.exists()
}

fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_string_lossy();
    let paths = glob::glob(&text).with_context(|| format!("the pattern {text}"))?;
    let found =
        paths.collect::<Result<Vec<_>, _>>().with_context(|| format!("the pattern {text}"))?;
    ensure!(!found.is_empty(), "no file matches {text}");
    Ok(found.into_iter().filter(|path| path.is_file()).collect())
}

/// The LAS and LAZ files of a folder, else its tables; not those of its folders.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.with_context(|| folder.display().to_string())?.path());
    }
    paths.sort();
    for endings in [&["las", "laz"][..], &["csv", "txt", "xyz"]] {
        let ends = |path: &&PathBuf| endings.contains(&crate::args::ending(path).as_str());
        let found: Vec<_> = paths.iter().filter(|p| p.is_file()).filter(ends).cloned().collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    anyhow::bail!(
        "the folder {} has no point files (.las, .laz, .csv, .txt, .xyz)",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_patterns_are_their_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.laz", "a.LAS", "points.csv", "read.me", "odd[1].csv"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let at = |name: &str| folder.path().join(name);
        let names = |inputs: &[PathBuf]| {
            let files = expand(inputs).unwrap();
            files
                .iter()
                .map(|f| f.file_name().unwrap().to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&[folder.path().to_owned()]), ["a.LAS", "b.laz"]);
        assert_eq!(names(&[at("*.csv")]), ["odd[1].csv", "points.csv"]);
        assert_eq!(names(&[at("odd[1].csv")]), ["odd[1].csv"]);
        assert_eq!(names(&[at("b.laz"), at("?.laz"), at("missing.laz")]), ["b.laz", "missing.laz"]);
        assert!(expand(&[at("*.ply")]).unwrap_err().to_string().contains("*.ply"));
        std::fs::create_dir(at("empty")).unwrap();
        assert!(expand(&[at("empty")]).unwrap_err().to_string().contains("no point files"));
    }
}
