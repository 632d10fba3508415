//! What the system's process files say about a process id. It knows nothing of attempts; where the
//! files may show other processes than those of this pid namespace, or hide some, it says nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use graphwrite_recovery::PidState;

/// The process that every pid namespace has for as long as it exists.
const FIRST: u32 = 1;

/// The process files of one system.
#[derive(Debug, Clone)]
pub(crate) struct ProcFiles {
    root: PathBuf,
    /// Our own process id, as our own pid namespace counts.
    pid: u32,
}

/// What the file of one process says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Runs { start_ticks: Option<u64> },
    Absent,
    Hidden,
}

impl ProcFiles {
    pub(crate) fn of_this_system() -> Self {
        Self { root: PathBuf::from("/proc"), pid: std::process::id() }
    }

    /// When this process started; none where the files are not those of its namespace.
    pub(crate) fn own_start_ticks(&self) -> Option<u64> {
        match self.are_ours().then(|| self.look(self.pid))? {
            Seen::Runs { start_ticks } => start_ticks,
            Seen::Absent | Seen::Hidden => None,
        }
    }

    /// What is known of `pid`. A process that is not shown is gone only if the files are those of this
    /// namespace, and show also processes of other users: another namespace counts differently, and
    /// a file system that hides processes makes the living look dead.
    pub(crate) fn state(&self, pid: u32) -> PidState {
        if !self.are_ours() {
            return PidState::Unknown;
        }
        match self.look(pid) {
            Seen::Runs { start_ticks } => PidState::Running { start_ticks },
            Seen::Absent if self.shows_all() => PidState::Gone,
            Seen::Absent | Seen::Hidden => PidState::Unknown,
        }
    }

    /// Whether the files number processes as this process is numbered.
    fn are_ours(&self) -> bool {
        let own = fs::read_link(self.root.join("self"));
        own.is_ok_and(|own| own == Path::new(&self.pid.to_string()))
    }

    fn shows_all(&self) -> bool {
        self.root.join(FIRST.to_string()).join("stat").exists()
    }

    fn look(&self, pid: u32) -> Seen {
        match fs::read_to_string(self.root.join(pid.to_string()).join("stat")) {
            Ok(stat) => seen_in(&stat),
            Err(error) if error.kind() == ErrorKind::NotFound => Seen::Absent,
            // A process that ends while its file is read is gone too, and the next look says so.
            Err(_) => Seen::Hidden,
        }
    }
}

fn seen_in(stat: &str) -> Seen {
    // The command's name, in parentheses, may hold anything; the start time is field 22.
    let Some((_, after_name)) = stat.rsplit_once(')') else { return Seen::Hidden };
    let mut fields = after_name.split_whitespace();
    match fields.next() {
        // A zombie process runs no code any more.
        Some("Z" | "X") => Seen::Absent,
        Some(_) => Seen::Runs { start_ticks: fields.nth(18).and_then(|ticks| ticks.parse().ok()) },
        None => Seen::Hidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 7;

    /// Process files in which this process is `shown_as`, beside the first.
    fn files(shown_as: u32, shows_first: bool) -> (tempfile::TempDir, ProcFiles) {
        let scratch = tempfile::tempdir().unwrap();
        let files = ProcFiles { root: scratch.path().to_owned(), pid: OWN };
        let link = scratch.path().join("self");
        std::os::unix::fs::symlink(shown_as.to_string(), link).unwrap();
        put(&files, OWN, "S", 100);
        if shows_first {
            put(&files, FIRST, "S", 1);
        }
        (scratch, files)
    }

    fn put(files: &ProcFiles, pid: u32, state: &str, start_ticks: u64) {
        let directory = files.root.join(pid.to_string());
        fs::create_dir_all(&directory).unwrap();
        let between = "0 ".repeat(18);
        let stat = format!("{pid} (a) b (c)) {state} {between}{start_ticks} 9 9");
        fs::write(directory.join("stat"), stat).unwrap();
    }

    #[test]
    fn a_process_that_runs_is_known_by_its_start() {
        let (_scratch, files) = files(OWN, true);
        put(&files, 20, "R", 300);
        assert_eq!(files.state(20), PidState::Running { start_ticks: Some(300) });
        assert_eq!(files.own_start_ticks(), Some(100));
    }

    #[test]
    fn a_process_that_is_not_there_or_has_ended_is_gone() {
        let (_scratch, files) = files(OWN, true);
        for state in ["Z", "X"] {
            put(&files, 20, state, 300);
            assert_eq!(files.state(20), PidState::Gone);
        }
        assert_eq!(files.state(21), PidState::Gone);
    }

    #[test]
    fn nobody_is_gone_where_processes_of_others_are_hidden() {
        let (_scratch, files) = files(OWN, false);
        assert_eq!(files.state(20), PidState::Unknown);
        put(&files, 20, "R", 300);
        assert_eq!(files.state(20), PidState::Running { start_ticks: Some(300) });
    }

    #[test]
    fn files_that_number_this_process_otherwise_say_nothing_of_any() {
        let (_scratch, files) = files(4_711, true);
        put(&files, 20, "R", 300);
        for pid in [20, 21] {
            assert_eq!(files.state(pid), PidState::Unknown);
        }
        assert_eq!(files.own_start_ticks(), None, "these may be the ticks of another");
    }

    #[test]
    fn a_system_without_process_files_says_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let files = ProcFiles { root: scratch.path().to_owned(), pid: OWN };
        assert_eq!((files.state(OWN), files.own_start_ticks()), (PidState::Unknown, None));
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_no_proof() {
        let (_scratch, files) = files(OWN, true);
        put(&files, 20, "R", 300);
        for stat in ["", "20 (x", "20 (x)"] {
            fs::write(files.root.join("20/stat"), stat).unwrap();
            assert_eq!(files.state(20), PidState::Unknown, "{stat}");
        }
        fs::write(files.root.join("20/stat"), "20 (x) R 1").unwrap();
        assert_eq!(files.state(20), PidState::Running { start_ticks: None });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs_and_one_that_cannot_be_is_gone_or_not_known() {
        let files = ProcFiles::of_this_system();
        let own = files.state(std::process::id());
        assert_eq!(own, PidState::Running { start_ticks: files.own_start_ticks() });
        assert!(!matches!(files.state(u32::MAX), PidState::Running { .. }));
    }
}
