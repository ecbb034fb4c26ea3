//! How the surface through the points is made, and how far points reach by that.

use anyhow::{Result, ensure};
use clap::Args;
use gpu_core::{GridSpec, ValueRange};
use nni_grid::{Duplicates, Method, Params, Weights};
use programs::args::{number, positive};

/// How the surface through the points is made.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Surface")]
pub struct SurfaceArgs {
    /// Side of a DEM cell, in ground units [default: 1, of feet 3; degrees have none]
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    pub resolution: Option<f64>,
    /// How far a point reaches, in DEM cells ("inf": everywhere); farther ground is NODATA
    #[arg(long, value_name = "CELLS", default_value_t = 10.0, value_parser = number, allow_negative_numbers = true)]
    pub site_radius: f64,
    /// Natural neighbours by exact geometry, or by the pixels of a raster: exact or pixels
    #[arg(long, value_name = "NAME", default_value = "exact")]
    pub method: Method,
    /// How far a DEM cell looks for ground that it would take over, in DEM cells; "inf" for no limit
    /// [default: inf; 3 with --method pixels and weights sibson]
    #[arg(long, value_name = "CELLS", value_parser = number, allow_negative_numbers = true)]
    pub query_radius: Option<f64>,
    /// With --method pixels: pixels along the side of a DEM cell, 1 to 8; more is more accurate and slower
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub supersample: u32,
    /// How much each natural neighbour counts: sibson, laplace, or c1 (smooth); with --method pixels the
    /// latter two with --query-radius inf
    #[arg(long, value_name = "NAME", default_value = "sibson")]
    pub weights: Weights,
    /// Leave out cells outside the convex hull of the points
    #[arg(long)]
    pub hull: bool,
    /// Leave out cells farther from the nearest point, in DEM cells
    #[arg(long, value_name = "CELLS", default_value_t = f64::INFINITY, value_parser = number, allow_negative_numbers = true)]
    pub max_distance: f64,
    /// The height of several points in one Voronoi pixel: mean, min, max, first or last
    #[arg(long, value_name = "POLICY", default_value = "mean")]
    pub duplicates: Duplicates,
}

/// How far a DEM cell looks on pixels where no radius is given.
const DEFAULT_QUERY_RADIUS: f64 = 3.0;

/// Site radii that count as far away where there is no query radius.
const WIDE: f64 = 10.0;

impl SurfaceArgs {
    /// Checks what clap does not.
    pub fn check(&self) -> Result<()> {
        for (name, radius) in
            [("--site-radius", self.site_radius), ("--query-radius", self.query_radius())]
        {
            ensure!(radius > 0.0, "{name} {radius} is not a positive number of cells");
        }
        let s = self.supersample;
        let most = nni_grid::MAX_SUPERSAMPLE;
        ensure!((1..=most).contains(&s), "--supersample {s} is not from 1 to {most}");
        let is_bounded = self.query_radius().is_finite();
        ensure!(
            self.method == Method::Exact || self.weights == Weights::Sibson || !is_bounded,
            "with --method pixels, --weights other than sibson need --query-radius inf"
        );
        Ok(())
    }

    /// As nni-grid takes it, for the cells of a grid and values of a range, if that is known.
    pub fn params(&self, grid: GridSpec, range: Option<ValueRange>) -> Params {
        Params::new(grid)
            .method(self.method)
            .site_radius(self.site_radius)
            .query_radius(self.query_radius())
            .supersample(self.supersample)
            .duplicates(self.duplicates)
            .weights(self.weights)
            .hull(self.hull)
            .max_distance(self.max_distance)
            .value_range(range)
    }

    /// How far a DEM cell looks, in cells.
    pub fn query_radius(&self) -> f64 {
        let is_bounded = self.method == Method::Pixels && self.weights == Weights::Sibson;
        let other = if is_bounded { DEFAULT_QUERY_RADIUS } else { f64::INFINITY };
        self.query_radius.unwrap_or(other)
    }

    /// How far from a cell a point may lie that its height depends on, in cells, as far as it shows; infinite where
    /// there is no limit. Where [`reaches`](Self::reaches) are finite no other point counts. Without a query radius,
    /// and by the slopes of the smooth weights, only gaps in the points that are wider than [`WIDE`] site radii let
    /// points farther away take part.
    pub fn reach(&self) -> f64 {
        let within = self.reach_within_radii();
        if self.hull || self.site_radius.is_infinite() {
            f64::INFINITY
        } else if self.query_radius().is_infinite() {
            WIDE * self.site_radius + 1.0
        } else if self.weights == Weights::SibsonC1 {
            within.max(WIDE * self.site_radius + 1.0)
        } else {
            within
        }
        .ceil()
    }

    /// How far points reach, in cells, and the options that make them.
    pub fn reaches(&self) -> Vec<(&'static str, f64)> {
        let everywhere = [
            ("--hull", self.hull),
            ("--query-radius inf", self.query_radius().is_infinite()),
            ("--site-radius inf", self.site_radius.is_infinite()),
            ("--weights c1", self.weights == Weights::SibsonC1),
        ];
        let everywhere = everywhere.into_iter().filter(|(_, is_so)| *is_so);
        let mut reaches: Vec<_> = everywhere.map(|(name, _)| (name, f64::INFINITY)).collect();
        if reaches.is_empty() {
            reaches.push(("--site-radius and --query-radius", self.reach_within_radii().ceil()));
        }
        reaches
    }

    /// Options that give points a reach, in place of those by which they have none.
    pub fn bounded(&self) -> Vec<&'static str> {
        let is_wide = self.query_radius().is_infinite();
        let is_laplace_on_pixels =
            self.method == Method::Pixels && self.weights == Weights::Laplace;
        let options = [
            ("--method exact", is_wide && is_laplace_on_pixels),
            ("--weights sibson", self.weights == Weights::SibsonC1),
            ("--query-radius 4", is_wide),
            ("--site-radius 10", self.site_radius.is_infinite()),
            ("without --hull", self.hull),
        ];
        options.into_iter().filter(|(_, is_needed)| *is_needed).map(|(option, _)| option).collect()
    }

    /// How far points reach by the two radii.
    ///
    /// A cell looks at ground within the query radius. By the exact method that is a square, which no point
    /// farther than twice its half diagonal can cut. On pixels, a site within the site radius of the cell gives its
    /// value to a pixel within the query radius, or else one that is nearer to that pixel and is itself too far:
    /// it lies within the site radius and twice the query radius.
    fn reach_within_radii(&self) -> f64 {
        // The least circle on pixels, and the cell's own size.
        let (site, query) = (self.site_radius, self.query_radius().max(1.0));
        1.0 + match self.method {
            Method::Pixels => site + 2.0 * query,
            Method::Exact => (site + query).max(8f64.sqrt() * query),
        }
    }

    /// Whether a part of a DEM has the bits of the whole: on pixels, where sums are of integers. By the exact method it
    /// has the whole's heights to rounding.
    pub fn is_exact_in_parts(&self) -> bool {
        self.method == Method::Pixels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::CommandLine;
    use clap::Parser;

    fn of(words: &[&str]) -> SurfaceArgs {
        CommandLine::parse_from([&["lidar_dem"], words].concat()).dem.surface
    }

    #[test]
    fn other_weights_have_no_limit_unless_one_is_given() {
        let on_pixels = |words: &[&str]| of(&[&["--method", "pixels"], words].concat());
        assert_eq!(of(&[]).query_radius(), f64::INFINITY);
        assert_eq!(on_pixels(&[]).query_radius(), 3.0);
        assert_eq!(on_pixels(&["--weights", "c1"]).query_radius(), f64::INFINITY);
        assert_eq!(of(&["--query-radius", "5"]).reach(), 16.0);
        assert_eq!(on_pixels(&["--query-radius", "5"]).reach(), 21.0);
        assert_eq!(of(&["--query-radius", "inf"]).reach(), 101.0);
        assert_eq!(of(&["--query-radius", "5", "--weights", "c1"]).reach(), 101.0);
        assert_eq!(of(&["--site-radius", "inf"]).reach(), f64::INFINITY);
        assert_eq!(of(&["--hull"]).reach(), f64::INFINITY);
    }

    #[test]
    fn what_reaches_everywhere_is_named() {
        let first = |words: &[&str]| of(words).reaches()[0];
        assert_eq!(first(&[]), ("--query-radius inf", f64::INFINITY));
        let query = ["--query-radius", "5"];
        assert_eq!(first(&query), ("--site-radius and --query-radius", 16.0));
        for (name, more) in [
            ("--hull", &["--hull"][..]),
            ("--site-radius inf", &["--site-radius", "inf"]),
            ("--weights c1", &["--weights", "c1"]),
        ] {
            assert_eq!(first(&[&query[..], more].concat()), (name, f64::INFINITY));
        }
    }
}
