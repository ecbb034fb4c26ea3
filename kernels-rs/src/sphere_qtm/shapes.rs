//! Diagrams whose sites are points, arcs of great circles and polygons.
//!
//! A site is made of parts, and a part of elements: a point, or connected arcs, or the edges of a polygon with its
//! holes. All elements lie in one array in the order of their sites and parts. The distance from a place to a site is
//! that to its nearest element, and 0 inside a polygon.
//!
//! **Inside.** The edge nearest to a place tells whether the place is inside a polygon, by the side that it lies on. If
//! the nearest place of the polygon is a vertex, the side of the sum of both edges' normals counts. (Baerentzen and
//! Aanaes 2005, doi:10.1109/TVCG.2005.49, in the plane of the vertex.) Edges have the inside to their left.
//!
//! **Pruning.** Chords obey the triangle inequality. Let a triangle lie within the chord R of its centre, and let the
//! nearest site be at D from the centre. Then the nearest element to any place in the triangle is within D + 2 R of the
//! centre. The list of the triangle has all elements within this chord, or within 3 R. So a polygon's edge nearest to a
//! place in the triangle is the nearest of the list, if it is within 2 R of the place ([`sure`]). A polygon may have no
//! edge in the triangle. If the triangle lies inside it, the list has a mark, [`INSIDE`]; otherwise no place of the
//! triangle is inside it.

use device_std::math;

use super::nearest::{NONE, NearSite, Two, squared_chord};
use super::triangle::{Triangle, Vector, cross, dot};

/// A point, an arc or an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(16))]
pub struct Element {
    /// Where it begins.
    pub from: Vector,
    /// Where it ends; for a point, the same place.
    pub to: Vector,
    /// A vector of length 1, to the left of an arc; zero for a point.
    pub normal: Vector,
    /// The sum of the normals of the two edges at the beginning of an edge.
    pub at_from: Vector,
    /// The same sum at its end.
    pub at_to: Vector,
    /// The site's index.
    pub site: u32,
    /// Twice the number of the part, and one more for a polygon.
    pub part: u32,
}

/// The distance of an element, and the side of it on which a place lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The square of the straight distance.
    pub squared: f64,
    /// Whether the place lies to the left.
    pub is_left: bool,
}

impl Element {
    /// Measures the element from a place.
    #[inline(always)]
    pub fn seen_from(&self, place: Vector) -> Seen {
        let height = dot(self.normal, place);
        // If the plane of the normal and the place cuts the arc, the nearest place lies on the arc.
        let is_beside = dot(cross(self.normal, self.from), place) > 0.0
            && dot(cross(self.normal, self.to), place) < 0.0;
        if is_beside {
            let sine = height * height;
            let cosine = math::sqrt(if sine < 1.0 { 1.0 - sine } else { 0.0 });
            return Seen { squared: 2.0 * sine / (1.0 + cosine), is_left: height > 0.0 };
        }
        let (from, to) = (squared_chord(self.from, place), squared_chord(self.to, place));
        if from <= to {
            Seen { squared: from, is_left: dot(self.at_from, place) > 0.0 }
        } else {
            Seen { squared: to, is_left: dot(self.at_to, place) > 0.0 }
        }
    }
}

/// The bit of an entry that says that a triangle lies inside the polygon of an element.
pub const INSIDE: u32 = 1 << 31;

/// The squared chord within which the nearest of all elements tells whether a place is inside. Polygons are less than
/// half of the globe, so no place inside is farther from the edges than a quarter turn.
pub const SURE: f64 = 2.000_001;

/// More than rounding may change a chord.
const SLACK: f64 = 1e-12;

/// A list of elements and marks, in the order of the elements.
#[allow(clippy::len_without_is_empty, reason = "lists are gone through by their length")]
pub trait Entries {
    /// How many entries.
    fn len(&self) -> u32;
    /// Entry `i`.
    fn entry(&self, i: u32) -> u32;
    /// An element, by its index.
    fn element(&self, index: u32) -> Element;
}

/// The entries of one part in a list, seen from a place.
#[derive(Clone, Copy)]
struct Run {
    site: u32,
    /// Where it ends in the list.
    end: u32,
    /// Whether it is a mark.
    is_mark: bool,
    /// The square of the distance to the nearest element.
    edge: f64,
    is_inside: bool,
}

impl Run {
    /// The run that begins with an entry; `sure` as in [`nearest`].
    #[inline(always)]
    fn at(list: &impl Entries, start: u32, place: Vector, sure: f64) -> Self {
        let entry = list.entry(start);
        let first = list.element(entry & !INSIDE);
        let is_mark = entry & INSIDE != 0;
        let mut run =
            Self { site: first.site, end: start, is_mark, edge: f64::INFINITY, is_inside: is_mark };
        if is_mark {
            run.end += 1;
            return run;
        }
        let mut is_left = false;
        while run.end < list.len() {
            let entry = list.entry(run.end);
            if entry & INSIDE != 0 {
                break;
            }
            let element = list.element(entry);
            if element.part != first.part {
                break;
            }
            let seen = element.seen_from(place);
            if seen.squared < run.edge {
                (run.edge, is_left) = (seen.squared, seen.is_left);
            }
            run.end += 1;
        }
        run.is_inside = first.part & 1 == 1 && is_left && run.edge <= sure;
        run
    }

    /// The square of the distance.
    #[inline(always)]
    fn squared(&self) -> f64 {
        if self.is_inside { 0.0 } else { self.edge }
    }
}

/// The nearest sites of a list. `sure` is the squared chord within which the list has all elements around the place.
#[inline(always)]
pub fn nearest(list: &impl Entries, place: Vector, sure: f64) -> Two {
    let (mut two, mut own) = (Two::NOTHING, NearSite::NOTHING);
    let mut i = 0;
    while i < list.len() {
        let run = Run::at(list, i, place, sure);
        if run.site != own.site {
            two = if own.site == NONE { two } else { two.with(own) };
            own = NearSite { squared: run.squared(), site: run.site };
        } else if run.squared() < own.squared {
            own.squared = run.squared();
        }
        i = run.end;
    }
    if own.site == NONE { two } else { two.with(own) }
}

/// The chord around a triangle's centre that holds the triangle.
#[inline(always)]
fn radius(triangle: &Triangle) -> f64 {
    let centre = triangle.centre();
    let [a, b, c] = [triangle.a, triangle.b, triangle.c].map(|v| squared_chord(centre, v));
    math::sqrt(f64::max(a, f64::max(b, c)))
}

/// The squared chord within which the list of a triangle has all elements around each of its places.
#[inline(always)]
pub fn sure(triangle: &Triangle) -> f64 {
    let chord = 2.0 * radius(triangle) + 2.0 * SLACK;
    f64::min(chord * chord, SURE)
}

/// Shows the entries of a triangle's list to `put`. They come from a list that has all elements within the squared
/// chord `sure` around the triangle's places. `wanted` is how many nearest sites are to be found, 1 or 2.
#[inline(always)]
pub fn keep(
    triangle: &Triangle,
    list: &impl Entries,
    sure: f64,
    wanted: u32,
    mut put: impl FnMut(u32),
) {
    let (centre, radius) = (triangle.centre(), radius(triangle));
    let two = nearest(list, centre, sure);
    let best = if wanted > 1 { two.second.squared } else { two.first.squared };
    let chord = f64::max(math::sqrt(best) + 2.0 * radius, 3.0 * radius) + 4.0 * SLACK;
    let (reach, touch) = (chord * chord, (radius + SLACK) * (radius + SLACK));
    let mut i = 0;
    while i < list.len() {
        let run = Run::at(list, i, centre, sure);
        if run.is_inside && (run.is_mark || run.edge > touch) {
            put(list.entry(i) | INSIDE);
        } else if run.edge <= reach {
            while i < run.end {
                if list.element(list.entry(i)).seen_from(centre).squared <= reach {
                    put(list.entry(i));
                }
                i += 1;
            }
        }
        i = run.end;
    }
}
