//! `outcome`: what became of a request, from its operation id alone.

use graphwrite_coordinator::{GraphOptions, OperationOutcome, OutcomeRequest};

use crate::classes::failed;
use crate::command::OutcomeArgs;
use crate::commands::open;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::render::write_report;
use crate::report::OutcomeReport;
use crate::style::Style;

pub(super) async fn outcome(
    args: &OutcomeArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = if args.seal {
        open::for_writing(&args.graph, GraphOptions::default()).await?
    } else {
        open::for_reading(&args.graph).await?
    };
    let operation = args.operation.clone();
    let request = OutcomeRequest { operation, branch: None, seal: args.seal };
    let outcome = graph
        .outcome(request)
        .await
        .map_err(|error| failed(&error, &args.graph).operation(&args.operation))?;
    let report =
        OutcomeReport::of(&outcome, &args.operation, &args.graph.branch.to_string(), &args.graph);
    let written = write_report(&report, style, io.output);
    written
        .map_err(|failure| if args.seal { failure.after_seal(&args.operation) } else { failure })?;
    Ok(exit(&outcome))
}

/// Whether the request landed.
pub(crate) fn exit(outcome: &OperationOutcome) -> Exit {
    match outcome {
        OperationOutcome::Committed(_) => Exit::Done,
        OperationOutcome::Pending { .. } => Exit::Recovery,
        _ => Exit::Negative,
    }
}
