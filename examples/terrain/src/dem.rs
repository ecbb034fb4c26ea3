//! A DEM in a file: its heights, where it lies, and how its ground is measured.

use std::cell::Cell;
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use geo_io::{ArrayData, Crs, Georeference, ValuesFile};
use gpu_core::parallel::{self, FINE};
use gpu_core::{Device, GridSpec, GridView, Progress, Shortest, host_memory};
use programs::mercator::note_on_lengths_of;
use programs::units::{self, Units};
use terrain_grid::{Ground, ProductParams};

use crate::choices::Name;
use crate::rounding::Rounding;

/// Rows that are read together: those of a GeoTIFF's tile.
const TILE: usize = 256;

/// Cells whose heights are read at once, about.
const AT_ONCE: usize = 1 << 22;

/// A DEM, of whose heights some may be in memory.
pub struct Dem {
    path: PathBuf,
    file: ValuesFile,
    /// The place of the raster.
    pub lie: Lie,
    /// All heights, once they are read.
    all: Option<Vec<f32>>,
    /// What the heights that were read so far have lost.
    rounding: Cell<Rounding>,
}

impl Dem {
    /// Opens a DEM, and reads no heights. The caller gives the side of a cell for files that may not state it.
    ///
    /// # Errors
    /// An error that says what is wrong with the file or its place.
    pub fn open(path: &Path, cell_size: Option<f64>) -> Result<Self> {
        let file = ValuesFile::open(path)?;
        let (width, height) = file.size();
        let name = path.display();
        ensure!(width > 0 && height > 0, "{name} has no cells ({width} x {height})");
        let lie = Lie::of_file(path, &file, cell_size)?;
        let rounding = Cell::new(Rounding::NONE);
        Ok(Self { path: path.to_owned(), file, lie, all: None, rounding })
    }

    /// Refuses a DEM in degrees of another body than the Earth if a product depends on the length of a degree.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_lengths(&self, names: impl IntoIterator<Item = Name>) -> Result<()> {
        match names.into_iter().any(Name::needs_lengths) {
            true => self.lie.units.require_earth().with_context(|| self.path.display().to_string()),
            false => Ok(()),
        }
    }

    /// Refuses a DEM whose first row is not the northernmost by its system if a product depends on directions.
    ///
    /// # Errors
    /// In the case that the summary names.
    pub fn require_north_up(&self, names: impl IntoIterator<Item = Name>) -> Result<()> {
        let mut directed = names.into_iter().filter(|name| name.needs_north());
        let Some(name) = directed.next() else { return Ok(()) };
        units::require_north_up(name.word(), self.lie.place.crs.as_ref())
            .with_context(|| self.path.display().to_string())
    }

    /// Returns a note if some products depend on lengths on the ground, and those of the coordinates differ much.
    pub fn note_on_lengths(&self, names: impl IntoIterator<Item = Name>) -> Option<String> {
        let (width, height) = self.size();
        let size = (width as u32, height as u32);
        let is_needed = names.into_iter().any(Name::needs_lengths);
        is_needed.then(|| note_on_lengths_of("slopes and light", &self.lie.place, size)).flatten()
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        self.file.size()
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file.
    pub fn file(&self) -> &ValuesFile {
        &self.file
    }

    /// Reads all heights.
    ///
    /// # Errors
    /// The errors of [`heights`], and too little memory.
    pub fn read_all(&mut self, progress: &dyn Progress) -> Result<()> {
        let (width, height) = self.size();
        let name = self.path.display();
        let asked = (width as u64 * height as u64).saturating_mul(4);
        let room =
            host_memory::require(asked).and_then(|()| host_memory::with_capacity(width * height));
        let mut all = room.with_context(|| {
            format!("{name}: --contours needs all heights in memory at once: make tiles with terrain plan")
        })?;
        for rows in self.strips() {
            progress.at("heights", rows.start as f64 / height as f64)?;
            all.extend(self.heights(rows)?);
        }
        self.all = Some(all);
        Ok(())
    }

    /// The lowest and the highest finite height; the lowest is above the highest if there is none.
    ///
    /// # Errors
    /// The errors of [`heights`].
    pub fn range(&self, progress: &dyn Progress) -> Result<[f32; 2]> {
        let mut range = [f32::MAX, f32::MIN];
        self.each_strip("range", progress, |_, heights| {
            let [low, high] = geo_io::finite_range(heights);
            range = [range[0].min(low), range[1].max(high)];
            Ok(())
        })?;
        Ok(range)
    }

    /// Reads the DEM from north to south, and calls a function for each strip of it, with the strip's first row and heights.
    ///
    /// # Errors
    /// The errors of the function, and of reading.
    pub fn each_strip(
        &self,
        stage: &'static str,
        progress: &dyn Progress,
        mut call: impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<()> {
        let mut strip = Strip::new(self);
        for rows in self.strips() {
            progress.at(stage, rows.start as f64 / self.size().1 as f64)?;
            call(rows.start, strip.rows(rows)?)?;
        }
        Ok(())
    }

    /// Rows that are read together.
    fn strips(&self) -> impl Iterator<Item = Range<usize>> {
        let (width, height) = self.size();
        let step = (AT_ONCE / width).max(1).next_multiple_of(TILE);
        (0..height).step_by(step).map(move |first| first..height.min(first + step))
    }

    /// The heights of some rows.
    fn heights(&self, rows: Range<usize>) -> Result<Vec<f32>> {
        let (heights, rounding) = heights(&self.file, rows, 0..self.size().0)?;
        self.rounding.set(self.rounding.get().and(rounding));
        Ok(heights)
    }

    /// Reads all heights once if none were read yet and their type has numbers that 32-bit floats do not hold. So
    /// [`note_on_rounding`](Self::note_on_rounding) knows what is lost.
    ///
    /// # Errors
    /// The errors of [`heights`].
    pub fn measure_rounding(&self, progress: &dyn Progress) -> Result<()> {
        use ArrayData::{F64, I32, I64, U32, U64};
        // A window without cells has the type of the values.
        let values = self.file.window(0..0, 0..0)?;
        let is_wide = matches!(values, F64(_) | I32(_) | U32(_) | I64(_) | U64(_));
        if is_wide && self.rounding.get() == Rounding::NONE {
            self.range(progress)?;
        }
        Ok(())
    }

    /// A note if 32-bit floats lose much of the heights that were read.
    pub fn note_on_rounding(&self) -> Option<String> {
        self.rounding.get().note()
    }

    /// All heights, which have been read.
    pub fn all(&self) -> Option<&[f32]> {
        self.all.as_deref()
    }
}

/// The heights of a part of a file, and what they lose; NaN where there is none.
///
/// # Errors
/// The errors of the file, and a height that does not fit a 32-bit float.
pub fn heights(
    file: &ValuesFile,
    rows: Range<usize>,
    columns: Range<usize>,
) -> Result<(Vec<f32>, Rounding)> {
    let (nodata, top, left) = (file.nodata(), rows.start, columns.start);
    let width = columns.len().max(1);
    match file.window(rows, columns)? {
        ArrayData::F32(mut heights) => {
            if let Some(nodata) = nodata.map(|nodata| nodata.to_f64() as f32) {
                parallel::for_each(&mut heights, FINE, |_, height| {
                    *height = if *height == nodata { f32::NAN } else { *height };
                });
            }
            Ok((heights, Rounding::NONE))
        }
        others => {
            let heights = others.to_floats(nodata);
            let is_beyond = |height: &f64| height.is_finite() && (*height as f32).is_infinite();
            if let Some(cell) = heights.iter().position(is_beyond) {
                let (row, column, height) =
                    (top + cell / width, left + cell % width, Shortest(heights[cell]));
                bail!(
                    "{}: the height {height} in row {row}, column {column} does not fit a 32-bit float: {}",
                    file.path().display(),
                    if_nodata(height)
                );
            }
            let rounding = Rounding::of(&heights);
            Ok((heights.into_iter().map(|height| height as f32).collect(), rounding))
        }
    }
}

/// Rows of a DEM, taken from north to south: each is read once.
pub struct Strip<'a> {
    dem: &'a Dem,
    /// The rows in memory, and their heights.
    held: Range<usize>,
    heights: Vec<f32>,
}

impl<'a> Strip<'a> {
    /// Begins before the first row of a DEM.
    pub fn new(dem: &'a Dem) -> Self {
        Self { dem, held: 0..0, heights: Vec::new() }
    }

    /// Returns the heights of some rows. Frees the rows before them, which are read again if a later call wants
    /// them.
    ///
    /// # Errors
    /// An error that says what is wrong with the file.
    pub fn rows(&mut self, rows: Range<usize>) -> Result<&[f32]> {
        let (width, height) = self.dem.size();
        if let Some(all) = &self.dem.all {
            return Ok(&all[rows.start * width..rows.end * width]);
        }
        if !(self.held.start..=self.held.end).contains(&rows.start) {
            self.heights.clear();
            self.held = rows.start..rows.start;
        }
        self.heights.drain(..(rows.start - self.held.start) * width);
        self.held.start = rows.start;
        if rows.end > self.held.end {
            // The reader unpacks whole tiles, whatever part of them the caller wants.
            let end = rows.end.next_multiple_of(TILE).min(height);
            self.require_memory(end, rows.len())?;
            self.heights.extend(self.dem.heights(self.held.end..end)?);
            self.held.end = end;
        }
        Ok(&self.heights[..rows.len() * width])
    }
}

impl Strip<'_> {
    /// Refuses a DEM of which the fewest rows that are read at once do not fit the memory.
    pub fn require_first(&self) -> Result<()> {
        match self.dem.all {
            Some(_) => Ok(()),
            None => self.require_memory(TILE.min(self.dem.size().1), 1),
        }
    }

    /// Refuses to read rows up to `end`, of which `made` are made a product, if they do not fit the memory.
    fn require_memory(&self, end: usize, made: usize) -> Result<()> {
        let (width, file) = (self.dem.size().0 as u64, &self.dem.file);
        let [held, read, made] =
            [end - self.held.start, end - self.held.end, made].map(|rows| rows as u64);
        // Heights as the file has them, as f64 and as f32; a product and what a writer makes of it.
        let of_column = 4 * held + (file.value_bytes() + 8 + 4) * read + 8 * made;
        host_memory::require(width.saturating_mul(of_column)).with_context(|| {
            let path = self.dem.path.display();
            format!(
                "{path}: {held} of its rows are in memory at once: make tiles with terrain plan"
            )
        })
    }
}

/// Where a DEM lies, and how its ground and its heights are measured.
pub struct Lie {
    /// The place of the whole DEM.
    pub place: Georeference,
    /// Metres of a unit of height, by its coordinate system or else by its band.
    pub height: Option<f64>,
    /// The units of both.
    pub units: Units,
}

impl Lie {
    /// Takes the place of a raster, and the metres of a unit of its values, where its coordinate system states no
    /// heights.
    pub fn new(place: Georeference, of_values: Option<f64>) -> Self {
        let crs = place.crs.as_ref();
        let height = crs.and_then(Crs::metres_per_height).or(of_values);
        Self { height, units: Units::of_heights(crs, height), place }
    }

    fn of_file(path: &Path, file: &ValuesFile, cell_size: Option<f64>) -> Result<Self> {
        let name = path.display();
        let (width, height) = file.size();
        ensure!(
            width.max(height) <= u32::MAX as usize,
            "{name}: {width} x {height} cells are too many"
        );
        let Some(place) = file.georeference() else {
            // Its south-west corner is (0, 0).
            let side = cell_size.unwrap_or(1.0);
            let place = Georeference::north_up((0.0, height as f64 * side), (side, side));
            return Ok(Self::new(place, file.metres_per_value()));
        };
        ensure!(cell_size.is_none(), "--cell-size: {name} already states the size of its cells");
        let [_, across, bx, _, ay, down] = place.transform;
        ensure!(
            bx == 0.0 && ay == 0.0 && across > 0.0 && down < 0.0,
            "{name}: its rows do not run east, or the first is not the northernmost: take a \
             raster whose rows do (gdalwarp makes one)"
        );
        let lie = Self::new(place.clone(), file.metres_per_value());
        lie.require_on_globe(path, height)?;
        Ok(lie)
    }

    /// Refuses rows that lie a cell or more beyond a pole.
    fn require_on_globe(&self, path: &Path, rows: usize) -> Result<()> {
        let (Ground::Degrees { north, height, .. }, Some(crs)) = (self.ground(0), &self.place.crs)
        else {
            return Ok(());
        };
        let south = north - rows as f64 * height;
        for latitude in [north, south] {
            if latitude.abs() > 90.0 + height {
                bail!(
                    "{} is in {crs}, but its rows reach a latitude of {latitude} degrees: if its \
                     coordinates are not degrees, correct the system with gdal_translate -a_srs",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// The sides of a cell, in the units of the coordinates.
    pub fn sides(&self) -> (f64, f64) {
        (self.place.transform[1], -self.place.transform[5])
    }

    /// Where the part lies that begins at a column and a row.
    pub fn place_from(&self, column: u32, row: u32) -> Georeference {
        let [left, across, bx, top, ay, down] = self.place.transform;
        let corner = (left + f64::from(column) * across, top + f64::from(row) * down);
        let transform = [corner.0, across, bx, corner.1, ay, down];
        Georeference { transform, crs: self.place.crs.clone() }
    }

    /// What a cell of the part is on the ground that begins at a row.
    fn ground(&self, first_row: u32) -> Ground {
        let (width, height) = self.sides();
        match self.units {
            Units::Plane { .. } => Ground::Rectangle { width, height },
            Units::Degrees { unit, .. } => {
                let (north, width) = (self.place.transform[3] * unit, width * unit);
                Ground::Degrees { north, width, height: height * unit, first_row }
            }
        }
    }

    /// Parameters as they are in a part that begins at a row.
    fn params(&self, params: &ProductParams, first_row: u32) -> ProductParams {
        let (Units::Degrees { height, .. } | Units::Plane { height }) = self.units;
        params.ground(self.ground(first_row)).z_factor(params.z_factor * height)
    }
}

/// A part of a DEM, and the window with the cells beside it that its products depend on.
pub struct Part {
    /// Columns and rows of the whole DEM.
    size: (usize, usize),
    rows: Range<usize>,
    columns: Range<usize>,
    window: [Range<usize>; 2],
}

/// How many cells on each side of a part its products depend on.
pub const HALO: u32 = 1;

impl Part {
    /// Some rows and columns of a DEM of a size.
    pub fn new((width, height): (usize, usize), rows: Range<usize>, columns: Range<usize>) -> Self {
        let halo = HALO as usize;
        let wider = |range: &Range<usize>, side: usize| {
            range.start.saturating_sub(halo)..side.min(range.end + halo)
        };
        let window = [wider(&rows, height), wider(&columns, width)];
        Self { size: (width, height), rows, columns, window }
    }

    /// Its first row.
    pub fn first_row(&self) -> usize {
        self.rows.start
    }

    /// The rows and columns whose heights are needed.
    pub fn window(&self) -> (Range<usize>, Range<usize>) {
        let [rows, columns] = &self.window;
        (rows.clone(), columns.clone())
    }

    /// Computes a product of the part, from the heights of its window.
    ///
    /// # Errors
    /// The errors of terrain-grid, and products that do not fit a 32-bit float.
    pub fn make(
        &self,
        (heights, lie): (&[f32], &Lie),
        params: &ProductParams,
        device: &Device,
    ) -> Result<Vec<f32>> {
        let [rows, columns] = &self.window;
        let grid = GridSpec::of_pixels(columns.len() as u32, rows.len() as u32);
        let on_ground = lie.params(params, rows.start as u32);
        let made = terrain_grid::product(device, GridView::new(heights, grid)?, &on_ground)?;
        if let Some((cell, height)) = overflow(heights, made.values(), columns.len()) {
            let (row, column) =
                (rows.start + cell / columns.len(), columns.start + cell % columns.len());
            let (is_large, height) = (height.abs() > LARGE, Shortest(height));
            ensure!(
                is_large,
                "row {row}, column {column}: the result does not fit a 32-bit float, though no height around is beyond \
                 {height}: take a --z-factor nearer to 1 than {}, or larger cells",
                Shortest(params.z_factor)
            );
            bail!(
                "the height {height} beside row {row}, column {column} is too large for a 32-bit result: {}; else divide all \
                 heights by a number",
                if_nodata(height)
            );
        }
        if (rows, columns) == (&self.rows, &self.columns) {
            return Ok(made.into_values());
        }
        Ok(self.cut(made.values(), self.rows.clone(), self.columns.clone()))
    }

    /// Returns the part's own cells of a window.
    pub fn own(&self, window: &[f32]) -> Vec<f32> {
        self.cut(window, self.rows.clone(), self.columns.clone())
    }

    /// Returns the cells of the part, their number of columns and rows, and their place in the whole. If the whole
    /// has a further row and a further column, they include these, so that each square between four cell centres is
    /// in one part.
    pub fn squares(&self, window: &[f32]) -> (Vec<f32>, (u32, u32), terrain_grid::Part) {
        let (width, height) = self.size;
        let rows = self.rows.start..height.min(self.rows.end + 1);
        let columns = self.columns.start..width.min(self.columns.end + 1);
        let cells = self.cut(window, rows.clone(), columns.clone());
        let whole = GridSpec::of_pixels(width as u32, height as u32);
        let first_cell = [columns.start as u32, rows.start as u32];
        let size = (columns.len() as u32, rows.len() as u32);
        (cells, size, terrain_grid::Part { whole, first_cell })
    }

    /// Some rows and columns of the window.
    fn cut(&self, window: &[f32], rows: Range<usize>, columns: Range<usize>) -> Vec<f32> {
        let [all_rows, all_columns] = &self.window;
        let (top, left) = (rows.start - all_rows.start, columns.start - all_columns.start);
        let lines = window.chunks_exact(all_columns.len()).skip(top).take(rows.len());
        lines.flat_map(|line| &line[left..left + columns.len()]).copied().collect()
    }
}

/// Up to it no sum of squares of differences of heights overflows.
const LARGE: f32 = 1e18;

/// Returns the first cell whose product is infinite or NaN because the finite heights around it are too large, and the
/// largest of these heights.
fn overflow(heights: &[f32], made: &[f32], width: usize) -> Option<(usize, f32)> {
    let is_large = |height: &f32| height.is_finite() && height.abs() > LARGE;
    let has_large = parallel::count(heights.len(), FINE, |i| is_large(&heights[i])) > 0;
    if !has_large && parallel::count(made.len(), FINE, |i| made[i].is_infinite()) == 0 {
        return None;
    }
    let last_row = heights.len() - width;
    let mut suspects = (0..made.len()).filter(|&i| match made[i] {
        value if value.is_infinite() => true,
        // NaN is right for level ground, at the border and beside NODATA. It is suspect only with large heights.
        value => has_large && value.is_nan(),
    });
    suspects.find_map(|i| {
        let (first, last) = (i % width == 0, i % width == width - 1);
        let rows = [(i >= width).then(|| i - width), Some(i), (i < last_row).then(|| i + width)];
        let around = rows
            .into_iter()
            .flatten()
            .flat_map(|middle| middle - usize::from(!first)..=middle + usize::from(!last));
        let around: Vec<f32> = around.map(|i| heights[i]).collect();
        let is_level = around.iter().all(|height| *height == heights[i]);
        let is_inner = around.len() == 9;
        let is_known = around.iter().all(|height| height.is_finite());
        let largest = around.into_iter().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
        let is_lost = made[i].is_infinite() || (is_inner && !is_level && is_large(&largest));
        (is_known && is_lost).then_some((i, largest))
    })
}

/// What to do about a height that may mean NODATA, in words.
pub fn if_nodata(height: impl Display) -> String {
    format!(
        "if it means NODATA, gdal_translate -a_nodata {height} makes a raster that states it (arrays have NaN there)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_without_a_number_are_told_from_those_of_large_heights() {
        let heights = [1.0, 2.0, 3.0, 4.0, -3e38, 6.0, 7.0, 8.0, 9.0];
        let mut made = [f32::NAN; 9];
        assert_eq!(overflow(&heights, &made, 3), Some((4, -3e38)));
        made[4] = 0.0;
        assert_eq!(overflow(&heights, &made, 3), None);
        made[1] = f32::INFINITY;
        assert_eq!(overflow(&heights, &made, 3), Some((1, -3e38)));
        let with_gap = heights.map(|height| if height == 4.0 { f32::NAN } else { height });
        assert_eq!(overflow(&with_gap, &[f32::NAN; 9], 3), None);
        // A slope in percent of cells that are tiny.
        assert_eq!(overflow(&[1.0, 2.0], &[f32::NAN, f32::INFINITY], 2), Some((1, 2.0)));
        assert_eq!(overflow(&[2e30; 9], &[f32::NAN; 9], 3), None);
    }

    #[test]
    fn windows_end_at_the_raster() {
        let part = Part::new((10, 8), 0..3, 4..10);
        assert_eq!(part.window(), (0..4, 3..10));
        let part = Part::new((10, 8), 0..8, 0..10);
        assert_eq!(part.window(), (0..8, 0..10));
    }
}
