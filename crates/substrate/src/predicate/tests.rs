//! A predicate means the same on a batch and in a scan, and what is none is refused by its fault.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, FixedSizeListArray, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use graphwrite_protocol_types::{AttemptId, CommitPermit, TxUuid};

use super::*;
use crate::*;

fn schema() -> SchemaRef {
    let item = |of| Arc::new(Field::new("item", of, true));
    let nullable = |name, of| Field::new(name, of, true);
    Arc::new(Schema::new(vec![
        Field::new("row", DataType::UInt64, false),
        nullable("name", DataType::Utf8),
        nullable("Age", DataType::Int32),
        nullable("big", DataType::Int64),
        nullable("score", DataType::Float64),
        nullable("ok", DataType::Boolean),
        nullable("born", DataType::Date32),
        nullable("seen", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        nullable("raw", DataType::Binary),
        nullable("tags", DataType::List(item(DataType::Utf8))),
        nullable("vec", DataType::FixedSizeList(item(DataType::Float32), 2)),
        nullable("größe in m", DataType::Float64),
    ]))
}

/// A small generator, so that the rows are many, odd and the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        let side = self.roll(of.len() + 1);
        of.get(side).cloned()
    }

    fn column<T: Clone>(&mut self, rows: usize, of: &[T]) -> Vec<Option<T>> {
        (0..rows).map(|_| self.pick(of)).collect()
    }
}

const NAMES: [&str; 7] = ["", "Ada", "ada", "it's", "50%", "naïve 🦀", "\"q\""];
const SCORES: [f64; 6] = [0.0, -0.0, 1.5, -2.25, f64::NAN, f64::INFINITY];

fn tags(dice: &mut Dice, rows: usize) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for _ in 0..rows {
        let length = dice.roll(4);
        for _ in 0..length {
            lists.values().append_option(dice.pick(&["red", "green", ""]));
        }
        lists.append(length < 3);
    }
    Arc::new(lists.finish())
}

fn rows(seed: u64, count: usize) -> RecordBatch {
    let dice = &mut Dice(seed);
    let seen = [0, -1, 1_700_000_000_000_000, 1_700_000_000_000_001];
    let vectors = (0..count).map(|row| (row % 3 > 0).then(|| vec![Some(row as f32), None]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..count as u64)),
        Arc::new(StringArray::from(dice.column(count, &NAMES))),
        Arc::new(Int32Array::from(dice.column(count, &[0, 3, 30, -7, i32::MAX]))),
        Arc::new(Int64Array::from(dice.column(count, &[0, 3, i64::MAX, i64::MIN]))),
        Arc::new(Float64Array::from(dice.column(count, &SCORES))),
        Arc::new(BooleanArray::from(dice.column(count, &[true, false]))),
        Arc::new(Date32Array::from(dice.column(count, &[0, 20_000, -3]))),
        Arc::new(TimestampMicrosecondArray::from(dice.column(count, &seen)).with_timezone("UTC")),
        Arc::new(BinaryArray::from(dice.column(count, &[&b""[..], &[0xc0, 0xff]]))),
        tags(dice, count),
        Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2)),
        Arc::new(Float64Array::from(dice.column(count, &[1.8, 0.5]))),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

async fn table(store: &Store, rows: &RecordBatch) -> TableHandle {
    let batches = BatchStream::of(rows.schema(), vec![rows.clone()]);
    let attempt = AttemptId::from_u128(7);
    let uuid = TxUuid::effect(attempt, 0, 1);
    let staged = stage_create(store, "tables/p", batches, uuid).await.unwrap();
    let permit = CommitPermit::authority(attempt);
    let landing = create_dataset(&permit, store, "tables/p", staged).await.unwrap();
    landing.landed().unwrap().1
}

fn parse(text: &str) -> Result<Predicate, PredicateError> {
    Predicate::parse(&schema(), text)
}

fn numbers(rows: &RecordBatch) -> Vec<u64> {
    use arrow_array::cast::AsArray;
    rows.column_by_name("row")
        .unwrap()
        .as_primitive::<arrow_array::types::UInt64Type>()
        .values()
        .to_vec()
}

/// The rows that a scan finds, by their numbers.
async fn scanned(table: &TableHandle, filter: RowFilter) -> Result<Vec<u64>, SubstrateError> {
    let columns = Some(vec!["row".to_owned()]);
    let request = ScanRequest { columns, filter: Some(filter), ..Default::default() };
    let batches = table.scan(request).await?.collect_all().await?;
    Ok(batches.iter().flat_map(numbers).collect())
}

/// The rows that match, by their numbers.
fn matched(predicate: &Predicate, rows: &RecordBatch) -> Vec<u64> {
    let matches = predicate.matches(rows).unwrap();
    assert_eq!(arrow_array::Array::null_count(&matches), 0, "{}", predicate.text());
    let matches = matches.values().iter();
    numbers(rows).into_iter().zip(matches).filter(|(_, holds)| *holds).map(|(row, _)| row).collect()
}

const PREDICATES: [&str; 86] = [
    "true",
    "false",
    "not false",
    "ok",
    "not ok",
    "ok is null",
    "ok is not true",
    "ok = true or Age > 3",
    "name = 'Ada'",
    "`name` = 'Ada'",
    "\"name\" = 'Ada'",
    "name = 'it''s'",
    "name = '\"q\"'",
    "name <> 'Ada'",
    "not (name = 'Ada')",
    "name in ('Ada', '', 'naïve 🦀')",
    "name not in ('Ada')",
    "name in ('Ada', null)",
    "name not in ('Ada', null)",
    "name like 'A%'",
    "name ilike 'a%'",
    "name like '50\\%'",
    "name not like '%a'",
    "name > 'Ada'",
    "name || 'x' = 'Adax'",
    "lower(name) = 'ada'",
    "length(name) > 3",
    "starts_with(name, 'naï')",
    "regexp_like(name, '^[Aa]da$')",
    "name is distinct from 'Ada'",
    "name is not distinct from null",
    "coalesce(name, 'none') = 'none'",
    "Age < 3",
    "`Age` between 0 and 30",
    "\"Age\" not between 0 and 30",
    "Age is null",
    "Age is not null and Age % 3 = 0",
    "Age = big",
    "Age + 0.5 > 3",
    "-Age > 0",
    "Age > -7 and not Age in (3, 30)",
    "big = 9223372036854775807",
    "big < -9223372036854775807",
    "big * 2 = -2",
    "big < try_cast(score as bigint) or score > 100",
    "score = 0",
    "score <> 0.0",
    "score < 0",
    "score >= -0.0",
    "score in (0, 1.5)",
    "isnan(score)",
    "score > 1e300",
    "abs(score) > 2",
    "`größe in m` > 1",
    "\"größe in m\" < 1",
    "born = date '2024-10-04'",
    "born < date '2000-01-01'",
    "date_part('year', born) = 1970",
    "born is null or born >= date '1970-01-01'",
    "seen = timestamp '2023-11-14 22:13:20'",
    "seen > timestamp '2023-11-14 22:13:20'",
    "seen < timestamp '1970-01-01T00:00:00Z'",
    "seen = timestamp '1970-01-01T02:00:00+02:00'",
    "seen in (timestamp '1970-01-01', null)",
    "date_part('hour', seen) = 22",
    "raw = X'c0ff'",
    "raw is null",
    "array_has(tags, 'red')",
    "not array_has(tags, 'red')",
    "array_length(tags) = 2",
    "tags[1] = 'red'",
    "tags is null",
    "vec is not null",
    "vec[1] > 10",
    "vec = [1.0, 2.0]",
    "tags = ['red', 'green']",
    "left(name, 1) = 'A' and right(name, 1) = 'a'",
    "upper(btrim(name)) = 'ADA'",
    "strpos(name, 'd') = 2",
    "round(score) = 2",
    "date_trunc('year', seen) = timestamp '2023-01-01'",
    "cast(born as timestamp) < timestamp '1970-01-01'",
    "try_cast(Age as bigint unsigned) > 2 or Age < 0",
    "try_cast(name as int) is null",
    "row = 3 or (row > 5 and row <= 7) -- the rest stays",
    "null = null or row < 2",
];

#[tokio::test]
async fn a_batch_and_a_scan_agree_on_every_row() {
    let predicates = PREDICATES.map(|text| parse(text).unwrap_or_else(|e| panic!("{text}: {e}")));
    let mut found = 0;
    for (seed, count) in [(1, 1), (2, 7), (3, 40), (4, 300), (5, 0)] {
        let rows = rows(seed, count);
        let table = table(&Store::memory(&MemoryStorage::new()), &rows).await;
        for predicate in &predicates {
            let scanned = scanned(&table, RowFilter::Holds(predicate.clone())).await.unwrap();
            assert_eq!(scanned, matched(predicate, &rows), "{} in {count} rows", predicate.text());
            found += scanned.len();
        }
    }
    assert!(found > 5_000, "{found}");
}

/// What some predicates find, said without their evaluation.
#[test]
fn null_is_no_match_and_values_are_compared_as_what_they_are() {
    let rows = rows(4, 300);
    let count = |text: &str| matched(&parse(text).unwrap(), &rows).len();
    let (all, ada, not_ada) = (300, count("name = 'Ada'"), count("name <> 'Ada'"));
    assert!(ada > 10 && not_ada > 10);
    assert_eq!(ada + not_ada + count("name is null"), all);
    assert_eq!(count("not name = 'Ada'"), not_ada);
    assert_eq!(count("name not in ('Ada', null)"), 0);
    assert_eq!(count("name is distinct from 'Ada'"), all - ada);
    assert_eq!(count("score = 0"), count("score = -0.0"));
    assert!(count("score = 0") > 50);
    let epoch = count("seen = timestamp '1970-01-01'");
    assert!(epoch > 20);
    assert_eq!(count("seen = timestamp '1970-01-01T02:00:00+02:00'"), epoch);
    assert_eq!(count("seen = timestamp '1970-01-01T00:00:00Z'"), epoch);
    assert_eq!(count("name = `name`"), all - count("name is null"));
    assert_eq!(count("true"), all);
}

#[test]
fn columns_may_come_in_any_order_and_with_others() {
    let rows = rows(3, 40);
    let predicate = parse("Age < 3 and name <> ''").unwrap();
    assert_eq!(predicate.columns().iter().collect::<Vec<_>>(), ["Age", "name"]);
    assert_eq!(predicate.text(), "Age < 3 and name <> ''");
    let turned: Vec<usize> = (0..rows.num_columns()).rev().collect();
    let turned = rows.project(&turned).unwrap();
    assert_eq!(matched(&predicate, &turned), matched(&predicate, &rows));
    let few = rows.project(&[2, 0, 1]).unwrap();
    assert_eq!(matched(&predicate, &few), matched(&predicate, &rows));
}

#[test]
fn rows_without_the_columns_or_with_others_of_their_names_are_refused() {
    let rows = rows(3, 4);
    let predicate = parse("Age < 3").unwrap();
    let without = rows.project(&[0, 1]).unwrap();
    assert!(matches!(predicate.matches(&without), Err(PredicateError::OtherRows { .. })));
    let schema = Arc::new(Schema::new(vec![Field::new("Age", DataType::Utf8, true)]));
    let other = RecordBatch::try_new(schema, vec![rows.column(1).clone()]).unwrap();
    assert!(matches!(predicate.matches(&other), Err(PredicateError::OtherRows { .. })));
}

fn syntax(text: &str) -> Option<TextPosition> {
    match parse(text) {
        Err(PredicateError::Syntax { position, .. }) => position,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn what_is_not_one_expression_is_refused_where_it_stops() {
    let at = |line, column| Some(TextPosition { line, column });
    assert_eq!(syntax(""), None);
    assert_eq!(syntax("Age <"), None);
    assert_eq!(syntax("Age < 3 limit 1"), at(1, 9));
    assert_eq!(syntax("Age < 3; delete"), at(1, 8));
    assert_eq!(syntax("Age < 3 order by name"), at(1, 9));
    assert_eq!(syntax("Age < 3 group by name"), at(1, 9));
    assert_eq!(syntax("Age < 3\n  name = 'x'"), at(2, 3));
    assert_eq!(syntax("name = 'open"), at(1, 8));
    assert_eq!(syntax("(Age < 3"), None);
    assert_eq!(syntax("Age < 3)"), at(1, 8));
    assert_eq!(syntax("-- nothing"), None);
    assert_eq!(syntax("Age < 3 union select 1"), at(1, 9));
}

#[test]
fn names_are_exact_and_an_unknown_one_is_named_with_what_may_be_meant() {
    let unknown = |text: &str| match parse(text) {
        Err(error @ PredicateError::UnknownColumn { .. }) => error.to_string(),
        other => panic!("{text}: {other:?}"),
    };
    assert!(unknown("ok and age < 3").contains("`age` (line 1, column 8); `Age` is meant"));
    assert!(unknown("name = \"Ada\"").contains("no column `Ada`"));
    assert!(unknown("name = \"Ada\"").contains("single quotes"));
    assert!(unknown("lower(nom) = 'x'").contains("no column `nom`"));
    assert!(unknown("_rowid = 3").contains("_rowid"));
    assert!(unknown("`name ` = ''").contains("`name `"));
}

#[test]
fn what_is_not_true_or_false_is_refused_with_its_type() {
    for (text, expected) in
        [("name", DataType::Utf8), ("Age + 1", DataType::Int32), ("'x'", DataType::Utf8)]
    {
        match parse(text) {
            Err(PredicateError::NotBoolean { found }) => assert_eq!(found, expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(matches!(parse("null"), Err(PredicateError::NotBoolean { .. })));
}

#[test]
fn what_asks_for_more_than_the_row_is_refused() {
    for text in [
        "seen < now()",
        "born < current_date()",
        "born < current_date",
        "score < random()",
        "name = uuid()",
        "Age > 3 or abs(random()) < 2",
    ] {
        let refused = parse(text);
        assert!(
            matches!(refused, Err(PredicateError::NotDeterministic { .. })),
            "{text}: {refused:?}"
        );
    }
}

#[test]
fn other_sql_is_refused_by_its_name_and_never_by_a_panic() {
    for text in [
        "Age in (select 1)",
        "exists (select 1)",
        "Age = (select max(Age) from t)",
        "lower((select name from t)) = 'x'",
        "count(Age) > 1",
        "sum(Age) over () > 1",
        "row_number() over (order by Age) = 1",
        "count(*) filter (where ok) > 1",
        "t.name = 'x'",
        "name.x = 'x'",
        "Age = $1",
        "Age = ?",
        "name = E'x'",
        "name = N'x'",
        "is_valid()",
        "is_valid(name)",
        "tags[1:2] is null",
        "tags['x'] = 'x'",
        "name like any ('x')",
        "name like '50!%' escape '!'",
        "Age = any (tags)",
        "case when ok then true end",
        "trim(name) = 'x'",
        "substring(name from 1) = 'x'",
        "extract(year from born) = 1970",
        "array_filter(tags, Age -> true) is null",
        "~Age = 3",
        "interval '1 day' is null",
        "name collate x = 'x'",
        "(Age, big) = (1, 2)",
        "Age & 3 = 1",
        "name ~ 'x'",
        "*",
    ] {
        match parse(text) {
            Err(PredicateError::Unsupported { .. } | PredicateError::Syntax { .. }) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn types_that_do_not_fit_and_unknown_functions_are_refused() {
    for text in [
        "Age = 'old'",
        "Age = 3.5",
        "born < '2000-01-01'",
        "ok > 'x' + 1",
        "born = 'yesterday'",
        "seen = 'noon'",
        "no_such(name)",
        "lower(name, name) = 'x'",
        "Age and ok",
        "cast(name as nothing) = 'x'",
        "vec > 3",
        "tags = 'red'",
        "date 'x' = born",
    ] {
        match parse(text) {
            Err(PredicateError::Mistyped { .. }) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_row_without_an_answer_is_an_error_of_the_predicate_in_a_batch_and_in_a_scan() {
    let rows = rows(3, 40);
    let table = table(&Store::memory(&MemoryStorage::new()), &rows).await;
    for text in
        ["10 / Age > 1", "cast(name as int) > 3", "Age % 0 = 1", "cast(big as int) + Age = 3"]
    {
        let predicate = parse(text).unwrap();
        let failed = predicate.matches(&rows);
        assert!(matches!(failed, Err(PredicateError::Evaluation { .. })), "{text}: {failed:?}");
        let filters = [
            RowFilter::Holds(predicate.clone()),
            RowFilter::All(vec![RowFilter::Any(vec![RowFilter::Holds(predicate)])]),
        ];
        for filter in filters {
            match scanned(&table, filter).await {
                Err(SubstrateError::Predicate(PredicateError::Evaluation {
                    text: named, ..
                })) => {
                    assert_eq!(named, text);
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_scan_joins_predicates_with_other_conditions() {
    let rows = rows(3, 40);
    let table = table(&Store::memory(&MemoryStorage::new()), &rows).await;
    let predicate = parse("ok").unwrap();
    let expected: Vec<u64> = matched(&predicate, &rows)
        .into_iter()
        .filter(|row| [1, 2, 3, 4, 5].contains(row))
        .collect();
    let values: ArrayRef = Arc::new(UInt64Array::from_iter_values(1..=5));
    let some = RowFilter::In { column: "row".to_owned(), values };
    let both = RowFilter::All(vec![some, RowFilter::Holds(predicate)]);
    assert_eq!(scanned(&table, both).await.unwrap(), expected);
}

#[tokio::test]
async fn a_predicate_of_another_table_is_refused() {
    let rows = rows(3, 4);
    let table = table(&Store::memory(&MemoryStorage::new()), &rows).await;
    for (name, of) in [("other", DataType::Utf8), ("Age", DataType::Utf8)] {
        let schema = Arc::new(Schema::new(vec![Field::new(name, of, true)]));
        let foreign = Predicate::parse(&schema, &format!("{name} = 'x'")).unwrap();
        let refused = scanned(&table, RowFilter::Holds(foreign)).await;
        assert!(matches!(refused, Err(SubstrateError::InvalidRequest { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn the_largest_predicates_need_no_large_stack_and_larger_ones_are_refused() {
    let rows = rows(3, 40);
    let table = table(&Store::memory(&MemoryStorage::new()), &rows).await;
    let expected = matched(&parse("Age = 3 and ok").unwrap(), &rows);
    assert!(!expected.is_empty());
    let joined = |count: usize, word: &str| vec!["Age = 3"; count].join(word);
    let inside =
        |levels: usize| format!("{}ok{}", "(Age = 3 and ".repeat(levels), ")".repeat(levels));
    let nots = |levels: usize| format!("Age = 3 and {} ok", "not ".repeat(levels));
    let sums = |levels: usize| format!("{}Age = {} and ok", "1 + ".repeat(levels), levels + 3);
    let various = (0..990).map(|n| format!("Age = {}", n * 3 + 3)).collect::<Vec<_>>();
    let alike = [
        format!("ok and {}", joined(999, " and ")),
        format!("ok and ({})", joined(998, " or ")),
        format!("ok and {} = Age", "abs(".repeat(12) + "3" + &")".repeat(12)),
        inside(12),
        nots(18),
        sums(35),
    ];
    for text in &alike {
        let largest = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(matched(&largest, &rows), expected, "{text}");
        assert_eq!(scanned(&table, RowFilter::Holds(largest)).await.unwrap(), expected, "{text}");
    }
    let many = parse(&various.join(" or ")).unwrap();
    let found = scanned(&table, RowFilter::Holds(many.clone())).await.unwrap();
    assert_eq!(found, matched(&many, &rows));
    for text in [joined(1_001, " or "), inside(60), sums(60), sums(900), sums(100_000)] {
        let refused = parse(&text);
        assert!(matches!(refused, Err(PredicateError::TooLarge { .. })), "{refused:?}");
    }
    assert!(matches!(parse(&nots(60)), Err(PredicateError::Syntax { .. })));
}

/// What the messages say, as a user reads them.
#[test]
fn refusals_are_told_in_words() {
    for (text, words) in [
        ("Age < ", "not an SQL condition: Expected: an expression, found: EOF"),
        ("nom = 'x'", "no column `nom` (line 1, column 1); the columns are `row`"),
        ("Age", "the condition is of type Int32, not true or false; compare it with something"),
        ("seen < now()", "`now` depends on more than the row, so that a repeated request"),
        (
            "repeat(name, 1000000000) = ''",
            "a condition cannot have `repeat`: its result may be of any size",
        ),
        (
            "length(lpad(name, 2000000000)) = 3",
            "a condition cannot have `lpad`: its result may be of any size",
        ),
        (
            "array_length(range(1, 2000000000)) = 3",
            "a condition cannot have `range`: its result may be of any size",
        ),
        ("exists (select 1)", "a condition cannot have a query: `EXISTS (SELECT 1)` (line 1"),
        ("count(Age) > 1", "a condition cannot have `count(Age)`: only the row itself"),
        ("Age = 'old'", "the condition has no type: Received literal Utf8(\"old\") and could not"),
        (
            "no_such(name)",
            "the condition has no type: Error parsing function: Error during planning",
        ),
    ] {
        let said = parse(text).unwrap_err().to_string();
        assert!(said.starts_with(words), "{text}: {said}");
        assert!(!said.contains(".rs:"), "{text}: {said}");
    }
    let failed = parse("10 / Age > 1").unwrap().matches(&rows(3, 40)).unwrap_err().to_string();
    let words = "the condition `10 / Age > 1` cannot be evaluated: ";
    assert!(failed.starts_with(words) && failed.contains("Divide by zero"), "{failed}");
}
