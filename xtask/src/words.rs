//! The words of a Rust source, without comments and without the insides of literals, so that a
//! rule about code is not deceived by text about code.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One identifier, literal or single punctuation character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The words of a source in order; macro arguments count like any other code.
pub(crate) fn of_tokens(tokens: TokenStream) -> Vec<Word> {
    let mut out = Vec::new();
    flatten(tokens, &mut out);
    out
}

fn flatten(stream: TokenStream, out: &mut Vec<Word>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = delimiters(group.delimiter());
                out.push(Word { text: open.to_owned(), line });
                flatten(group.stream(), out);
                let line = group.span_close().start().line;
                out.push(Word { text: close.to_owned(), line });
            }
            other => out.push(Word { text: other.to_string(), line }),
        }
    }
}

fn delimiters(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

/// The lines where `pattern`, written as code, occurs among `words`.
pub(crate) fn occurrences(words: &[Word], pattern: &str) -> Vec<usize> {
    let pattern: Vec<&str> = pattern.split(' ').collect();
    words
        .windows(pattern.len())
        .filter(|window| window.iter().map(|word| word.text.as_str()).eq(pattern.iter().copied()))
        .map(|window| window[0].line)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        of_tokens(text.parse().unwrap())
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        let found = words("// todo!()\nfn f() -> &'static str { \"todo!()\" }");
        assert_eq!(occurrences(&found, "todo !"), Vec::<usize>::new());
    }

    #[test]
    fn code_is_found_inside_macro_arguments() {
        let found = words("fn f() {\n  select! { _ = a => todo!() }\n}");
        assert_eq!(occurrences(&found, "todo !"), vec![2]);
    }

    #[test]
    fn a_path_is_found_across_lines_and_spaces() {
        let found = words("fn f() { SystemTime\n  :: now(); }");
        assert_eq!(occurrences(&found, "SystemTime : : now"), vec![1]);
    }
}
