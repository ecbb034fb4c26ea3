//! Sentences, and what makes them hard.

/// The most words of a sentence.
const MAX_WORDS: usize = 30;

/// Heads of sentences whose noun is missing.
const HEADS: [&str; 15] = [
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
    "One of these ",
    "So many ",
    "So much ",
    "Such as ",
];

/// Words of this project's past for things that the field has words for.
const PRIVATE: [&str; 15] = [
    "is heard",
    "not heard",
    "are heard",
    "gone through",
    "are looked at",
    "is looked at",
    "looked through",
    "looked for in",
    "serves for",
    "in doubt",
    "the farther the",
    "the more the",
    "is asked for",
    "room for all",
    "crowd",
];

/// Sentences of a text in Markdown that are hard, and why.
pub fn faults(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric));
        let words = words.count();
        // The names of code are not words.
        let lower: String = sentence.split('`').step_by(2).collect::<String>().to_lowercase();
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
pub fn sentences(text: &str) -> Vec<String> {
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
