//! Damaged bins: whatever their bytes are, they are refused or harmless, soon, and in little memory. In a binary of its own,
//! since memory is counted for the whole process.

use std::path::Path;
use std::time::{Duration, Instant};

use geo_io::{BinSpec, BinWriter, Binned, Bins, Result};
use gpu_core::{Bounds, Silent};
use testing::allocations::{Counting, peak};
use testing::{Random, damaged};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that reading any file may take, beside a multiple of its length. These are buffers of a quarter of a megabyte,
/// and the columns of as many values as a point may have.
const FIXED: usize = 4 << 20;

const HEADER: usize = 172;

const GROUND: Bounds = Bounds { min_x: 0.0, min_y: 0.0, max_x: 100.0, max_y: 70.0 };

fn word(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 4].iter().rev().fold(0, |word, &byte| word << 8 | usize::from(byte))
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

/// Puts the right checksums into the file of a run, where it is long enough for them.
fn with_sums(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() < HEADER + 4 {
        return bytes;
    }
    let sum = crc32fast::hash(&bytes[..HEADER - 4]);
    put(&mut bytes, HEADER - 4, sum);
    let record = word(&bytes, 12).saturating_mul(8).saturating_add(20);
    let points = word(&bytes, 56).saturating_mul(record);
    let end = bytes.len() - 4;
    let index = points.saturating_add(HEADER);
    if index > end {
        return bytes;
    }
    let mut first = HEADER;
    for entry in (index..end.saturating_sub(11)).step_by(12) {
        let last = first.saturating_add(word(&bytes, entry + 4).saturating_mul(record));
        if last > index {
            break;
        }
        let sum = crc32fast::hash(&bytes[first..last]);
        put(&mut bytes, entry + 8, sum);
        first = last;
    }
    let sum = crc32fast::hash(&bytes[index..end]);
    put(&mut bytes, end, sum);
    bytes
}

fn read_all(folder: &Path) -> Result<Option<Binned>> {
    let all = Bounds { min_x: -1e300, min_y: -1e300, max_x: 1e300, max_y: 1e300 };
    let Some(bins) = Bins::open(folder, "these")? else { return Ok(None) };
    bins.read_range(1..3, &Silent)?;
    bins.read_numbered(&GROUND, &Silent)?;
    bins.read(&all, &Silent).map(Some)
}

/// Reads the bins of a folder whose one run has these bytes, and lets a writer go on behind it.
fn read_run(folder: &Path, bytes: &[u8]) -> Result<Option<Binned>> {
    std::fs::write(folder.join("0.points"), bytes).unwrap();
    let start = Instant::now();
    let (read, most) = peak(|| read_all(folder));
    assert!(most <= FIXED + 8 * bytes.len(), "{most} bytes of memory for {}", bytes.len());
    let spec = BinSpec::new("these", GROUND, 700);
    if let Ok(mut writer) = BinWriter::open(folder, &spec, 0) {
        writer.push(&[1.0], &[2.0], &[&[3.0]]).unwrap();
        writer.next_input();
        let _ = (writer.points(), writer.position());
    }
    assert!(start.elapsed() < Duration::from_secs(5));
    read
}

/// A run of one point of this many values, with right checksums.
fn run_of(values: usize, points: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = BinWriter::open(folder.path(), &BinSpec::new("these", GROUND, 1), 0).unwrap();
    writer.push(&[1.0], &[2.0], &[&[3.0]]).unwrap();
    writer.next_input();
    writer.finish().unwrap();
    let whole = std::fs::read(folder.path().join("0.points")).unwrap();
    let mut bytes = whole[..HEADER].to_vec();
    put(&mut bytes, 12, values as u32);
    put(&mut bytes, 56, points as u32);
    put(&mut bytes, 64, points as u32);
    bytes.resize(HEADER + points * (8 * (2 + values) + 4), 0);
    if points > 0 {
        bytes.extend_from_slice(&whole[whole.len() - 16..]);
    } else {
        bytes.extend([0; 4]);
    }
    with_sums(bytes)
}

#[test]
fn damaged_runs_are_refused_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // By its header a file of 176 bytes would take gigabytes.
    for values in [32_766, 40_000, 100_000_000, u32::MAX as usize] {
        assert!(read_run(folder, &run_of(values, 0)).is_err(), "{values} values");
    }
    assert!(read_run(folder, &run_of(32_765, 0)).unwrap().unwrap().x.is_empty());
    // A point of which none fits a piece.
    assert!(read_run(folder, &run_of(40_000, 1)).is_err());
    assert_eq!(read_run(folder, &run_of(3000, 1)).unwrap().unwrap().values.len(), 3000);

    let mut random = Random::new(61);
    let end = Instant::now() + Duration::from_secs(10);
    let (mut taken, mut cases) = (0, 0);
    for points in [0, 1, 40, 700] {
        std::fs::remove_file(folder.join("0.points")).unwrap();
        let spec = BinSpec::new("these", GROUND, 700 * 4096);
        let mut writer = BinWriter::open(folder, &spec, 0).unwrap();
        let mut column = |most| (0..points).map(|_| random.between(0.0, most)).collect::<Vec<_>>();
        let (x, y, z) = (column(100.0), column(70.0), column(9.0));
        writer.push(&x, &y, &[&z]).unwrap();
        writer.next_input();
        writer.finish().unwrap();
        let whole = std::fs::read(folder.join("0.points")).unwrap();
        assert_eq!(with_sums(whole.clone()), whole);
        assert_eq!(read_run(folder, &whole).unwrap().unwrap().x, x);
        for _ in 0..1500 {
            if Instant::now() > end {
                break;
            }
            let bytes = damaged(&whole, &mut random);
            let bytes = if random.below(8) == 0 { bytes } else { with_sums(bytes) };
            taken += usize::from(read_run(folder, &bytes).is_ok());
            cases += 1;
        }
    }
    assert!(cases > 300 && taken > 0 && taken < cases, "{taken} of {cases}");
}
