//! Many rows in little memory, and rows that a side must not have.

use arrow_array::{RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;

use super::rows::Table;
use crate::merge::table::{Sides, TableMerge};
use crate::merge::*;

fn line(key: usize, age: usize) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"p{key:05}","age":{age}}}}}"#)
}

fn rows(table: &Table, keys: impl Iterator<Item = usize>, age: fn(usize) -> usize) -> RecordBatch {
    table.rows(&keys.map(|key| line(key, age(key))).collect::<Vec<_>>())
}

#[test]
fn rows_beyond_the_memory_are_merged_to_the_same() {
    let table = Table::new("Person");
    let base = rows(&table, 0..6_000, |_| 0);
    // The source changes every third, deletes every fifth, and adds some.
    let source =
        rows(&table, (0..9_000).filter(|key| key % 5 != 1), |key| usize::from(key % 3 == 0));
    // The target changes every seventh.
    let target = rows(&table, 0..6_000, |key| 2 * usize::from(key % 7 == 2));
    let little = MergeOptions { bytes_max: 1, ..MergeOptions::default() };
    let sorted = |rows: &RecordBatch| {
        let keys: Vec<u32> = (0..rows.num_rows() as u32).collect();
        let part = |keys: &[u32]| take_record_batch(rows, &UInt32Array::from(keys.to_vec()));
        let parts: Vec<_> = keys.chunks(500).map(|keys| part(keys).unwrap()).collect();
        table.sorted(&parts, 200 << 10)
    };
    let sides = Sides {
        bases: vec![sorted(&base)],
        older: Vec::new(),
        source: sorted(&source),
        target: sorted(&target),
    };
    let (graph, def) = (&table.schema.schema, table.def());
    let merge = TableMerge::new(graph, def, table.columns(), sides, &little).unwrap();
    let in_little = merge.run(Discovery::default()).unwrap();
    let at_ease = table.merge(&[base], &source, &target, &MergeOptions::default()).unwrap();
    assert!(in_little.rows().parts().is_spilled() && !at_ease.rows().parts().is_spilled());
    assert_eq!(in_little.counts(), at_ease.counts());
    assert_eq!(in_little.conflicts(), at_ease.conflicts());
    assert_eq!(table.after(&target, &in_little), table.after(&target, &at_ease));
    let counts = at_ease.counts();
    assert!(counts.adopted == 2_400 && counts.rewritten > 1_000 && counts.removed > 1_000);
    assert!(at_ease.conflicts().counts().total() > 100);
}

#[test]
fn two_rows_of_one_key_are_refused_with_their_side() {
    let table = Table::new("Person");
    let one = table.rows(&[line(1, 0)]);
    let twice = arrow_select::concat::concat_batches(&one.schema(), [&one, &one]).unwrap();
    let options = MergeOptions::default();
    let found = [
        table.merge(std::slice::from_ref(&one), &twice, &one, &options),
        table.merge(std::slice::from_ref(&one), &one, &twice, &options),
        table.merge(&[one.clone(), twice.clone()], &one, &one, &options),
    ];
    for (found, expected) in found.into_iter().zip(["source", "target", "base"]) {
        let Err(MergeError::DuplicateKey { table, key, side }) = found else { panic!("{found:?}") };
        assert_eq!((table.as_str(), key.as_str(), side), ("Person", "p00001", expected));
    }
}
