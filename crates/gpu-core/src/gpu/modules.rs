//! Kernels, loaded when they are first launched.
//!
//! The driver compiles PTX at loading, one text after the other, even if several threads ask. A module may hold dozens
//! of kernels, and a program may use one. So each kernel is loaded alone: the head of its module's text, and its entry.
//! A module with code for the device's architecture is loaded whole, which takes hardly any time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::CString;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

use cuda_driver::sys::{self, CUfunction, CUmodule};
use device_std::host::{HostKernel, PtxImage, PtxModule, PtxText};
use flate2::read::DeflateDecoder;

#[cfg(feature = "software")]
use crate::gpu::driver::is_software;
use crate::gpu::driver::{check, given};
use crate::gpu::properties::Properties;
use crate::{Error, Result};

/// The modules and kernels that are loaded on one device. They stay until the process ends.
#[derive(Default)]
pub(crate) struct Modules {
    loaded: Mutex<Loaded>,
}

#[derive(Default)]
struct Loaded {
    /// Kernels, by module and name.
    functions: HashMap<(&'static str, &'static str), CUfunction>,
    /// Modules that were compiled beforehand, by name; `None` where there is nothing that the driver takes.
    compiled: HashMap<&'static str, Option<CUmodule>>,
}

impl Modules {
    /// The driver's function for a kernel; loads it at the first call.
    ///
    /// The context must be current.
    pub(crate) fn function(
        &self,
        kernel: &'static HostKernel,
        device: &Properties,
    ) -> Result<CUfunction> {
        let key = (kernel.module.name, kernel.name);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&function) = loaded.functions.get(&key) {
            return Ok(function);
        }
        let function = loaded.load(kernel, device)?;
        loaded.functions.insert(key, function);
        Ok(function)
    }
}

impl Loaded {
    fn load(&mut self, kernel: &'static HostKernel, device: &Properties) -> Result<CUfunction> {
        let module = kernel.module;
        if module.images.is_empty() {
            let reason = "the crate that declares it was built without its PTX".to_owned();
            return Err(Error::Kernel { kernel: kernel.name, module: module.name, reason });
        }
        #[cfg(feature = "software")]
        if is_software() {
            software_gpu::register(kernel);
            return load_alone(kernel, device);
        }
        let load = || load_compiled(module, device);
        match *self.compiled.entry(module.name).or_insert_with(load) {
            Some(module) => function_of(module, &kernel.entry_name()),
            None => load_alone(kernel, device),
        }
    }
}

/// The module as it was compiled beforehand for the device's architecture; `None` where it was not, or by a compiler
/// that is newer than the driver.
fn load_compiled(module: &'static PtxModule, device: &Properties) -> Option<CUmodule> {
    let fitting = module.images.iter().filter(|image| image.runs_on(device.compute_capability));
    let compiled = fitting.filter_map(|image| match image.text {
        PtxText::Compiled(code) => Some((image.level, code)),
        PtxText::Plain(_) | PtxText::Deflated(_) => None,
    });
    let (_, deflated) = compiled.max_by_key(|(level, _)| *level)?;
    let mut code = Vec::new();
    DeflateDecoder::new(deflated).read_to_end(&mut code).ok()?;
    // SAFETY: the code is a whole image, whose size stands in it; the function writes the module.
    unsafe {
        given("loading a module", |loaded| sys::cuModuleLoadData(loaded, code.as_ptr().cast()))
    }
    .ok()
}

/// A kernel by itself, which the driver compiles.
fn load_alone(kernel: &'static HostKernel, device: &Properties) -> Result<CUfunction> {
    let (module, name) = (kernel.module, kernel.entry_name());
    let failed =
        |reason: String| Error::Kernel { kernel: kernel.name, module: module.name, reason };
    let image = image_for(module, device)?;
    let text = whole(image.text).map_err(|error| failed(error.to_string()))?;
    let text = alone(&text, &name).ok_or_else(|| failed("there is none".to_owned()))?;
    let text = CString::new(text).map_err(|error| failed(error.to_string()))?;
    let what = format!("loading kernel {name} (sm_{})", image.level);
    // SAFETY: the text ends in a zero; the function writes the module.
    let loaded: CUmodule =
        unsafe { given(&what, |module| sys::cuModuleLoadData(module, text.as_ptr().cast()))? };
    // SAFETY: loaded above, and nobody knows of it.
    function_of(loaded, &name)
        .inspect_err(|_| drop(check("cuModuleUnload", unsafe { sys::cuModuleUnload(loaded) })))
}

/// A kernel of a loaded module.
fn function_of(module: CUmodule, name: &str) -> Result<CUfunction> {
    let symbol = CString::new(name).unwrap_or_default();
    // SAFETY: the name ends in a zero; the function writes the kernel.
    unsafe {
        given(&format!("finding kernel {name}"), |function| {
            sys::cuModuleGetFunction(function, module, symbol.as_ptr())
        })
    }
}

/// The text of an image.
fn whole(text: PtxText) -> std::io::Result<Cow<'static, str>> {
    match text {
        PtxText::Plain(text) => Ok(Cow::Borrowed(text)),
        PtxText::Compiled(_) => Err(std::io::Error::other("it is not text")),
        PtxText::Deflated(bytes) => {
            let mut text = String::new();
            DeflateDecoder::new(bytes).read_to_string(&mut text)?;
            Ok(Cow::Owned(text))
        }
    }
}

/// The PTX of one kernel: what stands before all entries, and its own.
fn alone(text: &str, kernel: &str) -> Option<String> {
    const ENTRY: &str = ".visible .entry ";
    let head = text.find(ENTRY)?;
    let start = text.find(&format!("{ENTRY}{kernel}("))?;
    let body = start + ENTRY.len();
    let end = text[body..].find(ENTRY).map_or(text.len(), |next| body + next);
    Some(format!("{}{}", &text[..head], &text[start..end]))
}

/// The PTX of the highest level that the device can run.
fn image_for(module: &'static PtxModule, device: &Properties) -> Result<&'static PtxImage> {
    let (major, minor) = device.compute_capability;
    let texts = module.images.iter().filter(|image| !matches!(image.text, PtxText::Compiled(_)));
    let fitting = texts.filter(|image| image.runs_on((major, minor)));
    fitting.max_by_key(|image| image.level).ok_or_else(|| {
        let lowest = module.images.first().map_or(0, |image| image.level);
        Error::Architecture {
            device: device.name.clone(),
            major,
            minor,
            module: module.name,
            needed: format!("{}.{}", lowest / 10, lowest % 10),
        }
    })
}

#[cfg(test)]
mod tests {
    use device_std::host::{PtxImage, PtxText};

    #[test]
    fn what_was_compiled_runs_on_later_devices_of_its_major_version_alone() {
        let compiled = PtxImage { level: 86, text: PtxText::Compiled(&[]) };
        let text = PtxImage { level: 86, text: PtxText::Plain("") };
        for (device, runs) in [((8, 6), true), ((8, 9), true), ((8, 0), false), ((7, 5), false)] {
            assert_eq!((compiled.runs_on(device), text.runs_on(device)), (runs, runs));
        }
        assert!(text.runs_on((9, 0)) && !compiled.runs_on((9, 0)));
    }

    #[test]
    fn a_kernel_is_cut_out_of_its_module() {
        let text = "head;\n.visible .entry a(\n)\n{ 1 }\n.visible .entry ab(\n)\n{ 2 }\n";
        let a = super::alone(text, "a").unwrap();
        assert_eq!(a, "head;\n.visible .entry a(\n)\n{ 1 }\n");
        assert_eq!(super::alone(text, "ab").unwrap(), "head;\n.visible .entry ab(\n)\n{ 2 }\n");
        assert_eq!(super::alone(text, "b"), None);
    }
}
