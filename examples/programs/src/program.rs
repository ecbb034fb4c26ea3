//! The beginning and the end of every program.

use std::any::Any;
use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::error::ErrorKind::{DisplayHelp, DisplayVersion, UnknownArgument};
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command, Parser};
use clap_complete::Shell;

use crate::args::require_files;
use crate::report;

/// The exit status of a program that was interrupted from its terminal, as shells have it.
const INTERRUPTED: i32 = 130;

/// The exit status where something was wrong.
const FAILED: u8 = 2;

/// Runs a program on its command line. If it fails, one line on standard error says why, and the exit status is 2. A
/// signal that ends it leaves no unfinished files either.
pub fn run<Args: Parser>(
    name: &'static str,
    program: impl FnOnce(&Args) -> Result<()>,
) -> ExitCode {
    // Nothing here panics on purpose, but a decoder of damaged files may, which geo-io turns into
    // an error. Its one line is enough, so the panic's own message is kept for the last resort.
    set_hook(Box::new(|_| {}));
    // What a panic leaves behind is not looked at again: the program ends.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        end_cleanly_at_signals(name)?;
        match command_line::<Args>(name)? {
            Some((args, threads)) => on_threads(threads, || program(&args)),
            None => Ok(()),
        }
    }));
    let message = match outcome {
        Ok(Ok(())) => match report::lost() {
            None => return ExitCode::SUCCESS,
            Some(error) => format!("the report cannot be written, all files are: {error}"),
        },
        Ok(Err(error)) => with_tip(&error),
        Err(panic) => format!("internal error, please report it: {}", panic_text(&*panic)),
    };
    eprintln!("{name}: {}", one_line(&message));
    ExitCode::from(FAILED)
}

/// Reports an error in a part of the work, in one line on standard error, while the rest goes on.
pub fn warn(name: &str, error: &anyhow::Error) {
    eprintln!("{name}: {}", one_line(&with_tip(error)));
}

/// Runs `work` on the number of threads that the user gives.
fn on_threads(threads: Option<usize>, work: impl FnOnce() -> Result<()>) -> Result<()> {
    if let Some(threads) = threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.with_context(|| format!("--threads {threads}"))?;
    }
    work()
}

/// Returns the value of `--threads`, which belongs to the command where the line has one.
fn threads(mut matches: &ArgMatches) -> Option<usize> {
    while let Some((_, of_command)) = matches.subcommand() {
        matches = of_command;
    }
    matches.try_get_one("threads").ok().flatten().copied()
}

/// The command line and its `--threads`, or one line that says what is wrong with it. `--help` and `--version` print
/// and end the program; a completion script and the manual page are printed in its stead.
fn command_line<Args: Parser>(name: &'static str) -> Result<Option<(Args, Option<usize>)>> {
    let command = || Args::command().name(name).bin_name(name);
    let line: Vec<OsString> = std::env::args_os().collect();
    let words: Vec<_> = line.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(|word| word.as_ref()).collect();
    if print_instead(&words, command)? {
        return Ok(None);
    }
    let parsed = command().try_get_matches_from(with_negative_values(line)).and_then(|matches| {
        let threads = threads(&matches);
        Ok((Args::from_arg_matches(&matches)?, threads, matches))
    });
    let (args, threads, matches) = parsed.map_err(|error| match error.kind() {
        DisplayHelp | DisplayVersion => error.exit(),
        _ => anyhow::anyhow!("{}", in_a_line(&error, &command())),
    })?;
    require_files(&command(), &matches)?;
    Ok(Some((args, threads)))
}

/// Joins each option with the negative number, or the list that begins with one, behind it. clap takes both for options.
fn with_negative_values(line: Vec<OsString>) -> Vec<OsString> {
    let is_option = |word: &OsString| {
        word.to_str().is_some_and(|word| word.starts_with("--") && !word.contains('='))
    };
    let is_negative = |word: &OsString| {
        let value = word.to_str().and_then(|word| word.strip_prefix('-')).unwrap_or_default();
        value.starts_with(|c: char| c == '.' || c.is_ascii_digit()) || value.starts_with("inf")
    };
    let (mut joined, mut are_options) = (Vec::<OsString>::new(), true);
    for word in line {
        are_options &= word != "--";
        let option = joined.last_mut().filter(|option| are_options && is_option(option));
        match option.filter(|_| is_negative(&word)) {
            Some(option) => {
                option.push("=");
                option.push(word);
            }
            None => joined.push(word),
        }
    }
    joined
}

/// What is wrong with a command line, with clap's tips and without the usage.
fn in_a_line(error: &clap::Error, command: &Command) -> String {
    let text = error.render().to_string();
    let elsewhere = elsewhere(error, command);
    let parts = text.split("\n\n").take_while(|part| !part.starts_with("Usage:"));
    let parts = parts.map(|part| one_line(part.trim()));
    let parts = parts.filter(|part| {
        let is_tip = part.starts_with("tip: ");
        // clap takes an unknown option for a value, and suggests how to pass it as one.
        let is_of_value = part.starts_with("tip: to pass '-");
        let is_answered = is_tip && elsewhere.is_some();
        !(is_answered || is_of_value || part.starts_with("For more information"))
    });
    let parts: Vec<_> = parts.chain(elsewhere.clone()).collect();
    parts.join("; ").trim_start_matches("error: ").to_owned()
}

/// Which commands of a program have the option that the one on the line does not know.
fn elsewhere(error: &clap::Error, command: &Command) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let option = word.split('=').next()?.strip_prefix("--")?;
    let has = |command: &&Command| {
        command.get_arguments().any(|argument| argument.get_long() == Some(option))
    };
    let alone = Some(command)
        .filter(has)
        .map(|command| format!("{} without a command", command.get_name()));
    let commands =
        command.get_subcommands().filter(has).map(|command| command.get_name().to_owned());
    let names: Vec<String> = alone.into_iter().chain(commands).collect();
    (error.kind() == UnknownArgument && !names.is_empty())
        .then(|| format!("--{option} is an option of {}", names.join(", ")))
}

/// Prints what `--completions SHELL` or `--man` asks for, if one of them is the command line.
fn print_instead(words: &[&str], command: impl Fn() -> Command) -> Result<bool> {
    let shell = match *words {
        ["--man"] => {
            clap_mangen::Man::new(command()).render(&mut std::io::stdout())?;
            return Ok(true);
        }
        ["--completions", shell] => shell,
        [word] => match word.strip_prefix("--completions=") {
            Some(shell) => shell,
            None => return Ok(false),
        },
        _ => return Ok(false),
    };
    let shell: Shell = shell.parse().map_err(|_| {
        anyhow::anyhow!("--completions {shell}: use bash, elvish, fish, powershell or zsh")
    })?;
    let mut command = command();
    let name = command.get_name().to_owned();
    // The generator knows no errors of writing.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(true)
}

/// Interruption, termination, the end of memory and of processor time, and whatever else ends a program by default
/// remove unfinished files and end the program with one line. A file longer than the user's limit is an error of
/// writing.
#[cfg(unix)]
fn end_cleanly_at_signals(name: &'static str) -> Result<()> {
    use signal_hook::consts::{
        SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
    };
    use signal_hook::{iterator::Signals, low_level};

    let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2];
    let mut signals = Signals::new(ending.into_iter().filter(|&signal| !is_ignored(signal)))?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            geo_io::remove_unfinished(false);
            let (word, status) = match signal {
                SIGINT => ("interrupted", INTERRUPTED),
                _ => ("terminated", FAILED.into()),
            };
            eprintln!("{name}: {word}; no unfinished files remain");
            std::process::exit(status);
        }
    })?;
    // An allocation that fails prints a line and aborts, wherever it is.
    //
    // SAFETY: the handler runs on the thread that raised the signal. It tries a lock without waiting, unlinks the
    // files listed there by names as the system takes them, and ends the process at once; it neither allocates,
    // frees nor panics.
    unsafe {
        low_level::register(SIGABRT, || {
            geo_io::remove_unfinished(true);
            low_level::exit(FAILED.into());
        })?;
    }
    // SAFETY: the handler does nothing. That there is one is why the write itself fails, with what it says.
    unsafe {
        low_level::register(SIGXFSZ, || {})?;
    }
    Ok(())
}

/// Whether the program was started with a signal switched off, as `nohup` does with SIGHUP: then it stays so. (Linux;
/// elsewhere none is.)
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

#[cfg(not(unix))]
fn end_cleanly_at_signals(name: &'static str) -> Result<()> {
    let _ = (name, INTERRUPTED);
    Ok(())
}

/// An error's line, with the option that mends it.
fn with_tip(error: &anyhow::Error) -> String {
    let text = without_numbers_of_the_system(&format!("{error:#}"));
    let tip = match error.downcast_ref::<geo_io::Error>() {
        Some(geo_io::Error::NodataTaken { .. }) => return format!("{text}, by --nodata"),
        Some(geo_io::Error::Exists { .. } | geo_io::Error::Differs { .. }) => {
            "--overwrite replaces it"
        }
        Some(geo_io::Error::NoColumn { is_value: true, .. }) => {
            "--value names those that are wanted, or says their numbers"
        }
        Some(geo_io::Error::NoColumn { .. }) => {
            "--columns names those that are wanted, or says their numbers"
        }
        _ => return text,
    };
    format!("{text}; {tip}")
}

/// A message without the numbers that the system has for its errors, such as " (os error 2)".
fn without_numbers_of_the_system(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, rest)| rest))
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
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_out_the_numbers_of_the_system() {
        for (message, shown) in [
            ("a.txt: No such file or directory (os error 2)", "a.txt: No such file or directory"),
            ("a (os error 13): b (os error 28); c", "a: b; c"),
            ("a (os), b", "a (os), b"),
        ] {
            assert_eq!(without_numbers_of_the_system(message), shown);
        }
    }
}
