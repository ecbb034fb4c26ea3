//! Takes coordinates, classes and fields from the records of points.

use std::path::Path;

use ::las::{point, raw};
use gpu_core::{Bounds, parallel};

use super::fields::Taken;
use crate::points::Attributes;
use crate::points::chunk::holds;
use crate::{Filter, PointCloud, Result};

/// Records that a core takes at once.
const PIECE: usize = 1 << 14;

/// How a file's records are laid out, and what their integers stand for.
pub(super) struct Layout {
    /// Bytes of a record.
    pub record: usize,
    /// The point format, 0 to 10.
    pub format: u8,
    /// Whether that is one of 6 to 10.
    extended: bool,
    /// Fields to take in addition to coordinates and class.
    pub taken: Vec<Taken>,
    /// Scale and offset of x, y and z.
    axes: [(f64, f64); 3],
    /// The bounds in the header, widened by a step: a coordinate may have one rounding more than its bound.
    pub stated: Option<Bounds>,
}

impl Layout {
    /// Returns the layout that a header states.
    ///
    /// # Errors
    /// The point format is unknown.
    pub fn of(header: &raw::Header, format: &point::Format) -> Result<Self, String> {
        let h = header;
        let axes = [
            (h.x_scale_factor, h.x_offset),
            (h.y_scale_factor, h.y_offset),
            (h.z_scale_factor, h.z_offset),
        ];
        let (x, y) = (h.x_scale_factor.abs(), h.y_scale_factor.abs());
        let stated = bounds_of(header).map(|all| Bounds {
            min_x: all.min_x - x,
            min_y: all.min_y - y,
            max_x: all.max_x + x,
            max_y: all.max_y + y,
        });
        let record = usize::from(h.point_data_record_length);
        let number = format.to_u8().map_err(|e| e.to_string())?;
        let extended = format.is_extended;
        Ok(Self { record, format: number, extended, taken: Vec::new(), axes, stated })
    }

    /// How far apart the places are that x and y of a record can have.
    pub fn steps(&self) -> [f64; 2] {
        let [(x, _), (y, _), _] = self.axes;
        [x.abs(), y.abs()]
    }

    /// Whether the point format is one of 6 to 10.
    pub fn is_extended(&self) -> bool {
        self.extended
    }

    /// Keeps the points of whole records that a filter keeps, on all cores.
    pub fn keep_all(
        &self,
        path: &Path,
        records: &[u8],
        filter: &Filter,
        cloud: &mut PointCloud,
    ) -> Result<()> {
        let pieces: Vec<&[u8]> = records.chunks(PIECE * self.record).collect();
        if let [piece] = pieces[..] {
            cloud.reserve(path, piece.len() / self.record)?;
            self.keep(piece, filter, cloud);
            return Ok(());
        }
        let kept = |i: usize| {
            let room = pieces[i].len() / self.record;
            let mut part = PointCloud::of_las(room, self.taken.len(), filter);
            self.keep(pieces[i], filter, &mut part);
            part
        };
        for part in parallel::map(pieces.len(), 1, kept) {
            cloud.append(path, (&part, cloud.tally.read), 0..part.len())?;
            cloud.tally += part.tally;
            cloud.strays.add(&part.strays);
        }
        Ok(())
    }

    /// Keeps the points on one core, in a cloud that has capacity for them.
    pub fn keep(&self, records: &[u8], filter: &Filter, cloud: &mut PointCloud) {
        for r in records.chunks_exact(self.record) {
            let [x, y] = self.place(r);
            let point = self.attributes(r, [x, y]);
            let outside = cloud.tally.dropped_outside;
            let is_kept = filter.keeps(point, &mut cloud.tally);
            let counts = is_kept || cloud.tally.dropped_outside > outside;
            if counts && self.stated.is_some_and(|stated| !holds(&stated, x, y)) {
                cloud.strays.take(x, y);
            }
            if is_kept {
                cloud.x.push(x);
                cloud.y.push(y);
                cloud.z.push(self.coordinate(r, 2));
                cloud.class.iter_mut().for_each(|column| column.push(point.class));
                let number = (cloud.tally.read - 1) as u32;
                cloud.numbers.iter_mut().for_each(|column| column.push(number));
                for (column, taken) in cloud.values.iter_mut().zip(&self.taken) {
                    column.push(taken.value(r));
                }
            }
        }
    }

    /// x and y of a record.
    pub fn place(&self, r: &[u8]) -> [f64; 2] {
        [self.coordinate(r, 0), self.coordinate(r, 1)]
    }

    pub fn coordinate(&self, r: &[u8], axis: usize) -> f64 {
        let word = [r[4 * axis], r[4 * axis + 1], r[4 * axis + 2], r[4 * axis + 3]];
        let (scale, offset) = self.axes[axis];
        f64::from(i32::from_le_bytes(word)) * scale + offset
    }

    fn attributes(&self, r: &[u8], [x, y]: [f64; 2]) -> Attributes {
        if self.extended {
            Attributes {
                x,
                y,
                class: r[16],
                return_number: r[14] & 15,
                number_of_returns: r[14] >> 4,
                withheld: r[15] & 4 != 0,
            }
        } else {
            Attributes {
                x,
                y,
                class: r[15] & 31,
                return_number: r[14] & 7,
                number_of_returns: r[14] >> 3 & 7,
                withheld: r[15] & 128 != 0,
            }
        }
    }
}

/// Where the points lie, as a header has it. Some writers leave its bounds at zero.
pub(super) fn bounds_of(h: &raw::Header) -> Option<Bounds> {
    let all = [h.min_x, h.max_x, h.min_y, h.max_y];
    let stated = all.iter().all(|v| v.is_finite()) && all.iter().any(|v| *v != 0.0);
    (stated && h.min_x <= h.max_x && h.min_y <= h.max_y).then_some(Bounds {
        min_x: h.min_x,
        min_y: h.min_y,
        max_x: h.max_x,
        max_y: h.max_y,
    })
}
