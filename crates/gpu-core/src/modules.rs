//! Kernels, loaded when they are first launched.
//!
//! The driver compiles PTX when it is loaded, and a module may hold dozens of kernels of which a
//! program uses one. So each kernel is loaded alone: the head of its module's text, and its entry.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::CString;
use std::io::Read;
use std::sync::{Mutex, PoisonError};

use cuda_driver::sys::{self, CUfunction, CUmodule};
use device_std::host::{HostKernel, PtxImage, PtxModule, PtxText};
use flate2::read::DeflateDecoder;

#[cfg(feature = "software")]
use crate::driver::is_software;
use crate::driver::{check, given};
use crate::opened::Properties;
use crate::{Error, Result};

/// The loaded kernels of one device, by module and name.
#[derive(Default)]
pub(crate) struct Modules {
    loaded: Mutex<HashMap<(&'static str, &'static str), Loaded>>,
}

/// A kernel's function, and the module that keeps it valid: both stay until the process ends.
struct Loaded {
    function: CUfunction,
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
        if let Some(kernel) = loaded.get(&key) {
            return Ok(kernel.function);
        }
        let fresh = Loaded::load(kernel, device)?;
        let function = fresh.function;
        loaded.insert(key, fresh);
        Ok(function)
    }
}

impl Loaded {
    fn load(kernel: &'static HostKernel, device: &Properties) -> Result<Self> {
        #[cfg(feature = "software")]
        if is_software() {
            software_gpu::register(kernel);
        }
        let (module, name) = (kernel.module, kernel.entry_name());
        let failed =
            |reason: String| Error::Kernel { kernel: kernel.name, module: module.name, reason };
        if module.images.is_empty() {
            return Err(failed("the crate that declares it was built without its PTX".to_owned()));
        }
        let image = image_for(module, device)?;
        let text = whole(image.text).map_err(|error| failed(error.to_string()))?;
        let text = alone(&text, &name).ok_or_else(|| failed("there is none".to_owned()))?;
        let text = CString::new(text).map_err(|error| failed(error.to_string()))?;
        let symbol = CString::new(name.as_str()).map_err(|error| failed(error.to_string()))?;
        let what = format!("loading kernel {name} (sm_{})", image.level);
        // SAFETY: the texts end in a zero; the functions write what they are asked for.
        let function = unsafe {
            let loaded: CUmodule =
                given(&what, |module| sys::cuModuleLoadData(module, text.as_ptr().cast()))?;
            given(&format!("finding kernel {name}"), |function| {
                sys::cuModuleGetFunction(function, loaded, symbol.as_ptr())
            })
            .inspect_err(|_| drop(check("cuModuleUnload", sys::cuModuleUnload(loaded))))?
        };
        Ok(Self { function })
    }
}

/// The text of an image.
fn whole(text: PtxText) -> std::io::Result<Cow<'static, str>> {
    match text {
        PtxText::Plain(text) => Ok(Cow::Borrowed(text)),
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

/// The highest level that the device can run.
fn image_for(module: &'static PtxModule, device: &Properties) -> Result<&'static PtxImage> {
    let (major, minor) = device.compute_capability;
    let level = 10 * major + minor;
    module.images.iter().rev().find(|image| image.level <= level).ok_or_else(|| {
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
    #[test]
    fn a_kernel_is_cut_out_of_its_module() {
        let text = "head;\n.visible .entry a(\n)\n{ 1 }\n.visible .entry ab(\n)\n{ 2 }\n";
        let a = super::alone(text, "a").unwrap();
        assert_eq!(a, "head;\n.visible .entry a(\n)\n{ 1 }\n");
        assert_eq!(super::alone(text, "ab").unwrap(), "head;\n.visible .entry ab(\n)\n{ 2 }\n");
        assert_eq!(super::alone(text, "b"), None);
    }
}
