//! Tensors of DLPack, by the crate `dlpark`, without a copy: arrays of NumPy, PyTorch, CuPy and JAX. (Feature `dlpack`.)
//!
//! A binding to Python turns a capsule into a `Managed` tensor, and back; `dlpark`'s feature `pyo3` does both. In host
//! memory a tensor is a slice or a [`GridView`], and a `Vec` or a [`Grid`] becomes a tensor. In device memory a tensor
//! is a `Column`, a `Slice` or a `DeviceGrid`, by their functions `from_dlpack` and `into_dlpack`.
//!
//! A tensor is an error if its device, type of elements, dimensions or strides do not fit. Elements must lie row after
//! row without gaps. A byte offset is heeded.
//!
//! ```
//! # fn main() -> gpu_core::Result<()> {
//! use gpu_core::dlpack;
//!
//! let tensor = dlpack::from_vec(vec![0.5_f64, 9.5])?; // what a Python program would give
//! // SAFETY: the tensor was made above, and nobody writes to it.
//! let x = unsafe { dlpack::slice::<f64, _>(&tensor)? };
//! assert_eq!(x, [0.5, 9.5]);
//! // SAFETY: as above.
//! let error = unsafe { dlpack::slice::<f32, _>(&tensor) }.unwrap_err();
//! assert_eq!(error.to_string(), "DLPack tensor: found elements float64, expected elements float32");
//! # Ok(())
//! # }
//! ```

use std::ffi::c_void;

use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType};
use dlpark::metadata::Fixed;
use dlpark::{DlpackElement, Managed, ManagedTensorBase, versioned};

use crate::error::unfit;
use crate::raster::check_shape;
use crate::{Error, Grid, GridSpec, GridView, Result};

/// Borrows the elements of a tensor of one dimension in host memory.
///
/// # Errors
/// [`Error::Unfit`] for a tensor on another device, of other elements or dimensions, or with gaps between its elements.
///
/// # Safety
/// The memory is what the tensor's descriptor says, and nobody writes to it while the result lives.
pub unsafe fn slice<T: DlpackElement, M: ManagedTensorBase>(tensor: &Managed<M>) -> Result<&[T]> {
    let (start, [len]) = checked::<T, M, 1>(tensor, DLDevice::CPU)?;
    // SAFETY: by the caller's promise; the pointer is aligned, and not null.
    Ok(unsafe { std::slice::from_raw_parts(start, len) })
}

/// Returns a vector as a tensor of one dimension, which owns it.
///
/// # Errors
/// [`Error::Unfit`] for more elements than DLPack counts.
pub fn from_vec<T: DlpackElement + Send>(values: Vec<T>) -> Result<versioned::Dlpack> {
    let (shape, values) = ([values.len()], Box::new(values));
    let start = values.as_ptr();
    // SAFETY: the vector in the box has this many elements, which stay where they are.
    unsafe { export(values, start, DLDevice::CPU, shape) }
}

impl<'a, T: DlpackElement> GridView<'a, T> {
    /// Takes a tensor of `height` rows and `width` columns in host memory as the raster of `grid`. (Feature `dlpack`.)
    ///
    /// # Errors
    /// The errors of [`slice()`]; [`Error::Shape`] where the sides differ from the grid's.
    ///
    /// # Safety
    /// As [`slice()`].
    pub unsafe fn from_dlpack<M: ManagedTensorBase>(
        tensor: &'a Managed<M>,
        grid: GridSpec,
    ) -> Result<Self> {
        let (start, [rows, columns]) = checked::<T, M, 2>(tensor, DLDevice::CPU)?;
        check_shape((rows, columns), &grid)?;
        // SAFETY: by the caller's promise; the pointer is aligned, and not null.
        Self::new(unsafe { std::slice::from_raw_parts(start, rows * columns) }, grid)
    }
}

impl<T: DlpackElement + Send> Grid<T> {
    /// Returns the raster as a tensor of `height` rows and `width` columns, which owns it. (Feature `dlpack`.)
    ///
    /// # Errors
    /// [`Error::Unfit`] for more elements than DLPack counts.
    pub fn into_dlpack(self) -> Result<versioned::Dlpack> {
        let shape = [self.grid().height as usize, self.grid().width as usize];
        let values = Box::new(self.into_values());
        let start = values.as_ptr();
        // SAFETY: the vector in the box has a value for each cell, which stay where they are.
        unsafe { export(values, start, DLDevice::CPU, shape) }
    }
}

/// Where the elements of a tensor begin, and its shape.
pub(crate) fn checked<T: DlpackElement, M: ManagedTensorBase, const N: usize>(
    tensor: &Managed<M>,
    device: DLDevice,
) -> Result<(*const T, [usize; N])> {
    let tensor = tensor.validate().map_err(malformed)?;
    let check = |is_good, found: String, expected: String| match is_good {
        true => Ok(()),
        false => Err(unfit(WHAT, found, expected)),
    };
    let (found, is_cpu) = (tensor.device(), device.device_type == DLDeviceType::CPU);
    let is_there = found == device || is_cpu && found.device_type == DLDeviceType::CPU;
    check(is_there, memory(found), memory(device))?;
    let [found, expected] = [tensor.dtype(), T::DTYPE].map(elements);
    check(tensor.dtype().is::<T>(), found, expected)?;
    let dimensions = |count: usize| format!("{count} dimensions");
    check(tensor.ndim() == N, dimensions(tensor.ndim()), dimensions(N))?;
    let strides = format!("strides {:?}", tensor.strides().unwrap_or_default());
    let is_compact = tensor.is_compact().map_err(malformed)?;
    check(is_compact, strides, "elements without gaps: copy the tensor first".to_owned())?;
    // SAFETY: the pointer is computed, not read from.
    let start = unsafe { tensor.offset_data_ptr::<T>() }.map_err(malformed)?;
    let side = |i: usize| tensor.shape()[i] as usize; // none is negative
    Ok((start, std::array::from_fn(side)))
}

/// A tensor of an owner's elements.
///
/// # Safety
/// The elements from `start` on are as many as the shape says, lie on the device, and stay while the owner lives.
pub(crate) unsafe fn export<O: Send, T: DlpackElement, const N: usize>(
    owner: Box<O>,
    start: *const T,
    device: DLDevice,
    shape: [usize; N],
) -> Result<versioned::Dlpack> {
    let strides: [usize; N] = std::array::from_fn(|i| shape[i + 1..].iter().product());
    let prepared = Fixed::new(shape, strides).prepare_as().map_err(malformed)?;
    let mut tensor = prepared.initialize(owner);
    let is_empty = shape.contains(&0);
    let start = if is_empty { std::ptr::null_mut() } else { start.cast::<c_void>().cast_mut() };
    tensor.set_device(device).set_dtype(T::DTYPE).set_data(start);
    // SAFETY: the descriptor is that of the owner's elements, by the caller's promise.
    Ok(unsafe { tensor.finish() })
}

const WHAT: &str = "DLPack tensor";

fn malformed(error: impl std::fmt::Display) -> Error {
    unfit(WHAT, error.to_string(), "a descriptor that DLPack allows")
}

fn memory(device: DLDevice) -> String {
    match device.device_type {
        DLDeviceType::CPU => "memory of the CPU".to_owned(),
        DLDeviceType::CUDA => format!("memory of CUDA device {}", device.device_id),
        DLDeviceType(kind) => format!("memory of device {} of type {kind}", device.device_id),
    }
}

fn elements(dtype: DLDataType) -> String {
    let code = match dtype.code {
        DLDataTypeCode::INT => "int",
        DLDataTypeCode::UINT => "uint",
        DLDataTypeCode::FLOAT => "float",
        DLDataTypeCode::BFLOAT => "bfloat",
        DLDataTypeCode::COMPLEX => "complex",
        DLDataTypeCode::BOOL => "bool",
        DLDataTypeCode(code) => return format!("elements of type {code}"),
    };
    let lanes = if dtype.lanes == 1 { String::new() } else { format!(" x {}", dtype.lanes) };
    format!("elements {code}{}{lanes}", dtype.bits)
}

#[cfg(test)]
mod tests {
    use dlpark::DlpackFlags;
    use dlpark::ffi::DLManagedTensor;

    use super::*;

    /// A tensor over numbers that are kept, as another program describes it.
    fn foreign<const N: usize>(
        numbers: Vec<f64>,
        shape: [i64; N],
        strides: [i64; N],
        change: impl FnOnce(&mut dlpark::ffi::DLTensor),
    ) -> Managed<DLManagedTensor> {
        let start = numbers.as_ptr().cast_mut().cast();
        let prepared = Fixed::new(shape, strides).prepare_as().unwrap();
        let mut tensor = prepared.initialize(Box::new(numbers));
        tensor.set_device(DLDevice::CPU).set_dtype(f64::DTYPE).set_data(start);
        change(tensor.tensor_mut());
        // SAFETY: what is wrong with the descriptor is to be found.
        unsafe { tensor.finish() }
    }

    fn slice_of<M: ManagedTensorBase>(tensor: &Managed<M>) -> Result<&[f64]> {
        // SAFETY: no test writes to it, and descriptors that reach beyond it are refused.
        unsafe { slice(tensor) }
    }

    #[test]
    fn vectors_and_rasters_go_out_and_in_without_a_copy() {
        let numbers = vec![-0.0, 1.5, f64::NAN, 3.0, 4.0, 5.0];
        let address = numbers.as_ptr();
        let tensor = from_vec(numbers.clone()).unwrap();
        assert_eq!(tensor.validate_export().unwrap().shape(), [6]);
        assert!(!tensor.flags().contains(DlpackFlags::READ_ONLY));
        let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(slice_of(&tensor).unwrap()), bits(&numbers));
        let grid = GridSpec::of_pixels(3, 2);
        let tensor = Grid::new(numbers, grid).unwrap().into_dlpack().unwrap();
        assert_eq!(tensor.validate_export().unwrap().shape(), [2, 3]);
        // SAFETY: as above.
        let view = unsafe { GridView::<f64>::from_dlpack(&tensor, grid) }.unwrap();
        assert_eq!(view.values().as_ptr(), address);
        // SAFETY: as above.
        let turned = unsafe { GridView::<f64>::from_dlpack(&tensor, GridSpec::of_pixels(2, 3)) };
        assert_eq!(turned, Err(Error::Shape { rows: 2, columns: 3, width: 2, height: 3 }));
        let empty = from_vec(Vec::<f64>::new()).unwrap();
        assert!(empty.validate_export().unwrap().data_ptr().is_null());
        assert_eq!(slice_of(&empty), Ok(&[][..]));
    }

    #[test]
    fn a_byte_offset_is_heeded_and_what_does_not_fit_is_refused_by_name() {
        let numbers = || vec![0.0, 1.0, 2.0, 3.0];
        let later = foreign(numbers(), [2], [1], |tensor| tensor.byte_offset = 16);
        assert_eq!(slice_of(&later).unwrap(), [2.0, 3.0]);
        let says = |change: fn(&mut dlpark::ffi::DLTensor), part: &str| {
            let tensor = foreign(numbers(), [2], [1], change);
            let error = slice_of(&tensor).unwrap_err().to_string();
            assert!(error.starts_with("DLPack tensor: found ") && error.contains(part), "{error}");
        };
        says(
            |t| t.device = DLDevice::cuda(1),
            "memory of CUDA device 1, expected memory of the CPU",
        );
        says(|t| t.device = DLDevice::metal(0), "memory of device 0 of type 8");
        says(|t| t.dtype = f32::DTYPE, "elements float32, expected elements float64");
        says(|t| t.dtype.lanes = 2, "elements float64 x 2");
        says(|t| t.dtype.code = DLDataTypeCode(99), "elements of type 99");
        says(|t| t.dtype.bits = 0, "bit width");
        says(|t| t.byte_offset = 3, "aligned");
        says(|t| t.byte_offset = u64::MAX, "overflows");
        says(|t| t.data = std::ptr::null_mut(), "null");
        says(|t| t.ndim = -1, "negative");
        let gaps = foreign(numbers(), [2], [2], |_| ());
        let error = slice_of(&gaps).unwrap_err().to_string();
        assert!(error.contains("strides [2], expected elements without gaps"), "{error}");
        let negative = foreign(numbers(), [-2], [1], |_| ());
        assert!(slice_of(&negative).unwrap_err().to_string().contains("negative"));
        let square = foreign(numbers(), [2, 2], [2, 1], |_| ());
        let error = slice_of(&square).unwrap_err().to_string();
        assert!(error.ends_with("found 2 dimensions, expected 1 dimensions"), "{error}");
        let turned = foreign(numbers(), [2, 2], [1, 2], |_| ());
        // SAFETY: as above.
        let turned = unsafe { GridView::<f64>::from_dlpack(&turned, GridSpec::of_pixels(2, 2)) };
        assert!(turned.unwrap_err().to_string().contains("strides [1, 2]"));
    }
}
