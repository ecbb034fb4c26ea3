//! Deflates the committed PTX of the modules whose features are on, for `ptx_module!` to embed: as
//! text all of it is 16 MB. A module is left without images where its feature is off, or `embedded`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=ptx");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for (module, mut levels) in modules()? {
        levels.sort_unstable();
        let is_on = env::var_os(format!("CARGO_FEATURE_{}", module.to_uppercase())).is_some();
        let embedded = cfg!(feature = "embedded") && is_on;
        let mut images = String::new();
        for level in levels.into_iter().filter(|_| embedded) {
            let name = format!("{module}.sm_{level}.ptx");
            deflate(&Path::new("ptx").join(&name), &out.join(format!("{name}.deflate")))?;
            images += &format!(
                "::device_std::host::PtxImage {{ level: {level}, \
                 text: ::device_std::host::PtxText::Deflated(include_bytes!(\"{name}.deflate\")) }},"
            );
        }
        fs::write(out.join(format!("{module}.images.rs")), format!("&[{images}]"))?;
    }
    Ok(())
}

/// The levels that each module has PTX for, by the names of the files.
fn modules() -> io::Result<BTreeMap<String, Vec<u32>>> {
    let mut modules = BTreeMap::<_, Vec<u32>>::new();
    for entry in fs::read_dir("ptx")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let parts = name.strip_suffix(".ptx").and_then(|stem| stem.split_once(".sm_"));
        let level = parts.and_then(|(module, level)| Some((module, level.parse().ok()?)));
        if let Some((module, level)) = level {
            modules.entry(module.to_owned()).or_default().push(level);
        }
    }
    Ok(modules)
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
