//! Tessera's kernels, one module per algorithm.
//!
//! Each kernel is declared once by `#[kernel]` (see `device-std`). The attribute makes its PTX entry, its typed launch
//! descriptor, and the function that the software device runs. The PTX is committed in `ptx/`; `cargo xtask ptx` builds
//! it again.
//!
//! Each module is a feature. The host compiles the kernels' bodies with the feature `software` only:
//! a launch needs their names, arguments and PTX.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]
#![cfg_attr(
    not(any(target_arch = "nvptx64", feature = "software")),
    allow(dead_code, unused_imports, unused_macros)
)]

pub mod ccq;
pub mod idw;
pub mod kriging;
#[cfg(feature = "laz")]
pub mod laz;
#[cfg(any(feature = "nni", feature = "nni_boxed", feature = "nni_exact"))]
pub mod nni;
pub mod primitives;
#[cfg(any(feature = "quadtree", feature = "quadtree_queries"))]
pub mod quadtree;
#[cfg(any(
    feature = "idw_globe",
    feature = "idw_neighbours",
    feature = "kriging",
    feature = "rtree",
    feature = "stars"
))]
pub mod rtree;
pub mod spatial;
pub mod sphere_qtm;
#[cfg(any(feature = "nni_exact", feature = "stars"))]
pub mod stars;
#[cfg(feature = "terrain")]
pub mod terrain;
#[cfg(any(feature = "monotone", feature = "voronoi"))]
pub mod voronoi;

/// Nothing here may panic; `cargo xtask check-ptx` fails on a kernel that still refers to this.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
