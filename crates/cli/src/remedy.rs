//! Commands that the tool proposes, on the branch that the command at hand was about: a request or an
//! attempt on a branch is unknown on every other.

use graphwrite_protocol_types::BranchSelector;

use crate::command::{BranchCommand, Command, CommitCommand, GraphPlace, IntentCommand};
use crate::failure::Failure;

/// The commands that are about one branch.
const ON_A_BRANCH: [&str; 13] = [
    "audit",
    "commit diff",
    "commit log",
    "commit show",
    "export",
    "intent explain",
    "intent list",
    "intent resolve",
    "intent show",
    "load",
    "mutate",
    "outcome",
    "status",
];

/// `text` with the branch in every command that takes one. Without one a command is about main.
pub(crate) fn on_branch(text: &str, place: &GraphPlace) -> String {
    let BranchSelector::Named(branch) = &place.branch else { return text.to_owned() };
    let (graph, already) = (&**place, format!(" --branch {branch}"));
    ON_A_BRANCH.iter().fold(text.to_owned(), |text, verb| {
        let command = format!("graphwrite {verb} {graph}");
        let parts: Vec<&str> = text.split(&command).collect();
        let mut whole = parts[0].to_owned();
        for rest in &parts[1..] {
            whole.push_str(&command);
            // Another graph whose name begins with this one's, and what says its branch already.
            if !rest.starts_with(|next: char| next.is_alphanumeric())
                && !rest.starts_with(" --branch")
            {
                whole.push_str(&already);
            }
            whole.push_str(rest);
        }
        whole
    })
}

/// The branch that a command is about.
pub(crate) fn place(command: &Command) -> Option<GraphPlace> {
    let place = match command {
        Command::Merge(args) => return Some(args.target()),
        Command::Load(args) => &args.graph,
        Command::Mutate(args) => &args.graph,
        Command::Export(args) => &args.graph,
        Command::Status(args) => &args.graph,
        Command::Commit(CommitCommand::Log(args)) => &args.graph,
        Command::Commit(CommitCommand::Show(args)) => &args.graph,
        Command::Commit(CommitCommand::Diff(args)) => &args.graph,
        Command::Intent(IntentCommand::List(args)) => &args.graph,
        Command::Intent(IntentCommand::Show(args) | IntentCommand::Explain(args)) => &args.graph,
        Command::Intent(IntentCommand::Resolve(args)) => &args.graph,
        Command::Audit(args) => &args.graph,
        Command::Outcome(args) => &args.graph,
        Command::Branch(
            BranchCommand::Create(_)
            | BranchCommand::List(_)
            | BranchCommand::Status(_)
            | BranchCommand::Delete(_),
        )
        | Command::Init(_)
        | Command::Verify(_)
        | Command::Version(_)
        | Command::Completions(_) => return None,
    };
    Some(place.clone())
}

impl Failure {
    /// The same, with remedies on the branch of the command.
    pub(crate) fn at(self, place: Option<&GraphPlace>) -> Self {
        match place {
            Some(place) => Self { help: on_branch(&self.help, place), ..self },
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::command::Cli;

    fn of(words: &str) -> Option<GraphPlace> {
        place(&Cli::parse_from(words.split(' ')).command)
    }

    #[test]
    fn commands_that_are_proposed_for_a_branch_name_it_and_those_for_the_graph_do_not() {
        let a = of("graphwrite status u --branch a").unwrap();
        let text = "ask `graphwrite outcome u q`, then graphwrite intent resolve u X --full, or \
                    `graphwrite verify u`, `graphwrite branch list u`, `graphwrite status us`, \
                    `graphwrite commit log u --branch <branch>`";
        assert_eq!(
            on_branch(text, &a),
            "ask `graphwrite outcome u --branch a q`, then graphwrite intent resolve u --branch a X \
             --full, or `graphwrite verify u`, `graphwrite branch list u`, `graphwrite status us`, \
             `graphwrite commit log u --branch <branch>`"
        );
        assert_eq!(on_branch(text, &of("graphwrite status u").unwrap()), text);
    }

    #[test]
    fn a_proposed_command_is_one_that_the_tool_understands() {
        for verb in ON_A_BRANCH {
            let command = Cli::try_parse_from(
                format!("graphwrite {verb} u --branch a").split(' ').chain(match verb {
                    "commit show" | "intent show" | "intent explain" => {
                        vec!["01M8PPXHN3HSD9MYBP7HN0137Z"]
                    }
                    "commit diff" => {
                        vec!["01M8PPXHN3HSD9MYBP7HN0137Z", "01M8PPXHN3HSD9MYBP7HN0137Z"]
                    }
                    "intent resolve" => vec!["--full"],
                    "load" => vec!["--data", "x"],
                    "mutate" => vec!["--file", "x"],
                    "outcome" => vec!["q"],
                    _ => vec![],
                }),
            );
            assert!(command.is_ok(), "{verb}: {:?}", command.err());
        }
    }
}
