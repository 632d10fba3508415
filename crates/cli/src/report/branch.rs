//! Branches, as the operator sees them.

use graphwrite_coordinator::{BranchInfo, BranchStanding, BranchStatus};
use graphwrite_protocol_types::{NameState, Remains, Unfinished, Wholeness};
use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, Tone, line};
use crate::report::{WaitingEntry, waiting_list};

/// What was done to a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BranchChanged {
    /// `created` or `deleted`.
    pub(crate) outcome: &'static str,
    pub(crate) branch: String,
    /// Number of the record that made it live; none where it was deleted.
    pub(crate) incarnation: Option<u64>,
    pub(crate) source: Option<String>,
    pub(crate) commit_id: Option<String>,
}

impl BranchChanged {
    pub(crate) fn created(info: &BranchInfo) -> Self {
        let fork = info.fork.as_ref();
        Self {
            outcome: "created",
            branch: info.token.name.clone(),
            incarnation: Some(info.token.record),
            source: fork.map(|fork| fork.source.name.clone()),
            commit_id: fork.and_then(|fork| fork.commit).map(|commit| commit.to_string()),
        }
    }

    pub(crate) fn deleted(branch: String) -> Self {
        Self { outcome: "deleted", branch, incarnation: None, source: None, commit_id: None }
    }
}

impl Report for BranchChanged {
    fn blocks(&self) -> Vec<Block> {
        vec![Block::Facts(vec![
            ("outcome", Cell::text(self.outcome).toned(Tone::Good)),
            ("branch", Cell::text(&self.branch)),
            ("incarnation", Cell::optional(self.incarnation)),
            ("source", Cell::optional(self.source.as_ref())),
            ("commit", Cell::optional(self.commit_id.as_ref())),
        ])]
    }
}

/// One name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct NameEntry {
    branch: String,
    /// `live`, `creating`, `gone` or `unusable`.
    state: &'static str,
    incarnation: u64,
    source: Option<String>,
    commit_id: Option<String>,
    /// What is wrong with an unusable one.
    cause: Option<String>,
}

impl NameEntry {
    fn of(name: &str, standing: &BranchStanding) -> Self {
        let entry = |state, incarnation| Self {
            branch: name.to_owned(),
            state,
            incarnation,
            source: None,
            commit_id: None,
            cause: None,
        };
        match standing {
            BranchStanding::Live(info) => {
                let changed = BranchChanged::created(info);
                let (source, commit_id) = (changed.source, changed.commit_id);
                Self { source, commit_id, ..entry("live", info.token.record) }
            }
            BranchStanding::Creating { incarnation } => entry("creating", *incarnation),
            BranchStanding::Gone { incarnation } => entry("gone", *incarnation),
            BranchStanding::Unusable { cause } => {
                Self { cause: Some(cause.clone()), ..entry("unusable", 0) }
            }
        }
    }

    fn row(&self) -> Vec<Cell> {
        let tone = match self.state {
            "live" => Tone::Good,
            "gone" => Tone::Even,
            "creating" => Tone::Warn,
            _ => Tone::Bad,
        };
        vec![
            Cell::text(&self.branch),
            Cell::text(self.state).toned(tone),
            Cell::number(self.incarnation),
            Cell::optional(self.source.as_ref()),
            Cell::optional(self.commit_id.as_ref()),
        ]
    }
}

/// Names and what they mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BranchList {
    branches: Vec<NameEntry>,
}

impl BranchList {
    /// All names, or those that mean a branch or may come to.
    pub(crate) fn of(names: &[(String, BranchStanding)], all: bool) -> Self {
        let entries = names.iter().map(|(name, standing)| NameEntry::of(name, standing));
        Self { branches: entries.filter(|entry| all || entry.state != "gone").collect() }
    }

    /// One name a line, for scripts. What is no live branch says so behind a tab.
    pub(crate) fn names(&self) -> String {
        let line = |NameEntry { branch, state, .. }: &NameEntry| match *state {
            "live" => format!("{branch}\n"),
            state => format!("{branch}\t{state}\n"),
        };
        self.branches.iter().map(line).collect()
    }
}

impl Report for BranchList {
    fn blocks(&self) -> Vec<Block> {
        vec![Block::Rows(Rows {
            kind: "branch",
            title: "Branches".to_owned(),
            columns: vec!["branch", "state", "incarnation", "source", "fork"],
            rows: self.branches.iter().map(NameEntry::row).collect(),
        })]
    }

    fn lines(&self) -> Vec<String> {
        self.branches.iter().map(line).collect()
    }
}

/// One branch, closely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BranchReport {
    branch: String,
    /// `whole`, `damaged`, `creating`, `given_up` or `deleted`.
    state: &'static str,
    incarnation: u64,
    native_branch: String,
    source: Option<String>,
    fork_commit_id: Option<String>,
    head: Option<String>,
    ahead: u64,
    behind: Option<u64>,
    owned_tables: Vec<String>,
    pending_intents: u64,
    /// How far an undecided one is (`not_started`, `clone_only`, `complete`, `damaged`), or what is left of
    /// the native branch of a dead one (`nothing`, `reclaim_pending`, `foreign`).
    crash_state: Option<&'static str>,
    /// Who makes an undecided one.
    maker: Option<Maker>,
    left: Vec<WaitingEntry>,
    /// Live branches that need what is left.
    needed_by: Vec<String>,
}

/// Who makes a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Maker {
    pid: u32,
    host: String,
    age_ms: u64,
}

impl BranchReport {
    pub(crate) fn of(status: &BranchStatus) -> Self {
        let fork = status.info.fork.as_ref();
        let (state, crash_state) = states(status.state);
        let maker = status.maker.as_ref();
        let maker = maker.map(|(owner, age_ms)| Maker {
            pid: owner.pid,
            host: owner.host.clone(),
            age_ms: *age_ms,
        });
        Self {
            branch: status.info.token.name.clone(),
            state,
            incarnation: status.info.token.record,
            native_branch: status.info.token.native.to_string(),
            source: fork.map(|fork| fork.source.name.clone()),
            fork_commit_id: fork.and_then(|fork| fork.commit).map(|commit| commit.to_string()),
            head: status.head.map(|head| head.to_string()),
            ahead: status.ahead,
            behind: status.behind,
            owned_tables: status.owned.clone(),
            pending_intents: status.pending,
            crash_state,
            maker,
            left: status.left.iter().map(WaitingEntry::of).collect(),
            needed_by: status.needed_by.clone(),
        }
    }

    /// What a branch that can be read has.
    fn of_head(&self) -> Vec<(&'static str, Cell)> {
        let pending = if self.pending_intents == 0 { Tone::Even } else { Tone::Warn };
        vec![
            ("head", Cell::optional(self.head.as_ref())),
            ("ahead", Cell::number(self.ahead)),
            ("behind", Cell::optional(self.behind)),
            ("own tables", Cell::text(self.owned_tables.join(", "))),
            ("pending", Cell::number(self.pending_intents).toned(pending)),
        ]
    }

    /// What is known of one that cannot.
    fn of_remains(&self) -> Vec<(&'static str, Cell)> {
        let mut facts = vec![("crash state", Cell::optional(self.crash_state))];
        if let Some(Maker { pid, host, age_ms }) = &self.maker {
            facts.push(("maker", Cell::text(format!("process {pid} on {host}"))));
            facts.push(("begun", Cell::age(*age_ms)));
        }
        if !self.needed_by.is_empty() {
            facts.push(("needed by", Cell::text(self.needed_by.join(", "))));
        }
        if self.pending_intents > 0 {
            facts.push(("orphans", Cell::number(self.pending_intents).toned(Tone::Warn)));
        }
        facts
    }
}

fn states(state: NameState) -> (&'static str, Option<&'static str>) {
    match state {
        NameState::Live(Wholeness::Damaged) => ("damaged", None),
        NameState::Creating(unfinished) => {
            let phase = match unfinished {
                Unfinished::NotAsked => None,
                Unfinished::NotStarted => Some("not_started"),
                Unfinished::CloneOnly => Some("clone_only"),
                Unfinished::Complete => Some("complete"),
                Unfinished::Damaged => return ("damaged", Some("damaged")),
            };
            ("creating", phase)
        }
        NameState::Void(remains) => ("given_up", left(remains)),
        NameState::Deleted(remains) => ("deleted", left(remains)),
        _ => ("whole", None),
    }
}

fn left(remains: Remains) -> Option<&'static str> {
    match remains {
        Remains::NotAsked => None,
        Remains::Nothing => Some("nothing"),
        Remains::ReclaimPending => Some("reclaim_pending"),
        Remains::Foreign => Some("foreign"),
    }
}

impl Report for BranchReport {
    fn blocks(&self) -> Vec<Block> {
        let tone = match self.state {
            "whole" => Tone::Good,
            "damaged" => Tone::Bad,
            "creating" => Tone::Warn,
            _ => Tone::Even,
        };
        let mut facts = vec![
            ("branch", Cell::text(&self.branch)),
            ("state", Cell::text(self.state).toned(tone)),
            ("incarnation", Cell::number(self.incarnation)),
            ("native", Cell::text(&self.native_branch)),
            ("source", Cell::optional(self.source.as_ref())),
            ("fork", Cell::optional(self.fork_commit_id.as_ref())),
        ];
        let is_read = self.crash_state.is_none();
        facts.extend(if is_read { self.of_head() } else { self.of_remains() });
        vec![Block::Facts(facts), waiting_list("Left of it", &self.left)]
    }
}
