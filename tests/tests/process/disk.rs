//! File systems that refuse: a small one that can be filled, one that is mounted read-only, files that
//! may not grow, and a user who may not write. It knows no command of the program.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::program::{program, through};

/// A file system of some kilobytes.
pub(super) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where this user may not mount.
    pub(super) fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=512k", "graphwrite-test"];
        mount(&options, at).then(|| Self(at.to_owned()))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn filler(&self) -> PathBuf {
        self.path("filler")
    }

    /// Fills the disk until `room` bytes are left.
    pub(super) fn fill_but(&self, room: usize) {
        let mut bytes = vec![0; 512 * 1024];
        while std::fs::write(self.filler(), &bytes).is_err() {
            bytes.truncate(bytes.len() - 1024);
        }
        bytes.truncate(bytes.len().saturating_sub(room));
        std::fs::write(self.filler(), &bytes).unwrap();
    }

    /// Gives the room back.
    pub(super) fn clear(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }

    /// Nothing on it can be changed any more.
    pub(super) fn protect(&self) {
        assert!(mount(&["-o", "remount,ro"], &self.0), "a remount of {}", self.0.display());
    }

    /// It can be written again.
    pub(super) fn release(&self) {
        assert!(mount(&["-o", "remount,rw"], &self.0), "a remount of {}", self.0.display());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn mount(options: &[&str], at: &Path) -> bool {
    let succeeded = |output: Output| output.status.success();
    Command::new("mount").args(options).arg(at).output().is_ok_and(succeeded)
}

/// A user whom permissions stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nobody {
    /// Whether the tests run as a user whom they do not stop.
    is_another: bool,
}

impl Nobody {
    const ID: u32 = 65_534;
    const BECOMES: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

    /// None where no such user can run the program.
    pub(super) fn here(scratch: &Path) -> Option<Self> {
        let probe = scratch.join("probe");
        std::fs::write(&probe, "").unwrap();
        std::fs::set_permissions(&probe, Permissions::from_mode(0o000)).unwrap();
        let is_another = std::fs::read(&probe).is_ok();
        let nobody = Self { is_another };
        // The scratch directory is the tests' own.
        std::fs::set_permissions(scratch, Permissions::from_mode(0o755)).unwrap();
        let runs =
            nobody.command(&["version"]).output().is_ok_and(|output| output.status.success());
        runs.then_some(nobody)
    }

    /// The program as this user.
    pub(super) fn command<S: AsRef<str>>(self, args: &[S]) -> Command {
        match self.is_another {
            true => through(&Self::BECOMES, args),
            false => {
                let mut command = Command::new(program());
                command.args(args.iter().map(AsRef::as_ref));
                command.stdin(std::process::Stdio::null());
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                command
            }
        }
    }

    /// All below `directory` becomes this user's, with these permissions for directories.
    pub(super) fn may(self, directory: &Path, mode: u32) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => self.may(&path, mode),
                false => self.own(&path, mode & 0o666),
            }
        }
        self.own(directory, mode);
    }

    fn own(self, path: &Path, mode: u32) {
        if self.is_another {
            chown(path, Some(Self::ID), Some(Self::ID)).unwrap();
        }
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
}
