//! The judge that follows every cell: it looks at a storage as a fresh process would, compares it
//! with a reference of its own, and says which of the product's promises was broken.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use graphwrite_coordinator::{
    CommitInfo, Graph, GraphOptions, LoadMode, LoadRequest, Store, VerifyReport, WaitRules,
    WriteError,
};
use graphwrite_protocol_types::{Answer, AttemptId, CommitId, Receipt, WriteOutcome};
use serde_json::Value;

use crate::ground::Ground;
use crate::world::{input, own_process, rows};

/// Rows by type, as a reader sees them.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// What the rows should be, kept without the product: a row per type and key, replaced whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reference(BTreeMap<(String, String), String>);

impl Reference {
    /// This state with `lines` written over it, as an upsert or a legal append would.
    pub(crate) fn with(&self, lines: &[impl AsRef<str>]) -> Self {
        let mut next = self.clone();
        for line in lines {
            let (place, row) = keyed(line.as_ref());
            next.0.insert(place, row);
        }
        next
    }

    /// This state with a property of a row set, if the row is there.
    pub(crate) fn set(&self, line: &str, property: &str, value: &Value) -> Self {
        let mut next = self.clone();
        if let Some(row) = next.0.get_mut(&keyed(line).0) {
            let mut read: Value = serde_json::from_str(row).expect("a JSON line");
            read["data"][property] = value.clone();
            *row = canonical(read);
        }
        next
    }

    /// This state without the rows that `lines` name by type and key.
    pub(crate) fn without(&self, lines: &[impl AsRef<str>]) -> Self {
        let mut next = self.clone();
        for line in lines {
            next.0.remove(&keyed(line.as_ref()).0);
        }
        next
    }

    /// This state without this row, if it is there as it is said.
    pub(crate) fn without_row(&self, line: &str) -> Self {
        let (place, row) = keyed(line);
        let mut next = self.clone();
        if next.0.get(&place) == Some(&row) {
            next.0.remove(&place);
        }
        next
    }

    /// This state without the edges of a node, at either end.
    pub(crate) fn without_edges_of(&self, slug: &str) -> Self {
        let names = |row: &str| {
            let row: Value = serde_json::from_str(row).expect("a JSON line");
            row["from"] == slug || row["to"] == slug
        };
        let kept = self.0.iter().filter(|(_, row)| !names(row));
        Self(kept.map(|(place, row)| (place.clone(), row.clone())).collect())
    }

    /// This state without any row of the types that `lines` name.
    pub(crate) fn without_tables_of(&self, lines: &[impl AsRef<str>]) -> Self {
        let named: BTreeSet<String> = lines.iter().map(|line| keyed(line.as_ref()).0.0).collect();
        let kept = self.0.iter().filter(|((table, _), _)| !named.contains(table));
        Self(kept.map(|(place, row)| (place.clone(), row.clone())).collect())
    }

    /// Fails unless a reader saw exactly this.
    #[track_caller]
    pub(crate) fn assert_seen(&self, seen: &Rows) {
        assert_eq!(*seen, self.rows());
    }

    pub(crate) fn rows(&self) -> Rows {
        let mut rows = Rows::new();
        for ((table, _), row) in &self.0 {
            rows.entry(table.clone()).or_default().push(row.clone());
        }
        rows.values_mut().for_each(|lines| lines.sort());
        rows
    }
}

/// Type, key and canonical text of a line.
fn keyed(line: &str) -> ((String, String), String) {
    let value: Value = serde_json::from_str(line).expect("a JSON line");
    let text = |place: &Value| place.as_str().expect("text").to_owned();
    let place = match value.get("edge") {
        Some(edge) => (text(edge), format!("{}->{}", value["from"], value["to"])),
        None => (text(&value["type"]), text(&value["data"]["slug"])),
    };
    (place, canonical(value))
}

/// An empty `data` says the same as none.
fn canonical(mut value: Value) -> String {
    if value["data"].as_object().is_some_and(serde_json::Map::is_empty) {
        value.as_object_mut().expect("an object").remove("data");
    }
    value.to_string()
}

/// The rows that a reader of `graph` sees. A row that is there twice is listed twice.
pub(crate) async fn seen_by(graph: &Graph) -> Rows {
    let mut seen = rows(graph).await;
    seen.retain(|_, lines| !lines.is_empty());
    for line in seen.values_mut().flatten() {
        *line = canonical(serde_json::from_str(line).expect("a JSON line"));
    }
    seen.values_mut().for_each(|lines| lines.sort());
    seen
}

/// What a cell is judged by.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) before: Reference,
    pub(crate) after: Reference,
    /// Graph commits before the write.
    pub(crate) commits: usize,
    /// Rows of a later write to the same tables.
    pub(crate) next: Vec<String>,
}

/// What the caller of the write got to hear.
#[derive(Debug)]
pub(crate) enum Heard {
    Nothing,
    Answer(Box<Result<WriteOutcome, WriteError>>),
}

impl Heard {
    pub(crate) fn answer(&self) -> Option<&Result<WriteOutcome, WriteError>> {
        match self {
            Self::Nothing => None,
            Self::Answer(answer) => Some(answer),
        }
    }

    pub(crate) fn receipt(&self) -> Option<&Receipt> {
        match self.answer()? {
            Ok(WriteOutcome::Committed(receipt)) => Some(receipt),
            _ => None,
        }
    }

    /// Whether the caller was told that nothing happened.
    fn is_refusal(&self) -> bool {
        match self.answer() {
            None => false,
            Some(Ok(outcome)) => outcome.had_no_effect(),
            Some(Err(error)) => error.had_no_effect(),
        }
    }
}

/// A promise of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// A reader sees the state before or after, never between, nothing twice.
    Atomic,
    /// What was acknowledged is there, under the receipt's commit.
    Acknowledged,
    /// What was refused is not there and does not come.
    Refused,
    /// What was visible once stays visible.
    Stable,
    /// One graph commit per visible write.
    OneCommit,
    /// What recovery publishes bears the id that its intent says.
    Foretold,
    /// The next overlapping write of a fresh process succeeds.
    NoRestart,
    /// The barrier of that write leaves no recovery record.
    NothingPending,
    /// A warm handle sees what a fresh process sees.
    Agreement,
    /// Every commit of the history can be opened as it was.
    History,
    /// `verify` finds nothing wrong.
    Clean,
}

/// A promise that was broken, and how.
pub(crate) struct Complaint {
    pub(crate) promise: Promise,
    detail: String,
}

impl std::fmt::Debug for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} is broken: {}", self.promise, self.detail)
    }
}

impl Promise {
    pub(crate) fn broken(self, detail: impl std::fmt::Debug) -> Complaint {
        Complaint { promise: self, detail: format!("{detail:#?}") }
    }
}

/// What the judge established.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Whether the write is visible in the end.
    pub(crate) is_after: bool,
    /// The state that a reader found first, without the ids: equal for equal situations.
    pub(crate) aftermath: String,
    /// The rows in the end, `next` included.
    pub(crate) state: Reference,
    /// Graph commits in the end.
    pub(crate) commits: usize,
}

/// Options of another process that waits for nobody: it closes whatever is pending, even under an
/// owner that lives. That this is safe is the claim under test.
pub(crate) fn impatient() -> GraphOptions {
    let waits = WaitRules {
        contention_wait_ms: 0,
        fence_after_ms: 0,
        backoff_first_ms: 1,
        backoff_max_ms: 4,
    };
    GraphOptions { waits, ..own_process() }
}

/// Prints `line` straight to the terminal: the harness keeps what a passing test prints.
pub(crate) fn tell(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("a terminal");
}

/// Opens the graph of `store` as a fresh process that waits for nobody.
pub(crate) async fn open_impatient(store: &Store) -> Graph {
    Graph::open(store.reopened(), impatient()).await.expect("a graph")
}

/// Judges the storage behind `store`. The cell's storage has one more write afterwards.
pub(crate) async fn judge(
    store: &Store,
    case: &Case,
    heard: &Heard,
    warm: &[&Graph],
) -> Result<Verdict, Complaint> {
    judge_on(&Ground::default(), store, case, heard, warm).await
}

/// The same on any branch; `warm` are handles on it.
pub(crate) async fn judge_on(
    ground: &Ground,
    store: &Store,
    case: &Case,
    heard: &Heard,
    warm: &[&Graph],
) -> Result<Verdict, Complaint> {
    let fresh = ground.fresh(store).await;
    let was_after = which(&fresh, &case.before, &case.after).await?;
    let aftermath = situation(&fresh, was_after).await;
    check_commits(&fresh, case.commits, was_after).await?;
    check_answer(&fresh, heard, was_after).await?;
    let foretold = foretold(&fresh).await;
    next_write(&fresh, case).await?;
    let (before, after) = (case.before.with(&case.next), case.after.with(&case.next));
    let newest = ground.fresh(store).await;
    let is_after = which(&newest, &before, &after).await?;
    check_answer(&newest, heard, is_after).await?;
    if was_after && !is_after {
        return Err(Promise::Stable.broken("the write was visible and is gone"));
    }
    let commits = case.commits + usize::from(is_after) + 1;
    check_commits(&newest, commits - 1, true).await?;
    check_foretold(&newest, &foretold).await?;
    check_residue(store, &newest).await?;
    let handles: Vec<_> = warm.iter().copied().chain([&fresh]).collect();
    check_agreement(&handles, if is_after { &after } else { &before }).await?;
    ground.check_beside(store).await?;
    if ground.is_plain() {
        check_settled(&newest).await?;
    } else {
        check_faults(&newest).await?;
    }
    let state = if is_after { after } else { before };
    Ok(Verdict { is_after, aftermath, state, commits })
}

/// Whether the rows are those after the write. Where both are the same, they are "before".
pub(crate) async fn which(
    graph: &Graph,
    before: &Reference,
    after: &Reference,
) -> Result<bool, Complaint> {
    let seen = seen_by(graph).await;
    if seen == before.rows() {
        Ok(false)
    } else if seen == after.rows() {
        Ok(true)
    } else {
        Err(Promise::Atomic.broken((seen, before.rows(), after.rows())))
    }
}

pub(crate) async fn check_commits(
    graph: &Graph,
    before: usize,
    is_after: bool,
) -> Result<(), Complaint> {
    let log = graph.log(usize::MAX).await.expect("a log");
    if log.len() == before + usize::from(is_after) {
        return Ok(());
    }
    Err(Promise::OneCommit.broken((before, is_after, log)))
}

pub(crate) async fn check_answer(
    graph: &Graph,
    heard: &Heard,
    is_after: bool,
) -> Result<(), Complaint> {
    if heard.is_refusal() && is_after {
        return Err(Promise::Refused.broken(heard));
    }
    let Some(receipt) = heard.receipt() else { return Ok(()) };
    if !is_after {
        return Err(Promise::Acknowledged.broken(heard));
    }
    let log = graph.log(usize::MAX).await.expect("a log");
    let of_request: Vec<_> = log.iter().filter(|row| row.operation == receipt.operation).collect();
    match of_request.as_slice() {
        [row] if Some(row.commit) == receipt.commit && row.tables == receipt.tables => Ok(()),
        rows => Err(Promise::Acknowledged.broken((receipt, rows))),
    }
}

async fn next_write(fresh: &Graph, case: &Case) -> Result<(), Complaint> {
    let request = LoadRequest::new(input(fresh, &case.next).await, LoadMode::Upsert);
    let outcome = fresh.load(request).await;
    fresh.settled().await;
    match outcome {
        Ok(WriteOutcome::Committed(_)) => Ok(()),
        other => Err(Promise::NoRestart.broken(other)),
    }
}

/// The commits that pending intents will make if they are published.
async fn foretold(graph: &Graph) -> BTreeMap<AttemptId, CommitId> {
    let mut foretold = BTreeMap::new();
    for pending in graph.pending_intents().await.expect("what is pending").intents {
        let attempt = pending.attempt.parse().expect("an attempt");
        if let Ok(Some(intent)) = graph.intent(attempt).await {
            foretold.insert(attempt, intent.lineage.commit);
        }
    }
    foretold
}

async fn check_foretold(
    graph: &Graph,
    foretold: &BTreeMap<AttemptId, CommitId>,
) -> Result<(), Complaint> {
    let log = graph.log(usize::MAX).await.expect("a log");
    let is_other =
        |row: &CommitInfo| foretold.get(&row.attempt).is_some_and(|id| *id != row.commit);
    match log.iter().find(|row| is_other(row)) {
        Some(row) => Err(Promise::Foretold.broken((row, foretold))),
        None => Ok(()),
    }
}

async fn check_residue(store: &Store, graph: &Graph) -> Result<(), Complaint> {
    let records = format!("_recovery/{}", graph.on_branch().native);
    let left = store.list(&records).await.expect("a listing");
    if left.is_empty() { Ok(()) } else { Err(Promise::NothingPending.broken(left)) }
}

async fn check_agreement(handles: &[&Graph], state: &Reference) -> Result<(), Complaint> {
    for graph in handles {
        let seen = seen_by(graph).await;
        if seen != state.rows() {
            return Err(Promise::Agreement.broken((seen, state.rows())));
        }
    }
    Ok(())
}

/// The residue that a settled graph may keep: datasets and files of attempts that were given up.
pub(crate) const RESIDUE: [&str; 2] = ["abandoned_dataset", "unnamed_files"];

/// What `verify` says when a commit of the history cannot be opened as it was.
const OF_HISTORY: [&str; 7] = [
    "pin_lost",
    "missing_file",
    "version_gone",
    "other_version",
    "unreadable_commit",
    "history_removed",
    "versions_removed",
];

/// `verify` finds no fault, whatever is pending.
pub(crate) async fn check_faults(graph: &Graph) -> Result<VerifyReport, Complaint> {
    let report = graph.verify().await.expect("a report");
    let lost = report.findings.iter().any(|it| OF_HISTORY.contains(&it.code));
    match (lost, report.is_clean()) {
        (true, _) => Err(Promise::History.broken(report)),
        (false, false) => Err(Promise::Clean.broken(report)),
        (false, true) => Ok(report),
    }
}

/// `verify` finds no fault, nothing pending, and no note but of harmless residue.
pub(crate) async fn check_settled(graph: &Graph) -> Result<(), Complaint> {
    let report = check_faults(graph).await?;
    let mut codes = report.findings.iter().map(|finding| finding.code);
    let explained = codes.all(|code| RESIDUE.contains(&code));
    if explained && report.pending == 0 { Ok(()) } else { Err(Promise::Clean.broken(report)) }
}

/// What recovery finds, in words that do not depend on ids.
async fn situation(graph: &Graph, is_after: bool) -> String {
    let pending = graph.pending_intents().await.expect("what is pending");
    let status = graph.status().await.expect("a status");
    let intents = pending.intents.iter().map(|intent| {
        let effects = intent.effects.iter();
        let effects: Vec<_> = effects.map(|it| (&it.table, &it.evidence, &it.standing)).collect();
        format!("{} {} {} {effects:?}", intent.rule, intent.decision, intent.outcome)
    });
    let tables = status.tables.iter().map(|it| (&it.name, it.rows, it.version, it.head_is_pinned));
    let (intents, tables) = (intents.collect::<Vec<_>>(), tables.collect::<Vec<_>>());
    format!("{is_after} {} {intents:?} {tables:?}", status.manifest_version)
}
