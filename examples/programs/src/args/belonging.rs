//! Options that have an effect beside others alone.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The options of a struct that the command line has, also those with their default value.
///
/// It is the first field of the struct, with `#[command(flatten)]`: it does not know the options of fields before it,
/// whose values clap has taken away by then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given(BTreeSet<String>);

impl Given {
    /// Whether the command line has an option, such as `--contour-interval`.
    pub fn has(&self, option: &str) -> bool {
        self.0.contains(&option.trim_start_matches('-').replace('-', "_"))
    }

    /// Refuses an option of the command line beside none of the options that it belongs to, each with whether it is given.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_owner(&self, option: &str, owners: &[(&str, bool)]) -> Result<()> {
        require_owner(option, self.has(option), owners)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let ids = matches.ids().map(clap::Id::as_str);
        Ok(Self(ids.filter(|id| is_given(id)).map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

/// Refuses an option beside none of the options that it belongs to, each with whether it is given.
///
/// # Errors
/// In the case that the summary names.
pub fn require_owner(option: &str, is_given: bool, owners: &[(&str, bool)]) -> Result<()> {
    if !is_given || owners.iter().any(|(_, is_given)| *is_given) {
        return Ok(());
    }
    let names: Vec<&str> = owners.iter().map(|(owner, _)| *owner).collect();
    match names.split_last() {
        Some((last, [])) => bail!("{option} belongs to {last}: give both or neither"),
        Some((last, others)) => bail!(
            "{option} belongs to {} or {last}: give one of these too, or leave out {option}",
            others.join(", ")
        ),
        None => bail!("{option} has no effect here: leave it out"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        light: Light,
    }

    #[derive(Args)]
    struct Light {
        #[command(flatten)]
        given: Given,
        #[arg(long, default_value_t = 45.0)]
        sun_altitude: f64,
    }

    #[test]
    fn an_option_is_given_also_at_its_default_value() {
        for (line, is_given) in [
            (&["x"][..], false),
            (&["x", "--sun-altitude", "45"], true),
            (&["x", "--sun-altitude=7"], true),
        ] {
            let Light { given, sun_altitude } = Line::parse_from(line).light;
            assert_eq!(given.has("--sun-altitude"), is_given, "{line:?} {sun_altitude}");
            let refused = given.require_owner("--sun-altitude", &[("--hillshade", false)]);
            assert_eq!(refused.is_err(), is_given);
            given.require_owner("--sun-altitude", &[("--hillshade", true)]).unwrap();
        }
    }
}
