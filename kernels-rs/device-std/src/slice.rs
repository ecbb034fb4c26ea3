//! Slices of device memory, as a kernel takes them: it reads [`In`] and writes [`Out`].
//!
//! Compiled for a GPU, a slice is a pointer and nothing else. On the host it is pointer, length and owner, by which a
//! launch orders itself with the owner's stream (`Gpu::enqueue` in gpu-core). On the software device it is pointer and
//! length, and each access is checked.
//!
//! # The contract
//!
//! [`get`](In::get), [`set`](Out::set) and the other accesses are safe functions, and on a GPU they check nothing. The
//! code that makes a slice answers for each access through it and its copies:
//!
//! 1. **Every index lies inside.** The software device checks that at each access. It reports kernel, thread, slice and
//!    index of the first access that does not.
//! 2. **No two threads touch one element at the same time**, unless both read it or both access it by atomics.
//!    "At the same time" is without a barrier, an atomic or the end of a launch between the two. Nothing checks
//!    this for global memory.
//! 3. **Every element that is read was written before**, and its bits are a `T`.
//!
//! On the device only a kernel's entry makes slices, from the launch's arguments. A kernel is therefore an `unsafe fn`,
//! whose safety section says what the arguments must be so that 1 to 3 hold. Hence `Gpu::enqueue` is unsafe, and its
//! caller must ensure this. `unsafe` in a kernel's body marks what goes beyond this: barriers, shared memory, and
//! accesses by [`address`](In::address).

use core::fmt;
use core::marker::PhantomData;

use crate::atomic;
use crate::scalar::Scalar;
use crate::vector::{self, Vector};

#[cfg(not(target_arch = "nvptx64"))]
use crate::host::{self, Access, Home, Parameter};

/// Where an element lies from the beginning of a slice: a number of elements, or [`Bytes`]. It may be negative in a
/// [part](In::from) that does not begin where the slice does.
pub trait Index: Copy {
    /// As a number of elements.
    fn number<T>(self) -> isize;

    /// The address of the element.
    ///
    /// # Safety
    /// It is in the same allocation as `start`, or at its end.
    unsafe fn after<T>(self, start: *mut T) -> *mut T;

    /// The address of the element, which may lie anywhere.
    fn wrapping_after<T>(self, start: *mut T) -> *mut T;
}

/// An offset in bytes, which are whole elements: for callers that have a product of rows and bytes of a row.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub usize);

impl Bytes {
    /// `n` times the offset.
    #[inline(always)]
    pub fn times(self, n: usize) -> Self {
        Self(n * self.0)
    }
}

impl Index for Bytes {
    #[inline(always)]
    fn number<T>(self) -> isize {
        (self.0 / size_of::<T>()) as isize
    }

    #[inline(always)]
    unsafe fn after<T>(self, start: *mut T) -> *mut T {
        // SAFETY: passed on to the caller.
        unsafe { start.byte_add(self.0) }
    }

    #[inline(always)]
    fn wrapping_after<T>(self, start: *mut T) -> *mut T {
        start.wrapping_byte_add(self.0)
    }
}

macro_rules! index {
    ($($type:ty, $add:ident, $wrapping_add:ident, $as:ty;)+) => {$(
        impl Index for $type {
            #[inline(always)]
            fn number<T>(self) -> isize {
                self as isize
            }

            #[inline(always)]
            unsafe fn after<T>(self, start: *mut T) -> *mut T {
                // SAFETY: passed on to the caller.
                unsafe { start.$add(self as $as) }
            }

            #[inline(always)]
            fn wrapping_after<T>(self, start: *mut T) -> *mut T {
                start.$wrapping_add(self as $as)
            }
        }
    )+};
}

index! {
    u32, add, wrapping_add, usize;
    u64, add, wrapping_add, usize;
    usize, add, wrapping_add, usize;
    i32, offset, wrapping_offset, isize;
    i64, offset, wrapping_offset, isize;
    isize, offset, wrapping_offset, isize;
}

/// A slice of device memory that a kernel reads: as `&'a [T]`, without its checks.
///
/// gpu-core makes it from a column or a slice: `column.input()`.
pub struct In<'a, T> {
    start: *const T,
    #[cfg(not(target_arch = "nvptx64"))]
    host: OnHost<'a>,
    elements: PhantomData<(&'a (), T)>,
}

/// A slice of device memory that a kernel writes, and may read: as `&'a [Cell<T>]` that all threads share,
/// without its checks.
///
/// gpu-core makes it from a column or a slice that is borrowed mutably: `column.output()`.
pub struct Out<'a, T> {
    start: *mut T,
    #[cfg(not(target_arch = "nvptx64"))]
    host: OnHost<'a>,
    elements: PhantomData<(&'a (), *mut T)>,
}

/// The host's data on a slice, beside its address.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
struct OnHost<'a> {
    /// Elements before the address, if the slice is a part.
    before: isize,
    /// Elements from the address on.
    len: isize,
    /// The argument's name, in a kernel.
    name: &'static str,
    home: Home<'a>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl<'a> OnHost<'a> {
    fn new(len: usize, name: &'static str, home: Home<'a>) -> Self {
        Self { before: 0, len: len as isize, name, home }
    }

    /// Ends the kernel unless `count` elements from `i` on are inside.
    #[inline(always)]
    fn check(&self, i: isize, count: usize, access: Access) {
        if i < -self.before || i > self.len || ((self.len - i) as usize) < count {
            self.refuse(i, count, access);
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, i: isize, count: usize, access: Access) -> ! {
        let verb = match access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic operation",
        };
        let (i, len) = (self.before as i128 + i as i128, self.before + self.len);
        let place = match count {
            1 => format!("index {i}"),
            _ => format!("indices {i} to {}", i + count as i128 - 1),
        };
        let name = if self.name.is_empty() { "a slice" } else { self.name };
        host::outside(format!("{verb} at {place} of `{name}`, which has {len} elements"))
    }

    fn checked_from(self, start: isize) -> Self {
        self.check(start, 0, Access::Read);
        self.from(start)
    }

    fn from(self, start: isize) -> Self {
        Self { before: self.before + start, len: self.len - start, ..self }
    }

    /// The same memory in elements of another size.
    fn cast(self, from: usize, to: usize) -> Self {
        let scaled = |n: isize| n * from as isize / to as isize;
        Self { before: scaled(self.before), len: scaled(self.len), ..self }
    }
}

/// The kind of an access, for the check; nothing on a GPU.
#[cfg(not(target_arch = "nvptx64"))]
type HostAccess = Access;
#[cfg(target_arch = "nvptx64")]
type HostAccess = ();

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! host_access {
    ($access:ident) => {
        Access::$access
    };
}
#[cfg(target_arch = "nvptx64")]
macro_rules! host_access {
    ($access:ident) => {
        ()
    };
}

macro_rules! both {
    ($slice:ident, $pointer:ty, $null:path, $access:ident) => {
        impl<T> Clone for $slice<'_, T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $slice<'_, T> {}

        // SAFETY: the maker of a slice answers for all accesses; see the contract.
        unsafe impl<T: Sync> Send for $slice<'_, T> {}
        // SAFETY: as above.
        unsafe impl<T: Sync> Sync for $slice<'_, T> {}

        impl<T> fmt::Debug for $slice<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($slice), "({:p})"), self.start)
            }
        }

        impl<'a, T> $slice<'a, T> {
            /// A slice of `len` elements from `start` on, in a kernel. On a GPU the length is not kept.
            ///
            /// # Safety
            /// There are `len` elements, for as long as the slice and its copies are used. The caller also answers for
            /// the rest of [the contract](self#the-contract).
            #[inline(always)]
            pub unsafe fn from_raw_parts(start: $pointer, len: usize) -> Self {
                let _ = len;
                Self {
                    start,
                    #[cfg(not(target_arch = "nvptx64"))]
                    host: OnHost::new(len, "", Home::NONE),
                    elements: PhantomData,
                }
            }

            /// An argument of a launch. Only the runtime makes it, and gives the owner as [`Home`].
            ///
            /// # Safety
            /// There are `len` elements of device memory until the launches that take the slice have run. `home` comes
            /// from the launching runtime.
            #[cfg(not(target_arch = "nvptx64"))]
            pub unsafe fn with_home(start: $pointer, len: usize, home: Home<'a>) -> Self {
                Self { start, host: OnHost::new(len, "", home), elements: PhantomData }
            }

            /// Returns an argument of a launch for a slice that its kernel does not touch: null, without an element.
            #[cfg(not(target_arch = "nvptx64"))]
            pub fn empty() -> Self {
                Self { start: $null(), host: OnHost::new(0, "", Home::NONE), elements: PhantomData }
            }

            /// Returns whether the slice's address is null: then the host passed `empty`. Prefer an `Option`; use this
            /// only where an `Option` makes a kernel's machine code longer.
            #[inline(always)]
            pub fn is_missing(self) -> bool {
                self.start.is_null()
            }

            /// The address of the first element.
            #[inline(always)]
            pub fn start(self) -> $pointer {
                self.start
            }

            /// The address of element `i`, for an access that has no method here, to `count` elements from it on.
            #[inline(always)]
            pub fn address(self, i: impl Index, count: usize) -> $pointer {
                self.checked(i, count, host_access!($access))
            }

            /// The address of element `i`, after a check on the software device.
            #[inline(always)]
            fn checked(self, i: impl Index, count: usize, access: HostAccess) -> $pointer {
                let _ = (count, access);
                #[cfg(not(target_arch = "nvptx64"))]
                self.host.check(i.number::<T>(), count, access);
                // SAFETY: the element is inside, by the contract.
                unsafe { i.after(self.start as *mut T) }
            }

            /// Returns `address`, which was computed as a number. The software device first checks that it lies in an
            /// element of the slice.
            #[inline(always)]
            pub fn held(self, address: u64) -> u64 {
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let from = (address as i64).wrapping_sub(self.start as i64) as isize;
                    let i = from.div_euclid(size_of::<T>().max(1) as isize);
                    self.host.check(i, 1, Access::$access);
                }
                address
            }

            /// The elements from `start` on. In the result they are counted from 0, and the elements before from -1
            /// down.
            #[inline(always)]
            pub fn from(self, start: impl Index) -> Self {
                Self {
                    // SAFETY: inside or at the end, by the contract.
                    start: unsafe { start.after(self.start as *mut T) },
                    #[cfg(not(target_arch = "nvptx64"))]
                    host: self.host.checked_from(start.number::<T>()),
                    elements: PhantomData,
                }
            }

            /// The same, but `start` may lie beyond the slice; accesses may not.
            #[inline(always)]
            pub fn wrapping_from(self, start: impl Index) -> Self {
                Self {
                    start: start.wrapping_after(self.start as *mut T),
                    #[cfg(not(target_arch = "nvptx64"))]
                    host: self.host.from(start.number::<T>()),
                    elements: PhantomData,
                }
            }

            /// The same memory as elements of another type.
            ///
            /// # Safety
            /// The slice begins at an address that is aligned for `U`, and its bits are such elements.
            #[inline(always)]
            pub unsafe fn cast<U>(self) -> $slice<'a, U> {
                $slice {
                    start: self.start.cast(),
                    #[cfg(not(target_arch = "nvptx64"))]
                    host: self.host.cast(size_of::<T>(), size_of::<U>()),
                    elements: PhantomData,
                }
            }
        }

        impl<T: Copy> $slice<'_, T> {
            /// Element `i`.
            #[inline(always)]
            pub fn get(self, i: impl Index) -> T {
                // SAFETY: the element is inside and nobody writes it meanwhile, by the contract.
                unsafe { *self.checked(i, 1, host_access!(Read)) }
            }
        }

        impl<T: Scalar> $slice<'_, T> {
            /// The elements of 16 bytes, from element `i` on, which begins at a multiple of 16 bytes. They go
            /// through registers as one load.
            #[inline(always)]
            pub fn get_vector(self, i: impl Index) -> Vector {
                let p = self.checked(i, T::LANES, host_access!(Read));
                // SAFETY: the elements are inside and nobody writes them meanwhile, by the contract.
                unsafe { vector::load(p.cast()) }
            }
        }

        impl $slice<'_, Vector> {
            /// Element `i` of a slice that begins at a multiple of 16 bytes, as one load.
            #[inline(always)]
            pub fn load(self, i: impl Index) -> Vector {
                let p = self.checked(i, 1, host_access!(Read));
                // SAFETY: the element is inside and nobody writes it meanwhile, by the contract.
                unsafe { vector::load(p.cast()) }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl<'a, T> Argument for $slice<'a, T> {
            type Wire = Wire<$pointer>;

            #[inline(always)]
            unsafe fn from_wire(Wire { start, len }: Self::Wire, name: &'static str) -> Self {
                Self { start, host: OnHost::new(len, name, Home::NONE), elements: PhantomData }
            }

            fn wire(&self) -> Self::Wire {
                Wire { start: self.start, len: self.host.len as usize }
            }

            fn home(&self) -> Option<(Home<'_>, Access)> {
                Some((self.host.home, Access::$access))
            }

            const PARAMETER: Parameter =
                Parameter::slice::<Self::Wire>(size_of::<T>(), Access::$access);
        }

        #[cfg(target_arch = "nvptx64")]
        impl<T> Argument for $slice<'_, T> {
            type Wire = $pointer;

            #[inline(always)]
            unsafe fn from_wire(start: Self::Wire, _: &'static str) -> Self {
                Self { start, elements: PhantomData }
            }
        }

        /// Null is `None`, and so is an empty slice that has no address.
        impl<T> Argument for Option<$slice<'_, T>> {
            type Wire = <$slice<'static, T> as Argument>::Wire;

            #[inline(always)]
            unsafe fn from_wire(wire: Self::Wire, name: &'static str) -> Self {
                // SAFETY: passed on to the caller.
                let slice = unsafe { $slice::from_wire(wire, name) };
                if slice.start.is_null() { None } else { Some(slice) }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn wire(&self) -> Self::Wire {
                self.map_or(Wire { start: $null(), len: 0 }, |slice| slice.wire())
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn home(&self) -> Option<(Home<'_>, Access)> {
                self.as_ref().and_then(|slice| slice.home())
            }

            #[cfg(not(target_arch = "nvptx64"))]
            const PARAMETER: Parameter = <$slice<'static, T> as Argument>::PARAMETER;
        }
    };
}

both! { In, *const T, core::ptr::null, Read }
both! { Out, *mut T, core::ptr::null_mut, Write }

impl<'a, T> Out<'a, T> {
    /// The same elements, for reading.
    #[inline(always)]
    pub fn as_input(self) -> In<'a, T> {
        In {
            start: self.start,
            #[cfg(not(target_arch = "nvptx64"))]
            host: self.host,
            elements: PhantomData,
        }
    }

    /// Sets element `i`.
    #[inline(always)]
    pub fn set(self, i: impl Index, value: T) {
        // SAFETY: the element is inside and this thread's alone meanwhile, by the contract.
        unsafe { *self.address(i, 1) = value }
    }
}

impl<T: Scalar> Out<'_, T> {
    /// Sets the elements of 16 bytes, from element `i` on, which begins at a multiple of 16 bytes, as one store.
    #[inline(always)]
    pub fn set_vector(self, i: impl Index, value: Vector) {
        // SAFETY: the elements are inside and this thread's alone meanwhile, by the contract.
        unsafe { vector::store(self.address(i, T::LANES).cast(), value) }
    }
}

impl Out<'_, Vector> {
    /// Sets element `i` of a slice that begins at a multiple of 16 bytes, as one store.
    #[inline(always)]
    pub fn store(self, i: impl Index, value: Vector) {
        // SAFETY: the element is inside and this thread's alone meanwhile, by the contract.
        unsafe { vector::store(self.address(i, 1).cast(), value) }
    }
}

macro_rules! atomics {
    ($($type:ty, $method:ident, $function:ident, $about:literal;)+) => {$(
        impl Out<'_, $type> {
            #[doc = $about]
            /// Returns what was there before. Relaxed.
            #[inline(always)]
            pub fn $method(self, i: impl Index, value: $type) -> $type {
                // SAFETY: the element is inside and touched by atomics alone meanwhile, by the contract.
                unsafe { atomic::$function(self.checked(i, 1, host_access!(Atomic)), value) }
            }
        }
    )+};
}

atomics! {
    u32, fetch_add, add_u32, "Adds to element `i`.";
    u64, fetch_add, add_u64, "Adds to element `i`.";
    i64, fetch_add, add_i64, "Adds to element `i`.";
    u32, fetch_or, or_u32, "Sets bits of element `i`.";
    u32, fetch_min, min_u32, "Lowers element `i` to the value, if that is less.";
    i64, fetch_min, min_i64, "Lowers element `i` to the value, if that is less.";
    i64, fetch_max, max_i64, "Raises element `i` to the value, if that is more.";
}

impl Out<'_, u32> {
    /// Element `i`, which other threads may be writing by [`store`](Self::store). Relaxed.
    #[inline(always)]
    pub fn load(self, i: impl Index) -> u32 {
        // SAFETY: the element is inside and touched by atomics alone meanwhile, by the contract.
        unsafe { atomic::load_u32(self.checked(i, 1, host_access!(Atomic))) }
    }

    /// Sets element `i`, which other threads may be reading by [`load`](Self::load). Relaxed.
    #[inline(always)]
    pub fn store(self, i: impl Index, value: u32) {
        // SAFETY: as for a load.
        unsafe { atomic::store_u32(self.checked(i, 1, host_access!(Atomic)), value) }
    }
}

/// A slice as a launch passes it to the software device. A GPU's driver reads only the pointer.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Wire<P> {
    /// The first element.
    pub start: P,
    /// Elements.
    pub len: usize,
}

/// A slice, or `None`, as an argument of a kernel. For generated code.
pub trait Argument: Copy {
    /// The type that is passed.
    type Wire: Copy;

    /// Makes the argument from what was passed.
    ///
    /// # Safety
    /// The caller answers for [the contract](self#the-contract).
    unsafe fn from_wire(wire: Self::Wire, name: &'static str) -> Self;

    /// Returns what to pass.
    #[cfg(not(target_arch = "nvptx64"))]
    fn wire(&self) -> Self::Wire;

    /// Where its memory lives, and how a kernel accesses it.
    #[cfg(not(target_arch = "nvptx64"))]
    fn home(&self) -> Option<(Home<'_>, Access)>;

    /// How it is passed.
    #[cfg(not(target_arch = "nvptx64"))]
    const PARAMETER: Parameter;
}

/// A struct of arguments: `#[arguments]` implements it, and code that `#[kernel]` generates uses it.
pub trait ArgumentStruct: Copy {
    /// The types that are passed for it, as a tuple.
    type Wires;

    /// Makes the struct from what was passed.
    ///
    /// # Safety
    /// The caller answers for [the contract](self#the-contract) of each slice.
    unsafe fn from_wires(wires: Self::Wires) -> Self;

    /// Returns what to pass.
    #[cfg(not(target_arch = "nvptx64"))]
    fn wires(&self) -> Self::Wires;

    /// Calls `visit` for each slice, with where its memory lives and how a kernel accesses it.
    #[cfg(not(target_arch = "nvptx64"))]
    fn each_slice<'s>(&'s self, visit: &mut dyn FnMut(Home<'s>, Access));
}

/// The type that is passed at position `N` of an [`ArgumentStruct`].
pub trait Passed<const N: usize> {
    /// The type.
    type Wire: Copy;

    /// How it is passed.
    #[cfg(not(target_arch = "nvptx64"))]
    const PARAMETER: Parameter;
}
