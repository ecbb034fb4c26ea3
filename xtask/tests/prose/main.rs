//! What people read is plain: messages, public documentation, help, READMEs, the guide, and comments.
//!
//! A program finds three habits of hard sentences: more than 30 words, a head that stands for a missing noun, and a
//! private word where the field has one. In messages it also finds passives without an actor. Code, tables and headings
//! are no sentences.

mod comments;
mod passives;
mod sentences;
mod shown;

use std::fs;
use std::path::{Path, PathBuf};

use comments::comments;
use passives::passives;
use sentences::faults;

/// Folders whose comments are plain: `//`, and the documentation of private items too.
const PLAIN_COMMENTS: [&str; 7] =
    ["crates", "kernels-rs", "examples", "benches", "xtask", "fuzz", "interop"];

/// The workspace's folder.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The files below a folder with an ending, but for what cargo builds.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("target") => Vec::new(),
        true => files(&path, ending),
        false if path.extension().is_some_and(|found| found == ending) => vec![path],
        false => Vec::new(),
    };
    entries.flat_map(of).collect()
}

/// A file's path in the workspace.
fn name(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().display().to_string()
}

/// Fails with all faults, each behind the name of its file.
fn assert_plain(found: &[String]) {
    assert!(found.is_empty(), "{} hard sentences:\n{}", found.len(), found.join("\n"));
}

#[test]
fn what_users_read_is_plain() {
    let (mut found, mut count) = (Vec::new(), [0, 0]);
    for file in ["crates", "examples"].iter().flat_map(|folder| files(&root().join(folder), "rs")) {
        let is_test = file
            .components()
            .any(|part| ["testing", "tests"].iter().any(|test| part.as_os_str() == *test));
        if is_test {
            continue;
        }
        let shown = shown::shown(&file, &fs::read_to_string(&file).unwrap());
        count[0] += shown.documentation.len();
        count[1] += shown.messages.len();
        let texts = shown.documentation.iter().chain(&shown.messages);
        let all = texts
            .flat_map(|text| faults(text))
            .chain(shown.messages.iter().flat_map(|text| passives(text)));
        found.extend(all.map(|fault| format!("{}: {fault}", name(&file))));
    }
    let mut pages = files(&root().join("crates"), "md");
    pages.push(root().join("README.md"));
    if root().join("docs/guide").exists() {
        pages.extend(files(&root().join("docs/guide"), "md"));
    }
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        found.extend(faults(&text).iter().map(|fault| format!("{}: {fault}", name(&page))));
    }
    assert!(count[0] > 3000 && count[1] > 500, "{count:?} texts are not the workspace's");
    assert_plain(&found);
}

#[test]
fn comments_are_plain() {
    let (mut found, mut count) = (Vec::new(), 0);
    for file in PLAIN_COMMENTS.iter().flat_map(|folder| files(&root().join(folder), "rs")) {
        for (line, text) in comments(&fs::read_to_string(&file).unwrap()) {
            count += 1;
            found.extend(
                faults(&text).iter().map(|fault| format!("{}:{line}: {fault}", name(&file))),
            );
        }
    }
    assert!(count > 3000, "{count} comments are not the workspace's");
    assert_plain(&found);
}

#[test]
fn sentences_end_where_a_reader_ends_them() {
    let text = "Returns `a. B` of [x](y. Z). See No. 3, e.g. This.\n\n- one\n- two. Three\n\n```\nCode. Here.\n```\n| a. B |";
    let all = sentences::sentences(text);
    assert_eq!(all, ["Returns `a._B` of [x.", "See No. 3, e.g. This.", "one", "two.", "Three"]);
    assert_eq!(faults("Those of the writer.").len(), 1);
    assert_eq!(faults(&"word ".repeat(31)).len(), 1);
    assert_eq!(faults(&"word ".repeat(30)).len(), 0);
}

#[test]
fn passives_have_an_actor() {
    for hard in [
        "{path} was changed",
        "the name is already used: choose another",
        "no points are left",
        "--crs must be given",
    ] {
        assert_eq!(passives(hard).len(), 1, "{hard}");
    }
    for plain in [
        "{path} was written by a newer version",
        "the file ends at byte {at}",
        "--bounds {bounds} is {what}",
        "{path} is not `closed`",
    ] {
        assert_eq!(passives(plain).len(), 0, "{plain}");
    }
}

#[test]
fn messages_are_found_wherever_they_stand() {
    let code = r#"
        #[derive(thiserror::Error)]
        enum Error {
            #[error("one {0}")]
            One(u32),
        }
        trait Work {
            fn work(&self) {
                ensure!(a < b, "two {}", a);
            }
        }
        fn call() {
            bail!("three");
            let name = || anyhow!("four");
            open().context("five")?;
            open().with_context(|| format!("six {name}"))?;
            open().with_context(|| { let a = 1; format!("seven {a}") })?;
            open().with_context(|| "eight".to_owned())?;
            open().map_err(|_| format!("nine"))?;
            return Err("ten".into());
        }
    "#;
    let found = shown::shown(Path::new("code.rs"), code).messages;
    let heads: Vec<&str> = found.iter().filter_map(|text| text.split_whitespace().next()).collect();
    assert_eq!(
        heads,
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    );
}

#[test]
fn comments_are_found_with_their_lines() {
    let code = "//! Of the\n//! file.\n\n/// Of an item.\nfn a() {\n    // In it.\n    //\n    // More.\n    let b = 1; // beside\n}\n";
    let found = comments(code);
    let texts: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.trim())).collect();
    assert_eq!(texts, [(1, "Of the\nfile."), (4, "Of an item."), (6, "In it.\n\nMore.")]);
    let hard = "// Those of the caller.\nlet a = 1;\n// Fine.\n";
    assert_eq!(
        comments(hard).iter().map(|(_, text)| faults(text).len()).collect::<Vec<_>>(),
        [1, 0]
    );
}
