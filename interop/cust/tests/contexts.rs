//! The contexts of a program that has two devices: whose stream it is, and which one is current. A binary of
//! its own, since it sets how many devices there are.

use std::sync::Arc;

use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::stream::{Stream, StreamFlags};
use gpu_core::{DeviceChoice, Error, Gpu, cust_init};

/// The contexts of both devices, that of the first current.
fn contexts() -> [Context; 2] {
    // SAFETY: this test is alone in its process, and no thread but its own runs yet.
    unsafe { std::env::set_var("TESSERA_SOFTWARE_DEVICES", "2") };
    cust_init(DeviceChoice::Software).unwrap();
    let [second, first] = [1, 0].map(|n| Context::new(Device::get_device(n).unwrap()).unwrap());
    [first, second]
}

fn stream(context: &Context) -> Arc<Stream> {
    CurrentContext::set_current(context).unwrap();
    Arc::new(Stream::new(StreamFlags::NON_BLOCKING, None).unwrap())
}

fn current() -> i32 {
    CurrentContext::get_device().unwrap().as_raw()
}

#[test]
fn a_stream_is_held_against_the_context_and_the_callers_context_stays_current() {
    let contexts = contexts();
    let streams = [stream(&contexts[0]), stream(&contexts[1])];

    let refused = Gpu::from_cust(&contexts[0], Arc::clone(&streams[1])).unwrap_err();
    assert_eq!(refused, Error::OtherGpu { handle: 0, memory: 1 });
    let refused = Gpu::from_cust(&contexts[1], Arc::clone(&streams[0])).unwrap_err();
    assert_eq!(refused, Error::OtherGpu { handle: 1, memory: 0 });

    for own in [0, 1] {
        CurrentContext::set_current(&contexts[own]).unwrap();
        let handles =
            [0, 1].map(|n| Gpu::from_cust(&contexts[n], Arc::clone(&streams[n])).unwrap());
        assert_eq!(current(), own as i32, "from_cust");
        for gpu in handles {
            let column = gpu.upload(&[1_u32; 1000]).unwrap();
            assert_eq!(current(), own as i32, "upload");
            let graph = gpu.capture(|| {
                assert_eq!(current(), own as i32, "capture");
                gpu.zeroed::<u32>(10).map(drop)
            });
            // SAFETY: it uses its own memory only.
            unsafe { graph.unwrap().launch().unwrap() };
            assert_eq!(current(), own as i32, "launch");
            let fork = gpu.fork().unwrap();
            drop(fork.admit(&column).unwrap());
            gpu.time(|| Ok::<_, Error>(assert_eq!(current(), own as i32, "time"))).unwrap();
            // Large enough to go in pieces, by several threads.
            let large = gpu.upload(&vec![1_u8; 9 << 20]).unwrap();
            assert_eq!(large.to_host().unwrap(), vec![1; 9 << 20]);
            drop((large, fork, gpu.page_locked::<u8>(100).unwrap()));
            assert_eq!(column.to_host().unwrap(), [1; 1000]);
            drop((column, gpu));
            assert_eq!(current(), own as i32, "drop");
        }
    }
}
