//! Exchanges of whole warps and of parts of them, mixed, in several orders of execution.

mod common;

use common::host::{DeviceBuffer, Stream};
use common::{SEEDS, alone, context};
use device_std::host::PtxModule;
use device_std::{kernel, thread, warp};

static MODULE: PtxModule = PtxModule { name: "exchange", images: &[] };

/// Two warps, and a third of 16 lanes.
const BLOCK: u32 = 80;
/// Lanes that go a way of their own.
const APART: u32 = 0x0000_00ff;

fn lanes(warp: u32) -> u32 {
    if warp == 2 { 0x0000_ffff } else { warp::FULL }
}

/// In each round the lowest lanes meet 0 to 2 times by themselves, then each part votes, then the
/// whole warp shuffles, twice in every fourth round.
#[kernel(block = 80)]
pub unsafe fn mixed(values: *mut u32, rounds: u32) {
    let (lane, lanes) = (warp::lane_id(), lanes(warp::warp_id()));
    let part = if lane < 8 { APART } else { lanes & !APART };
    // SAFETY: an element for each thread, and the lanes of each mask come to its calls together.
    unsafe {
        let mut value = *values.add(thread::index_1d() as usize);
        for round in 0..rounds {
            if lane < 8 {
                for k in 0..round % 3 {
                    value = value.wrapping_add(warp::shuffle(part, value, (lane + k + 1) % 8));
                }
            }
            value ^= warp::ballot(part, value & 1 == 1);
            for k in 0..1 + u32::from(round % 4 == 3) {
                let from = (lane ^ (round + k)) % 16;
                value = value.wrapping_mul(3).wrapping_add(warp::shuffle(lanes, value, from));
            }
        }
        *values.add(thread::index_1d() as usize) = value;
    }
}

/// What the kernel does to the values of one warp.
fn mixed_on_host(values: &mut [u32], rounds: u32) {
    for round in 0..rounds {
        for k in 0..round % 3 {
            let before = values.to_vec();
            for lane in 0..8 {
                values[lane] = values[lane].wrapping_add(before[(lane + k as usize + 1) % 8]);
            }
        }
        let odd = values.iter().rev().fold(0, |bits, value| bits << 1 | value & 1);
        for (lane, value) in values.iter_mut().enumerate() {
            *value ^= odd & if lane < 8 { APART } else { !APART };
        }
        for k in 0..1 + u32::from(round % 4 == 3) {
            let before = values.to_vec();
            for (lane, value) in values.iter_mut().enumerate() {
                let from = (lane as u32 ^ (round + k)) % 16;
                *value = value.wrapping_mul(3).wrapping_add(before[from as usize]);
            }
        }
    }
}

#[test]
fn parts_and_wholes_do_not_mix_up() {
    let (_turn, _context) = (alone(), context());
    let stream = Stream::new();
    let usual = software_gpu::seed();
    for seed in SEEDS {
        software_gpu::set_seed(seed);
        for rounds in [0, 1, 2, 3, 4, 50] {
            let mut host: Vec<u32> = (0..5 * BLOCK).map(|i| i.wrapping_mul(0x9e37_79b1)).collect();
            let device = DeviceBuffer::from_slice(&host).unwrap();
            launch!(mixed, &stream, 5, 0, device.address(), rounds).unwrap();
            let warps = host.chunks_mut(BLOCK as usize).flat_map(|block| block.chunks_mut(32));
            warps.for_each(|warp| mixed_on_host(warp, rounds));
            assert_eq!(device.to_host().unwrap(), host, "seed {seed}, {rounds} rounds");
        }
    }
    software_gpu::set_seed(usual);
}
