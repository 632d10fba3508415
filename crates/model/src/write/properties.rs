//! What must hold in every state, and what must happen in some, so that a model in which nothing
//! happens does not pass.

use stateright::Property;

use super::code::Rows;
use super::recovery::Recovery;
use super::setting::Setting;
use super::solo::ends_everything_alone;
use super::store::{Branch, Store};
use super::system::{System, Write};
use super::view::{Head, Row};
use super::writer::{Answer, Writer};

/// Every property.
pub(crate) fn all() -> Vec<Property<Write>> {
    vec![
        Property::always(
            "visible content is what was committed",
            |model: &Write, state: &System| visible_is_committed(&model.setting, &state.store),
        ),
        Property::always("nothing acknowledged is lost", |model: &Write, state: &System| {
            acknowledged_is_committed(&model.setting, state)
        }),
        Property::always("no refused request has an effect", |model: &Write, state: &System| {
            refused_is_without_effect(&model.setting, state)
        }),
        Property::always("HEAD is not below its pin", |model: &Write, state: &System| {
            heads_are_above_pins(&model.setting, &state.store)
        }),
        Property::always("a request is decided once", |_: &Write, state: &System| {
            !state.store.wrongs.decided_twice
        }),
        Property::always(
            "what was read still holds at publication",
            |_: &Write, state: &System| !state.store.wrongs.read_something_else,
        ),
        Property::always("one recoverer alone ends everything", |model: &Write, state: &System| {
            ends_everything_alone(&model.setting, &state.store)
        }),
        Property::always(
            "recovery does not decide against an outcome",
            |_: &Write, state: &System| {
                let own = state.writers.iter().filter_map(Writer::recovery);
                !state.recoverers.iter().flatten().chain(own).any(Recovery::is_misjudged)
            },
        ),
        Property::sometimes("a request is acknowledged", |_: &Write, state: &System| {
            state.writers.iter().any(|writer| writer.answer == Answer::Committed)
        }),
        Property::sometimes("an attempt is taken back", |_: &Write, state: &System| {
            state.store.rows.contains(&Row::RolledBack)
        }),
    ]
}

/// On every incarnation of the branch: the rows of the attempts that committed there, all of them, and
/// no others. A pin names a version that exists.
pub(crate) fn visible_is_committed(setting: &Setting, store: &Store) -> bool {
    let made = if store.branch == Branch::Second { 2 } else { 1 };
    (0..).zip(&store.views[..made]).all(|(incarnation, view)| {
        (0..).zip(view).all(|(table, head)| match head {
            Head::Tombstoned => true,
            Head::Absent => committed_rows(setting, store, incarnation, table) == Rows::NONE,
            Head::Live { .. } => {
                let expected = committed_rows(setting, store, incarnation, table);
                store.rows_under(setting, *head) == Some(expected)
            }
        })
    })
}

fn committed_rows(setting: &Setting, store: &Store, incarnation: usize, table: u8) -> Rows {
    let scenario = &setting.scenario;
    let committed = scenario.attempts().filter(|attempt| {
        scenario.incarnation(*attempt) == incarnation && store.row(*attempt) == Row::Committed
    });
    committed.fold(Rows::NONE, |rows, attempt| {
        let steps = scenario.request(attempt).map_or(0, |request| request.steps_on(table));
        rows.with(Rows::of_attempt(attempt, steps))
    })
}

fn acknowledged_is_committed(setting: &Setting, state: &System) -> bool {
    let acknowledged = state.writers.iter().filter(|it| it.answer == Answer::Committed);
    acknowledged
        .into_iter()
        .all(|writer| is_committed(setting, &state.store, writer.request(setting).first))
}

fn refused_is_without_effect(setting: &Setting, state: &System) -> bool {
    let refused = state.writers.iter().filter(|it| it.answer == Answer::NoEffect);
    refused.into_iter().all(|writer| {
        let request = writer.request(setting);
        let mut attempts = request.first..request.first + request.attempts;
        attempts.all(|attempt| state.store.row(attempt) != Row::Committed)
    })
}

fn is_committed(setting: &Setting, store: &Store, attempt: u8) -> bool {
    store.committed_attempt(setting, attempt).is_some()
}

/// For every table of the incarnation that the branch's name means.
pub(crate) fn heads_are_above_pins(setting: &Setting, store: &Store) -> bool {
    let Some(incarnation) = store.live_incarnation() else { return true };
    store.views[incarnation].iter().filter_map(|head| head.live()).all(|(line, pin)| {
        let head = store.line(setting, line).head();
        head.is_some_and(|head| head.version >= pin.version)
    })
}
