//! The shared memory of a block.
//!
//! All of it is dynamic: the launch states its size, and a kernel carves arrays from it with
//! [`Carver`]. Every access goes through [`SharedArray`], which on the software device is checked
//! for bounds and races.

use core::marker::PhantomData;

use crate::vector::Vector;

/// A type whose elements can lie in shared memory: a scalar of 1 to 8 bytes, a pair of words, a vector
/// of 16 bytes, or nothing.
pub trait Plain: Copy {
    /// Loads from an address in the shared window.
    ///
    /// # Safety
    /// The address is aligned and inside the block's shared memory.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn load_shared(address: u32) -> Self;

    /// Stores to an address in the shared window.
    ///
    /// # Safety
    /// The address is aligned and inside the block's shared memory.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn store_shared(self, address: u32);
}

macro_rules! plain {
    ($($type:ty, $class:ident, $suffix:literal;)+) => {$(
        impl Plain for $type {
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_shared(address: u32) -> Self {
                let value;
                // SAFETY: passed on to the caller.
                unsafe {
                    core::arch::asm!(
                        concat!("ld.shared.", $suffix, " {0}, [{1}];"),
                        out($class) value, in(reg32) address, options(nostack),
                    );
                }
                value
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_shared(self, address: u32) {
                // SAFETY: passed on to the caller.
                unsafe {
                    core::arch::asm!(
                        concat!("st.shared.", $suffix, " [{0}], {1};"),
                        in(reg32) address, in($class) self, options(nostack),
                    );
                }
            }
        }
    )+};
}

macro_rules! plain_narrow {
    ($($type:ty, $suffix:literal;)+) => {$(
        impl Plain for $type {
            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn load_shared(address: u32) -> Self {
                let value: u32;
                // SAFETY: passed on to the caller.
                unsafe {
                    core::arch::asm!(
                        concat!("ld.shared.", $suffix, " {0}, [{1}];"),
                        out(reg32) value, in(reg32) address, options(nostack),
                    );
                }
                value as Self
            }

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn store_shared(self, address: u32) {
                // SAFETY: passed on to the caller.
                unsafe {
                    core::arch::asm!(
                        concat!("st.shared.", $suffix, " [{0}], {1};"),
                        in(reg32) address, in(reg32) self as u32, options(nostack),
                    );
                }
            }
        }
    )+};
}

plain_narrow! { u8, "u8"; u16, "u16"; }

/// Takes no memory.
impl Plain for () {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn load_shared(_: u32) -> Self {}

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn store_shared(self, _: u32) {}
}

/// Two words, side by side.
impl Plain for (u64, u64) {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn load_shared(address: u32) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { (u64::load_shared(address), u64::load_shared(address + 8)) }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn store_shared(self, address: u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            self.0.store_shared(address);
            self.1.store_shared(address + 8);
        }
    }
}

/// 16 bytes; the array must be carved at a multiple of 16.
impl Plain for Vector {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn load_shared(address: u32) -> Self {
        let (a, b, c, d): (u32, u32, u32, u32);
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "ld.shared.v4.b32 {{{0}, {1}, {2}, {3}}}, [{4}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) address,
                options(nostack),
            );
        }
        [a, b, c, d]
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn store_shared(self, address: u32) {
        let [a, b, c, d] = self;
        // SAFETY: passed on to the caller.
        unsafe {
            core::arch::asm!(
                "st.shared.v4.b32 [{0}], {{{1}, {2}, {3}, {4}}};",
                in(reg32) address, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                options(nostack),
            );
        }
    }
}

plain! {
    u32, reg32, "b32";
    i32, reg32, "b32";
    f32, reg32, "b32";
    u64, reg64, "b64";
    i64, reg64, "b64";
    f64, reg64, "b64";
}

/// Carves the block's shared memory into arrays, from offset 0 upward.
///
/// On the host, the same sequence of calls gives the bytes to launch with: [`Carver::bytes`].
pub struct Carver {
    next: u32,
}

impl Carver {
    /// Starts at offset 0. One carver a kernel: two would carve the same memory.
    #[inline(always)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { next: 0 }
    }

    /// The next `len` elements.
    #[inline(always)]
    pub const fn array<T: Plain>(&mut self, len: u32) -> SharedArray<T> {
        let align = align_of::<T>() as u32;
        let offset = self.next.next_multiple_of(align);
        self.next = offset + len * size_of::<T>() as u32;
        SharedArray { offset, element: PhantomData }
    }

    /// The next `len` elements of either type: two arrays over the same memory, for two phases of a
    /// kernel with a barrier between them.
    #[inline(always)]
    pub const fn overlay<A: Plain, B: Plain>(
        &mut self,
        len: u32,
    ) -> (SharedArray<A>, SharedArray<B>) {
        let offset = self.next.next_multiple_of(wider(align_of::<A>(), align_of::<B>()));
        self.next = offset + len * wider(size_of::<A>(), size_of::<B>());
        (SharedArray { offset, element: PhantomData }, SharedArray { offset, element: PhantomData })
    }

    /// A carver that begins here. Its arrays overlap the arrays that this carver gives from now on. It is for another
    /// phase of the kernel, after a barrier.
    #[inline(always)]
    pub const fn fork(&self) -> Self {
        Self { next: self.next }
    }

    /// Bytes carved so far.
    pub const fn bytes(&self) -> u32 {
        self.next
    }
}

const fn wider(a: usize, b: usize) -> u32 {
    if a > b { a as u32 } else { b as u32 }
}

/// An array in shared memory. Copies name the same memory.
pub struct SharedArray<T> {
    offset: u32,
    element: PhantomData<T>,
}

impl<T> Clone for SharedArray<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedArray<T> {}

impl<T: Plain> SharedArray<T> {
    /// Element `index`.
    ///
    /// # Safety
    /// `index` is below the array's length, and no thread writes the element between the same
    /// two barriers.
    #[inline(always)]
    pub unsafe fn load(&self, index: u32) -> T {
        // SAFETY: passed on to the caller.
        unsafe { device::load(self.offset + index * size_of::<T>() as u32) }
    }

    /// Sets element `index`.
    ///
    /// # Safety
    /// `index` is below the array's length, and no other thread touches the element between the
    /// same two barriers.
    #[inline(always)]
    pub unsafe fn store(&self, index: u32, value: T) {
        // SAFETY: passed on to the caller.
        unsafe { device::store(self.offset + index * size_of::<T>() as u32, value) }
    }

    /// The array from element `count` on.
    #[inline(always)]
    pub const fn skip(self, count: u32) -> Self {
        Self { offset: self.offset + count * size_of::<T>() as u32, element: PhantomData }
    }
}

impl SharedArray<Vector> {
    /// The same memory as elements of another type; a whole number of them fills 16 bytes.
    #[inline(always)]
    pub const fn as_elements<T: Plain>(self) -> SharedArray<T> {
        SharedArray { offset: self.offset, element: PhantomData }
    }

    /// Begins to copy 16 bytes from global memory to element `index`, not through registers if the GPU can do so
    /// (compute capability 8.0); [`wait_for_copies`] ends it.
    ///
    /// # Safety
    /// `from` is valid for 16 bytes and aligned to 16, and nobody writes there meanwhile. `index`
    /// is as for [`store`](Self::store), and nobody touches the element before the copy has ended.
    #[inline(always)]
    pub unsafe fn copy_from(&self, index: u32, from: *const u8) {
        // SAFETY: passed on to the caller.
        unsafe { device::copy(self.offset + index * 16, from) }
    }
}

/// Waits until the thread's own copies into shared memory have ended.
#[inline(always)]
pub fn wait_for_copies() {
    device::wait_for_copies();
}

impl SharedArray<u32> {
    /// Adds to element `index`, atomically among the threads of the block; returns what was there.
    ///
    /// # Safety
    /// `index` is below the array's length; between the same two barriers other threads touch the
    /// element by atomics only.
    #[inline(always)]
    pub unsafe fn atomic_add(&self, index: u32, value: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { device::atomic_add(self.offset + index * 4, value) }
    }

    /// Adds 1 to element `index`, atomically among the threads of the block: the lanes of a warp
    /// that count the same element do so in one step.
    ///
    /// # Safety
    /// As [`atomic_add`](Self::atomic_add).
    #[inline(always)]
    pub unsafe fn count(&self, index: u32) {
        // SAFETY: passed on to the caller.
        unsafe { device::count(self.offset + index * 4) }
    }

    /// [`atomic_add`](Self::atomic_add) in the threads where `condition` holds, without a branch. The result has no
    /// meaning in the others.
    ///
    /// # Safety
    /// As [`atomic_add`](Self::atomic_add).
    #[inline(always)]
    pub unsafe fn atomic_add_if(&self, condition: bool, index: u32, value: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { device::atomic_add_if(condition, self.offset + index * 4, value) }
    }

    /// Sets element `index`, atomically among the threads of the block; returns what was there.
    ///
    /// # Safety
    /// As [`atomic_add`](Self::atomic_add).
    #[inline(always)]
    pub unsafe fn exchange(&self, index: u32, value: u32) -> u32 {
        // SAFETY: passed on to the caller.
        unsafe { device::exchange(self.offset + index * 4, value) }
    }

    /// Sets bits of element `index`, atomically among the threads of the block.
    ///
    /// # Safety
    /// As [`atomic_add`](Self::atomic_add).
    #[inline(always)]
    pub unsafe fn atomic_or(&self, index: u32, bits: u32) {
        // SAFETY: passed on to the caller.
        unsafe { device::atomic_or(self.offset + index * 4, bits) }
    }
}

#[cfg(target_arch = "nvptx64")]
mod device {
    use super::Plain;

    core::arch::global_asm!(".extern .shared .align 16 .b8 dynamic_shared[];");

    /// Address of byte `offset`, in the shared window.
    #[inline(always)]
    fn address(offset: u32) -> u32 {
        let base: u32;
        // SAFETY: reads the address of a symbol.
        unsafe {
            core::arch::asm!("mov.u32 {0}, dynamic_shared;", out(reg32) base, options(pure, nomem, nostack));
        }
        base + offset
    }

    // SAFETY (all): the callers of SharedArray's methods keep within the array.
    #[inline(always)]
    pub unsafe fn load<T: Plain>(offset: u32) -> T {
        unsafe { T::load_shared(address(offset)) }
    }
    #[inline(always)]
    pub unsafe fn store<T: Plain>(offset: u32, value: T) {
        unsafe { value.store_shared(address(offset)) }
    }
    #[inline(always)]
    pub unsafe fn copy(offset: u32, from: *const u8) {
        #[cfg(feature = "sm_80")]
        unsafe {
            core::arch::asm!(
                "cp.async.cg.shared.global [{0}], [{1}], 16;",
                in(reg32) address(offset), in(reg64) from, options(nostack),
            );
        }
        #[cfg(not(feature = "sm_80"))]
        unsafe {
            store(offset, crate::vector::load(from))
        }
    }
    #[inline(always)]
    pub fn wait_for_copies() {
        // SAFETY: waits.
        #[cfg(feature = "sm_80")]
        unsafe {
            core::arch::asm!("cp.async.wait_all;", options(nostack));
        }
    }
    #[inline(always)]
    pub unsafe fn atomic_add(offset: u32, value: u32) -> u32 {
        let before: u32;
        unsafe {
            core::arch::asm!(
                "atom.shared.add.u32 {0}, [{1}], {2};",
                out(reg32) before, in(reg32) address(offset), in(reg32) value, options(nostack),
            );
        }
        before
    }
    #[inline(always)]
    pub unsafe fn exchange(offset: u32, value: u32) -> u32 {
        let before: u32;
        unsafe {
            core::arch::asm!(
                "atom.shared.exch.b32 {0}, [{1}], {2};",
                out(reg32) before, in(reg32) address(offset), in(reg32) value, options(nostack),
            );
        }
        before
    }
    #[inline(always)]
    pub unsafe fn count(offset: u32) {
        unsafe {
            core::arch::asm!(
                "red.shared.add.u32 [{0}], 1;", in(reg32) address(offset), options(nostack),
            );
        }
    }
    #[inline(always)]
    pub unsafe fn atomic_add_if(condition: bool, offset: u32, value: u32) -> u32 {
        let before: u32;
        unsafe {
            core::arch::asm!(
                "{{ .reg .pred here; setp.ne.u32 here, {3}, 0; @here atom.shared.add.u32 {0}, [{1}], {2}; }}",
                out(reg32) before, in(reg32) address(offset), in(reg32) value,
                in(reg32) condition as u32, options(nostack),
            );
        }
        before
    }
    #[inline(always)]
    pub unsafe fn atomic_or(offset: u32, bits: u32) {
        unsafe {
            core::arch::asm!(
                "red.shared.or.b32 [{0}], {1};",
                in(reg32) address(offset), in(reg32) bits, options(nostack),
            );
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod device {
    use super::Plain;
    use crate::host::{Access, current};

    pub unsafe fn load<T: Plain>(offset: u32) -> T {
        let address = current(|t| t.shared(offset, size_of::<T>() as u32, Access::Read));
        // SAFETY: the software device returns an address with `size_of::<T>()` valid bytes.
        unsafe { address.cast::<T>().read_unaligned() }
    }
    pub unsafe fn store<T: Plain>(offset: u32, value: T) {
        let address = current(|t| t.shared(offset, size_of::<T>() as u32, Access::Write));
        // SAFETY: the software device returns an address with `size_of::<T>()` valid bytes.
        unsafe { address.cast::<T>().write_unaligned(value) }
    }
    pub unsafe fn copy(offset: u32, from: *const u8) {
        // SAFETY: passed on to the caller.
        unsafe { store(offset, crate::vector::load(from)) }
    }
    pub fn wait_for_copies() {}
    pub unsafe fn atomic_add(offset: u32, value: u32) -> u32 {
        update(offset, |before| before.wrapping_add(value))
    }
    pub unsafe fn exchange(offset: u32, value: u32) -> u32 {
        update(offset, |_| value)
    }
    pub unsafe fn count(offset: u32) {
        update(offset, |before| before.wrapping_add(1));
    }
    pub unsafe fn atomic_add_if(condition: bool, offset: u32, value: u32) -> u32 {
        if condition { update(offset, |before| before.wrapping_add(value)) } else { value }
    }
    pub unsafe fn atomic_or(offset: u32, bits: u32) {
        update(offset, |before| before | bits);
    }
    /// The threads of a block take turns on one OS thread, so no update is ever torn.
    fn update(offset: u32, change: impl Fn(u32) -> u32) -> u32 {
        let address = current(|t| t.shared(offset, 4, Access::Atomic)).cast::<u32>();
        // SAFETY: the software device returns an address with 4 valid bytes.
        unsafe {
            let before = address.read_unaligned();
            address.write_unaligned(change(before));
            before
        }
    }
}
