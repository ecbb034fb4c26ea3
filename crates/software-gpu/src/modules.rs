//! The kernels that the host has compiled, found by the PTX that names them.

use device_std::host::{HostKernel, PtxModule, PtxText};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTERED: Mutex<Vec<&'static PtxModule>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<&'static PtxModule>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells the software device the host kernels of a module, so that loading one of its images
/// finds them. To be called before the module is loaded; a second time does nothing.
pub fn register(module: &'static PtxModule) {
    let mut registered = lock();
    if !registered.iter().any(|known| std::ptr::eq(*known, module)) {
        registered.push(module);
    }
}

/// The kernels that a PTX text declares and that are registered: those of the module that has
/// this text among its images, or, for a text that is no module's, any of the same name.
/// `None` if the text declares no kernel.
pub(crate) fn kernels_of(text: &str) -> Option<Vec<&'static HostKernel>> {
    let entries = entries(text);
    if entries.is_empty() {
        return None;
    }
    let registered = lock();
    let owns = |module: &&&PtxModule| {
        module.images.iter().any(|image| matches!(image.text, PtxText::Plain(own) if own == text))
    };
    let candidates: Vec<_> = match registered.iter().find(owns) {
        Some(module) => module.kernels.to_vec(),
        None => registered.iter().flat_map(|module| module.kernels).copied().collect(),
    };
    let kernel = |name: &&str| candidates.iter().find(|kernel| kernel.name == *name).copied();
    Some(entries.iter().filter_map(kernel).collect())
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
