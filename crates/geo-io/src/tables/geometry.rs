//! Geometries with heights, the common form of all formats of features.

/// A vertex: x, y, and its height, NaN where it has none.
pub(crate) type Vertex = [f64; 3];

/// The geometry of a feature. Parts without vertices are left out; rings are as the file has them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Geometry {
    Points(Vec<Vertex>),
    Lines(Vec<Vec<Vertex>>),
    /// Each its outer ring and its holes.
    Polygons(Vec<Vec<Vec<Vertex>>>),
    Several(Vec<Geometry>),
}

impl Geometry {
    /// Returns the geometry without its empty parts; `None` where nothing is left. Formats write an empty point as NaN
    /// for x and y.
    pub fn some(self) -> Option<Self> {
        let lines = |lines: Vec<Vec<Vertex>>| -> Vec<Vec<Vertex>> {
            lines.into_iter().filter(|line| !line.is_empty()).collect()
        };
        let (found, is_empty) = match self {
            Self::Points(mut all) => {
                all.retain(|&[x, y, _]| !(x.is_nan() && y.is_nan()));
                let is_empty = all.is_empty();
                (Self::Points(all), is_empty)
            }
            Self::Lines(all) => {
                let all = lines(all);
                let is_empty = all.is_empty();
                (Self::Lines(all), is_empty)
            }
            Self::Polygons(all) => {
                let all: Vec<_> =
                    all.into_iter().map(lines).filter(|rings| !rings.is_empty()).collect();
                let is_empty = all.is_empty();
                (Self::Polygons(all), is_empty)
            }
            Self::Several(all) => {
                let all: Vec<_> = all.into_iter().filter_map(Self::some).collect();
                let is_empty = all.is_empty();
                (Self::Several(all), is_empty)
            }
        };
        (!is_empty).then_some(found)
    }

    /// Its vertices.
    pub fn vertices(&self) -> Box<dyn Iterator<Item = &Vertex> + '_> {
        match self {
            Self::Points(all) => Box::new(all.iter()),
            Self::Lines(all) => Box::new(all.iter().flatten()),
            Self::Polygons(all) => Box::new(all.iter().flatten().flatten()),
            Self::Several(all) => Box::new(all.iter().flat_map(Self::vertices)),
        }
    }

    /// Returns its kind, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Points(_) => "point",
            Self::Lines(_) => "line",
            Self::Polygons(_) => "polygon",
            Self::Several(_) => "collection",
        }
    }

    /// Refuses a coordinate that is not finite; a height may be missing.
    pub fn check(&self) -> Result<(), String> {
        let is_good = |&&[x, y, z]: &&Vertex| x.is_finite() && y.is_finite() && !z.is_infinite();
        match self.vertices().find(|vertex| !is_good(vertex)) {
            None => Ok(()),
            Some([x, y, z]) => Err(format!("the place ({x}, {y}, {z}) is not finite")),
        }
    }
}
