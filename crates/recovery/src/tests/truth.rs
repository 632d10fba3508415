//! Layer 1: the classifier over every combination of what it can be told.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::*;

use super::fixture::*;
use crate::*;

/// What the table's head may be, seen from an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeadIs {
    Tombstoned,
    Unloaded,
    Elsewhere,
    AtPre,
    Inside,
    Above,
    /// Live on the object that a first load or a first write would make.
    OnTarget,
}

pub(crate) const HEADS: [HeadIs; 7] = [
    HeadIs::Tombstoned,
    HeadIs::Unloaded,
    HeadIs::Elsewhere,
    HeadIs::AtPre,
    HeadIs::Inside,
    HeadIs::Above,
    HeadIs::OnTarget,
];

/// Every evidence, whether or not it can arise for a kind: the classifier is total.
const EVIDENCE: [Evidence; 11] = [
    Evidence::Open(0),
    Evidence::Open(1),
    Evidence::Open(2),
    Evidence::Complete,
    Evidence::Closed { version: PRE + 1, how: Closing::Fence },
    Evidence::Closed { version: PRE + 2, how: Closing::Restore },
    Evidence::SlotForeign,
    Evidence::Buried,
    Evidence::RefAbsent,
    Evidence::RefUntouched,
    Evidence::Unreadable,
];

/// One effect as the classifier sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) kind: EffectKind,
    pub(crate) evidence: Evidence,
    pub(crate) head: HeadIs,
    /// The adapter declares no compensation.
    pub(crate) one_way: bool,
}

fn points() -> Vec<Point> {
    let mut all = Vec::new();
    for kind in KINDS {
        for evidence in EVIDENCE {
            for head in HEADS {
                let may_be_one_way = kind.is_slot_bearing() && evidence.has_landed();
                for one_way in [false, true] {
                    if one_way && !may_be_one_way {
                        continue;
                    }
                    all.push(Point { kind, evidence, head, one_way });
                }
            }
        }
    }
    all
}

fn head_token(head: HeadIs, number: u64, target: &EffectTarget) -> TableHeadToken {
    match head {
        HeadIs::Tombstoned => TableHeadToken::Tombstoned,
        HeadIs::Unloaded => TableHeadToken::Absent,
        HeadIs::AtPre => live(number, pre_pin(number)),
        HeadIs::Inside => live(number, pin(PRE + 1, "inside")),
        HeadIs::Above => live(number, pin(PRE + 9, "above")),
        HeadIs::Elsewhere => {
            let path = DatasetPath::of_first_load(table(number), AttemptId::from_u128(0xee));
            let head = live_at(path, PhysicalRef::Main, number, pin(1, "elsewhere"));
            TableHeadToken::Live(Box::new(head))
        }
        HeadIs::OnTarget => {
            let (path, at) = (target.path.clone(), target.physical_ref.clone());
            TableHeadToken::Live(Box::new(live_at(path, at, number, pin(PRE + 2, "on target"))))
        }
    }
}

/// The facts of a case, once for all the outer dimensions.
struct Built {
    intent: Intent,
    evidence: Vec<Evidence>,
    /// A view under which the read set holds, one under which it does not, another branch's.
    views: [Authority; 3],
    confirms: Vec<ConfirmFacts>,
}

fn built(points: &[Point]) -> Built {
    let kinds: Vec<EffectKind> = points.iter().map(|point| point.kind).collect();
    let mut intent = intent(&kinds);
    for (point, effect) in points.iter().zip(&mut intent.effects) {
        if point.one_way {
            effect.compensation = Compensation::None { reason: "none known".into() };
        }
    }
    let heads = (1..).zip(points).zip(&intent.effects).map(|((number, point), effect)| {
        (table(number), head_token(point.head, number, &effect.target))
    });
    let holds = view(heads.collect());
    intent.read_set = ReadSet::new(&holds);
    let changed = BaseView { schema: SchemaToken(SchemaHash([8; 32])), ..holds.clone() };
    let mut foreign = holds.clone();
    foreign.branch.record = 7;
    let views = [holds, changed, foreign].map(|view| Authority::Branch(Box::new(view)));
    let right = super::actors::confirm_of(&intent);
    let mut wrong = right.clone();
    wrong.achieved.iter_mut().for_each(|pin| *pin = None);
    let confirms = vec![
        ConfirmFacts::NotNeeded,
        ConfirmFacts::Missing,
        ConfirmFacts::Present(right),
        ConfirmFacts::Present(wrong),
        ConfirmFacts::Unreadable { reason: "checksum".into() },
    ];
    let evidence = points.iter().map(|point| point.evidence).collect();
    Built { intent, evidence, views, confirms }
}

fn outcomes() -> [AttemptOutcome; 4] {
    let commit = CommitId::from_u128(0xc1);
    [
        AttemptOutcome::None,
        AttemptOutcome::Committed { commit },
        AttemptOutcome::Aborted,
        AttemptOutcome::RolledBack,
    ]
}

fn owners(effects: usize) -> Vec<Owner> {
    vec![
        Owner::OwnLive,
        Owner::OwnStopped { steps: vec![OwnSteps::NoneLanded; effects] },
        Owner::OwnStopped { steps: vec![OwnSteps::SomeLanded; effects] },
        Owner::OwnStopped { steps: vec![OwnSteps::Unknown; effects] },
        Owner::OwnStopped { steps: Vec::new() },
        dead(),
        Owner::MaybeAlive { age_ms: 59_999 },
        Owner::MaybeAlive { age_ms: 60_000 },
    ]
}

const OPERATIONS: [OperationOutcome; 3] =
    [OperationOutcome::None, OperationOutcome::CommittedElsewhere, OperationOutcome::Sealed];

/// How finely everything but the effects is varied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outer {
    /// Every value.
    All,
    /// One value for each class of the summary.
    Classes,
}

/// Calls `check` with every combination of everything but the effects.
fn every_case(built: &Built, outer: Outer, check: &mut impl FnMut(&Case<'_>, &Judgement)) {
    let (waits, all) = (WaitRules::default(), outer == Outer::All);
    let confirms = if all { &built.confirms[..] } else { &built.confirms[1..3] };
    let operations = if all { &OPERATIONS[..] } else { &OPERATIONS[..2] };
    let mut owners = owners(built.intent.effects.len());
    if !all {
        owners = owners.into_iter().skip(1).step_by(2).collect();
    }
    let views = if all { &built.views[..] } else { &built.views[..2] };
    for authority in views.iter().chain([&Authority::BranchGone]) {
        for outcome in outcomes() {
            for operation in operations.iter().copied() {
                let authority = AuthorityFacts { authority: authority.clone(), outcome, operation };
                for owner in &owners {
                    for confirm in confirms {
                        for files in [DataFiles::Present, DataFiles::Missing] {
                            let case = Case {
                                intent: &built.intent,
                                evidence: &built.evidence,
                                files,
                                confirm,
                                authority: &authority,
                                owner,
                                waits: &waits,
                            };
                            check(&case, &classify(&case));
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn verdict_of(decision: &Decision) -> Verdict {
    match decision {
        Decision::Finalize => Verdict::Finalize,
        Decision::RollForward => Verdict::RollForward,
        Decision::Abort => Verdict::Abort,
        Decision::Compensate(_) => Verdict::Compensate,
        Decision::RetireEmpty => Verdict::RetireEmpty,
        Decision::DiscardOrphan => Verdict::DiscardOrphan,
        Decision::Wait(Wait::Gates) => Verdict::WaitForGates,
        Decision::Wait(Wait::Owner { .. }) => Verdict::WaitForOwner,
        Decision::Wait(Wait::Evidence) => Verdict::LookAgain,
        Decision::Refuse { .. } => Verdict::Refuse,
    }
}

/// What was seen over all combinations.
#[derive(Default)]
struct Seen {
    by_summary: BTreeMap<Summary, (Rule, Verdict)>,
    cases: usize,
}

impl Seen {
    /// One summary, one verdict: nothing that the summary leaves out has a say.
    fn note(&mut self, judgement: &Judgement) {
        self.cases += 1;
        let found = (judgement.rule, verdict_of(&judgement.decision));
        let first = *self.by_summary.entry(judgement.summary).or_insert(found);
        assert_eq!(first, found, "one summary, two verdicts: {:?}", judgement.summary);
        assert_eq!(decide(&judgement.summary), found, "{:?}", judgement.summary);
    }
}

/// The invariants that hold whatever happened.
fn check_invariants(case: &Case<'_>, judgement: &Judgement) {
    use AttemptOutcome::{Aborted, Committed, None, RolledBack};
    let outcome = case.authority.outcome;
    match &judgement.decision {
        Decision::Compensate(steps) => {
            assert_eq!(outcome, Aborted, "compensated without a durable `aborted`");
            assert!(!steps.is_empty(), "a compensation without a step");
            steps.iter().for_each(|step| check_step(case, judgement, step));
        }
        Decision::Abort => assert_eq!(outcome, None, "aborted a decided attempt"),
        Decision::RollForward => check_roll_forward(case, judgement),
        Decision::RetireEmpty => check_retire_empty(case, judgement),
        Decision::Finalize => assert!(matches!(outcome, Committed { .. } | RolledBack)),
        Decision::DiscardOrphan => {
            assert_eq!(case.authority.authority, Authority::BranchGone);
        }
        Decision::Wait(_) | Decision::Refuse { .. } => {}
    }
}

fn check_roll_forward(case: &Case<'_>, judgement: &Judgement) {
    let Authority::Branch(view) = &case.authority.authority else { panic!("no branch") };
    assert_eq!(case.authority.outcome, AttemptOutcome::None);
    assert_eq!(case.authority.operation, OperationOutcome::None);
    assert_eq!(case.intent.read_set.check(view), Ok(()));
    assert_ne!(case.files, DataFiles::Missing);
    assert!(judgement.standings.iter().all(|at| at.is_complete()));
    let moves = case.intent.effects.iter().zip(case.evidence);
    let mut moves = moves.filter(|(effect, _)| effect.kind != EffectKind::Pointer);
    assert!(moves.all(|(_, evidence)| *evidence == Evidence::Complete));
    if ConfirmFacts::needed_by(case.intent) {
        assert!(matches!(case.confirm, ConfirmFacts::Present(_)));
    }
}

fn check_retire_empty(case: &Case<'_>, judgement: &Judgement) {
    let landed = case.intent.effects.iter().zip(case.evidence).zip(&judgement.standings);
    for ((effect, evidence), standing) in landed {
        // A table that is nobody's target any more may hold what it likes.
        let matters = effect.kind != EffectKind::Pointer && *standing != Standing::Settled;
        assert!(!(matters && evidence.has_landed()), "retired although something landed");
        assert_ne!(*standing, Standing::Made);
    }
    let own = matches!(case.owner, Owner::OwnStopped { steps }
        if !steps.is_empty() && steps.iter().all(|s| *s == OwnSteps::NoneLanded));
    let lost = case.intent.effects.iter().zip(case.evidence).all(|(effect, evidence)| {
        effect.kind == EffectKind::Pointer
            || (effect.kind.is_slot_bearing() && *evidence == Evidence::SlotForeign)
    });
    let bearing = case.intent.effects.iter().any(|effect| effect.kind.is_slot_bearing());
    assert!(own || (lost && bearing), "retired with an unknown: {case:?}");
}

fn check_step(case: &Case<'_>, judgement: &Judgement, step: &CompensationStep) {
    let Authority::Branch(view) = &case.authority.authority else { panic!("no branch") };
    let effect_of = |index: &u32| &case.intent.effects[*index as usize];
    match step {
        CompensationStep::Fence { effect: at, read_version, .. } => {
            let effect = effect_of(at);
            assert_eq!(case.evidence[*at as usize], Evidence::Open(0));
            assert_eq!(Some(*read_version), pre_version(effect), "a fence above a gap");
        }
        CompensationStep::Restore { effect: at, to, read_version, .. } => {
            let effect = effect_of(at);
            let head = view.head(effect.target.identity).live().expect("a live table");
            assert_eq!(effect.pre, PreState::At(to.clone()));
            assert_eq!(&head.pin, to, "a restore to something that is not the pin");
            assert!(Some(*read_version) > pre_version(effect), "a restore below the prefix");
        }
        CompensationStep::DeleteDataset { effect: at }
        | CompensationStep::DeleteRef { effect: at } => {
            let effect = effect_of(at);
            assert!(effect.kind.has_unique_name(), "removed an object that others may use");
            let head = view.head(effect.target.identity).live();
            let here = |head: &LiveHead| {
                head.path == effect.target.path && head.physical_ref == effect.target.physical_ref
            };
            assert!(!head.is_some_and(here), "removed what is published");
        }
        CompensationStep::MovePins { moves, complete } => {
            for moved in moves {
                let head = view.head(moved.identity).live().expect("a live table");
                assert_eq!(head.pin, moved.from, "moved a pin that is not the pre-state");
            }
            if *complete {
                let closed = |at: &Standing| at.is_settled() || *at == Standing::Closed;
                assert!(judgement.standings.iter().all(closed), "rolled back with something open");
            }
        }
    }
}

fn pre_version(effect: &Effect) -> Option<u64> {
    match &effect.pre {
        PreState::Absent => Option::None,
        PreState::At(pin) => Some(pin.version),
    }
}

/// One point for each standing, and for each kind of role that can have it if `by_role`.
fn representatives(by_role: bool) -> Vec<Point> {
    let mut found: BTreeMap<(Standing, bool, bool), Point> = BTreeMap::new();
    for point in points() {
        let bearing = by_role && point.kind.is_slot_bearing();
        let inline = by_role && point.kind == EffectKind::Inline;
        found.entry((standing(point), bearing, inline)).or_insert(point);
    }
    found.into_values().collect()
}

pub(crate) fn standing(point: Point) -> Standing {
    let built = built(&[point]);
    let Authority::Branch(view) = &built.views[0] else { panic!("no branch") };
    let authority = Authority::Branch(view.clone());
    let (outcome, operation) = (AttemptOutcome::None, OperationOutcome::None);
    let case = Case {
        intent: &built.intent,
        evidence: &built.evidence,
        files: DataFiles::Present,
        confirm: &built.confirms[2],
        authority: &AuthorityFacts { authority, outcome, operation },
        owner: &dead(),
        waits: &WaitRules::default(),
    };
    classify(&case).standings[0]
}

#[test]
fn every_combination_of_one_effect_is_decided_through_the_summary() {
    let mut seen = Seen::default();
    for point in points() {
        every_case(&built(&[point]), Outer::All, &mut |case, judgement| {
            seen.note(judgement);
            check_invariants(case, judgement);
        });
    }
    assert!(seen.cases > 1_500_000, "only {} cases", seen.cases);
}

/// Nothing shows that its owner has asked for what must hold before the first effect, and nothing was
/// refused that would show that it cannot publish.
#[test]
fn an_attempt_without_effects_is_neither_published_nor_forgotten_for_its_owner() {
    let mut seen = Seen::default();
    every_case(&built(&[]), Outer::All, &mut |case, judgement| {
        seen.note(judgement);
        check_invariants(case, judgement);
        let decision = &judgement.decision;
        assert!(!matches!(decision, Decision::RollForward | Decision::RetireEmpty), "{case:?}");
    });
    let decided: Vec<Verdict> = seen.by_summary.into_values().map(|(_, verdict)| verdict).collect();
    assert!(decided.contains(&Verdict::Abort) && decided.contains(&Verdict::Compensate));
}

/// Judges every multiset of `size` of these points under every combination of the rest.
fn every_multiset(points: &[Point], size: usize, outer: Outer, seen: &mut Seen) {
    let mut chosen = vec![Vec::new()];
    for _ in 0..size {
        let extend = |(from, set): (usize, Vec<Point>)| {
            (from..points.len()).map(move |at| (at, [set.clone(), vec![points[at]]].concat()))
        };
        let last = |set: &Vec<Point>| set.last().map_or(0, |last| position(points, last));
        let next = chosen.into_iter().map(|set| (last(&set), set)).flat_map(extend);
        chosen = next.map(|(_, set)| set).collect();
    }
    for set in chosen {
        every_case(&built(&set), outer, &mut |case, judgement| {
            seen.note(judgement);
            check_invariants(case, judgement);
        });
    }
}

fn position(points: &[Point], point: &Point) -> usize {
    points.iter().position(|other| other == point).unwrap_or(0)
}

#[test]
fn every_combination_of_two_standings_is_decided_through_the_summary() {
    let mut seen = Seen::default();
    every_multiset(&representatives(false), 2, Outer::All, &mut seen);
    every_multiset(&representatives(true), 2, Outer::Classes, &mut seen);
    assert!(seen.cases > 500_000, "only {} cases", seen.cases);
}

#[test]
fn every_combination_of_three_standings_is_decided_through_the_summary() {
    let mut seen = Seen::default();
    every_multiset(&representatives(false), 3, Outer::Classes, &mut seen);
    assert!(seen.cases > 300_000, "only {} cases", seen.cases);
}

/// So that representatives may stand for their class above.
#[test]
fn the_standing_of_an_effect_does_not_depend_on_other_effects() {
    let all = points();
    let alone: Vec<Standing> = all.iter().map(|point| standing(*point)).collect();
    let (outcome, operation) = (AttemptOutcome::Aborted, OperationOutcome::None);
    for (at, first) in all.iter().enumerate() {
        for (next, second) in all.iter().enumerate().step_by(13) {
            let built = built(&[*first, *second]);
            let case = Case {
                intent: &built.intent,
                evidence: &built.evidence,
                files: DataFiles::Missing,
                confirm: &built.confirms[2],
                authority: &AuthorityFacts {
                    authority: built.views[1].clone(),
                    outcome,
                    operation,
                },
                owner: &Owner::OwnLive,
                waits: &WaitRules::default(),
            };
            assert_eq!(classify(&case).standings, [alone[at], alone[next]], "{first:?} {second:?}");
        }
    }
}

#[test]
fn every_standing_arises() {
    let found: BTreeSet<Standing> = points().into_iter().map(standing).collect();
    use Standing::*;
    let plain = [
        Pointer,
        Vacant,
        Partial,
        Complete,
        CompleteOneWay,
        Closed,
        Foreign,
        Settled,
        Unmade,
        Made,
        MadeComplete,
        Outdated,
    ];
    for standing in plain {
        assert!(found.contains(&standing), "{standing:?} never arises");
    }
    assert!(found.iter().any(|standing| matches!(standing, Refused(_))));
}

/// Decides one case wrongly and says whether the invariants notice.
fn is_noticed(points: &[Point], outcome: AttemptOutcome, wrong: Decision) -> bool {
    let built = built(points);
    let (authority, operation) = (built.views[0].clone(), OperationOutcome::None);
    let case = Case {
        intent: &built.intent,
        evidence: &built.evidence,
        files: DataFiles::Present,
        confirm: &built.confirms[2],
        authority: &AuthorityFacts { authority, outcome, operation },
        owner: &dead(),
        waits: &WaitRules::default(),
    };
    let judgement = Judgement { decision: wrong, ..classify(&case) };
    let check = std::panic::AssertUnwindSafe(|| check_invariants(&case, &judgement));
    std::panic::catch_unwind(check).is_err()
}

fn staged(evidence: Evidence, head: HeadIs) -> Point {
    Point { kind: EffectKind::Staged, evidence, head, one_way: false }
}

#[test]
fn the_invariants_notice_wrong_decisions() {
    let committed = AttemptOutcome::Committed { commit: CommitId::from_u128(0xc1) };
    let fence = || {
        let tx_uuid = TxUuid::fence(attempt(), 0);
        Decision::Compensate(vec![CompensationStep::Fence {
            effect: 0,
            read_version: PRE,
            tx_uuid,
        }])
    };
    let restore = || {
        let (to, tx_uuid) = (pre_pin(1), TxUuid::restore(attempt(), 0));
        let read_version = PRE + 1;
        Decision::Compensate(vec![CompensationStep::Restore {
            effect: 0,
            to,
            read_version,
            tx_uuid,
        }])
    };
    let done = || {
        Decision::Compensate(vec![CompensationStep::MovePins { moves: Vec::new(), complete: true }])
    };
    let open = [staged(Evidence::Open(0), HeadIs::AtPre)];
    let complete = [staged(Evidence::Complete, HeadIs::AtPre)];
    let superseded = [staged(Evidence::Complete, HeadIs::Above)];
    use AttemptOutcome::{Aborted, None};
    assert!(!is_noticed(&open, Aborted, fence()), "a right decision is called wrong");
    assert!(is_noticed(&open, committed, fence()), "compensation after `committed`");
    assert!(is_noticed(&open, None, fence()), "compensation before `aborted`");
    assert!(is_noticed(&complete, Aborted, Decision::RollForward), "forward after `aborted`");
    assert!(is_noticed(&open, None, Decision::RollForward), "forward while incomplete");
    assert!(is_noticed(&open, None, Decision::RetireEmpty), "an unknown is retired");
    assert!(is_noticed(&superseded, Aborted, restore()), "a winner is un-published");
    assert!(is_noticed(&open, Aborted, done()), "rolled back with an open slot");
    let delete = Decision::Compensate(vec![CompensationStep::DeleteDataset { effect: 0 }]);
    assert!(is_noticed(&complete, Aborted, delete), "a shared dataset is removed");
}
