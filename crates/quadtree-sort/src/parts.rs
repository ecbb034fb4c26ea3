//! Joins the trees of some cells into one tree.
//!
//! If memory holds neither all points nor the tree, the caller takes the points of one cell at a time. The caller gives
//! each cell's tree the indices that its points have among all. The tree of all points follows from these trees, which
//! lie in files:
//!
//! 1. Above the cells of the parts, a node has the points of the parts below it. If these are at most the threshold,
//!    the node is a leaf, and its points are sorted into the order as given. Otherwise it is divided.
//! 2. From a part's cell down, the part's nodes are nodes of the tree. Their points come after the points of earlier
//!    parts.
//! 3. A level of the tree consists of its nodes above the cells, and of the same level of the parts, in the order of
//!    codes. The points are the parts' points in that order. So the file is written front to back, and only the nodes
//!    above the cells are in memory.

use std::io::{self, Seek, Write};
use std::ops::Range;

use bytemuck::NoUninit;
use kernels_rs::spatial::morton::MAX_LEVEL;

use crate::file::Streamed;
use crate::values::Values;
use crate::{Error, MAX_POINTS, Node, Quadtree, Result, Summary};

/// Nodes that are written at once.
const AT_ONCE: usize = 4096;

/// The tree of all points of one cell. The points have their numbers among the points of all parts
/// ([`Quadtree::renumbered`]). Needs the feature `files`.
///
/// Example: see [`join`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Part<'a> {
    /// The tree, with the bounds and the parameters of the whole.
    pub tree: &'a Quadtree,
    /// The level of the cell.
    pub level: u32,
    /// The cell's code in its level ([`Cells::code`](crate::Cells::code)).
    pub code: u64,
}

impl<'a> Part<'a> {
    /// The points of a cell.
    pub fn new(tree: &'a Quadtree, level: u32, code: u64) -> Self {
        Self { tree, level, code }
    }

    fn points(&self) -> u64 {
        self.tree.order.len() as u64
    }

    /// The codes of the deepest level that it covers.
    fn covers(&self) -> Range<u64> {
        let deeper = 2 * (self.tree.frame.level - self.level);
        self.code << deeper..(self.code + 1) << deeper
    }

    /// Returns how it conflicts with another part of the same tree, if it does.
    fn fault(&self, other: &Quadtree) -> Option<&'static str> {
        let tree = self.tree;
        let is_beside = (tree.frame, tree.bounds) == (other.frame, other.bounds)
            && (tree.threshold, tree.given) == (other.threshold, other.given);
        if !is_beside {
            return Some("its bounds, parameters or number of all points are not those of part 0");
        }
        if !tree.values.iter().map(Values::kind).eq(other.values.iter().map(Values::kind)) {
            return Some("the names or types of its values are not those of part 0");
        }
        if self.level > tree.frame.level || self.code >> (2 * self.level) != 0 {
            return Some("there is no such cell");
        }
        (!self.holds_all()).then_some("points of it lie outside of its cell")
    }

    /// Whether all points lie in the cell: the nodes above it, one a level, and where it is in a leaf the leaf's points.
    fn holds_all(&self) -> bool {
        let Quadtree { nodes, frame, x, y, .. } = self.tree;
        let above = nodes.iter().take_while(|node| u32::from(node.level) <= self.level);
        let is_around =
            |node: &Node| node.code == self.code >> (2 * (self.level - u32::from(node.level)));
        let mut last = None;
        for node in above {
            if !is_around(node) {
                return false;
            }
            last = Some(node);
        }
        match last {
            Some(leaf) if leaf.is_leaf() => {
                let covers = self.covers();
                x.iter().zip(y.iter()).all(|(&x, &y)| covers.contains(&frame.code(x, y)))
            }
            _ => true,
        }
    }
}

/// The tree of all points of some parts. Needs the feature `files`.
///
/// Example: see [`join`].
#[derive(Clone, Debug)]
pub struct Joined<'a> {
    /// The parts that have points, in the order of codes.
    parts: Vec<Part<'a>>,
    /// All else of the tree.
    like: &'a Quadtree,
    levels: Vec<Vec<Piece>>,
    runs: Vec<Run>,
    nodes: u64,
    points: u64,
}

/// A run of a level's nodes, in the order of codes.
#[derive(Clone, Debug)]
enum Piece {
    /// A node above the cells of the parts, or a cell that its part did not divide down to.
    Node(Node),
    /// Nodes of a part, which is the tree's from `start` on.
    OfPart { part: usize, nodes: Range<usize>, start: u64 },
}

/// A run of the order of the points.
#[derive(Clone, Debug)]
enum Run {
    /// All points of a part.
    Part(usize),
    /// A leaf over several.
    Leaf(Range<usize>),
}

/// Joins the trees of some cells, in any order, into the tree of all their points. The bytes are the same as from one
/// build. A cell without a part has no points. Needs the feature `files`.
///
/// Memory: a few dozen bytes for each part and level; parts may be mapped ([`Quadtree::map`]). This function does
/// not check whether an index stands in two parts.
///
/// ```
/// use gpu_core::{Bounds, Device, Points};
/// use quadtree_sort::{Params, Part, build, join};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let params = Params::new().bounds(Bounds { min_x: 0.0, min_y: 0.0, max_x: 8.0, max_y: 8.0 });
/// let (x, y) = ([1.0, 7.0, 2.0], [1.0, 1.0, 2.0]);
/// let west = build(&Device::Cpu, Points::new(&[1.0, 2.0], &[1.0, 2.0]), &params)?;
/// let west = west.renumbered(&[0, 2], 3)?; // points 0 and 2 of three
/// let east = build(&Device::Cpu, Points::new(&[7.0], &[1.0]), &params)?.renumbered(&[1], 3)?;
///
/// let joined = join(&[Part::new(&west, 1, 0), Part::new(&east, 1, 1)])?; // two cells of level 1
/// let (mut file, mut whole) = (std::io::Cursor::new(Vec::new()), Vec::new());
/// joined.write_to(&mut file)?;
/// build(&Device::Cpu, Points::new(&x, &y), &params)?.write_to(&mut whole)?;
/// assert!(file.into_inner() == whole);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// - [`Error::Part`] if there is no part.
/// - [`Error::Part`] for a part whose parameters differ from the first's, or whose points lie outside its cell.
/// - [`Error::Part`] for a part whose cell overlaps another part's cell.
/// - [`gpu_core::Error::TooMany`] and [`Error::TooManyNodes`] for the tree of all points.
pub fn join<'a>(parts: &[Part<'a>]) -> Result<Joined<'a>> {
    let Some(first) = parts.first() else {
        return Err(Error::Part { part: 0, what: "a tree needs at least one part" });
    };
    let fault = |(part, of): (u64, &Part<'_>)| of.fault(first.tree).map(|what| (part, what));
    if let Some((part, what)) = (0..).zip(parts).find_map(fault) {
        return Err(Error::Part { part, what });
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| parts[i].covers().start);
    let overlap =
        order.windows(2).find(|two| parts[two[0]].covers().end > parts[two[1]].covers().start);
    if let Some(two) = overlap {
        let part = two[1] as u64;
        return Err(Error::Part { part, what: "its cell overlaps the cell of another part" });
    }
    let parts = order.into_iter().map(|i| parts[i]).filter(|part| part.points() > 0).collect();
    let levels = vec![Vec::new(); MAX_LEVEL as usize + 1];
    let mut joined =
        Joined { parts, like: first.tree, levels, runs: Vec::new(), nodes: 0, points: 0 };
    joined.place((0, 0), 0..joined.parts.len());
    gpu_core::require_at_most("points", joined.points, MAX_POINTS)?;
    let most = u64::from(u32::MAX);
    if joined.nodes > most {
        return Err(Error::TooManyNodes { nodes: joined.nodes, most });
    }
    Ok(joined)
}

impl Joined<'_> {
    /// Places a cell, by level and code, and all below it; `parts` are its parts. Returns whether it has points.
    fn place(&mut self, (level, code): (u32, u64), parts: Range<usize>) -> bool {
        let (start, count) =
            (self.points, self.parts[parts.clone()].iter().map(Part::points).sum());
        if count == 0 {
            return false;
        }
        let first = &self.parts[parts.start];
        if (first.level, first.code) == (level, code) {
            self.place_part(parts.start);
            return true;
        }
        let mut node = Node {
            code,
            start,
            count,
            first_child: 0,
            level: level as u8,
            quadrants: 0,
            reserved: [0; 2],
        };
        self.nodes += 1;
        if count <= u64::from(self.like.threshold) {
            self.levels[level as usize].push(Piece::Node(node));
            self.runs.push(Run::Leaf(parts));
            self.points += count;
            return true;
        }
        let mut rest = parts;
        for quadrant in 0..4 {
            let child = (level + 1, code << 2 | quadrant);
            let end = (child.1 + 1) << (2 * (self.like.frame.level - child.0));
            let own = self.parts[rest.clone()].partition_point(|part| part.covers().start < end);
            let own = rest.start..rest.start + own;
            rest.start = own.end;
            node.quadrants |= u8::from(self.place(child, own)) << quadrant;
        }
        self.levels[level as usize].push(Piece::Node(node));
        true
    }

    /// Places the cell of a part: from there on its nodes are the tree's.
    fn place_part(&mut self, number: usize) {
        let (part, start) = (self.parts[number], self.points);
        let nodes = &part.tree.nodes;
        let end_of = |level: u32| nodes.partition_point(|node| u32::from(node.level) <= level);
        let mut from = part.level.checked_sub(1).map_or(0, end_of);
        if from == nodes.len() {
            // All of it is a leaf above the cell, which the tree divides.
            let (code, count, level) = (part.code, part.points(), part.level as u8);
            let (first_child, quadrants, reserved) = (0, 0, [0; 2]);
            let node = Node { code, start, count, first_child, level, quadrants, reserved };
            self.levels[part.level as usize].push(Piece::Node(node));
            self.nodes += 1;
        }
        self.nodes += (nodes.len() - from) as u64;
        for level in part.level..=MAX_LEVEL {
            let to = end_of(level);
            if from < to {
                let piece = Piece::OfPart { part: number, nodes: from..to, start };
                self.levels[level as usize].push(piece);
            }
            from = to;
        }
        self.runs.push(Run::Part(number));
        self.points += part.points();
    }

    /// The nodes of the tree in its order, some at a time, and where the points of these begin.
    fn pieces(&self) -> impl Iterator<Item = (&[Node], u64)> {
        self.levels.iter().flatten().map(|piece| match piece {
            Piece::Node(node) => (std::slice::from_ref(node), 0),
            Piece::OfPart { part, nodes, start } => {
                (&self.parts[*part].tree.nodes[nodes.clone()], *start)
            }
        })
    }

    /// Returns how many points were given, and how many are in the tree. Visits all nodes.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            points: self.like.given,
            skipped: self.like.given.saturating_sub(self.points),
            ..Summary::default()
        };
        for node in self.pieces().flat_map(|(nodes, _)| nodes) {
            summary.depth = summary.depth.max(node.level.into());
            summary.leaves += u64::from(node.is_leaf());
            let is_overfull = node.is_leaf() && node.count > u64::from(self.like.threshold);
            summary.overfull += u64::from(is_overfull);
        }
        summary
    }

    /// Nodes.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Points.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Writes the same bytes as [`Quadtree::save`] for the tree, and seeks back once, to the header.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_to(&self, writer: impl Write + Seek) -> io::Result<()> {
        let mut file = Streamed::begin(writer, self.like, [self.nodes, self.points])?;
        self.write_nodes(&mut file)?;
        self.write_column(&mut file, |tree, i| tree.order[i], |tree| &tree.order)?;
        self.write_column(&mut file, |tree, i| tree.x[i], |tree| &tree.x)?;
        self.write_column(&mut file, |tree, i| tree.y[i], |tree| &tree.y)?;
        for (column, values) in self.like.values.iter().enumerate() {
            match values.value_type().size() {
                1 => self.write_values::<u8>(&mut file, column)?,
                2 => self.write_values::<u16>(&mut file, column)?,
                4 => self.write_values::<u32>(&mut file, column)?,
                _ => self.write_values::<u64>(&mut file, column)?,
            }
        }
        file.finish()
    }

    fn write_nodes(&self, file: &mut Streamed<impl Write + Seek>) -> io::Result<()> {
        let mut some = Vec::with_capacity(AT_ONCE);
        // Each node's children follow those of the node before it, behind the root.
        let mut next = 1;
        for (nodes, start) in self.pieces() {
            for nodes in nodes.chunks(AT_ONCE) {
                some.clear();
                some.extend(nodes.iter().map(|node| {
                    let first_child = if node.is_leaf() { 0 } else { next };
                    next += node.quadrants.count_ones();
                    Node { start: node.start + start, first_child, ..*node }
                }));
                file.write(&some)?;
            }
        }
        file.end_array()
    }

    /// Writes a column of values, whose numbers have as many bytes as `B`.
    fn write_values<B: bytemuck::Pod>(
        &self,
        file: &mut Streamed<impl Write + Seek>,
        column: usize,
    ) -> io::Result<()> {
        self.write_column(
            file,
            |tree, i| tree.values[column].numbers::<B>()[i],
            |tree| tree.values[column].numbers::<B>(),
        )
    }

    /// Writes a column of the points in the tree's order, by its elements or as a whole.
    fn write_column<T: NoUninit>(
        &self,
        file: &mut Streamed<impl Write + Seek>,
        of: impl Fn(&Quadtree, usize) -> T,
        all: impl Fn(&Quadtree) -> &[T],
    ) -> io::Result<()> {
        for run in &self.runs {
            match run {
                Run::Part(part) => file.write(all(self.parts[*part].tree))?,
                Run::Leaf(parts) => {
                    let column: Vec<T> =
                        self.as_given(parts).iter().map(|&(_, tree, i)| of(tree, i)).collect();
                    file.write(&column)?;
                }
            }
        }
        file.end_array()
    }

    /// The points of some parts in the order as given: index, tree, and place in it.
    fn as_given(&self, parts: &Range<usize>) -> Vec<(u32, &Quadtree, usize)> {
        let points = self.parts[parts.clone()].iter().flat_map(|part| {
            let tree = part.tree;
            (0..).zip(tree.order.iter()).map(move |(i, &index)| (index, tree, i))
        });
        let mut points: Vec<_> = points.collect();
        points.sort_unstable_by_key(|&(index, _, _)| index);
        points
    }
}

impl Quadtree {
    /// Returns the same tree with other indices, for points that are a part of `given` points: point `i` gets the index
    /// `indices[i]`. Points of a leaf stay in order, since indices rise. Needs the feature `files`.
    ///
    /// # Errors
    /// [`Error::Indices`] unless `indices` has one index for each point, in rising order, each below `given`;
    /// [`gpu_core::Error::TooMany`] for `given`.
    pub fn renumbered(self, indices: &[u32], given: u64) -> Result<Self> {
        gpu_core::require_at_most("points", given, MAX_POINTS)?;
        let is_rising = indices.is_sorted_by(|a, b| a < b);
        let is_below = indices.last().is_none_or(|&last| u64::from(last) < given);
        if indices.len() as u64 != self.given || !is_rising || !is_below {
            return Err(Error::Indices {
                indices: indices.len() as u64,
                points: self.given,
                given,
            });
        }
        let order: Vec<u32> = self.order.iter().map(|&i| indices[i as usize]).collect();
        Ok(Self { order: order.into(), given, ..self })
    }
}
