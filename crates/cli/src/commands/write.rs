//! What every command that writes rows has in common: its terms, the wait for its answer, and the
//! receipt.

use std::pin::pin;
use std::sync::Arc;

use graphwrite_coordinator::{Graph, GraphOptions, Hooks, WriteError};
use graphwrite_protocol_types::{GraphHeadToken, WriteOutcome};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::answer::settled;
use crate::classes::failed;
use crate::command::{GraphPlace, TermsArgs};
use crate::commands::{answer, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::RunsToItsEnd;
use crate::invalid;
use crate::io::Io;
use crate::progress::Progress;
use crate::report::ReceiptReport;
use crate::style::Style;

/// A graph that is open for one write.
pub(super) struct Writing<'a> {
    pub(super) graph: Graph,
    place: &'a GraphPlace,
    terms: &'a TermsArgs,
    signals: UnboundedReceiver<()>,
}

impl<'a> Writing<'a> {
    pub(super) async fn open(place: &'a GraphPlace, terms: &'a TermsArgs) -> Result<Self, Failure> {
        let (hooks, signals) = RunsToItsEnd::new(hooks(terms)?);
        let graph = open::for_writing(place, terms.options(hooks)).await?;
        Ok(Self { graph, place, terms, signals })
    }

    /// Waits for the answer of `write`, which is the write of this command.
    pub(super) async fn carried_out<T>(
        &mut self,
        write: impl Future<Output = Result<T, WriteError>>,
        progress: Progress,
        io: &mut Io<'_>,
    ) -> Result<T, Failure> {
        let outcome = carry_out(write, &mut self.signals, &progress, io).await;
        drop(progress);
        outcome.map_err(|error| refused(&error, self.place))
    }

    /// The same, and tells the answer.
    pub(super) async fn answered(
        mut self,
        write: impl Future<Output = Result<WriteOutcome, WriteError>>,
        progress: Progress,
        style: Style,
        io: &mut Io<'_>,
    ) -> Result<Exit, Failure> {
        let outcome = self.carried_out(write, progress, io).await?;
        let Self { graph, place, terms, .. } = self;
        let receipt = settled(&outcome, terms.operation_id.as_ref(), place)?;
        let answered = answer(&receipt, style, io);
        // Records of the attempt are tidied behind the answer.
        graph.settled().await;
        answered.map_err(|failure| lost_receipt(failure, &receipt))
    }
}

impl TermsArgs {
    pub(crate) fn options(&self, hooks: Arc<dyn Hooks>) -> GraphOptions {
        let (waits, restarts_max) = (self.waits.rules(), self.retries);
        GraphOptions { hooks, waits, restarts_max, ..GraphOptions::default() }
    }

    pub(super) fn expected_head(&self) -> Option<GraphHeadToken> {
        self.expect_head.map(|head| GraphHeadToken(head.0))
    }

    pub(super) fn actor(&self, io: &Io<'_>) -> String {
        actor(self.actor.as_deref(), io)
    }
}

/// Who asks: what was said, else the user's name.
pub(super) fn actor(said: Option<&str>, io: &Io<'_>) -> String {
    said.or(io.surroundings.user.as_deref()).unwrap_or("unknown").to_owned()
}

#[cfg_attr(not(feature = "failpoints"), allow(unused_variables, clippy::unnecessary_wraps))]
fn hooks(terms: &TermsArgs) -> Result<Arc<dyn Hooks>, Failure> {
    #[cfg(feature = "failpoints")]
    return terms.faults.hooks();
    #[cfg(not(feature = "failpoints"))]
    Ok(Arc::new(graphwrite_coordinator::NoHooks))
}

async fn carry_out<T>(
    write: impl Future<Output = Result<T, WriteError>>,
    signals: &mut UnboundedReceiver<()>,
    progress: &Progress,
    io: &mut Io<'_>,
) -> Result<T, WriteError> {
    let mut write = pin!(write);
    loop {
        tokio::select! {
            outcome = &mut write => return outcome,
            Some(()) = signals.recv() => progress.aside(|| tell_that_it_runs_to_its_end(io)),
        }
    }
}

fn tell_that_it_runs_to_its_end(io: &mut Io<'_>) {
    // If nobody can be told, the write runs to its end all the same.
    let _ = io.errors.write_all(
        b"the intent of this write is durable: it runs to its end now\n\
          killing the process is safe; the next write then settles what is left\n",
    );
}

fn refused(error: &WriteError, place: &str) -> Failure {
    let failure = invalid::rows_of(error)
        .map_or_else(|| failed(error, place), |rows| invalid::rows(rows, place));
    Failure { operation: error.operation.as_ref().map(|id| id.to_string().into()), ..failure }
}

pub(super) fn lost_receipt(failure: Failure, receipt: &ReceiptReport) -> Failure {
    failure.after_commit(&receipt.operation_id, receipt.commit_id.as_deref())
}
