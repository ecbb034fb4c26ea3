//! Tables of colours by height, as gdaldem's color-relief takes them.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use gpu_core::parallel::{self, FINE};
use serde::{Deserialize, Serialize};

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
pub type Colour = [u8; 4];

/// Which colour a height between two of the table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// A colour between the colours of both
    Linear,
    /// The colour of the nearer height
    Nearest,
    /// No colour: transparent
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

/// A table of colours.
#[derive(Debug, PartialEq)]
pub struct Table(Vec<(Height, Colour)>);

/// The colours of the heights of a DEM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Colours {
    /// Heights that ascend, and their colours.
    known: Vec<(f64, Colour)>,
    of_nodata: Colour,
    between: Between,
}

impl FromStr for Table {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut entries, mut is_cpt) = (Vec::new(), false);
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> =
                line.split([' ', ',', '\t', ':', '\r']).filter(|word| !word.is_empty()).collect();
            let about = || format!("line {number}, \"{line}\"");
            match words.first() {
                Some(word) if word.starts_with('#') && line.contains("COLOR_MODEL") => {
                    let is_rgb = line.contains("COLOR_MODEL = RGB");
                    ensure!(
                        is_rgb,
                        "{}: its COLOR_MODEL is not RGB; terrain reads no other",
                        about()
                    );
                    is_cpt = true;
                }
                Some(word) if word.starts_with(['#', '/']) => {}
                Some(_) if is_cpt => entries.extend(slice(&words).with_context(about)?),
                Some(_) => entries.push(entry(&words).with_context(about)?),
                None => {}
            }
        }
        ensure!(!entries.is_empty(), "no colours");
        Ok(Self(entries))
    }
}

/// A height in words.
fn number(text: &str) -> Result<f64> {
    let number: f64 = text.parse().with_context(|| format!("\"{text}\" is not a height"))?;
    ensure!(number.is_finite(), "\"{text}\" is not a height: NODATA is nv");
    Ok(number)
}

/// Reads a colour of red, green and blue, and an opacity, by default 255. Like gdaldem, it ignores the decimals of a
/// number.
fn rgb(parts: &[&str]) -> Result<Colour> {
    let mut colour = [255; 4];
    for (part, text) in colour.iter_mut().zip(parts) {
        let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
        let is_number = rest.bytes().all(|digit| digit.is_ascii_digit());
        let value = whole.parse().ok().filter(|_| is_number);
        *part = value.with_context(|| format!("\"{text}\" is not a number from 0 to 255"))?;
    }
    Ok(colour)
}

/// Reads a line: a height, then a name and perhaps an opacity, or numbers of red, green and blue and perhaps an
/// opacity. The rest of the line is a label.
fn entry(words: &[&str]) -> Result<(Height, Colour)> {
    let height = match (words[0], words[0].strip_suffix('%')) {
        (text, _) if text.eq_ignore_ascii_case("nv") => Height::Nodata,
        (_, Some(share)) => {
            let share = number(share)?;
            ensure!((0.0..=100.0).contains(&share), "{share}% is not a share from 0% to 100%");
            Height::Share(share / 100.0)
        }
        (text, None) => Height::Number(number(text)?),
    };
    let colour = match &words[1..] {
        [name] | [name, _] => {
            let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let (_, [r, g, b]) = known.with_context(|| {
                format!(
                    "expected red, green and blue from 0 to 255, or a name; \"{name}\" is not a \
                     colour"
                )
            })?;
            let opacity = words.get(2).map_or(Ok([255; 4]), |opacity| rgb(&[opacity]))?[0];
            [*r, *g, *b, opacity]
        }
        [] => bail!(
            "expected a height and red, green and blue from 0 to 255, or the name of a colour"
        ),
        parts => rgb(&parts[..parts.len().min(4)])?,
    };
    Ok((height, colour))
}

/// Reads a line of a GMT palette: two heights with their colours, or the colour of NODATA. Like gdaldem, it ignores the
/// colours of heights below and above the palette (B, F).
fn slice(words: &[&str]) -> Result<Vec<(Height, Colour)>> {
    Ok(match words {
        ["B" | "F" | "b" | "f", ..] => Vec::new(),
        ["N" | "n", r, g, b] => vec![(Height::Nodata, rgb(&[r, g, b])?)],
        [low, a, b, c, high, d, e, f, ..] => vec![
            (Height::Number(number(low)?), rgb(&[a, b, c])?),
            (Height::Number(number(high)?), rgb(&[d, e, f])?),
        ],
        _ => bail!("expected two heights, each with red, green and blue from 0 to 255"),
    })
}

impl Table {
    /// Reads a file.
    ///
    /// # Errors
    /// Says what is wrong with the table.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        text.parse().with_context(|| format!("{name} is not a table of colours"))
    }

    /// Whether colours depend on the range of heights.
    pub fn has_shares(&self) -> bool {
        self.0.iter().any(|(height, _)| matches!(height, Height::Share(_)))
    }

    /// Returns the colours of a DEM from a lowest to a highest height. If a number stands for NODATA, a line with that
    /// number has the colour of NODATA.
    pub fn colours(&self, range: [f32; 2], nodata: Option<f64>, between: Between) -> Colours {
        let [low, high] = range.map(f64::from);
        let nodata = nodata.map(|nodata| nodata as f32).filter(|nodata| nodata.is_finite());
        let is_nodata = |height: f64| nodata == Some(height as f32);
        let (mut known, mut of_nodata) = (Vec::new(), None);
        for &(height, colour) in &self.0 {
            match height {
                Height::Nodata => of_nodata = of_nodata.or(Some(colour)),
                Height::Number(height) if is_nodata(height) => {
                    of_nodata = of_nodata.or(Some(colour));
                }
                // Heights are f32, so those that are to be met exactly are, too.
                Height::Number(height) if between == Between::Exact => {
                    known.push((f64::from(height as f32), colour));
                }
                Height::Number(height) => known.push((height, colour)),
                // Without heights there is no part of their range.
                Height::Share(share) if low <= high => {
                    known.push((low + share * (high - low), colour));
                }
                Height::Share(_) => {}
            }
        }
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        if between != Between::Exact {
            part_equal(&mut known);
            if let (Some(nodata), Some(colour)) = (nodata, of_nodata) {
                part_at(&mut known, nodata.into(), colour);
            }
        }
        Colours { known, of_nodata: of_nodata.unwrap_or_default(), between }
    }
}

impl Colours {
    /// The colours of heights, of which NaN are NODATA.
    pub fn of(&self, heights: &[f32]) -> Vec<Colour> {
        let &Self { ref known, of_nodata, between } = self;
        parallel::map(heights.len(), FINE, |i| {
            let height = f64::from(heights[i]);
            match (height.is_nan(), known.is_empty(), between) {
                (false, true, Between::Exact) => Colour::default(),
                (true, ..) | (_, true, _) => of_nodata,
                _ => colour(known, height, between),
            }
        })
    }
}

/// Moves lines of one height apart by a rounding, as gdaldem does. At that height the colour may be between theirs.
fn part_equal(known: &mut [(f64, Colour)]) {
    let mut first = 0;
    while first < known.len() {
        let height = known[first].0;
        let count = known[first..].iter().take_while(|(other, _)| *other == height).count();
        let after = first + count;
        // Those at the end stay as they are.
        if let (2.., Some(&(next, _))) = (count, known.get(after)) {
            let (left, all) = match first.checked_sub(1).map(|before| known[before].0) {
                Some(before) => (height - before, next - before),
                None => (0.0, next - height),
            };
            if all > height.abs() * count as f64 * f64::EPSILON {
                let start = 0.5 - count as f64 * left / all;
                for (number, (other, _)) in known[first..after].iter_mut().enumerate() {
                    *other += height.abs() * (start + number as f64) * f64::EPSILON;
                }
            }
        }
        first = after;
    }
}

/// Puts the line of NODATA among the others, as gdaldem does. It blends with none: heights on either side have the
/// colour of the next line on their side. Heights beyond all other lines have the colour of NODATA.
fn part_at(known: &mut Vec<(f64, Colour)>, nodata: f64, colour: Colour) {
    let at = known.partition_point(|(height, _)| *height < nodata);
    let before = at.checked_sub(1).map(|before| known[before].1);
    let after = known.get(at).map(|(_, colour)| *colour);
    let sides = [(nodata.next_down(), before), (nodata, Some(colour)), (nodata.next_up(), after)];
    known.splice(at..at, sides.into_iter().filter_map(|(height, colour)| Some((height, colour?))));
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

    /// The colours of heights that are all of a DEM.
    fn of(table: &Table, heights: &[f32], nodata: Option<f64>, between: Between) -> Vec<Colour> {
        let colours = table.colours(geo_io::finite_range(heights), nodata, between);
        // As a plan keeps them.
        let text = serde_json::to_string(&colours).unwrap();
        assert_eq!(serde_json::from_str::<Colours>(&text).unwrap(), colours);
        colours.of(heights)
    }

    #[test]
    fn heights_are_met_exactly_as_f32_and_infinite_ones_are_refused() {
        let table: Table = "0.1 red\n0% blue".parse().unwrap();
        let found = of(&table, &[0.1, -3.0, f32::NEG_INFINITY], None, Between::Exact);
        assert_eq!(found, [[255, 0, 0, 255], [0, 0, 255, 255], [0; 4]]);
        for text in ["-inf blue", "inf red", "nan red"] {
            assert!(text.parse::<Table>().is_err(), "{text}");
        }
    }

    #[test]
    fn tables_are_read_and_refused() {
        let text = "\u{feff}# heights\n/ too\n-10:0:0:255\n\n0, white 7\n 50% 1 2.9 3 4 label\nNv\tBlack\r\n";
        let table: Table = text.parse().unwrap();
        assert_eq!(
            table.0,
            [
                (Height::Number(-10.0), [0, 0, 255, 255]),
                (Height::Number(0.0), [255, 255, 255, 7]),
                (Height::Share(0.5), [1, 2, 3, 4]),
                (Height::Nodata, [0, 0, 0, 255]),
            ]
        );
        let palette = "# COLOR_MODEL = RGB\n0 1 2 3 9 4 5 6 L\nB 0 0 0\nF 9 9 9\nN 7 8 9\n";
        let table: Table = palette.parse().unwrap();
        let expected = [
            (Height::Number(0.0), [1, 2, 3, 255]),
            (Height::Number(9.0), [4, 5, 6, 255]),
            (Height::Nodata, [7, 8, 9, 255]),
        ];
        assert_eq!(table.0, expected);
        for bad in [
            "",
            "1",
            "1 2 3",
            "x red",
            "nan red",
            "1 crimson",
            "1 256 0 0",
            "1 1 1 -1",
            "1 red x",
            "1 1 1 1e2",
            "101% red",
            "-1% red",
            "nan% red",
            "# COLOR_MODEL = HSV\n0 1 2 3 9 4 5 6",
            "# COLOR_MODEL = RGB\n0 red 9 blue",
        ] {
            assert!(bad.parse::<Table>().is_err(), "{bad:?} was taken");
        }
    }

    /// NODATA stands among heights, and blends with none, by `nv` and by its number.
    #[test]
    fn a_line_of_nodata_blends_with_no_height() {
        for word in ["nv", "-9999"] {
            let table: Table =
                format!("-10000 red\n{word} 1 2 3\n0 blue\n10 white").parse().unwrap();
            let heights = [f32::NAN, -10000.0, -9999.5, -9000.0, 0.0, 11.0];
            let found = of(&table, &heights, Some(-9999.0), Between::Linear);
            let [red, blue, white] = [[255, 0, 0, 255], [0, 0, 255, 255], [255; 4]];
            assert_eq!(found, [[1, 2, 3, 255], red, red, blue, blue, white], "{word}");
        }
    }

    /// Parts of the range of heights have no colour where there is no height, and a line of NODATA colours no height.
    #[test]
    fn without_heights_or_lines_of_heights_cells_are_nodata_or_clear() {
        let table: Table = "0% blue\n100% red\nnv 1 2 3\n".parse().unwrap();
        assert_eq!(of(&table, &[f32::NAN; 2], None, Between::Linear), [[1, 2, 3, 255]; 2]);
        let table: Table = "0% blue\n100% red\n".parse().unwrap();
        assert_eq!(of(&table, &[f32::NAN], None, Between::Nearest), [[0; 4]]);
        let table: Table = "-9999 1 2 3\n".parse().unwrap();
        let found = of(&table, &[f32::NAN, 5.0], Some(-9999.0), Between::Exact);
        assert_eq!(found, [[1, 2, 3, 255], [0; 4]]);
    }
}
