//! Holds each entry point to its protocol, over the call graph: a graph write goes through the one
//! attempt function and acts nowhere else; everything else comes to no act but those it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Found;
use super::calls::{Calls, Function, Reached, Variant};
use super::table::{self, COMES_TO, EntryPoint, Protocol, THEN};
use crate::finding::Finding;

/// Something that changes a graph or its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    /// The one function that takes a graph write through its stages.
    Attempt,
    /// Makes an intent durable.
    Arm,
    /// Writes data files that no version names yet.
    Stage,
    /// Commits to a table or to the manifest.
    Commit,
    /// Creates a dataset.
    Create,
    /// Commits to the manifest through its arbitration.
    Publish,
    /// Creates a control object.
    Put,
    /// Deletes objects.
    Delete,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attempt => "attempt",
            Self::Arm => "arm",
            Self::Stage => "stage",
            Self::Commit => "commit",
            Self::Create => "create",
            Self::Publish => "publish",
            Self::Put => "put",
            Self::Delete => "delete",
        })
    }
}

/// The functions that act, by crate, owner and name.
const ACTS: [(&str, Option<&str>, &str, Act); 10] = [
    ("coordinator", None, "attempt", Act::Attempt),
    ("substrate", Some("IntentStore"), "arm", Act::Arm),
    ("substrate", None, "strict_commit", Act::Commit),
    ("substrate", None, "create_dataset", Act::Create),
    ("substrate", None, "clone_ref", Act::Create),
    ("manifest", Some("Manifest"), "publish", Act::Publish),
    ("substrate", Some("Store"), "put_if_absent", Act::Put),
    ("substrate", Some("Store"), "put_own", Act::Put),
    ("substrate", Some("Store"), "delete", Act::Delete),
    ("substrate", None, "delete_dataset", Act::Delete),
];

/// Functions of the substrate with this prefix write data files, but for those of K3.
const STAGES: &str = "stage_";
const EMPTY_STAGES: [&str; 2] = ["stage_fence", "stage_restore"];

pub(crate) fn act_of(function: &Function<'_>) -> Option<Act> {
    let listed = ACTS.iter().find(|(room, owner, name, _)| function.is(room, *owner, name));
    let stages = function.room() == "substrate"
        && function.owner.is_none()
        && function.name.starts_with(STAGES)
        && !EMPTY_STAGES.contains(&function.name.as_str());
    listed.map(|(.., act)| *act).or(stages.then_some(Act::Stage))
}

pub(crate) fn check(calls: &Calls<'_>, found: &[Found], listed: &[EntryPoint]) -> Vec<Finding> {
    let flows = Flows {
        calls,
        found,
        listed,
        attempts: calls.select(|it| act_of(it) == Some(Act::Attempt)),
    };
    let mut findings = flows.acts_that_are_gone();
    for row in listed {
        if let Some(found) = found.iter().find(|found| found.name == row.name) {
            findings.extend(flows.judge(row, found));
        }
    }
    findings.extend(flows.outside_commands());
    findings
}

/// Public functions that nobody awaits must not act.
pub(crate) fn unexpected(calls: &Calls<'_>, found: &[Found]) -> Vec<Finding> {
    let flows = Flows { calls, found, listed: &[], attempts: BTreeSet::new() };
    let judged = found.iter().flat_map(|found| {
        let reached = calls.reach(&calls.at(&found.place), &BTreeSet::new());
        let subject = format!("`{}` is not async", found.name);
        let fault = |(act, function)| flows.fault(&subject, act, function, &reached, "entry-point");
        flows.acts_in(&reached).into_iter().map(fault).collect::<Vec<_>>()
    });
    judged.collect()
}

struct Flows<'a> {
    calls: &'a Calls<'a>,
    found: &'a [Found],
    listed: &'a [EntryPoint],
    attempts: BTreeSet<usize>,
}

impl Flows<'_> {
    /// A function that acts under another name would not be seen.
    fn acts_that_are_gone(&self) -> Vec<Finding> {
        let gone = ACTS.iter().filter(|(room, owner, name, _)| {
            self.calls.select(|function| function.is(room, *owner, name)).len() != 1
        });
        let found = gone.map(|(room, owner, name, act)| {
            let shown =
                owner.map_or_else(|| (*name).to_owned(), |owner| format!("{owner}::{name}"));
            let text =
                format!("`{shown}` of `{room}`, which does `{act}`, is not there exactly once");
            Finding::fault("xtask/src/audit/flows.rs", "act", text)
        });
        found.collect()
    }

    fn judge(&self, row: &EntryPoint, found: &Found) -> Vec<Finding> {
        let roots = self.roots(found);
        if roots.is_empty() {
            let text = format!("no code carries out `{}` that the audit can see", row.name);
            return vec![Finding::fault(&*found.place, "no-code", text)];
        }
        match row.protocol {
            Protocol::GraphWrite(adapter) => self.graph_write(row, found, &roots, adapter),
            Protocol::ReadOnly | Protocol::Port => self.only(row, &roots, &[]),
            Protocol::Control | Protocol::AuthorityFirst => {
                let may = COMES_TO.iter().find(|(name, _)| *name == row.name);
                self.only(row, &roots, may.map_or(&[], |(_, acts)| acts))
            }
        }
    }

    /// The functions that the entry point is.
    fn roots(&self, found: &Found) -> BTreeSet<usize> {
        if found.variants.is_empty() {
            let (owner, name) = found.name.split_once("::").unwrap_or(("", &found.name));
            let waits = found.name.strip_suffix(".await");
            let mut roots = self.calls.at(&found.place);
            roots.extend(self.calls.select(|function| {
                let of = function.of_trait.as_deref();
                let implements = of == Some(owner) && function.name == name;
                let awaited = waits.is_some()
                    && function.owner.as_deref() == waits
                    && of.is_some_and(|it| it.ends_with("Future"));
                implements || awaited
            }));
            return roots;
        }
        self.calls.select(|function| carries_out(&function.variants, &found.variants))
    }

    fn graph_write(
        &self,
        row: &EntryPoint,
        found: &Found,
        roots: &BTreeSet<usize>,
        adapter: &str,
    ) -> Vec<Finding> {
        let within = self.calls.reach(roots, &BTreeSet::new());
        let mut findings = Vec::new();
        if !self.attempts.iter().any(|attempt| within.contains(*attempt)) {
            let text = format!("`{}` is a graph write and does not come to `attempt`", row.name);
            findings.push(Finding::fault(&*found.place, "no-attempt", text));
        }
        if row.is_command() && !self.writes_through(&within, adapter) {
            let text = format!("`{}` must go through adapter `{adapter}` and no other", row.name);
            findings.push(Finding::fault(&*found.place, "adapter", text));
        }
        let (then, gone) = self.then(row, &within);
        findings.extend(gone);
        let around = self.calls.reach(roots, &self.attempts.union(&then).copied().collect());
        let acts = self.acts_in(&around).into_iter().filter(|(act, _)| *act != Act::Attempt);
        let fault =
            |(act, function)| self.fault(&subject(row), act, function, &around, "around-attempt");
        findings.extend(acts.map(fault));
        findings
    }

    /// The control operations that the entry point is listed with; they have rows of their own.
    fn then(&self, row: &EntryPoint, within: &Reached) -> (BTreeSet<usize>, Vec<Finding>) {
        let (mut roots, mut findings) = (BTreeSet::new(), Vec::new());
        for (_, name) in THEN.iter().filter(|(of, _)| *of == row.name) {
            let is_control = |it: &EntryPoint| it.name == *name && it.protocol == Protocol::Control;
            let found = self.found.iter().find(|found| found.name == *name);
            let found = found.filter(|_| self.listed.iter().any(is_control));
            let carries_out = found.map(|found| self.roots(found)).unwrap_or_default();
            if !carries_out.iter().any(|root| within.contains(*root)) {
                let text =
                    format!("`{}` is listed with `{name}`, to which it does not come", row.name);
                findings.push(Finding::fault(table::PLACE, "never-reached", text));
            }
            roots.extend(carries_out);
        }
        (roots, findings)
    }

    /// Whether the only graph writes of the library that are reached are those of one adapter.
    fn writes_through(&self, reached: &Reached, adapter: &str) -> bool {
        let library = self.listed.iter().filter(|row| !row.is_command());
        let adapters = library.filter_map(|row| match row.protocol {
            Protocol::GraphWrite(adapter) => {
                let found = self.found.iter().find(|found| found.name == row.name)?;
                self.roots(found).iter().any(|it| reached.contains(*it)).then_some(adapter)
            }
            _ => None,
        });
        adapters.collect::<BTreeSet<_>>() == BTreeSet::from([adapter])
    }

    /// The entry point comes to these acts, all of them, and to nothing else.
    fn only(&self, row: &EntryPoint, roots: &BTreeSet<usize>, may: &[Act]) -> Vec<Finding> {
        let reached = self.calls.reach(roots, &BTreeSet::new());
        let acts = self.acts_in(&reached);
        let beyond = acts.iter().filter(|(act, _)| !may.contains(act));
        let mut findings: Vec<Finding> = beyond
            .map(|(act, it)| self.fault(&subject(row), *act, *it, &reached, "beyond-protocol"))
            .collect();
        for act in may.iter().filter(|act| !acts.contains_key(act)) {
            let text = format!("`{}` is listed with `{act}`, to which it does not come", row.name);
            findings.push(Finding::fault(table::PLACE, "never-reached", text));
        }
        findings
    }

    /// The acts that are reached, each with the nearest function that does it.
    fn acts_in(&self, reached: &Reached) -> BTreeMap<Act, usize> {
        let mut acts: BTreeMap<Act, usize> = BTreeMap::new();
        for index in reached.iter() {
            let Some(act) = act_of(&self.calls.functions[index]) else { continue };
            let nearest = acts.entry(act).or_insert(index);
            if reached.way(index).len() < reached.way(*nearest).len() {
                *nearest = index;
            }
        }
        acts
    }

    fn fault(
        &self,
        subject: &str,
        act: Act,
        function: usize,
        reached: &Reached,
        rule: &'static str,
    ) -> Finding {
        let way = reached.way(function);
        let shown: Vec<String> =
            way.iter().map(|index| self.calls.functions[*index].shown()).collect();
        let text = format!("{subject} and comes to `{act}`: {}", shown.join(" > "));
        Finding::fault(self.calls.functions[way[0]].place(), rule, text)
    }

    /// What the tool does before and after its commands must not act.
    fn outside_commands(&self) -> Vec<Finding> {
        let roots = self.calls.select(|it| it.is("cli", None, "main") || it.is("cli", None, "run"));
        let reached = self.calls.reach(&roots, &BTreeSet::new());
        let subject = "the tool is outside of its commands";
        let fault = |(act, it)| self.fault(subject, act, it, &reached, "outside-commands");
        self.acts_in(&reached).into_iter().map(fault).collect()
    }
}

fn subject(row: &EntryPoint) -> String {
    format!("`{}` is {}", row.name, row.protocol.name())
}

/// Whether an arm that names the variants `arm` is taken for the command that `command` leads to: of
/// every enum that the arm names, it names the command's variant.
fn carries_out(arm: &[Variant], command: &[Variant]) -> bool {
    let names = |variant: &Variant| arm.contains(variant);
    let contradicts = |(owner, _): &Variant| arm.iter().any(|(of, _)| of == owner);
    command.iter().any(names)
        && command.iter().all(|variant| names(variant) || !contradicts(variant))
}
