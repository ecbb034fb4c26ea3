//! Makes the head bits that segmented primitives read, from keys, offsets and rows.

use device_std::Out;
use gpu_core::{Blocks, Gpu, Slice};
use kernels_rs::primitives::flags as kernels;

use crate::error::Result;
pub(crate) use crate::error::check_offsets;
use crate::number::Number;

/// How an array is cut into segments.
pub(crate) enum Segments<'a, K> {
    /// At changes of a key.
    Keys(Slice<'a, K>),
    /// At offsets, one more than segments.
    Offsets(Slice<'a, u64>),
    /// Into rows of this width.
    Rows(u64),
}

impl<K: Number> Segments<'_, K> {
    /// Enqueues writing the head (or tail) bits of `len` elements.
    ///
    /// # Safety
    /// `bits` has room for them, in whole words.
    pub(crate) unsafe fn enqueue(
        &self,
        gpu: &Gpu,
        len: u64,
        tails: bool,
        bits: Out<'_, u32>,
    ) -> Result<()> {
        let tails = u32::from(tails);
        // SAFETY: the arrays are as long as the kernels ask; the rest is the caller's promise.
        unsafe {
            match self {
                Self::Keys(keys) => {
                    let kernel = <K::Bits as kernels::key_bits::Instance>::KERNEL;
                    let blocks = Blocks::x(len.div_ceil(u64::from(kernels::TILE)) as u32);
                    let keys = keys.cast().input();
                    let arguments = kernels::key_bits::Args { keys, len, tails, bits };
                    gpu.enqueue(kernel, blocks, arguments)?;
                }
                Self::Offsets(offsets) => {
                    let segments = offsets.len() as u64 - 1;
                    gpu.fill_with_byte(bits.start(), 0, len.div_ceil(32) as usize)?;
                    let blocks = Blocks::for_each(&kernels::offset_bits, segments)?;
                    let offsets = offsets.input();
                    let arguments =
                        kernels::offset_bits::Args { offsets, segments, len, tails, bits };
                    gpu.enqueue(kernels::offset_bits, blocks, arguments)?;
                }
                Self::Rows(width) => {
                    let blocks = Blocks::for_each(&kernels::row_bits, len.div_ceil(32))?;
                    let arguments = kernels::row_bits::Args { width: *width, len, tails, bits };
                    gpu.enqueue(kernels::row_bits, blocks, arguments)?;
                }
            }
        }
        Ok(())
    }
}
