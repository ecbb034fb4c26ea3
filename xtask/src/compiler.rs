//! The compiler of kernels: a rustc that has its own sources, and how it is called.
//!
//! Cargo builds `core` and `device-std` once, for all modules. Then rustc makes each module's PTX from them, each by
//! itself, so that modules can be built side by side. docs/internals/toolchain.md explains the flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::modules::Image;
use crate::{output_of, root, sources};

const TARGET: &str = "nvptx64-nvidia-cuda";

/// How a module is compiled, whatever its name and level.
const FLAGS: [&str; 11] = [
    "--edition=2024",
    "--crate-name=kernels_rs",
    "--crate-type=cdylib",
    "-Copt-level=3",
    "-Cpanic=abort",
    "-Clto=fat",
    "-Ccodegen-units=1",
    "-Cstrip=debuginfo",
    // Fat LTO leaves whole PTX in the assembly file: nothing is left to link.
    "-Clinker=true",
    "-Zmir-enable-passes=-JumpThreading",
    "-Cllvm-args=-unroll-threshold=4000",
];

/// The crate's root. It lists the modules, so a new one changes it; no module is made of it.
const CRATE_ROOT: &str = "kernels-rs/src/lib.rs";

/// A cargo and rustc that can build for `nvptx64-nvidia-cuda`: they have `rust-src`.
pub struct Compiler {
    cargo: PathBuf,
    rustc: PathBuf,
    /// What `rustc --version` says.
    pub version: String,
}

/// What the modules of a level are linked with.
struct Libraries {
    core: PathBuf,
    compiler_builtins: PathBuf,
    device_std: PathBuf,
    /// Where device-std's procedural macros lie: they run on this machine.
    macros: PathBuf,
    sources: Vec<PathBuf>,
}

/// A module's PTX and what it was made from.
pub struct Built {
    /// As the compiler wrote it.
    pub ptx: String,
    /// A hash over flags and sources; comments do not count.
    pub sources: String,
}

/// The compiler with the libraries of each level.
pub struct Workshop {
    compiler: Compiler,
    libraries: Vec<(u32, Libraries)>,
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

    /// Builds what the images' modules are linked with.
    pub fn workshop(self, images: &[Image]) -> Result<Workshop> {
        let mut levels: Vec<u32> = images.iter().map(|image| image.level).collect();
        levels.sort_unstable();
        levels.dedup();
        let built = levels.into_iter().map(|level| Ok((level, self.libraries(level)?)));
        let libraries = built.collect::<Result<Vec<_>>>()?;
        Ok(Workshop { compiler: self, libraries })
    }

    fn libraries(&self, level: u32) -> Result<Libraries> {
        let set = |key: &str, value: &str| format!("--config=profile.release.{key}={value}");
        let mut command = self.command(&self.cargo);
        command
            .env("RUSTC", &self.rustc)
            .args(["build", "--release", "--package=device-std", "--message-format=json"])
            .args([&format!("--target={TARGET}"), "-Zbuild-std=core"])
            .arg(format!("--target-dir={}", target().display()))
            .args([set("panic", "\"abort\""), set("lto", "\"fat\"")])
            .args([set("codegen-units", "1"), set("debug", "false")]);
        if level >= 80 {
            command.arg("--features=sm_80");
        }
        let messages = output_of(&mut command)?;
        let artifact = |name: &str| {
            let of_crate = |message: &Value| message["target"]["name"] == name;
            let mut messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
            let message = messages.rfind(of_crate);
            let files = message.as_ref().and_then(|message| message["filenames"].as_array());
            let last = files.and_then(|files| files.last()).and_then(Value::as_str);
            last.map(PathBuf::from).with_context(|| format!("cargo made no {name}"))
        };
        // The library lies beside the metadata, under a name of its own for each level's build.
        let library = |name: &str| artifact(name).map(|rmeta| rmeta.with_extension("rlib"));
        let account = target().join(TARGET).join("release/libdevice_std.d");
        Ok(Libraries {
            core: library("core")?,
            compiler_builtins: library("compiler_builtins")?,
            device_std: library("device_std")?,
            macros: artifact("device_macros")?.parent().context("a file lies in a folder")?.into(),
            sources: sources::listed(&fs::read_to_string(account)?),
        })
    }

    /// A command of this compiler, free of what a cargo that rustup started leaves to its children.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(root()).env("RUSTC_BOOTSTRAP", "1");
        for variable in ["RUSTUP_TOOLCHAIN", "RUSTFLAGS", "CARGO"] {
            command.env_remove(variable);
        }
        command
    }
}

impl Workshop {
    /// What `rustc --version` says.
    pub fn version(&self) -> &str {
        &self.compiler.version
    }

    /// Compiles an image's module.
    pub fn build(&self, image: &Image) -> Result<Built> {
        let Image { module, level, .. } = image;
        let found = self.libraries.iter().find(|(of, _)| of == level);
        let libraries = &found.context("no libraries for the level")?.1;
        let folder = target().join("modules").join(image.file_name());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;

        let with = |name: &str, path: &Path| format!("--extern={name}={}", path.display());
        let search = |folder: &Path| format!("-Ldependency={}", folder.display());
        let feature = format!("--cfg=feature=\"{module}\"");
        let level = format!("-Ctarget-cpu=sm_{level}");
        let device = libraries.core.parent().context("a file lies in a folder")?;
        let mut command = self.compiler.command(&self.compiler.rustc);
        command
            // What `#[kernel]` puts before the kernels' names.
            .env("TESSERA_PTX_MODULE", module)
            .arg(CRATE_ROOT)
            .args(FLAGS)
            .args([&feature, &level, &format!("--target={TARGET}")])
            .args(["-Zunstable-options", "--emit=asm,dep-info,link"])
            .arg(format!("--out-dir={}", folder.display()))
            .args([search(device), search(&libraries.macros)])
            .arg(with("noprelude,nounused:core", &libraries.core))
            .arg(with("noprelude,nounused:compiler_builtins", &libraries.compiler_builtins))
            .arg(with("device_std", &libraries.device_std));
        output_of(&mut command)?;

        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path)
                .with_context(|| format!("the compiler left no {}", path.display()))
        };
        let own = sources::listed(&read("kernels_rs.d")?);
        let own = own.into_iter().filter(|path| path != Path::new(CRATE_ROOT));
        let files: Vec<PathBuf> = own.chain(libraries.sources.iter().cloned()).collect();
        let flags = FLAGS.iter().copied().chain([feature.as_str(), &level]);
        Ok(Built { ptx: read("kernels_rs.s")?, sources: sources::hash(flags, &files)? })
    }
}

fn target() -> PathBuf {
    root().join("kernels-rs/target")
}
