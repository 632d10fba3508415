//! A writer: the stages A to H of one request (design: "A write, stage by stage"), one read or one
//! durable operation at a time, through all of its attempts. It may stop anywhere, for ever.

use graphwrite_recovery::OwnSteps;

use super::code::{EFFECTS, Made, Pin, Rows, Tx};
use super::defect::Defect;
use super::line::{Landing, Put};
use super::look::Asking;
use super::recovery::{Ended, Recovery};
use super::scenario::{Kind, Request, Touch};
use super::setting::Setting;
use super::store::{Branch, Move, Operation, Store, Transition};
use super::view::{Elsewhere, Head, Plan, Row};

/// What the caller was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// Nothing yet.
    None,
    /// It is committed.
    Committed,
    /// It had no effect and never will.
    NoEffect,
    /// Anything that claims nothing: unknown, to be repaired, branch deleted.
    Open,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Stage {
    /// A and B: nothing unresolved is in the way, and the base is captured. Two reads in one step:
    /// D repeats all that A found.
    Begin,
    /// D: the manifest and the intents.
    Check,
    /// D: the HEADs.
    Heads,
    /// D: a fence directly above a pin is adopted first.
    Adopt(Move),
    /// E.
    Arm,
    /// F.
    Effects,
    /// G.
    Publish,
    /// G, on a branch that can be deleted: the name's records, after the commit.
    Confirm,
    /// H.
    Forget,
    /// The attempt cannot go on, and is resolved through its own intent.
    Resolve(Recovery),
    Over,
}

/// How far an effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
struct Progress {
    /// Physical operations that landed.
    done: u8,
    fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
enum Fate {
    #[default]
    GoesOn,
    /// The last operation was strictly refused.
    Refused,
    /// The last operation was never answered.
    Unknown,
}

/// Which of the operations that are open to a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Choice {
    /// The read that is next.
    Read,
    /// The durable operation that is next.
    Write,
    /// The next operation of this effect: effects go side by side.
    Effect(u8),
    /// What is not known stays so.
    GiveUp,
}

/// A writer and its current attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    /// The request, by index.
    request: u8,
    restarts: u8,
    plan: Plan,
    /// Whether the manifest is still as it was read.
    is_fresh: bool,
    effects: [Progress; EFFECTS],
    stage: Stage,
    pub(crate) answer: Answer,
}

impl Writer {
    pub(crate) fn new(request: u8) -> Self {
        Self {
            request,
            restarts: 0,
            plan: Plan::default(),
            is_fresh: false,
            effects: [Progress::default(); EFFECTS],
            stage: Stage::Begin,
            answer: Answer::None,
        }
    }

    pub(crate) fn request<'a>(&self, setting: &'a Setting) -> &'a Request {
        &setting.scenario.requests[usize::from(self.request)]
    }

    /// The identity under which it acts: a new one per attempt.
    pub(crate) fn attempt(&self, setting: &Setting) -> u8 {
        let first = self.request(setting).first;
        if setting.defect == Defect::OneIdForAll { first } else { first + self.restarts }
    }

    pub(crate) fn manifest_moved(&mut self) {
        self.is_fresh = false;
        if let Stage::Resolve(recovery) = &mut self.stage {
            recovery.manifest_moved();
        }
    }

    /// The pass over its own attempt, if it is at that.
    pub(crate) fn recovery(&self) -> Option<&Recovery> {
        match &self.stage {
            Stage::Resolve(recovery) => Some(recovery),
            _ => None,
        }
    }

    /// An attempt older than the age floor does not pass D or E.
    pub(crate) fn stops_if_too_old(
        &mut self,
        setting: &Setting,
        names_what_is_gone: impl Fn(u8, &Plan) -> bool,
    ) {
        let unarmed =
            matches!(self.stage, Stage::Check | Stage::Heads | Stage::Adopt(_) | Stage::Arm);
        if unarmed && names_what_is_gone(self.attempt(setting), &self.plan) {
            self.begin_again();
        }
    }

    /// What is open to it.
    pub(crate) fn choices(&self, setting: &Setting, store: &Store) -> Vec<Choice> {
        match self.stage {
            Stage::Over => Vec::new(),
            Stage::Effects => self.effect_choices(setting),
            Stage::Begin if self.has_no_branch_yet(setting, store) => Vec::new(),
            Stage::Begin if self.is_blocked(setting, store) => Vec::new(),
            Stage::Heads if self.cannot_read(setting, store) => Vec::new(),
            _ if self.durable(setting, store, Choice::Write).is_some() => vec![Choice::Write],
            // Armed already, under an identity that is not its own: no step is open.
            Stage::Arm | Stage::Forget => Vec::new(),
            _ => vec![Choice::Read],
        }
    }

    fn effect_choices(&self, setting: &Setting) -> Vec<Choice> {
        let request = self.request(setting);
        let open =
            (0..request.touches.len() as u8).filter(|effect| !self.is_settled(setting, *effect));
        let unknown = |effect: &u8| self.effects[usize::from(*effect)].fate == Fate::Unknown;
        let give_up = open.clone().all(|effect| unknown(&effect));
        open.map(Choice::Effect).chain(give_up.then_some(Choice::GiveUp)).collect()
    }

    fn is_settled(&self, setting: &Setting, effect: u8) -> bool {
        let progress = self.effects[usize::from(effect)];
        match progress.fate {
            Fate::Refused => true,
            Fate::Unknown => false,
            Fate::GoesOn => progress.done == self.operations(setting, effect),
        }
    }

    fn touch(&self, setting: &Setting, effect: u8) -> Touch {
        self.request(setting).touches[usize::from(effect)]
    }

    fn kind(&self, setting: &Setting, effect: u8) -> Kind {
        let touch = self.touch(setting, effect);
        setting.scenario.kind_over(self.attempt(setting), &self.plan, touch)
    }

    /// How many physical operations an effect takes: making a ref is one more.
    fn operations(&self, setting: &Setting, effect: u8) -> u8 {
        let makes_ref = matches!(self.kind(setting, effect), Kind::MakesRef { .. });
        self.touch(setting, effect).steps + u8::from(makes_ref)
    }

    /// The barrier: an intent that overlaps is in the way, unless it is aborted and what is left of
    /// it lies elsewhere.
    fn pending(&self, setting: &Setting, store: &Store) -> Option<u8> {
        let own = self.attempt(setting);
        setting.scenario.attempts().find(|other| {
            let Some(plan) = store.intent(*other) else { return false };
            setting.overlap(own, *other)
                && match setting.stopped_at(store, *other, &plan) {
                    Some(stopped) => stopped.blocks(|at| self.request(setting).concerns(at)),
                    None => true,
                }
        })
    }

    fn is_blocked(&self, setting: &Setting, store: &Store) -> bool {
        self.pending(setting, store).is_some()
    }

    fn has_no_branch_yet(&self, setting: &Setting, store: &Store) -> bool {
        self.request(setting).incarnation == 1 && store.branch != Branch::Second
    }

    fn cannot_read(&self, setting: &Setting, store: &Store) -> bool {
        let touches = &self.request(setting).touches;
        touches.iter().any(|touch| store.unreadable[usize::from(touch.table)])
    }

    /// The durable operation that `choice` issues; none if it reads.
    pub(crate) fn durable(
        &self,
        setting: &Setting,
        store: &Store,
        choice: Choice,
    ) -> Option<Operation> {
        let (attempt, plan) = (self.attempt(setting), self.plan);
        let manifest = |transition| self.is_fresh.then_some(Operation::Manifest(transition));
        match (self.stage, choice) {
            (Stage::Effects, Choice::Effect(effect)) => {
                self.put(setting, store, effect).map(Operation::Commit)
            }
            (Stage::Adopt(moved), Choice::Write) => {
                let incarnation = self.request(setting).incarnation;
                manifest(Transition::AdoptFence { incarnation, moved })
            }
            (Stage::Arm, Choice::Write) => {
                store.intent(attempt).is_none().then_some(Operation::Arm { attempt, plan })
            }
            (Stage::Publish, Choice::Write) => {
                manifest(Transition::Commit { attempt, plan, by_recovery: false })
            }
            (Stage::Forget, Choice::Write) => Some(Operation::Forget { attempt }),
            (Stage::Resolve(recovery), Choice::Write) => recovery.durable(setting, store),
            _ => None,
        }
    }

    /// The next commit of an effect, with its rows as they are when it is issued.
    fn put(&self, setting: &Setting, store: &Store, effect: u8) -> Option<Put> {
        let (attempt, kind) = (self.attempt(setting), self.kind(setting, effect));
        let (touch, line) = (self.touch(setting, effect), kind.line(attempt, effect));
        let done = self.effects[usize::from(effect)].done;
        let over = self.plan.over[usize::from(touch.table)].version;
        if let (Kind::MakesRef { from }, 0) = (kind, done) {
            let rows = store.line(setting, from).get(over)?.rows;
            let tx = Tx::of(attempt, effect, Made::Clone);
            return Some(Put { line, version: over, tx, rows, adds: Rows::NONE, creates: true });
        }
        let step = done - u8::from(matches!(kind, Kind::MakesRef { .. }));
        let adds = Rows::of_step(attempt, step);
        let below = store.line(setting, line).get(over + step);
        let rows = below.map_or(Rows::NONE, |found| found.rows).with(adds);
        let creates = kind == Kind::MakesDataset && step == 0;
        let tx = Tx::of(attempt, effect, Made::Step(step));
        Some(Put { line, version: over + step + 1, tx, rows, adds, creates })
    }

    /// `choice` was issued; without an answer nothing is known.
    pub(crate) fn answered(
        &mut self,
        setting: &Setting,
        store: &Store,
        choice: Choice,
        landing: Option<Landing>,
    ) {
        match (self.stage, choice) {
            (Stage::Effects, Choice::Effect(effect)) => {
                self.step_answered(setting, effect, landing)
            }
            (Stage::Arm, _) => self.stage = self.armed(setting, landing),
            // No effect was issued under it: if it lands, the next barrier closes it.
            (Stage::Publish, _) if landing.is_some() => self.stage = Stage::Confirm,
            (Stage::Publish, _) => self.resolve(setting),
            (Stage::Forget, _) => self.stage = Stage::Over,
            (Stage::Resolve(mut recovery), _) => {
                let ended = recovery.answered(setting, landing);
                self.resolved(setting, store, recovery, ended);
            }
            _ => self.begin_again(),
        }
        self.told(setting, store);
    }

    fn armed(&mut self, setting: &Setting, landing: Option<Landing>) -> Stage {
        if landing.is_none() {
            self.answer = Answer::Open;
            return Stage::Over;
        }
        let is_late = setting.defect == Defect::IntentAfterEffects;
        if is_late { Stage::Publish } else { Stage::Effects }
    }

    fn step_answered(&mut self, setting: &Setting, effect: u8, landing: Option<Landing>) {
        let progress = &mut self.effects[usize::from(effect)];
        match landing {
            Some(Landing::Landed) => {
                *progress = Progress { done: progress.done + 1, fate: Fate::GoesOn };
            }
            Some(Landing::Refused) => progress.fate = Fate::Refused,
            None => progress.fate = Fate::Unknown,
        }
        let mut effects = 0..self.request(setting).touches.len() as u8;
        if effects.clone().all(|effect| self.is_settled(setting, effect)) {
            let fates = effects.all(|at| self.effects[usize::from(at)].fate == Fate::GoesOn);
            if fates { self.complete(setting) } else { self.resolve(setting) }
        }
    }

    fn complete(&mut self, setting: &Setting) {
        let is_late = setting.defect == Defect::IntentAfterEffects;
        self.stage = if is_late { Stage::Arm } else { Stage::Publish };
    }

    /// Performs the read of `choice`.
    pub(crate) fn read(&mut self, setting: &Setting, store: &Store, choice: Choice) {
        match (self.stage, choice) {
            (Stage::Begin, _) => self.begin(setting, store),
            (Stage::Check, _) => self.check(setting, store),
            (Stage::Heads, _) => self.heads(setting, store),
            (Stage::Publish, _) => self.arbitrate(setting, store),
            (Stage::Effects, Choice::GiveUp) => self.resolve(setting),
            (Stage::Resolve(mut recovery), _) => {
                let ended = recovery.read(setting, store);
                self.resolved(setting, store, recovery, ended);
            }
            (Stage::Confirm, _) => self.confirm(setting, store),
            _ => self.begin_again(),
        }
        self.told(setting, store);
    }

    fn begin(&mut self, setting: &Setting, store: &Store) {
        let attempt = self.attempt(setting);
        let sight = store.sight(setting, attempt);
        let request = self.request(setting);
        let dropped = |touch: &Touch| sight.view[usize::from(touch.table)] == Head::Tombstoned;
        if sight.is_gone {
            self.end(Answer::Open);
        } else if sight.elsewhere == Elsewhere::Committed {
            self.end(Answer::Committed);
        } else if sight.elsewhere == Elsewhere::Sealed || request.touches.iter().any(dropped) {
            self.end(Answer::NoEffect);
        } else {
            self.plan = store.plan(setting, attempt);
            self.stage = Stage::Check;
        }
    }

    fn check(&mut self, setting: &Setting, store: &Store) {
        let attempt = self.attempt(setting);
        let sight = store.sight(setting, attempt);
        let pending = self.pending(setting, store);
        let holds = setting.revalidates(attempt, &self.plan, &sight.view, None, pending);
        if holds && sight.elsewhere == Elsewhere::Nothing && !sight.is_gone {
            self.is_fresh = true;
            self.stage = Stage::Heads;
        } else {
            self.begin_again();
        }
    }

    fn heads(&mut self, setting: &Setting, store: &Store) {
        let mut heads = self.plan.over;
        let mut fence = None;
        for effect in 0..self.request(setting).touches.len() as u8 {
            let Kind::Commits { line } = self.kind(setting, effect) else { continue };
            let table = self.touch(setting, effect).table;
            let from = self.plan.over[usize::from(table)];
            let head = store.line(setting, line).head().unwrap_or_default();
            heads[usize::from(table)] = head;
            if is_fence_above(head, from) {
                fence = Some(Move { table, from, to: head });
            }
        }
        if setting.defect == Defect::ArmOverDrift {
            self.plan.over = heads;
        }
        let base = self.plan.base;
        let attempt = self.attempt(setting);
        if let Some(moved) = fence {
            self.stage = Stage::Adopt(moved);
        } else if setting.defect == Defect::ArmOverDrift
            || setting.revalidates(attempt, &self.plan, &base, Some(heads), None)
        {
            let is_late = setting.defect == Defect::IntentAfterEffects;
            self.stage = if is_late { Stage::Effects } else { Stage::Arm };
        } else {
            self.begin_again();
        }
    }

    /// G, after the slot went to another: everything is asked again, over the winner's state.
    fn arbitrate(&mut self, setting: &Setting, store: &Store) {
        let (attempt, plan) = (self.attempt(setting), self.plan);
        let transition = Transition::Commit { attempt, plan, by_recovery: false };
        if store.row(attempt) == Row::Committed {
            self.stage = Stage::Confirm;
        } else if store.may_follow(setting, &transition) {
            self.is_fresh = true;
        } else {
            self.resolve(setting);
        }
    }

    fn resolve(&mut self, setting: &Setting) {
        let steps = self.effects.map(|effect| match (effect.fate, effect.done) {
            (Fate::Unknown, _) => OwnSteps::Unknown,
            (_, 0) => OwnSteps::NoneLanded,
            _ => OwnSteps::SomeLanded,
        });
        if setting.defect == Defect::AnswerBeforeTakingBack {
            self.answer = Answer::NoEffect;
        }
        let asking = Asking::Owner(steps);
        self.stage =
            Stage::Resolve(Recovery::of(setting, self.attempt(setting), self.plan, asking));
    }

    fn resolved(
        &mut self,
        setting: &Setting,
        store: &Store,
        recovery: Recovery,
        ended: Option<Ended>,
    ) {
        let committed = store.row(self.attempt(setting)) == Row::Committed;
        match ended {
            None => self.stage = Stage::Resolve(recovery),
            Some(Ended::Committed) => self.stage = Stage::Confirm,
            // Which way, the manifest says.
            Some(Ended::Vanished) if committed => self.stage = Stage::Confirm,
            Some(Ended::WithoutEffect | Ended::Vanished) => self.restart(setting),
            Some(Ended::Discarded | Ended::Stopped(_)) => self.end(Answer::Open),
        }
    }

    fn restart(&mut self, setting: &Setting) {
        if self.restarts + 1 < self.request(setting).attempts {
            self.restarts += 1;
            self.begin_again();
        } else {
            self.end(Answer::NoEffect);
        }
    }

    /// On a branch that can be deleted, a commit counts only if the name still means the branch.
    fn confirm(&mut self, setting: &Setting, store: &Store) {
        let is_gone = store.sight(setting, self.attempt(setting)).is_gone;
        self.answer = if is_gone { Answer::Open } else { Answer::Committed };
        self.stage = Stage::Forget;
    }

    /// Without branch control, nothing is left to confirm: the answer goes with the commit.
    fn told(&mut self, setting: &Setting, store: &Store) {
        if self.stage == Stage::Confirm && !setting.scenario.has_branch_control() {
            self.confirm(setting, store);
        }
        if self.stage == Stage::Forget && store.intent(self.attempt(setting)).is_none() {
            self.stage = Stage::Over;
        }
        if self.stage == Stage::Over {
            // What it remembers makes no difference any more.
            *self = Self { answer: self.answer, stage: Stage::Over, ..Self::new(self.request) };
        }
    }

    fn begin_again(&mut self) {
        let (request, restarts, answer) = (self.request, self.restarts, self.answer);
        *self = Self { restarts, answer, ..Self::new(request) };
    }

    fn end(&mut self, answer: Answer) {
        self.answer = answer;
        self.stage = Stage::Over;
    }
}

/// An empty commit of recovery directly above a pin: its rows are the pin's.
pub(crate) fn is_fence_above(head: Pin, pin: Pin) -> bool {
    head.version == pin.version + 1 && head.tx.is_fence()
}
