//! What every program does at its beginning and its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};

/// Runs a program on its command line. Where it fails, one line on standard error says why, and the
/// exit status is 2.
pub fn run<Args: Parser>(name: &str, program: impl FnOnce(&Args) -> Result<()>) -> ExitCode {
    // Nothing here panics on purpose, but a decoder of damaged files may, which geo-io turns into
    // an error. Its one line is enough, so the panic's own message is kept for the last resort.
    set_hook(Box::new(|_| {}));
    // What a panic leaves behind is not looked at again: the program ends.
    let outcome = catch_unwind(AssertUnwindSafe(|| command_line().and_then(|a| program(&a))));
    let message = match outcome {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => format!("{error:#}"),
        Err(panic) => format!("internal error, please report it: {}", panic_text(&*panic)),
    };
    eprintln!("{name}: {}", one_line(&message));
    ExitCode::from(2)
}

/// The command line, or one line that says what is wrong with it. `--help` and `--version` print
/// and end the program.
fn command_line<Args: Parser>() -> Result<Args> {
    Args::try_parse().map_err(|error| match error.kind() {
        DisplayHelp | DisplayVersion => error.exit(),
        _ => {
            let text = error.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            anyhow::anyhow!("{}", first.trim_start_matches("error: ").trim())
        }
    })
}

/// A message on one line, whatever a file name or a library put into it.
fn one_line(message: &str) -> String {
    message
        .split(|c: char| c.is_control())
        .map(str::trim)
        .filter(|s| !s.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a panic said.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
