//! A map of a diagram: each site's region in a colour of its own, and the sites as dots.

use rayon::prelude::*;
use sphere_qtm::{Cell, Diagram, Latitude, LonLat, UnitVector};

use crate::args::{Args, Projection};

/// A picture's pixels, row by row from the top.
pub struct Map {
    pub pixels: Vec<[u8; 4]>,
    pub width: u32,
    pub height: u32,
}

/// East, north and up at a place.
fn frame(centre: LonLat) -> [[f64; 3]; 3] {
    let up = centre.to_vector().to_array();
    let (sine, cosine) = centre.longitude().to_radians().sin_cos();
    let east = [-sine, cosine, 0.0];
    let north = [
        up[1] * east[2] - up[2] * east[1],
        up[2] * east[0] - up[0] * east[2],
        up[0] * east[1] - up[1] * east[0],
    ];
    [east, north, up]
}

/// How the map shows the sphere.
pub struct View {
    projection: Projection,
    /// How the geodetic latitudes of an equirectangular map become latitudes on the sphere.
    latitude: Latitude,
    frame: [[f64; 3]; 3],
    width: u32,
    height: u32,
}

impl View {
    /// Returns the view of the map that the command line defines.
    pub fn new(args: &Args, latitude: Latitude) -> Self {
        let (projection, width, centre) = (args.projection, args.map_width, args.centre.0);
        let height = match projection {
            Projection::Equirectangular => width / 2,
            Projection::Orthographic => width,
        };
        let centre = LonLat::from_geodetic(centre.longitude(), centre.latitude(), latitude);
        let frame = frame(centre.unwrap_or(args.centre.0));
        Self { projection, latitude, frame, width, height }
    }

    /// A map of the diagram of sites.
    pub fn draw(&self, diagram: &Diagram, sites: &[UnitVector]) -> Map {
        let Self { width, height, .. } = *self;
        let mut pixels: Vec<[u8; 4]> = (0..u64::from(width) * u64::from(height))
            .into_par_iter()
            .map(|i| {
                let (column, row) = (i % u64::from(width), i / u64::from(width));
                let place = self.place(column as f64 + 0.5, row as f64 + 0.5);
                place.map_or([0; 4], |place| {
                    let cell = Cell::containing(place, diagram.level);
                    colour(diagram.nearest[cell.index() as usize])
                })
            })
            .collect();
        // Where sites lie dense, dots would hide their regions.
        let is_large = u64::from(width) * u64::from(height) > 400 * sites.len() as u64;
        for &site in sites.iter().filter(|_| is_large) {
            let Some((x, y)) = self.pixel(site) else { continue };
            for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let (column, row) = (x as i64 + dx, y as i64 + dy);
                let inside = (0..i64::from(width)).contains(&column)
                    && (0..i64::from(height)).contains(&row);
                if inside {
                    pixels[(row * i64::from(width) + column) as usize] = [20, 20, 20, 255];
                }
            }
        }
        Map { pixels, width, height }
    }

    /// The place that a pixel shows; none beside the globe.
    fn place(&self, x: f64, y: f64) -> Option<UnitVector> {
        let (width, height) = (f64::from(self.width), f64::from(self.height));
        match self.projection {
            Projection::Equirectangular => {
                let (longitude, latitude) = (x / width * 360.0 - 180.0, 90.0 - y / height * 180.0);
                let place = LonLat::from_geodetic(longitude, latitude, self.latitude);
                Some(place.ok()?.to_vector())
            }
            Projection::Orthographic => {
                let (x, y) = (2.0 * x / width - 1.0, 1.0 - 2.0 * y / height);
                let z = (1.0 - x * x - y * y).sqrt();
                let [east, north, up] = self.frame;
                let [a, b, c] = [0, 1, 2].map(|k| x * east[k] + y * north[k] + z * up[k]);
                UnitVector::new(a, b, c).ok()
            }
        }
    }

    /// The pixel that shows a place; none on the other side of the globe.
    fn pixel(&self, place: UnitVector) -> Option<(f64, f64)> {
        let (width, height) = (f64::from(self.width), f64::from(self.height));
        match self.projection {
            Projection::Equirectangular => {
                let place = place.to_lon_lat().to_geodetic(self.latitude);
                let x = (place.longitude() + 180.0) / 360.0 * width;
                Some((x, (90.0 - place.latitude()) / 180.0 * height))
            }
            Projection::Orthographic => {
                let v = place.to_array();
                let [x, y, z] = self.frame.map(|axis| (0..3).map(|k| axis[k] * v[k]).sum::<f64>());
                (z > 0.0).then(|| ((x + 1.0) / 2.0 * width, (1.0 - y) / 2.0 * height))
            }
        }
    }
}

/// A site's colour: bright, and unlike those of the sites before and after it.
fn colour(site: u32) -> [u8; 4] {
    // Steps of the golden section around the wheel of colours.
    let turn = f64::from(site) * 0.618_033_988_749_895 % 1.0;
    let light = 0.62 + 0.3 * (f64::from(site) * 0.754_877_666 % 1.0);
    let of = |shift: f64| {
        let wave = 0.5 + 0.5 * (std::f64::consts::TAU * (turn + shift)).cos();
        (255.0 * light * (0.35 + 0.65 * wave)).round() as u8
    };
    [of(0.0), of(1.0 / 3.0), of(2.0 / 3.0), 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_show_the_places_that_lie_on_them() {
        let centre = LonLat::new(-100.0, 40.0).unwrap();
        for (projection, height) in
            [(Projection::Equirectangular, 100), (Projection::Orthographic, 200)]
        {
            let latitude = Latitude::Authalic;
            let view = View { projection, latitude, frame: frame(centre), width: 200, height };
            for (x, y) in [(100.5, 50.5), (120.0, 70.0), (60.25, 60.0)] {
                let there = view.pixel(view.place(x, y).unwrap()).unwrap();
                assert!((there.0 - x).abs() < 1e-9 && (there.1 - y).abs() < 1e-9, "{there:?}");
            }
        }
        let view = View {
            projection: Projection::Orthographic,
            latitude: Latitude::Geodetic,
            frame: frame(centre),
            width: 200,
            height: 200,
        };
        assert!(view.place(1.0, 1.0).is_none());
        assert!(view.pixel(LonLat::new(80.0, -40.0).unwrap().to_vector()).is_none());
        let (x, y) = view.pixel(centre.to_vector()).unwrap();
        assert!((x - 100.0).abs() < 1e-9 && (y - 100.0).abs() < 1e-9);
    }
}
