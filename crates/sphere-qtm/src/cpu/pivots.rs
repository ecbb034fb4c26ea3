//! The test of `kernels_rs::sphere_qtm::nearest` by which a triangle leaves sites out, for balls of sites. A site is a ball of
//! radius 0.

use kernels_rs::sphere_qtm::nearest::{DOUBT, Two, squared_chord};
use kernels_rs::sphere_qtm::triangle::{Triangle, Vector};

use crate::balls::Ball;

/// Two sites near a triangle's centre, with which others are compared.
pub(super) struct Pivots {
    of: [Pivot; 2],
    vertices: [Vector; 3],
    /// How many pivots must beat a ball before it is left out.
    wanted: usize,
}

impl Pivots {
    /// Of the two sites nearest to the centre; `wanted` nearest sites are to be found.
    pub(super) fn new(triangle: &Triangle, two: Two, sites: &[Vector], wanted: usize) -> Self {
        let vertices = [triangle.a, triangle.b, triangle.c];
        let of = [two.first, two.second].map(|found| Pivot::new(&vertices, found.site, sites));
        Self { of, vertices, wanted }
    }

    /// Whether a site of a ball may be among the nearest of some place in the triangle.
    #[inline(always)]
    pub(super) fn keep(&self, ball: &Ball) -> bool {
        let squared = self.vertices.map(|vertex| squared_chord(vertex, ball.centre));
        let beaten = |of: usize| usize::from(self.of[of].beats(ball, squared));
        beaten(0) + beaten(1) < self.wanted
    }
}

/// A site that balls are compared with.
struct Pivot {
    site: u32,
    place: Vector,
    /// A site with a longer chord from every vertex is surely farther than the pivot; infinite if there is none.
    limits: Vector,
}

impl Pivot {
    fn new(vertices: &[Vector; 3], site: u32, sites: &[Vector]) -> Self {
        let Some(&place) = sites.get(site as usize) else {
            return Self { site, place: [0.0; 3], limits: [f64::INFINITY; 3] };
        };
        let limits = vertices.map(|vertex| (squared_chord(vertex, place) + DOUBT).sqrt());
        Self { site, place, limits }
    }

    /// Whether it comes before all sites of a ball everywhere in the triangle. `squared` is of the ball's centre from each
    /// vertex.
    #[inline(always)]
    fn beats(&self, ball: &Ball, squared: Vector) -> bool {
        let is_farther = |vertex: usize| {
            let limit = self.limits[vertex] + ball.radius;
            squared[vertex] > limit * limit + DOUBT
        };
        let is_twin = ball.radius == 0.0 && ball.centre == self.place && ball.site > self.site;
        (is_farther(0) & is_farther(1) & is_farther(2)) | is_twin
    }
}
