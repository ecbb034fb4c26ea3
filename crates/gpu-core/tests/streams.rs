//! Columns of one stream in the work of another: ordered, handed over, or refused; never a race.
//! On the software device a missing order is an error, whatever the result.
#![cfg(feature = "cuda")]

mod common;

use common::{enqueue, expected, gpu};
use gpu_core::{Column, Error, Gpu, Slice, SliceMut};

/// `x[i] = 2 x[i] + i`, on the stream of `gpu`: the launch admits the slice in the struct of arguments.
fn work<'a>(gpu: &Gpu, x: impl Into<SliceMut<'a, f32>>) -> Result<(), Error> {
    enqueue(gpu, x, 2.0)
}

const N: usize = 10_000;

fn ones(gpu: &Gpu) -> Column<f32> {
    gpu.upload(&[1.0; N]).unwrap()
}

#[test]
fn work_on_a_column_of_another_stream_comes_in_the_order_of_the_calls() {
    let (a, b) = (gpu(), gpu());
    let mut x = ones(&a);
    work(&a, &mut x).unwrap();
    work(&b, &mut x).unwrap();
    work(&a, &mut x).unwrap();
    work(&b, &mut x).unwrap();
    let once = |x: Vec<f32>| expected(&x, 2.0);
    assert_eq!(x.to_host().unwrap(), once(once(once(once(vec![1.0; N])))));
}

#[test]
fn a_column_dropped_while_another_stream_reads_it_stays_until_then() {
    let a = gpu();
    let b = a.fork().unwrap();
    for round in 0..20 {
        let source = a.upload(&vec![round as f32; 1 << 16]).unwrap();
        let mut copy = b.zeroed(1 << 16).unwrap();
        copy.copy_from(&source).unwrap();
        drop(source);
        let other = a.filled_with_byte::<u32>(0xff, 1 << 16).unwrap();
        assert_eq!(copy.to_host().unwrap(), vec![round as f32; 1 << 16]);
        drop(other);
    }
}

#[test]
fn a_column_handed_over_lives_on_the_other_stream() {
    let (a, b) = (gpu(), gpu());
    let mut x = ones(&a);
    work(&a, &mut x).unwrap();
    let mut x = x.move_to(&b).unwrap();
    drop(a);
    work(&b, &mut x).unwrap();
    assert_eq!(x.to_host().unwrap(), expected(&expected(&[1.0; N], 2.0), 2.0));
}

#[test]
fn memory_of_another_stream_is_refused_in_a_capture() {
    let (a, b) = (gpu(), gpu());
    let mut x = ones(&a);
    let refused = b.capture(|| work(&b, &mut x));
    assert!(matches!(refused, Err(Error::Captured { .. })), "{refused:?}");
    // And the other way round: that stream captures, this one does not.
    let refused = a.capture(|| work(&b, &mut x));
    assert!(matches!(refused, Err(Error::Captured { .. })), "{refused:?}");
    work(&b, &mut x).unwrap();
    assert_eq!(x.to_host().unwrap(), expected(&[1.0; N], 2.0));
}

#[test]
fn memory_of_a_graph_is_refused_until_the_graph_was_launched() {
    let (a, b) = (gpu(), gpu());
    let mut kept = None;
    let graph = a.capture(|| {
        let mut made = a.zeroed::<f32>(N)?;
        work(&a, &mut made)?;
        kept = Some(made);
        Ok::<_, Error>(())
    });
    let (graph, mut kept) = (graph.unwrap(), kept.unwrap());
    assert_eq!(kept.to_host().unwrap_err(), Error::NotLaunched);
    assert_eq!(work(&b, &mut kept).unwrap_err(), Error::NotLaunched);
    assert_eq!(ones(&a).copy_from(&kept).unwrap_err(), Error::NotLaunched);
    // SAFETY: it uses its own memory only.
    unsafe { graph.launch().unwrap() };
    assert_eq!(kept.to_host().unwrap(), expected(&[0.0; N], 2.0));
    work(&b, &mut kept).unwrap();
    assert_eq!(kept.to_host().unwrap(), expected(&expected(&[0.0; N], 2.0), 2.0));
}

#[test]
fn memory_of_a_graph_that_was_never_launched_can_be_dropped() {
    let gpu = gpu();
    let mut kept = None;
    let graph = gpu.capture(|| {
        kept = Some(gpu.zeroed::<f32>(N)?);
        Ok::<_, Error>(())
    });
    drop((kept, graph));
    work(&gpu, &mut ones(&gpu)).unwrap();
    gpu.synchronize().unwrap();
}

/// A slice of raw parts knows no stream: so a launch cannot order itself, and the software device says so.
#[test]
fn work_that_is_not_ordered_is_found() {
    let (a, b) = (gpu(), gpu());
    if !a.is_software() {
        return;
    }
    let mut x = ones(&a);
    work(&a, &mut x).unwrap();
    // SAFETY: none for the order, on purpose: here work is done in the order of the calls.
    let found = work(&b, unsafe { SliceMut::from_raw_parts(x.as_mut_ptr(), N) });
    assert!(matches!(found, Err(Error::Driver { .. })), "{found:?}");
    a.wait_for(&b).unwrap();
    drop(x);
}

#[test]
fn a_forked_handle_can_go_on_a_thread_that_never_held_a_context() {
    let forked = gpu().fork().unwrap();
    let x = ones(&forked);
    std::thread::spawn(move || drop((forked, x))).join().unwrap();
    assert_eq!(ones(&gpu()).to_host().unwrap(), [1.0; N]);
}

#[test]
fn a_slice_can_be_taken_for_elements_of_the_same_size() {
    let gpu = gpu();
    let mut bits = gpu.zeroed::<u32>(N).unwrap();
    gpu.copy(Slice::from(&ones(&gpu)).cast::<u32>(), &mut bits).unwrap();
    assert_eq!(bits.to_host().unwrap(), [1.0_f32.to_bits(); N]);
    let floats = SliceMut::from(&mut bits).cast::<f32>();
    work(&gpu, floats).unwrap();
    let expected: Vec<u32> = expected(&[1.0; N], 2.0).iter().map(|x| x.to_bits()).collect();
    assert_eq!(bits.to_host().unwrap(), expected);
    let refused = |cast: fn(Slice<'_, u32>)| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cast((&bits).into()))).is_err()
    };
    assert!(refused(|slice| _ = slice.cast::<u64>()) && refused(|slice| _ = slice.cast::<u16>()));
}

#[test]
fn a_slice_can_be_cut_and_crosses_threads() {
    let gpu = gpu();
    let mut x = ones(&gpu);
    let (left, right) = SliceMut::from(&mut x).split_at(N / 2).unwrap();
    std::thread::scope(|scope| {
        let gpu = &gpu;
        scope.spawn(move || work(gpu, left).unwrap());
    });
    assert_eq!(right.len(), N / 2);
    let (left, right) = Slice::from(&x).split_at(N / 2).unwrap();
    assert_eq!((left.len(), right.len()), (N / 2, N / 2));
    assert!(left.split_at(N).is_err() && right.slice(2..N).is_err());
    let backwards = std::ops::Range { start: 1, end: 0 };
    assert!(right.slice(backwards).is_err());
    let mut whole = expected(&[1.0; N / 2], 2.0);
    whole.extend([1.0; N / 2]);
    assert_eq!(x.to_host().unwrap(), whole);
}
