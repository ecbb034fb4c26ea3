//! What the tests share.

use gpu_core::{Column, DeviceChoice, Gpu};
use gpu_scan::Number;
use gpu_scan::gpu::Workspace;

/// The process's GPU: the software device, unless `TESSERA_DEVICE` names another.
pub fn open() -> (Gpu, Workspace) {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    let gpu = Gpu::open(choice).unwrap();
    let workspace = Workspace::new(&gpu).unwrap();
    (gpu, workspace)
}

/// Whether elements have the same bits, which tell NaNs and zeros apart.
pub fn same_bits<T: Number>(a: &[T], b: &[T]) -> bool {
    bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b)
}

/// An array on the device that begins `start` elements after its column, so that it need not be
/// aligned to vectors.
pub struct Unaligned<T: Number> {
    pub column: Column<T>,
    pub start: usize,
    pub len: usize,
}

impl<T: Number> Unaligned<T> {
    pub fn new(gpu: &Gpu, elements: &[T], start: usize) -> Self {
        let padding = vec![bytemuck::Zeroable::zeroed(); start];
        let column = gpu.upload(&[padding.as_slice(), elements].concat()).unwrap();
        Self { column, start, len: elements.len() }
    }

    pub fn slice(&self) -> gpu_core::Slice<'_, T> {
        self.column.slice(self.start..self.start + self.len).unwrap()
    }

    pub fn slice_mut(&mut self) -> gpu_core::SliceMut<'_, T> {
        self.column.slice_mut(self.start..self.start + self.len).unwrap()
    }

    /// The elements; what lies before them must still be zero.
    pub fn to_host(&self) -> Vec<T> {
        let mut all = self.column.to_host().unwrap();
        let elements = all.split_off(self.start);
        assert!(bytemuck::cast_slice::<T, u8>(&all).iter().all(|byte| *byte == 0));
        elements
    }
}
