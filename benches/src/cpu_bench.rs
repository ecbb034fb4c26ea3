//! Times the CPU side of pba-voronoi beside `benches/peers/scipy_edt.py`, on the same masks.
//!
//! `cpu_bench [SIDE] [DENSITY]..`: nearest sites and distances as f32, the best of 5 runs. The
//! number of threads is rayon's (`RAYON_NUM_THREADS`).

use std::time::{Duration, Instant};

use anyhow::Result;
use gpu_core::{Device, GridSpec};
use pba_voronoi::{Input, Params, Sites, transform};

const RUNS: usize = 5;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let side: u32 = arguments.next().unwrap_or("4096".into()).parse()?;
    let given = arguments.map(|a| a.parse()).collect::<Result<Vec<f64>, _>>()?;
    let densities = if given.is_empty() { vec![0.0001, 0.01, 0.25] } else { given };
    println!("{} threads, {side} x {side}", rayon::current_num_threads());
    for density in densities {
        let sites = mask(side, density);
        let input = Input::new(Sites::Mask(&sites), GridSpec::of_pixels(side, side));
        let both = Params::new().nearest().distance();
        let wanted = [
            ("indices and distances", both),
            ("indices", Params::new().nearest()),
            ("distances", Params::new().distance()),
            ("both by ScanPrune", both.algorithm(pba_voronoi::Algorithm::ScanPrune)),
        ];
        for (name, params) in wanted {
            let mut best = Duration::MAX;
            for _ in 0..RUNS {
                let start = Instant::now();
                let diagram = transform(&Device::Cpu, &input, &params, &())?;
                best = best.min(start.elapsed());
                drop(diagram);
            }
            println!("{}%: {name}: {:.1} ms", density * 100.0, best.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

/// A repeatable mask: the peer makes the same one.
fn mask(side: u32, density: f64) -> Vec<u8> {
    let threshold = (density * 2f64.powi(32)) as u64;
    let is_site = |p: u64| {
        // The mixing function of splitmix64.
        let mut z = p.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) >> 32 < threshold
    };
    (0..u64::from(side) * u64::from(side)).map(|p| u8::from(is_site(p))).collect()
}
