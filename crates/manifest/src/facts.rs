//! What the creating commit says of the graph for ever: format stamp, identity domain, age floor.
//! It is schema metadata of the dataset, so it is read with the Lance manifest, before any row.

use std::collections::HashMap;

use graphwrite_protocol_types::{FormatStamp, IdentityDomain};

use crate::error::Damage;

const FORMAT: &str = "graphwrite.format";
const MIN_READER: &str = "graphwrite.min_reader";
const MIN_WRITER: &str = "graphwrite.min_writer";
const FEATURES: &str = "graphwrite.features";
const DOMAIN: &str = "graphwrite.identity_domain";
const AGE_FLOOR_S: &str = "graphwrite.age_floor_s";
const CREATED_BY: &str = "graphwrite.created_by";
const CREATED_AT: &str = "graphwrite.created_at_unix_us";

/// Age, in seconds, below which nothing may be deleted, when `init` is not told otherwise: a day.
pub const AGE_FLOOR_S_DEFAULT: u64 = 24 * 60 * 60;
/// The lowest age floor that `init` accepts, in seconds: an hour (design 01 section 9).
pub const AGE_FLOOR_S_MIN: u64 = 60 * 60;

/// Facts about a graph that no write changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFacts {
    /// What a binary must understand.
    pub stamp: FormatStamp,
    /// The graph's identity.
    pub domain: IdentityDomain,
    /// Age in seconds below which nothing may be deleted.
    pub age_floor_s: u64,
    /// Who created the graph.
    pub created_by: String,
    /// When, in microseconds since the Unix epoch on the creator's clock. For display only.
    pub created_at_unix_us: u64,
}

impl GraphFacts {
    pub(crate) fn to_metadata(&self) -> HashMap<String, String> {
        let pairs = [
            (FORMAT, self.stamp.format.to_string()),
            (MIN_READER, self.stamp.min_reader.to_string()),
            (MIN_WRITER, self.stamp.min_writer.to_string()),
            (FEATURES, self.stamp.features.join(",")),
            (DOMAIN, self.domain.to_string()),
            (AGE_FLOOR_S, self.age_floor_s.to_string()),
            (CREATED_BY, self.created_by.clone()),
            (CREATED_AT, self.created_at_unix_us.to_string()),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Everything but the stamp, which must have been admitted first: another format may say these
    /// things in another way.
    pub(crate) fn from_metadata(
        stamp: FormatStamp,
        metadata: &HashMap<String, String>,
    ) -> Result<Self, Damage> {
        Ok(Self {
            stamp,
            domain: value(metadata, DOMAIN)?,
            age_floor_s: value(metadata, AGE_FLOOR_S)?,
            created_by: value(metadata, CREATED_BY)?,
            created_at_unix_us: value(metadata, CREATED_AT)?,
        })
    }
}

/// The stamp; none when the dataset has none and so is not a graph.
pub(crate) fn stamp_of(metadata: &HashMap<String, String>) -> Result<Option<FormatStamp>, Damage> {
    if !metadata.contains_key(FORMAT) {
        return Ok(None);
    }
    let features: String = value(metadata, FEATURES)?;
    let features = features.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
    Ok(Some(FormatStamp {
        format: value(metadata, FORMAT)?,
        min_reader: value(metadata, MIN_READER)?,
        min_writer: value(metadata, MIN_WRITER)?,
        features: features.collect(),
    }))
}

fn value<T: std::str::FromStr>(
    metadata: &HashMap<String, String>,
    key: &'static str,
) -> Result<T, Damage> {
    let text = metadata.get(key).ok_or(Damage::Metadata { key, text: None })?;
    text.parse().map_err(|_| Damage::Metadata { key, text: Some(text.clone()) })
}
