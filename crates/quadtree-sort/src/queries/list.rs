//! The list of a place's nearest points, in the result itself.

use super::NONE;

/// A point found: the square of its distance, and its index as given. Nearer ones come first, of those as near the lower
/// index.
pub(crate) type Found = (f64, u32);

/// The nearest points so far, in order: as many as there is room for.
pub(crate) struct NearestList<'a> {
    indices: &'a mut [u32],
    /// Squares of distances.
    squares: &'a mut [f64],
}

impl<'a> NearestList<'a> {
    /// An empty list; the slices have the same length, at least 1.
    pub fn new(indices: &'a mut [u32], squares: &'a mut [f64]) -> Self {
        indices.fill(NONE);
        squares.fill(f64::INFINITY);
        Self { indices, squares }
    }

    /// The square beyond which no point comes into the list.
    #[inline(always)]
    pub fn reach(&self) -> f64 {
        self.squares[self.squares.len() - 1]
    }

    /// Takes a point in, if it comes before the last.
    #[inline(always)]
    pub fn offer(&mut self, found: Found) {
        if found.0 <= self.reach() {
            self.insert(found);
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
}
