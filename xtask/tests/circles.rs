//! Files of a crate do not name each other in circles: what two of them need stands below both.
//!
//! An arrow goes from a file to each file of its crate that a path in it names. Between a module and one within it there
//! is no arrow: a module may use its parts, and they its constants. Tests may name what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree};

/// The names from a crate's root to a module or an item.
type Names = Vec<String>;

/// Collects the paths of a file, from the root of its crate.
struct Reader {
    module: Names,
    paths: BTreeSet<Names>,
}

impl Reader {
    /// Adds a path, unless it may lead out of the crate.
    fn add(&mut self, path: &[String]) {
        let mut at = self.module.clone();
        let steps = path.iter().take_while(|name| ["crate", "self", "super"].contains(&&name[..]));
        let steps = steps.count();
        for step in &path[..steps] {
            match step.as_str() {
                "crate" => at.clear(),
                "super" => drop(at.pop()),
                _ => {}
            }
        }
        if steps > 0 {
            self.paths.insert([&at[..], &path[steps..]].concat());
        }
    }

    fn take(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.take(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.take(tree, before)),
            UseTree::Glob(_) => self.add(before),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(rename) => self.add(&with(&rename.ident)),
        }
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_of_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.take(&item.tree, &[]);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.add(&names);
        visit::visit_path(self, path);
    }
}

/// The Rust files of a crate, by their modules.
fn modules(root: &Path, folder: &Path, all: &mut BTreeMap<Names, PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            modules(root, &path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let names = path.strip_prefix(root).unwrap().with_extension("");
            let names = names.iter().map(|name| name.to_string_lossy().into_owned());
            let mut names: Names = names.collect();
            names.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
            all.insert(names, path);
        }
    }
}

/// The arrows of a crate that lie on circles, or between circles.
fn circles(root: &Path) -> Vec<String> {
    let mut files = BTreeMap::new();
    modules(root, root, &mut files);
    let mut arrows = BTreeSet::new();
    for (from, path) in &files {
        let text = syn::parse_file(&fs::read_to_string(path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = Reader { module: from.clone(), paths: BTreeSet::new() };
        reader.visit_file(&text);
        for path in &reader.paths {
            let most = (0..=path.len()).rev().find(|&most| files.contains_key(&path[..most]));
            let to = &path[..most.unwrap_or(0)];
            if !from.starts_with(to) && !to.starts_with(from) {
                arrows.insert((from.clone(), to.to_vec()));
            }
        }
    }
    // Arrows from a file to which none goes, or to a file from which none goes, are on no circle.
    loop {
        let before = arrows.len();
        let starts: BTreeSet<Names> = arrows.iter().map(|(from, _)| from.clone()).collect();
        let ends: BTreeSet<Names> = arrows.iter().map(|(_, to)| to.clone()).collect();
        arrows.retain(|(from, to)| ends.contains(from) && starts.contains(to));
        if arrows.len() == before {
            break;
        }
    }
    let shown = |names: &Names| files[names].display().to_string();
    arrows.iter().map(|(from, to)| format!("{} names {}", shown(from), shown(to))).collect()
}

#[test]
fn files_do_not_name_each_other_in_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut crates = vec![root.join("kernels-rs/src"), root.join("xtask/src")];
    for folder in ["benches", "crates", "examples", "kernels-rs"] {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        crates.extend(entries.map(|entry| entry.unwrap().path().join("src")));
    }
    crates.retain(|path| path.is_dir());
    assert!(crates.len() > 25, "{} crates are not the workspace", crates.len());
    let found: Vec<String> = crates.iter().flat_map(|path| circles(path)).collect();
    assert!(found.is_empty(), "circles:\n{}", found.join("\n"));
}
