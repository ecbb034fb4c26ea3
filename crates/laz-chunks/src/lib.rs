//! The points of LAZ files, decoded on a GPU or the CPU into columns.
//!
//! A LAZ file is made of chunks of some 50,000 points, which are decoded independently of each other. On a GPU a warp
//! decodes a chunk, and some thousand chunks are decoded at once. So 100 million points take a third of a second, where
//! 16 cores take more than two. The columns stay in device memory, where other crates take them.
//!
//! Chunks must be layered: point formats 6 to 10 of LAS 1.4. Older formats are refused; the crates `laz` and `las`
//! decode them on the CPU.
//!
//! ```
//! use gpu_core::{Device, DeviceChoice};
//! use laz_chunks::{Fields, LazFile, decode};
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
//! let device = Device::open(DeviceChoice::Cpu)?; // or Cuda(0)
//! let points = decode(&device, &chunks)?;
//! let [x, _, z] = file.transforms();
//! assert_eq!((x.coordinate(points.x[1]), z.coordinate(points.z[1])), (500_000.25, 12.5));
//! assert_eq!(points.class, [2, 2, 5]);
//! # Ok(())
//! # }
//! ```
//!
//! In device memory: [`gpu`].
//!
//! # Source
//!
//! Isenburg, M., 2013, LASzip: lossless compression of LiDAR data, doi:10.14358/PERS.79.2.209, and version 3 of its
//! format, whose layers came later. On the CPU the crate `laz` decodes. Both give the same points.
#![deny(missing_docs)]

mod cpu;
mod error;
mod file;
#[cfg(feature = "cuda")]
pub mod gpu;
// What geo-io reads chunks by too. Not for others: it changes as these two need it.
#[doc(hidden)]
pub mod layout;
mod packed;
mod points;

pub use error::{Error, Result};
pub use file::LazFile;
pub use laz::LazVlr;
pub use packed::{Fields, PackedChunks};
pub use points::{Points, Transform};

use gpu_core::{Device, On};

/// Decodes chunks into columns on the host.
///
/// Example: see [the crate](crate).
///
/// # Errors
/// - [`Error::Damaged`] for a chunk that no encoder can have written.
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where memory or the device fails.
pub fn decode<'on>(on: impl Into<On<'on>>, chunks: &PackedChunks) -> Result<Points> {
    let (points, damaged) = decode_each(on, chunks)?;
    damaged.into_iter().next().map_or(Ok(points), Err)
}

/// Decodes chunks as [`decode`] does, also behind a damaged one. Returns an [`Error::Damaged`] for each damaged chunk, in
/// the order of the chunks; the points of such a chunk mean nothing. On a GPU the work has a stream of its own.
///
/// # Errors
/// The other errors of [`decode`].
pub fn decode_each<'on>(
    on: impl Into<On<'on>>,
    chunks: &PackedChunks,
) -> Result<(Points, Vec<Error>)> {
    let On { device, progress } = on.into();
    progress.during("decode", || {
        gpu_core::on_device!(
            device,
            cpu => Ok(cpu::decode_each(chunks)),
            gpu => {
                let (points, damaged) =
                    gpu::ResidentChunks::new(&gpu.fork()?, chunks)?.decode_each()?;
                Ok((points.to_host()?, damaged))
            },
        )
    })
}

/// What a GPU has for chunks: by that a caller divides a large file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capacity {
    /// How many chunks it decodes at once. Half as many take as long.
    pub chunks: usize,
    /// The bytes of device memory that each of them takes while it is decoded, beside its packed bytes and its points.
    pub bytes_of_chunk: u64,
    /// The bytes of device memory that are free.
    pub free: u64,
    /// Whether it is the software device, which is much slower than the cores.
    pub is_software: bool,
}

/// Returns what a GPU has for chunks; `None` for the CPU.
///
/// # Errors
/// [`Error::Core`] for the device.
pub fn capacity(device: &Device) -> Result<Option<Capacity>> {
    gpu_core::on_device!(device, cpu => Ok(None), gpu => gpu::capacity(gpu).map(Some))
}
