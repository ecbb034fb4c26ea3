//! The products of a DEM, and how to make them: the words of the command line and of plans.

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use programs::args::{Given, LightArgs, number, require_owner};
use serde::{Deserialize, Serialize};
use terrain_grid::{
    Angle, Aspect, Curvature, Edges, Gradient, Light, Product, ProductParams, Ruggedness, Shading,
    SlopeUnit,
};

/// A product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    Slope,
    Aspect,
    Hillshade,
    PlanCurvature,
    ProfileCurvature,
    Tri,
    Tpi,
    Roughness,
    Relief,
    ColorRelief,
    Contours,
}

/// What a product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number for each cell.
    Numbers,
    /// A colour for each cell.
    Colours,
    /// Lines.
    Lines,
}

impl Name {
    /// All, in the order of the help.
    pub const ALL: [Self; 11] = [
        Self::Slope,
        Self::Aspect,
        Self::Hillshade,
        Self::PlanCurvature,
        Self::ProfileCurvature,
        Self::Tri,
        Self::Tpi,
        Self::Roughness,
        Self::Relief,
        Self::ColorRelief,
        Self::Contours,
    ];

    /// Its word, which is also its option without the hyphens.
    pub fn word(self) -> &'static str {
        match self {
            Self::Slope => "slope",
            Self::Aspect => "aspect",
            Self::Hillshade => "hillshade",
            Self::PlanCurvature => "plan-curvature",
            Self::ProfileCurvature => "profile-curvature",
            Self::Tri => "tri",
            Self::Tpi => "tpi",
            Self::Roughness => "roughness",
            Self::Relief => "relief",
            Self::ColorRelief => "color-relief",
            Self::Contours => "contours",
        }
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        match self {
            Self::Relief | Self::ColorRelief => Kind::Colours,
            Self::Contours => Kind::Lines,
            _ => Kind::Numbers,
        }
    }

    /// Whether it depends on the size of cells on the ground.
    pub fn needs_lengths(self) -> bool {
        !matches!(
            self,
            Self::Tri | Self::Tpi | Self::Roughness | Self::ColorRelief | Self::Contours
        )
    }

    /// Whether it depends on where the north is.
    pub fn needs_north(self) -> bool {
        self.is_lit() || self == Self::Aspect
    }

    /// Whether it depends on the light.
    pub fn is_lit(self) -> bool {
        matches!(self, Self::Hillshade | Self::Relief)
    }

    /// Whether it is made of a gradient.
    pub fn has_gradient(self) -> bool {
        self.is_lit() || matches!(self, Self::Slope | Self::Aspect)
    }

    /// Its option.
    pub fn option(self) -> String {
        format!("--{}", self.word())
    }
}

/// Options that decide how to compute products.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[command(next_help_heading = "Method")]
pub struct MethodArgs {
    /// The options of the command line.
    #[command(flatten)]
    #[serde(skip)]
    given: Given,
    /// How to compute gradients, for slope, aspect and hillshade
    #[arg(long, value_name = "NAME", value_enum, default_value = "horn")]
    pub gradient: GradientName,
    /// How to treat cells at the border and beside NODATA
    #[arg(long, value_name = "NAME", value_enum, default_value = "nodata")]
    pub edges: EdgesName,
    /// The unit of slopes
    #[arg(long, value_name = "NAME", value_enum, default_value = "degrees")]
    pub slope_unit: UnitName,
    /// The direction in which aspects count
    #[arg(long, value_name = "NAME", value_enum, default_value = "azimuth")]
    pub aspect_angle: AngleName,
    /// The aspect of level ground, such as 0 or -1 [default: none, which is NODATA]
    #[arg(long, value_name = "VALUE", value_parser = finite)]
    pub flat: Option<f32>,
    /// How many lights the hillshade has, and how it combines them with the slope
    #[arg(long, value_name = "NAME", value_enum, default_value = "lambert")]
    pub shading: ShadingName,
    /// Which Terrain Ruggedness Index to compute
    #[arg(long, value_name = "NAME", value_enum, default_value = "riley")]
    pub tri_method: TriName,
    #[command(flatten)]
    pub light: LightArgs,
}

/// A finite number of 32 bits.
fn finite(text: &str) -> std::result::Result<f32, String> {
    let value = number(text)?;
    match (value as f32).is_finite() {
        true => Ok(value as f32),
        false if value.is_finite() => Err(format!("{text} is beyond the range of f32")),
        false => Err(format!("{text} is not a finite number")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GradientName {
    /// Weighted differences over eight neighbours (Horn 1981): for rough ground
    Horn,
    /// Differences over four neighbours (Zevenbergen and Thorne 1987): for smooth ground
    ZevenbergenThorne,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgesName {
    /// These cells are NODATA, as in gdaldem
    Nodata,
    /// A missing neighbour counts as level with the cell
    Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitName {
    /// From 0 to 90
    Degrees,
    /// Rise over run
    Percent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AngleName {
    /// Clockwise from north
    Azimuth,
    /// Counter-clockwise from east
    Trigonometric,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShadingName {
    /// One, at --azimuth
    Lambert,
    /// Four, from the south-west to the north (Mark 1992), as in gdaldem
    Multidirectional,
    /// One at --azimuth, combined with the slope, as in gdaldem
    Combined,
    /// One at --azimuth, which shades only slopes that face away from it, for maps, as in gdaldem
    Igor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriName {
    /// The root of the sum of the squared differences (1999)
    Riley,
    /// The mean of the absolute differences (2007)
    Wilson,
}

impl MethodArgs {
    /// Refuses parameters with which no product can be made, before it reads any height.
    ///
    /// # Errors
    /// The user gives an option for a product that the run does not make.
    pub fn check(&self, names: &[Name]) -> Result<()> {
        let given = |option: &str| self.given.has(option) || self.light.has(option);
        let of = |option: &str, is_owner: &dyn Fn(Name) -> bool| {
            let owners: Vec<(String, bool)> = Name::ALL
                .into_iter()
                .filter(|&name| is_owner(name))
                .map(|name| (name.option(), names.contains(&name)))
                .collect();
            let owners: Vec<(&str, bool)> = owners.iter().map(|(a, b)| (&a[..], *b)).collect();
            require_owner(option, given(option), &owners)
        };
        let is = |own: Name| move |name| name == own;
        of("--slope-unit", &is(Name::Slope))?;
        of("--aspect-angle", &is(Name::Aspect))?;
        of("--flat", &is(Name::Aspect))?;
        of("--tri-method", &is(Name::Tri))?;
        of("--gradient", &Name::has_gradient)?;
        let is_number = |name: Name| name.kind() == Kind::Numbers;
        of("--edges", &is_number)?;
        of("--shading", &Name::is_lit)?;
        of("--azimuth", &Name::is_lit)?;
        of("--altitude", &Name::is_lit)?;
        let is_scaled = |name: Name| name.needs_lengths() && name != Name::Aspect;
        of("--z-factor", &is_scaled)?;
        ensure!(
            self.shading != ShadingName::Multidirectional || !self.light.has("--azimuth"),
            "--azimuth is for one light, --shading multidirectional has four: leave out one of them"
        );
        ensure!(
            self.shading != ShadingName::Igor || !self.light.has("--altitude"),
            "--shading igor takes no --altitude: leave out one of them"
        );
        Ok(())
    }

    /// The parameters of a product, on square cells of side 1. Relief has only the light's parameters; a product of
    /// heights alone has none.
    pub fn params(&self, name: Name) -> Option<ProductParams> {
        let gradient = match self.gradient {
            GradientName::Horn => Gradient::Horn,
            GradientName::ZevenbergenThorne => Gradient::ZevenbergenThorne,
        };
        let edges = match self.edges {
            // The light of a picture has no frame.
            EdgesName::Nodata if name != Name::Relief => Edges::Nodata,
            _ => Edges::Level,
        };
        let params = ProductParams::new(self.product(name)?).gradient(gradient).edges(edges);
        Some(params.z_factor(self.light.z_factor))
    }

    fn product(&self, name: Name) -> Option<Product> {
        Some(match name {
            Name::ColorRelief | Name::Contours => return None,
            Name::Slope => Product::Slope(match self.slope_unit {
                UnitName::Degrees => SlopeUnit::Degrees,
                UnitName::Percent => SlopeUnit::Percent,
            }),
            Name::Aspect => {
                let angle = match self.aspect_angle {
                    AngleName::Azimuth => Angle::Azimuth,
                    AngleName::Trigonometric => Angle::Trigonometric,
                };
                Product::Aspect(Aspect::new().angle(angle).flat(self.flat.unwrap_or(f32::NAN)))
            }
            Name::Hillshade | Name::Relief => {
                let shading = match self.shading {
                    ShadingName::Lambert => Shading::Lambert,
                    ShadingName::Multidirectional => Shading::Multidirectional,
                    ShadingName::Combined => Shading::Combined,
                    ShadingName::Igor => Shading::Igor,
                };
                let light = Light::new().azimuth(self.light.azimuth).altitude(self.light.altitude);
                Product::Hillshade(light.shading(shading))
            }
            Name::PlanCurvature => Product::Curvature(Curvature::Plan),
            Name::ProfileCurvature => Product::Curvature(Curvature::Profile),
            Name::Tri => Product::Ruggedness(match self.tri_method {
                TriName::Riley => Ruggedness::Riley,
                TriName::Wilson => Ruggedness::Wilson,
            }),
            Name::Tpi => Product::Position,
            Name::Roughness => Product::Roughness,
        })
    }

    /// What the numbers of a product are measured in.
    pub fn unit(&self, name: Name) -> &'static str {
        match name {
            Name::Slope if self.slope_unit == UnitName::Percent => "percent",
            Name::Slope | Name::Aspect => "degrees",
            Name::Hillshade => "from 0, dark, to 1",
            Name::PlanCurvature | Name::ProfileCurvature => "over one unit of the ground",
            _ => "in the unit of heights",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_command_line() {
        for name in Name::ALL {
            let word = name.to_possible_value().unwrap();
            assert_eq!(word.get_name(), name.word());
            assert_eq!(serde_json::to_value(name).unwrap(), name.word());
        }
        assert_eq!(Name::value_variants(), Name::ALL);
        assert!(finite("-1").is_ok() && finite("nan").is_err() && finite("1e39").is_err());
    }
}
