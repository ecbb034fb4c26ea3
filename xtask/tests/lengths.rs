//! No function is longer than a screen.

use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

/// The most lines of a function, from `fn` to its last brace.
const MAX_LINES: usize = 80;

/// Kernels that are longer, with their lines: in parts they are other PTX, which is to be measured on a card first.
/// None may grow.
const LONGER: [(&str, usize); 4] =
    [("divide", 118), ("bounds", 106), ("sort_by_digit", 96), ("compare_all", 86)];

/// The functions of a file that are too long.
struct Long<'a> {
    file: &'a Path,
    found: Vec<String>,
}

impl Long<'_> {
    fn look(&mut self, signature: &Signature, body: &Block) {
        let (first, last) = (signature.fn_token.span.start().line, body.span().end().line);
        let (lines, name) = (last + 1 - first, signature.ident.to_string());
        let most = LONGER.iter().find(|(longer, _)| self.is_kernel() && *longer == name);
        if lines > most.map_or(MAX_LINES, |&(_, most)| most) {
            self.found.push(format!("{}:{first}: {name} has {lines} lines", self.file.display()));
        }
    }

    fn is_kernel(&self) -> bool {
        self.file.components().any(|part| part.as_os_str() == "kernels-rs")
    }
}

impl<'ast> Visit<'ast> for Long<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.look(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.look(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.look(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// The Rust files below a folder, but for what cargo builds.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("target") => Vec::new(),
        true => files(&path),
        false if path.extension().is_some_and(|ending| ending == "rs") => vec![path],
        false => Vec::new(),
    };
    entries.flat_map(of).collect()
}

#[test]
fn a_function_fits_a_screen() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = ["benches", "crates", "examples", "fuzz", "interop", "kernels-rs", "xtask"];
    let all: Vec<PathBuf> = folders.iter().flat_map(|folder| files(&root.join(folder))).collect();
    assert!(all.len() > 500, "{} files are not the workspace", all.len());
    let long = |file: &PathBuf| {
        let text = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
        let mut long = Long { file, found: Vec::new() };
        long.visit_file(&text);
        long.found
    };
    let found: Vec<String> = all.iter().flat_map(long).collect();
    assert!(found.is_empty(), "more than {MAX_LINES} lines:\n{}", found.join("\n"));
}
