//! Times `laz-chunks` on a GPU, and beside it on the host's threads, where the crate `laz` decodes.
//!
//! `laz_bench FILE [COPIES]`: all chunks of a LAZ file of point format 6 to 10, `COPIES` times (1). Places, returns, flags
//! and class are decoded, on the device from packed bytes in its memory. The host has one run, the device 5; both must
//! give the same points. `TESSERA_DEVICE` names the device.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use benches::{Times, clocked};
use gpu_core::{Device, DeviceChoice, Gpu};
use laz_chunks::gpu::ResidentChunks;
use laz_chunks::{Fields, LazFile, PackedChunks, decode};

const RUNS: usize = 5;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let path = words.first().context("usage: laz_bench FILE [COPIES]")?;
    let copies = words.get(1).map_or(Ok(1), |word| word.parse())?;
    let mut file = LazFile::open(path)?;
    let mut chunks = PackedChunks::new(file.vlr(), Fields::default())?;
    for _ in 0..copies {
        let all = file.pack(0..file.chunks(), Fields::default())?;
        all.chunks().try_for_each(|chunk| chunks.push(chunk))?;
    }
    let (points, count) = (chunks.points(), chunks.len() as u64);
    println!("# threads: {}", rayon::current_num_threads());
    let gpu = Gpu::open(DeviceChoice::from_env()?.unwrap_or_default())?;
    let resident = ResidentChunks::new(&gpu, &chunks)?;
    let times = Times::on_device(&gpu, RUNS, || Ok(resident.decode()?))?;
    let name = Path::new(path).file_stem().context("a name of a file")?.to_string_lossy();
    let work = format!("laz_{name}");
    times.print("tessera", &work, points, count);
    // The first run touches fresh memory of the host, as a program does.
    let (found, time) = clocked(|| Ok(decode(&Device::Cpu, &chunks)?))?;
    Times::new(vec![time]).print("cpu", &work, points, count);
    ensure!(resident.decode()?.to_host()? == found, "host and device differ");
    Ok(())
}
