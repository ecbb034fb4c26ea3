//! The parameters of a diagram.

use gpu_core::host_memory;

use crate::{Error, Level, Result};

/// The method that finds the nearest sites. The results are the same.
///
/// ```
/// use gpu_core::{Device, Points};
/// use sphere_qtm::{Baseline, Level, Method, Params, voronoi};
///
/// let sites = Points::new(&[116.4, -0.1, -78.5], &[39.9, 51.5, -0.2]);
/// let params = Params::new(Level::new(3)?);
/// let all_pairs = params.method(Method::Baseline(Baseline::Shared));
/// assert_eq!(voronoi(&Device::Cpu, &sites, &all_pairs)?, voronoi(&Device::Cpu, &sites, &params)?);
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The fastest: [`Method::Pruned`].
    #[default]
    Auto,
    /// From the octants down, each triangle keeps only the sites that can be nearest to a place in it.
    Pruned,
    /// A published method, for comparison.
    Baseline(Baseline),
}

/// The published methods that [`Method`] is compared with. They are the kernels of Wang, Wang, Zhao and Lu,
/// *Optimization of spherical Voronoi diagram generating algorithm based on graphic processing unit* (2015, DOI
/// 10.11772/j.issn.1001-9081.2015.06.1564).
///
/// Each kernel compares every cell with every site. They differ in the kind of GPU memory that they read the sites
/// from, so on a CPU they are all the same.
///
/// Example: see [`Method`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Baseline {
    /// A thread has several cells in registers, and sites are in shared memory.
    Registers,
    /// A thread a cell; a warp reads sites from global memory as read-only data, from one address. It stands for the
    /// paper's constant memory, which rustc's backend cannot declare; `benches/peers/sphere_shared.cu` uses constant
    /// memory.
    ReadOnly,
    /// A thread a cell, with sites in shared memory by tiles.
    Shared,
    /// A thread a cell, with sites in global memory.
    Global,
}

/// Parameters of a Voronoi diagram: its level, and the outputs for each cell in addition to its nearest site.
///
/// ```
/// use gpu_core::{Device, Points};
/// use sphere_qtm::{Level, LonLat, Params, voronoi};
///
/// // The north pole and the south pole.
/// let sites = Points::new(&[0.0, 0.0], &[90.0, -90.0]);
/// let params = Params::new(Level::new(3)?).second(true).distance(true);
/// let diagram = voronoi(&Device::Cpu, &sites, &params)?;
/// let (second, distance) = (diagram.second.unwrap(), diagram.distance.unwrap());
/// for (i, &site) in diagram.nearest.iter().enumerate() {
///     assert_eq!(second[i], 1 - site);
///     assert!(distance[i] < 90f64.to_radians());
/// }
/// # Ok::<(), sphere_qtm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// The level of the cells.
    pub level: Level,
    /// How they are found.
    pub method: Method,
    /// Whether to return the second nearest site.
    pub second: bool,
    /// Whether to return the distance to the nearest site.
    pub distance: bool,
    /// Whether to return where two sites are equally near.
    pub tie: bool,
}

/// The index that means no site, in a diagram's arrays.
pub const NONE: u32 = u32::MAX;

/// The most sites that a diagram may have.
pub const MAX_SITES: u64 = (1 << 32) - 512;

impl Params {
    /// The nearest site of each cell of a level.
    pub fn new(level: Level) -> Self {
        Self { level, method: Method::Auto, second: false, distance: false, tie: false }
    }

    gpu_core::builders! {
        method: Method;
        second: bool;
        distance: bool;
        tie: bool;
    }

    /// How many nearest sites must be found.
    pub(crate) fn wanted(&self) -> u32 {
        if self.second || self.tie { 2 } else { 1 }
    }

    /// Whether lists of candidates are made.
    pub(crate) fn is_pruned(&self) -> bool {
        matches!(self.method, Method::Auto | Method::Pruned)
    }

    /// Bytes of the outputs for each cell.
    pub(crate) fn bytes_of_cell(&self) -> u64 {
        let optional = [(self.second, 4), (self.distance, 8), (self.tie, 1)];
        4 + optional.iter().filter(|(wanted, _)| *wanted).map(|(_, bytes)| bytes).sum::<u64>()
    }

    /// The error of a level that takes more than there is, if it does.
    pub(crate) fn check_memory(&self, asked: u64, available: u64) -> Result<()> {
        let (level, cells) = (self.level.get(), self.level.cell_count());
        if asked > available {
            return Err(Error::Memory { level, cells, asked, available });
        }
        Ok(())
    }

    /// The same for outputs in host memory.
    pub(crate) fn check_host(&self) -> Result<()> {
        let asked = self.level.cell_count().saturating_mul(self.bytes_of_cell());
        self.check_memory(asked, host_memory::available().unwrap_or(u64::MAX))
    }
}

/// Checks how many sites there are.
pub(crate) fn check_count(sites: u64) -> Result<()> {
    if sites == 0 {
        return Err(Error::NoSites);
    }
    Ok(gpu_core::require_at_most("sites", sites, MAX_SITES)?)
}
