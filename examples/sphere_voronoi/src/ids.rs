//! Cells of other grids of the globe, by the crates that are their libraries.

use std::fmt::{self, Display, Formatter};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};
use cdshealpix::DEPTH_MAX;
use cdshealpix::nested::{from_uniq_ivoa, to_uniq_ivoa};
use geo_io::Error::NoColumn;
use gpu_core::host_memory;
use h3o::{CellIndex, LatLng, Resolution};
use serde_json::Value;

/// The ids of NUNIQ: those of order 0 begin at 4, and each further order begins behind the one before, up to order 29.
const NUNIQ: RangeInclusive<u64> = 4..=(1 << 62) - 1;

/// The value of `--ids`: a grid, and a level of it. Ids of H3, A5 and NUNIQ include their level, so the option may omit
/// it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grid {
    /// Hexagons, by H3's resolution. An id is written in hexadecimal digits.
    H3(Option<Resolution>),
    /// HEALPix's squares in the nested order, by their depth. An id is a number from 0.
    Healpix(u8),
    /// The same squares, by NUNIQ of the IVOA's MOC 2.0: an id is 4 * 4^ORDER + nested index.
    HealpixNuniq(Option<u8>),
    /// Pentagons, by A5's resolution. An id is written in hexadecimal digits.
    A5(Option<i32>),
}

impl Grid {
    /// The ids of all cells, in the grid's order.
    ///
    /// # Errors
    /// There is no level, or no memory for so many.
    pub fn ids(self) -> Result<Vec<u64>> {
        let no_level =
            "--ids: give a level, such as h3:4, healpix-nuniq:6 or a5:5, or cells by --cells";
        let count = match self {
            // Of 122 cells twelve are pentagons, which have six children; the others have seven.
            Self::H3(level) => 2 + 120 * 7u64.pow(u8::from(level.context(no_level)?).into()),
            Self::Healpix(depth) => cdshealpix::n_hash(depth),
            Self::HealpixNuniq(order) => cdshealpix::n_hash(order.context(no_level)?),
            Self::A5(level) => a5::get_num_cells(level.context(no_level)?),
        };
        self.require_memory(count)?;
        Ok(match self {
            Self::H3(level) => {
                let resolution = level.context(no_level)?;
                let cells = CellIndex::base_cells().flat_map(|cell| cell.children(resolution));
                cells.map(u64::from).collect()
            }
            Self::Healpix(_) => (0..count).collect(),
            Self::HealpixNuniq(order) => {
                let first = to_uniq_ivoa(order.context(no_level)?, 0);
                (first..first + count).collect()
            }
            Self::A5(level) => {
                let mut ids = Vec::new();
                for cell in a5::get_res0_cells().map_err(|reason| anyhow!(reason))? {
                    let cells = a5::cell_to_children(cell, level);
                    ids.extend(cells.map_err(|reason| anyhow!(reason))?);
                }
                ids
            }
        })
    }

    /// Refuses more cells than the free memory holds.
    fn require_memory(self, count: u64) -> Result<()> {
        // An id, two coordinates, a unit vector, a site and a distance.
        const OF_CELL: u64 = 60;
        let Err(error) = host_memory::require(count.saturating_mul(OF_CELL)) else { return Ok(()) };
        let Some(available) = host_memory::available() else { return Err(error.into()) };
        bail!(
            "--ids {self}: the grid has {count} cells at this level, but the free memory is enough for {}: give a lower \
             level, or only the cells that you need by --cells",
            available / OF_CELL
        )
    }

    /// Reads ids from a column of a table; if a level is given, all ids must have it.
    ///
    /// # Errors
    /// The errors of the table. A row has no id, or an id of another grid or level.
    pub fn read(self, path: &Path, column: &str) -> Result<Vec<u64>> {
        let values = geo_io::read_column(path, column).map_err(|error| match error {
            NoColumn { .. } => {
                anyhow!("--cells: {error}; give its name by --cell-column")
            }
            _ => error.into(),
        })?;
        let name = path.display();
        ensure!(!values.is_empty(), "{name} has no rows, so it names no cells");
        let named =
            |(row, value)| self.id(value).with_context(|| format!("{name}, row {}", row + 1));
        let ids = values.iter().enumerate().map(named).collect::<Result<Vec<u64>>>()?;
        // Ids of H3 may be ids of A5 too, by their bits.
        let is_h3 = |&id: &u64| CellIndex::try_from(id).is_ok();
        ensure!(
            !matches!(self, Self::A5(_)) || !ids.iter().all(is_h3),
            "{name}: its column \"{column}\" has ids of H3, but --ids says a5: give --ids h3"
        );
        Ok(ids)
    }

    /// The id that a field has.
    fn id(self, value: &Value) -> Result<u64> {
        let expected = match self {
            Self::H3(_) | Self::A5(_) => "hexadecimal digits, or a whole number of 64 bits",
            Self::Healpix(_) | Self::HealpixNuniq(_) => "a whole number that is not negative",
        };
        let none = || anyhow!("{value} is not an id: expected {expected}");
        let id = match value {
            Value::Number(number) => {
                // What databases without unsigned numbers make of large ids, which HEALPix has none of.
                let bits = match self {
                    Self::H3(_) | Self::A5(_) => number.as_i64().map(i64::cast_unsigned),
                    Self::Healpix(_) | Self::HealpixNuniq(_) => None,
                };
                number.as_u64().or(bits).ok_or_else(none)?
            }
            Value::String(text) if text.is_empty() => bail!("there is no id"),
            Value::String(text) => self.parse(text).ok_or_else(none)?,
            Value::Null => bail!("there is no id"),
            _ => return Err(none()),
        };
        self.require(id)?;
        Ok(id)
    }

    /// The id of a text: hexadecimal digits, or decimal ones where these are more than an id has in hexadecimal.
    fn parse(self, text: &str) -> Option<u64> {
        const MOST: usize = 16;
        let digits = text.strip_prefix("0x").unwrap_or(text);
        match self {
            Self::H3(_) | Self::A5(_) if digits.len() <= MOST => {
                u64::from_str_radix(digits, 16).ok()
            }
            _ => text.parse().ok(),
        }
    }

    /// Refuses an id of another grid or level.
    fn require(self, id: u64) -> Result<()> {
        let text = self.text(id);
        let (asked, found, grid) = match self {
            Self::H3(level) => {
                let cell =
                    CellIndex::try_from(id).map_err(|_| anyhow!("{text} is not a cell of H3"))?;
                (
                    level.map(|level| u8::from(level).into()),
                    u8::from(cell.resolution()).into(),
                    "h3",
                )
            }
            Self::Healpix(depth) => {
                let last = cdshealpix::n_hash(depth) - 1;
                ensure!(
                    id <= last,
                    "{text} is not a cell of healpix:{depth}, whose last cell is {last}"
                );
                return Ok(());
            }
            Self::HealpixNuniq(order) => {
                ensure!(
                    NUNIQ.contains(&id),
                    "{text} is not an id of NUNIQ: ids go from {} to {}",
                    NUNIQ.start(),
                    NUNIQ.end()
                );
                (order.map(i32::from), from_uniq_ivoa(id).0.into(), "healpix-nuniq")
            }
            Self::A5(level) => {
                let is_one = a5::is_valid_cell(id) && id != a5::WORLD_CELL;
                ensure!(is_one, "{text} is not a cell of A5");
                (level, a5::get_resolution(id), "a5")
            }
        };
        match asked {
            Some(level) if level != found => bail!(
                "{text} is a cell of level {found}, but --ids says {grid}:{level}: --ids {grid} \
                 takes cells of all levels"
            ),
            _ => Ok(()),
        }
    }

    /// The longitude and the latitude of a cell's centre in degrees.
    pub fn centre(self, id: u64) -> Result<[f64; 2]> {
        Ok(match self {
            Self::H3(_) => {
                let place = LatLng::from(CellIndex::try_from(id)?);
                [place.lng(), place.lat()]
            }
            Self::Healpix(depth) => {
                let (longitude, latitude) = cdshealpix::nested::center(depth, id);
                [longitude.to_degrees(), latitude.to_degrees()]
            }
            Self::HealpixNuniq(_) => {
                let (order, index) = from_uniq_ivoa(id);
                return Self::Healpix(order).centre(index);
            }
            Self::A5(_) => {
                let place = a5::cell_to_lonlat(id).map_err(|reason| anyhow!(reason))?;
                [place.longitude(), place.latitude()]
            }
        })
    }

    /// An id as the grid's users write it.
    pub fn text(self, id: u64) -> String {
        match self {
            Self::H3(_) | Self::A5(_) => format!("{id:x}"),
            Self::Healpix(_) | Self::HealpixNuniq(_) => id.to_string(),
        }
    }
}

/// As `--ids` has it.
impl Display for Grid {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, level) = match *self {
            Self::H3(level) => ("h3", level.map(|level| u8::from(level).into())),
            Self::Healpix(depth) => ("healpix", Some(depth.into())),
            Self::HealpixNuniq(order) => ("healpix-nuniq", order.map(i32::from)),
            Self::A5(level) => ("a5", level),
        };
        match level {
            Some(level) => write!(f, "{name}:{level}"),
            None => f.write_str(name),
        }
    }
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected h3:0 to h3:15, healpix:0 to healpix:29, healpix-nuniq:0 to healpix-nuniq:29, or a5:0 to a5:30; with --cells h3, healpix-nuniq and a5 too";
        match text {
            "h3" => return Ok(Self::H3(None)),
            "healpix-nuniq" => return Ok(Self::HealpixNuniq(None)),
            "a5" => return Ok(Self::A5(None)),
            _ => {}
        }
        let (name, level) = text.split_once(':').ok_or(expected)?;
        let level: u8 = level.parse().map_err(|_| expected)?;
        match name {
            "h3" => {
                let resolution = Resolution::try_from(level).map_err(|_| expected)?;
                Ok(Self::H3(Some(resolution)))
            }
            "healpix" if level <= DEPTH_MAX => Ok(Self::Healpix(level)),
            "healpix-nuniq" if level <= DEPTH_MAX => Ok(Self::HealpixNuniq(Some(level))),
            "a5" if i32::from(level) <= a5::MAX_RESOLUTION => Ok(Self::A5(Some(level.into()))),
            _ => Err(expected.to_owned()),
        }
    }
}
