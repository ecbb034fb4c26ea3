//! Room for the arrays that will be written, taken while the mask is read and transformed.

use std::path::PathBuf;

use anyhow::Result;
use geo_io::{NpyElement, NpyRoom, Output, Prefilled};
use gpu_core::host_memory;
use pba_voronoi::MAX_PIXELS;
use programs::args::Format;
use programs::stages::Beside;

use crate::args::{self, Args};

/// Bytes of a pixel's site and distance while they are made.
const MADE: u64 = 5;

/// The rooms of a run, by their outputs' names.
#[derive(Default)]
pub struct Rooms {
    distances: Vec<(PathBuf, NpyRoom<f32>)>,
    nearest: Option<NpyRoom<u32>>,
    /// How much of the written files was ready in advance.
    ahead: Vec<(PathBuf, Prefilled)>,
}

impl Rooms {
    /// Takes room for the outputs that are large arrays, if the size of the mask is known.
    pub fn begin(args: &Args, size: Option<(usize, usize)>) -> Result<Self> {
        let mut rooms = Self::default();
        let Some((width, height)) = size else { return Ok(rooms) };
        let pixels = (width as u64).saturating_mul(height as u64);
        // What memory does not hold is refused once the mask is read, whatever room its distances would have.
        if host_memory::require(pixels.saturating_mul(MADE)).is_err() {
            return Ok(rooms);
        }
        let output = |path| Output { path, existing: args.run.existing() };
        let arrays = args.output.iter().filter(|path| args::format(path).ok() == Some(Format::Npy));
        for path in arrays.filter(|_| NpyRoom::<f32>::is_worth(pixels)) {
            let room = NpyRoom::begin(output(path), width, height)?;
            rooms.distances.push((path.clone(), room));
        }
        // More pixels have longer indices, which are written without.
        if let Some(path) = &args.nearest
            && !args::is_tiff(path)
            && NpyRoom::<u32>::is_worth(pixels)
            && pixels <= MAX_PIXELS
        {
            rooms.nearest = Some(NpyRoom::begin(output(path), width, height)?);
        }
        Ok(rooms)
    }

    /// Writes distances, into their room if there is one.
    pub fn write_distances(
        &mut self,
        output: Output,
        values: &[f32],
        size: (usize, usize),
    ) -> Result<()> {
        let place = self.distances.iter().position(|(path, _)| path == output.path);
        let room = place.map(|place| self.distances.swap_remove(place).1);
        self.write(room, output, values, size)
    }

    /// Writes indices of 32 bits, into their room if there is one.
    pub fn write_nearest(
        &mut self,
        output: Output,
        values: &[u32],
        size: (usize, usize),
    ) -> Result<()> {
        let room = self.nearest.take();
        self.write(room, output, values, size)
    }

    fn write<T: NpyElement>(
        &mut self,
        room: Option<NpyRoom<T>>,
        output: Output,
        values: &[T],
        (width, height): (usize, usize),
    ) -> Result<()> {
        match room {
            Some(room) => self.ahead.push((output.path.to_owned(), room.write(values)?)),
            None => geo_io::write_npy(output, values, width, height)?,
        }
        Ok(())
    }

    /// Work that ran beside the stages before writing.
    pub fn beside(&self) -> impl Iterator<Item = Beside> {
        let done = self.ahead.iter().filter(|(_, ahead)| ahead.bytes > 0);
        done.map(|(path, ahead)| Beside {
            what: format!("room for {} bytes of {}", ahead.bytes, path.display()),
            stages: "read, transform",
            seconds: ahead.seconds,
        })
    }
}
