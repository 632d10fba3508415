//! The answer of a merge: its receipt, what was compared, what contradicts, what became of the source
//! branch, and what to do next. It must not know how any of it was asked for.

mod compared;
mod rows;

use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, Tone};
use crate::report::ReceiptReport;
use crate::text;

use compared::{ConflictEntry, ConstraintEntry, TableEntry};

pub(crate) use compared::{Compared, Comparison};

/// What became of the source branch, where it was to be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SourceBranch {
    pub(crate) branch: String,
    /// `deleted`, `gone` if there was none of the name any more, `kept`, or `unknown`.
    pub(crate) state: &'static str,
    /// The code of what was in the way.
    pub(crate) code: Option<&'static str>,
    /// The same in words.
    pub(crate) message: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Ending {
    /// With a receipt, as of every write.
    Receipt(Box<ReceiptReport>),
    /// With `conflict`, or as a preview with `would_commit`, `would_not_change` or `would_conflict`.
    Without { outcome: &'static str, branch: String },
}

/// The answer of a merge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MergeOutcome {
    #[serde(flatten)]
    ending: Ending,
    /// None when the request was carried out before: this is its first receipt then.
    merge: Option<Comparison>,
    source_branch: Option<SourceBranch>,
    /// Commands that are worth running.
    next: Vec<String>,
}

/// Longer values are cut for people.
const SHOWN_MAX: usize = 40;
/// How much is shown of what two values have in common, before they differ.
const BEFORE: usize = 12;

impl MergeOutcome {
    /// A merge that is committed, or had nothing to do.
    pub(crate) fn receipt(receipt: ReceiptReport, merge: Option<Comparison>) -> Self {
        let ending = Ending::Receipt(Box::new(receipt));
        Self { ending, merge, source_branch: None, next: Vec::new() }
    }

    /// A merge that is refused because both sides contradict each other.
    pub(crate) fn conflict(merge: Comparison) -> Self {
        Self::without("conflict", merge)
    }

    /// What a merge would do.
    pub(crate) fn preview(merge: Comparison) -> Self {
        let outcome = match (merge.contradiction(), merge.relation) {
            (Some(_), _) => "would_conflict",
            (None, "contained") => "would_not_change",
            (None, _) => "would_commit",
        };
        Self::without(outcome, merge)
    }

    fn without(outcome: &'static str, merge: Comparison) -> Self {
        let ending = Ending::Without { outcome, branch: merge.target.branch.clone() };
        Self { ending, merge: Some(merge), source_branch: None, next: Vec::new() }
    }

    pub(crate) fn with_source_branch(self, source_branch: Option<SourceBranch>) -> Self {
        Self { source_branch, ..self }
    }

    pub(crate) fn with_next(self, next: Vec<String>) -> Self {
        Self { next, ..self }
    }

    pub(crate) fn outcome(&self) -> &'static str {
        match &self.ending {
            Ending::Receipt(receipt) => receipt.outcome,
            Ending::Without { outcome, .. } => outcome,
        }
    }

    /// What became of the source branch, where it was to be deleted.
    pub(crate) fn source_state(&self) -> Option<&'static str> {
        self.source_branch.as_ref().map(|branch| branch.state)
    }

    /// What the answer means, for people. Of a conflict its error says it.
    fn meaning(&self) -> Option<String> {
        let Some(merge) = &self.merge else {
            return Some(
                "The request was carried out before. This is its first receipt; nothing was compared again."
                    .to_owned(),
            );
        };
        let (source, target) = (&merge.source.branch, &merge.target.branch);
        let changed = text::count(merge.rows_changed, "row");
        Some(match (self.outcome(), merge.relation) {
            ("conflict", _) => return None,
            ("would_conflict", _) => {
                let why = merge.contradiction().unwrap_or_default();
                format!("The merge would be refused: {why}. Nothing was written.")
            }
            ("would_commit", _) if merge.rows_changed == 0 => format!(
                "No row of `{target}` would change; the commit would say that `{source}` is merged. \
                 Nothing was written."
            ),
            ("would_commit", _) => {
                format!("The merge would change {changed} of `{target}`. Nothing was written.")
            }
            ("would_not_change" | "no_change", _) if merge.source.commit_id.is_none() => {
                format!("`{source}` has no commit: there is nothing to merge.")
            }
            ("would_not_change" | "no_change", _) => {
                format!(
                    "Already merged: `{target}` has all that `{source}` has. Nothing was written."
                )
            }
            (_, "fast_forward") => {
                format!(
                    "`{source}` was ahead of `{target}`: all that it has changed is taken over."
                )
            }
            _ if merge.rows_changed == 0 => {
                format!("No row of `{target}` changes; the commit says that `{source}` is merged.")
            }
            _ => format!("Merged: {changed} of `{target}` changed.{}", merge.decided()),
        })
    }

    fn next_block(&self) -> Option<Block> {
        match self.next.as_slice() {
            [] => None,
            [one] => Some(Block::Note(format!("Next: {one}"))),
            several => Some(Block::Note(format!("Next, one of\n  {}", several.join("\n  ")))),
        }
    }

    fn facts(&self) -> Block {
        let mut facts = match &self.ending {
            Ending::Receipt(receipt) => receipt.facts(),
            Ending::Without { outcome, branch } => {
                let tone = if outcome.contains("conflict") { Tone::Bad } else { Tone::Good };
                vec![("outcome", Cell::text(outcome).toned(tone)), ("branch", Cell::text(branch))]
            }
        };
        facts.extend(self.merge.iter().flat_map(Comparison::facts));
        facts.extend(self.source_branch.iter().map(|it| {
            let tone = if it.state == "deleted" { Tone::Good } else { Tone::Warn };
            ("source_branch", Cell::text(it.state).toned(tone))
        }));
        Block::Facts(facts)
    }
}

impl Comparison {
    fn facts(&self) -> Vec<(&'static str, Cell)> {
        let bases = (!self.bases.is_empty()).then(|| self.bases.join(" "));
        vec![
            ("source", Cell::text(&self.source.branch)),
            ("merged", Cell::optional(self.source.commit_id.as_ref())),
            ("target", Cell::optional(self.target.commit_id.as_ref())),
            ("relation", Cell::text(self.relation)),
            ("bases", Cell::optional(bases)),
            ("strategy", Cell::text(self.strategy)),
            ("rows_changed", Cell::number(self.rows_changed)),
            ("conflicts", Cell::number(self.conflicts.total)),
            ("constraints", Cell::number(self.constraints.total)),
        ]
    }

    /// What a strategy has decided.
    fn decided(&self) -> String {
        let (total, sides) = (self.conflicts.total, [&self.source.branch, &self.target.branch]);
        let kept = if self.strategy == "theirs" { sides[0] } else { sides[1] };
        match total {
            0 => String::new(),
            _ => format!(
                " Where both contradict each other, in {}, `{kept}` was followed.",
                text::count(total, "row")
            ),
        }
    }

    fn lists(&self) -> Vec<Block> {
        let tables = Rows {
            kind: "table",
            title: "Tables".to_owned(),
            columns: vec![
                "table",
                "adopted",
                "rewritten",
                "removed",
                "converged",
                "conflicts",
                "route",
                "shared",
                "read",
            ],
            rows: self.tables.iter().map(TableEntry::row).collect(),
        };
        let conflicts = Rows {
            kind: "conflict",
            title: "Rows that contradict each other".to_owned(),
            columns: vec!["table", "key", "conflict", "property", "source", "target"],
            rows: self.conflicts.listed.iter().flat_map(ConflictEntry::rows).collect(),
        };
        let constraints = Rows {
            kind: "constraint",
            title: "Constraints that both together break".to_owned(),
            columns: vec!["constraint", "table", "key", "field", "what"],
            rows: self.constraints.listed.iter().map(ConstraintEntry::row).collect(),
        };
        let mut blocks =
            vec![Block::Rows(tables), Block::Rows(conflicts), Block::Rows(constraints)];
        let more = self.unlisted();
        blocks.extend((more > 0).then(|| Block::Note(format!("And {more} more."))));
        blocks
    }
}

impl TableEntry {
    fn row(&self) -> Vec<Cell> {
        let counts = [self.adopted, self.rewritten, self.removed, self.converged, self.conflicts];
        let read = [self.shared_fragments, self.rows_read].map(Cell::number);
        let counts = counts.into_iter().map(Cell::number);
        std::iter::once(Cell::text(&self.table))
            .chain(counts)
            .chain([Cell::text(self.route)])
            .chain(read)
            .collect()
    }
}

impl ConflictEntry {
    /// One row for each property that differs; one in all where a side has deleted it.
    fn rows(&self) -> Vec<Vec<Cell>> {
        let key = [&self.table, &self.key].map(Cell::text);
        let row = |property: Cell, source: Cell, target: Cell| {
            let more = [Cell::text(self.kind), property, source, target];
            key.clone().into_iter().chain(more).collect::<Vec<_>>()
        };
        let side = |row: &Option<_>| Cell::text(if row.is_some() { "changed" } else { "deleted" });
        let none = || Cell::optional(None::<&str>);
        let (Some(source), Some(target)) = (&self.source, &self.target) else {
            return vec![row(none(), side(&self.source), side(&self.target))];
        };
        let differing = source.differing(target).into_iter();
        let shown = differing.map(|(name, one, other)| {
            let [source, target] = cut(one, other);
            row(Cell::text(name), source, target)
        });
        shown.collect()
    }
}

impl ConstraintEntry {
    fn row(&self) -> Vec<Cell> {
        vec![
            Cell::text(self.kind),
            Cell::optional(self.table.as_ref()),
            Cell::optional(self.key.as_ref()),
            Cell::optional(self.field.as_ref()),
            Cell::text(&self.message),
        ]
    }
}

/// Two values that differ, each on a line with others: longer ones are cut so that the place where they
/// begin to differ is seen. A script gets all of them.
fn cut(one: String, other: String) -> [Cell; 2] {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    [one, other].map(|value| {
        let count = value.chars().count();
        if count <= SHOWN_MAX {
            return Cell::text(value);
        }
        let from = same.saturating_sub(BEFORE).min(count.saturating_sub(SHOWN_MAX - 2));
        let shown: String = value.chars().skip(from).take(SHOWN_MAX - 2).collect();
        let is_cut = from + SHOWN_MAX - 2 < count;
        let (before, behind) = (if from > 0 { "…" } else { "" }, if is_cut { "…" } else { "" });
        Cell { raw: Some(value), ..Cell::text(format!("{before}{shown}{behind}")) }
    })
}

impl Report for MergeOutcome {
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![self.facts()];
        match (&self.merge, &self.ending) {
            (Some(merge), _) => blocks.extend(merge.lists()),
            (None, Ending::Receipt(receipt)) => blocks.push(receipt.table_block()),
            (None, Ending::Without { .. }) => {}
        }
        if let Ending::Receipt(receipt) = &self.ending {
            blocks.push(receipt.recovered_block());
        }
        blocks.extend(self.meaning().map(Block::Note));
        blocks.extend(self.source_branch.iter().filter_map(|it| {
            Some(Block::Note(format!(
                "Branch `{}` is {}: {}",
                it.branch,
                it.state,
                it.message.as_ref()?
            )))
        }));
        if self.outcome() != "conflict" {
            blocks.extend(self.next_block());
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(one: &str, other: &str) -> [String; 2] {
        cut(one.to_owned(), other.to_owned()).map(|cell| cell.text)
    }

    #[test]
    fn long_values_are_cut_where_they_begin_to_differ() {
        assert_eq!(shown("short", "shorter"), ["short", "shorter"]);
        let common = "x".repeat(100);
        let [one, other] = shown(&format!("{common}1"), &format!("{common}2{common}"));
        assert!(one.starts_with('…') && one.ends_with("x1"), "{one}");
        assert!(other.starts_with("…xxxxxxxxxxxx2xx") && other.ends_with('…'), "{other}");
        let [one, other] = shown(&"a".repeat(50), &"b".repeat(50));
        assert!(one.starts_with("aa") && other.ends_with("b…"), "{one} {other}");
        for text in shown(&format!("{common}é"), &common).iter().chain(&[one, other]) {
            assert!(text.chars().count() <= SHOWN_MAX, "{text}");
        }
    }

    #[test]
    fn a_script_gets_whole_values() {
        let long = "y".repeat(60);
        let [one, _] = cut(long.clone(), String::new());
        assert_eq!(one.raw, Some(long));
    }
}
