//! `init`: a new graph from a schema.

use graphwrite_coordinator::{Graph, GraphOptions, StatusReport, SystemEnv};
use graphwrite_schema::{GraphSchema, TypeDef, declare};

use crate::classes::failed;
use crate::command::InitArgs;
use crate::commands::{answer, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::io::Io;
use crate::report::Created;
use crate::style::Style;

pub(super) async fn init(args: InitArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let schema = schema(&args)?;
    let actor = super::write::actor(args.actor.as_deref(), io);
    let store = open::new_store(&args.graph)?;
    let created = Box::pin(Graph::create(store, &schema, &actor, options(&args)?)).await;
    let graph = created.map_err(|error| failed(&error, &args.graph))?;
    let report = created_report(&graph, &schema).await;
    let report = report.map_err(|failure| failure.after_init(&args.graph))?;
    answer(&report, style, io).map_err(|failure| failure.after_init(&args.graph))
}

/// The whole schema is checked before a directory is made.
fn schema(args: &InitArgs) -> Result<GraphSchema, Failure> {
    let document = files::schema(&args.schema)?;
    let declared = declare(&document, &SystemEnv::new());
    declared.map_err(|error| files::refused_schema(&args.schema, &error))
}

#[cfg_attr(not(feature = "failpoints"), allow(unused_variables, clippy::unnecessary_wraps))]
fn options(args: &InitArgs) -> Result<GraphOptions, Failure> {
    #[cfg(feature = "failpoints")]
    return Ok(GraphOptions { hooks: args.faults.hooks()?, ..GraphOptions::default() });
    #[cfg(not(feature = "failpoints"))]
    Ok(GraphOptions::default())
}

async fn created_report(graph: &Graph, schema: &GraphSchema) -> Result<Created, Failure> {
    let status = graph.status().await.map_err(|error| failed(&error, ""))?;
    Ok(of_status(&status, schema))
}

fn of_status(status: &StatusReport, schema: &GraphSchema) -> Created {
    Created {
        outcome: "created",
        root: status.root.clone(),
        domain: status.domain.to_string(),
        format: status.stamp.format,
        schema: status.schema.to_string(),
        branch: status.branch.clone(),
        manifest_version: status.manifest_version,
        node_types: names(schema.nodes()),
        edge_types: names(schema.edges()),
    }
}

fn names<'a>(types: impl Iterator<Item = &'a TypeDef>) -> Vec<String> {
    let mut names: Vec<_> = types.map(|def| def.name.clone()).collect();
    names.sort();
    names
}
