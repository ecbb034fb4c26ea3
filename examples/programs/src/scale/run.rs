//! Making tiles.
//!
//! A tile's files appear whole or not at all, and have the same bytes whenever they are made. So a job may be killed at
//! any moment and run again, and two that make the same tile do no harm.
//!
//! Each card has three threads: one reads the next tile while another makes a tile on the card and the third writes the
//! previous tile. Readers take tiles from one queue, so a faster card makes more. The tiles in work fit the memory of
//! the plan ([`Memory`]), even if that allows only a few. A card that fails every call counts as lost: its tile goes to
//! another card, once.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use gpu_core::{Device, DeviceChoice, Progress, host_memory};
use serde_json::json;

use super::memory::{FIXED, Memory, Share};
use super::queue::{Job, Queue};
use super::{Planned, Recipe, RunTileArgs, require_unchanged};
use crate::program;
use crate::report::Report;
use crate::stages::Stages;

/// Makes one tile, or all missing tiles.
///
/// # Errors
/// The plan or a device cannot be used. With one tile, the error of that tile. With all tiles, the tiles that are
/// missing at the end.
pub fn run<R: Recipe>(args: &RunTileArgs) -> Result<()> {
    let planned = Planned::<R>::read(&args.plan)?;
    let choice = args.run.device;
    if let Some(number) = args.tile {
        planned.tile(number)?;
        let is_several = matches!(choice, DeviceChoice::AllCuda | DeviceChoice::AllSoftware);
        ensure!(
            !is_several,
            "--device {choice} means all devices, but a tile needs one: give --all"
        );
    }
    R::require_ready(&planned)?;
    let devices = Device::open_all(choice)?;
    require_device_memory(&planned, args.tile, &devices)?;
    let folder = &planned.folder;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut report = Report::default();
    report.devices(&devices, choice);
    report_bins(&planned, &mut report)?;
    let mut stages = Stages::new(args.run.quiet);
    let done = stages.run("tiles", |progress| match args.tile {
        Some(number) => make_one(&planned, number, &devices[0], progress),
        None => Ok(make_all(&planned, &devices, progress)),
    })?;
    let count = planned.plan.tiles().len();
    if !done.failed.is_empty() {
        let (bad, good) = (done.failed.len(), count - done.failed.len());
        // No other run does better.
        let mut inputs = planned.plan.inputs().iter();
        inputs
            .try_for_each(require_unchanged)
            .with_context(|| format!("{bad} of {count} tiles failed"))?;
        bail!(
            "{bad} of {count} tiles failed: {:?}; the other {good} are complete. Mend what the errors above say, and run it again",
            done.failed
        );
    }
    let (made, there) = (done.made.len(), done.there);
    report.line("tiles", format_args!("{made} made, {there} were there"));
    report.field("tiles", json!({"made": made, "there": there}));
    if args.all {
        let [read, make, write] = done.seconds;
        stages.note_parts([
            ("read, beside each other", read),
            ("make, beside each other", make),
            ("write, beside each other", write),
        ]);
        report.field("steps", json!({"read": read, "make": make, "write": write}));
    }
    report.stages(&stages);
    let files: Vec<PathBuf> = match planned.recipe.zarr() {
        Some(store) => vec![store.into()],
        None => done.made.iter().flat_map(|&number| R::files(&planned, number)).collect(),
    };
    report.written(&files);
    report.print(&args.run);
    Ok(())
}

/// Says whether there are bins that points are read from.
fn report_bins<R: Recipe>(planned: &Planned<R>, report: &mut Report) -> Result<()> {
    if !planned.bins.is_dir() {
        return Ok(());
    }
    let (folder, program) = (planned.bins.display(), R::PROGRAM);
    match planned.open_bins()? {
        Some(bins) => {
            report.line("bins", format_args!("{} points, {folder}", bins.points()));
            report.field("bins", bins.points());
        }
        None => report.note(format_args!(
            "{folder} is not complete, so tiles read the inputs instead; {program} bin completes it"
        )),
    }
    Ok(())
}

/// Refuses cards on which a tile would find less memory than the plan says that it takes.
fn require_device_memory<R: Recipe>(
    planned: &Planned<R>,
    tile: Option<usize>,
    devices: &[Device],
) -> Result<()> {
    let tiles = planned.plan.tiles();
    let tiles = tile.map_or(tiles, |number| &tiles[number..=number]);
    let needed = tiles.iter().map(|tile| tile.device_bytes).max().unwrap_or(0);
    for device in devices {
        let free = free_memory(device)?;
        ensure!(
            needed <= free,
            "tiles of this plan take up to {} MiB of a card's memory, but {} has {} MiB free: \
             make the plan with --device-memory",
            needed.div_ceil(1 << 20),
            device.name(),
            free >> 20
        );
    }
    Ok(())
}

/// Returns the memory that a tile may take on the device. On the CPU it counts as the host's.
fn free_memory(device: &Device) -> Result<u64> {
    match device {
        Device::Cpu => Ok(u64::MAX),
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => Ok(gpu.free_memory()?),
        #[allow(unreachable_patterns)]
        _ => Ok(u64::MAX),
    }
}

/// What became of the tiles.
#[derive(Default)]
struct Done {
    made: Vec<usize>,
    there: usize,
    failed: Vec<usize>,
    /// Seconds of reading, making and writing, added up over the cards.
    seconds: [f64; 3],
}

/// Makes a tile, unless it is there.
fn make_one<R: Recipe>(
    planned: &Planned<R>,
    number: usize,
    device: &Device,
    progress: &dyn Progress,
) -> Result<Done> {
    if R::is_whole(planned, number) {
        return Ok(Done { there: 1, ..Done::default() });
    }
    let make = || {
        let tile = planned.tile(number)?;
        let read = R::read(planned, tile, progress)?;
        let made = R::make(planned, tile, read, device, progress)?;
        R::write(planned, number, made)
    };
    make().with_context(|| format!("tile {number}"))?;
    Ok(Done { made: vec![number], ..Done::default() })
}

/// A thread's message about a tile.
enum Word {
    There,
    Made(usize),
    Failed(usize, Error),
    /// It goes to another card.
    Again(usize, Error),
}

/// The run of all tiles.
struct Run<'a, R> {
    planned: &'a Planned<R>,
    queue: Queue,
    memory: Memory,
    nanoseconds: [AtomicU64; 3],
}

/// Makes all missing tiles. If a tile fails, names it and makes the others.
fn make_all<R: Recipe>(planned: &Planned<R>, devices: &[Device], progress: &dyn Progress) -> Done {
    let count = planned.plan.tiles().len();
    let queue = Queue::new(0..count, devices.len());
    // Where the system does not say what is free, one tile at a time.
    let memory = planned.memory.or_else(host_memory::available).unwrap_or(0);
    let memory = Memory::new(memory.saturating_sub(FIXED));
    let run = Run { planned, queue, memory, nanoseconds: Default::default() };
    let mut done = Done::default();
    std::thread::scope(|scope| {
        let (words, to_hear) = channel();
        for (card, device) in devices.iter().enumerate() {
            let (read, to_make) = sync_channel(0);
            let (made, to_write) = sync_channel(0);
            let (run, say) = (&run, [words.clone(), words.clone(), words.clone()]);
            let [reader, maker, writer] = say;
            scope.spawn(move || run.read_tiles(card, &read, &reader));
            scope.spawn(move || run.make_tiles((card, device), to_make, &made, &maker));
            scope.spawn(move || run.write_tiles(to_write, &writer));
        }
        drop(words);
        done.listen(R::PROGRAM, count, to_hear, progress);
    });
    let seconds = |sum: &AtomicU64| Duration::from_nanos(sum.load(Ordering::Relaxed)).as_secs_f64();
    done.seconds = [0, 1, 2].map(|step| seconds(&run.nanoseconds[step]));
    // Where every card is lost.
    done.failed.extend(run.queue.rest());
    done.failed.sort_unstable();
    done.made.sort_unstable();
    done
}

impl Done {
    fn listen(
        &mut self,
        program: &str,
        count: usize,
        words: Receiver<Word>,
        progress: &dyn Progress,
    ) {
        let mut said = BTreeSet::new();
        for word in words {
            match word {
                Word::There => self.there += 1,
                Word::Made(number) => self.made.push(number),
                Word::Failed(number, error) => {
                    let reason = format!("{error:#}");
                    // What ends every tile, as an input that is gone, is said once.
                    if said.insert(reason.clone()) {
                        program::warn(program, &anyhow!("tile {number}: {reason}"));
                    }
                    self.failed.push(number);
                }
                Word::Again(number, error) => {
                    program::warn(
                        program,
                        &anyhow!("tile {number}: {error:#}; another card makes it"),
                    );
                }
            }
            let done = self.there + self.made.len() + self.failed.len();
            // Nothing ends a run but a signal, which ends the program.
            let _ = progress.report("tiles", done as f64 / count as f64);
        }
    }
}

/// A tile at a step: the result of the step before, and the memory that it holds.
type Step<'a, T> = (Job, Share<'a>, T);

impl<R: Recipe> Run<'_, R> {
    /// The thread that reads for a card.
    fn read_tiles<'a>(
        &'a self,
        card: usize,
        to_make: &SyncSender<Step<'a, R::Read>>,
        words: &Sender<Word>,
    ) {
        while let Some(job) = self.queue.next(card) {
            let number = job.number;
            if guarded(|| Ok(R::is_whole(self.planned, number))).unwrap_or(false) {
                self.queue.settle();
                let _ = words.send(Word::There);
                continue;
            }
            let tile = &self.planned.plan.tiles()[number];
            let share = self.memory.begin_reading(R::needs(self.planned, tile));
            match self.timed(0, || R::read(self.planned, tile, &gpu_core::Silent)) {
                Ok(read) => {
                    if let Err(back) = to_make.send((job, share, read)) {
                        // The card was lost meanwhile.
                        self.queue.give_back(back.0.0);
                    }
                }
                Err(error) => {
                    self.queue.settle();
                    let _ = words.send(Word::Failed(number, error));
                }
            }
        }
    }

    /// The thread that makes tiles on a card.
    fn make_tiles<'a>(
        &'a self,
        (card, device): (usize, &Device),
        to_make: Receiver<Step<'a, R::Read>>,
        to_write: &SyncSender<Step<'a, R::Made>>,
        words: &Sender<Word>,
    ) {
        for (job, mut share, read) in to_make {
            let tile = &self.planned.plan.tiles()[job.number];
            share.begin_making();
            let made =
                self.timed(1, || R::make(self.planned, tile, read, device, &gpu_core::Silent));
            let error = match made {
                Ok(made) => {
                    self.queue.settle();
                    share.begin_writing();
                    // The writer goes last.
                    let _ = to_write.send((job, share, made));
                    continue;
                }
                Err(error) => error,
            };
            drop(share);
            let lost = device.check().err();
            let is_another = lost.is_some() && self.queue.lose(card);
            let error = match lost.is_some() {
                true => error.context(format!("card {card}, {}, fails every call", device.name())),
                false => error,
            };
            if is_another && !job.is_second {
                let _ = words.send(Word::Again(job.number, error));
                self.queue.give_back(Job { is_second: true, ..job });
            } else {
                let _ = words.send(Word::Failed(job.number, error));
                self.queue.settle();
            }
            if lost.is_some() {
                return;
            }
        }
    }

    /// The thread that writes what a card made.
    fn write_tiles(&self, to_write: Receiver<Step<'_, R::Made>>, words: &Sender<Word>) {
        for (job, share, made) in to_write {
            let number = job.number;
            let word = match self.timed(2, || R::write(self.planned, number, made)) {
                Ok(()) => Word::Made(number),
                Err(error) => Word::Failed(number, error),
            };
            drop(share);
            let _ = words.send(word);
        }
    }

    /// A step, with its time added to its kind's.
    fn timed<T>(&self, step: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = guarded(work);
        let nanoseconds = start.elapsed().as_nanos() as u64;
        self.nanoseconds[step].fetch_add(nanoseconds, Ordering::Relaxed);
        result
    }
}

/// Makes a panic an error of the tile, so that the threads which wait for this one go on. No code here panics on
/// purpose.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // A panic leaves only the tile's own data behind, and nothing reads them again.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = program::panic_text(&*panic);
        Err(anyhow!("internal error, please report it: {text}"))
    })
}
