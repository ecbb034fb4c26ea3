//! G. Mei, *Evaluating the Power of GPU Acceleration for IDW Interpolation Algorithm* (2014, doi:10.1155/2014/171574):
//! Figures 2 to 7. Its version by dynamic parallelism is `benches/peers/idw_cdp.cu`.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use benches::unit;
use gpu_core::{Extent, Gpu, Points};
use idw::gpu::{DeviceTargets, Input, Workspace};
use idw::{Baseline, Method, Params};
use rayon::prelude::*;

use crate::table::{Table, digits, part, ratio};
use crate::{Bench, on_one_thread};

/// The paper's K.
const K: u64 = 1024;

/// The most pairs that the serial CPU sums.
const SERIAL_PAIRS: u64 = 1 << 28;

/// The greatest relative error of sums of a million numbers in f32.
const IN_F32: f64 = 3e-2;

const METHODS: [Method; 4] = [
    Method::Baseline(Baseline::Naive),
    Method::Baseline(Baseline::Tiled),
    Method::Direct,
    Method::Auto,
];

/// The paper's speed-ups over its CPU, by power: naive and tiled.
const PUBLISHED: [(f64, [&str; 2]); 2] = [(2.0, ["60", "120"]), (3.0, ["380", "670"])];

/// Data points and predictions of a size, and of the number that is fixed.
type Sizes = fn(u64, u64) -> (u64, u64);

pub fn tables(bench: &Bench) -> Result<Vec<Table>> {
    let sizes: Vec<u64> = bench.choose(vec![10, 50, 100, 500, 1000], vec![1, 2]);
    let fixed = bench.choose(100, 1);
    let cases: [(_, Sizes); 3] = [
        (
            [
                "Figures 2, 3 (a): as many data points as predictions, p = 2",
                "Figures 2, 3 (b): as many data points as predictions, p = 3.0",
            ],
            |n, _| (n, n),
        ),
        (
            [
                "Figures 4, 5 (a): data points fixed, p = 2",
                "Figures 4, 5 (b): data points fixed, p = 3.0",
            ],
            |n, fixed| (fixed, n),
        ),
        (
            [
                "Figures 6, 7 (a): predictions fixed, p = 2",
                "Figures 6, 7 (b): predictions fixed, p = 3.0",
            ],
            |n, fixed| (n, fixed),
        ),
    ];
    let (mut tables, mut measured) = (Vec::new(), HashMap::new());
    for (titles, size) in cases {
        for ((power, published), title) in PUBLISHED.into_iter().zip(titles) {
            let mut table = Table::new(title, if tables.is_empty() { NOTE } else { "" }, &COLUMNS);
            for &n in &sizes {
                let (data, predictions) = size(n, fixed);
                let key = (data, predictions, power as u32);
                let times = match measured.get(&key) {
                    Some(&times) => times,
                    None => measure(bench, data * K, predictions * K, power)?,
                };
                measured.insert(key, times);
                table.push(row(data, predictions, times));
            }
            let mut last = vec![String::new(); COLUMNS.len()];
            last[0] = "published".to_owned();
            (last[8], last[9]) = (published[0].to_owned(), published[1].to_owned());
            table.push(last);
            tables.push(table);
        }
    }
    Ok(tables)
}

const NOTE: &str = "Times in ms, points in K = 1024; single precision. The CPU is the paper's serial loop on one thread, timed on a part of \
    the predictions and multiplied. Published: GeForce GT 640 (GDDR5), CUDA 5.5, Intel i5 at 3.2 GHz; the figures print no times, the text \
    gives the speed-ups of the last row.";

const COLUMNS: [&str; 12] = [
    "data",
    "predictions",
    "CPU",
    "timed",
    "naive",
    "tiled",
    "direct",
    "default",
    "CPU : naive",
    "CPU : tiled",
    "CPU : direct",
    "CPU : default",
];

/// Milliseconds of the CPU, the step between the predictions that it was timed on, and milliseconds of the methods.
type Measured = (f64, u64, [Option<f64>; 4]);

fn row(data: u64, predictions: u64, (cpu, step, methods): Measured) -> Vec<String> {
    let mut row = vec![format!("{data} K"), format!("{predictions} K"), digits(cpu), part(step)];
    row.extend(methods.map(digits));
    row.extend(methods.map(|time| ratio(cpu, time)));
    row
}

fn measure(bench: &Bench, data: u64, predictions: u64, power: f64) -> Result<Measured> {
    let cloud = Cloud::new(data, 1);
    let targets = Cloud::new(predictions, 2);
    let step = (data * predictions).div_ceil(SERIAL_PAIRS);
    let [x, y, z] = [&cloud.x, &cloud.y, &cloud.z].map(|column| narrow(column));
    let [tx, ty] = [&targets.x, &targets.y].map(|column| narrow(column));
    let timed: Vec<usize> = (0..tx.len()).step_by(step as usize).collect();
    let (sums, time) = on_one_thread(|| {
        let sum = |&i: &usize| serial([&x, &y, &z], [tx[i], ty[i]], power as f32);
        Ok(timed.iter().map(sum).collect::<Vec<f32>>())
    })?;
    let wanted: Vec<f64> = timed.par_iter().map(|&i| cloud.sum(&targets, i, power)).collect();
    let compare = |name: &str, values: &mut dyn Iterator<Item = f32>, most: f64| {
        for (value, wanted) in values.zip(&wanted) {
            let difference = (f64::from(value) / wanted - 1.0).abs();
            ensure!(difference < most, "{name}, {data} to {predictions}: {value}, not {wanted}");
        }
        Ok(())
    };
    compare("serial", &mut sums.into_iter(), IN_F32)?;
    let mut methods = [None; 4];
    if let Some(gpu) = &bench.gpu {
        for (method, time) in METHODS.into_iter().zip(&mut methods) {
            let params = Params::default().power(power).method(method);
            let (values, median) = on_device(bench, gpu, &cloud, &targets, &params)?;
            *time = Some(median);
            let most = if matches!(method, Method::Baseline(_)) { IN_F32 } else { 1e-4 };
            compare(&format!("{method:?}"), &mut timed.iter().map(|&i| values[i]), most)?;
        }
    }
    Ok((time * predictions as f64 / timed.len() as f64, step, methods))
}

/// The values at the targets, and the median time of points and targets that are resident, the sorting of points
/// included.
fn on_device(
    bench: &Bench,
    gpu: &Gpu,
    cloud: &Cloud,
    targets: &Cloud,
    params: &Params,
) -> Result<(Vec<f32>, f64)> {
    let points = Points { x: &cloud.x, y: &cloud.y, values: &[&cloud.z] };
    let resident = gpu_core::UploadedPoints::new(gpu, &points)?;
    let (tx, ty) = (gpu.upload(&targets.x)?, gpu.upload(&targets.y)?);
    let input = Input::new(resident.points(Extent::of(&points)?)?, DeviceTargets::points(&tx, &ty));
    let mut workspace = Workspace::new(gpu)?;
    let mut run = || Ok(idw::gpu::interpolate::<f32>(&mut workspace, &input, params)?);
    let values = run()?.values.to_host()?;
    Ok((values, bench.median(gpu, run)?))
}

/// The paper's serial loop for one prediction: no square root where the power is 2, else `powf`.
fn serial([x, y, z]: [&[f32]; 3], [tx, ty]: [f32; 2], power: f32) -> f32 {
    let (mut weights, mut sum) = (0.0f32, 0.0f32);
    let mut add = |weight: f32, z: f32| {
        weights += weight;
        sum += weight * z;
    };
    let squares = x.iter().zip(y).map(|(x, y)| (x - tx) * (x - tx) + (y - ty) * (y - ty));
    if power == 2.0 {
        squares.zip(z).for_each(|(square, &z)| add(1.0 / square, z));
    } else {
        squares.zip(z).for_each(|(square, &z)| add(1.0 / square.sqrt().powf(power), z));
    }
    sum / weights
}

/// Points of the unit square with values between 10 and 100.
struct Cloud {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

impl Cloud {
    fn new(count: u64, seed: u64) -> Self {
        // Coordinates that f32 holds, so that both sides have the same points.
        let column = |axis: u64| (0..count).map(move |i| unit(3 * seed + axis, i) as f32);
        Self {
            x: column(0).map(f64::from).collect(),
            y: column(1).map(f64::from).collect(),
            z: column(2).map(|z| f64::from(10.0 + 90.0 * z)).collect(),
        }
    }

    /// The value at a target in f64.
    fn sum(&self, targets: &Self, target: usize, power: f64) -> f64 {
        let (tx, ty) = (targets.x[target], targets.y[target]);
        let places = self.x.iter().zip(&self.y);
        let squares = places.map(|(x, y)| (x - tx) * (x - tx) + (y - ty) * (y - ty));
        let weights = squares.map(|square| match power == 2.0 {
            true => 1.0 / square,
            false => 1.0 / (square * square.sqrt()),
        });
        let add = |(sum, all), (weight, z): (f64, &f64)| (sum + weight * z, all + weight);
        let (sum, all) = weights.zip(&self.z).fold((0.0, 0.0), add);
        sum / all
    }
}

fn narrow(column: &[f64]) -> Vec<f32> {
    column.iter().map(|&v| v as f32).collect()
}
