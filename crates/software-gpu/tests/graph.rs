//! Captures and graphs that are wrong on purpose: what a real device forbids is found.

mod common;

use common::{alone, context, only_report};
use cust::error::CudaError;
use cust::memory::DeviceBuffer;
use cust::prelude::*;
use cust::sys;
use device_std::host::PtxModule;
use device_std::{kernel, thread};
use software_gpu::Kind;
use std::ffi::c_void;
use sys::cudaError_enum as Code;

static MODULE: PtxModule = PtxModule { name: "graph", images: &[] };

/// Adds one to every element.
#[kernel(block = 32)]
pub unsafe fn increment(values: *mut u32) {
    // SAFETY: an element for each thread.
    unsafe { *values.add(thread::index_1d() as usize) += 1 };
}

/// Writes through an address that the check of the arguments does not see.
#[kernel(block = 32)]
pub unsafe fn write_through(address: u64) {
    if thread::index_1d() == 0 {
        // SAFETY: none, on purpose.
        unsafe { (address as *mut u32).write(1) };
    }
}

/// A graph and its executable form, which end in this order.
struct Graph {
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
}

impl Graph {
    fn launch(&self, stream: &Stream) -> Code {
        // SAFETY: both are alive.
        unsafe { sys::cuGraphLaunch(self.executable, stream.as_inner()) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: they are not used any more.
        let codes =
            unsafe { [sys::cuGraphDestroy(self.graph), sys::cuGraphExecDestroy(self.executable)] };
        assert_eq!(codes, [Code::CUDA_SUCCESS; 2]);
    }
}

fn begin(stream: &Stream) {
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the stream is alive.
    let code = unsafe { sys::cuStreamBeginCapture_v2(stream.as_inner(), mode) };
    assert_eq!(code, Code::CUDA_SUCCESS);
}

fn end(stream: &Stream, flags: u64) -> Result<Graph, Code> {
    let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the stream is alive; graphs are given to live variables.
    unsafe {
        match sys::cuStreamEndCapture(stream.as_inner(), &mut graph) {
            Code::CUDA_SUCCESS => {}
            code => return Err(code),
        }
        let code = sys::cuGraphInstantiateWithFlags(&mut executable, graph, flags);
        assert_eq!(code, Code::CUDA_SUCCESS);
    }
    Ok(Graph { graph, executable })
}

fn stream() -> Stream {
    Stream::new(StreamFlags::DEFAULT, None).unwrap()
}

/// Memory from the stream's pool, or, while it captures, the graph's.
fn allocate(stream: &Stream, len: usize) -> DeviceBuffer<u32> {
    // SAFETY: the tests write before they read, or want to see what happens.
    unsafe { DeviceBuffer::uninitialized_async(len, stream) }.unwrap()
}

#[test]
fn memory_that_is_gone_is_found_at_the_launch() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    let values = DeviceBuffer::from_slice(&[0_u32; 32]).unwrap();
    begin(&stream);
    launch!(increment, &stream, 1, 0, values.as_device_ptr()).unwrap();
    let graph = end(&stream, 0).unwrap();
    assert_eq!([graph.launch(&stream), graph.launch(&stream)], [Code::CUDA_SUCCESS; 2]);
    assert_eq!(values.as_host_vec().unwrap(), [2; 32]);
    drop(values);
    assert_eq!(graph.launch(&stream), Code::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(only_report().kind, Kind::Launch);
}

#[test]
fn memory_of_a_graph_is_there_from_launch_to_free() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    begin(&stream);
    let values = allocate(&stream, 31);
    // SAFETY: the memory is fresh.
    let filled =
        unsafe { sys::cuMemsetD32Async(values.as_device_ptr().as_raw(), 7, 31, stream.as_inner()) };
    assert_eq!(filled, Code::CUDA_SUCCESS);
    let graph = end(&stream, 0).unwrap();
    assert_eq!(values.as_host_vec(), Err(CudaError::InvalidValue));
    assert_eq!(only_report().kind, Kind::Range);

    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
    assert_eq!(values.as_host_vec().unwrap(), [7; 31]);
    // Without the flag that frees on launch, the program must.
    assert_eq!(graph.launch(&stream), Code::CUDA_ERROR_INVALID_VALUE);
    let again = values.as_device_ptr();
    drop(values);
    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
    // SAFETY: the launch has allocated it again, and nobody else frees it.
    let values = unsafe { DeviceBuffer::from_raw_parts(again, 31) };
    drop(graph);
    assert_eq!(values.as_host_vec().unwrap(), [7; 31]);
    drop(values);
    assert!(software_gpu::take_reports().is_empty());
}

#[test]
fn a_write_to_a_graphs_freed_memory_is_found() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    begin(&stream);
    let scratch = allocate(&stream, 33);
    let address = scratch.as_device_ptr().as_raw();
    scratch.drop_async(&stream).unwrap();
    let graph = end(&stream, 0).unwrap();
    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
    stream.synchronize().unwrap();
    assert!(software_gpu::take_reports().is_empty());
    launch!(write_through, &stream, 1, 0, address).unwrap();
    assert_eq!(stream.synchronize(), Err(CudaError::IllegalAddress));
    assert_eq!(only_report().kind, Kind::UseAfterFree);
    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
}

#[test]
fn a_capture_frees_only_what_it_allocated() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    let before = allocate(&stream, 8);
    let address = before.as_device_ptr();
    begin(&stream);
    assert_eq!(before.drop_async(&stream), Err(CudaError::InvalidValue));
    assert_eq!(only_report().kind, Kind::Range);
    end(&stream, 0).unwrap();
    // SAFETY: the free was refused, so it is still ours.
    unsafe { DeviceBuffer::from_raw_parts(address, 8) }.drop_async(&stream).unwrap();
}

#[test]
fn what_cannot_be_captured_invalidates_the_capture() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    let status = |expected: sys::CUstreamCaptureStatus| {
        let mut found = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream is alive.
        let code = unsafe { sys::cuStreamIsCapturing(stream.as_inner(), &mut found) };
        assert_eq!((code, found), (Code::CUDA_SUCCESS, expected));
    };
    status(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
    begin(&stream);
    status(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
    // SAFETY: the stream is alive.
    let waited = unsafe { sys::cuStreamSynchronize(stream.as_inner()) };
    assert_eq!(waited, Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    status(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    // SAFETY: as above.
    let waited = unsafe { sys::cuStreamSynchronize(stream.as_inner()) };
    assert_eq!(waited, Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    let ended = end(&stream, 0).err();
    assert_eq!(ended, Some(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
    status(sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE);
    stream.synchronize().unwrap();
    assert_eq!(end(&stream, 0).err(), Some(Code::CUDA_ERROR_ILLEGAL_STATE));
}

/// The kernel's own checks hold in a graph too.
#[test]
fn a_launch_that_cannot_be_is_refused_when_it_is_captured() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    let function = common::function(increment.host);
    begin(&stream);
    let null = std::ptr::null_mut::<c_void>();
    let arguments = [(&raw const null).cast_mut().cast::<c_void>()];
    // SAFETY: it does not run.
    let refused = unsafe { stream.launch(&function, 1, 64, 0, &arguments) };
    assert_eq!(refused, Err(CudaError::InvalidValue));
    assert_eq!(only_report().kind, Kind::Launch);
    end(&stream, 0).unwrap();
}
