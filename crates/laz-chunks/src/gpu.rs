//! Decodes chunks on a GPU, into device memory. The kernels are in `kernels_rs::laz`.
//!
//! ```
//! use gpu_core::{DeviceChoice, Gpu};
//! use laz_chunks::{Fields, LazFile, gpu};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = &folder.path().join("survey.laz");
//! # let mut header = las::Builder::from((1, 4));
//! # header.point_format = las::point::Format::new(6)?;
//! # header.transforms.x = las::Transform { scale: 0.01, offset: 500_000.0 };
//! # let mut writer = las::Writer::from_path(path, header.into_header()?)?;
//! # for (x, z, class) in [(500_000.0, 12.0, 2), (500_000.25, 12.5, 2), (500_000.5, 20.0, 5)] {
//! #     let classification = las::point::Classification::new(class)?;
//! #     let gps_time = Some(0.0);
//! #     writer.write_point(las::Point { x, z, classification, gps_time, ..Default::default() })?;
//! # }
//! # writer.close()?;
//! let mut file = LazFile::open(path)?;
//! let chunks = file.pack(0..file.chunks(), Fields::default())?;
//! let device = Gpu::open(DeviceChoice::Software)?; // or Cuda(0)
//! let points = gpu::decode(&device, &chunks)?;
//! let [x, y, z] = points.coordinates(file.transforms())?; // f64, in device memory
//! assert_eq!(x.to_host()?[1], 500_000.25);
//! # assert_eq!((y.len(), z.len()), (3, 3));
//! # Ok(())
//! # }
//! ```

use gpu_core::{Blocks, Column, Element, Gpu, Slice, SliceMut};
use kernels_rs::laz::{self as kernels, BLOCK, Chunks, Columns, LAYERS, WORDS, WORDS_OF_CHUNK};

use crate::layout::Head;
use crate::{Capacity, Error, Fields, PackedChunks, Points, Result, Transform};

/// Warps that decode at once on a multiprocessor.
const WARPS: u32 = 16;

/// Decoded points in device memory, in the order of the chunks. The columns are those of [`Points`].
#[derive(Debug)]
pub struct DevicePoints {
    /// x of each point, a whole number.
    pub x: Column<i32>,
    /// y of each point.
    pub y: Column<i32>,
    /// z of each point.
    pub z: Column<i32>,
    /// The number of the return, and that of the returns of its pulse.
    pub returns: Column<u8>,
    /// Class flags, channel, scan direction and edge of a flight line.
    pub flags: Column<u8>,
    /// The class.
    pub class: Column<u8>,
    /// The intensity, if it was asked for.
    pub intensity: Option<Column<u16>>,
    /// The scan angle, if it was asked for.
    pub scan_angle: Option<Column<i16>>,
    /// The user data, if they were asked for.
    pub user_data: Option<Column<u8>>,
    /// The point source, if it was asked for.
    pub source: Option<Column<u16>>,
}

/// Copies chunks to the device and decodes them. Waits for the stream, since it looks whether a chunk is damaged. So it
/// cannot be captured.
///
/// Cost: a chunk takes as long as 15 to 20 take on a core of the host, but some thousands are decoded at once, 16 a
/// multiprocessor. Each of these takes 1.1 MB of device memory for its models, beside the columns and the packed bytes.
///
/// Example: see [the module](self).
///
/// # Errors
/// The errors of [`decode`](crate::decode()).
pub fn decode(gpu: &Gpu, chunks: &PackedChunks) -> Result<DevicePoints> {
    ResidentChunks::new(gpu, chunks)?.decode()
}

/// See [`capacity`](crate::capacity).
pub(crate) fn capacity(gpu: &Gpu) -> Result<Capacity> {
    Ok(Capacity {
        chunks: (WARPS * gpu.multiprocessors()) as usize,
        bytes_of_chunk: u64::from(WORDS_OF_CHUNK) * 4,
        free: gpu.free_memory()?,
        is_software: gpu.is_software(),
    })
}

/// Packed chunks in device memory.
#[derive(Debug)]
pub struct ResidentChunks {
    gpu: Gpu,
    bytes: Column<u8>,
    layers: Column<u32>,
    firsts: Column<u32>,
    starts: Column<u64>,
    points: usize,
    fields: Fields,
}

impl ResidentChunks {
    /// Copies chunks to a device.
    ///
    /// # Errors
    /// [`Error::Core`] for the device.
    pub fn new(gpu: &Gpu, chunks: &PackedChunks) -> Result<Self> {
        let (layers, firsts) = heads(chunks);
        // The kernel reads whole words.
        let len = chunks.bytes.len();
        let mut bytes = gpu.zeroed::<u8>(len.next_multiple_of(4).max(4))?;
        // SAFETY: the host's bytes live until the stream is waited for, below.
        unsafe { gpu.enqueue_write(bytes.slice_mut(0..len)?, &chunks.bytes)? };
        let resident = Self {
            gpu: gpu.clone(),
            bytes,
            layers: gpu.upload(&layers)?,
            firsts: gpu.upload(&firsts)?,
            starts: gpu.upload(&chunks.starts)?,
            points: chunks.points() as usize,
            fields: chunks.fields,
        };
        gpu.synchronize()?;
        Ok(resident)
    }

    /// Decodes the chunks, as [`decode`] does.
    ///
    /// # Errors
    /// The errors of [`decode`].
    pub fn decode(&self) -> Result<DevicePoints> {
        let (points, damaged) = self.decode_each()?;
        damaged.into_iter().next().map_or(Ok(points), Err)
    }

    /// Decodes the chunks as [`decode_each`](crate::decode_each) does, into device memory. Waits like [`decode`].
    ///
    /// # Errors
    /// [`Error::Core`] for the device.
    pub fn decode_each(&self) -> Result<(DevicePoints, Vec<Error>)> {
        let count = self.starts.len() - 1;
        let mut points = DevicePoints::of(&self.gpu, self.points, self.fields)?;
        let mut is_broken = self.gpu.zeroed::<u32>(count)?;
        if count > 0 {
            self.enqueue(&mut points, (&mut is_broken).into())?;
        }
        let is_broken = is_broken.to_host()?;
        let damaged = (0..count).filter(|&chunk| is_broken[chunk] != 0).map(|chunk| {
            Error::Damaged { chunk, reason: "its symbols contradict each other".into() }
        });
        Ok((points, damaged.collect()))
    }

    /// Enqueues the kernel for one or more chunks.
    fn enqueue(&self, points: &mut DevicePoints, is_broken: SliceMut<'_, u32>) -> Result<()> {
        let (gpu, count) = (&self.gpu, self.starts.len() - 1);
        let warps = (WARPS * gpu.multiprocessors()).min(count as u32);
        let chunks = Chunks {
            // SAFETY: a column begins at a multiple of 16 bytes, and all bits are numbers.
            words: unsafe { self.bytes.input().cast() },
            word_count: (self.bytes.len() / 4) as u32,
            layers: self.layers.input(),
            firsts: self.firsts.input(),
            starts: self.starts.input(),
            count: count as u32,
        };
        // SAFETY: the kernel writes its models before it reads them, and lengths are as it needs them. Where layers lie was
        // looked at when the chunks were packed.
        unsafe {
            let mut models = gpu.uninitialized::<u32>(warps as usize * WORDS_OF_CHUNK as usize)?;
            let arguments = kernels::decode_chunks::Args {
                chunks,
                columns: points.columns(),
                models: models.output(),
                warps,
                is_broken: is_broken.output(),
            };
            gpu.enqueue(kernels::decode_chunks, Blocks::x(warps.div_ceil(BLOCK / 32)), arguments)?;
        }
        Ok(())
    }
}

/// Where each layer of each chunk begins and ends among all bytes, and the words of each chunk's first point. A layer that
/// is not to be decoded ends where it begins.
fn heads(chunks: &PackedChunks) -> (Vec<u32>, Vec<u32>) {
    // In the file's order: places, z, class, flags, intensity, scan angle, user data, source; then times and others.
    let Fields { intensity, scan_angle, user_data, source } = chunks.fields;
    let is_wanted = [true, true, true, true, intensity, scan_angle, user_data, source];
    let (mut layers, mut firsts) = (Vec::new(), Vec::new());
    let mut start = 0;
    for (chunk, &end) in chunks.chunks().zip(&chunks.ends) {
        // Was looked at when the chunk was pushed: all ends are less than 2^32.
        let head = Head::of(&chunk[chunks.record..], chunks.layers).expect("a chunk has a head");
        let mut at = start + (chunks.record + Head::len(chunks.layers)) as u32;
        let mut ends = [0; 2 * LAYERS as usize];
        for (([from, to], is_wanted), bytes) in
            ends.as_chunks_mut().0.iter_mut().zip(is_wanted).zip(head.layers())
        {
            (*from, *to) = (at, at + if is_wanted { bytes } else { 0 });
            at += bytes;
        }
        layers.extend(ends);
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| chunk[at + i]));
        let half = |at: usize| u32::from(u16::from_le_bytes([chunk[at], chunk[at + 1]]));
        let fields = half(14) | half(16) << 16;
        let first = [word(0), word(4), word(8), fields, half(12) | half(20) << 16, half(18)];
        firsts.extend::<[u32; WORDS as usize]>(first);
        start = end;
    }
    (layers, firsts)
}

impl DevicePoints {
    /// Room for points.
    fn of(gpu: &Gpu, count: usize, fields: Fields) -> Result<Self> {
        fn column<T: Element>(gpu: &Gpu, count: usize) -> Result<Column<T>> {
            // SAFETY: the kernel writes all elements before anyone reads them.
            Ok(unsafe { gpu.uninitialized(count)? })
        }
        fn optional<T: Element>(gpu: &Gpu, count: usize, is: bool) -> Result<Option<Column<T>>> {
            is.then(|| column(gpu, count)).transpose()
        }
        Ok(Self {
            x: column(gpu, count)?,
            y: column(gpu, count)?,
            z: column(gpu, count)?,
            returns: column(gpu, count)?,
            flags: column(gpu, count)?,
            class: column(gpu, count)?,
            intensity: optional(gpu, count, fields.intensity)?,
            scan_angle: optional(gpu, count, fields.scan_angle)?,
            user_data: optional(gpu, count, fields.user_data)?,
            source: optional(gpu, count, fields.source)?,
        })
    }

    /// The columns as arguments of the kernel.
    fn columns(&mut self) -> Columns<'_> {
        Columns {
            x: self.x.output(),
            y: self.y.output(),
            z: self.z.output(),
            returns: self.returns.output(),
            flags: self.flags.output(),
            class: self.class.output(),
            intensity: self.intensity.as_mut().map(Column::output),
            scan_angle: self.scan_angle.as_mut().map(Column::output),
            user_data: self.user_data.as_mut().map(Column::output),
            source: self.source.as_mut().map(Column::output),
        }
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// The coordinates of all points, by the transforms of x, y and z. Enqueues and returns.
    ///
    /// # Errors
    /// [`Error::Core`] for the device.
    pub fn coordinates(&self, [x, y, z]: [Transform; 3]) -> Result<[Column<f64>; 3]> {
        Ok([placed(&self.x, x)?, placed(&self.y, y)?, placed(&self.z, z)?])
    }

    /// Copies all columns to the host.
    ///
    /// # Errors
    /// [`Error::Core`] for the device.
    pub fn to_host(&self) -> Result<Points> {
        fn optional<T: Element>(column: &Option<Column<T>>) -> Result<Option<Vec<T>>> {
            Ok(column.as_ref().map(Column::to_host).transpose()?)
        }
        Ok(Points {
            x: self.x.to_host()?,
            y: self.y.to_host()?,
            z: self.z.to_host()?,
            returns: self.returns.to_host()?,
            flags: self.flags.to_host()?,
            class: self.class.to_host()?,
            intensity: optional(&self.intensity)?,
            scan_angle: optional(&self.scan_angle)?,
            user_data: optional(&self.user_data)?,
            source: optional(&self.source)?,
        })
    }
}

/// The coordinates of whole numbers.
fn placed(along: &Column<i32>, Transform { scale, offset }: Transform) -> Result<Column<f64>> {
    let (gpu, count) = (along.gpu(), along.len() as u64);
    // SAFETY: the kernel writes each element; both columns have as many.
    unsafe {
        let mut coordinates = gpu.uninitialized(along.len())?;
        if count > 0 {
            let along = Slice::from(along).input();
            let coordinates = coordinates.output();
            let arguments =
                kernels::place_points::Args { along, count, scale, offset, coordinates };
            let blocks = Blocks::for_each(&kernels::place_points, count)?;
            gpu.enqueue(kernels::place_points, blocks, arguments)?;
        }
        Ok(coordinates)
    }
}
