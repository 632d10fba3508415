//! A full table of outcomes, written as few rows: a column that does not matter says so.

/// One column: its name and its values.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) values: Vec<String>,
}

/// A set of values per column, and the outcome that all of their combinations have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row<T> {
    pub(crate) cells: Vec<Vec<usize>>,
    pub(crate) outcome: T,
}

/// The rows that say for every combination what `outcome` says, and nothing else.
pub(crate) fn rows<T: Clone + PartialEq>(
    columns: &[Column],
    outcome: &dyn Fn(&[usize]) -> T,
) -> Vec<Row<T>> {
    let mut found = split(columns, &mut Vec::new(), outcome);
    while merge_one(&mut found) {}
    found
}

fn split<T: Clone + PartialEq>(
    columns: &[Column],
    chosen: &mut Vec<usize>,
    outcome: &dyn Fn(&[usize]) -> T,
) -> Vec<Row<T>> {
    let Some(column) = columns.get(chosen.len()) else {
        return vec![Row { cells: Vec::new(), outcome: outcome(chosen) }];
    };
    // Values under which everything to the right is alike share their rows.
    let mut groups: Vec<(Vec<usize>, Vec<Row<T>>)> = Vec::new();
    for value in 0..column.values.len() {
        chosen.push(value);
        let below = split(columns, chosen, outcome);
        chosen.pop();
        match groups.iter_mut().find(|(_, rows)| *rows == below) {
            Some((values, _)) => values.push(value),
            None => groups.push((vec![value], below)),
        }
    }
    let with = |(values, below): (Vec<usize>, Vec<Row<T>>)| {
        below.into_iter().map(move |row| Row {
            cells: [vec![values.clone()], row.cells].concat(),
            outcome: row.outcome,
        })
    };
    groups.into_iter().flat_map(with).collect()
}

/// Joins two rows that differ in one column only.
fn merge_one<T: Clone + PartialEq>(rows: &mut Vec<Row<T>>) -> bool {
    for first in 0..rows.len() {
        for second in first + 1..rows.len() {
            if let Some(joined) = joined(&rows[first], &rows[second]) {
                rows[first].cells = joined;
                rows.remove(second);
                return true;
            }
        }
    }
    false
}

fn joined<T: PartialEq>(a: &Row<T>, b: &Row<T>) -> Option<Vec<Vec<usize>>> {
    let differing: Vec<usize> =
        (0..a.cells.len()).filter(|at| a.cells[*at] != b.cells[*at]).collect();
    let [at] = differing[..] else { return None };
    if a.outcome != b.outcome {
        return None;
    }
    let mut cells = a.cells.clone();
    cells[at].extend(&b.cells[at]);
    cells[at].sort_unstable();
    cells[at].dedup();
    Some(cells)
}

/// The name of the last column, and what it says about an outcome.
pub(crate) type ResultColumn<'a, T> = (&'a str, &'a dyn Fn(&T) -> String);

/// A Markdown table of `rows`; a column in which every row says "any" is left out.
pub(crate) fn markdown<T>(
    columns: &[Column],
    rows: &[&Row<T>],
    result: Option<ResultColumn<'_, T>>,
) -> String {
    let says = |row: &Row<T>, at: usize| row.cells[at].len() < columns[at].values.len();
    let shown: Vec<usize> =
        (0..columns.len()).filter(|at| rows.iter().any(|row| says(row, *at))).collect();
    let mut text = String::from("|");
    shown.iter().for_each(|at| text += &format!(" {} |", columns[*at].name));
    result.iter().for_each(|(name, _)| text += &format!(" {name} |"));
    text += &format!("\n|{}\n", "---|".repeat(shown.len() + usize::from(result.is_some())));
    for row in rows {
        text += "|";
        for at in &shown {
            let names = row.cells[*at].iter().map(|value| columns[*at].values[*value].as_str());
            let names: Vec<&str> = names.collect();
            let cell = if says(row, *at) { names.join(" / ") } else { "any".to_owned() };
            text += &format!(" {cell} |");
        }
        result.iter().for_each(|(_, say)| text += &format!(" {} |", say(&row.outcome)));
        text.push('\n');
    }
    text
}
