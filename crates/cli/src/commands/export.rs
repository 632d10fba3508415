//! `export`: the rows of one state of the graph, in a stable order, as `load` reads them.

use futures::TryStreamExt;
use graphwrite_coordinator::{Graph, ReadError, RowRenderer, Snapshot};
use graphwrite_schema::TypeDef;

use crate::classes::failed;
use crate::command::{ExportArgs, ExportFormat};
use crate::commands::open;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::progress::Progress;
use crate::sorted;

pub(super) async fn export(args: &ExportArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let ExportFormat::Jsonl = args.format.unwrap_or(ExportFormat::Jsonl);
    let graph = open::for_reading(&args.graph).await?;
    let snapshot = snapshot(&graph, args).await?;
    let progress = Progress::count("rows", &io.surroundings);
    let mut rows = 0;
    for table in tables(&snapshot, args)? {
        rows = write_table(&snapshot, table, args, io, rows, &progress).await?;
    }
    io.output.flush().map_err(|error| Failure::output(&error))?;
    Ok(Exit::Done)
}

async fn snapshot(graph: &Graph, args: &ExportArgs) -> Result<Snapshot, Failure> {
    let snapshot = match args.at {
        Some(commit) => graph.snapshot_at(commit).await,
        None => graph.snapshot().await,
    };
    snapshot.map_err(|error| failed(&error, &args.graph))
}

/// Node types by name, then edge types by name: the order in which rows can be loaded again.
fn tables<'a>(snapshot: &'a Snapshot, args: &ExportArgs) -> Result<Vec<&'a TypeDef>, Failure> {
    let schema = snapshot.schema();
    if let Some(name) = &args.table {
        let found = schema.by_name(name).ok_or_else(|| no_such_table(name, &args.graph))?;
        return Ok(vec![found]);
    }
    let mut tables: Vec<_> = schema.types().iter().collect();
    tables.sort_by_key(|def| (!def.is_node(), &def.name));
    Ok(tables)
}

fn no_such_table(name: &str, graph: &str) -> Failure {
    let message = format!("the schema declares no type `{name}`");
    Failure::new(Exit::Refused, "no_such_type", message)
        .help(format!("nothing was written; `graphwrite status {graph}` lists the types"))
}

async fn write_table(
    snapshot: &Snapshot,
    def: &TypeDef,
    args: &ExportArgs,
    io: &mut Io<'_>,
    mut rows: u64,
    progress: &Progress,
) -> Result<u64, Failure> {
    let broken = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Bug, "internal", format!("{} cannot be exported: {error}", def.name))
            .help("the graph is unchanged; please report this")
    };
    let table = snapshot.table(&def.name).await.map_err(|error| failed(&error, &args.graph))?;
    let stream = table.scan().await.map_err(|error| failed(&error, &args.graph))?;
    let batches: Vec<_> =
        stream.try_collect().await.map_err(|error| failed(&ReadError::from(error), &args.graph))?;
    let renderer = RowRenderer::new(snapshot.schema(), def.identity);
    let renderer = renderer.ok_or_else(|| broken(&"the type is not in its schema"))?;
    let sorted = sorted::by_key(&batches, &def.key_columns()).map_err(|error| broken(&error))?;
    let mut text = String::new();
    for batch in sorted {
        let batch = batch.map_err(|error| broken(&error))?;
        text.clear();
        let rendered = renderer.render(&batch, &mut text);
        let written = io.output.write_all(text.as_bytes());
        written.map_err(|error| Failure::output(&error))?;
        rendered.map_err(|error| unsupported(&error))?;
        rows += batch.num_rows() as u64;
        progress.at(rows);
    }
    Ok(rows)
}

fn unsupported(error: &impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Refused, "unsupported_value", error.to_string())
        .help("the rows before it were written; the graph is unchanged")
}
