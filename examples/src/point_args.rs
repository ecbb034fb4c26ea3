//! Options that the programs on points share.

use std::str::FromStr;

use geo_io::CsvColumns;
use gpu_core::Bounds;

/// The rectangle of `--bounds`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent(pub Bounds);

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |word: &str| {
            let value: Option<f64> = word.trim().parse().ok();
            value.filter(|v| v.is_finite()).ok_or_else(|| format!("\"{word}\" is not a number"))
        };
        let numbers = text.split(',').map(number).collect::<Result<Vec<f64>, _>>()?;
        let [min_x, min_y, max_x, max_y] = numbers[..] else {
            return Err(format!("expected 4 numbers, found {}", numbers.len()));
        };
        if min_x < max_x && min_y < max_y {
            Ok(Self(Bounds { min_x, min_y, max_x, max_y }))
        } else {
            Err("the minimum must lie below the maximum".to_owned())
        }
    }
}

/// The columns of a CSV file.
#[derive(Clone, Debug)]
pub struct Columns(pub [String; 3]);

impl Columns {
    /// As geo-io takes them.
    pub fn names(&self) -> CsvColumns {
        let [x, y, z] = self.0.clone();
        CsvColumns { x, y, z }
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.split(',').map(|n| n.trim().to_owned()).collect();
        let count = names.len();
        names.try_into().map(Self).map_err(|_| format!("expected 3 names, found {count}"))
    }
}
