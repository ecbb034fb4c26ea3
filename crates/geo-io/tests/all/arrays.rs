//! Rasters from and to arrays of the crate `ndarray`.

use geo_io::*;
use gpu_core::GridSpec;
use gpu_core::ndarray::{Array2, ArrayView2, array, s};

/// Writes an array by every function that takes one, and gives what is in the files.
fn written(values: ArrayView2<'_, f32>) -> Result<Vec<Array2<f64>>> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (height, width) = (values.nrows() as u32, values.ncols() as u32);
    let grid = GridSpec::of_pixels(width, height);
    let (place, options) = (Georeference::of_grid(&grid, None), TiffOptions::default());
    write_geotiff(&at("a.tif"), &grid, &values, None, -9.0)?;
    write_georeferenced(&at("b.tif"), &place, (width, height), &values, -9.0)?;
    let size = (width as usize, height as usize);
    let cells = Cells::Values { values: values.row_major(size)?, nodata: -9.0 };
    write_tiff(&at("c.tif"), &place, (width, height), cells, &options)?;
    write_npy(&at("d.npy"), &values, size.0, size.1)?;
    let zarr = at("e.zarr");
    write_zarr(&zarr, &place, (width, height), &[values], &Bands::one(-9.0), &options)?;
    write_table(&at("f.xyz"), &grid, &values, -9.0)?;
    assert_eq!(std::fs::read_to_string(at("f.xyz")).unwrap().lines().count(), values.len());
    let names = ["a.tif", "b.tif", "c.tif", "d.npy", "e.zarr"];
    names.into_iter().map(|name| Ok(read_raster(&at(name), None)?.to_floats())).collect()
}

#[test]
fn arrays_go_in_and_come_out() {
    let values = Array2::from_shape_fn((5, 3), |(row, column)| (10 * row + column) as f32);
    // Some rows of an array lie one after the other, too.
    for view in [values.view(), values.slice(s![1..4, ..])] {
        for found in written(view).unwrap() {
            assert_eq!(found, view.mapv(f64::from));
        }
    }
    for (view, strides) in
        [(values.slice(s![.., 1..]), "strides [3, 1]"), (values.t(), "strides [1, 3]")]
    {
        let error = written(view).unwrap_err().to_string();
        assert!(error.contains(strides) && error.contains("as_standard_layout"), "{error}");
        let copied = view.as_standard_layout();
        assert_eq!(written(copied.view()).unwrap()[0], view.mapv(f64::from));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let error = write_npy(&path, &values, 5, 3).unwrap_err().to_string();
    assert!(error.contains("5 x 3") && error.contains("3 rows and 5 columns"), "{error}");
    assert!(matches!(write_npy(&path, &[1u8, 2], 2, 2), Err(Error::Shape { .. })));
    assert!(!path.exists());
}

#[test]
fn what_is_read_is_an_array_of_its_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tif");
    let grid = GridSpec::of_pixels(3, 2);
    let values = array![[1.5, f32::NAN, 3.0], [4.0, 5.0, 6.0]];
    write_geotiff(&path, &grid, &values, None, -9.0).unwrap();
    let raster = read_raster(&path, None).unwrap();
    let address = raster.values.as_slice::<f32>().unwrap().as_ptr();
    let view = raster.to_array::<f32>().unwrap();
    assert_eq!((view.as_ptr(), view[[0, 1]], view[[1, 0]]), (address, -9.0, 4.0));
    assert!(raster.to_floats()[[0, 1]].is_nan());
    let error = raster.to_array::<f64>().unwrap_err().to_string();
    assert_eq!(error, "raster: found elements f32, expected elements f64");
    assert_eq!(raster.clone().into_array::<f32>().unwrap(), raster.to_array::<f32>().unwrap());
    assert_eq!(raster.into_array::<f32>().unwrap().as_ptr(), address);
    let path = folder.path().join("m.npy");
    write_npy(&path, &array![[0u16, 3], [0, 0], [7, 0]], 2, 3).unwrap();
    let mask = read_mask(&path, &SiteValues::default()).unwrap();
    assert_eq!(mask.to_array(), array![[0, 1], [0, 0], [1, 0]]);
}
