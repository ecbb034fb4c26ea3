//! The points in a part of the plane, as runs of points that follow each other in the order of the tree.
//!
//! A warp goes down level after level. Of each level the nodes whose cells meet the part stand in a queue; every lane
//! takes one of them, and puts its children that meet the part into the queue of the level below. A leaf, or a node of
//! few points, is a run.

use device_std::shared::SharedArray;
use device_std::vector::Vector;
use device_std::warp;

use super::super::node::Node;
use super::ground::Cell;

/// The most runs.
const MOST_RUNS: u32 = 128;

/// The most nodes of a level.
const MOST_NODES: u32 = 128;

/// The most points of all runs.
const MOST_POINTS: u32 = 1 << 13;

/// Nodes of at most as many points are not divided further: to look at all of them takes less time.
const FEW: u32 = 32;

/// The shared memory of a warp on its way down: the runs, and behind them the queues of two levels.
#[derive(Clone, Copy)]
pub struct Queues(SharedArray<Vector>);

impl Queues {
    /// Vectors of a queue: of each node its place, its column and its row.
    const OF_QUEUE: u32 = 3 * MOST_NODES / 4;
    /// Vectors of all.
    pub const VECTORS: u32 = Runs::VECTORS + 2 * Self::OF_QUEUE;

    /// In some memory.
    #[inline(always)]
    pub fn new(memory: SharedArray<Vector>) -> Self {
        Self(memory)
    }

    #[inline(always)]
    fn queue(self, level: u32) -> SharedArray<u32> {
        self.0.skip(Runs::VECTORS + (level & 1) * Self::OF_QUEUE).as_elements()
    }

    #[inline(always)]
    fn runs(self) -> Runs {
        Runs { memory: self.0.as_elements(), count: 0 }
    }
}

/// A node in a queue.
#[derive(Clone, Copy)]
struct Waiting {
    index: u32,
    column: u32,
    row: u32,
}

impl Waiting {
    #[inline(always)]
    fn cell(self, level: u32) -> Cell {
        Cell { column: self.column, row: self.row, level }
    }

    /// # Safety
    /// Something was stored there.
    #[inline(always)]
    unsafe fn load(queue: SharedArray<u32>, i: u32) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            let (column, row) = (queue.load(MOST_NODES + i), queue.load(2 * MOST_NODES + i));
            Self { index: queue.load(i), column, row }
        }
    }

    /// # Safety
    /// There is room.
    #[inline(always)]
    unsafe fn store(self, queue: SharedArray<u32>, i: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            queue.store(i, self.index);
            queue.store(MOST_NODES + i, self.column);
            queue.store(2 * MOST_NODES + i, self.row);
        }
    }
}

/// Runs of points, in shared memory.
#[derive(Clone, Copy)]
pub struct Runs {
    /// Of each run its first point, and above that how many points it has.
    memory: SharedArray<u64>,
    count: u32,
}

impl Runs {
    /// Vectors of the most runs.
    pub const VECTORS: u32 = MOST_RUNS / 2;

    /// How many.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Runs `first` to `first + 31`, as far as there are so many.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn group(&self, first: u32) -> Group {
        let run = first + warp::lane_id();
        // SAFETY: below the number of runs; the rest is passed on to the caller.
        unsafe {
            let run = if run < self.count { self.memory.load(run) } else { 0 };
            let (start, points) = (run as u32, (run >> 32) as u32);
            let up_to = warp::inclusive_scan(points, |a, b| a + b);
            let all = warp::shuffle(warp::FULL, up_to, warp::SIZE - 1);
            Group { offset: start.wrapping_sub(up_to - points), up_to, points: all }
        }
    }
}

/// Runs of the lanes of a warp, one each.
pub struct Group {
    /// Where the lane's run begins in the order of the tree, less the points of the runs before it.
    offset: u32,
    /// The points of the runs up to this lane's.
    up_to: u32,
    points: u32,
}

impl Group {
    /// No runs.
    pub const EMPTY: Self = Self { offset: 0, up_to: 0, points: 0 };

    /// The points of all.
    #[inline(always)]
    pub fn points(&self) -> u32 {
        self.points
    }

    /// Where point `number` is in the order of the tree.
    ///
    /// # Safety
    /// The whole warp comes to the same call.
    #[inline(always)]
    pub unsafe fn position(&self, number: u32) -> u32 {
        // How many runs end before it.
        let mut run = 0;
        let mut step = warp::SIZE / 2;
        // SAFETY: passed on to the caller.
        unsafe {
            while step > 0 {
                let up_to = warp::shuffle(warp::FULL, self.up_to, run + step - 1);
                run += if up_to <= number { step } else { 0 };
                step /= 2;
            }
            warp::shuffle(warp::FULL, self.offset, run).wrapping_add(number)
        }
    }
}

/// The points of the cells that are wanted, and others of the same nodes; `None` where they are too many.
///
/// # Safety
/// The whole warp comes to the same call and wants the same; `nodes` are those of a tree, at least one, and
/// nobody else touches the memory.
#[inline(always)]
pub unsafe fn find_runs(
    nodes: *const u64,
    queues: Queues,
    wants: impl Fn(Cell) -> bool,
) -> Option<Runs> {
    let lane = warp::lane_id();
    let mut runs = queues.runs();
    let (mut waiting, mut level, mut points) = (1, 0, 0);
    // SAFETY: children of a node are nodes; barriers stand between the levels.
    unsafe {
        if lane == 0 {
            Waiting { index: 0, column: 0, row: 0 }.store(queues.queue(0), 0);
        }
        warp::sync_warp(warp::FULL);
        while waiting > 0 {
            let (queue, next) = (queues.queue(level), queues.queue(level + 1));
            let mut below = 0;
            let mut first = 0;
            while first < waiting {
                let is_there = first + lane < waiting;
                let mut this = Waiting { index: 0, column: 0, row: 0 };
                if is_there {
                    this = Waiting::load(queue, first + lane);
                }
                let (node, first_child) = Node::load_with_child(nodes, this.index as u64);
                let is_run = is_there && (node.quadrants == 0 || node.count <= FEW as u64);
                let lanes = warp::ballot(warp::FULL, is_run);
                if runs.count + lanes.count_ones() > MOST_RUNS {
                    return None;
                }
                if is_run {
                    let count = u64::min(node.count, MOST_POINTS as u64);
                    points += count as u32;
                    let to = runs.count + (lanes & warp::lanes_below()).count_ones();
                    runs.memory.store(to, node.start | count << 32);
                }
                runs.count += lanes.count_ones();
                if lanes != warp::ballot(warp::FULL, is_there) {
                    let quadrants = if is_there && !is_run { node.quadrants } else { 0 };
                    let mut index = first_child;
                    let mut quadrant = 0;
                    while quadrant < 4 {
                        let cell = this.cell(level).child(quadrant);
                        let is_child = quadrants >> quadrant & 1 == 1;
                        let is_wanted = is_child && wants(cell);
                        let lanes = warp::ballot(warp::FULL, is_wanted);
                        if below + lanes.count_ones() > MOST_NODES {
                            return None;
                        }
                        if is_wanted {
                            let to = below + (lanes & warp::lanes_below()).count_ones();
                            let Cell { column, row, .. } = cell;
                            Waiting { index, column, row }.store(next, to);
                        }
                        below += lanes.count_ones();
                        index += is_child as u32;
                        quadrant += 1;
                    }
                }
                first += warp::SIZE;
            }
            warp::sync_warp(warp::FULL);
            waiting = below;
            level += 1;
        }
        let points = warp::reduce(points, |a, b| a + b);
        if points <= MOST_POINTS { Some(runs) } else { None }
    }
}
