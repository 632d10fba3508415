//! Provides the protobuf compiler that Lance's build scripts need, so that a machine without one
//! can build the workspace.
//!
//! The value must not change from run to run: build scripts rerun when `PROTOC` changes, and with
//! them all of Lance.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// A file that a usable compiler must accept: Lance's own files use both of its features, and
/// distributions ship compilers that lack one (no bundled well-known types, or no `optional`).
const PROBE: &str = "\
syntax = \"proto3\";
import \"google/protobuf/any.proto\";
message Probe { optional uint32 number = 1; google.protobuf.Any any = 2; }
";

/// The value of `PROTOC` for every cargo child; `None` leaves the variable as it is.
///
/// A value from the environment is kept. A usable `protoc` on the path stays unnamed, so that a
/// plain `cargo build` shares its artifacts. Otherwise it is the vendored binary.
pub(crate) fn provide(scratch: &Path) -> Result<Option<OsString>, Failure> {
    choose(std::env::var_os("PROTOC").is_some(), || works(scratch), vendored)
}

fn choose(
    named: bool,
    on_path: impl FnOnce() -> bool,
    vendored: impl FnOnce() -> Result<OsString, Failure>,
) -> Result<Option<OsString>, Failure> {
    if named || on_path() { Ok(None) } else { vendored().map(Some) }
}

fn vendored() -> Result<OsString, Failure> {
    protoc_bin_vendored::protoc_bin_path()
        .map(Into::into)
        .map_err(|why| Failure::NoProtoc(why.to_string()))
}

fn works(scratch: &Path) -> bool {
    quiet(Command::new("protoc").arg("--version")) && compiles(scratch)
}

fn compiles(scratch: &Path) -> bool {
    let file = scratch.join(format!("probe-{}.proto", std::process::id()));
    let written = std::fs::create_dir_all(scratch).and_then(|()| std::fs::write(&file, PROBE));
    let compiled = written.is_ok()
        && quiet(
            Command::new("protoc").arg("-I").arg(scratch).arg("-o").arg(null_device()).arg(&file),
        );
    // A leftover probe is harmless: the next run of this process id overwrites it.
    let _ = std::fs::remove_file(&file);
    compiled
}

fn null_device() -> &'static str {
    if cfg!(windows) { "NUL" } else { "/dev/null" }
}

fn quiet(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fallback() -> Result<OsString, Failure> {
        Ok("vendored".into())
    }

    #[test]
    fn a_named_compiler_is_kept_without_asking_the_path() {
        let chosen = choose(true, || panic!("must not probe"), fallback).unwrap();
        assert_eq!(chosen, None);
    }

    #[test]
    fn a_working_compiler_on_the_path_stays_unnamed() {
        assert_eq!(choose(false, || true, fallback).unwrap(), None);
    }

    #[test]
    fn without_one_the_vendored_compiler_is_named() {
        assert_eq!(choose(false, || false, fallback).unwrap(), Some("vendored".into()));
    }

    #[test]
    fn the_vendored_compiler_accepts_what_lance_uses() {
        let scratch = crate::scratch::Scratch::new("protoc");
        let file = scratch.write("probe.proto", PROBE);
        let mut command = Command::new(vendored().unwrap());
        let accepted =
            quiet(command.arg("-I").arg(scratch.path()).arg("-o").arg("/dev/null").arg(file));
        assert!(accepted);
    }
}
