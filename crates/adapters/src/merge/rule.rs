//! What becomes of one key: the rule of the three-way merge, over whatever says that two rows are the
//! same. Pure.

/// What a merge does with rows that both sides have changed differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MergeStrategy {
    /// Nothing is merged.
    #[default]
    Fail,
    /// The target's row stays.
    Ours,
    /// The source's row is taken over, or its deletion.
    Theirs,
}

impl MergeStrategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Fail, Self::Ours, Self::Theirs];

    /// The name shown to people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Ours => "ours",
            Self::Theirs => "theirs",
        }
    }
}

/// How two sides contradict each other about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConflictKind {
    /// Both have added a row with the key, with other values.
    DivergentInsert,
    /// Both have changed the row, to other values. A row is the smallest thing that is merged: two
    /// changes of different properties of one row contradict each other unless they come to the same
    /// row, since a constraint or a reader may depend on how its properties go together.
    DivergentUpdate,
    /// The source has deleted the row, and the target has changed it.
    DeletedBySource,
    /// The target has deleted the row, and the source has changed it.
    DeletedByTarget,
}

impl ConflictKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::DivergentInsert,
        Self::DivergentUpdate,
        Self::DeletedBySource,
        Self::DeletedByTarget,
    ];

    /// The name shown to people and programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::DivergentInsert => "divergent_insert",
            Self::DivergentUpdate => "divergent_update",
            Self::DeletedBySource => "deleted_by_source",
            Self::DeletedByTarget => "deleted_by_target",
        }
    }
}

/// What a merge does with a key, before a strategy decides on conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFate {
    /// Both sides have the same row, or none.
    Same,
    /// Only the target has changed it: its row stays, or stays away.
    Keep,
    /// Only the source has changed it: its row is taken over, or its deletion.
    Take,
    /// Both have changed it, and not to the same.
    Conflict(ConflictKind),
}

/// What several bases come to at one key: each is merged in turn with those before it, by the versions that
/// both descend from, `older`, one entry for each base but the first. Nothing where they contradict each
/// other, or where it is not known by what they are merged.
pub(super) fn come_to<V: PartialEq + Clone>(
    bases: &[Option<V>],
    older: &[Option<Vec<Option<V>>>],
) -> Option<Option<V>> {
    let (mut all, others) = bases.split_first()?;
    for (number, base) in others.iter().enumerate() {
        if base == all {
            continue;
        }
        let nothing = vec![None];
        let older = older.get(number)?.as_ref()?;
        let older = if older.is_empty() { &nothing } else { older };
        if older.iter().all(|older| older == all) {
            all = base;
        } else if !older.iter().all(|older| older == base) {
            return None;
        }
    }
    Some(all.clone())
}

/// What becomes of a key that has the row `source` in the source, `target` in the target, and one of
/// `bases` in each base. A merge without a base has the graph without rows as its only one.
///
/// Where there are several bases, none of them alone can stand for what both sides have in common: what
/// another one has brought in would be taken for a change. What they come to stands for them all; where nobody
/// can say that, each of them must say the same, and what they do not agree on is a conflict.
pub fn judge<V: PartialEq>(bases: &[Option<V>], source: Option<&V>, target: Option<&V>) -> RowFate {
    if source == target {
        return RowFate::Same;
    }
    let nothing = [None];
    let bases = if bases.is_empty() { &nothing } else { bases };
    if bases.iter().all(|base| base.as_ref() == source) {
        return RowFate::Keep;
    }
    if bases.iter().all(|base| base.as_ref() == target) {
        return RowFate::Take;
    }
    RowFate::Conflict(match (source, target) {
        (None, _) => ConflictKind::DeletedBySource,
        (_, None) => ConflictKind::DeletedByTarget,
        _ if bases.iter().all(Option::is_none) => ConflictKind::DivergentInsert,
        _ => ConflictKind::DivergentUpdate,
    })
}
