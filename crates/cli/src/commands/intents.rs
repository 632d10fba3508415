//! `intent list|show|explain|resolve`: what interrupted writes left, and what becomes of it.

use graphwrite_coordinator::{
    BarrierOutcome, BarrierReport, BlockingObject, Explanation, Graph, GraphOptions,
    PendingIntents, ReadError, RecoverMode, RecoverRequest,
};
use graphwrite_protocol_types::AttemptId;

use crate::classes::failed;
use crate::command::{GraphPlace, IntentArgs, ResolveArgs};
use crate::commands::{answer, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::remedy::on_branch;
use crate::render::write_report;
use crate::report::{self, IntentList, IntentRecord};
use crate::resolved;
use crate::style::Style;

pub(super) async fn list(
    location: &GraphPlace,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(location).await?;
    answer(&IntentList::of(&pending(&graph, location).await?), style, io)
}

pub(super) async fn show(
    args: &IntentArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(&args.graph).await?;
    let found = found(&graph, args).await?;
    let read = |error: &ReadError| failed(error, &args.graph);
    let intent = graph.intent(args.attempt).await.map_err(|error| read(&error))?;
    let intent = intent.ok_or_else(|| no_such_intent(args.attempt, &args.graph))?;
    let snapshot = graph.snapshot().await.map_err(|error| read(&error))?;
    answer(&IntentRecord::of(&intent, &found, snapshot.schema()), style, io)
}

pub(super) async fn explain(
    args: &IntentArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(&args.graph).await?;
    let found = found(&graph, args).await?;
    let mut report = report::Explanation::of(&found, &args.graph);
    report.next = on_branch(&report.next, &args.graph);
    answer(&report, style, io)
}

pub(super) async fn resolve(
    args: &ResolveArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_writing(&args.graph, options(args)?).await?;
    let recovered = Box::pin(graph.recover(request(args))).await;
    let recovered = recovered.map_err(|error| failed(&error, &args.graph))?;
    if let Some(attempt) = args.attempt.filter(|attempt| !resolved::concerns(&recovered, *attempt))
    {
        return Err(no_such_intent(attempt, &args.graph));
    }
    let mut report = resolved::report(&recovered, args.how.full, &args.graph);
    report.next = report.next.map(|next| on_branch(&next, &args.graph));
    write_report(&report, style, io.output)?;
    Ok(exit(&recovered))
}

/// What is left pending needs somebody or some time; the report says what.
fn exit(recovered: &BarrierReport) -> Exit {
    match recovered.outcome {
        BarrierOutcome::Clean | BarrierOutcome::Probed => Exit::Done,
        BarrierOutcome::Contended(_)
        | BarrierOutcome::RecoveryRequired(_)
        | BarrierOutcome::Blocked(_) => Exit::Recovery,
    }
}

#[cfg_attr(not(feature = "failpoints"), allow(clippy::unnecessary_wraps))]
fn options(args: &ResolveArgs) -> Result<GraphOptions, Failure> {
    let options = GraphOptions { waits: args.waits.rules(), ..GraphOptions::default() };
    #[cfg(feature = "failpoints")]
    return Ok(GraphOptions { hooks: args.faults.hooks()?, ..options });
    #[cfg(not(feature = "failpoints"))]
    Ok(options)
}

fn request(args: &ResolveArgs) -> RecoverRequest {
    let mode = if args.how.full { RecoverMode::Full } else { RecoverMode::RollForward };
    RecoverRequest { attempt: args.attempt, mode, owner_is_dead: args.owner_is_dead }
}

async fn pending(graph: &Graph, location: &str) -> Result<PendingIntents, Failure> {
    graph.pending_intents().await.map_err(|error| failed(&error, location))
}

async fn found(graph: &Graph, args: &IntentArgs) -> Result<Explanation, Failure> {
    let pending = pending(graph, &args.graph).await?;
    if let Some(object) = pending.blocking.iter().find(|it| it.attempt == Some(args.attempt)) {
        return Err(unreadable(object));
    }
    let name = args.attempt.to_string();
    let found = pending.intents.into_iter().find(|intent| intent.attempt == name);
    found.ok_or_else(|| no_such_intent(args.attempt, &args.graph))
}

/// The intent is there, and nobody can say what it is.
fn unreadable(object: &BlockingObject) -> Failure {
    let BlockingObject { object, reason, remedy, is_orphan, .. } = object;
    let whom = if *is_orphan { "stops nobody, its branch is deleted" } else { "stops every write" };
    let message = format!("`{object}` cannot be read and {whom}: {reason}");
    Failure::new(Exit::Recovery, "recovery_blocked", message).help(*remedy)
}

fn no_such_intent(attempt: AttemptId, graph: &str) -> Failure {
    let message = format!("no intent of attempt {attempt} is pending");
    Failure::new(Exit::Negative, "no_such_intent", message).help(format!(
        "it is over, or never was; `graphwrite intent list {graph}` lists what is pending, and \
         `graphwrite commit log {graph}` what is committed"
    ))
}
