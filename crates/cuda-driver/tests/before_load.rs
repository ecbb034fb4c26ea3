//! What a program meets that has not loaded a driver, or has none to load.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use cuda_driver::{LoadError, Loaded};
use cust::error::CudaError;

/// Files mapped into this process, as the dynamic linker and `dlopen` left them.
fn mapped_libraries() -> String {
    std::fs::read_to_string("/proc/self/maps").unwrap()
}

/// One test, because the steps change the process one after the other.
#[test]
fn a_program_starts_without_a_driver_and_says_so() {
    // Linked: the trampolines. Not linked: libcuda, which a NEEDED entry would have mapped.
    assert!(!mapped_libraries().contains("libcuda"));

    assert_eq!(cuda_driver::loaded(), None);
    let error = cust::init(cust::CudaFlags::empty()).unwrap_err();
    assert_eq!(error, CudaError::NotInitialized);
    assert!(error.to_string().contains("no driver was loaded"), "{error}");
    assert_eq!(cust::device::Device::num_devices(), Err(CudaError::NotInitialized));

    match cuda_driver::load_cuda() {
        Ok(()) => {
            assert!(mapped_libraries().contains("libcuda.so"));
            assert_eq!(cuda_driver::loaded(), Some(Loaded::Cuda));
            assert_eq!(cuda_driver::load_cuda(), Ok(()));
            // SAFETY: no function is given.
            let other = unsafe { cuda_driver::load_with(|_| None) };
            assert_eq!(
                other,
                Err(LoadError::OtherDriver { loaded: Loaded::Cuda, wanted: Loaded::Software })
            );
        }
        Err(error) => {
            assert!(matches!(error, LoadError::NoLibrary { .. }), "{error}");
            assert!(error.to_string().starts_with("no CUDA driver: "), "{error}");
            assert_eq!(cuda_driver::loaded(), None);
            // SAFETY: no function is given.
            let nothing = unsafe { cuda_driver::load_with(|_| None) };
            assert_eq!(nothing, Err(LoadError::NotADriver { driver: Loaded::Software }));
            assert_eq!(cust::init(cust::CudaFlags::empty()), Err(CudaError::NotInitialized));
        }
    }
}

#[test]
fn the_list_of_symbols_is_sorted_and_free_of_doubles() {
    let symbols: Vec<_> = cuda_driver::symbols().collect();
    assert!(symbols.is_sorted_by(|a, b| a < b));
    assert!(symbols.contains(&"cuLaunchKernel"));
}
