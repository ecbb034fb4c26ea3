//! Lines that triangles do not cross: breaklines.
//!
//! The *diametral circle* of a piece of a line has the piece as its diameter. If no other site lies inside the circle or on it, the
//! piece is an edge of the Delaunay triangulation (Gabriel and Sokal 1969, doi:10.2307/2412323). So each piece is divided until
//! its circle is empty (Edelsbrunner and Tan 1993, "An upper bound for conforming Delaunay triangulations",
//! doi:10.1007/BF02573974).
//!
//! Plan:
//!
//! 1. Divide each segment evenly into pieces of at most `longest`.
//! 2. Divide pieces whose circle holds a point, until none does or a piece is shorter than `least`.
//! 3. Triangulate what lies on lines, and divide pieces whose circle holds a site of a line. Again, until nothing changes.
//!
//! Where to divide:
//!
//! ```text
//! if the site lies within least / 2 of the segment: at the site, which the line then goes through
//! else if one end is a vertex of the line: at a power of two from the vertex, near the middle
//! else: in the middle
//! ```
//!
//! Without the first rule, a point that nearly touches a line, or another line that crosses it, would divide the line
//! for ever. Without the second, lines that meet at a sharp angle would divide each other for ever. With the second
//! rule, pieces at a common vertex have equal lengths. They lie outside of each other's circles (Ruppert 1995, "A
//! Delaunay refinement algorithm for quality 2-dimensional mesh generation", doi:10.1006/jagm.1995.1021).

use gpu_core::{Points, Progress, parallel};
use kernels_rs::stars::locate::Query;
use kernels_rs::stars::predicates::{is_before, sure};

use crate::{Error, MAX_POINTS, Result, Triangulation, triangulate};

type P = [f64; 2];

/// How finely lines are divided.
///
/// Example: see [`split_lines`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Splitting {
    /// The length of the longest pieces, in units of the coordinates. A place farther than half this length from all
    /// lines has no natural neighbour across a line.
    pub longest: f64,
    /// Shorter pieces are not divided. A line may move by half this length, to go through a site that it nearly
    /// touches.
    pub least: f64,
}

impl Splitting {
    /// Divides lines into pieces of at most a length. It does not divide pieces shorter than a sixty-fourth of that
    /// length.
    pub fn new(longest: f64) -> Self {
        Self { longest, least: longest / 64.0 }
    }

    gpu_core::builders! {
        least: f64;
    }

    fn check(&self) -> Result<()> {
        let is_length = |length: f64| length > 0.0 && length.is_finite();
        match is_length(self.longest) && is_length(self.least) && self.least <= self.longest {
            true => Ok(()),
            false => Err(Error::Splitting { longest: self.longest, least: self.least }),
        }
    }
}

/// The position of a place on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OnLine {
    /// The number of the line.
    pub line: u32,
    /// The number of its segment, which is the number of the segment's first vertex.
    pub segment: u32,
    /// The part of the segment before the place, from 0 to 1.
    pub part: f64,
}

/// The sites that keep triangles from crossing lines.
///
/// Example: see [`split_lines`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LineSites {
    /// x of each site: the vertices of all lines, and the sites between them. Sites may share their places.
    pub x: Vec<f64>,
    /// y of each site.
    pub y: Vec<f64>,
    /// The position of each site on its line.
    pub of: Vec<OnLine>,
    /// The pieces of all lines, in no order: their ends, of which the first comes first by x, then by y. An end is a
    /// site of a line, or a given point that lies on the line.
    pub pieces: Vec<[P; 2]>,
    /// The positions of both ends of each piece on its line. Both have the number of the line and the segment, so that
    /// a piece can take the attributes of its line.
    pub of_pieces: Vec<[OnLine; 2]>,
    /// How many pieces triangles may cross: pieces shorter than [`Splitting::least`] with a site in their circles.
    pub open: usize,
}

/// Finds the sites to be added to points, so that no triangle of the Delaunay triangulation of both crosses a line. A
/// line is given by its vertices, (x, y) each.
///
/// Each piece of a line is then an edge of the triangulation, except the pieces that [`LineSites::open`] counts. A
/// place that is farther than half of [`Splitting::longest`] from all lines has no natural neighbour across a line. The
/// reason: an empty circle through the place and its neighbour cuts the line within one piece. Then the place or the
/// neighbour lies within the piece's circle.
///
/// Lines that cross each other get a common site, within half of [`Splitting::least`]. A line with a single place
/// becomes a site.
///
/// Cost: the triangulation of the points, a walk for each piece, and a few triangulations of the sites on lines.
///
/// ```
/// # fn main() -> delaunay_stars::Result<()> {
/// use delaunay_stars::{Splitting, split_lines, triangulate};
/// use gpu_core::Points;
///
/// // The edge between these points would cross the line between the others.
/// let (mut x, mut y) = (vec![0.0, 0.0], vec![-1.0, 1.0]);
/// let line = vec![[-6.0, 0.0], [6.0, 0.0]];
/// let found = split_lines(Points::new(&x, &y), &[line], Splitting::new(20.0), &gpu_core::Silent)?;
/// assert_eq!(found.open, 0);
/// x.extend(&found.x);
/// y.extend(&found.y);
/// let all = triangulate(&gpu_core::Device::Cpu, Points::new(&x, &y))?;
/// assert!(!all.star(0).contains(&1));
/// // Each piece knows its line, whose attributes it may take.
/// assert!(found.of_pieces.iter().all(|[from, to]| (from.line, to.line) == (0, 0)));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - The errors of [`triangulate`], for the points.
/// - [`gpu_core::Error::NotFinite`]: a vertex is not finite. The error has the vertex's number among the vertices of
///   all lines.
/// - [`Error::Splitting`]: a length is not above 0, or `least` is above `longest`.
/// - [`gpu_core::Error::TooMany`]: there are more pieces than [`MAX_POINTS`].
pub fn split_lines(
    points: Points<'_>,
    lines: &[Vec<P>],
    how: Splitting,
    progress: &dyn Progress,
) -> Result<LineSites> {
    how.check()?;
    check(lines)?;
    let points = Obstacles::of(points.x.to_vec(), points.y.to_vec(), progress)?;
    progress.at("lines", 0.0)?;
    let mut found = LineSites::default();
    let mut pieces = even_pieces(lines, &how, &mut found)?;
    let mut on_lines = Obstacles::none()?;
    // Lines of one place have no pieces, but are sites.
    let is_lone = |line: &&Vec<P>| line.iter().all(|place| *place == line[0]);
    let lone: Vec<P> =
        lines.iter().filter(is_lone).filter_map(|line| line.first().copied()).collect();
    // Each round divides, and pieces shorter than the least stay as they are: this ends long before.
    for _ in 0..64 {
        let all = [&points, &on_lines];
        let (divided, added) = divide_all(pieces, all, &how)?;
        pieces = divided;
        found.extend(added);
        require(found.x.len() + points.x.len())?;
        let ends = |axis: usize| {
            let of_pieces = pieces.iter().flat_map(|p| [p.a[axis], p.b[axis]]);
            of_pieces.chain(lone.iter().map(|place| place[axis])).collect()
        };
        on_lines = Obstacles::of(ends(0), ends(1), progress)?;
        pieces = looked_at(pieces, &on_lines)?;
        if !pieces.iter().any(|piece| piece.is_held && piece.length() > how.least) {
            break;
        }
    }
    found.open = pieces.iter().filter(|piece| piece.is_held).count();
    found.pieces = pieces.iter().map(|piece| [piece.a, piece.b]).collect();
    found.of_pieces = pieces.iter().map(Piece::of).collect();
    progress.at("lines", 1.0)?;
    Ok(found)
}

impl LineSites {
    fn push(&mut self, [x, y]: P, of: OnLine) {
        self.x.push(x);
        self.y.push(y);
        self.of.push(of);
    }

    fn extend(&mut self, others: Vec<(P, OnLine)>) {
        others.into_iter().for_each(|(place, of)| self.push(place, of));
    }
}

/// A piece of a segment, whose first end comes first by x, then by y.
#[derive(Clone, Copy, Debug)]
struct Piece {
    a: P,
    b: P,
    /// The ends of the segment. Pieces may move from it, and their shifts must not add up.
    whole: [P; 2],
    line: u32,
    segment: u32,
    /// The parts of the segment before its ends.
    parts: [f64; 2],
    /// Whether its ends are vertices of the line.
    are_vertices: [bool; 2],
    /// Whether its circle holds a site.
    is_held: bool,
    /// Whether it has not been looked at.
    is_new: bool,
}

impl Piece {
    /// The positions of its ends.
    fn of(&self) -> [OnLine; 2] {
        let Self { line, segment, parts, .. } = *self;
        parts.map(|part| OnLine { line, segment, part })
    }

    fn length(&self) -> f64 {
        (self.b[0] - self.a[0]).hypot(self.b[1] - self.a[1])
    }

    fn place(&self, share: f64) -> P {
        [0, 1].map(|axis| self.a[axis] + (self.b[axis] - self.a[axis]) * share)
    }

    /// Both parts of the piece, at a place and the share of the piece before it.
    fn cut(&self, place: P, share: f64) -> [Self; 2] {
        let part = self.parts[0] + (self.parts[1] - self.parts[0]) * share;
        let [from, to] = self.parts;
        let [a, b] = self.are_vertices;
        let new = Self { is_new: true, is_held: false, ..*self };
        [
            Self { b: place, parts: [from, part], are_vertices: [a, false], ..new },
            Self { a: place, parts: [part, to], are_vertices: [false, b], ..new },
        ]
    }

    /// The share of the piece before the place where it is divided.
    fn middle(&self) -> f64 {
        let length = self.length();
        // From 0.35 to 0.71.
        let shell = (length / 2.0).log2().round().exp2() / length;
        match self.are_vertices {
            _ if !(0.3..0.8).contains(&shell) => 0.5,
            [false, false] => 0.5,
            [true, _] => shell,
            [false, true] => 1.0 - shell,
        }
    }

    /// The share of the piece before a site, if the site is so near to the segment that it is taken for an end.
    fn near(&self, site: P, least: f64) -> Option<f64> {
        let [a, b] = self.whole;
        let foot = share([a, b], site);
        let [dx, dy] = [0, 1].map(|axis| site[axis] - (a[axis] + (b[axis] - a[axis]) * foot));
        (dx.hypot(dy) <= least / 2.0).then(|| share([self.a, self.b], site))
    }
}

/// The share of a segment before its nearest place to another one.
fn share([a, b]: [P; 2], [x, y]: P) -> f64 {
    let ([dx, dy], length) = ([b[0] - a[0], b[1] - a[1]], (b[0] - a[0]).hypot(b[1] - a[1]));
    let along = dx / length * (x - a[0]) + dy / length * (y - a[1]);
    (along / length).clamp(0.0, 1.0)
}

/// Sites that are to be in no circle.
struct Obstacles {
    x: Vec<f64>,
    y: Vec<f64>,
    all: Triangulation,
}

impl Obstacles {
    fn of(x: Vec<f64>, y: Vec<f64>, progress: &dyn Progress) -> Result<Self> {
        let all = triangulate(gpu_core::Device::Cpu.with_progress(progress), Points::new(&x, &y))?;
        Ok(Self { x, y, all })
    }

    fn none() -> Result<Self> {
        Self::of(Vec::new(), Vec::new(), &gpu_core::Silent)
    }

    fn place(&self, i: u32) -> P {
        [self.x[i as usize], self.y[i as usize]]
    }

    /// The site nearest to the middle of a piece of those in its circle, but for its ends. `near` is a site, and becomes the one
    /// nearest to the middle.
    ///
    /// If the circle holds a site inside, the nearest to the middle is one. If it holds some on it alone, and an end is the
    /// nearest, one of these is a neighbour of the end.
    fn within(&self, piece: &Piece, near: &mut Option<u32>) -> Result<Option<P>> {
        let middle = piece.place(0.5);
        let target = self.all.target(middle[0], middle[1])?;
        let Some(start) = near.or_else(|| self.all.walk().nearest_sample(target.place)) else {
            return Ok(None);
        };
        let query = Query { stars: &self.all, predicates: &target.predicates, at: target.place };
        let nearest = sure(query.nearest(start));
        *near = Some(nearest);
        let star = self.all.star(nearest).iter().copied();
        let places = std::iter::once(nearest).chain(star).map(|site| self.place(site));
        let away = |p: &P| (p[0] - middle[0]).hypot(p[1] - middle[1]);
        let held = places.filter(|&p| is_held(piece, p));
        let order = |p: &P, q: &P| away(p).total_cmp(&away(q)).then(p[0].total_cmp(&q[0]));
        Ok(held.min_by(|p, q| order(p, q).then(p[1].total_cmp(&q[1]))))
    }
}

/// Whether a place is in the circle of a piece or on it, or may be for rounding, and is no end of the piece.
fn is_held(piece: &Piece, p: P) -> bool {
    let way = |end: P| [end[0] - p[0], end[1] - p[1]];
    let (a, b) = (way(piece.a), way(piece.b));
    let [across, along] = [a[0] * b[0], a[1] * b[1]];
    // Four differences and two products, and the sum.
    let slack = 4.0 * f64::EPSILON * (across.abs() + along.abs());
    p != piece.a && p != piece.b && across + along <= slack
}

/// Segments, evenly divided. What lies on them goes into `found`.
fn even_pieces(lines: &[Vec<P>], how: &Splitting, found: &mut LineSites) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for (line, vertices) in (0..).zip(lines) {
        for (segment, &place) in (0..).zip(vertices) {
            found.push(place, OnLine { line, segment, part: 0.0 });
        }
        for (segment, ends) in (0..).zip(vertices.windows(2)) {
            let is_forward = is_before(ends[0], ends[1]);
            let (a, b) = if is_forward { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
            if a == b {
                continue;
            }
            let parts = if is_forward { [0.0, 1.0] } else { [1.0, 0.0] };
            let (are_vertices, is_held, is_new) = ([true; 2], false, true);
            let mut rest =
                Piece { a, b, whole: [a, b], line, segment, parts, are_vertices, is_held, is_new };
            let whole = rest;
            let count = (whole.length() / how.longest).ceil().max(1.0);
            gpu_core::require_at_most("pieces of a line", count as u64, MAX_POINTS - 1)?;
            for i in 1..count as u64 {
                let place = whole.place(i as f64 / count);
                let [first, second] = rest.cut(place, 1.0 / (count - (i - 1) as f64));
                found.push(place, OnLine { line, segment, part: first.parts[1] });
                pieces.push(first);
                rest = second;
            }
            pieces.push(rest);
            require(found.x.len())?;
        }
    }
    Ok(pieces)
}

/// Pieces, and the places between.
type Divided = (Vec<Piece>, Vec<(P, OnLine)>);

/// Divides pieces until no piece's circle holds an obstacle; returns the pieces, and the places between.
fn divide_all(pieces: Vec<Piece>, all: [&Obstacles; 2], how: &Splitting) -> Result<Divided> {
    const TOGETHER: usize = 64;
    let of_some = |i: usize| -> Result<Divided> {
        let (mut done, mut added) = (Vec::new(), Vec::new());
        let mut near = [None; 2];
        for &piece in &pieces[i * TOGETHER..pieces.len().min((i + 1) * TOGETHER)] {
            divide(piece, all, &mut near, how, &mut done, &mut added)?;
        }
        Ok((done, added))
    };
    let (mut done, mut added) = (Vec::new(), Vec::new());
    for part in parallel::map(pieces.len().div_ceil(TOGETHER), 1, of_some) {
        let (more, between) = part?;
        done.extend(more);
        added.extend(between);
    }
    Ok((done, added))
}

/// Divides a piece.
fn divide(
    piece: Piece,
    all: [&Obstacles; 2],
    near: &mut [Option<u32>; 2],
    how: &Splitting,
    done: &mut Vec<Piece>,
    added: &mut Vec<(P, OnLine)>,
) -> Result<()> {
    let mut left = vec![piece];
    while let Some(mut piece) = left.pop() {
        let mut held = None;
        for (obstacles, near) in all.into_iter().zip(&mut *near) {
            if held.is_none() && (piece.is_new || piece.is_held) {
                held = obstacles.within(&piece, near)?;
            }
        }
        piece.is_held = held.is_some();
        piece.is_new = false;
        let Some(site) = held.filter(|_| piece.length() > how.least) else {
            done.push(piece);
            continue;
        };
        let halves = match piece.near(site, how.least) {
            Some(share) => piece.cut(site, share),
            None => {
                let share = piece.middle();
                let place = piece.place(share);
                let halves = piece.cut(place, share);
                let (line, segment, part) = (piece.line, piece.segment, halves[0].parts[1]);
                added.push((place, OnLine { line, segment, part }));
                halves
            }
        };
        left.extend(halves);
    }
    Ok(())
}

/// Pieces, with whether their circles hold an obstacle, or held one before that is none of these.
fn looked_at(pieces: Vec<Piece>, obstacles: &Obstacles) -> Result<Vec<Piece>> {
    let look = |near: &mut Option<u32>, i: usize| -> Result<Piece> {
        let piece = pieces[i];
        let is_held = piece.is_held || obstacles.within(&piece, near)?.is_some();
        Ok(Piece { is_held, ..piece })
    };
    parallel::map_init(pieces.len(), 64, || None, look).into_iter().collect()
}

fn check(lines: &[Vec<P>]) -> Result<()> {
    for (index, place) in (0..).zip(lines.iter().flatten()) {
        for (what, value) in [("x", place[0]), ("y", place[1])] {
            if !value.is_finite() {
                return Err(gpu_core::Error::NotFinite { what, index, value }.into());
            }
        }
    }
    Ok(())
}

fn require(points: usize) -> Result<()> {
    Ok(gpu_core::require_at_most("points", points as u64, MAX_POINTS)?)
}
