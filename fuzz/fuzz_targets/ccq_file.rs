//! .ccq files whose checksums are right, and searches in what they hold.
#![no_main]

use ccq_tree::{CodedTree, Condition, Query, Tree, count, kind_of_file, quadrants};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    let _ = tessera_fuzz::seal_ccq(&mut bytes);
    let path = tessera_fuzz::file("input.ccq", &bytes);
    macro_rules! search {
        ($kind:ty) => {
            if let Ok(tree) = Tree::<$kind>::read(&path) {
                let high = Condition::new(&tree).range(1.0, 100.0);
                let found = quadrants(&gpu_core::Device::Cpu, &[high], &Query::new());
                let _ = (found, count(&gpu_core::Device::Cpu, &[high], &Query::new()));
            }
        };
    }
    macro_rules! search_coded {
        ($kind:ty) => {
            if let Ok(tree) = CodedTree::<$kind>::read(&path) {
                let high = Condition::of_coded(&tree).range(1.0, 100.0);
                let found = quadrants(&gpu_core::Device::Cpu, &[high], &Query::new());
                let _ = (found, count(&gpu_core::Device::Cpu, &[high], &Query::new()));
            }
        };
    }
    match kind_of_file(&path).map(|kind| (kind.values, kind.is_coded)) {
        Ok(("u8", false)) => search!(u8),
        Ok(("i16", false)) => search!(i16),
        Ok(("u16", false)) => search!(u16),
        Ok(("i32", false)) => search!(i32),
        Ok(("u32", false)) => search!(u32),
        Ok(("f32", false)) => search!(f32),
        Ok(("f32", true)) => search_coded!(f32),
        Ok(("f64", true)) => search_coded!(f64),
        Ok(("i64", true)) => search_coded!(i64),
        Ok(("u64", true)) => search_coded!(u64),
        Ok(("i32", true)) => search_coded!(i32),
        Ok(("u32", true)) => search_coded!(u32),
        _ => {}
    }
});
