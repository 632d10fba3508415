//! A file that an operator asks for: it has its name when it is complete, and never before. It must
//! not know what is in it.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::exit::Exit;
use crate::failure::Failure;

/// A file under a name of its own, until it is complete.
#[derive(Debug)]
pub(crate) struct NewFile {
    path: PathBuf,
    replaces: bool,
    writer: BufWriter<NamedTempFile>,
}

impl NewFile {
    /// Begins a file beside the place where it will be.
    pub(crate) fn create(path: &Path, replaces: bool) -> Result<Self, Failure> {
        if !replaces && path.symlink_metadata().is_ok() {
            return Err(Self::exists(path));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(".graphwrite-export-");
        let file = builder.tempfile_in(directory.unwrap_or(Path::new(".")));
        let file = file.map_err(|error| Self::failed(path, &error))?;
        let writer = BufWriter::with_capacity(1 << 18, file);
        Ok(Self { path: path.to_owned(), replaces, writer })
    }

    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut self.writer
    }

    /// Gives the file its name.
    pub(crate) fn complete(self) -> Result<(), Failure> {
        let Self { path, replaces, writer } = self;
        let failed = |error: &io::Error| Self::failed(&path, error);
        let file = writer.into_inner().map_err(|error| failed(error.error()))?;
        file.as_file().sync_all().map_err(|error| failed(&error))?;
        readable(&file).map_err(|error| failed(&error))?;
        let named = if replaces { file.persist(&path) } else { file.persist_noclobber(&path) };
        match named {
            Ok(_) => Ok(()),
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Self::exists(&path))
            }
            Err(refused) => Err(failed(&refused.error)),
        }
    }

    fn exists(path: &Path) -> Failure {
        Failure::new(Exit::Refused, "file_exists", format!("{} exists", path.display()))
            .help("nothing was written; name another file, or replace it with `--force`")
    }

    /// The failure of a file that cannot be written.
    pub(crate) fn failed(path: &Path, error: &io::Error) -> Failure {
        let message = format!("{} cannot be written: {error}", path.display());
        Failure::new(Exit::Storage, "output_failed", message)
            .help("the graph is not concerned, and no file was left; name another file")
    }
}

/// Temporary files are their owner's alone; a result is as readable as any file that is made here.
#[cfg(unix)]
fn readable(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let beside = Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o666))
        .tempfile_in(file.path().parent().unwrap_or(Path::new(".")))?;
    file.as_file().set_permissions(beside.as_file().metadata()?.permissions())
}

#[cfg(not(unix))]
fn readable(_: &NamedTempFile) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_complete() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("rows.csv");
        let mut file = NewFile::create(&path, false).unwrap();
        file.writer().write_all(b"a").unwrap();
        assert!(!path.exists());
        file.complete().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a");
        assert_eq!(names(scratch.path()), ["rows.csv"]);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let mut file = NewFile::create(&scratch.path().join("rows.csv"), false).unwrap();
        file.writer().write_all(b"a").unwrap();
        drop(file);
        assert_eq!(names(scratch.path()), [""; 0]);
    }

    #[test]
    fn a_file_that_exists_is_replaced_only_when_that_is_said() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("rows.csv");
        let racing = NewFile::create(&path, false).unwrap();
        std::fs::write(&path, "mine").unwrap();
        assert_eq!(NewFile::create(&path, false).unwrap_err().code, "file_exists");
        assert_eq!(racing.complete().unwrap_err().code, "file_exists");
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        NewFile::create(&path, true).unwrap().complete().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_an_answer() {
        let failure = NewFile::create(Path::new("/nowhere/at/all"), false).unwrap_err();
        assert_eq!((failure.exit, failure.code), (Exit::Storage, "output_failed"));
    }
}
