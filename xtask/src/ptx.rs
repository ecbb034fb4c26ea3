//! The kernels' PTX: one file per module and architecture level, committed in `kernels-rs/ptx/`.
//!
//! A file opens with the compiler that made it and a hash of the kernels' sources, then comes the
//! PTX as the compiler wrote it. docs/toolchain.md explains the flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::{output_of, root};

/// The modules: each is a feature of kernels-rs and a source file of that name. Beside it the
/// compute capabilities that its PTX is built for, lowest first; a GPU takes the highest it can
/// run. What a level beyond the first is for stands in the module.
pub const MODULES: &[(&str, &[u32])] = &[
    ("columns", &[75]),
    ("elementwise", &[75]),
    ("flags", &[75]),
    ("histogram", &[75]),
    ("idw", &[75]),
    ("idw_index", &[75]),
    ("idw_neighbours", &[75]),
    ("idw_tree", &[75]),
    ("merge", &[75]),
    ("monotone", &[75]),
    ("nni", &[75]),
    ("nni_exact", &[75]),
    ("nni_several", &[75]),
    ("reduce", &[75]),
    ("reduce_by_key", &[75, 80]),
    ("scan", &[75, 80]),
    ("search", &[75]),
    ("segment_keys", &[75]),
    ("segment_totals", &[75]),
    ("select", &[75, 80]),
    ("sort", &[75]),
    ("terrain", &[75]),
    ("top_k", &[75]),
    ("voronoi", &[75]),
];

/// Whether a module has no PTX for a higher level.
fn is_highest(module: &str, level: u32) -> bool {
    let above =
        |&(name, levels): &(&str, &[u32])| name == module && levels.iter().any(|&l| l > level);
    !MODULES.iter().any(above)
}

/// The features of kernels-rs that a level switches on.
fn features(module: &str, level: u32) -> String {
    if level >= 80 { format!("{module},sm_80") } else { module.to_owned() }
}

/// Where PTX for a module and level is committed.
pub fn file(module: &str, level: u32) -> PathBuf {
    root().join(format!("kernels-rs/ptx/{module}.sm_{level}.ptx"))
}

/// Builds the named modules, or all where none is named, for every level and writes the files.
pub fn write(named: &[&str]) -> Result<()> {
    let compiler = Compiler::find()?;
    for &(module, levels) in MODULES {
        if !(named.is_empty() || named.contains(&module)) {
            continue;
        }
        for &level in levels {
            let path = file(module, level);
            fs::write(&path, compiler.build(module, level)?)?;
            println!("wrote {}", path.strip_prefix(root())?.display());
        }
    }
    Ok(())
}

/// A cargo and rustc that can build for `nvptx64-nvidia-cuda`: they have `rust-src`.
pub struct Compiler {
    cargo: PathBuf,
    rustc: PathBuf,
    /// What `rustc --version` says.
    pub version: String,
}

impl Compiler {
    /// `TESSERA_KERNEL_TOOLCHAIN`, a folder with `cargo` and `rustc`, else Debian's in `/usr/bin`,
    /// which stand beside rustup's.
    pub fn find() -> Result<Self> {
        let folder = std::env::var_os("TESSERA_KERNEL_TOOLCHAIN").unwrap_or("/usr/bin".into());
        let (cargo, rustc) = (Path::new(&folder).join("cargo"), Path::new(&folder).join("rustc"));
        let version = output_of(Command::new(&rustc).arg("--version")).context(
            "no compiler for kernels: install Debian's rustc-web, rust-web-src and cargo-web, or \
             point TESSERA_KERNEL_TOOLCHAIN at the bin folder of a nightly that has rust-src",
        )?;
        Ok(Self { cargo, rustc, version: version.trim().to_owned() })
    }

    /// The content of the file for a module and level.
    pub fn build(&self, module: &str, level: u32) -> Result<String> {
        let target = root().join("kernels-rs/target").join(format!("sm_{level}"));
        let set = |key: &str, value: &str| format!("--config=profile.release.{key}={value}");
        let mut command = Command::new(&self.cargo);
        command
            .current_dir(root())
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC", &self.rustc)
            // A cargo that rustup started leaves its toolchain's traces to its children.
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO")
            .args(["rustc", "--quiet", "--package=kernels-rs", "--release"])
            .args(["--no-default-features", &format!("--features={}", features(module, level))])
            .args(["--target=nvptx64-nvidia-cuda", "-Zbuild-std=core", "--crate-type=cdylib"])
            .arg(format!("--target-dir={}", target.display()))
            .args([set("panic", "\"abort\""), set("lto", "\"fat\"")])
            .args([set("codegen-units", "1"), set("debug", "false")])
            .args(["--", "--emit=asm", &format!("-Ctarget-cpu=sm_{level}")])
            // Fat LTO leaves whole PTX in the assembly file: nothing is left to link.
            .args(["-Clinker=true", "-Zmir-enable-passes=-JumpThreading"])
            .arg("-Cllvm-args=-unroll-threshold=4000");
        let assembly = target.join("nvptx64-nvidia-cuda/release/deps/kernels_rs.s");
        let _ = fs::remove_file(&assembly);
        // Cargo does not run rustc again for a file that it does not know to be missing.
        let now = std::time::SystemTime::now();
        fs::File::options()
            .append(true)
            .open(root().join("kernels-rs/src/lib.rs"))?
            .set_modified(now)?;
        output_of(&mut command)?;
        let ptx = fs::read_to_string(&assembly)
            .with_context(|| format!("the compiler left no {}", assembly.display()))?;
        Ok(format!(
            "{}{}",
            self.header(module, level)?,
            with_launch_bounds(&ptx, is_highest(module, level))?
        ))
    }

    fn header(&self, module: &str, level: u32) -> Result<String> {
        let hash = source_hash()?;
        let version = &self.version;
        Ok(format!(
            "// Tessera kernels, module {module} for sm_{level}. Made by cargo xtask ptx.\n\
             // compiler: {version}\n// sources: {hash}\n"
        ))
    }
}

/// Moves each kernel's launch bounds from the comment that `#[kernel]` left in its body to the
/// directives between its parameters and its body.
fn with_launch_bounds(ptx: &str, is_highest: bool) -> Result<String> {
    let mut text = String::with_capacity(ptx.len());
    let mut entries = ptx.split(".visible .entry ");
    text.push_str(entries.next().unwrap_or_default());
    for entry in entries {
        let (parameters, body) = entry.split_once("\n{").context("a kernel without a body")?;
        let (_, bounds) = body.split_once("// launch bounds ").context("no launch bounds")?;
        let bounds = bounds.lines().next().unwrap_or_default();
        let (block, resident) = bounds.split_once(' ').context("incomplete launch bounds")?;
        text.push_str(&format!(".visible .entry {parameters}\n.maxntid {block}, 1, 1\n"));
        // The bounds are chosen for the highest level; below it, one block keeps ptxas from
        // choosing a number of its own and spilling registers for it.
        let resident = if is_highest { resident } else { "1" };
        text.push_str(&format!(".minnctapersm {resident}\n"));
        text.push_str(&format!("{{{body}"));
    }
    Ok(text)
}

/// What the header of a committed file says.
pub struct Recorded {
    pub compiler: String,
    pub sources: String,
}

impl Recorded {
    pub fn of(ptx: &str) -> Result<Self> {
        let field = |name: &str| {
            let line = ptx.lines().take(3).find_map(|line| line.strip_prefix(name));
            line.map(str::to_owned).with_context(|| format!("no line \"{name}...\""))
        };
        Ok(Self { compiler: field("// compiler: ")?, sources: field("// sources: ")? })
    }
}

/// A hash over everything that the PTX is made from.
pub fn source_hash() -> Result<String> {
    let mut files = Vec::new();
    for folder in ["kernels-rs/src", "kernels-rs/device-std/src", "kernels-rs/device-macros/src"] {
        list(&root().join(folder), &mut files)?;
    }
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.strip_prefix(root())?.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update(fs::read(&file)?);
        hash.update([0]);
    }
    Ok(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("no sources in {}", folder.display());
    }
    Ok(())
}
