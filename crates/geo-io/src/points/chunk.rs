//! Chunks of a LAZ file, and samples of the points within bounds.

use gpu_core::Bounds;

/// A chunk of a LAZ file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chunk {
    /// Where it starts in the file.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Its points.
    pub points: u64,
    /// In a COPC file, the square of the chunk's node, a little widened.
    pub square: Option<Bounds>,
}

/// The points of some chunks.
pub(crate) fn points_of(chunks: &[Chunk]) -> u64 {
    chunks.iter().map(|chunk| chunk.points).sum()
}

/// Whether bounds hold a place, edges included.
pub(crate) fn holds(b: &Bounds, x: f64, y: f64) -> bool {
    x >= b.min_x && x <= b.max_x && y >= b.min_y && y <= b.max_y
}

/// Returns at most `most` numbers of a range, the first and the last among them.
pub(crate) fn spread(range: std::ops::Range<u64>, most: u64) -> impl Iterator<Item = u64> {
    let count = range.end.saturating_sub(range.start);
    let taken = count.min(most);
    let last = taken.saturating_sub(1).max(1);
    let at = move |i: u64| (u128::from(i) * u128::from(count - 1) / u128::from(last)) as u64;
    (0..taken).map(move |i| range.start + at(i))
}
