//! The measured costs as a page, as a golden text, and against their budgets. It must not know how
//! they are measured.

use std::fmt::Write;

use graphwrite_substrate::{Operation, RequestCounts};

use super::waves::Wave;

/// The measured operations, scene by scene.
#[derive(Debug, Default)]
pub(super) struct Costs(Vec<Scene>);

#[derive(Debug)]
struct Scene {
    title: String,
    costs: Vec<Cost>,
}

/// What one operation has cost.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    pub(super) what: &'static str,
    /// All requests, those behind the answer included.
    pub(super) requests: RequestCounts,
    /// The round trips that the caller has waited for, one after the other.
    pub(super) waves: Vec<Wave>,
    /// The most that it may cost, requests and round trips, where that is agreed.
    pub(super) budget: Option<(u64, usize)>,
    /// How many more requests it may make over a long history.
    pub(super) growth: u64,
}

const HEAD: &str = "\
# Costs

What the common operations ask of the storage. A small graph is measured on an in-memory storage, through a
handle that has just written, unless it says otherwise; `cargo xtask bench --counts` prints this page, and a
test compares it.

* **Requests** are all that the operation makes, those behind its answer included (the deletion of its
  intent).
* **Round trips** are those that the caller waits for, one after the other. The storage holds every request; when
  no thread of the process can go on without an answer, all that is held is released, and that is one
  round trip.
* **Read** and **written** are KiB of objects; names and headers do not count.
* **Publication** is what comes when all effects have landed; the data of its commit is written beside them.
* A **budget** is the most that is accepted, as requests / round trips. A dash means that none is agreed.
* On a **branch** other than main a write may cost two requests and one round trip more: the name's records are
  listed beside the barrier, and once more before the answer. The first write to a table that the branch has
  inherited makes a ref of its own for it, and the next one reads what the ref has inherited, since a cache
  knows files by the ref they are read through. Making and deleting a branch must not feel how many tables
  or branches there are: the last five tables are compared with each other.
";

impl Costs {
    pub(super) fn add(&mut self, title: impl Into<String>, costs: Vec<Cost>) {
        self.0.push(Scene { title: title.into(), costs });
    }

    /// The page of the manual.
    pub(super) fn page(&self) -> String {
        self.0.iter().fold(HEAD.to_owned(), |mut page, scene| {
            write!(
                page,
                "\n## {}\n\n| operation | requests | by kind | round trips | budget | read | written |\n\
                 |---|---|---|---|---|---|---|\n",
                scene.title
            )
            .unwrap();
            scene.costs.iter().for_each(|cost| writeln!(page, "{}", row(cost)).unwrap());
            page
        })
    }

    /// The counts that are the same in every run.
    pub(super) fn counts(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, scene| {
            writeln!(text, "{}", scene.title).unwrap();
            for cost in &scene.costs {
                let (requests, trips) = (cost.requests.total(), cost.waves.len());
                writeln!(text, "  {}: {requests} requests, {trips} round trips", cost.what)
                    .unwrap();
                writeln!(text, "    {}", kinds(&cost.requests)).unwrap();
            }
            text
        })
    }

    /// Every round trip with its requests: where to look for one that could be saved.
    pub(super) fn waves(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, scene| {
            for cost in &scene.costs {
                writeln!(text, "\n{}: {}", scene.title, cost.what).unwrap();
                for (number, wave) in (1..).zip(&cost.waves) {
                    let requests: Vec<String> = wave.iter().map(request).collect();
                    writeln!(text, "{number:>4}  {}", requests.join("\n      ")).unwrap();
                }
            }
            text
        })
    }

    pub(super) fn assert_budgets(&self) {
        for scene in &self.0 {
            for cost in &scene.costs {
                let found = (cost.requests.total(), cost.waves.len());
                let (requests, trips) = cost.budget.unwrap_or((u64::MAX, usize::MAX));
                let within = found.0 <= requests && found.1 <= trips;
                assert!(within, "{}, {}: {found:?} of {:?}", scene.title, cost.what, cost.budget);
            }
        }
    }

    /// The second scene is the first with a longer history.
    pub(super) fn assert_growth(&self) {
        let [young, old, ..] = self.0.as_slice() else { panic!("two scenes") };
        for (young, old) in young.costs.iter().zip(&old.costs) {
            let what = young.what;
            assert_eq!(what, old.what);
            let (before, after) = (young.requests.total(), old.requests.total());
            assert!(after <= before + young.growth, "{what}: {before}, then {after} requests");
        }
    }

    /// The last scenes differ in size alone, which no operation of theirs may feel.
    pub(super) fn assert_flat(&self, sizes: usize) {
        let scenes = &self.0[self.0.len() - sizes..];
        let felt = |cost: &Cost| (cost.what, kinds(&cost.requests), cost.waves.len());
        let of = |scene: &Scene| scene.costs.iter().map(felt).collect::<Vec<_>>();
        for scene in scenes {
            assert_eq!(of(scene), of(&scenes[0]), "{}, beside {}", scene.title, scenes[0].title);
        }
    }
}

fn row(cost: &Cost) -> String {
    let budget = cost
        .budget
        .map_or_else(|| "-".to_owned(), |(requests, trips)| format!("{requests} / {trips}"));
    format!(
        "| {} | {} | {} | {} | {budget} | {} | {} |",
        cost.what,
        cost.requests.total(),
        kinds(&cost.requests),
        cost.waves.len(),
        kib(cost.requests.bytes_read),
        kib(cost.requests.bytes_written),
    )
}

fn request(operation: &Operation) -> String {
    format!("{:?} {}", operation.kind, operation.path)
}

fn kinds(requests: &RequestCounts) -> String {
    let kinds = requests.by_kind.iter().map(|(kind, count)| format!("{count} {kind:?}"));
    kinds.collect::<Vec<_>>().join(", ")
}

fn kib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1024.0)
}

/// The lines in which two pages differ. Bytes may differ a little: ids are random, and compress as
/// they like.
pub(super) fn differences(page: &str, measured: &str) -> Vec<String> {
    let (page, measured): (Vec<_>, Vec<_>) = (page.lines().collect(), measured.lines().collect());
    let lines = page.len().max(measured.len());
    let line = |of: &[&str], number: usize| of.get(number).copied().unwrap_or_default().to_owned();
    (0..lines)
        .map(|number| (line(&page, number), line(&measured, number)))
        .filter(|(page, measured)| !alike(page, measured))
        .flat_map(|(page, measured)| [format!("- {page}"), format!("+ {measured}")])
        .collect()
}

fn alike(page: &str, measured: &str) -> bool {
    let (page, measured): (Vec<_>, Vec<_>) =
        (page.split('|').collect(), measured.split('|').collect());
    let near = |left: &str, right: &str| match (left.trim().parse(), right.trim().parse()) {
        (Ok(left), Ok(right)) if left_is_size(left, right) => true,
        _ => left == right,
    };
    // The sizes are the last two of the cells; a line ends with an empty one.
    let sizes = 6..8;
    page.len() == measured.len()
        && page.iter().zip(&measured).enumerate().all(|(cell, (left, right))| {
            left == right || (sizes.contains(&cell) && near(left, right))
        })
}

fn left_is_size(left: f64, right: f64) -> bool {
    (left - right).abs() <= 0.1 + 0.02 * left.max(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "| load | 20 | 3 Get | 9 | 20 / 12 | 10.0 | 4.0 |";

    #[test]
    fn a_page_differs_by_counts_and_by_more_than_a_little_in_sizes() {
        let differs = |other: &str| !differences(LINE, other).is_empty();
        assert!(!differs(LINE));
        assert!(!differs("| load | 20 | 3 Get | 9 | 20 / 12 | 10.2 | 4.1 |"));
        assert!(differs("| load | 20 | 3 Get | 9 | 20 / 12 | 10.4 | 4.0 |"));
        assert!(differs("| load | 20 | 3 Get | 9 | 20 / 12 | 10.0 | 4.3 |"));
        assert!(differs("| load | 20 | 3 Get | 8 | 20 / 12 | 10.0 | 4.0 |"));
        assert!(differs("| load | 21 | 3 Get | 9 | 20 / 12 | 10.0 | 4.0 |"));
        assert!(differs(""));
    }
}
