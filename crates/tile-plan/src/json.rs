//! Plans as text.

use std::collections::BTreeMap;

use gpu_core::{Bounds, GridSpec};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{Error, Plan, Result, Tile};

/// How a plan names its format and version.
pub const FORMAT: &str = "tile-plan";

/// The version of plans that this crate writes, which is the latest that it reads.
pub const VERSION: u64 = 1;

#[derive(Serialize)]
struct Written<'a> {
    format: &'static str,
    version: u64,
    id: String,
    plan: &'a Plan,
}

impl Plan {
    /// Returns an id that tells this plan from any other: 16 hexadecimal digits, a hash of the whole plan.
    pub fn id(&self) -> String {
        // A plan has no map with keys other than text, which alone would fail.
        let text = serde_json::to_string(self).unwrap_or_default();
        Sha256::digest(text)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Writes the plan as JSON text.
    pub fn to_json(&self) -> String {
        let written = Written { format: FORMAT, version: VERSION, id: self.id(), plan: self };
        serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
    }

    /// Reads a plan from its text.
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

    /// Checks what the use of a plan relies on.
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
                return Err(Error::Damaged {
                    reason: format!("tile {i} does not belong to the plan's grid"),
                });
            }
        }
        // Tiles within the grid that share no cell, and have as many as it has, are all of it.
        if let Some(i) = shared(&self.tiles) {
            return Err(Error::Damaged { reason: format!("tile {i} overlaps another tile") });
        }
        let cells = |tile: &Tile| u64::from(tile.width) * u64::from(tile.height);
        if self.tiles.iter().map(cells).sum::<u64>() != self.grid.cells() {
            return Err(Error::Damaged { reason: "its tiles do not cover its grid".to_owned() });
        }
        Ok(())
    }
}

/// A tile that has a cell of another, if there is one: a line goes over the rows, and knows the columns of the tiles that it
/// crosses.
fn shared(tiles: &[Tile]) -> Option<usize> {
    let ends = tiles.iter().enumerate().map(|(i, tile)| (tile.row + tile.height, false, i));
    let begins = tiles.iter().enumerate().map(|(i, tile)| (tile.row, true, i));
    let mut events: Vec<(u32, bool, usize)> = ends.chain(begins).collect();
    // Within a row, tiles that end before it come before those that begin with it.
    events.sort_unstable();
    let mut crossed: BTreeMap<u32, u32> = BTreeMap::new();
    for (_, begins, i) in events {
        let (first, end) = (tiles[i].column, tiles[i].column + tiles[i].width);
        if !begins {
            crossed.remove(&first);
            continue;
        }
        let before = crossed.range(..end).next_back();
        if before.is_some_and(|(_, &other_end)| other_end > first) {
            return Some(i);
        }
        crossed.insert(first, end);
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, Model, Params, plan};

    /// A plan of four tiles whose id is right, whatever was done to it.
    fn forged(change: impl Fn(&mut Vec<Tile>)) -> Result<Plan> {
        let grid = GridSpec::of_pixels(64, 64);
        let params = Params::new(grid, u64::MAX, Model { fixed: 0, per_point: 0, per_cell: 1 });
        let mut plan = plan(&[Input::new("a.tif")], &params.most_side(32)).unwrap();
        assert_eq!(plan.tiles.len(), 4);
        change(&mut plan.tiles);
        Plan::from_json(&plan.to_json())
    }

    #[test]
    fn a_plan_whose_tiles_overlap_or_leave_gaps_is_refused_though_its_cells_add_up() {
        assert!(forged(|_| {}).is_ok());
        let refused = |change: &dyn Fn(&mut Vec<Tile>), words: &str| {
            let error = forged(change).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(&|tiles| tiles[3].row = 0, "overlaps another tile");
        refused(&|tiles| tiles[3] = tiles[0].clone(), "overlaps another tile");
        refused(&|tiles| (tiles[1].column, tiles[1].width) = (31, 33), "overlaps another tile");
        refused(&|tiles| tiles[2].height = 31, "do not cover its grid");
        refused(&|tiles| drop(tiles.pop()), "do not cover its grid");
        refused(&|tiles| tiles[3].column = 33, "does not belong to the plan's grid");
    }
}
