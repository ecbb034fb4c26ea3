//! Links of the documentation lead somewhere: relative paths to files, and anchors to headings.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The Markdown files below a folder, but for what cargo builds and tools install.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true if path.is_symlink() => Vec::new(),
        true if ["target", ".tools", ".git", "gpu-bundle"]
            .iter()
            .any(|name| path.ends_with(name)) =>
        {
            Vec::new()
        }
        true => pages(&path),
        false if path.extension().is_some_and(|ending| ending == "md") => vec![path],
        false => Vec::new(),
    };
    entries.flat_map(of).collect()
}

/// The lines of a page outside of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The anchors of a page, as Markdown's renderers make them: lower case, hyphens for blanks, no punctuation.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter_map(|line| line.strip_prefix('#'));
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let anchor = |heading: &str| -> String {
        let bare = heading.trim_start_matches('#').trim().to_lowercase();
        bare.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut numbered = |anchor: String| {
        let before = counts.entry(anchor.clone()).or_default();
        *before += 1;
        // Renderers number headings of the same text.
        if *before == 1 { anchor } else { format!("{anchor}-{}", *before - 1) }
    };
    headings.map(anchor).map(&mut numbered).collect()
}

/// The addresses of the links of a page: what stands between `](` and `)`, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let (address, behind) = after.split_once(')').unwrap_or((after, ""));
            found.push(address.to_owned());
            rest = behind;
        }
    }
    found
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// What is wrong with a link of a page, if something is.
fn fault(root: &Path, page: &Path, text: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => page.to_owned(),
        path => normal(&page.parent().unwrap().join(path)),
    };
    let name = page.strip_prefix(root).unwrap().display();
    if !target.exists() {
        return Some(format!("{name}: {link} is not there"));
    }
    // The site has the pages of docs alone.
    let docs = root.join("docs");
    if page.starts_with(&docs) && !target.starts_with(&docs) {
        return Some(format!("{name}: {link} leads out of docs, where the site has nothing"));
    }
    let is_page = target.extension().is_some_and(|ending| ending == "md");
    if anchor.is_empty() || !is_page {
        return None;
    }
    let other =
        if path.is_empty() { text.to_owned() } else { fs::read_to_string(&target).unwrap() };
    let is_found = anchors(&other).iter().any(|found| found == anchor);
    (!is_found).then(|| format!("{name}: {link} has no such heading"))
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let mut count = 0;
    for page in pages(root) {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            count += 1;
            found.extend(fault(root, &page, &text, &link));
        }
    }
    assert!(count > 100, "{count} links are not the workspace's");
    assert!(found.is_empty(), "{} dead links:\n{}", found.len(), found.join("\n"));
}

/// Comments and messages name pages by their paths from the root, such as `docs/guide/idw.md`.
#[test]
fn pages_that_sources_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let listed = std::process::Command::new("git").arg("-C").arg(root).args(["ls-files"]).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let sources = listed.lines().filter(|name| {
        [".rs", ".toml", ".md", "run", ".py", ".jinja"].iter().any(|ending| name.ends_with(ending))
    });
    let mut found = Vec::new();
    for name in sources.filter(|name| !name.starts_with("xtask/tests/")) {
        let Ok(text) = fs::read_to_string(root.join(name)) else { continue };
        for piece in text.split("docs/").skip(1) {
            let end = piece.find(|c: char| !(c.is_alphanumeric() || "-_/.".contains(c)));
            let page = piece[..end.unwrap_or(piece.len())].trim_end_matches('.');
            if page.ends_with(".md") && !root.join("docs").join(page).exists() {
                found.push(format!("{name}: docs/{page}"));
            }
        }
    }
    assert!(found.is_empty(), "{} pages are not there:\n{}", found.len(), found.join("\n"));
}

/// The site shows the pages that `docs/SUMMARY.md` lists.
#[test]
fn the_site_has_all_pages() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs");
    let listed = links(&fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    let is_missing = |page: &PathBuf| {
        !page.ends_with("SUMMARY.md") && !listed.iter().any(|link| docs.join(link) == *page)
    };
    let missing: Vec<PathBuf> = pages(&docs).into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

/// Rust in the guide is a doctest of `examples/library`.
#[test]
fn rust_of_the_guide_is_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let listed = fs::read_to_string(root.join("examples/library/src/guide.rs")).unwrap();
    for page in pages(&root.join("docs/guide")) {
        let text = fs::read_to_string(&page).unwrap();
        let name = page.file_name().unwrap().to_str().unwrap();
        let is_listed = listed.contains(&format!("\"{name}\""));
        assert!(
            is_listed || text.lines().all(|line| line != "```rust"),
            "examples/library/src/guide.rs lacks {name}"
        );
        // Rustdoc takes a block without a language for Rust.
        let mut fences = text.lines().filter(|line| line.starts_with("```"));
        while let (Some(open), Some(_)) = (fences.next(), fences.next()) {
            assert!(open != "```", "{name}: a block of code without a language");
        }
    }
}

#[test]
fn anchors_are_those_of_renderers() {
    let text = "# A b\n## `C` d, e!\n```\n# no\n```\n### A b\n";
    assert_eq!(anchors(text), ["a-b", "c-d-e", "a-b-1"]);
    assert_eq!(links("[a](b.md#c) and [d](e)"), ["b.md#c", "e"]);
}
