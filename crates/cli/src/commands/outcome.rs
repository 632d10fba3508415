//! `outcome`: what became of a request, from its operation id alone.

use graphwrite_coordinator::{
    BranchError, BranchStanding, Graph, GraphOptions, OperationOutcome, OutcomeError,
    OutcomeRequest,
};

use crate::classes::failed;
use crate::command::OutcomeArgs;
use crate::commands::open;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::remedy::on_branch;
use crate::render::write_report;
use crate::report::OutcomeReport;
use crate::style::Style;

pub(super) async fn outcome(
    args: &OutcomeArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let outcome = asked(args).await.map_err(|failure| failure.operation(&args.operation))?;
    let mut report =
        OutcomeReport::of(&outcome, &args.operation, &args.graph.branch.to_string(), &args.graph);
    report.next = report.next.map(|next| on_branch(&next, &args.graph));
    let written = write_report(&report, style, io.output);
    written
        .map_err(|failure| if args.seal { failure.after_seal(&args.operation) } else { failure })?;
    Ok(exit(&outcome))
}

/// What became of the request on the incarnation that is meant.
async fn asked(args: &OutcomeArgs) -> Result<OperationOutcome, Failure> {
    let graph = if args.seal {
        open::whole_for_writing(&args.graph.whole, GraphOptions::default()).await?
    } else {
        open::whole_for_reading(&args.graph.whole).await?
    };
    let branch = match graph.branch(&args.graph.branch).await {
        Ok(branch) => branch,
        Err(error) => {
            return match meant_of_dead(&graph, args, &error).await? {
                Some(incarnation) => gone(args, incarnation),
                None => Err(failed(&error, &args.graph)),
            };
        }
    };
    let newest = branch.on_branch().record;
    match args.incarnation.unwrap_or(newest) {
        number if number < newest => gone(args, number),
        number if number > newest => Err(never_was(args, number)),
        _ => {
            let (operation, seal) = (args.operation.clone(), args.seal);
            let request = OutcomeRequest { operation, branch: None, seal };
            branch.outcome(request).await.map_err(|error| failed(&error, &args.graph))
        }
    }
}

/// The incarnation that is meant, if it is a dead one of a name that means no branch now.
async fn meant_of_dead(
    graph: &Graph,
    args: &OutcomeArgs,
    error: &BranchError,
) -> Result<Option<u64>, Failure> {
    if !matches!(error, BranchError::NoSuchBranch { .. }) {
        return Ok(None);
    }
    let names = graph.branches().await.map_err(|error| failed(&error, &args.graph))?;
    let name = args.graph.branch.to_string();
    let standing = names.into_iter().find(|(found, _)| *found == name).map(|(_, it)| it);
    let (newest, is_dead) = match standing {
        Some(BranchStanding::Gone { incarnation }) => (incarnation, true),
        Some(BranchStanding::Creating { incarnation }) => (incarnation, false),
        _ => return Ok(None),
    };
    match args.incarnation.unwrap_or(newest) {
        number if number > newest => Err(never_was(args, number)),
        number => Ok((is_dead || number < newest).then_some(number)),
    }
}

fn gone(args: &OutcomeArgs, incarnation: u64) -> Result<OperationOutcome, Failure> {
    let branch = args.graph.branch.to_string();
    if args.seal {
        let error = OutcomeError::BranchDeleted { branch, incarnation };
        return Err(failed(&error, &args.graph));
    }
    Ok(OperationOutcome::BranchDeleted { branch, incarnation })
}

fn never_was(args: &OutcomeArgs, incarnation: u64) -> Failure {
    let (graph, branch) = (&*args.graph, &args.graph.branch);
    let message = format!("branch `{branch}` has no incarnation {incarnation} yet");
    Failure::new(Exit::Refused, "no_such_branch", message)
        .help(format!("`graphwrite branch list {graph} --all` lists the newest of each name"))
}

/// Whether the request landed.
pub(crate) fn exit(outcome: &OperationOutcome) -> Exit {
    match outcome {
        OperationOutcome::Committed(_) => Exit::Done,
        OperationOutcome::Pending { .. } => Exit::Recovery,
        _ => Exit::Negative,
    }
}
