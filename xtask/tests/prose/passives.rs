//! Passives without an actor: a message says who did what.

use crate::sentences::sentences;

const FORMS_OF_BE: [&str; 8] = ["is", "are", "was", "were", "be", "been", "being", "isn't"];

/// Words that may stand between a form of `be` and the participle.
const BETWEEN: [&str; 13] = [
    "not", "no", "longer", "already", "also", "always", "never", "only", "yet", "still", "both",
    "all", "then",
];

/// Participles that do not end in -ed.
const IRREGULAR: [&str; 24] = [
    "begun", "built", "cut", "done", "drawn", "found", "given", "held", "kept", "known", "left",
    "lost", "made", "meant", "put", "read", "said", "seen", "sent", "set", "shown", "taken",
    "told", "written",
];

/// Words in -ed after `be` that say how a thing is, not what somebody did.
const STATES: [&str; 9] = [
    "aligned",
    "compressed",
    "damaged",
    "limited",
    "mirrored",
    "packed",
    "supported",
    "truncated",
    "turned",
];

/// Sentences of a message with a passive that has no actor.
pub fn passives(message: &str) -> Vec<String> {
    let found = sentences(message).into_iter().filter_map(|sentence| {
        let words: Vec<String> = sentence.split_whitespace().map(bare).collect();
        let at = (0..words.len()).find(|&i| is_passive(&words[i..]))?;
        let has_actor = words[at..].iter().any(|word| word == "by");
        (!has_actor).then(|| format!("passive without an actor: {sentence}"))
    });
    found.collect()
}

/// A word without the signs around it.
fn bare(word: &str) -> String {
    let is_sign = |c: char| !c.is_alphanumeric() && !"{}`-".contains(c);
    word.trim_matches(is_sign).to_lowercase()
}

fn is_passive(words: &[String]) -> bool {
    let [first, rest @ ..] = words else { return false };
    let participle = rest.iter().find(|word| !BETWEEN.contains(&&word[..]));
    FORMS_OF_BE.contains(&&first[..]) && participle.is_some_and(|word| is_participle(word))
}

fn is_participle(word: &str) -> bool {
    let is_regular = word.ends_with("ed") && word.chars().all(char::is_alphabetic);
    (is_regular && !STATES.contains(&word)) || IRREGULAR.contains(&word)
}
