//! A thread's place in the launch, and the block's barrier.
//!
//! Blocks are one-dimensional; grids have up to three dimensions.

#[cfg(target_arch = "nvptx64")]
mod device {
    use core::arch::nvptx;

    #[inline(always)]
    pub fn thread_idx() -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_thread_idx_x() as u32 }
    }
    #[inline(always)]
    pub fn block_dim() -> u32 {
        // SAFETY: reads a special register.
        unsafe { nvptx::_block_dim_x() as u32 }
    }
    #[inline(always)]
    pub fn block_idx() -> [u32; 3] {
        // SAFETY: reads special registers.
        unsafe {
            [
                nvptx::_block_idx_x() as u32,
                nvptx::_block_idx_y() as u32,
                nvptx::_block_idx_z() as u32,
            ]
        }
    }
    #[inline(always)]
    pub fn grid_dim() -> [u32; 3] {
        // SAFETY: reads special registers.
        unsafe {
            [nvptx::_grid_dim_x() as u32, nvptx::_grid_dim_y() as u32, nvptx::_grid_dim_z() as u32]
        }
    }
    #[inline(always)]
    pub unsafe fn sync_threads() {
        // SAFETY: the caller promises that the whole block comes here.
        unsafe { nvptx::_syncthreads() }
    }
    #[inline(always)]
    pub fn pause() {}
}

#[cfg(not(target_arch = "nvptx64"))]
mod device {
    use crate::host::current;

    pub fn thread_idx() -> u32 {
        current(|t| t.thread_index())
    }
    pub fn block_dim() -> u32 {
        current(|t| t.block_size())
    }
    pub fn block_idx() -> [u32; 3] {
        current(|t| t.block_index())
    }
    pub fn grid_dim() -> [u32; 3] {
        current(|t| t.grid_size())
    }
    pub unsafe fn sync_threads() {
        current(|t| t.barrier())
    }
    pub fn pause() {
        current(|t| t.pause())
    }
}

/// Index of the thread in its block.
#[inline(always)]
pub fn thread_idx_x() -> u32 {
    device::thread_idx()
}

/// Threads of a block.
#[inline(always)]
pub fn block_dim_x() -> u32 {
    device::block_dim()
}

/// Index of the block in the grid.
#[inline(always)]
pub fn block_idx_x() -> u32 {
    device::block_idx()[0]
}

/// Index of the block in the grid, second dimension.
#[inline(always)]
pub fn block_idx_y() -> u32 {
    device::block_idx()[1]
}

/// Index of the block in the grid, third dimension.
#[inline(always)]
pub fn block_idx_z() -> u32 {
    device::block_idx()[2]
}

/// Blocks of the grid.
#[inline(always)]
pub fn grid_dim_x() -> u32 {
    device::grid_dim()[0]
}

/// Blocks of the grid, second dimension.
#[inline(always)]
pub fn grid_dim_y() -> u32 {
    device::grid_dim()[1]
}

/// Blocks of the grid, third dimension.
#[inline(always)]
pub fn grid_dim_z() -> u32 {
    device::grid_dim()[2]
}

/// Index of the thread in a one-dimensional grid.
#[inline(always)]
pub fn index_1d() -> u64 {
    u64::from(block_idx_x()) * u64::from(block_dim_x()) + u64::from(thread_idx_x())
}

/// Waits for every thread of the block. After it all threads see what any of them wrote to shared and global memory
/// before.
///
/// # Safety
/// Every thread of the block must come to the same call.
#[inline(always)]
pub unsafe fn sync_threads() {
    // SAFETY: passed on to the caller.
    unsafe { device::sync_threads() }
}

/// For loops that wait for another block: the software device runs other threads meanwhile. Does nothing on a GPU.
#[inline(always)]
pub fn pause() {
    device::pause();
}
