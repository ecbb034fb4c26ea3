//! Plans as text.

use gpu_core::{Bounds, GridSpec};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{Error, Plan, Result};

/// What a plan says of itself.
pub const FORMAT: &str = "tile-plan";

/// The version of plans that this crate writes, and the latest that it reads.
pub const VERSION: u64 = 1;

#[derive(Serialize)]
struct Written<'a> {
    format: &'static str,
    version: u64,
    id: String,
    plan: &'a Plan,
}

impl Plan {
    /// What tells this plan from any other: 16 hexadecimal digits that follow from all of it.
    pub fn id(&self) -> String {
        // A plan has no map with keys other than text, which alone would fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        Sha256::digest(text)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The plan as JSON text.
    pub fn to_json(&self) -> String {
        let written = Written { format: FORMAT, version: VERSION, id: self.id(), plan: self };
        serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
    }

    /// The plan that a text has.
    ///
    /// # Errors
    /// [`Error::Foreign`] for another text, [`Error::Newer`] for a plan of a later version, [`Error::Damaged`] for
    /// one that is cut short, was changed or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self> {
        let foreign = |reason: &str| Error::Foreign { reason: reason.to_owned() };
        let damaged = |reason: String| Error::Damaged { reason };
        let value: Value = serde_json::from_str(text).map_err(|e| match text.contains(FORMAT) {
            true => damaged(e.to_string()),
            false => foreign("it is not JSON"),
        })?;
        if value["format"] != FORMAT {
            return Err(foreign("its format is not \"tile-plan\""));
        }
        let version = value["version"].as_u64();
        let version = version.ok_or_else(|| damaged("it has no version".to_owned()))?;
        if version > VERSION {
            return Err(Error::Newer { version, known: VERSION });
        }
        let plan = Self::deserialize(&value["plan"]).map_err(|e| damaged(e.to_string()))?;
        if value["id"] != plan.id() {
            return Err(damaged("its id does not follow from its content".to_owned()));
        }
        plan.check()?;
        Ok(plan)
    }

    /// What the use of a plan relies on.
    fn check(&self) -> Result<()> {
        let GridSpec { origin_x, origin_y, cell_size, width, height } = self.grid;
        GridSpec::new(origin_x, origin_y, cell_size, width, height)?;
        for (i, tile) in self.tiles.iter().enumerate() {
            let ends = |first: u32, count: u32, side: u32| {
                count > 0 && first.checked_add(count).is_some_and(|end| end <= side)
            };
            let is_inside =
                ends(tile.column, tile.width, width) && ends(tile.row, tile.height, height);
            if !is_inside || tile.inputs.iter().any(|&input| input as usize >= self.inputs.len()) {
                return Err(Error::Damaged { reason: format!("tile {i} is not of its grid") });
            }
        }
        let cells = |tile: &crate::Tile| u64::from(tile.width) * u64::from(tile.height);
        if self.tiles.iter().map(cells).sum::<u64>() != self.grid.cells() {
            return Err(Error::Damaged { reason: "its tiles are not its grid".to_owned() });
        }
        Ok(())
    }
}

/// The fields of a [`GridSpec`] as JSON has them.
#[derive(Serialize, Deserialize)]
#[serde(remote = "GridSpec", deny_unknown_fields)]
pub(crate) struct GridFields {
    origin_x: f64,
    origin_y: f64,
    cell_size: f64,
    width: u32,
    height: u32,
}

/// The fields of [`Bounds`] as JSON has them.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Bounds", deny_unknown_fields)]
pub(crate) struct BoundsFields {
    min_x: f64,
    min_y: f64,
    max_x: f64,
    max_y: f64,
}

/// Bounds that may be unknown.
#[derive(Serialize, Deserialize)]
pub(crate) struct SomeBounds(#[serde(with = "BoundsFields")] Bounds);

impl SomeBounds {
    pub fn serialize<S: Serializer>(bounds: &Option<Bounds>, to: S) -> Result<S::Ok, S::Error> {
        Serialize::serialize(&bounds.map(SomeBounds), to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bounds>, D::Error> {
        let bounds: Option<SomeBounds> = Deserialize::deserialize(from)?;
        Ok(bounds.map(|SomeBounds(bounds)| bounds))
    }
}
