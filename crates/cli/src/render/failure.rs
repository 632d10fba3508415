//! The forms of a failure: drawn for a person, plain for a log, JSON for a program.

use std::fmt::{Display, Write};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, ThemeCharacters, ThemeStyles};

use crate::failure::{Detail, Failure};
use crate::style::Style;
use crate::text;

pub(crate) fn render_failure(failure: &Failure, style: Style) -> String {
    if style.is_json() {
        failure.json() + "\n"
    } else if style.draw_errors {
        drawn(failure, style)
    } else {
        plain(failure, style)
    }
}

/// A failure as it is drawn: its details are lines of its message.
#[derive(Debug)]
struct Drawn<'a>(&'a Failure);

impl std::error::Error for Drawn<'_> {}

impl Display for Drawn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        self.0.details.iter().try_for_each(|detail| write!(f, "\n{detail}"))
    }
}

impl Diagnostic for Drawn<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(&self.0.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let parts: Vec<_> = self.0.state().into_iter().chain(non_empty(&self.0.help)).collect();
        non_empty(&parts.join("\n")).map(|help| Box::new(help) as Box<dyn Display>)
    }
}

impl Display for Detail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", text::shown(&self.place))?;
        if let Some(field) = &self.field {
            write!(f, ", field `{}`", text::shown(field))?;
        }
        write!(f, ": {} [{}]", text::shown(&self.message), text::shown(&self.rule))
    }
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text::shown_lines(text).into_owned())
}

fn drawn(failure: &Failure, style: Style) -> String {
    let styles = if style.color_errors { ThemeStyles::ansi() } else { ThemeStyles::none() };
    let theme = GraphicalTheme { characters: ThemeCharacters::unicode(), styles };
    let width = usize::from(style.width);
    let handler = GraphicalReportHandler::new_themed(theme).with_width(width).with_links(false);
    // A command in the help must stay on one line to be copied.
    let handler = handler.with_wrap_lines(false);
    let mut text = String::new();
    // Writing into a string cannot fail; what was drawn until then is better than nothing.
    let _ = handler.render_report(&mut text, &Drawn(failure));
    text
}

/// One line for each thing said, so that a log can be searched.
fn plain(failure: &Failure, style: Style) -> String {
    let code = format!("error[{}]:", failure.code);
    let code = if style.color_errors { format!("\u{1b}[1;31m{code}\u{1b}[0m") } else { code };
    let mut text = format!("{code} {failure}\n");
    for detail in &failure.details {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "  {detail}");
    }
    for line in failure.state().iter().flat_map(|state| state.lines()) {
        let _ = writeln!(text, "  state: {line}");
    }
    for line in text::shown_lines(&failure.help).lines() {
        let _ = writeln!(text, "  help: {line}");
    }
    text
}
