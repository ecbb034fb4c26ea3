//! The comments of a Rust file.

/// Returns comments that fill lines of their own, each with its first line, from 1, and its text in Markdown.
pub fn comments(code: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (i, line) in code.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//");
        if let Some(text) = comment {
            if !is_open {
                all.push((i + 1, String::new()));
            }
            let text = text.strip_prefix(['/', '!']).unwrap_or(text);
            let (_, whole) = all.last_mut().unwrap();
            whole.push_str(text.trim());
            whole.push('\n');
        }
        is_open = comment.is_some();
    }
    all
}
