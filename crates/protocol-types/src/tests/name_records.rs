//! Bytes of the name records, and what follows from a fork.

use super::fixture::{domain, pin};
use crate::*;

fn attempt(number: u128) -> AttemptId {
    AttemptId::from_u128(number)
}

fn owner() -> OwnerRecord {
    OwnerRecord {
        instance: ProcessInstanceId::from_u128(5),
        pid: 77,
        pid_namespace: Some("pid:[1]".into()),
        boot_id: None,
        process_start_ticks: Some(3),
        host: "h".into(),
    }
}

fn begun(name: &str, by: u128, fork: ForkPoint) -> NameBegun {
    NameBegun {
        name: name.parse().unwrap(),
        number: 3,
        attempt: attempt(by),
        fork,
        owner: owner(),
        actor: "ada".into(),
        begun_at_unix_us: 17,
    }
}

fn of_main(version: u64) -> ForkPoint {
    let main = BranchToken::main(domain());
    ForkPoint::of(&main, None, Some(CommitId::from_u128(8)), pin(version, "m"))
}

/// A fork of the branch that `parent` is, at `version` of its line.
fn of_branch(parent: &NameBegun, version: u64) -> ForkPoint {
    ForkPoint::of(&parent.token(), Some(&parent.fork), None, pin(version, "b"))
}

fn ancestry(fork: &ForkPoint) -> Vec<(NativeBranch, u64)> {
    fork.ancestry.iter().map(|of| (of.native.clone(), of.until_version)).collect()
}

fn decided() -> NameDecided {
    begun("a/B", 0xa1, of_main(12)).decided_live(ProcessInstanceId::from_u128(6), 18)
}

fn void() -> NameDecided {
    let begun = begun("a/B", 0xa1, of_main(12));
    begun.decided_void("no space", ProcessInstanceId::from_u128(6), 18)
}

fn deleted() -> NameDeleted {
    NameDeleted {
        name: "a/B".parse().unwrap(),
        number: 3,
        by: ProcessInstanceId::from_u128(6),
        actor: "ada".into(),
        deleted_at_unix_us: 19,
    }
}

fn hex(bytes: &[u8]) -> String {
    let line = |chunk: &[u8]| chunk.iter().map(|b| format!("{b:02x}")).collect::<String>();
    bytes.chunks(32).map(line).collect::<Vec<_>>().join("\n")
}

fn bytes<R: NameRecord>(record: &R) -> Vec<u8> {
    encode_name_record(domain(), record).unwrap()
}

fn read<R: NameRecord>(name: &str, number: u64, bytes: &[u8]) -> Result<R, CodecError> {
    decode_name_record(domain(), &name.parse().unwrap(), number, bytes)
}

#[test]
fn beginning_bytes_are_golden() {
    insta::assert_snapshot!(hex(&bytes(&begun("a/B", 0xa1, of_main(12)))));
}

#[test]
fn decision_bytes_are_golden() {
    insta::assert_snapshot!(hex(&bytes(&decided())));
    insta::assert_snapshot!(hex(&bytes(&void())));
}

#[test]
fn deletion_bytes_are_golden() {
    insta::assert_snapshot!(hex(&bytes(&deleted())));
}

#[test]
fn every_record_comes_back_as_it_was_written() {
    let beginning = begun("a/B", 0xa1, of_main(12));
    assert_eq!(read("a/B", 3, &bytes(&beginning)), Ok(beginning));
    assert_eq!(read("a/B", 3, &bytes(&decided())), Ok(decided()));
    assert_eq!(read("a/B", 3, &bytes(&void())), Ok(void()));
    assert_eq!(read("a/B", 3, &bytes(&deleted())), Ok(deleted()));
}

#[test]
fn a_record_under_another_name_or_number_is_refused() {
    for (name, number) in [("a/b", 3), ("a/B", 4)] {
        let refused = read::<NameDeleted>(name, number, &bytes(&deleted())).unwrap_err();
        assert!(matches!(&refused, CodecError::Place { .. }), "{refused}");
        let text = refused.to_string();
        assert!(text.contains(&format!("`{name}` number {number}")), "{text}");
        assert!(text.contains("`a/B` number 3"), "{text}");
    }
}

#[test]
fn a_record_of_another_kind_or_graph_is_refused() {
    let refused = read::<NameDecided>("a/B", 3, &bytes(&deleted()));
    assert_eq!(refused, Err(CodecError::Kind { record: "branch decision", found: 6 }));
    let name = "a/B".parse().unwrap();
    let other = IdentityDomain::from_u128(0xbad);
    let refused = decode_name_record::<NameDeleted>(other, &name, 3, &bytes(&deleted()));
    assert!(matches!(refused, Err(CodecError::Domain { .. })));
}

#[test]
fn any_flipped_bit_of_a_record_is_noticed() {
    let whole = bytes(&decided());
    for at in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        assert!(read::<NameDecided>("a/B", 3, &damaged).is_err(), "bit {at}");
    }
}

#[test]
fn a_decision_gives_the_token_that_the_beginning_promised() {
    let beginning = begun("a/B", 0xa1, of_main(12));
    let live = decided().live().unwrap();
    assert_eq!((&live.token, &live.fork), (&beginning.token(), &beginning.fork));
    assert_eq!(live.token.identifier.forked_at(), 12);
    assert_eq!(void().live(), None);
}

#[test]
fn a_fork_of_main_clones_main() {
    let fork = of_main(12);
    assert_eq!(ancestry(&fork), [(NativeBranch::main(), 12)]);
    assert_eq!(fork.cloned_from(), &NativeBranch::main());
    let id = format!("{:032x}", 0xa1);
    assert_eq!(fork.identifier_for(attempt(0xa1)), RefIdentifier::Native(vec![(12, id)]));
}

#[test]
fn a_fork_of_a_branch_clones_it_and_knows_where_older_versions_are() {
    let parent = begun("p", 1, of_main(12));
    let child = begun("c", 2, of_branch(&parent, 15));
    let fork = of_branch(&child, 20);
    let line = [(NativeBranch::main(), 12), (parent.native(), 15), (child.native(), 20)];
    assert_eq!(ancestry(&fork), line);
    assert_eq!(fork.cloned_from(), &child.native());
    let holders = [1, 12, 13, 15, 16, 20].map(|version| fork.holder_of(version).cloned());
    let [main, parents, childs] = line.map(|(native, _)| Some(native));
    assert_eq!(holders, [main.clone(), main, parents.clone(), parents, childs.clone(), childs]);
    assert_eq!(fork.holder_of(21), None);
    let versions = match fork.identifier_for(attempt(3)) {
        RefIdentifier::Native(mapping) => mapping.into_iter().map(|(version, _)| version).collect(),
        RefIdentifier::Main(_) => Vec::new(),
    };
    assert_eq!(versions, [12, 15, 20]);
}

#[test]
fn a_fork_of_an_inherited_commit_clones_the_ancestor_that_has_it() {
    let parent = begun("p", 1, of_main(12));
    let child = begun("c", 2, of_branch(&parent, 15));
    let old = of_branch(&child, 10);
    assert_eq!(ancestry(&old), [(NativeBranch::main(), 10)]);
    let id = format!("{:032x}", 9);
    assert_eq!(old.identifier_for(attempt(9)), RefIdentifier::Native(vec![(10, id)]));
    let between = of_branch(&child, 14);
    assert_eq!(between.cloned_from(), &parent.native());
    assert_eq!(between.source, child.token());
}

#[test]
fn a_fork_of_a_branch_without_commits_of_its_own_is_a_fork_of_what_it_was_made_of() {
    let parent = begun("p", 1, of_main(12));
    let fork = of_branch(&parent, 12);
    assert_eq!(fork.manifest, parent.fork.manifest);
    assert_eq!(fork.cloned_from(), &NativeBranch::main());
}
