//! Errors of primitives. A call finds them before it enqueues anything.

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a primitive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two arrays share memory, but the call does not work in place.
    #[error("{first} and {second} overlap, which this primitive does not allow")]
    Overlap {
        /// The one.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A bit range is empty, out of order or beyond the key.
    #[error("bits {begin}..{end} are not a range within a key of {bits} bits")]
    BitRange {
        /// First bit.
        begin: u32,
        /// The bit after the last.
        end: u32,
        /// Bits of the key.
        bits: u32,
    },
    /// Segment offsets do not rise from 0 to the number of elements.
    #[error("segment offset {index} is {offset}: offsets must rise from 0 to {elements}")]
    SegmentOffset {
        /// Which offset.
        index: u64,
        /// Its value.
        offset: u64,
        /// Elements of the array.
        elements: u64,
    },
    /// The thresholds of a three-way partition do not rise.
    #[error("the thresholds of a partition must rise, but {low} is not at most {high}")]
    Thresholds {
        /// The first.
        low: String,
        /// The second.
        high: String,
    },
    /// A histogram without bins, or whose bounds do not rise.
    #[error(
        "{bins} bins from {lower} to {upper}: the bounds must rise, and there must be at least \
         one bin"
    )]
    Bins {
        /// Bins given.
        bins: u64,
        /// First bound.
        lower: String,
        /// Last bound.
        upper: String,
    },
    /// More elements than one call can take.
    #[error("{elements} elements are too many: at most {most}")]
    TooLarge {
        /// Elements given.
        elements: u64,
        /// The most.
        most: u64,
    },
    /// Two arrays that belong together have different lengths ([`gpu_core::Error::Length`]); or the device
    /// or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}

/// Checks a length.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length).
pub(crate) fn same_len(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected != found {
        return Err(length(what, expected, found));
    }
    Ok(())
}

/// The error of a length.
pub(crate) fn length(what: &'static str, expected: usize, found: usize) -> Error {
    let (expected, found) = (expected as u64, found as u64);
    Error::Core(gpu_core::Error::Length { what, expected, found })
}

/// Returns the number of segments, by the number of offsets. Segments may be empty, so there may be more of them than
/// elements.
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) without any offset.
pub(crate) fn check_offsets(offsets: usize) -> Result<usize> {
    offsets.checked_sub(1).ok_or_else(|| length("offsets", 1, 0))
}
