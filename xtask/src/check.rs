//! `cargo xtask check-ptx`: is the committed PTX what the sources give, and fit for the GPUs?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rayon::prelude::*;

use crate::ptx::{self, Compiler, MODULES, Recorded};
use crate::{output_of, root};

/// GPUs that every module must assemble for, from the module's level up.
const ARCHITECTURES: [u32; 6] = [75, 80, 86, 90, 100, 120];

/// One file of PTX.
type Image = (&'static str, u32);

/// Checks every module and reports all that is wrong.
///
/// The builds share a target folder and go one after the other; meanwhile the assembler, which
/// needs the committed files alone, takes the other processors.
pub fn check() -> Result<()> {
    let compiler = Compiler::find()?;
    let ptxas = find_ptxas()?;
    let images: Vec<Image> = MODULES
        .iter()
        .flat_map(|&(module, levels)| levels.iter().map(move |&level| (module, level)))
        .collect();
    let (built, assembled) = rayon::join(
        || images.iter().map(|&image| faults_of_file(&compiler, image)).collect::<Result<Vec<_>>>(),
        || faults_of_machine_code(&ptxas, &images),
    );
    let mut faults = Vec::new();
    for ((module, level), found) in images.into_iter().zip(built?.into_iter().zip(assembled?)) {
        let name = format!("{module}.sm_{level}.ptx");
        let found = [found.0, found.1].concat();
        println!("{name}: {}", if found.is_empty() { "good" } else { "FAULTY" });
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

/// What is wrong with a file's text, and with where it comes from.
fn faults_of_file(compiler: &Compiler, (module, level): Image) -> Result<Vec<String>> {
    let text = fs::read_to_string(ptx::file(module, level))
        .with_context(|| format!("{module}.sm_{level}.ptx is missing: run cargo xtask ptx"))?;
    let mut faults = faults_of_text(&text);
    faults.extend(faults_of_origin(&text, compiler, module, level)?);
    Ok(faults)
}

/// What the assembler finds wrong with each image, for any architecture from the image's level up.
fn faults_of_machine_code(ptxas: &Path, images: &[Image]) -> Result<Vec<Vec<String>>> {
    let of_image = |&(module, level): &Image| {
        let architectures = ARCHITECTURES.into_par_iter().filter(|&a| a >= level);
        let faults = architectures.map(|a| faults_of_code(ptxas, module, level, a));
        Ok(faults.collect::<Result<Vec<_>>>()?.concat())
    };
    images.par_iter().map(of_image).collect()
}

/// Calls that no one answers: a panic that was not optimised away, or a missing function.
fn faults_of_text(text: &str) -> Vec<String> {
    let panics = text.contains("panicking").then(|| "a kernel can panic".to_owned());
    let externs = text.lines().filter(|line| line.contains(".extern .func"));
    let externs = externs.map(|line| format!("unresolved function: {}", line.trim()));
    // Kernels are loaded one by one: an entry must not call a function of its module.
    let functions =
        text.lines().filter(|line| line.contains(".func ") && !line.contains(".extern"));
    let functions = functions.map(|line| format!("a function was not inlined: {}", line.trim()));
    panics.into_iter().chain(externs).chain(functions).collect()
}

/// Whether the sources, and with the recorded compiler a fresh build, agree with the file.
fn faults_of_origin(
    text: &str,
    compiler: &Compiler,
    module: &str,
    level: u32,
) -> Result<Vec<String>> {
    let recorded = Recorded::of(text)?;
    if recorded.sources != ptx::source_hash()? {
        return Ok(vec!["not built from these sources: run cargo xtask ptx".to_owned()]);
    }
    if recorded.compiler != compiler.version {
        println!(
            "note: {module} was built by {}, here is {}: not compared byte for byte",
            recorded.compiler, compiler.version
        );
        return Ok(Vec::new());
    }
    let same = compiler.build(module, level)? == text;
    Ok(if same { Vec::new() } else { vec!["a fresh build differs".to_owned()] })
}

/// Assembles for one architecture and reads the assembler's account of each kernel.
fn faults_of_code(
    ptxas: &Path,
    module: &str,
    level: u32,
    architecture: u32,
) -> Result<Vec<String>> {
    let mut command = Command::new(ptxas);
    command
        .args(["--verbose", &format!("--gpu-name=sm_{architecture}"), "--output-file=/dev/null"])
        .arg(ptx::file(module, level));
    let output = command.output().with_context(|| format!("cannot run {}", ptxas.display()))?;
    let account = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Ok(vec![format!("sm_{architecture}: {}", account.trim())]);
    }
    let mut kernel = "?";
    let mut faults = Vec::new();
    for line in account.lines() {
        if let Some(rest) = line.split("Function properties for ").nth(1) {
            kernel = rest.trim();
        } else if line.contains("bytes stack frame")
            && line.split(',').any(|part| !part.trim_start().starts_with("0 bytes"))
        {
            faults.push(format!("sm_{architecture}: {kernel}: {}", line.trim()));
        }
    }
    Ok(faults)
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
