//! `load`: rows from files or from standard input into one commit.

use graphwrite_coordinator::{
    Graph, InputBuilder, InputError, LoadInput, LoadLimits, LoadMode, LoadRequest, Source,
    SourceData,
};

use crate::classes::failed;
use crate::command::{LoadArgs, Mode};
use crate::commands::write::Writing;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::{self, Data};
use crate::invalid;
use crate::io::Io;
use crate::progress::Progress;
use crate::style::Style;

pub(super) async fn load(args: LoadArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let data = files::data(&args.data, args.input_format.map(Into::into))?;
    check_table(&args, &data)?;
    let writing = Writing::open(&args.graph, &args.terms).await?;
    let total = data.iter().map(|data| data.file.as_ref().map(|file| file.1)).sum();
    let progress = Progress::bytes("reading", total, &io.surroundings);
    let input = read(&writing.graph, &args, data, &progress, io).await?;
    progress.goes_on("loading");
    let request = request(&args, input, io);
    let graph = writing.graph.clone();
    writing.answered(graph.load(request), progress, style, io).await
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
    let limits = LoadLimits { bytes_max: args.memory.0, ..LoadLimits::default() };
    let builder = graph.input(limits).await.map_err(|error| failed(&error, &args.graph))?;
    let mut builder = builder.with_errors_max(args.max_errors.get());
    if let Some(directory) = &args.temp_dir {
        builder = builder.with_temp_dir(directory);
    }
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
        operation: args.terms.operation_id.clone(),
        actor: args.terms.actor(io),
        message: args.terms.message.clone(),
        expect_head: args.terms.expected_head(),
        ..LoadRequest::new(input, mode)
    }
}
