//! A bar on standard error while a person waits. Without a terminal there is none.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::io::Surroundings;

/// The progress of one command.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

const BYTES: &str = "{msg} [{bar:30}] {bytes}/{total_bytes}, {eta} left";
const COUNT: &str = "{spinner} {msg} {pos}";

impl Progress {
    /// Progress through `total` bytes; without a known total, a count.
    pub(crate) fn bytes(what: &str, total: Option<u64>, around: &Surroundings) -> Self {
        let bar = match total {
            Some(total) => ProgressBar::with_draw_target(Some(total), target(around)),
            None => ProgressBar::with_draw_target(None, target(around)),
        };
        Self::styled(bar, if total.is_some() { BYTES } else { COUNT }, what)
    }

    /// A count of what was done, its end unknown.
    pub(crate) fn count(what: &str, around: &Surroundings) -> Self {
        Self::styled(ProgressBar::with_draw_target(None, target(around)), COUNT, what)
    }

    fn styled(bar: ProgressBar, template: &str, what: &str) -> Self {
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    pub(crate) fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Says something while the bar is out of the way.
    pub(crate) fn aside(&self, say: impl FnOnce()) {
        self.0.suspend(say);
    }

    /// The next part of the work, whose length nobody knows.
    pub(crate) fn goes_on(&self, what: &str) {
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        self.0.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        self.0.set_message(what.to_owned());
    }
}

/// What was drawn disappears with the work, so that the receipt stands alone.
impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn target(around: &Surroundings) -> ProgressDrawTarget {
    if around.errors_are_terminal {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_nothing_is_drawn() {
        let progress = Progress::bytes("reading", Some(10), &Surroundings::default());
        assert!(progress.0.is_hidden());
    }

    #[test]
    fn every_template_is_valid() {
        for template in [BYTES, COUNT, "{spinner} {msg} {elapsed}"] {
            ProgressStyle::with_template(template).unwrap();
        }
    }
}
