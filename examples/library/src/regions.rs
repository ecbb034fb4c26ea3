//! The regions of stations on the globe: their areas, and the mean of a raster in each.
//!
//! 1. The nearest station of each cell of the triangular mesh.
//! 2. The areas of its cells, sorted by station and added up, are the area of its region.
//! 3. The raster's pixels are of one area (a cylindrical equal-area projection), so that all count alike. Each lies in a cell of
//!    the mesh, and so in a region.
//! 4. The raster's values, sorted by region and added up, over how many there are: the mean.

use gpu_core::{Device, GridSpec, Points};
use gpu_scan::cpu::{adjacent_difference, argsort, gather, lower_bound, segmented_reduce};
use gpu_scan::{Sort, Sum};
use sphere_qtm::{Cell, Level, Params, cells_of_points, voronoi};

use crate::Result;

/// The cells of a level of the mesh, in their order.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// The level.
    pub level: Level,
    /// The id of each cell; they rise.
    pub ids: Vec<u64>,
    /// The area of each region on the sphere of radius 1.
    pub areas: Vec<f64>,
}

impl Mesh {
    /// The cells of a level.
    pub fn new(level: Level) -> Self {
        let ids = level.cells().map(Cell::id).collect();
        Self { level, ids, areas: level.cells().map(Cell::area).collect() }
    }
}

/// Returns the longitudes and latitudes of the centres of a raster's pixels. The raster shows the whole globe in
/// the cylindrical equal-area projection: the longitude in degrees to the east, the sine of the latitude to the
/// north.
pub fn equal_area_places(width: u32, height: u32) -> [Vec<f64>; 2] {
    let grid = GridSpec::of_pixels(width, height);
    let pixels = || (0..height).flat_map(move |row| (0..width).map(move |column| (column, row)));
    let centre = move |(column, row)| grid.cell_centre(column, row);
    let longitude = |pixel| 360.0 * centre(pixel).0 / f64::from(width) - 180.0;
    // Row 0 is in the north.
    let sine = |(_, row): (u32, u32)| 1.0 - (2.0 * f64::from(row) + 1.0) / f64::from(height);
    let latitude = |pixel| sine(pixel).asin().to_degrees();
    [pixels().map(longitude).collect(), pixels().map(latitude).collect()]
}

/// The properties of each region.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    /// Its area on the sphere of radius 1.
    pub areas: Vec<f64>,
    /// The sum of the raster's values in it.
    pub sums: Vec<f64>,
    /// The pixels in it.
    pub pixels: Vec<u64>,
}

impl Regions {
    /// The mean of the raster in each region; NaN where no pixel's centre lies in one.
    pub fn means(&self) -> Vec<f64> {
        self.sums.iter().zip(&self.pixels).map(|(sum, &count)| sum / count as f64).collect()
    }
}

/// The sum of the values of each region, and how many there are, on the host.
fn add_up(regions: &[u32], values: &[f64], count: usize) -> Result<(Vec<f64>, Vec<u64>)> {
    let order: Vec<u32> = argsort(Sort::ascending(), regions)?;
    let (mut sorted, mut in_order) = (vec![0; order.len()], vec![0.0; order.len()]);
    gather(&order, regions, &mut sorted)?;
    gather(&order, values, &mut in_order)?;
    let numbers: Vec<u32> = (0..=count as u32).collect();
    let mut offsets = vec![0; count + 1];
    lower_bound(&sorted, &numbers, &mut offsets)?;
    let mut counts = vec![0; count + 1];
    adjacent_difference(&offsets, &mut counts)?;
    Ok((segmented_reduce(Sum, &offsets, &in_order)?, counts[1..].to_vec()))
}

/// The regions of stations, and of a raster whose pixels lie at `places`, each with a value, on the host.
pub fn regions(mesh: &Mesh, stations: &Points<'_>, places: &Points<'_>) -> Result<Regions> {
    let device = Device::Cpu;
    let values = places.values.first().ok_or("a raster without values")?;
    let diagram = voronoi(&device, stations, &Params::new(mesh.level))?;
    let (areas, _) = add_up(&diagram.nearest, &mesh.areas, stations.len())?;
    let cells: Vec<u64> =
        cells_of_points(&device, places, mesh.level)?.into_iter().map(Cell::id).collect();
    let mut numbers = vec![0; cells.len()];
    lower_bound(&mesh.ids, &cells, &mut numbers)?;
    let mut of_pixels = vec![0; cells.len()];
    gather(&numbers, &diagram.nearest, &mut of_pixels)?;
    let (sums, pixels) = add_up(&of_pixels, values, stations.len())?;
    Ok(Regions { areas, sums, pixels })
}

/// Works on a device, from device memory to device memory.
#[cfg(feature = "cuda")]
pub mod gpu {
    use gpu_core::{Column, DevicePoints, Gpu, Slice};
    use gpu_scan::gpu::{
        Workspace, adjacent_difference, argsort, gather, lower_bound, segmented_reduce, sequence,
    };
    use gpu_scan::{Sort, Sum};
    use sphere_qtm::gpu::{cells_of_points, voronoi};
    use sphere_qtm::{Level, Params};

    use super::{Mesh, Regions};
    use crate::Result;

    /// A [`Mesh`] in device memory.
    #[derive(Debug)]
    pub struct DeviceMesh {
        level: Level,
        ids: Column<u64>,
        areas: Column<f64>,
    }

    impl DeviceMesh {
        /// Copies a mesh to a device.
        pub fn new(gpu: &Gpu, mesh: &Mesh) -> Result<Self> {
            let (ids, areas) = (gpu.upload(&mesh.ids)?, gpu.upload(&mesh.areas)?);
            Ok(Self { level: mesh.level, ids, areas })
        }
    }

    /// [`Regions`] in device memory.
    #[derive(Debug)]
    pub struct DeviceRegions {
        /// The area of each.
        pub areas: Column<f64>,
        /// The sum of the raster's values in each.
        pub sums: Column<f64>,
        /// 0, and then the pixels in each.
        pub pixels: Column<u64>,
    }

    impl DeviceRegions {
        /// Copies what is known to the host.
        pub fn to_host(&self) -> Result<Regions> {
            let (areas, sums) = (self.areas.to_host()?, self.sums.to_host()?);
            Ok(Regions { areas, sums, pixels: self.pixels.to_host()?.split_off(1) })
        }
    }

    /// The sum of the values of each region, and 0 and how many there are of each.
    fn add_up(
        workspace: &mut Workspace,
        regions: &Column<u32>,
        values: Slice<'_, f64>,
        count: usize,
    ) -> Result<(Column<f64>, Column<u64>)> {
        let (gpu, len) = (workspace.gpu().clone(), regions.len());
        let mut order = gpu.zeroed::<u32>(len)?;
        argsort(workspace, Sort::ascending(), regions, &mut order)?;
        let (mut sorted, mut in_order) = (gpu.zeroed::<u32>(len)?, gpu.zeroed::<f64>(len)?);
        gather(workspace, &order, regions, &mut sorted)?;
        gather(workspace, &order, values, &mut in_order)?;
        let mut numbers = gpu.zeroed::<u32>(count + 1)?;
        sequence(workspace, 0, 1, &mut numbers)?;
        let mut offsets = gpu.zeroed::<u64>(count + 1)?;
        lower_bound(workspace, &sorted, &numbers, &mut offsets)?;
        let mut counts = gpu.zeroed::<u64>(count + 1)?;
        adjacent_difference(workspace, &offsets, &mut counts)?;
        let mut sums = gpu.zeroed::<f64>(count)?;
        segmented_reduce(workspace, Sum, &offsets, &in_order, &mut sums)?;
        Ok((sums, counts))
    }

    /// The [regions](super::regions) of stations in device memory. No data come to the host.
    pub fn regions(
        workspace: &mut Workspace,
        mesh: &DeviceMesh,
        stations: &DevicePoints<'_>,
        places: &DevicePoints<'_>,
    ) -> Result<DeviceRegions> {
        let gpu = workspace.gpu().clone();
        let values = *places.values().first().ok_or("a raster without values")?;
        let diagram = voronoi(&gpu, stations, &Params::new(mesh.level))?;
        let areas = (&mesh.areas).into();
        let (areas, _) = add_up(workspace, &diagram.nearest, areas, stations.len())?;
        let cells = cells_of_points(&gpu, places.x(), places.y(), mesh.level)?;
        let mut numbers = gpu.zeroed::<u64>(cells.len())?;
        lower_bound(workspace, &mesh.ids, &cells, &mut numbers)?;
        let mut of_pixels = gpu.zeroed::<u32>(cells.len())?;
        gather(workspace, &numbers, &diagram.nearest, &mut of_pixels)?;
        let (sums, pixels) = add_up(workspace, &of_pixels, values, stations.len())?;
        Ok(DeviceRegions { areas, sums, pixels })
    }
}
