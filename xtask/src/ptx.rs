//! The kernels' PTX: one file per module and architecture level, committed in `kernels-rs/ptx/`.
//!
//! A file opens with the compiler that made it and a hash of what the module was made from, then
//! comes the PTX as the compiler wrote it. A file is written anew only where its PTX changes.

use std::fs;

use anyhow::{Context, Result, bail};
use rayon::prelude::*;

use crate::compiler::{Built, Compiler};
use crate::modules::{self, Image};

/// A file of PTX.
#[derive(Debug, PartialEq, Eq)]
pub struct Ptx {
    /// The compiler that made it.
    pub compiler: String,
    /// A hash of what the module was made from, at the time.
    pub sources: String,
    /// What the driver reads.
    pub text: String,
}

/// Builds the named modules, or all where none is named, for every level, and writes the files whose
/// PTX is another now.
pub fn write(named: &[&str]) -> Result<()> {
    let mut images = modules::images()?;
    if let Some(unknown) = named.iter().find(|&&name| images.iter().all(|i| i.module != name)) {
        bail!("kernels-rs has no module {unknown}");
    }
    images.retain(|image| named.is_empty() || named.contains(&image.module.as_str()));
    let workshop = Compiler::find()?.workshop(&images)?;
    images.par_iter().try_for_each(|image| {
        let fresh = Ptx::new(workshop.version(), workshop.build(image)?, image)?;
        let kept = Ptx::read(image)
            .is_ok_and(|old| old.compiler == fresh.compiler && old.text == fresh.text);
        println!("{}: {}", image.file_name(), if kept { "as it was" } else { "written" });
        if kept { Ok(()) } else { fresh.write(image) }
    })
}

impl Ptx {
    /// What a file should hold.
    pub fn new(compiler: &str, built: Built, image: &Image) -> Result<Self> {
        Ok(Self {
            compiler: compiler.to_owned(),
            sources: built.sources,
            text: with_launch_bounds(&built.ptx, image.is_highest)?,
        })
    }

    /// The committed file.
    pub fn read(image: &Image) -> Result<Self> {
        let name = image.file_name();
        let file = fs::read_to_string(image.file())
            .with_context(|| format!("{name} is missing: run cargo xtask ptx"))?;
        Self::parse(&file).with_context(|| format!("{name} does not open as `write` makes it"))
    }

    fn parse(file: &str) -> Option<Self> {
        let (_, rest) = file.split_once('\n')?;
        let (compiler, rest) = rest.strip_prefix("// compiler: ")?.split_once('\n')?;
        let (sources, text) = rest.strip_prefix("// sources: ")?.split_once('\n')?;
        let [compiler, sources, text] = [compiler, sources, text].map(str::to_owned);
        Some(Self { compiler, sources, text })
    }

    fn write(&self, image: &Image) -> Result<()> {
        let Image { module, level, .. } = image;
        let Self { compiler, sources, text } = self;
        let head = format!(
            "// Tessera kernels, module {module} for sm_{level}. Made by cargo xtask ptx.\n\
             // compiler: {compiler}\n// sources: {sources}\n"
        );
        Ok(fs::write(image.file(), head + text)?)
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|(name, _)| name)
    }

    /// The bytes of registers that the kernel declares a thread may spill.
    pub fn declared_spills(&self, kernel: &str) -> u32 {
        let body = self.entries().find(|&(name, _)| name == kernel).map(|(_, body)| body);
        let declared = body.and_then(launch_bounds).and_then(|mut bounds| bounds.nth(2));
        declared.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
    }

    /// Each kernel's name and what follows it.
    fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.text.split(ENTRY).skip(1).filter_map(|entry| entry.split_once('('))
    }
}

/// What `#[kernel]` left in a kernel's body: threads of a block, blocks of a multiprocessor, and, where it
/// declares them, bytes of spills.
fn launch_bounds(body: &str) -> Option<impl Iterator<Item = &str>> {
    let (_, bounds) = body.split_once("// launch bounds ")?;
    Some(bounds.lines().next()?.split(' '))
}

/// What stands before a kernel's name.
const ENTRY: &str = ".visible .entry ";

/// Moves each kernel's launch bounds from the comment that `#[kernel]` left in its body to the
/// directives between its parameters and its body.
fn with_launch_bounds(ptx: &str, is_highest: bool) -> Result<String> {
    let mut text = String::with_capacity(ptx.len());
    let mut entries = ptx.split(ENTRY);
    text.push_str(entries.next().unwrap_or_default());
    for entry in entries {
        let (parameters, body) = entry.split_once("\n{").context("a kernel without a body")?;
        let mut bounds = launch_bounds(body).context("no launch bounds")?;
        let mut number = || bounds.next().context("incomplete launch bounds");
        let (block, resident) = (number()?, number()?);
        text.push_str(&format!("{ENTRY}{parameters}\n.maxntid {block}, 1, 1\n"));
        // The bounds are chosen for the highest level; below it, one block keeps ptxas from
        // choosing a number of its own and spilling registers for it.
        let resident = if is_highest { resident } else { "1" };
        text.push_str(&format!(".minnctapersm {resident}\n"));
        text.push_str(&format!("{{{body}"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let file = "// Tessera kernels.\n// compiler: rustc 1\n// sources: ab\n.visible .entry f(\n)\n\
                    .visible .entry g(\n)\n";
        let ptx = Ptx::parse(file).unwrap();
        assert_eq!((ptx.compiler.as_str(), ptx.sources.as_str()), ("rustc 1", "ab"));
        assert_eq!(ptx.kernels().collect::<Vec<_>>(), ["f", "g"]);
        assert_eq!(Ptx::parse("// Tessera kernels.\n.version 7.0\n"), None);
    }

    #[test]
    fn launch_bounds_move_to_the_entrys_head() {
        let ptx = "head\n.visible .entry f(\n)\n{\n\t// launch bounds 64 3 8\n\tret;\n}\n";
        let moved = |is_highest| with_launch_bounds(ptx, is_highest).unwrap();
        assert!(moved(true).contains("f(\n)\n.maxntid 64, 1, 1\n.minnctapersm 3\n{"));
        assert!(moved(false).contains("f(\n)\n.maxntid 64, 1, 1\n.minnctapersm 1\n{"));
    }

    #[test]
    fn spills_are_those_that_the_kernel_declares() {
        let entry = |name, bounds| {
            format!(".visible .entry {name}(\n)\n{{\n\t// launch bounds {bounds}\n}}\n")
        };
        let text = entry("f", "64 3") + &entry("g", "64 3 128");
        let ptx = Ptx { compiler: String::new(), sources: String::new(), text };
        assert_eq!(["f", "g", "h"].map(|name| ptx.declared_spills(name)), [0, 128, 0]);
    }
}
