//! The page of the defects has a row for each of the catalogue, and each row names tests.

use std::path::Path;

use graphwrite_protocol_types::Defect;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/defects.md");
    std::fs::read_to_string(path).unwrap()
}

fn rows(page: &str, defect: Defect) -> Vec<&str> {
    let begins = format!("| `{}` |", defect.name());
    page.lines().filter(|line| line.starts_with(&begins)).collect()
}

/// Tidy looks up whether the tests that a row names are there.
#[test]
fn every_defect_has_one_row_that_names_tests() {
    let page = page();
    for defect in Defect::ALL {
        let rows = rows(&page, *defect);
        assert_eq!(rows.len(), 1, "rows of `{}`", defect.name());
        assert!(rows[0].contains(".rs::"), "`{}` names no test", defect.name());
    }
}

#[test]
fn every_row_is_of_a_defect_of_the_catalogue() {
    let page = page();
    let named = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let known: Vec<_> = Defect::ALL.iter().map(|defect| defect.name()).collect();
    let unknown: Vec<_> = named.filter(|name| !known.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
