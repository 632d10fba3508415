//! `branch create|list|status|delete`.

use graphwrite_coordinator::{CreateBranch, DeleteBranch, GraphOptions};
use graphwrite_protocol_types::{BranchSelector, GraphHeadToken};

use crate::classes::failed;
use crate::command::{
    BranchCommand, BranchCreateArgs, BranchDeleteArgs, BranchListArgs, BranchStatusArgs, ForkOf,
    Format,
};
use crate::commands::{answer, open, write::actor};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::render::write_report;
use crate::report::{BranchChanged, BranchList, BranchReport};
use crate::style::Style;
use crate::waiting::WaitArgs;

pub(super) async fn branch(
    command: &BranchCommand,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    match command {
        BranchCommand::Create(args) => create(args, style, io).await,
        BranchCommand::List(args) => list(args, style, io).await,
        BranchCommand::Status(args) => status(args, style, io).await,
        BranchCommand::Delete(args) => delete(args, style, io).await,
    }
}

async fn create(args: &BranchCreateArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    #[cfg(feature = "failpoints")]
    let options = GraphOptions { hooks: args.faults.hooks()?, ..options(args.waits) };
    #[cfg(not(feature = "failpoints"))]
    let options = options(args.waits);
    // A handle on the source knows its head.
    let (opened, from) = match &args.from {
        ForkOf::Branch(branch) => (branch.clone(), args.from.source()),
        ForkOf::Commit(_) => (BranchSelector::Main, args.from.source()),
    };
    let graph = open::whole_on(&args.graph, &opened, options).await?;
    let actor = actor(args.actor.as_deref(), io);
    let made = graph.create_branch(CreateBranch { name: args.name.clone(), from, actor }).await;
    let made = made.map_err(|error| failed(&error, &args.graph))?;
    answer(&BranchChanged::created(&made), style, io)
}

fn options(waits: WaitArgs) -> GraphOptions {
    GraphOptions { waits: waits.rules(), ..GraphOptions::default() }
}

async fn list(args: &BranchListArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let graph = open::whole_for_reading(&args.graph).await?;
    let names = graph.branches().await.map_err(|error| failed(&error, &args.graph))?;
    let list = BranchList::of(&names, args.all);
    if style.format == Format::Plain {
        let written = io.output.write_all(list.names().as_bytes());
        return written.map(|()| Exit::Done).map_err(|error| Failure::output(&error));
    }
    answer(&list, style, io)
}

async fn status(args: &BranchStatusArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let graph = open::whole_for_reading(&args.graph).await?;
    let status = graph.branch_status(&args.name).await;
    let status = status.map_err(|error| failed(&error, &args.graph))?;
    write_report(&BranchReport::of(&status), style, io.output)?;
    // Of another name it is said what is left of it.
    Ok(if status.state.is_live() { Exit::Done } else { Exit::Negative })
}

async fn delete(args: &BranchDeleteArgs, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    #[cfg(feature = "failpoints")]
    let options = GraphOptions { hooks: args.faults.hooks()?, ..options(args.waits) };
    #[cfg(not(feature = "failpoints"))]
    let options = options(args.waits);
    let graph = open::whole_for_writing(&args.graph, options).await?;
    let request = DeleteBranch {
        name: args.name.clone(),
        actor: actor(args.actor.as_deref(), io),
        expect_head: args.expect_head.map(|head| GraphHeadToken(head.0)),
    };
    graph.delete_branch(request).await.map_err(|error| failed(&error, &args.graph))?;
    let answered = answer(&BranchChanged::deleted(args.name.to_string()), style, io);
    graph.settled().await;
    answered
}
