//! The exact method on a GPU, over device buffers.

use gpu_core::{Blocks, Column, Gpu, GridSpec, Slice, parallel};
use gpu_scan::gpu::Workspace;
use kernels_rs::nni::TALLIES;
use kernels_rs::nni::exact as kernels;
use kernels_rs::nni::exact::scene::Scene;
use kernels_rs::stars::natural::Query;
use kernels_rs::stars::predicates::Predicates;

use super::{SiteStars, policy_of, scene_of};
use crate::gpu::put::put_scales;
use crate::{Params, Result, ValueScale, Weights};

/// Points in device memory.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a> {
    pub x: Slice<'a, f64>,
    pub y: Slice<'a, f64>,
    /// The points' first value, then their second, and so on.
    pub z: Slice<'a, f64>,
    pub scales: &'a [ValueScale],
}

/// What the exact method gives in device memory.
pub(crate) struct Layers {
    /// All cells' first value, then all cells' second, and so on.
    pub dem: Column<f32>,
    pub counts: Option<Column<u32>>,
    pub distances: Option<Column<f32>>,
    pub deviations: Option<Column<f32>>,
    pub tallies: Column<u64>,
}

/// The stars of points, and what the host makes with them.
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
    params: &Params,
    mask: Option<Slice<'_, u8>>,
) -> Result<Layers> {
    let gpu = &workspace.gpu().clone();
    let stars = make_stars(gpu, points, params)?;
    let mut tallies = gpu.zeroed::<u64>(TALLIES)?;
    count_outside(gpu, points, &params.grid, &mut tallies)?;
    let scales = put_scales(gpu, points.scales.iter().copied())?;
    let values = stars.merged(gpu, points, &scales, params, &mut tallies)?;
    let mut sites = Sites { values, gradients: None, scales, count: points.scales.len() as u32 };
    if params.weights == Weights::SibsonC1 {
        sites.gradients = Some(stars.gradients(gpu, &sites)?);
    }
    stars.cells(gpu, params, &sites, mask, tallies)
}

/// Makes the stars of points, on the host.
fn make_stars(gpu: &Gpu, points: Points, params: &Params) -> Result<Stars> {
    gpu.refuse_in_capture("an exact interpolation")?;
    let (mut x, mut y) = (vec![0.0; points.x.len()], vec![0.0; points.y.len()]);
    // SAFETY: the arrays stay until the stream has been waited for.
    let copied =
        unsafe { (gpu.enqueue_read(points.x, &mut x), gpu.enqueue_read(points.y, &mut y)) };
    gpu.synchronize()?;
    copied.0?;
    copied.1?;
    let stars = SiteStars::of(&x, &y, &params.grid, &())?;
    let scene = scene_of(params, &stars);
    Ok(Stars {
        places: gpu.upload(stars.places.as_flattened())?,
        starts: gpu.upload(&stars.starts)?,
        neighbours: gpu.upload(&stars.neighbours)?,
        firsts: gpu.upload(&stars.firsts)?,
        members: gpu.upload(&stars.members)?,
        hints: gpu.upload(&hints(&stars, &scene))?,
        sites: stars.len() as u32,
        scene,
    })
}

/// The site nearest to the middle of each patch of cells; none where there are no sites.
fn hints(stars: &SiteStars, scene: &Scene) -> Vec<u32> {
    let across = scene.columns.div_ceil(kernels::PATCH_COLUMNS);
    let down = if stars.len() == 0 { 0 } else { scene.rows.div_ceil(kernels::PATCH_ROWS) };
    let predicates = Predicates::new(scene.unit);
    let of_row = |row: usize| {
        let first = scene.centre(0, row as u32 * kernels::PATCH_ROWS);
        let mut hint = stars.near(first).unwrap_or(0);
        let nearest = move |column: u32| {
            let (column, row) = (column * kernels::PATCH_COLUMNS, row as u32 * kernels::PATCH_ROWS);
            let at =
                scene.centre(column + kernels::PATCH_COLUMNS / 2, row + kernels::PATCH_ROWS / 2);
            hint = Query { stars, predicates: &predicates, at }.nearest(hint);
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

/// What sites have.
struct Sites {
    values: Column<i32>,
    gradients: Option<Column<f32>>,
    scales: Column<f64>,
    count: u32,
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

    /// The values of the sites.
    fn merged(
        &self,
        gpu: &Gpu,
        points: Points,
        scales: &Column<f64>,
        params: &Params,
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
        params: &Params,
        sites: &Sites,
        mask: Option<Slice<'_, u8>>,
        tallies: Column<u64>,
    ) -> Result<Layers> {
        let (grid, cells) = (params.grid, params.grid.cells() as usize);
        let patches = |cells: u32, of_patch: u32| u64::from(cells.div_ceil(of_patch));
        let threads = patches(grid.width, kernels::PATCH_COLUMNS)
            * patches(grid.height, kernels::PATCH_ROWS)
            * u64::from(kernels::OF_PATCH);
        let kernel = match sites.gradients.is_some() {
            true => kernels::interpolate_cells::smooth,
            false => kernels::interpolate_cells::mean,
        };
        // SAFETY: columns have the lengths that the kernel asks for; every cell is written.
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
            gpu.enqueue(
                kernel,
                Blocks::for_each(&kernel, threads)?,
                kernels::interpolate_cells::Args {
                    scene: self.scene,
                    stars: self.argument(),
                    sites: sites.argument(),
                    hints: self.hints.input(),
                    mask: mask.map(Slice::input),
                    layers: kernels::Layers {
                        values: layers.dem.output(),
                        counts: layers.counts.as_mut().map(Column::output),
                        distances: layers.distances.as_mut().map(Column::output),
                        deviations: layers.deviations.as_mut().map(Column::output),
                    },
                    tallies: layers.tallies.output(),
                },
            )?;
            Ok(layers)
        }
    }
}
