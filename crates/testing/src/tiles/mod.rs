//! Programs that work in tiles.

mod suite;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::Random;
use crate::program::{Program, files, json_of};

pub use suite::Suite;

/// Plans into `plan.json`, runs the commands that come before `run`, makes all tiles, puts them together and removes
/// them; gives the number of tiles. Devices are the same as for [`make`].
///
/// # Panics
/// Panics if one of these fails.
pub fn in_tiles(
    program: &Program,
    folder: &Path,
    plan: &[&str],
    before: &[&str],
    device: &str,
    merge: &[&str],
) -> u64 {
    let planned = program.json(folder, &[&["plan", "--overwrite"], plan].concat());
    for command in before {
        program.succeeds(folder, &[command, "plan.json"]);
    }
    make(program, folder, device, merge);
    planned["tiles"]["count"].as_u64().expect("the report counts tiles")
}

/// Makes the tiles of `plan.json`, all of which must be missing, puts them together and removes them. Of `software:3` three
/// devices make them, which have no more memory than the plan says that a tile takes.
///
/// # Panics
/// Panics if one of these fails.
pub fn make(program: &Program, folder: &Path, device: &str, merge: &[&str]) {
    let plan = json_of(&folder.join("plan.json"));
    let tiles = plan["plan"]["tiles"].as_array().expect("it has tiles");
    let memory = tiles.iter().filter_map(|tile| tile["device_bytes"].as_u64()).max();
    let memory = memory.expect("a tile takes memory of a card").to_string();
    let (device, count, memory) = match device.strip_prefix("software:") {
        Some(count) => ("software:all", count, &memory[..]),
        None => (device, "1", "68719476736"),
    };
    let run = ["run", "plan.json", "--all", "--device", device];
    let devices = [("TESSERA_SOFTWARE_DEVICES", count), ("TESSERA_SOFTWARE_MEMORY", memory)];
    let report = program.succeeds_with(folder, &run, &devices);
    assert!(report.contains(&format!("{} made, 0 were there", tiles.len())), "{report}");
    program.succeeds(folder, &[&["merge", "plan.json"], merge].concat());
    std::fs::remove_dir_all(folder_of(folder, "plan.json")).expect("there are tiles");
}

/// Plans with `memory` MiB of `--memory`, into more tiles than `least`, and makes all tiles. Reading the next tile and
/// writing the last beside it takes at most a tenth above that (Linux).
///
/// # Panics
/// If it takes more.
#[cfg(target_os = "linux")]
pub fn keeps_the_memory(
    program: &Program,
    folder: &Path,
    plan: &[&str],
    before: &[&str],
    (memory, least): (u64, u64),
) {
    let given = format!("{memory}MiB");
    let words = [&["plan", "--overwrite", "--memory", &given], plan].concat();
    let report = program.json(folder, &words);
    assert!(report["tiles"]["count"].as_u64().is_some_and(|count| count > least), "{report}");
    for command in before {
        program.succeeds(folder, &[command, "plan.json"]);
    }
    let run = ["run", "plan.json", "--all", "--device", "cpu"];
    let peak = peak_memory(program, folder, &run);
    println!("{plan:?}: {} MiB at the peak", peak >> 20);
    assert!(peak <= (memory << 20) / 10 * 11, "{plan:?}: {} MiB", peak >> 20);
}

/// Returns the number in a variable of the environment, for longer tests.
pub fn number(variable: &str, other: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(other)
}

/// The folder of a plan's tiles.
///
/// # Panics
/// Panics if there is no plan.
pub fn folder_of(folder: &Path, plan: &str) -> PathBuf {
    beside(folder, plan, "tiles")
}

/// The folder of a plan's bins.
///
/// # Panics
/// Likewise.
pub fn bins_of(folder: &Path, plan: &str) -> PathBuf {
    beside(folder, plan, "bins")
}

fn beside(folder: &Path, plan: &str, what: &str) -> PathBuf {
    let text = std::fs::read_to_string(folder.join(plan)).expect("there is a plan");
    let id = text.split("\"id\": \"").nth(1).and_then(|rest| rest.split('"').next());
    folder.join(format!("{what}-{}", id.expect("a plan has an id")))
}

/// Starts a program again and again and kills it after a random time, as often as `TESSERA_KILLS` says or 20 times. If
/// the program came to its end, it begins anew, without the folder `made` of its results. The times adapt to how long
/// the program takes, however busy the machine.
///
/// # Panics
/// Panics if no run reached a file of that folder.
pub fn kill_at_random(program: &Program, folder: &Path, made: &Path, arguments: &[&str]) {
    let mut random = Random::new(11);
    let (mut killed, mut counts) = (0, vec![]);
    let mut most = 250_000;
    while killed < number("TESSERA_KILLS", 20) {
        let mut command = program.command(folder, arguments);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the program starts");
        std::thread::sleep(Duration::from_micros(random.below(most)));
        child.kill().expect("it can be killed");
        if child.wait().expect("it ends").success() {
            // All of it was there: begin again, and kill sooner.
            std::fs::remove_dir_all(made).expect("there are files");
            most = (most * 4 / 5).max(1000);
            continue;
        }
        killed += 1;
        let count = if made.is_dir() { files(made).len() } else { 0 };
        // Later, where no run gets to a file.
        most = if count == 0 { most * 5 / 4 } else { most };
        counts.push(count);
    }
    assert!(counts.iter().any(|&count| count > 0), "no run got to a file: {counts:?}");
}

/// Runs a program, which must succeed, and returns the most bytes of memory that it took (Linux: `VmHWM`, polled while
/// it runs).
///
/// # Panics
/// Where it fails, or the system does not say.
#[cfg(target_os = "linux")]
pub fn peak_memory(program: &Program, folder: &Path, arguments: &[&str]) -> u64 {
    let mut command = program.command(folder, arguments);
    let mut child = command.stdout(Stdio::null()).spawn().expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) * 1024);
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            assert!(status.success(), "{arguments:?}: {status}");
            assert!(peak > 0, "the system does not say");
            return peak;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}
