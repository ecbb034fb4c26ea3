//! What can go wrong between the host and the device.

use crate::{Bounds, Shortest};

/// The result of gpu-core's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a grid, a device or its memory.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cell size is zero, negative, infinite or NaN.
    #[error("cell size {} is not a positive finite number", Shortest(*cell_size))]
    CellSize {
        /// As given.
        cell_size: f64,
    },
    /// A corner of the grid is infinite or NaN.
    #[error("grid corner ({}, {}) is not finite", Shortest(*x), Shortest(*y))]
    Origin {
        /// As given.
        x: f64,
        /// As given.
        y: f64,
    },
    /// A grid has more columns or rows than can be counted.
    #[error("a grid of {} x {} cells is too large", Shortest(*columns), Shortest(*rows))]
    GridTooLarge {
        /// Columns asked for.
        columns: f64,
        /// Rows asked for.
        rows: f64,
    },
    /// Bounds whose corners are swapped, or NaN.
    #[error("bounds {bounds}: the first corner must not lie east or north of the second")]
    Bounds {
        /// As given.
        bounds: Bounds,
    },
    /// A buffer does not have the length that the call needs.
    #[error("{what} has {found} elements, expected {expected}")]
    Length {
        /// The argument.
        what: &'static str,
        /// Elements needed.
        expected: u64,
        /// Elements given.
        found: u64,
    },
    /// A coordinate or a value is NaN or infinite.
    #[error("{what} {index} is {value}, not a finite number")]
    NotFinite {
        /// The column.
        what: &'static str,
        /// The first such element, from 0.
        index: u64,
        /// As given.
        value: f64,
    },
    /// There are more points, sites or the like than indices can name.
    #[error("{count} {what}: there can be at most {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// As given.
        count: u64,
        /// The most.
        most: u64,
    },
    /// A parameter has a value that it cannot have.
    #[error("{what} {} is not {expected}", Shortest(*value))]
    Parameter {
        /// The parameter.
        what: &'static str,
        /// As given.
        value: f64,
        /// What it can be.
        expected: &'static str,
    },
    /// Points on the device come without bounds.
    #[error("the extent of the points has no bounds")]
    NoBounds,
    /// An array does not have the sides of its grid.
    #[error("an array of {rows} rows and {columns} columns for a grid of {width} x {height} cells")]
    Shape {
        /// Rows of the array.
        rows: usize,
        /// Columns of the array.
        columns: usize,
        /// Columns of the grid.
        width: u32,
        /// Rows of the grid.
        height: u32,
    },
    /// The elements of an array do not lie row after row without gaps.
    #[error("an array with strides {strides:?} is not row-major without gaps")]
    Strides {
        /// Elements from row to row, and from column to column.
        strides: [isize; 2],
    },
    /// Data of another crate do not fit: a null, or a type, geometry or tensor of another kind.
    #[error("{what}: found {found}, expected {expected}")]
    Unfit {
        /// The row, the column or the tensor.
        what: String,
        /// What it has.
        found: String,
        /// What it can have.
        expected: String,
    },
    /// A range reaches beyond its column, or ends before it starts.
    #[error("{start}..{end} is not a range within a column of {len} elements")]
    OutOfBounds {
        /// First element asked for.
        start: u64,
        /// The element after the last.
        end: u64,
        /// Elements of the column.
        len: u64,
    },
    /// The device name is not one of [`DeviceChoice`](crate::DeviceChoice)'s.
    #[error("unknown device \"{name}\": use auto, cpu, software, cuda, cuda:N or cuda:all")]
    UnknownDevice {
        /// As given.
        name: String,
    },
    /// The name means several devices, but the call works on one.
    #[error("{name} means all devices, but this call works on one: name it, such as cuda:0")]
    SeveralDevices {
        /// The choice.
        name: String,
    },
    /// The program was built without the feature that the device needs.
    #[error("device {name} needs the feature \"{feature}\": build this program with it")]
    NotBuilt {
        /// The device asked for.
        name: String,
        /// The feature of gpu-core, which the algorithm crates forward.
        feature: &'static str,
    },
    /// No CUDA driver could be loaded.
    #[error("no CUDA driver: {reason}")]
    NoDriver {
        /// What the loader said.
        reason: String,
    },
    /// The driver is older than the kernels' PTX needs.
    #[error(
        "the CUDA driver supports CUDA {found_major}.{found_minor}, Tessera needs \
         {needed_major}.{needed_minor} or newer: please update the NVIDIA driver"
    )]
    DriverTooOld {
        /// CUDA version that the driver supports.
        found_major: i32,
        /// CUDA version that the driver supports.
        found_minor: i32,
        /// CUDA version needed.
        needed_major: i32,
        /// CUDA version needed.
        needed_minor: i32,
    },
    /// The process already uses the other driver; a process uses one driver.
    #[error("device {wanted} is not available: this process already uses {loaded}")]
    OtherDriver {
        /// The device asked for.
        wanted: String,
        /// The driver in use.
        loaded: String,
    },
    /// The ordinal is beyond the devices of this machine.
    #[error("no device cuda:{ordinal}: this machine has {count} CUDA device(s)")]
    NoDevice {
        /// Ordinal asked for.
        ordinal: u32,
        /// Devices there.
        count: u32,
    },
    /// The device's architecture is older than every image of a kernel module.
    #[error("{device} has compute capability {major}.{minor}; module {module} needs {needed}")]
    Architecture {
        /// The device's name.
        device: String,
        /// Its compute capability.
        major: u32,
        /// Its compute capability.
        minor: u32,
        /// The kernel module.
        module: &'static str,
        /// The lowest level it was built for, as `7.5`.
        needed: String,
    },
    /// The device has not enough free memory. The handle stays usable.
    #[error("out of device memory: asked for {asked} bytes, {free} of {total} are free")]
    OutOfMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes free.
        free: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The host has not enough free memory.
    #[error("out of host memory: asked for {asked} bytes, {available} are available")]
    HostMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes available; 0 where the system does not say.
        available: u64,
    },
    /// A launch needs more blocks than a grid can have.
    #[error("kernel {kernel}: a grid of {blocks} blocks is too large")]
    LaunchTooLarge {
        /// The kernel's name.
        kernel: &'static str,
        /// Blocks asked for.
        blocks: u64,
    },
    /// Work on one device would use memory of another device.
    #[error("work of device {handle} cannot use memory of device {memory}")]
    OtherGpu {
        /// The handle's device, by number.
        handle: i32,
        /// The memory's.
        memory: i32,
    },
    /// The caller's context is not the primary context of its device.
    #[error("the context is not the primary one of device {device}")]
    ForeignContext {
        /// The device, by number.
        device: i32,
    },
    /// A graph cannot hold this operation.
    #[error("{what} cannot be part of a graph: do it outside of the capture")]
    Captured {
        /// What was asked for.
        what: &'static str,
    },
    /// A column that a capture has made is not there before its graph is launched.
    #[error(
        "this column belongs to a graph that has not run: launch the graph before you read the \
         column"
    )]
    NotLaunched,
    /// A kernel cannot be found in the PTX of its module.
    #[error("kernel {kernel} of module {module}: {reason}")]
    Kernel {
        /// The kernel's name.
        kernel: &'static str,
        /// The module's.
        module: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The driver reported an error in a call.
    #[error("{call}: {message}")]
    Driver {
        /// The call, or the kernel launched.
        call: String,
        /// The driver's error code (`CUresult`).
        code: i32,
        /// The driver's words.
        message: String,
    },
}

impl Error {
    /// Returns the error of an algorithm crate that was built without `cuda` and gets another device than the CPU.
    pub fn without_cuda(device: &crate::Device) -> Self {
        Self::NotBuilt { name: device.name(), feature: "cuda" }
    }
}

/// An error for data of another crate's type that this crate cannot take.
#[cfg(any(feature = "arrow", feature = "dlpack", feature = "geo"))]
pub(crate) fn unfit(
    what: impl Into<String>,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> Error {
    Error::Unfit { what: what.into(), found: found.into(), expected: expected.into() }
}

/// Checks that a count does not exceed its maximum.
///
/// # Errors
/// [`Error::TooMany`].
pub fn require_at_most(what: &'static str, count: u64, most: u64) -> Result<()> {
    if count > most { Err(Error::TooMany { what, count, most }) } else { Ok(()) }
}

/// Checks that a parameter is as expected.
///
/// # Errors
/// [`Error::Parameter`].
pub fn require_parameter(
    what: &'static str,
    value: impl Into<f64>,
    is_good: bool,
    expected: &'static str,
) -> Result<()> {
    let value = value.into();
    if is_good { Ok(()) } else { Err(Error::Parameter { what, value, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_named_with_its_value_in_few_characters() {
        let says = |value| require_parameter("power", value, false, "positive").unwrap_err();
        for (value, text) in [(-1.5, "-1.5"), (0.0, "0"), (1e-300, "1e-300"), (f64::NAN, "NaN")] {
            assert_eq!(says(value).to_string(), format!("power {text} is not positive"));
        }
        assert_eq!(says(8.0), Error::Parameter { what: "power", value: 8.0, expected: "positive" });
        assert_eq!(require_parameter("power", 2u32, true, "positive"), Ok(()));
        let many = require_at_most("points", 5, 4).unwrap_err().to_string();
        assert_eq!(many, "5 points: there can be at most 4");
        assert_eq!(require_at_most("points", 4, 4), Ok(()));
    }
}
