//! Warp, block and device scans with an operator that does not commute: products of matrices. They run on the software
//! device, with blocks in several orders.

use device_std::atomic::Pair;
use device_std::block::BlockScan;
use device_std::host::{PtxImage, PtxModule, PtxText};
use device_std::lookback::{Lookback, Tickets};
use device_std::shared::{Carver, SharedArray};
use device_std::{In, Out, kernel, thread, warp};
use gpu_core::{Blocks, DeviceChoice, Gpu};

static MODULE: PtxModule = PtxModule {
    name: "collectives",
    images: &[PtxImage {
        level: 75,
        text: PtxText::Plain(
            ".visible .entry collectives__products_slim(\n.visible .entry collectives__products_wide(\n\
             .visible .entry collectives__sums_in_order(\n",
        ),
    }],
};

/// `[[1, 0], [0, 1]]`.
const IDENTITY: u64 = 1 | 1 << 48;

/// The product of two matrices of 2 x 2 integers of 16 bits, which wrap; row by row, the first
/// element lowest.
fn product(a: u64, b: u64) -> u64 {
    let element = |m: u64, row: usize, column: usize| (m >> (row * 32 + column * 16)) & 0xffff;
    let mut result = 0;
    for row in 0..2 {
        for column in 0..2 {
            let sum = element(a, row, 0) * element(b, 0, column)
                + element(a, row, 1) * element(b, 1, column);
            result |= (sum & 0xffff) << (row * 32 + column * 16);
        }
    }
    result
}

/// The shared memory of a block.
struct Shared {
    tickets: Tickets,
    scan: BlockScan<u64>,
    before: SharedArray<u64>,
}

impl Shared {
    const fn new(carver: &mut Carver) -> Self {
        Self {
            before: carver.array(1),
            scan: BlockScan::new(carver),
            tickets: Tickets::new(carver),
        }
    }
}

/// Results of the layers, `len` each, one after the other.
const LAYERS: usize = 4;

/// A thread has one element, in blocks of three warps, which is not a power of two, and of eight. Writes four products
/// for each element: over its warp up to the element, over its whole warp, over its block up to it, and over the array
/// up to it.
///
/// # Safety
/// `input` has `len` elements, `output` [`LAYERS`] times as many; `control` and `status` are as
/// [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
#[kernel(block = BLOCK, carve = |carver| Shared::new(carver), instances(
    slim: <96>;
    wide: <256>;
))]
pub unsafe fn products<const BLOCK: u32>(
    input: In<'_, u64>,
    output: Out<'_, u64>,
    len: u64,
    control: Out<'_, u64>,
    status: Out<'_, Pair>,
) {
    let Shared { tickets, scan, before } = Shared::new(&mut Carver::new());
    // SAFETY: the whole block comes to every call.
    unsafe {
        let ticket = tickets.take(control);
        let i = ticket.tile * u64::from(thread::block_dim_x()) + u64::from(thread::thread_idx_x());
        let element = if i < len { input.get(i) } else { IDENTITY };
        let in_warp = warp::inclusive_scan(element, product);
        let of_warp = warp::reduce(element, product);
        let (in_block, of_block) = scan.inclusive(element, IDENTITY, product);
        if warp::warp_id() == 0 {
            let lookback = Lookback::new(status, ticket);
            let prefix = lookback.exclusive_prefix(of_block, false, IDENTITY, product);
            if warp::lane_id() == 0 {
                before.store(0, prefix);
            }
        }
        thread::sync_threads();
        let in_array = product(before.load(0), in_block);
        for (layer, value) in [in_warp, of_warp, in_block, in_array].into_iter().enumerate() {
            if i < len {
                output.set(layer * len as usize + i as usize, value);
            }
        }
    }
}

/// A block is a warp and has one tile: its aggregate, and whether it is closed. Writes the prefix of each tile.
///
/// # Safety
/// `aggregates`, `closed` and `output` have an element for each block; `control` and `status` are as
/// [`Tickets::take`] and [`Lookback::exclusive_prefix`] ask.
#[kernel(block = 32, carve = |carver| Tickets::new(carver))]
pub unsafe fn sums_in_order(
    aggregates: In<'_, f64>,
    closed: In<'_, u32>,
    output: Out<'_, f64>,
    nearly_all_closed: u32,
    control: Out<'_, u64>,
    status: Out<'_, Pair>,
) {
    let add = |a: f64, b: f64| a + b;
    // SAFETY: the whole block comes to every call.
    unsafe {
        let ticket = Tickets::new(&mut Carver::new()).take(control);
        let tile = ticket.tile as usize;
        let (aggregate, closed) = (aggregates.get(tile), closed.get(tile) != 0);
        let lookback = Lookback::new(status, ticket);
        lookback.announce(aggregate, closed);
        let prefix = match nearly_all_closed != 0 {
            true => lookback.prefix_of_closed(aggregate, closed, 0.0, add),
            false => lookback.announced_prefix(aggregate, closed, 0.0, add),
        };
        if warp::lane_id() == 0 {
            output.set(tile, prefix);
        }
    }
}

/// The prefix of each tile by the definition. Groups of 32 tiles come one after the other; within a group the sums are
/// those of a warp's scan, from the last closed tile on.
fn before_each(aggregates: &[f64], closed: &[u32]) -> Vec<f64> {
    // The sums up to each tile of a group, and which of these sums include a closed tile.
    let in_group = |first: usize| {
        let tiles = first..aggregates.len().min(first + 32);
        let mut sums: Vec<_> = tiles.map(|t| (aggregates[t], t == 0 || closed[t] != 0)).collect();
        for delta in [1, 2, 4, 8, 16] {
            let shorter = sums.clone();
            for i in delta..sums.len() {
                if !shorter[i].1 {
                    let (value, closed) = shorter[i - delta];
                    sums[i] = (value + shorter[i].0, closed);
                }
            }
        }
        sums
    };
    let (mut before, mut all) = (vec![0.0], None);
    for first in (0..aggregates.len()).step_by(32) {
        let after = |sum: (f64, bool)| match all {
            Some(all) if !sum.1 => all + sum.0,
            _ => sum.0,
        };
        let until: Vec<_> = in_group(first).into_iter().map(after).collect();
        before.extend(&until);
        all = until.last().copied();
    }
    before.pop();
    before
}

#[test]
fn a_sum_in_order_has_one_order() {
    let gpu = Gpu::open(DeviceChoice::Software).unwrap();
    let usual = software_gpu::seed();
    let hash = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for tiles in [1, 2, 31, 32, 33, 63, 64, 65, 96, 97, 200, 1111] {
        // One of this many tiles is closed: none, few, or nearly all.
        for every in [0, 300, 40, 7, 1] {
            // Numbers, most of whose sums are rounded.
            let value = |i: u64| (hash(i) >> 12) as f64 * f64::exp2((hash(i) % 64) as f64);
            let aggregates: Vec<f64> = (0..tiles).map(value).collect();
            let is_closed = |i: u64| every != 0 && (hash(i) >> 32) % every == every / 2;
            let mut closed: Vec<u32> = (0..tiles).map(|i| is_closed(i) as u32).collect();
            if every == 1 {
                closed.iter_mut().step_by(50).for_each(|closed| *closed = 0);
            }
            let expected = before_each(&aggregates, &closed);
            let columns = (gpu.upload(&aggregates).unwrap(), gpu.upload(&closed).unwrap());
            for (seed, nearly_all_closed) in [(0, 0), (1, 0), (2, 1)] {
                software_gpu::set_seed(seed);
                let mut control = gpu.zeroed::<u64>(1).unwrap();
                let mut status = gpu.zeroed::<Pair>(tiles as usize).unwrap();
                let mut output = gpu.zeroed::<f64>(tiles as usize).unwrap();
                let arguments = sums_in_order::Args {
                    aggregates: columns.0.input(),
                    closed: columns.1.input(),
                    output: output.output(),
                    nearly_all_closed,
                    control: control.output(),
                    status: status.output(),
                };
                // SAFETY: there is an element for each block.
                unsafe {
                    gpu.enqueue(sums_in_order, Blocks::x(tiles as u32), arguments).unwrap();
                }
                let found = output.to_host().unwrap();
                let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found), bits(&expected), "{tiles} tiles, {every}, seed {seed}");
            }
        }
    }
    software_gpu::set_seed(usual);
}

/// The products of each chunk's elements up to each.
fn scan(elements: &[u64], chunk: usize) -> Vec<u64> {
    let in_chunk = |chunk: &[u64]| -> Vec<u64> {
        let next = |so_far: &mut u64, element: &u64| {
            *so_far = product(*so_far, *element);
            Some(*so_far)
        };
        chunk.iter().scan(IDENTITY, next).collect()
    };
    elements.chunks(chunk).flat_map(in_chunk).collect()
}

#[test]
fn left_operands_come_from_below_at_every_layer() {
    // This test's kernels have no PTX, so they run on the software device alone.
    let gpu = Gpu::open(DeviceChoice::Software).unwrap();
    let mut control = gpu.zeroed::<u64>(1).unwrap();
    let mut status = gpu.zeroed::<Pair>(100).unwrap();
    let usual = software_gpu::seed();
    let one = 0x0003_0001_0001_0002;
    assert_ne!(product(one, one << 16 | 1), product(one << 16 | 1, one));
    for (kernel, block) in [(products::slim, 96), (products::wide, 256)] {
        for len in [1, 31, 32, 33, block - 1, block, block + 1, 3 * block + 7, 80 * block + 1] {
            let hash = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let x: Vec<u64> = (0..len).map(hash).collect();
            let input = gpu.upload(&x).unwrap();
            for seed in 0..3 {
                software_gpu::set_seed(seed);
                let mut output = gpu.zeroed::<u64>(LAYERS * len).unwrap();
                let arguments = products::Args {
                    input: input.input(),
                    output: output.output(),
                    len: len as u64,
                    control: control.output(),
                    status: status.output(),
                };
                let blocks = Blocks::x(len.div_ceil(block) as u32);
                // SAFETY: the arrays are as long as said, and there is a status for each block.
                unsafe { gpu.enqueue(kernel, blocks, arguments).unwrap() };
                let output = output.to_host().unwrap();
                let [in_warp, of_warp, in_block, in_array] =
                    std::array::from_fn(|layer| &output[layer * len..][..len]);
                let expected = scan(&x, 32);
                assert_eq!(in_warp, expected, "{len} {seed}");
                let ends = |i: usize| (i / 32 * 32 + 31).min(len - 1);
                assert!((0..len).all(|i| of_warp[i] == expected[ends(i)]), "{len} {seed}");
                assert_eq!(in_block, scan(&x, block), "{len} {seed}");
                assert_eq!(in_array, scan(&x, len), "{len} {seed}");
            }
        }
    }
    software_gpu::set_seed(usual);
}
