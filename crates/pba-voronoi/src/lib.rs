//! Exact discrete Voronoi diagrams and Euclidean distance transforms of rasters.
//!
//! Given a raster in which some pixels are *sites*, [`transform`] finds for every pixel the site whose centre is
//! nearest to the pixel's own centre, and the distance to it. It compares distances as integers, so rounding never
//! gives a pixel to the second nearest site.
//!
//! Equal distances go to the site with the lowest linear index (row x width + column). So the result does not
//! depend on the device or on the number of threads.
//!
//! Use it for distance maps and buffers around features, for filling each pixel from its nearest
//! sample, and as the first half of natural neighbour interpolation (crate `nni-grid`).
//!
//! For rasters in longitude and latitude, [`geodesic`](geodesic()) measures along great circles.
//!
//! [`Input`] says where the sites are: masks of bytes or bits, lists, labels. [`Params`] say what the call returns:
//!
//! - indices, coordinates and squared distances;
//! - distances on the ground, signed or up to a limit;
//! - values and labels of the nearest site.
//!
//! In device memory, `gpu::transform` does the same. From the indices follow the [`directions`] of the nearest sites
//! and to [their coordinates](site_centres).
//!
//! ```
//! use gpu_core::{Device, DeviceChoice, GridSpec};
//! use pba_voronoi::{Input, Params, Sites, transform};
//!
//! # fn main() -> Result<(), pba_voronoi::Error> {
//! let device = Device::open(DeviceChoice::Cpu)?;
//! let mask = [
//!     1, 0, 0, 0, //
//!     0, 0, 0, 0, //
//!     0, 0, 0, 1,
//! ];
//! let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(4, 3));
//! let diagram = transform(&device, &input, &Params::new().coordinates().distance())?;
//! let (sites, distances) = (diagram.coordinates.unwrap(), diagram.distance.unwrap());
//! assert_eq!((sites.get(2, 0), sites.get(3, 0)), (Some(&[0, 0]), Some(&[3, 2])));
//! assert_eq!(distances.values()[..4], [0.0, 1.0, 2.0, 2.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # Method
//!
//! The diagram separates by dimension. Pass 1 finds for every pixel the nearest site of its own row. Then a column
//! has one candidate per row, and the cost of a candidate along the column is a parabola. All parabolas have equal
//! shape. Pass 2 finds their lower envelope, which gives the nearest site of each of the column's pixels.
//!
//! [`Method::Monotone`], which the default uses, searches the envelope from coarse rows to fine ones. Down a column
//! the winner's row never decreases, since the matrix of costs is totally monotone (Aggarwal, Klawe, Moran, Shor
//! and Wilber 1987, DOI 10.1007/BF01840359). So between two rows only the candidates between their winners count.
//!
//! [`Baseline::ScanPrune`] is the method of Simin You and Jianting Zhang, *Constructing Natural Neighbor
//! Interpolation Based Grid DEM Using CUDA* (COM.Geo 2012). They built on the Parallel Banding Algorithm of Cao,
//! Tang, Mohamed and Tan (I3D 2010, DOI 10.1145/1730804.1730818). It has three steps:
//!
//! - a forward max-scan and a backward min-scan over site columns;
//! - iterative pruning of each column's candidates by their bisectors, with compaction;
//! - assignment by intervals.
//!
//! On the CPU it is the stack of Meijster, Roerdink and Hesselink (2000, DOI 10.1007/0-306-47025-X_36) and
//! Felzenszwalb and Huttenlocher (2012, DOI 10.4086/toc.2012.v008a019). [`Method::Monotone`] uses that stack too,
//! for wide rasters and for pixels that are not square.
//!
//! This crate differs from the papers: coordinates are 32-bit and ties are defined. The envelope changes at the first
//! *row* where a later candidate is strictly nearer, not at a real intersection.
//!
//! All methods compare integers and give ties to the lowest index, so their results have the same bits.
//!
//! # Limits
//!
//! A raster has at most [`MAX_SIDE`] pixels on a side, and as many in all as memory holds. With `nearest_sites`, whose
//! indices have 32 bits, it has at most [`MAX_PIXELS`]. A larger raster is an error.
#![deny(missing_docs)]

mod cpu;
mod diagram;
mod error;
mod globe;
#[cfg(feature = "cuda")]
pub mod gpu;
mod ground;
mod input;
mod limits;
mod metric;
mod params;

use gpu_core::{Grid, GridSpec, GridView, On};

#[cfg(feature = "ellipsoid")]
pub use cpu::geodesic_on_ellipsoid;
pub use diagram::{Diagram, Integers};
pub use error::{Error, Result};
pub use globe::{AUTHALIC_RADIUS, Bearings, EARTH_RADIUS, Globe, directions_on_globe};
pub use ground::{Lay, bearing, directions, site_centres};
pub use input::{Input, Sites, Strip};
pub use limits::{MAX_PIXELS, MAX_SIDE};
pub use metric::Spacing;
pub use params::{Baseline, Method, Params};

/// The index of 32 bits that means no site.
pub const NONE: u32 = u32::MAX;

/// Computes the exact distance transform of a raster of sites, from host arrays to host arrays.
///
/// O(pixels) work. An empty raster gives empty outputs. A raster without sites gives no nearest sites and infinite
/// distances. The call reports its stages as progress, and on a GPU each output.
///
/// ```
/// use gpu_core::{Device, GridSpec};
/// use pba_voronoi::{Input, Params, Sites, transform};
///
/// let input = Input::new(Sites::Mask(&[1, 0, 0, 0, 0, 1]), GridSpec::of_pixels(6, 1));
/// let diagram = transform(&Device::Cpu, &input, &Params::new().distance().nearest())?;
/// assert_eq!(diagram.distance.unwrap().values(), [0.0, 1.0, 2.0, 2.0, 1.0, 0.0]);
/// let nearest = diagram.nearest.unwrap();
/// assert_eq!((nearest.get(2), nearest.get(3)), (Some(0), Some(5)));
/// # Ok::<(), pba_voronoi::Error>(())
/// ```
///
/// # Errors
/// - For the input: [`Error::TooLarge`], [`gpu_core::Error::Length`], [`Error::SiteOutside`], [`Error::Strip`] and
///   [`Error::NotBeyond`].
/// - For the parameters: [`Error::Spacing`], [`gpu_core::Error::Parameter`] and [`Error::Missing`].
/// - [`Error::Unsupported`] for what [`Baseline::ScanPrune`] cannot do.
/// - [`Error::Cancelled`] where the caller's progress ends the call.
/// - [`Error::Core`] where memory or the device fails.
pub fn transform<'on>(
    on: impl Into<On<'on>>,
    input: &Input<'_>,
    params: &Params,
) -> Result<Diagram> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::transform(input, params, progress),
        gpu => gpu::transform_host(gpu, input, params, progress),
    )
}

/// Returns the nearest site's linear index (row * width + column) for each pixel of a mask, or [`NONE`].
///
/// # Errors
/// [`Error::TooLarge`] for more than [`MAX_PIXELS`] pixels, [`Error::Cancelled`] where its progress ends the call, and [`Error::Core`] where
/// memory or the device fails.
///
/// ```
/// # fn main() -> pba_voronoi::Result<()> {
/// use gpu_core::{Device, GridSpec, GridView};
///
/// let mask = GridView::new(&[1, 0, 0, 1u8], GridSpec::of_pixels(4, 1))?;
/// let nearest = pba_voronoi::nearest_sites(&Device::Cpu, mask)?;
/// assert_eq!(nearest.values(), [0, 0, 3, 3]);
/// # Ok(())
/// # }
/// ```
pub fn nearest_sites<'on>(on: impl Into<On<'on>>, sites: GridView<'_, u8>) -> Result<Grid<u32>> {
    let GridSpec { width, height, .. } = *sites.grid();
    limits::check_short(width, height)?;
    let params = Params::new().spacing(1.0, 1.0).nearest();
    match transform(on, &sites.into(), &params)?.nearest {
        Some(Integers::U32(nearest)) => Ok(nearest),
        _ => Err(Error::TooLarge { width, height }),
    }
}

/// Computes the distance transform of a raster in longitude and latitude, by great circles, from host arrays to
/// host arrays. The CPU and all devices give the same bits.
///
/// For each pixel the call finds the site whose centre is nearest on the sphere, over the poles and across the
/// antimeridian too. The raster covers a part of the Earth or all of it. At a pole, all pixels of the row are at one
/// place.
///
/// The call compares squares of half a chord in f64: `A + c (c' B)`, where the four numbers follow from the raster's
/// geometry ([`Globe`]). Among equal distances, the site with the lowest index counts. Of two sites in one row, the
/// site with the smaller difference of longitude is nearer.
///
/// [`Params`] may name the outputs `nearest`, `coordinates`, `distance`, `distance_f64`, `signed_distance`, `value` and
/// `label`, and may set `max_distance`. All lengths are in the unit of the radius: metres. The result's `square_unit`
/// is 0. [`directions_on_globe`] computes the directions from the result. `geodesic_on_ellipsoid` measures on the WGS
/// 84 ellipsoid (feature `ellipsoid`).
///
/// A program can transform a raster larger than memory in [strips of columns](Strip), with the bits of the whole.
///
/// O(pixels x log rows) work. Beside input and outputs it takes 2 bytes a pixel on the CPU, 4 in rasters wider than
/// 60,000, and 16 on a GPU.
///
/// ```
/// use gpu_core::{Device, DeviceChoice, GridSpec};
/// use pba_voronoi::{Globe, Input, Params, Sites, geodesic};
///
/// # fn main() -> Result<(), pba_voronoi::Error> {
/// // Pixels of 90 degrees in two rows, at latitudes of 45 degrees; the site is the north-western one.
/// let device = Device::open(DeviceChoice::Cpu)?;
/// let input = Input::new(Sites::Mask(&[1, 0, 0, 0, 0, 0, 0, 0]), GridSpec::of_pixels(4, 2));
/// let globe = Globe::new([-180.0, 90.0], [90.0, 90.0]);
/// let diagram = geodesic(&device, &input, &globe, &Params::new().distance_f64())?;
/// let degrees: Vec<f64> = diagram.distance_f64.unwrap().values().iter()
///     .map(|metres| (metres / globe.radius).to_degrees().round())
///     .collect();
/// // The last column is as near as the second; the third lies over the pole.
/// assert_eq!(degrees, [0.0, 60.0, 90.0, 60.0, 90.0, 120.0, 180.0, 120.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`Error::Globe`] for a raster that does not lie on the globe.
/// - [`Error::NotOnGlobe`] for squared distances, parts, a spacing and [`Baseline::ScanPrune`].
/// - [`Error::NotOnGlobe`] for strips of a raster with a row at a pole.
/// - All else as [`transform`].
pub fn geodesic<'on>(
    on: impl Into<On<'on>>,
    input: &Input<'_>,
    globe: &Globe,
    params: &Params,
) -> Result<Diagram> {
    let On { device, progress } = on.into();
    gpu_core::on_device!(
        device,
        cpu => cpu::geodesic(input, globe, params, progress),
        gpu => gpu::geodesic_host(gpu, input, globe, params, progress),
    )
}
