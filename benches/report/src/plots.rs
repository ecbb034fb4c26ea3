//! A plot for each algorithm: time against size, on the card and on the CPU. A third line is the least time that the
//! card needs: reading the input and writing the output once, at the rate of a copy.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use plotters::prelude::*;

use crate::results::Results;

/// Where the axis of time begins, in ms.
const FASTEST: f64 = 1e-3;

/// How far the axis of time goes beyond the slowest, so that the names of the curves have room there.
const ROOM: f64 = 60.0;

/// What a plot shows.
struct Plot {
    /// The name of its file.
    name: &'static str,
    title: &'static str,
    /// What the sizes count.
    sizes: &'static str,
    curves: &'static [Curve],
    /// Bytes of input and output, for each of what the sizes count.
    bytes: f64,
}

/// The rows of some work in a file of results.
struct Curve {
    file: &'static str,
    library: &'static str,
    work: &'static str,
    label: &'static str,
}

const fn curve(
    file: &'static str,
    library: &'static str,
    work: &'static str,
    label: &'static str,
) -> Curve {
    Curve { file, library, work, label }
}

/// A row of `sizes_bench` and, beside it, what the CPU takes.
const fn ours(work: &'static str, label: &'static str) -> Curve {
    curve("sizes", "tessera", work, label)
}

const fn cpu(work: &'static str, label: &'static str) -> Curve {
    curve("sizes", "cpu", work, label)
}

const PLOTS: &[Plot] = &[
    Plot {
        name: "scan",
        title: "Prefix sums of u32",
        sizes: "elements",
        curves: &[
            ours("scan_u32", "gpu-scan"),
            curve("cub_bench", "cub", "scan_inclusive_sum_u32", "CUB"),
        ],
        bytes: 8.0,
    },
    Plot {
        name: "sort",
        title: "Sorting u32",
        sizes: "elements",
        curves: &[ours("sort_u32", "gpu-scan"), curve("cub_bench", "cub", "sort_keys_u32", "CUB")],
        bytes: 8.0,
    },
    Plot {
        name: "voronoi",
        title: "Voronoi diagram of a raster, 1% sites, indices",
        sizes: "pixels",
        curves: &[ours("voronoi", "H200"), cpu("voronoi", "CPU")],
        bytes: 5.0,
    },
    Plot {
        name: "nni",
        title: "Natural neighbours, 7 points for 25 cells",
        sizes: "cells",
        curves: &[
            ours("nni_exact", "exact, H200"),
            cpu("nni_exact", "exact, CPU"),
            ours("nni_pixels", "on pixels, H200"),
            cpu("nni_pixels", "on pixels, CPU"),
        ],
        // Coordinates and a value in f64, a cell in f32.
        bytes: 24.0 * 0.28 + 4.0,
    },
    Plot {
        name: "slope",
        title: "Slope of a raster",
        sizes: "cells",
        curves: &[ours("slope", "H200"), cpu("slope", "CPU")],
        bytes: 8.0,
    },
    Plot {
        name: "idw_all_pairs",
        title: "Inverse distances over all pairs, as many targets as points",
        sizes: "points",
        curves: &[ours("idw_all_pairs", "expanded, H200"), ours("idw_direct", "direct, H200")],
        bytes: 24.0 + 16.0 + 4.0,
    },
    Plot {
        name: "idw_12_nearest",
        title: "Inverse distances over the 12 nearest, 2 points for 5 cells",
        sizes: "cells",
        curves: &[ours("idw_12_nearest", "H200"), cpu("idw_12_nearest", "CPU")],
        bytes: 24.0 * 0.4 + 4.0,
    },
    Plot {
        name: "quadtree",
        title: "Quadtree, threshold 20, and 8 nearest of each point",
        sizes: "points",
        curves: &[
            ours("quadtree_build", "build, H200"),
            cpu("quadtree_build", "build, CPU"),
            ours("quadtree_8_nearest", "8 nearest, H200"),
        ],
        // The build's: coordinates in f32, read and then written in order, and the order.
        bytes: 8.0 + 8.0 + 4.0,
    },
    Plot {
        name: "ccq",
        title: "Index of a raster of i16, 8 bins",
        sizes: "cells",
        curves: &[ours("ccq_build", "H200"), cpu("ccq_build", "CPU")],
        bytes: 2.0,
    },
    Plot {
        name: "sphere",
        title: "Voronoi diagram on the globe, a site for 42 cells",
        sizes: "cells",
        curves: &[ours("sphere_voronoi", "H200"), cpu("sphere_voronoi", "CPU")],
        bytes: 4.0,
    },
];

/// All plots as SVG, by their paths in the workspace.
pub fn all(results: &Results) -> Result<Vec<(PathBuf, String)>> {
    PLOTS
        .iter()
        .map(|plot| {
            let svg = draw(plot, results).with_context(|| format!("plot {}", plot.name))?;
            Ok((PathBuf::from(format!("docs/plots/{}.svg", plot.name)), svg))
        })
        .collect()
}

/// Sizes and milliseconds of a curve.
fn places(curve: &Curve, results: &Results) -> Result<Vec<(f64, f64)>> {
    let rows = results.file(curve.file)?.rows().iter();
    let of_curve = rows.filter(|row| row.library == curve.library && row.work == curve.work);
    let places: Vec<_> = of_curve.map(|row| (row.size as f64, row.median())).collect();
    ensure!(!places.is_empty(), "no row {}/{}:{}", curve.file, curve.library, curve.work);
    Ok(places)
}

/// Bytes that a copy on the card reads and writes in a millisecond.
fn copy_rate(results: &Results) -> Result<f64> {
    let row = results.row(&format!("cub_bench/cub:copy_u32@{}", 1 << 28))?;
    Ok(8.0 * row.size as f64 / row.median())
}

fn draw(plot: &Plot, results: &Results) -> Result<String> {
    let curves = plot.curves.iter().map(|curve| places(curve, results));
    let curves = curves.collect::<Result<Vec<_>>>()?;
    let range = |of: fn(&(f64, f64)) -> f64| {
        let all = curves.iter().flatten().map(of);
        all.fold((f64::MAX, 0f64), |(low, high), x| (low.min(x), high.max(x)))
    };
    let ((first, last), (_, slowest)) = (range(|place| place.0), range(|place| place.1));
    let rate = copy_rate(results)?;
    let begin = first.max(FASTEST * rate / plot.bytes);
    let limit = [begin, last].map(|size| (size, size * plot.bytes / rate));

    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (720, 440)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(plot.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d((first..last).log_scale(), (FASTEST..slowest * ROOM).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc(plot.sizes)
        .y_desc("ms")
        .x_label_formatter(&power)
        .y_label_formatter(&|time| format!("{time}"))
        .label_style(("sans-serif", 13))
        .draw()?;
    for (index, (curve, places)) in plot.curves.iter().zip(curves).enumerate() {
        let colour = colour(index);
        chart
            .draw_series(LineSeries::new(places, colour.stroke_width(2)).point_size(3))?
            .label(curve.label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], colour.stroke_width(2)));
    }
    let grey = RGBColor(110, 110, 110);
    chart
        .draw_series(DashedLineSeries::new(limit, 5, 4, grey.stroke_width(1)))?
        .label("every byte once")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], grey.stroke_width(1)));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .label_font(("sans-serif", 13))
        .draw()?;
    area.present()?;
    drop((chart, area));
    Ok(svg)
}

/// Colours that differ for the colour-blind too (Okabe and Ito 2008).
fn colour(index: usize) -> RGBColor {
    let colours = [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167)];
    let (red, green, blue) = colours[index % colours.len()];
    RGBColor(red, green, blue)
}

/// A power of ten in figures.
fn power(size: &f64) -> String {
    match *size {
        size if size >= 1e9 => format!("{}e9", size / 1e9),
        size if size >= 1e6 => format!("{}e6", size / 1e6),
        size if size >= 1e3 => format!("{}e3", size / 1e3),
        size => size.to_string(),
    }
}
