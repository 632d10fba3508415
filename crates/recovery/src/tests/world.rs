//! A small simulated store: the versions of each ref, one manifest with strict commits, and the
//! control records. It lives as long as a test; actors come and go.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::*;

use super::fixture::{PRE, old_path, old_tx, table, tx};
use crate::*;

/// What readers of a version see: the names of the steps that made it.
pub(crate) type Content = BTreeSet<String>;

pub(crate) type RefKey = (DatasetPath, PhysicalRef);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) tx: TxUuid,
    pub(crate) content: Content,
}

/// The unbroken line of versions of one ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) first: u64,
    pub(crate) versions: Vec<Version>,
}

impl Line {
    pub(crate) fn head(&self) -> u64 {
        self.first + self.versions.len() as u64 - 1
    }

    pub(crate) fn get(&self, version: u64) -> Option<&Version> {
        self.versions.get(version.checked_sub(self.first)? as usize)
    }
}

/// A durable change that an actor issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Step { effect: usize, step: usize },
    CreateRef { effect: usize },
    Fence { effect: usize, read_version: u64, tx: TxUuid },
    Restore { effect: usize, to: u64, read_version: u64, tx: TxUuid },
    Remove { effect: usize },
    Aborted { over: u64, by: TxUuid, attempts: Vec<AttemptId> },
    MovePins { over: u64, by: TxUuid, compensated: Vec<Compensated> },
    Publish { over: u64, delta: ManifestDelta, by: TxUuid },
    Confirm(Confirm),
    Delete(AttemptId),
    Audit,
}

/// What the manifest follows of one attempt that is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compensated {
    pub(crate) attempt: AttemptId,
    pub(crate) moves: Vec<PinMove>,
    pub(crate) complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Records {
    pub(crate) intent: Option<Intent>,
    pub(crate) confirm: Option<Confirm>,
    pub(crate) age_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) lines: BTreeMap<RefKey, Line>,
    pub(crate) view: BaseView,
    pub(crate) outcome: BTreeMap<AttemptId, AttemptOutcome>,
    pub(crate) operation: OperationOutcome,
    pub(crate) records: BTreeMap<AttemptId, Records>,
    pub(crate) branch_gone: bool,
    pub(crate) audited: bool,
    pub(crate) files_missing: bool,
    pub(crate) unreadable: BTreeSet<DatasetPath>,
    /// Objects in the directory that are no records.
    pub(crate) strangers: Vec<String>,
    /// Attempts whose intent does not decode.
    pub(crate) damaged: BTreeSet<AttemptId>,
    /// Every terminal row that was ever written, in order.
    pub(crate) history: Vec<&'static str>,
    /// What should never have happened.
    pub(crate) violations: Vec<String>,
}

pub(crate) fn key(effect: &Effect) -> RefKey {
    (effect.target.path.clone(), effect.target.physical_ref.clone())
}

impl World {
    /// The world in which `intent` has just been armed. Every table has its history up to `PRE`.
    pub(crate) fn armed(intent: &Intent, base: &BaseView) -> Self {
        let numbers = 1..=intent.effects.len() as u64;
        let old = |number: u64| {
            let version = |v| Version { tx: old_tx(number, v), content: old_content(number) };
            let line = Line { first: 1, versions: (1..=PRE).map(version).collect() };
            ((old_path(number), PhysicalRef::Main), line)
        };
        let records = Records { intent: Some(intent.clone()), confirm: None, age_ms: 0 };
        Self {
            lines: numbers.filter(|n| base.head(table(*n)).live().is_some()).map(old).collect(),
            view: base.clone(),
            outcome: BTreeMap::new(),
            operation: OperationOutcome::None,
            records: BTreeMap::from([(intent.attempt, records)]),
            branch_gone: false,
            audited: false,
            files_missing: false,
            unreadable: BTreeSet::new(),
            strangers: Vec::new(),
            damaged: BTreeSet::new(),
            history: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Applies a change strictly. `Err` carries who has the slot: nothing happened.
    pub(crate) fn apply(&mut self, intent: &Intent, change: &Change) -> Result<(), Option<TxUuid>> {
        let effect = |index: &usize| &intent.effects[*index];
        match change {
            Change::Step { effect: at, step } => self.land_step(effect(at), *step),
            Change::CreateRef { effect: at } => self.create_ref(effect(at)),
            Change::Fence { effect: at, read_version, tx } => {
                let head = *read_version;
                self.land(effect(at), head, tx.clone(), |line| line.get(head).cloned())
            }
            Change::Restore { effect: at, to, read_version, tx } => {
                let to = *to;
                self.land(effect(at), *read_version, tx.clone(), |line| line.get(to).cloned())
            }
            Change::Remove { effect: at } => {
                self.lines.remove(&key(effect(at)));
                Ok(())
            }
            Change::Aborted { over, by, attempts } => self.record_aborted(attempts, *over, by),
            Change::MovePins { over, by, compensated } => self.move_pins(compensated, *over, by),
            Change::Publish { over, delta, by } => self.publish(intent, *over, delta, by),
            Change::Confirm(confirm) => {
                let records = self.records.entry(intent.attempt).or_insert(Records {
                    intent: None,
                    confirm: None,
                    age_ms: 0,
                });
                records.confirm.get_or_insert(confirm.clone());
                Ok(())
            }
            Change::Delete(attempt) => {
                self.records.remove(attempt);
                Ok(())
            }
            Change::Audit => {
                self.audited = true;
                Ok(())
            }
        }
    }

    fn land(
        &mut self,
        effect: &Effect,
        read_version: u64,
        tx: TxUuid,
        content: impl Fn(&Line) -> Option<Version>,
    ) -> Result<(), Option<TxUuid>> {
        let line = self.lines.get_mut(&key(effect)).ok_or(None)?;
        if line.head() != read_version {
            return Err(line.get(read_version + 1).map(|version| version.tx.clone()));
        }
        let content = content(line).ok_or(None)?.content;
        line.versions.push(Version { tx, content });
        Ok(())
    }

    fn land_step(&mut self, effect: &Effect, step: usize) -> Result<(), Option<TxUuid>> {
        let planned = &effect.steps[step];
        let name = planned.tx_uuid.to_string();
        if effect.kind == EffectKind::CreateDataset && step == 0 {
            let taken = self.lines.contains_key(&key(effect));
            let version = Version { tx: planned.tx_uuid.clone(), content: Content::from([name]) };
            let line = Line { first: 1, versions: vec![version] };
            self.lines.entry(key(effect)).or_insert(line);
            return if taken { Err(None) } else { Ok(()) };
        }
        let read = planned.read_version;
        self.land(effect, read, planned.tx_uuid.clone(), |line| {
            let mut version = line.get(read)?.clone();
            version.content.insert(name.clone());
            Some(version)
        })
    }

    fn create_ref(&mut self, effect: &Effect) -> Result<(), Option<TxUuid>> {
        let source = (effect.target.path.clone(), PhysicalRef::Main);
        let content =
            self.lines.get(&source).and_then(|line| line.get(PRE)).cloned().ok_or(None)?;
        let clone = Version { tx: tx("clone"), content: content.content };
        let taken = self.lines.contains_key(&key(effect));
        self.lines.entry(key(effect)).or_insert(Line { first: PRE, versions: vec![clone] });
        if taken { Err(None) } else { Ok(()) }
    }

    /// K1 for the manifest: the slot after `over`, or nothing.
    fn take_manifest_slot(&mut self, over: u64, by: &TxUuid) -> Result<(), Option<TxUuid>> {
        if self.view.manifest.version != over {
            return Err(Some(self.view.manifest.tx_uuid.clone()));
        }
        self.view.manifest = Pin { version: over + 1, tx_uuid: by.clone() };
        Ok(())
    }

    fn record_aborted(
        &mut self,
        attempts: &[AttemptId],
        over: u64,
        by: &TxUuid,
    ) -> Result<(), Option<TxUuid>> {
        self.take_manifest_slot(over, by)?;
        for attempt in attempts {
            self.decide(*attempt, AttemptOutcome::Aborted);
            self.history.push("aborted");
        }
        Ok(())
    }

    /// K2: an attempt has one terminal row at most.
    fn decide(&mut self, attempt: AttemptId, outcome: AttemptOutcome) {
        if let Some(before) = self.outcome.insert(attempt, outcome) {
            self.violations.push(format!("{attempt} is {before:?} and then {outcome:?}"));
        }
    }

    fn move_pins(
        &mut self,
        compensated: &[Compensated],
        over: u64,
        by: &TxUuid,
    ) -> Result<(), Option<TxUuid>> {
        self.take_manifest_slot(over, by)?;
        for Compensated { attempt, moves, complete } in compensated {
            for moved in moves {
                match self.view.heads.get_mut(&moved.identity) {
                    Some(TableHeadToken::Live(head)) if head.pin == moved.from => {
                        head.pin = moved.to.clone();
                    }
                    _ => self.violations.push("a pin is moved that is not the pre-state".into()),
                }
            }
            if *complete {
                self.outcome.insert(*attempt, AttemptOutcome::RolledBack);
                self.history.push("rolled_back");
            }
        }
        Ok(())
    }

    fn publish(
        &mut self,
        intent: &Intent,
        over: u64,
        delta: &ManifestDelta,
        by: &TxUuid,
    ) -> Result<(), Option<TxUuid>> {
        self.take_manifest_slot(over, by)?;
        for change in &delta.heads {
            self.view.heads.insert(change.identity, published(change));
        }
        let commit = intent.lineage.commit;
        self.decide(intent.attempt, AttemptOutcome::Committed { commit });
        self.history.push("committed");
        Ok(())
    }

    /// Decides that the operation never commits, unless it has: one strict manifest commit, which
    /// looks at no intent and touches no table.
    pub(crate) fn seal(&mut self) {
        let committed = |row: &AttemptOutcome| matches!(row, AttemptOutcome::Committed { .. });
        if self.outcome.values().any(committed) {
            return;
        }
        let over = self.view.manifest.version;
        self.take_manifest_slot(over, &tx("seal")).expect("the newest slot");
        self.operation = OperationOutcome::Sealed;
    }

    /// Another attempt writes table `number` in one go and publishes it.
    pub(crate) fn foreign_write(&mut self, number: u64, name: &str) {
        self.adopt_fences(number);
        let identity = table(number);
        let TableHeadToken::Live(mut head) = self.view.head(identity).clone() else {
            panic!("a foreign write needs a live table");
        };
        let line = self.lines.get_mut(&(head.path.clone(), head.physical_ref.clone()));
        let line = line.expect("a published table has a line");
        if line.head() != head.pin.version {
            self.violations.push(format!("a writer finds HEAD of table {number} off its pin"));
            return;
        }
        let mut version = line.get(head.pin.version).expect("the pin").clone();
        version.tx = tx(name);
        version.content.insert(name.to_owned());
        line.versions.push(version);
        head.pin = Pin { version: head.pin.version + 1, tx_uuid: tx(name) };
        head.content = ContentId::from_u128(u128::from(head.pin.version) << 64);
        self.view.heads.insert(identity, TableHeadToken::Live(head));
        let over = self.view.manifest.version;
        self.take_manifest_slot(over, &tx(name)).expect("the newest slot");
    }

    /// A fence directly above the pin is adopted by whoever meets it.
    pub(crate) fn adopt_fences(&mut self, number: u64) {
        let identity = table(number);
        let TableHeadToken::Live(mut head) = self.view.head(identity).clone() else { return };
        let line = self.lines.get(&(head.path.clone(), head.physical_ref.clone()));
        let Some(line) = line else { return };
        let above = line.get(head.pin.version + 1).map(|version| version.tx.clone());
        let Some(fence) = above.filter(|tx| tx.as_fence().is_some()) else { return };
        head.pin = Pin { version: head.pin.version + 1, tx_uuid: fence };
        self.view.heads.insert(identity, TableHeadToken::Live(head));
        let over = self.view.manifest.version;
        self.take_manifest_slot(over, &tx("adopt")).expect("the newest slot");
    }

    /// Whether HEAD of table `number` is its pin.
    pub(crate) fn head_is_pin(&self, number: u64) -> bool {
        let Some(head) = self.view.head(table(number)).live() else { return false };
        let line = self.lines.get(&(head.path.clone(), head.physical_ref.clone()));
        line.is_some_and(|line| line.head() == head.pin.version)
    }

    /// What readers of table `number` see; none if it is absent or dropped.
    pub(crate) fn visible(&self, number: u64) -> Result<Option<Content>, String> {
        let Some(head) = self.view.head(table(number)).live() else { return Ok(None) };
        let line = self.lines.get(&(head.path.clone(), head.physical_ref.clone()));
        let version = line.and_then(|line| line.get(head.pin.version));
        match version.filter(|version| version.tx == head.pin.tx_uuid) {
            Some(version) => Ok(Some(version.content.clone())),
            None => Err(format!("table {number}: the pin {} does not exist", head.pin)),
        }
    }

    /// Whether HEAD of every published ref is its pin.
    pub(crate) fn heads_are_pins(&self) -> bool {
        self.view.heads.values().filter_map(TableHeadToken::live).all(|head| {
            let line = self.lines.get(&(head.path.clone(), head.physical_ref.clone()));
            line.is_some_and(|line| line.head() == head.pin.version)
        })
    }
}

pub(crate) fn old_content(number: u64) -> Content {
    Content::from([format!("rows of {number}")])
}

fn published(change: &HeadChange) -> TableHeadToken {
    let NextHead::Live { path, physical_ref, ref_identifier, pin, content, table_schema } =
        &change.next
    else {
        return TableHeadToken::Tombstoned;
    };
    let PinSlot::Exact(pin) = pin else { panic!("an output slot is open at publish") };
    TableHeadToken::Live(Box::new(LiveHead {
        identity: change.identity,
        path: path.clone(),
        physical_ref: physical_ref.clone(),
        ref_identifier: ref_identifier.clone(),
        pin: pin.clone(),
        e_tag: None,
        content: *content,
        table_schema: *table_schema,
    }))
}
