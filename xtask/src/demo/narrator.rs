//! Runs the steps of the demo: says what a command is for, shows it, its output and its end, and
//! checks that end. It knows nothing of graphs.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::process::Workspace;

/// How a command must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With exit code 0.
    Done,
    /// With exit code 1: the answer is negative.
    Negative,
    /// By a signal, as a process that crashes.
    Killed,
}

/// The demo's voice, and the tool that it shows.
pub(crate) struct Narrator<'a> {
    workspace: &'a Workspace,
    program: PathBuf,
    graph: String,
    steps: Cell<u32>,
}

impl<'a> Narrator<'a> {
    /// Prepares an empty place for the graph.
    ///
    /// # Errors
    /// When the temporary directory cannot be used.
    pub(crate) fn new(workspace: &'a Workspace) -> Result<Self, Failure> {
        let name = format!("graphwrite-demo-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        if directory.exists() {
            std::fs::remove_dir_all(&directory).map_err(Failure::file(&directory))?;
        }
        let program = workspace.program("graphwrite")?;
        let graph = directory.to_string_lossy().into_owned();
        Ok(Self { workspace, program, graph, steps: Cell::new(0) })
    }

    pub(crate) fn graph(&self) -> &str {
        &self.graph
    }

    pub(crate) fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// Says what comes next, and why.
    pub(crate) fn step(&self, text: &str) {
        self.steps.set(self.steps.get() + 1);
        println!("\n{}", wrapped(&format!("--- {}. {text}", self.steps.get())));
    }

    /// Shows a command, its output and its end.
    ///
    /// # Errors
    /// When it ends otherwise than it must.
    pub(crate) fn run(&self, arguments: &[&str], end: End) -> Result<(), Failure> {
        println!("\n    $ {}", self.shown(arguments));
        let output = self.start(arguments)?;
        for line in text(&output.stdout).lines().chain(text(&output.stderr).lines()) {
            println!("    {line}");
        }
        println!("    ({})", said(output.status));
        let claim = format!("`{}` ends as expected ({end:?})", self.shown(arguments));
        if is(output.status, end) { Ok(()) } else { Err(Failure::Claim(claim)) }
    }

    /// Runs a command silently and gives its standard output.
    ///
    /// # Errors
    /// When it does not exit with 0.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, Failure> {
        let output = self.start(arguments)?;
        if !is(output.status, End::Done) {
            eprint!("{}", text(&output.stderr));
            let program = self.shown(arguments);
            return Err(Failure::Exit { program, code: output.status.code() });
        }
        Ok(text(&output.stdout))
    }

    /// Runs many commands silently, `at_once` processes at a time, and gives the time that all of them
    /// took.
    ///
    /// # Errors
    /// When one does not exit with 0.
    pub(crate) fn crowd(
        &self,
        at_once: usize,
        commands: impl Iterator<Item = Vec<String>>,
    ) -> Result<Duration, Failure> {
        let commands: Vec<Vec<String>> = commands.collect();
        let words: Vec<&str> = commands.first().into_iter().flatten().map(String::as_str).collect();
        println!(
            "\n    $ {}    (and {} more)",
            self.shown(&words),
            commands.len().saturating_sub(1)
        );
        let (program, root) = (&self.program, self.workspace.root());
        let (next, started) = (AtomicUsize::new(0), Instant::now());
        let work = || -> Result<(), (usize, Option<Output>)> {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(arguments) = commands.get(at) else { return Ok(()) };
                let ran = Command::new(program).args(arguments).current_dir(root).output();
                match ran {
                    Ok(output) if is(output.status, End::Done) => {}
                    ran => return Err((at, ran.ok())),
                }
            }
        };
        let ends = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
            workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
        });
        for end in ends {
            let Ok(Err((at, output))) = end else { continue };
            eprint!("{}", output.as_ref().map(|it| text(&it.stderr)).unwrap_or_default());
            let words: Vec<&str> = commands[at].iter().map(String::as_str).collect();
            let code = output.and_then(|output| output.status.code());
            return Err(Failure::Exit { program: self.shown(&words), code });
        }
        Ok(started.elapsed())
    }

    /// Checks what the demo has just said.
    ///
    /// # Errors
    /// When it is not so.
    pub(crate) fn claim(&self, holds: bool, claim: &str) -> Result<(), Failure> {
        if !holds {
            return Err(Failure::Claim(claim.to_owned()));
        }
        println!("    checked: {claim}");
        Ok(())
    }

    fn start(&self, arguments: &[&str]) -> Result<Output, Failure> {
        Command::new(&self.program)
            .args(arguments)
            .current_dir(self.workspace.root())
            .output()
            .map_err(|source| Failure::Start { program: self.shown(arguments), source })
    }

    /// The command as it can be typed in the root of the workspace.
    fn shown(&self, arguments: &[&str]) -> String {
        let root = self.workspace.root();
        let program = self.program.strip_prefix(root).unwrap_or(&self.program);
        format!("{} {}", program.display(), arguments.join(" "))
    }
}

/// Breaks a text between words, so that a narrow terminal can show it.
fn wrapped(text: &str) -> String {
    const COLUMNS: usize = 96;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n    ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is(status: ExitStatus, end: End) -> bool {
    match end {
        End::Done => status.success(),
        End::Negative => status.code() == Some(1),
        End::Killed => status.code().is_none(),
    }
}

fn said(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "killed".to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const ABORTED: i32 = 6;
    const EXITED_WITH_1: i32 = 1 << 8;

    #[test]
    fn only_a_signal_counts_as_killed() {
        assert!(is(ExitStatus::from_raw(ABORTED), End::Killed));
        assert!(!is(ExitStatus::from_raw(EXITED_WITH_1), End::Killed));
        assert!(!is(ExitStatus::from_raw(0), End::Killed));
    }

    #[test]
    fn a_long_text_is_broken_between_words() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert_eq!(text.split_whitespace().count(), 40);
    }

    #[test]
    fn only_exit_code_0_counts_as_done() {
        assert!(is(ExitStatus::from_raw(0), End::Done));
        assert!(!is(ExitStatus::from_raw(EXITED_WITH_1), End::Done));
        assert!(is(ExitStatus::from_raw(EXITED_WITH_1), End::Negative));
        assert!(!is(ExitStatus::from_raw(ABORTED), End::Done));
    }
}
