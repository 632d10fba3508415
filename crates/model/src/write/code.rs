//! Small codes for what the protocol names by text: transactions, rows and versions. Each code
//! stands for exactly one production value, which this file derives. It knows no state.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use graphwrite_protocol_types::{AttemptId, Env, Pin as RealPin, TableIdentity, TxUuid};

/// How many tables a scenario has at most.
pub(crate) const TABLES: usize = 2;
/// How many attempts there are at most, over all writers.
pub(crate) const ATTEMPTS: usize = 4;
/// How many effects an attempt has at most.
pub(crate) const EFFECTS: usize = 2;
/// How many steps an effect has at most.
pub(crate) const STEPS: u8 = 3;
/// How many refs there can be: one per table, and one per effect under the name of its attempt.
pub(crate) const LINES: usize = TABLES + ATTEMPTS * EFFECTS;

/// The ref that an effect makes.
pub(crate) fn own_line(attempt: u8, effect: u8) -> u8 {
    TABLES as u8 + attempt * EFFECTS as u8 + effect
}

/// The attempt that makes a ref; none if it was there before the scenario.
pub(crate) fn maker_of(line: u8) -> Option<u8> {
    line.checked_sub(TABLES as u8).map(|own| own / EFFECTS as u8)
}

/// The identity of an attempt.
pub(crate) fn attempt_id(attempt: u8) -> AttemptId {
    AttemptId::from_u128(0xa0 + u128::from(attempt))
}

/// An environment that always draws the same number.
#[derive(Debug)]
struct Drawing(u128);

impl Env for Drawing {
    fn unix_micros(&self) -> u64 {
        0
    }

    fn monotonic_micros(&self) -> u64 {
        0
    }

    fn random_u128(&self) -> u128 {
        self.0
    }
}

/// The identity of a table.
pub(crate) fn identity(table: u8) -> TableIdentity {
    TableIdentity::mint(&Drawing(u128::from(table) + 1))
}

/// The table with this identity.
pub(crate) fn table_of(identity: TableIdentity) -> u8 {
    number(identity.table.get() - 1)
}

/// What a transaction did for its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Made {
    Step(u8),
    Fence,
    Restore,
    /// The version that a ref is made from.
    Clone,
}

impl Made {
    const EACH: [Self; 6] =
        [Self::Step(0), Self::Step(1), Self::Step(2), Self::Fence, Self::Restore, Self::Clone];
}

/// A transaction, as a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Tx(u8);

/// Every code with the transaction identity that the protocol derives for it.
static UUIDS: LazyLock<BTreeMap<Tx, TxUuid>> = LazyLock::new(|| {
    let attempts = 0..ATTEMPTS as u8;
    let effects = attempts.flat_map(|at| (0..EFFECTS as u8).map(move |effect| (at, effect)));
    let made = effects.flat_map(|(at, effect)| Made::EACH.map(|made| (at, effect, made)));
    let named = made.map(|(at, effect, made)| {
        let (attempt, index) = (attempt_id(at), u32::from(effect));
        let uuid = match made {
            Made::Step(step) => TxUuid::effect(attempt, index, u32::from(step)),
            Made::Fence => TxUuid::fence(attempt, index),
            Made::Restore => TxUuid::restore(attempt, index),
            Made::Clone => TxUuid::observed(format!("{attempt}-e{effect}-clone")),
        };
        (Tx::of(at, effect, made), uuid)
    });
    named.chain([(Tx::OLD, TxUuid::observed("before"))]).collect()
});

static CODES: LazyLock<BTreeMap<TxUuid, Tx>> =
    LazyLock::new(|| UUIDS.iter().map(|(code, uuid)| (uuid.clone(), *code)).collect());

impl Tx {
    /// What made the versions before the scenario began.
    pub(crate) const OLD: Self = Self(0);
    /// No transaction of the scenario.
    const STRANGE: Self = Self(u8::MAX);

    pub(crate) fn of(attempt: u8, effect: u8, made: Made) -> Self {
        let kind = Made::EACH.iter().position(|one| *one == made).unwrap_or(0) as u8;
        Self(1 + (attempt * EFFECTS as u8 + effect) * Made::EACH.len() as u8 + kind)
    }

    /// The transaction identity that storage has.
    pub(crate) fn uuid(self) -> TxUuid {
        UUIDS.get(&self).cloned().unwrap_or_else(|| TxUuid::observed("strange"))
    }

    /// The code of a transaction identity.
    pub(crate) fn read(uuid: &TxUuid) -> Self {
        CODES.get(uuid).copied().unwrap_or(Self::STRANGE)
    }

    pub(crate) fn is_fence(self) -> bool {
        let kind = self.0.checked_sub(1).map(|code| usize::from(code) % Made::EACH.len());
        kind.is_some_and(|kind| Made::EACH[kind] == Made::Fence)
    }
}

impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uuid())
    }
}

/// The rows of a table: which steps of which attempts they come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Rows(u16);

impl Rows {
    pub(crate) const NONE: Self = Self(0);

    /// The rows that one step adds.
    pub(crate) fn of_step(attempt: u8, step: u8) -> Self {
        Self(1 << (attempt * STEPS + step))
    }

    /// The rows that the first `steps` steps of an attempt add to one table.
    pub(crate) fn of_attempt(attempt: u8, steps: u8) -> Self {
        (0..steps).fold(Self::NONE, |rows, step| rows.with(Self::of_step(attempt, step)))
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows {:012b}", self.0)
    }
}

/// One version of a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Pin {
    pub(crate) version: u8,
    pub(crate) tx: Tx,
}

impl Pin {
    pub(crate) fn real(self) -> RealPin {
        RealPin { version: u64::from(self.version), tx_uuid: self.tx.uuid() }
    }

    pub(crate) fn read(pin: &RealPin) -> Self {
        Self { version: number(pin.version), tx: Tx::read(&pin.tx_uuid) }
    }
}

/// A version as the production types have it, as a code. No scenario comes near the limit.
pub(crate) fn number(version: u64) -> u8 {
    u8::try_from(version).unwrap_or(u8::MAX)
}
