//! Captures and graphs that are wrong on purpose: what a real device forbids is found.

mod common;

use common::host::{DeviceBuffer, Stream};
use common::{alone, context, only_report};
use cuda_driver::Status as Code;
use cuda_driver::sys;
use device_std::host::PtxModule;
use device_std::{kernel, thread};
use software_gpu::Kind;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

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
        unsafe { sys::cuGraphLaunch(self.executable, stream.raw()) }
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
    let mode = sys::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: the stream is alive.
    let code = unsafe { sys::cuStreamBeginCapture_v2(stream.raw(), mode) };
    assert_eq!(code, Code::CUDA_SUCCESS);
}

fn end(stream: &Stream, flags: u64) -> Result<Graph, Code> {
    let (mut graph, mut executable) = (sys::CUgraph::NULL, sys::CUgraphExec::NULL);
    // SAFETY: the stream is alive; graphs are given to live variables.
    unsafe {
        match sys::cuStreamEndCapture(stream.raw(), &mut graph) {
            Code::CUDA_SUCCESS => {}
            code => return Err(code),
        }
        let code = sys::cuGraphInstantiateWithFlags(&mut executable, graph, flags);
        assert_eq!(code, Code::CUDA_SUCCESS);
    }
    Ok(Graph { graph, executable })
}

fn stream() -> Stream {
    Stream::new()
}

/// Memory from the stream's pool, or, while it captures, the graph's.
fn allocate(stream: &Stream, len: usize) -> DeviceBuffer<u32> {
    DeviceBuffer::uninitialized_async(len, stream).unwrap()
}

#[test]
fn memory_that_is_gone_is_found_at_the_launch() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    let values = DeviceBuffer::from_slice(&[0_u32; 32]).unwrap();
    begin(&stream);
    launch!(increment, &stream, 1, 0, values.address()).unwrap();
    let graph = end(&stream, 0).unwrap();
    assert_eq!([graph.launch(&stream), graph.launch(&stream)], [Code::CUDA_SUCCESS; 2]);
    assert_eq!(values.to_host().unwrap(), [2; 32]);
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
    let filled = unsafe { sys::cuMemsetD8Async(values.address(), 7, 31 * 4, stream.raw()) };
    assert_eq!(filled, Code::CUDA_SUCCESS);
    let graph = end(&stream, 0).unwrap();
    assert_eq!(values.to_host(), Err(Code::CUDA_ERROR_INVALID_VALUE));
    assert_eq!(only_report().kind, Kind::Range);

    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
    assert_eq!(values.to_host().unwrap(), [0x0707_0707; 31]);
    // Without the flag that frees on launch, the program must.
    assert_eq!(graph.launch(&stream), Code::CUDA_ERROR_INVALID_VALUE);
    let again = values.address();
    drop(values);
    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
    // The launch has allocated it again.
    let values = DeviceBuffer::<u32>::from_raw_parts(again, 31);
    drop(graph);
    assert_eq!(values.to_host().unwrap(), [0x0707_0707; 31]);
    drop(values);
    assert!(software_gpu::take_reports().is_empty());
}

#[test]
fn a_write_to_a_graphs_freed_memory_is_found() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    begin(&stream);
    let scratch = allocate(&stream, 33);
    let address = scratch.address();
    scratch.drop_async(&stream).unwrap();
    let graph = end(&stream, 0).unwrap();
    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
    stream.synchronize().unwrap();
    assert!(software_gpu::take_reports().is_empty());
    launch!(write_through, &stream, 1, 0, address).unwrap();
    assert_eq!(stream.synchronize(), Err(Code::CUDA_ERROR_ILLEGAL_ADDRESS));
    assert_eq!(only_report().kind, Kind::UseAfterFree);
    assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
}

#[test]
fn a_graphs_memory_comes_and_goes_while_another_thread_looks() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    begin(&stream);
    allocate(&stream, 1 << 18).drop_async(&stream).unwrap();
    let graph = end(&stream, 0).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (_context, stream) = (context(), Stream::new());
            let values = DeviceBuffer::from_slice(&[0_u32; 32]).unwrap();
            while !is_over.load(Ordering::Relaxed) {
                launch!(increment, &stream, 1, 0, values.address()).unwrap();
                stream.synchronize().unwrap();
            }
        });
        for _ in 0..300 {
            assert_eq!(graph.launch(&stream), Code::CUDA_SUCCESS);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(software_gpu::take_reports().is_empty());
}

#[test]
fn a_capture_frees_only_what_it_allocated() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    let before = allocate(&stream, 8);
    let address = before.address();
    begin(&stream);
    assert_eq!(before.drop_async(&stream), Err(Code::CUDA_ERROR_INVALID_VALUE));
    assert_eq!(only_report().kind, Kind::Range);
    end(&stream, 0).unwrap();
    // The free was refused, so it is still ours.
    DeviceBuffer::<u32>::from_raw_parts(address, 8).drop_async(&stream).unwrap();
}

#[test]
fn what_cannot_be_captured_invalidates_the_capture() {
    let (_turn, _context) = (alone(), context());
    let stream = stream();
    let status = |expected: i32| {
        let mut found = 0;
        // SAFETY: the stream is alive.
        let code = unsafe { sys::cuStreamIsCapturing(stream.raw(), &mut found) };
        assert_eq!((code, found), (Code::CUDA_SUCCESS, expected));
    };
    let (none, active, invalidated) = (0, 1, 2);
    status(none);
    begin(&stream);
    status(active);
    // SAFETY: the stream is alive.
    let waited = unsafe { sys::cuStreamSynchronize(stream.raw()) };
    assert_eq!(waited, Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    status(invalidated);
    // SAFETY: as above.
    let waited = unsafe { sys::cuStreamSynchronize(stream.raw()) };
    assert_eq!(waited, Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    let ended = end(&stream, 0).err();
    assert_eq!(ended, Some(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
    status(none);
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
    let refused = unsafe { stream.launch(function, (1, 1), 64, 0, &arguments) };
    assert_eq!(refused, Err(Code::CUDA_ERROR_INVALID_VALUE));
    assert_eq!(only_report().kind, Kind::Launch);
    end(&stream, 0).unwrap();
}
