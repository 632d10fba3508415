//! `commit log|show|diff` and `audit`: the history of the graph, and what others than its writers
//! have decided.

use graphwrite_coordinator::{CommitInfo, DiffRequest};

use crate::classes::failed;
use crate::command::{AuditArgs, CommitDiffArgs, CommitShowArgs, LogArgs};
use crate::commands::{answer, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::report::{AuditReport, CommitEntry, CommitLog, DiffReport, changes, rows_in_all};
use crate::style::Style;
use crate::text;

pub(super) async fn log(args: &LogArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let graph = open::for_reading(&args.graph).await?;
    let commits = graph.log(args.limit.get()).await.map_err(|error| failed(&error, &args.graph))?;
    answer(&CommitLog { commits: commits.iter().map(entry).collect() }, style, io)
}

pub(super) async fn show(
    args: &CommitShowArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(&args.graph).await?;
    let found = graph.commit(args.commit).await.map_err(|error| failed(&error, &args.graph))?;
    let commit = found.ok_or_else(|| no_such_commit(args))?;
    answer(&entry(&commit), style, io)
}

fn no_such_commit(args: &CommitShowArgs) -> Failure {
    let CommitShowArgs { graph, commit, .. } = args;
    let message = format!("branch `{}` has no commit {commit}", graph.branch);
    Failure::new(Exit::Negative, "no_such_commit", message).help(format!(
        "`graphwrite commit log {graph}` lists its commits; `--branch <branch>` shows those of another \
         one, and `graphwrite branch list {graph}` lists the branches"
    ))
}

pub(super) async fn diff(
    args: &CommitDiffArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(&args.graph).await?;
    let since = DiffRequest::since(args.from.0);
    let request = DiffRequest { to: args.to, keys_max: args.keys, ..since };
    let diff = graph.diff(request).await.map_err(|error| failed(&error, &args.graph))?;
    answer(&DiffReport::of(&diff), style, io)
}

pub(super) async fn audit(
    args: &AuditArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(&args.graph).await?;
    let found = graph.audit(args.limit.get()).await;
    let found = found.map_err(|error| failed(&error, &args.graph))?;
    answer(&AuditReport::of(&found), style, io)
}

pub(crate) fn entry(commit: &CommitInfo) -> CommitEntry {
    let tables = changes(&commit.tables);
    CommitEntry {
        commit_id: commit.commit.to_string(),
        operation_id: commit.operation.to_string(),
        attempt_id: commit.attempt.to_string(),
        parents: commit.parents.iter().map(ToString::to_string).collect(),
        at: text::moment(commit.at_unix_us),
        at_unix_us: commit.at_unix_us,
        actor: commit.actor.clone(),
        writer: commit.writer.name(),
        message: commit.message.clone(),
        manifest_version: commit.manifest_version,
        rows: rows_in_all(&tables),
        tables,
    }
}
