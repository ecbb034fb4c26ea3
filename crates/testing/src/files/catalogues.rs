//! Catalogues of files: STAC documents and tile indexes.

use serde_json::{Value, json};

/// A file that a catalogue is to list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its path in the catalogue.
    pub href: String,
    /// Where it lies: the least and the greatest x and y.
    pub bounds: [f64; 4],
    /// The further statements about it, such as `pc:count`.
    pub stated: Value,
}

impl Listed {
    /// A file that the catalogue states nothing else of.
    pub fn new(href: &str, bounds: [f64; 4]) -> Self {
        Self { href: href.to_owned(), bounds, stated: json!({}) }
    }

    /// States a property.
    #[must_use]
    pub fn states(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.stated[name] = value.into();
        self
    }

    /// The file as a STAC item, with its id and its box as `proj:bbox`.
    pub fn item(&self, id: &str) -> Value {
        let mut properties = self.stated.clone();
        properties["datetime"] = "2026-06-01T00:00:00Z".into();
        properties["proj:bbox"] = json!(self.bounds);
        json!({
            "type": "Feature", "stac_version": "1.0.0", "id": id, "geometry": null, "links": [],
            "properties": properties, "assets": {"data": {"href": self.href, "roles": ["data"]}},
        })
    }

    /// The file as a feature of a tile index.
    fn feature(&self) -> Value {
        let [a, b, c, d] = self.bounds;
        let mut properties = self.stated.clone();
        properties["location"] = self.href.as_str().into();
        let ring = [[a, b], [c, b], [c, d], [a, d], [a, b]];
        let geometry = json!({"type": "Polygon", "coordinates": [ring]});
        json!({"type": "Feature", "properties": properties, "geometry": geometry})
    }
}

/// A collection of STAC items, whose ids are their numbers.
pub fn items(files: &[Listed]) -> Value {
    let features = files.iter().enumerate().map(|(i, file)| file.item(&i.to_string()));
    json!({"type": "FeatureCollection", "features": features.collect::<Vec<_>>()})
}

/// A tile index as GeoJSON, in a system of the EPSG list.
pub fn tile_index(files: &[Listed], code: u16) -> Value {
    let features: Vec<Value> = files.iter().map(Listed::feature).collect();
    let crs =
        json!({"type": "name", "properties": {"name": format!("urn:ogc:def:crs:EPSG::{code}")}});
    json!({"type": "FeatureCollection", "crs": crs, "features": features})
}
