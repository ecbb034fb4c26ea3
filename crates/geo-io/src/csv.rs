//! Tables with a header row, by the crate `csv`.

use std::path::Path;

use crate::points::{CsvColumns, PointCloud};
use crate::{Error, Result};

/// Reads the three columns of a table.
pub(crate) fn read(path: &Path, columns: &CsvColumns) -> Result<PointCloud> {
    let failed = |error: csv::Error| Error::format(path, error);
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path).map_err(failed)?;
    let headers = reader.headers().map_err(failed)?.clone();
    let place = |column: &str| {
        headers.iter().position(|name| name.eq_ignore_ascii_case(column)).ok_or_else(|| {
            let there = headers.iter().collect::<Vec<_>>().join(", ");
            Error::Column { path: path.to_owned(), column: column.to_owned(), there }
        })
    };
    let places = [place(&columns.x)?, place(&columns.y)?, place(&columns.z)?];

    let mut cloud = PointCloud::default();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(failed)? {
        cloud.tally.read += 1;
        let number = |place: usize| {
            let text = &record[place];
            text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
                Error::Number {
                    path: path.to_owned(),
                    row: cloud.tally.read,
                    column: headers[place].to_owned(),
                    text: text.to_owned(),
                }
            })
        };
        let [x, y, z] = [number(places[0])?, number(places[1])?, number(places[2])?];
        cloud.x.push(x);
        cloud.y.push(y);
        cloud.z.push(z);
    }
    cloud.tally.kept = cloud.tally.read;
    Ok(cloud)
}
