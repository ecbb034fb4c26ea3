//! A surface of the highest points, by primitives alone. It shows a pipeline of primitives, on a device and on the CPU.
//!
//! `cargo run --package gpu-scan --example points_to_cells -- [--device cpu|software|cuda] [--seed N]`
//!
//! 1. `sort_pairs` brings the points of a cell together, each with its height.
//! 2. `reduce_by_key` with [`Max`] finds the cells that hold points, and the highest point of each.
//! 3. `fill` and `scatter` put these heights onto a grid of NaN.
//! 4. `scan_rows` with [`LastValid`], from the west and then from the east: cells without points take the last height before them.
//! 5. `run_lengths` and `top_k` find the fullest cells. `reduce`: the greatest height.
//!
//! On a device, no data come to the host between the steps. Outputs are as long as if each point had its own cell, and
//! the number of cells stays on the device until the end.

use gpu_core::{Device, DeviceChoice, DeviceGrid, Gpu, GridSpec};
use gpu_scan::{LastValid, Max, Result, Scan, Sort, TopK, cpu, gpu};

const WIDTH: usize = 64;
const HEIGHT: usize = 20;
const POINTS: usize = 4000;

/// Cells that are listed as the fullest.
const FULLEST: usize = 3;

/// Points by the cells that hold them.
struct Points {
    cells: Vec<u32>,
    heights: Vec<f32>,
}

/// The results of the pipeline.
#[derive(Debug, PartialEq)]
struct Surface {
    /// Row by row.
    heights: Vec<f32>,
    /// How many cells hold points.
    occupied: u64,
    /// The fullest of them, and how many points each has.
    fullest: Vec<(u32, u64)>,
    highest: f32,
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let (mut choice, mut seed) = (DeviceChoice::Auto, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("{word} wants a value"))?;
        match word.as_str() {
            "--device" => choice = value.parse()?,
            "--seed" => seed = value.parse()?,
            _ => return Err(format!("{word}: give --device or --seed").into()),
        }
    }
    let device = Device::open(choice)?;
    let points = Points::on_a_hill(seed);
    let surface = match &device {
        Device::Cpu => on_cpu(&points)?,
        Device::Gpu(gpu) => on_device(gpu, &points)?,
    };
    surface.print();
    let Surface { occupied, highest, .. } = surface;
    println!(
        "{POINTS} points in {occupied} of {} cells, up to {highest:.1} m, on {}",
        WIDTH * HEIGHT,
        device.name()
    );
    for (cell, points) in surface.fullest {
        println!("cell ({}, {}) has {points} points", cell as usize % WIDTH, cell as usize / WIDTH);
    }
    Ok(())
}

/// The pipeline in device memory.
fn on_device(gpu: &Gpu, points: &Points) -> Result<Surface> {
    let mut workspace = gpu::Workspace::new(gpu)?;
    let (cells, heights) = (gpu.upload(&points.cells)?, gpu.upload(&points.heights)?);
    let most = points.cells.len();

    let (mut sorted, mut sorted_heights) = (gpu.zeroed::<u32>(most)?, gpu.zeroed::<f32>(most)?);
    let ascending = Sort::ascending();
    gpu::sort_pairs(&mut workspace, ascending, &cells, &heights, &mut sorted, &mut sorted_heights)?;

    // Cells behind those that hold points keep a number beyond the grid, which a scatter leaves out.
    let mut occupied = gpu.zeroed::<u32>(most)?;
    gpu::fill(&mut workspace, u32::MAX, &mut occupied)?;
    let (mut tops, mut count) = (gpu.zeroed::<f32>(most)?, gpu.zeroed::<u64>(1)?);
    gpu::reduce_by_key(
        &mut workspace,
        Max,
        &sorted,
        &sorted_heights,
        &mut occupied,
        &mut tops,
        &mut count,
    )?;

    let mut surface = gpu.zeroed::<f32>(WIDTH * HEIGHT)?;
    gpu::fill(&mut workspace, f32::NAN, &mut surface)?;
    gpu::scatter(&mut workspace, &occupied, &tops, &mut surface)?;

    let grid = GridSpec::of_pixels(WIDTH as u32, HEIGHT as u32);
    let mut surface = DeviceGrid::from_column(surface, grid)?;
    for how in [Scan::inclusive(), Scan::inclusive().backward()] {
        gpu::scan_rows_in_place(&mut workspace, LastValid(f32::NAN), how, &mut surface)?;
    }

    let (mut runs, mut lengths) = (gpu.zeroed::<u32>(most)?, gpu.zeroed::<u64>(most)?);
    gpu::run_lengths(&mut workspace, &sorted, &mut runs, &mut lengths, &mut count)?;
    let (mut fullest, mut which) = (gpu.zeroed::<u64>(FULLEST)?, gpu.zeroed::<u64>(FULLEST)?);
    gpu::top_k(&mut workspace, TopK::greatest(), &lengths, &mut fullest, &mut which)?;
    let mut their_cells = gpu.zeroed::<u32>(FULLEST)?;
    gpu::gather(&mut workspace, &which, &runs, &mut their_cells)?;
    let mut highest = gpu.zeroed::<f32>(1)?;
    gpu::reduce(&mut workspace, Max, &heights, &mut highest)?;

    Ok(Surface {
        heights: surface.to_host()?.into_values(),
        occupied: count.to_host()?[0],
        fullest: their_cells.to_host()?.into_iter().zip(fullest.to_host()?).collect(),
        highest: highest.to_host()?[0],
    })
}

/// The same by the twins on the CPU, which give vectors.
fn on_cpu(points: &Points) -> Result<Surface> {
    let (cells, heights) = cpu::sort_pairs(Sort::ascending(), &points.cells, &points.heights)?;
    let (occupied, tops) = cpu::reduce_by_key(Max, &cells, &heights)?;
    let mut surface = vec![0.0; WIDTH * HEIGHT];
    cpu::fill(f32::NAN, &mut surface);
    cpu::scatter(&occupied, &tops, &mut surface)?;
    for how in [Scan::inclusive(), Scan::inclusive().backward()] {
        cpu::scan_rows_in_place(LastValid(f32::NAN), how, WIDTH, &mut surface)?;
    }
    let (runs, lengths) = cpu::run_lengths(&cells);
    let (fullest, which) = cpu::top_k(TopK::greatest(), &lengths, FULLEST)?;
    Ok(Surface {
        heights: surface,
        occupied: occupied.len() as u64,
        fullest: which.into_iter().map(|run| runs[run as usize]).zip(fullest).collect(),
        highest: cpu::reduce(Max, &points.heights),
    })
}

impl Points {
    /// Points of a hill, the denser the nearer to its top, from a seed.
    fn on_a_hill(seed: u64) -> Self {
        // xorshift64* (Vigna 2016, doi:10.1145/2845077).
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut unit = || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f32 / (1u64 << 24) as f32
        };
        let (mut cells, mut heights) = (Vec::new(), Vec::new());
        for _ in 0..POINTS {
            // The mean of two numbers is likelier in the middle than at the ends.
            let (x, y) = ((unit() + unit()) / 2.0, (unit() + unit()) / 2.0);
            let (column, row) = ((x * WIDTH as f32) as u32, (y * HEIGHT as f32) as u32);
            cells.push(row.min(HEIGHT as u32 - 1) * WIDTH as u32 + column.min(WIDTH as u32 - 1));
            let from_top = (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5);
            heights.push(100.0 * (1.0 - 2.0 * from_top) + 2.0 * unit());
        }
        Self { cells, heights }
    }
}

impl Surface {
    /// Draws it, the higher the darker; a row without points stays empty.
    fn print(&self) {
        const SHADES: &[u8] = b".:-=+*#%@";
        let lowest = self.heights.iter().copied().fold(f32::INFINITY, f32::min);
        let shade = |&height: &f32| match height.is_nan() {
            true => ' ',
            false => {
                let part = (height - lowest) / (self.highest - lowest);
                char::from(SHADES[(part * (SHADES.len() - 1) as f32) as usize])
            }
        };
        for row in self.heights.chunks(WIDTH) {
            println!("{}", row.iter().map(shade).collect::<String>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_gives_what_the_cpu_gives_and_that_is_right() {
        for seed in [1, 2, 77] {
            let points = Points::on_a_hill(seed);
            let surface = on_cpu(&points).unwrap();
            assert_eq!(on_device(&testing::gpu(), &points).unwrap().bits(), surface.bits());
            let mut counts = vec![0u64; WIDTH * HEIGHT];
            let mut tops = vec![f32::NAN; WIDTH * HEIGHT];
            for (&cell, &height) in points.cells.iter().zip(&points.heights) {
                counts[cell as usize] += 1;
                tops[cell as usize] = tops[cell as usize].max(height);
            }
            assert_eq!(surface.occupied, counts.iter().filter(|&&count| count > 0).count() as u64);
            assert_eq!(surface.fullest[0].1, counts.iter().copied().max().unwrap());
            assert!(surface.fullest.iter().all(|&(cell, count)| counts[cell as usize] == count));
            for (found, &top) in surface.heights.iter().zip(&tops) {
                assert!(top.is_nan() || *found == top);
            }
        }
    }

    impl Surface {
        fn bits(&self) -> (Vec<u32>, u64, &[(u32, u64)], u32) {
            let heights = testing::bits(&self.heights);
            (heights, self.occupied, &self.fullest, self.highest.to_bits())
        }
    }
}
