//! The declared name that a misspelled one most likely means. It knows texts only.

/// The nearest of `names`, if one is near: at most two fifths of the longer name differ.
pub(crate) fn nearest<'n>(
    wrong: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let scored = names.into_iter().map(|name| (distance(wrong, name), name));
    let (edits, name) = scored.min()?;
    let longer = wrong.chars().count().max(name.chars().count());
    (edits * 5 <= longer * 2).then_some(name)
}

/// Single characters to insert, remove or replace; the case does not count.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.chars().map(|c| c.to_ascii_lowercase()).enumerate() {
        let mut diagonal = std::mem::replace(&mut costs[0], row + 1);
        for (column, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = costs[column + 1];
            costs[column + 1] = replaced.min(diagonal + 1).min(costs[column] + 1);
        }
    }
    costs[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let names = ["slug", "createdAt", "age"];
        assert_eq!(nearest("createdat", names), Some("createdAt"));
        assert_eq!(nearest("creatdAt", names), Some("createdAt"));
        assert_eq!(nearest("slugs", names), Some("slug"));
        assert_eq!(nearest("weight", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
