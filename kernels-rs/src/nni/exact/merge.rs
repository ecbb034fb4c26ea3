//! Several points at one place.

/// The values of several points at one place, merged by a policy of [`policies`](crate::nni::policies).
#[derive(Clone, Copy)]
pub struct Merge {
    policy: u32,
    merged: i64,
    count: u32,
}

impl Merge {
    /// No point yet.
    #[inline(always)]
    pub fn new(policy: u32) -> Self {
        Self { policy, merged: 0, count: 0 }
    }

    /// Adds the next point's value.
    #[inline(always)]
    pub fn add(&mut self, value: i32) {
        use crate::nni::policies::{FIRST, MAX, MEAN, MIN};
        let (old, value) = (self.merged, value as i64);
        self.merged = match self.policy {
            _ if self.count == 0 => value,
            MEAN => old + value,
            MIN => i64::min(old, value),
            MAX => i64::max(old, value),
            FIRST => old,
            _ => value,
        };
        self.count += 1;
    }

    /// The value of the site.
    #[inline(always)]
    pub fn value(self) -> i32 {
        use crate::nni::policies::{MEAN, rounded_mean};
        if self.policy == MEAN && self.count > 1 {
            return rounded_mean(self.merged, self.count);
        }
        self.merged as i32
    }
}
