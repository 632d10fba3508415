//! Names of durable operations that mean the same in every run: kind, path with the ids taken out, and
//! the how-manieth of those. Operations go side by side, so that a number means another one each time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use graphwrite_coordinator::{Graph, Store};
use graphwrite_substrate::{Operation, OperationKind, OperationLog};

use crate::world::own_process;

/// One durable operation of a run, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    what: String,
    nth: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            1 => f.write_str(&self.what),
            nth => write!(f, "{}~{nth}", self.what),
        }
    }
}

impl Place {
    /// What it does, on whichever table and for whichever effect, and however often.
    pub(super) fn kind(&self) -> String {
        let mut segments = self.what.split('/');
        let mut kind: Vec<_> = segments.by_ref().take(1).map(str::to_owned).collect();
        if kind[0].ends_with(":tables") {
            let _of_a_table = segments.next();
        }
        kind.extend(segments.map(without_effect));
        kind.join("/")
    }

    /// The first operation of a name.
    pub(super) fn first(what: &str) -> Self {
        Self { what: what.to_owned(), nth: 1 }
    }
}

/// The names of the tables of a graph, by the identity in their paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(Arc<BTreeMap<String, String>>);

impl Names {
    /// The names in the graph of `store`, if there is one.
    pub(super) async fn of(store: &Store) -> Self {
        let Ok(graph) = Graph::open_read_only(store.reopened(), own_process()).await else {
            return Self::default();
        };
        let schema = Arc::clone(graph.snapshot().await.expect("a snapshot").schema());
        let named = schema.types().iter().map(|it| (it.identity.to_string(), it.name.clone()));
        Self(Arc::new(named.collect()))
    }

    /// The places of a log, in its order.
    pub(super) fn places(&self, log: &OperationLog) -> Vec<Place> {
        let mut seen = BTreeMap::<String, usize>::new();
        let mut place = |operation| {
            let what = self.what(operation);
            let nth = seen.entry(what.clone()).or_default();
            *nth += 1;
            Place { what, nth: *nth }
        };
        log.operations().map(&mut place).collect()
    }

    /// Picks the operation at `place` of a run, and no other.
    pub(super) fn picks(
        &self,
        place: &Place,
    ) -> impl Fn(&Operation) -> bool + Send + Sync + 'static {
        let (names, place, seen) = (self.clone(), place.clone(), AtomicUsize::new(0));
        move |operation| {
            operation.kind.is_durable()
                && names.what(operation) == place.what
                && seen.fetch_add(1, Ordering::SeqCst) + 1 == place.nth
        }
    }

    fn what(&self, operation: &Operation) -> String {
        let mut path = Vec::new();
        for segment in operation.path.split('/') {
            path.push(self.table(segment).unwrap_or_else(|| without_ids(segment)));
        }
        format!("{}:{}", kind(operation.kind), path.join("/"))
    }

    /// The name of the table that a directory is of.
    pub(super) fn table(&self, segment: &str) -> Option<String> {
        let (identity, _) = segment.rsplit_once('-')?;
        self.0.get(identity).cloned()
    }
}

fn kind(kind: OperationKind) -> String {
    let mut name = String::new();
    for letter in format!("{kind:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Version numbers stay, counted upwards; what was minted goes.
fn without_ids(segment: &str) -> String {
    let part = |part: &str| match part.parse::<u64>() {
        Ok(number) if number > u64::MAX / 2 => (u64::MAX - number).to_string(),
        _ if is_uuid(part) => "ID".to_owned(),
        _ => part.split('-').map(without_id).collect::<Vec<_>>().join("-"),
    };
    segment.split('.').map(part).collect::<Vec<_>>().join(".")
}

fn without_id(word: &str) -> &str {
    let is_minted = word.len() >= 10 && word.chars().any(|letter| letter.is_ascii_digit());
    if is_minted { "ID" } else { word }
}

/// Names of transactions count the effects of their attempt.
fn without_effect(segment: &str) -> String {
    let is_effect = |word: &&str| {
        word.strip_prefix('e')
            .is_none_or(|it| it.is_empty() || !it.bytes().all(|b| b.is_ascii_digit()))
    };
    segment.split('-').filter(is_effect).collect::<Vec<_>>().join("-")
}

fn is_uuid(text: &str) -> bool {
    text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

#[test]
fn the_name_of_an_operation_holds_what_is_the_same_in_every_run() {
    let named = [("7-1".to_owned(), "Person".to_owned())];
    let names = Names(Arc::new(named.into_iter().collect()));
    let what = |path: &str| {
        let path = path.to_owned();
        names.what(&Operation { kind: OperationKind::PutIfAbsent, path, bytes: 0, number: 0 })
    };
    let attempt = "01KB9M6V1Q2X3Y4Z5A6B7C8D9E";
    assert_eq!(
        what(&format!("tables/7-1-{attempt}/_versions/18446744073709551613.manifest")),
        "put-if-absent:tables/Person/_versions/2.manifest"
    );
    assert_eq!(
        what(&format!("_recovery/main/{attempt}.intent")),
        "put-if-absent:_recovery/main/ID.intent"
    );
    assert_eq!(what(&format!("a/1-{attempt}-e0-s0.txn")), "put-if-absent:a/1-ID-e0-s0.txn");
    assert_eq!(
        what(&format!("__manifest/_refs/branches/agent-1.{attempt}.json")),
        "put-if-absent:__manifest/_refs/branches/agent-1.ID.json"
    );
    let uuid = "0b8fd3a4-7be8-4bd8-a0cb-0d2f1c7a9e11";
    assert_eq!(what(&format!("a/data/{uuid}.lance")), "put-if-absent:a/data/ID.lance");
}

#[test]
fn the_kind_of_an_operation_is_the_same_on_every_table_and_for_every_effect() {
    let kind = |what: &str| Place { what: what.to_owned(), nth: 2 }.kind();
    let txn = |table: &str, effect: u32, step: u32| {
        format!("put:tables/{table}/_transactions/1-ID-e{effect}-s{step}.txn")
    };
    assert_eq!(kind(&txn("Person", 0, 1)), kind(&txn("Knows", 2, 1)));
    assert_ne!(kind(&txn("Person", 0, 1)), kind(&txn("Person", 0, 2)));
    let version = |place: &str, version: u32| format!("put:{place}/_versions/{version}.manifest");
    assert_ne!(kind(&version("tables/Person", 1)), kind(&version("tables/Person", 2)));
    assert_ne!(kind(&version("tables/Person", 1)), kind(&version("__manifest", 1)));
}
