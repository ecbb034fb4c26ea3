//! What a program meets that has not loaded a driver, or has none to load.

use cuda_driver::{LoadError, Loaded, Status, sys};

/// Files mapped into this process, as the dynamic linker and `dlopen` left them.
fn mapped_libraries() -> String {
    std::fs::read_to_string("/proc/self/maps").unwrap()
}

/// One test, because the steps change the process one after the other.
#[test]
fn a_program_starts_without_a_driver_and_says_so() {
    // libcuda is not linked: a NEEDED entry would have mapped it.
    assert!(!mapped_libraries().contains("libcuda"));

    assert_eq!(cuda_driver::loaded(), None);
    // SAFETY: the flags are those that there are; the pointer is to a live variable.
    let (init, count) = unsafe { (sys::cuInit(0), sys::cuDeviceGetCount(&mut 0)) };
    assert_eq!([init, count], [Status::CUDA_ERROR_NOT_INITIALIZED; 2]);
    assert!(init.to_string().contains("no driver was loaded"), "{init}");

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
            // SAFETY: as above.
            assert_eq!(unsafe { sys::cuInit(0) }, Status::CUDA_ERROR_NOT_INITIALIZED);
        }
    }
}

#[test]
fn the_functions_of_the_driver_are_named_once() {
    let mut symbols: Vec<_> = cuda_driver::symbols().collect();
    assert!(symbols.contains(&"cuLaunchKernel"));
    let all = symbols.len();
    symbols.sort_unstable();
    symbols.dedup();
    assert_eq!(symbols.len(), all);
}

/// A program may hold other CUDA libraries beside this one, so nothing here may be called as theirs.
#[cfg(all(target_os = "linux", not(feature = "trampolines")))]
#[test]
fn no_symbol_of_the_driver_is_defined() {
    let own = std::env::current_exe().unwrap();
    let Ok(nm) = std::process::Command::new("nm").arg(own).output() else {
        return println!("skipped: there is no nm");
    };
    let listing = String::from_utf8(nm.stdout).unwrap();
    let defined = |line: &str| line.split_whitespace().last().map(str::to_owned);
    assert!(listing.lines().count() > 100, "nm lists the symbols of this test");
    let of_driver: Vec<_> = listing
        .lines()
        .filter_map(defined)
        .filter(|name| cuda_driver::symbols().any(|symbol| symbol == name))
        .collect();
    assert_eq!(of_driver, [""; 0]);
}
