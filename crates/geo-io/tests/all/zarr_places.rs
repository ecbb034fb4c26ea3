//! Where arrays of Zarr lie, by the conventions of others.

use std::path::PathBuf;

use geo_io::*;
use serde_json::{Value, json};

/// A group of arrays.
struct Store(tempfile::TempDir);

impl Store {
    fn new(attributes: Value) -> Self {
        let store = Self(tempfile::tempdir().unwrap());
        store.put("", &json!({"zarr_format": 3, "node_type": "group", "attributes": attributes}));
        store
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("a.zarr")
    }

    fn put(&self, name: &str, about: &Value) {
        let folder = self.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("zarr.json"), about.to_string()).unwrap();
    }

    /// Writes an array of one chunk.
    fn array(
        &self,
        name: &str,
        names: &[&str],
        attributes: Value,
        values: &[f64],
        shape: &[usize],
    ) {
        self.put(
            name,
            &json!({"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float64",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "dimension_names": names,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": attributes}),
        );
        let chunk = shape.iter().fold(self.path().join(name).join("c"), |path, _| path.join("0"));
        std::fs::create_dir_all(chunk.parent().unwrap()).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(chunk, bytes).unwrap();
    }

    /// A raster of 2 x 3 values with coordinates.
    fn raster(&self, names: [&str; 2], own: Value, of_axes: [Value; 2]) {
        self.array("dem", &names, own, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
        let [of_y, of_x] = of_axes;
        self.array(names[0], &names[..1], of_y, &[20.0, 10.0], &[2]);
        self.array(names[1], &names[1..], of_x, &[1.0, 2.0, 3.0], &[3]);
    }

    fn place(&self) -> (Option<Georeference>, Vec<String>) {
        let place = read_place(&self.path()).unwrap();
        (place.georeference, place.notes)
    }
}

const BY_COORDINATES: [f64; 6] = [0.5, 1.0, 0.0, 25.0, 0.0, -10.0];

fn none() -> [Value; 2] {
    [json!({}), json!({})]
}

#[test]
fn rows_along_x_are_refused() {
    let x = json!({"standard_name": "projection_x_coordinate"});
    let y = json!({"standard_name": "projection_y_coordinate"});
    for (names, axes, is_refused) in [
        (["y", "x"], none(), false),
        (["x", "y"], none(), true),
        (["lon", "lat"], none(), true),
        (["Easting", "northing"], none(), true),
        (["a", "b"], none(), false),
        (["a", "b"], [x.clone(), y.clone()], true),
        (["a", "b"], [json!({"units": "degrees_east"}), json!({"units": "degree_N"})], true),
        // The attributes of coordinates say more than names.
        (["x", "y"], [y, x], false),
    ] {
        let store = Store::new(json!({}));
        store.raster(names, json!({}), axes);
        match read_place(&store.path()) {
            Ok(place) => {
                assert!(!is_refused, "{names:?}");
                assert_eq!(place.georeference.unwrap().transform, BY_COORDINATES);
            }
            Err(error) => assert!(is_refused && error.to_string().contains("transpose"), "{error}"),
        }
    }
}

#[test]
fn degrees_without_a_system_are_those_of_wgs_84() {
    let degrees = |unit: [&str; 2]| unit.map(|unit| json!({"units": unit}));
    let globe = json!({"grid_mapping_name": "latitude_longitude"});
    let body = json!({"grid_mapping_name": "latitude_longitude", "semi_major_axis": 3_396_190.0});
    for (axes, mapping, code) in [
        (degrees(["degrees_north", "degrees_east"]), None, Some(4326)),
        (degrees(["degreeN", "degree_E"]), None, Some(4326)),
        (degrees(["m", "m"]), None, None),
        (degrees(["degrees_north", "m"]), None, None),
        (degrees(["", ""]), Some(globe), Some(4326)),
        (degrees(["degrees_north", "degrees_east"]), Some(body), None),
    ] {
        let store = Store::new(json!({}));
        store.raster(["lat", "lon"], json!({}), axes);
        if let Some(mapping) = mapping {
            store.array("spatial_ref", &[], mapping, &[0.0], &[]);
        }
        let (place, notes) = store.place();
        assert_eq!(place.unwrap().crs.and_then(|crs| crs.epsg()), code, "{notes:?}");
        assert_eq!(code.is_some(), notes.iter().any(|note| note.contains("WGS 84")), "{notes:?}");
    }
}

#[test]
fn grid_mappings_are_found_as_cf_names_them() {
    let wkt = Crs::parse("EPSG:26910").unwrap().wkt().unwrap().to_owned();
    for (own, is_found) in [
        (json!({"grid_mapping": "spatial_ref"}), true),
        (json!({"grid_mapping": "spatial_ref: x y"}), true),
        (json!({}), true),
        (json!({"grid_mapping": "other"}), false),
    ] {
        let store = Store::new(json!({}));
        store.raster(["y", "x"], own.clone(), none());
        store.array("spatial_ref", &[], json!({"crs_wkt": wkt}), &[0.0], &[]);
        let (place, notes) = store.place();
        assert_eq!(place.unwrap().crs.is_some(), is_found, "{own}");
        assert_eq!(notes.is_empty(), is_found, "{notes:?}");
    }
    // Parameters alone are said not to be understood.
    let store = Store::new(json!({}));
    store.raster(["y", "x"], json!({}), none());
    let mapping = json!({"grid_mapping_name": "transverse_mercator", "false_easting": 5e5});
    store.array("spatial_ref", &[], mapping, &[0.0], &[]);
    assert!(store.place().1[0].contains("not understood"));
}

#[test]
fn geozarr_is_read_from_the_array_and_from_its_group() {
    let spatial = json!({"spatial:transform": [10.0, 0.0, 500.0, 0.0, -10.0, 900.0], "proj:code": "EPSG:26910"});
    let corner = [500.0, 10.0, 0.0, 900.0, 0.0, -10.0];
    let mut node = spatial.clone();
    node["spatial:registration"] = json!("node");
    let centre = [495.0, 10.0, 0.0, 905.0, 0.0, -10.0];
    for (group, own, transform) in [
        (json!({}), spatial.clone(), corner),
        (spatial.clone(), json!({}), corner),
        (node.clone(), json!({}), centre),
        (json!({}), node, centre),
        // The array's own come first.
        (spatial, json!({"spatial:registration": "node"}), centre),
    ] {
        let store = Store::new(group);
        store.array("dem", &["y", "x"], own, &[1.0; 6], &[2, 3]);
        let place = store.place().0.unwrap();
        assert_eq!(place.transform, transform);
        assert_eq!(place.crs.unwrap().epsg(), Some(26910));
    }
}

#[test]
fn scale_offset_and_unit_of_values_count_as_those_of_a_geotiff() {
    let store = Store::new(json!({}));
    let own = json!({"scale_factor": 0.01, "add_offset": 100.0, "units": "US_survey_foot"});
    store.raster(["y", "x"], own, none());
    let file = ValuesFile::open(&store.path()).unwrap();
    assert_eq!(file.metres_per_value(), Some(1200.0 / 3937.0));
    let [note] = file.notes() else { panic!("{:?}", file.notes()) };
    assert!(note.contains("dem: its scale 0.01 and offset 100 are not applied"), "{note}");
}

#[test]
fn scale_and_offset_of_coordinates_are_applied() {
    let store = Store::new(json!({}));
    let packed = |by: f64, from: f64| json!({"scale_factor": by, "add_offset": from});
    store.raster(["y", "x"], json!({}), [packed(0.5, 100.0), packed(10.0, 5e5)]);
    assert_eq!(store.place().0.unwrap().transform, [500_005.0, 10.0, 0.0, 112.5, 0.0, -5.0]);
}

/// The coordinates are 1, 2, 3 and 20, 10 of some unit.
#[test]
fn coordinates_in_another_unit_than_the_systems_are_converted() {
    for (unit, code, factor, is_noted) in [
        ("km", Some(32632), 1000.0, true),
        ("m", Some(32632), 1.0, false),
        ("m", Some(2263), 3937.0 / 1200.0, true),
        ("US_survey_foot", Some(2263), 1.0, false),
        ("degrees", Some(32632), 1.0, false),
        // Nothing says what unit the place should have.
        ("km", None, 1.0, true),
    ] {
        let store = Store::new(json!({}));
        let own = code.map_or(json!({}), |code| json!({"proj:code": format!("EPSG:{code}")}));
        store.raster(["y", "x"], own, [json!({"units": unit}), json!({"units": unit})]);
        let (place, notes) = store.place();
        let found = place.unwrap().transform;
        for (found, expected) in found.into_iter().zip(BY_COORDINATES) {
            let expected = expected * factor;
            assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{unit} {code:?}: {found}");
        }
        let are_noted = notes.iter().filter(|note| note.contains(unit)).count();
        assert_eq!(are_noted, if is_noted { 2 } else { 0 }, "{unit} {code:?}: {notes:?}");
    }
}

#[test]
fn a_shape_of_more_than_31_bits_is_refused() {
    let store = Store::new(json!({}));
    store.array("dem", &["y", "x"], json!({}), &[1.0; 6], &[2, 3]);
    let path = store.path().join("dem/zarr.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"shape\":[2,3]", "\"shape\":[1099511627776,3]")).unwrap();
    let error = read_place(&store.path()).unwrap_err().to_string();
    assert!(error.contains("too large"), "{error}");
}
