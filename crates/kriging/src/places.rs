//! Points that share a place, as one point with the mean of their values.

use gpu_core::parallel::{self, FINE};
use gpu_core::{Points, host_memory};

use crate::Result;

/// Points of which no two share a place, in the order of the first point of each place.
pub(crate) struct Places {
    x: Vec<f64>,
    y: Vec<f64>,
    values: Vec<Vec<f64>>,
}

impl Places {
    /// Merges points; `None` if no two share a place. Cost: a sort of the points.
    ///
    /// # Errors
    /// Too little memory for a key of each point.
    pub(crate) fn of(points: &Points) -> Result<Option<Self>> {
        host_memory::require(points.len() as u64 * size_of::<(u64, u32)>() as u64)?;
        let Some(first) = first_of_place(points) else { return Ok(None) };
        let kept = parallel::filter(points.len() as u32, FINE, |i| first[i as usize] == i);
        let of_kept = |column: &[f64]| kept.iter().map(|&i| column[i as usize]).collect();
        let values = points.values.iter().map(|column| {
            let (mut sums, mut counts) = (vec![0.0; column.len()], vec![0.0; column.len()]);
            for (&first, value) in first.iter().zip(*column) {
                sums[first as usize] += value;
                counts[first as usize] += 1.0;
            }
            kept.iter().map(|&i| sums[i as usize] / counts[i as usize]).collect()
        });
        let (x, y) = (of_kept(points.x), of_kept(points.y));
        Ok(Some(Self { values: values.collect(), x, y }))
    }

    /// Calls `work` with the points.
    pub(crate) fn with<R>(&self, work: impl FnOnce(Points) -> R) -> R {
        let values: Vec<&[f64]> = self.values.iter().map(Vec::as_slice).collect();
        work(Points { x: &self.x, y: &self.y, values: &values })
    }
}

/// For each point the first point at its place; `None` if each is that itself.
fn first_of_place(points: &Points) -> Option<Vec<u32>> {
    let place =
        |i: u32| [points.x, points.y].map(|along| parallel::ordered_bits(along[i as usize]));
    let mut keys = parallel::map(points.len(), FINE, |i| (hash(place(i as u32)), i as u32));
    parallel::sort_pairs(&mut keys);
    let are_alike = |i: usize| i + 1 < keys.len() && keys[i].0 == keys[i + 1].0;
    parallel::first(keys.len(), FINE, are_alike)?;
    let mut first: Vec<u32> = (0..points.len() as u32).collect();
    let mut share_a_place = false;
    for alike in keys.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        // Different places may have the same hash.
        let mut places: Vec<_> = alike.iter().map(|&(_, i)| (place(i), i)).collect();
        places.sort_unstable();
        for together in places.chunk_by(|a, b| a.0 == b.0) {
            share_a_place |= together.len() > 1;
            together.iter().for_each(|&(_, i)| first[i as usize] = together[0].1);
        }
    }
    share_a_place.then_some(first)
}

/// A number that places rarely share: products with odd numbers, whose upper halves depend on all bits.
fn hash([x, y]: [u64; 2]) -> u64 {
    let mixed = |bits: u64| {
        let bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (bits ^ bits >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
    };
    mixed(mixed(x) ^ mixed(x) >> 32 ^ y)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(x: &[f64], y: &[f64], z: &[f64]) -> Option<[Vec<f64>; 3]> {
        let places = Places::of(&Points { x, y, values: &[z] }).unwrap()?;
        places.with(|p| Some([p.x.to_vec(), p.y.to_vec(), p.values[0].to_vec()]))
    }

    #[test]
    fn a_place_is_where_its_first_point_stands_and_has_the_mean() {
        let found = merged(
            &[5.0, 0.0, 5.0, -0.0, 5.0],
            &[1.0, 2.0, 1.0, 2.0, 2.0],
            &[1.0, 10.0, 4.0, 20.0, 7.0],
        );
        let expected = [vec![5.0, 0.0, 5.0], vec![1.0, 2.0, 2.0], vec![2.5, 15.0, 7.0]];
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn points_apart_stay_as_they_are() {
        assert_eq!(merged(&[], &[], &[]), None);
        assert_eq!(merged(&[1.0, 2.0, 1.0], &[1.0, 1.0, 2.0], &[0.0; 3]), None);
    }
}
