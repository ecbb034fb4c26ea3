//! Chunks that no encoder wrote: an error on every device, or points, but no crash and no end that never comes.

use gpu_core::Device;
use laz_chunks::{Error, Fields, PackedChunks, capacity, decode, decode_each};
use proptest::prelude::*;

use crate::decoded::{ALL, Random, packed, survey};

#[test]
fn heads_that_contradict_their_bytes_are_refused() {
    let points = survey(300, &mut Random(4));
    let chunks = packed(&points, 300, ALL);
    let whole = chunks.chunks().next().unwrap().to_vec();
    let refused = |bytes: &[u8]| {
        let mut one = PackedChunks::new(chunks.vlr(), ALL).unwrap();
        let result = one.push(bytes);
        assert!(one.is_empty() || result.is_ok());
        matches!(result, Err(Error::Damaged { chunk: 0, .. }))
    };
    assert!(!refused(&whole));
    for len in 0..whole.len() {
        assert!(refused(&whole[..len]), "{len} bytes");
    }
    let with = |at: usize, word: u32| {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        bytes
    };
    // The number of points: none, and more than a chunk of the file may have.
    assert!(refused(&with(30, 0)));
    assert!(refused(&with(30, 301)));
    // The bytes of the first layer: all of a u32, and none.
    assert!(refused(&with(34, u32::MAX)));
    assert!(refused(&with(34, 0)));
}

#[test]
fn layers_that_end_early_are_damaged() {
    let points = survey(600, &mut Random(5));
    let chunks = packed(&points, 600, Fields::default());
    let mut bytes = chunks.chunks().next().unwrap().to_vec();
    // Half of the first layer is counted to the second one.
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (first, second) = (word(&bytes, 34), word(&bytes, 38));
    bytes[34..38].copy_from_slice(&(first / 2).to_le_bytes());
    bytes[38..42].copy_from_slice(&(second + first - first / 2).to_le_bytes());
    let mut damaged = PackedChunks::new(chunks.vlr(), Fields::default()).unwrap();
    damaged.push(chunks.chunks().next().unwrap()).unwrap();
    damaged.push(&bytes).unwrap();
    damaged.push(chunks.chunks().next().unwrap()).unwrap();
    let whole = decode(&Device::Cpu, &chunks).unwrap();
    for device in testing::devices() {
        let error = decode(&device, &damaged).map(|points| points.x.len());
        assert!(matches!(error, Err(Error::Damaged { chunk: 1, .. })), "{error:?}");
        // The chunks around it are decoded.
        let (points, errors) = decode_each(&device, &damaged).unwrap();
        assert_eq!(errors, [error.unwrap_err()]);
        assert!(points.x[..600] == whole.x && points.z[1_200..] == whole.z);
    }
}

#[test]
fn a_device_tells_what_it_has_for_chunks() {
    for device in testing::devices() {
        let capacity = capacity(&device).unwrap();
        assert_eq!(capacity.is_none(), matches!(device, Device::Cpu));
        if let Some(capacity) = capacity {
            assert!(capacity.chunks >= 16 && capacity.bytes_of_chunk > 1 << 20, "{capacity:?}");
            assert!(capacity.free > capacity.bytes_of_chunk, "{capacity:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]

    #[test]
    fn bytes_that_changed_end_no_device(seed in 0u64..1000, changes in 1usize..20) {
        let mut random = Random(seed);
        let points = survey(200, &mut random);
        let chunks = packed(&points, 200, ALL);
        let mut bytes = chunks.chunks().next().unwrap().to_vec();
        for _ in 0..changes {
            // Behind the head: its lengths are another test's.
            let at = 70 + random.below(bytes.len() as u64 - 70) as usize;
            bytes[at] = random.next() as u8;
        }
        let mut damaged = PackedChunks::new(chunks.vlr(), ALL).unwrap();
        damaged.push(&bytes).unwrap();
        let [host, device] = testing::devices().try_into().unwrap();
        // What both decode is the same; damage that one does not notice need not be seen by the other.
        if let (Ok(a), Ok(b)) = (decode(&host, &damaged), decode(&device, &damaged)) {
            prop_assert!(a == b, "host and device differ");
        }
    }
}
