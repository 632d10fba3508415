//! `merge`: what a branch or a commit has that another branch has not, in one commit of both; on request the
//! source branch is deleted behind it.

mod source;

use graphwrite_coordinator::{
    Graph, MergeAnswer, MergeOptions, MergeReport, MergeRequest, MergeStrategy, MergeTableReview,
    ReadError,
};
use graphwrite_protocol_types::{BranchName, BranchSelector, Conflict, WriteOutcome};

use crate::answer::settled;
use crate::classes::failed;
use crate::command::{ForkOf, GraphPlace, MergeArgs, Strategy};
use crate::commands::write::{Writing, lost_receipt};
use crate::commands::{answer, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::progress::Progress;
use crate::render::write_report;
use crate::report::{Compared, Comparison, MergeOutcome};
use crate::style::Style;

use source::Merged;

pub(super) async fn merge(args: MergeArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let place = args.target();
    let unwanted = unwanted(&args)?;
    if args.preview {
        return preview(&args, &place, style, io).await;
    }
    let mut writing = Writing::open(&place, &args.terms).await?;
    let (graph, request) = (writing.graph.clone(), request(&args, io));
    let merged = writing.carried_out(graph.merge(request), at_work(io), io).await?;
    let MergeAnswer { outcome, report } = merged;
    let compared = compared(&graph, report.as_ref()).await;
    let receipt = match settled(&outcome, args.terms.operation_id.as_ref(), &place) {
        Ok(receipt) => receipt,
        Err(failure) => {
            let merge = compared.map_err(|error| failed(&error, &place))?;
            return Err(contradicted(failure, &outcome, merge, &args, style, io));
        }
    };
    // A receipt is not lost for what could not be read behind it.
    let merge = compared.ok().flatten();
    let (source, lost) = match unwanted {
        Some(name) => {
            let merged = Merged { outcome: &outcome, report: report.as_ref() };
            let deleted = Box::pin(merged.delete_source(&graph, name, args.terms.actor(io))).await;
            deleted.told(name, &receipt, &place)
        }
        None => (None, None),
    };
    let told = MergeOutcome::receipt(receipt.clone(), merge).with_source_branch(source);
    let next = after(&told, report.as_ref(), &args);
    let answered = answer(&told.with_next(next), style, io);
    graph.settled().await;
    match lost {
        Some(failure) => Err(failure),
        None => answered.map_err(|failure| lost_receipt(failure, &receipt)),
    }
}

fn at_work(io: &Io<'_>) -> Progress {
    let progress = Progress::count("merging", &io.surroundings);
    progress.goes_on("merging");
    progress
}

/// The branch that is to be deleted behind the merge.
fn unwanted(args: &MergeArgs) -> Result<Option<&BranchName>, Failure> {
    let usage = |message: &str, help: &str| {
        Failure::new(Exit::Usage, "usage", message).help(format!("nothing was done; {help}"))
    };
    match &args.source {
        ForkOf::Branch(source) if *source == args.into => {
            Err(usage("a branch cannot be merged into itself", "name two branches"))
        }
        _ if !args.delete_source => Ok(None),
        ForkOf::Branch(BranchSelector::Named(name)) => Ok(Some(name)),
        ForkOf::Branch(BranchSelector::Main) => {
            Err(usage("`main` cannot be deleted", "leave `--delete-source` out"))
        }
        ForkOf::Commit(_) => Err(usage(
            "`--delete-source` needs the name of a branch, and the source is a commit",
            "name the branch, or leave `--delete-source` out",
        )),
    }
}

fn request(args: &MergeArgs, io: &Io<'_>) -> MergeRequest {
    let options = MergeOptions {
        strategy: args.strategy.into(),
        conflicts_listed_max: args.max_conflicts,
        bytes_max: args.memory.0,
        ..MergeOptions::default()
    };
    let options = match &args.temp_dir {
        Some(directory) => MergeOptions { temp_dir: directory.clone(), ..options },
        None => options,
    };
    MergeRequest {
        options,
        operation: args.terms.operation_id.clone(),
        actor: args.terms.actor(io),
        message: args.terms.message.clone(),
        expect_head: args.terms.expected_head(),
        ..MergeRequest::new(args.source.source())
    }
}

async fn preview(
    args: &MergeArgs,
    place: &GraphPlace,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(place).await?;
    let progress = at_work(io);
    let previewed = graph.preview_merge(request(args, io)).await;
    drop(progress);
    let report = previewed.map_err(|error| failed(&error, place))?;
    let merge = compared(&graph, Some(&report)).await.map_err(|error| failed(&error, place))?;
    let Some(merge) = merge else { return Ok(Exit::Done) };
    let remedies = remedies(&merge, args);
    let told = MergeOutcome::preview(merge);
    let (exit, next) = match told.outcome() {
        "would_conflict" => (Exit::Negative, remedies),
        "would_not_change" => (Exit::Done, Vec::new()),
        _ => (Exit::Done, vec![command(args, args.strategy)]),
    };
    write_report(&told.with_next(next), style, io.output).map(|()| exit)
}

/// What was compared, with the rows of conflicts by the schema of the target.
async fn compared(
    graph: &Graph,
    report: Option<&MergeReport>,
) -> Result<Option<Comparison>, ReadError> {
    let Some(report) = report else { return Ok(None) };
    let is_listed = |table: &MergeTableReview| !table.conflicts.listed().is_empty();
    let snapshot = match report.review.tables.iter().any(is_listed) {
        true => Some(graph.snapshot().await?),
        false => None,
    };
    let schema = snapshot.as_ref().map(|snapshot| &**snapshot.schema());
    let into = graph.on_branch();
    let into = (into.name.as_str(), into.record);
    Ok(Some(Comparison::of(Compared { report, schema, into })))
}

/// The failure of a merge that made no commit. Of a conflict the report has every side.
fn contradicted(
    failure: Failure,
    outcome: &WriteOutcome,
    merge: Option<Comparison>,
    args: &MergeArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Failure {
    let (WriteOutcome::Conflict(Conflict::Merge { .. }), Some(merge)) = (outcome, merge) else {
        return failure;
    };
    let message = merge.contradiction().unwrap_or_else(|| failure.message.clone());
    let next = remedies(&merge, args);
    let help = std::iter::once(failure.help.clone()).chain(next.iter().cloned());
    let help = help.collect::<Vec<_>>().join("\n");
    // If nobody can read the report, the error still says what is wrong.
    let _ = write_report(&MergeOutcome::conflict(merge).with_next(next), style, io.output);
    Failure { message, ..failure }.help(help)
}

/// What can be done about a conflict.
fn remedies(merge: &Comparison, args: &MergeArgs) -> Vec<String> {
    let decide = merge.is_decided_by_a_strategy();
    let decided = [Strategy::Ours, Strategy::Theirs].map(|strategy| command(args, strategy));
    let all = merge.conflicts_max_for_all(args.max_conflicts).map(|most| {
        let (graph, source, into) = (&*args.graph, &args.source, &args.into);
        format!("graphwrite merge {graph} {source} --into {into} --preview --max-conflicts {most}")
    });
    decided.into_iter().filter(|_| decide).chain(all).collect()
}

/// The merge as a command.
fn command(args: &MergeArgs, strategy: Strategy) -> String {
    let (graph, source, into) = (&*args.graph, &args.source, &args.into);
    let strategy = match strategy {
        Strategy::Fail => String::new(),
        other => format!(" --strategy {}", MergeStrategy::from(other).name()),
    };
    let deleting = if args.delete_source { " --delete-source" } else { "" };
    format!("graphwrite merge {graph} {source} --into {into}{strategy}{deleting}")
}

/// What is left to do after a merge: its source may go, unless something has come to it.
fn after(told: &MergeOutcome, report: Option<&MergeReport>, args: &MergeArgs) -> Vec<String> {
    let ForkOf::Branch(BranchSelector::Named(name)) = &args.source else { return Vec::new() };
    let graph = &*args.graph;
    let merged = report.and_then(|report| report.source.commit);
    match (told.source_state(), merged) {
        (None, Some(commit)) => {
            vec![format!("graphwrite branch delete {graph} {name} --expect-head {commit}")]
        }
        (Some("kept" | "unknown"), _) => vec![format!("graphwrite branch status {graph} {name}")],
        _ => Vec::new(),
    }
}
