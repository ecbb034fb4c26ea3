//! Tables of colours by height, as gdaldem's color-relief takes them.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use gpu_core::parallel::{self, FINE};

/// Colours by name, as gdaldem knows them.
const NAMES: [(&str, [u8; 3]); 16] = [
    ("white", [255, 255, 255]),
    ("black", [0, 0, 0]),
    ("red", [255, 0, 0]),
    ("green", [0, 255, 0]),
    ("blue", [0, 0, 255]),
    ("yellow", [255, 255, 0]),
    ("magenta", [255, 0, 255]),
    ("cyan", [0, 255, 255]),
    ("aqua", [0, 191, 191]),
    ("grey", [191, 191, 191]),
    ("gray", [191, 191, 191]),
    ("orange", [255, 127, 0]),
    ("brown", [191, 127, 63]),
    ("purple", [127, 0, 255]),
    ("violet", [127, 0, 255]),
    ("indigo", [0, 127, 255]),
];

/// Red, green, blue and opacity.
type Colour = [u8; 4];

/// Which colour a height between two of the table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Between {
    /// One between theirs
    Linear,
    /// That of the nearer
    Nearest,
    /// None: transparent
    Exact,
}

/// The height of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Height {
    Number(f64),
    /// A part of the way from the lowest height of the DEM to the highest.
    Share(f64),
    Nodata,
}

/// The colours of heights.
#[derive(Debug, PartialEq)]
pub struct Table(Vec<(Height, Colour)>);

impl FromStr for Table {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> =
                line.split([' ', ',', '\t', ':', '\r']).filter(|word| !word.is_empty()).collect();
            if !words.is_empty() && !words[0].starts_with('#') {
                lines.push(entry(&words).with_context(|| format!("line {number}, \"{line}\""))?);
            }
        }
        ensure!(!lines.is_empty(), "no colours");
        Ok(Self(lines))
    }
}

/// A line: a height, and a name, or numbers of red, green, blue, and opacity unless it is 255.
fn entry(words: &[&str]) -> Result<(Height, Colour)> {
    let number = |text: &str| -> Result<f64> {
        let number: f64 = text.parse().with_context(|| format!("\"{text}\" is not a height"))?;
        ensure!(number.is_finite(), "\"{text}\" is not a height: NODATA is nv");
        Ok(number)
    };
    let height = match words[0] {
        "nv" => Height::Nodata,
        text => match text.strip_suffix('%') {
            Some(share) => Height::Share(number(share)? / 100.0),
            None => Height::Number(number(text)?),
        },
    };
    let part = |text: &str| {
        text.parse().with_context(|| format!("\"{text}\" is not a number from 0 to 255"))
    };
    let colour = match &words[1..] {
        [name] => {
            let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let (_, [r, g, b]) = known.with_context(|| format!("\"{name}\" is no colour"))?;
            [*r, *g, *b, 255]
        }
        [r, g, b] => [part(r)?, part(g)?, part(b)?, 255],
        [r, g, b, opacity] => [part(r)?, part(g)?, part(b)?, part(opacity)?],
        _ => bail!(
            "expected a height and red, green and blue from 0 to 255, or the name of a colour"
        ),
    };
    Ok((height, colour))
}

impl Table {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        text.parse().with_context(|| format!("{name} is no table of colours"))
    }

    /// The colours of heights, of which NaN are NODATA.
    pub fn of(&self, heights: &[f32], between: Between) -> Vec<Colour> {
        let [low, high] = range(heights);
        let mut known: Vec<(f64, Colour)> = Vec::new();
        let mut nodata = [0; 4];
        for &(height, colour) in &self.0 {
            match height {
                // Heights are f32, so those that are to be met exactly are, too.
                Height::Number(height) if between == Between::Exact => {
                    known.push((f64::from(height as f32), colour));
                }
                Height::Number(height) => known.push((height, colour)),
                Height::Share(share) => known.push((low + share * (high - low), colour)),
                Height::Nodata => nodata = colour,
            }
        }
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        parallel::map(heights.len(), FINE, |i| {
            let height = f64::from(heights[i]);
            let is_none = height.is_nan() || known.is_empty();
            if is_none { nodata } else { colour(&known, height, between) }
        })
    }
}

/// The lowest and the highest finite height.
fn range(heights: &[f32]) -> [f64; 2] {
    let both = |[low, high]: [f32; 2], [a, b]: [f32; 2]| [low.min(a), high.max(b)];
    let parts = parallel::map_ranges(heights.len(), FINE, &|range| {
        let finite = heights[range].iter().filter(|height| height.is_finite());
        finite.fold([f32::INFINITY, f32::NEG_INFINITY], |all, &v| both(all, [v, v]))
    });
    parts.into_iter().fold([f32::INFINITY, f32::NEG_INFINITY], both).map(f64::from)
}

/// The colour of a height, of some that ascend.
fn colour(known: &[(f64, Colour)], height: f64, between: Between) -> Colour {
    let after = known.partition_point(|(known, _)| *known < height);
    let is_known = known.get(after).is_some_and(|(known, _)| *known == height);
    if between == Between::Exact && !is_known {
        return [0; 4];
    }
    if is_known || after == 0 {
        return known[after].1;
    }
    let (low, from) = known[after - 1];
    let Some(&(high, to)) = known.get(after) else { return from };
    if between == Between::Nearest {
        return if height - low < high - height { from } else { to };
    }
    let share = (height - low) / (high - low);
    std::array::from_fn(|part| {
        let (from, to) = (f64::from(from[part]), f64::from(to[part]));
        // gdaldem rounds so.
        (0.45 + from + share * (to - from)) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_met_exactly_as_f32_and_infinite_ones_are_refused() {
        let table: Table = "0.1 red\n0% blue".parse().unwrap();
        let found = table.of(&[0.1, -3.0, f32::NEG_INFINITY], Between::Exact);
        assert_eq!(found, [[255, 0, 0, 255], [0, 0, 255, 255], [0; 4]]);
        for text in ["-inf blue", "inf red", "nan red"] {
            assert!(text.parse::<Table>().is_err(), "{text}");
        }
    }

    #[test]
    fn tables_are_read_and_refused() {
        let text = "# heights\n-10:0:0:255\n\n0, white\n 50% 1 2 3 4\nnv\tBlack\r\n";
        let table: Table = text.parse().unwrap();
        assert_eq!(
            table.0,
            [
                (Height::Number(-10.0), [0, 0, 255, 255]),
                (Height::Number(0.0), [255; 4]),
                (Height::Share(0.5), [1, 2, 3, 4]),
                (Height::Nodata, [0, 0, 0, 255]),
            ]
        );
        // Half the way from -20 to 20 is 0, of which the table has two colours: the first counts at it, the last beyond.
        let found = table.of(&[-20.0, 20.0, f32::NAN, 0.0], Between::Linear);
        assert_eq!(found, [[0, 0, 255, 255], [1, 2, 3, 4], [0, 0, 0, 255], [255; 4]]);
        for bad in ["", "1 2 3", "x red", "nan red", "1 crimson", "1 256 0 0", "1 1 1 1 1 1"] {
            assert!(bad.parse::<Table>().is_err(), "{bad:?} was taken");
        }
    }
}
