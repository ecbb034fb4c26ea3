//! What users read is plain: messages, public documentation, help, READMEs and the guide.
//!
//! A program finds three habits of hard sentences: more than 30 words, a head that stands for a missing noun, and a
//! private word where the field has one. Code, tables and headings are no sentences.

use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Lit, Meta, Visibility};

/// The most words of a sentence.
const MAX_WORDS: usize = 30;

/// Heads of sentences whose noun is missing.
const HEADS: [&str; 11] = [
    "That of ",
    "Those of ",
    "Of which ",
    "What there is ",
    "That which ",
    "Of these ",
    "Of those ",
    "Of each ",
    "Those that ",
    "Those which ",
    "That with ",
];

/// Words of this project's past for things that the field has words for.
const PRIVATE: [&str; 10] = [
    "is heard",
    "not heard",
    "are heard",
    "is gone through",
    "are gone through",
    "are looked at",
    "is looked at",
    "looked through",
    "serves for",
    "in doubt",
];

/// A sentence that is hard, and why.
fn faults(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
        let words = words.count();
        let lower = sentence.to_lowercase();
        if words > MAX_WORDS {
            found.push(format!("{words} words: {sentence}"));
        } else if let Some(head) = HEADS.iter().find(|head| sentence.starts_with(*head)) {
            found.push(format!("begins with {head:?}: {sentence}"));
        } else if let Some(word) = PRIVATE.iter().find(|word| lower.contains(*word)) {
            found.push(format!("says {word:?}: {sentence}"));
        }
    }
    found
}

/// The sentences of a text in Markdown: code between backticks is one word, the address of a link is none.
fn sentences(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for block in blocks(text) {
        let mut sentence = String::new();
        let words: Vec<&str> = block.split_whitespace().collect();
        for (i, word) in words.iter().enumerate() {
            sentence.push_str(word);
            let bare = word.trim_end_matches(['*', '_', '"', ')', '`']);
            let begins =
                |next: &&str| next.starts_with(|c: char| c.is_uppercase() || "`[*\"(".contains(c));
            let ends = bare.ends_with(['.', '!', '?'])
                && !bare.ends_with("..")
                && !["e.g.", "i.e.", "etc.", "al.", "No.", "vs."].contains(&bare)
                && words.get(i + 1).is_none_or(begins);
            if ends {
                all.push(std::mem::take(&mut sentence));
            } else {
                sentence.push(' ');
            }
        }
        if !sentence.trim().is_empty() {
            all.push(sentence.trim().to_owned());
        }
    }
    all
}

/// The paragraphs and items of lists of a text in Markdown, without code, tables, pictures, headings and HTML.
fn blocks(text: &str) -> Vec<String> {
    let (mut all, mut block, mut is_code) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") {
            is_code = !is_code;
        }
        let is_item = bare.starts_with("- ")
            || bare.starts_with("* ")
            || bare.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        let is_none = bare.is_empty()
            || bare.starts_with(['#', '|', '<', '!', '='])
            || is_code
            || bare.starts_with("```");
        if is_none || is_item {
            all.push(std::mem::take(&mut block));
        }
        if !is_none {
            block.push_str(bare.trim_start_matches(['-', '*', '>']));
            block.push(' ');
        }
    }
    all.push(block);
    all.iter().map(|block| plain(block)).filter(|block| !block.trim().is_empty()).collect()
}

/// A paragraph whose code is a word, and whose links are their text.
fn plain(block: &str) -> String {
    let mut text = String::new();
    let mut pieces = block.split('`');
    text.push_str(pieces.next().unwrap_or_default());
    while let (Some(code), after) = (pieces.next(), pieces.next()) {
        text.push_str(&format!("`{}`", code.replace(char::is_whitespace, "_")));
        text.push_str(after.unwrap_or_default());
    }
    // `[text](address)` and `[text][name]`.
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("](") {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(')').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    out + rest
}

/// The text that a Rust file shows to its users.
#[derive(Default)]
struct Shown {
    texts: Vec<String>,
    /// Whether this item or one around it is seen from outside.
    is_public: bool,
}

impl Shown {
    fn take(&mut self, attributes: &[Attribute]) {
        let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
        if self.is_public && !is_hidden(attributes) {
            self.texts.push(lines.join("\n"));
        }
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("error")) {
            if let Ok(message) = attribute.parse_args_with(first_string) {
                self.texts.push(message);
            }
        }
    }

    fn within(
        &mut self,
        is_public: bool,
        attributes: &[Attribute],
        inside: impl FnOnce(&mut Self),
    ) {
        let before = self.is_public;
        self.is_public = before && is_public && !is_hidden(attributes);
        self.take(attributes);
        inside(self);
        self.is_public = before;
    }
}

/// The text of a line of documentation.
fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(literal) if pair.path.is_ident("doc") => match &literal.lit {
            Lit::Str(line) => Some(line.value()),
            _ => None,
        },
        _ => None,
    }
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    let is_hidden = |attribute: &&Attribute| {
        attribute.path().is_ident("doc")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "hidden")
    };
    attributes.iter().any(|attribute| is_hidden(&attribute))
}

/// The first argument of a macro, if it is a text.
fn first_string(input: syn::parse::ParseStream) -> syn::Result<String> {
    let text: syn::LitStr = input.parse()?;
    input.parse::<proc_macro2::TokenStream>()?;
    Ok(text.value())
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

macro_rules! items {
    ($($visit:ident: $item:ident),* $(,)?) => {
        $(fn $visit(&mut self, item: &'ast syn::$item) {
            self.within(is_public(&item.vis), &item.attrs, |shown| visit::$visit(shown, item));
        })*
    };
}

impl<'ast> Visit<'ast> for Shown {
    items!(
        visit_item_fn: ItemFn, visit_item_struct: ItemStruct, visit_item_enum: ItemEnum, visit_item_trait: ItemTrait,
        visit_item_const: ItemConst, visit_item_static: ItemStatic, visit_item_type: ItemType, visit_field: Field,
        visit_impl_item_fn: ImplItemFn, visit_impl_item_const: ImplItemConst,
    );

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            self.within(true, &module.attrs, |shown| visit::visit_item_mod(shown, module));
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.take(&variant.attrs);
        // Fields of a public enum are public, whatever stands before them.
        let fields = variant.fields.iter();
        fields.for_each(|field| self.take(&field.attrs));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.take(&function.attrs);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let name = called.path.segments.last().map(|last| last.ident.to_string());
        if let Some("bail" | "anyhow" | "ensure") = name.as_deref()
            && let Ok(message) = called.parse_body_with(first_string)
        {
            self.texts.push(message);
        }
    }
}

/// The texts of a Rust file. Of a program all documentation counts that its help shows: that of its options.
fn texts(file: &Path, code: &str) -> Vec<String> {
    let parsed = syn::parse_file(code).unwrap();
    let mut shown = Shown { is_public: true, ..Shown::default() };
    if file.ends_with("src/lib.rs") {
        shown.take(&parsed.attrs);
    }
    shown.visit_file(&parsed);
    shown.texts
}

/// The files below a folder with an ending, but for what cargo builds and tests.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true if ["target", "tests"].iter().any(|name| path.ends_with(name)) => Vec::new(),
        true => files(&path, ending),
        false if path.extension().is_some_and(|found| found == ending) => vec![path],
        false => Vec::new(),
    };
    entries.flat_map(of).collect()
}

#[test]
fn what_users_read_is_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let mut count = 0;
    for folder in ["crates", "examples"] {
        for file in files(&root.join(folder), "rs") {
            if file.components().any(|part| part.as_os_str() == "testing") {
                continue;
            }
            for text in texts(&file, &fs::read_to_string(&file).unwrap()) {
                count += 1;
                let name = file.strip_prefix(root).unwrap().display();
                found.extend(faults(&text).iter().map(|fault| format!("{name}: {fault}")));
            }
        }
    }
    let mut pages = files(&root.join("crates"), "md");
    pages.push(root.join("README.md"));
    if root.join("docs/guide").exists() {
        pages.extend(files(&root.join("docs/guide"), "md"));
    }
    for page in pages {
        let name = page.strip_prefix(root).unwrap().display();
        let text = fs::read_to_string(&page).unwrap();
        found.extend(faults(&text).iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(count > 3000, "{count} texts are not the workspace's");
    assert!(found.is_empty(), "{} hard sentences:\n{}", found.len(), found.join("\n"));
}

#[test]
fn sentences_end_where_a_reader_ends_them() {
    let text = "Returns `a. B` of [x](y. Z). See No. 3, e.g. This.\n\n- one\n- two. Three\n\n```\nCode. Here.\n```\n| a. B |";
    let all = sentences(text);
    assert_eq!(all, ["Returns `a._B` of [x.", "See No. 3, e.g. This.", "one", "two.", "Three"]);
    assert_eq!(faults("Those of the writer.").len(), 1);
    assert_eq!(faults(&"word ".repeat(31)).len(), 1);
    assert_eq!(faults(&"word ".repeat(30)).len(), 0);
}
