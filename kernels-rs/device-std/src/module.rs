//! The declaration of a kernel module.

/// Declares `static MODULE`, the module of all kernels that the same Rust module declares.
///
/// `ptx_module! { "voronoi" }` names the module: it is a feature of the crate that calls it, and the
/// stem of its PTX files' names. The crate's build script leaves the images in
/// `OUT_DIR/voronoi.images.rs`. Kernels are found by their names.
#[macro_export]
macro_rules! ptx_module {
    ($name:literal) => {
        /// The module: its PTX by architecture level.
        #[cfg(not(target_arch = "nvptx64"))]
        pub static MODULE: $crate::host::PtxModule = $crate::host::PtxModule {
            name: $name,
            images: include!(concat!(env!("OUT_DIR"), "/", $name, ".images.rs")),
        };
    };
}

/// Expands to its first part if this crate's feature `software` is on, else to the part after `else`. So this crate
/// decides, for every crate that declares kernels, whether they are compiled for the host. Items without `else` exist
/// only with the feature.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "software")]
macro_rules! if_software {
    ({ $($on:tt)* } else { $($off:tt)* }) => {{ $($on)* }};
    ($($item:item)*) => { $($item)* };
}

/// As above.
#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "software"))]
macro_rules! if_software {
    ({ $($on:tt)* } else { $($off:tt)* }) => {{ $($off)* }};
    ($($item:item)*) => {};
}
