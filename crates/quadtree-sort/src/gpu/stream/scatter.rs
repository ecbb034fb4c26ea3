//! Points brought together by batches.

use std::mem::MaybeUninit;

use gpu_core::{Points, host_memory};
use rayon::prelude::*;

use super::cells::{Batch, Keys, LEFT_OUT};
use crate::Result;

/// The columns of a tree, batch after batch.
pub(super) struct Columns {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub order: Vec<u32>,
}

/// Room for those points of a piece that are in one batch.
struct Room<'a> {
    x: &'a mut [MaybeUninit<f64>],
    y: &'a mut [MaybeUninit<f64>],
    order: &'a mut [MaybeUninit<u32>],
    filled: usize,
}

impl Room<'_> {
    fn put(&mut self, x: f64, y: f64, index: u32) {
        self.x[self.filled].write(x);
        self.y[self.filled].write(y);
        self.order[self.filled].write(index);
        self.filled += 1;
    }
}

/// Brings the points of every batch together, in the order as given, with their indices. All cores take a piece of the
/// points after the other; each piece has its room in every batch, so that the order is the same on any number of cores.
pub(super) fn scatter(
    points: Points<'_>,
    keys: &mut Keys<'_>,
    batches: &[Batch],
) -> Result<Columns> {
    let counts = keys.number_batches(batches);
    let total = batches.iter().map(|batch| batch.points as usize).sum();
    let mut columns = Columns {
        x: host_memory::with_capacity(total)?,
        y: host_memory::with_capacity(total)?,
        order: host_memory::with_capacity(total)?,
    };
    let rooms = rooms(&mut columns, &counts, batches.len(), total);
    let piece = keys.piece();
    let places = points.x.par_chunks(piece).zip(points.y.par_chunks(piece));
    let pieces = keys.keys.par_chunks(piece).zip(places).zip(rooms).enumerate();
    pieces.for_each(|(number, ((keys, (x, y)), mut rooms))| {
        let places = ((number * piece) as u32..).zip(x.iter().zip(y));
        for (&key, (index, (&x, &y))) in keys.iter().zip(places) {
            if key != LEFT_OUT {
                rooms[usize::from(key)].put(x, y, index);
            }
        }
        assert!(rooms.iter().all(|room| room.filled == room.x.len()), "as many as were counted");
    });
    // SAFETY: the rooms are the whole of the columns, and each was filled.
    unsafe {
        columns.x.set_len(total);
        columns.y.set_len(total);
        columns.order.set_len(total);
    }
    Ok(columns)
}

/// The rooms of each piece in every batch.
fn rooms<'a>(
    columns: &'a mut Columns,
    counts: &[Vec<usize>],
    batches: usize,
    total: usize,
) -> Vec<Vec<Room<'a>>> {
    let mut x = &mut columns.x.spare_capacity_mut()[..total];
    let mut y = &mut columns.y.spare_capacity_mut()[..total];
    let mut order = &mut columns.order.spare_capacity_mut()[..total];
    let mut rooms: Vec<Vec<Room<'a>>> =
        counts.iter().map(|_| Vec::with_capacity(batches)).collect();
    for batch in 0..batches {
        for (rooms, counts) in rooms.iter_mut().zip(counts) {
            let len = counts[batch];
            rooms.push(Room {
                x: super::take(&mut x, len),
                y: super::take(&mut y, len),
                order: super::take(&mut order, len),
                filled: 0,
            });
        }
    }
    rooms
}
