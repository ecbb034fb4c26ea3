//! The way down the [`Pyramid`] above the cells, for queries that lie side by side: to the cells that hold their
//! neighbours, however wide the ground without points around them.
//!
//! A level's nodes that may hold a neighbour stand in a queue. Of a node is known how many points it has, and how far from
//! the middle of the queries they are at most; so some nodes together tell within which radius there are points enough.
//! What lies beyond that is left, and the children of what remains are the queue of the level below. At the cells
//! each lane has a circle of its own: it reaches to the farthest corner of those that had points enough.
//!
//! Crowded cells give way to their runs ([`crowd`]), first the long ones and then the short ones. Here every lane has a
//! say: from far away what is near to one circle of many is far from all of them.
//!
//! All lengths are sides of a cell. What f32 rounds decides only how many cells are looked at: [`Found::covered`] is less than
//! what was looked at by more than that.

use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::{math, warp};

use super::ground::Frame;
use super::search::{ALL_QUADRANTS, Index};
use crate::idw::crowd::{self, LONG, MOST_EVEN, SHORT};
use crate::spatial::pyramid::{BITS, Pyramid};

/// The most nodes of a level, and the most runs.
const MOST_NODES: u32 = 256;

/// Steps of the bisection that finds a radius.
const STEPS: u32 = 8;

/// Queries farther from the grid have no part here, in cells: whole numbers of f32 end.
const FARTHEST: f64 = 4_194_304.0;

/// There are too many points or nodes for these queries together.
pub struct Crowded;

/// Where points may lie, seen from queries side by side.
pub struct Sight {
    pyramid: Pyramid,
    /// What the boxes of runs are seen by.
    frame: Frame,
    boxes: *const f64,
    /// The last column and row of the cells.
    last: [u32; 2],
    /// The cell of the frame's origin, which may lie beside the grid, and where in the cell that is.
    cell: [i32; 2],
    rest: [f32; 2],
    /// Where the points end on each side, as the caller says.
    ends: [[f32; 2]; 2],
    /// The box of the queries, and half of its diagonal.
    low: [f32; 2],
    high: [f32; 2],
    half: f32,
    /// The farthest that a node may reach from the middle whose points count for certain.
    inner: f32,
    /// Which quadrant of each query is wanted, or all.
    quadrant: u32,
}

/// From where to where a node reaches along an axis.
struct Span {
    /// As wide as the points that belong to it may lie.
    open: [f32; 2],
    /// As wide as the caller says that they do.
    closed: [f32; 2],
}

impl Span {
    #[inline(always)]
    fn gap(&self, along: f32) -> f32 {
        f32::max(0.0, f32::max(self.open[0] - along, along - self.open[1]))
    }

    #[inline(always)]
    fn farthest(&self, along: f32) -> f32 {
        f32::max(along - self.closed[0], self.closed[1] - along)
    }
}

/// The square root of a sum of squares.
#[inline(always)]
fn length(x: f32, y: f32) -> f32 {
    math::sqrt_f32(math::mul_add_f32(y, y, x * x))
}

impl Sight {
    /// That of the frame's queries; `bounds` are those of the points (west, south, east, north), and what lies in a
    /// circle of radius `inner` counts, if it is of the quadrant. `None` where the queries lie too far away.
    #[inline(always)]
    pub fn new(
        index: &Index,
        frame: &Frame,
        (bounds, boxes): ([f64; 4], *const f64),
        inner: f32,
        quadrant: u32,
    ) -> Option<Self> {
        let cells = &index.cells;
        let corner = [cells.west, cells.south];
        let at = [0, 1].map(|a| (frame.origin[a] - corner[a]) * cells.per_unit);
        if !(f64::abs(at[0]) < FARTHEST && f64::abs(at[1]) < FARTHEST) {
            return None;
        }
        let whole = at.map(math::floor);
        let last = [cells.columns, cells.rows].map(|cells| cells.saturating_sub(1));
        let ends = [0, 1].map(|a| {
            let end = |bound: f64| (bound - corner[a]) * cells.per_unit;
            let low = f64::min(end(bounds[a]), 0.0) - at[a];
            let high = f64::max(end(bounds[a + 2]), last[a] as f64 + 1.0) - at[a];
            [low as f32, high as f32]
        });
        let (low, high) = (frame.low, frame.high);
        Some(Self {
            pyramid: Pyramid::over(cells),
            frame: *frame,
            boxes,
            last,
            cell: whole.map(|along| along as i32),
            rest: [0, 1].map(|a| (at[a] - whole[a]) as f32),
            ends,
            low,
            high,
            half: 0.5 * length(high[0] - low[0], high[1] - low[1]),
            inner,
            quadrant,
        })
    }

    /// How far apart the queries are.
    #[inline(always)]
    pub fn width(&self) -> f32 {
        2.0 * self.half
    }

    #[inline(always)]
    fn middle(&self) -> [f32; 2] {
        [0, 1].map(|a| 0.5 * (self.low[a] + self.high[a]))
    }

    /// Where node `number` of a level lies along an axis.
    #[inline(always)]
    fn span(&self, axis: usize, level: u32, number: u32) -> Span {
        let shift = BITS * level;
        let low = ((number << shift) as i32 - self.cell[axis]) as f32 - self.rest[axis];
        let high = low + (1u32 << shift) as f32;
        let (is_first, is_last) = (number == 0, number == self.last[axis] >> shift);
        let [west, east] = self.ends[axis];
        Span {
            open: [
                if is_first { f32::NEG_INFINITY } else { low },
                if is_last { f32::INFINITY } else { high },
            ],
            closed: [if is_first { west } else { low }, if is_last { east } else { high }],
        }
    }

    /// The spans of what stands in a queue.
    ///
    /// # Safety
    /// It stands there.
    #[inline(always)]
    unsafe fn spans_of(&self, level: u32, [column, row, ..]: Vector) -> [Span; 2] {
        if row & IS_RUN == 0 {
            return self.spans(level, column, row);
        }
        // SAFETY: the run has a box.
        unsafe { self.spans_of_box(row & !IS_RUN) }
    }

    /// The spans of a box.
    ///
    /// # Safety
    /// There is one of this number.
    #[inline(always)]
    unsafe fn spans_of_box(&self, number: u32) -> [Span; 2] {
        // SAFETY: passed on to the caller.
        let [west, south, east, north] = unsafe {
            let of_box = self.boxes.add(4 * number as usize);
            [*of_box, *of_box.add(1), *of_box.add(2), *of_box.add(3)]
        };
        let ([west, south], [east, north]) =
            (self.frame.place(west, south), self.frame.place(east, north));
        let span = |along: [f32; 2]| Span { open: along, closed: along };
        [span([west, east]), span([south, north])]
    }

    /// The spans of a node.
    #[inline(always)]
    fn spans(&self, level: u32, column: u32, row: u32) -> [Span; 2] {
        [self.span(0, level, column), self.span(1, level, row)]
    }

    /// Within which distance of the middle nodes may have points within `radius` plus how far a query is from there.
    #[inline(always)]
    fn reach(&self, radius: f32) -> f32 {
        // Once because a query may be nearer to the node, and once because its circle may be wider.
        (radius + 2.0 * self.half) * (1.0 + 1e-5) + 1e-4
    }

    /// Whether a node may have points of the quadrant of some query.
    #[inline(always)]
    fn has_some(&self, [x, y]: &[Span; 2]) -> bool {
        if self.quadrant == ALL_QUADRANTS {
            return true;
        }
        let along = |span: &Span, axis: usize, is_above: bool| match is_above {
            true => span.open[1] >= self.low[axis] - self.margin(),
            false => span.open[0] <= self.high[axis] + self.margin(),
        };
        along(x, 0, self.quadrant & 1 != 0) && along(y, 1, self.quadrant & 2 != 0)
    }

    /// Whether all points of a node are of the quadrant of every query.
    #[inline(always)]
    fn has_all(&self, [x, y]: &[Span; 2]) -> bool {
        if self.quadrant == ALL_QUADRANTS {
            return true;
        }
        let along = |span: &Span, axis: usize, is_above: bool| match is_above {
            true => span.closed[0] > self.high[axis] + self.margin(),
            false => span.closed[1] < self.low[axis] - self.margin(),
        };
        along(x, 0, self.quadrant & 1 != 0) && along(y, 1, self.quadrant & 2 != 0)
    }

    /// More than rounding moves a node.
    #[inline(always)]
    fn margin(&self) -> f32 {
        1e-4 + 1e-6 * self.half
    }

    /// How far from the middle the points of a node are at most; infinite where not all of them count.
    #[inline(always)]
    fn farthest(&self, spans: &[Span; 2]) -> f32 {
        let [x, y] = self.middle();
        let farthest = length(spans[0].farthest(x), spans[1].farthest(y));
        let counts = farthest + self.half <= self.inner && self.has_all(spans);
        if counts { farthest } else { f32::INFINITY }
    }

    /// How near to the middle they are at least.
    #[inline(always)]
    fn gap(&self, spans: &[Span; 2]) -> f32 {
        let [x, y] = self.middle();
        length(spans[0].gap(x), spans[1].gap(y))
    }
}

/// A queue: of each node column, row, number of points, and the bits of how far they are at most. Of a run, in the place of
/// column and row, where it begins, and the number of its box with [`IS_RUN`].
type Queue = SharedArray<Vector>;

/// Tells a run from a node.
const IS_RUN: u32 = 1 << 31;

/// The shared memory of a warp on its way down.
#[derive(Clone, Copy)]
pub struct Queues(SharedArray<Vector>);

impl Queues {
    /// Vectors of the memory.
    pub const VECTORS: u32 = 2 * MOST_NODES;
    /// What the parts take of it, from its beginning.
    pub const OF_PARTS: u32 = MOST_NODES / 2;
    /// From where on nothing of it is needed once the parts are found.
    pub const USED: u32 = MOST_NODES;

    /// In some memory.
    #[inline(always)]
    pub fn new(memory: SharedArray<Vector>) -> Self {
        Self(memory)
    }

    /// That of a level: the cells have the second.
    #[inline(always)]
    fn of_level(self, level: u32) -> Queue {
        if level & 1 == 0 { self.0.skip(MOST_NODES) } else { self.0 }
    }
}

/// Parts of the sorted order that a warp looks at.
#[derive(Clone, Copy)]
pub struct Parts {
    /// Of each where it begins, and above that how many points those before it have.
    memory: SharedArray<u64>,
    count: u32,
    /// Points of all.
    pub points: u32,
}

impl Parts {
    /// Where point `number` is in the sorted order.
    ///
    /// # Safety
    /// There are more points; the parts are still in memory.
    #[inline(always)]
    pub unsafe fn position(&self, number: u32) -> u32 {
        // The last part with no more points before it.
        let (mut low, mut high) = (0, self.count);
        // SAFETY: passed on to the caller.
        unsafe {
            while high - low > 1 {
                let middle = (low + high) / 2;
                let is_before = (self.memory.load(middle) >> 32) as u32 <= number;
                (low, high) = if is_before { (middle, high) } else { (low, middle) };
            }
            let part = self.memory.load(low);
            part as u32 + (number - (part >> 32) as u32)
        }
    }
}

/// What was found for some queries.
pub struct Found {
    pub parts: Parts,
    /// No other point is as near to the lane's query as this; it may not be above 0.
    pub covered: f32,
    /// No point of the parts is nearer to the lane's query.
    pub nearest: f32,
}

/// What a search down the pyramid needs beside the sight.
pub struct Below<'a> {
    pub index: &'a Index,
    /// Numbers of points above the cells.
    pub sums: *const u32,
    pub frame: &'a Frame,
    pub is_wanted: bool,
    /// Points that each query needs, or all that there are.
    pub needed: u32,
    /// The farthest that they may lie.
    pub most: f32,
}

/// Finds the points of the cells around the frame's queries, and below crowded ones of the runs.
///
/// # Safety
/// The whole warp comes to the same call, and wants the same, but for `is_wanted`; the numbers are those above the index's
/// cells, and nobody else touches the memory.
#[inline(always)]
pub unsafe fn find_parts(
    below: &Below,
    sight: &Sight,
    queues: Queues,
) -> Result<Found, Crowded> {
    let &Below { index, sums, needed, most, .. } = below;
    let pyramid = sight.pyramid;
    let mut level = pyramid.top();
    let mut start = pyramid.start(level);
    let (mut nodes, mut radius) = (1, most);
    // SAFETY: nodes in the queues are of the pyramid; barriers stand between the levels.
    unsafe {
        if warp::lane_id() == 0 {
            let farthest = sight.farthest(&sight.spans(level, 0, 0)).to_bits();
            queues.of_level(level).store(0, [0, 0, index.points, farthest]);
        }
        warp::sync_warp(warp::FULL);
        while level > 0 {
            let above = queues.of_level(level);
            level -= 1;
            start -= if level > 0 { pyramid.nodes(level) } else { 0 };
            let numbers = Numbers { starts: index.starts, sums: sums.add(start as usize) };
            let queue = queues.of_level(level);
            nodes = open(sight, above, nodes, queue, &numbers, level, radius)?;
            warp::sync_warp(warp::FULL);
            radius = narrowed(queue, nodes, needed, radius);
            nodes = keep(sight, queue, nodes, level, radius);
            warp::sync_warp(warp::FULL);
        }
        let cells = queues.of_level(0);
        let mut own = own_radius(below, sight, cells, nodes, radius);
        if are_crowded(cells, nodes) {
            let runs = queues.of_level(1);
            for (length, from, to) in [(LONG, cells, runs), (SHORT, runs, cells)] {
                nodes = divide(below, sight, (from, nodes), to, length, (radius, own))?;
                warp::sync_warp(warp::FULL);
                radius = narrowed(to, nodes, needed, radius);
                own = f32::min(own, own_radius(below, sight, to, nodes, radius));
            }
        }
        Ok(take(below, sight, queues, nodes, own))
    }
}

/// Where the numbers of points of a level are.
struct Numbers {
    /// Those of the cells are from one start to the next.
    starts: *const u32,
    /// Those of other nodes.
    sums: *const u32,
}

/// Puts the children of nodes into the queue of their level, if they may have points within the radius.
///
/// # Safety
/// As for [`find_parts`]; the queue above holds so many nodes.
#[inline(always)]
unsafe fn open(
    sight: &Sight,
    above: Queue,
    nodes: u32,
    queue: Queue,
    numbers: &Numbers,
    level: u32,
    radius: f32,
) -> Result<u32, Crowded> {
    let (columns, rows) = (sight.pyramid.columns(level), sight.pyramid.rows(level));
    let (lane, reach) = (warp::lane_id(), sight.reach(radius));
    let (mut first, mut found) = (0, 0);
    // SAFETY: columns and rows of children are compared with those of the level; the rest is passed on to the caller.
    unsafe {
        // A node has 16 children, half as many as there are lanes.
        while first < nodes {
            let parent = first + lane / 16;
            let mut child = [0; 4];
            let mut is_child = parent < nodes;
            if is_child {
                let [column, row, ..] = above.load(parent);
                let (column, row) = (column << BITS | lane & 3, row << BITS | lane >> 2 & 3);
                is_child = column < columns && row < rows;
                if is_child {
                    let at = row as usize * columns as usize + column as usize;
                    let points = if level > 0 {
                        *numbers.sums.add(at)
                    } else {
                        *numbers.starts.add(at + 1) - *numbers.starts.add(at)
                    };
                    let spans = sight.spans(level, column, row);
                    is_child = points > 0 && sight.gap(&spans) <= reach && sight.has_some(&spans);
                    child = [column, row, points, sight.farthest(&spans).to_bits()];
                }
            }
            found = append(queue, found, child, is_child)?;
            first += 2;
        }
    }
    Ok(found)
}

/// Appends nodes of some lanes to the `found` of a queue. Returns how many there are then.
///
/// # Safety
/// The whole warp comes to the same call, and nobody reads the queue meanwhile.
#[inline(always)]
unsafe fn append(queue: Queue, found: u32, node: Vector, is_one: bool) -> Result<u32, Crowded> {
    // SAFETY: passed on to the caller; there is room.
    unsafe {
        let lanes = warp::ballot(warp::FULL, is_one);
        if found + lanes.count_ones() > MOST_NODES {
            return Err(Crowded);
        }
        if is_one {
            queue.store(found + (lanes & warp::lanes_below()).count_ones(), node);
        }
        Ok(found + lanes.count_ones())
    }
}

/// A radius within which some nodes have the points needed, at most the one given.
///
/// # Safety
/// As for [`open`].
#[inline(always)]
unsafe fn narrowed(queue: Queue, nodes: u32, needed: u32, radius: f32) -> f32 {
    let words = queue.as_elements::<u32>();
    // SAFETY: passed on to the caller.
    unsafe {
        let node = |i: u32| (words.load(4 * i + 2), f32::from_bits(words.load(4 * i + 3)));
        let points_within = |radius: f32| {
            let (mut points, mut i) = (0u32, warp::lane_id());
            while i < nodes {
                let (of_node, farthest) = node(i);
                points = points.saturating_add(if farthest <= radius { of_node } else { 0 });
                i += warp::SIZE;
            }
            warp::reduce(points, u32::saturating_add)
        };
        let (mut low, mut high, mut i) = (f32::INFINITY, 0.0f32, warp::lane_id());
        while i < nodes {
            let (_, farthest) = node(i);
            if farthest <= radius && farthest < f32::INFINITY {
                (low, high) = (f32::min(low, farthest), f32::max(high, farthest));
            }
            i += warp::SIZE;
        }
        let mut low = warp::reduce(low, f32::min);
        let mut high = warp::reduce(high, f32::max);
        if points_within(high) < needed {
            return radius;
        }
        let mut step = 0;
        while step < STEPS {
            let middle = 0.5 * (low + high);
            if points_within(middle) < needed { low = middle } else { high = middle }
            step += 1;
        }
        high
    }
}

/// Keeps the nodes of a queue that may have points within the radius. Returns how many.
///
/// # Safety
/// As for [`open`].
#[inline(always)]
unsafe fn keep(sight: &Sight, queue: Queue, nodes: u32, level: u32, radius: f32) -> u32 {
    let (lane, reach) = (warp::lane_id(), sight.reach(radius));
    let (mut first, mut kept) = (0, 0);
    // SAFETY: passed on to the caller; nodes move to where others were read before.
    unsafe {
        while first < nodes {
            let (mut node, mut is_kept) = ([0; 4], false);
            if first + lane < nodes {
                node = queue.load(first + lane);
                is_kept = sight.gap(&sight.spans(level, node[0], node[1])) <= reach;
            }
            let lanes = warp::ballot(warp::FULL, is_kept);
            if is_kept {
                queue.store(kept + (lanes & warp::lanes_below()).count_ones(), node);
            }
            warp::sync_warp(warp::FULL);
            kept += lanes.count_ones();
            first += warp::SIZE;
        }
    }
    kept
}

/// Within which radius of the lane's query there are points enough: that of what has so many within the radius around the
/// middle.
///
/// # Safety
/// As for [`find_parts`]; the queue holds so many cells or runs.
#[inline(always)]
unsafe fn own_radius(below: &Below, sight: &Sight, queue: Queue, nodes: u32, radius: f32) -> f32 {
    let &Below { frame, most, .. } = below;
    if radius >= most {
        return most;
    }
    let (mut own, mut first) = (0.0, 0);
    let words = queue.as_elements::<u32>();
    // SAFETY: passed on to the caller.
    unsafe {
        while first < nodes {
            let mine = u32::min(first + warp::lane_id(), nodes - 1);
            let is_within = f32::from_bits(words.load(4 * mine + 3)) <= radius;
            let mut lanes = warp::ballot(warp::FULL, is_within && mine == first + warp::lane_id());
            while lanes != 0 {
                let [x, y] = sight.spans_of(0, queue.load(first + lanes.trailing_zeros()));
                own = f32::max(own, length(x.farthest(frame.x), y.farthest(frame.y)));
                lanes &= lanes - 1;
            }
            first += warp::SIZE;
        }
    }
    // What was left on the way down is no nearer than that.
    f32::min(f32::min(own, radius + sight.half), most)
}

/// Whether one of the cells is crowded.
///
/// # Safety
/// As for [`own_radius`].
#[inline(always)]
unsafe fn are_crowded(cells: Queue, nodes: u32) -> bool {
    let (mut most, mut i) = (0, warp::lane_id());
    // SAFETY: passed on to the caller.
    unsafe {
        while i < nodes {
            most = u32::max(most, cells.as_elements::<u32>().load(4 * i + 2));
            i += warp::SIZE;
        }
        warp::any(warp::FULL, most > MOST_EVEN)
    }
}

/// Divides what has far more points than runs of a length into such runs, and leaves out those that no lane's circle
/// meets. Returns how many there are in the second queue.
///
/// # Safety
/// As for [`own_radius`].
#[inline(always)]
unsafe fn divide(
    below: &Below,
    sight: &Sight,
    (from, nodes): (Queue, u32),
    to: Queue,
    of_run: u32,
    (radius, own): (f32, f32),
) -> Result<u32, Crowded> {
    let &Below { index, frame, is_wanted, .. } = below;
    let first_box = crowd::first_box(index.points, of_run);
    let (lane, reach) = (warp::lane_id(), sight.reach(radius));
    let (mut i, mut found) = (0, 0);
    // SAFETY: crowded cells have runs, and these have boxes; the rest is passed on to the caller.
    unsafe {
        while i < nodes {
            let node = from.load(i);
            let [column, row, points, _] = node;
            let is_run = row & IS_RUN != 0;
            let is_divided = points > MOST_EVEN && (of_run == SHORT || points >= 2 * LONG);
            i += 1;
            if !is_divided {
                found = append(to, found, node, lane == 0)?;
                continue;
            }
            let mut start = column;
            if !is_run {
                start = *index.starts.add(row as usize * index.cells.columns as usize + column as usize);
            }
            let runs = crowd::Runs::of(start, points, of_run);
            let mut first = 0;
            while first < runs.count {
                let run = first + lane;
                let (mut entry, mut is_near) = ([0; 4], false);
                if run < runs.count {
                    let ([start, points], number) = (runs.run(run), first_box + runs.first + run);
                    let spans = sight.spans_of_box(number);
                    is_near = sight.gap(&spans) <= reach && sight.has_some(&spans);
                    entry = [start, number | IS_RUN, points, sight.farthest(&spans).to_bits()];
                }
                let (mut lanes, mut taken) = (warp::ballot(warp::FULL, is_near), 0);
                while lanes != 0 {
                    let run = lanes.trailing_zeros();
                    let [x, y] = sight.spans_of_box(first_box + runs.first + first + run);
                    let gap = length(x.gap(frame.x), y.gap(frame.y));
                    let is_met = warp::any(warp::FULL, is_wanted && gap <= own);
                    taken |= (is_met as u32) << run;
                    lanes &= lanes - 1;
                }
                found = append(to, found, entry, taken >> lane & 1 != 0)?;
                first += warp::SIZE;
            }
        }
    }
    Ok(found)
}

/// The points of what may have some within the radius of a wanted lane.
///
/// # Safety
/// As for [`own_radius`].
#[inline(always)]
unsafe fn take(below: &Below, sight: &Sight, queues: Queues, nodes: u32, own: f32) -> Found {
    let &Below { index, frame, is_wanted, .. } = below;
    let queue = queues.of_level(0);
    let mut parts = Parts { memory: queues.0.as_elements(), count: 0, points: 0 };
    let (mut nearest, mut first) = (f32::INFINITY, 0);
    // SAFETY: passed on to the caller; cells are of the index.
    unsafe {
        while first < nodes {
            let (mut taken, mut i) = (0u32, 0);
            while i < warp::SIZE && first + i < nodes {
                let [x, y] = sight.spans_of(0, queue.load(first + i));
                let gap = length(x.gap(frame.x), y.gap(frame.y));
                if warp::any(warp::FULL, is_wanted && gap <= own) {
                    nearest = f32::min(nearest, gap);
                    taken |= 1 << i;
                }
                i += 1;
            }
            let is_taken = taken >> warp::lane_id() & 1 != 0;
            let (mut start, mut points) = (0, 0);
            if is_taken {
                let [column, row, of_node, _] = queue.load(first + warp::lane_id());
                (start, points) = (column, of_node);
                if row & IS_RUN == 0 {
                    let cell = row as usize * index.cells.columns as usize + column as usize;
                    start = *index.starts.add(cell);
                }
            }
            let up_to = warp::inclusive_scan(points, u32::saturating_add);
            if is_taken {
                let before = parts.points.saturating_add(up_to - points);
                let part = parts.count + (taken & warp::lanes_below()).count_ones();
                parts.memory.store(part, start as u64 | (before as u64) << 32);
            }
            let all = warp::shuffle(warp::FULL, up_to, warp::SIZE - 1);
            parts.points = parts.points.saturating_add(all);
            parts.count += taken.count_ones();
            first += warp::SIZE;
        }
        warp::sync_warp(warp::FULL);
    }
    let rounding = 4e-6 * (f32::abs(frame.x) + f32::abs(frame.y)) + 1e-5;
    let covered = own * (1.0 - 4e-6) - rounding;
    Found { parts, covered, nearest: nearest * (1.0 - 4e-6) - rounding }
}
