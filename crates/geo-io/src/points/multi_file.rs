//! Several point files, read side by side.
//!
//! One file keeps all cores busy only if it has many chunks, and not while the reader takes points out of its records.
//! So several threads read; each takes the next file that no thread has begun. One pool of cores decodes the chunks of
//! all. Clouds are passed on in the order of the files, so a file that is read early waits. A thread begins no file
//! that is far ahead of its turn, so that few files wait.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gpu_core::Progress;

use crate::points::read::read;
use crate::points::read_on::{ReadOn, Unpacking};
use crate::points::{Keep, report};
use crate::{CsvColumns, Error, Filter, PointCloud, Result};

/// Between two reports of progress.
const A_MOMENT: Duration = Duration::from_millis(50);

/// How to read several point files.
#[derive(Clone, Copy, Debug)]
pub struct MultiFileReader<'a> {
    filter: &'a Filter,
    columns: &'a CsvColumns,
    at_once: usize,
    is_checked: bool,
}

impl<'a> MultiFileReader<'a> {
    /// Keeps the points that `filter` keeps, with the columns of tables that `columns` names. Reads as many files at
    /// once as there are cores.
    pub fn new(filter: &'a Filter, columns: &'a CsvColumns) -> Self {
        Self { filter, columns, at_once: rayon::current_num_threads(), is_checked: false }
    }

    /// Limits how many files are open at once, including files that were read before their turn.
    pub fn at_once(self, files: usize) -> Self {
        Self { at_once: files.max(1), ..self }
    }

    /// Refuses a LAS or LAZ file if a kept point lies outside of the bounds in its header.
    pub fn within_headers(self) -> Self {
        Self { is_checked: true, ..self }
    }

    /// Reads files as [`read_points`](crate::read_points) does, and passes the path and points of each file to `take`,
    /// in the order of the files.
    ///
    /// Memory: the points of all files that are open at once, and up to 5 MB a core for points that wait for their
    /// turn.
    ///
    /// # Errors
    /// - The error of `read_points` for the first file that has one.
    /// - The errors of `take`.
    /// - [`Error::Malformed`]: a point lies outside of its header's bounds. Only
    ///   [`within_headers`](Self::within_headers) checks that.
    pub fn read<'on, E: From<Error>>(
        &self,
        paths: &[PathBuf],
        on: impl Into<ReadOn<'on>>,
        mut take: impl FnMut(&Path, PointCloud) -> Result<(), E>,
    ) -> Result<(), E> {
        let on = on.into();
        let threads = self.at_once.min(paths.len());
        if threads < 2 {
            return paths.iter().try_for_each(|path| {
                let keep = Keep::All { at_once: 1, is_checked: self.is_checked };
                take(path, read(path, self.filter, self.columns, on, keep)?)
            });
        }
        let queue = Queue::new(threads, paths.len());
        std::thread::scope(|scope| {
            let _stops = Stops { queue: &queue, in_panic_alone: false };
            let (clouds, to_take) = channel();
            for _ in 0..threads {
                let (queue, clouds, unpacking) = (&queue, clouds.clone(), on.unpacking);
                scope.spawn(move || self.read_files(paths, unpacking, queue, &clouds));
            }
            drop(clouds);
            queue.take_all(paths, &to_take, on.progress, &mut take)
        })
    }

    /// A thread that reads.
    fn read_files(
        &self,
        paths: &[PathBuf],
        unpacking: Unpacking,
        queue: &Queue,
        clouds: &Sender<Numbered>,
    ) {
        let _stops = Stops { queue, in_panic_alone: true };
        while let Some(number) = queue.next() {
            let keep = Keep::All { at_once: queue.at_once, is_checked: self.is_checked };
            let watch = Watch { queue, number };
            let on = unpacking.reports_to(&watch);
            let cloud = read(&paths[number], self.filter, self.columns, on, keep);
            if clouds.send((number, cloud)).is_err() {
                return;
            }
        }
    }
}

/// A file's number, and what came of it.
type Numbered = (usize, Result<PointCloud>);

/// The files that wait for a thread, and how far the others are.
struct Queue {
    at_once: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The file that the next thread reads.
    next: usize,
    /// The file whose turn it is.
    turn: usize,
    /// The share of each file that is read.
    fractions: Vec<f64>,
    is_stopped: bool,
}

impl Queue {
    fn new(at_once: usize, files: usize) -> Self {
        let state = State { next: 0, turn: 0, fractions: vec![0.0; files], is_stopped: false };
        Self { at_once, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next file, once it is not too far behind the one whose turn it is; none at the end.
    fn next(&self) -> Option<usize> {
        let must_wait = |state: &mut State| {
            !state.is_stopped
                && state.next < state.fractions.len()
                && state.next >= state.turn + self.at_once
        };
        let state = self.changed.wait_while(self.lock(), must_wait);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.is_stopped || state.next == state.fractions.len() {
            return None;
        }
        state.next += 1;
        Some(state.next - 1)
    }

    fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// Takes the clouds in the order of their files, and tells the progress how much of all is read.
    fn take_all<E: From<Error>>(
        &self,
        paths: &[PathBuf],
        clouds: &Receiver<Numbered>,
        progress: &dyn Progress,
        take: &mut dyn FnMut(&Path, PointCloud) -> Result<(), E>,
    ) -> Result<(), E> {
        let files = paths.len();
        let mut waiting: Vec<Option<Result<PointCloud>>> = (0..files).map(|_| None).collect();
        let mut turn = 0;
        while turn < files {
            match clouds.recv_timeout(A_MOMENT) {
                Ok((number, cloud)) => waiting[number] = Some(cloud),
                Err(RecvTimeoutError::Timeout) => {}
                // A thread has panicked, so that all have ended: the scope hands that on.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Some(cloud) = waiting.get_mut(turn).and_then(Option::take) {
                take(&paths[turn], cloud?)?;
                turn += 1;
                self.lock().turn = turn;
                self.changed.notify_all();
            }
            let read: f64 = self.lock().fractions.iter().sum();
            report(progress, (read * 1e6) as u64, files as u64 * 1_000_000)?;
        }
        Ok(())
    }
}

/// Ends all reading threads when it is dropped. The thread that takes the clouds drops one however it ends. A reading
/// thread's own ends the others only in a panic: they would wait for a turn that does not come.
struct Stops<'a> {
    queue: &'a Queue,
    in_panic_alone: bool,
}

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        if !self.in_panic_alone || std::thread::panicking() {
            self.queue.stop();
        }
    }
}

/// Passes the progress of a reading thread on to the queue.
struct Watch<'a> {
    queue: &'a Queue,
    number: usize,
}

impl Progress for Watch<'_> {
    fn report(&self, _: &'static str, fraction: f64) -> ControlFlow<()> {
        let mut state = self.queue.lock();
        state.fractions[self.number] = fraction;
        match state.is_stopped {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use gpu_core::Device;

    use super::*;
    use crate::{LasPoints, write_las};

    /// Files of different lengths, in the order of their numbers.
    fn files(folder: &std::path::Path, count: u32) -> Vec<PathBuf> {
        let file = |number: u32| {
            let points = 1 + (number * 7919) % 5000;
            let x: Vec<f64> = (0..points).map(|i| f64::from(number * 10_000 + i)).collect();
            let path = folder.join(format!("{number}.laz"));
            let points = LasPoints { x: &x, y: &x, z: &x, ..Default::default() };
            write_las(&path, &points, None).unwrap();
            path
        };
        (0..count).map(file).collect()
    }

    #[test]
    fn clouds_come_in_the_order_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path(), 40);
        let (filter, columns) = (Filter::default(), CsvColumns::default());
        let one_by_one: Vec<PointCloud> = paths
            .iter()
            .map(|path| crate::read_points(path, &filter, &columns, &gpu_core::Silent).unwrap())
            .collect();
        for at_once in [1, 2, 3, 16, 100] {
            let mut all = Vec::new();
            let several = MultiFileReader::new(&filter, &columns).at_once(at_once).within_headers();
            let take = |_: &Path, cloud| {
                all.push(cloud);
                Ok::<_, Error>(())
            };
            several.read(&paths, &gpu_core::Silent, take).unwrap();
            assert_eq!(all, one_by_one);
        }
    }

    #[test]
    fn no_file_is_read_far_before_its_turn() {
        let queue = Queue::new(3, 100);
        assert_eq!([0, 1, 2].map(|_| queue.next()), [Some(0), Some(1), Some(2)]);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.next());
            std::thread::sleep(A_MOMENT);
            assert!(!waiting.is_finished());
            queue.lock().turn = 1;
            queue.changed.notify_all();
            assert_eq!(waiting.join().unwrap(), Some(3));
        });
        queue.stop();
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn the_first_file_with_an_error_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut paths = files(folder.path(), 12);
        paths[5] = folder.path().join("missing.laz");
        paths[9] = folder.path().join("other.txt.zip");
        let (filter, columns) = (Filter::default(), CsvColumns::default());
        let taken = Cell::new(0);
        let take = |_: &Path, _| {
            taken.set(taken.get() + 1);
            Ok::<_, Error>(())
        };
        let error = MultiFileReader::new(&filter, &columns)
            .at_once(4)
            .read(&paths, &gpu_core::Silent, take)
            .unwrap_err();
        assert!(error.to_string().contains("missing.laz"), "{error}");
        assert_eq!(taken.get(), 5);
        // What takes may fail too, and the call may be ended.
        let mut count = 0;
        let refuse = |_: &Path, _| {
            count += 1;
            if count == 3 { Err(Error::Cancelled) } else { Ok(()) }
        };
        let result = MultiFileReader::new(&filter, &columns).at_once(4).read(
            &paths,
            &gpu_core::Silent,
            refuse,
        );
        assert!(matches!(result, Err(Error::Cancelled)));
        struct Ended;
        impl Progress for Ended {
            fn report(&self, _: &'static str, _: f64) -> ControlFlow<()> {
                ControlFlow::Break(())
            }
        }
        let result = MultiFileReader::new(&filter, &columns).read(
            &paths[..4],
            Device::Cpu.with_progress(&Ended),
            take,
        );
        assert!(matches!(result, Err(Error::Cancelled)));
    }

    #[test]
    fn points_outside_of_their_header_are_refused_where_that_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let paths = files(folder.path(), 3);
        let mut bytes = std::fs::read(&paths[1]).unwrap();
        // The greatest x.
        bytes[179..187].copy_from_slice(&10_000.0_f64.to_le_bytes());
        std::fs::write(&paths[1], bytes).unwrap();
        let (filter, columns) = (Filter::default(), CsvColumns::default());
        let read = |several: MultiFileReader| {
            several.read(&paths, &gpu_core::Silent, |_, _| Ok::<_, Error>(()))
        };
        for at_once in [1, 3] {
            let several = MultiFileReader::new(&filter, &columns).at_once(at_once);
            read(several).unwrap();
            let error = read(several.within_headers()).unwrap_err().to_string();
            assert!(error.contains("1.laz") && error.contains("header's bounds"), "{error}");
        }
    }
}
