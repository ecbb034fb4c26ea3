//! Tensors of DLPack as device memory and back, on the software device or a card.

mod common;

use std::sync::Arc;

use common::{enqueue, expected, gpu};
use gpu_core::dlpark::ffi::{DLDevice, DLDeviceType, DLManagedTensorVersioned};
use gpu_core::dlpark::metadata::Fixed;
use gpu_core::dlpark::{DlpackElement, DlpackFlags, versioned};
use gpu_core::{Column, DeviceGrid, Error, Gpu, Grid, GridSpec, Slice, dlpack};

fn device(gpu: &Gpu) -> DLDevice {
    if gpu.is_software() { DLDevice::CPU } else { DLDevice::cuda(0) }
}

#[test]
fn columns_go_out_and_in_without_a_copy() {
    let gpu = gpu();
    let numbers = [-0.0, 1.5, f64::NAN];
    let column = gpu.upload(&numbers).unwrap();
    let address = column.as_ptr();
    let tensor = column.into_dlpack().unwrap();
    let described = tensor.validate_export().unwrap();
    assert_eq!((described.shape(), described.device()), (&[3][..], device(&gpu)));
    // SAFETY: the column was uploaded, and nobody else has it.
    let slice = unsafe { Slice::<f64>::from_dlpack(&gpu, &tensor) }.unwrap();
    assert_eq!((slice.as_ptr(), slice.len()), (address, 3));
    // SAFETY: as above.
    let column = unsafe { Column::<f64>::from_dlpack(&gpu, tensor) }.unwrap();
    assert_eq!(column.as_ptr(), address);
    let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&column.to_host().unwrap()), bits(&numbers));
    let empty = gpu.upload::<u8>(&[]).unwrap().into_dlpack().unwrap();
    // SAFETY: there are no elements.
    let empty = unsafe { Column::<u8>::from_dlpack(&gpu, empty) }.unwrap();
    assert_eq!(empty.to_host().unwrap(), []);
}

#[test]
fn rasters_keep_their_sides() {
    let gpu = gpu();
    let grid = GridSpec::of_pixels(3, 2);
    let raster = Grid::new(vec![1_f32, 2.0, 3.0, 4.0, 5.0, 6.0], grid).unwrap();
    let tensor = || DeviceGrid::upload(&gpu, &raster).unwrap().into_dlpack().unwrap();
    assert_eq!(tensor().validate_export().unwrap().shape(), [2, 3]);
    // SAFETY: the raster was uploaded, and nobody else has it.
    let found = unsafe { DeviceGrid::<f32>::from_dlpack(&gpu, tensor(), grid) }.unwrap();
    assert_eq!(found.to_host().unwrap(), raster);
    // SAFETY: as above.
    let turned =
        unsafe { DeviceGrid::<f32>::from_dlpack(&gpu, tensor(), GridSpec::of_pixels(2, 3)) };
    assert_eq!(turned.unwrap_err(), Error::Shape { rows: 2, columns: 3, width: 2, height: 3 });
    // SAFETY: as above.
    let flat = unsafe { Column::<f32>::from_dlpack(&gpu, tensor()) }.unwrap_err().to_string();
    assert_eq!(flat, "DLPack tensor: found 2 dimensions, expected 1 dimensions");
}

/// Device memory of ours, as another library describes it, and how many own it.
fn foreign(
    gpu: &Gpu,
    numbers: &[f64],
    to: DLDevice,
    flags: DlpackFlags,
) -> (versioned::Dlpack, Arc<()>) {
    let (column, count) = (gpu.upload(numbers).unwrap(), Arc::new(()));
    let address = column.as_ptr();
    let prepared = Fixed::new([numbers.len() - 1], [1]).prepare_as::<DLManagedTensorVersioned>();
    let mut tensor = prepared.unwrap().initialize(Box::new((column, Arc::clone(&count))));
    tensor.set_device(to).set_dtype(f64::DTYPE).set_data(address.cast_mut().cast());
    tensor.set_byte_offset(8).set_flags(flags).unwrap();
    // SAFETY: the column has as many elements from the offset on.
    (unsafe { tensor.finish() }, count)
}

#[test]
fn a_foreign_tensor_is_kept_as_long_as_its_column() {
    let gpu = gpu();
    let (tensor, count) = foreign(&gpu, &[1.0, 2.0, 3.0], device(&gpu), DlpackFlags::empty());
    // SAFETY: the column was uploaded, and nobody else has it.
    let mut column = unsafe { Column::<f64>::from_dlpack(&gpu.fork().unwrap(), tensor) }.unwrap();
    assert_eq!(column.to_host().unwrap(), [2.0, 3.0]); // the byte offset
    column.copy_from(&gpu.upload(&[7.0, 8.0]).unwrap()).unwrap();
    assert_eq!((column.to_host().unwrap(), Arc::strong_count(&count)), (vec![7.0, 8.0], 2));
    drop(column);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn what_does_not_fit_is_refused_and_released() {
    let gpu = gpu();
    let refused = |to, flags, part: &str| {
        let (tensor, count) = foreign(&gpu, &[1.0, 2.0, 3.0], to, flags);
        // SAFETY: the column was uploaded, and nobody else has it.
        let error = unsafe { Column::<f64>::from_dlpack(&gpu, tensor) }.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!(Arc::strong_count(&count), 1);
    };
    refused(DLDevice::cuda(7), DlpackFlags::empty(), "memory of CUDA device 7, expected memory of");
    refused(device(&gpu), DlpackFlags::READ_ONLY, "found a read-only one");
    let managed = DLDevice { device_type: DLDeviceType::CUDAMANAGED, device_id: 0 };
    refused(managed, DlpackFlags::empty(), "memory of device 0 of type 13");
    let (tensor, _) = foreign(&gpu, &[1.0, 2.0], device(&gpu), DlpackFlags::READ_ONLY);
    // SAFETY: as above.
    assert_eq!(unsafe { Slice::<f64>::from_dlpack(&gpu, &tensor) }.unwrap().len(), 1);
    // SAFETY: as above.
    let error = unsafe { Slice::<u32>::from_dlpack(&gpu, &tensor) }.unwrap_err().to_string();
    assert_eq!(error, "DLPack tensor: found elements float64, expected elements uint32");
}

#[test]
fn the_software_device_works_on_arrays_of_other_libraries_where_they_lie() {
    let gpu = gpu();
    if !gpu.is_software() {
        return;
    }
    // Twice: the second array may lie where the first one was.
    for _ in 0..2 {
        let tensor = dlpack::from_vec(vec![1_f32; 1000]).unwrap();
        // SAFETY: the vector is this test's alone.
        let mut column = unsafe { Column::<f32>::from_dlpack(&gpu, tensor) }.unwrap();
        enqueue(&gpu, &mut column, 2.0).unwrap();
        assert_eq!(column.to_host().unwrap(), expected(&[1.0; 1000], 2.0));
        let tensor = dlpack::from_vec(vec![3_f32; 10]).unwrap();
        // SAFETY: as above.
        let slice = unsafe { Slice::<f32>::from_dlpack(&gpu, &tensor) }.unwrap();
        // A view of a part does not hide the whole.
        software_gpu::lend(slice.as_ptr().wrapping_add(4).cast(), 8);
        let mut copy = gpu.zeroed(10).unwrap();
        copy.copy_from(slice).unwrap();
        assert_eq!(copy.to_host().unwrap(), [3.0; 10]);
    }
}
