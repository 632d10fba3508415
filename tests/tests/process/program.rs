//! Starts the program and waits for it: one run with its exit, its streams and its time, or a process
//! that is paused at a failpoint. It must not know what a graph is.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How to build what these tests start.
const BUILD: &str = "cargo build --workspace --bins --features graphwrite-cli/failpoints";

/// After this long a process hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a condition of another process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The program: `GRAPHWRITE_BIN`, else the one beside this test binary.
pub(super) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program =
            std::env::var_os("GRAPHWRITE_BIN").map_or_else(beside_this_binary, Into::into);
        assert!(program.is_file(), "there is no `{}`: run `{BUILD}`", program.display());
        let help = Command::new(&program).args(["load", "--help"]).output().unwrap();
        let has_faults = String::from_utf8_lossy(&help.stdout).contains("--fault");
        assert!(has_faults, "`{}` has no failpoints: run `{BUILD}`", program.display());
        program
    })
}

fn beside_this_binary() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.parent().unwrap().parent().unwrap().join("graphwrite")
}

/// A command of the program: no core files, and nothing from the environment of the tests.
pub(crate) fn command<S: AsRef<str>>(args: &[S]) -> Command {
    after("ulimit -c 0", args)
}

/// The same, after a line of shell; the process that is started becomes the program.
pub(super) fn after<S: AsRef<str>>(line: &str, args: &[S]) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{line}; exec \"$0\" \"$@\"")).arg(program());
    command.args(args.iter().map(AsRef::as_ref));
    prepare(&mut command);
    command
}

fn prepare(command: &mut Command) {
    for variable in ["GRAPHWRITE_ACTOR", "GRAPHWRITE_LOG", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// A command of the program that another one starts, e.g. as another user.
pub(super) fn through<S: AsRef<str>>(words: &[&str], args: &[S]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program()).args(args.iter().map(AsRef::as_ref));
    prepare(&mut command);
    command
}

/// How one process ended.
#[derive(Debug)]
pub(super) struct Run {
    status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) took: Duration,
}

impl Run {
    fn new(output: Output, took: Duration) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Self { status: output.status, stdout, stderr, took }
    }

    /// The exit code; none when a signal ended the process.
    pub(super) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended the process, by number.
    pub(super) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    #[track_caller]
    pub(super) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub(super) fn dies_by(self, signal: i32) -> Self {
        assert_eq!((self.code(), self.signal()), (None, Some(signal)), "{self:#?}");
        self
    }

    /// The document on standard output.
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The error document: the last line of standard error.
    #[track_caller]
    pub(super) fn error(&self) -> Value {
        let last = self.stderr.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The `code` of the error document.
    #[track_caller]
    pub(super) fn error_code(&self) -> String {
        self.error()["code"].as_str().unwrap().to_owned()
    }
}

/// Runs `command` to its end.
pub(super) fn run(command: &mut Command) -> Run {
    let began = Instant::now();
    end_of(command.spawn().unwrap(), began)
}

/// The end of `child`. One that hangs is killed, and fails the test.
fn end_of(child: Child, began: Instant) -> Run {
    let pid = child.id();
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(PATIENCE) {
        Ok(output) => Run::new(output.unwrap(), began.elapsed()),
        Err(_) => {
            send(pid, "KILL");
            panic!("process {pid} hung: {:#?}", ended.recv());
        }
    }
}

/// Sends a signal, by name.
fn send(pid: u32, signal: &str) {
    let line = format!("kill -s {signal} {pid}");
    assert!(Command::new("/bin/sh").args(["-c", &line]).status().unwrap().success(), "{line}");
}

/// A process that waits at a failpoint. One that is dropped is killed.
#[derive(Debug)]
pub(super) struct Paused {
    child: Option<Child>,
    release: PathBuf,
    began: Instant,
    patience: Duration,
}

impl Paused {
    /// Starts the program with `args` and returns when it waits at `point`. `release` is a path of its
    /// own for each pause.
    pub(super) fn start(args: &[&str], point: &str, release: PathBuf) -> Self {
        Self::start_for(args, point, release, PATIENCE)
    }

    /// The same, for a process that may take longer to come there.
    pub(super) fn start_for(
        args: &[&str],
        point: &str,
        release: PathBuf,
        patience: Duration,
    ) -> Self {
        let fault = format!("{point}:pause");
        let path = release.to_str().unwrap();
        let args = [args, &["--fault", &fault, "--fault-release", path]].concat();
        let (began, child) = (Instant::now(), command(&args).spawn().unwrap());
        let mut paused = Self { child: Some(child), release, began, patience };
        paused.wait_for(&format!("waits at {point}"), |this| this.sign().exists());
        paused
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }

    fn sign(&self) -> PathBuf {
        let mut name = self.release.as_os_str().to_owned();
        name.push(".reached");
        name.into()
    }

    fn wait_for(&mut self, what: &str, condition: impl Fn(&Self) -> bool) {
        while !condition(self) {
            if self.child().try_wait().unwrap().is_some() {
                let run = end_of(self.child.take().unwrap(), self.began);
                panic!("the process ended before it {what}: {run:#?}");
            }
            assert!(self.began.elapsed() < self.patience, "the process never {what}");
            thread::sleep(LOOK_EVERY);
        }
    }

    /// The most memory that the process has held so far, in bytes.
    pub(super) fn peak_bytes(&mut self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child().id()));
        let status = status.unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        kib * 1024
    }

    /// Its process id.
    pub(super) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// How long ago the process was started.
    pub(super) fn since_start(&self) -> Duration {
        self.began.elapsed()
    }

    /// Lets the process go on, to its end.
    pub(super) fn release(mut self) -> Run {
        self.let_go();
        self.end()
    }

    /// Lets the process go on, and does not wait.
    pub(super) fn let_go(&self) {
        std::fs::write(&self.release, "").unwrap();
    }

    /// The end of the process.
    pub(super) fn end(&mut self) -> Run {
        end_of(self.child.take().unwrap(), self.began)
    }

    /// `kill -9`.
    pub(super) fn kill(mut self) -> Run {
        self.child().kill().unwrap();
        self.end()
    }

    /// `kill -9` by a parent that does not collect its child yet: the pid stays.
    pub(super) fn kill_and_leave(&mut self) {
        let pid = self.child().id();
        self.child().kill().unwrap();
        let dead = move |_: &Self| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
        };
        let until = Instant::now() + PATIENCE;
        while !dead(self) {
            assert!(Instant::now() < until, "process {pid} does not die");
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Sends a signal, by name.
    pub(super) fn signal(&mut self, signal: &str) {
        send(self.child().id(), signal);
    }

    /// The next line that the process writes to standard error.
    pub(super) fn error_line(&mut self) -> String {
        let errors = self.child().stderr.take().unwrap();
        let (sender, read) = channel();
        thread::spawn(move || sender.send(one_line(errors)));
        let (line, errors) = read.recv_timeout(PATIENCE).expect("a line on standard error");
        self.child().stderr = Some(errors);
        line
    }
}

/// One line, and not a byte more.
fn one_line(errors: ChildStderr) -> (String, ChildStderr) {
    let mut reader = BufReader::with_capacity(1, errors);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    (line, reader.into_inner())
}

impl Drop for Paused {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
