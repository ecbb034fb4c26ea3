//! What a caller may choose about a scan.

#[cfg(feature = "cuda")]
use kernels_rs::operators as kernels;

/// How a scan runs: with or without the element itself, and from which end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scan<T> {
    pub(crate) initial: Option<T>,
    pub(crate) backward: bool,
}

impl<T> Scan<T> {
    /// Element i of the result combines the elements up to and with i.
    pub const fn inclusive() -> Self {
        Self { initial: None, backward: false }
    }

    /// Element i of the result combines `initial` and the elements before i.
    pub const fn exclusive(initial: T) -> Self {
        Self { initial: Some(initial), backward: false }
    }

    /// The same from the last element to the first (of the array, or of each segment).
    pub fn backward(self) -> Self {
        Self { backward: true, ..self }
    }

    /// As the kernels know it.
    #[cfg(feature = "cuda")]
    pub(crate) fn mode(&self) -> u32 {
        let exclusive = if self.initial.is_some() { kernels::EXCLUSIVE } else { 0 };
        exclusive | if self.backward { kernels::BACKWARD } else { 0 }
    }
}
