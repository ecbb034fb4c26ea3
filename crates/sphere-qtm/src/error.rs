//! What can go wrong on the mesh.

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong on the mesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The level is deeper than an id can name.
    #[error("level {level} is beyond the deepest, {}", crate::MAX_LEVEL)]
    Level {
        /// As given.
        level: u32,
    },
    /// A place has a longitude that is not from -360 to 360, or a latitude beyond a pole.
    #[error(
        "({longitude:?}, {latitude:?}) is not on the globe: longitudes are from -360 to 360 degrees, latitudes \
         from -90 to 90"
    )]
    Place {
        /// As given.
        longitude: f64,
        /// As given.
        latitude: f64,
    },
    /// A row of the input is not a place.
    #[error(
        "{what} {row} at ({longitude:?}, {latitude:?}) is not on the globe: longitudes are from -360 to 360 \
         degrees, latitudes from -90 to 90"
    )]
    Row {
        /// The input.
        what: &'static str,
        /// The first such row, from 0.
        row: u64,
        /// As given.
        longitude: f64,
        /// As given.
        latitude: f64,
    },
    /// An arc of a site is not an arc: its ends are the same place, or antipodes.
    #[error("site {site} has an arc from {from:?} to {to:?}, which are {why}")]
    Arc {
        /// The site, from 0.
        site: u64,
        /// Longitude and latitude, as given.
        from: [f64; 2],
        /// As given.
        to: [f64; 2],
        /// What is wrong.
        why: &'static str,
    },
    /// A site has no shape.
    #[error("site {site} {why}")]
    Shape {
        /// The site, from 0.
        site: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// A vector has no direction: it is zero or not finite.
    #[error("the vector ({x}, {y}, {z}) has no direction")]
    Direction {
        /// As given.
        x: f64,
        /// As given.
        y: f64,
        /// As given.
        z: f64,
    },
    /// There is no such cell in a level.
    #[error("level {level} has no cell {index}: it has {cells}")]
    Index {
        /// The level.
        level: u32,
        /// As given.
        index: u64,
        /// Cells of the level.
        cells: u64,
    },
    /// A number is not a cell's id.
    #[error("{id:#018x} is not the id of a cell")]
    Id {
        /// As given.
        id: u64,
    },
    /// A text names no cell.
    #[error(
        "\"{text}\" does not name a cell: expected an octant from 1 to 8, then up to 29 digits \
         from 0 to 3"
    )]
    Text {
        /// As given.
        text: String,
    },
    /// A diagram without sites.
    #[error("there are no sites")]
    NoSites,
    /// A diagram names a site that is not there.
    #[error("the diagram names site {site}, but there are {sites} sites")]
    Site {
        /// Its index.
        site: u32,
        /// How many sites there are.
        sites: u64,
    },
    /// A level's cells are more than memory can hold.
    #[error("level {level} has {cells} cells, which take {asked} bytes; {available} are available")]
    Memory {
        /// As given.
        level: u32,
        /// Cells of the level.
        cells: u64,
        /// Bytes needed.
        asked: u64,
        /// Bytes there are.
        available: u64,
    },
    /// The southern edge of a box is north of its northern edge.
    #[error("a box from latitude {south} to {north} is empty: its south lies north of its north")]
    Box {
        /// As given.
        south: f64,
        /// As given.
        north: f64,
    },
    /// A ring of a polygon has too few vertices, or does not fit into half of the globe.
    #[error("ring {ring} of the polygon {why}")]
    Ring {
        /// Which one, from 0.
        ring: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// A cell is deeper than the wanted level.
    #[error("cell {cell} has level {level}, which is deeper than {wanted}")]
    Deeper {
        /// The cell.
        cell: crate::Cell,
        /// Its level.
        level: u32,
        /// The level wanted.
        wanted: u32,
    },
    /// The caller's progress ended the call.
    #[error(transparent)]
    Cancelled(#[from] gpu_core::Cancelled),
    /// The device or the memory failed.
    #[error(transparent)]
    Core(#[from] gpu_core::Error),
}
