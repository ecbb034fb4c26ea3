//! Reads GDAL's virtual rasters (`.vrt`): XML that composes a raster from windows of other rasters.
//!
//! Sources are copied in order; a later source overwrites earlier ones. Sources must lie on the pixels of the whole:
//! the reader refuses a resampled, filtered or computed source, and names it. The reader opens only the sources that a
//! window touches.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gpu_core::host_memory;
use roxmltree::Node;

use crate::input::{is_url, open};
use crate::points::ending;
use crate::rasters::band::{Band, nodata_beside};
use crate::rasters::georeference::{Place, RasterPlace};
use crate::rasters::nodata::{Sample, with_sample_type};
use crate::rasters::pam::{self, children, document_of, text_of};
use crate::rasters::tiff::samples::require_no_mask_beside;
use crate::rasters::windows::{AT_ONCE, Windows, parts};
use crate::rasters::zarr::read::array_of;
use crate::rasters::zarr::{files_within, is_zarr};
use crate::{ArrayData, Error, Georeference, Number, Result, SampleType};

/// Virtual rasters within each other at most.
const DEEPEST: usize = 8;

/// Sources that stay open between windows.
const OPEN: usize = 64;

/// How far from a whole number of pixels a source may lie: what sums of coordinates lose.
const NEAR: f64 = 0.01;

/// What to do instead.
const INSTEAD: &str = "`gdal_translate` makes a GeoTIFF of it";

/// Opens a source: any raster that is read by windows, with the virtual rasters that have it as a source.
type OpenSource = fn(&Path, &[PathBuf]) -> Result<Box<dyn Windows>>;

/// A virtual raster of one band that is read by windows.
pub(crate) struct VirtualRaster {
    path: PathBuf,
    size: (usize, usize),
    sample_type: SampleType,
    /// The value of pixels outside of all sources.
    fill: Option<Number>,
    nodata: Option<Number>,
    place: Option<Georeference>,
    metres: Option<f64>,
    notes: Vec<String>,
    sources: Vec<Source>,
    /// The virtual rasters that this is a source of, and itself.
    within: Vec<PathBuf>,
    open_source: OpenSource,
    opened: Mutex<VecDeque<(PathBuf, Arc<dyn Windows>)>>,
    unpacking: u64,
    block_rows: usize,
}

impl VirtualRaster {
    /// Opens a virtual raster and its first source, and reads no values. `within` lists the virtual rasters that have
    /// it as a source.
    ///
    /// # Errors
    /// An error that says what is wrong with the file or a source; an unsupported feature; a raster that is its own
    /// source.
    pub fn open(path: &Path, within: &[PathBuf], open_source: OpenSource) -> Result<Self> {
        let own = std::fs::canonicalize(path).map_err(|e| Error::read(path, e))?;
        let bad = |reason: String| Error::malformed(path, reason);
        if within.contains(&own) {
            return Err(bad("it is a source of itself".to_owned()));
        }
        if within.len() == DEEPEST {
            return Err(bad(format!("it lies within {DEEPEST} other virtual rasters: {INSTEAD}")));
        }
        require_no_mask_beside(path)?;
        let text = text_at(path)?;
        let document = document_of(&text).ok_or_else(|| not_virtual(path))?;
        let root = document.root_element();
        let (size, place) = dataset(path, root)?;
        let bands: Vec<Node> = children(root, "VRTRasterBand").collect();
        let &[element] = &bands[..] else {
            let reason = format!(
                "a raster has one band, it has {}: `gdal_translate -b 1` takes the first",
                bands.len()
            );
            return Err(bad(reason));
        };
        let sample_type = band_type(element).map_err(bad)?;
        let mut band = Band::default();
        band.add(element, sample_type);
        let is_hidden = text_of(element, "HideNoDataValue").is_some_and(is_true);
        let nodata = band.nodata.filter(|_| !is_hidden).and_then(|n| sample_type.value(n));
        let sources = children_of(element).filter(|child| is_source(child.tag_name().name()));
        let sources = sources.enumerate().map(|(i, source)| {
            Source::of(path, source, size)
                .map_err(|reason| bad(format!("its source {}: {reason}", i + 1)))
        });
        let sources = sources.collect::<Result<_>>()?;
        let notes = band.notes(path).into_iter().chain(place.notes).collect();
        let within = within.iter().cloned().chain([own]).collect();
        let (fill, place, opened) = (band.nodata, place.georeference, Mutex::default());
        let mut raster = Self {
            path: path.to_owned(),
            size,
            sample_type,
            fill,
            nodata,
            place,
            metres: band.metres,
            notes,
            sources,
            within,
            open_source,
            opened,
            unpacking: 0,
            block_rows: 1,
        };
        if let Some(first) = raster.sources.first() {
            let first = raster.source(&first.path)?;
            // A part of a source is in memory beside the window.
            raster.unpacking = first.unpacking_bytes().saturating_add(AT_ONCE as u64);
            raster.block_rows = first.block_rows().min(1 << 16);
        }
        Ok(raster)
    }

    /// A source, which stays open for a while.
    fn source(&self, path: &Path) -> Result<Arc<dyn Windows>> {
        let opened = || self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |(known, source): &(PathBuf, Arc<dyn Windows>)| {
            (known == path).then(|| Arc::clone(source))
        };
        if let Some(source) = opened().iter().find_map(known) {
            return Ok(source);
        }
        let source: Arc<dyn Windows> = (self.open_source)(path, &self.within)?.into();
        let mut opened = opened();
        if opened.len() == OPEN {
            opened.pop_front();
        }
        opened.push_back((path.to_owned(), Arc::clone(&source)));
        Ok(source)
    }

    fn values<T: Sample>(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Vec<T>> {
        let cells = rows.len() as u64 * columns.len() as u64;
        let asked = cells.saturating_mul(size_of::<T>() as u64);
        let memory = |_| Error::OutOfMemory { path: self.path.clone(), asked };
        host_memory::require(asked).map_err(memory)?;
        let mut values = host_memory::with_capacity(rows.len() * columns.len()).map_err(memory)?;
        values.resize(rows.len() * columns.len(), T::fill(self.fill));
        for source in &self.sources {
            self.copy(source, (&rows, &columns), &mut values)?;
        }
        Ok(values)
    }

    /// Copies what a window has of a source.
    fn copy<T: Sample>(
        &self,
        source: &Source,
        (rows, columns): (&Range<usize>, &Range<usize>),
        values: &mut [T],
    ) -> Result<()> {
        let (to_columns, to_rows) = (source.to(0, columns), source.to(1, rows));
        if to_columns.is_empty() || to_rows.is_empty() {
            return Ok(());
        }
        let file = self.source(&source.path)?;
        // Beyond the source's own edge there are no pixels.
        let (width, height) = file.size();
        let (from_columns, from_rows) =
            (source.from(0, to_columns, width), source.from(1, to_rows, height));
        if from_columns.is_empty() {
            return Ok(());
        }
        let blocks = file.block_rows().min(1 << 16);
        for part in parts(file.value_bytes(), blocks, from_rows, from_columns.len()) {
            let window = file.stored(part.clone(), from_columns.clone())?;
            let lines = part.map(|row| {
                let line = (row as i64 + source.shift[1]) as usize - rows.start;
                let first = (from_columns.start as i64 + source.shift[0]) as usize - columns.start;
                line * columns.len() + first
            });
            source.put(&window, lines, from_columns.len(), values);
        }
        Ok(())
    }
}

impl Windows for VirtualRaster {
    fn size(&self) -> (usize, usize) {
        self.size
    }

    fn value_bytes(&self) -> u64 {
        self.sample_type.bytes()
    }

    fn unpacking_bytes(&self) -> u64 {
        self.unpacking
    }

    fn block_rows(&self) -> usize {
        self.block_rows
    }

    fn place(&self) -> Option<&Georeference> {
        self.place.as_ref()
    }

    fn nodata(&self) -> Option<Number> {
        self.nodata
    }

    fn metres(&self) -> Option<f64> {
        self.metres
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn stored(&self, rows: Range<usize>, columns: Range<usize>) -> Result<ArrayData> {
        with_sample_type!(self.sample_type, T => Ok(T::array(self.values(rows, columns)?)))
    }
}

/// Reads how large a virtual raster is and where it lies, of any number of bands.
pub(crate) fn read_place(path: &Path) -> Result<RasterPlace> {
    let text = text_at(path)?;
    let document = document_of(&text).ok_or_else(|| not_virtual(path))?;
    let (size, Place { georeference, notes }) = dataset(path, document.root_element())?;
    Ok(RasterPlace { size, georeference, notes })
}

/// Returns the files from which geo-io reads a raster: its own file, or all files of a Zarr array. For a TIFF they
/// include the `.aux.xml` beside it that states NODATA. For a virtual raster they include the files of its sources,
/// which may be virtual rasters too.
///
/// # Errors
/// The error of a damaged virtual raster.
pub fn raster_files(path: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut next) = (Vec::new(), vec![path.to_owned()]);
    let mut known = HashSet::from([path.to_owned()]);
    while let Some(file) = next.pop() {
        if file.is_dir() && is_zarr(&file) {
            let failed = |reason| Error::read(&file, reason);
            files.extend(files_within(&array_of(&file)?).map_err(failed)?);
            continue;
        }
        if ending(&file) == "vrt" {
            let text = text_at(&file)?;
            let document = document_of(&text).ok_or_else(|| not_virtual(&file))?;
            let names = document.descendants().filter(|n| n.tag_name().name() == "SourceFilename");
            let sources = names.map(|name| source_path(&file, name));
            next.extend(sources.filter(|source| known.insert(source.clone())));
        }
        let is_tiff = ["tif", "tiff"].contains(&&ending(&file)[..]) && !is_url(&file);
        files.extend(nodata_beside(&file).filter(|_| is_tiff));
        files.push(file);
    }
    Ok(files)
}

/// The path that the name of a source means.
fn source_path(vrt: &Path, name: Node) -> PathBuf {
    let is_relative = attribute(name, "relativeToVRT").is_some_and(is_true);
    let name = name.text().unwrap_or_default();
    // As GDAL names what it reads by HTTP.
    if let Some(address) = name.strip_prefix("/vsicurl/") {
        return PathBuf::from(address);
    }
    match vrt.parent().filter(|_| is_relative) {
        Some(folder) => folder.join(name),
        None => PathBuf::from(name),
    }
}

fn not_virtual(path: &Path) -> Error {
    Error::NotA { path: path.to_owned(), format: "GDAL virtual raster (VRT)" }
}

fn text_at(path: &Path) -> Result<String> {
    let (mut file, length) = open(path)?;
    if length > pam::MOST {
        return Err(Error::malformed(path, format!("its {length} bytes are too many for a VRT")));
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).map_err(|e| Error::read(path, e))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The size of a dataset and its place. Refuses what is not a plain mosaic.
fn dataset(path: &Path, root: Node) -> Result<((usize, usize), Place)> {
    if !root.tag_name().name().eq_ignore_ascii_case("VRTDataset") {
        return Err(not_virtual(path));
    }
    let bad = |reason: String| Error::malformed(path, reason);
    let kind = attribute(root, "subClass").filter(|kind| *kind != "VRTDataset");
    let others =
        ["MaskBand", "Group"].into_iter().find(|name| children(root, name).next().is_some());
    if let Some(kind) = kind.or(others) {
        return Err(bad(format!(
            "it is, or contains, a {kind}, which geo-io does not read: {INSTEAD}"
        )));
    }
    let side = |name: &str| {
        let text = attribute(root, name).unwrap_or_default();
        let side = text.trim().parse::<i32>().ok().filter(|&side| side > 0);
        side.map(|side| side as usize)
            .ok_or_else(|| bad(format!("its {name} \"{text}\" is not a whole number from 1 on")))
    };
    Ok(((side("rasterXSize")?, side("rasterYSize")?), Place::of_virtual(path, root)?))
}

/// The attribute of a name in any case.
fn attribute<'a>(of: Node<'a, '_>, name: &str) -> Option<&'a str> {
    of.attributes().find(|attribute| attribute.name().eq_ignore_ascii_case(name)).map(|a| a.value())
}

fn children_of<'a, 'input>(of: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    of.children().filter(Node::is_element)
}

fn is_true(text: &str) -> bool {
    ["1", "yes", "true", "on"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

fn is_source(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("source")
}

/// The type of a band's values. Refuses bands that are computed, and sources that are filtered.
fn band_type(band: Node) -> Result<SampleType, String> {
    if let Some(kind) = attribute(band, "subClass").filter(|kind| *kind != "VRTSourcedRasterBand") {
        return Err(format!("its band is a {kind}, which geo-io does not read: {INSTEAD}"));
    }
    for child in children_of(band) {
        let name = child.tag_name().name();
        let is_known =
            ["SimpleSource", "ComplexSource"].iter().any(|n| name.eq_ignore_ascii_case(n));
        if is_source(name) && !is_known || name.eq_ignore_ascii_case("MaskBand") {
            return Err(format!("its band has a {name}, which geo-io does not read: {INSTEAD}"));
        }
    }
    let name = attribute(band, "dataType").unwrap_or("Byte");
    Ok(match &name.to_ascii_lowercase()[..] {
        "byte" => SampleType::U8,
        "int8" => SampleType::I8,
        "uint16" => SampleType::U16,
        "int16" => SampleType::I16,
        "uint32" => SampleType::U32,
        "int32" => SampleType::I32,
        "uint64" => SampleType::U64,
        "int64" => SampleType::I64,
        "float16" => SampleType::F16,
        "float32" => SampleType::F32,
        "float64" => SampleType::F64,
        _ => {
            return Err(format!(
                "its band has the dataType \"{name}\", which geo-io does not read: `gdal_translate -ot` converts"
            ));
        }
    })
}

/// A window of another raster.
struct Source {
    path: PathBuf,
    /// The first columns and rows of the source that are taken, and of those behind them.
    window: [Range<i64>; 2],
    /// From a column and a row of the source to those of the whole.
    shift: [i64; 2],
    /// The value of the source that is not copied.
    nodata: Option<f64>,
    /// What values are multiplied by, and what is then added.
    scale: Option<(f64, f64)>,
}

impl Source {
    fn of(vrt: &Path, source: Node, size: (usize, usize)) -> Result<Self, String> {
        const KNOWN: [&str; 8] = [
            "SourceFilename",
            "SourceBand",
            "SourceProperties",
            "SrcRect",
            "DstRect",
            "NODATA",
            "ScaleOffset",
            "ScaleRatio",
        ];
        let is_known = |name: &str| KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name));
        let is_off = |child: &Node| {
            let is_empty =
                child.text().is_none_or(|text| text.trim().is_empty()) && !child.has_children();
            let is_no_mask = child.tag_name().name().eq_ignore_ascii_case("UseMaskBand");
            is_empty || is_no_mask && !child.text().is_some_and(is_true)
        };
        let mut unknown = children_of(source).filter(|child| !is_known(child.tag_name().name()));
        if let Some(child) = unknown.find(|child| !is_off(child)) {
            return Err(format!("geo-io does not read its {}: {INSTEAD}", child.tag_name().name()));
        }
        let file = children(source, "SourceFilename").next().ok_or("it has no SourceFilename")?;
        let name = file.text().unwrap_or_default();
        let path = source_path(vrt, file);
        if !path.is_file() && !is_zarr(&path) && !is_url(&path) {
            return Err(format!("the file {} does not exist", path.display()));
        }
        let band = text_of(source, "SourceBand").unwrap_or("1").trim();
        if band != "1" {
            return Err(format!(
                "band {band} of {name}: geo-io reads no bands of sources with several: {INSTEAD}"
            ));
        }
        let number = |name: &str| {
            let text = text_of(source, name);
            let number = text
                .map(|text| pam::real(text).ok_or(format!("{name} \"{text}\" is not a number")));
            number.transpose()
        };
        let (ratio, offset) = (number("ScaleRatio")?, number("ScaleOffset")?);
        let is_complex = source.tag_name().name().eq_ignore_ascii_case("ComplexSource");
        let scale = (ratio.unwrap_or(1.0), offset.unwrap_or(0.0));
        let scale = Some(scale).filter(|&scale| is_complex && scale != (1.0, 0.0));
        let nodata = number("NODATA")?.filter(|_| is_complex);
        let whole = [0.0, 0.0, size.0 as f64, size.1 as f64];
        let (from, to) = match (rectangle(source, "SrcRect")?, rectangle(source, "DstRect")?) {
            (Some(from), Some(to)) => (from, to),
            // The source lies pixel on pixel.
            (None, None) => (whole, whole),
            (from, _) => {
                let [one, other] = ["SrcRect", "DstRect"];
                let (one, other) = if from.is_some() { (one, other) } else { (other, one) };
                return Err(format!(
                    "{name}: it has a {one} and no {other}: give both, or neither"
                ));
            }
        };
        let is_same = |a: f64, b: f64| (a - b).abs() <= NEAR;
        if !is_same(from[2], to[2]) || !is_same(from[3], to[3]) {
            let [[a, b], [c, d]] = [from, to].map(|r| [r[2], r[3]]);
            return Err(format!(
                "{name}: it resamples {a} x {b} pixels to {c} x {d}, which geo-io does not read: \
                 {INSTEAD}"
            ));
        }
        let pixels = |place: f64| {
            let whole = place.round();
            is_same(place, whole).then_some(whole as i64).ok_or_else(|| {
                format!("{name}: it begins between two pixels (at {place}), which geo-io does not read: {INSTEAD}")
            })
        };
        let along = |axis: usize| {
            let (first, side) = (pixels(from[axis])?, pixels(from[axis + 2])?);
            Ok::<_, String>((first..first + side, pixels(to[axis])? - first))
        };
        let (columns, rows) = (along(0)?, along(1)?);
        Ok(Self { path, window: [columns.0, rows.0], shift: [columns.1, rows.1], nodata, scale })
    }

    /// Returns a range of the whole along an axis as columns or rows of the source.
    fn to(&self, axis: usize, range: &Range<usize>) -> Range<i64> {
        let (start, end) =
            (range.start as i64 - self.shift[axis], range.end as i64 - self.shift[axis]);
        let own = &self.window[axis];
        own.start.max(start).max(0)..own.end.min(end)
    }

    /// The same as far as there is a source.
    fn from(&self, _: usize, range: Range<i64>, side: usize) -> Range<usize> {
        let end = range.end.clamp(0, side as i64) as usize;
        (range.start as usize).min(end)..end
    }

    /// Writes rows of `width` values to where they belong: each from the place on that `lines` gives.
    fn put<T: Sample>(
        &self,
        window: &ArrayData,
        lines: impl Iterator<Item = usize>,
        width: usize,
        values: &mut [T],
    ) {
        let rows = lines.enumerate().map(|(row, start)| (row * width, start..start + width));
        if let (None, None, Some(window)) = (self.nodata, self.scale, window.as_slice::<T>()) {
            rows.for_each(|(from, to)| values[to].copy_from_slice(&window[from..from + width]));
            return;
        }
        // As GDAL has it: with f32 for a band of that or of 16 bits.
        let is_narrow = size_of::<T>() < 4 || T::TYPE == "f4";
        let working = |value: f64| if is_narrow { f64::from(value as f32) } else { value };
        // What NODATA is among values of the source's type, and in the arithmetic.
        let meant = self.nodata.and_then(|nodata| window.sample_type().value(nodata.into()));
        let [meant, other] =
            [meant.map(Number::to_f64), self.nodata.and_then(|n| window.also(n.into()))];
        let is_nodata = |nodata: f64, value: f64| {
            working(nodata) == working(value)
                || (nodata.is_nan() && value.is_nan())
                || [meant, other].contains(&Some(value))
        };
        let mut reals = Vec::with_capacity(width);
        for (from, to) in rows {
            window.reals(from..from + width, &mut reals);
            for ((i, &value), to) in (from..).zip(&reals).zip(&mut values[to]) {
                if self.nodata.is_some_and(|nodata| is_nodata(nodata, value)) {
                    continue;
                }
                *to = match self.scale {
                    Some((ratio, offset)) => T::rounded(working(value * ratio + offset)),
                    // Integers of 64 bits, which f64 rounds.
                    None => window.long(i).map_or_else(|| T::rounded(value), T::nearest),
                };
            }
        }
    }
}

/// The rectangle of a name: its first column and row, and how many there are.
fn rectangle(source: Node, name: &str) -> Result<Option<[f64; 4]>, String> {
    let Some(element) = children(source, name).next() else { return Ok(None) };
    let number = |name: &str| {
        let text = attribute(element, name).unwrap_or_default();
        let number = pam::real(text).filter(|number| number.abs() < f64::from(i32::MAX));
        number.ok_or_else(|| {
            format!(
                "{name} \"{text}\" of its {} is not a number of pixels",
                element.tag_name().name()
            )
        })
    };
    Ok(Some([number("xOff")?, number("yOff")?, number("xSize")?, number("ySize")?]))
}
