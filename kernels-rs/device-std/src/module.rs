//! The declaration of a kernel module.

/// Declares `static MODULE`, the kernels that are built into one PTX file and loaded together.
///
/// `ptx_module! { "voronoi": row_nearest, column_prune }` names the kernels declared in the same
/// Rust module; the PTX comes from `ptx/voronoi.sm_75.ptx` in the crate that calls it, deflated by
/// that crate's build script.
/// `"scan" at 75 80` says that there is PTX for two levels.
#[macro_export]
macro_rules! ptx_module {
    ($name:literal: $($kernel:ident),+ $(,)?) => {
        $crate::ptx_module! { $name at 75: $($kernel),+ }
    };
    ($name:literal at $($level:literal)+: $($kernel:ident),+ $(,)?) => {
        /// The module: its PTX by architecture level, and its kernels.
        #[cfg(not(target_arch = "nvptx64"))]
        pub static MODULE: $crate::host::PtxModule = $crate::host::PtxModule {
            name: $name,
            images: &[$($crate::host::PtxImage {
                level: $level,
                text: $crate::host::PtxText::Deflated(include_bytes!(concat!(
                    env!("OUT_DIR"), "/", $name, ".sm_", $level, ".ptx.deflate"
                ))),
            }),+],
            kernels: &[$($kernel.host),+],
        };
    };
}
