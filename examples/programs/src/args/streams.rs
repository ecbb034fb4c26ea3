//! The name `-`: standard input or output.

use std::path::Path;

use anyhow::{Result, ensure};
use clap::builder::ValueParser;
use clap::{Arg, ArgMatches, Command};

/// What the help of each argument says that takes `-`, before it says what for.
const OFFER: &str = "- for ";

/// Whether a path stands for standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses `-` as the name of a file, for arguments that take no standard input or output.
///
/// # Errors
/// In the case that the summary names.
pub fn require_file(argument: &str, path: &Path) -> Result<()> {
    ensure!(
        !is_stream(path),
        "{argument} -: this takes a file, not standard input or output: give the file's name (./- for a file of that name)"
    );
    Ok(())
}

/// Refuses `-` where a command line has it as the name of a file. It stands for standard input or output only where the help
/// of an argument offers that.
///
/// # Errors
/// In the case that the summary names.
pub fn require_files(mut command: &Command, mut matches: &ArgMatches) -> Result<()> {
    loop {
        for argument in command.get_arguments().filter(|argument| takes_a_file(argument)) {
            let given = matches.try_get_raw(argument.get_id().as_str()).ok().flatten();
            for path in given.into_iter().flatten() {
                require_file(&name(argument), Path::new(path))?;
            }
        }
        let Some((name, of_command)) = matches.subcommand() else { return Ok(()) };
        let Some(found) = command.find_subcommand(name) else { return Ok(()) };
        (command, matches) = (found, of_command);
    }
}

/// Whether an argument is a path, and its help offers no `-`.
fn takes_a_file(argument: &Arg) -> bool {
    let is_path = argument.get_value_parser().type_id() == ValueParser::path_buf().type_id();
    let helps = [argument.get_help(), argument.get_long_help()];
    is_path && !helps.into_iter().flatten().any(|help| help.to_string().contains(OFFER))
}

/// An argument as its user writes it: an option, or the name of its place.
fn name(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([name, ..])) => format!("<{name}>"),
        (None, _) => format!("<{}>", argument.get_id()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::{CommandFactory, Parser, Subcommand};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: Option<Commands>,
        /// Tables, or - for standard input
        inputs: Vec<PathBuf>,
        /// A raster
        #[arg(long, num_args = 2)]
        rasters: Vec<PathBuf>,
        /// A name
        #[arg(long)]
        name: Option<String>,
    }

    #[derive(Subcommand)]
    enum Commands {
        /// Makes it
        Make {
            /// The plan
            #[arg(value_name = "PLAN")]
            plan: PathBuf,
        },
    }

    #[test]
    fn a_dash_is_a_file_only_where_help_offers_a_stream() {
        let refused = |line: &str| {
            let words = ["program"].into_iter().chain(line.split_whitespace());
            let matches = Line::command().try_get_matches_from(words).unwrap();
            require_files(&Line::command(), &matches).err().map(|error| error.to_string())
        };
        for line in ["-", "a - --name -", "--rasters a.tif b.tif", "make a.json", "./-"] {
            assert_eq!(refused(line), None, "{line}");
        }
        for (line, begin) in [
            ("--rasters a.tif -", "--rasters -: this takes a file"),
            ("make -", "<PLAN> -: this takes a file"),
        ] {
            let error = refused(line).unwrap();
            assert!(error.starts_with(begin) && error.contains("./-"), "{line}: {error}");
        }
    }
}
