//! The columns and rows of a raster.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use gpu_core::Bounds;

use super::words::whole;

/// How many columns and rows a raster has, as `--size` asks for: 640x480, or 640,480.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = whole(1..=u32::MAX);
        match text.split(['x', 'X', ',']).collect::<Vec<_>>()[..] {
            [width, height] => Ok(Self { width: side(width)?, height: side(height)? }),
            _ => Err("expected columns and rows, such as 640x480".to_owned()),
        }
    }
}

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// The most cells that an error suggests: a raster of them fits most memories.
const MOST_SUGGESTED: u64 = 100_000_000;

impl Size {
    /// The width and the height of a cell if so many cover the bounds.
    pub fn cell(self, b: &Bounds) -> (f64, f64) {
        ((b.max_x - b.min_x) / f64::from(self.width), (b.max_y - b.min_y) / f64::from(self.height))
    }

    /// Returns the advice for bounds that this size does not divide into square cells. It names the sizes with the same
    /// columns or the same rows that `is_accepted`, and else the option that needs no size.
    pub fn advice(self, b: &Bounds, is_accepted: impl Fn(Self) -> bool) -> String {
        let cells = |side: f64| (1.0..=f64::from(u32::MAX)).contains(&side).then_some(side as u32);
        let ratio = (b.max_x - b.min_x) / (b.max_y - b.min_y);
        let height = cells((f64::from(self.width) / ratio).round());
        let width = cells((f64::from(self.height) * ratio).round());
        let sizes = [
            height.map(|height| Self { height, ..self }),
            width.map(|width| Self { width, ..self }),
        ];
        let is_small = |size: &Self| {
            u64::from(size.width).saturating_mul(size.height.into()) <= MOST_SUGGESTED
        };
        let sizes = sizes.into_iter().flatten().filter(|size| is_small(size) && is_accepted(*size));
        let mut sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
        sizes.dedup();
        match &sizes[..] {
            [] => "give --resolution in place of --size".to_owned(),
            sizes => {
                format!(
                    "use --size {}, or give --resolution in place of --size",
                    sizes.join(" or ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_cross_or_a_comma() {
        for text in ["640x480", "640X480", "640,480", "640, 480"] {
            let size: Size = text.parse().unwrap();
            assert_eq!(
                (size, size.to_string()),
                (Size { width: 640, height: 480 }, "640x480".to_owned())
            );
        }
        for bad in ["", "640", "0x5", "5x", "-1x3", "axb", "5,0", "5,-1", "5,1.5", "1,2,3", "1,2x3"]
        {
            assert!(bad.parse::<Size>().is_err(), "{bad:?} was taken");
        }
    }
}
