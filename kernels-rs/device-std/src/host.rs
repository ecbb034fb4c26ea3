//! The host's description of a kernel, and the calls of a kernel's thread to the software device.
//!
//! The `#[kernel]` attribute fills in [`Kernel`] and [`HostKernel`]; `gpu-core` launches them;
//! `software-gpu` runs them and implements [`DeviceThread`].

use std::any::type_name;
use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The PTX of a module for one architecture level, or what was compiled from it.
#[derive(Debug)]
pub struct PtxImage {
    /// Lowest compute capability that runs it, as `10 * major + minor`; for compiled code, the lowest of its major
    /// version.
    pub level: u32,
    /// The PTX.
    pub text: PtxText,
}

/// PTX as a program carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PtxText {
    /// Plain text.
    Plain(&'static str),
    /// As a DEFLATE stream (RFC 1951): a fifth of the size.
    Deflated(&'static [u8]),
    /// Compiled for one architecture (a cubin), as a DEFLATE stream.
    Compiled(&'static [u8]),
}

impl PtxImage {
    /// Whether a device of some compute capability can run it.
    pub fn runs_on(&self, (major, minor): (u32, u32)) -> bool {
        match self.text {
            PtxText::Compiled(_) => self.level / 10 == major && self.level % 10 <= minor,
            PtxText::Plain(_) | PtxText::Deflated(_) => self.level <= 10 * major + minor,
        }
    }
}

/// The kernels of one algorithm, whose PTX is one text.
#[derive(Debug)]
pub struct PtxModule {
    /// The algorithm's name, and the stem of the PTX file names.
    pub name: &'static str,
    /// The module's images, lowest level first. None where the crate embeds no PTX.
    pub images: &'static [PtxImage],
}

/// How one kernel parameter is passed.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The type, as Rust names it.
    pub type_name: fn() -> &'static str,
    /// Bytes that the software device reads. A GPU's driver reads only the first eight bytes of a slice, the pointer.
    pub size: usize,
    /// For a slice, a [`Wire`](crate::slice::Wire): the bytes of an element, and what the kernel does with it.
    pub slice: Option<(usize, Access)>,
}

impl Parameter {
    /// The parameter for a scalar or raw pointer type.
    pub const fn of<T: Copy>() -> Self {
        Self { type_name: type_name::<T>, size: size_of::<T>(), slice: None }
    }

    /// The parameter for a slice whose elements have `element` bytes.
    pub const fn slice<W: Copy>(element: usize, access: Access) -> Self {
        Self { slice: Some((element, access)), ..Self::of::<W>() }
    }

    /// How the kernel accesses the memory that the parameter points to; `None` for a scalar. Through a raw pointer that
    /// is not `const`, it may write.
    pub fn access(&self) -> Option<Access> {
        let by_name = || match (self.type_name)() {
            name if name.starts_with("*const") => Some(Access::Read),
            name if name.starts_with('*') => Some(Access::Write),
            _ => None,
        };
        self.slice.map(|(_, access)| access).or_else(by_name)
    }
}

/// Where the memory of a slice lives: words that only the launching runtime reads.
#[derive(Clone, Copy)]
pub struct Home<'a> {
    words: [MaybeUninit<usize>; 3],
    is_known: bool,
    owner: PhantomData<&'a ()>,
}

impl<'a> Home<'a> {
    /// No home, as for a slice in a kernel.
    pub const NONE: Self =
        Self { words: [MaybeUninit::uninit(); 3], is_known: false, owner: PhantomData };

    /// The runtime's words.
    pub fn new(words: [MaybeUninit<usize>; 3]) -> Self {
        Self { words, is_known: true, owner: PhantomData }
    }

    /// The words that it was made of.
    pub fn words(self) -> Option<[MaybeUninit<usize>; 3]> {
        self.is_known.then_some(self.words)
    }
}

/// The function that runs one thread of a kernel; it takes a pointer to each argument, as `cuLaunchKernel` does.
pub type Entry = unsafe fn(*const *const c_void);

/// A kernel as the software device runs it.
#[derive(Debug)]
pub struct HostKernel {
    /// The module that it is part of; module and name identify a kernel.
    pub module: &'static PtxModule,
    /// Its name in the module.
    pub name: &'static str,
    /// Threads of a block; blocks are one-dimensional.
    pub block: u32,
    /// The parameters, in order.
    pub parameters: &'static [Parameter],
    /// The function that the software device runs; `None` if this crate was built without its feature `software`.
    pub entry: Option<Entry>,
}

impl HostKernel {
    /// The entry point's name in the PTX.
    pub fn entry_name(&self) -> String {
        format!("{}__{}", self.module.name, self.name)
    }
}

/// A kernel with the type of its arguments: all that a launch needs.
///
/// The type is covariant: a kernel of `Args<'static>` is one of `Args<'a>`.
pub struct Kernel<Arguments> {
    /// Name, block size, parameters, host function.
    pub host: &'static HostKernel,
    /// Takes a `&Arguments`.
    shared: unsafe fn(*const c_void) -> u32,
    arguments: PhantomData<fn() -> Arguments>,
}

impl<Arguments> Kernel<Arguments> {
    /// Called by the `#[kernel]` attribute.
    ///
    /// # Safety
    /// `shared` takes arguments of any lifetime, not just those that the type has here.
    pub const unsafe fn new(host: &'static HostKernel, shared: fn(&Arguments) -> u32) -> Self {
        // SAFETY: both take one thin pointer.
        let shared: unsafe fn(*const c_void) -> u32 = unsafe { std::mem::transmute(shared) };
        Self { host, shared, arguments: PhantomData }
    }

    /// The bytes of shared memory that a block needs, as the kernel declares it.
    pub fn shared_bytes(&self, arguments: &Arguments) -> u32 {
        // SAFETY: the function takes such a reference.
        unsafe { (self.shared)((&raw const *arguments).cast()) }
    }
}

/// Returns `of(arguments)`; the signature gives the closure its argument's type.
pub fn bytes_of<Arguments>(arguments: &Arguments, of: impl FnOnce(&Arguments) -> u32) -> u32 {
    of(arguments)
}

impl<Arguments> Clone for Kernel<Arguments> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Arguments> Copy for Kernel<Arguments> {}

/// A kernel's arguments: the struct `Args` that the `#[kernel]` attribute makes.
pub trait Arguments {
    /// Calls `give` with a pointer to each argument as it is passed: scalars, raw pointers, and each slice as a
    /// [`Wire`](crate::slice::Wire).
    fn with_pointers<R>(&self, give: impl FnOnce(&mut [*mut c_void]) -> R) -> R;

    /// Calls `visit` for each slice, with where its memory lives and how the kernel accesses it.
    fn each_slice<'s>(&'s self, visit: &mut dyn FnMut(Home<'s>, Access));
}

/// How a thread touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write that other atomics may meet.
    Atomic,
}

/// The thread of a kernel that is running now on the software device.
///
/// The methods that wait ([`barrier`](Self::barrier), [`exchange`](Self::exchange),
/// [`pause`](Self::pause)) let other threads of the launch run before they return.
pub trait DeviceThread {
    /// Index of the thread in its block.
    fn thread_index(&self) -> u32;
    /// Index of the block, in x, y, z.
    fn block_index(&self) -> [u32; 3];
    /// Threads of a block.
    fn block_size(&self) -> u32;
    /// Blocks of the grid, in x, y, z.
    fn grid_size(&self) -> [u32; 3];
    /// Bytes of dynamic shared memory of the block.
    fn shared_size(&self) -> u32;

    /// Waits until every thread of the block has come here.
    fn barrier(&self);

    /// Exchanges values in a warp: waits until each lane of `mask` has called an exchange with the same `operation` and
    /// mask. Then it calls `take` once with the values of all lanes: lane `i`'s value at `i`, and 0 for lanes outside
    /// the mask. All warp operations are made from it; `take` itself calls none of them.
    fn exchange(
        &self,
        mask: u32,
        operation: &'static str,
        value: u64,
        take: &mut dyn FnMut(&[u64; 32]),
    );

    /// Lets other threads and blocks run: a spin loop must call it.
    fn pause(&self);

    /// Checks an access to `size` bytes of shared memory at `offset` (bounds, races) and returns
    /// the address.
    fn shared(&self, offset: u32, size: u32, access: Access) -> *mut u8;

    /// Ends the launch, because the thread made an access outside a slice; `what` describes it.
    fn outside(&self, what: String) -> !;
}

thread_local! {
    static CURRENT: Cell<Option<NonNull<dyn DeviceThread>>> = const { Cell::new(None) };
}

/// Makes `thread` the running thread of this OS thread; returns the previous one.
///
/// # Safety
/// `thread` must stay valid until the next call.
pub unsafe fn set_current(
    thread: Option<NonNull<dyn DeviceThread>>,
) -> Option<NonNull<dyn DeviceThread>> {
    CURRENT.replace(thread)
}

/// Calls `f` with the running thread.
///
/// # Panics
/// If this OS thread is not running a kernel: device functions were called from host code.
pub(crate) fn current<R>(f: impl FnOnce(&dyn DeviceThread) -> R) -> R {
    let thread = CURRENT.get().expect("a device function was called outside a kernel");
    // SAFETY: `set_current`'s caller keeps the thread valid while it is current.
    f(unsafe { thread.as_ref() })
}

/// Reports an access outside a slice and ends the launch; outside a kernel, panics.
pub(crate) fn outside(what: String) -> ! {
    match CURRENT.get() {
        // SAFETY: as above.
        Some(thread) => unsafe { thread.as_ref() }.outside(what),
        None => panic!("{what}"),
    }
}
