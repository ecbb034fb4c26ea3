//! What is resident: cells of points, captured graphs, columns of another stream, hostile contents.

use crate::common::Sites;
use gpu_core::{Device, DevicePoints, Extent, Gpu, Points};
use sphere_qtm::gpu;
use sphere_qtm::{Baseline, Cell, Error, Level, Method, NONE, Params, cells_of_points, voronoi};
use testing::{devices, gpu as handle};

fn level(level: u32) -> Level {
    Level::new(level).unwrap()
}

fn extent(sites: &Sites) -> Extent {
    Extent::of(&sites.points()).unwrap()
}

#[test]
fn cells_of_points_are_those_of_the_cpu_at_every_level() {
    let mut points = Sites::random(500, 1);
    for (lon, lat) in [
        (0.0, 90.0),
        (0.0, -90.0),
        (180.0, 0.0),
        (-180.0, -0.0),
        (-0.0, -0.0),
        (90.0, 45.0),
        (-90.0, -45.0),
        (360.0, 1.0),
        (-360.0, 1.0),
        (270.0, 1e-300),
    ] {
        points.x.push(lon);
        points.y.push(lat);
    }
    for at in [0, 1, 5, 12, 13, 14, 20, 29] {
        let expected: Vec<Cell> = (0..points.len())
            .map(|i| {
                let place = sphere_qtm::LonLat::new(points.x[i], points.y[i]).unwrap();
                Cell::containing(place, level(at))
            })
            .collect();
        for device in devices() {
            let found = cells_of_points(&device, &points.points(), level(at)).unwrap();
            assert_eq!(found, expected, "level {at}, {}", device.name());
        }
    }
}

#[test]
fn coordinates_of_32_bits_and_vectors_have_cells_too() {
    let gpu = handle();
    let points = Sites::random(300, 2);
    let narrow = |column: &[f64]| column.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (x, y) = (narrow(&points.x), narrow(&points.y));
    let wide = |column: &[f32]| column.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let expected =
        cells_of_points(&Device::Cpu, &Points::new(&wide(&x), &wide(&y)), level(20)).unwrap();
    let (x, y) = (gpu.upload(&x).unwrap(), gpu.upload(&y).unwrap());
    let found = gpu::cells_of_points(&gpu, &x, &y, level(20)).unwrap();
    let ids: Vec<u64> = expected.iter().map(|cell| cell.id()).collect();
    assert_eq!(found.to_host().unwrap(), ids);

    let mut vectors = points.vectors();
    vectors.extend([[0.0; 3], [f64::NAN, 0.0, 1.0], [0.0, f64::INFINITY, 0.0]]);
    let column = |k: usize| gpu.upload(&vectors.iter().map(|v| v[k]).collect::<Vec<_>>()).unwrap();
    let (x, y, z) = (column(0), column(1), column(2));
    let columns = [(&x).into(), (&y).into(), (&z).into()];
    let found = gpu::cells_of_vectors(&gpu, columns, level(20)).unwrap();
    let points = cells_of_points(&Device::Cpu, &points.points(), level(20)).unwrap();
    let mut ids: Vec<u64> = points.iter().map(|cell| cell.id()).collect();
    ids.extend([0; 3]);
    assert_eq!(found.to_host().unwrap(), ids);
    let short = x.slice(0..3).unwrap();
    let refused = gpu::cells_of_vectors(&gpu, [short, (&y).into(), (&z).into()], level(3));
    assert!(matches!(refused, Err(Error::Core(gpu_core::Error::Length { .. }))));
}

#[test]
fn a_point_that_is_no_place_is_named() {
    for device in devices() {
        let refused = cells_of_points(&device, &Points::new(&[1.0, 2.0], &[3.0, 91.0]), level(3));
        let expected = Error::Row { what: "point", row: 1, longitude: 2.0, latitude: 91.0 };
        assert_eq!(refused, Err(expected));
        let none = cells_of_points(&device, &Points::default(), level(3));
        assert_eq!(none, Ok(vec![]));
    }
}

fn all_of(gpu: &Gpu, params: &Params, x: &[f64], y: &[f64], extent: Extent) -> sphere_qtm::Diagram {
    let (x, y) = (gpu.upload(x).unwrap(), gpu.upload(y).unwrap());
    let sites = DevicePoints::new(&x, &y, [], extent).unwrap();
    gpu::voronoi(gpu, &sites, params).unwrap().to_host().unwrap()
}

/// NaN, infinities, latitudes beyond the poles, and an extent that is wrong: such sites are nobody's nearest.
#[test]
fn hostile_contents_are_left_out() {
    let gpu = handle();
    let good = Sites::random(60, 3);
    let (mut x, mut y) = (good.x.clone(), good.y.clone());
    let bad = [f64::NAN, f64::INFINITY, -f64::INFINITY, 1e308, -90.000001, 180.0];
    for (i, value) in bad.into_iter().cycle().take(40).enumerate() {
        // Behind the good ones, so that indices stay.
        x.push(if i % 3 == 0 && !value.is_finite() { value } else { 5.0 });
        y.push(value);
    }
    for method in
        [Method::Pruned, Method::Baseline(Baseline::Registers), Method::Baseline(Baseline::Global)]
    {
        for second in [false, true] {
            let params = Params::new(level(3)).method(method).second(second).distance(true);
            let expected = voronoi(&Device::Cpu, &good.points(), &params).unwrap();
            let found = all_of(&gpu, &params, &x, &y, extent(&good));
            assert!(found == expected, "{method:?}");
            let lost = vec![f64::NAN; 70];
            let found = all_of(&gpu, &params, &lost, &lost, extent(&good));
            assert!(found.nearest.iter().all(|&site| site == NONE), "{method:?}");
            assert!(found.distance.unwrap().iter().all(|d| *d == f64::INFINITY));
        }
    }
}

#[test]
fn a_captured_diagram_follows_its_sites() {
    let gpu = handle();
    for method in [Method::Pruned, Method::Baseline(Baseline::Registers)] {
        let params = Params::new(level(4)).method(method).distance(true);
        let before = Sites::random(200, 4);
        let (mut x, mut y) = (gpu.upload(&before.x).unwrap(), gpu.upload(&before.y).unwrap());
        let run = |x, y| {
            let sites = DevicePoints::new(x, y, [], extent(&before))?;
            gpu::voronoi(&gpu, &sites, &params)
        };
        run(&x, &y).unwrap();
        let mut made = None;
        let graph = gpu.capture(|| {
            made = Some(run(&x, &y)?);
            Ok::<_, Error>(())
        });
        let (graph, made) = (graph.unwrap(), made.unwrap());
        for seed in [5, 6] {
            let now = Sites::random(200, seed);
            x.copy_from(&gpu.upload(&now.x).unwrap()).unwrap();
            y.copy_from(&gpu.upload(&now.y).unwrap()).unwrap();
            // SAFETY: the columns are where they were, and as long.
            unsafe { graph.launch().unwrap() };
            let expected = voronoi(&Device::Cpu, &now.points(), &params).unwrap();
            assert!(made.to_host().unwrap() == expected, "{method:?}");
        }
    }
}

#[test]
fn no_sites_and_too_deep_a_level_are_refused() {
    let gpu = handle();
    let none = gpu.upload::<f64>(&[]).unwrap();
    let sites = DevicePoints::new(&none, &none, [], Extent::default()).unwrap();
    let refused = gpu::voronoi(&gpu, &sites, &Params::new(level(2))).unwrap_err();
    assert_eq!(refused, Error::NoSites);
    let some = Sites::random(3, 1);
    let (x, y) = (gpu.upload(&some.x).unwrap(), gpu.upload(&some.y).unwrap());
    let sites = DevicePoints::new(&x, &y, [], extent(&some)).unwrap();
    let refused = gpu::voronoi(&gpu, &sites, &Params::new(Level::MAX)).unwrap_err();
    let Error::Memory { available, .. } = refused else { panic!("{refused}") };
    assert_eq!(available, gpu.total_memory());
}
