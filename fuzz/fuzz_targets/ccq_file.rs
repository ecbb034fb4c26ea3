//! .ccq files whose checksums are right, and searches in what they hold.
#![no_main]

use ccq_tree::{Condition, Query, Tree, cells_of_file, count, quadrants};
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
    match cells_of_file(&path) {
        Ok("u8") => search!(u8),
        Ok("i16") => search!(i16),
        Ok("u16") => search!(u16),
        Ok("i32") => search!(i32),
        Ok("u32") => search!(u32),
        Ok("f32") => search!(f32),
        _ => {}
    }
});
