//! The switch from one stack to another.
//!
//! A context is the stack pointer of code that waits in [`switch`], with the registers that a
//! called function preserves on top of its stack. The floating-point control registers are not
//! switched: device code leaves them alone.

/// Where a stack goes on.
pub(crate) type Context = *mut usize;

/// What runs first on a new stack, with what the first switch to it hands over.
pub(crate) type Body = extern "C" fn(*const ()) -> !;

/// Saves the running context in `from` and goes on in `to`, where this function returns `input`.
/// The call returns when somebody switches back, with their input.
///
/// It is a call and a return like any other. Threads of a kernel mostly wait at the same place,
/// so the processor's guess where this and the next returns lead, made from the calls of the
/// stack before, is right.
///
/// # Safety
/// `from` may be written, and `to` was saved here by code on a stack that is still there, or made
/// by [`new_context`], and not gone on with since. All is on one OS thread.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(
    from: *mut Context,
    to: Context,
    input: *const (),
) -> *const () {
    std::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "mov rax, rdx",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Calls the body, whose address is in a preserved register.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[unsafe(naked)]
unsafe extern "C" fn start() {
    std::arch::naked_asm!("mov rdi, rax", "call rbx", "ud2")
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(
    from: *mut Context,
    to: Context,
    input: *const (),
) -> *const () {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-160]!",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "mov x0, x2",
        "ldp x19, x20, [sp, #16]",
        "ldp x21, x22, [sp, #32]",
        "ldp x23, x24, [sp, #48]",
        "ldp x25, x26, [sp, #64]",
        "ldp x27, x28, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "ldp x29, x30, [sp], #160",
        "ret",
    )
}

/// As above.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
#[unsafe(naked)]
unsafe extern "C" fn start() {
    std::arch::naked_asm!("blr x19", "brk #1")
}

/// The saved words of a context, lowest first: where the body's address and the return address
/// are among them.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
const SAVED: (usize, usize, usize) = (20, 2, 1);
#[cfg(not(all(target_os = "linux", target_arch = "aarch64")))]
const SAVED: (usize, usize, usize) = (7, 4, 6);

/// Makes a context that begins `body` on an empty stack.
///
/// # Safety
/// `top` is the upper end of a stack, aligned to 16 bytes, with room for a few hundred bytes.
pub(crate) unsafe fn new_context(top: *mut u8, body: Body) -> Context {
    let (words, body_at, return_at) = SAVED;
    // Two zeros above are where whoever walks the stack, for a backtrace, finds its end.
    let saved = top.cast::<usize>().wrapping_sub(words + 2);
    // SAFETY: below the top, inside the stack.
    unsafe {
        saved.write_bytes(0, words + 2);
        saved.add(body_at).write(body as usize);
        saved.add(return_at).write(start as *const () as usize);
    }
    saved
}

// Elsewhere no driver can be loaded (`cuda_driver::LoadError::Platform`), so nothing ever runs.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod elsewhere {
    pub(crate) unsafe extern "C" fn switch(
        _from: *mut super::Context,
        _to: super::Context,
        _input: *const (),
    ) -> *const () {
        std::process::abort()
    }

    pub(super) unsafe extern "C" fn start() {}
}
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
use elsewhere::start;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) use elsewhere::switch;

#[cfg(test)]
mod tests {
    use super::*;

    struct Ping {
        here: Context,
        there: Context,
        seen: Vec<usize>,
    }

    extern "C" fn body(input: *const ()) -> ! {
        let ping = input.cast::<Ping>().cast_mut();
        let mut n = 0;
        loop {
            n += 1;
            // SAFETY: the test waits meanwhile.
            unsafe {
                (*ping).seen.push(n);
                let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(7)));
                assert!(caught.is_err());
                switch(&raw mut (*ping).there, (*ping).here, std::ptr::null());
            }
        }
    }

    #[test]
    fn a_stack_goes_on_where_it_was() {
        let mut stack = vec![0_u128; 8192];
        let mut ping =
            Ping { here: std::ptr::null_mut(), there: std::ptr::null_mut(), seen: vec![] };
        let top = stack.as_mut_ptr_range().end.cast();
        let ping = &raw mut ping;
        // SAFETY: the stack is there until the end, and the body touches `ping` only while this
        // function waits.
        unsafe {
            (*ping).there = new_context(top, body);
            for _ in 0..3 {
                switch(&raw mut (*ping).here, (*ping).there, ping.cast_const().cast());
            }
            assert_eq!((*ping).seen, [1, 2, 3]);
        }
    }
}
