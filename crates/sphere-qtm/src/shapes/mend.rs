//! Finds the area of a polygon whose rings cross, touch, or lie outside of each other.
//!
//! A ring divides the globe into two sides: a path between them crosses the ring an odd number of times. The ring holds
//! the smaller side. A polygon holds the places of its first ring that are in no other ring. Another ring that has no
//! place in common with the first ring becomes a separate polygon.
//!
//! 1. A tree of boxes finds arcs that meet. Each arc is divided where others cross it or end on it, so that the pieces
//!    meet only at their ends. Pieces that lie on each other become one.
//! 2. Take a path from a ring's first piece to another piece: each piece of the ring that it crosses changes the side
//!    that the ring holds. So counting the crossings tells which side of the other piece the ring holds. The path goes
//!    through a third place, so that it does not run along an arc.
//! 3. A piece with the polygon on only one side is an edge, with the polygon to its left.
//! 4. At a vertex of several corners there may be a gap between edges of more than half a turn. The places nearest to
//!    the vertex lie in it, and it decides whether they are inside.

mod boxes;

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::{PI, TAU};

use kernels_rs::sphere_qtm::triangle::{Vector, add, dot, unit};

use super::{excess, scaled};
use crate::place::{angle, cross, minus};
use boxes::{Boxes, Extent};

/// Places this near each other are one, and a place this near an arc is on it: less than a micrometre on the Earth.
const NEAR: f64 = 1e-13;

/// An edge of what a polygon holds, which lies to its left, with the sums of normals at its ends.
pub(super) struct Edge {
    pub from: Vector,
    pub to: Vector,
    pub at_from: Vector,
    pub at_to: Vector,
}

/// An arc of a ring.
#[derive(Clone, Copy)]
struct Arc {
    from: Vector,
    to: Vector,
    normal: Vector,
    ring: usize,
}

impl Arc {
    fn new(from: Vector, to: Vector, ring: usize) -> Self {
        // The difference is exact where the ends are near each other.
        Self { from, to, normal: scaled(cross(from, minus(to, from))), ring }
    }

    fn middle(&self) -> Vector {
        unit(add(self.from, self.to))
    }

    /// Returns the box that it lies in; an arc bends out of the box of its ends.
    fn extent(&self) -> Extent {
        let chord = minus(self.to, self.from);
        let more = 0.25 * dot(chord, chord) + NEAR;
        let low = std::array::from_fn(|k| self.from[k].min(self.to[k]) - more);
        let high = std::array::from_fn(|k| self.from[k].max(self.to[k]) + more);
        Extent { low, high }
    }

    /// Whether a place lies on it, between its ends.
    fn holds(&self, place: Vector) -> bool {
        dot(self.normal, place).abs() <= NEAR
            && dot(cross(self.normal, self.from), place) > 0.0
            && dot(cross(self.normal, self.to), place) < 0.0
    }

    fn has_end(&self, place: Vector) -> bool {
        self.from == place || self.to == place
    }

    /// Whether the arc from a place to another, with this normal, crosses it. What runs through a vertex crosses one of the
    /// arcs there, or none, or both, as it passes from side to side.
    fn is_crossed(&self, a: Vector, b: Vector, normal: Vector) -> bool {
        let is_left = |place| dot(normal, place) >= 0.0;
        let (of_a, of_b) = (dot(self.normal, a), dot(self.normal, b));
        match (is_left(self.from), is_left(self.to)) {
            (false, true) => of_a > 0.0 && of_b < 0.0,
            (true, false) => of_a < 0.0 && of_b > 0.0,
            _ => false,
        }
    }
}

/// Returns the edges of the area that a polygon holds; its first ring is the outer one. `None` for a valid polygon:
/// rings neither cross nor touch, and all others lie in the first and in no other. Rings have three places or more.
pub(super) fn edges(rings: &[Vec<Vector>]) -> Option<Vec<Edge>> {
    let arcs: Vec<Arc> = rings.iter().enumerate().flat_map(|(r, ring)| arcs_of(r, ring)).collect();
    let tree = Boxes::new(&arcs.iter().map(Arc::extent).collect::<Vec<_>>());
    let meetings = meetings(&arcs, &tree, rings);
    if !meetings.any && holes_are_inside(rings, &arcs, &tree) {
        return None;
    }
    let pieces = Pieces::new(&arcs, &meetings);
    Some(at_vertices(&pieces.edges(rings.len())))
}

fn arcs_of(ring: usize, places: &[Vector]) -> impl Iterator<Item = Arc> + '_ {
    let next = places.iter().cycle().skip(1);
    places.iter().zip(next).map(move |(&from, &to)| Arc::new(from, to, ring))
}

/// Where arcs meet.
struct Meetings {
    /// For each arc, the places that divide it.
    on: Vec<Vec<Vector>>,
    /// Whether any arcs meet but at the vertex between them.
    any: bool,
}

fn meetings(arcs: &[Arc], tree: &Boxes, rings: &[Vec<Vector>]) -> Meetings {
    let mut found = Meetings { on: vec![Vec::new(); arcs.len()], any: false };
    let mut firsts = vec![0];
    rings.iter().for_each(|ring| firsts.push(firsts[firsts.len() - 1] + ring.len()));
    for (i, one) in arcs.iter().enumerate() {
        let extent = one.extent();
        tree.visit(&|of: &Extent| of.meets(&extent), &mut |j| {
            if j <= i {
                return;
            }
            let other = &arcs[j];
            let (first, count) = (firsts[one.ring], rings[one.ring].len());
            let apart = (j - first) % count.max(1);
            let is_next =
                one.ring == other.ring && (j == i + 1 || (i - first + count - apart) % count == 1);
            found.add(i, one, j, other, is_next);
        });
    }
    found
}

impl Meetings {
    /// Looks at two arcs, of which one may follow the other in its ring.
    fn add(&mut self, i: usize, one: &Arc, j: usize, other: &Arc, is_next: bool) {
        let shared = [other.from, other.to].into_iter().filter(|&end| one.has_end(end)).count();
        let mut touches = false;
        for (at, arc, of) in [(i, one, other), (j, other, one)] {
            for end in [of.from, of.to] {
                if !arc.has_end(end) && arc.holds(end) {
                    self.on[at].push(end);
                    touches = true;
                }
            }
        }
        let crosses = shared == 0 && !touches && one.is_crossed(other.from, other.to, other.normal);
        if crosses {
            let line = scaled(cross(one.normal, other.normal));
            let is_here = dot(line, add(one.from, one.to)) > 0.0;
            let place = unit(if is_here { line } else { line.map(|x| -x) });
            self.on[i].push(place);
            self.on[j].push(place);
        }
        self.any |= touches || crosses || shared > usize::from(is_next);
    }
}

/// Whether rings that do not meet are holes of the first, and none lies in another.
fn holes_are_inside(rings: &[Vec<Vector>], arcs: &[Arc], tree: &Boxes) -> bool {
    let area = |ring: &Vec<Vector>| {
        let apex = Arc::new(ring[0], ring[1], 0).normal;
        let left = arcs_of(0, ring).map(|arc| excess(apex, arc.from, arc.to)).sum::<f64>();
        let left = left.rem_euclid(2.0 * TAU);
        // The area, and whether it lies to the left.
        if left > TAU { (2.0 * TAU - left, false) } else { (left, true) }
    };
    let (of_outer, is_left) = area(&rings[0]);
    let mut first = rings[0].len();
    rings[1..].iter().all(|hole| {
        let (of_hole, hole_is_left) = area(hole);
        // The inside of the outer ring, and the outside of the hole.
        let same = !changes(arcs, tree, &|_| true, first, 0);
        first += hole.len();
        of_hole <= of_outer && same == (hole_is_left != is_left)
    })
}

/// Whether an odd number of some arcs lies between the left side of one arc and that of another.
fn changes(
    arcs: &[Arc],
    tree: &Boxes,
    counts: &dyn Fn(usize) -> bool,
    one: usize,
    other: usize,
) -> bool {
    let ends = [one, other].map(|i| (i, arcs[i].middle()));
    let over = third(ends.map(|(i, middle)| (middle, arcs[i].normal)));
    let mut changes = false;
    for (own, middle) in ends {
        let normal = cross(middle, over);
        let extent = Arc { from: middle, to: over, normal, ring: 0 }.extent();
        let is_near = |of: &Extent| of.meets(&extent) && of.is_cut_by(normal);
        tree.visit(&is_near, &mut |i| {
            let is_crossed = i != own && arcs[i].is_crossed(middle, over, normal);
            changes ^= is_crossed && counts(i);
        });
        // The way leaves to the right.
        changes ^= dot(arcs[own].normal, over) < 0.0 && counts(own);
    }
    changes
}

/// A place from which ways to two others do not run along the arcs there, nor half around the globe.
fn third(ends: [(Vector, Vector); 2]) -> Vector {
    let towards = add(ends[0].0, ends[1].0);
    let mut best = (f64::NEG_INFINITY, [0.0, 0.0, 1.0]);
    for step in 0..12 {
        // Directions without any pattern.
        let t = 1.0 + f64::from(step);
        let aside: Vector = [(2.399_963 * t).sin(), (1.136_77 * t).cos(), (0.718_281 * t).sin()];
        let place = unit(scaled(add(towards, aside.map(|x| 0.6 * x))));
        let clear =
            |(at, normal): (Vector, Vector)| dot(normal, place).abs().min(dot(at, place) + 0.9);
        let clear = clear(ends[0]).min(clear(ends[1]));
        if clear > best.0 {
            best = (clear, place);
        }
    }
    best.1
}

/// Arcs that meet at their ends alone.
struct Pieces {
    arcs: Vec<Arc>,
    /// For each arc, the rings that it belongs to an odd number of times.
    rings: Vec<Vec<usize>>,
    tree: Boxes,
}

impl Pieces {
    fn new(arcs: &[Arc], meetings: &Meetings) -> Self {
        let mut places: Vec<Vector> = Vec::new();
        let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
        for (arc, on) in arcs.iter().zip(&meetings.on) {
            let mut on = on.clone();
            on.sort_by(|&a, &b| angle(arc.from, a).total_cmp(&angle(arc.from, b)));
            let first = places.len();
            places.push(arc.from);
            places.extend(on);
            places.push(arc.to);
            pairs.extend((first + 1..places.len()).map(|to| (to - 1, to, arc.ring)));
        }
        let same = merged(&places);
        let mut pieces: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (from, to, ring) in pairs {
            let (from, to) = (same[from], same[to]);
            if from == to {
                continue;
            }
            let rings = pieces.entry((from.min(to), from.max(to))).or_default();
            match rings.iter().position(|&of| of == ring) {
                Some(twice) => drop(rings.swap_remove(twice)),
                None => rings.push(ring),
            }
        }
        pieces.retain(|_, rings| !rings.is_empty());
        let arc = |&(from, to): &(usize, usize)| Arc::new(places[from], places[to], 0);
        let arcs: Vec<Arc> = pieces.keys().map(arc).collect();
        let tree = Boxes::new(&arcs.iter().map(Arc::extent).collect::<Vec<_>>());
        Self { arcs, rings: pieces.into_values().collect(), tree }
    }

    /// Those with the polygon on one side alone, turned so that it lies to the left.
    fn edges(&self, rings: usize) -> Vec<Arc> {
        let mut own = vec![Vec::new(); rings];
        for (i, rings) in self.rings.iter().enumerate() {
            rings.iter().for_each(|&ring| own[ring].push(i));
        }
        let side = |(ring, own): (usize, &Vec<usize>)| self.side(ring, own);
        let rings: Vec<Option<Side>> = own.iter().enumerate().map(side).collect();
        let Some(outer) = &rings[0] else { return Vec::new() };
        let in_outer: Vec<[bool; 2]> =
            (0..self.arcs.len()).map(|i| self.held(0, outer, i)).collect();
        let meets = self.meeting(&rings, &in_outer);
        let others: Vec<(usize, &Side)> = rings
            .iter()
            .enumerate()
            .skip(1)
            .filter_map(|(ring, side)| Some((ring, side.as_ref()?)))
            .collect();
        let mut edges = Vec::new();
        for (i, arc) in self.arcs.iter().enumerate() {
            let (mut inside, mut beside) = (in_outer[i], [false; 2]);
            for &(ring, side) in &others {
                let held = self.held(ring, side, i);
                let (takes, adds) = (meets[ring], !meets[ring]);
                inside = [inside[0] && !(takes && held[0]), inside[1] && !(takes && held[1])];
                beside = [beside[0] || adds && held[0], beside[1] || adds && held[1]];
            }
            match [inside[0] || beside[0], inside[1] || beside[1]] {
                [true, false] => edges.push(*arc),
                [false, true] => edges.push(Arc::new(arc.to, arc.from, 0)),
                _ => {}
            }
        }
        edges
    }

    /// Whether a ring holds the left and the right of a piece.
    fn held(&self, ring: usize, side: &Side, piece: usize) -> [bool; 2] {
        let may = side.may_hold(self.arcs[piece].middle());
        let left = may && self.is_left_held(ring, side, piece);
        [left, left ^ self.rings[piece].contains(&ring)]
    }

    /// Which rings have a place in common with the first: inside of it, around it, or at a vertex.
    fn meeting(&self, rings: &[Option<Side>], in_outer: &[[bool; 2]]) -> Vec<bool> {
        let key = |place: Vector| place.map(f64::to_bits);
        let mut meets = vec![false; rings.len()];
        let mut vertices = BTreeSet::new();
        for (i, arc) in self.arcs.iter().enumerate().filter(|(i, _)| self.rings[*i].contains(&0)) {
            vertices.extend([key(arc.from), key(arc.to)]);
            for (ring, side) in rings.iter().enumerate().skip(1) {
                let held = |side: &Side| self.held(ring, side, i).contains(&true);
                meets[ring] = meets[ring] || side.as_ref().is_some_and(held);
            }
        }
        for (i, arc) in self.arcs.iter().enumerate() {
            let touches = vertices.contains(&key(arc.from)) || vertices.contains(&key(arc.to));
            if touches || in_outer[i].contains(&true) {
                self.rings[i].iter().for_each(|&ring| meets[ring] = true);
            }
        }
        meets
    }

    /// Which side of its first piece a ring of these pieces holds; `None` for a ring that holds nothing, all of it lying on
    /// itself.
    fn side(&self, ring: usize, own: &[usize]) -> Option<Side> {
        let first = *own.first()?;
        let apex = self.arcs[first].normal;
        let mut area = 0.0;
        for &i in own {
            let Arc { from, to, .. } = self.arcs[i];
            let is_left = i == first || !self.changes(ring, i, first);
            area += if is_left { excess(apex, from, to) } else { excess(apex, to, from) };
        }
        let holds_left = area.rem_euclid(2.0 * TAU) <= TAU;
        let ends = || own.iter().flat_map(|&i| [self.arcs[i].from, self.arcs[i].to]);
        let centre = ends().fold([0.0; 3], add);
        let is_some = dot(centre, centre) > NEAR;
        let centre = if is_some { unit(scaled(centre)) } else { [0.0, 0.0, 1.0] };
        let least = ends().map(|end| dot(centre, end)).fold(1.0, f64::min);
        // Arcs between places in a circle of less than a quarter turn stay in it, and the smaller side with them. Beyond, it
        // may lie anywhere.
        let least = if least > 0.01 { least - NEAR } else { -2.0 };
        Some(Side { first, holds_left, centre, least })
    }

    fn changes(&self, ring: usize, one: usize, other: usize) -> bool {
        changes(&self.arcs, &self.tree, &|i| self.rings[i].contains(&ring), one, other)
    }

    fn is_left_held(&self, ring: usize, side: &Side, piece: usize) -> bool {
        let same = piece == side.first || !self.changes(ring, piece, side.first);
        same == side.holds_left
    }
}

/// The side that a ring holds.
struct Side {
    /// Its first piece.
    first: usize,
    /// Whether it holds the left of that.
    holds_left: bool,
    /// It holds nothing whose product with the centre is less.
    centre: Vector,
    least: f64,
}

impl Side {
    fn may_hold(&self, place: Vector) -> bool {
        dot(self.centre, place) >= self.least
    }
}

/// For each place the first one that is the same.
fn merged(places: &[Vector]) -> Vec<usize> {
    // In a direction in which places on meridians and parallels do not lie side by side.
    let along = |i: usize| dot(places[i], [0.314_159, 0.592_653, 0.741_593]);
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| along(a).total_cmp(&along(b)).then(a.cmp(&b)));
    let mut same: Vec<usize> = (0..places.len()).collect();
    for (at, &i) in order.iter().enumerate() {
        for &j in order[at + 1..].iter().take_while(|&&j| along(j) - along(i) <= NEAR) {
            let gap = minus(places[i], places[j]);
            if dot(gap, gap) <= NEAR * NEAR {
                let (a, b) = (same[i], same[j]);
                for of in [a, b, i, j] {
                    same[of] = a.min(b);
                }
            }
        }
    }
    (0..places.len()).for_each(|i| same[i] = same[same[i]]);
    same
}

/// The edges, with what decides at their ends.
fn at_vertices(edges: &[Arc]) -> Vec<Edge> {
    let key = |place: Vector| place.map(f64::to_bits);
    let mut around: BTreeMap<[u64; 3], Vec<Spoke>> = BTreeMap::new();
    for (i, edge) in edges.iter().enumerate() {
        for (place, leaves) in [(edge.from, true), (edge.to, false)] {
            around.entry(key(place)).or_default().push(Spoke { edge: i, leaves, turn: 0.0 });
        }
    }
    let mut all: Vec<Edge> = edges
        .iter()
        .map(|&Arc { from, to, .. }| Edge { from, to, at_from: [0.0; 3], at_to: [0.0; 3] })
        .collect();
    for spokes in around.values_mut() {
        for (i, leaves, at) in deciding(edges, spokes) {
            let end = if leaves { &mut all[i].at_from } else { &mut all[i].at_to };
            *end = at;
        }
    }
    all
}

/// An edge at one of its ends.
#[derive(Clone, Copy)]
struct Spoke {
    edge: usize,
    /// Whether it begins there.
    leaves: bool,
    /// Its direction, as an angle.
    turn: f64,
}

/// For each spoke of a vertex, which lie around it, the vector that places nearest to the vertex are inside along.
fn deciding(edges: &[Arc], spokes: &mut [Spoke]) -> Vec<(usize, bool, Vector)> {
    let of = |spoke: &Spoke| &edges[spoke.edge];
    if let [a, b] = *spokes {
        let sum = add(of(&a).normal, of(&b).normal);
        return vec![(a.edge, a.leaves, sum), (b.edge, b.leaves, sum)];
    }
    let first = of(&spokes[0]);
    let vertex = if spokes[0].leaves { first.from } else { first.to };
    // Away from the vertex.
    let tangent = |spoke: &Spoke| {
        let along = cross(of(spoke).normal, vertex);
        if spoke.leaves { along } else { along.map(|x| -x) }
    };
    let east = unit(scaled(tangent(&spokes[0])));
    let north = cross(vertex, east);
    for spoke in spokes.iter_mut() {
        let t = tangent(spoke);
        spoke.turn = dot(t, north).atan2(dot(t, east));
    }
    spokes.sort_by(|a, b| a.turn.total_cmp(&b.turn));
    let count = spokes.len();
    let gap = |i: usize| (spokes[(i + 1) % count].turn - spokes[i].turn).rem_euclid(TAU);
    let widest = (0..count).max_by(|&a, &b| gap(a).total_cmp(&gap(b))).unwrap_or(0);
    if gap(widest) > PI {
        let middle = spokes[widest].turn + 0.5 * gap(widest);
        let sign = if spokes[widest].leaves { 1.0 } else { -1.0 };
        let (sine, cosine) = middle.sin_cos();
        let at = std::array::from_fn(|k| sign * (cosine * east[k] + sine * north[k]));
        return spokes.iter().map(|spoke| (spoke.edge, spoke.leaves, at)).collect();
    }
    // Each with the one on the other side of what it bounds: after one that leaves, before one that comes.
    let pair = |i: usize| {
        let other = if spokes[i].leaves { (i + 1) % count } else { (i + count - 1) % count };
        let sum = add(of(&spokes[i]).normal, of(&spokes[other]).normal);
        (spokes[i].edge, spokes[i].leaves, sum)
    };
    (0..count).map(pair).collect()
}
