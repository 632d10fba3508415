//! Which exit code an error of the library has: a table of its stable codes, and what the operating
//! system said underneath.

use std::error::Error;
use std::io::{self, ErrorKind};

use graphwrite_coordinator::StoreError;
use graphwrite_protocol_types::Answer;

use crate::answer::of_answer;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place;

/// The exit code of an error code. One that is not listed is ours to list: a bug.
pub(crate) fn class(code: &str) -> Exit {
    match code {
        "graph_exists"
        | "root_not_empty"
        | "graph_nested"
        | "age_floor_too_low"
        | "schema_refused"
        | "not_a_graph"
        | "no_such_branch"
        | "format_refused"
        | "invalid_input"
        | "limit_exceeded"
        | "read_only"
        | "no_such_type"
        | "unsupported_value"
        | "file_unreadable"
        | "line_too_long"
        | "not_utf8"
        | "other_form"
        | "no_header"
        | "open_quote"
        | "stray_quote"
        | "lone_return"
        | "file_damaged"
        | "type_not_named"
        | "other_incarnation"
        | "branch_exists"
        | "merge_base_gone"
        | "too_many_merge_bases" => Exit::Refused,
        "no_such_commit" | "version_gone" => Exit::Negative,
        "schema_moved" | "schema_diverges" | "branch_deleted" | "branch_moved" | "given_up"
        | "retries_exhausted" => Exit::Conflict,
        "gate_timeout" | "manifest_contended" | "contended" | "recovery_required"
        | "recovery_blocked" | "unexplained_head" | "cleanup_pending" => Exit::Recovery,
        "outcome_unknown" => Exit::Unknown,
        "usage" => Exit::Usage,
        "storage" | "temp_storage" | "pin_lost" | "table_damaged" | "manifest_damaged"
        | "record_unreadable" => Exit::Storage,
        _ => Exit::Bug,
    }
}

/// The failure of an error of the library.
pub(crate) fn failed<E: Answer + Error + 'static>(error: &E, graph: &str) -> Failure {
    let failure = of_answer(class(error.code()), error, words(error), graph);
    match system_words(error).filter(|_| failure.exit == Exit::Storage) {
        Some((code, help)) => Failure { code, ..failure }.help(help),
        None => failure,
    }
}

/// The words of an error, and those of its causes that it does not repeat.
fn words(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

/// The failure of a storage that could not be opened at all.
pub(crate) fn failed_store(error: &StoreError, location: &str) -> Failure {
    match error {
        StoreError::UnsupportedScheme { .. } | StoreError::InvalidPath { .. } => {
            Failure::new(Exit::Refused, "unsupported_location", error.to_string())
                .help("nothing was changed; give the directory of a graph")
        }
        StoreError::RootUnusable { cause, .. } => unusable(error, cause.as_ref(), location),
        _ => Failure::new(Exit::Storage, "storage", error.to_string())
            .help("nothing was changed; see to the storage and run the command again"),
    }
}

fn unusable(
    error: &StoreError,
    cause: &(dyn Error + Send + Sync + 'static),
    location: &str,
) -> Failure {
    let io = io_error(cause);
    if let Some(io) = io.filter(|io| io.kind() == ErrorKind::NotFound) {
        return place::unreachable(location, io.kind(), &io.to_string());
    }
    let words = io.and_then(|io| words_of(io.kind()));
    let (code, help) = words
        .unwrap_or(("root_unusable", "nothing was changed; name a directory that can be used"));
    Failure::new(Exit::Storage, code, error.to_string()).help(help)
}

/// What the operating system said, as a code of its own and what to do about it.
fn system_words(error: &(dyn Error + 'static)) -> Option<(&'static str, &'static str)> {
    words_of(io_error(error)?.kind())
}

fn words_of(kind: ErrorKind) -> Option<(&'static str, &'static str)> {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some((
            "storage_full",
            "there is no space left; make space and run the command again, the next write also \
             clears what this one left",
        )),
        ErrorKind::PermissionDenied => Some((
            "permission_denied",
            "run the command as a user who may read and write in the graph's directory",
        )),
        ErrorKind::ReadOnlyFilesystem => Some((
            "storage_read_only",
            "the file system is mounted read-only; mount it for writing",
        )),
        ErrorKind::FileTooLarge => Some((
            "file_too_large",
            "the system lets this process write no file of that size; raise its limit (`ulimit -f`) \
             or the file system's, and run the command again",
        )),
        _ => None,
    }
}

/// The innermost error of the operating system along the causes that says something.
fn io_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let mut cause: Option<&'a (dyn Error + 'static)> = Some(error);
    let mut found = None;
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        found = io.filter(|io| io.kind() != ErrorKind::Other).or(found);
        // An `io::Error` has the error that it wraps as its content, not as its source.
        let inner: Option<&'a (dyn Error + 'static)> = match io.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
        cause = inner;
    }
    found
}

#[cfg(test)]
mod tests {
    use graphwrite_coordinator::{ReadError, WriteError, WriteErrorKind};
    use graphwrite_protocol_types::AttemptId;

    use super::*;

    /// An error of the library over one of the system.
    #[derive(Debug)]
    struct Storage(io::Error);

    impl std::fmt::Display for Storage {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "writing `x`: {}", self.0)
        }
    }

    impl Error for Storage {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    impl Answer for Storage {
        fn code(&self) -> &'static str {
            "storage"
        }

        fn may_retry(&self) -> bool {
            true
        }

        fn had_no_effect(&self) -> bool {
            true
        }

        fn help(&self) -> String {
            "help".into()
        }
    }

    fn code_of(error: io::Error) -> &'static str {
        let failure = failed(&Storage(error), "g");
        assert_eq!(failure.exit, Exit::Storage);
        failure.code
    }

    #[test]
    fn a_full_disk_has_a_code_of_its_own_however_deep_it_lies() {
        assert_eq!(code_of(ErrorKind::StorageFull.into()), "storage_full");
        let wrapped = io::Error::other(Storage(ErrorKind::StorageFull.into()));
        assert_eq!(code_of(wrapped), "storage_full");
    }

    /// A failure of the store over one of the system, as the library makes it.
    fn of_the_store(kind: ErrorKind) -> StoreError {
        StoreError::Unknown { path: "a/b".into(), cause: Box::new(io::Error::from(kind)) }
    }

    #[test]
    fn a_full_disk_is_seen_through_the_errors_of_the_library() {
        let read = ReadError::from(of_the_store(ErrorKind::StorageFull));
        assert_eq!(failed(&read, "g").code, "storage_full");
        let kind = WriteErrorKind::ArmUnknown {
            attempt: AttemptId::from_u128(1),
            cause: of_the_store(ErrorKind::StorageFull),
        };
        let write = failed(&WriteError { operation: None, kind }, "g");
        assert_eq!((write.code, write.exit), ("storage_full", Exit::Storage));
    }

    #[test]
    fn what_the_system_said_is_in_the_message_once() {
        let read = ReadError::from(of_the_store(ErrorKind::StorageFull));
        let failure = failed(&read, "g");
        let said = io::Error::from(ErrorKind::StorageFull).to_string();
        assert_eq!(failure.message.matches(&said).count(), 1, "{}", failure.message);
        assert_eq!(failure.message, read.to_string());
    }

    /// A step of the library that does not repeat what stopped it.
    #[derive(Debug)]
    struct Step(Storage);

    impl std::fmt::Display for Step {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("stopped while listing")
        }
    }

    impl Error for Step {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_cause_that_the_error_does_not_repeat_is_added() {
        let step = Step(Storage(ErrorKind::StorageFull.into()));
        let said = io::Error::from(ErrorKind::StorageFull);
        assert_eq!(words(&step), format!("stopped while listing: writing `x`: {said}"));
    }

    #[test]
    fn missing_permission_and_a_read_only_file_system_have_codes_of_their_own() {
        assert_eq!(code_of(ErrorKind::PermissionDenied.into()), "permission_denied");
        assert_eq!(code_of(ErrorKind::ReadOnlyFilesystem.into()), "storage_read_only");
    }

    #[test]
    fn a_file_that_may_not_be_so_large_has_a_code_of_its_own() {
        assert_eq!(code_of(ErrorKind::FileTooLarge.into()), "file_too_large");
    }

    #[test]
    fn another_failure_of_the_storage_keeps_the_librarys_code_and_help() {
        let failure = failed(&Storage(ErrorKind::TimedOut.into()), "g");
        assert_eq!((failure.code, &*failure.help), ("storage", "help"));
    }

    /// The texts of every `fn code` in the sources of the library.
    fn codes_of_the_library() -> Vec<String> {
        let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let layers = ["protocol-types", "manifest", "adapters", "coordinator"];
        let mut files: Vec<_> = layers.iter().map(|layer| crates.join(layer).join("src")).collect();
        let mut codes = Vec::new();
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                codes.extend(codes_in(&std::fs::read_to_string(path).unwrap()));
            }
        }
        codes
    }

    fn codes_in(source: &str) -> Vec<String> {
        let bodies = source.split("fn code(&self) -> &'static str {").skip(1);
        let bodies = bodies.map(|rest| rest.split("\n    }\n").next().unwrap_or_default());
        let texts = bodies.flat_map(|body| body.split('"').skip(1).step_by(2));
        texts.map(str::to_owned).collect()
    }

    #[test]
    fn every_code_of_the_library_has_an_exit_code() {
        // Outcomes that `answer` knows by their variants, rules of rows, and true faults of ours.
        let elsewhere = [
            "committed",
            "no_change",
            "key_conflict",
            "key_missing",
            "expected_head",
            "operation_reused",
            "operation_sealed",
            "merge_conflict",
            "retries_exhausted",
            "internal",
            "injected",
        ];
        let rules = graphwrite_coordinator::Rule::ALL.map(graphwrite_coordinator::Rule::code);
        let codes = codes_of_the_library();
        assert!(codes.len() > 30, "the sources were found");
        for code in codes {
            let known = elsewhere.contains(&&*code) || rules.contains(&&*code);
            assert!(known || class(&code) != Exit::Bug, "`{code}` has no exit code");
        }
    }

    #[test]
    fn a_code_that_nobody_listed_is_a_bug() {
        assert_eq!(class("new_in_the_library"), Exit::Bug);
        assert_eq!(class("internal"), Exit::Bug);
    }
}
