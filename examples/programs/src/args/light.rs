//! Options of the programs that shade.

use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};
use terrain_grid::{Edges, Light, Product, ProductParams, SlopeUnit};

use super::belonging::Given;
use super::words::{elevation, positive, turn};

/// How slopes and shades are computed.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "Slope and light")]
pub struct LightArgs {
    /// The options of the command line.
    #[command(flatten)]
    #[serde(skip)]
    given: Given,
    /// Factor on heights for slope and light, in addition to the factor from the units of the coordinate system. A
    /// factor of 2 doubles the relief. Give 0.3048 for heights in feet if the system does not say so
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    pub z_factor: f64,
    /// Where the light comes from, in degrees clockwise from north, from -360 to 360
    #[arg(long, value_name = "DEGREES", default_value_t = 315.0, value_parser = turn)]
    pub azimuth: f64,
    /// Height of the light above the horizon, in degrees from 0 to 90
    #[arg(long, value_name = "DEGREES", default_value_t = 45.0, value_parser = elevation)]
    pub altitude: f64,
}

impl LightArgs {
    /// Refuses options without a product that depends on them. `shades` and `slopes` are the options of these products,
    /// each with whether it is given.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn check(&self, shades: &[(&str, bool)], slopes: &[(&str, bool)]) -> Result<()> {
        self.given.require_owner("--azimuth", shades)?;
        self.given.require_owner("--altitude", shades)?;
        self.given.require_owner("--z-factor", &[slopes, shades].concat())
    }

    /// Whether the command line has an option of the light.
    pub fn has(&self, option: &str) -> bool {
        self.given.has(option)
    }

    /// The brightness under the light, of every cell that has a height.
    pub fn hillshade(&self) -> ProductParams {
        let light = Light::new().azimuth(self.azimuth).altitude(self.altitude);
        let shade = ProductParams::new(Product::Hillshade(light));
        shade.z_factor(self.z_factor).edges(Edges::Level)
    }

    /// The slope in degrees.
    pub fn slope(&self) -> ProductParams {
        ProductParams::new(Product::Slope(SlopeUnit::Degrees)).z_factor(self.z_factor)
    }
}
