//! Distances on the globe against vectors in space, and what a call takes and refuses.

use gpu_core::{GridSpec, Progress};
use pba_voronoi::{
    AUTHALIC_RADIUS, Baseline, Diagram, EARTH_RADIUS, Error, Globe, Input, Method, NONE, Params,
    Sites, Strip, directions_on_globe, geodesic, geodesic_on_ellipsoid,
};
use testing::{Random, devices};

/// The vector to the centre of a pixel, by the standard library.
fn vector(globe: &Globe, [column, row]: [u32; 2]) -> [f64; 3] {
    let longitude = (globe.corner[0] + (f64::from(column) + 0.5) * globe.sides[0]).to_radians();
    let latitude = (globe.corner[1] - (f64::from(row) + 0.5) * globe.sides[1]).to_radians();
    let cosine = latitude.cos();
    [cosine * longitude.cos(), cosine * longitude.sin(), latitude.sin()]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The angle between two vectors, to a few units in the last place.
fn angle(a: [f64; 3], b: [f64; 3]) -> f64 {
    let product = cross(a, b);
    dot(product, product).sqrt().atan2(dot(a, b))
}

fn pixel(p: usize, width: u32) -> [u32; 2] {
    [p as u32 % width, p as u32 / width]
}

/// Places of many kinds: the whole Earth, parts of it, over a pole, over the antimeridian, rows at the poles.
fn places() -> Vec<(Globe, u32, u32)> {
    vec![
        (Globe::new([-180.0, 90.0], [5.0, 5.0]), 72, 36),
        (Globe::new([0.0, 90.0], [5.0, 5.0]), 72, 36),
        (Globe::new([-2.5, 92.5], [5.0, 5.0]), 72, 37),
        (Globe::new([170.0, 20.0], [0.5, 0.25]), 60, 50),
        (Globe::new([-100.0, 90.0], [7.0, 0.1]), 40, 40),
        (Globe::new([-100.0, -86.0], [9.0, 0.1]), 31, 40),
        (Globe::new([-180.0, -90.0], [6.0, -6.0]), 60, 30),
        (Globe::new([180.0, 90.0], [-6.0, 6.0]), 60, 30),
        (Globe::new([12.0, 47.0], [1e-5, 1e-5]), 45, 33),
        (Globe::new([-180.0, 10.0], [1.0, 1.0]), 361, 1),
        (Globe::new([5.0, 90.0], [1.0, 0.5]), 1, 360),
        (Globe::new([-180.0, 90.0], [360.0, 180.0]), 1, 1),
        (Globe::new([-150.0, 80.0], [2.5, 2.5]), 120, 20),
    ]
}

#[test]
fn distances_and_directions_are_those_of_vectors_in_space() {
    let mut random = Random::new(11);
    for (globe, width, height) in places() {
        for few in [1, 3, 40] {
            let pixels = (width * height) as usize;
            let mut mask = vec![0; pixels];
            for _ in 0..few {
                mask[random.below(pixels as u64) as usize] = 1;
            }
            let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(width, height));
            let params = Params::new().nearest().coordinates().distance().distance_f64();
            let sites: Vec<usize> = (0..pixels).filter(|&p| mask[p] != 0).collect();
            let mut first = None;
            for device in devices() {
                let found = geodesic(&device, &input, &globe, &params).unwrap();
                assert_eq!(found.square_unit, 0.0);
                assert_eq!(first.get_or_insert(found.clone()), &found, "{}", device.name());
            }
            let found = first.unwrap();
            let nearest = found.nearest.unwrap();
            let (metres, singles) = (found.distance_f64.unwrap(), found.distance.unwrap());
            let directions = directions_on_globe(&nearest, &globe).unwrap();
            for p in 0..pixels {
                let what = format!("{globe:?}, {few} sites, pixel {:?}", pixel(p, width));
                let own = vector(&globe, pixel(p, width));
                let far = |site: &usize| angle(own, vector(&globe, pixel(*site, width)));
                let least = sites.iter().map(far).fold(f64::INFINITY, f64::min);
                let site = nearest.get(p).unwrap() as usize;
                assert_eq!(mask[site], 1, "{what}");
                // The square of half a chord tells less of an angle the nearer this comes to half a turn.
                let slack = |angle: f64| {
                    1e-15 + 4e-15 * angle + 4e-16 / (std::f64::consts::PI - angle).max(1e-8)
                };
                let close = |angle: f64| (angle - least).abs() <= slack(least);
                assert!(close(far(&site)), "{what}: {site} at {} of {least}", far(&site));
                let arc = metres.values()[p] / EARTH_RADIUS;
                assert!(close(arc), "{what}: {arc}, not {least}");
                assert_eq!(singles.values()[p], metres.values()[p] as f32);
                // From the pixel along the great circle with that bearing, so far, is the site.
                let direction = f64::from(directions.values()[p]);
                let same_place = least < 1e-12;
                assert_eq!(direction == 0.0, same_place, "{what}");
                if same_place || least > 3.1 {
                    continue;
                }
                let longitude = (globe.corner[0]
                    + (f64::from(pixel(p, width)[0]) + 0.5) * globe.sides[0])
                    .to_radians();
                let east = [-longitude.sin(), longitude.cos(), 0.0];
                let north = cross(own, east);
                let (sine, cosine) = direction.to_radians().sin_cos();
                let end: [f64; 3] = std::array::from_fn(|i| {
                    own[i] * arc.cos() + arc.sin() * (east[i] * sine + north[i] * cosine)
                });
                let off = angle(end, vector(&globe, pixel(site, width)));
                assert!(off <= 1e-6 * arc + 1e-14, "{what}: {direction} leads {off} off");
            }
        }
    }
}

/// Rasters of many sizes and places, some of which f64 hardly tells apart: all devices give the CPU's bits.
#[test]
fn all_devices_give_the_same_bits() {
    let mut random = Random::new(8);
    let sizes = [1, 2, 31, 32, 33, 64, 65, 100, 127, 128];
    for round in 0..60 {
        let (mut width, mut height) =
            (sizes[random.below(10) as usize], sizes[random.below(10) as usize]);
        if round % 6 == 5 {
            // Columns that are divided several times.
            (width, height) = (width % 40 + 1, 700 + random.below(400) as u32);
        }
        height += random.below(2) as u32;
        let (x, y) = (360.0 / f64::from(width), 180.0 / f64::from(height));
        let rows = f64::from(height);
        let globe = match round % 5 {
            0 => Globe::new([-180.0, 90.0], [x, y]),
            1 => Globe::new([17.0, -90.0], [x, -y]),
            // Rows at both poles.
            2 if height > 1 => {
                Globe::new([0.0, 90.0 + 90.0 / (rows - 1.0)], [x, 180.0 / (rows - 1.0)])
            }
            3 => Globe::new([-180.0, 1e-8 * rows], [x, 2e-8]),
            _ => Globe::new([170.0, 60.0], [0.01, 0.02]),
        };
        let pixels = u64::from(width) * u64::from(height);
        let density = [0.0, 2.0 / pixels as f64, 0.02, 0.5][round % 4];
        let mask: Vec<u8> = (0..pixels)
            .map(|p| {
                let is_on = round % 5 != 3 || p % u64::from(width) < 2;
                u8::from(is_on && random.unit() < density)
            })
            .collect();
        let grid = GridSpec::of_pixels(width, height);
        let input = Input::new(Sites::Mask(&mask), grid);
        let params = Params::new().nearest().coordinates().distance().distance_f64();
        let params = if round % 3 == 0 { params.max_distance(2e6) } else { params };
        let run = |device: &gpu_core::Device| geodesic(device, &input, &globe, &params).unwrap();
        let expected = run(&gpu_core::Device::Cpu);
        for device in devices() {
            assert!(run(&device) == expected, "{}: {globe:?}, {width} x {height}", device.name());
        }
    }
}

/// Of a site on the equator a pixel a quarter of a turn away is a quarter of the circumference away, whatever its latitude.
#[test]
fn known_distances() {
    let globe = Globe::new([-180.0, 90.0], [90.0, 60.0]);
    let mut mask = [0; 12];
    mask[4] = 1;
    let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(4, 3));
    for device in devices() {
        let params = Params::new().distance_f64();
        let found = geodesic(&device, &input, &globe, &params).unwrap().distance_f64.unwrap();
        let degrees: Vec<f64> = found
            .values()
            .iter()
            .map(|d| ((d / EARTH_RADIUS).to_degrees() * 1e9).round() / 1e9)
            .collect();
        let expected = [60.0, 90.0, 120.0, 90.0, 0.0, 90.0, 180.0, 90.0, 60.0, 90.0, 120.0, 90.0];
        assert_eq!(degrees, expected);
        let authalic = globe.radius(AUTHALIC_RADIUS);
        let other = geodesic(&device, &input, &authalic, &params).unwrap().distance_f64.unwrap();
        let ratio = other.values()[6] / found.values()[6];
        assert!((ratio - AUTHALIC_RADIUS / EARTH_RADIUS).abs() < 1e-15);
    }
}

/// A row at a pole is one place: its pixels have one site, the first, and it is as near to all.
#[test]
fn a_row_at_a_pole_is_one_place() {
    let globe = Globe::new([-180.0, 105.0], [30.0, 30.0]);
    let mut mask = vec![0; 12 * 7];
    // In the row at the pole, and in the next.
    (mask[5], mask[9]) = (1, 1);
    let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(12, 7));
    for device in devices() {
        let params = Params::new().nearest().distance();
        let found = geodesic(&device, &input, &globe, &params).unwrap();
        let nearest = found.nearest.unwrap();
        assert!((0..mask.len()).all(|p| nearest.get(p) == Some(5)));
        assert_eq!(found.distance.unwrap().values()[..12], [0.0; 12]);
        let directions = directions_on_globe(&nearest, &globe).unwrap();
        assert_eq!(directions.values()[..12], [0.0; 12]);
        assert_eq!(directions.values()[12..], [360.0; 72]);
        let mut beside = vec![0; 12 * 7];
        (beside[12 + 3], beside[12 + 7]) = (1, 1);
        let input = Input::new(Sites::Mask(&beside), GridSpec::of_pixels(12, 7));
        let found = geodesic(&device, &input, &globe, &params).unwrap().nearest.unwrap();
        assert!((0..12).all(|p| found.get(p) == Some(15)));
    }
}

/// Lengths that GeographicLib's pages and the ellipsoid's axes give.
#[test]
fn geodesics_on_the_ellipsoid_have_their_known_lengths() {
    let (a, f) = (6_378_137.0, 1.0 / 298.257_223_563);
    let third = f / (2.0 - f);
    // The quarter of a meridian (Helmert 1880).
    let quarter = 0.5 * std::f64::consts::PI * a / (1.0 + third)
        * (1.0 + third.powi(2) / 4.0 + third.powi(4) / 64.0 + third.powi(6) / 256.0);
    for (from, to, expected) in [
        // Wellington and Salamanca.
        ([174.81, -41.32], [-5.5, 40.96], 19_959_679.267),
        ([0.0, 90.0], [30.0, 0.0], quarter),
        ([-179.0, 0.0], [178.0, 0.0], a * 3_f64.to_radians()),
        ([5.0, 60.0], [5.0, 60.0], 0.0),
    ] {
        let sides =
            [to[0] - from[0], from[1] - to[1]].map(|side| if side == 0.0 { 1.0 } else { side });
        let globe = Globe::new([from[0] - 0.5 * sides[0], from[1] + 0.5 * sides[1]], sides);
        let mut mask = [0; 4];
        let (column, row) = (usize::from(to[0] != from[0]), usize::from(to[1] != from[1]));
        mask[2 * row + column] = 1;
        let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(2, 2));
        let params = Params::new().distance_f64();
        let found = geodesic_on_ellipsoid(&input, &globe, &params, &gpu_core::Silent).unwrap();
        let off = found.distance_f64.unwrap().values()[0] - expected;
        assert!(off.abs() < 1e-3, "{from:?} to {to:?}: off by {off}");
    }
}

/// No site is nearer on the ellipsoid, by the geodesics to all sites, and on the sphere one may be; far, near and beside the poles.
#[test]
fn the_nearest_on_the_ellipsoid_is_that_of_all_geodesics() {
    use geographiclib_rs::{Geodesic, InverseGeodesic};
    let ellipsoid = Geodesic::wgs84();
    let mut random = Random::new(6);
    let mut others = 0;
    for (globe, width, height, share) in [
        (Globe::new([-180.0, 90.0], [10.0, 10.0]), 36, 18, 0.02),
        (Globe::new([-180.0, 90.0], [5.0, 5.0]), 72, 36, 0.002),
        (Globe::new([-180.0, 92.5], [5.0, 5.0]), 73, 37, 0.01),
        (Globe::new([100.0, -35.0], [1.0, 0.5]), 50, 60, 0.01),
        (Globe::new([5.0, 45.0], [0.01, 0.01]), 40, 40, 0.01),
    ] {
        let mask: Vec<u8> = (0..width * height).map(|_| u8::from(random.unit() < share)).collect();
        let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(width, height));
        let params = Params::new().nearest().distance_f64().distance();
        let found = geodesic_on_ellipsoid(&input, &globe, &params, &gpu_core::Silent).unwrap();
        let on_sphere = geodesic(&gpu_core::Device::Cpu, &input, &globe, &params).unwrap();
        let limit = params.max_distance(1e6);
        let cut = geodesic_on_ellipsoid(&input, &globe, &limit, &gpu_core::Silent).unwrap();
        let place = |p: usize| {
            let [column, row] = pixel(p, width).map(|number| f64::from(number) + 0.5);
            let latitude: f64 = globe.corner[1] - row * globe.sides[1];
            (latitude.clamp(-90.0, 90.0), globe.corner[0] + column * globe.sides[0])
        };
        let length = |p: usize, site: usize| -> f64 {
            let ((a, b), (c, d)) = (place(p), place(site));
            ellipsoid.inverse(a, b, c, d)
        };
        let (nearest, metres) = (found.nearest.unwrap(), found.distance_f64.unwrap());
        let on_sphere = on_sphere.nearest.unwrap();
        let sites: Vec<usize> = (0..mask.len()).filter(|&p| mask[p] != 0).collect();
        for (p, &metres) in metres.values().iter().enumerate() {
            let least = sites.iter().map(|&site| length(p, site)).fold(f64::INFINITY, f64::min);
            let what = format!("{globe:?}, {p}: {metres}, {least}");
            assert!((metres - least).abs() < 1e-6 || metres == least, "{what}");
            if let Some(site) = nearest.get(p) {
                assert!((length(p, site as usize) - least).abs() < 1e-6, "{what}");
                let other = on_sphere.get(p).unwrap() as usize;
                others += u32::from(length(p, other) > least + 1.0);
            }
            assert_eq!(found.distance.as_ref().unwrap().values()[p], metres as f32);
            let is_cut = metres > 1e6;
            let expected = if is_cut { f64::INFINITY } else { metres };
            assert_eq!(cut.distance_f64.as_ref().unwrap().values()[p], expected, "{what}");
            assert_eq!(cut.nearest.as_ref().unwrap().get(p).is_none(), is_cut);
        }
    }
    assert!(others > 10, "{others}");
}

/// Strips of columns of any width have the bits of the whole, on all devices.
#[test]
fn strips_are_parts_of_the_whole() {
    let mut random = Random::new(12);
    for (globe, width, height) in [
        (Globe::new([-180.0, 90.0], [5.0, 5.0]), 72, 36),
        (Globe::new([-180.0, 85.0], [5.0, 5.0]), 73, 34),
        (Globe::new([170.0, 20.0], [0.5, 0.25]), 60, 50),
        (Globe::new([-150.0, 80.0], [2.5, 2.5]), 120, 20),
        (Globe::new([180.0, 90.0], [-6.0, 6.0]), 60, 30),
    ] {
        for round in 0..6 {
            let share = [0.0, 0.003, 0.05, 0.7][round % 4];
            let mut mask: Vec<u8> =
                (0..width * height).map(|_| u8::from(random.unit() < share)).collect();
            if round > 3 {
                // Sites at the edges alone.
                mask.fill(0);
                for row in mask.chunks_exact_mut(width) {
                    row[0] = u8::from(random.unit() < 0.7);
                    row[width - 1] = u8::from(random.unit() < 0.7);
                    row[width / 3] = u8::from(random.unit() < 0.3);
                }
            }
            let params = Params::new().nearest().coordinates().distance().distance_f64();
            let params = if round == 2 { params.max_distance(8e5) } else { params };
            let grid = GridSpec::of_pixels(width as u32, height as u32);
            let input = Input::new(Sites::Mask(&mask), grid);
            let whole = geodesic(&gpu_core::Device::Cpu, &input, &globe, &params).unwrap();
            let start = random.below(width as u64 - 1) as usize;
            for (start, end) in [(0, 1), (start, width), (start, start + 1), (0, width)] {
                strip_is_its_part(&mask, (&globe, &params), &whole, start..end);
            }
        }
    }
}

/// Compares a strip with the whole.
fn strip_is_its_part(
    mask: &[u8],
    (globe, params): (&Globe, &Params),
    whole: &Diagram,
    columns: std::ops::Range<usize>,
) {
    let (width, height) = (whole.grid.width as usize, whole.grid.height);
    let sites_of = |row: &[u8]| -> Vec<u32> {
        let is_closed = globe.is_closed(width as u32) && row[0] != 0;
        let is_site = |&x: &usize| row[x] != 0 && !(is_closed && x == width - 1);
        (0..width).filter(is_site).map(|x| x as u32).collect()
    };
    let (mut before, mut after, mut part) = (Vec::new(), Vec::new(), Vec::new());
    for row in mask.chunks_exact(width) {
        let sites = sites_of(row);
        let west = sites.iter().rfind(|&&x| (x as usize) < columns.start).or(sites.last());
        let east = sites.iter().find(|&&x| x as usize >= columns.end).or(sites.first());
        before.push(west.copied().unwrap_or(NONE));
        after.push(east.copied().unwrap_or(NONE));
        part.extend_from_slice(&row[columns.clone()]);
    }
    let (first, count) = (columns.start as u32, columns.len() as u32);
    let strip = Strip { columns: width as u32, first, before: &before, after: &after };
    let input = Input::new(Sites::Mask(&part), GridSpec::of_pixels(count, height)).strip(strip);
    let mut compared = devices();
    compared.push(gpu_core::Device::Cpu);
    for device in compared {
        let found = geodesic(&device, &input, globe, params).unwrap();
        let name = device.name();
        for p in 0..part.len() {
            let whole_p = p / columns.len() * width + columns.start + p % columns.len();
            let what = format!("{name}: {globe:?}, {columns:?}, {p}");
            let index = |of: &Diagram, p| of.nearest.as_ref().unwrap().get(p);
            assert_eq!(index(&found, p), index(whole, whole_p), "{what}");
            let site = |of: &Diagram, p: usize| of.coordinates.as_ref().unwrap().values()[p];
            assert_eq!(site(&found, p), site(whole, whole_p), "{what}");
            let metres = |of: &Diagram, p: usize| of.distance_f64.as_ref().unwrap().values()[p];
            assert_eq!(metres(&found, p), metres(whole, whole_p), "{what}");
        }
    }
}

#[test]
fn every_input_and_output_is_that_of_the_nearest_site() {
    let mut random = Random::new(2);
    let (globe, width, height) = (Globe::new([-180.0, 90.0], [6.0, 6.0]), 60, 30);
    let pixels = (width * height) as usize;
    let labels: Vec<u32> =
        (0..pixels as u32).map(|p| if random.unit() < 0.02 { p + 1 } else { 0 }).collect();
    let mask: Vec<u8> = labels.iter().map(|&label| u8::from(label != 0)).collect();
    let values: Vec<f32> = (0..pixels).map(|_| random.unit() as f32).collect();
    let excluded: Vec<u8> = (0..pixels).map(|_| u8::from(random.unit() < 0.1)).collect();
    let grid = GridSpec::of_pixels(width, height);
    let input = Input::new(Sites::Labels(&labels), grid).excluded(&excluded).values(&values);
    let params = Params::new().nearest().coordinates().value().label();
    let params = params.distance().distance_f64().signed_distance();
    for device in devices() {
        let all = geodesic(&device, &input, &globe, &params).unwrap();
        let far = all.distance_f64.as_ref().unwrap().values();
        let plain = Input::new(Sites::Mask(&mask), grid);
        let only = Params::new().distance();
        let distance =
            |input: &Input| geodesic(&device, input, &globe, &only).unwrap().distance.unwrap();
        let (outside, inside) = (distance(&plain), distance(&plain.inverted()));
        let nearest = all.nearest.as_ref().unwrap();
        for p in 0..pixels {
            let site = all.coordinates.as_ref().unwrap().values()[p];
            let value = all.value.as_ref().unwrap().values()[p];
            let label = all.label.as_ref().unwrap().values()[p];
            let signed = all.signed_distance.as_ref().unwrap().values()[p];
            if excluded[p] != 0 {
                assert_eq!((nearest.get(p), site, label), (None, [u32::MAX; 2], 0));
                assert!(far[p].is_nan() && value.is_nan() && signed.is_nan());
                continue;
            }
            let index = nearest.get(p).unwrap() as usize;
            assert_eq!(pixel(index, width), site);
            assert_eq!((value, label), (values[index], labels[index]));
            assert_eq!(far[p] as f32, outside.values()[p]);
            assert_eq!(signed, outside.values()[p] - inside.values()[p]);
        }
        let alone = geodesic(&device, &input, &globe, &Params::new().signed_distance()).unwrap();
        let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
        assert!(
            alone.distance.is_none()
                && same(
                    alone.signed_distance.unwrap().values(),
                    all.signed_distance.unwrap().values()
                )
        );
        // A limit cuts and changes nothing else; a distance that is the limit is within it.
        let limit = far[pixels / 2 + 7];
        let cut = geodesic(&device, &input, &globe, &params.max_distance(limit)).unwrap();
        for (p, &found) in cut.distance_f64.unwrap().values().iter().enumerate() {
            if excluded[p] == 0 {
                assert_eq!(found, if far[p] <= limit { far[p] } else { f64::INFINITY });
                let site = cut.nearest.as_ref().unwrap().get(p);
                assert_eq!(site, nearest.get(p).filter(|_| far[p] <= limit));
            }
        }
    }
}

#[test]
fn no_pixels_and_no_sites() {
    let globe = Globe::new([0.0, 90.0], [1.0, 1.0]);
    let params = Params::new().nearest().distance().coordinates();
    for device in devices() {
        for (width, height) in [(0, 0), (0, 5), (5, 0), (5, 7)] {
            let mask = vec![0; (width * height) as usize];
            let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(width, height));
            let found = geodesic(&device, &input, &globe, &params).unwrap();
            assert!((0..mask.len()).all(|p| found.nearest.as_ref().unwrap().get(p).is_none()));
            assert_eq!(found.distance.unwrap().values(), vec![f32::INFINITY; mask.len()]);
        }
    }
}

#[test]
fn bad_places_and_wishes_are_named() {
    let mask = [1; 12];
    let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(4, 3));
    let device = gpu_core::Device::Cpu;
    let run = |globe: Globe, params: Params| geodesic(&device, &input, &globe, &params);
    let good = Globe::new([0.0, 90.0], [90.0, 60.0]);
    assert!(run(good, Params::new().distance()).is_ok());
    for (globe, words) in [
        (Globe::new([0.0, 91.0], [1.0, 1.0]), "between the poles"),
        (Globe::new([0.0, 0.0], [1.0, 40.0]), "between the poles"),
        (Globe::new([5e5, 4.6e6], [30.0, 30.0]), "between the poles"),
        (Globe::new([0.0, 90.0], [121.0, 1.0]), "more than one turn"),
        (Globe::new([0.0, 90.0], [1.0, 0.0]), "finite, a side not 0"),
        (Globe::new([0.0, f64::NAN], [1.0, 1.0]), "finite, a side not 0"),
        (Globe::new([0.0, 90.0], [1e-10, 1.0]), "from 1e-9 to 360"),
        (good.radius(0.0), "the radius positive"),
        (good.radius(f64::INFINITY), "the radius positive"),
        (good.radius(1e308), "from 1e-30 to 1e38"),
        (good.radius(1e-40), "from 1e-30 to 1e38"),
    ] {
        let error = run(globe, Params::new().distance()).unwrap_err().to_string();
        assert!(error.contains(words), "{globe:?}: {error}");
    }
    for params in [
        Params::new().squared_distance(),
        Params::new().method(Method::Baseline(Baseline::ScanPrune)),
        Params::new().spacing(1.0, 2.0),
        Params::new().part_of(9, 9),
    ] {
        assert!(matches!(run(good, params), Err(Error::NotOnGlobe { .. })), "{params:?}");
    }
    let limit = run(good, Params::new().distance().max_distance(-1.0));
    assert!(matches!(limit, Err(Error::Core(gpu_core::Error::Parameter { .. }))));
    assert!(matches!(run(good, Params::new().value()), Err(Error::Missing { .. })));
    // A last row that few digits of a side put beyond the pole is at it.
    let few = Globe::new([-2.0, 92.0], [4.0, 90.00001]);
    assert!(run(few, Params::new().distance()).is_err());
    let few = Globe::new([-2.0, 135.0], [4.0, 90.00001]);
    let nearest = run(few, Params::new().distance()).unwrap().distance.unwrap();
    assert_eq!(nearest.values()[8..], [0.0; 4]);
}

/// Whatever place is given, it is refused, or the distances are right.
#[test]
fn any_place_is_refused_or_measured() {
    let mut random = Random::new(77);
    let number = |random: &mut Random, decades: f64| {
        let size = 10f64.powf(decades * (random.unit() - 0.7));
        if random.below(2) == 0 { size } else { -size }
    };
    let mut measured = 0;
    for round in 0..4000 {
        let (width, height) = (1 + random.below(6) as u32, 1 + random.below(6) as u32);
        let mut sides = [number(&mut random, 14.0), number(&mut random, 14.0)];
        let mut corner = [number(&mut random, 8.0), 100.0 * random.unit() * f64::signum(sides[1])];
        match round % 8 {
            0 => sides[0] = 360.0 / f64::from(width) * f64::signum(sides[0]),
            1 => sides[1] = 180.0 / f64::from(height) * f64::signum(sides[1]),
            2 => corner[1] = 90.0 * f64::signum(sides[1]),
            3 => corner[1] = 90.0 * f64::signum(sides[1]) + 0.5 * sides[1],
            _ => {}
        }
        if round % 97 == 0 {
            corner[round % 2] = [f64::NAN, f64::INFINITY, -1e308][round % 3];
        }
        let globe = Globe::new(corner, sides);
        let mask: Vec<u8> = (0..width * height).map(|_| u8::from(random.unit() < 0.3)).collect();
        let input = Input::new(Sites::Mask(&mask), GridSpec::of_pixels(width, height));
        let params = Params::new().distance_f64().nearest();
        let found = match geodesic(&gpu_core::Device::Cpu, &input, &globe, &params) {
            Ok(found) => found,
            Err(error) => {
                assert!(matches!(error, Error::Globe { .. }), "{globe:?}: {error}");
                continue;
            }
        };
        let nearest = found.nearest.unwrap();
        let directions = directions_on_globe(&nearest, &globe).unwrap();
        // Longitudes of one size with the sides, so that the sum loses nothing of them.
        let near = Globe::new([0.0, corner[1]], sides);
        let sites: Vec<usize> = (0..mask.len()).filter(|&p| mask[p] != 0).collect();
        for (p, &metres) in found.distance_f64.unwrap().values().iter().enumerate() {
            let Some(site) = nearest.get(p) else {
                assert!(sites.is_empty() && metres == f64::INFINITY);
                continue;
            };
            let far = |site: usize| {
                angle(vector(&near, pixel(p, width)), vector(&near, pixel(site, width)))
            };
            let least = sites.iter().map(|&site| far(site)).fold(f64::INFINITY, f64::min);
            // Sums of degrees are rounded, and where a row was moved to its pole all rows were.
            let slack = 1e-14
                + 3e-8 * f64::from(u8::from(least > 3.1))
                + 2e-3 * sides[1].abs().to_radians();
            let (arc, chosen) = (metres / EARTH_RADIUS, far(site as usize));
            assert!((arc - least).abs() <= slack, "{globe:?} {width} x {height}: {arc}, {least}");
            assert!((chosen - least).abs() <= slack, "{globe:?} {width} x {height}: {p} to {site}");
            assert!((0.0..=360.0).contains(&directions.values()[p]));
            measured += 1;
        }
    }
    assert!(measured > 10_000, "{measured}");
}

#[test]
fn a_call_can_be_cancelled() {
    /// Ends a call at its third report.
    struct Ending(std::cell::Cell<u32>);

    impl Progress for Ending {
        fn report(&self, _: &'static str, _: f64) -> std::ops::ControlFlow<()> {
            match self.0.replace(self.0.get() + 1) {
                2 => std::ops::ControlFlow::Break(()),
                _ => std::ops::ControlFlow::Continue(()),
            }
        }
    }

    let input = Input::new(Sites::Mask(&[1; 12]), GridSpec::of_pixels(4, 3));
    let globe = Globe::new([0.0, 90.0], [90.0, 60.0]);
    let ending = Ending(0.into());
    let found = geodesic(
        gpu_core::Device::Cpu.with_progress(&ending),
        &input,
        &globe,
        &Params::new().distance(),
    );
    assert!(matches!(found, Err(Error::Cancelled(_))), "{found:?}");
}
