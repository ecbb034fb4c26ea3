//! Drawings of heights: relief in colours, and contour lines.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use geo_io::Number;
use gpu_core::{Device, GridSpec, GridView, Progress};
use programs::args::{Given, positive};
use serde::{Deserialize, Serialize};
use terrain_grid::{Contour, ContourParams, Fragment};

use crate::choices::{MethodArgs, Name};
use crate::colours::{Between, Colour, Colours, Table};
use crate::dem::{Dem, Lie, Part, if_nodata};

/// How relief and contour lines are drawn.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Products")]
pub struct DrawingArgs {
    /// The options of the command line.
    #[command(flatten)]
    given: Given,
    /// The table of colours of --color-relief. Each line has a height, a share such as 20% of the heights' range,
    /// or nv for NODATA; then red, green, blue and opacity, or a name. Or a GMT palette (.cpt) with the line
    /// `# COLOR_MODEL = RGB`
    #[arg(long, value_name = "TABLE")]
    pub colours: Option<PathBuf>,
    /// The colours of heights between two of the table
    #[arg(long, value_name = "NAME", value_enum, default_value = "linear")]
    pub between: Between,
    /// From one contour line to the next, in the unit of heights
    #[arg(long, value_name = "HEIGHT", default_value_t = 5.0, value_parser = positive)]
    pub contour_interval: f64,
}

impl DrawingArgs {
    /// Checks what clap cannot check.
    ///
    /// # Errors
    /// `--color-relief` comes without its table, or an option without its drawing.
    pub fn check(&self, names: &[Name]) -> Result<()> {
        let is_coloured = names.contains(&Name::ColorRelief);
        ensure!(
            !is_coloured || self.colours.is_some(),
            "--color-relief needs a table of colours: give --colours"
        );
        let colours = [("--color-relief", is_coloured)];
        self.given.require_owner("--colours", &colours)?;
        self.given.require_owner("--between", &colours)?;
        let has_lines = names.contains(&Name::Contours);
        self.given.require_owner(INTERVAL, &[("--contours", has_lines)])
    }

    /// Returns what drawings of a DEM depend on. Reads all heights if the drawings depend on their range.
    ///
    /// # Errors
    /// The table or the DEM cannot be read.
    pub fn of(&self, dem: &Dem, names: &[Name], progress: &dyn Progress) -> Result<Drawing> {
        let table = self.colours.as_ref().map(|path| Table::read(path)).transpose()?;
        let needs_range =
            names.contains(&Name::Relief) || table.as_ref().is_some_and(Table::has_shares);
        let range = if needs_range { dem.range(progress)? } else { [f32::MAX, f32::MIN] };
        let nodata = dem.file().nodata().map(Number::to_f64);
        let colours = table.map(|table| table.colours(range, nodata, self.between));
        Ok(Drawing { range, colours, contour_interval: self.contour_interval })
    }
}

/// What drawings depend on beside the heights around.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawing {
    /// The lowest and the highest height of the DEM, where colours depend on them.
    range: [f32; 2],
    colours: Option<Colours>,
    /// From one contour line to the next.
    pub contour_interval: f64,
}

impl Drawing {
    /// Returns the colours of a part, from the heights of its window.
    ///
    /// # Errors
    /// The errors of the hillshade.
    pub fn draw(
        &self,
        part: &Part,
        (heights, lie): (&[f32], &Lie),
        (name, method): (Name, &MethodArgs),
        device: &Device,
    ) -> Result<Vec<Colour>> {
        let own = part.own(heights);
        let Some(light) = method.params(name) else {
            let colours = self.colours.as_ref().context("there is no table of colours")?;
            return Ok(colours.of(&own));
        };
        let brightness = part.make((heights, lie), &light, device)?;
        let colours = geo_io::relief_colours(&own, &brightness, self.range)?;
        Ok(colours.as_chunks().0.to_vec())
    }

    /// The contour lines of a whole DEM, in its coordinates.
    ///
    /// # Errors
    /// An infinite height, and the errors of terrain-grid.
    pub fn lines(
        &self,
        (heights, dem): (&[f32], &Dem),
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<Vec<Contour>> {
        let (width, height) = dem.size();
        require_finite(heights, width, [0; 2])?;
        let grid = GridSpec::of_pixels(width as u32, height as u32);
        let heights = GridView::new(heights, grid)?;
        let on = device.with_progress(progress);
        let mut lines = terrain_grid::contours(on, heights, &self.levels()).context(INTERVAL)?;
        for line in &mut lines {
            place(line, &grid, &dem.lie);
            // Places that differ in pixels may be one in coordinates; joined lines have no such points either.
            line.points.dedup();
            if let [only] = line.points[..] {
                line.points.push(only);
            }
        }
        Ok(lines)
    }

    /// What a part has of the contour lines, in the coordinates of the DEM, by the heights of its window.
    ///
    /// # Errors
    /// The errors of [`lines`](Self::lines).
    pub fn fragments(
        &self,
        part: &Part,
        (heights, lie): (&[f32], &Lie),
        device: &Device,
    ) -> Result<Vec<(Fragment, Contour)>> {
        let (cells, size, of_whole) = part.squares(heights);
        require_finite(&cells, size.0 as usize, of_whole.first_cell)?;
        let grid = GridSpec::of_pixels(size.0, size.1);
        let cells = GridView::new(&cells, grid)?;
        let found = terrain_grid::contours_of_part(device, cells, &self.levels(), &of_whole);
        let mut found = found.context(INTERVAL)?;
        found.iter_mut().for_each(|(_, line)| place(line, &of_whole.whole, lie));
        Ok(found)
    }

    /// Refuses a DEM that has no contour lines: heights without end, or too many levels. Reads all heights.
    ///
    /// # Errors
    /// Names the first height without end and its cell, or the levels. Also the errors of reading.
    pub fn require_lines(&self, dem: &Dem, progress: &dyn Progress) -> Result<()> {
        let (width, mut range) = (dem.size().0, [f32::MAX, f32::MIN]);
        dem.each_strip("heights", progress, |first_row, heights| {
            let [low, high] = geo_io::finite_range(heights);
            range = [range[0].min(low), range[1].max(high)];
            require_finite(heights, width, [0, first_row as u32])
        })?;
        let [low, high] = range.map(f64::from);
        self.levels().within(low, high).context(INTERVAL)?;
        Ok(())
    }

    fn levels(&self) -> ContourParams {
        ContourParams::every(self.contour_interval)
    }
}

/// The option that an error of contour lines is about.
const INTERVAL: &str = "--contour-interval";

/// Brings a line from pixels of the whole to the coordinates of the DEM.
fn place(line: &mut Contour, whole: &GridSpec, lie: &Lie) {
    let [left, across, _, top, _, down] = lie.place.transform;
    for [x, y] in &mut line.points {
        (*x, *y) = (left + *x * across, top + (whole.origin_y - *y) * down);
    }
}

/// Refuses heights without end, of cells of which the first has a column and a row of the whole.
fn require_finite(heights: &[f32], width: usize, [column, row]: [u32; 2]) -> Result<()> {
    if let Some(cell) = heights.iter().position(|height| height.is_infinite()) {
        let (row, column) = (row as usize + cell / width, column as usize + cell % width);
        bail!(
            "--contours: the height {} in row {row}, column {column} has no bound, so its contour \
             lines would never end: {}",
            heights[cell],
            if_nodata(heights[cell])
        );
    }
    Ok(())
}
