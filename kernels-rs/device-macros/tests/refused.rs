//! Declarations that the compiler refuses. Each mistake is reported at its line, which ends with `//~` and a part of
//! the message.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEAD: &str = "
use device_std::host::PtxModule;
use device_std::{In, Out, arguments, kernel};
static MODULE: PtxModule = PtxModule { name: \"maps\", images: &[] };
";

/// The newest build of device-std beside this test.
fn device_std(folder: &Path) -> PathBuf {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libdevice_std-") && name.ends_with(".rlib")
    };
    let built = |path: &PathBuf| path.metadata().unwrap().modified().unwrap();
    entries.filter(is_library).max_by_key(built).expect("a dev-dependency is built")
}

/// The compiler's errors for the source: for each, the line in the source and the message.
fn errors(name: &str, source: &str) -> Vec<(usize, String)> {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let file = folder.join(format!("refused_{name}.rs"));
    std::fs::write(&file, source).unwrap();
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=short"])
        .arg(format!("--extern=device_std={}", device_std(folder).display()))
        .arg(format!("-Ldependency={}", folder.display()))
        .arg(format!("--out-dir={}", folder.display()))
        .arg(&file)
        .output()
        .unwrap();
    // `path:line:column: error[E0000]: message`
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let of_line = |line: &str| {
        let (place, message) = line.split_once(": error")?;
        let line = place.rsplit(':').nth(1)?.parse().ok()?;
        Some((line, message.to_owned()))
    };
    let errors: Vec<_> = told.lines().filter_map(of_line).collect();
    assert_eq!(errors.is_empty(), output.status.success(), "{name}: {told}");
    errors
}

/// Compiles the source and compares the errors with the lines that end with `//~`.
fn refused(name: &str, source: &str) {
    let source = format!("{HEAD}{source}");
    let marked = source.lines().enumerate().filter_map(|(i, line)| {
        line.split_once("//~").map(|(_, message)| (i + 1, message.trim().to_owned()))
    });
    let (marked, found): (Vec<_>, Vec<_>) = (marked.collect(), errors(name, &source));
    for (line, message) in &marked {
        let is_it = |(at, told): &(usize, String)| at == line && told.contains(message);
        assert!(found.iter().any(is_it), "{name}, line {line}: no {message:?} in {found:#?}");
    }
    // Generated code may repeat the same mistake.
    let is_other =
        |(_, told): &&(usize, String)| !marked.iter().any(|(_, message)| told.contains(message));
    assert_eq!(found.iter().find(is_other), None, "{name}: another error");
}

const RIGHT: &str = "
#[arguments]
struct Levels<'a> {
    heights: In<'a, f64>,
    grid: [f64; 2],
    count: u32,
}
#[kernel(block = 32)]
unsafe fn count(levels: Levels<'_>, out: Out<'_, u64>) {
    out.set(0, levels.heights.get(0) as u64);
}
";

/// A correct declaration with a part replaced; the part must be there.
fn with(part: &str, wrong: &str) -> String {
    assert!(RIGHT.contains(part), "{part}");
    RIGHT.replace(part, wrong)
}

#[test]
fn nothing_is_refused_in_what_is_right() {
    refused("right", RIGHT);
}

#[test]
fn an_unknown_type_of_a_field_is_told_at_the_field() {
    refused("unknown", &with("In<'a, f64>,", "In<'a, Wrong>, //~ cannot find type `Wrong`"));
}

#[test]
fn a_field_that_cannot_be_copied_is_told_at_the_field() {
    refused("copied", &with("[f64; 2],", "[std::string::String; 2], //~ Copy"));
}

#[test]
fn a_field_that_is_no_argument_is_told_at_the_field() {
    let wrong = with("In<'a, f64>,", "Option<&'a f64>, //~ Argument` is not satisfied");
    refused("no_argument", &wrong.replace("levels.heights.get(0) as u64", "0"));
}

#[test]
fn a_parameter_that_is_no_struct_of_arguments_is_told_at_the_parameter() {
    let wrong =
        with("count(levels: Levels<'_>,", "count(levels: Levels<'_>, //~ find macro `Levels`\n");
    refused("no_struct", &wrong.replace("#[arguments]\n", ""));
}

#[test]
fn a_wrong_type_in_the_body_is_told_there() {
    let wrong = "out.set(0, 1.0); //~ mismatched types";
    refused("body", &with("out.set(0, levels.heights.get(0) as u64);", wrong));
}

#[test]
fn an_input_cannot_be_written() {
    let wrong = "levels.heights.set(0, 1.0); //~ no method named `set`";
    refused("written", &with("out.set(0, levels.heights.get(0) as u64);", wrong));
}

#[test]
fn a_wrong_type_in_a_launch_is_told_in_the_launch() {
    let launch = "
pub fn launch(heights: Out<'_, f64>, out: Out<'_, u64>) {
    let levels = Levels {
        heights, //~ mismatched types
        grid: [0.0; 2],
        count: 1,
    };
    let _ = count::Args { levels, out };
}
";
    refused("launch", &format!("{RIGHT}{launch}"));
}

#[test]
fn fields_are_named_and_lifetimes_of_kernels_left_open() {
    refused("tuple", "#[arguments]\nstruct Pair<'a>(In<'a, u32>, u32); //~ named fields\n");
    let kernel =
        "#[kernel(block = 32)]\nunsafe fn f<'a>(x: In<'a, u32>) {} //~ names no lifetimes\n";
    refused("lifetime", kernel);
}
