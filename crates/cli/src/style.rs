//! Decides the form and the colour of what a run writes, from its arguments and surroundings.

use crate::command::{Color, Format, OutputArgs};
use crate::io::Surroundings;

/// The form of everything that one run writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Form of the result.
    pub(crate) format: Format,
    /// Whether the result is coloured.
    pub(crate) color_output: bool,
    /// Whether errors are coloured.
    pub(crate) color_errors: bool,
    /// Whether errors are drawn for a person.
    pub(crate) draw_errors: bool,
    /// Width to draw in.
    pub(crate) width: u16,
}

/// A width that fits every terminal.
const WIDTH_DEFAULT: u16 = 100;

impl Style {
    pub(crate) fn of(args: OutputArgs, color: Color, around: &Surroundings) -> Self {
        let asked = if args.json { Some(Format::Json) } else { args.format };
        let default = if around.output_is_terminal { Format::Table } else { Format::Plain };
        Self::with(asked.unwrap_or(default), color, around)
    }

    pub(crate) fn with(format: Format, color: Color, around: &Surroundings) -> Self {
        Self {
            format,
            color_output: colored(color, around, around.output_is_terminal),
            color_errors: colored(color, around, around.errors_are_terminal),
            draw_errors: around.errors_are_terminal,
            width: around.width.unwrap_or(WIDTH_DEFAULT),
        }
    }

    /// Whether a program reads what is written, errors included.
    pub(crate) fn is_json(self) -> bool {
        matches!(self.format, Format::Json | Format::Jsonl)
    }
}

/// The flag wins over NO_COLOR, which wins over CLICOLOR_FORCE, which wins over the terminal.
pub(crate) fn colored(color: Color, around: &Surroundings, is_terminal: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => !around.no_color && (around.force_color || is_terminal),
    }
}

/// What a command line that could not be parsed says about the form of errors.
pub(crate) fn asks_for_json(args: &[String]) -> bool {
    let pairs = args.windows(2).any(|pair| pair[0] == "--format" && names_json(&pair[1]));
    let joined = args.iter().filter_map(|arg| arg.strip_prefix("--format=")).any(names_json);
    pairs || joined || args.iter().any(|arg| arg == "--json")
}

fn names_json(form: &str) -> bool {
    form == "json" || form == "jsonl"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal() -> Surroundings {
        Surroundings { output_is_terminal: true, errors_are_terminal: true, ..Default::default() }
    }

    fn format(args: OutputArgs, around: &Surroundings) -> Format {
        Style::of(args, Color::Auto, around).format
    }

    const NOTHING: OutputArgs = OutputArgs { format: None, json: false };

    #[test]
    fn a_table_is_the_default_only_on_a_terminal() {
        assert_eq!(format(NOTHING, &terminal()), Format::Table);
        assert_eq!(format(NOTHING, &Surroundings::default()), Format::Plain);
    }

    #[test]
    fn the_form_that_was_asked_for_wins_over_the_terminal() {
        let json = OutputArgs { format: None, json: true };
        assert_eq!(format(json, &terminal()), Format::Json);
        let table = OutputArgs { format: Some(Format::Table), json: false };
        assert_eq!(format(table, &Surroundings::default()), Format::Table);
    }

    #[test]
    fn colour_follows_the_flag_then_the_variables_then_the_terminal() {
        let plain = Surroundings::default();
        let none = Surroundings { no_color: true, ..terminal() };
        let force = Surroundings { force_color: true, ..Default::default() };
        let both = Surroundings { no_color: true, force_color: true, ..terminal() };
        let auto = |around: &Surroundings| Style::of(NOTHING, Color::Auto, around).color_output;
        assert!(auto(&terminal()) && auto(&force));
        assert!(!auto(&plain) && !auto(&none) && !auto(&both));
        assert!(Style::of(NOTHING, Color::Always, &none).color_output);
        assert!(!Style::of(NOTHING, Color::Never, &force).color_output);
    }

    #[test]
    fn a_broken_command_line_still_says_that_a_program_reads_the_errors() {
        let asks =
            |line: &str| asks_for_json(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(asks("load --json --nonsense"));
        assert!(asks("load --format jsonl --nonsense"));
        assert!(asks("load --format=json --nonsense"));
        assert!(!asks("load --format table --nonsense"));
    }
}
