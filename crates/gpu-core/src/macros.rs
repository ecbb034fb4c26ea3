//! What algorithm crates would write alike.

/// Calls the CPU's or the GPU's version of a function, whichever the [`Device`](crate::Device) is. An error, where the calling
/// crate was built without its feature `cuda` and gets a GPU: another crate of the program may have switched gpu-core's on.
///
/// ```
/// # fn slope_on_cpu() -> gpu_core::Result<f32> { Ok(2.0) }
/// # #[cfg(feature = "cuda")]
/// # fn slope_on_gpu(_: &gpu_core::Gpu) -> gpu_core::Result<f32> { Ok(2.0) }
/// fn slope(device: &gpu_core::Device) -> gpu_core::Result<f32> {
///     gpu_core::on_device!(device, cpu => slope_on_cpu(), gpu => slope_on_gpu(gpu))
/// }
/// assert_eq!(slope(&gpu_core::Device::Cpu), Ok(2.0));
/// ```
#[macro_export]
macro_rules! on_device {
    ($device:expr, cpu => $on_cpu:expr, $gpu:ident => $on_gpu:expr $(,)?) => {
        match $device {
            $crate::Device::Cpu => $on_cpu,
            #[cfg(feature = "cuda")]
            $crate::Device::Gpu($gpu) => $on_gpu,
            #[allow(unreachable_patterns)]
            other => Err($crate::Error::without_cuda(other).into()),
        }
    };
}

/// Builder methods of a struct of parameters, each of its field's name.
///
/// ```
/// #[derive(Default)]
/// pub struct Params {
///     /// Meant by [`width`](Params::width).
///     pub width: u32,
/// }
/// impl Params {
///     gpu_core::builders! {
///         width: u32;
///     }
/// }
/// assert_eq!(Params::default().width(3).width, 3);
/// ```
#[macro_export]
macro_rules! builders {
    ($($field:ident: $type:ty;)+) => {$(
        #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
        #[must_use]
        pub fn $field(self, $field: $type) -> Self {
            Self { $field, ..self }
        }
    )+};
}

/// Makes the errors of other crates into variants of the calling module's `Error`. What they take from gpu-core becomes
/// `Error::Core`.
#[macro_export]
macro_rules! wrap_errors {
    ($($module:ident::$other:ident => $variant:ident;)+) => {$(
        impl From<$module::$other> for Error {
            fn from(error: $module::$other) -> Self {
                match error {
                    $module::$other::Core(core) => Self::Core(core),
                    other => Self::$variant(other),
                }
            }
        }
    )+};
}
