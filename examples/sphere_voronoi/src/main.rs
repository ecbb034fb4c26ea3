//! `sphere_voronoi`: sites on the globe in; the nearest site of each cell, regions, areas and a map out.
//!
//! The path from here to the kernel: [`voronoi`](sphere_qtm::voronoi) calls the module `cpu` or `gpu` of the crate
//! sphere-qtm; `gpu` launches the kernels of `kernels-rs/src/sphere_qtm`.

mod args;
mod ids;
mod map;
mod shapes;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail, ensure};
use geo_io::{ColumnType, Crs, Filter, Output, Properties, ReadOn, Shape};
use gpu_core::{Points, Progress, host_memory};
use programs::args::ending;
use programs::opening::Opening;
use programs::program;
use programs::report::Report;
use programs::stages::Stages;
use programs::units::require_degrees;
use sphere_qtm::{Diagram, Latitude, LonLat, Polygon, Shapes, UnitVector};

use args::Args;
use ids::Grid;

/// The area of the Earth (of the ellipsoid WGS 84) in square kilometres, divided by the area of the sphere of radius 1.
const SQUARE_KILOMETRES: f64 = 510_065_621.724 / (4.0 * std::f64::consts::PI);

fn main() -> ExitCode {
    program::run("sphere_voronoi", run)
}

/// The program: check, read, find the nearest sites, write, report.
fn run(args: &Args) -> Result<()> {
    args.check()?;
    let opening = Opening::begin(args.run.device);
    let (mut stages, mut report) = (Stages::new(args.run.quiet), Report::default());
    let (device, sites) =
        opening.beside(&mut stages, "read", |on| Sites::read(args, &mut report, on))?;
    report.device(&device, args.run.device);
    let params = args.params()?;
    let diagram = stages.run("voronoi", |p| match &sites.shapes {
        Some(shapes) => sphere_qtm::voronoi_of_shapes(device.with_progress(p), shapes, &params),
        None => {
            let y = sites.latitudes_on_sphere();
            sphere_qtm::voronoi(device.with_progress(p), &Points::new(&sites.x, &y), &params)
        }
    });
    let mut diagram = diagram.map_err(|error| match error {
        sphere_qtm::Error::Memory { .. } => anyhow!("--level: {error}; give a lower --level"),
        error => error.into(),
    })?;
    sites.number(&mut diagram);
    let cells = params.level.cell_count();
    report.line("mesh", format_args!("level {}, {cells} cells", args.level));
    report.field("level", args.level);
    report.field("cells", cells);
    report.field("sites", sites.count());
    stages.run("write", |p| {
        geo_io::write_together(|| write(args, &sites, &diagram, &mut report, p))
    })?;
    report.stages(&stages);
    report.written(&args.written());
    report.print(&args.run);
    Ok(())
}

/// Sites in degrees, with geodetic latitudes. A site that is a shape has the place of its first point. A feature
/// without geometry is not a site: it has a number, and its place is NaN.
#[derive(Default)]
struct Sites {
    x: Vec<f64>,
    y: Vec<f64>,
    shapes: Option<Shapes>,
    /// The numbers of the shapes, where some features have none.
    numbers: Option<Vec<u32>>,
    /// The properties of the features, which their regions keep.
    properties: Vec<Properties>,
    /// How latitudes become latitudes on the sphere.
    latitude: Latitude,
}

impl Sites {
    fn read(args: &Args, report: &mut Report, on: ReadOn) -> Result<Self> {
        let latitude = args.kind.latitude();
        let Some(path) = &args.sites else {
            let sites = Self::sample(args.sample_sites, args.seed, latitude);
            report.line("input", format_args!("a sample of {} sites", sites.x.len()));
            return Ok(sites);
        };
        if geo_io::has_features(path)? {
            return shapes::read(path, latitude, args.ids.is_some(), report);
        }
        let columns = args.columns.names();
        // Every row is a site, whatever a column of classes says: a site's number is its row.
        let all = Filter { classes: Some((0..=255).collect()), ..Filter::default() };
        let cloud = geo_io::read_points(path, &all, &columns, on);
        let cloud = cloud.map_err(|error| match error {
            geo_io::Error::UnknownEnding { path, known } => anyhow!(
                "{}: unknown file ending, use one of {known}, .geojson, .json",
                path.display()
            ),
            other => other.into(),
        })?;
        ensure!(!cloud.x.is_empty(), "{}: there are no sites", path.display());
        require_degrees_of(path, cloud.crs.as_ref())?;
        report.input(path, &cloud.tally);
        if cloud.tally.kept < cloud.tally.read {
            report.note("a site's number counts the kept points, from 0");
        }
        cloud.notes.iter().for_each(|note| report.note(format_args!("{}: {note}", path.display())));
        let wrong = (0..cloud.x.len()).find(|&i| LonLat::new(cloud.x[i], cloud.y[i]).is_err());
        if let Some(i) = wrong {
            LonLat::new(cloud.x[i], cloud.y[i])
                .with_context(|| format!("{}: row {}", path.display(), i + 1))?;
        }
        Ok(Self { x: cloud.x, y: cloud.y, latitude, ..Self::default() })
    }

    /// Seeded places, uniform on the globe.
    fn sample(count: u32, seed: u64, latitude: Latitude) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        // xorshift64* (Vigna 2016).
        let mut unit = || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut sites = Self { latitude, ..Self::default() };
        for _ in 0..count {
            sites.x.push(360.0 * unit() - 180.0);
            sites.y.push((2.0 * unit() - 1.0).asin().to_degrees());
        }
        sites
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.numbers.as_ref().map_or(self.x.len(), Vec::len)
    }

    /// Whether the number is that of a site.
    fn has(&self, number: usize) -> bool {
        !self.x[number].is_nan()
    }

    /// Names the sites of a diagram of the shapes by the numbers of their features.
    fn number(&self, diagram: &mut Diagram) {
        if let Some(numbers) = &self.numbers {
            diagram.nearest.iter_mut().for_each(|site| *site = numbers[*site as usize]);
        }
    }

    /// The latitude of each on the sphere.
    fn latitudes_on_sphere(&self) -> Vec<f64> {
        self.y.iter().map(|&degrees| self.latitude.on_sphere(degrees)).collect()
    }

    /// Where those with a place lie on the sphere.
    fn vectors(&self) -> Result<Vec<UnitVector>> {
        let place = |i| LonLat::from_geodetic(self.x[i], self.y[i], self.latitude);
        let places = (0..self.x.len()).filter(|&i| self.has(i));
        places.map(|i| Ok(place(i)?.to_vector())).collect()
    }
}

/// Refuses sites whose coordinates are not longitudes from Greenwich and latitudes in degrees on the Earth.
fn require_degrees_of(path: &Path, crs: Option<&Crs>) -> Result<()> {
    let path = path.display();
    if let Some(crs) = crs.filter(|crs| !crs.is_geographic()) {
        bail!(
            "{path} is in {crs}: convert it to longitudes and latitudes, as by ogr2ogr -t_srs \
             EPSG:4326"
        );
    }
    require_degrees(&path.to_string(), crs)?;
    if let Some(crs) = crs.filter(|crs| !crs.is_of_greenwich()) {
        bail!(
            "{path} is in {crs}, whose longitudes do not begin at Greenwich: convert it, as by ogr2ogr -t_srs EPSG:4326"
        );
    }
    Ok(())
}

/// Writes what is wanted.
fn write(
    args: &Args,
    sites: &Sites,
    diagram: &Diagram,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<()> {
    let count = sites.x.len();
    let output = args.to(&args.output);
    if let Some(grid) = args.ids {
        write_ids(args, grid, sites, progress)?;
    } else if ending(&args.output) == "csv" {
        let rows = diagram.cells().map(|(cell, site)| format!("{cell},{site}"));
        geo_io::write_rows(output, "cell,site", rows)?;
    } else {
        geo_io::write_npy_list(output, &diagram.nearest)?;
    }
    if let Some(path) = &args.centres {
        let centres = diagram.level.cells().flat_map(|cell| cell.centre().to_array());
        let centres: Vec<f64> = centres.collect();
        geo_io::write_npy(args.to(path), &centres, 3, diagram.nearest.len())?;
    }
    let areas: Vec<f64> = sphere_qtm::region_areas(diagram, count)?
        .into_iter()
        .map(|area| area * SQUARE_KILOMETRES)
        .collect();
    let largest = (0..count).max_by(|&a, &b| areas[a].total_cmp(&areas[b])).unwrap_or(0);
    let without = (0..count).filter(|&i| areas[i] == 0.0 && sites.has(i)).count();
    let (x, y, area) = (sites.x[largest], sites.y[largest], areas[largest]);
    report.line(
        "regions",
        format_args!("the largest is site {largest}'s at ({x}, {y}): {area:.0} km2"),
    );
    report.field("largest_site", largest);
    report.field("largest_area_km2", area);
    report.field("sites_without_cell", without);
    if without > 0 {
        let count = sites.count();
        report.note(format_args!(
            "{without} of {count} sites are not the nearest site of any cell at this level"
        ));
    }
    if let Some(path) = &args.areas {
        let row = |i: usize| format!("{i},{},{},{}", sites.x[i], sites.y[i], areas[i]);
        let rows = (0..count).filter(|&i| sites.has(i)).map(row);
        geo_io::write_rows(args.to(path), "site,lon,lat,area_km2", rows)?;
    }
    if let Some(path) = &args.neighbours {
        write_neighbours(args.to(path), &sphere_qtm::adjacency(diagram, count)?, sites)?;
    }
    if let Some(path) = &args.regions {
        note_on_properties(args, sites, report);
        write_regions(args, path, sites, diagram, &areas)?;
    }
    if let Some(path) = &args.map {
        let vectors = sites.vectors()?;
        let view = map::View::new(args, sites.latitude);
        let map::Map { pixels, width, height } = view.draw(diagram, &vectors);
        geo_io::write_colours(args.to(path), &pixels, width, height)?;
    }
    Ok(())
}

/// What a region has beside its site's properties.
const OF_REGION: [&str; 4] = ["site", "lon", "lat", "area_km2"];

/// Says which properties of the sites their regions do not have.
fn note_on_properties(args: &Args, sites: &Sites, report: &mut Report) {
    let Some(path) = args.sites.as_deref().map(Path::display) else { return };
    if sites.shapes.is_none() {
        report.note(format_args!(
            "--regions has the numbers and places of the sites, and no other columns of {path}: sites in GeoJSON, GeoPackage, \
             FlatGeobuf, GeoParquet or a shapefile keep theirs"
        ));
    }
    for name in OF_REGION {
        if sites.properties.iter().any(|properties| properties.has(name)) {
            report.note(format_args!(
                "the property \"{name}\" of {path} gives way to that of the region"
            ));
        }
    }
}

/// Writes the outline of each site's region, with the site's properties.
fn write_regions(
    args: &Args,
    path: &Path,
    sites: &Sites,
    diagram: &Diagram,
    areas: &[f64],
) -> Result<()> {
    let regions = sphere_qtm::outlines(diagram, areas.len())?;
    let features = regions.into_iter().enumerate().filter(|(_, region)| !region.is_empty());
    let features = features.map(|(i, region)| {
        let mut properties = sites.properties.get(i).cloned().unwrap_or_default();
        let numbers = [i as f64, sites.x[i], sites.y[i], areas[i]];
        OF_REGION.iter().zip(numbers).for_each(|(name, number)| properties.set(name, number));
        let polygons = region.iter().map(|polygon| rings(polygon, sites.latitude)).collect();
        (properties, Shape::Polygons(polygons))
    });
    match ending(path).as_str() {
        "parquet" => geo_io::write_geoparquet_features(args.to(path), features, Some(&wgs_84()?))?,
        _ => geo_io::write_shapes(args.to(path), features, None)?,
    }
    Ok(())
}

/// Writes the site that is nearest to the centre of each cell of another grid: the cells of `--cells`, or all.
fn write_ids(args: &Args, grid: Grid, sites: &Sites, progress: &dyn Progress) -> Result<()> {
    let key = args.cell_column.as_str();
    let ids = match &args.cells {
        Some(path) => grid.read(path, key)?,
        None => grid.ids().context("--ids: --cells takes some cells of a level instead of all")?,
    };
    let centres = ids.iter().map(|&id| grid.centre(id)).collect::<Result<Vec<_>>>()?;
    let x: Vec<f64> = centres.iter().map(|centre| centre[0]).collect();
    let y: Vec<f64> = centres.iter().map(|centre| sites.latitude.on_sphere(centre[1])).collect();
    let numbers: Vec<u32> = (0..sites.x.len() as u32).filter(|&i| sites.has(i as usize)).collect();
    let (longitudes, latitudes) = (&sites.x, sites.latitudes_on_sphere());
    let [own_x, own_y] = [longitudes, &latitudes]
        .map(|column| numbers.iter().map(|&i| column[i as usize]).collect::<Vec<_>>());
    let all = Points::new(&own_x, &own_y);
    let found = sphere_qtm::nearest_sites(&all, &Points::new(&x, &y), 1, progress)?;
    let nearest = found.sites.iter().map(|&site| numbers[site as usize]);
    // The radius of the sphere with the Earth's area.
    let radius = 1e3 * SQUARE_KILOMETRES.sqrt();
    let nearest = nearest.zip(found.distances.iter().map(|distance| distance * radius));
    let rows = ids.iter().zip(nearest);
    let output = args.to(&args.output);
    if ending(&args.output) == "csv" {
        let text = |(&id, (site, metres)): (&u64, (u32, f64))| {
            format!("{},{site},{metres}", grid.text(id))
        };
        return Ok(geo_io::write_rows(output, &format!("{key},site,metres"), rows.map(text))?);
    }
    // The writer holds all rows, each with three properties by name.
    host_memory::require(ids.len() as u64 * 600)?;
    let features = rows.zip(centres).map(|((&id, (site, metres)), centre)| {
        let mut properties = Properties::default();
        match grid {
            Grid::Healpix(_) | Grid::HealpixNuniq(_) => properties.set(key, id),
            Grid::H3(_) | Grid::A5(_) => properties.set_text(key, grid.text(id)),
        }
        properties.set("site", site);
        properties.set("metres", metres);
        (properties, Shape::Points(vec![centre]))
    });
    Ok(geo_io::write_geoparquet_features(output, features, Some(&wgs_84()?))?)
}

/// Returns WGS 84, the coordinate system that files state. GeoJSON means it without a statement.
fn wgs_84() -> Result<Crs> {
    Ok(Crs::parse("EPSG:4326")?)
}

/// Writes pairs of sites whose regions touch: with the line between their places if the format has shapes.
fn write_neighbours(output: Output<'_>, pairs: &[[u32; 2]], sites: &Sites) -> Result<()> {
    if ending(output.path) == "csv" {
        let rows = pairs.iter().map(|[a, b]| format!("{a},{b}"));
        return Ok(geo_io::write_rows(output, "site,neighbour", rows)?);
    }
    let columns = [("site", ColumnType::Whole), ("neighbour", ColumnType::Whole)];
    let rows = pairs.iter().map(|pair| {
        let places = pair.map(|site| [sites.x[site as usize], sites.y[site as usize]]);
        (pair.map(Into::into).to_vec(), Shape::Lines(vec![places.to_vec()]))
    });
    Ok(geo_io::write_geoparquet(output, &columns, rows, Some(&wgs_84()?))?)
}

/// A polygon's rings as GeoJSON has them: closed, and of geodetic latitudes.
fn rings(polygon: &Polygon, latitude: Latitude) -> Vec<Vec<[f64; 2]>> {
    let close = |ring: &Vec<LonLat>| {
        let closed = ring.iter().chain(ring.first()).map(|place| place.to_geodetic(latitude));
        closed.map(|place| [place.longitude(), place.latitude()]).collect()
    };
    [&polygon.outer].into_iter().chain(&polygon.holes).map(close).collect()
}
