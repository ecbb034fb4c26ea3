//! Where points are read.

use gpu_core::{Device, On, Progress, Silent};

/// The device of a read, and the progress that the read reports to.
///
/// Reading works on the cores. A GPU helps with large LAZ files of point formats 6 to 10: it decodes their chunks, if
/// geo-io has the feature `cuda`. The points are the same on any device.
///
/// A progress alone converts to a read without a GPU. A `&Device` and an [`On`] convert to one with that device.
///
/// ```
/// use geo_io::{Filter, LasPoints, read_points, write_las};
/// use gpu_core::{Device, DeviceChoice, Silent};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.laz");
/// let points = LasPoints { x: &[1.0, 2.0], y: &[3.0, 4.0], z: &[5.0, 6.0], ..LasPoints::default() };
/// write_las(&path, &points, None)?;
/// let device = Device::open(DeviceChoice::Cpu)?; // or Cuda(0)
/// let points = read_points(&path, &Filter::default(), &Default::default(), &device)?;
/// assert_eq!(points, read_points(&path, &Filter::default(), &Default::default(), &Silent)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct ReadOn<'a> {
    /// Watches the read, and may end it.
    pub progress: &'a dyn Progress,
    pub(crate) unpacking: Unpacking<'a>,
}

impl<'a> ReadOn<'a> {
    /// Reads with a device that may still be opening while the read begins. The read calls `device` only if a GPU would
    /// help. `device` waits until the device is open; with `None`, the cores do all work.
    pub fn once_open(
        device: &'a (dyn Fn() -> Option<Device> + Sync),
        progress: &'a dyn Progress,
    ) -> Self {
        Self::new(Some(Opened::Later(device)), progress)
    }

    fn new(device: Option<Opened<'a>>, progress: &'a dyn Progress) -> Self {
        Self { progress, unpacking: Unpacking { device, chunks: None } }
    }

    /// For tests: the fewest chunks for which a GPU is used, and the most that it gets at once.
    #[doc(hidden)]
    #[must_use]
    pub fn with_chunks(mut self, least: usize, most: usize) -> Self {
        self.unpacking.chunks = Some([least, most]);
        self
    }
}

impl<'a> From<On<'a>> for ReadOn<'a> {
    fn from(on: On<'a>) -> Self {
        Self::new(Some(Opened::Now(on.device)), on.progress)
    }
}

impl<'a> From<&'a Device> for ReadOn<'a> {
    fn from(device: &'a Device) -> Self {
        On::from(device).into()
    }
}

impl<'a, 'b: 'a> From<&'a (dyn Progress + 'b)> for ReadOn<'a> {
    fn from(progress: &'a (dyn Progress + 'b)) -> Self {
        Self::new(None, progress)
    }
}

impl<'a> From<&'a Silent> for ReadOn<'a> {
    fn from(progress: &'a Silent) -> Self {
        Self::new(None, progress)
    }
}

/// What unpacks the chunks of LAZ files beside the cores.
#[derive(Clone, Copy)]
pub(crate) struct Unpacking<'a> {
    device: Option<Opened<'a>>,
    /// The fewest chunks for which a GPU is used, and the most that it gets at once, where a test says that.
    pub chunks: Option<[usize; 2]>,
}

impl<'a> Unpacking<'a> {
    /// Returns the device, and waits until it is open.
    pub fn device(&self) -> Option<Device> {
        match self.device? {
            Opened::Now(device) => Some(device.clone()),
            Opened::Later(device) => device(),
        }
    }

    /// A read of one file that reports elsewhere.
    pub fn reports_to(self, progress: &'a dyn Progress) -> ReadOn<'a> {
        ReadOn { progress, unpacking: self }
    }
}

#[derive(Clone, Copy)]
enum Opened<'a> {
    Now(&'a Device),
    Later(&'a (dyn Fn() -> Option<Device> + Sync)),
}
