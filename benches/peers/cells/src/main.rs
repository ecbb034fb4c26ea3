//! Times from places in degrees to the ids of their cells, on one thread: `cells [PLACES]`, a million random ones
//! without. Cells are some 10 m wide at QTM's level 20, HEALPix's and S2's 20, H3's 12 and A5's 19. Rows as `benches`
//! prints them: the median, the least and the most milliseconds of 7 runs.

use std::hint::black_box;
use std::time::Instant;

use gpu_core::{Device, Points};
use h3o::{LatLng, Resolution};
use s2::cellid::CellID;
use sphere_qtm::{Cell, Level, LonLat, cells_of_points};

const RUNS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let count = std::env::args().nth(1).map_or(Ok(1_000_000), |word| word.parse())?;
    let mut random = Random(7);
    let longitudes: Vec<f64> = (0..count).map(|_| 360.0 * random.unit() - 180.0).collect();
    let latitude = |unit: f64| (2.0 * unit - 1.0).asin().to_degrees();
    let latitudes: Vec<f64> = (0..count).map(|_| latitude(random.unit())).collect();
    let places = || longitudes.iter().copied().zip(latitudes.iter().copied());

    println!("# threads: 1");
    for level in [10, 20, 25, 29] {
        let (level, points) = (Level::new(level)?, Points::new(&longitudes, &latitudes));
        time("tessera", level.get(), count, || {
            black_box(cells_of_points(&Device::Cpu, &points, level).expect("places"));
        });
    }
    let level = Level::new(20)?;
    let one = |(x, y)| Cell::containing(LonLat::new(x, y).expect("a place"), level);
    time("tessera_each", 20, count, || all(places().map(one)));
    let layer = cdshealpix::nested::get(20);
    time("cdshealpix", 20, count, || {
        all(places().map(|(x, y)| layer.hash(x.to_radians(), y.to_radians())));
    });
    let id = |(x, y)| CellID::from(s2::latlng::LatLng::from_degrees(y, x)).parent(20);
    time("s2", 20, count, || all(places().map(id)));
    let cell = |(x, y)| LatLng::new(y, x).expect("a place").to_cell(Resolution::Twelve);
    time("h3o", 12, count, || all(places().map(cell)));
    let cell = |(x, y)| a5::lonlat_to_cell(a5::LonLat::new(x, y), 19).expect("a place");
    time("a5", 19, count, || all(places().map(cell)));
    Ok(())
}

fn all<T>(found: impl Iterator<Item = T>) {
    found.for_each(|cell| {
        black_box(cell);
    });
}

fn time(library: &str, level: u32, count: usize, mut work: impl FnMut()) {
    let mut run = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    };
    run();
    let mut times: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    times.sort_by(f64::total_cmp);
    let [median, least, most] = [RUNS / 2, 0, RUNS - 1].map(|i| times[i]);
    println!("{library}\tcell_{level}\t{count}\t{count}\t{median:.5}\t{least:.5}\t{most:.5}");
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }
}
