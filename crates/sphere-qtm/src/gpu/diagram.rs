//! Diagrams in device memory.

use gpu_core::{Column, Gpu};
use kernels_rs::sphere_qtm::outputs::Outputs;

use crate::{Diagram, Level, Params, Result};

/// A [`Diagram`] in device memory.
///
/// Example: see [the module](crate::gpu).
#[derive(Debug)]
#[non_exhaustive]
pub struct DeviceDiagram {
    /// The level.
    pub level: Level,
    /// The site nearest to each cell's centre.
    pub nearest: Column<u32>,
    /// The second nearest, or [`NONE`](crate::NONE).
    pub second: Option<Column<u32>>,
    /// The angle to the nearest site, in radians; infinite without a site.
    pub distance: Option<Column<f64>>,
    /// 1 where the two nearest sites are equally near; else 0.
    pub tie: Option<Column<u8>>,
}

impl DeviceDiagram {
    /// What is wanted.
    ///
    /// # Safety
    /// All elements are written before they are read.
    pub(super) unsafe fn uninitialized(gpu: &Gpu, params: &Params) -> Result<Self> {
        let cells = params.level.cell_count() as usize;
        // SAFETY: the caller writes all elements before they are read.
        unsafe {
            Ok(Self {
                level: params.level,
                nearest: gpu.uninitialized(cells)?,
                second: params.second.then(|| gpu.uninitialized(cells)).transpose()?,
                distance: params.distance.then(|| gpu.uninitialized(cells)).transpose()?,
                tie: params.tie.then(|| gpu.uninitialized(cells)).transpose()?,
            })
        }
    }

    /// Where kernels write.
    pub(super) fn outputs(&mut self) -> Outputs<'_> {
        Outputs {
            nearest: self.nearest.output(),
            second: self.second.as_mut().map(Column::output),
            distance: self.distance.as_mut().map(Column::output),
            tie: self.tie.as_mut().map(Column::output),
        }
    }

    /// Copies the diagram to the host. Waits for the handle's stream.
    ///
    /// # Errors
    /// [`Error::Core`](crate::Error::Core), also if earlier work on the stream failed.
    pub fn to_host(&self) -> Result<Diagram> {
        Ok(Diagram {
            level: self.level,
            nearest: self.nearest.to_host()?,
            second: self.second.as_ref().map(Column::to_host).transpose()?,
            distance: self.distance.as_ref().map(Column::to_host).transpose()?,
            tie: self.tie.as_ref().map(Column::to_host).transpose()?,
        })
    }
}
