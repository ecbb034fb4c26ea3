//! Catalogues: files that list other files and state where these lie.
//!
//! A catalogue is a STAC document ([`stac`]; a virtual point cloud `.vpc` is one) or a tile index ([`tile_index`]):
//! polygons with a column of paths. Each becomes a list of [`Entry`]. [`Catalogue::choose`] takes the entries that
//! overlap the wanted ground, and opens no other file. It compares what an entry states of its file with the file's
//! header ([`stated`]).

mod stac;
mod stated;
mod tile_index;

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use geo_io::Crs;
use gpu_core::Bounds;
use rayon::prelude::*;

use crate::args::ending;
use stated::Stated;

/// Options of the programs that take catalogues.
#[derive(Args, Clone, Debug, Default)]
pub struct CatalogueArgs {
    /// The asset to read from each item of a STAC catalogue or a .vpc [default: the only asset with data]
    #[arg(long, value_name = "KEY")]
    pub asset: Option<String>,
    /// The column of a tile index with the paths of its files [default: location]
    #[arg(long, value_name = "NAME")]
    pub path_column: Option<String>,
}

/// The content that a program reads from the files of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Point clouds, and tables of points.
    Points,
    /// Rasters.
    Rasters,
}

/// Returns the ground that counts, in the system of the files, as far as that is known; `None` for all of it.
pub type Reach<'a> = &'a dyn Fn(Option<&Crs>) -> Result<Option<Bounds>>;

/// What a catalogue lists.
pub struct Catalogue {
    path: PathBuf,
    entries: Vec<Entry>,
}

/// A file that a catalogue lists.
struct Entry {
    /// Its name in messages, such as: item 3 ("tile_3").
    name: String,
    /// The file, as the catalogue names it.
    href: String,
    /// The folder that a relative path begins at.
    folder: PathBuf,
    stated: Stated,
}

impl Catalogue {
    /// Reads a catalogue; `None` for another file.
    ///
    /// # Errors
    /// The catalogue is damaged, or an entry is: it has no file, the file of another entry, no asset or several assets
    /// of this content. Or a statement cannot be read. The error names the entry.
    pub fn read(path: &Path, content: Content, args: &CatalogueArgs) -> Result<Option<Self>> {
        let of = ending(path);
        let is_table = ["fgb", "shp", "gpkg", "parquet", "geoparquet", "pq"].contains(&&of[..]);
        let is_json = ["vpc", "json", "geojson"].contains(&&of[..]);
        if !(is_table || is_json) || !path.is_file() {
            return Ok(None);
        }
        let document = if is_json { stac::document(path)? } else { None };
        let entries = match document {
            Some(document) => stac::entries(path, document, content, args.asset.as_deref())?,
            None if of == "vpc" => bail!("{}: no member \"stac_version\"", path.display()),
            None if is_table && content == Content::Points && !tile_index::is_one(path) => {
                return Ok(None);
            }
            None if content == Content::Points && tile_index::has_other_geometries(path) => bail!(
                "{path} is GeoJSON without polygons, so it is not a tile index: turn points into \
                 another format, for example by ogr2ogr points.fgb {path}",
                path = path.display()
            ),
            None => tile_index::entries(path, args.path_column.as_deref())?,
        };
        ensure!(!entries.is_empty(), "{} lists no files", path.display());
        let catalogue = Self { path: path.to_owned(), entries };
        catalogue.require_distinct()?;
        Ok(Some(catalogue))
    }

    /// Refuses two entries of one file.
    fn require_distinct(&self) -> Result<()> {
        let mut places = HashMap::new();
        for entry in &self.entries {
            if let Some(first) = places.insert(entry.place(), &entry.name) {
                let (path, href, name) = (self.path.display(), &entry.href, &entry.name);
                bail!("{path}: {first} and {name} both name the file {href}: remove one of them");
            }
        }
        Ok(())
    }

    /// Chooses the files that overlap the wanted ground, in the order of the catalogue, and compares their headers with
    /// the catalogue. `given` is the system that the caller takes in place of the files' own.
    ///
    /// # Errors
    /// No file meets the ground; of those that do, one is missing, its server does not give it, or its header contradicts
    /// the catalogue.
    pub fn choose(
        &self,
        content: Content,
        given: Option<&Crs>,
        reach: Reach<'_>,
    ) -> Result<Vec<PathBuf>> {
        let footprints = self.entries.iter().find_map(|e| e.stated.footprint.as_ref()?.1.as_ref());
        let stated = self.entries.iter().find_map(|e| e.stated.crs.as_ref());
        // Degrees may be those of places in any system.
        let taken = || footprints.filter(|crs| !crs.is_geographic());
        let ground = reach(given.or(stated).or_else(taken))?;
        let meets = |entry: &&Entry| ground.is_none_or(|ground| entry.stated.meets(&ground, given));
        let chosen: Vec<&Entry> = self.entries.iter().filter(meets).collect();
        if let (true, Some(ground)) = (chosen.is_empty(), ground) {
            let hint = footprints.map_or_else(String::new, |crs| {
                format!("; its footprints are in {crs}: name the system of the files by --crs if it is another")
            });
            let (count, path) = (self.entries.len(), self.path.display());
            bail!(
                "none of the {count} files of {path} overlaps the ground {ground} of --bounds{hint}"
            );
        }
        let is_part = ground.is_some();
        let checked = chosen.par_iter().map(|entry| {
            let path = entry.locate()?;
            entry.stated.check(&path, content, given, is_part)?;
            Ok(path)
        });
        let checked: Vec<Result<PathBuf>> = checked.collect();
        let named = |(found, entry): (Result<PathBuf>, &&Entry)| {
            found.with_context(|| format!("{}, {}", self.path.display(), entry.name))
        };
        checked.into_iter().zip(&chosen).map(named).collect()
    }

    /// How many files the catalogue lists.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it lists no files: never true for a catalogue that was read.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Entry {
    /// The path of the file: from the catalogue's folder, or absolute; or its address.
    fn path(&self) -> PathBuf {
        if let Some(address) = self.address() {
            return address;
        }
        match self.href.strip_prefix("file://") {
            Some(rest) => decoded(rest.strip_prefix("localhost").unwrap_or(rest)).into(),
            None => self.folder.join(&self.href),
        }
    }

    /// The address of a file on a web server, which GDAL's catalogues begin with /vsicurl/.
    fn address(&self) -> Option<PathBuf> {
        let address = self.href.strip_prefix("/vsicurl/").unwrap_or(&self.href);
        Some(PathBuf::from(address)).filter(|address| geo_io::is_url(address))
    }

    /// The path by which two entries are known as the same file, without opening it.
    fn place(&self) -> PathBuf {
        self.address().unwrap_or_else(|| plain(&self.path()))
    }

    /// The address of a file on a web server, or the path of a file that is there.
    fn locate(&self) -> Result<PathBuf> {
        self.address().map_or_else(|| self.locate_here(), Ok)
    }

    /// The path of a file that is there. The path of a URL may be encoded.
    fn locate_here(&self) -> Result<PathBuf> {
        let href = &self.href;
        let is_remote = href.contains("://") && !href.starts_with("file://");
        ensure!(
            !is_remote && !href.starts_with("/vsi"),
            "{href} is not on this machine: download it, and change the catalogue to name the copy"
        );
        let path = self.path();
        if path.exists() {
            return Ok(path);
        }
        let other = self.folder.join(decoded(href));
        ensure!(other.exists(), "its file {} is missing", path.display());
        Ok(other)
    }
}

/// A path without `.`, and without `..` as far as there is a folder before it.
fn plain(path: &Path) -> PathBuf {
    let mut place = PathBuf::new();
    for part in path.components() {
        let is_named = matches!(place.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if is_named => drop(place.pop()),
            part => place.push(part),
        }
    }
    place
}

/// A path of a URL, with the bytes that `%20` and the like stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let digits = more.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[2..] } else { more };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_the_folder_and_urls_are_decoded() {
        let entry = |href: &str| Entry {
            name: String::new(),
            href: href.to_owned(),
            folder: PathBuf::from("/maps/2026"),
            stated: Stated::default(),
        };
        for (href, path) in [
            ("./a.laz", "/maps/2026/a.laz"),
            ("../b/./c.laz", "/maps/b/c.laz"),
            ("/d.laz", "/d.laz"),
            ("file:///e%20f.laz", "/e f.laz"),
            ("file://localhost/g%.laz", "/g%.laz"),
        ] {
            assert_eq!(entry(href).place(), Path::new(path), "{href}");
        }
        for (href, address) in [
            ("https://example.org/a//b.laz?c=../d", "https://example.org/a//b.laz?c=../d"),
            ("/vsicurl/http://a/b.tif", "http://a/b.tif"),
        ] {
            assert_eq!(entry(href).locate().unwrap(), Path::new(address));
            assert_eq!(entry(href).place(), Path::new(address));
            let error = entry(href).locate_here().unwrap_err().to_string();
            assert!(error.starts_with(href) && error.contains("download it"), "{error}");
        }
        for href in ["s3://maps/a.laz", "/vsis3/maps/b.tif", "/vsicurl/ftp://a/b.tif"] {
            let error = entry(href).locate().unwrap_err().to_string();
            assert!(error.starts_with(href) && error.contains("download it"), "{error}");
        }
        let error = entry("gone.laz").locate().unwrap_err().to_string();
        assert_eq!(error, "its file /maps/2026/gone.laz is missing");
    }
}
