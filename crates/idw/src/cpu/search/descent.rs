//! The neighbours of sixteen targets side by side, in the k-d tree. Searches use it where cells are slow: it takes
//! points of any density, and targets at any distance from them.
//!
//! Plan: all targets go down together, to the leaves nearest to the middle of the patch first. A node is skipped if for
//! every target it is farther than the last entry of that target's list. Each point of a leaf gets a key, and the lists
//! keep the least keys (`min_lists`). A point is a candidate if any target may want it, so a later step can choose
//! between points that the lists do not tell apart. The search guesses no radius, so no guess can be wrong.
//!
//! If targets are far from each other compared with the points, the points on the way from the middle to a target come
//! nearer and nearer to it. The search would visit them all. Such a patch begins with a few points near to each of its
//! targets.
#![expect(clippy::needless_range_loop, reason = "as loops over lanes they become vectors")]

use crate::cpu::index::Index;
use crate::cpu::search::candidates::{MOST, Seen, greatest, renumbered};
use crate::cpu::search::diagonal::Diagonal;
use crate::cpu::search::kd_tree::{Halves, Node, Point, beyond};
use crate::cpu::search::min_lists::{LANES, Row, merge};
use crate::cpu::search::patch::{Lanes, Patch};
use crate::cpu::search::together::Together;
use crate::search::Search;

/// Points whose keys are made before they are brought into the lists.
const BLOCK: usize = 16;

/// The tree and the parameters of a search.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'a, 'b> {
    pub index: &'a Index<'b>,
    pub tree: &'a Halves,
    pub search: &'a Search,
}

/// How far each target of a patch still searches.
struct Wants {
    /// The square of the distance that counts.
    most: f64,
    /// The greatest square that may come into its list: by the last entry that is wanted.
    last: Row,
    /// The distance that counts and may come into its list.
    reach: Row,
}

impl Together {
    /// Searches the tree for the neighbours of a patch; false where the candidates are too many. Operations are the
    /// same on every processor: wider instructions change no bit.
    pub fn descend(&mut self, sought: Sought, patch: &Patch) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f")]
            fn widest(together: &mut Together, sought: Sought, patch: &Patch) -> bool {
                together.go_down(sought, patch)
            }
            #[target_feature(enable = "avx2")]
            fn wide(together: &mut Together, sought: Sought, patch: &Patch) -> bool {
                together.go_down(sought, patch)
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: a check has found these instructions on the processor.
                return unsafe { widest(self, sought, patch) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: as above.
                return unsafe { wide(self, sought, patch) };
            }
        }
        self.go_down(sought, patch)
    }

    #[inline(always)]
    fn go_down(&mut self, sought: Sought, patch: &Patch) -> bool {
        let Sought { tree, search, .. } = sought;
        self.begin(patch.lanes, search);
        let mut wants = Wants::of(search);
        let first = firsts(sought, patch);
        let first = first.as_ref().map_or(&[][..], |first| &first[..]);
        // The first points in one place are enough, and one more for those that are left out.
        let of_place = search.max_points as usize + 1;
        for (i, &node) in first.iter().enumerate() {
            let is_again = i > 0 && first[i - 1] == node;
            let points = tree.points_of(tree.node(node), of_place);
            if !is_again && !self.look_at(points, sought, &mut wants) {
                return false;
            }
        }
        let ellipse = search.ellipse.map(|ellipse| (ellipse, patch.lanes.bounds()));
        self.way.start(tree);
        while let Some((at, node)) = self.way.next(tree) {
            let misses = ellipse.is_some_and(|(ellipse, bounds)| node.misses(&ellipse, bounds));
            if misses || !wants.any_of(node, &self.lanes) || first.contains(&at) {
                continue;
            }
            if !node.is_leaf() {
                self.way.open(tree, (at, node), patch.middle.at);
            } else if !self.look_at(tree.points_of(node, of_place), sought, &mut wants) {
                return false;
            }
        }
        true
    }

    /// Compares points with the lists; false if the candidates become too many.
    #[inline(always)]
    fn look_at(&mut self, points: &[Point], sought: Sought, wants: &mut Wants) -> bool {
        self.way.looks += points.len() as u64;
        for points in points.chunks(BLOCK) {
            if self.candidates.count + BLOCK > MOST {
                self.thin_out(sought, wants);
                if self.candidates.count > MOST / 2 {
                    return false;
                }
            }
            self.candidates.put(points);
            self.bring((self.candidates.count, points.len()), sought, wants);
        }
        true
    }

    /// Leaves the candidates that no target wants any more.
    fn thin_out(&mut self, sought: Sought, wants: &mut Wants) {
        let count = self.candidates.count;
        self.begin(self.lanes, sought.search);
        for first in (0..count).step_by(BLOCK) {
            self.bring((first, BLOCK.min(count - first)), sought, wants);
        }
    }

    /// Adds a few points to the lists, and makes candidates of those that any target wants. The points lie in the
    /// candidates' array behind those that count.
    #[inline(always)]
    fn bring(&mut self, (first, len): (usize, usize), sought: Sought, wants: &mut Wants) {
        let Self { candidates, lanes, lists, .. } = self;
        let (search, order) = (sought.search, &sought.index.order[..]);
        let mut kept = [[0.0; LANES]; BLOCK];
        let mut rows = [[0.0; LANES]; BLOCK];
        Seen { candidates, lanes, search, order }.make_keys(first, &mut rows[..len]);
        let before = candidates.count;
        for (place, row) in (first..).zip(&rows[..len]) {
            let mut is_wanted = false;
            for lane in 0..LANES {
                is_wanted |= row[lane] <= wants.last[lane] && row[lane] < f64::INFINITY;
            }
            if is_wanted {
                kept[candidates.count - before] = renumbered(row, candidates.count);
                candidates.copy(place, candidates.count);
                candidates.count += 1;
            }
        }
        if candidates.count > before {
            merge(&kept[..candidates.count - before], lists);
            wants.tell(&lists[search.max_points as usize - 1]);
        }
    }
}

/// The nodes that a patch visits first, in their order. These are the nodes around its targets, if the targets are far
/// apart compared with the points.
#[inline(always)]
fn firsts(sought: Sought, patch: &Patch) -> Option<[u32; LANES]> {
    let Sought { tree, search, .. } = sought;
    let level = tree.level_with(search.max_points as usize);
    let around = tree.node(tree.nearest_at(level, patch.middle.at));
    let mut widest = 0.0;
    for lane in 0..LANES {
        widest = if patch.apart[lane] > widest { patch.apart[lane] } else { widest };
    }
    if widest * widest < around.square() {
        return None;
    }
    let [x, y, z] = &patch.lanes.at;
    let mut first = [0; LANES];
    for lane in 0..LANES {
        first[lane] = tree.nearest_at(level, [x[lane], y[lane], z[lane]]);
    }
    first.sort_unstable();
    Some(first)
}

impl Wants {
    fn of(search: &Search) -> Self {
        let (last, reach) = ([f64::INFINITY; LANES], [search.reach; LANES]);
        Self { most: search.reach * search.reach, last, reach }
    }

    /// Updates the reach from the last wanted entries. While lists are made anew, these entries may be greater for a
    /// while.
    #[inline(always)]
    fn tell(&mut self, last: &Row) {
        for lane in 0..LANES {
            let far = if last[lane] < f64::INFINITY { greatest(last[lane]) } else { last[lane] };
            self.last[lane] = if far < self.last[lane] { far } else { self.last[lane] };
            let far = self.last[lane];
            self.reach[lane] = if far < self.most { far } else { self.most }.sqrt();
        }
    }

    /// Whether any target may want a point of a node.
    #[inline(always)]
    fn any_of(&self, node: &Node, lanes: &Lanes) -> bool {
        let mut is_any = false;
        for lane in 0..LANES {
            let away = |axis: usize| beyond(node.low[axis], node.high[axis], lanes.at[axis][lane]);
            let [dx, dy, dz] = [away(0), away(1), away(2)];
            let squared = dx * dx + dy * dy + dz * dz;
            is_any |= squared <= self.last[lane] && squared <= self.most;
        }
        is_any && node.diagonal().is_none_or(|diagonal| self.any_along(&diagonal, lanes))
    }

    /// Whether any target may want a point near a diagonal.
    #[inline(always)]
    fn any_along(&self, diagonal: &Diagonal, lanes: &Lanes) -> bool {
        let mut is_any = false;
        for lane in 0..LANES {
            let [x, y, z] = &lanes.at;
            let squared = diagonal.squared([x[lane], y[lane], z[lane]]);
            is_any |= !diagonal.is_beyond(squared, self.reach[lane]);
        }
        is_any
    }
}
