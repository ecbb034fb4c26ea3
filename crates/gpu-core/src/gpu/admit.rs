//! The order of work on memory of another stream.
//!
//! A column belongs to one stream, which wrote it and will free it. Work of another stream on the column must come
//! after all work that the column's stream has by now, and before all that it gets later. So a handle *admits* each
//! slice before it enqueues work on the slice. [`Gpu::enqueue`] admits the slices among a kernel's arguments by itself.
//! A function that passes on an address calls [`Gpu::admit`] itself, and keeps the result until the work is enqueued:
//!
//! 1. At the admission, the handle's stream waits for the memory's stream.
//! 2. When the admission is dropped, the memory's stream waits for the handle's stream.
//!
//! Usually both are the same stream, and admission costs a comparison.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use cuda_driver::sys::CUstream;
use device_std::host::{self, Access, Arguments};
use device_std::slice::Argument;
use device_std::{In, Out};

use crate::gpu::column::Owner;
#[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
use crate::gpu::foreign::{Buffer, Reserved};
use crate::gpu::stream::order_outside_captures;
use crate::{Column, Element, Gpu, Result, Slice, SliceMut};

/// Where memory lives.
#[derive(Clone, Copy)]
pub(crate) enum Home<'a> {
    /// On the stream of a column's handle.
    Column(&'a Owner),
    /// Whoever made the slice from raw parts has promised the order.
    Promised,
    /// On the stream of a buffer of another crate.
    #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
    Foreign(Buffer<'a>),
}

/// A home in the words that a kernel's argument carries it in.
type Words = [MaybeUninit<usize>; 3];

/// The words of a home; unused ones are not read.
union Packed<'a> {
    home: Home<'a>,
    words: Words,
}

const _: () = assert!(size_of::<Home<'_>>() <= size_of::<Words>());

impl<'a> Home<'a> {
    fn pack(self) -> host::Home<'a> {
        let mut packed = Packed { words: [MaybeUninit::uninit(); 3] };
        packed.home = self;
        // SAFETY: any bytes are such words.
        host::Home::new(unsafe { packed.words })
    }

    /// None where a slice was made from raw parts in a kernel's way: whoever did has promised the order.
    fn unpack(home: host::Home<'a>) -> Self {
        let Some(words) = home.words() else { return Home::Promised };
        // SAFETY: `pack` alone makes homes with words, for slices that live as long.
        unsafe { Packed { words }.home }
    }
}

impl<'a, T> Slice<'a, T> {
    /// The slice as an argument of a kernel that reads it.
    pub fn input(self) -> In<'a, T> {
        // SAFETY: the slice has this many elements, which stay while it lives.
        unsafe { In::with_home(self.as_ptr(), self.len(), self.home.pack()) }
    }
}

impl<'a, T> SliceMut<'a, T> {
    /// The slice as an argument of a kernel that writes it.
    pub fn output(mut self) -> Out<'a, T> {
        // SAFETY: the slice has this many elements, which stay while it lives.
        unsafe { Out::with_home(self.as_mut_ptr(), self.len(), self.home.pack()) }
    }
}

impl<T: Element> Column<T> {
    /// The column as an argument of a kernel that reads it.
    pub fn input(&self) -> In<'_, T> {
        Slice::from(self).input()
    }

    /// The column as an argument of a kernel that writes it.
    pub fn output(&mut self) -> Out<'_, T> {
        SliceMut::from(self).output()
    }
}

impl Gpu {
    /// While the result lives, work that is enqueued on this handle is in order with the slice's own stream. Every
    /// function that passes a slice's address to a launch or a copy must call it.
    ///
    /// # Errors
    /// [`Error::OtherGpu`](crate::Error::OtherGpu) for memory of another device; [`Error::Captured`](crate::Error::Captured) for memory of another
    /// stream while either captures; [`Error::NotLaunched`](crate::Error::NotLaunched) for memory of a graph that was never
    /// launched; [`Error::Driver`](crate::Error::Driver).
    pub fn admit<'a, T>(&self, slice: impl Into<Slice<'a, T>>) -> Result<Reading<'a, T>> {
        let slice = slice.into();
        Ok(Reading { _order: self.order(slice.home, Access::Read)?, slice })
    }

    /// Admits a slice that the work writes.
    ///
    /// # Errors
    /// The errors of [`Gpu::admit`].
    pub fn admit_mut<'a, T>(&self, slice: impl Into<SliceMut<'a, T>>) -> Result<Writing<'a, T>> {
        let slice = slice.into();
        Ok(Writing { _order: self.order(slice.home, Access::Write)?, slice })
    }

    /// Checks that a launch would admit a slice, if there is one. A call of several launches checks all of its slices
    /// before the first one, so that it is enqueued whole or not at all.
    ///
    /// # Errors
    /// The errors of [`Gpu::admit`].
    pub fn check_argument(&self, slice: &impl Argument) -> Result<()> {
        match slice.home() {
            Some((home, access)) => self.order(Home::unpack(home), access).map(drop),
            None => Ok(()),
        }
    }

    /// Admits each slice among a kernel's arguments; the work on them is in order while the result lives.
    pub(crate) fn admit_all<'a>(&self, arguments: &'a impl Arguments) -> Result<Vec<Order<'a>>> {
        let mut admitted = Ok(Vec::new());
        arguments.each_slice(&mut |home, access| {
            let Ok(orders) = &mut admitted else { return };
            match self.order(Home::unpack(home), access) {
                Ok(order) => orders.extend(order),
                Err(error) => admitted = Err(error),
            }
        });
        admitted
    }

    #[cfg_attr(
        not(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust")),
        expect(unused_variables)
    )]
    fn order<'a>(&self, home: Home<'a>, access: Access) -> Result<Option<Order<'a>>> {
        match home {
            Home::Promised => Ok(None),
            Home::Column(owner) => {
                if !owner.is_of_capture_on(self) {
                    owner.check_launched()?;
                }
                self.same_device(owner.gpu.opened.device)?;
                let streams = self.order_after(owner.gpu.stream.raw())?;
                Ok(streams.map(|streams| Order::new(self, Some(streams))))
            }
            #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
            Home::Foreign(buffer) => self.order_foreign(buffer, access).map(Some),
        }
    }

    /// The order with a buffer of another crate.
    #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
    fn order_foreign<'a>(&self, buffer: Buffer<'a>, access: Access) -> Result<Order<'a>> {
        let _current = self.make_current()?;
        let place = buffer.place(self.stream.own())?;
        self.same_device(place.device)?;
        if place.is_freed_at_once {
            self.refuse_in_capture("memory that its owner frees in no stream's order")?;
        }
        // A graph that is recorded here runs on the handle's own stream.
        let is_own = place.stream == self.stream.own();
        let stream = if is_own { self.stream.raw() } else { place.stream };
        let reserved = buffer.reserve(self, access)?;
        buffer.tell(access);
        let mut order = Order::new(self, self.order_after(stream)?);
        order.reserved = reserved;
        order.waits = place.is_freed_at_once;
        order.buffer = Some((buffer, access));
        Ok(order)
    }

    /// Lets this handle's stream wait for the memory's, if they are two: this one and that one.
    fn order_after(&self, memory: CUstream) -> Result<Option<(CUstream, CUstream)>> {
        let own = self.stream.raw();
        if memory == own {
            return Ok(None);
        }
        let _current = self.make_current()?;
        order_outside_captures(memory, own)?;
        Ok(Some((own, memory)))
    }
}

/// The steps that remain once the work on a slice is enqueued.
pub(crate) struct Order<'a> {
    /// Dropped before the handle.
    #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
    reserved: Reserved,
    gpu: Gpu,
    /// The handle's stream and the memory's, where they are two.
    streams: Option<(CUstream, CUstream)>,
    /// Whether the work is waited for.
    waits: bool,
    #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
    buffer: Option<(Buffer<'a>, Access)>,
    slice: PhantomData<&'a ()>,
}

impl Order<'_> {
    fn new(gpu: &Gpu, streams: Option<(CUstream, CUstream)>) -> Self {
        Self {
            #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
            reserved: None,
            gpu: gpu.clone(),
            streams,
            waits: false,
            #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
            buffer: None,
            slice: PhantomData,
        }
    }
}

impl Drop for Order<'_> {
    fn drop(&mut self) {
        let current = self.gpu.make_current();
        let ordered = match self.streams {
            Some((own, memory)) => order_outside_captures(own, memory),
            None => Ok(()),
        };
        if self.waits || current.is_err() || ordered.is_err() {
            // An error of the wait is reported by the next one.
            let _ = self.gpu.synchronize();
        }
        // The buffer's owner is told after its stream waits for the work.
        #[cfg(any(test, feature = "cuda-core", feature = "cudarc", feature = "cust"))]
        if let Some((buffer, access)) = self.buffer {
            buffer.tell(access);
        }
    }
}

/// A [`Slice`] that a handle may read: see [`Gpu::admit`].
#[must_use = "the order holds while this lives"]
pub struct Reading<'a, T> {
    slice: Slice<'a, T>,
    _order: Option<Order<'a>>,
}

/// A [`SliceMut`] that a handle may write: see [`Gpu::admit_mut`].
#[must_use = "the order holds while this lives"]
pub struct Writing<'a, T> {
    slice: SliceMut<'a, T>,
    _order: Option<Order<'a>>,
}

impl<'a, T> Deref for Reading<'a, T> {
    type Target = Slice<'a, T>;

    fn deref(&self) -> &Slice<'a, T> {
        &self.slice
    }
}

impl<'a, T> Deref for Writing<'a, T> {
    type Target = SliceMut<'a, T>;

    fn deref(&self) -> &SliceMut<'a, T> {
        &self.slice
    }
}

impl<'a, T> DerefMut for Writing<'a, T> {
    fn deref_mut(&mut self) -> &mut SliceMut<'a, T> {
        &mut self.slice
    }
}

impl<T> fmt::Debug for Reading<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slice.fmt(f)
    }
}

impl<T> fmt::Debug for Writing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.slice.fmt(f)
    }
}

#[cfg(all(test, feature = "software"))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use cuda_driver::sys::CUdevice;

    use super::*;
    use crate::DeviceChoice;
    use crate::gpu::foreign::{Foreign, ForeignMut};

    /// Counts what it is told, without an atomic: two threads at once would lose some.
    struct Counting {
        column: Column<u32>,
        reads: AtomicU32,
        writes: u32,
        is_borrowed: bool,
    }

    impl Foreign for Counting {
        fn stream(&self, _own: CUstream) -> CUstream {
            assert!(!self.is_borrowed, "two references, of which one can write");
            self.column.gpu().stream.own()
        }

        fn device(&self) -> Result<CUdevice> {
            Ok(self.column.gpu().opened.device)
        }

        fn is_freed_at_once(&self) -> Result<bool> {
            Ok(false)
        }

        fn tell_read(&self) {
            assert!(!self.is_borrowed, "two references, of which one can write");
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl ForeignMut for Counting {
        fn tell_write(&mut self) {
            assert!(!self.is_borrowed, "two references, of which one can write");
            self.is_borrowed = true;
            let writes = self.writes;
            std::thread::yield_now();
            self.writes = writes + 1;
            self.is_borrowed = false;
        }
    }

    fn slice(buffer: &mut Counting) -> SliceMut<'_, u32> {
        let (start, len) = (buffer.column.as_mut_ptr(), buffer.column.len());
        let buffer: &mut dyn ForeignMut = buffer;
        SliceMut::new(start, len, Home::Foreign(Buffer::Mutable(buffer.into())))
    }

    #[test]
    fn halves_of_a_buffer_are_written_by_two_threads_and_referred_to_by_one_at_a_time() {
        let gpu = Gpu::open(DeviceChoice::Software).unwrap();
        let (reads, writes, is_borrowed) = (AtomicU32::new(0), 0, false);
        let column = gpu.zeroed(200).unwrap();
        let mut buffer = Counting { column, reads, writes, is_borrowed };
        let (left, right) = slice(&mut buffer).split_at(100).unwrap();
        let write = |mut half: SliceMut<u32>| {
            let gpu = gpu.fork().unwrap();
            for _ in 0..200 {
                let mut half = gpu.admit_mut(half.reborrow()).unwrap();
                // SAFETY: the half is admitted, and has this many elements.
                unsafe { gpu.fill_with_byte(half.as_mut_ptr(), 1, half.len()).unwrap() };
                drop(gpu.admit(&*half).unwrap());
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| write(left));
            scope.spawn(|| write(right));
        });
        let shared = Home::Foreign(Buffer::Shared(&buffer));
        drop(gpu.admit(Slice::new(buffer.column.as_ptr(), 200, shared)).unwrap());
        assert_eq!(buffer.writes, 2 * 200 * 2, "as each use begins, and as it ends");
        assert_eq!(buffer.reads.into_inner(), 2 * 200 * 2 + 2);
        assert_eq!(buffer.column.to_host().unwrap(), vec![0x01010101; 200]);
    }
}
