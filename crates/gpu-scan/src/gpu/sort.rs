//! Stable radix sorts: of keys, of pairs, of indices.

use std::ops::Range;
use std::ptr;

use device_std::{In, Out};
use gpu_core::{Blocks, Element, Gpu, Slice, SliceMut};
use kernels_rs::primitives::sort::{
    self as kernels, Arrays, COUNTED_TILE, DIGITS, RADIX_BITS, count_digits, histogram_tile,
    sort_by_digit, tile, write_counted,
};

use super::Workspace;
use super::workspace::{Arena, Digits, Layout, Part, apart, tiles};
use crate::error::{Result, same_len};
use crate::number::sealed::{KernelBits, PayloadSize};
use crate::{Index, Key, Payload, Sort};

/// Sorts the keys, stably, with NaN last (first, if descending).
///
/// One read of the keys, and for each 8 bits of the sort one more read and one write. Keys of one byte are read once and
/// written once, unless the sort is by some of their bits.
///
/// Example: see [`cpu::sort`](crate::cpu::sort()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`Length`](gpu_core::Error::Length), [`Overlap`](crate::Error::Overlap),
/// [`BitRange`](crate::Error::BitRange), [`TooLarge`](crate::Error::TooLarge).
pub fn sort<'a, K: Key>(
    workspace: &mut Workspace,
    sort: Sort,
    keys: impl Into<Slice<'a, K>>,
    sorted: impl Into<SliceMut<'a, K>>,
) -> Result<()> {
    let (keys, sorted) = (keys.into(), sorted.into());
    same_len("sorted", keys.len(), sorted.len())?;
    apart(("keys", keys), ("sorted", &sorted))?;
    let call = Call::new::<K>(&sort, keys.len())?;
    // SAFETY: both have `len` elements and are apart.
    unsafe { call.enqueue_keys(workspace, Ends::new(keys, sorted).cast::<K::Bits>()) }
}

/// Sorts like [`sort`], in place. A sort by up to 8 bits makes a second pass, which copies. Keys of one byte are sorted by
/// all their bits without scratch and without that pass.
///
/// Example: see [`cpu::sort_in_place`](crate::cpu::sort_in_place()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// [`BitRange`](crate::Error::BitRange), [`TooLarge`](crate::Error::TooLarge).
pub fn sort_in_place<'a, K: Key>(
    workspace: &mut Workspace,
    sort: Sort,
    keys: impl Into<SliceMut<'a, K>>,
) -> Result<()> {
    let keys = keys.into();
    let call = Call::new::<K>(&sort, keys.len())?;
    // SAFETY: the array has `len` elements.
    unsafe { call.enqueue_keys(workspace, Ends::in_place(keys.output()).cast::<K::Bits>()) }
}

/// Returns the sorted keys, and each key's value at the key's place.
///
/// One read of the keys, and for each 8 bits of the sort one more read and one write of keys and values.
///
/// Example: see [`cpu::sort_pairs`](crate::cpu::sort_pairs()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`sort`], for all four arrays.
pub fn sort_pairs<'a, K: Key, V: Payload>(
    workspace: &mut Workspace,
    sort: Sort,
    keys: impl Into<Slice<'a, K>>,
    values: impl Into<Slice<'a, V>>,
    sorted_keys: impl Into<SliceMut<'a, K>>,
    sorted_values: impl Into<SliceMut<'a, V>>,
) -> Result<()> {
    let keys = keys.into();
    let call = Call::new::<K>(&sort, keys.len())?;
    let (keys, values) = pair_ends(keys, values.into(), sorted_keys.into(), sorted_values.into())?;
    // SAFETY: the arrays have as many elements; those read are apart from those written.
    unsafe { call.enqueue_pairs_of(workspace, keys, values) }
}

/// Checks the arrays of a sort of pairs.
pub(super) fn pair_ends<'a, K: Key, V: Payload>(
    keys: Slice<'a, K>,
    values: Slice<'a, V>,
    sorted_keys: SliceMut<'a, K>,
    sorted_values: SliceMut<'a, V>,
) -> Result<(Ends<'a, K>, Ends<'a, V>)> {
    let len = keys.len();
    same_len("values", len, values.len())?;
    same_len("sorted keys", len, sorted_keys.len())?;
    same_len("sorted values", len, sorted_values.len())?;
    apart(("keys", keys), ("sorted keys", &sorted_keys))?;
    apart(("keys", keys), ("sorted values", &sorted_values))?;
    apart(("values", values), ("sorted keys", &sorted_keys))?;
    apart(("values", values), ("sorted values", &sorted_values))?;
    Ok((Ends::new(keys, sorted_keys), Ends::new(values, sorted_values)))
}

/// Sorts like [`sort_pairs`], in place. A sort by up to 8 bits makes a second pass, which copies.
///
/// Example: see [`cpu::sort_pairs_in_place`](crate::cpu::sort_pairs_in_place()), called in [this
/// form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`sort_in_place`]; [`Length`](gpu_core::Error::Length) unless there is a value for each key;
/// [`Overlap`](crate::Error::Overlap) if keys and values overlap.
pub fn sort_pairs_in_place<'a, K: Key, V: Payload>(
    workspace: &mut Workspace,
    sort: Sort,
    keys: impl Into<SliceMut<'a, K>>,
    values: impl Into<SliceMut<'a, V>>,
) -> Result<()> {
    let (keys, values) = (keys.into(), values.into());
    let len = keys.len();
    same_len("values", len, values.len())?;
    apart(("keys", &keys), ("values", &values))?;
    let call = Call::new::<K>(&sort, len)?;
    let (keys, values) = (Ends::in_place(keys.output()), Ends::in_place(values.output()));
    // SAFETY: the arrays have `len` elements and are apart.
    unsafe { call.enqueue_pairs_of(workspace, keys, values) }
}

/// Returns the indices of the keys in the order of the keys; equal keys come by rising index.
///
/// Costs as much as [`sort_pairs`], without the first read of values. The keys stay unchanged.
///
/// Example: see [`cpu::argsort`](crate::cpu::argsort()), called in [this form](crate::gpu#examples).
///
/// # Errors
/// The errors of [`sort`]; [`TooLarge`](crate::Error::TooLarge) also where an index might not fit `I`.
pub fn argsort<'a, K: Key, I: Index + Payload>(
    workspace: &mut Workspace,
    sort: Sort,
    keys: impl Into<Slice<'a, K>>,
    indices: impl Into<SliceMut<'a, I>>,
) -> Result<()> {
    let (keys, indices) = (keys.into(), indices.into());
    let len = keys.len();
    same_len("indices", len, indices.len())?;
    apart(("keys", keys), ("indices", &indices))?;
    I::check(len)?;
    let call = Call::new::<K>(&sort, len)?;
    let (keys, indices) = (Ends::nowhere(keys.input()), Ends::indices(indices.output()));
    // SAFETY: both have `len` elements and are apart.
    unsafe { call.enqueue_pairs_of(workspace, keys, indices) }
}

/// Sorts the keys, and writes where each key stood: [`sort`] and [`argsort`] in one. Equal keys by rising index.
///
/// ```
/// # use gpu_core::{DeviceChoice, Gpu};
/// use gpu_scan::Sort;
/// use gpu_scan::gpu::{Workspace, sort_with_indices};
///
/// # fn main() -> Result<(), gpu_scan::Error> {
/// # let gpu = Gpu::open(DeviceChoice::Software)?;
/// # let mut workspace = Workspace::new(&gpu)?;
/// let keys = gpu.upload(&[7.0, 5.0, 6.0])?;
/// let (mut sorted, mut indices) = (gpu.zeroed::<f64>(3)?, gpu.zeroed::<u32>(3)?);
/// sort_with_indices(&mut workspace, Sort::ascending(), &keys, &mut sorted, &mut indices)?;
/// assert_eq!(sorted.to_host()?, [5.0, 6.0, 7.0]);
/// assert_eq!(indices.to_host()?, [1, 2, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The errors of [`argsort`].
pub fn sort_with_indices<'a, K: Key, I: Index + Payload>(
    workspace: &mut Workspace,
    sort: Sort,
    keys: impl Into<Slice<'a, K>>,
    sorted: impl Into<SliceMut<'a, K>>,
    indices: impl Into<SliceMut<'a, I>>,
) -> Result<()> {
    let (keys, sorted, indices) = (keys.into(), sorted.into(), indices.into());
    let len = keys.len();
    same_len("sorted", len, sorted.len())?;
    same_len("indices", len, indices.len())?;
    apart(("keys", keys), ("sorted", &sorted))?;
    apart(("keys", keys), ("indices", &indices))?;
    apart(("sorted", &sorted), ("indices", &indices))?;
    I::check(len)?;
    let call = Call::new::<K>(&sort, len)?;
    // SAFETY: all three have `len` elements and are apart.
    unsafe {
        let (keys, indices) = (Ends::new(keys, sorted), Ends::indices(indices.output()));
        call.enqueue_pairs_of(workspace, keys, indices)
    }
}

/// Where an array is read and where it is written. Neither need be there: keys that nobody wants
/// sorted, values that are the indices.
pub(super) struct Ends<'a, T> {
    pub(super) from: Option<In<'a, T>>,
    pub(super) to: Option<Out<'a, T>>,
}

impl<T> Clone for Ends<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ends<'_, T> {}

impl<'a, T> Ends<'a, T> {
    /// Checks that launches would admit both.
    pub(super) fn check(&self, gpu: &Gpu) -> Result<()> {
        gpu.check_argument(&self.from)?;
        Ok(gpu.check_argument(&self.to)?)
    }

    pub(super) fn new(from: Slice<'a, T>, to: SliceMut<'a, T>) -> Self {
        Self { from: Some(from.input()), to: Some(to.output()) }
    }

    pub(super) fn in_place(array: Out<'a, T>) -> Self {
        Self { from: Some(array.as_input()), to: Some(array) }
    }

    /// No output: the keys are not wanted.
    pub(super) fn nowhere(from: In<'a, T>) -> Self {
        Self { from: Some(from), to: None }
    }

    /// No input: the values are the indices.
    pub(super) fn indices(to: Out<'a, T>) -> Self {
        Self { from: None, to: Some(to) }
    }

    /// Returns both ends; an end that is missing is an empty slice.
    pub(super) fn there(self) -> (In<'a, T>, Out<'a, T>) {
        (self.from.unwrap_or(In::empty()), self.to.unwrap_or(Out::empty()))
    }

    /// The same arrays, of elements of the same size.
    pub(super) fn cast<S: Element>(self) -> Ends<'a, S>
    where
        T: Element,
    {
        assert!(size_of::<T>() == size_of::<S>() && align_of::<T>() >= align_of::<S>());
        // SAFETY: as was checked, and any bits are an element of either type.
        unsafe { Ends { from: self.from.map(|from| from.cast()), to: self.to.map(|to| to.cast()) } }
    }

    /// Whether the result may be written only when the input was read whole.
    fn is_in_place(&self) -> bool {
        let ends = self.from.zip(self.to);
        ends.is_some_and(|(from, to)| ptr::eq(from.start(), to.start()))
    }

    /// Returns what pass `pass` of `passes` reads and writes. There are two scratch arrays: the last pass writes to the
    /// end, and the others alternate.
    fn pass(&self, pass: u32, passes: u32, scratch: [Out<'a, T>; 2]) -> (In<'a, T>, Out<'a, T>) {
        let to_of = |pass: u32| {
            let is_end = (passes - 1 - pass).is_multiple_of(2);
            match self.to {
                // The first pass over an array in place must not write there.
                Some(to) if is_end && !(self.is_in_place() && pass == 0) => to,
                _ if is_end => scratch[1],
                _ => scratch[0],
            }
        };
        let from = match pass {
            0 => self.there().0,
            _ => to_of(pass - 1).as_input(),
        };
        (from, to_of(pass))
    }

    /// Whether the second scratch array is written to.
    fn needs_second(&self, passes: u32) -> bool {
        self.to.is_none() || (self.is_in_place() && passes % 2 == 1)
    }
}

/// A sort, checked.
#[derive(Clone, Copy)]
pub(super) struct Call {
    len: u64,
    begin: u32,
    end: u32,
    order: [u64; 4],
}

impl Call {
    pub(super) fn new<K: Key>(sort: &Sort, len: usize) -> Result<Self> {
        let bits = sort.range::<K>()?;
        let order = sort.order::<K>().parameters();
        Ok(Self { len: len as u64, begin: bits.start, end: bits.end, order })
    }

    /// By all bits of the ranks in an order.
    pub(super) fn by_rank<K: Key>(order: [u64; 4], len: usize) -> Self {
        Self { len: len as u64, begin: 0, end: 8 * size_of::<K>() as u32, order }
    }

    /// By some bits of keys that are unsigned.
    pub(super) fn by_bits(len: usize, bits: Range<u32>) -> Self {
        Self { len: len as u64, begin: bits.start, end: bits.end, order: [0; 4] }
    }

    /// The parameters of the keys' order.
    pub(super) fn order(&self) -> [u64; 4] {
        self.order
    }

    /// One for each digit; in place at least two, since no pass reads and writes one array.
    fn passes(&self, is_in_place: bool) -> u32 {
        (self.end - self.begin).div_ceil(RADIX_BITS).max(1 + u32::from(is_in_place))
    }

    /// The kernels' word for a pass.
    fn word(&self, pass: u32, passes: u32, with_indices: bool) -> u32 {
        // A pass beyond the range has no bits: it copies.
        let shift = self.end.min(self.begin + pass * RADIX_BITS);
        let mut flags = 0;
        if pass == 0 {
            flags |= kernels::RANK | if with_indices { kernels::INDEX } else { 0 };
        }
        if pass + 1 == passes {
            flags |= kernels::UNRANK;
        }
        kernels::pass_word(shift, RADIX_BITS.min(self.end - shift), flags)
    }

    /// # Safety
    /// The ends are the same array of `len` keys, or two that are apart.
    pub(super) unsafe fn enqueue_keys<B: KernelBits>(
        &self,
        workspace: &mut Workspace,
        keys: Ends<'_, B>,
    ) -> Result<()> {
        let nothing = Ends::<()> { from: None, to: None };
        let is_one_byte = size_of::<B>() == 1 && self.end - self.begin == RADIX_BITS;
        // SAFETY: the keys are the caller's promise; without values none are touched.
        unsafe {
            match is_one_byte {
                true => self.enqueue_counted(workspace, keys.cast()),
                false => self.enqueue(workspace, keys, nothing),
            }
        }
    }

    /// Enqueues a sort of keys of one byte by all their bits: the histogram says what the result is.
    ///
    /// # Safety
    /// As [`enqueue_keys`](Self::enqueue_keys).
    unsafe fn enqueue_counted(&self, workspace: &mut Workspace, keys: Ends<'_, u8>) -> Result<()> {
        let tiles = tiles(self.len, COUNTED_TILE)?;
        if self.len == 0 {
            return Ok(());
        }
        let (input, output) = keys.there();
        keys.check(workspace.gpu())?;
        // SAFETY: the keys are the caller's promise. The histogram is read by no other sort, and counts all keys.
        unsafe {
            let Digits { counts, .. } = self.enqueue_histogram(workspace, input, 0)?;
            let (len, parameters, done) = (self.len, self.order, workspace.done());
            let arguments =
                write_counted::Args { output, len, parameters, histogram: counts, done };
            let gpu = workspace.gpu();
            gpu.enqueue(write_counted, resident(gpu, tiles.into()), arguments)?;
        }
        workspace.end_sort();
        Ok(())
    }

    /// Begins a sort with this number of statuses: enqueues the counts of all passes' digits.
    ///
    /// # Safety
    /// `input` has `len` elements, more than none.
    unsafe fn enqueue_histogram<'a, B: KernelBits>(
        &self,
        workspace: &mut Workspace,
        input: In<'_, B>,
        statuses: u64,
    ) -> Result<Digits<'a>> {
        let digits = workspace.begin_sort(statuses)?;
        let arguments = count_digits::Args {
            input,
            len: self.len,
            begin: self.begin,
            end: self.end,
            parameters: self.order,
            histogram: digits.counts,
            control: digits.control,
            status: digits.status,
            status_len: digits.status_len,
        };
        let gpu = workspace.gpu();
        let blocks = resident(gpu, self.len.div_ceil(histogram_tile::<B>()));
        // SAFETY: the keys are the caller's promise; the digit counts are zero, and used by one sort at a time.
        unsafe { gpu.enqueue(<B as count_digits::Instance>::KERNEL, blocks, arguments)? };
        Ok(digits)
    }

    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    pub(super) unsafe fn enqueue_pairs_of<K: Key, V: Payload>(
        &self,
        workspace: &mut Workspace,
        keys: Ends<'_, K>,
        values: Ends<'_, V>,
    ) -> Result<()> {
        // SAFETY: the arrays are the caller's promise.
        unsafe { self.enqueue_pairs(workspace, keys.cast::<K::Bits>(), values) }
    }

    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    pub(super) unsafe fn enqueue_pairs<B: KernelBits, V: Payload>(
        &self,
        workspace: &mut Workspace,
        keys: Ends<'_, B>,
        values: Ends<'_, V>,
    ) -> Result<()> {
        // SAFETY: the arrays are the caller's promise.
        unsafe {
            match V::SIZE {
                PayloadSize::Four => self.enqueue::<_, u32>(workspace, keys, values.cast()),
                PayloadSize::Eight => self.enqueue::<_, u64>(workspace, keys, values.cast()),
            }
        }
    }

    /// Enqueues the histogram and the passes.
    ///
    /// # Safety
    /// The arrays have `len` elements. Keys are read; what is read and what is written are the
    /// same array or apart. Values are indices where none are read, and left alone where none are
    /// written.
    unsafe fn enqueue<B: KernelBits + sort_by_digit::Instance<V>, V: Element>(
        &self,
        workspace: &mut Workspace,
        keys: Ends<'_, B>,
        values: Ends<'_, V>,
    ) -> Result<()> {
        let blocks = tiles(self.len, tile::<B, V>())?;
        if self.len == 0 {
            return Ok(());
        }
        keys.check(workspace.gpu())?;
        values.check(workspace.gpu())?;
        let passes = self.passes(keys.is_in_place());
        let scratch = Scratch::new(self.len, passes, &keys, &values);
        let arena = workspace.arena(&scratch.layout)?;
        let statuses = u64::from(blocks) * u64::from(DIGITS);
        // SAFETY: the keys are the caller's promise.
        let digits = unsafe { self.enqueue_histogram(workspace, keys.there().0, statuses)? };
        let Digits { counts, control, status, .. } = digits;
        let gpu = workspace.gpu();
        for pass in 0..passes {
            let (keys_in, keys_out) = keys.pass(pass, passes, scratch.keys(arena));
            let (values_in, values_out) = values.pass(pass, passes, scratch.values(arena));
            let arguments = sort_by_digit::Args {
                arrays: Arrays { keys_in, keys_out, values_in, values_out, len: self.len },
                word: self.word(pass, passes, values.from.is_none()),
                parameters: self.order,
                histogram: counts.from(pass * DIGITS),
                control,
                status,
            };
            let kernel = <B as sort_by_digit::Instance<V>>::KERNEL;
            // SAFETY: as above.
            unsafe { gpu.enqueue(kernel, Blocks::x(blocks), arguments)? };
        }
        workspace.end_sort();
        Ok(())
    }
}

/// Blocks that share tiles: as many as a GPU holds at once, or one a tile.
fn resident(gpu: &Gpu, tiles: u64) -> Blocks {
    Blocks::x(tiles.min(u64::from(gpu.multiprocessors() * kernels::RESIDENT)) as u32)
}

/// The scratch arrays of a sort.
struct Scratch<B, V> {
    layout: Layout,
    keys: [Part<B>; 2],
    values: [Part<V>; 2],
}

impl<B: Element, V: Element> Scratch<B, V> {
    fn new(len: u64, passes: u32, keys: &Ends<'_, B>, values: &Ends<'_, V>) -> Self {
        let mut layout = Layout::default();
        let second = |needed: bool| if needed { len } else { 0 };
        let has_values = values.to.is_some();
        let keys = [layout.part(len), layout.part(second(keys.needs_second(passes)))];
        let values = [
            layout.part(second(has_values)),
            layout.part(second(has_values && values.needs_second(passes))),
        ];
        Self { layout, keys, values }
    }

    fn keys<'a>(&self, arena: Arena) -> [Out<'a, B>; 2] {
        self.keys.each_ref().map(|part| arena.at(part))
    }

    fn values<'a>(&self, arena: Arena) -> [Out<'a, V>; 2] {
        self.values.each_ref().map(|part| arena.at(part))
    }
}

#[cfg(test)]
mod tests {
    use gpu_core::{DeviceChoice, Gpu};
    use kernels_rs::primitives::sort::MAX_PASSES;

    use super::*;

    fn open() -> (Gpu, Workspace) {
        let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
        let gpu = Gpu::open(choice).unwrap();
        let workspace = Workspace::new(&gpu).unwrap();
        (gpu, workspace)
    }

    fn random(n: usize, seed: u32) -> Vec<u32> {
        let hash = |i: u32| (i ^ seed).wrapping_mul(0x9e37_79b1).rotate_left(15);
        (0..n as u32).map(|i| hash(hash(i))).collect()
    }

    /// Sorts by the lowest 8 bits (one pass) or by all (four), and checks the result.
    fn check(w: &mut Workspace, keys: &[u32], bits: Range<u32>) {
        let input = w.gpu().upload(keys).unwrap();
        let mut output = w.gpu().zeroed::<u32>(keys.len()).unwrap();
        let by_bits = Sort::ascending().by_bits(bits.clone());
        sort(w, by_bits, &input, &mut output).unwrap();
        let mut expected = keys.to_vec();
        let mask = u32::MAX >> (32 - bits.len());
        expected.sort_by_key(|key| key >> bits.start & mask);
        assert!(output.to_host().unwrap() == expected, "{} keys by {bits:?}", keys.len());
    }

    /// Lets the next pass of a workspace have this epoch, as if passes had gone before.
    fn set_epoch(w: &mut Workspace, epoch: u64) {
        const TICKET_BITS: u32 = 26;
        let gpu = w.gpu().clone();
        let control = w.begin_sort(0).unwrap().control;
        w.end_sort();
        // SAFETY: the control word is one element, and no sort runs; the copy is waited for.
        unsafe {
            let word = SliceMut::from_raw_parts(control.start(), 1);
            gpu.enqueue_write(word, &[(epoch - 1) << TICKET_BITS]).unwrap();
        }
        gpu.synchronize().unwrap();
    }

    /// The last sort of a round must not take the first sort's statuses for its own.
    #[test]
    fn epochs_that_come_again_are_told_apart() {
        let (gpu, _) = open();
        let (zeros, keys) = (vec![0; 100_000], random(100_000, 2));
        for seed in 0..4 {
            software_gpu::set_seed(seed);
            let mut w = Workspace::new(&gpu).unwrap();
            for round in [1u64, 2] {
                let begin = (round << 22) - u64::from(MAX_PASSES);
                let end = begin + (1 << 22);
                set_epoch(&mut w, begin);
                check(&mut w, &zeros, 0..8);
                for (epoch, bits) in [(end - 1, 0..16), (end, 0..8), (end + 1, 0..32)] {
                    set_epoch(&mut w, epoch);
                    check(&mut w, &keys, bits);
                }
            }
        }
    }

    /// A graph goes on with the statuses that its workspace has outgrown: that they are cleared says
    /// nothing about those that calls use now.
    #[test]
    fn statuses_of_a_graph_and_of_calls_are_cleared_apart() {
        let (gpu, mut w) = open();
        let few = gpu.upload(&random(1000, 3)).unwrap();
        let mut sorted = gpu.zeroed::<u32>(1000).unwrap();
        let mut enqueue = |w: &mut Workspace| sort(w, Sort::ascending(), &few, &mut sorted);
        enqueue(&mut w).unwrap();
        let graph = gpu.capture(|| enqueue(&mut w)).unwrap();
        let (zeros, keys) = (vec![0; 200_000], random(200_000, 4));
        for seed in 0..4 {
            software_gpu::set_seed(seed);
            let first = 100 + (seed << 23);
            set_epoch(&mut w, first);
            check(&mut w, &zeros, 0..8);
            set_epoch(&mut w, first + (1 << 22) - 4);
            // SAFETY: columns and workspace are there as they were, and nothing else uses them now.
            unsafe { graph.launch().unwrap() };
            gpu.synchronize().unwrap();
            check(&mut w, &keys, 0..8);
        }
    }
}
