//! Triangulations from host to host, and the copy back to the host.

use kernels_rs::stars::neighbours::OPEN;

use gpu_core::{Gpu, Points, Progress, UploadedPoints};
use gpu_scan::gpu::Workspace;

use super::DeviceTriangulation;
use crate::stars::checked;
use crate::{Result, Triangulation};

/// [`triangulate`](crate::triangulate()) on a GPU.
pub(crate) fn triangulate(
    gpu: &Gpu,
    points: Points<'_>,
    progress: &dyn Progress,
) -> Result<Triangulation> {
    let points = checked(points)?;
    progress.at("to the device", 0.0)?;
    let there = UploadedPoints::new(gpu, &points)?;
    let mut workspace = Workspace::new(gpu)?;
    let triangulation = progress.during("triangulate", || {
        let index = quadtree_sort::gpu::index(&mut workspace, there.x(), there.y(), None)?;
        super::triangulate(&mut workspace, &index)
    })?;
    progress.during("to the host", || triangulation.to_host())
}

impl DeviceTriangulation {
    /// Copies the triangulation to the host, where points have their indices as given. Waits for the stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core) for the device or memory.
    pub fn to_host(&self) -> Result<Triangulation> {
        let sites = Sites {
            x: self.index.x().to_host()?,
            y: self.index.y().to_host()?,
            points: self.index.order().to_host()?,
            of: self.site_of.to_host()?,
            starts: self.starts.to_host()?,
            neighbours: self.neighbours.to_host()?,
        };
        let (starts, neighbours) = sites.stars();
        let of = |point: usize| sites.of[point];
        let place = |point| [sites.x[of(point) as usize], sites.y[of(point) as usize]];
        let stands = |point: usize| sites.points[of(point) as usize];
        let points = 0..sites.of.len();
        let duplicates = points.clone().map(|point| [point as u32, stands(point)]);
        let mut on_hull = vec![0_u64; sites.of.len().div_ceil(64)];
        for site in (0..sites.points.len()).filter(|&site| sites.is_on_hull(site)) {
            let point = sites.points[site];
            on_hull[point as usize / 64] |= 1 << (point % 64);
        }
        Ok(Triangulation {
            places: points.map(place).collect(),
            scale: self.scale,
            span: self.span,
            predicates: self.predicates,
            starts,
            neighbours,
            hull: sites.hull(),
            on_hull,
            duplicates: duplicates.filter(|[point, stands]| point != stands).collect(),
        })
    }
}

/// Sites in the order of their index.
struct Sites {
    x: Vec<f64>,
    y: Vec<f64>,
    /// The point that stands for each.
    points: Vec<u32>,
    /// The site of each point.
    of: Vec<u32>,
    starts: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Sites {
    fn star(&self, site: usize) -> &[u32] {
        &self.neighbours[self.starts[site] as usize..self.starts[site + 1] as usize]
    }

    fn is_on_hull(&self, site: usize) -> bool {
        self.star(site).last().is_none_or(|last| last & OPEN != 0)
    }

    /// The stars by points.
    fn stars(&self) -> (Vec<u32>, Vec<u32>) {
        let mut starts = vec![0; self.of.len() + 1];
        let mut neighbours = Vec::with_capacity(self.neighbours.len());
        for (point, &site) in self.of.iter().enumerate() {
            let site = site as usize;
            if self.points[site] as usize == point {
                let from = neighbours.len();
                let named = self.star(site).iter().map(|&i| self.points[(i & !OPEN) as usize]);
                neighbours.extend(named);
                let star = &mut neighbours[from..];
                if !self.is_on_hull(site) {
                    let least = (0..star.len()).min_by_key(|&i| star[i]);
                    star.rotate_left(least.unwrap_or(0));
                }
            }
            starts[point + 1] = neighbours.len() as u32;
        }
        (starts, neighbours)
    }

    /// The points of the hull, counter-clockwise from the first by x, then by y; if all are in line, along the line.
    fn hull(&self) -> Vec<u32> {
        let on_hull = (0..self.points.len()).filter(|&site| self.is_on_hull(site));
        let compare = |&a: &usize, &b: &usize| {
            self.x[a].total_cmp(&self.x[b]).then(self.y[a].total_cmp(&self.y[b]))
        };
        if self.neighbours.len() < 2 * self.points.len().max(1) {
            let mut line: Vec<usize> = on_hull.collect();
            line.sort_unstable_by(compare);
            return line.into_iter().map(|site| self.points[site]).collect();
        }
        let mut hull = Vec::new();
        if let Some(first) = on_hull.min_by(compare) {
            let mut site = first;
            loop {
                hull.push(self.points[site]);
                site = (self.star(site)[0] & !OPEN) as usize;
                if site == first {
                    break;
                }
            }
        }
        hull
    }
}
