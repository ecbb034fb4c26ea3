//! The index of a Cloud Optimised Point Cloud (COPC 1.0, copc.io): which chunks of a LAZ file lie where.
//!
//! The points of such a file are in the nodes of an octree; each node is a chunk of the file. A record behind the
//! header states the root's cube. Pages of entries of 32 bytes state each node's key (level, x, y, z), and its place in
//! the file and its points, or the place of another page.

use gpu_core::Bounds;

use crate::points::chunk::{Chunk, holds, spread};
use crate::source::Source;

/// Bytes of the record that states the root and its page of entries.
const INFO: usize = 160;

/// The most nodes of which a sample checks whether they hold their first points.
const SAMPLE: u64 = 1024;

/// Bytes of an entry of a page.
const ENTRY: usize = 32;

/// The record behind the header that makes a LAZ file a COPC.
pub(crate) struct Info {
    centre: [f64; 2],
    half_size: f64,
    root: (u64, u64),
}

impl Info {
    /// Parses the record; `None` if its bytes cannot be such a record.
    pub fn of(record: &[u8]) -> Option<Self> {
        let words = record.get(..INFO)?.as_chunks::<8>().0;
        let float = |i: usize| f64::from_le_bytes(words[i]);
        let whole = |i: usize| u64::from_le_bytes(words[i]);
        let info =
            Self { centre: [float(0), float(1)], half_size: float(3), root: (whole(5), whole(6)) };
        let finite = info.centre.iter().all(|c| c.is_finite()) && info.half_size.is_finite();
        (finite && info.half_size > 0.0).then_some(info)
    }

    /// Returns the chunks of the nodes that may have points within some bounds, in the order of the file.
    ///
    /// `None` means that the pages contradict the file, which has `size` bytes and `points` points, or that a node's
    /// cube does not hold its first point. `place` returns the first point of the chunk that starts at a position, if
    /// it is known. It checks only a sample of the nodes. `steps` are those of x and y in the file's records.
    pub fn chunks_within(
        &self,
        file: &mut Source,
        (size, points): (u64, u64),
        (bounds, steps): (&Bounds, [f64; 2]),
        place: &dyn Fn(u64) -> Option<[f64; 2]>,
    ) -> Option<Vec<Chunk>> {
        let fits =
            |offset: u64, bytes: u64| offset.checked_add(bytes).is_some_and(|end| end <= size);
        let (mut found, mut total, mut read) = (Vec::new(), 0_u64, 0_u64);
        let mut nodes = Vec::new();
        let mut pages = vec![self.root];
        while let Some((offset, bytes)) = pages.pop() {
            // Pages that lead in a circle would pass the file's length in sum.
            read = read.checked_add(bytes)?;
            if !fits(offset, bytes) || read > size || bytes % ENTRY as u64 != 0 {
                return None;
            }
            let page = file.read_at(offset, bytes).ok()?;
            for entry in page.as_chunks::<ENTRY>().0 {
                let word = |i: usize| i32::from_le_bytes([0, 1, 2, 3].map(|b| entry[i + b]));
                let offset = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|b| entry[16 + b]));
                let bytes = u64::try_from(word(24)).ok()?;
                let key = [word(0), word(4), word(8)];
                let square = self.square(key, steps);
                if word(28) > 0 && fits(offset, bytes) {
                    nodes.push((offset, square));
                }
                if !touch(&square, bounds) {
                    continue;
                }
                match word(28) {
                    -1 => pages.push((offset, bytes)),
                    0 => {}
                    count => {
                        let points = u64::try_from(count).ok()?;
                        total += points;
                        found.push(Chunk { offset, bytes, points, square: Some(square) });
                    }
                }
            }
        }
        for i in spread(0..nodes.len() as u64, SAMPLE) {
            let (offset, square) = nodes[i as usize];
            if place(offset).is_some_and(|[x, y]| !holds(&square, x, y)) {
                return None;
            }
        }
        found.sort_unstable_by_key(|chunk| chunk.offset);
        let good = found.iter().all(|c| fits(c.offset, c.bytes));
        let apart = found.windows(2).all(|two| two[0].offset + two[0].bytes <= two[1].offset);
        (good && apart && total <= points).then_some(found)
    }

    /// A node's cube as seen from above, widened by a millionth and by a step of the records. Writers choose a point's
    /// node by its exact place, and round the place afterwards.
    fn square(&self, [level, x, y]: [i32; 3], steps: [f64; 2]) -> Bounds {
        let side = 2.0 * self.half_size / 2f64.powi(level);
        let [slack_x, slack_y] = steps.map(|step| 1e-6 * self.half_size + step);
        let low =
            |axis: usize, key: i32| self.centre[axis] - self.half_size + f64::from(key) * side;
        let (west, south) = (low(0, x), low(1, y));
        Bounds {
            min_x: west - slack_x,
            min_y: south - slack_y,
            max_x: west + side + slack_x,
            max_y: south + side + slack_y,
        }
    }
}

fn touch(a: &Bounds, b: &Bounds) -> bool {
    a.min_x <= b.max_x && a.max_x >= b.min_x && a.min_y <= b.max_y && a.max_y >= b.min_y
}
