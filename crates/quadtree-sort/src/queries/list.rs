//! The list of a place's nearest points, in the result itself.

use std::collections::BinaryHeap;

use super::NONE;

/// A point found: the square of its distance, and its index as given. Nearer ones come first, of those as near the lower
/// index.
pub(crate) type Found = (f64, u32);

/// From this length on a list is kept as a heap, into which a point comes in the logarithm of the length; a shorter one in
/// order.
const LONG: usize = 160;

/// The nearest points so far: as many as there is room for.
pub(crate) struct NearestList<'a> {
    indices: &'a mut [u32],
    /// Squares of distances. While a long list is filled the last one alone counts, as its reach.
    squares: &'a mut [f64],
    /// The points of a long list, the farthest at the root. The bits of squares are in the order of their values.
    heap: BinaryHeap<(u64, u32)>,
}

impl<'a> NearestList<'a> {
    /// An empty list; the slices have the same length, at least 1.
    pub fn new(indices: &'a mut [u32], squares: &'a mut [f64]) -> Self {
        indices.fill(NONE);
        squares.fill(f64::INFINITY);
        Self { indices, squares, heap: BinaryHeap::new() }
    }

    /// Returns the squared distance beyond which no point enters the list.
    #[inline(always)]
    pub fn reach(&self) -> f64 {
        self.squares[self.squares.len() - 1]
    }

    /// Inserts a point, if it is nearer than the last of the list.
    #[inline(always)]
    pub fn offer(&mut self, found: Found) {
        if found.0 <= self.reach() {
            match self.squares.len() {
                LONG.. => self.push(found),
                _ => self.insert(found),
            }
        }
    }

    /// Sorts a long list. Call it before reading a list.
    pub fn finish(self) {
        if self.squares.len() < LONG {
            return;
        }
        let all = self.squares.iter_mut().zip(self.indices);
        for ((square, index), (bits, found)) in all.zip(self.heap.into_sorted_vec()) {
            (*square, *index) = (f64::from_bits(bits), found);
        }
    }

    fn insert(&mut self, found: Found) {
        let is_before = |a: Found, b: Found| a.0 < b.0 || a.0 == b.0 && a.1 < b.1;
        let mut i = self.squares.len();
        while i > 0 && is_before(found, (self.squares[i - 1], self.indices[i - 1])) {
            if i < self.squares.len() {
                self.squares[i] = self.squares[i - 1];
                self.indices[i] = self.indices[i - 1];
            }
            i -= 1;
        }
        if i < self.squares.len() {
            (self.squares[i], self.indices[i]) = found;
        }
    }

    fn push(&mut self, (square, index): Found) {
        let (len, key) = (self.squares.len(), (square.to_bits(), index));
        if self.heap.len() < len {
            self.heap.push(key);
        } else if let Some(mut last) = self.heap.peek_mut().filter(|last| key < **last) {
            *last = key;
        }
        if let Some(&(bits, _)) = self.heap.peek().filter(|_| self.heap.len() == len) {
            self.squares[len - 1] = f64::from_bits(bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_are_the_first_in_order() {
        let mut random = testing::Random::new(5);
        // Squares of few values, so that indices decide.
        let offered: Vec<Found> = (0..3000).map(|i| (random.below(500) as f64, i)).collect();
        let mut wanted = offered.clone();
        wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for len in [1, 7, LONG - 1, LONG, 1000, 3000, 5000] {
            let (mut indices, mut squares) = (vec![0; len], vec![0.0; len]);
            let mut list = NearestList::new(&mut indices, &mut squares);
            offered.iter().for_each(|&found| list.offer(found));
            list.finish();
            for place in 0..len {
                let wanted = wanted.get(place).copied().unwrap_or((f64::INFINITY, NONE));
                assert_eq!((squares[place], indices[place]), wanted, "{len}");
            }
        }
    }
}
