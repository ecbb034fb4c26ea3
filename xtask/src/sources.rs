//! What a module is made from: the files that the compiler read, as one hash.
//!
//! Comments do not count, nor does the layout: the hash is over the tokens.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use sha2::{Digest, Sha256};

use crate::root;

/// The Rust files that a compiler's account of its inputs lists, relative to the workspace's folder
/// where they lie in it. The account is as make reads it: `target: file file`.
pub fn listed(account: &str) -> Vec<PathBuf> {
    let rule = account.lines().next().unwrap_or_default();
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    // A space that is part of a name has a backslash before it.
    let whole = files.replace("\\ ", "\0");
    let path = |name: &str| {
        let path = PathBuf::from(name.replace('\0', " "));
        path.strip_prefix(root()).map(Path::to_path_buf).unwrap_or(path)
    };
    let files = whole.split_whitespace().map(path);
    let mut files: Vec<_> = files.filter(|f| f.extension().is_some_and(|e| e == "rs")).collect();
    files.sort();
    files
}

/// A hash over flags and files.
pub fn hash<'a>(flags: impl Iterator<Item = &'a str>, files: &[PathBuf]) -> Result<String> {
    let mut hash = Sha256::new();
    for flag in flags {
        take(&mut hash, flag);
    }
    for file in files {
        take(&mut hash, &file.to_string_lossy());
        let text = fs::read_to_string(root().join(file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        take_source(&mut hash, &text).with_context(|| format!("in {}", file.display()))?;
    }
    Ok(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

fn take_source(hash: &mut Sha256, text: &str) -> Result<()> {
    let tokens = text.parse().map_err(|error| anyhow!("{error}"))?;
    take_tokens(hash, tokens);
    Ok(())
}

/// Takes every token but `#[doc ..]` and `#![doc ..]`, which is what doc comments are.
fn take_tokens(hash: &mut Sha256, tokens: TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |token: Option<&TokenTree>, mark: char| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark);
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        if is(Some(token), '#') {
            let group = i + 1 + usize::from(is(tokens.get(i + 1), '!'));
            if tokens.get(group).is_some_and(is_documentation) {
                i = group + 1;
                continue;
            }
        }
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                take(hash, open);
                take_tokens(hash, group.stream());
                take(hash, close);
            }
            single => take(hash, &single.to_string()),
        }
        i += 1;
    }
}

/// Whether it is the bracket of `#[doc ..]`.
fn is_documentation(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

fn take(hash: &mut Sha256, text: &str) {
    hash.update(text);
    hash.update([0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<u8> {
        let mut hash = Sha256::new();
        take_source(&mut hash, text).unwrap();
        hash.finalize().to_vec()
    }

    #[test]
    fn comments_and_layout_do_not_count() {
        let bare = of("fn f(a: u32) -> u32 { a + 1 }");
        assert_eq!(of("//! A file.\n/// Adds.\nfn f(a: u32) -> u32 {\n    a + 1 // one\n}"), bare);
        assert_eq!(of("#[doc = \"Adds.\"] fn f(a: u32) -> u32 { /* one */ a + 1 }"), bare);
    }

    #[test]
    fn code_counts() {
        let one = of("fn f(a: u32) -> u32 { a + 1 }");
        assert_ne!(of("fn f(a: u32) -> u32 { a + 2 }"), one);
        assert_ne!(of("#[inline] fn f(a: u32) -> u32 { a + 1 }"), one);
        assert_ne!(of("fn f(a: u32) -> u32 { (a + 1) }"), one);
        assert_ne!(of("fn f(a: u32) -> u32 { a1 + 1 }"), of("fn f(a: u32) -> u32 { a 1 + 1 }"));
    }

    #[test]
    fn the_compilers_account_is_read() {
        let account = "/out/k.s: kernels-rs/src/b.rs README.md kernels-rs/src/a\\ b.rs\n\na.rs:\n";
        assert_eq!(
            listed(account),
            [PathBuf::from("kernels-rs/src/a b.rs"), PathBuf::from("kernels-rs/src/b.rs")]
        );
    }
}
