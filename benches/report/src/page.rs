//! The pages of figures: templates in which each stands as the key of a row.
//!
//! | in the template | gives |
//! |---|---|
//! | `ms(key)` | the median in ms, to three digits |
//! | `spread(key)` | the median, the fastest and the slowest |
//! | `met(key, bar)` | whether the median is at most so many ms |
//! | `ratio(key, other)` | how many times the other's time this one's is |
//! | `rate(key, bytes)` | GB a second, with so many bytes for each of the row's size |
//! | `each(key, parts)` | the median divided by a number of parts |
//! | `taken(file, word)` | the file's line `# word:` |
//! | `how(file)` | a sentence of its date, device and command |
//! | `cub_table()` | gpu-scan beside CUB |
//! | `printed(file)` | the tables of `file.md`, as they were printed |
//! | `has(file)` | whether there is such a file of results |
//! | `row(file, work, sizes)` | cells of a table: the median at each size, empty where there is none; a size takes the place of `{}` in `work` |
//!
//! Keys are those of [`Results::row`].

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};

use crate::cub;
use crate::results::{Results, Row};

/// The pages, and the templates that they are made from.
const PAGES: [(&str, &str, &str); 2] = [
    ("docs/guide/performance.md", "performance.md.jinja", include_str!("../performance.md.jinja")),
    ("docs/internals/papers.md", "papers.md.jinja", include_str!("../papers.md.jinja")),
];

/// The paths of the pages in the workspace, and their texts.
pub fn render(results: Results) -> Result<Vec<(PathBuf, String)>> {
    let environment = environment(Arc::new(results));
    let render = |(path, name, template): (&str, &str, &str)| {
        let text = environment.render_str(template, ());
        Ok((path.into(), text.map_err(|error| anyhow!("{name}: {error:#}"))?))
    };
    PAGES.into_iter().map(render).collect()
}

fn environment(results: Arc<Results>) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let rows = Arc::clone(&results);
    let of_row = move |key: &str, then: &dyn Fn(&Row) -> String| -> Result<String, Error> {
        rows.row(key).map(then).map_err(failed)
    };
    let median = of_row.clone();
    environment.add_function("ms", move |key: &str| median(key, &|row| digits(row.median())));
    let spread = of_row.clone();
    environment.add_function("spread", move |key: &str| {
        spread(key, &|row| {
            let [median, least, most] = row.times.map(digits);
            format!("{median} ({least} to {most})")
        })
    });
    let met = of_row.clone();
    environment.add_function("met", move |key: &str, bar: f64| {
        met(key, &|row| (if row.median() <= bar { "met" } else { "**missed**" }).to_owned())
    });
    let rate = of_row.clone();
    environment.add_function("rate", move |key: &str, bytes: f64| {
        rate(key, &|row| digits(row.size as f64 * bytes / row.median() * 1e-6))
    });
    let each = of_row;
    environment.add_function("each", move |key: &str, parts: f64| {
        each(key, &|row| digits(row.median() / parts))
    });
    let pairs = Arc::clone(&results);
    environment.add_function("ratio", move |key: &str, other: &str| -> Result<String, Error> {
        let time = |key| pairs.row(key).map(Row::median).map_err(failed);
        Ok(digits(time(key)? / time(other)?))
    });
    let files = Arc::clone(&results);
    environment.add_function("taken", move |file: &str, word: &str| -> Result<String, Error> {
        let head = files.file(file).map_err(failed)?.head(word);
        let head = head.ok_or_else(|| failed(anyhow!("{file}.tsv has no line \"# {word}:\"")))?;
        Ok(head.to_owned())
    });
    let heads = Arc::clone(&results);
    environment.add_function("how", move |file: &str| -> Result<String, Error> {
        let of = |word: &str| {
            let head = heads.file(file)?.head(word);
            head.ok_or_else(|| anyhow!("{file} has no line \"# {word}:\""))
        };
        let text = || -> Result<String> {
            Ok(format!("Taken on {}, {}: `{}`.", of("date")?, of("device")?, of("command")?))
        };
        text().map_err(failed)
    });
    let texts = Arc::clone(&results);
    environment.add_function("printed", move |name: &str| -> Result<String, Error> {
        texts.printed(name).map(str::to_owned).map_err(failed)
    });
    let there = Arc::clone(&results);
    environment.add_function("has", move |name: &str| there.has(name));
    let cells = Arc::clone(&results);
    environment.add_function(
        "row",
        move |file: &str, work: &str, sizes: Vec<u64>| -> Result<String, Error> {
            let cell = |size: u64| {
                let key = match work.contains("{}") {
                    true => format!("{file}/{}", work.replace("{}", &size.to_string())),
                    false => format!("{file}/{work}@{size}"),
                };
                cells.row(&key).map_or(String::new(), |row| digits(row.median()))
            };
            Ok(sizes.into_iter().map(cell).collect::<Vec<_>>().join(" | "))
        },
    );
    environment.add_function("cub_table", move || cub::table(&results).map_err(failed));
    environment
}

fn failed(error: anyhow::Error) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("{error:#}"))
}

/// A number to three significant digits.
fn digits(number: f64) -> String {
    let before = number.abs().log10().floor();
    let after = if before.is_finite() { (2.0 - before).max(0.0) as usize } else { 0 };
    format!("{number:.after$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let all = [0.0064, 0.09351, 0.5, 1.2345, 21.26, 386.04, 2513.4];
        let wanted = ["0.00640", "0.0935", "0.500", "1.23", "21.3", "386", "2513"];
        assert_eq!(all.map(digits), wanted);
    }

    #[test]
    fn a_row_has_a_cell_for_each_size() {
        let environment = environment(Arc::new(Results::default()));
        let render = |text| environment.render_str(text, ()).unwrap();
        assert_eq!(render("{{ row('peer', 'peer:a_{}', [1, 2, 3]) }}"), " |  | ");
        assert_eq!(render("{% if has('peer') %}yes{% else %}no{% endif %}"), "no");
    }

    #[test]
    fn a_figure_that_was_not_measured_is_an_error() {
        let environment = environment(Arc::new(Results::default()));
        let error = environment.render_str("{{ ms('scan/sum') }}", ()).unwrap_err();
        assert!(format!("{error:#}").contains("no file scan.tsv"), "{error:#}");
        assert!(environment.render_str("{{ unknown }}", ()).is_err());
    }
}
