//! Rasters that are written and read in parts.

use geo_io::*;
use gpu_core::GridSpec;
use proptest::prelude::*;

/// Hills with gaps, some of them as wide as a tile.
fn raster(width: u32, height: u32, seed: u32) -> (GridSpec, Vec<f32>) {
    let grid = GridSpec::new(5e5, 4e6, 0.5, width, height).unwrap();
    let cell = |i: u32| {
        let (x, y) = (i % width, i / width);
        let is_gap =
            (x / 300 + y / 270 + seed).is_multiple_of(4) || (x * y + seed).is_multiple_of(11);
        if is_gap { f32::NAN } else { (x as f32 * 0.1).sin() * 9.0 + (y ^ seed) as f32 * 0.37 }
    };
    (grid, (0..width * height).map(cell).collect())
}

fn side() -> impl Strategy<Value = u32> {
    prop_oneof![1..40_u32, 250..262_u32, 500..1100_u32]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_as_they_come_give_the_bytes_of_the_whole(
        width in side(), height in side(), seed in 0..4_u32, bands in 1..4_usize, cloud_optimised: bool, is_nan: bool
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let rasters: Vec<_> = (0..bands as u32).map(|band| raster(width, height, seed + band)).collect();
        let values: Vec<&[f32]> = rasters.iter().map(|(_, values)| &values[..]).collect();
        let place = Georeference::of_grid(&rasters[0].0, Some(&Crs::parse("EPSG:26910").unwrap()));
        let options = TiffOptions { cloud_optimised, ..Default::default() };
        let nodata = if is_nan { f32::NAN } else { -9999.0 };
        let names = Bands { names: &["", "a", "b"][..bands], nodata };
        let cells = match values[..] {
            [values] => Cells::Values { values, nodata },
            _ => Cells::Bands { values: &values, bands: names },
        };
        write_tiff(&at("whole.tif"), &place, (width, height), cells, &options).unwrap();
        let mut fill = |first: usize, rows: &mut [f32]| {
            for (i, cell) in rows.chunks_exact_mut(bands).enumerate() {
                let of_band = |band: &&[f32]| band[first * width as usize + i];
                cell.copy_from_slice(&values.iter().map(of_band).collect::<Vec<_>>());
            }
            Ok(())
        };
        let size = (width, height);
        write_tiff_rows(&at("rows.tif"), &place, size, &names, &options, &mut fill).unwrap();
        let bytes = |name: &str| std::fs::read(at(name)).unwrap();
        prop_assert!(bytes("whole.tif") == bytes("rows.tif"));
        if bands > 1 {
            return Ok(());
        }

        let file = RasterFile::open(&at("rows.tif")).unwrap();
        prop_assert_eq!(file.size(), (width as usize, height as usize));
        prop_assert_eq!(file.georeference().unwrap().transform, place.transform);
        let mut read = Vec::new();
        for first in (0..height as usize).step_by(97) {
            read.extend(file.rows(first, 97.min(height as usize - first)).unwrap());
        }
        let stored = values[0].iter().map(|v| if v.is_nan() { nodata.to_bits() } else { v.to_bits() });
        prop_assert!(read.iter().map(|v| v.to_bits()).eq(stored));
    }
}

#[test]
fn rows_of_bytes_give_the_bytes_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (width, height, cloud_optimised) in
        [(1, 1, true), (30, 7, false), (600, 530, false), (600, 530, true), (900, 20, true)]
    {
        let values: Vec<u8> = raster(width, height, 2).1.iter().map(|v| *v as u8).collect();
        assert!(values.contains(&0) || values.len() < 100);
        let place = Georeference::north_up((5e5, 4e6), (2.0, 3.0));
        let options = TiffOptions { cloud_optimised, ..Default::default() };
        let (size, whole) = ((width, height), at("whole.tif"));
        write_tiff(&whole, &place, size, Cells::Grey(&values), &options).unwrap();
        let mut fill = |first: usize, rows: &mut [u8]| {
            let start = first * width as usize;
            rows.copy_from_slice(&values[start..start + rows.len()]);
            Ok(())
        };
        let rows = at("rows.tif");
        write_tiff_rows(&rows, &place, size, &Bands::one(0.0), &options, &mut fill).unwrap();
        assert!(std::fs::read(whole).unwrap() == std::fs::read(&rows).unwrap(), "{size:?}");
        let two = Bands { names: &["a", "b"], nodata: 0.0 };
        let refused = write_tiff_rows(&rows, &place, size, &two, &options, &mut fill);
        assert!(refused.unwrap_err().to_string().contains("bands"));
    }
}

/// Colours of which some are transparent, as GeoTIFF and as a picture; and brightness as a picture.
#[test]
fn rows_of_colours_give_the_bytes_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let is_same = |a: &str, b: &str| std::fs::read(at(a)).unwrap() == std::fs::read(at(b)).unwrap();
    for (width, height, cloud_optimised) in
        [(1, 1, true), (30, 7, false), (600, 530, false), (600, 530, true), (1900, 1200, true)]
    {
        let values = raster(width, height, 2).1;
        let colour = |v: &f32| [*v as u8, (*v * 7.0) as u8, 9, if v.is_nan() { 0 } else { 255 }];
        let colours: Vec<[u8; 4]> = values.iter().map(colour).collect();
        let place = Georeference::north_up((5e5, 4e6), (2.0, 3.0));
        let (size, options) =
            ((width, height), TiffOptions { cloud_optimised, ..Default::default() });
        let cells = Cells::Colours(colours.as_flattened());
        write_tiff(&at("whole.tif"), &place, size, cells, &options).unwrap();
        write_colours(&at("whole.png"), &colours, width, height).unwrap();
        let mut fill = |first: usize, rows: &mut [u8]| {
            rows.copy_from_slice(
                &colours.as_flattened()[4 * first * width as usize..][..rows.len()],
            );
            Ok(())
        };
        write_tiff_colour_rows(&at("rows.tif"), &place, size, &options, &mut fill).unwrap();
        write_colour_rows(&at("rows.png"), size, &mut fill).unwrap();
        assert!(is_same("whole.tif", "rows.tif") && is_same("whole.png", "rows.png"), "{size:?}");
        write_shade(&at("whole.png"), &values, width, height).unwrap();
        write_shade_rows(&at("rows.png"), size, &mut |first, rows| {
            rows.copy_from_slice(&values[first * width as usize..][..rows.len()]);
            Ok(())
        })
        .unwrap();
        assert!(is_same("whole.png", "rows.png"), "{size:?}");
    }
    let nothing = write_colour_rows(&at("no.png"), (0, 3), &mut |_, _| Ok(()));
    assert!(matches!(nothing, Err(Error::BadValue { .. })));
    let failed = write_colour_rows(&at("no.png"), (2, 3), &mut |_, _| Err(Error::Cancelled));
    assert!(matches!(failed, Err(Error::Cancelled)) && !at("no.png").exists());
}

/// Wider than is taken at once: strips of one row of tiles.
#[test]
fn a_wide_raster_is_the_same_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (width, height) = (17_000, 530);
    let (grid, values) = raster(width, height, 1);
    let place = Georeference::of_grid(&grid, None);
    let options = TiffOptions { cloud_optimised: true, ..Default::default() };
    let cells = Cells::Values { values: &values, nodata: -1.0 };
    write_tiff(&at("whole.tif"), &place, (width, height), cells, &options).unwrap();
    let mut most = 0;
    let mut fill = |first: usize, rows: &mut [f32]| {
        most = most.max(rows.len());
        let start = first * width as usize;
        rows.copy_from_slice(&values[start..start + rows.len()]);
        Ok(())
    };
    write_tiff_rows(
        &at("rows.tif"),
        &place,
        (width, height),
        &Bands::one(-1.0),
        &options,
        &mut fill,
    )
    .unwrap();
    let bytes = |name: &str| std::fs::read(at(name)).unwrap();
    assert!(bytes("whole.tif") == bytes("rows.tif"));
    assert_eq!(most, 256 * width as usize);
}

#[test]
fn rows_that_cannot_be_had_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.tif");
    let place = Georeference::of_grid(&GridSpec::of_pixels(300, 600), None);
    for cloud_optimised in [false, true] {
        let options = TiffOptions { cloud_optimised, ..Default::default() };
        let write = |size, nodata, fill: &mut FillRows| {
            write_tiff_rows(&path, &place, size, &Bands::one(nodata), &options, fill).unwrap_err()
        };
        let error = write((300, 600), -1.0, &mut |_, _| Err(Error::Cancelled));
        assert!(matches!(error, Error::Cancelled), "{error}");
        let error = write((300, 600), 7.0, &mut |_, rows| {
            rows.fill(7.0);
            Ok(())
        });
        assert!(error.to_string().contains("choose another"), "{error}");
        assert!(matches!(write((0, 5), -1.0, &mut |_, _| Ok(())), Error::BadValue { .. }));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn what_is_no_raster_of_f32_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("empty.tif"), "").unwrap();
    std::fs::write(at("text.tif"), "this is text\n").unwrap();
    let place = Georeference::of_grid(&GridSpec::of_pixels(300, 300), None);
    let grey = Cells::Grey(&[1; 90_000]);
    write_tiff(&at("grey.tif"), &place, (300, 300), grey, &TiffOptions::default()).unwrap();
    for name in ["missing.tif", "empty.tif", "text.tif", "grey.tif"] {
        let error = RasterFile::open(&at(name)).err().unwrap().to_string();
        assert!(error.contains(name) && !error.contains('\n'), "{error}");
    }
    let values: Vec<f32> = (0..90_000).map(|i| (i % 977) as f32).collect();
    let cells = Cells::Values { values: &values, nodata: -1.0 };
    write_tiff(&at("cut.tif"), &place, (300, 300), cells, &TiffOptions::default()).unwrap();
    let mut bytes = std::fs::read(at("cut.tif")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0);
    std::fs::write(at("cut.tif"), bytes).unwrap();
    let file = RasterFile::open(&at("cut.tif")).unwrap();
    let error = file.rows(0, 300).unwrap_err().to_string();
    assert!(error.contains("cut.tif") && !error.contains('\n'), "{error}");
}
