//! Whether a location can hold a graph at all, asked before anything is opened, so that a mistyped
//! path is answered in the operator's words.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::failure::Failure;

/// The local directory that a location names; none for storage of another kind.
fn directory(location: &str) -> Option<PathBuf> {
    match location.split_once("://") {
        None => Some(PathBuf::from(location)),
        // An absolute path of a URL may be escaped; the store reads it.
        Some(_) => None,
    }
}

/// The directory exists and can be read.
pub(crate) fn existing(location: &str) -> Result<(), Failure> {
    let Some(path) = directory(location) else { return Ok(()) };
    let found = std::fs::metadata(&path).and_then(|found| {
        if found.is_dir() { std::fs::read_dir(&path).map(|_| true) } else { Ok(false) }
    });
    match found {
        Ok(true) => Ok(()),
        Ok(false) => Err(not_a_directory(location)),
        Err(error) => Err(unreachable(location, error.kind(), &error.to_string())),
    }
}

/// A directory can be made there, or is there.
pub(crate) fn creatable(location: &str) -> Result<(), Failure> {
    let Some(path) = directory(location) else { return Ok(()) };
    let nearest = path.ancestors().find(|ancestor| exists(ancestor));
    match nearest.map(Path::metadata) {
        Some(Ok(found)) if !found.is_dir() => Err(not_a_directory(location)),
        _ => Ok(()),
    }
}

fn exists(path: &Path) -> bool {
    !path.as_os_str().is_empty() && path.exists()
}

fn not_a_directory(location: &str) -> Failure {
    let message = format!("`{location}` is not a directory, so it cannot hold a graph");
    let help = "nothing was changed; name the directory of a graph";
    Failure::new(Exit::Refused, "not_a_directory", message).help(help)
}

/// The failure of a place that cannot be reached.
pub(crate) fn unreachable(location: &str, kind: ErrorKind, words: &str) -> Failure {
    match kind {
        ErrorKind::NotFound => {
            let message = format!("there is no directory `{location}`");
            let help = format!(
                "nothing was changed; correct the path, or create a graph there with `graphwrite \
                 init {location} --schema <file>`"
            );
            Failure::new(Exit::Refused, "graph_not_found", message).help(help)
        }
        ErrorKind::NotADirectory => not_a_directory(location),
        ErrorKind::PermissionDenied => {
            let message = format!("`{location}` may not be read: {words}");
            let help =
                "nothing was changed; run the command as a user who may read and write there";
            Failure::new(Exit::Storage, "permission_denied", message).help(help)
        }
        _ => {
            let message = format!("`{location}` cannot be read: {words}");
            Failure::new(Exit::Storage, "storage_unreadable", message)
                .help("nothing was changed; see to the storage and run the command again")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<(), Failure>) -> (Exit, &'static str) {
        let failure = result.unwrap_err();
        (failure.exit, failure.code)
    }

    #[test]
    fn a_directory_that_exists_is_fine() {
        let scratch = tempfile::tempdir().unwrap();
        existing(scratch.path().to_str().unwrap()).unwrap();
    }

    #[test]
    fn a_missing_directory_is_named_and_init_is_offered() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("gone");
        let failure = existing(path.to_str().unwrap()).unwrap_err();
        assert_eq!((failure.exit, failure.code), (Exit::Refused, "graph_not_found"));
        assert!(failure.message.contains("gone") && failure.help.contains("graphwrite init"));
    }

    #[test]
    fn a_file_is_not_a_graph_and_nothing_can_be_made_below_it() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        std::fs::write(&file, "").unwrap();
        let refused = (Exit::Refused, "not_a_directory");
        assert_eq!(code(existing(file.to_str().unwrap())), refused);
        assert_eq!(code(existing(file.join("below").to_str().unwrap())), refused);
        assert_eq!(code(creatable(file.join("below").to_str().unwrap())), refused);
        creatable(scratch.path().join("a/b").to_str().unwrap()).unwrap();
    }
}
