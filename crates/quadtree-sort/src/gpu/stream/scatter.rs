//! Points brought together by batches.
//!
//! Each thread takes a piece of the points after the other, and each piece has its room in every batch, so that the order
//! is the same on any number of cores. A point after another goes to another batch; written one by one, each would bring
//! its line of memory into the cache and push another out. So what a piece has for a batch waits until it is a line of
//! each column, which then goes to memory whole and past the caches.

use std::ops::Range;

use gpu_core::host_memory;
use rayon::prelude::*;

use super::cells::Numbered;
use crate::Result;

/// Bytes of a line of memory.
const LINE: usize = 64;

/// The columns of a tree, batch after batch.
pub(super) struct Columns {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub order: Vec<u32>,
}

/// Brings the points of every batch together, in the order as given, with their indices.
pub(super) fn scatter(points: &Numbered<'_>) -> Result<Columns> {
    let (rooms, total) = rooms(&points.counts);
    let mut columns = Columns {
        x: host_memory::with_capacity(total)?,
        y: host_memory::with_capacity(total)?,
        order: host_memory::with_capacity(total)?,
    };
    let to =
        (Target::of(&mut columns.x), Target::of(&mut columns.y), Target::of(&mut columns.order));
    points.pieces().zip(rooms).for_each(|((keys, x, y, first), rooms)| {
        let mut waiting: Vec<Waiting> = rooms.into_iter().map(Waiting::new).collect();
        for (&key, (index, (&x, &y))) in keys.iter().zip((first..).zip(x.iter().zip(y))) {
            if let Some(&batch) = points.of_key.get(usize::from(key)) {
                waiting[usize::from(batch)].put(&to, x, y, index);
            }
        }
        waiting.iter().for_each(|waiting| waiting.finish(&to));
        fence();
    });
    // SAFETY: the rooms are the whole of the columns, and each was filled to its end.
    unsafe {
        columns.x.set_len(total);
        columns.y.set_len(total);
        columns.order.set_len(total);
    }
    Ok(columns)
}

/// The rooms of each piece in every batch, and the number of all points in them.
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
    /// All the room of a vector that is empty.
    fn of(column: &mut Vec<T>) -> Self {
        let (start, len) = (column.as_mut_ptr(), column.capacity());
        Self { start, len, skew: start as usize % LINE / size_of::<T>() }
    }

    /// Notes the element of a place in a line. A line that it is the last of is written, or of the first one what is in the
    /// room.
    ///
    /// # Safety
    /// The caller alone writes to the room, and nobody reads there until all is written.
    #[inline(always)]
    unsafe fn put<const N: usize>(
        &self,
        line: &mut [T; N],
        place: usize,
        room: &Range<usize>,
        element: T,
    ) {
        const { assert!(N * size_of::<T>() == LINE) };
        let at = (place + self.skew) % N;
        line[at] = element;
        if at < N - 1 {
            return;
        }
        // SAFETY: passed on to the caller.
        match place + 1 >= room.start + N {
            true => unsafe { self.write_whole(line, place + 1 - N, room) },
            false => unsafe { self.write(line, place + 1, room) },
        }
    }

    /// Writes a line.
    ///
    /// # Safety
    /// As [`Target::put`].
    unsafe fn write_whole<const N: usize>(&self, line: &[T; N], first: usize, room: &Range<usize>) {
        assert!(room.start <= first && first + N <= room.end && room.end <= self.len);
        // SAFETY: the line lies in the room, which is in the column and the caller's; it begins where one of memory does,
        // which the skew is for.
        unsafe { write_past_caches(line, self.start.add(first)) };
    }

    /// Writes what is in the room of the last line before a place.
    ///
    /// # Safety
    /// As [`Target::put`].
    unsafe fn write<const N: usize>(&self, line: &[T; N], end: usize, room: &Range<usize>) {
        assert!(end <= room.end && room.end <= self.len);
        let of_line = (end + self.skew).div_ceil(N).max(1) * N - N;
        for place in room.start.max(of_line.saturating_sub(self.skew))..end {
            // SAFETY: the place is in the room, which is in the column and the caller's.
            unsafe { self.start.add(place).write(line[(place + self.skew) % N]) };
        }
    }
}

type Targets = (Target<f64>, Target<f64>, Target<u32>);

/// What a piece has for a batch: a line of each column, as far as it goes.
#[repr(C, align(64))]
struct Waiting {
    x: [f64; 8],
    y: [f64; 8],
    order: [u32; 16],
    /// Where the next point goes.
    next: usize,
    room: Range<usize>,
}

impl Waiting {
    fn new(room: Range<usize>) -> Self {
        Self { x: [0.0; 8], y: [0.0; 8], order: [0; 16], next: room.start, room }
    }

    #[inline(always)]
    fn put(&mut self, (to_x, to_y, to_order): &Targets, x: f64, y: f64, index: u32) {
        let Self { next, room, .. } = self;
        // SAFETY: each piece has its own room in every batch, and this value is the one that has it.
        unsafe {
            to_x.put(&mut self.x, *next, room, x);
            to_y.put(&mut self.y, *next, room, y);
            to_order.put(&mut self.order, *next, room, index);
        }
        *next += 1;
    }

    /// Writes what is left.
    fn finish(&self, (x, y, order): &Targets) {
        assert_eq!(self.next, self.room.end, "as many as were counted");
        // SAFETY: as above.
        unsafe {
            x.write(&self.x, self.next, &self.room);
            y.write(&self.y, self.next, &self.room);
            order.write(&self.order, self.next, &self.room);
        }
    }
}

/// Writes a line of memory that is not read soon.
///
/// # Safety
/// The line from `to` on may be written, and begins where a line of memory does.
#[inline(always)]
unsafe fn write_past_caches<T: Copy, const N: usize>(line: &[T; N], to: *mut T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let (from, to) = (line.as_ptr().cast::<__m128i>(), to.cast::<__m128i>());
        for part in 0..LINE / size_of::<__m128i>() {
            // SAFETY: both are lines, the second begins where one of memory does; all of these processors have the
            // instructions. Before another thread reads it there is a fence.
            unsafe { _mm_stream_si128(to.add(part), _mm_loadu_si128(from.add(part))) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: passed on to the caller.
    unsafe {
        to.copy_from_nonoverlapping(line.as_ptr(), N)
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
