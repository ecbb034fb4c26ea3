//! Bands in addition to the values of cells.

use std::str::FromStr;

/// The name of heights above a ground.
pub const ABOVE: &str = "height";

/// A property of a cell other than its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// How many points lie in the cell.
    Count,
    /// How far its centre is from the nearest point.
    Distance,
    /// How many natural neighbours its value has.
    Neighbours,
}

impl Layer {
    const ALL: [Self; 3] = [Self::Count, Self::Distance, Self::Neighbours];

    /// The name on the command line and in the band's description.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Distance => "distance",
            Self::Neighbours => "neighbours",
        }
    }
}

impl FromStr for Layer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found =
            Self::ALL.into_iter().find(|layer| layer.name().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| format!("unknown layer \"{text}\": use count, distance or neighbours"))
    }
}
