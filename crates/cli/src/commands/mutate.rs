//! `mutate`: the statements of a file or of standard input, in one commit.

use graphwrite_coordinator::{Graph, LoadLimits, MutateRequest, MutationInput};

use crate::classes::failed;
use crate::command::MutateArgs;
use crate::commands::write::Writing;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::invalid;
use crate::io::Io;
use crate::progress::Progress;
use crate::style::Style;

pub(super) async fn mutate(
    args: MutateArgs,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let text = files::text(&args.file, io.input)?;
    let writing = Writing::open(&args.graph, &args.terms).await?;
    let input = read(&writing.graph, &args, &text).await?;
    let request = MutateRequest {
        operation: args.terms.operation_id.clone(),
        actor: args.terms.actor(io),
        message: args.terms.message.clone(),
        expect_head: args.terms.expected_head(),
        ..MutateRequest::new(input)
    };
    let progress = Progress::count("mutating", &io.surroundings);
    progress.goes_on("mutating");
    let graph = writing.graph.clone();
    writing.answered(graph.mutate(request), progress, style, io).await
}

async fn read(graph: &Graph, args: &MutateArgs, text: &str) -> Result<MutationInput, Failure> {
    let builder = graph.mutation(LoadLimits::default()).await;
    let builder = builder.map_err(|error| failed(&error, &args.graph))?;
    let mut builder = builder.with_errors_max(args.max_errors.get());
    let read = builder.push_json(text).and_then(|()| builder.finish());
    read.map_err(|error| invalid::input(&error, &args.graph))
}
