//! NumPy's arrays: NPY files, and NPZ archives of them.
//!
//! `npyz` reads and writes the headers, `zip` opens the archives. The reader reads elements in bulk straight into the
//! result, so an array of a gigabyte takes a gigabyte. Elements stored column by column (Fortran order) are transposed
//! once, and elements in the other byte order are swapped in place.

use std::fs::File;
use std::io::{BufReader, Read};
use std::marker::PhantomData;
use std::path::Path;

use bytemuck::{NoUninit, Pod};
use gpu_core::host_memory;
use gpu_core::parallel::{self, FINE};
use half::f16;
use npyz::{DType, TypeStr, WriteOptions, WriterBuilder};
use zip::{CompressionMethod, ZipArchive};

use crate::error::unwinding;
use crate::input::open;
use crate::output::Output;
use crate::output::preallocated::{Preallocated, Prefilled};
use crate::output::replaced::LARGE;
use crate::rasters::npy::header::Header;
use crate::{Error, Result, RowMajor};

/// An array of one or two dimensions, in C order: the last index changes fastest.
///
/// Example: see [`write_npy`].
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Length (one dimension), or rows and columns.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: ArrayData,
}

/// The elements of an [`Array`].
///
/// Example: see [`write_npy`].
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ArrayData {
    F16(Vec<f16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    U8(Vec<u8>),
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    U16(Vec<u16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
}

/// The types that [`write_npy`] writes: the types of [`ArrayData`].
pub trait NpyElement: NoUninit + sealed::Sealed {
    /// NumPy's name for the type, without the byte order: `f4`, `b1` ...
    const TYPE: &'static str;
}

mod sealed {
    use super::ArrayData;

    pub trait Sealed: Sized {
        /// The elements of an array of this type.
        fn slice_of(data: &ArrayData) -> Option<&[Self]>;

        /// Takes the elements of this type out of an array; returns the array if its type differs.
        fn vec_of(data: ArrayData) -> Result<Vec<Self>, ArrayData>;
    }
}

impl ArrayData {
    /// Returns the elements; `None` if they have another type.
    pub fn as_slice<T: NpyElement>(&self) -> Option<&[T]> {
        T::slice_of(self)
    }

    /// The elements, without a copy.
    ///
    /// # Errors
    /// The unchanged array, if its elements have another type.
    pub fn into_vec<T: NpyElement>(self) -> Result<Vec<T>, Self> {
        T::vec_of(self)
    }
}

macro_rules! elements {
    ($($type:ty, $variant:ident => $name:literal),*) => {$(
        impl sealed::Sealed for $type {
            fn slice_of(data: &ArrayData) -> Option<&[Self]> {
                if let ArrayData::$variant(values) = data { Some(values) } else { None }
            }

            fn vec_of(data: ArrayData) -> Result<Vec<Self>, ArrayData> {
                if let ArrayData::$variant(values) = data { Ok(values) } else { Err(data) }
            }
        }

        impl NpyElement for $type {
            const TYPE: &'static str = $name;
        }
    )*};
}

elements!(f16, F16 => "f2", f32, F32 => "f4", f64, F64 => "f8", u8, U8 => "u1", bool, Bool => "b1",
    i8, I8 => "i1", i16, I16 => "i2", u16, U16 => "u2", i32, I32 => "i4", u32, U32 => "u4",
    i64, I64 => "i8", u64, U64 => "u8");

/// Writes a two-dimensional array of `height` rows and `width` columns, row by row.
///
/// ```
/// use geo_io::{ArrayData, read_npy, write_npy};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("array.npy");
/// write_npy(&path, &[1u16, 2, 3, 4, 5, 6], 3, 2)?;
/// let array = read_npy(&path)?;
/// assert_eq!(array.shape, [2, 3]); // rows and columns
/// assert_eq!(array.data, ArrayData::U16(vec![1, 2, 3, 4, 5, 6]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] unless there are `width * height` values, and the errors of [`RowMajor`] and of writing.
pub fn write_npy<'a, T: NpyElement>(
    output: impl Into<Output<'a>>,
    values: &(impl RowMajor<T> + ?Sized),
    width: usize,
    height: usize,
) -> Result<()> {
    write_shaped(output.into(), values.row_major((width, height))?, &[height as u64, width as u64])
}

/// Writes an array of one dimension.
///
/// ```
/// use geo_io::{ArrayData, read_npy, write_npy_list};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("list.npy");
/// write_npy_list(&path, &[1.5f64, 2.5])?;
/// let array = read_npy(&path)?;
/// assert_eq!((array.shape, array.data), (vec![2], ArrayData::F64(vec![1.5, 2.5])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of writing.
pub fn write_npy_list<'a, T: NpyElement>(
    output: impl Into<Output<'a>>,
    values: &[T],
) -> Result<()> {
    write_shaped(output.into(), values, &[values.len() as u64])
}

/// Writes an array whose shape has as many elements as there are values.
fn write_shaped<T: NpyElement>(output: Output<'_>, values: &[T], shape: &[u64]) -> Result<()> {
    let header = header::<T>(output.path, shape)?;
    Preallocated::begin(output, &header, size_of_val(values) as u64)?
        .write(bytemuck::cast_slice(values))
        .map(drop)
}

/// Returns the bytes before the elements of an array.
pub(crate) fn header<T: NpyElement>(path: &Path, shape: &[u64]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let options = WriteOptions::new_header_only().dtype(DType::Plain(element::<T>(path)?));
    let written = options.shape(shape).writer(&mut bytes).write_header_only().map(drop);
    written.map_err(|e| Error::write(path, e))?;
    Ok(bytes)
}

/// How NumPy names a type of this machine.
pub(crate) fn element<T: NpyElement>(path: &Path) -> Result<TypeStr> {
    let order = match (size_of::<T>(), cfg!(target_endian = "little")) {
        (1, _) => '|',
        (_, true) => '<',
        (_, false) => '>',
    };
    format!("{order}{}", T::TYPE).parse().map_err(|e| Error::write(path, e))
}

/// Writes an NPY file of two dimensions whose size is known before its values. While the program computes the values,
/// it reserves space on the disk and brings the file's pages into memory. This is most of the time of writing.
///
/// The output's name appears only when [`write`](Self::write) has ended. If dropped before, it leaves no file.
pub struct NpyRoom<T> {
    room: Preallocated,
    size: (usize, usize),
    element: PhantomData<T>,
}

impl<T: NpyElement> NpyRoom<T> {
    /// Whether an array of this many elements is worth it; a small array is written at once.
    pub fn is_worth(count: u64) -> bool {
        count.saturating_mul(size_of::<T>() as u64) >= LARGE as u64
    }

    /// Reserves space on the disk for an array of `height` rows and `width` columns.
    ///
    /// # Errors
    /// The errors of writing, also where the disk has no space for the whole.
    pub fn begin<'a>(output: impl Into<Output<'a>>, width: usize, height: usize) -> Result<Self> {
        let output = output.into();
        let bytes = (width as u64)
            .checked_mul(height as u64)
            .and_then(|count| count.checked_mul(size_of::<T>() as u64))
            .ok_or_else(|| {
                Error::write(output.path, format!("{width} x {height} values are too many"))
            })?;
        let header = header::<T>(output.path, &[height as u64, width as u64])?;
        let mut room = Preallocated::begin(output, &header, bytes)?;
        room.fill_ahead()?;
        Ok(Self { room, size: (width, height), element: PhantomData })
    }

    /// Writes the array, row by row, and gives the file its name. The bytes are the same as from [`write_npy`].
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `width * height` values, and the errors of writing.
    pub fn write(self, values: &[T]) -> Result<Prefilled> {
        values.row_major(self.size)?;
        self.room.write(bytemuck::cast_slice(values))
    }
}

/// Reads an NPY file of one or two dimensions and one of the types of [`ArrayData`], in either byte
/// order, stored by rows or by columns.
///
/// Example: see [`write_npy`].
///
/// # Errors
/// An error that says what is wrong with the file; [`Error::OutOfMemory`].
pub fn read_npy(path: &Path) -> Result<Array> {
    let (file, size) = open(path)?;
    read_array(path, &mut BufReader::with_capacity(1 << 20, file), size)
}

/// Returns the names of the arrays in an NPZ archive, in the archive's order. These are the entries that end in `.npy`,
/// as `numpy.savez` names them, or all entries if none does.
///
/// ```
/// use geo_io::npz_names;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("arrays.npz");
/// # let mut archive = zip::ZipWriter::new(std::fs::File::create(&path)?);
/// # for (name, values) in [("heights", [5u8, 6]), ("mask", [1, 2])] {
/// #     let array = folder.path().join(name);
/// #     geo_io::write_npy_list(&array, &values)?;
/// #     archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default())?;
/// #     std::io::Write::write_all(&mut archive, &std::fs::read(array)?)?;
/// # }
/// # archive.finish()?;
/// // An archive of the arrays `heights` and `mask`, as numpy.savez writes it.
/// assert_eq!(npz_names(&path)?, ["heights", "mask"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An error of the file.
pub fn npz_names(path: &Path) -> Result<Vec<String>> {
    Ok(entries(path)?.into_iter().map(|(_, name)| name).collect())
}

/// The positions and the names of the arrays in an NPZ archive.
fn entries(path: &Path) -> Result<Vec<(usize, String)>> {
    let archive = open_archive(path)?;
    let names = archive.file_names().map(|name| name.map(|name| name.to_string()));
    let names: Vec<String> =
        names.collect::<Result<_, _>>().map_err(|e| Error::malformed(path, e))?;
    // What macOS adds to an archive has the names of the members, but is none of them.
    let all = || names.iter().enumerate().filter(|(_, name)| !name.starts_with("__MACOSX/"));
    let arrays = all().filter_map(|(i, name)| Some((i, name.strip_suffix(".npy")?.to_owned())));
    let arrays: Vec<(usize, String)> = arrays.collect();
    if !arrays.is_empty() {
        return Ok(arrays);
    }
    Ok(all().map(|(i, name)| (i, name.clone())).collect())
}

/// Reads one array from an NPZ archive: the named array, or the only one.
///
/// ```
/// use geo_io::{ArrayData, read_npz};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("arrays.npz");
/// # let mut archive = zip::ZipWriter::new(std::fs::File::create(&path)?);
/// # for (name, values) in [("heights", [5u8, 6]), ("mask", [1, 2])] {
/// #     let array = folder.path().join(name);
/// #     geo_io::write_npy_list(&array, &values)?;
/// #     archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default())?;
/// #     std::io::Write::write_all(&mut archive, &std::fs::read(array)?)?;
/// # }
/// # archive.finish()?;
/// // An archive of the arrays `heights` and `mask`, as numpy.savez writes it.
/// assert_eq!(read_npz(&path, Some("mask"))?.data, ArrayData::U8(vec![1, 2]));
/// assert!(read_npz(&path, None).is_err()); // there are two
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::NoArray`] if no array has that name, [`Error::NotOneArray`] without a name if there are several arrays; and
/// the errors of [`read_npy`].
pub fn read_npz(path: &Path, name: Option<&str>) -> Result<Array> {
    with_entry(path, name, |entry, size| read_array(path, entry, size))
}

/// Returns the columns and rows of an array in an NPZ archive without reading its elements. `None` where the array has
/// another shape, or more elements than the archive can hold.
pub(crate) fn npz_size(path: &Path, name: Option<&str>) -> Result<Option<(usize, usize)>> {
    with_entry(path, name, |mut entry, size| {
        let header = Header::read(path, &mut entry)?;
        let &[rows, columns] = &header.shape[..] else { return Ok(None) };
        Ok(header.bytes(path, size).is_ok().then_some((columns, rows)))
    })
}

/// Opens one array of an NPZ archive: the named one, or the only one. `read` gets it, and the most bytes that it can have.
fn with_entry<R>(
    path: &Path,
    name: Option<&str>,
    read: impl FnOnce(&mut dyn Read, u64) -> Result<R>,
) -> Result<R> {
    let (_, length) = open(path)?;
    let arrays = entries(path)?;
    let index = match name {
        Some(name) => arrays.iter().find(|(_, other)| other == name),
        None => arrays.first().filter(|_| arrays.len() == 1),
    };
    let names = || arrays.iter().map(|(_, name)| &name[..]).collect::<Vec<_>>().join(", ");
    let (index, array) = index.ok_or_else(|| match name {
        Some(name) => {
            let (path, name, names) = (path.to_owned(), name.to_owned(), names());
            Error::NoArray { path, name, names }
        }
        None if arrays.is_empty() => {
            Error::NotOneArray { path: path.to_owned(), names: "no array".to_owned() }
        }
        None => Error::NotOneArray { path: path.to_owned(), names: names() },
    })?;
    let mut archive = open_archive(path)?;
    // As it is packed: of a method that is not known no other entry is given.
    let packed = archive.by_index_raw(*index).map_err(|e| Error::malformed(path, e))?;
    let method = packed.compression();
    if ![CompressionMethod::Stored, CompressionMethod::Deflated].contains(&method) {
        let reason = format!(
            "its array {array} is packed by {method}, which geo-io does not read: save it by numpy.savez_compressed"
        );
        return Err(Error::malformed(path, reason));
    }
    drop(packed);
    let mut entry = archive.by_index(*index).map_err(|e| Error::malformed(path, e))?;
    // Deflate packs at most 1032 bytes into one: what claims more is damaged, and so is what claims more than the file has.
    let packed = entry.compressed_size().min(length);
    let size = entry.size().min(packed.saturating_mul(1040));
    read(&mut entry, size).map_err(|error| match error {
        Error::NotA { .. } => {
            let reason =
                format!("its array {array} is damaged: it does not begin with NumPy's signature");
            Error::malformed(path, reason)
        }
        other => other,
    })
}

fn open_archive(path: &Path) -> Result<ZipArchive<BufReader<File>>> {
    let (mut file, _) = open(path)?;
    let mut signature = [0; 2];
    if file.read_exact(&mut signature).is_err() || signature != *b"PK" {
        return Err(Error::NotA { path: path.to_owned(), format: "NPZ" });
    }
    unwinding(|| ZipArchive::new(BufReader::with_capacity(1 << 20, file)))
        .and_then(|archive| archive.map_err(|e| e.to_string()))
        .map_err(|reason| Error::malformed(path, reason))
}

/// Reads header and elements; `size` is the most bytes that the source can have.
pub(crate) fn read_array(path: &Path, source: &mut dyn Read, size: u64) -> Result<Array> {
    let header = Header::read(path, source)?;
    let layout = Layout {
        path,
        swapped: header.element.to_string().starts_with(if cfg!(target_endian = "little") {
            '>'
        } else {
            '<'
        }),
        by_columns: header.by_columns,
        bytes: header.bytes(path, size.saturating_sub(header.start))?,
    };
    let shape = &header.shape;
    let data = match &header.kind()[..] {
        "f4" => ArrayData::F32(layout.read(source, shape)?),
        "f8" => ArrayData::F64(layout.read(source, shape)?),
        "f2" => ArrayData::F16(layout.read(source, shape)?),
        "i1" => ArrayData::I8(layout.read(source, shape)?),
        "i2" => ArrayData::I16(layout.read(source, shape)?),
        "u2" => ArrayData::U16(layout.read(source, shape)?),
        "u1" => ArrayData::U8(layout.read(source, shape)?),
        "b1" => ArrayData::Bool(booleans(&layout.read::<u8>(source, shape)?)),
        "i4" => ArrayData::I32(layout.read(source, shape)?),
        "u4" => ArrayData::U32(layout.read(source, shape)?),
        "i8" => ArrayData::I64(layout.read(source, shape)?),
        // The header has no other.
        _ => ArrayData::U64(layout.read(source, shape)?),
    };
    Ok(Array { shape: header.shape, data })
}

/// The message for an array with bytes behind its last element.
pub(crate) const BEHIND: &str =
    "more follows its last element: of several arrays in one file save each alone";

/// How the elements lie in the file.
struct Layout<'a> {
    path: &'a Path,
    swapped: bool,
    by_columns: bool,
    /// Bytes of all.
    bytes: u64,
}

impl Layout<'_> {
    fn read<T: Pod>(&self, source: &mut dyn Read, shape: &[usize]) -> Result<Vec<T>> {
        let asked = self.bytes;
        let memory = |_| Error::OutOfMemory { path: self.path.to_owned(), asked };
        let count = asked as usize / size_of::<T>();
        // One thread unpacks them.
        let mut values: Vec<T> = host_memory::touched(count).map_err(memory)?;
        let failed = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                Error::malformed(self.path, format!("it ends before its {count} elements do"))
            }
            // What an archive says of what it unpacks, its sum too.
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                Error::malformed(self.path, e)
            }
            _ => Error::read(self.path, e),
        };
        source.read_exact(bytemuck::cast_slice_mut(&mut values)).map_err(failed)?;
        // An archive compares its sum where it ends.
        if source.read(&mut [0]).map_err(failed)? > 0 {
            return Err(Error::malformed(self.path, BEHIND));
        }
        if self.swapped {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
            bytes.chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
        }
        if let (true, &[rows, columns]) = (self.by_columns, shape) {
            let mut turned = host_memory::with_capacity(count).map_err(memory)?;
            for row in 0..rows {
                turned.extend((0..columns).map(|column| values[column * rows + row]));
            }
            values = turned;
        }
        Ok(values)
    }
}

/// Bytes as booleans: NumPy takes any byte but 0 as true.
fn booleans(bytes: &[u8]) -> Vec<bool> {
    parallel::map(bytes.len(), FINE, |i| bytes[i] != 0)
}
