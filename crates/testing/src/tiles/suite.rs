//! Checks for every program that works in tiles. A tile is a job that may be done in any order, killed and done again.
//! An error names its cause in one line, and tiles put together are what one run makes.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{folder_of, kill_at_random};
use crate::program::{Program, files, is_same};

/// Something that a program makes at once and in tiles.
pub struct Suite {
    /// The program.
    pub program: Program,
    /// Writes the inputs into a folder.
    pub write_inputs: fn(&Path),
    /// The name of one of them.
    pub input: &'static str,
    /// The command of one run, if it has one, and its outputs.
    pub at_once: &'static [&'static str],
    /// The inputs and what decides the result, of one run and of `plan`.
    pub words: &'static [&'static str],
    /// The further arguments of `plan`.
    pub plan: &'static [&'static str],
    /// Sides of tiles, in cells: the first gives more than 20 tiles, the second a few, at least 4.
    pub sides: [&'static str; 2],
    /// The commands that come before `run`.
    pub before: &'static [&'static str],
    /// The outputs of `merge`, the option of the first before all, and its options.
    pub merge: &'static [&'static str],
    /// The files of one run and those of `merge` that have the same bytes.
    pub same: &'static [[&'static str; 2]],
    /// The texts that follow the number of a tile in the names of its files.
    pub ends: &'static [&'static str],
    /// What `merge` says, beside the name, about a file of tile 2 that has the right length and a good header, but
    /// other contents.
    pub damaged: &'static [&'static str],
    /// A part of a plan's text, and what somebody puts in its place.
    pub changed: [&'static str; 2],
}

/// Makes a test of each case of a [`Suite`](Suite), which is a constant.
#[macro_export]
macro_rules! suite_of_tiles {
    ($suite:ident) => {
        $crate::suite_of_tiles! { $suite:
            killed_at_random_and_run_again_it_is_the_same,
            tiles_one_by_one_are_put_together_when_all_are_there,
            tiles_that_are_damaged_or_missing_are_named_and_made_again,
            a_tile_that_cannot_be_written_is_named_and_the_others_are_made,
            an_input_that_changed_is_named,
            a_plan_that_is_none_or_was_changed_gets_one_line,
        }
    };
    ($suite:ident: $($case:ident,)*) => {
        $(#[test]
        fn $case() {
            $suite.$case();
        })*
    };
}

/// The command that makes all tiles.
const RUN: [&str; 5] = ["run", "plan.json", "--all", "--device", "cpu"];

impl Suite {
    /// A folder with the inputs, what one run makes of them, and `plan.json`, ready to run.
    fn folder(&self, side: &str) -> TempDir {
        let folder = tempfile::tempdir().expect("there is room");
        (self.write_inputs)(folder.path());
        let at_once = [self.at_once, self.words, &["--device", "cpu"]].concat();
        self.program.succeeds(folder.path(), &at_once);
        let plan = [&["plan", "--tile-size", side], self.words, self.plan].concat();
        self.program.succeeds(folder.path(), &plan);
        for command in self.before {
            self.program.succeeds(folder.path(), &[command, "plan.json"]);
        }
        folder
    }

    fn run(&self, folder: &Path, tile: usize) -> String {
        let tile = tile.to_string();
        self.program.succeeds(folder, &["run", "plan.json", "--tile", &tile, "--device", "cpu"])
    }

    fn merge_fails(&self, folder: &Path, words: &[&str]) {
        self.program.fails(folder, &[&["merge", "plan.json"], self.merge].concat(), words);
    }

    fn merged_is_the_same(&self, folder: &Path) {
        let merge = [&["merge", "plan.json", "--overwrite"], self.merge].concat();
        self.program.succeeds(folder, &merge);
        for [a, b] in self.same {
            assert!(is_same(folder, a, b), "{b} is not {a}");
        }
    }

    /// The names of the files of a tile, and where they are.
    fn files(&self, folder: &Path, tile: usize) -> Vec<(String, PathBuf)> {
        let tiles = folder_of(folder, "plan.json");
        let names = self.ends.iter().map(|end| format!("{tile}{end}"));
        names.map(|name| (name.clone(), tiles.join(name))).collect()
    }

    /// The number of tiles of the plan: all are there.
    fn count(&self, folder: &Path) -> usize {
        let is_first = |path: &&PathBuf| path.to_string_lossy().ends_with(self.ends[0]);
        files(&folder_of(folder, "plan.json")).iter().filter(is_first).count()
    }

    /// Killed at random moments and started again: 20 times, or as many as `TESSERA_KILLS` says.
    ///
    /// # Panics
    /// As every case: where it is not so.
    pub fn killed_at_random_and_run_again_it_is_the_same(&self) {
        let folder = self.folder(self.sides[0]);
        let folder = folder.path();
        kill_at_random(&self.program, folder, &folder_of(folder, "plan.json"), &RUN);
        self.program.succeeds(folder, &RUN);
        self.merged_is_the_same(folder);
        let (again, count) = (self.program.succeeds(folder, &RUN), self.count(folder));
        assert!(count > 20 && again.contains(&format!("0 made, {count} were there")), "{again}");
    }

    /// In any order, and not over a file that is there, or over one of the tiles.
    pub fn tiles_one_by_one_are_put_together_when_all_are_there(&self) {
        let folder = self.folder(self.sides[1]);
        let folder = folder.path();
        self.program.succeeds(folder, &RUN);
        let count = self.count(folder);
        assert!(count >= 4, "{count} tiles");
        std::fs::remove_dir_all(folder_of(folder, "plan.json")).expect("it is there");
        for tile in (1..count).rev() {
            assert!(self.run(folder, tile).contains("1 made, 0 were there"));
        }
        let (name, path) = self.files(folder, 0).remove(0);
        self.merge_fails(folder, &["tile 0 is missing", &name, self.program.name]);
        assert!(self.run(folder, 0).contains("1 made"));
        assert!(self.run(folder, 0).contains("0 made, 1 were there"));
        self.merged_is_the_same(folder);
        self.merge_fails(folder, &["exists", "--overwrite"]);
        let path = path.to_str().expect("it is UTF-8");
        let over = ["merge", "plan.json", "--overwrite", self.merge[0], path];
        self.program.fails(folder, &over, &[&name, "the same file"]);
        self.merged_is_the_same(folder);
    }

    /// Cut off, another's, with zeros as a disk leaves them behind a good header, or none at all.
    pub fn tiles_that_are_damaged_or_missing_are_named_and_made_again(&self) {
        let folder = self.folder(self.sides[1]);
        let folder = folder.path();
        self.program.succeeds(folder, &RUN);
        let pairs = self.files(folder, 2).into_iter().zip(self.files(folder, 1));
        for ((name, path), (_, other)) in pairs {
            let [whole, other] =
                [&path, &other].map(|path| std::fs::read(path).expect("it was written"));
            let (middle, end) = (whole.len() / 2, whole.len());
            let holes = [(128, end), (middle, end), (middle, middle + 40), (end - 1, end)];
            let holes = holes.map(|(from, to)| {
                let mut hole = whole.clone();
                hole[from..to.min(end)].fill(0);
                hole[from] ^= u8::from(hole == whole);
                hole
            });
            let others = [&whole[..middle], &other, b"text"].map(|bad| (bad, &[][..]));
            let holes = holes.iter().map(|hole| (&hole[..], self.damaged));
            for (i, (bad, words)) in others.into_iter().chain(holes).enumerate() {
                std::fs::write(&path, bad).expect("it can be replaced");
                self.merge_fails(folder, &[&[&name[..]], words].concat());
                assert!(self.run(folder, 1).contains("1 were there"), "{name}, {i}");
                assert!(self.run(folder, 2).contains("1 made"), "{name}, {i}");
                assert!(std::fs::read(&path).is_ok_and(|bytes| bytes == whole), "{name}, {i}");
            }
        }
        let sums = folder_of(folder, "plan.json").join("2.sums");
        if sums.is_file() {
            std::fs::remove_file(sums).expect("it can be removed");
            self.merge_fails(folder, &["tile 2 is not complete", "2.sums"]);
            assert!(self.run(folder, 2).contains("1 made"));
        }
        for (name, path) in self.files(folder, 1) {
            std::fs::remove_file(path).expect("it can be removed");
            self.merge_fails(folder, &["tile 1 is missing", &name]);
            assert!(self.run(folder, 1).contains("1 made"));
        }
        let [(name, first), (_, last)] = [1, 3].map(|tile| self.files(folder, tile).remove(0));
        [first, last].iter().for_each(|path| std::fs::remove_file(path).expect("it is there"));
        let run = format!("{} run", self.program.name);
        self.merge_fails(folder, &["2 of ", " tiles are missing", &name, &run]);
        assert!(self.program.succeeds(folder, &RUN).contains("2 made"));
        self.merged_is_the_same(folder);
    }

    /// As where the disk is full: the next run makes what is missing.
    pub fn a_tile_that_cannot_be_written_is_named_and_the_others_are_made(&self) {
        let folder = self.folder(self.sides[1]);
        let folder = folder.path();
        let (name, path) = self.files(folder, 3).remove(0);
        std::fs::create_dir_all(&path).expect("there is room");
        let errors = self.program.errors(folder, &RUN);
        let [tile, last] = &errors[..] else { panic!("{errors:?}") };
        let begin = format!("{}: tile 3: ", self.program.name);
        assert!(tile.starts_with(&begin) && tile.contains(&name), "{tile}");
        assert!(last.contains("1 of ") && last.contains("tiles failed: [3]"), "{last}");
        std::fs::remove_dir(path).expect("it is empty");
        assert!(self.program.succeeds(folder, &RUN).contains("1 made"));
        self.merged_is_the_same(folder);
    }

    /// A tile of it is not made.
    pub fn an_input_that_changed_is_named(&self) {
        let folder = self.folder(self.sides[1]);
        let folder = folder.path();
        let input = folder.join(self.input);
        let mut bytes = std::fs::read(&input).expect("it is there");
        bytes.push(b'\n');
        std::fs::write(&input, bytes).expect("it can be replaced");
        std::fs::create_dir(folder_of(folder, "plan.json")).expect("there is none yet");
        let changed = format!("{} has changed", self.input);
        let run = ["run", "plan.json", "--tile", "0", "--device", "cpu"];
        self.program.fails(folder, &run, &["tile 0", &changed]);
    }

    /// Likewise commands that do not say what is to be made, or where.
    pub fn a_plan_that_is_none_or_was_changed_gets_one_line(&self) {
        let folder = self.folder(self.sides[1]);
        let folder = folder.path();
        let text = std::fs::read_to_string(folder.join("plan.json")).expect("there is a plan");
        let [from, to] = self.changed;
        assert!(text.contains(from), "no {from} in the plan");
        let newer = text.replace("\"version\": 1,\n  \"id\"", "\"version\": 9,\n  \"id\"");
        let changed = text.replace(from, to);
        let plans = [
            ("half.json", &text[..text.len() / 2], "damaged"),
            ("other.json", "{\"type\": \"FeatureCollection\"}", "not a plan"),
            ("newer.json", &newer, "version 9"),
            ("changed.json", &changed, "damaged"),
        ];
        for (name, text, _) in plans {
            std::fs::write(folder.join(name), text).expect("there is room");
        }
        let words = plans.map(|(name, _, word)| (name, word));
        for (name, word) in words.into_iter().chain([("missing.json", "No such file")]) {
            self.program.fails(folder, &["run", name, "--all", "--device", "cpu"], &[name, word]);
            let merge = [&["merge", name], self.merge].concat();
            self.program.fails(folder, &merge, &[name, word]);
        }
        let run = ["run", "plan.json"];
        self.program.fails(folder, &run, &["--tile", "--all"]);
        self.program.fails(
            folder,
            &[&run[..], &["--tile", "7000"]].concat(),
            &["--tile 7000", "0 to "],
        );
        for device in ["cuda:all", "software:all"] {
            let one = [&run[..], &["--tile", "0", "--device", device]].concat();
            self.program.fails(folder, &one, &[device, "--all"]);
            let at_once = [self.at_once, self.words, &["--device", device, "--overwrite"]].concat();
            self.program.fails(folder, &at_once, &[device, "one"]);
        }
        let plan = [&["plan"], self.words, self.plan].concat();
        self.program.fails(folder, &plan, &["exists", "--overwrite"]);
        let over = [&plan[..], &["--overwrite", "-o", self.input]].concat();
        self.program.fails(folder, &over, &["the same file"]);
    }
}
