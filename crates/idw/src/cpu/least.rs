//! Lists of the least keys of sixteen targets side by side, in vectors of targets: 8 by AVX-512, 4 by AVX, and arrays
//! that the compiler turns into what the processor has.

/// Targets side by side.
pub(super) const LANES: usize = 16;

/// A number of each target.
pub(super) type Row = [f64; LANES];

/// The longest list.
pub(super) const LONGEST: usize = 65;

/// A list of at least so many: of few lengths, since each is compiled by itself. At most [`LONGEST`].
pub(super) fn length(wanted: usize) -> usize {
    [5, 9, 13, 17, 25, 33, 49].into_iter().find(|&len| len >= wanted).unwrap_or(LONGEST)
}

/// A vector of keys.
trait Keys: Copy {
    /// Keys of a vector.
    const COUNT: usize;

    /// The first [`Self::COUNT`] keys of a slice, which has as many.
    fn load(from: &[f64]) -> Self;
    fn store(self, to: &mut [f64]);
    fn min(self, b: Self) -> Self;
    fn max(self, b: Self) -> Self;
    /// Whether any key is less than the other's.
    fn is_any_below(self, b: Self) -> bool;
}

/// Brings the keys of more candidates into the lists of the least, which are in order: `lists[j]` has entry j of each
/// target's. No key is NaN; the lists have a [`length`].
pub(super) fn merge(rows: &[Row], lists: &mut [Row]) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn widest(rows: &[Row], lists: &mut [Row]) {
            merge_by::<x86::Avx512>(rows, lists);
        }
        #[target_feature(enable = "avx")]
        fn wide(rows: &[Row], lists: &mut [Row]) {
            merge_by::<x86::Avx>(rows, lists);
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has these instructions: it was looked up.
            return unsafe { widest(rows, lists) };
        }
        if is_x86_feature_detected!("avx") {
            // SAFETY: as above.
            return unsafe { wide(rows, lists) };
        }
    }
    merge_by::<Array>(rows, lists);
}

#[inline(always)]
fn merge_by<V: Keys>(rows: &[Row], lists: &mut [Row]) {
    match lists.len() {
        5 => merge_into::<V, 5>(rows, lists),
        9 => merge_into::<V, 9>(rows, lists),
        13 => merge_into::<V, 13>(rows, lists),
        17 => merge_into::<V, 17>(rows, lists),
        25 => merge_into::<V, 25>(rows, lists),
        33 => merge_into::<V, 33>(rows, lists),
        49 => merge_into::<V, 49>(rows, lists),
        _ => merge_into::<V, LONGEST>(rows, lists),
    }
}

#[inline(always)]
fn merge_into<V: Keys, const LEN: usize>(rows: &[Row], lists: &mut [Row]) {
    for at in (0..LANES).step_by(V::COUNT) {
        let mut list: [V; LEN] = std::array::from_fn(|j| V::load(&lists[j][at..]));
        for row in rows {
            let key = V::load(&row[at..]);
            // Most candidates are too far for all targets of a vector.
            if key.is_any_below(list[LEN - 1]) {
                for j in (1..LEN).rev() {
                    list[j] = list[j].min(key).max(list[j - 1]);
                }
                list[0] = list[0].min(key);
            }
        }
        for (of_all, of_vector) in lists.iter_mut().zip(list) {
            of_vector.store(&mut of_all[at..]);
        }
    }
}

/// Keys in an array.
#[derive(Clone, Copy)]
struct Array([f64; 4]);

impl Keys for Array {
    const COUNT: usize = 4;

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        Self(std::array::from_fn(|i| from[i]))
    }
    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[..4].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] < b.0[i] { self.0[i] } else { b.0[i] }))
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] > b.0[i] { self.0[i] } else { b.0[i] }))
    }
    #[inline(always)]
    fn is_any_below(self, b: Self) -> bool {
        self.0.iter().zip(b.0).any(|(&a, b)| a < b)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Keys;

    /// 8 keys; made only where the processor has AVX-512 F.
    #[derive(Clone, Copy)]
    pub struct Avx512(__m512d);

    /// 4 keys; made only where the processor has AVX.
    #[derive(Clone, Copy)]
    pub struct Avx(__m256d);

    // SAFETY (all): the functions that use these types are compiled for, and called on, processors with the
    // instructions; slices are as long as the trait demands, and checked.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Keys for Avx512 {
        const COUNT: usize = 8;

        #[inline(always)]
        fn load(from: &[f64]) -> Self {
            unsafe { Self(_mm512_loadu_pd(from[..8].as_ptr())) }
        }
        #[inline(always)]
        fn store(self, to: &mut [f64]) {
            unsafe { _mm512_storeu_pd(to[..8].as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn min(self, b: Self) -> Self {
            unsafe { Self(_mm512_min_pd(self.0, b.0)) }
        }
        #[inline(always)]
        fn max(self, b: Self) -> Self {
            unsafe { Self(_mm512_max_pd(self.0, b.0)) }
        }
        #[inline(always)]
        fn is_any_below(self, b: Self) -> bool {
            unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, b.0) != 0 }
        }
    }

    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Keys for Avx {
        const COUNT: usize = 4;

        #[inline(always)]
        fn load(from: &[f64]) -> Self {
            unsafe { Self(_mm256_loadu_pd(from[..4].as_ptr())) }
        }
        #[inline(always)]
        fn store(self, to: &mut [f64]) {
            unsafe { _mm256_storeu_pd(to[..4].as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn min(self, b: Self) -> Self {
            unsafe { Self(_mm256_min_pd(self.0, b.0)) }
        }
        #[inline(always)]
        fn max(self, b: Self) -> Self {
            unsafe { Self(_mm256_max_pd(self.0, b.0)) }
        }
        #[inline(always)]
        fn is_any_below(self, b: Self) -> bool {
            unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, b.0)) != 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys in no order, some of them infinite, and some equal.
    fn key(row: usize, lane: usize) -> f64 {
        let number = (row * 7919 + lane * 104_729 + row * row * 31) % 1000;
        if number < 30 { f64::INFINITY } else { number as f64 * 1e-3 }
    }

    fn check(merge: impl Fn(&[Row], &mut [Row])) {
        for wanted in [1, 5, 6, 9, 13, 17, 20, 33, 40, 65] {
            for count in [0, 1, 2, 64, 300] {
                let row = |row: usize| std::array::from_fn(|lane| key(row, lane));
                let rows: Vec<Row> = (0..count).map(row).collect();
                let mut lists = vec![[f64::INFINITY; LANES]; length(wanted)];
                // In two parts, as blocks of candidates come.
                merge(&rows[..count / 3], &mut lists);
                merge(&rows[count / 3..], &mut lists);
                for lane in 0..LANES {
                    let mut all: Vec<f64> = rows.iter().map(|row| row[lane]).collect();
                    all.sort_by(f64::total_cmp);
                    all.resize(all.len().max(lists.len()), f64::INFINITY);
                    let list: Vec<f64> = lists.iter().map(|row| row[lane]).collect();
                    assert_eq!(list, all[..lists.len()], "{wanted} of {count}");
                }
            }
        }
    }

    #[test]
    fn lists_hold_the_least_in_order_by_every_kind_of_vector() {
        check(merge);
        check(merge_by::<Array>);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx") {
            check(merge_by::<x86::Avx>);
        }
    }
}
