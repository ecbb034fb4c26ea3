//! The thesis's sort (Gluck 2014, Fast GPGPU Based Quadtree Construction). On each level, a stable counting sort moves
//! the points of each node above the threshold into its four quadrants.
//!
//! Points move from one pair of arrays (codes and indices) into another, and back at the next level. Several blocks
//! share a large node, and each has a piece of it. They count the points of each quadrant ([`mod@count_pieces`]: tag
//! and reduce). Then a block turns the counts of a node's pieces into places ([`offset_pieces`](const@offset_pieces)),
//! and at last every piece is written ([`mod@scatter_pieces`]). A warp does all of this for a small node
//! ([`mod@divide_small`]). Only the device knows how many nodes a level has. So all grids are of any size, and their
//! blocks take turns.
//!
//! The order of the large nodes on the list is up to chance, but nothing depends on it: places come from the nodes.

use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, arguments, kernel, search, thread, warp};

#[cfg(not(target_arch = "nvptx64"))]
use super::MODULE;
use super::codes::Code;
use super::node::{Node, Words};
use super::resort::Moved;

/// Threads of a block.
pub const BLOCK: usize = 256;

/// Warps of a block.
const WARPS: u32 = BLOCK as u32 / 32;

/// Points that a thread has of a block's piece.
const ROUNDS: usize = 8;

/// Points of a piece.
pub const PIECE: u32 = (BLOCK * ROUNDS) as u32;

/// The most points of a node that a warp divides.
pub const SMALL: u32 = 1024;

/// Lists the large nodes of a level. `listed[level]`, which is 0 before, gets the number of their pieces (bits 0 to 31)
/// and their own number (bits 32 to 63). `large` gets their indices among the nodes, and `firsts` each one's first
/// piece. Grid: any number of blocks.
///
/// # Safety
/// `nodes` and `starts` are those that `divide` has made down to this level. `large` and `firsts` have an element for
/// each large node.
#[kernel(block = BLOCK)]
pub unsafe fn list_large(
    nodes: In<'_, Words>,
    starts: In<'_, u64>,
    level: u32,
    threshold: u64,
    listed: Out<'_, u64>,
    large: Out<'_, u32>,
    firsts: Out<'_, u32>,
) {
    let (first, end) = (starts.get(level), starts.get(level as usize + 1));
    let mut index = first + thread::index_1d();
    while index < end {
        let count = Node::load(nodes, index).count;
        if count > u64::max(threshold, SMALL as u64) {
            let pieces = count.div_ceil(PIECE as u64);
            let before = listed.fetch_add(level, 1 << 32 | pieces);
            large.set(before >> 32, index as u32);
            firsts.set(before >> 32, before as u32);
        }
        index += thread::grid_dim_x() as u64 * BLOCK as u64;
    }
}

/// The large nodes of a level, as [`list_large`](const@list_large) has listed them.
#[arguments]
pub struct Large<'a> {
    /// For each level the numbers of nodes and of their pieces.
    pub listed: In<'a, u64>,
    /// The nodes' places among all.
    pub large: In<'a, u32>,
    /// Each one's first piece.
    pub firsts: In<'a, u32>,
}

impl Large<'_> {
    /// How many pieces there are, and how many nodes.
    #[inline(always)]
    fn counts(&self, level: u32) -> (u64, u64) {
        let listed = self.listed.get(level);
        (listed & 0xffff_ffff, listed >> 32)
    }
}

/// Where a piece of a node lies.
struct Piece {
    node: Node,
    /// Its first point.
    start: u64,
    /// Its points.
    len: u32,
}

impl Piece {
    /// Piece `piece` of a level's list; the list has `count` nodes, and more pieces than `piece`.
    #[inline(always)]
    fn find(nodes: In<Words>, large: Large, count: u64, piece: u64) -> Self {
        let holds = |i: u64| large.firsts.get(i) as u64 <= piece;
        let which = search::last(0, count - 1, holds);
        let node = Node::load(nodes, large.large.get(which) as u64);
        let before = (piece - large.firsts.get(which) as u64) * PIECE as u64;
        let len = u64::min(node.count - before, PIECE as u64) as u32;
        Self { start: node.start + before, node, len }
    }

    /// The place, in the piece, of the lane's point of a round: each warp has a part of the piece.
    #[inline(always)]
    fn place(round: usize) -> u32 {
        let warp = thread::thread_idx_x() / 32;
        warp * (32 * ROUNDS as u32) + round as u32 * 32 + warp::lane_id()
    }
}

/// The lanes whose point lies in each quadrant.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn lanes_of(has: bool, quadrant: u32) -> [u32; 4] {
    // SAFETY: the whole warp is here, by the caller's promise.
    let (some, east, north) = unsafe {
        (
            warp::ballot(warp::FULL, has),
            warp::ballot(warp::FULL, has && quadrant & 1 != 0),
            warp::ballot(warp::FULL, has && quadrant & 2 != 0),
        )
    };
    [some & !east & !north, east & !north, north & !east, east & north]
}

/// The element of a quadrant, by comparisons: an index would need memory with addresses.
#[inline(always)]
fn of<T: Copy>([a, b, c, d]: [T; 4], quadrant: u32) -> T {
    let (south, north) =
        (if quadrant & 1 == 0 { a } else { b }, if quadrant & 1 == 0 { c } else { d });
    if quadrant & 2 == 0 { south } else { north }
}

/// Adds the number of each quadrant's lanes.
#[inline(always)]
fn add(counts: &mut [u32; 4], lanes: [u32; 4]) {
    let mut quadrant = 0;
    while quadrant < 4 {
        counts[quadrant] += lanes[quadrant].count_ones();
        quadrant += 1;
    }
}

/// How many points of each quadrant the warp has in its part of a piece, and in `own` the quadrant of the lane's point
/// of each round.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn count_of_warp<K: Code>(
    codes: In<K>,
    piece: &Piece,
    shift: u32,
) -> ([u32; 4], [K; ROUNDS]) {
    let (mut counts, mut own) = ([0; 4], [K::ZERO; ROUNDS]);
    let mut round = 0;
    while round < ROUNDS {
        let place = Piece::place(round);
        let has = place < piece.len;
        if has {
            own[round] = codes.get(piece.start + place as u64);
        }
        // SAFETY: the whole warp is here.
        add(&mut counts, unsafe { lanes_of(has, own[round].quadrant(shift)) });
        round += 1;
    }
    (counts, own)
}

/// The points of each quadrant in each piece: `counts[4 * piece + quadrant]`. Grid: any number of blocks.
///
/// # Safety
/// As for [`list_large`](const@list_large), which has run; `counts` has four elements for each piece.
#[kernel(
    block = BLOCK,
    carve = |carver| carver.array::<u32>(4 * WARPS),
    instances(u32: <u32>; u64: <u64>)
)]
pub unsafe fn count_pieces<K: Code>(
    codes: In<'_, K>,
    nodes: In<'_, Words>,
    level: u32,
    shift: u32,
    large: Large<'_>,
    counts: Out<'_, u32>,
) {
    let of_warps: SharedArray<u32> = Carver::new().array(4 * WARPS);
    let me = thread::thread_idx_x();
    // SAFETY: the loop turns equally often in all threads of the block; barriers stand between writes to shared memory
    // and the reads by others.
    unsafe {
        let (pieces, count) = large.counts(level);
        let mut piece = thread::block_idx_x() as u64;
        while piece < pieces {
            let found = Piece::find(nodes, large, count, piece);
            let (mine, _) = count_of_warp(codes, &found, shift);
            if warp::lane_id() < 4 {
                of_warps.store(4 * warp::warp_id() + warp::lane_id(), of(mine, warp::lane_id()));
            }
            thread::sync_threads();
            if me < 4 {
                let (mut sum, mut warp) = (0, 0);
                while warp < WARPS {
                    sum += of_warps.load(4 * warp + me);
                    warp += 1;
                }
                counts.set(4 * piece as usize + me as usize, sum);
            }
            thread::sync_threads();
            piece += thread::grid_dim_x() as u64;
        }
    }
}

/// Turns the counts of each large node's pieces into places among the node's points: where the first point of each
/// quadrant in each piece goes. Grid: any number of blocks; each warp takes nodes.
///
/// # Safety
/// As for [`mod@count_pieces`], which has run.
#[kernel(block = BLOCK)]
pub unsafe fn offset_pieces(
    nodes: In<'_, Words>,
    level: u32,
    large: Large<'_>,
    counts: Out<'_, u32>,
) {
    let lane = warp::lane_id() as u64;
    // SAFETY: the lanes of a warp take the same branches.
    unsafe {
        let (_, count) = large.counts(level);
        let mut which = thread::index_1d() / 32;
        while which < count {
            let node = Node::load(nodes, large.large.get(which) as u64);
            let first = large.firsts.get(which) as u64;
            let pieces = node.count.div_ceil(PIECE as u64);
            let (mut before, mut quadrant) = (0, 0);
            while quadrant < 4 {
                let mut piece = 0;
                while piece < pieces {
                    let has = piece + lane < pieces;
                    let place = 4 * (first + piece + lane) + quadrant;
                    let own = if has { counts.get(place) } else { 0 };
                    let up_to = warp::inclusive_scan(own, |a: u32, b: u32| a + b);
                    if has {
                        counts.set(place, before + up_to - own);
                    }
                    before += warp::shuffle(warp::FULL, up_to, 31);
                    piece += 32;
                }
                quadrant += 1;
            }
            which += thread::grid_dim_x() as u64 * WARPS as u64;
        }
    }
}

/// Writes the points of each piece to their quadrants' places. Grid: any number of blocks.
///
/// # Safety
/// As for [`offset_pieces`](const@offset_pieces), which has run. The points are as [`Moved`] says, as many as the tree
/// has.
#[kernel(
    block = BLOCK,
    carve = |carver| carver.array::<u32>(4 * WARPS),
    instances(u32: <u32>; u64: <u64>)
)]
pub unsafe fn scatter_pieces<K: Code>(
    points: Moved<'_, K>,
    nodes: In<'_, Words>,
    level: u32,
    shift: u32,
    large: Large<'_>,
    offsets: In<'_, u32>,
) {
    let of_warps: SharedArray<u32> = Carver::new().array(4 * WARPS);
    let (me, warp) = (thread::thread_idx_x(), warp::warp_id());
    // SAFETY: the loop turns equally often in all threads of the block; barriers stand between writes to shared memory
    // and the reads by others.
    unsafe {
        let (pieces, count) = large.counts(level);
        let mut piece = thread::block_idx_x() as u64;
        while piece < pieces {
            let found = Piece::find(nodes, large, count, piece);
            let (mine, own) = count_of_warp(points.codes, &found, shift);
            if warp::lane_id() < 4 {
                of_warps.store(4 * warp + warp::lane_id(), of(mine, warp::lane_id()));
            }
            thread::sync_threads();
            // A thread for each quadrant turns the warps' counts into places.
            if me < 4 {
                let mut before = offsets.get(4 * piece as usize + me as usize);
                let mut warp = 0;
                while warp < WARPS {
                    let count = of_warps.load(4 * warp + me);
                    of_warps.store(4 * warp + me, before);
                    before += count;
                    warp += 1;
                }
            }
            thread::sync_threads();
            let mut places = [0; 4];
            let mut quadrant = 0;
            while quadrant < 4 {
                places[quadrant as usize] = of_warps.load(4 * warp + quadrant);
                quadrant += 1;
            }
            let mut round = 0;
            while round < ROUNDS {
                let place = Piece::place(round);
                let has = place < found.len;
                let quadrant = own[round].quadrant(shift);
                let lanes = lanes_of(has, quadrant);
                if has {
                    let below = (of(lanes, quadrant) & warp::lanes_below()).count_ones();
                    let to = found.node.start + (of(places, quadrant) + below) as u64;
                    points.put(own[round], found.start + place as u64, to);
                }
                add(&mut places, lanes);
                round += 1;
            }
            thread::sync_threads();
            piece += thread::grid_dim_x() as u64;
        }
    }
}

/// Divides the small nodes of a level, a warp each: it counts, and then writes. Grid: any number of blocks.
///
/// # Safety
/// `nodes` and `starts` are those that `divide` has made down to this level. The rest is as for
/// [`mod@scatter_pieces`].
#[kernel(block = BLOCK, instances(u32: <u32>; u64: <u64>))]
pub unsafe fn divide_small<K: Code>(
    points: Moved<'_, K>,
    nodes: In<'_, Words>,
    starts: In<'_, u64>,
    level: u32,
    shift: u32,
    threshold: u64,
) {
    let (first, end) = (starts.get(level), starts.get(level as usize + 1));
    let mut index = first + thread::index_1d() / 32;
    while index < end {
        let node = Node::load(nodes, index);
        if node.count > threshold && node.count <= SMALL as u64 {
            // SAFETY: the lanes of a warp take the same branches.
            unsafe { divide_by_warp(&points, &node, shift) };
        }
        index += thread::grid_dim_x() as u64 * WARPS as u64;
    }
}

/// Divides a node.
///
/// # Safety
/// The whole warp comes here.
#[inline(always)]
unsafe fn divide_by_warp<K: Code>(points: &Moved<K>, node: &Node, shift: u32) {
    let (lane, count) = (warp::lane_id(), node.count as u32);
    // SAFETY: the whole warp is here.
    unsafe {
        let load = |i: u32| match i < count {
            true => points.codes.get(node.start + i as u64),
            false => K::ZERO,
        };
        let (mut counts, mut i) = ([0; 4], lane);
        while i - lane < count {
            add(&mut counts, lanes_of(i < count, load(i).quadrant(shift)));
            i += 32;
        }
        let [a, b, c, _] = counts;
        let mut places = [0, a, a + b, a + b + c];
        let mut i = lane;
        while i - lane < count {
            let code = load(i);
            let quadrant = code.quadrant(shift);
            let lanes = lanes_of(i < count, quadrant);
            if i < count {
                let below = (of(lanes, quadrant) & warp::lanes_below()).count_ones();
                let to = node.start + (of(places, quadrant) + below) as u64;
                points.put(code, node.start + i as u64, to);
            }
            add(&mut places, lanes);
            i += 32;
        }
    }
}
