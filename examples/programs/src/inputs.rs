//! The files that a command line names: names, folders, patterns and catalogues.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use geo_io::Crs;
use glob::Pattern;
use serde_json::json;

use crate::catalogues::{Catalogue, CatalogueArgs, Content, Reach};
use crate::report::Report;

/// The files that inputs mean.
#[derive(Debug, Default)]
pub struct Files {
    /// The files, each once.
    pub paths: Vec<PathBuf>,
    /// The catalogues among the inputs, each with the number of its files, and how many of them the program takes.
    catalogues: Vec<(PathBuf, usize, usize)>,
    /// What folders have that is not taken.
    notes: Vec<String>,
}

impl Files {
    /// Finds the files in the order given. Files of a catalogue keep its order; files of points in a folder or of a
    /// pattern are in the order of their names. From a catalogue, it takes the files that overlap the ground that
    /// `reach` returns. `given` is the system by `--crs`.
    ///
    /// # Errors
    /// A folder without point files, a pattern that no file matches, what is wrong with a catalogue, and an option for
    /// catalogues without any.
    pub fn find(
        inputs: &[PathBuf],
        content: Content,
        args: &CatalogueArgs,
        given: Option<&Crs>,
        reach: Reach<'_>,
    ) -> Result<Self> {
        let mut files = Self::default();
        let named = match content {
            Content::Points => expand(inputs, &mut files.notes)?,
            Content::Rasters => inputs.to_vec(),
        };
        for path in named {
            let Some(catalogue) = Catalogue::read(&path, content, args)? else {
                files.paths.push(path);
                continue;
            };
            let chosen = catalogue.choose(content, given, reach)?;
            files.catalogues.push((path, catalogue.len(), chosen.len()));
            files.paths.extend(chosen);
        }
        let options = [("--asset", &args.asset), ("--path-column", &args.path_column)];
        let option = options.iter().find(|(_, value)| value.is_some());
        if let (Some((option, _)), true) = (option, files.catalogues.is_empty()) {
            bail!(
                "{option}: none of the inputs is a catalogue (.vpc, .json, or a table of polygons)"
            );
        }
        if !files.catalogues.is_empty() {
            files.paths = once(files.paths);
        }
        Ok(files)
    }

    /// Finds the single raster that an input names.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find), and for a catalogue of several.
    pub fn one_raster(input: &Path, args: &CatalogueArgs) -> Result<Self> {
        let nowhere: Reach<'_> = &|_| Ok(None);
        let files = Self::find(&[input.to_owned()], Content::Rasters, args, None, nowhere)?;
        let (count, input) = (files.paths.len(), input.display());
        ensure!(
            count == 1,
            "{input} lists {count} rasters, but this program takes one: merge them first, as by \
             gdal_merge or gdalwarp"
        );
        Ok(files)
    }

    /// All files that the program reads: the found files and the catalogues.
    pub fn read(&self) -> Vec<PathBuf> {
        let catalogues = self.catalogues.iter().map(|(path, ..)| path);
        self.paths.iter().chain(catalogues).cloned().collect()
    }

    /// Says how many files of each catalogue were taken, and what folders have besides.
    pub fn report(&self, report: &mut Report) {
        self.notes.iter().for_each(|note| report.note(note));
        for (path, all, taken) in &self.catalogues {
            let path = path.display().to_string();
            let which = if taken < all { ": those that meet --bounds" } else { "" };
            report.line("catalogue", format_args!("{path}, {taken} of {all} files{which}"));
            report.element("catalogues", json!({"path": path, "files": all, "taken": taken}));
        }
    }
}

/// Returns files in the given order, each once; files of a folder or a pattern are sorted by name. Notes name folders of
/// which some point files are left out.
///
/// # Errors
/// A folder without point files, a pattern that no file matches.
pub fn expand(inputs: &[PathBuf], notes: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for input in inputs {
        if input.is_dir() {
            files.extend(files_in(input, notes)?);
        } else if is_pattern(input) {
            files.extend(matches(input)?);
        } else {
            files.push(input.clone());
        }
    }
    Ok(once(files))
}

/// Each file once, however its name is written.
fn once(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(place_of(file)));
    files
}

/// Where a file is, however its name is written.
fn place_of(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// Whether two names mean the same file.
pub fn is_one_file(a: &Path, b: &Path) -> bool {
    place_of(a) == place_of(b)
}

/// A name with a wildcard is one, unless it is an address or there is a file of that very name.
fn is_pattern(input: &Path) -> bool {
    let has_wildcard = input.to_str().is_some_and(|text| text.contains(['*', '?', '[']));
    has_wildcard && !geo_io::is_url(input) && !input.exists()
}

/// The files that a pattern matches, by name. Names that are not UTF-8 match too: what no letter stands for counts as
/// one letter.
fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_string_lossy();
    let mut found = vec![PathBuf::new()];
    let mut parts = pattern.components().peekable();
    while let Some(part) = parts.next() {
        let name = part.as_os_str();
        let wanted = name.to_str().filter(|name| name.contains(['*', '?', '[']));
        let Some(wanted) = wanted else {
            found.iter_mut().for_each(|path| path.push(name));
            continue;
        };
        let is_any_depth = wanted == "**";
        let wanted = Pattern::new(if is_any_depth { "*" } else { wanted })
            .with_context(|| format!("the pattern {text}"))?;
        let mut next = Vec::new();
        for folder in &found {
            if is_any_depth {
                folders_below(folder, &mut next);
            } else {
                next.extend(entries(folder).into_iter().filter(|path| {
                    path.file_name().is_some_and(|name| wanted.matches(&name.to_string_lossy()))
                }));
            }
        }
        if parts.peek().is_some() {
            next.retain(|path| path.is_dir());
        }
        found = next;
    }
    found.retain(|path| path.is_file());
    found.sort();
    ensure!(!found.is_empty(), "no file matches {text}");
    Ok(found)
}

/// What is in a folder; nothing where it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let is_here = folder.as_os_str().is_empty();
    let read = std::fs::read_dir(if is_here { Path::new(".") } else { folder });
    let paths = read.into_iter().flatten().flatten();
    paths.map(|entry| folder.join(entry.file_name())).collect()
}

/// A folder and all folders in it, links left out: these may lead in a circle.
fn folders_below(folder: &Path, found: &mut Vec<PathBuf>) {
    found.push(folder.to_owned());
    for path in entries(folder) {
        if path.is_dir() && !path.is_symlink() {
            folders_below(&path, found);
        }
    }
}

/// Endings of point files: those of a folder that are named by the first of these lists that has any.
const ENDINGS: [&[&str]; 3] = [
    &["las", "laz"],
    &["csv", "txt", "xyz"],
    &["parquet", "geoparquet", "pq", "fgb", "gpkg", "shp"],
];

/// The LAS and LAZ files of a folder, else its tables, else files of other kinds; not those of its folders.
fn files_in(folder: &Path, notes: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.with_context(|| folder.display().to_string())?.path());
    }
    paths.sort();
    let of = |endings: &[&str]| -> Vec<PathBuf> {
        let ends = |path: &&PathBuf| endings.contains(&crate::args::ending(path).as_str());
        paths.iter().filter(|path| path.is_file()).filter(ends).cloned().collect()
    };
    let mut kinds = ENDINGS.into_iter().map(of).skip_while(Vec::is_empty);
    let found = kinds.next().with_context(|| {
        format!(
            "the folder {} has no point files (.las, .laz, .csv, .txt, .xyz, .parquet, .fgb, .gpkg, .shp)",
            folder.display()
        )
    })?;
    let others: Vec<PathBuf> = kinds.flatten().collect();
    if let (Some(first), Some(other)) = (found.first(), others.first()) {
        let [first, other] =
            [first, other].map(|path| path.file_name().unwrap_or_default().display());
        let count = match others.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        notes.push(format!(
            "of the folder {} the files of one kind are read, such as {first}; {other}{count} left out: name files to read them",
            folder.display()
        ));
    }
    Ok(found)
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
            let files = expand(inputs, &mut Vec::new()).unwrap();
            files
                .iter()
                .map(|f| f.file_name().unwrap().to_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&[folder.path().to_owned()]), ["a.LAS", "b.laz"]);
        assert_eq!(names(&[at("*.csv")]), ["odd[1].csv", "points.csv"]);
        assert_eq!(names(&[at("odd[1].csv")]), ["odd[1].csv"]);
        let address = PathBuf::from("https://example.org/a.copc.laz?key=[b*]");
        let mut notes = Vec::new();
        assert_eq!(expand(std::slice::from_ref(&address), &mut notes).unwrap(), [address]);
        assert!(notes.is_empty());
        expand(&[folder.path().to_owned()], &mut notes).unwrap();
        assert!(notes[0].contains("a.LAS; odd[1].csv and 1 more left out"), "{notes:?}");
        assert_eq!(names(&[at("b.laz"), at("?.laz"), at("missing.laz")]), ["b.laz", "missing.laz"]);
        assert!(expand(&[at("*.ply")], &mut notes).unwrap_err().to_string().contains("*.ply"));
        std::fs::create_dir_all(at("deep/er")).unwrap();
        std::fs::write(at("deep/er/c.laz"), "x").unwrap();
        assert_eq!(names(&[at("**/?.laz")]), ["b.laz", "c.laz"]);
        assert_eq!(names(&[at("d*/*/c.[kl]az")]), ["c.laz"]);
        std::fs::create_dir(at("empty")).unwrap();
        assert!(
            expand(&[at("empty")], &mut notes).unwrap_err().to_string().contains("no point files")
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_that_are_not_utf8_match_patterns() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join(OsStr::from_bytes(b"m\xfcnchen.laz"));
        for path in [&odd, &folder.path().join("b.laz")] {
            std::fs::write(path, "x").unwrap();
        }
        let found =
            |pattern: &str| expand(&[folder.path().join(pattern)], &mut Vec::new()).unwrap();
        assert_eq!(found("*.laz"), [folder.path().join("b.laz"), odd.clone()]);
        assert_eq!(found("m?nchen.laz"), [odd]);
    }
}
