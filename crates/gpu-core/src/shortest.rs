//! Numbers as people read them.

use std::fmt::{self, Display, LowerExp};

use crate::Bounds;

/// Formats a float with the fewest digits that parse back to it. It uses an exponent below 1e-5 and from 1e16 on:
/// otherwise 1e300 would have three hundred digits. Programs show every float by this type.
///
/// ```
/// use gpu_core::Shortest;
/// let shown = [0.1, -2.0, 1e300, 2.5e-7].map(|number| Shortest(number).to_string());
/// assert_eq!(shown, ["0.1", "-2", "1e300", "2.5e-7"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shortest<T>(pub T);

impl<T: Copy + Into<f64> + Display + LowerExp> Display for Shortest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.into().abs();
        let is_plain = size == 0.0 || (1e-5..1e16).contains(&size) || !size.is_finite();
        if is_plain { Display::fmt(&self.0, f) } else { LowerExp::fmt(&self.0, f) }
    }
}

/// The south-western and the north-eastern corner, such as `448000 5411000 to 449000 5412000`.
impl Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [w, s, e, n] = [self.min_x, self.min_y, self.max_x, self.max_y].map(Shortest);
        write!(f, "{w} {s} to {e} {n}")
    }
}
