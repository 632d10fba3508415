//! Runs cargo and other programs in the workspace, always with the same environment.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::protoc;

/// The one selection of features with which the workspace is built, by every command: a second
/// selection would compile Lance a second time.
pub(crate) const FEATURES: [&str; 2] = ["--features", "graphwrite-cli/failpoints"];

/// The workspace on disk and the environment of its cargo children.
pub(crate) struct Workspace {
    root: PathBuf,
    protoc: Option<OsString>,
}

impl Workspace {
    /// The workspace that this program was built from.
    ///
    /// # Errors
    /// When there is no protobuf compiler for this machine.
    pub(crate) fn open() -> Result<Self, Failure> {
        let root = root();
        let protoc = protoc::provide(&root.join("target").join("xtask"))?;
        Ok(Self { root, protoc })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo puts a program of the workspace.
    ///
    /// # Errors
    /// When cargo does not say where it builds.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, Failure> {
        let arguments = ["metadata", "--format-version", "1", "--no-deps"];
        let metadata: serde_json::Value = serde_json::from_str(&self.cargo_output(&arguments)?)
            .map_err(|why| answer(&arguments, &why.to_string()))?;
        let target = metadata["target_directory"].as_str().map(Path::new);
        let target = target.ok_or_else(|| answer(&arguments, "no target directory"))?;
        Ok(target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
    }

    /// Runs cargo with its output on ours.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Result<(), Failure> {
        self.cargo_with(arguments, &[])
    }

    /// The same, with further environment variables.
    pub(crate) fn cargo_with(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<(), Failure> {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        let program = shown(arguments, environment);
        let status = command.status().map_err(start(&program))?;
        if status.success() { Ok(()) } else { Err(Failure::Exit { program, code: status.code() }) }
    }

    /// Runs cargo silently and gives its standard output.
    pub(crate) fn cargo_output(&self, arguments: &[&str]) -> Result<String, Failure> {
        self.cargo_output_with(arguments, &[])
    }

    /// The same, with further environment variables.
    pub(crate) fn cargo_output_with(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<String, Failure> {
        let program = shown(arguments, environment);
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        let output = command.output().map_err(start(&program))?;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            eprint!("{}", String::from_utf8_lossy(&output.stdout));
            return Err(Failure::Exit { program, code: output.status.code() });
        }
        String::from_utf8(output.stdout)
            .map_err(|why| Failure::Answer { program, why: why.to_string() })
    }

    /// Runs cargo with its standard output both on ours and, line by line, in `seen`.
    pub(crate) fn cargo_watched(
        &self,
        arguments: &[&str],
        mut seen: impl FnMut(&str),
    ) -> Result<(), Failure> {
        let program = shown(arguments, &[]);
        let mut child =
            self.command(arguments).stdout(Stdio::piped()).spawn().map_err(start(&program))?;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                println!("{line}");
                seen(&line);
            }
        }
        let status = child.wait().map_err(start(&program))?;
        if status.success() { Ok(()) } else { Err(Failure::Exit { program, code: status.code() }) }
    }

    /// Whether `cargo <subcommand>` exists.
    pub(crate) fn has(&self, subcommand: &str) -> bool {
        self.command(&[subcommand, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root).args(arguments);
        for (name, _) in std::env::vars_os() {
            if is_of_cargo_run(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        if let Some(protoc) = &self.protoc {
            command.env("PROTOC", protoc);
        }
        command
    }
}

/// What `cargo run` sets for this program. Build scripts of some crates declare that they depend on
/// these names, so a child that inherits them compiles what a plain `cargo build` already has.
fn is_of_cargo_run(name: &str) -> bool {
    const EXACT: [&str; 5] = [
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_BIN_NAME",
        "CARGO_CRATE_NAME",
        "CARGO_PRIMARY_PACKAGE",
    ];
    EXACT.contains(&name) || name.starts_with("CARGO_PKG_")
}

/// The directory of the workspace that this program was built from.
pub(crate) fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}

/// A command line as a person would type it.
pub(crate) fn shown(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let variables = environment.iter().map(|(name, value)| format!("{name}=\"{value}\" "));
    format!("{}cargo {}", variables.collect::<String>(), arguments.join(" "))
}

fn answer(arguments: &[&str], why: &str) -> Failure {
    Failure::Answer { program: shown(arguments, &[]), why: why.to_owned() }
}

fn start(program: &str) -> impl FnOnce(std::io::Error) -> Failure {
    let program = program.to_owned();
    move |source| Failure::Start { program, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_run_sets_is_not_handed_on() {
        assert!(is_of_cargo_run("CARGO_PKG_VERSION"));
        assert!(is_of_cargo_run("CARGO_MANIFEST_DIR"));
    }

    #[test]
    fn what_the_user_set_is_handed_on() {
        assert!(!is_of_cargo_run("CARGO_TARGET_DIR"));
        assert!(!is_of_cargo_run("CARGO_NET_RETRY"));
        assert!(!is_of_cargo_run("PROTOC"));
    }

    #[test]
    fn a_command_is_shown_as_it_can_be_typed() {
        let text = shown(&["doc", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")]);
        assert_eq!(text, "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps");
    }
}
