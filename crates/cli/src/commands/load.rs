//! `load`: rows from files or from standard input into one commit.

use std::sync::Arc;

use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, InputBuilder, InputError, LoadInput, LoadLimits, LoadMode,
    LoadRequest, Source, SourceData, WriteError,
};
use graphwrite_protocol_types::{GraphHeadToken, WriteOutcome};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::answer::settled;
use crate::classes::failed;
use crate::command::{LoadArgs, Mode};
use crate::commands::{answer, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::{self, Data};
use crate::interrupt::RunsToItsEnd;
use crate::invalid;
use crate::io::Io;
use crate::progress::Progress;
use crate::report::ReceiptReport;
use crate::style::Style;

pub(super) async fn load(args: LoadArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let data = files::data(&args.data, args.input_format.map(Into::into))?;
    check_table(&args, &data)?;
    let (hooks, signals) = RunsToItsEnd::new(hooks(&args)?);
    let options = GraphOptions { hooks, ..GraphOptions::default() };
    let graph = open::for_writing(&args.graph, options).await?;
    let total = data.iter().map(|data| data.file.as_ref().map(|file| file.1)).sum();
    let progress = Progress::bytes("reading", total, &io.surroundings);
    let input = read(&graph, &args, data, &progress, io).await?;
    progress.goes_on("loading");
    let operation = args.operation_id.clone();
    let request = request(&args, input, io);
    let outcome = carry_out(&graph, request, signals, &progress, io).await;
    drop(progress);
    let outcome = outcome.map_err(|error| refused(&error, &args.graph))?;
    let receipt = settled(&outcome, operation.as_ref(), &args.graph)?;
    let answered = answer(&receipt, style, io);
    // Records of the attempt are tidied behind the answer.
    graph.settled().await;
    answered.map_err(|failure| lost_receipt(failure, &receipt))
}

fn lost_receipt(failure: Failure, receipt: &ReceiptReport) -> Failure {
    failure.after_commit(&receipt.operation_id, receipt.commit_id.as_deref())
}

#[cfg_attr(not(feature = "failpoints"), allow(unused_variables, clippy::unnecessary_wraps))]
fn hooks(args: &LoadArgs) -> Result<Arc<dyn Hooks>, Failure> {
    #[cfg(feature = "failpoints")]
    return args.faults.hooks();
    #[cfg(not(feature = "failpoints"))]
    Ok(Arc::new(graphwrite_coordinator::NoHooks))
}

fn check_table(args: &LoadArgs, data: &[Data]) -> Result<(), Failure> {
    let Some(table) = args.table.as_ref() else { return Ok(()) };
    if data.iter().any(|data| data.form.is_of_one_type()) {
        return Ok(());
    }
    let message =
        format!("`--table {table}` is given, but the rows of JSON lines name their types");
    Err(Failure::new(Exit::Usage, "usage", message).help("nothing was done; leave `--table` out"))
}

async fn read(
    graph: &Graph,
    args: &LoadArgs,
    data: Vec<Data>,
    progress: &Progress,
    io: &mut Io<'_>,
) -> Result<LoadInput, Failure> {
    let builder = graph.input(LoadLimits::default()).await;
    let builder = builder.map_err(|error| failed(&error, &args.graph))?;
    let mut builder = builder.with_errors_max(args.max_errors.get());
    let read = read_all(&mut builder, args, data, progress, io);
    let finished = read.and_then(|()| builder.finish());
    finished.map_err(|error| invalid::input(&error, &args.graph))
}

fn read_all(
    builder: &mut InputBuilder,
    args: &LoadArgs,
    data: Vec<Data>,
    progress: &Progress,
    io: &mut Io<'_>,
) -> Result<(), InputError> {
    let is_named_in_places = data.len() > 1;
    let mut before = 0;
    for Data { name, form, file } in data {
        let size = file.as_ref().map_or(0, |file| file.1);
        let data = match file {
            Some((file, _)) => SourceData::File(file),
            None => SourceData::Stream(io.input),
        };
        let table = args.table.clone().filter(|_| form.is_of_one_type());
        let source = Source { name, form, table, is_named_in_places, data };
        builder.read(source, &mut |bytes| progress.at(before + bytes))?;
        before += size;
    }
    Ok(())
}

fn request(args: &LoadArgs, input: LoadInput, io: &Io<'_>) -> LoadRequest {
    let mode = match args.mode {
        Mode::Append => LoadMode::Append,
        Mode::Upsert => LoadMode::Upsert,
        Mode::Overwrite => LoadMode::Overwrite,
    };
    LoadRequest {
        operation: args.operation_id.clone(),
        actor: actor(args.actor.as_deref(), io),
        message: args.message.clone(),
        expect_head: args.expect_head.map(|head| GraphHeadToken(head.0)),
        ..LoadRequest::new(input, mode)
    }
}

/// Who asks: what was said, else the user's name.
pub(super) fn actor(said: Option<&str>, io: &Io<'_>) -> String {
    said.or(io.surroundings.user.as_deref()).unwrap_or("unknown").to_owned()
}

async fn carry_out(
    graph: &Graph,
    request: LoadRequest,
    mut signals: UnboundedReceiver<()>,
    progress: &Progress,
    io: &mut Io<'_>,
) -> Result<WriteOutcome, WriteError> {
    let mut load = Box::pin(graph.load(request));
    loop {
        tokio::select! {
            outcome = &mut load => return outcome,
            Some(()) = signals.recv() => progress.aside(|| tell_that_it_runs_to_its_end(io)),
        }
    }
}

fn tell_that_it_runs_to_its_end(io: &mut Io<'_>) {
    // If nobody can be told, the load runs to its end all the same.
    let _ = io.errors.write_all(
        b"the intent of this load is durable: it runs to its end now\n\
          killing the process is safe; the next write then settles what is left\n",
    );
}

fn refused(error: &WriteError, graph: &str) -> Failure {
    let failure = invalid::rows_of(error)
        .map_or_else(|| failed(error, graph), |rows| invalid::rows(rows, graph));
    Failure { operation: error.operation.as_ref().map(ToString::to_string), ..failure }
}
