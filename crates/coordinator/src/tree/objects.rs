//! All objects of a listing by what they are, and what is to be said of those that are no part of the
//! graph.

use std::collections::BTreeMap;

use graphwrite_substrate::ObjectEntry;

use super::{Kind, Tree};
use crate::census::Counted;
use crate::report::{Finding, ObjectGroup, Waiting};

/// What a listing came to.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) groups: Vec<ObjectGroup>,
    pub(crate) findings: Vec<Finding>,
    /// What waits for reclaim.
    pub(crate) waiting: Vec<Waiting>,
    /// The directories with records of attempts on dead branches, and how many there are.
    pub(crate) orphans: Counted,
}

/// All objects by what they are.
pub(crate) fn objects_of(tree: &Tree<'_>, listed: &[ObjectEntry]) -> Objects {
    let mut places: BTreeMap<(Kind, String), Counted> = BTreeMap::new();
    let mut kinds: BTreeMap<Kind, Counted> = BTreeMap::new();
    for object in listed {
        let (kind, place) = tree.kind_of(&object.path);
        kinds.entry(kind).or_default().add(object);
        if kind.finding().is_some() {
            places.entry((kind, place)).or_default().add(object);
        }
    }
    let groups = kinds.iter().map(|(kind, sum)| ObjectGroup {
        kind: kind.name(),
        count: sum.count,
        bytes: sum.bytes,
    });
    let told_alone = places.iter().filter(|((kind, _), _)| kind.waiting().is_none());
    let mut findings: Vec<Finding> = told_alone.filter_map(finding).collect();
    let waiting: Vec<Waiting> =
        kinds.iter().filter_map(|(kind, sum)| waiting(*kind, *sum, &places)).collect();
    findings.extend(kinds.keys().filter_map(|kind| told_together(*kind, &waiting)));
    let orphans = kinds.get(&Kind::OrphanRecord).copied().unwrap_or_default();
    Objects { groups: groups.collect(), findings, waiting, orphans }
}

fn finding(((kind, place), sum): (&(Kind, String), &Counted)) -> Option<Finding> {
    let message = match kind {
        Kind::Unexplained => "not an object of a graph".to_owned(),
        _ => format!("{} objects, {} bytes: {}", sum.count, sum.bytes, kind.text()),
    };
    Some(kind.finding()?.at(place, message))
}

fn waiting(
    kind: Kind,
    sum: Counted,
    places: &BTreeMap<(Kind, String), Counted>,
) -> Option<Waiting> {
    let (what, _) = kind.waiting()?;
    let count = places.keys().filter(|(of, _)| *of == kind).count() as u64;
    Some(Waiting { what, count, objects: sum.count, bytes: sum.bytes })
}

fn told_together(kind: Kind, waiting: &[Waiting]) -> Option<Finding> {
    let (what, place) = kind.waiting()?;
    let Waiting { count, objects, bytes, .. } = waiting.iter().find(|it| it.what == what)?;
    let text = kind.text();
    let message = format!("{count} {what}, {objects} objects, {bytes} bytes: {text}");
    Some(kind.finding()?.at(place, message))
}
