//! `cargo xtask check-ptx`: is the committed PTX what the sources give, and fit for the GPUs?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rayon::prelude::*;

use crate::compiler::{Compiler, Workshop};
use crate::miscompiled;
use crate::modules::{self, Image};
use crate::ptx::Ptx;
use crate::{output_of, root};

/// GPUs that every module must assemble for, from the module's level up.
const ARCHITECTURES: [u32; 6] = [75, 80, 86, 90, 100, 120];

/// Checks every module and reports all that is wrong.
pub fn check() -> Result<()> {
    let ptxas = find_ptxas()?;
    let images = modules::images()?;
    let mut faults = modules::strays(&images)?;
    faults.iter_mut().for_each(|name| name.push_str(": belongs to no module of kernels-rs"));
    let workshop = Compiler::find()?.workshop(&images)?;

    let of_image = |image: &Image| -> Result<(Vec<String>, Ptx)> {
        let ptx = Ptx::read(image)?;
        let mut found = faults_of_text(&ptx.text);
        found.extend(miscompiled::negated_extremes(&ptx.text));
        found.extend(faults_of_origin(&ptx, &workshop, image)?);
        found.extend(faults_of_machine_code(&ptxas, image, &ptx)?);
        println!("{}: {}", image.file_name(), if found.is_empty() { "good" } else { "FAULTY" });
        Ok((found, ptx))
    };
    let checked = images.par_iter().map(of_image).collect::<Result<Vec<_>>>()?;
    for (image, (found, _)) in images.iter().zip(&checked) {
        faults.extend(found.iter().map(|fault| format!("{}: {fault}", image.file_name())));
    }
    faults.extend(faults_of_names(images.iter().zip(checked.iter().map(|(_, ptx)| ptx))));
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

/// Kernels of one name in two modules, or twice in one.
fn faults_of_names<'a>(files: impl Iterator<Item = (&'a Image, &'a Ptx)>) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let mut faults = Vec::new();
    for (image, ptx) in files {
        for kernel in ptx.kernels() {
            if let Some(other) = seen.insert((kernel, image.level), &image.module) {
                faults.push(format!("modules {other} and {} have a kernel {kernel}", image.module));
            }
        }
    }
    faults
}

/// What the assembler finds wrong with an image, for any architecture from its level up.
fn faults_of_machine_code(ptxas: &Path, image: &Image, ptx: &Ptx) -> Result<Vec<String>> {
    let architectures = ARCHITECTURES.into_par_iter().filter(|&a| a >= image.level);
    let faults = architectures.map(|a| faults_of_code(ptxas, image, ptx, a));
    Ok(faults.collect::<Result<Vec<_>>>()?.concat())
}

/// Calls that no one answers: a panic that was not optimised away, or a missing function.
fn faults_of_text(text: &str) -> Vec<String> {
    let panics = text.contains("panicking").then(|| "a kernel can panic".to_owned());
    let externs = text.lines().filter(|line| line.contains(".extern .func"));
    let externs = externs.map(|line| format!("unresolved function: {}", line.trim()));
    // A kernel is loaded with what stands before the first one, and without the others.
    let after_first = text.split_once(".visible .entry ").map_or("", |(_, rest)| rest);
    let functions = after_first.lines().filter(|line| line.contains(".func "));
    let functions = functions.filter(|line| !line.contains(".extern"));
    let functions = functions.map(|line| format!("a function behind a kernel: {}", line.trim()));
    panics.into_iter().chain(externs).chain(functions).collect()
}

/// Whether a fresh build gives the file. With another compiler than the recorded one only the
/// sources can be compared: those of the build that made the file, and those of now.
fn faults_of_origin(ptx: &Ptx, workshop: &Workshop, image: &Image) -> Result<Vec<String>> {
    let fresh = Ptx::new(workshop.version(), workshop.build(image)?, image)?;
    if ptx.compiler == fresh.compiler {
        let same = ptx.text == fresh.text;
        let fault = "a fresh build differs: run cargo xtask ptx".to_owned();
        return Ok(if same { vec![] } else { vec![fault] });
    }
    if ptx.sources == fresh.sources {
        let (name, recorded, here) = (image.file_name(), &ptx.compiler, &fresh.compiler);
        println!(
            "note: {name} was built by {recorded}, here is {here}: not compared byte for byte"
        );
        return Ok(vec![]);
    }
    Ok(vec![format!(
        "the sources changed since {} built it, and here is {}: run cargo xtask ptx",
        ptx.compiler, fresh.compiler
    )])
}

/// Assembles for one architecture and reads the assembler's account of each kernel.
fn faults_of_code(
    ptxas: &Path,
    image: &Image,
    ptx: &Ptx,
    architecture: u32,
) -> Result<Vec<String>> {
    let mut command = Command::new(ptxas);
    command
        .args(["--verbose", &format!("--gpu-name=sm_{architecture}"), "--output-file=/dev/null"])
        .arg(image.file());
    let output = command.output().with_context(|| format!("cannot run {}", ptxas.display()))?;
    let account = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Ok(vec![format!("sm_{architecture}: {}", account.trim())]);
    }
    // A function is for what is rare, and may spill.
    let declared = |name: &str| match ptx.kernels().any(|kernel| kernel == name) {
        true => ptx.declared_spills(name),
        false => u32::MAX,
    };
    let faults = faults_of_account(&account, declared);
    Ok(faults.into_iter().map(|fault| format!("sm_{architecture}: {fault}")).collect())
}

/// Kernels for which the assembler's account has a larger stack or more spills than they declare.
fn faults_of_account(account: &str, declared: impl Fn(&str) -> u32) -> Vec<String> {
    let mut kernel = "?";
    let mut faults = Vec::new();
    for line in account.lines() {
        if let Some(rest) = line.split("Function properties for ").nth(1) {
            kernel = rest.trim();
        } else if line.contains("bytes stack frame") {
            // As in `8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads`.
            let bytes = |part: &str| part.split_whitespace().next().and_then(|n| n.parse().ok());
            let most = line.split(',').map(|part| bytes(part).unwrap_or(u32::MAX)).max();
            if most > Some(declared(kernel)) {
                faults.push(format!("{kernel}: {}", line.trim()));
            }
        }
    }
    faults
}

/// `PTXAS`, the path, or where `.ci/run` puts the assembler of PyPI's nvidia-cuda-nvcc.
fn find_ptxas() -> Result<PathBuf> {
    let given = std::env::var_os("PTXAS").map(PathBuf::from);
    let wheel = root().join(".tools/nvcc/nvidia/cu13/bin/ptxas");
    given
        .into_iter()
        .chain([wheel, PathBuf::from("ptxas")])
        .find(|path| output_of(Command::new(path).arg("--version")).is_ok())
        .context(
            "no ptxas: pip install --target .tools/nvcc nvidia-cuda-nvcc==13.0.88, or set PTXAS",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spills_beyond_those_declared_are_found() {
        let account = "ptxas info    : Function properties for m__f\n    \
                       32 bytes stack frame, 32 bytes spill stores, 40 bytes spill loads\n\
                       ptxas info    : Function properties for m__g\n    \
                       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
        let faults =
            |of_f| faults_of_account(account, |name| if name == "m__f" { of_f } else { 0 });
        assert_eq!(faults(40), [""; 0]);
        let line = "32 bytes stack frame, 32 bytes spill stores, 40 bytes spill loads";
        assert_eq!(faults(39), [format!("m__f: {line}")]);
    }

    #[test]
    fn two_kernels_of_one_name_are_found() {
        let image =
            |module: &str, level| Image { module: module.to_owned(), level, is_highest: true };
        let ptx = |name: &str| Ptx {
            compiler: String::new(),
            sources: String::new(),
            text: format!(".visible .entry {name}(\n)"),
        };
        let faults = |files: [(Image, Ptx); 2]| faults_of_names(files.iter().map(|(i, p)| (i, p)));
        let apart = faults([(image("a", 75), ptx("a__f")), (image("b", 75), ptx("b__f"))]);
        assert_eq!(apart, [""; 0]);
        let levels = faults([(image("a", 75), ptx("a__f")), (image("a", 80), ptx("a__f"))]);
        assert_eq!(levels, [""; 0]);
        let clash = faults([(image("a", 75), ptx("f")), (image("b", 75), ptx("f"))]);
        assert_eq!(clash, ["modules a and b have a kernel f"]);
    }
}
