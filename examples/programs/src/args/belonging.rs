//! Options that have an effect beside others alone.

use anyhow::{Result, bail};

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
