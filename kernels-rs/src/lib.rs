//! Tessera's kernels, one module per algorithm.
//!
//! Each kernel is declared once by `#[kernel]` (see `device-std`), which makes its PTX entry, its
//! typed launch descriptor, and the function that the software device runs. The PTX that is
//! built from here is committed in `ptx/`; `cargo xtask ptx` makes it anew.
//!
//! Each module is a feature. The host compiles the kernels' bodies with the feature `software` only:
//! a launch needs their names, arguments and PTX.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]
#![cfg_attr(
    not(any(target_arch = "nvptx64", feature = "software")),
    allow(dead_code, unused_imports, unused_macros)
)]

#[cfg(any(feature = "reduce", feature = "segment_totals"))]
mod block_reduce;
#[cfg(feature = "columns")]
pub mod columns;
#[cfg(feature = "select")]
mod compaction;
#[cfg(feature = "elementwise")]
pub mod elementwise;
#[cfg(feature = "flags")]
pub mod flags;
#[cfg(feature = "histogram")]
pub mod histogram;
#[cfg(feature = "idw")]
pub mod idw;
#[cfg(any(feature = "idw_index", feature = "idw_neighbours"))]
pub mod idw_cells;
#[cfg(feature = "idw_index")]
pub mod idw_index;
#[cfg(feature = "idw_neighbours")]
pub mod idw_neighbours;
#[cfg(any(feature = "idw", feature = "idw_tree"))]
mod idw_pairs;
#[cfg(feature = "idw_tree")]
pub mod idw_tree;
#[cfg(feature = "merge")]
pub mod merge;
#[cfg(feature = "monotone")]
pub mod monotone;
#[cfg(any(feature = "nni", feature = "nni_exact", feature = "nni_several"))]
pub mod nni;
#[cfg(feature = "nni_exact")]
pub mod nni_exact;
#[cfg(feature = "nni_several")]
pub mod nni_several;
#[cfg(feature = "segment_keys")]
mod offsets;
pub mod operators;
#[cfg(feature = "quadtree")]
pub mod quadtree;
#[cfg(feature = "reduce")]
pub mod reduce;
#[cfg(feature = "reduce_by_key")]
pub mod reduce_by_key;
#[cfg(feature = "scan")]
pub mod scan;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "segment_keys")]
pub mod segment_keys;
#[cfg(feature = "segment_totals")]
pub mod segment_totals;
#[cfg(feature = "select")]
pub mod select;
#[cfg(feature = "sort")]
pub mod sort;
pub mod spatial;
#[cfg(feature = "reduce_by_key")]
mod stretches;
#[cfg(feature = "terrain")]
pub mod terrain;
#[cfg(feature = "scan")]
mod tile_scan;
#[cfg(feature = "top_k")]
pub mod top_k;
#[cfg(feature = "voronoi")]
pub mod voronoi;

pub use spatial::cells;

/// Nothing here may panic; `cargo xtask check-ptx` fails on a kernel that still refers to this.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
