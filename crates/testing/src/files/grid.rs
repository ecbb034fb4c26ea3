//! Rasters as text: ASCII grids, and GDAL's virtual rasters.

/// Returns an ASCII grid of rows from north to south, whose south-west corner lies at `corner`, in square cells. NaN is -9999.
pub fn ascii_grid(width: usize, values: &[f32], corner: (f64, f64), side: f64) -> String {
    let (height, (left, bottom)) = (values.len() / width, corner);
    let mut text = format!(
        "ncols {width}\nnrows {height}\nxllcorner {left}\nyllcorner {bottom}\ncellsize {side}\nNODATA_value -9999.0\n"
    );
    for row in values.chunks(width) {
        let row = row.iter().map(|value| if value.is_nan() { -9999.0 } else { *value });
        text += &row.map(|value| value.to_string()).collect::<Vec<_>>().join(" ");
        text.push('\n');
    }
    text
}

/// Returns a virtual raster of f32, NODATA -9999, of files beside it: their names, and their first columns and rows, and sides, in it.
pub fn virtual_raster(
    (width, height): (u32, u32),
    place: &str,
    sources: &[(&str, [u32; 4])],
) -> String {
    let source = |(name, [x, y, w, h]): &(&str, [u32; 4])| {
        format!(
            "<ComplexSource><SourceFilename relativeToVRT=\"1\">{name}</SourceFilename><SourceBand>1</SourceBand>\
             <SrcRect xOff=\"0\" yOff=\"0\" xSize=\"{w}\" ySize=\"{h}\"/>\
             <DstRect xOff=\"{x}\" yOff=\"{y}\" xSize=\"{w}\" ySize=\"{h}\"/></ComplexSource>"
        )
    };
    let sources: String = sources.iter().map(source).collect();
    format!(
        "<VRTDataset rasterXSize=\"{width}\" rasterYSize=\"{height}\">{place}<VRTRasterBand dataType=\"Float32\" band=\"1\">\
         <NoDataValue>-9999</NoDataValue>{sources}</VRTRasterBand></VRTDataset>"
    )
}
