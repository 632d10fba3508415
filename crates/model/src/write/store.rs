//! Everything durable: the versions of every ref, the manifest of each incarnation of the branch, the
//! intents, and what is still on its way. It performs what it is asked and decides nothing, apart
//! from the rules by which a manifest commit is refused.

use super::code::{ATTEMPTS, EFFECTS, LINES, Made, Pin, Rows, TABLES, Tx};
use super::defect::Defect;
use super::line::{Landing, Line, Put};
use super::scenario::{Scenario, Start};
use super::setting::Setting;
use super::view::{Elsewhere, Head, Plan, Row, Sight, View};

/// The version of every table before the scenario.
pub(crate) const FIRST: Pin = Pin { version: 1, tx: Tx::OLD };

/// A pin that follows a closing version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Move {
    pub(crate) table: u8,
    pub(crate) from: Pin,
    pub(crate) to: Pin,
}

/// The pins of one compensation.
pub(crate) type Moves = [Option<Move>; EFFECTS];

/// A commit of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Transition {
    /// The delta and the `committed` row. By recovery, if the writer is not the one who publishes.
    Commit {
        attempt: u8,
        plan: Plan,
        by_recovery: bool,
    },
    Abort {
        attempt: u8,
    },
    MovePins {
        attempt: u8,
        moves: Moves,
        complete: bool,
    },
    /// A pin moves to the fence directly above it; on behalf of nobody.
    AdoptFence {
        incarnation: u8,
        moved: Move,
    },
}

/// A durable operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Operation {
    Commit(Put),
    Manifest(Transition),
    Arm { attempt: u8, plan: Plan },
    Forget { attempt: u8 },
    Remove { line: u8 },
}

/// Which incarnation of the branch the name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Branch {
    First,
    Deleted,
    Second,
}

/// Something that must never happen, kept so that a property can see it in a later state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Wrongs {
    /// A request was committed twice, or after it was sealed.
    pub(crate) decided_twice: bool,
    /// A commit was published over something else than it had read.
    pub(crate) read_something_else: bool,
}

/// All that a new process would find.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Store {
    pub(crate) lines: [Line; LINES],
    /// The manifest of each incarnation of the branch.
    pub(crate) views: [View; 2],
    pub(crate) rows: [Row; ATTEMPTS],
    pub(crate) intents: [Option<Plan>; ATTEMPTS],
    pub(crate) branch: Branch,
    /// Requests that may never commit, by number.
    pub(crate) sealed: [bool; ATTEMPTS],
    /// Tables that cannot be read.
    pub(crate) unreadable: [bool; TABLES],
    /// Operations that were issued and have not arrived, in order.
    pub(crate) late: Vec<Operation>,
    pub(crate) wrongs: Wrongs,
}

impl Store {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut lines: [Line; LINES] = Default::default();
        for (line, start) in lines.iter_mut().zip(scenario.starts) {
            if start != Start::Declared {
                *line = Line::starting_at(FIRST.version, FIRST.tx, Rows::NONE);
            }
        }
        Self {
            lines,
            views: [scenario.first_view(); 2],
            rows: [Row::None; ATTEMPTS],
            intents: [None; ATTEMPTS],
            branch: Branch::First,
            sealed: [false; ATTEMPTS],
            unreadable: [false; TABLES],
            late: Vec::new(),
            wrongs: Wrongs::default(),
        }
    }

    pub(crate) fn row(&self, attempt: u8) -> Row {
        self.rows[usize::from(attempt)]
    }

    pub(crate) fn intent(&self, attempt: u8) -> Option<Plan> {
        self.intents[usize::from(attempt)]
    }

    /// The incarnation that the branch's name means.
    pub(crate) fn live_incarnation(&self) -> Option<usize> {
        match self.branch {
            Branch::First => Some(0),
            Branch::Deleted => None,
            Branch::Second => Some(1),
        }
    }

    pub(crate) fn view_of(&self, setting: &Setting, attempt: u8) -> &View {
        &self.views[setting.scenario.incarnation(attempt)]
    }

    pub(crate) fn line(&self, setting: &Setting, line: u8) -> &Line {
        &self.lines[setting.place_of(line)]
    }

    /// What the manifest says to `attempt`.
    pub(crate) fn sight(&self, setting: &Setting, attempt: u8) -> Sight {
        let incarnation = setting.scenario.incarnation(attempt);
        Sight {
            view: self.views[incarnation],
            row: self.row(attempt),
            elsewhere: self.elsewhere(setting, attempt),
            is_gone: self.live_incarnation() != Some(incarnation),
        }
    }

    fn elsewhere(&self, setting: &Setting, attempt: u8) -> Elsewhere {
        let Some(operation) = setting.scenario.operation(attempt) else {
            return Elsewhere::Nothing;
        };
        if self.sealed[usize::from(operation)] {
            Elsewhere::Sealed
        } else if self.committed_attempt(setting, attempt).is_some_and(|other| other != attempt) {
            Elsewhere::Committed
        } else {
            Elsewhere::Nothing
        }
    }

    /// The attempt that committed the request of `attempt` on its incarnation of the branch.
    pub(crate) fn committed_attempt(&self, setting: &Setting, attempt: u8) -> Option<u8> {
        let scenario = &setting.scenario;
        let same = |other: &u8| {
            scenario.operation(*other) == scenario.operation(attempt)
                && scenario.incarnation(*other) == scenario.incarnation(attempt)
        };
        scenario.attempts().filter(same).find(|other| self.row(*other) == Row::Committed)
    }

    /// A plan over what the manifest of an attempt's branch says now.
    pub(crate) fn plan(&self, setting: &Setting, attempt: u8) -> Plan {
        let view = *self.view_of(setting, attempt);
        Plan::new(view, view.map(|head| self.rows_under(setting, head)))
    }

    /// The rows that readers of a table see under `head`; none if there is no table to read.
    pub(crate) fn rows_under(&self, setting: &Setting, head: Head) -> Option<Rows> {
        let (line, pin) = head.live()?;
        self.line(setting, line).rows_at(pin)
    }

    /// Performs an operation as its issuer sees it, at once.
    pub(crate) fn perform(&mut self, setting: &Setting, operation: Operation) -> Landing {
        match operation {
            Operation::Commit(put) => self.commit(setting, put),
            other => self.arrive(setting, other),
        }
    }

    /// An operation reaches the storage, now or long after it was issued. Whoever takes the
    /// manifest's slot invalidates what is on its way there.
    pub(crate) fn arrive(&mut self, setting: &Setting, operation: Operation) -> Landing {
        match operation {
            Operation::Commit(put) => self.lines[setting.place_of(put.line)].arrive(put),
            Operation::Manifest(transition) => {
                self.apply(setting, transition);
                Landing::Landed
            }
            Operation::Arm { attempt, plan } => self.arm(attempt, plan),
            Operation::Forget { attempt } => {
                self.intents[usize::from(attempt)] = None;
                Landing::Landed
            }
            Operation::Remove { line } => {
                self.lines[setting.place_of(line)] = Line::default();
                Landing::Landed
            }
        }
    }

    fn commit(&mut self, setting: &Setting, put: Put) -> Landing {
        let rebases = setting.defect == Defect::NotStrict
            && (put.adds != Rows::NONE || put.tx.is_fence())
            && !put.creates;
        let line = &mut self.lines[setting.place_of(put.line)];
        if rebases { line.rebase(put) } else { line.commit(put) }
    }

    /// Create-only: the name carries the attempt.
    fn arm(&mut self, attempt: u8, plan: Plan) -> Landing {
        let name = &mut self.intents[usize::from(attempt)];
        if name.is_some() {
            return Landing::Refused;
        }
        *name = Some(plan);
        Landing::Landed
    }

    /// Whether a transition may follow the state that the manifest has now. Whoever lost a slot asks
    /// again, over the winner's state.
    pub(crate) fn may_follow(&self, setting: &Setting, transition: &Transition) -> bool {
        match transition {
            Transition::Commit { attempt, plan, .. } => {
                let sight = self.sight(setting, *attempt);
                sight.row == Row::None
                    && sight.elsewhere == Elsewhere::Nothing
                    && setting.read_set_holds(*attempt, plan, &sight.view)
            }
            Transition::Abort { attempt } => self.row(*attempt) == Row::None,
            Transition::MovePins { attempt, moves, complete } => {
                let row = self.row(*attempt);
                let aborted = matches!(row, Row::Aborted | Row::RolledBack)
                    || setting.defect == Defect::NoAbortRow;
                let view = self.view_of(setting, *attempt);
                let moves = moves.iter().flatten().any(|moved| is_at(view, moved));
                aborted && (moves || (*complete && row != Row::RolledBack))
            }
            Transition::AdoptFence { incarnation, moved } => {
                is_at(&self.views[usize::from(*incarnation)], moved)
            }
        }
    }

    /// The incarnation whose manifest a transition commits to.
    pub(crate) fn manifest_of(setting: &Setting, transition: &Transition) -> usize {
        match transition {
            Transition::Commit { attempt, .. }
            | Transition::Abort { attempt }
            | Transition::MovePins { attempt, .. } => setting.scenario.incarnation(*attempt),
            Transition::AdoptFence { incarnation, .. } => usize::from(*incarnation),
        }
    }

    fn apply(&mut self, setting: &Setting, transition: Transition) {
        let incarnation = Self::manifest_of(setting, &transition);
        self.take_slot(setting, incarnation);
        match transition {
            Transition::Commit { attempt, plan, by_recovery } => {
                self.publish(setting, attempt, &plan, by_recovery);
            }
            Transition::Abort { attempt } => self.rows[usize::from(attempt)] = Row::Aborted,
            Transition::MovePins { attempt, moves, complete } => {
                moves.iter().flatten().for_each(|moved| self.follow(incarnation, moved));
                if complete {
                    self.rows[usize::from(attempt)] = Row::RolledBack;
                }
            }
            Transition::AdoptFence { moved, .. } => self.follow(incarnation, &moved),
        }
    }

    /// K1 for the manifest: every other commit over the same state is refused from now on.
    pub(crate) fn take_slot(&mut self, setting: &Setting, incarnation: usize) {
        self.late.retain(|late| match late {
            Operation::Manifest(other) => Self::manifest_of(setting, other) != incarnation,
            _ => true,
        });
    }

    fn follow(&mut self, incarnation: usize, moved: &Move) {
        let view = &mut self.views[incarnation];
        if !is_at(view, moved) {
            return;
        }
        if let Head::Live { pin, .. } = &mut view[usize::from(moved.table)] {
            *pin = moved.to;
        }
    }

    fn publish(&mut self, setting: &Setting, attempt: u8, plan: &Plan, by_recovery: bool) {
        self.note_wrongs(setting, attempt, plan);
        let Some(request) = setting.scenario.request(attempt) else { return };
        let incarnation = usize::from(request.incarnation);
        for (index, touch) in (0..).zip(&request.touches) {
            let kind = setting.scenario.kind_over(attempt, plan, *touch);
            let line = kind.line(attempt, index);
            let tx = Tx::of(attempt, index, Made::Step(touch.steps - 1));
            let made = self.line(setting, line).find(tx);
            let planned = plan.over[usize::from(touch.table)].version + touch.steps;
            let pin = Pin { version: made.unwrap_or(planned), tx };
            let head = Head::Live { line, pin, content: attempt + 1 };
            self.views[incarnation][usize::from(touch.table)] = head;
        }
        let unnamed = by_recovery && setting.defect == Defect::IdsMintedAtRecovery;
        if !unnamed {
            self.rows[usize::from(attempt)] = Row::Committed;
        }
    }

    fn note_wrongs(&mut self, setting: &Setting, attempt: u8, plan: &Plan) {
        let elsewhere = self.elsewhere(setting, attempt);
        let decided = self.committed_attempt(setting, attempt).is_some();
        self.wrongs.decided_twice |= decided || elsewhere == Elsewhere::Sealed;
        let Some(request) = setting.scenario.request(attempt) else { return };
        let view = self.view_of(setting, attempt);
        let differs = (0..).zip(view).any(|(table, head)| {
            let dropped = *head == Head::Tombstoned;
            let same_rows = plan.read[usize::from(table)] == self.rows_under(setting, *head);
            request.concerns(table) && (dropped || !same_rows)
        });
        self.wrongs.read_something_else |= differs;
    }
}

fn is_at(view: &View, moved: &Move) -> bool {
    view[usize::from(moved.table)].live().is_some_and(|(_, pin)| pin == moved.from)
}
