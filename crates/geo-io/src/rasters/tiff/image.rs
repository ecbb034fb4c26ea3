//! The first image of a TIFF, read as libtiff reads it.
//!
//! Some writers omit what the format demands, or state it in another way. They omit the lengths of strips or write 0,
//! use signed types, name a predictor for a codec that has none, or put all rows into one strip. [`mended`] states the
//! same in the form that `tiff-reader` takes. That crate decompresses blocks of the file by the mended directory.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpu_core::host_memory;
use tiff_core::{ByteOrder, Tag, TagValue};
use tiff_reader::ifd::{Ifd, RasterLayout};
use tiff_reader::source::{BytesSource, FileSource, SharedSource};
use tiff_reader::{OpenOptions, TiffFile};
use tiff_writer::encoder::{patch_first_ifd, write_header, write_ifd};

use crate::crs::{ASCII_TAG, DIRECTORY_TAG};
use crate::error::unwinding;
use crate::input::{is_url, open};
use crate::rasters::tiff::gdal_tags::{GDAL_METADATA, GDAL_NODATA};
use crate::rasters::tiff::lerc::LercBlocks;
use crate::{Error, Result, stream};

const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
const BITS: u16 = 258;
const COMPRESSION: u16 = 259;
const PHOTOMETRIC: u16 = 262;
const STRIP_OFFSETS: u16 = 273;
const BANDS: u16 = 277;
const STRIP_ROWS: u16 = 278;
const STRIP_BYTES: u16 = 279;
const PREDICTOR: u16 = 317;
const COLOUR_MAP: u16 = 320;
const TILE_WIDTH: u16 = 322;
const TILE_HEIGHT: u16 = 323;
const TILE_OFFSETS: u16 = 324;
const TILE_BYTES: u16 = 325;
const EXTRA_SAMPLES: u16 = 338;
const FORMAT: u16 = 339;

/// The tags whose numbers decide what pixels are, with their names in the format and the bytes of a number in the form
/// that the reader takes.
const NUMBERS: [(u16, &str, usize); 18] = [
    (WIDTH, "ImageWidth", 4),
    (HEIGHT, "ImageLength", 4),
    (BITS, "BitsPerSample", 2),
    (COMPRESSION, "Compression", 2),
    (PHOTOMETRIC, "PhotometricInterpretation", 2),
    (266, "FillOrder", 2),
    (STRIP_OFFSETS, "StripOffsets", 8),
    (BANDS, "SamplesPerPixel", 2),
    (STRIP_ROWS, "RowsPerStrip", 4),
    (STRIP_BYTES, "StripByteCounts", 8),
    (284, "PlanarConfiguration", 2),
    (PREDICTOR, "Predictor", 2),
    (TILE_WIDTH, "TileWidth", 4),
    (TILE_HEIGHT, "TileLength", 4),
    (TILE_OFFSETS, "TileOffsets", 8),
    (TILE_BYTES, "TileByteCounts", 8),
    (EXTRA_SAMPLES, "ExtraSamples", 2),
    (FORMAT, "SampleFormat", 2),
];

/// Floats in the tag SampleFormat, in which unsigned integers are 1.
const FLOATS: u16 = 3;

/// Grey values in the tag PhotometricInterpretation, of which 0 is black.
const MIN_IS_BLACK: u16 = 1;

/// The machine's byte order.
const NATIVE: ByteOrder = match cfg!(target_endian = "little") {
    true => ByteOrder::LittleEndian,
    false => ByteOrder::BigEndian,
};

/// From this many bytes on, a strip that is not packed is read as several.
const LARGE_STRIP: u64 = 16 << 20;

/// Bytes of the strips that a large one is read as, about.
const SMALL_STRIP: u64 = 1 << 20;

/// A codec that is read.
struct Codec {
    /// The most bytes that one packed byte can give; `None` where nothing bounds them.
    ratio: Option<u64>,
    /// Whether a predictor may stand before it.
    has_predictor: bool,
    is_packed: bool,
}

impl Codec {
    /// Returns the codec of a number in the tag Compression.
    ///
    /// # Errors
    /// The codec's name and what to do, for one that is not read.
    fn of(number: u64) -> Result<Self, String> {
        let codec = |ratio, has_predictor| Self { ratio, has_predictor, is_packed: true };
        Ok(match number {
            1 => Self { is_packed: false, ..codec(Some(1), false) },
            // A code of 9 bits or more has at most the 4096 bytes of the longest entry.
            5 => codec(Some(4096), true),
            8 | 32946 => codec(Some(1032), true),
            // Two bytes repeat one 128 times.
            32773 => codec(Some(64), false),
            number if number == u64::from(LercBlocks::CODE) => codec(None, false),
            // Zstandard: four bytes are a block of 128 KiB.
            50000 => codec(Some(1 << 15), true),
            _ => {
                let name = match number {
                    2..=4 => "CCITT",
                    6 | 7 => "JPEG",
                    33003 | 33005 | 34712 => "JPEG 2000",
                    34925 => "LZMA",
                    50001 => "WebP",
                    50002 => "JPEG XL",
                    _ => "of an unknown kind",
                };
                return Err(format!(
                    "its compression is {name} ({number}), which geo-io does not read: \
                     `gdal_translate -co COMPRESS=DEFLATE` makes a file that it reads"
                ));
            }
        })
    }
}

/// The first image of a TIFF.
pub(crate) struct TiffImage {
    path: PathBuf,
    file: TiffFile,
    directory: Ifd,
    /// The same with a last strip that has as many rows as the others, where it may have them.
    padded: Option<Ifd>,
    layout: RasterLayout,
    /// Bytes of an unpacked block.
    block_bytes: u64,
    /// Where its blocks are packed by LERC.
    lerc: Option<LercBlocks>,
}

impl TiffImage {
    /// Opens a file and reads no samples. `cache` limits how many decompressed bytes and blocks stay in memory between
    /// windows.
    ///
    /// # Errors
    /// An error that says what is wrong with the file, such as blocks beyond its end or shorter than they promise.
    pub fn open(path: &Path, cache: (usize, usize)) -> Result<Self> {
        let source = source(path)?;
        unwinding(|| Self::of_source(path, source, cache))
            .map_err(|reason| Error::malformed(path, reason))?
    }

    fn of_source(
        path: &Path,
        source: SharedSource,
        (block_cache_bytes, block_cache_slots): (usize, usize),
    ) -> Result<Self> {
        let (bad, length) = (|e| failed(path, e), source.len());
        let options = OpenOptions {
            block_cache_bytes,
            block_cache_slots,
            // `window` compares its need with the free memory.
            decode_output_bytes: usize::MAX,
            ..Default::default()
        };
        let file = TiffFile::from_source_with_options(source, options).map_err(bad)?;
        let stated = file.ifd(0).map_err(bad)?;
        let (mut tags, block_bytes) =
            mended(stated, length).map_err(|reason| Error::malformed(path, reason))?;
        let is_half = take_halves_as_integers(&mut tags);
        let malformed = |reason| Error::malformed(path, reason);
        let padded = with_whole_last_strip(&tags).map(directory_of).transpose();
        let padded = padded.map_err(malformed)?;
        let directory = directory_of(tags).map_err(malformed)?;
        let mut layout =
            directory.raster_layout().map_err(|error| unread(path, &directory, error))?;
        if is_half {
            layout.sample_format = FLOATS;
        }
        let is_lerc = directory.compression() == LercBlocks::CODE;
        if is_lerc && is_url(path) {
            let reason =
                "it is packed by LERC, which geo-io does not read over HTTP: download it first";
            return Err(Error::malformed(path, reason));
        }
        let lerc = match is_lerc {
            true => Some(LercBlocks::of(open(path)?.0, &directory)),
            false => None,
        };
        Ok(Self { path: path.to_owned(), file, directory, padded, layout, block_bytes, lerc })
    }

    /// All of the file.
    pub fn file(&self) -> &TiffFile {
        &self.file
    }

    /// The image's directory, mended.
    pub fn directory(&self) -> &Ifd {
        &self.directory
    }

    /// Returns the type and the layout of its samples.
    pub fn layout(&self) -> &RasterLayout {
        &self.layout
    }

    /// Returns how many bytes a window takes in addition to its values while its blocks are decompressed.
    pub fn unpacking_bytes(&self) -> u64 {
        // A block as it is packed and as it is not.
        self.block_bytes.saturating_mul(2)
    }

    /// Reads the samples of a window, row by row, in the machine's byte order.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a block that cannot be decompressed, [`Error::OutOfMemory`].
    pub fn window(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Vec<u8>> {
        let sample = self.layout.bytes_per_sample as u64 * self.layout.samples_per_pixel as u64;
        let asked = (rows.len() as u64 * columns.len() as u64).saturating_mul(sample);
        let asked = asked.saturating_add(self.unpacking_bytes());
        let memory = |_| Error::OutOfMemory { path: self.path.clone(), asked };
        host_memory::require(asked).map_err(memory)?;
        self.require_known_lerc(&rows, &columns)?;
        let read = |directory| {
            let (width, height) = (columns.len(), rows.len());
            let (top, left) = (rows.start, columns.start);
            let read = || self.file.read_window_bytes_from_ifd(directory, top, left, height, width);
            let bytes = unwinding(read).map_err(|reason| Error::malformed(&self.path, reason))?;
            bytes.map_err(|e| failed(&self.path, e))
        };
        // Some writers fill up the last strip. The other reading is tried where a window has its rows.
        let other = self.padded.as_ref().filter(|_| rows.end == self.layout.height);
        let mut bytes = match (read(&self.directory), other) {
            (Err(error), Some(other)) => read(other).map_err(|_| error)?,
            (bytes, _) => bytes?,
        };
        if self.lerc.is_some() && self.file.byte_order() != NATIVE {
            // LERC packs numbers, and libtiff packs those that it would write without it: with their bytes in the file's order.
            for sample in bytes.chunks_exact_mut(self.layout.bytes_per_sample) {
                sample.reverse();
            }
        }
        Ok(bytes)
    }

    /// Refuses a window with a block of LERC's first version, whose decoder takes as much memory as the block states.
    fn require_known_lerc(&self, rows: &Range<usize>, columns: &Range<usize>) -> Result<()> {
        let Some(lerc) = &self.lerc else { return Ok(()) };
        let (image, layout) = (&self.directory, &self.layout);
        let (tall, wide) = match (image.tile_height(), image.tile_width()) {
            (Some(tall), Some(wide)) => (tall as usize, wide as usize),
            _ => (image.rows_per_strip() as usize, layout.width),
        };
        let (tall, wide) = (tall.max(1), wide.max(1));
        let places = if image.is_tiled() { image.tile_offsets() } else { image.strip_offsets() };
        let lengths =
            if image.is_tiled() { image.tile_byte_counts() } else { image.strip_byte_counts() };
        let (places, lengths) = (places.unwrap_or_default(), lengths.unwrap_or_default());
        for line in rows.start / tall..rows.end.div_ceil(tall) {
            for block in columns.start / wide..columns.end.div_ceil(wide) {
                let block = line * layout.width.div_ceil(wide) + block;
                let (Some(&place), Some(&length)) = (places.get(block), lengths.get(block)) else {
                    continue;
                };
                let is_first = length > 0
                    && lerc
                        .has_first_version(place, length)
                        .map_err(|e| Error::read(&self.path, e))?;
                if is_first {
                    let reason = format!(
                        "its block {block} is packed by the first version of LERC, which geo-io does not read: \
                         `gdal_translate -co COMPRESS=DEFLATE` makes a file that it reads"
                    );
                    return Err(Error::malformed(&self.path, reason));
                }
            }
        }
        Ok(())
    }
}

/// Opens the source of the file's bytes.
fn source(path: &Path) -> Result<SharedSource> {
    if is_url(path) {
        #[cfg(feature = "http")]
        return Ok(Arc::new(crate::http::Remote::open(path)?));
        #[cfg(not(feature = "http"))]
        return Err(Error::NotBuilt { path: path.to_owned(), feature: "http" });
    }
    // What is missing, empty or a folder is said as of any other file.
    open(path)?;
    // What comes through a pipe comes once.
    if stream::is_stream(path) {
        return Ok(Arc::new(BytesSource::new(stream::bytes_of(path)?)));
    }
    Ok(Arc::new(FileSource::open(path).map_err(|e| failed(path, e))?))
}

/// Turns an error of the reader into one of the file: of the system, of a server, or damage.
fn failed(path: &Path, error: tiff_reader::error::Error) -> Error {
    match error {
        tiff_reader::error::Error::Io(reason, _) if is_url(path) => Error::read(path, reason),
        error => Error::malformed(path, error),
    }
}

/// Says of samples that are not read what they are and what to do.
fn unread(path: &Path, image: &Ifd, error: tiff_reader::error::Error) -> Error {
    use tiff_reader::error::Error::{UnsupportedBitsPerSample, UnsupportedSampleFormat};
    let format = image.sample_format().ok().and_then(|formats| formats.first().copied());
    let what = match (&error, format) {
        (UnsupportedBitsPerSample(bits), Some(2)) => format!("signed integers of {bits} bits"),
        (UnsupportedBitsPerSample(bits), Some(3)) => format!("floats of {bits} bits"),
        (UnsupportedBitsPerSample(bits), _) => format!("integers of {bits} bits"),
        (UnsupportedSampleFormat(5 | 6), _) => "complex numbers".to_owned(),
        _ => return Error::malformed(path, error),
    };
    let known =
        "integers of 8, 16, 32 and 64 bits, unsigned ones of 1 to 16, and floats of 16, 32 and 64";
    let reason = format!(
        "its samples are {what}, which geo-io does not read. It reads {known}: `gdal_translate -ot` converts"
    );
    Error::malformed(path, reason)
}

/// States what a directory means in the form that the reader takes. The file has `length` bytes.
/// Beside the tags come the bytes of an unpacked block.
fn mended(stated: &Ifd, length: u64) -> Result<(BTreeMap<u16, TagValue>, u64), String> {
    let mut tags = BTreeMap::new();
    for tag in stated.tags().iter().filter(|tag| tag.value.count() > 0) {
        let number = NUMBERS.iter().find(|(code, ..)| *code == tag.code);
        let value = match number {
            Some((code, name, bytes)) => of_width(&tag.value, *bytes)
                .ok_or_else(|| format!("its tag {code}, {name}, holds other than it should"))?,
            None => as_text_or_keys(tag),
        };
        // The first of two tags with one number counts.
        tags.entry(tag.code).or_insert(value);
    }
    let first = |tags: &BTreeMap<u16, TagValue>, code, default| {
        tags.get(&code).and_then(TagValue::as_u32).map_or(default, u64::from)
    };
    let codec = Codec::of(first(&tags, COMPRESSION, 1))?;
    if !codec.has_predictor {
        // It is the codec that applies it.
        tags.remove(&PREDICTOR);
    }
    let bands = first(&tags, BANDS, 1);
    keep_as_many_numbers(&mut tags, bands as usize);
    let mut block_bytes = 0;
    // A file of several bands is refused later, whatever its blocks are.
    if bands == 1 {
        // Stored values are read, whatever they stand for: colours, depths, opacity.
        tags.insert(PHOTOMETRIC, TagValue::Short(vec![MIN_IS_BLACK]));
        tags.remove(&COLOUR_MAP);
        tags.remove(&EXTRA_SAMPLES);
        let [width, height] = [WIDTH, HEIGHT].map(|code| first(&tags, code, 0));
        let blocks = Blocks {
            image: [width, height],
            tile: [first(&tags, TILE_WIDTH, 0), first(&tags, TILE_HEIGHT, 0)],
            strip_rows: first(&tags, STRIP_ROWS, height).min(height),
            bits: first(&tags, BITS, 1),
        };
        block_bytes = blocks.mend(&mut tags, &codec, length)?;
    }
    Ok((tags, block_bytes))
}

/// Returns a tag's value. As libtiff has it, bytes serve as a text, and integers of any width as GeoTIFF's keys.
fn as_text_or_keys(tag: &Tag) -> TagValue {
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        TagValue::Ascii(String::from_utf8_lossy(&bytes[..end]).into_owned())
    };
    match (tag.code, &tag.value) {
        (GDAL_METADATA | GDAL_NODATA | ASCII_TAG, TagValue::Byte(v) | TagValue::Undefined(v)) => {
            text(v)
        }
        (GDAL_METADATA | GDAL_NODATA | ASCII_TAG, TagValue::SByte(v)) => {
            text(bytemuck::cast_slice(v))
        }
        (DIRECTORY_TAG, value) => of_width(value, 2).unwrap_or_else(|| value.clone()),
        (_, value) => value.clone(),
    }
}

/// Drops numbers that a tag has beyond one for each of its items. libtiff ignores them, and the reader refuses them or ignores
/// the tag.
fn keep_as_many_numbers(tags: &mut BTreeMap<u16, TagValue>, bands: usize) {
    for (code, ..) in NUMBERS {
        let most = match code {
            BITS | FORMAT => bands,
            STRIP_OFFSETS | STRIP_BYTES | TILE_OFFSETS | TILE_BYTES | EXTRA_SAMPLES => continue,
            _ => 1,
        };
        match tags.get_mut(&code) {
            Some(TagValue::Short(numbers)) => numbers.truncate(most.max(1)),
            Some(TagValue::Long(numbers)) => numbers.truncate(most.max(1)),
            _ => {}
        }
    }
}

/// Returns non-negative whole numbers as numbers of `bytes` bytes each; `None` for anything else.
fn of_width(value: &TagValue, bytes: usize) -> Option<TagValue> {
    macro_rules! signed {
        ($values:expr) => {
            $values.iter().map(|&n| u64::try_from(n).ok()).collect::<Option<Vec<u64>>>()?
        };
    }
    let numbers = match value {
        TagValue::SByte(values) => signed!(values),
        TagValue::SShort(values) => signed!(values),
        TagValue::SLong(values) => signed!(values),
        TagValue::SLong8(values) => signed!(values),
        other => other.as_u64_vec()?,
    };
    let numbers = numbers.into_iter();
    Some(match bytes {
        2 => TagValue::Short(numbers.map(|n| n.try_into().ok()).collect::<Option<_>>()?),
        4 => TagValue::Long(numbers.map(|n| n.try_into().ok()).collect::<Option<_>>()?),
        _ => TagValue::Long8(numbers.collect()),
    })
}

/// How an image of one band is divided.
struct Blocks {
    /// Columns and rows.
    image: [u64; 2],
    /// Columns and rows of a tile; zeros for strips.
    tile: [u64; 2],
    strip_rows: u64,
    /// Bits of a sample.
    bits: u64,
}

impl Blocks {
    /// States where each block lies and how long it is. Returns the bytes of an unpacked block.
    fn mend(
        &self,
        tags: &mut BTreeMap<u16, TagValue>,
        codec: &Codec,
        length: u64,
    ) -> Result<u64, String> {
        let ([width, height], [tile_width, tile_height]) = (self.image, self.tile);
        let is_tiled = tile_width > 0 && tile_height > 0;
        let [across, along] = if is_tiled { self.tile } else { [width, self.strip_rows] };
        if width == 0 || height == 0 {
            // Which the reader refuses.
            return Ok(0);
        }
        if across == 0 || along == 0 {
            return Err("its strips have no rows".to_owned());
        }
        let (what, offsets_code, bytes_code) = match is_tiled {
            true => ("tile", TILE_OFFSETS, TILE_BYTES),
            false => ("strip", STRIP_OFFSETS, STRIP_BYTES),
        };
        let mut list = |own: u16, other: u16| {
            let (own, other) = (tags.remove(&own), tags.remove(&other));
            own.or(other).and_then(|value| value.as_u64_vec())
        };
        // As libtiff has it, the two names are for one list.
        let offsets = list(offsets_code, STRIP_OFFSETS + TILE_OFFSETS - offsets_code);
        let counts = list(bytes_code, STRIP_BYTES + TILE_BYTES - bytes_code);
        let mut offsets =
            offsets.ok_or_else(|| format!("it does not say where its {what}s are"))?;
        let number = width.div_ceil(across) as u128 * height.div_ceil(along) as u128;
        if (offsets.len() as u128) < number {
            return Err(format!("it has {} of {number} {what}s", offsets.len()));
        }
        offsets.truncate(number as usize);
        let row = (across.checked_mul(self.bits)).ok_or("its rows are too long")?.div_ceil(8);
        let mut whole = row.checked_mul(along).ok_or("its blocks are too large")?;
        let length_of_block = |(i, &offset): (usize, &u64)| {
            let rows = if is_tiled { along } else { along.min(height - i as u64 * along) };
            let stated = counts.as_ref().and_then(|counts| counts.get(i)).copied();
            // As libtiff has it: a length of 0 is a block that is not there, but for a single strip.
            let is_absent = stated == Some(0) && (is_tiled || number > 1);
            if offset == 0 || is_absent {
                return Ok(0);
            }
            let stated = stated.filter(|&bytes| bytes > 0);
            let there = length.saturating_sub(offset);
            length_of(codec, stated, there, row * rows).ok_or_else(|| {
                let bytes = row * rows;
                format!("its {what} {i} promises {bytes} bytes, more than the file can have there")
            })
        };
        let lengths = offsets.iter().enumerate().map(length_of_block);
        let mut lengths = lengths.collect::<Result<Vec<u64>, String>>()?;
        if !is_tiled && number == 1 && !codec.is_packed && whole > LARGE_STRIP && offsets[0] > 0 {
            let rows = (SMALL_STRIP / row).clamp(1, along);
            let parts = || (0..height).step_by(rows as usize);
            lengths = parts().map(|first| row * rows.min(height - first)).collect();
            offsets = parts().map(|first| offsets[0] + row * first).collect();
            tags.insert(STRIP_ROWS, TagValue::Long(vec![rows as u32]));
            whole = row * rows;
        }
        tags.insert(offsets_code, TagValue::Long8(offsets));
        tags.insert(bytes_code, TagValue::Long8(lengths));
        Ok(whole)
    }
}

/// Returns the bytes to read for a block: the file has `there` bytes from the block's start on, and the block has `unpacked`
/// bytes when it is unpacked. `None` where so few bytes cannot give this many.
fn length_of(codec: &Codec, stated: Option<u64>, there: u64, unpacked: u64) -> Option<u64> {
    if !codec.is_packed {
        // Whatever length is stated.
        return (unpacked <= there).then_some(unpacked);
    }
    let packed = stated.unwrap_or(there).min(there);
    match codec.ratio {
        Some(ratio) if packed.saturating_mul(ratio) < unpacked => None,
        // The reader takes no more for a block; what lies behind its end does not matter.
        Some(_) => Some(packed.min(unpacked.saturating_mul(4).saturating_add(4096))),
        None => Some(packed),
    }
}

/// States a height at which the last of several packed strips has as many rows as the others. `None` where it has them, or
/// where nothing tells how long it is.
fn with_whole_last_strip(tags: &BTreeMap<u16, TagValue>) -> Option<BTreeMap<u16, TagValue>> {
    let number = |code| tags.get(&code).and_then(TagValue::as_u32);
    let (height, rows) = (number(HEIGHT)?, number(STRIP_ROWS)?);
    let is_packed = number(COMPRESSION).is_some_and(|codec| codec != 1);
    let whole = height.checked_next_multiple_of(rows)?;
    let is_short = height > rows && whole > height && !tags.contains_key(&TILE_WIDTH);
    (is_packed && is_short).then(|| {
        let mut tags = tags.clone();
        tags.insert(HEIGHT, TagValue::Long(vec![whole]));
        tags
    })
}

/// States floats of 16 bits as integers, which have the same bytes and which the reader takes. Returns whether there are any.
fn take_halves_as_integers(tags: &mut BTreeMap<u16, TagValue>) -> bool {
    let Some(TagValue::Short(formats)) = tags.get(&FORMAT) else { return false };
    let bits = tags.get(&BITS).and_then(TagValue::as_u16);
    let is_half = bits == Some(16) && formats.iter().all(|format| *format == FLOATS);
    if is_half {
        let integers = TagValue::Short(vec![1; formats.len()]);
        tags.insert(FORMAT, integers);
    }
    is_half
}

/// Makes a directory of these tags.
fn directory_of(tags: BTreeMap<u16, TagValue>) -> Result<Ifd, String> {
    const ORDER: ByteOrder = ByteOrder::LittleEndian;
    let tags: Vec<Tag> = tags.into_iter().map(|(code, value)| Tag::new(code, value)).collect();
    let mut bytes = Cursor::new(Vec::new());
    let written = write_header(&mut bytes, ORDER, true)
        .and_then(|_| write_ifd(&mut bytes, ORDER, true, &tags, 0, 0, 0))
        .and_then(|written| patch_first_ifd(&mut bytes, 0, ORDER, true, written.ifd_offset));
    written.map_err(|e| e.to_string())?;
    let file = TiffFile::from_bytes(bytes.into_inner()).map_err(|e| e.to_string())?;
    file.ifd(0).cloned().map_err(|e| e.to_string())
}
