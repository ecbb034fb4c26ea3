//! Diagrams of shapes, by the same plan as diagrams of points, with lists of elements
//! (`kernels_rs::sphere_qtm::shapes`).

use gpu_core::Progress;
use kernels_rs::sphere_qtm::shapes::{Element, Entries, SURE, keep, nearest, sure};
use kernels_rs::sphere_qtm::triangle::Triangle;
use rayon::prelude::*;

use super::{PARALLEL, Part, empty_diagram};
use crate::{Diagram, Level, Params, Result, Shapes};

/// Computes [`voronoi_of_shapes`](crate::voronoi_of_shapes) on all cores of the CPU.
///
/// # Errors
/// The errors of [`voronoi_of_shapes`](crate::voronoi_of_shapes).
pub fn voronoi_of_shapes(
    shapes: &Shapes,
    params: &Params,
    progress: &dyn Progress,
) -> Result<Diagram> {
    params.check_host()?;
    let cells = params.level.cell_count() as usize;
    let mut diagram = empty_diagram(params)?;
    let (wanted, prunes) = (params.wanted(), params.is_pruned());
    let search = Search { elements: shapes.elements(), wanted, prunes };
    let all: Vec<u32> = (0..shapes.elements().len() as u32).collect();
    let mut rest = Part::of(&mut diagram);
    for octant in 0..8 {
        progress.at("voronoi", f64::from(octant) / 8.0)?;
        let (part, others) = rest.split_at(cells / 8);
        rest = others;
        search.fill(&Triangle::octant(octant), &all, SURE, params.level, 0, part);
    }
    progress.at("voronoi", 1.0)?;
    Ok(diagram)
}

/// A list of elements and marks.
struct Entered<'a> {
    elements: &'a [Element],
    entries: &'a [u32],
}

impl Entries for Entered<'_> {
    fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    fn entry(&self, i: u32) -> u32 {
        self.entries[i as usize]
    }

    fn element(&self, index: u32) -> Element {
        self.elements[index as usize]
    }
}

/// A search for the nearest sites of all cells.
struct Search<'a> {
    elements: &'a [Element],
    wanted: u32,
    prunes: bool,
}

impl Search<'_> {
    /// Fills the part of a triangle's cells from its parent's list, which is `sure` to have the elements around them.
    fn fill(
        &self,
        triangle: &Triangle,
        entries: &[u32],
        sure_of_list: f64,
        level: Level,
        depth: u32,
        part: Part<'_>,
    ) {
        let list = Entered { elements: self.elements, entries };
        if depth == level.get() {
            return part.write(nearest(&list, triangle.centre(), sure_of_list));
        }
        let mut kept = Vec::new();
        let (entries, sure_of_list) = if self.prunes {
            keep(triangle, &list, sure_of_list, self.wanted, |entry| kept.push(entry));
            (&kept[..], sure(triangle))
        } else {
            (entries, sure_of_list)
        };
        let children = triangle.children();
        let children = children.iter().zip(part.quarters());
        let fill = |(child, part): (&Triangle, Part<'_>)| {
            self.fill(child, entries, sure_of_list, level, depth + 1, part);
        };
        if depth < PARALLEL {
            children.collect::<Vec<_>>().into_par_iter().for_each(fill);
        } else {
            children.for_each(fill);
        }
    }
}
