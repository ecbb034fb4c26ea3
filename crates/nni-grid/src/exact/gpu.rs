//! The exact method on a GPU, over device buffers.

use delaunay_stars::SiteStars;
use delaunay_stars::gpu::DeviceTriangulation;
use gpu_core::{Blocks, Column, Gpu, GridSpec, Slice, parallel};
use gpu_scan::Sort;
use gpu_scan::gpu::{Workspace, gather, sequence, sort_with_indices};
use kernels_rs::nni::exact as kernels;
use kernels_rs::nni::exact::scene::Scene;
use kernels_rs::nni::tallies::TALLIES;
use kernels_rs::stars::locate::Query;
use kernels_rs::stars::predicates::{Predicates, sure};

use quadtree_sort::gpu::{DeviceIndex, nearest_in_order};

use super::stars::{Members, site_near, span_of, stars_of_finite};
use super::{policy_of, scene_of};
use crate::gpu::small_uploads::put_scales;
use crate::params::OnGrid;
use crate::{Result, ValueScale, Weights};

/// The most threads that interpolate cells which need exact decisions.
const MAX_THREADS: u64 = 1 << 17;

/// Points in device memory.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a> {
    pub x: Slice<'a, f64>,
    pub y: Slice<'a, f64>,
    /// The points' first value, then their second, and so on.
    pub z: Slice<'a, f64>,
    pub scales: &'a [ValueScale],
}

/// The results of the exact method in device memory.
pub(crate) struct Layers {
    /// All cells' first value, then all cells' second, and so on.
    pub dem: Column<f32>,
    pub counts: Option<Column<u32>>,
    pub distances: Option<Column<f32>>,
    pub deviations: Option<Column<f32>>,
    pub tallies: Column<u64>,
}

/// The stars of the sites of points, and what walks over them need.
struct Stars {
    places: Column<f64>,
    starts: Column<u32>,
    neighbours: Column<u32>,
    /// Where the points of each site begin in `members`.
    firsts: Column<u32>,
    members: Column<u32>,
    /// A site near each patch of cells.
    hints: Column<u32>,
    sites: u32,
    scene: Scene,
}

/// Interpolates all values of points, which the workspace's handle has admitted. Waits for the points.
pub(crate) fn interpolate(
    workspace: &mut Workspace,
    points: Points,
    params: &OnGrid,
    mask: Option<Slice<'_, u8>>,
) -> Result<Layers> {
    let gpu = &workspace.gpu().clone();
    let stars = make_stars(workspace, points, params)?;
    let mut tallies = gpu.zeroed::<u64>(TALLIES)?;
    count_outside(gpu, points, &params.grid, &mut tallies)?;
    let scales = put_scales(gpu, points.scales.iter().copied())?;
    let values = stars.merged(gpu, points, &scales, params, &mut tallies)?;
    let mut sites = Sites { values, gradients: None, scales, count: points.scales.len() as u32 };
    if params.weights == Weights::SibsonC1 {
        sites.gradients = Some(stars.gradients(gpu, &sites)?);
    }
    let half_edges = stars.measure_half_edges(gpu, params.weights)?;
    stars.cells(gpu, params, (&sites, &half_edges), mask, tallies)
}

/// Makes the stars of points. Waits for the device.
fn make_stars(workspace: &mut Workspace, points: Points, params: &OnGrid) -> Result<Stars> {
    workspace.gpu().refuse_in_capture("an exact interpolation")?;
    match quadtree_sort::gpu::index(workspace, points.x, points.y, None) {
        Ok(index) if !index.is_empty() => stars_of(workspace, &index, params),
        // The host leaves out points that are not finite.
        Ok(_) | Err(quadtree_sort::Error::Core(gpu_core::Error::NotFinite { .. })) => {
            stars_by_host(workspace.gpu(), points, params)
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes the stars of the points of an index, on the device.
fn stars_of(workspace: &mut Workspace, index: &DeviceIndex<f64>, params: &OnGrid) -> Result<Stars> {
    let gpu = workspace.gpu().clone();
    let found = delaunay_stars::gpu::triangulate_for(workspace, index, span_of(&params.grid))?;
    let scene = scene_of(params, found.scale(), found.predicates());
    let (firsts, members) = members_of(workspace, &found)?;
    let sites = found.sites();
    let hints = hints_of(workspace, &found, &scene)?;
    let len = sites.len() as u32;
    // SAFETY: the columns are as long as the kernel asks.
    let places = unsafe {
        let mut places = gpu.uninitialized::<f64>(2 * sites.len())?;
        let arguments = kernels::pair_places::Args {
            x: sites.x().input(),
            y: sites.y().input(),
            len,
            places: places.output(),
        };
        let blocks = Blocks::for_each(&kernels::pair_places, u64::from(len))?;
        gpu.enqueue(kernels::pair_places, blocks, arguments)?;
        places
    };
    let (starts, neighbours) = found.into_stars();
    Ok(Stars { places, starts, neighbours, firsts, members, hints, sites: len, scene })
}

/// Returns where the points of each site begin, and the points of all sites. The points of one site are in the order in
/// which they were given.
fn members_of(
    workspace: &mut Workspace,
    found: &DeviceTriangulation,
) -> Result<(Column<u32>, Column<u32>)> {
    let gpu = workspace.gpu().clone();
    let (points, sites) = (found.len(), found.sites().len());
    // SAFETY: each column is written before it is read, and as long as is asked.
    unsafe {
        let mut firsts = gpu.uninitialized::<u32>(sites + 1)?;
        let mut members = gpu.uninitialized::<u32>(points)?;
        if points == sites {
            sequence(workspace, 0, 1, &mut firsts)?;
            members.copy_from(found.sites().order())?;
            return Ok((firsts, members));
        }
        let mut sorted = gpu.uninitialized::<u32>(points)?;
        let by_site = Sort::ascending();
        sort_with_indices(workspace, by_site, found.site_of(), &mut sorted, &mut members)?;
        let arguments = kernels::find_members::Args {
            sorted: sorted.input(),
            len: points as u32,
            sites: sites as u32,
            firsts: firsts.output(),
        };
        let blocks = Blocks::for_each(&kernels::find_members, points as u64)?;
        gpu.enqueue(kernels::find_members, blocks, arguments)?;
        Ok((firsts, members))
    }
}

/// The site nearest to the middle of each patch of cells.
fn hints_of(
    workspace: &mut Workspace,
    found: &DeviceTriangulation,
    scene: &Scene,
) -> Result<Column<u32>> {
    let gpu = workspace.gpu().clone();
    let across = scene.columns.div_ceil(kernels::PATCH_COLUMNS);
    let patches = across as usize * scene.rows.div_ceil(kernels::PATCH_ROWS) as usize;
    // SAFETY: each column is written before it is read, and as long as is asked.
    unsafe {
        let (mut x, mut y) = (gpu.uninitialized(patches)?, gpu.uninitialized(patches)?);
        let arguments = kernels::find_middles::Args {
            scene: *scene,
            across,
            len: patches as u32,
            x: x.output(),
            y: y.output(),
        };
        let blocks = Blocks::for_each(&kernels::find_middles, patches as u64)?;
        gpu.enqueue(kernels::find_middles, blocks, arguments)?;
        let near = nearest_in_order(workspace, found.sites(), &x, &y, 1)?;
        let mut hints = gpu.uninitialized(patches)?;
        gather(workspace, &near.indices, found.site_of(), &mut hints)?;
        Ok(hints)
    }
}

/// Makes the stars of points, of which some may not be finite, on the host.
fn stars_by_host(gpu: &Gpu, points: Points, params: &OnGrid) -> Result<Stars> {
    let (mut x, mut y) = (vec![0.0; points.x.len()], vec![0.0; points.y.len()]);
    // SAFETY: the arrays stay until the stream has been waited for.
    let copied =
        unsafe { (gpu.enqueue_read(points.x, &mut x), gpu.enqueue_read(points.y, &mut y)) };
    gpu.synchronize()?;
    copied.0?;
    copied.1?;
    let (stars, kept) = stars_of_finite(&x, &y, &params.grid, &gpu_core::Silent)?;
    let members = Members::of(&stars, kept.as_deref())?;
    let scene = scene_of(params, stars.scale, stars.predicates);
    Ok(Stars {
        places: gpu.upload(stars.places.as_flattened())?,
        starts: gpu.upload(&stars.starts)?,
        neighbours: gpu.upload(&stars.neighbours)?,
        firsts: gpu.upload(&members.firsts)?,
        members: gpu.upload(&members.points)?,
        hints: gpu.upload(&hints_by_host(&stars, &scene))?,
        sites: stars.len() as u32,
        scene,
    })
}

/// The site nearest to the middle of each patch of cells; none where there are no sites.
fn hints_by_host(stars: &SiteStars, scene: &Scene) -> Vec<u32> {
    let across = scene.columns.div_ceil(kernels::PATCH_COLUMNS);
    let down = if stars.is_empty() { 0 } else { scene.rows.div_ceil(kernels::PATCH_ROWS) };
    let predicates = Predicates::new(scene.unit);
    let of_row = |row: usize| {
        let first = scene.centre(0, row as u32 * kernels::PATCH_ROWS);
        let mut hint = site_near(stars, first).unwrap_or(0);
        let nearest = move |column: u32| {
            let (column, row) = (column * kernels::PATCH_COLUMNS, row as u32 * kernels::PATCH_ROWS);
            let at =
                scene.centre(column + kernels::PATCH_COLUMNS / 2, row + kernels::PATCH_ROWS / 2);
            hint = sure(Query { stars, predicates: &predicates, at }.nearest(hint));
            hint
        };
        (0..across).map(nearest).collect::<Vec<u32>>()
    };
    parallel::map(down as usize, 1, of_row).concat()
}

/// Counts the points outside of the grid.
fn count_outside(
    gpu: &Gpu,
    points: Points,
    grid: &GridSpec,
    tallies: &mut Column<u64>,
) -> Result<()> {
    let len = points.x.len() as u64;
    let arguments = kernels::count_outside::Args {
        x: points.x.input(),
        y: points.y.input(),
        points: len,
        grid: [grid.origin_x, grid.origin_y, grid.cell_size],
        columns: grid.width,
        rows: grid.height,
        tallies: tallies.output(),
    };
    let blocks = Blocks::for_each(&kernels::count_outside, len)?;
    // SAFETY: lengths are as the kernel asks.
    unsafe { gpu.enqueue(kernels::count_outside, blocks, arguments)? };
    Ok(())
}

/// The values and gradients of sites.
struct Sites {
    values: Column<i32>,
    gradients: Option<Column<f32>>,
    scales: Column<f64>,
    count: u32,
}

/// What walks need of each half-edge: see [`kernels::LinkedStars`].
struct HalfEdges {
    twins: Column<u32>,
    kites: Column<f64>,
}

impl Sites {
    fn argument(&self) -> kernels::SiteValues<'_> {
        kernels::SiteValues {
            values: self.values.input(),
            gradients: self.gradients.as_ref().map(Column::input),
            scales: self.scales.input(),
            count: self.count,
        }
    }
}

impl Stars {
    fn argument(&self) -> kernels::StarArrays<'_> {
        kernels::StarArrays {
            places: self.places.input(),
            starts: self.starts.input(),
            neighbours: self.neighbours.input(),
            sites: self.sites,
        }
    }

    /// What walks need of each half-edge.
    fn measure_half_edges(&self, gpu: &Gpu, weights: Weights) -> Result<HalfEdges> {
        let has_areas = matches!(weights, Weights::Sibson | Weights::SibsonC1);
        let len = self.neighbours.len();
        // SAFETY: columns have the lengths that the kernel asks for; every element is written.
        unsafe {
            let mut twins = gpu.uninitialized::<u32>(len)?;
            let mut kites = gpu.uninitialized::<f64>(if has_areas { len } else { 0 })?;
            let arguments = kernels::measure_half_edges::Args {
                stars: self.argument(),
                len: len as u32,
                twins: twins.output(),
                kites: has_areas.then(|| kites.output()),
            };
            let blocks = Blocks::for_each(&kernels::measure_half_edges, len as u64)?;
            gpu.enqueue(kernels::measure_half_edges, blocks, arguments)?;
            Ok(HalfEdges { twins, kites })
        }
    }

    /// The values of the sites.
    fn merged(
        &self,
        gpu: &Gpu,
        points: Points,
        scales: &Column<f64>,
        params: &OnGrid,
        tallies: &mut Column<u64>,
    ) -> Result<Column<i32>> {
        let count = points.scales.len();
        // SAFETY: columns have the lengths that the kernel asks for; every value is written.
        unsafe {
            let mut values = gpu.uninitialized::<i32>(count * self.sites as usize)?;
            gpu.enqueue(
                kernels::merge_values,
                Blocks::for_each(&kernels::merge_values, self.sites.into())?,
                kernels::merge_values::Args {
                    firsts: self.firsts.input(),
                    members: self.members.input(),
                    sites: self.sites,
                    z: points.z.input(),
                    points: points.x.len() as u64,
                    scales: scales.input(),
                    count: count as u32,
                    policy: policy_of(params.duplicates),
                    values: values.output(),
                    tallies: tallies.output(),
                },
            )?;
            Ok(values)
        }
    }

    /// The gradients of all values at all sites.
    fn gradients(&self, gpu: &Gpu, sites: &Sites) -> Result<Column<f32>> {
        // SAFETY: as for the values.
        unsafe {
            let mut gradients = gpu.uninitialized::<f32>(2 * sites.values.len())?;
            gpu.enqueue(
                kernels::fit_gradients,
                Blocks::for_each(&kernels::fit_gradients, self.sites.into())?,
                kernels::fit_gradients::Args {
                    scene: self.scene,
                    stars: self.argument(),
                    sites: sites.argument(),
                    gradients: gradients.output(),
                },
            )?;
            Ok(gradients)
        }
    }

    /// Interpolates the cells of the DEM.
    fn cells(
        &self,
        gpu: &Gpu,
        params: &OnGrid,
        (sites, half_edges): (&Sites, &HalfEdges),
        mask: Option<Slice<'_, u8>>,
        tallies: Column<u64>,
    ) -> Result<Layers> {
        let (grid, cells) = (params.grid, params.grid.cells() as usize);
        let patches =
            grid.width.div_ceil(kernels::PATCH_COLUMNS) * grid.height.div_ceil(kernels::PATCH_ROWS);
        let threads = u64::from(patches) * u64::from(kernels::OF_PATCH);
        // SAFETY: columns have the lengths that the kernels ask for; every cell is written.
        unsafe {
            let layer = |wanted: bool| match wanted {
                true => gpu.uninitialized::<f32>(cells).map(Some),
                false => Ok(None),
            };
            let mut layers = Layers {
                dem: gpu.uninitialized(cells * sites.count as usize)?,
                counts: params.counts.then(|| gpu.uninitialized(cells)).transpose()?,
                distances: layer(params.distances)?,
                deviations: layer(params.deviations)?,
                tallies,
            };
            let mut hard = gpu.uninitialized::<u32>(patches as usize)?;
            let cells = kernels::Cells {
                scene: self.scene,
                stars: kernels::LinkedStars {
                    stars: self.argument(),
                    twins: half_edges.twins.input(),
                    kites: half_edges.kites.input(),
                },
                sites: sites.argument(),
                hints: self.hints.input(),
                mask: mask.map(Slice::input),
                layers: kernels::Layers {
                    values: layers.dem.output(),
                    counts: layers.counts.as_mut().map(Column::output),
                    distances: layers.distances.as_mut().map(Column::output),
                    deviations: layers.deviations.as_mut().map(Column::output),
                },
            };
            let all = match params.weights {
                Weights::Sibson | Weights::Laplace => kernels::interpolate_cells::mean,
                Weights::SibsonC1 => kernels::interpolate_cells::smooth,
                Weights::Linear => kernels::interpolate_cells::linear,
            };
            let tallies = layers.tallies.output();
            let arguments =
                kernels::interpolate_cells::Args { cells, patches, hard: hard.output(), tallies };
            gpu.enqueue(all, Blocks::for_each(&all, threads)?, arguments)?;
            let left = match params.weights {
                Weights::Sibson | Weights::Laplace => kernels::interpolate_hard_cells::mean,
                Weights::SibsonC1 => kernels::interpolate_hard_cells::smooth,
                Weights::Linear => kernels::interpolate_hard_cells::linear,
            };
            let arguments = kernels::interpolate_hard_cells::Args {
                cells,
                patches,
                hard: hard.input(),
                tallies,
            };
            let blocks = Blocks::for_each(&left, u64::min(u64::from(patches), MAX_THREADS))?;
            gpu.enqueue(left, blocks, arguments)?;
            Ok(layers)
        }
    }
}
