//! Where the results of cells go.

use super::super::scene::{Answer, Cell, Scene};

/// Where the results of cells go.
#[derive(Clone, Copy)]
pub(super) struct Results {
    /// Whether this thread is the one that writes those of its cells.
    pub(super) writes: bool,
    pub(super) rows: u32,
    pub(super) hull: *const i32,
    pub(super) mask: *const u8,
    pub(super) dem: *mut f32,
    pub(super) counts: *mut u32,
    pub(super) distances: *mut f32,
    pub(super) deviations: *mut f32,
}

/// What became of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// It has a value.
    Valued,
    /// It has none.
    Empty,
    /// The means did not suffice.
    Left,
}

impl Results {
    /// What is to be interpolated at a place of the DEM, and where its values go; or what became of a cell that is left
    /// out, which is written.
    ///
    /// # Safety
    /// As for [`walk_cells`](mod@super::walk_cells); the cell is in the DEM.
    #[inline(always)]
    pub(super) unsafe fn begin(
        &self,
        scene: &Scene,
        values: u32,
        [column, row]: [u32; 2],
    ) -> Result<(Cell, Writer), Done> {
        let at = row as usize * scene.columns as usize + column as usize;
        let cells = scene.columns as usize * self.rows as usize;
        // SAFETY: the cell is in the DEM; the rest is passed on to the caller.
        unsafe {
            let is_masked = !self.mask.is_null() && *self.mask.add(at) == 0;
            let mut hull = Cell::EVERYWHERE;
            if is_masked {
                hull = Cell::NOWHERE;
            } else if !self.hull.is_null() {
                hull = [*self.hull.add(2 * row as usize), *self.hull.add(2 * row as usize + 1)];
            }
            let cell = Cell { column, row, hull };
            let left_out = scene.value_left_out(cell, is_masked, !self.distances.is_null());
            if is_masked || left_out.is_some() {
                let value = left_out.unwrap_or(f32::NAN);
                let mut k = 0;
                while self.writes && k < values as usize {
                    *self.dem.add(k * cells + at) = value;
                    k += 1;
                }
                self.layers(at, Answer::NONE);
                if left_out.is_some() {
                    return Err(if value.is_nan() { Done::Empty } else { Done::Valued });
                }
            }
            let (dem, is_silent) = (self.dem.add(at), is_masked || !self.writes);
            let writer = Writer { dem, stride: cells, at, is_masked, is_silent, has_value: false };
            Ok((cell, writer))
        }
    }

    /// Writes what belongs to a cell beside its values, and tells what became of it.
    ///
    /// # Safety
    /// As for [`walk_cells`](mod@super::walk_cells); the writer is what [`begin`](Self::begin) gave.
    #[inline(always)]
    pub(super) unsafe fn end(&self, writer: &Writer, answer: Option<Answer>) -> Done {
        let Some(mut answer) = answer else { return Done::Left };
        if writer.is_masked {
            answer = Answer { distance: answer.distance, ..Answer::NONE };
        }
        // SAFETY: passed on to the caller.
        unsafe { self.layers(writer.at, answer) };
        if writer.has_value { Done::Valued } else { Done::Empty }
    }

    /// # Safety
    /// As for [`walk_cells`](mod@super::walk_cells).
    #[inline(always)]
    unsafe fn layers(&self, cell: usize, answer: Answer) {
        if !self.writes {
            return;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if !self.counts.is_null() {
                *self.counts.add(cell) = answer.count;
            }
            if !self.distances.is_null() {
                *self.distances.add(cell) = answer.distance;
            }
            if !self.deviations.is_null() {
                *self.deviations.add(cell) = answer.deviation;
            }
        }
    }
}

/// Writes the values of a cell, `stride` apart.
pub(super) struct Writer {
    dem: *mut f32,
    stride: usize,
    /// The cell.
    at: usize,
    is_masked: bool,
    /// It writes nothing: the cell is masked, or another thread's to write.
    is_silent: bool,
    has_value: bool,
}

impl Writer {
    /// # Safety
    /// The cell has value `k`.
    #[inline(always)]
    pub(super) unsafe fn write(&mut self, k: u32, value: f32) {
        if !self.is_silent {
            // SAFETY: passed on to the caller.
            unsafe { *self.dem.add(k as usize * self.stride) = value };
            self.has_value = !value.is_nan();
        }
    }
}
