//! `cargo xtask guide`: runs the shell blocks of the guide, and compares the pictures of the gallery.
//!
//! The blocks of a page run one after the other in a folder of their own, `target/guide/PAGE`, with the programs that
//! cargo built into `target/debug`. A block that fails fails the page. A picture `docs/images/gallery/NAME.png` must
//! look like the `NAME.png` that the page's commands wrote.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::root;

/// The greatest mean difference of two pictures, in levels of a byte: compilers may round colours in another way.
const MAX_DIFFERENCE: f64 = 1.0;

/// Runs all pages of the guide.
pub fn run() -> Result<()> {
    let folder = root().join("docs/guide");
    let entries = fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut pages = entries.collect::<Result<Vec<PathBuf>, _>>()?;
    pages.sort();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        run_page(page).with_context(|| page.display().to_string())?;
    }
    Ok(())
}

/// Runs the shell blocks of a page and compares its pictures.
fn run_page(page: &Path) -> Result<()> {
    let text = fs::read_to_string(page)?;
    let blocks = shell_blocks(&text);
    if blocks.is_empty() {
        return Ok(());
    }
    let name = page.file_stem().context("a page has a name")?;
    let folder = root().join("target/guide").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    println!("{}: {} blocks", page.display(), blocks.len());
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let programs = root().join("target/debug");
    let path =
        std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&inherited)))?;
    for (line, block) in blocks {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &block])
            .current_dir(&folder)
            .env("PATH", &path)
            .output()?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        ensure!(output.status.success(), "the block at line {line} failed:\n{block}\n{said}");
    }
    pictures(&text).iter().try_for_each(|picture| compare(picture, &folder))
}

/// The blocks between "```sh" and "```", each with the number of its first line.
fn shell_blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (i, line) in text.lines().enumerate() {
        match (&mut open, line) {
            (None, "```sh") => open = Some((i + 2, String::new())),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some((_, block)), _) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

/// The names of the gallery's pictures that a page shows.
fn pictures(text: &str) -> Vec<String> {
    let links = text.split("](../images/gallery/").skip(1);
    links.filter_map(|rest| rest.split_once(')')).map(|(name, _)| name.to_owned()).collect()
}

/// Compares a picture of the repository with the one that a page's commands made.
fn compare(name: &str, folder: &Path) -> Result<()> {
    let (kept, made) = (root().join("docs/images/gallery").join(name), folder.join(name));
    let update = || format!("if it should look so, cp {} {}", made.display(), kept.display());
    let (before, now) = (pixels(&kept).with_context(update)?, pixels(&made)?);
    ensure!(before.0 == now.0, "{name} has another size now: {}", update());
    let difference: f64 =
        before.1.iter().zip(&now.1).map(|(&a, &b)| f64::from(a.abs_diff(b))).sum();
    let difference = difference / before.1.len() as f64;
    if difference > MAX_DIFFERENCE {
        bail!("{name} differs by {difference:.2} levels on average: {}", update());
    }
    Ok(())
}

/// The size and the bytes of a picture.
fn pixels(path: &Path) -> Result<((u32, u32, png::ColorType), Vec<u8>)> {
    let open = || File::open(path).with_context(|| path.display().to_string());
    let mut reader = png::Decoder::new(BufReader::new(open()?)).read_info()?;
    let size = reader.output_buffer_size().context("a picture fits the memory")?;
    let mut bytes = vec![0; size];
    let info = reader.next_frame(&mut bytes)?;
    Ok(((info.width, info.height, info.color_type), bytes))
}

#[cfg(test)]
mod tests {
    use super::{pictures, shell_blocks};

    #[test]
    fn blocks_are_found_with_their_lines() {
        let text = "a\n```sh\none\ntwo\n```\n```rust\nlet x;\n```\n```sh\nthree\n```\n";
        let blocks = shell_blocks(text);
        assert_eq!(blocks, [(3, "one\ntwo\n".to_owned()), (10, "three\n".to_owned())]);
    }

    #[test]
    fn pictures_of_the_gallery_alone_are_compared() {
        let text = "![a](../images/gallery/a.png) and ![b](../images/b.png)\n![c](../images/gallery/c.png)";
        assert_eq!(pictures(text), ["a.png", "c.png"]);
    }
}
