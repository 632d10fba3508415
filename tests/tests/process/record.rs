//! The recovery records of a graph, as another machine, another build or a damaged disk would have left
//! them. With the catalogue of failpoints, all that these tests know of the library.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use graphwrite_protocol_types::{
    AttemptId, Confirm, ControlRecord, IdentityDomain, Intent, decode, encode,
};

use super::site::{Site, text};

/// An attempt that no process has made.
pub(super) const NOBODY: &str = "01JDX1PQ000000000000000001";

/// The object of an intent, by its path below the graph.
pub(super) fn object(name: &str) -> String {
    format!("_recovery/main/{name}")
}

/// The file of a record.
pub(super) fn path(site: &Site, name: &str) -> PathBuf {
    Path::new(site.graph()).join(object(name))
}

/// The bytes of the intent of `attempt`.
pub(super) fn bytes(site: &Site, attempt: &str) -> Vec<u8> {
    std::fs::read(path(site, &format!("{attempt}.intent"))).unwrap()
}

/// Puts an object among the records.
pub(super) fn put(site: &Site, name: &str, bytes: &[u8]) {
    let path = path(site, name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn domain(site: &Site) -> IdentityDomain {
    text(&site.status(), "domain").parse().unwrap()
}

/// Changes what the intent of `attempt` says.
pub(super) fn change(site: &Site, attempt: &str, change: impl FnOnce(&mut Intent)) {
    let (domain, id) = (domain(site), attempt.parse::<AttemptId>().unwrap());
    let mut intent: Intent = decode(domain, id, &bytes(site, attempt)).unwrap();
    change(&mut intent);
    put(site, &format!("{attempt}.intent"), &encode(domain, &intent).unwrap());
}

/// The confirmation of an attempt that no process has made.
pub(super) fn confirm(site: &Site, attempt: &str) -> Vec<u8> {
    let confirm = Confirm { attempt: attempt.parse().unwrap(), achieved: Vec::new() };
    encode(domain(site), &confirm).unwrap()
}

/// The same record as a build of another version of the format writes it: whole, with its checksum.
pub(super) fn of_version(record: &[u8], version: u16) -> Vec<u8> {
    let (content, checksum) = record.split_at(record.len() - 16);
    let mut bytes = content.to_vec();
    assert_eq!(bytes[4], Intent::KIND);
    assert_eq!(blake3::hash(content).as_bytes()[..16], *checksum);
    bytes[5..7].copy_from_slice(&version.to_le_bytes());
    let checksum = blake3::hash(&bytes);
    bytes.extend_from_slice(&checksum.as_bytes()[..16]);
    bytes
}

/// Says when the intent of `attempt` was written last.
pub(super) fn written_at(site: &Site, attempt: &str, at: SystemTime) {
    let path = path(site, &format!("{attempt}.intent"));
    File::options().append(true).open(path).unwrap().set_modified(at).unwrap();
}
