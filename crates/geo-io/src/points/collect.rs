//! Collects points of a table, one after the other, into columns or batches.

use std::path::Path;

use gpu_core::Bounds;

use crate::points::{Attributes, Keep};
use crate::{Error, Filter, PointCloud, Result, Returns};

/// Points for which room is made at once.
const ROOM: u64 = 1 << 16;

/// Takes the points of a table, whatever its format.
pub(super) struct Collector<'a, 'k> {
    path: &'a Path,
    filter: &'a Filter,
    keep: Keep<'k>,
    cloud: PointCloud,
}

impl<'a, 'k> Collector<'a, 'k> {
    /// Returns a collection without points, for points with this many further values.
    ///
    /// # Errors
    /// [`Error::NoAttribute`] if the filter chooses by an attribute that the table lacks.
    pub fn new(
        path: &'a Path,
        filter: &'a Filter,
        keep: Keep<'k>,
        (values, has_classes): (usize, bool),
    ) -> Result<Self> {
        let lacks = |what| Err(Error::NoAttribute { path: path.to_owned(), what });
        if !has_classes && !filter.has_every_class() {
            return lacks("classes");
        }
        if filter.returns != Returns::All {
            return lacks("return numbers");
        }
        let cloud = PointCloud {
            class: has_classes.then(Vec::new),
            values: vec![Vec::new(); values],
            numbers: filter.numbered.then(Vec::new),
            ranges: vec![None; values],
            ..PointCloud::default()
        };
        Ok(Self { path, filter, keep, cloud })
    }

    /// Takes a point with its class (0 without classes) and its further values.
    pub fn push(&mut self, [x, y, z]: [f64; 3], class: u8, values: &[f64]) -> Result<()> {
        let cloud = &mut self.cloud;
        let number = cloud.tally.read;
        if number.is_multiple_of(ROOM) {
            cloud.reserve(self.path, ROOM as usize)?;
        }
        let b = cloud.bounds.get_or_insert(Bounds { min_x: x, min_y: y, max_x: x, max_y: y });
        (b.min_x, b.min_y) = (b.min_x.min(x), b.min_y.min(y));
        (b.max_x, b.max_y) = (b.max_x.max(x), b.max_y.max(y));
        widen(&mut cloud.heights, z);
        cloud.ranges.iter_mut().zip(values).for_each(|(range, &value)| widen(range, value));
        let point =
            Attributes { x, y, class, return_number: 1, number_of_returns: 1, withheld: false };
        if self.filter.keeps(point, &mut cloud.tally) {
            cloud.x.push(x);
            cloud.y.push(y);
            cloud.z.push(z);
            cloud.class.iter_mut().for_each(|column| column.push(class));
            cloud.numbers.iter_mut().for_each(|column| column.push(number as u32));
            let columns = cloud.values.iter_mut().zip(values);
            columns.for_each(|(column, &value)| column.push(value));
            self.keep.hand_on(cloud, false)?;
        }
        Ok(())
    }

    /// Hands on the last points, or returns all points if none were handed on.
    pub fn finish(mut self) -> Result<PointCloud> {
        self.keep.hand_on(&mut self.cloud, true)?;
        Ok(self.cloud)
    }
}

/// Makes a range hold a value.
fn widen(range: &mut Option<[f64; 2]>, value: f64) {
    let [low, high] = range.unwrap_or([value; 2]);
    *range = Some([low.min(value), high.max(value)]);
}
