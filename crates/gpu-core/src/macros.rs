//! Macros for code that all algorithm crates share.

/// Calls the CPU's or the GPU's version of a function, whichever the [`Device`](crate::Device) is. The calling crate must have a feature
/// `cuda`. If it was built without that feature, a GPU is an error: another crate of the program may have switched gpu-core's
/// `cuda` on.
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

/// Defines a builder method for each listed field of a struct of parameters: it has the field's name and sets it.
///
/// ```
/// #[derive(Default)]
/// pub struct Params {
///     /// Columns.
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

/// Implements `From` for errors of other crates: each becomes the named variant of the calling module's `Error`. An error of gpu-core
/// inside it becomes `Error::Core`.
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
