//! Deflates the committed PTX of the modules whose features are on, for `ptx_module!` to embed: as text, all PTX is
//! tens of megabytes. A module has no images if its feature is off, or the feature `embedded`.
//!
//! `TESSERA_COMPILE` may name architectures, as in `TESSERA_COMPILE=80,90`. Then `ptxas` (`TESSERA_PTXAS`, else the one
//! on the path) compiles each module for them, and the result is embedded beside the PTX. So no driver of such a device
//! compiles anything at a program's first run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=ptx");
    println!("cargo::rerun-if-env-changed=TESSERA_COMPILE");
    println!("cargo::rerun-if-env-changed=TESSERA_PTXAS");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let modules = modules()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<()> {
        while let Some((module, levels)) = modules.get(next.fetch_add(1, Ordering::Relaxed)) {
            embed(module, levels, &out)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })
}

/// Writes the images of a module.
fn embed(module: &str, levels: &[u32], out: &Path) -> io::Result<()> {
    let is_on = env::var_os(format!("CARGO_FEATURE_{}", module.to_uppercase())).is_some();
    let mut images = String::new();
    let mut add = |level: u32, kind: &str, name: &str| {
        images += &format!(
            "::device_std::host::PtxImage {{ level: {level}, \
             text: ::device_std::host::PtxText::{kind}(include_bytes!(\"{name}.deflate\")) }},"
        );
    };
    if cfg!(feature = "embedded") && is_on {
        let ptx = |level: u32| Path::new("ptx").join(format!("{module}.sm_{level}.ptx"));
        for &level in levels {
            let name = format!("{module}.sm_{level}.ptx");
            deflate(&ptx(level), &out.join(format!("{name}.deflate")))?;
            add(level, "Deflated", &name);
        }
        for architecture in architectures()? {
            let Some(&level) = levels.iter().rev().find(|&&level| level <= architecture) else {
                continue;
            };
            let name = format!("{module}.sm_{architecture}.cubin");
            compile(&ptx(level), architecture, &out.join(&name))?;
            deflate(&out.join(&name), &out.join(format!("{name}.deflate")))?;
            add(architecture, "Compiled", &name);
        }
    }
    fs::write(out.join(format!("{module}.images.rs")), format!("&[{images}]"))
}

/// The architectures that modules are compiled for.
fn architectures() -> io::Result<Vec<u32>> {
    let wanted = env::var("TESSERA_COMPILE").unwrap_or_default();
    let words = wanted.split(',').map(str::trim).filter(|word| !word.is_empty());
    let number = |word: &str| {
        let unknown =
            || io::Error::other(format!("TESSERA_COMPILE={wanted}: use 80,90 or the like"));
        word.parse().map_err(|_| unknown())
    };
    words.map(number).collect()
}

/// Compiles PTX for an architecture.
fn compile(ptx: &Path, architecture: u32, to: &Path) -> io::Result<()> {
    let program = env::var_os("TESSERA_PTXAS").unwrap_or_else(|| "ptxas".into());
    let mut command = Command::new(&program);
    command.arg(format!("-arch=sm_{architecture}")).arg(ptx).arg("-o").arg(to);
    let failed = |reason: String| io::Error::other(format!("{}: {reason}", program.display()));
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// The levels that each module has PTX for, lowest first, by the names of the files.
fn modules() -> io::Result<Vec<(String, Vec<u32>)>> {
    let mut modules = BTreeMap::<_, Vec<u32>>::new();
    for entry in fs::read_dir("ptx")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let parts = name.strip_suffix(".ptx").and_then(|stem| stem.split_once(".sm_"));
        let level = parts.and_then(|(module, level)| Some((module, level.parse().ok()?)));
        if let Some((module, level)) = level {
            modules.entry(module.to_owned()).or_default().push(level);
        }
    }
    modules.values_mut().for_each(|levels| levels.sort_unstable());
    Ok(modules.into_iter().collect())
}

#[cfg(feature = "embedded")]
fn deflate(from: &Path, to: &Path) -> io::Result<()> {
    use std::io::Write;

    let file = fs::File::create(to)?;
    let mut encoder = flate2::write::DeflateEncoder::new(file, flate2::Compression::best());
    encoder.write_all(&fs::read(from)?)?;
    encoder.finish().map(drop)
}

#[cfg(not(feature = "embedded"))]
fn deflate(_: &Path, _: &Path) -> io::Result<()> {
    unreachable!("nothing is embedded")
}
