//! Diagrams equal those of comparing every cell with every site in f64, on every device and by every method.

use crate::common::{Expected, Sites, brute_force};
use gpu_core::{Device, Points};
use sphere_qtm::{Baseline, Diagram, Error, Level, LonLat, Method, NONE, Params, voronoi};
use testing::{bits64, clouds, devices, is_slow};

const METHODS: [Method; 5] = [
    Method::Pruned,
    Method::Baseline(Baseline::Registers),
    Method::Baseline(Baseline::ReadOnly),
    Method::Baseline(Baseline::Shared),
    Method::Baseline(Baseline::Global),
];

fn level(level: u32) -> Level {
    Level::new(level).unwrap()
}

fn run(device: &Device, sites: &Sites, params: &Params) -> Diagram {
    let found = voronoi(device, &sites.points(), params);
    found.unwrap_or_else(|error| panic!("{}: {error}", device.name()))
}

fn check(diagram: &Diagram, expected: &Expected, what: &str) {
    assert_eq!(diagram.nearest.len(), expected.len());
    for (i, &(nearest, second, squared, next)) in expected.iter().enumerate() {
        assert_eq!(diagram.nearest[i], nearest, "{what}: cell {i}");
        if let Some(found) = &diagram.second {
            assert_eq!(found[i], second, "{what}: second of cell {i}");
        }
        if let Some(found) = &diagram.tie {
            assert_eq!(found[i] == 1, squared == next, "{what}: tie of cell {i}");
        }
        if let Some(found) = &diagram.distance {
            let exact = 2.0 * (squared.sqrt() / 2.0).min(1.0).asin();
            let slack = if squared > 3.9 { 1e-7 } else { 1e-13 };
            assert!((found[i] - exact).abs() <= slack * (1e-3 + exact), "{what}: cell {i}");
        }
    }
}

/// Every device and method, with and without the other outputs.
fn check_all(sites: &Sites, at: u32, what: &str) {
    let expected = brute_force(level(at), sites);
    for device in devices() {
        for method in METHODS {
            let name = format!("{what}, level {at}, {}, {method:?}", device.name());
            let params = Params::new(level(at)).method(method).distance(true);
            check(&run(&device, sites, &params), &expected, &name);
        }
        let name = format!("{what}, level {at}, {}, all outputs", device.name());
        // In f64 a block has a cell: much for the software device.
        let methods = if at < 4 || !is_slow() { &METHODS[..2] } else { &METHODS[..1] };
        for &method in methods {
            let params =
                Params::new(level(at)).method(method).second(true).tie(true).distance(true);
            check(&run(&device, sites, &params), &expected, &name);
        }
    }
}

#[test]
fn few_sites_at_the_lowest_levels() {
    let most = if is_slow() { 2 } else { 5 };
    for at in 0..=most {
        for count in [1, 2, 32, 33, 257] {
            check_all(&Sites::random(count, 100 + count as u64), at, "random");
        }
    }
}

#[test]
fn crowds_far_smaller_than_cells() {
    // Half at one place, and half within a few millimetres.
    let place = |i: u32| match i % 2 {
        0 => (10.0, 20.0),
        _ => (-60.0 + f64::from(i % 997) * 1e-11, 5.0 + f64::from(i % 1009) * 1e-11),
    };
    let sites = Sites::of((0..20_000).map(place));
    let expected = brute_force(level(3), &sites);
    let params = Params::new(level(3)).second(true).tie(true).distance(true);
    check(&run(&Device::Cpu, &sites, &params), &expected, "all outputs");
    check(&run(&Device::Cpu, &sites, &Params::new(level(3))), &expected, "nearest");
    // The cells of the fine level whose centres are those of the coarse one.
    let fine = run(&Device::Cpu, &sites, &Params::new(level(8)));
    for (i, &(nearest, ..)) in expected.iter().enumerate() {
        assert_eq!(fine.nearest[i << 10], nearest, "cell {i}");
    }
}

#[test]
fn one_site_two_antipodes_and_the_poles() {
    let levels: &[u32] = if is_slow() { &[0, 3] } else { &[0, 3, 5, 7] };
    for &at in levels {
        for sites in [
            Sites::of([(10.0, 20.0)]),
            Sites::of([(10.0, 20.0), (-170.0, -20.0)]),
            Sites::of([(0.0, 90.0), (0.0, -90.0)]),
            Sites::of([(77.0, 90.0), (0.0, 90.0), (5.0, -90.0), (180.0, 0.0), (-180.0, -0.0)]),
            // The vertices of the octahedron: every cell at an axis of symmetry ties.
            Sites::of([
                (0.0, 0.0),
                (90.0, 0.0),
                (180.0, 0.0),
                (-90.0, 0.0),
                (0.0, 90.0),
                (0.0, -90.0),
            ]),
        ] {
            check_all(&sites, at, &format!("{sites:?}"));
        }
    }
}

#[test]
fn sites_of_all_kinds() {
    let (at, count) = if is_slow() { (3, 300) } else { (7, 10_000) };
    for (what, sites) in [
        ("random", Sites::random(count, 1)),
        ("on circles", Sites::on_circles(count)),
        ("antipodal", Sites::antipodal(count, 3)),
        ("duplicate", Sites::duplicate(count, 4)),
    ] {
        check_all(&sites, at, what);
    }
    let at = if is_slow() { 2 } else { at };
    for cloud in clouds::all(count, 2) {
        let name = cloud.name;
        check_all(&Sites::of_cloud(cloud), at, name);
    }
}

/// Cells of a block of all pairs lie side by side from this level on, some of them where octants meet.
#[test]
fn several_cells_a_thread() {
    for sites in [Sites::random(70, 11), Sites::clustered(600, 12), Sites::duplicate(100, 13)] {
        let expected = brute_force(level(5), &sites);
        let params =
            Params::new(level(5)).method(Method::Baseline(Baseline::Registers)).distance(true);
        for device in devices() {
            check(&run(&device, &sites, &params), &expected, &device.name());
        }
    }
}

/// The CPU alone, at the level and with the number of sites that the mesh was made for.
#[test]
fn many_sites_at_level_7_on_the_cpu() {
    for (what, sites) in [
        ("random", Sites::random(1500, 5)),
        ("clustered", Sites::clustered(1500, 6)),
        ("on circles", Sites::on_circles(1500)),
    ] {
        let expected = brute_force(level(7), &sites);
        let params = Params::new(level(7)).second(true).tie(true).distance(true);
        check(&run(&Device::Cpu, &sites, &params), &expected, what);
    }
}

#[test]
fn airports_and_cities() {
    for name in ["airports.csv", "cities.csv"] {
        let Some(sites) = Sites::of_file(name) else {
            println!("skipped: {name} is not there");
            continue;
        };
        let (at, count) = if is_slow() { (4, 700) } else { (7, 10_000) };
        check_all(&sites.first(count), at, name);
    }
}

/// Devices agree to the last bit. On a GPU, at level 9 with 50,000 sites, every cell is compared with every site, too; the
/// software device has no time for that.
#[test]
fn many_sites_on_all_devices() {
    let (at, count) = if is_slow() { (5, 5000) } else { (9, 50_000) };
    for sites in [Sites::random(count, 8), Sites::clustered(count, 9)] {
        let params = Params::new(level(at)).distance(true).second(true).tie(true);
        let expected = run(&Device::Cpu, &sites, &params);
        if !is_slow() {
            check(&expected, &brute_force(level(at), &sites), "level 9");
        }
        for device in devices() {
            let found = run(&device, &sites, &params);
            assert_eq!((&found.nearest, &found.second), (&expected.nearest, &expected.second));
            let distances = |d: &Diagram| bits64(d.distance.as_ref().unwrap());
            assert!(distances(&found) == distances(&expected) && found.tie == expected.tie);
            // The CPU would take minutes for all pairs, which the brute force has compared.
            if !is_slow() && matches!(device, Device::Gpu(_)) {
                for method in METHODS {
                    let params = Params::new(level(at)).method(method);
                    assert!(
                        run(&device, &sites, &params).nearest == expected.nearest,
                        "{method:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn only_what_is_wanted_is_there() {
    for device in devices() {
        let diagram = run(&device, &Sites::random(5, 1), &Params::new(level(2)));
        assert_eq!((diagram.level, diagram.nearest.len()), (level(2), 128));
        assert!(diagram.second.is_none() && diagram.distance.is_none() && diagram.tie.is_none());
        let one = Sites::of([(3.0, 4.0)]);
        let params = Params::new(level(1)).second(true).tie(true);
        let diagram = run(&device, &one, &params);
        assert_eq!((diagram.second.unwrap(), diagram.tie.unwrap()), (vec![NONE; 32], vec![0; 32]));
        assert_eq!(diagram.nearest, [0; 32]);
    }
}

#[test]
fn a_place_has_the_site_of_its_cell() {
    let sites = Sites::of([(116.4, 39.9), (-0.1, 51.5), (-78.5, -0.2)]);
    let diagram = run(&Device::Cpu, &sites, &Params::new(level(6)));
    for (lon, lat, site) in [(110.0, 35.0, 0), (2.3, 48.9, 1), (-70.0, -30.0, 2), (116.4, 39.9, 0)]
    {
        assert_eq!(diagram.site_of(LonLat::new(lon, lat).unwrap()), site);
    }
}

#[test]
fn bad_input_is_named() {
    for device in devices() {
        let error = |x: &[f64], y: &[f64], params: Params| {
            voronoi(&device, &Points::new(x, y), &params).unwrap_err()
        };
        let params = Params::new(level(2));
        assert_eq!(error(&[], &[], params), Error::NoSites);
        for (lon, lat) in [(0.0, 90.5), (f64::NAN, 0.0), (0.0, f64::NAN), (f64::INFINITY, 1.0)] {
            let found = error(&[1.0, 2.0, lon], &[1.0, 2.0, lat], params);
            assert!(matches!(found, Error::Row { what: "site", row: 2, .. }), "{found}");
        }
        let found = error(&[7.0, 8.0], &[9.0, 90.5], params).to_string();
        assert!(
            found.starts_with("site 1 at (8.0, 90.5) is not on the globe: longitudes are "),
            "{found}"
        );
        assert!(matches!(error(&[7.0, 8.0], &[9.0], params), Error::Core(_)));
        let found = error(&[7.0], &[9.0], Params::new(Level::MAX));
        let Error::Memory { level: 29, cells, asked, available } = found else { panic!("{found}") };
        assert!(cells == 8 << 58 && asked >= 4 * cells && available < asked);
    }
}

/// Ends a call at a report of its own choice.
struct Ending(std::cell::Cell<u32>);

impl gpu_core::Progress for Ending {
    fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
        match self.0.replace(self.0.get().saturating_sub(1)) {
            0 => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        }
    }
}

#[test]
fn a_diagram_can_be_cancelled_at_every_report() {
    let sites = Sites::random(20, 1);
    let params = Params::new(level(2));
    for device in devices() {
        let mut cancelled = 0;
        loop {
            match voronoi(device.with_progress(&Ending(cancelled.into())), &sites.points(), &params)
            {
                Err(error) => assert_eq!(error, Error::Cancelled(gpu_core::Cancelled)),
                Ok(diagram) => break assert_eq!(diagram, run(&device, &sites, &params)),
            }
            cancelled += 1;
        }
        assert!(cancelled >= 3, "{}: {cancelled}", device.name());
    }
}

#[test]
fn arrays_are_sites() {
    use gpu_core::ArrayPoints;
    use gpu_core::ndarray::array;
    let rows = array![[116.4, 39.9], [-0.1, 51.5], [-78.5, -0.2]];
    let params = Params::new(Level::new(3).unwrap());
    let sites = Points::new(&[116.4, -0.1, -78.5], &[39.9, 51.5, -0.2]);
    let of_rows = ArrayPoints::from_rows(rows.view()).unwrap();
    let found = voronoi(&Device::Cpu, &of_rows.points(), &params).unwrap();
    assert_eq!(found, voronoi(&Device::Cpu, &sites, &params).unwrap());
}
