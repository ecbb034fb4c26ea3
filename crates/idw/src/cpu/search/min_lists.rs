//! Lists of the least keys of sixteen targets side by side, in vectors of targets: 8 by AVX-512, 4 by AVX. On other
//! processors they are arrays that the compiler vectorises.

/// Targets side by side.
pub(crate) const LANES: usize = 16;

/// A number of each target.
pub(crate) type Row = [f64; LANES];

/// The longest list.
pub(crate) const LONGEST: usize = 65;

/// Returns the compiled length of lists that hold at least `wanted` entries, at most [`LONGEST`]. There are few
/// lengths, since each is compiled by itself.
pub(crate) fn length(wanted: usize) -> usize {
    [5, 9, 13, 17, 33].into_iter().find(|&len| len >= wanted).unwrap_or(LONGEST)
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
pub(crate) fn merge(rows: &[Row], lists: &mut [Row]) {
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
            // SAFETY: a check has found these instructions on the processor.
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
        5 => insert::<V, 5>(rows, lists),
        9 => insert::<V, 9>(rows, lists),
        13 => insert::<V, 13>(rows, lists),
        17 => merge_batches::<V, 16>(rows, lists),
        33 => merge_batches::<V, 32>(rows, lists),
        _ => merge_batches::<V, 64>(rows, lists),
    }
}

/// Into short lists keys are inserted one by one, a minimum and a maximum an entry.
#[inline(always)]
fn insert<V: Keys, const LEN: usize>(rows: &[Row], lists: &mut [Row]) {
    for at in (0..LANES).step_by(V::COUNT) {
        let mut list: [V; LEN] = std::array::from_fn(|j| V::load(&lists[j][at..]));
        for row in rows {
            let key = V::load(&row[at..]);
            // Many candidates are too far for all targets of a vector.
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

/// Keys that are sorted before they go into longer lists.
const BATCH: usize = 16;

/// Merges keys into longer lists by batches. A batch is sorted, and its least keys replace the greatest entries of a
/// list where these are greater. Then a bitonic network (Batcher 1968, doi:10.1145/1468075.1468121) sorts the list
/// again. The least key that found no place becomes the entry behind the list.
#[inline(always)]
fn merge_batches<V: Keys, const LEN: usize>(rows: &[Row], lists: &mut [Row]) {
    for at in (0..LANES).step_by(V::COUNT) {
        let mut list: [V; LEN] = std::array::from_fn(|j| V::load(&lists[j][at..]));
        let mut next = V::load(&lists[LEN][at..]);
        for rows in rows.chunks(BATCH) {
            let mut batch = [V::load(&[f64::INFINITY; LANES]); BATCH];
            let mut is_wanted = false;
            for (key, row) in batch.iter_mut().zip(rows) {
                *key = V::load(&row[at..]);
                is_wanted |= key.is_any_below(next);
            }
            if !is_wanted {
                continue;
            }
            sort(&mut batch);
            for (j, key) in batch.into_iter().enumerate() {
                let entry = &mut list[LEN - 1 - j];
                next = next.min(entry.max(key));
                *entry = entry.min(key);
            }
            order(&mut list);
        }
        for (of_all, of_vector) in lists.iter_mut().zip(list.into_iter().chain([next])) {
            of_vector.store(&mut of_all[at..]);
        }
    }
}

/// Sorts a batch by rising runs of 2, 4, 8 and 16. Each run merges two halves; the network reads one of them backwards.
#[inline(always)]
fn sort<V: Keys>(batch: &mut [V; BATCH]) {
    exchange::<V, BATCH, 1>(batch);
    fold::<V, BATCH, 4>(batch);
    exchange::<V, BATCH, 1>(batch);
    fold::<V, BATCH, 8>(batch);
    exchange::<V, BATCH, 2>(batch);
    exchange::<V, BATCH, 1>(batch);
    fold::<V, BATCH, 16>(batch);
    exchange::<V, BATCH, 4>(batch);
    exchange::<V, BATCH, 2>(batch);
    exchange::<V, BATCH, 1>(batch);
}

/// Puts a list in order that rises and then falls, or the other way.
#[inline(always)]
fn order<V: Keys, const LEN: usize>(list: &mut [V; LEN]) {
    if LEN > 32 {
        exchange::<V, LEN, 32>(list);
    }
    if LEN > 16 {
        exchange::<V, LEN, 16>(list);
    }
    exchange::<V, LEN, 8>(list);
    exchange::<V, LEN, 4>(list);
    exchange::<V, LEN, 2>(list);
    exchange::<V, LEN, 1>(list);
}

/// Orders pairs that lie `STRIDE` apart.
#[inline(always)]
fn exchange<V: Keys, const LEN: usize, const STRIDE: usize>(keys: &mut [V; LEN]) {
    for run in keys.chunks_exact_mut(2 * STRIDE) {
        let (low, high) = run.split_at_mut(STRIDE);
        for (a, b) in low.iter_mut().zip(high) {
            (*a, *b) = (a.min(*b), a.max(*b));
        }
    }
}

/// Orders the first with the last of each run of `RUN`, the second with the last but one, and so on.
#[inline(always)]
fn fold<V: Keys, const LEN: usize, const RUN: usize>(keys: &mut [V; LEN]) {
    for run in keys.chunks_exact_mut(RUN) {
        let (low, high) = run.split_at_mut(RUN / 2);
        for (a, b) in low.iter_mut().zip(high.iter_mut().rev()) {
            (*a, *b) = (a.min(*b), a.max(*b));
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
