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
use device_std::vector::{self, Vector};
use device_std::{math, warp};

use super::ground::Frame;
use super::search::{ALL_QUADRANTS, Index};
use crate::idw::crowd::{self, LONG, MOST_EVEN, SHORT};
use crate::spatial::keys::ENDLESS;
use crate::spatial::pyramid::{BITS, Pyramid};

/// The most nodes of a level, and the most runs.
const MOST_NODES: u32 = 256;

/// Steps of the bisection that finds a radius.
const STEPS: u32 = 8;

/// Queries farther from the grid have no part here, in cells: whole numbers of f32 end.
const FARTHEST: f64 = 4_194_304.0;

/// There are too many points or nodes for these queries together.
pub struct Crowded {
    /// Whether fewer queries may have fewer.
    pub is_wide: bool,
}

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
    /// The box of the queries, its middle, and half of its diagonal.
    low: [f32; 2],
    high: [f32; 2],
    middle: [f32; 2],
    half: f32,
    /// The square of how far from the middle a node may reach whose points count for certain.
    inner: f32,
    /// Which quadrant of each query is wanted, or all.
    quadrant: u32,
}

/// Where the points of a node may lie: west, south, east, north.
#[derive(Clone, Copy)]
struct Reach([f32; 4]);

impl Reach {
    /// The square of how near to a place they are at least.
    #[inline(always)]
    fn gap(&self, [x, y]: [f32; 2]) -> f32 {
        let [west, south, east, north] = self.0;
        let dx = f32::max(0.0, f32::max(west - x, x - east));
        let dy = f32::max(0.0, f32::max(south - y, y - north));
        math::mul_add_f32(dy, dy, dx * dx)
    }

    /// The square of how far from a place they are at most.
    #[inline(always)]
    fn farthest(&self, [x, y]: [f32; 2]) -> f32 {
        let [west, south, east, north] = self.0;
        let (dx, dy) = (f32::max(x - west, east - x), f32::max(y - south, north - y));
        math::mul_add_f32(dy, dy, dx * dx)
    }

    /// That of a lane.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    unsafe fn of_lane(&self, lane: u32) -> Self {
        // SAFETY: passed on to the caller.
        Self(self.0.map(|along| unsafe { warp::shuffle(warp::FULL, along, lane) }))
    }
}

/// Where a node's points may lie.
#[derive(Clone, Copy)]
struct Extent {
    /// As far as they may belong to it: without end at the ends of the grid.
    open: Reach,
    /// As the caller says that they do.
    closed: Reach,
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
        let [across, along] = [0, 1].map(|a| high[a] - low[a]);
        let half = 0.5 * math::sqrt_f32(math::mul_add_f32(along, along, across * across));
        let inner = f32::max(inner - half, 0.0);
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
            middle: [0, 1].map(|a| 0.5 * (low[a] + high[a])),
            half,
            inner: inner * inner,
            quadrant,
        })
    }

    /// How far apart the queries are.
    #[inline(always)]
    pub fn width(&self) -> f32 {
        2.0 * self.half
    }

    /// Where node `number` of a level lies along an axis: as far as points may, and as the caller says.
    #[inline(always)]
    fn along(&self, axis: usize, level: u32, number: u32) -> [[f32; 2]; 2] {
        let shift = BITS * level;
        let low = ((number << shift) as i32 - self.cell[axis]) as f32 - self.rest[axis];
        let high = low + (1u32 << shift) as f32;
        let (is_first, is_last) = (number == 0, number == self.last[axis] >> shift);
        let [west, east] = self.ends[axis];
        let low = if is_first { [f32::NEG_INFINITY, west] } else { [low; 2] };
        let high = if is_last { [f32::INFINITY, east] } else { [high; 2] };
        [[low[0], high[0]], [low[1], high[1]]]
    }

    /// The extent of a node.
    #[inline(always)]
    fn extent(&self, level: u32, column: u32, row: u32) -> Extent {
        let ([x, given_x], [y, given_y]) =
            (self.along(0, level, column), self.along(1, level, row));
        Extent {
            open: Reach([x[0], y[0], x[1], y[1]]),
            closed: Reach([given_x[0], given_y[0], given_x[1], given_y[1]]),
        }
    }

    /// The extent of what stands in the queue of the cells.
    ///
    /// # Safety
    /// It stands there.
    #[inline(always)]
    unsafe fn extent_of(&self, [column, row, ..]: Vector) -> Extent {
        if row & IS_RUN == 0 {
            return self.extent(0, column, row);
        }
        // SAFETY: the run has a box.
        let reach = unsafe { self.reach_of_box(row & !IS_RUN) };
        Extent { open: reach, closed: reach }
    }

    /// That of a box.
    ///
    /// # Safety
    /// There is one of this number.
    #[inline(always)]
    unsafe fn reach_of_box(&self, number: u32) -> Reach {
        // SAFETY: passed on to the caller.
        let [west, south, east, north] = unsafe {
            let of_box = self.boxes.add(4 * number as usize);
            [*of_box, *of_box.add(1), *of_box.add(2), *of_box.add(3)]
        };
        let [[west, south], [east, north]] =
            [self.frame.place(west, south), self.frame.place(east, north)];
        Reach([west, south, east, north])
    }

    /// The square of how near to the middle nodes may have points within `radius` plus how far a query is from there.
    #[inline(always)]
    fn most_gap(&self, radius: f32) -> f32 {
        // Once because a query may be nearer to the node, and once because its circle may be wider.
        let most = (radius + 2.0 * self.half) * (1.0 + 1e-5) + 1e-4;
        most * most
    }

    /// Whether a node may have points of the quadrant of some query.
    #[inline(always)]
    fn has_some(&self, Reach([west, south, east, north]): Reach) -> bool {
        if self.quadrant == ALL_QUADRANTS {
            return true;
        }
        let (low, high, margin) = (self.low, self.high, self.margin());
        let across = match self.quadrant & 1 {
            0 => west <= high[0] + margin,
            _ => east >= low[0] - margin,
        };
        let along = match self.quadrant & 2 {
            0 => south <= high[1] + margin,
            _ => north >= low[1] - margin,
        };
        across && along
    }

    /// Whether all points of a node are of the quadrant of every query.
    #[inline(always)]
    fn has_all(&self, Reach([west, south, east, north]): Reach) -> bool {
        if self.quadrant == ALL_QUADRANTS {
            return true;
        }
        let (low, high, margin) = (self.low, self.high, self.margin());
        let across = match self.quadrant & 1 {
            0 => east < low[0] - margin,
            _ => west > high[0] + margin,
        };
        let along = match self.quadrant & 2 {
            0 => north < low[1] - margin,
            _ => south > high[1] + margin,
        };
        across && along
    }

    /// More than rounding moves a node.
    #[inline(always)]
    fn margin(&self) -> f32 {
        1e-4 + 1e-6 * self.half
    }

    /// The square of how far from the middle the points of a node are at most; infinite where not all of them count.
    #[inline(always)]
    fn farthest(&self, extent: &Extent) -> f32 {
        let farthest = extent.closed.farthest(self.middle);
        let counts = farthest <= self.inner && self.has_all(extent.closed);
        if counts { farthest } else { f32::INFINITY }
    }
}

/// A queue: of each node column, row, number of points, and the bits of the square of how far they are at most. Of a run, in the place of
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
pub unsafe fn find_parts(below: &Below, sight: &Sight, queues: Queues) -> Result<Found, Crowded> {
    let &Below { index, sums, needed, most, .. } = below;
    let pyramid = sight.pyramid;
    let mut level = pyramid.top();
    let mut start = pyramid.start(level);
    let (mut nodes, mut radius) = (1, most);
    // SAFETY: nodes in the queues are of the pyramid; barriers stand between the levels.
    unsafe {
        if warp::lane_id() == 0 {
            // What it holds is not asked for.
            queues.of_level(level).store(0, [0, 0, index.points, ENDLESS]);
        }
        warp::sync_warp(warp::FULL);
        // After the cells, levels of runs: the long ones, and the short.
        let mut own = most;
        let mut runs = 0;
        loop {
            let from = queues.of_level(level + runs);
            if level > 0 {
                level -= 1;
                start -= if level > 0 { pyramid.nodes(level) } else { 0 };
                let numbers = Numbers { starts: index.starts, sums: sums.add(start as usize) };
                let queue = queues.of_level(level);
                nodes = open(sight, from, nodes, queue, &numbers, level, radius).map_err(|_| {
                    Crowded {
                        // In a strip no cell lies wholly in a quadrant, for one query as for all.
                        is_wide: radius < f32::INFINITY,
                    }
                })?;
            } else {
                runs += 1;
                let length = if runs == 1 { LONG } else { SHORT };
                let queue = queues.of_level(runs);
                nodes = divide(below, sight, (from, nodes), queue, length, (radius, own))?;
            }
            warp::sync_warp(warp::FULL);
            let queue = queues.of_level(level + runs);
            let wider = radius;
            radius = narrowed(queue, nodes, needed, radius, level <= 1);
            if radius < wider && runs == 0 {
                nodes = keep(sight, queue, nodes, level, radius);
                warp::sync_warp(warp::FULL);
            }
            if level == 0 {
                own = f32::min(own, own_radius(below, sight, queue, nodes, radius));
                if runs == 2 || (runs == 0 && !are_crowded(queue, nodes)) {
                    break;
                }
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
    let (lane, most) = (warp::lane_id(), sight.most_gap(radius));
    let (mut first, mut found) = (0, 0);
    // SAFETY: columns and rows of children are compared with those of the level; the rest is passed on to the caller.
    unsafe {
        // A node has 16 children, half as many as there are lanes.
        while first < vector::unknown(nodes) {
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
                    let extent = sight.extent(level, column, row);
                    let is_near = extent.open.gap(sight.middle) <= most;
                    is_child = points > 0 && is_near && sight.has_some(extent.open);
                    child = [column, row, points, sight.farthest(&extent).to_bits()];
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
            return Err(Crowded { is_wide: true });
        }
        if is_one {
            queue.store(found + (lanes & warp::lanes_below()).count_ones(), node);
        }
        Ok(found + lanes.count_ones())
    }
}

/// A radius within which one of the nodes, or unless that will do some together, have the points needed, at most the one
/// given.
///
/// # Safety
/// As for [`open`].
#[inline(always)]
unsafe fn narrowed(queue: Queue, nodes: u32, needed: u32, radius: f32, is_near: bool) -> f32 {
    let words = queue.as_elements::<u32>();
    // SAFETY: passed on to the caller.
    unsafe {
        let node = |i: u32| (words.load(4 * i + 2), words.load(4 * i + 3));
        let most = (radius * radius).to_bits();
        // Bits of numbers that are not negative are in the order of these.
        let (mut least, mut one, mut high, mut i) = (ENDLESS, ENDLESS, 0, warp::lane_id());
        while i < vector::unknown(nodes) {
            let (points, farthest) = node(i);
            least = u32::min(least, farthest);
            one = if points >= needed { u32::min(one, farthest) } else { one };
            high = if farthest <= most && farthest < ENDLESS {
                u32::max(high, farthest)
            } else {
                high
            };
            i += warp::SIZE;
        }
        let one = warp::reduce(one, u32::min);
        let radius_of = |square: f32| math::sqrt_f32(square) * (1.0 + 1e-6);
        let radius = f32::min(radius, radius_of(f32::from_bits(one)));
        if !is_near {
            return radius;
        }
        let mut low = f32::from_bits(warp::reduce(least, u32::min));
        let mut high = f32::from_bits(u32::min(warp::reduce(high, u32::max), one));
        let mut step = 0;
        // First whether all of them will do.
        while step <= vector::unknown(STEPS) {
            let middle = if step == 0 { high } else { 0.5 * (low + high) };
            let (mut points, mut i) = (0u32, warp::lane_id());
            while i < vector::unknown(nodes) {
                let (of_node, farthest) = node(i);
                let is_within = farthest <= middle.to_bits();
                points += if is_within { u32::min(of_node, needed) } else { 0 };
                i += warp::SIZE;
            }
            if warp::reduce(points, |a, b| a + b) >= needed {
                high = middle
            } else if step == 0 {
                return radius;
            } else {
                low = middle
            }
            step += 1;
        }
        f32::min(radius, radius_of(high))
    }
}

/// Keeps the nodes of a queue that may have points within the radius. Returns how many.
///
/// # Safety
/// As for [`open`].
#[inline(always)]
unsafe fn keep(sight: &Sight, queue: Queue, nodes: u32, level: u32, radius: f32) -> u32 {
    let (lane, most) = (warp::lane_id(), sight.most_gap(radius));
    let (mut first, mut kept) = (0, 0);
    // SAFETY: passed on to the caller; nodes move to where others were read before.
    unsafe {
        while first < vector::unknown(nodes) {
            let (mut node, mut is_kept) = ([0; 4], false);
            if first + lane < nodes {
                node = queue.load(first + lane);
                let extent = sight.extent(level, node[0], node[1]);
                is_kept = extent.open.gap(sight.middle) <= most;
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
    let place = [frame.x, frame.y];
    // SAFETY: passed on to the caller.
    unsafe {
        while first < vector::unknown(nodes) {
            let mine = first + warp::lane_id();
            let node = queue.load(u32::min(mine, nodes - 1));
            let is_within = mine < nodes && f32::from_bits(node[3]) <= radius * radius;
            let mut lanes = warp::ballot(warp::FULL, is_within);
            if lanes != 0 {
                let closed = sight.extent_of(node).closed;
                while lanes != 0 {
                    let farthest = closed.of_lane(lanes.trailing_zeros()).farthest(place);
                    own = f32::max(own, farthest);
                    lanes &= lanes - 1;
                }
            }
            first += warp::SIZE;
        }
    }
    // What was left on the way down is no nearer than that.
    f32::min(f32::min(math::sqrt_f32(own), radius + sight.half), most)
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
        while i < vector::unknown(nodes) {
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
    let (lane, most) = (warp::lane_id(), sight.most_gap(radius));
    let (mut first, mut found) = (0, 0);
    // SAFETY: passed on to the caller.
    unsafe {
        while first < vector::unknown(nodes) {
            let mine = first + lane;
            let open = sight.extent_of(from.load(u32::min(mine, nodes - 1))).open;
            let lanes = warp::ballot(warp::FULL, mine < nodes);
            let (mut lanes, _) = met(below, &open, lanes, own);
            while lanes != 0 {
                let node = from.load(first + lanes.trailing_zeros());
                lanes &= lanes - 1;
                let [_, _, points, _] = node;
                if points > MOST_EVEN && (of_run == SHORT || points >= 2 * LONG) {
                    found = divide_one(below, sight, node, (to, found), of_run, (most, own))?;
                } else {
                    found = append(to, found, node, lane == 0)?;
                }
            }
            first += warp::SIZE;
        }
    }
    Ok(found)
}

/// The same for one that is divided.
///
/// # Safety
/// As there; it has as many points as two runs.
#[inline(always)]
unsafe fn divide_one(
    below: &Below,
    sight: &Sight,
    [column, row, points, _]: Vector,
    (to, mut found): (Queue, u32),
    of_run: u32,
    (most, own): (f32, f32),
) -> Result<u32, Crowded> {
    let (index, lane) = (below.index, warp::lane_id());
    // SAFETY: crowded cells have runs, and these have boxes; the rest is passed on to the caller.
    unsafe {
        let mut start = column;
        if row & IS_RUN == 0 {
            let cell = row as usize * index.cells.columns as usize + column as usize;
            start = *index.starts.add(cell);
        }
        let runs = crowd::Runs::of(start, points, of_run);
        let first_box = crowd::first_box(index.points, of_run) + runs.first;
        let mut first = 0;
        while first < vector::unknown(runs.count) {
            let run = u32::min(first + lane, runs.count - 1);
            let ([start, points], number) = (runs.run(run), first_box + run);
            let reach = sight.reach_of_box(number);
            let farthest = sight.farthest(&Extent { open: reach, closed: reach });
            let is_near = first + lane < runs.count
                && reach.gap(sight.middle) <= most
                && sight.has_some(reach);
            let (taken, _) = met(below, &reach, warp::ballot(warp::FULL, is_near), own);
            let entry = [start, number | IS_RUN, points, farthest.to_bits()];
            found = append(to, found, entry, taken >> lane & 1 != 0)?;
            first += warp::SIZE;
        }
        Ok(found)
    }
}

/// Which of the lanes given have a reach that some wanted lane's circle meets; and the square of how near to the lane's
/// query these are at least.
///
/// # Safety
/// The whole warp comes to the same call.
#[inline(always)]
unsafe fn met(below: &Below, reach: &Reach, lanes: u32, own: f32) -> (u32, f32) {
    let place = [below.frame.x, below.frame.y];
    let (mut taken, mut nearest, mut lanes) = (0, f32::INFINITY, lanes);
    let most = if below.is_wanted { own * own } else { -1.0 };
    // SAFETY: passed on to the caller.
    unsafe {
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            let gap = reach.of_lane(lane).gap(place);
            if warp::any(warp::FULL, gap <= most) {
                nearest = f32::min(nearest, gap);
                taken |= 1 << lane;
            }
            lanes &= lanes - 1;
        }
    }
    (taken, nearest)
}

/// The points of what may have some within the radius of a wanted lane.
///
/// # Safety
/// As for [`own_radius`].
#[inline(always)]
unsafe fn take(below: &Below, sight: &Sight, queues: Queues, nodes: u32, own: f32) -> Found {
    let &Below { index, frame, .. } = below;
    let queue = queues.of_level(0);
    let mut parts = Parts { memory: queues.0.as_elements(), count: 0, points: 0 };
    let (mut nearest, mut first) = (f32::INFINITY, 0);
    // SAFETY: passed on to the caller; cells are of the index.
    unsafe {
        while first < vector::unknown(nodes) {
            let mine = first + warp::lane_id();
            let node = queue.load(u32::min(mine, nodes - 1));
            let open = sight.extent_of(node).open;
            let lanes = warp::ballot(warp::FULL, mine < nodes);
            let (taken, gap) = met(below, &open, lanes, own);
            nearest = f32::min(nearest, gap);
            let is_taken = taken >> warp::lane_id() & 1 != 0;
            let (mut start, mut points) = (0, 0);
            if is_taken {
                let [column, row, of_node, _] = node;
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
    let rounding = 1e-6 * (f32::abs(frame.x) + f32::abs(frame.y)) + 2e-6;
    let covered = own * (1.0 - 2e-6) - rounding;
    Found { parts, covered, nearest: math::sqrt_f32(nearest) * (1.0 - 2e-6) - rounding }
}
