//! Who uses a branch name: creators, one who decides what others left undecided, deleters, and writers
//! who publish. Each is a small machine that may stop anywhere, for ever.

use graphwrite_protocol_types::{NameState, OthersMay};

use super::Defect;
use super::records::{Put, Store, Verdict};

/// One who makes the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Creator {
    /// Lists the records.
    Lists,
    Begins(u8),
    Clones(u8),
    WritesContents(u8),
    Decides(u8, Verdict),
    /// Lists once more.
    Confirms(u8),
    /// Was told that the branch is made, under this number.
    Made(u8),
    Failed,
}

/// One who decides for others, after waiting for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Decider {
    Lists,
    /// Looks at the native branch.
    Looks(u8),
    Decides(u8, Verdict),
}

/// One who deletes the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Deleter {
    Lists,
    Deletes(u8),
    Over,
}

/// One who writes to the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Writer {
    /// Lists the records and takes the incarnation's token.
    Opens,
    Publishes {
        number: u8,
        creator: u8,
    },
    /// Lists the records after its commit landed.
    Confirms {
        number: u8,
        was_deleted: bool,
    },
    /// Was told that the commit counts. `was_deleted`: the delete had come before the commit.
    Committed {
        number: u8,
        was_deleted: bool,
    },
    Failed,
}

/// What an actor does next: a read that changes nothing, or an operation.
pub(crate) enum Next<A> {
    Becomes(A),
    Issues(Put),
    /// Nothing is open to it.
    Waits,
}

impl Creator {
    pub(crate) fn next(self, at: u8, store: &Store) -> Next<Self> {
        match self {
            Self::Lists if store.listed().state().rights().begin => {
                let next = store.highest().map_or(0, |highest| highest + 1);
                let fits = usize::from(next) < store.numbers.len();
                if fits { Next::Becomes(Self::Begins(next)) } else { Next::Waits }
            }
            Self::Lists | Self::Made(_) | Self::Failed => Next::Waits,
            Self::Begins(number) => Next::Issues(Put::Begin { number, creator: at }),
            Self::Clones(_) => Next::Issues(Put::Clone { creator: at }),
            Self::WritesContents(_) => Next::Issues(Put::Contents { creator: at }),
            Self::Decides(number, verdict) => Next::Issues(Put::Decide { number, verdict }),
            Self::Confirms(number) => {
                let own = store.numbers[usize::from(number)].begun == Some(at);
                let made = own && store.means(number);
                Next::Becomes(if made { Self::Made(number) } else { Self::Failed })
            }
        }
    }

    /// The owner's own failure: it decides void instead of going on.
    pub(crate) fn gives_up(self) -> Option<Self> {
        match self {
            Self::Clones(number) | Self::WritesContents(number) => {
                Some(Self::Decides(number, Verdict::Void))
            }
            _ => None,
        }
    }

    /// After its operation: `took_effect` is none if nothing was answered.
    pub(crate) fn after(self, took_effect: Option<bool>) -> Self {
        match (self, took_effect) {
            (Self::Begins(number), Some(true)) => Self::Clones(number),
            (Self::Begins(_), Some(false)) => Self::Lists,
            (Self::Clones(number), Some(_)) => Self::WritesContents(number),
            (Self::WritesContents(number), Some(_)) => Self::Decides(number, Verdict::Live),
            (Self::Decides(number, _), _) => Self::Confirms(number),
            // What is not known is not built upon.
            _ => Self::Failed,
        }
    }
}

impl Decider {
    pub(crate) fn next(self, defect: Defect, store: &Store) -> Next<Self> {
        match self {
            Self::Lists => match (store.listed().state(), store.highest()) {
                (NameState::Creating(_), Some(number)) => Next::Becomes(Self::Looks(number)),
                _ => Next::Waits,
            },
            Self::Looks(number) => {
                let state = store.looked_at(defect, number).state();
                Next::Becomes(match state.rights().others {
                    OthersMay::DecideLive => Self::Decides(number, Verdict::Live),
                    OthersMay::DecideVoidAfterWaiting => Self::Decides(number, Verdict::Void),
                    OthersMay::Nothing | OthersMay::Look => Self::Lists,
                })
            }
            Self::Decides(number, verdict) => Next::Issues(Put::Decide { number, verdict }),
        }
    }
}

impl Deleter {
    pub(crate) fn next(self, store: &Store) -> Next<Self> {
        match (self, store.highest()) {
            (Self::Lists, Some(number)) if store.listed().state().rights().delete => {
                Next::Becomes(Self::Deletes(number))
            }
            (Self::Lists | Self::Over, _) => Next::Waits,
            (Self::Deletes(number), _) => Next::Issues(Put::Delete { number }),
        }
    }
}

impl Writer {
    pub(crate) fn next(self, defect: Defect, at: u8, store: &Store) -> Next<Self> {
        match self {
            Self::Opens => {
                let number = store.highest().filter(|_| store.listed().state().rights().use_it);
                let token = number.and_then(|it| Some((it, store.numbers[usize::from(it)].begun?)));
                token.map_or(Next::Waits, |(number, creator)| {
                    Next::Becomes(Self::Publishes { number, creator })
                })
            }
            Self::Publishes { number, creator } => {
                Next::Issues(Put::Publish { number, creator, writer: at })
            }
            Self::Confirms { number, was_deleted } => {
                let counts = store.means(number) || defect == Defect::NoListAfterPublish;
                let committed = Self::Committed { number, was_deleted };
                Next::Becomes(if counts { committed } else { Self::Failed })
            }
            Self::Committed { .. } | Self::Failed => Next::Waits,
        }
    }

    pub(crate) fn after(self, store: &Store, took_effect: Option<bool>) -> Self {
        match (self, took_effect) {
            (Self::Publishes { number, .. }, Some(true)) => {
                let was_deleted = store.numbers[usize::from(number)].is_deleted;
                Self::Confirms { number, was_deleted }
            }
            _ => Self::Failed,
        }
    }
}
