//! The indices that a query asks, and the rasters that refine their bins.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use ccq_tree::{Bound, ClassSet, Condition, first_mismatch};
use geo_io::Number;
use gpu_core::GridSpec;
use programs::inputs::is_one_file;

use crate::args::{QueryArgs, Range};
use crate::cells::Part;
use crate::numbers::{bound_in, number_of, shown};
use crate::place::{Place, place_of, place_of_all, require_common_ground, require_same_place};
use crate::trees::{self, AnyTree};
use crate::values::Values;

/// An index of a query, with its range.
pub struct Asked {
    pub path: PathBuf,
    pub tree: AnyTree,
    pub place: Place,
    range: Option<Range>,
    /// Whether it is one of `--and`.
    is_other: bool,
    raster: Option<(Values, GridSpec)>,
    /// What the user should know of its rasters' files.
    notes: Vec<String>,
}

/// The indices of a query, each with its range. The first one gives the cells.
pub struct Indices {
    pub first: Asked,
    others: Vec<Asked>,
}

impl Indices {
    /// Reads all, and the rasters that are given.
    ///
    /// # Errors
    /// Indices of other systems or without ground in common, and a raster that an index is not of.
    pub fn read(args: &QueryArgs) -> Result<Self> {
        let mut first = Asked::read(&args.tree, args.range, false)?;
        ensure!(
            first.tree.grid().cells() > 0,
            "{} is the index of a raster without cells",
            first.path.display()
        );
        let others = args.others()?.into_iter();
        let others = others.map(|(path, range)| Asked::read(&path, Some(range), true));
        let mut others = others.collect::<Result<Vec<_>>>()?;
        let all: Vec<_> = std::iter::once(&first).chain(&others).collect();
        for (i, one) in all.iter().enumerate() {
            for other in &all[i + 1..] {
                require_common_ground((&one.path, &one.place), (&other.path, &other.place))?;
            }
        }
        first.take_rasters(args, &args.rasters()?.paths)?;
        for other in &mut others {
            let own = args.rasters_of_others().filter(|[tree, _]| is_one_file(tree, &other.path));
            let own: Vec<PathBuf> = own.map(|[_, raster]| raster.clone()).collect();
            other.take_rasters(args, &own)?;
        }
        Ok(Self { first, others })
    }

    /// All, in the order of the conditions but for classes.
    fn all(&self) -> impl Iterator<Item = &Asked> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// What the user should know of the rasters' files.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.all().flat_map(|asked| &asked.notes)
    }

    /// The index on whose grid a search finds cells.
    pub fn finest(&self, grid: &GridSpec) -> &Asked {
        self.all().find(|asked| asked.tree.grid() == grid).unwrap_or(&self.first)
    }

    /// Where the cells of the asked classes lie.
    pub fn class_set(&self, args: &QueryArgs) -> Result<Option<ClassSet>> {
        let set = args.classes.iter().fold(0, |set, class| set | 1u64 << class);
        if set == 0 {
            return Ok(None);
        }
        self.first.require_values("--classes")?;
        Ok(Some(self.first.tree.class_set(set)?))
    }

    /// Returns the condition on each index.
    pub fn conditions<'a>(&'a self, set: Option<&'a ClassSet>) -> Result<Vec<Condition<'a>>> {
        let mut conditions = vec![self.first.condition()?];
        conditions.extend(set.map(ClassSet::condition));
        for other in &self.others {
            conditions.push(other.condition()?);
        }
        Ok(conditions)
    }

    /// Refuses a sum over the cells of another grid than the first's, or of numbers of bins.
    pub fn require_sum(&self, grid: &GridSpec) -> Result<()> {
        self.first.require_values("--sum")?;
        let (name, finest) = (self.first.path.display(), self.finest(grid).path.display());
        ensure!(
            grid == self.first.tree.grid(),
            "--sum adds up cells of {name}, but the query finds the smaller cells of {finest}: \
             give {finest} first, and {name} by --and"
        );
        Ok(())
    }

    /// In words, the option that gives the rasters of indices whose ranges cut through bins.
    pub fn remedy(&self) -> String {
        let cut: Vec<String> = self.all().filter_map(Asked::cut).collect();
        cut.join("; ")
    }
}

impl Asked {
    fn read(path: &Path, range: Option<Range>, is_other: bool) -> Result<Self> {
        let tree = trees::read(path)?;
        let place = Place::of_index(path, &*tree)?;
        Ok(Self {
            path: path.to_owned(),
            tree,
            place,
            range,
            is_other,
            raster: None,
            notes: Vec::new(),
        })
    }

    /// Refuses an index that has the numbers of bins.
    fn require_values(&self, option: &str) -> Result<()> {
        let (name, has_values) = (self.path.display(), self.tree.summary().bins.is_empty());
        ensure!(
            has_values,
            "{option}: {name} holds numbers of bins, not values: build it without bins"
        );
        Ok(())
    }

    /// The ends of the range, of the cells' type.
    fn ends(&self) -> Option<[Bound; 2]> {
        let end = |number: Number| bound_in(self.tree.cells(), number);
        self.range.map(|Range(low, high)| [end(low), end(high)])
    }

    fn condition(&self) -> Result<Condition<'_>> {
        let condition = match self.ends() {
            Some([low, high]) => self.tree.condition().range(low, high),
            None => self.tree.condition(),
        };
        match &self.raster {
            Some((values, grid)) => values.give_to(condition, *grid),
            None => Ok(condition),
        }
    }

    /// Where the range cuts through bins and there is no raster, what to do about it.
    fn cut(&self) -> Option<String> {
        let (summary, name) = (self.tree.summary(), self.path.display());
        let (Range(low, high), [from, to]) = (self.range?, self.ends()?);
        let bins = summary.bins.iter().map(|bin| bound_in(self.tree.cells(), number_of(*bin)));
        let bins: Vec<Bound> = bins.collect();
        let is_cut = |end: &Bound| end.to_f64().is_finite() && !bins.contains(end);
        if self.raster.is_some() || summary.bins.is_empty() || ![from, to].iter().any(is_cut) {
            return None;
        }
        let (range, raster) = match self.is_other {
            true => (format!("--and {name} {low},{high}"), format!("--raster-of {name}")),
            false => (format!("--range {low},{high}"), "--raster".to_owned()),
        };
        const SHOWN: usize = 8;
        let shown = |bin: &Bound| shown(self.tree.cells(), *bin);
        let mut bins: Vec<String> = summary.bins.iter().take(SHOWN).map(shown).collect();
        bins.extend((summary.bins.len() > SHOWN).then(|| "..".to_owned()));
        Some(format!(
            "{range} cuts through bins of {name}, whose boundaries are {}: {raster} with the raster that it was built from says which cells \
             are in it",
            bins.join(", ")
        ))
    }

    /// Reads the raster that the index was built from, or those that lie beside each other.
    fn take_rasters(&mut self, args: &QueryArgs, paths: &[PathBuf]) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        for path in paths {
            let raster = geo_io::read_raster(path, args.array.as_deref())?;
            self.notes.extend(raster.notes.iter().cloned());
            let place = place_of(path, &raster)?;
            let nodata = args.nodata.or(raster.nodata);
            let nodata = nodata.and_then(|nodata| raster.values.sample_type().value(nodata));
            let part = Part { path, nodata, corner: (0, 0), width: raster.width };
            parts.push((part.cells(raster.values, self.tree.cells())?, place.grid));
            places.push((path.as_path(), place));
        }
        let lying: Vec<_> = places.iter().map(|(path, place)| (*path, place)).collect();
        let place = place_of_all(&lying)?;
        require_same_place((&self.path, &self.place), (&paths[0], &place))?;
        let nodata = self.tree.summary().nodata.map(number_of);
        let raster = match parts.len() {
            1 => parts.remove(0),
            _ => Values::put_together(self.tree.cells(), nodata, parts)?,
        };
        self.raster = Some(raster);
        self.require_its_cells(&lying)
    }

    /// Refuses a raster whose cells are in other bins than the index has.
    fn require_its_cells(&self, files: &[(&Path, &Place)]) -> Result<()> {
        let Some([row, column]) = first_mismatch(&self.condition()?)? else { return Ok(()) };
        let (values, grid) = self.raster.as_ref().map(|(values, grid)| (values, grid)).unzip();
        let cell = grid.map(|grid| row as usize * grid.width as usize + column as usize);
        let value = values.zip(cell).and_then(|(values, cell)| values.get(cell));
        let value = value.map(|value| value.to_string()).unwrap_or_default();
        // A cell's middle, as its file has it.
        let (x, y) = (f64::from(column) + 0.5, f64::from(row) + 0.5);
        let whole = grid.copied().unwrap_or(*self.tree.grid());
        let in_file = |place: &Place| {
            let columns = (whole.origin_x - place.grid.origin_x) / whole.cell_size + x;
            let rows = (place.grid.origin_y - whole.origin_y) / whole.cell_size + y;
            let is_in = columns >= 0.0
                && rows >= 0.0
                && columns < place.grid.width.into()
                && rows < place.grid.height.into();
            is_in.then_some((rows as u32, columns as u32))
        };
        let found = files.iter().find_map(|(path, place)| Some((*path, in_file(place)?)));
        let index = self.path.display();
        let Some((path, (row, column))) = found else {
            bail!(
                "{index} has a value in row {row}, column {column}, but none of the rasters has \
                 that cell"
            );
        };
        bail!(
            "{}: in row {row}, column {column} the value {value} does not match the bin or NODATA of {index}: give the \
             raster and the --nodata that `raster_index build` had",
            path.display()
        )
    }
}
