//! Points brought together by batches.
//!
//! Each thread takes one piece of the points after the other. Each piece has its own range in every batch, so the order
//! is the same on any number of cores. Consecutive points go to different batches. Written one by one, each would load
//! its line of memory into the cache and evict another. So a piece's points for a batch wait until each column has some
//! full lines, which then go to memory whole and past the caches.

use std::ops::Range;

use gpu_core::{host_memory, parallel};

use super::cells::Numbered;
use crate::Result;

/// Bytes of a line of memory.
const LINE: usize = 64;

/// Points of a batch that are written at a time: a line of the column with the shortest elements. Other columns begin
/// elsewhere in a line, so that up to a line is left.
const WRITTEN: usize = 16;

/// Space for them, and for the elements that were left.
const RING: usize = 2 * WRITTEN;

/// The columns of a tree, batch after batch.
pub(super) struct Columns {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub order: Vec<u32>,
}

/// Brings the points of every batch together, in the order as given, with their indices.
pub(super) fn scatter(points: &Numbered<'_>) -> Result<Columns> {
    let (mut rooms, total) = rooms(&points.counts);
    let mut columns = Columns {
        x: host_memory::with_capacity(total)?,
        y: host_memory::with_capacity(total)?,
        order: host_memory::with_capacity(total)?,
    };
    let to =
        (Target::of(&mut columns.x), Target::of(&mut columns.y), Target::of(&mut columns.order));
    parallel::for_each(&mut rooms, 1, |piece, rooms| {
        let (keys, x, y, first) = points.piece(piece);
        let mut waiting: Vec<Waiting> = rooms.drain(..).map(Waiting::new).collect();
        for (&key, (index, (&x, &y))) in keys.iter().zip((first..).zip(x.iter().zip(y))) {
            if let Some(&batch) = points.of_key.get(usize::from(key)) {
                waiting[usize::from(batch)].put(&to, x, y, index);
            }
        }
        waiting.iter().for_each(|waiting| waiting.finish(&to));
        fence();
    });
    // SAFETY: the ranges cover the columns, and each was filled to its end.
    unsafe {
        columns.x.set_len(total);
        columns.y.set_len(total);
        columns.order.set_len(total);
    }
    Ok(columns)
}

/// Returns the range of each piece in every batch, and the number of all points in the ranges.
fn rooms(counts: &[Vec<usize>]) -> (Vec<Vec<Range<usize>>>, usize) {
    let batches = counts.first().map_or(0, Vec::len);
    let mut rooms: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(batches)).collect();
    let mut end = 0;
    for batch in 0..batches {
        for (rooms, counts) in rooms.iter_mut().zip(counts) {
            let start = end;
            end += counts[batch];
            rooms.push(start..end);
        }
    }
    (rooms, end)
}

/// A column that several pieces are written to.
struct Target<T> {
    start: *mut T,
    len: usize,
    /// How many elements after the beginning of a line it begins.
    skew: usize,
}

// SAFETY: threads write to places of their own.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T: Copy> Target<T> {
    /// Elements of a line.
    const OF_LINE: usize = LINE / size_of::<T>();

    /// The whole capacity of an empty vector.
    fn of(column: &mut Vec<T>) -> Self {
        const {
            assert!(LINE.is_multiple_of(size_of::<T>()) && WRITTEN.is_multiple_of(Self::OF_LINE));
        };
        let (start, len) = (column.as_mut_ptr(), column.capacity());
        Self { start, len, skew: start as usize % LINE / size_of::<T>() }
    }

    /// Where the last line ends that ends at or before a place, or 0.
    fn end_of_line(&self, place: usize) -> usize {
        ((place + self.skew) / Self::OF_LINE * Self::OF_LINE).saturating_sub(self.skew)
    }

    /// Where the element of a place waits: lines of memory are lines there.
    #[inline(always)]
    fn slot(&self, place: usize) -> usize {
        (place + self.skew) % RING
    }

    /// Writes the lines that have become whole with the last [`WRITTEN`] elements before a place; of the first ones what
    /// is in the room.
    ///
    /// # Safety
    /// The caller alone writes to the room, and nobody reads there until all is written.
    #[inline(always)]
    unsafe fn write_lines(&self, ring: &Ring<T>, end: usize, room: &Range<usize>) {
        let end = self.end_of_line(end);
        if end < room.start + WRITTEN {
            // SAFETY: passed on to the caller.
            return unsafe { self.write(ring, room.start..end, room) };
        }
        assert!(end <= room.end && room.end <= self.len);
        for first in (end - WRITTEN..end).step_by(Self::OF_LINE) {
            let slot = self.slot(first);
            // SAFETY: the line lies in `room`, which is in the column and the caller's. It begins where a line of
            // memory does, since the end of a line is the beginning of another. It is whole in the ring for the same
            // reason.
            unsafe { write_past_caches(ring.0.as_ptr().add(slot), self.start.add(first)) };
        }
    }

    /// Writes some elements.
    ///
    /// # Safety
    /// As [`Target::write_lines`].
    unsafe fn write(&self, ring: &Ring<T>, places: Range<usize>, room: &Range<usize>) {
        assert!(room.start <= places.start && places.end <= room.end && room.end <= self.len);
        for place in places {
            // SAFETY: the place is in the room, which is in the column and the caller's.
            unsafe { self.start.add(place).write(ring.0[self.slot(place)]) };
        }
    }
}

type Targets = (Target<f64>, Target<f64>, Target<u32>);

/// Elements that wait to be written.
#[repr(align(64))]
struct Ring<T>([T; RING]);

/// A piece's points for a batch that were not written yet.
struct Waiting {
    x: Ring<f64>,
    y: Ring<f64>,
    order: Ring<u32>,
    /// Where the next point goes.
    next: usize,
    room: Range<usize>,
}

impl Waiting {
    fn new(room: Range<usize>) -> Self {
        let (x, y, order) = (Ring([0.0; RING]), Ring([0.0; RING]), Ring([0; RING]));
        Self { x, y, order, next: room.start, room }
    }

    #[inline(always)]
    fn put(&mut self, to: &Targets, x: f64, y: f64, index: u32) {
        self.x.0[to.0.slot(self.next)] = x;
        self.y.0[to.1.slot(self.next)] = y;
        self.order.0[to.2.slot(self.next)] = index;
        self.next += 1;
        if self.next.is_multiple_of(WRITTEN) {
            self.write_lines(to);
        }
    }

    #[inline(never)]
    fn write_lines(&self, (x, y, order): &Targets) {
        // SAFETY: each piece has its own range in every batch, and only this value has it.
        unsafe {
            x.write_lines(&self.x, self.next, &self.room);
            y.write_lines(&self.y, self.next, &self.room);
            order.write_lines(&self.order, self.next, &self.room);
        }
    }

    /// Writes what is left.
    fn finish(&self, (x, y, order): &Targets) {
        let Self { next, room, .. } = self;
        assert_eq!(*next, room.end, "as many as were counted");
        let written = next - next % WRITTEN;
        // SAFETY: as above.
        unsafe {
            x.write(&self.x, room.start.max(x.end_of_line(written))..*next, room);
            y.write(&self.y, room.start.max(y.end_of_line(written))..*next, room);
            order.write(&self.order, room.start.max(order.end_of_line(written))..*next, room);
        }
    }
}

/// Writes a line of memory that is not read soon.
///
/// # Safety
/// The line from `from` on may be read, and that from `to` on written, which begins where a line of memory does.
#[inline(always)]
unsafe fn write_past_caches<T>(from: *const T, to: *mut T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
        for part in 0..LINE / size_of::<__m128i>() {
            // SAFETY: passed on to the caller; all of these processors have the instructions. Before another thread reads
            // it there is a fence.
            unsafe { _mm_stream_si128(to.add(part), _mm_loadu_si128(from.add(part))) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: passed on to the caller.
    unsafe {
        to.copy_from_nonoverlapping(from, LINE / size_of::<T>())
    };
}

/// Orders what went past the caches before what this thread writes from now on.
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: all of these processors have the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

#[cfg(test)]
mod tests {
    use gpu_core::{Bounds, Points};

    use super::super::cells::{self, Keys};
    use super::*;
    use crate::{Outside, Params};

    const COUNT: usize = 150_001;

    /// Points of several pieces, denser and denser towards a corner.
    fn column(axis: u64) -> Vec<f64> {
        let unit = |i: u64| {
            let mixed = (2 * i + axis).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11
        };
        (0..COUNT as u64).map(|i| (unit(i) as f64 * 0.5_f64.powi(53)).powi(4)).collect()
    }

    #[test]
    fn points_of_a_batch_come_together_in_the_order_as_given() {
        let (x, y) = (column(0), column(1));
        let bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 0.5, max_y: 0.9 };
        let all = Bounds { max_x: 1.0, max_y: 1.0, ..bounds };
        for (params, capacity) in [
            (Params::new().bounds(all), 700),
            (Params::new().bounds(all), 70_000),
            (Params::new().bounds(all).max_level(3), 100),
            (Params::new().bounds(bounds).outside(Outside::Skip), 3000),
        ] {
            let (frame, _) = params.frame(all).unwrap();
            let (keys, _) = Keys::of(Points::new(&x, &y), &frame, &params).unwrap();
            let batches =
                cells::batches(&keys.cells(capacity / 4, &gpu_core::Silent).unwrap(), capacity);
            let columns = scatter(&keys.numbered(&batches)).unwrap();
            // A stable sort by batch, of the definition: the last one that begins at the point's code or before.
            let is_kept =
                |&i: &usize| params.outside == Outside::Refuse || x[i] <= 0.5 && y[i] <= 0.9;
            let mut wanted: Vec<usize> = (0..COUNT).filter(is_kept).collect();
            let starts: Vec<u64> = batches.iter().map(|batch| batch.start(frame.level)).collect();
            let batch =
                |i: usize| starts.iter().rposition(|&start| start <= frame.code(x[i], y[i]));
            wanted.sort_by_cached_key(|&i| batch(i));
            assert!(columns.order.iter().map(|&i| i as usize).eq(wanted.iter().copied()));
            assert!(columns.x.iter().eq(wanted.iter().map(|&i| &x[i])), "{params:?}");
            assert!(columns.y.iter().eq(wanted.iter().map(|&i| &y[i])), "{params:?}");
            let mut rest = &wanted[..];
            for (number, of_batch) in batches.iter().enumerate() {
                let (first, after) = rest.split_at(of_batch.points as usize);
                assert!(first.iter().all(|&i| batch(i) == Some(number)), "{params:?}");
                rest = after;
            }
            assert!(rest.is_empty() && batches.len() > 1);
        }
    }
}
