//! Diagrams of shapes: the launches of `kernels_rs::sphere_qtm::shape_lists`.

use gpu_core::{Blocks, Column, Gpu, Progress};
use kernels_rs::sphere_qtm::cells_of;
use kernels_rs::sphere_qtm::shape_lists::{self as kernels, Elements, List, Pool};
use kernels_rs::sphere_qtm::shapes::Element;

use super::DeviceDiagram;
use crate::{Diagram, Params, Result, Shapes};

/// The level whose lists are made from all elements: threads enough to fill a GPU.
const FIRST: u32 = 5;

/// How far the last lists lie above the cells that they serve.
const UP: u32 = 1;

/// Entries of the pool for each element and for each cell of the last lists. Lists are longer than those of points,
/// for all within three radii of a triangle are on them.
const POOL: [u64; 2] = [128, 16];

/// [`Shapes`] in device memory.
///
/// Example: see [`voronoi_of_shapes`].
#[derive(Debug)]
pub struct DeviceShapes {
    /// 128 bytes an element.
    elements: Column<[u64; 16]>,
    sites: usize,
}

impl DeviceShapes {
    /// Copies shapes to the device.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) where memory or the device fails.
    pub fn new(gpu: &Gpu, shapes: &Shapes) -> Result<Self> {
        let words = |element: &Element| {
            let Element { from, to, normal, at_from, at_to, site, part } = *element;
            let numbers = [from, to, normal, at_from, at_to].into_iter().flatten();
            let mut words = [0; 16];
            for (word, number) in words.iter_mut().zip(numbers) {
                *word = number.to_bits();
            }
            words[15] = u64::from(site) | u64::from(part) << 32;
            words
        };
        let mut all = gpu_core::host_memory::with_capacity(shapes.elements().len())?;
        all.extend(shapes.elements().iter().map(words));
        Ok(Self { elements: gpu.upload(&all)?, sites: shapes.len() })
    }

    /// The number of sites.
    pub fn len(&self) -> usize {
        self.sites
    }

    /// Whether there are no sites: always false.
    pub fn is_empty(&self) -> bool {
        self.sites == 0
    }

    fn elements(&self) -> Elements<'_> {
        // SAFETY: an element is 16 such words, and columns begin at multiples of 256 bytes.
        let all = unsafe { self.elements.input().cast() };
        Elements { all, count: self.elements.len() as u32 }
    }
}

/// Computes the [diagram](crate::voronoi_of_shapes) of shapes in device memory, with the same bits as on the CPU.
///
/// It enqueues on the handle and returns; after one call it can be captured. Scratch, pruned, is 512 bytes an
/// element and 20 a cell.
///
/// ```
/// use gpu_core::{DeviceChoice, Gpu};
/// use sphere_qtm::gpu::{DeviceShapes, voronoi_of_shapes};
/// use sphere_qtm::{Level, LonLat, Params, Shape, Shapes};
///
/// # fn main() -> Result<(), sphere_qtm::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// let pole = |latitude| Ok::<_, sphere_qtm::Error>(Shape::Point(LonLat::new(0.0, latitude)?));
/// let shapes = DeviceShapes::new(&gpu, &Shapes::new(&[pole(90.0)?, pole(-90.0)?])?)?;
/// let diagram = voronoi_of_shapes(&gpu, &shapes, &Params::new(Level::ZERO))?.to_host()?;
/// assert_eq!(diagram.nearest, [0, 0, 0, 0, 1, 1, 1, 1]); // the northern octants come first
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`gpu::voronoi`](super::voronoi).
pub fn voronoi_of_shapes(
    gpu: &Gpu,
    shapes: &DeviceShapes,
    params: &Params,
) -> Result<DeviceDiagram> {
    let cells = params.level.cell_count();
    let scratch = if params.is_pruned() { 20 } else { 0 };
    let asked = cells.saturating_mul(params.bytes_of_cell() + scratch);
    params.check_memory(asked, gpu.total_memory())?;
    let elements = shapes.elements();
    // SAFETY: all cells are written below.
    let mut diagram = unsafe { DeviceDiagram::uninitialized(gpu, params)? };
    let level = params.level.get();
    let (mut pool, lists) = if params.is_pruned() {
        let (pool, lists) = Lists::new(gpu, elements, params)?;
        (pool, Some(lists))
    } else {
        (gpu.zeroed(0)?, None)
    };
    let arguments = kernels::nearest_of_shapes::Args {
        elements,
        level,
        up: lists.as_ref().map_or(0, |lists| level - lists.level),
        // SAFETY: a list is three such numbers.
        lists: lists.as_ref().map(|lists| unsafe { lists.column.input().cast::<List>() }),
        pool: pool.output(),
        outputs: diagram.outputs(),
    };
    let kernel = kernels::nearest_of_shapes;
    // SAFETY: the outputs have an element for each cell; the lists are those of the level `up` above.
    unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, cells)?, arguments)? };
    Ok(diagram)
}

/// The lists of a level.
struct Lists {
    level: u32,
    column: Column<[u32; 3]>,
}

impl Lists {
    /// Makes the lists of the level above the diagram's, by way of all levels from the first. Gives the pool that their
    /// entries lie in, too.
    fn new(gpu: &Gpu, elements: Elements<'_>, params: &Params) -> Result<(Column<u32>, Self)> {
        let last = params.level.get().saturating_sub(UP);
        let capacity = POOL[0] * u64::from(elements.count) + POOL[1] * cells_of(last);
        let capacity = capacity.min(u64::from(u32::MAX) - 1);
        // SAFETY: a list is read where it was written.
        let mut pool = unsafe { gpu.uninitialized::<u32>(capacity as usize)? };
        let mut used = gpu.zeroed::<u64>(1)?;
        let kernel = kernels::make_lists;
        let mut make = |level: u32, parents: Option<&Column<[u32; 3]>>| -> Result<Column<_>> {
            let cells = cells_of(level);
            // SAFETY: the kernel writes the list of each cell.
            let mut lists = unsafe { gpu.uninitialized::<[u32; 3]>(cells as usize)? };
            let arguments = kernels::make_lists::Args {
                elements,
                level,
                wanted: params.wanted(),
                // SAFETY: a list is three such numbers.
                parents: parents.map(|parents| unsafe { parents.input().cast::<List>() }),
                pool: Pool { entries: pool.output(), capacity, used: used.output() },
                // SAFETY: as above.
                lists: unsafe { lists.output().cast::<List>() },
            };
            // SAFETY: columns are as long as the kernel says, and parents are those of the level above.
            unsafe { gpu.enqueue(kernel, Blocks::for_each(&kernel, cells)?, arguments)? };
            Ok(lists)
        };
        let first = FIRST.min(last);
        let mut column = make(first, None)?;
        for level in first + 1..=last {
            column = make(level, Some(&column))?;
        }
        Ok((pool, Self { level: last, column }))
    }
}

/// [`voronoi_of_shapes`](crate::voronoi_of_shapes) on a GPU. Waits for the result.
pub(crate) fn voronoi_of_shapes_host(
    gpu: &Gpu,
    shapes: &Shapes,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    params.check_host()?;
    let resident = progress.during("to the device", || DeviceShapes::new(gpu, shapes))?;
    progress.during("voronoi", || voronoi_of_shapes(gpu, &resident, params)?.to_host())
}
