//! The grammar of branch names and their forms in storage.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::*;

fn name(text: &str) -> BranchName {
    text.parse().unwrap()
}

fn refused(text: &str) -> &'static str {
    text.parse::<BranchName>().unwrap_err().rule
}

#[test]
fn ordinary_names_are_accepted() {
    let longest = "x".repeat(BranchName::BYTES_MAX);
    for text in ["a", "a/b", "Feature-1.2_x", "2026/11/agent-007", "mainline", "x.y", &longest] {
        assert_eq!(name(text).as_str(), text);
    }
}

#[test]
fn what_breaks_the_grammar_is_refused_by_the_rule_that_it_breaks() {
    let too_long = "x".repeat(BranchName::BYTES_MAX + 1);
    let cases = [
        ("", "empty"),
        (&too_long, "longer"),
        ("a b", "ASCII"),
        ("a%41", "ASCII"),
        ("a\\b", "ASCII"),
        ("a\0", "ASCII"),
        ("/a", "neither of them empty"),
        ("a/", "neither of them empty"),
        ("a//b", "neither of them empty"),
        (".a", "starts with"),
        ("a/-b", "starts with"),
        ("a.", "ends with"),
        ("a/b.lock", "ends with"),
        ("a..b", "`..`"),
    ];
    for (text, part) in cases {
        assert!(refused(text).contains(part), "{text:?}: {}", refused(text));
    }
}

#[test]
fn letters_that_unicode_could_spell_in_two_ways_are_refused() {
    for text in ["caf\u{e9}", "cafe\u{301}", "\u{410}"] {
        assert!(refused(text).contains("ASCII"));
    }
}

#[test]
fn reserved_names_are_refused() {
    assert!(refused("main").contains("every graph"));
    assert!(refused("Main").contains("every graph"));
    assert!(refused("_sys").contains("system"));
    let commit = CommitId::from_u128(77).to_string();
    assert!(refused(&commit).contains("commit id"));
    assert_eq!(name(&commit.to_lowercase()).as_str(), commit.to_lowercase());
}

#[test]
fn main_is_selected_by_its_name_and_everything_else_by_the_grammar() {
    assert_eq!("main".parse(), Ok(BranchSelector::Main));
    assert_eq!("a/b".parse(), Ok(BranchSelector::Named(name("a/b"))));
    assert!("MAIN".parse::<BranchSelector>().is_err());
    assert_eq!(BranchSelector::Main.to_string(), "main");
}

#[test]
fn names_that_differ_by_case_or_by_a_slash_have_their_own_segments() {
    let names = ["a", "A", "a/b", "a-b", "a.b", "A/b", "a/B"];
    let folded: BTreeSet<String> =
        names.iter().map(|text| name(text).escaped().to_lowercase()).collect();
    assert_eq!(folded.len(), names.len());
    assert_eq!(name("Ab/c").escaped(), "%41b%2fc");
}

#[test]
fn a_segment_that_is_not_the_escaped_form_of_a_name_is_none() {
    for segment in ["", "A", "%61", "a%2F", "a%2", "a%zz", "main", "_x", "a%", "a%ff", "a+b"] {
        assert_eq!(BranchName::from_escaped(segment), None, "{segment}");
    }
}

#[test]
fn a_native_branch_shows_its_name_and_carries_its_attempt() {
    let attempt = AttemptId::from_u128(9);
    let native = NativeBranch::of_incarnation(&name("Agent/X_1.a").slug(), attempt);
    assert_eq!(native.as_str(), format!("agent-x-1-a.{attempt}"));
    assert_eq!(native.attempt(), Some(attempt));
    assert_eq!(NativeBranch::main().attempt(), None);
    assert_eq!(name(&"y".repeat(80)).slug().len(), 24);
}

proptest! {
    #[test]
    fn an_escaped_name_comes_back_and_is_one_segment_in_one_case(text in "[a-zA-Z0-9/._-]{1,80}") {
        if let Ok(name) = text.parse::<BranchName>() {
            let escaped = name.escaped();
            prop_assert_eq!(BranchName::from_escaped(&escaped), Some(name));
            prop_assert!(!escaped.contains('/') && escaped.len() <= 240);
            prop_assert_eq!(escaped.to_lowercase(), escaped);
        }
    }

    #[test]
    fn any_text_is_a_name_or_a_typed_refusal(text in "\\PC{0,90}") {
        let parsed = text.parse::<BranchName>();
        prop_assert_eq!(parsed.is_ok(), parsed.is_ok_and(|name| name.as_str() == text));
    }
}
