//! Cells of other grids of the globe, by the crates that are their libraries.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use gpu_core::host_memory;
use h3o::{CellIndex, LatLng, Resolution};

/// `--ids`: a grid, and a level of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grid {
    /// Hexagons, by H3's resolution. An id is written in hexadecimal digits.
    H3(Resolution),
    /// HEALPix's squares in the nested order, by their depth. An id is a number from 0.
    Healpix(u8),
    /// Pentagons, by A5's resolution. An id is written in hexadecimal digits.
    A5(i32),
}

impl Grid {
    /// The ids of all cells, in the grid's order.
    pub fn ids(self) -> Result<Vec<u64>> {
        let count = match self {
            // Of 122 cells twelve are pentagons, which have six children; the others have seven.
            Self::H3(resolution) => 2 + 120 * 7u64.pow(u8::from(resolution).into()),
            Self::Healpix(depth) => cdshealpix::n_hash(depth),
            Self::A5(resolution) => a5::get_num_cells(resolution),
        };
        // An id, two coordinates, a unit vector, a site and a distance.
        host_memory::require(count.saturating_mul(60))?;
        Ok(match self {
            Self::H3(resolution) => {
                let cells = CellIndex::base_cells().flat_map(|cell| cell.children(resolution));
                cells.map(u64::from).collect()
            }
            Self::Healpix(_) => (0..count).collect(),
            Self::A5(resolution) => {
                let mut ids = Vec::new();
                for cell in a5::get_res0_cells().map_err(|reason| anyhow!(reason))? {
                    let cells = a5::cell_to_children(cell, Some(resolution));
                    ids.extend(cells.map_err(|reason| anyhow!(reason))?);
                }
                ids
            }
        })
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
            Self::Healpix(_) => id.to_string(),
        }
    }
}

impl FromStr for Grid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected h3:0 to h3:15, healpix:0 to healpix:29, or a5:0 to a5:30";
        let (name, level) = text.split_once(':').ok_or(expected)?;
        let level: u8 = level.parse().map_err(|_| expected)?;
        match name {
            "h3" => Resolution::try_from(level).map(Self::H3).map_err(|_| expected.to_owned()),
            "healpix" if level <= 29 => Ok(Self::Healpix(level)),
            "a5" if i32::from(level) <= a5::MAX_RESOLUTION => Ok(Self::A5(level.into())),
            _ => Err(expected.to_owned()),
        }
    }
}
