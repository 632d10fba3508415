//! `docs/recovery-decisions.md` is the decision table itself: made from the rules, compared byte
//! for byte. Run with `GRAPHWRITE_UPDATE_DOCS=1` to write it anew after a change of the rules.

use std::collections::BTreeSet;
use std::path::PathBuf;

use graphwrite_protocol_types::EffectKind;

use super::cube::{Column, Row, markdown, rows};
use super::fixture::PRE;
use super::truth::{HEADS, HeadIs, Point, standing};
use crate::*;

fn named<T: ToString>(name: &'static str, values: &[T]) -> Column {
    Column { name, values: values.iter().map(T::to_string).collect() }
}

fn yes_no(name: &'static str) -> Column {
    named(name, &["yes", "no"])
}

fn summary_columns() -> Vec<Column> {
    vec![
        named("row of the attempt", OutcomeClass::ALL),
        named("branch", BranchClass::ALL),
        named("owner", OwnerClass::ALL),
        named("effects, looking forward", Shape::ALL),
        yes_no("confirmed"),
        yes_no("data files there"),
        yes_no("read set holds"),
        named("request under another attempt", OperationClass::ALL),
        named("effects, looking back", Rest::ALL),
    ]
}

fn summary_at(at: &[usize]) -> Summary {
    Summary {
        outcome: OutcomeClass::ALL[at[0]],
        branch: BranchClass::ALL[at[1]],
        owner: OwnerClass::ALL[at[2]],
        shape: Shape::ALL[at[3]],
        confirmed: at[4] == 0,
        files: at[5] == 0,
        read_set: at[6] == 0,
        operation: OperationClass::ALL[at[7]],
        rest: Rest::ALL[at[8]],
    }
}

fn rules() -> String {
    let columns = summary_columns();
    let table = rows(&columns, &|at| decide(&summary_at(at)));
    let mut text = String::new();
    for rule in Rule::ALL {
        let of_rule: Vec<&Row<(Rule, Verdict)>> =
            table.iter().filter(|row| row.outcome.0 == *rule).collect();
        assert!(!of_rule.is_empty(), "rule {rule:?} never decides");
        let title = format!("\n### Rule {}: {}\n\n", rule.number(), rule.text());
        text += &title;
        let decision = |(_, verdict): &(Rule, Verdict)| verdict.to_string();
        text += &markdown(&columns, &of_rule, Some(("decision", &decision)));
    }
    text
}

const EXISTING: [(&str, EffectKind); 2] =
    [("`Staged`, `Chain`", EffectKind::Chain), ("`Inline`", EffectKind::Inline)];

/// Heads that are the same to an effect on an existing ref stand in one class.
const HEADS_OF_REF: [(&str, &[HeadIs]); 5] = [
    ("dropped or on another ref", &[HeadIs::Tombstoned, HeadIs::Elsewhere]),
    ("never loaded", &[HeadIs::Unloaded]),
    ("at the pre-state", &[HeadIs::AtPre]),
    ("above it, below the closing version", &[HeadIs::Inside]),
    ("above everything found", &[HeadIs::Above]),
];

/// Heads that are the same to an effect with a name of its own.
const HEADS_OF_NAME: [(&str, &[HeadIs]); 2] = [
    (
        "anywhere else",
        &[
            HeadIs::Tombstoned,
            HeadIs::Unloaded,
            HeadIs::Elsewhere,
            HeadIs::AtPre,
            HeadIs::Inside,
            HeadIs::Above,
        ],
    ),
    ("on the object of that name", &[HeadIs::OnTarget]),
];

const FOUND: [(&str, Evidence); 9] = [
    ("nothing, slot open", Evidence::Open(0)),
    ("some steps, slot open", Evidence::Open(1)),
    ("all steps, at HEAD", Evidence::Complete),
    ("closed by us", Evidence::Closed { version: PRE + 2, how: Closing::Restore }),
    ("slot foreign", Evidence::SlotForeign),
    ("buried", Evidence::Buried),
    ("absent", Evidence::RefAbsent),
    ("there, untouched", Evidence::RefUntouched),
    ("unreadable", Evidence::Unreadable),
];

fn first_names<T>(pairs: &[(&str, T)]) -> Vec<String> {
    pairs.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The standing under every head of a class, which is one.
fn under(class: &[HeadIs], at: impl Fn(HeadIs) -> Point) -> Standing {
    let found: BTreeSet<Standing> = class.iter().map(|head| standing(at(*head))).collect();
    assert_eq!(found.len(), 1, "{class:?} is no class: {found:?}");
    found.into_iter().next().expect("one")
}

fn table_of_refs() -> String {
    let columns = [
        Column { name: "kind", values: first_names(&EXISTING) },
        Column { name: "found on the ref", values: first_names(&FOUND) },
        Column { name: "published head of the table", values: first_names(&HEADS_OF_REF) },
        yes_no("way back declared"),
    ];
    standings(&columns, &|at| {
        let (kind, evidence, one_way) = (EXISTING[at[0]].1, FOUND[at[1]].1, at[3] == 1);
        under(HEADS_OF_REF[at[2]].1, |head| Point { kind, evidence, head, one_way })
    })
}

fn table_of_names() -> String {
    let columns = [
        Column { name: "found under the name", values: first_names(&FOUND) },
        Column { name: "published head of the table", values: first_names(&HEADS_OF_NAME) },
    ];
    standings(&columns, &|at| {
        let (kind, evidence) = (EffectKind::CreateDataset, FOUND[at[0]].1);
        let point = |head| Point { kind, evidence, head, one_way: false };
        under(HEADS_OF_NAME[at[1]].1, point)
    })
}

fn next_step(standing: &Standing) -> &'static str {
    match standing {
        Standing::Pointer | Standing::Foreign | Standing::Settled | Standing::Unmade => "settled",
        Standing::Vacant => "fence directly above the pre-state",
        Standing::Partial | Standing::Complete => "restore the pre-state above what landed",
        Standing::CompleteOneWay => "refused: no compensation is declared",
        Standing::Closed => "move the pin to the closing version",
        Standing::Made | Standing::MadeComplete => "remove the object",
        Standing::Outdated => "look again",
        Standing::Refused(reason) => reason.text(),
    }
}

fn standings(columns: &[Column], outcome: &dyn Fn(&[usize]) -> Standing) -> String {
    let table = rows(columns, outcome);
    let order: BTreeSet<Standing> = table.iter().map(|row| row.outcome).collect();
    let mut text = String::new();
    for standing in order {
        let of_it: Vec<&Row<Standing>> =
            table.iter().filter(|row| row.outcome == standing).collect();
        let complete = if standing.is_complete() { ", counts as complete" } else { "" };
        text += &format!("\n`{standing:?}`{complete}: {}\n\n", next_step(&standing));
        text += &markdown(columns, &of_it, None);
    }
    text
}

const HEAD: &str = "\
# Recovery decisions

This page is made from the rules in `crates/recovery` by a test of that crate, which compares it byte
for byte; `GRAPHWRITE_UPDATE_DOCS=1 cargo test -p graphwrite-recovery` writes it anew. Every
combination is in exactly one row: the tables are the complete function, not examples of it.

How an armed intent is judged: first every effect by itself, from what its ref holds and from where
the table's published head is (second part). Then the whole attempt, from the row that the manifest
has for it, from its owner, and from two questions about its effects: can it go forward, and what is
left to take back (first part). The first rule that applies decides. After every single durable step
everything is read and judged again.

Words: a *row* is one of `committed`, `aborted`, `rolled_back` in the manifest; *young* is an owner
whose last sign of progress is younger than `fence_after` (60 s by default); *settled* is an effect
that can be in nobody's way any more; a *closing version* is our fence or our restore.

## The attempt

`effects, looking forward`: *all complete*: every planned step is there, at HEAD; *every slot
foreign*: each effect with a version slot lost it to another transaction and no effect has a name of
its own; *nothing landed*: as far as storage shows; *no effect*: it planned none, so that nothing shows how
far its owner came; *other*: anything else. `effects, looking back` says what a compensation would still
find to do.
";

const SECOND: &str = "
## One effect

An effect without a version slot (`Pointer`) is settled by itself and always complete. For the others
the tables below say where they stand, and after the colon what a compensation does next.

### On an existing ref: `Staged`, `Chain`, `Inline`
";

const THIRD: &str = "
### Under a name of its own: `CreateDataset`, `CreateRef`

Nobody else can ever use that name, so nothing needs a fence, and removal is safe at any time after
`aborted`.
";

pub(crate) fn page() -> String {
    [HEAD, &rules(), SECOND, &table_of_refs(), THIRD, &table_of_names()].concat()
}

/// An attempt is aborted for the reason that the audit gets: of an undecided attempt that is not
/// waited for, rule 6 decides exactly when there is no obstacle.
#[test]
fn an_attempt_goes_forward_exactly_when_there_is_no_obstacle() {
    let columns = summary_columns();
    let sizes: Vec<usize> = columns.iter().map(|column| column.values.len()).collect();
    let mut reasons = BTreeSet::new();
    for cell in 0..sizes.iter().product::<usize>() {
        let mut rest = cell;
        let at: Vec<usize> = sizes
            .iter()
            .map(|size| {
                let digit = rest % size;
                rest /= size;
                digit
            })
            .collect();
        let summary = summary_at(&at);
        let is_free = summary.outcome == OutcomeClass::Undecided
            && summary.branch == BranchClass::Named
            && summary.owner == OwnerClass::Free;
        if is_free {
            let forward = decide(&summary).1 == Verdict::RollForward;
            assert_eq!(forward, summary.obstacle() == "nothing", "{summary:?}");
            reasons.insert(summary.obstacle());
        }
    }
    assert_eq!(reasons.len(), 8, "{reasons:?}");
}

#[test]
fn the_page_of_decisions_is_what_the_rules_decide() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/recovery-decisions.md");
    let page = page();
    if std::env::var_os("GRAPHWRITE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == page, "{} is out of date: set GRAPHWRITE_UPDATE_DOCS=1", path.display());
}

#[test]
fn staged_and_chain_effects_stand_alike_as_do_created_datasets_and_refs() {
    for (one, other) in [
        (EffectKind::Staged, EffectKind::Chain),
        (EffectKind::CreateDataset, EffectKind::CreateRef),
    ] {
        for (_, evidence) in FOUND {
            // The two chains differ in length, so a pin on their target lies elsewhere in them.
            for head in HEADS.into_iter().filter(|head| *head != HeadIs::OnTarget) {
                let at = |kind| standing(Point { kind, evidence, head, one_way: false });
                assert_eq!(at(one), at(other), "{evidence:?} {head:?}");
            }
        }
    }
}
