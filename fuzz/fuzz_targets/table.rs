//! Tables of points: CSV, TXT and XYZ, columns by name and by number.
#![no_main]

use geo_io::{CsvColumns, Filter, read_points};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let name = ["input.csv", "input.txt", "input.xyz"][usize::from(kind % 3)];
    let path = tessera_fuzz::file(name, bytes);
    let numbers = CsvColumns::new(["1", "2", "3"].map(str::to_owned));
    let columns = if kind % 2 == 0 { CsvColumns::default() } else { numbers };
    if let Ok(cloud) = read_points(&path, &Filter::default(), &columns, &gpu_core::Silent) {
        let all = cloud.x.iter().chain(&cloud.y).chain(&cloud.z);
        assert!(all.into_iter().all(|number| number.is_finite()));
        assert_eq!(cloud.x.len() as u64, cloud.tally.kept);
    }
});
