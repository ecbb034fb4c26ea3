//! A raster done in strips of columns, each with what lies beyond it: the outputs of the whole.

use gpu_core::{Device, Grid, GridSpec};
use pba_voronoi::transform;
use pba_voronoi::{Baseline, Diagram, Error, Input, Integers, Method, NONE, Params, Sites, Strip};
use testing::{Random, devices, is_slow};

/// A raster of which only some pixels are sites.
struct Whole {
    mask: Vec<u8>,
    width: usize,
    height: usize,
}

/// A strip of it: its own pixels, and the sites before and after.
struct Cut {
    first: usize,
    width: usize,
    mask: Vec<u8>,
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Whole {
    fn random(random: &mut Random, width: usize, height: usize, decades: f64) -> Self {
        let density = 10f64.powf(-decades * random.unit());
        let mask = (0..width * height).map(|_| u8::from(random.unit() < density)).collect();
        Self { mask, width, height }
    }

    fn input(&self) -> Input<'_> {
        let grid = GridSpec::of_pixels(self.width as u32, self.height as u32);
        Input::new(Sites::Mask(&self.mask), grid)
    }

    /// The columns from `first` on, where sites are the pixels that are `site`.
    fn cut(&self, first: usize, width: usize, is_site: impl Fn(u8) -> bool) -> Cut {
        let rows = || self.mask.chunks_exact(self.width);
        let column = |x: Option<usize>| x.map_or(NONE, |x| x as u32);
        let end = first + width;
        Cut {
            first,
            width,
            mask: rows().flat_map(|row| &row[first..end]).copied().collect(),
            before: rows()
                .map(|row| column(row[..first].iter().rposition(|&v| is_site(v))))
                .collect(),
            after: rows()
                .map(|row| column(row[end..].iter().position(|&v| is_site(v)).map(|x| end + x)))
                .collect(),
        }
    }

    /// Strips of random widths, one after the other.
    fn cuts(&self, random: &mut Random, is_site: impl Fn(u8) -> bool) -> Vec<Cut> {
        let (mut cuts, mut first) = (Vec::new(), 0);
        while first < self.width {
            let most = 1 + random.below(200);
            let width = 1 + random.below(most.min((self.width - first) as u64)) as usize;
            cuts.push(self.cut(first, width, &is_site));
            first += width;
        }
        cuts
    }
}

impl Cut {
    fn grid(&self, whole: &Whole) -> GridSpec {
        GridSpec::of_pixels(self.width as u32, whole.height as u32)
    }

    fn strip(&self, whole: &Whole) -> Strip<'_> {
        let (columns, first) = (whole.width as u32, self.first as u32);
        Strip { columns, first, before: &self.before, after: &self.after }
    }

    fn input<'a>(&'a self, whole: &Whole, sites: Sites<'a>) -> Input<'a> {
        Input::new(sites, self.grid(whole)).strip(self.strip(whole))
    }

    /// Whether an output is the whole's.
    fn agrees<T: PartialEq + std::fmt::Debug>(&self, own: &[T], whole: &[T], columns: usize) {
        let rows = own.chunks_exact(self.width).zip(whole.chunks_exact(columns));
        for (y, (own, whole)) in rows.enumerate() {
            let whole = &whole[self.first..self.first + self.width];
            assert_eq!(own, whole, "row {y}, columns from {} on of {columns}", self.first);
        }
    }

    fn agrees_in_all(&self, own: &Diagram, whole: &Diagram, columns: usize) {
        let integers = |own: &Option<Integers>, whole: &Option<Integers>| match (own, whole) {
            (Some(Integers::U32(own)), Some(Integers::U32(whole))) => {
                self.agrees(own.values(), whole.values(), columns)
            }
            (Some(Integers::U64(own)), Some(Integers::U64(whole))) => {
                self.agrees(own.values(), whole.values(), columns)
            }
            _ => panic!("{own:?}, {whole:?}"),
        };
        integers(&own.nearest, &whole.nearest);
        integers(&own.squared_distance, &whole.squared_distance);
        self.agrees(values(&own.coordinates), values(&whole.coordinates), columns);
        let bits = |raster| values(raster).iter().map(|v: &f32| v.to_bits()).collect::<Vec<_>>();
        self.agrees(&bits(&own.distance), &bits(&whole.distance), columns);
        let bits = |raster| values(raster).iter().map(|v: &f64| v.to_bits()).collect::<Vec<_>>();
        self.agrees(&bits(&own.distance_f64), &bits(&whole.distance_f64), columns);
    }
}

fn values<T>(raster: &Option<Grid<T>>) -> &[T] {
    raster.as_ref().unwrap().values()
}

fn all() -> Params {
    Params::new().nearest().squared_distance().coordinates().distance().distance_f64()
}

#[test]
fn random_strips_have_what_the_whole_has() {
    let mut random = Random::new(31);
    let cases = if is_slow() { 25 } else { 2000 };
    for case in 0..cases {
        let (width, height) = (1 + random.below(400) as usize, 1 + random.below(90) as usize);
        let whole = Whole::random(&mut random, width, height, 4.5);
        let mut params = all();
        // Squares, a ratio of whole numbers, and one whose numbers follow from the size of the whole.
        let (x, y) = [(1.0, 1.0), (30.0, 30.0), (2.0, 1.0), (1.0, 0.4f64.cos())][case % 4];
        params = params.spacing(x, y);
        if case % 3 == 0 {
            params = params.max_distance(60.0 * random.unit());
        }
        let expected = transform(&Device::Cpu, &whole.input(), &params).unwrap();
        for cut in whole.cuts(&mut random, |v| v != 0) {
            let input = cut.input(&whole, Sites::Mask(&cut.mask));
            for device in devices() {
                let own = transform(&device, &input, &params).unwrap();
                cut.agrees_in_all(&own, &expected, width);
            }
        }
    }
}

/// One site alone, and strips without any: everything comes from beyond.
#[test]
fn a_site_far_beyond_is_found() {
    let (width, height) = if is_slow() { (300, 700) } else { (3000, 2000) };
    for at in [0, width - 1, (height / 2) * width + width / 2, width * height - 1] {
        let mut mask = vec![0; width * height];
        mask[at] = 1;
        let whole = Whole { mask, width, height };
        let expected = transform(&Device::Cpu, &whole.input(), &all()).unwrap();
        for (first, count) in [(0, 31), (40, 100), (width - 1, 1)] {
            let cut = whole.cut(first, count, |v| v != 0);
            let input = cut.input(&whole, Sites::Mask(&cut.mask));
            for device in devices() {
                let own = transform(&device, &input, &all()).unwrap();
                cut.agrees_in_all(&own, &expected, width);
            }
        }
    }
}

/// More columns than 16 bits hold, and more pixels than 32 bits can name.
#[test]
fn strips_of_rasters_too_wide_for_short_numbers() {
    let mut random = Random::new(32);
    let whole = Whole::random(&mut random, 70_000, 3, 4.0);
    let expected = transform(&Device::Cpu, &whole.input(), &all()).unwrap();
    for first in [0, 64_990, 69_900] {
        let cut = whole.cut(first, 100, |v| v != 0);
        let input = cut.input(&whole, Sites::Mask(&cut.mask));
        for device in devices() {
            let own = transform(&device, &input, &all()).unwrap();
            cut.agrees_in_all(&own, &expected, whole.width);
        }
    }
    // Two rows at the far end of 2^31 - 300 columns: only what is said to lie beyond is a site.
    let columns = (1 << 31) - 300;
    let first = columns - 40;
    let (before, after) = ([7, NONE, NONE], [NONE, NONE, columns - 1]);
    let strip = Strip { columns, first, before: &before, after: &after };
    let input = Input::new(Sites::Mask(&[0; 60]), GridSpec::of_pixels(20, 3)).strip(strip);
    for device in devices() {
        let own = transform(&device, &input, &all()).unwrap();
        let Some(Integers::U64(nearest)) = &own.nearest else { panic!("indices are short") };
        // The one after is far nearer, whatever the row.
        let last = 3 * u64::from(columns) - 1;
        assert!(nearest.values().iter().all(|&site| site == last), "{}", device.name());
        assert_eq!(own.squared_distance.unwrap().get(0), Some(39 * 39 + 4));
        let far = Strip { columns, first, before: &[7], after: &[NONE] };
        let input = Input::new(Sites::Mask(&[0; 20]), GridSpec::of_pixels(20, 1)).strip(far);
        let own = transform(&device, &input, &all()).unwrap();
        let gap = u64::from(first) + 19 - 7;
        assert_eq!(own.squared_distance.unwrap().get(19), Some(gap * gap), "{}", device.name());
        assert_eq!(values(&own.coordinates)[19], [7, 0]);
    }
}

/// Lists, bits and labels, inverted ones, and pixels left out.
#[test]
fn every_kind_of_sites() {
    let mut random = Random::new(33);
    let whole = Whole::random(&mut random, 230, 60, 2.0);
    for inverted in [false, true] {
        let is_site = |v: u8| (v != 0) != inverted;
        let params = all();
        let input = if inverted { whole.input().inverted() } else { whole.input() };
        let expected = transform(&Device::Cpu, &input, &params).unwrap();
        for cut in whole.cuts(&mut random, is_site) {
            let sites: Vec<usize> = (0..cut.mask.len()).filter(|&p| cut.mask[p] != 0).collect();
            let columns: Vec<u32> = sites.iter().map(|p| (p % cut.width) as u32).collect();
            let rows: Vec<u32> = sites.iter().map(|p| (p / cut.width) as u32).collect();
            let labels: Vec<u32> = cut.mask.iter().map(|&v| u32::from(v) * 9).collect();
            let words = cut.width.div_ceil(32);
            let mut bits = vec![0; words * whole.height];
            for (&x, &y) in columns.iter().zip(&rows) {
                bits[y as usize * words + x as usize / 32] |= 1 << (x % 32);
            }
            let list = Sites::List { columns: &columns, rows: &rows };
            for sites in [list, Sites::Labels(&labels), Sites::Bits(&bits)] {
                let mut input = cut.input(&whole, sites);
                input.inverted = inverted;
                for device in devices() {
                    let own = transform(&device, &input, &params).unwrap();
                    cut.agrees_in_all(&own, &expected, whole.width);
                }
            }
            let excluded: Vec<u8> = (0..cut.mask.len()).map(|p| u8::from(p % 3 == 0)).collect();
            let mut input = cut.input(&whole, Sites::Mask(&cut.mask)).excluded(&excluded);
            input.inverted = inverted;
            let [first, others]: [Diagram; 2] = [Device::Cpu, devices().last().unwrap().clone()]
                .map(|device| transform(&device, &input, &params.distance()).unwrap());
            for (p, distance) in values(&first.distance).iter().enumerate() {
                let pixel = p / cut.width * whole.width + cut.first + p % cut.width;
                let of_whole = values(&expected.distance)[pixel];
                assert!(if p % 3 == 0 { distance.is_nan() } else { *distance == of_whole });
                assert_eq!(distance.to_bits(), values(&others.distance)[p].to_bits());
            }
        }
    }
}

/// On the device what does not lie beyond the strip counts as none.
#[test]
#[cfg(feature = "cuda")]
fn a_device_leaves_out_what_is_not_beyond() {
    use pba_voronoi::gpu;
    let Device::Gpu(device) = Device::open(testing::choice()).unwrap() else { return };
    let mask = device.upload(&[0u8, 0, 0, 1]).unwrap();
    let (before, after) = (device.upload(&[5u32]).unwrap(), device.upload(&[9u32]).unwrap());
    let strip =
        gpu::Strip { columns: 9, first: 5, before: (&before).into(), after: (&after).into() };
    let sites = gpu::Sites::Mask((&mask).into());
    let input = gpu::Input::new(sites, GridSpec::of_pixels(4, 1)).strip(strip);
    let diagram = gpu::transform(&device, &input, &Params::new().nearest()).unwrap();
    let nearest = diagram.nearest.unwrap().to_host().unwrap();
    assert_eq!((0..4).map(|p| nearest.get(p)).collect::<Vec<_>>(), [Some(8); 4]);
}

#[test]
fn what_is_no_strip_is_named() {
    let whole = Whole { mask: vec![0; 20], width: 10, height: 2 };
    let cut = whole.cut(4, 3, |v| v != 0);
    let with = |strip: Strip, params: Params| {
        let input = Input::new(Sites::Mask(&cut.mask), cut.grid(&whole)).strip(strip);
        transform(&Device::Cpu, &input, &params).unwrap_err()
    };
    let good = cut.strip(&whole);
    let bad = with(Strip { columns: 6, ..good }, all());
    assert_eq!(bad, Error::Strip { first: 4, width: 3, columns: 6 });
    let bad = with(Strip { first: u32::MAX - 1, ..good }, all());
    assert_eq!(bad, Error::Strip { first: u32::MAX - 1, width: 3, columns: 10 });
    assert!(with(Strip { before: &[NONE], ..good }, all()).to_string().contains("before"));
    assert!(with(Strip { after: &[NONE; 3], ..good }, all()).to_string().contains("after"));
    let not_beyond =
        |row, column| Error::NotBeyond { row, column, first: 4, width: 3, columns: 10 };
    assert_eq!(with(Strip { before: &[3, 4], ..good }, all()), not_beyond(1, 4));
    assert_eq!(with(Strip { after: &[6, 7], ..good }, all()), not_beyond(0, 6));
    assert_eq!(with(Strip { after: &[9, 10], ..good }, all()), not_beyond(1, 10));
    for params in [all().value(), all().label(), all().signed_distance()] {
        let bad = with(good, params);
        assert!(matches!(bad, Error::Missing { input, .. } if input.contains("beyond")), "{bad}");
    }
    let scan_prune = all().method(Method::Baseline(Baseline::ScanPrune));
    assert!(matches!(with(good, scan_prune), Error::Unsupported { .. }));
}
