//! Merging sorted arrays.

use bytemuck::{cast_slice, cast_slice_mut};
use kernels_rs::primitives::operators::{Bits, Order};

use crate::Merge;
use crate::error::{Result, same_len};
use crate::number::sealed::PayloadSize;
use crate::number::{Number, Payload, total_order};
use gpu_core::parallel::{Parts, for_chunks, for_ranges};

/// Outputs that one task merges.
const CHUNK: usize = 1 << 14;

/// Merges two arrays, each sorted in the stated order, into one. Equal keys keep their order, and keys of `a` come
/// before equal keys of `b`.
///
/// Numbers are in their total order: -0.0 before +0.0, NaN last (first, if descending). If an array is not sorted, the
/// output has some of the elements, in some order. Tasks find their parts of the arrays by Green, McColl and Bader,
/// "GPU merge path: a GPU merging algorithm", 2012, DOI 10.1145/2304576.2304621.
///
/// ```
/// use gpu_scan::{Merge, cpu};
///
/// let mut merged = [0; 5];
/// cpu::merge_keys(Merge::ascending(), &[1, 4, 9], &[2, 4], &mut merged)?;
/// assert_eq!(merged, [1, 2, 4, 4, 9]);
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// [`Length`](gpu_core::Error::Length) unless the output is as long as both inputs together.
pub fn merge_keys<K: Number>(how: Merge, a: &[K], b: &[K], output: &mut [K]) -> Result<()> {
    same_len("output", a.len() + b.len(), output.len())?;
    let order = total_order::<K>(how.direction);
    merge_bits(order, cast_slice(a), cast_slice(b), cast_slice_mut(output));
    Ok(())
}

/// The same over the bits of numbers.
fn merge_bits<B: Bits + Send + Sync>(order: Order<B>, a: &[B], b: &[B], output: &mut [B]) {
    for_chunks(output, CHUNK, |chunk, output| {
        let mut path = Path::new(order, a, b, chunk * CHUNK);
        for key in output {
            *key = match path.step() {
                Step::A(i) => a[i],
                Step::B(j) => b[j],
            };
        }
    });
}

/// Merges as [`merge_keys`], and moves a value along with each key. Equal keys come in the order that [`merge_keys`]
/// states, whatever their values.
///
/// ```
/// use gpu_scan::{Merge, cpu};
///
/// let (mut keys, mut values) = ([0; 3], [0.0; 3]);
/// let (a, b) = ((&[1, 4][..], &[0.1, 0.4][..]), (&[4][..], &[4.0][..]));
/// cpu::merge_pairs(Merge::ascending(), a, b, (&mut keys, &mut values))?;
/// assert_eq!((keys, values), ([1, 4, 4], [0.1, 0.4, 4.0]));
/// # Ok::<(), gpu_scan::Error>(())
/// ```
///
/// # Errors
/// The errors of [`merge_keys`], also where there is not one value for each key.
pub fn merge_pairs<K: Number, V: Payload>(
    how: Merge,
    (a, a_values): (&[K], &[V]),
    (b, b_values): (&[K], &[V]),
    (output, output_values): (&mut [K], &mut [V]),
) -> Result<()> {
    same_len("values of a", a.len(), a_values.len())?;
    same_len("values of b", b.len(), b_values.len())?;
    same_len("output of values", output.len(), output_values.len())?;
    same_len("output", a.len() + b.len(), output.len())?;
    let order = total_order::<K>(how.direction);
    let (a, b, output) = (cast_slice(a), cast_slice(b), cast_slice_mut(output));
    match V::SIZE {
        PayloadSize::Four => {
            let (a, b) = ((a, cast_slice(a_values)), (b, cast_slice(b_values)));
            merge_bits_of_pairs::<_, u32>(order, a, b, (output, cast_slice_mut(output_values)));
        }
        PayloadSize::Eight => {
            let (a, b) = ((a, cast_slice(a_values)), (b, cast_slice(b_values)));
            merge_bits_of_pairs::<_, u64>(order, a, b, (output, cast_slice_mut(output_values)));
        }
    }
    Ok(())
}

/// The same over the bits of numbers and of values.
fn merge_bits_of_pairs<B: Bits + Send + Sync, V: Copy + Send + Sync>(
    order: Order<B>,
    (a, a_values): (&[B], &[V]),
    (b, b_values): (&[B], &[V]),
    (output, output_values): (&mut [B], &mut [V]),
) {
    let keys = Parts::new(output.chunks_mut(CHUNK));
    let values = Parts::new(output_values.chunks_mut(CHUNK));
    for_ranges(keys.len(), 1, &|chunks| {
        for chunk in chunks {
            let (mut keys, mut values) = (keys.part(chunk), values.part(chunk));
            let mut path = Path::new(order, a, b, chunk * CHUNK);
            for (key, value) in keys.iter_mut().zip(values.iter_mut()) {
                (*key, *value) = match path.step() {
                    Step::A(i) => (a[i], a_values[i]),
                    Step::B(j) => (b[j], b_values[j]),
                };
            }
        }
    });
}

/// A walk over both arrays in the order of the merge.
struct Path<'a, B> {
    order: Order<B>,
    a: &'a [B],
    b: &'a [B],
    at_a: usize,
    at_b: usize,
}

/// Where the next output comes from.
enum Step {
    A(usize),
    B(usize),
}

impl<'a, B: Bits> Path<'a, B> {
    /// After `diagonal` outputs.
    fn new(order: Order<B>, a: &'a [B], b: &'a [B], diagonal: usize) -> Self {
        let (mut low, mut high) = (diagonal.saturating_sub(b.len()), diagonal.min(a.len()));
        while low < high {
            let middle = low + (high - low) / 2;
            if order.rank(b[diagonal - 1 - middle]) < order.rank(a[middle]) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Self { order, a, b, at_a: low, at_b: diagonal - low }
    }

    /// The next output, of which there must be one.
    fn step(&mut self) -> Step {
        let rank = |key: &B| self.order.rank(*key);
        let a_wins = match (self.a.get(self.at_a), self.b.get(self.at_b)) {
            (Some(a), Some(b)) => rank(a) <= rank(b),
            (a, _) => a.is_some(),
        };
        let at = if a_wins { &mut self.at_a } else { &mut self.at_b };
        *at += 1;
        if a_wins { Step::A(*at - 1) } else { Step::B(*at - 1) }
    }
}
