//! The primitives on a GPU, over device columns.
//!
//! Every function enqueues its work on the stream of the [`Workspace`] it is given and returns:
//! nothing waits for the device, and results that are a single number are written to a device
//! column too. Temporary storage comes from the workspace, which grows at the first call that
//! needs more and stays so: in steady state nothing is allocated.

mod reduce;
mod scan;
mod segments;
mod workspace;

pub use reduce::{index_of_max, index_of_min, reduce};
pub use scan::{
    scan, scan_by_key, scan_by_key_in_place, scan_in_place, scan_rows, segmented_scan,
    segmented_scan_in_place,
};
pub use workspace::Workspace;
