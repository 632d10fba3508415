//! Words that may not stand in the code, or only in one place. Comments and strings may say them.

use crate::finding::Finding;
use crate::tree::{Source, Tree};
use crate::words::occurrences;

/// Where a ban holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All code of the workspace, tests included.
    Everywhere,
    /// The crates, apart from their tests and from the files that own the thing.
    Crates { except: &'static [&'static str] },
}

struct Ban {
    pattern: &'static str,
    rule: &'static str,
    reach: Reach,
    instead: &'static str,
}

/// The file that implements `Env` for a real process, and the one that times explorations of the
/// model, which nothing depends on.
const ENV: Reach =
    Reach::Crates { except: &["crates/coordinator/src/env.rs", "crates/model/src/job.rs"] };
const CRATES: Reach = Reach::Crates { except: &[] };
const USE_ENV: &str = "time, randomness and ids come through `Env`, so that tests replay exactly";
const FINISH: &str = "what is not there yet does not appear in the code";

const BANS: [Ban; 13] = [
    ban("todo !", "unfinished", Reach::Everywhere, FINISH),
    ban("unimplemented !", "unfinished", Reach::Everywhere, FINISH),
    ban("dbg !", "unfinished", Reach::Everywhere, "use `tracing` or nothing"),
    ban("# [ ignore", "ignored-test", Reach::Everywhere, "a test runs or does not exist"),
    ban("anyhow", "anyhow", CRATES, "one struct per condition, one enum per operation"),
    ban("SystemTime : : now", "ambient", ENV, USE_ENV),
    ban("Instant : : now", "ambient", ENV, USE_ENV),
    ban("Utc : : now", "ambient", ENV, USE_ENV),
    ban("rand : :", "ambient", ENV, USE_ENV),
    ban("getrandom", "ambient", ENV, USE_ENV),
    ban("Ulid : : new (", "ambient", ENV, USE_ENV),
    ban("Ulid : : generate", "ambient", ENV, USE_ENV),
    ban("new_v4", "ambient", ENV, USE_ENV),
];

const fn ban(
    pattern: &'static str,
    rule: &'static str,
    reach: Reach,
    instead: &'static str,
) -> Ban {
    Ban { pattern, rule, reach, instead }
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().flat_map(|source| BANS.iter().flat_map(|ban| broken(ban, source))).collect()
}

fn broken(ban: &Ban, source: &Source) -> Vec<Finding> {
    occurrences(&source.words, ban.pattern)
        .into_iter()
        .filter(|line| holds(ban.reach, source, *line))
        .map(|line| {
            let name: String = ban.pattern.split(' ').collect();
            let text = format!("`{name}` may not stand here: {}", ban.instead);
            Finding::fault(source.place(line), ban.rule, text)
        })
        .collect()
}

fn holds(reach: Reach, source: &Source, line: usize) -> bool {
    match reach {
        Reach::Everywhere => true,
        Reach::Crates { except } => {
            source.path.starts_with("crates/")
                && !source.tests_line(line)
                && !except.contains(&source.path.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;
    use crate::scratch::Scratch;

    fn findings(path: &str, text: &str) -> Vec<Finding> {
        let scratch = Scratch::new("bans");
        scratch.write(path, text);
        check(&Tree::read(scratch.path()).unwrap())
    }

    fn in_crate(body: &str) -> Vec<&'static str> {
        rules(&findings("crates/gates/src/lib.rs", &format!("fn f() {{ {body} }}")))
    }

    #[test]
    fn unfinished_code_is_found() {
        assert_eq!(in_crate("todo!()"), ["unfinished"]);
        assert_eq!(in_crate("unimplemented!(\"later\")"), ["unfinished"]);
        assert_eq!(in_crate("dbg!(1);"), ["unfinished"]);
    }

    #[test]
    fn unfinished_code_is_found_in_tests_too() {
        assert_eq!(rules(&findings("tests/src/lib.rs", "fn f() { todo!() }")), ["unfinished"]);
    }

    #[test]
    fn an_ignored_test_is_found_with_and_without_a_reason() {
        let plain = findings("tests/src/lib.rs", "#[test]\n#[ignore]\nfn f() {}");
        assert_eq!((plain[0].rule, &*plain[0].place), ("ignored-test", "tests/src/lib.rs:2"));
        let why = findings("tests/src/lib.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}");
        assert_eq!(rules(&why), ["ignored-test"]);
    }

    #[test]
    fn anyhow_is_found_in_a_crate() {
        assert_eq!(in_crate("anyhow::bail!(\"no\")"), ["anyhow"]);
    }

    #[test]
    fn ambient_time_and_randomness_are_found() {
        assert_eq!(in_crate("std::time::SystemTime::now();"), ["ambient"]);
        assert_eq!(in_crate("tokio::time::Instant::now();"), ["ambient"]);
        assert_eq!(in_crate("rand::random::<u8>();"), ["ambient"]);
        assert_eq!(in_crate("getrandom::fill(&mut b);"), ["ambient"]);
        assert_eq!(in_crate("Uuid::new_v4();"), ["ambient"]);
        assert_eq!(in_crate("Ulid::new();"), ["ambient"]);
    }

    #[test]
    fn ambient_time_is_allowed_in_tests_and_in_the_environment() {
        let test = "#[cfg(test)]\nmod tests { fn f() { Instant::now(); } }";
        assert_eq!(findings("crates/gates/src/lib.rs", test), []);
        let Reach::Crates { except } = ENV else { panic!("the environment has files") };
        assert_eq!(findings(except[0], "fn f() { Instant::now(); }"), []);
    }

    #[test]
    fn words_about_banned_code_are_not_code() {
        assert_eq!(in_crate("// todo!()\n let _ = \"Instant::now\";"), Vec::<&str>::new());
    }
}
