//! The kernels that the host has compiled, found by the PTX that names them.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use device_std::host::HostKernel;

/// By the names that they have in PTX.
type Kernels = HashMap<String, &'static HostKernel>;

fn registered() -> MutexGuard<'static, Kernels> {
    static REGISTERED: LazyLock<Mutex<Kernels>> = LazyLock::new(Mutex::default);
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a kernel, so that the software device finds it when PTX with its entry is loaded. Call it before the PTX
/// is loaded. A second call for a kernel does nothing, and so does a call for a kernel without a host function.
pub fn register(kernel: &'static HostKernel) {
    if kernel.entry.is_some() {
        registered().insert(kernel.entry_name(), kernel);
    }
}

/// The kernels that a PTX text declares and that are registered, with their names there. `None` if
/// the text declares no kernel.
pub(crate) fn kernels_of(text: &str) -> Option<Vec<(String, &'static HostKernel)>> {
    let entries = entries(text);
    if entries.is_empty() {
        return None;
    }
    let registered = registered();
    let known = |name: &str| Some((name.to_owned(), *registered.get(name)?));
    Some(entries.into_iter().filter_map(known).collect())
}

/// The names behind `.entry` in a PTX text.
fn entries(text: &str) -> Vec<&str> {
    let name = |rest: &'_ str| -> usize {
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
            .unwrap_or(rest.len())
    };
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix(".visible .entry "))
        .map(str::trim_start)
        .map(|rest| &rest[..name(rest)])
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn entries_are_found_in_ptx() {
        let ptx = "//\n.version 7.0\n.target sm_75\n.visible .entry scale(\n\t.param .u64 scale_param_0\n)\n\
                   .entry hidden(\n.visible .entry sum_2() // .visible .entry no(\n.visible .func f()";
        assert_eq!(super::entries(ptx), ["scale", "sum_2"]);
    }
}
