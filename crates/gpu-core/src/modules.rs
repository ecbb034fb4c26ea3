//! Kernel modules, loaded when one of their kernels is first launched.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cust::module::Module;
use cust::sys::CUfunction;
use device_std::host::{HostKernel, PtxImage, PtxModule};

use crate::gpu::{Properties, call};
use crate::{Error, Result};

/// The modules of one device, by name.
#[derive(Default)]
pub(crate) struct Modules {
    loaded: Mutex<HashMap<&'static str, LoadedModule>>,
}

struct LoadedModule {
    module: Module,
    functions: HashMap<&'static str, Function>,
}

/// A function of a loaded module: valid as long as the module is.
#[derive(Clone, Copy)]
struct Function(CUfunction);

// SAFETY: a CUfunction may be used from any thread, as the module that it belongs to.
unsafe impl Send for Function {}

impl Modules {
    /// The driver's function for a kernel; loads its module at the first call.
    ///
    /// The context must be current.
    pub(crate) fn function(
        &self,
        module: &'static PtxModule,
        kernel: &'static HostKernel,
        device: &Properties,
    ) -> Result<CUfunction> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if !loaded.contains_key(module.name) {
            loaded.insert(module.name, LoadedModule::load(module, device)?);
        }
        let entry = loaded.get_mut(module.name).expect("inserted above");
        entry.function(kernel.name).map(|f| f.0)
    }
}

impl LoadedModule {
    fn load(module: &'static PtxModule, device: &Properties) -> Result<Self> {
        if cuda_driver::loaded() == Some(cuda_driver::Loaded::Software) {
            software_gpu::register(module);
        }
        let image = image_for(module, device)?;
        let name = format!("loading module {} (sm_{})", module.name, image.level);
        let module = call(&name, Module::from_ptx(image.text, &[]))?;
        Ok(Self { module, functions: HashMap::new() })
    }

    fn function(&mut self, kernel: &'static str) -> Result<Function> {
        if let Some(&function) = self.functions.get(kernel) {
            return Ok(function);
        }
        let found = call(&format!("finding kernel {kernel}"), self.module.get_function(kernel))?;
        let function = Function(found.to_raw());
        self.functions.insert(kernel, function);
        Ok(function)
    }
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
