//! A coordinate system in a plan.

use anyhow::{Result, anyhow};
use geo_io::{Crs, GeoKeys};
use serde::{Deserialize, Serialize};

/// A coordinate system, as stated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum System {
    /// A name, such as `EPSG:26910`.
    Name(String),
    /// Well-known text.
    Wkt(String),
    /// The keys of a GeoTIFF.
    Keys {
        /// Their directory.
        directory: Vec<u16>,
        /// Their numbers.
        doubles: Vec<f64>,
        /// Their text.
        ascii: String,
    },
}

impl System {
    /// Returns the form from which the same system can be read back.
    ///
    /// # Errors
    /// No form does.
    pub fn of(crs: &Crs) -> Result<Self> {
        let GeoKeys { directory, doubles, ascii } = crs.geokeys();
        let wkt = crs.wkt().map(|wkt| Self::Wkt(wkt.to_owned()));
        let forms = [Some(Self::Name(crs.to_string())), wkt];
        let keys = Self::Keys { directory, doubles, ascii };
        let mut forms = forms.into_iter().flatten().chain([keys]);
        let is_same =
            |other: Crs| other.geokeys() == crs.geokeys() && other.to_string() == crs.to_string();
        let same = |form: &Self| form.crs().is_ok_and(is_same);
        forms.find(same).ok_or_else(|| {
            anyhow!("a plan cannot hold the coordinate system {crs}: name it by --crs")
        })
    }

    /// The system.
    ///
    /// # Errors
    /// The text is not a coordinate system: the plan was changed by hand.
    pub fn crs(&self) -> Result<Crs> {
        let none = || anyhow!("this plan is damaged: its coordinate system is invalid");
        match self {
            Self::Name(name) => Ok(Crs::parse(name)?),
            Self::Wkt(wkt) => Crs::from_wkt(wkt).ok_or_else(none),
            Self::Keys { directory, doubles, ascii } => {
                let (directory, doubles) = (directory.clone(), doubles.clone());
                let keys = GeoKeys { directory, doubles, ascii: ascii.clone() };
                Crs::from_geokeys(keys).map_err(|_| none())?.ok_or_else(none)
            }
        }
    }
}
