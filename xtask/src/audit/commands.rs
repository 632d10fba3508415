//! Finds the entry points of the operator tool: the commands that its derived parser accepts.

use super::Found;
use super::calls::Variant;
use super::names::{command_word, derives, kebab, last, type_path};
use crate::tree::{Source, Tree};

const PROGRAM: &str = "graphwrite";

/// Every command that does something itself, with the words that lead to it.
pub(crate) fn entry_points(tree: &Tree) -> Vec<Found> {
    let types = Types::read(tree);
    let mut found = Vec::new();
    for root in types.0.iter().filter(|ty| ty.is_root) {
        types.walk(root, PROGRAM, &[], &mut found);
    }
    found
}

/// A type that takes part in parsing.
struct Type {
    /// The names by which another file may qualify it: its file and directory.
    modules: Vec<String>,
    path: String,
    name: String,
    is_root: bool,
    commands: Vec<Command>,
}

/// A variant of a command enum; for a struct, a field that may hold its command.
struct Command {
    /// Empty when the type adds no word of its own.
    word: String,
    /// The variant, for the match that carries the command out.
    variant: Option<Variant>,
    place: String,
    /// The type that may hold further commands.
    below: Option<syn::Path>,
}

struct Types(Vec<Type>);

impl Types {
    fn read(tree: &Tree) -> Self {
        let sources = tree.production("cli");
        Self(sources.flat_map(|source| collect(source, &source.syntax.items)).collect())
    }

    fn walk(&self, ty: &Type, words: &str, before: &[Variant], found: &mut Vec<Found>) {
        for command in &ty.commands {
            let variants: Vec<Variant> = before.iter().chain(&command.variant).cloned().collect();
            let words = match command.word.as_str() {
                "" => words.to_owned(),
                word => format!("{words} {word}"),
            };
            let below = command.below.as_ref().and_then(|path| self.resolve(path, ty));
            match below {
                Some(below) if self.leads_on(below) => self.walk(below, &words, &variants, found),
                _ if command.word.is_empty() => {}
                _ => found.push(Found { name: words, place: command.place.clone(), variants }),
            }
        }
    }

    /// Whether a command line must have a further word after this type's own arguments.
    fn leads_on(&self, ty: &Type) -> bool {
        ty.commands.iter().any(|command| {
            let below = command.below.as_ref().and_then(|path| self.resolve(path, ty));
            !command.word.is_empty() || below.is_some_and(|below| self.leads_on(below))
        })
    }

    /// The type that `path` names as seen from the file of `user`; never `user` itself.
    fn resolve(&self, path: &syn::Path, user: &Type) -> Option<&Type> {
        let name = last(path);
        let qualifier = path.segments.iter().rev().nth(1).map(|segment| segment.ident.to_string());
        let candidates: Vec<&Type> =
            self.0.iter().filter(|ty| ty.name == name && !std::ptr::eq(*ty, user)).collect();
        let qualified =
            qualifier.and_then(|module| candidates.iter().find(|ty| ty.modules.contains(&module)));
        let near = candidates.iter().find(|ty| ty.path == user.path);
        qualified.or(near).or(candidates.first()).copied()
    }
}

fn collect(source: &Source, items: &[syn::Item]) -> Vec<Type> {
    items
        .iter()
        .flat_map(|item| match item {
            syn::Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => {
                collect(source, items)
            }
            syn::Item::Enum(item) => read_enum(source, item).into_iter().collect(),
            syn::Item::Struct(item) => read_struct(source, item).into_iter().collect(),
            _ => Vec::new(),
        })
        .collect()
}

fn read_enum(source: &Source, item: &syn::ItemEnum) -> Option<Type> {
    let is_root = derives(&item.attrs, "Parser");
    if !is_root && !derives(&item.attrs, "Subcommand") {
        return None;
    }
    let read = |variant| read_variant(source, &item.ident, variant);
    let commands = item.variants.iter().map(read).collect();
    Some(new(source, &item.ident, is_root, commands))
}

fn read_struct(source: &Source, item: &syn::ItemStruct) -> Option<Type> {
    let is_root = derives(&item.attrs, "Parser");
    if !is_root && !derives(&item.attrs, "Args") {
        return None;
    }
    let place = source.place(item.ident.span().start().line);
    let commands = nested(&item.fields)
        .map(|below| Command {
            word: String::new(),
            variant: None,
            place: place.clone(),
            below: Some(below.clone()),
        })
        .collect();
    Some(new(source, &item.ident, is_root, commands))
}

fn new(source: &Source, name: &syn::Ident, is_root: bool, commands: Vec<Command>) -> Type {
    let path = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
    let modules = path.rsplit('/').take(2).map(str::to_owned).collect();
    Type { modules, path: source.path.clone(), name: name.to_string(), is_root, commands }
}

fn read_variant(source: &Source, owner: &syn::Ident, variant: &syn::Variant) -> Command {
    let below = subcommand(&variant.fields).or_else(|| only_field(&variant.fields));
    let flattened = command_word(&variant.attrs, "flatten").is_some();
    let named = command_word(&variant.attrs, "name");
    let word = named.unwrap_or_else(|| kebab(&variant.ident.to_string()));
    Command {
        word: if flattened { String::new() } else { word },
        variant: Some((owner.to_string(), variant.ident.to_string())),
        place: source.place(variant.ident.span().start().line),
        below: below.cloned(),
    }
}

/// The types of the fields whose own arguments or commands belong to the command line.
fn nested(fields: &syn::Fields) -> impl Iterator<Item = &syn::Path> {
    let marked = fields.iter().filter(|field| {
        let word = |word| command_word(&field.attrs, word).is_some();
        word("subcommand") || word("flatten")
    });
    marked.filter_map(|field| type_path(&field.ty))
}

/// The type of the field that is marked `#[command(subcommand)]`.
fn subcommand(fields: &syn::Fields) -> Option<&syn::Path> {
    let mut marked =
        fields.iter().filter(|field| command_word(&field.attrs, "subcommand").is_some());
    marked.find_map(|field| type_path(&field.ty))
}

/// The arguments of a variant like `Load(LoadArguments)`, which may hold commands in turn.
fn only_field(fields: &syn::Fields) -> Option<&syn::Path> {
    match fields {
        syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            type_path(&fields.unnamed[0].ty)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let scratch = Scratch::new("commands");
        for (path, text) in files {
            scratch.write(&format!("crates/cli/src/{path}"), text);
        }
        let tree = Tree::read(scratch.path()).unwrap();
        entry_points(&tree).into_iter().map(|found| found.name).collect()
    }

    const ROOT: &str = "#[derive(Parser)] struct Cli { #[command(subcommand)] command: Command }";

    #[test]
    fn variants_are_commands() {
        let text = format!("{ROOT} #[derive(Subcommand)] enum Command {{ Init(Init), Status }}");
        assert_eq!(names(&[("main.rs", &text)]), ["graphwrite init", "graphwrite status"]);
    }

    #[test]
    fn a_command_may_have_a_name_of_its_own() {
        let commands =
            "#[derive(Subcommand)] enum Command { #[command(about = \"x\", name = \"go\")] A }";
        assert_eq!(names(&[("main.rs", &format!("{ROOT} {commands}"))]), ["graphwrite go"]);
    }

    #[test]
    fn nested_commands_are_found_in_each_of_their_forms() {
        let text = format!(
            "{ROOT}
            #[derive(Subcommand)] enum Command {{
                #[command(subcommand)] Commit(CommitCommand),
                Intent {{ graph: String, #[command(subcommand)] action: IntentCommand }},
                Branch(BranchArguments),
            }}
            #[derive(Subcommand)] enum CommitCommand {{ Log }}
            #[derive(Subcommand)] enum IntentCommand {{ List, Resolve {{ id: String }} }}
            #[derive(Args)] struct BranchArguments {{
                #[command(subcommand)] action: BranchCommand,
            }}
            #[derive(Subcommand)] enum BranchCommand {{ Create }}"
        );
        assert_eq!(
            names(&[("main.rs", &text)]),
            [
                "graphwrite commit log",
                "graphwrite intent list",
                "graphwrite intent resolve",
                "graphwrite branch create",
            ]
        );
    }

    #[test]
    fn arguments_that_several_commands_share_do_not_hide_them() {
        let text = format!(
            "{ROOT}
            #[derive(Subcommand)] enum Command {{ Init(InitArgs), Intent(IntentArgs) }}
            #[derive(Args)] struct InitArgs {{ #[command(flatten)] output: OutputArgs }}
            #[derive(Args)] struct OutputArgs {{ json: bool }}
            #[derive(Args)] struct IntentArgs {{
                #[command(flatten)] output: OutputArgs,
                #[command(subcommand)] command: IntentCommand,
            }}
            #[derive(Subcommand)] enum IntentCommand {{ List }}"
        );
        assert_eq!(names(&[("main.rs", &text)]), ["graphwrite init", "graphwrite intent list"]);
    }

    #[test]
    fn equal_names_in_two_modules_are_kept_apart() {
        let main = "#[derive(Parser)] struct Cli { #[command(subcommand)] command: Command }
            #[derive(Subcommand)] enum Command {
                #[command(subcommand)] Intent(intent::Command),
                #[command(subcommand)] Commit(commit::Command),
            }";
        let intent = "#[derive(Subcommand)] pub enum Command { List }";
        let commit = "#[derive(Subcommand)] pub enum Command { Log }";
        let files = [("main.rs", main), ("intent.rs", intent), ("commit/mod.rs", commit)];
        assert_eq!(names(&files), ["graphwrite intent list", "graphwrite commit log"]);
    }

    #[test]
    fn an_enum_that_no_parser_reaches_is_no_command() {
        assert_eq!(names(&[("main.rs", "#[derive(Subcommand)] enum Command { A }")]), [""; 0]);
    }
}
