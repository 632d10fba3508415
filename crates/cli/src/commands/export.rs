//! `export`: the rows of one state of the graph, in a stable order and one of the forms that `load`
//! reads, to standard output or into a file.

use std::io::Write;

use arrow_array::RecordBatch;
use futures::TryStreamExt;
use graphwrite_coordinator::{
    DataForm, ExportError, Graph, ReadError, RowSorter, RowWriter, RowsError, Snapshot,
    SnapshotTable,
};
use graphwrite_protocol_types::Answer;
use graphwrite_schema::TypeDef;

use crate::answer::of_answer;
use crate::classes::{class, failed};
use crate::command::ExportArgs;
use crate::commands::open;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::{Io, Surroundings};
use crate::output::NewFile;
use crate::progress::Progress;

pub(super) async fn export(args: &ExportArgs, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let form = args.format.map_or(DataForm::Jsonl, Into::into);
    check(args, form, &io.surroundings)?;
    let file = args.output.as_deref().map(|path| NewFile::create(path, args.force)).transpose()?;
    let graph = open::for_reading(&args.graph).await?;
    let snapshot = snapshot(&graph, args).await?;
    let progress = Progress::count("rows", &io.surroundings);
    let mut export = Export { args, form, snapshot: &snapshot, progress, rows: 0 };
    match file {
        Some(mut file) => {
            export.all(file.writer()).await?;
            file.complete()?;
        }
        None => export.all(io.output).await?,
    }
    Ok(Exit::Done)
}

/// What cannot be asked for.
fn check(args: &ExportArgs, form: DataForm, around: &Surroundings) -> Result<(), Failure> {
    let usage = |message: String, help: &str| {
        Err(Failure::new(Exit::Usage, "usage", message).help(format!("nothing was done; {help}")))
    };
    if form.is_of_one_type() && args.table.is_none() {
        let message = format!("{form} has the rows of one type, and none is named");
        return usage(message, "name it with `--table`");
    }
    if form == DataForm::Parquet && args.output.is_none() && around.output_is_terminal {
        let message = "Parquet is no text for a terminal".to_owned();
        return usage(message, "name a file with `--output`");
    }
    Ok(())
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

/// Rows on their way out.
struct Export<'a> {
    args: &'a ExportArgs,
    form: DataForm,
    snapshot: &'a Snapshot,
    progress: Progress,
    rows: u64,
}

impl Export<'_> {
    async fn all(&mut self, out: &mut (dyn Write + Send)) -> Result<(), Failure> {
        for table in tables(self.snapshot, self.args)? {
            self.table(table, out).await?;
        }
        Ok(())
    }

    async fn table(&mut self, def: &TypeDef, out: &mut (dyn Write + Send)) -> Result<(), Failure> {
        let unreadable = |error: ReadError| failed(&error, &self.args.graph);
        let table = self.snapshot.table(&def.name).await.map_err(unreadable)?;
        let sorted = self.sorted(def, &table).await?;
        let writer = RowWriter::new(self.snapshot.schema(), def.identity, self.form, out);
        let mut writer = writer.map_err(|error| self.refused(def, &error))?;
        for batch in sorted {
            let batch = batch.map_err(|error| self.unsorted(def, &error))?;
            writer.add(&batch).map_err(|error| self.refused(def, &error))?;
            self.rows += batch.num_rows() as u64;
            self.progress.at(self.rows);
        }
        writer.finish().map_err(|error| self.refused(def, &error))
    }

    /// The rows of a table by their key.
    async fn sorted(
        &self,
        def: &TypeDef,
        table: &SnapshotTable,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch, RowsError>> + Send>, Failure> {
        let unreadable = |error: ReadError| failed(&error, &self.args.graph);
        let columns = table.columns().clone();
        let sorter = RowSorter::new(columns, &def.key_columns(), self.args.memory.0);
        let mut sorter = sorter.map_err(|error| self.unsorted(def, &error))?;
        if let Some(directory) = &self.args.temp_dir {
            sorter = sorter.with_temp_dir(directory);
        }
        let mut stream = table.scan().await.map_err(unreadable)?;
        while let Some(batch) = stream.try_next().await.map_err(|error| unreadable(error.into()))? {
            sorter.push(batch).map_err(|error| self.unsorted(def, &error))?;
        }
        sorter.finish().map_err(|error| self.unsorted(def, &error))
    }

    fn unsorted(&self, def: &TypeDef, error: &RowsError) -> Failure {
        match error {
            RowsError::Temp(error) => {
                let message = error.to_string();
                of_answer(class(error.code()), error, message, &self.args.graph)
            }
            other => broken(def, other),
        }
    }

    fn refused(&self, def: &TypeDef, error: &ExportError) -> Failure {
        match error {
            ExportError::Output(error) => match &self.args.output {
                Some(path) => NewFile::failed(path, error),
                None => Failure::output(error),
            },
            ExportError::Render(error) => self.without_form(error),
            other => broken(def, other),
        }
    }

    fn without_form(&self, error: &impl std::fmt::Display) -> Failure {
        let written = match self.args.output {
            Some(_) => "no file was written",
            None => "the rows before it were written",
        };
        Failure::new(Exit::Refused, "unsupported_value", error.to_string())
            .help(format!("{written}; the graph is unchanged"))
    }
}

fn broken(def: &TypeDef, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Bug, "internal", format!("{} cannot be exported: {error}", def.name))
        .help("the graph is unchanged; please report this")
}
