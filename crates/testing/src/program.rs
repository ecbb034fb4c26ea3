//! A program as its users meet it: what its runs must and must not do, and what is true of every program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::files::las::Las;

/// A program under test.
pub struct Program {
    /// Its name, with which its messages begin.
    pub name: &'static str,
    /// Its file.
    pub path: &'static str,
}

impl Program {
    fn run(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.command(folder, arguments).output().expect("the program starts")
    }

    /// The program, to be started in a folder.
    pub fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path);
        command.current_dir(folder).args(arguments);
        command
    }

    /// Runs the program, which must succeed without output on standard error, and returns its report.
    ///
    /// # Panics
    /// Where it does not.
    pub fn succeeds(&self, folder: &Path, arguments: &[&str]) -> String {
        self.succeeds_with(folder, arguments, &[])
    }

    /// The same with variables of the environment.
    ///
    /// # Panics
    /// Likewise.
    pub fn succeeds_with(
        &self,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> String {
        let mut command = self.command(folder, arguments);
        let output = command.envs(variables.iter().copied()).output().expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        assert_eq!(errors, "", "{arguments:?}");
        String::from_utf8(output.stdout).expect("reports are UTF-8")
    }

    /// Runs the program with `--json`, which must succeed, and gives its report.
    ///
    /// # Panics
    /// Where it does not, or the report is not JSON.
    pub fn json(&self, folder: &Path, arguments: &[&str]) -> Value {
        let report = self.succeeds(folder, &[arguments, &["--json"]].concat());
        serde_json::from_str(&report).expect("the report is JSON")
    }

    /// Runs the program, which must fail with code 2, and gives the lines that it writes on standard error.
    ///
    /// # Panics
    /// Where it does not fail so.
    pub fn errors(&self, folder: &Path, arguments: &[&str]) -> Vec<String> {
        let output = self.run(folder, arguments);
        let errors = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        errors.lines().map(str::to_owned).collect()
    }

    /// Runs the program on bad input: code 2, one line that holds all of `words`, no new file.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn fails(&self, folder: &Path, arguments: &[&str], words: &[&str]) {
        let before = files(folder);
        let output = self.run(folder, arguments);
        let errors = String::from_utf8(output.stderr).expect("messages are UTF-8");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert_eq!(errors.matches('\n').count(), 1, "{arguments:?}: {errors:?}");
        let begin = format!("{}: ", self.name);
        assert!(errors.starts_with(&begin) && errors.ends_with('\n'), "{errors:?}");
        for word in words {
            assert!(errors.contains(word), "{arguments:?}: no {word:?} in {errors:?}");
        }
        assert_eq!(files(folder), before, "{arguments:?} left files");
    }

    /// Runs the program with `options` on a table and on a LAS file, no point of which lies in `--bounds`. The error has both
    /// extents.
    ///
    /// # Panics
    /// Panics if a condition of [`fails`](Self::fails) fails.
    pub fn tells_both_extents(&self, options: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let here = folder.path();
        let points = vec![[0.0, 0.5, 1.0], [10.0, 20.0, 2.0], [5.0, 5.0, 3.0]];
        let files = [
            ("p.csv", b"x,y,z\n0,0.5,1\n10,20,2\n5,5,3\n".to_vec()),
            ("p.las", Las::new(points).bytes()),
        ];
        for (name, bytes) in files {
            std::fs::write(here.join(name), bytes).expect("the folder is there");
            let run = [&[name, "--bounds=100,100,110,110"], options].concat();
            let words = ["none of the 3 points", "100 100 to 110 110", "0 0.5 to 10 20"];
            self.fails(here, &run, &words);
        }
    }

    /// Runs the program and its `plan` on a table and on a LAS file, of which the filters keep no point. Both errors say
    /// why.
    ///
    /// # Panics
    /// Panics if a condition of [`fails`](Self::fails) fails, or if there is a plan.
    pub fn plans_only_what_filters_keep(&self, options: &[&str]) {
        self.plans_nothing(
            &["--classes", "99"],
            options,
            "none of the 3 points has a class of [99]",
        );
    }

    /// Runs the program and its `plan` on a table and on a LAS file, whose points lie around `--bounds`, and none there. Both
    /// errors have the place. With `options` no point counts that is 5 away.
    ///
    /// # Panics
    /// Panics if a condition of [`fails`](Self::fails) fails, or if there is a plan.
    pub fn plans_only_ground_with_points(&self, options: &[&str]) {
        self.plans_nothing(
            &["--bounds=2,12,3,13"],
            options,
            "the ground of --bounds is 2 12 to 3 13",
        );
    }

    fn plans_nothing(&self, filter: &[&str], options: &[&str], reason: &str) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let here = folder.path();
        let points = vec![[0.0, 0.5, 1.0], [10.0, 20.0, 2.0], [5.0, 5.0, 3.0]];
        let files = [
            ("p.csv", b"x,y,z,class\n0,0.5,1,1\n10,20,2,2\n5,5,3,2\n".to_vec()),
            ("p.las", Las::new(points).bytes()),
        ];
        for (name, bytes) in files {
            std::fs::write(here.join(name), bytes).expect("the folder is there");
            for command in [&[][..], &["plan"]] {
                let run = [command, &[name], filter, options].concat();
                self.fails(here, &run, &[reason, "none of the 3 points"]);
            }
            assert!(!here.join("plan.json").exists(), "{name}: there is a plan");
        }
    }

    /// Each of these command lines ends with an option and a bad number, negative ones too: the message names both, and
    /// ends with the reason.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn refuses_numbers(&self, cases: &[(&str, &str)]) {
        for (line, reason) in cases {
            let words: Vec<&str> = line.split(' ').collect();
            let [.., option, value] = words[..] else { panic!("{line} has no option") };
            let begin = format!("invalid value '{value}' for '{option} ");
            self.fails(Path::new("."), &words, &[&begin, &format!("': {reason}\n")]);
        }
    }

    /// Each of these command lines has `-` for an argument that takes no standard input or output. The message names the
    /// argument, and no file is left.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn refuses_streams(&self, cases: &[(&str, &str)]) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        for (line, argument) in cases {
            let words: Vec<&str> = line.split(' ').collect();
            let begin = format!("{}: {argument} -: this takes a file", self.name);
            self.fails(folder.path(), &words, &[&begin, "./-"]);
        }
    }

    /// `--version` names the program, completions and the manual page tell its options, and it has those
    /// that all programs have.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn prints_its_version_completions_and_page(&self, folder: &Path) {
        let name = self.name;
        let version = self.succeeds(folder, &["--version"]);
        assert_eq!(version, format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
        for shell in ["bash", "zsh", "fish"] {
            let script = self.succeeds(folder, &["--completions", shell]);
            assert!(script.contains(name), "{name}, {shell}");
            for option in ["overwrite", "device", "threads", "quiet", "json"] {
                assert!(script.contains(option), "{name}, {shell}: {option}");
            }
        }
        let page = self.succeeds(folder, &["--man"]);
        assert!(page.contains(".TH"), "{name}");
        self.fails(folder, &["--completions", "csh"], &["csh", "bash"]);
    }

    /// `--help` of the program, and of its command `plan`, lists the options under these headings: a heading goes on until the
    /// next one.
    ///
    /// # Panics
    /// Where it does not.
    pub fn lists_under_headings(&self, options: &[[&str; 2]]) {
        for command in [&["--help"][..], &["plan", "--help"]] {
            let help = self.succeeds(Path::new("."), command);
            for [heading, option] in options {
                let is_it = |line: &str| {
                    line.starts_with(' ') && line.split([' ', ',']).any(|word| word == *option)
                };
                let at = help.lines().position(is_it).expect("it has the option");
                let is_heading = |line: &&str| !line.starts_with(' ') && line.ends_with(':');
                let under = help.lines().take(at).filter(is_heading).last();
                assert_eq!(under, Some(*heading), "{option} of {command:?}");
            }
        }
    }

    /// Runs the program thrice on the CPU. Its report comes in lines, with `--quiet` not at all, and with `--json` as
    /// one object, which has these fields and is returned. `arguments` may be repeated.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn reports(&self, folder: &Path, arguments: &[&str], fields: &[&str]) -> Value {
        let base = [arguments, &["--device", "cpu", "--threads", "1", "--overwrite"]].concat();
        let text = self.succeeds(folder, &base);
        assert!(text.contains("CPU (1 threads)"), "{text}");
        assert_eq!(self.succeeds(folder, &[&base[..], &["--quiet"]].concat()), "");
        let object = self.json(folder, &base);
        for field in fields {
            assert!(object.get(field).is_some(), "no {field} in {object}");
        }
        object
    }

    /// Runs the program on the CPU: what it writes is there, stays when it runs again without
    /// `--overwrite`, and is replaced with it. With a slash behind it each of its outputs is a folder, and refused.
    /// Unfinished files that a killed program left beside them do not matter.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn replaces_only_where_asked(&self, folder: &Path, arguments: &[&str]) {
        let once = [arguments, &["--device", "cpu"]].concat();
        leave_unfinished(folder);
        let inputs = files(folder);
        self.succeeds(folder, &once);
        let before = contents(folder);
        let is_output = |name: &str| {
            files(folder).contains(&folder.join(name)) && !inputs.contains(&folder.join(name))
        };
        let outputs: Vec<usize> = (0..once.len()).filter(|&i| is_output(once[i])).collect();
        assert!(!outputs.is_empty(), "{once:?}");
        for (output, end) in outputs.into_iter().flat_map(|output| [(output, "/"), (output, "/.")])
        {
            let name = format!("{}{end}", once[output]);
            let mut as_folder = [&once[..], &["--overwrite"]].concat();
            as_folder[output] = &name;
            let words = ["cannot write", &name[..], "it names a folder"];
            self.fails(folder, &as_folder, &words);
        }
        self.fails(folder, &once, &["exists", "--overwrite"]);
        assert_eq!(contents(folder), before);
        self.succeeds(folder, &[&once[..], &["--overwrite"]].concat());
    }

    /// Each of these runs names one file twice, as input and output or as two outputs: refused, with
    /// `--overwrite` too, and every file stays as it is.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn refuses_one_file_twice(&self, folder: &Path, cases: &[&[&str]]) {
        let before = contents(folder);
        for arguments in cases {
            for more in [&[][..], &["--overwrite"]] {
                let arguments = [arguments, more, &["--device", "cpu"]].concat();
                self.fails(folder, &arguments, &["same file"]);
            }
        }
        assert_eq!(contents(folder), before);
    }
    /// A program that makes a raster of points takes them from files, folders, patterns and standard input,
    /// and writes a table to standard output, which can be read again.
    ///
    /// # Panics
    /// Panics if one of these conditions fails.
    pub fn takes_folders_patterns_and_streams(&self, folder: &Path) {
        let lines: Vec<&str> = PLANE.lines().skip(1).collect();
        let (west, east) = (&lines[..3], &lines[3..]);
        let write = |name: &str, text: String| {
            std::fs::write(folder.join(name), text).expect("the folder takes files");
        };
        std::fs::create_dir(folder.join("tiles")).expect("the folder takes folders");
        write("points.csv", PLANE.to_owned());
        write("tiles/a.xyz", west.join("\n").replace(',', "  "));
        write("tiles/b.xyz", east.join("\n").replace(',', " "));
        let cells = ["--device", "cpu", "--resolution", "1"];
        let run = |inputs: &[&str]| {
            self.succeeds(folder, &[inputs, &cells, &["-o", "out.npy", "--overwrite"]].concat());
            std::fs::read(folder.join("out.npy")).expect("it was written")
        };
        let expected = run(&["points.csv"]);
        assert!(run(&["tiles"]) == expected);
        assert!(run(&["tiles/*.xyz"]) == expected);
        assert!(run(&["tiles/a.xyz", "tiles", "tiles/b.xyz"]) == expected);
        let rows = lines.iter().map(|line| {
            let mut numbers = line.split(',').map(|number| number.parse().expect("it is a number"));
            [(); 3].map(|()| numbers.next().expect("there are three"))
        });
        let las = Las { scale: 0.5, ..Las::new(rows.collect()) }.bytes();
        let output = self.run_on(folder, &[&["-", "-o", "las.npy"], &cells[..]].concat(), &las);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::read(folder.join("las.npy")).expect("it was written") == expected);
        let stream = [&["-", "-o", "-"], &cells[..]].concat();
        let output = self.run_on(folder, &stream, PLANE.as_bytes());
        assert!(output.status.success());
        let table = String::from_utf8(output.stdout).expect("tables are UTF-8");
        assert!(table.starts_with("x,y,z\n0.5,9.5,4\n"), "{table}");
        // The report gives way to the table.
        assert!(String::from_utf8_lossy(&output.stderr).contains("5 points read"));
        write("again.csv", table);
        let again =
            self.succeeds(folder, &[&["again.csv", "-o", "again.npy"], &cells[..]].concat());
        assert!(again.contains("10 x 10 cells"), "{again}");
        self.fails(folder, &["tiles/*.las"], &["no file matches", "*.las"]);
    }

    /// Runs the program with these bytes as its standard input.
    ///
    /// # Panics
    /// Panics if the program does not start, or ends before it has read its input.
    pub fn run_on(&self, folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = Command::new(self.path);
        command.current_dir(folder).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut pipe = child.stdin.take().expect("it is a pipe");
        pipe.write_all(input).expect("the program reads");
        drop(pipe);
        child.wait_with_output().expect("the program ends")
    }
}

/// Points of a plane.
pub const PLANE: &str = "x,y,z\n0.5,0.5,1\n9.5,0.5,1\n0.5,9.5,4\n9.5,9.5,4\n5.5,5.5,2.5\n";

/// Puts into a folder what a program leaves there that is killed while it writes a file and a Zarr store.
fn leave_unfinished(folder: &Path) {
    std::fs::write(folder.join(".0123456789abcdef.part"), "half a file").expect("it is writable");
    let store = folder.join(".fedcba9876543210.part");
    std::fs::create_dir_all(&store).expect("it is writable");
    std::fs::write(store.join("zarr.json"), "{").expect("it is writable");
}

/// The JSON of a file.
///
/// # Panics
/// Where there is none.
pub fn json_of(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("the file is there");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Whether two files of a folder have the same bytes.
///
/// # Panics
/// Where one cannot be read.
pub fn is_same(folder: &Path, a: &str, b: &str) -> bool {
    let bytes = |name: &str| std::fs::read(folder.join(name)).expect("it was written");
    bytes(a) == bytes(b)
}

/// The files and folders in a folder, by name.
///
/// # Panics
/// Where it cannot be read.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    files.sort();
    files
}

/// The files in a folder, by name, and their bytes; of folders in it only the names.
///
/// # Panics
/// Where it cannot be read.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let bytes = |path: &PathBuf| match path.is_dir() {
        true => Vec::new(),
        false => std::fs::read(path).expect("it can be read"),
    };
    files(folder).into_iter().map(|path| (path.clone(), bytes(&path))).collect()
}
