//! Bytes of the recovery records.

use proptest::prelude::*;

use super::fixture::{attempt, domain, intent, pin};
use crate::*;

fn confirm() -> Confirm {
    Confirm { attempt: attempt(), achieved: vec![Some(pin(5, "x")), None] }
}

fn alive() -> Alive {
    Alive { attempt: attempt(), beat: 3, at_unix_us: 17 }
}

fn hex(bytes: &[u8]) -> String {
    let line = |chunk: &[u8]| chunk.iter().map(|b| format!("{b:02x}")).collect::<String>();
    bytes.chunks(32).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn intent_bytes_are_golden() {
    insta::assert_snapshot!(hex(&encode(domain(), &intent()).unwrap()));
}

#[test]
fn confirm_bytes_are_golden() {
    insta::assert_snapshot!(hex(&encode(domain(), &confirm()).unwrap()));
}

#[test]
fn alive_bytes_are_golden() {
    insta::assert_snapshot!(hex(&encode(domain(), &alive()).unwrap()));
}

#[test]
fn every_record_comes_back_as_it_was_written() {
    let bytes = encode(domain(), &intent()).unwrap();
    assert_eq!(decode::<Intent>(domain(), attempt(), &bytes), Ok(intent()));
    let bytes = encode(domain(), &confirm()).unwrap();
    assert_eq!(decode::<Confirm>(domain(), attempt(), &bytes), Ok(confirm()));
    let bytes = encode(domain(), &alive()).unwrap();
    assert_eq!(decode::<Alive>(domain(), attempt(), &bytes), Ok(alive()));
}

#[test]
fn a_record_of_another_graph_is_refused() {
    let bytes = encode(domain(), &intent()).unwrap();
    let other = IdentityDomain::from_u128(0xbad);
    let refused = decode::<Intent>(other, attempt(), &bytes);
    assert_eq!(
        refused,
        Err(CodecError::Domain { record: "intent", found: domain(), expected: other })
    );
}

#[test]
fn a_record_under_another_attempts_name_is_refused() {
    let bytes = encode(domain(), &intent()).unwrap();
    let named = AttemptId::from_u128(2);
    let refused = decode::<Intent>(domain(), named, &bytes);
    assert_eq!(refused, Err(CodecError::Name { record: "intent", named, found: attempt() }));
}

#[test]
fn a_record_of_another_kind_is_refused() {
    let bytes = encode(domain(), &alive()).unwrap();
    let refused = decode::<Confirm>(domain(), attempt(), &bytes);
    assert_eq!(refused, Err(CodecError::Kind { record: "confirm", found: 3 }));
}

/// Rewrites the checksum, so that the fault inside is met and not the checksum.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = bytes.len() - 16;
    let checksum = blake3::hash(&bytes[..content]);
    bytes[content..].copy_from_slice(&checksum.as_bytes()[..16]);
    bytes
}

#[test]
fn a_record_of_another_version_is_refused_by_number() {
    let mut bytes = encode(domain(), &intent()).unwrap();
    bytes[5] = 2;
    let refused = decode::<Intent>(domain(), attempt(), &resealed(bytes));
    assert_eq!(
        refused,
        Err(CodecError::Version { record: "intent", found: 2, supported: RECORD_VERSION })
    );
}

#[test]
fn bytes_behind_the_record_are_refused() {
    let mut bytes = encode(domain(), &alive()).unwrap();
    let at = bytes.len() - 16;
    bytes.insert(at, 0);
    let refused = decode::<Alive>(domain(), attempt(), &resealed(bytes));
    assert_eq!(refused, Err(CodecError::Body { record: "alive" }));
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let bytes = encode(domain(), &intent()).unwrap();
    for length in 0..bytes.len() {
        assert!(
            decode::<Intent>(domain(), attempt(), &bytes[..length]).is_err(),
            "cut at {length}"
        );
    }
    for at in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        assert!(decode::<Intent>(domain(), attempt(), &damaged).is_err(), "bit {at}");
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_value_or_a_typed_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode::<Intent>(domain(), attempt(), &bytes);
        let _ = decode::<Confirm>(domain(), attempt(), &bytes);
    }

    #[test]
    fn any_body_under_a_valid_seal_gives_a_value_or_a_typed_error(
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut bytes = encode(domain(), &alive()).unwrap();
        bytes.truncate(23);
        bytes[4] = Intent::KIND;
        bytes.extend(body);
        bytes.extend([0; 16]);
        let _ = decode::<Intent>(domain(), attempt(), &resealed(bytes));
    }
}
