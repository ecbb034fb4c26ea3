//! Driver calls that fail, one after the other.
//!
//! A call of a library makes some number of driver calls of each kind. [`everywhere`] repeats it with the first of them
//! failing, the second, and so on, until the call succeeds. After each failure it checks what a user would. The error
//! says what happened, the same objects are usable at once and right, and no more device memory is in use than before.
//!
//! Memory is counted for the calling thread, so other tests may run beside. A suite of faults is a test binary of its
//! own: modules are loaded once in a process, and only their first load can fail. One suite runs at a time.

use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gpu_core::Gpu;
use software_gpu::{Operation, bytes_of_thread, fail};

/// How often each kind of driver call was made to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Of device memory.
    pub allocations: u64,
    /// Between host and device, or on the device.
    pub copies: u64,
    /// Setting device memory to a value.
    pub fills: u64,
    /// Of kernels.
    pub launches: u64,
    /// Of modules, each before its first use in the process.
    pub module_loads: u64,
}

/// Lets every driver call that `call` makes fail once, each in a run of its own. Each run has a state of its own, which
/// `make` makes without failures. `None` on a GPU, where nothing can be made to fail.
///
/// # Panics
/// If a failure gives no error, or one without words or of several lines; if an allocation that fails is not called out
/// of memory. If the call right afterwards on the same state fails or gives another result; if memory stays in use.
pub fn everywhere<S, T, E>(
    gpu: &Gpu,
    mut make: impl FnMut() -> Result<S, E>,
    mut call: impl FnMut(&mut S) -> Result<T, E>,
) -> Option<Failures>
where
    T: PartialEq + Debug,
    E: std::error::Error,
{
    if !gpu.is_software() {
        return None;
    }
    let _alone = alone();
    let mut failures =
        Failures { module_loads: module_loads(&mut make, &mut call), ..Failures::default() };
    let expected = call(&mut make().expect("nothing fails")).expect("nothing fails");
    let mut each = |operation| {
        let mut failed = 0;
        while fails_at(gpu, operation, failed, &expected, &mut make, &mut call) {
            failed += 1;
        }
        failed
    };
    failures.allocations = each(Operation::Allocation);
    failures.copies = each(Operation::Copy);
    failures.fills = each(Operation::Fill);
    failures.launches = each(Operation::Launch);
    Some(failures)
}

/// Lets the driver call after `successes` fail; gives whether there was one.
fn fails_at<S, T, E>(
    gpu: &Gpu,
    operation: Operation,
    successes: u64,
    expected: &T,
    make: &mut impl FnMut() -> Result<S, E>,
    call: &mut impl FnMut(&mut S) -> Result<T, E>,
) -> bool
where
    T: PartialEq + Debug,
    E: std::error::Error,
{
    let what = format!("{operation:?} {successes}");
    let before = in_use(gpu);
    let happened = {
        let mut state = make().expect("nothing fails yet");
        let failure = fail(operation, successes);
        let result = call(&mut state);
        let happened = failure.happened();
        drop(failure);
        match result {
            Ok(found) => {
                assert!(!happened, "{what} failed, and nobody noticed");
                assert_eq!(&found, expected, "{what}: nothing failed");
            }
            Err(error) => {
                assert!(happened, "{what} did not happen, but: {error}");
                check_words(&what, operation, &error);
            }
        }
        let again = call(&mut state);
        let again = again.unwrap_or_else(|error| panic!("the call after {what}: {error}"));
        assert_eq!(&again, expected, "the call after {what}");
        happened
    };
    assert_eq!(in_use(gpu), before, "bytes in use after {what}");
    happened
}

/// Lets each module that the call loads fail before its first use; gives how many.
fn module_loads<S, T, E>(
    make: &mut impl FnMut() -> Result<S, E>,
    call: &mut impl FnMut(&mut S) -> Result<T, E>,
) -> u64
where
    E: std::error::Error,
{
    let mut failed = 0;
    loop {
        let mut state = make().expect("nothing fails");
        // What failed last succeeds now, and stays loaded; the next one fails.
        let failure = fail(Operation::ModuleLoad, failed.min(1));
        let result = call(&mut state);
        if !failure.happened() {
            assert!(result.is_ok(), "no module failed to load, but the call did");
            return failed;
        }
        match result {
            Ok(_) => panic!("a module failed to load, and nobody noticed"),
            Err(error) => check_words("a module's load", Operation::ModuleLoad, &error),
        }
        failed += 1;
    }
}

/// Checks that an error says what happened, in one line.
fn check_words(what: &str, operation: Operation, error: &dyn std::error::Error) {
    let words = error.to_string();
    assert!(!words.is_empty() && !words.contains('\n'), "{what}: {words:?}");
    if operation == Operation::Allocation {
        assert!(words.contains("memory"), "{what}: {words}");
    }
}

/// Bytes of device memory that this thread holds after all work has been done.
fn in_use(gpu: &Gpu) -> i64 {
    gpu.synchronize().expect("work that was enqueued");
    bytes_of_thread()
}

/// One at a time. A suite that panicked says so itself.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
