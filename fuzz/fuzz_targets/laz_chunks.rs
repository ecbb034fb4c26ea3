//! LAZ files by laz-chunks: what a damaged file gives on the CPU and, by our own decoder, on the software device. The first
//! byte says which fields are decoded. Where both give points, they are the same.
#![no_main]

use gpu_core::{Device, DeviceChoice};
use laz_chunks::{Fields, LazFile, decode};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// Points of an input, at most: the software device takes a tenth of a millisecond for each.
const MOST: u64 = 2000;

static SOFTWARE: LazyLock<Device> =
    LazyLock::new(|| Device::open(DeviceChoice::Software).expect("it is always there"));

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let path = tessera_fuzz::file("input.laz", bytes);
    let Ok(mut file) = LazFile::open(&path) else { return };
    let fields = Fields {
        intensity: kind & 1 != 0,
        scan_angle: kind & 2 != 0,
        user_data: kind & 4 != 0,
        source: kind & 8 != 0,
    };
    let Ok(chunks) = file.pack(0..file.chunks(), fields) else { return };
    if chunks.points() > MOST {
        return;
    }
    let (host, device) = (decode(&Device::Cpu, &chunks), decode(&*SOFTWARE, &chunks));
    if let (Ok(host), Ok(device)) = (host, device) {
        assert!(host == device, "the devices' points differ");
    }
});
