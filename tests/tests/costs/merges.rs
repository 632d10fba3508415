//! What merges cost: they follow what has changed, on a graph of any size and with a history of any depth.

use graphwrite_coordinator::{
    BranchFrom, CreateBranch, Graph, LoadMode, MergeRelation, MergeRequest,
};
use graphwrite_protocol_types::WriteOutcome;

use super::scene::{Budget, Scene, THREE, person};
use super::table::{Cost, Costs};
use crate::world::load;

pub(super) async fn measure(costs: &mut Costs) {
    for (tables, depth) in [(3, 10), (3, 100), (50, 10)] {
        let title = format!("Merges into main: {tables} tables, {depth} commits");
        costs.add(title, Scene::new(tables, depth).await.merges().await);
    }
}

impl Scene {
    async fn merges(&self) -> Vec<Cost> {
        let mut costs = vec![self.ahead().await, self.again().await];
        costs.push(self.apart().await);
        costs.push(self.three().await);
        costs.push(self.previewed().await);
        costs.push(self.in_vain().await);
        costs
    }

    /// A branch of the head of main with these rows.
    async fn branch(&self, name: &str, rows: &[impl AsRef<str>]) -> Graph {
        let (from, actor) = (head_of("main"), "ada".to_owned());
        let request = CreateBranch { name: name.parse().unwrap(), from, actor };
        self.graph.create_branch(request).await.unwrap();
        let branch = self.graph.branch(&name.parse().unwrap()).await.unwrap();
        self.put(&branch, rows).await;
        branch
    }

    async fn put(&self, graph: &Graph, rows: &[impl AsRef<str>]) {
        let outcome = load(graph, LoadMode::Upsert, rows).await;
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{outcome:?}");
        graph.settled().await;
    }

    async fn ahead(&self) -> Cost {
        self.branch("ahead", &people("a")).await;
        self.merge("merge: 10 new rows of a branch that is ahead", AHEAD, "ahead").await
    }

    async fn again(&self) -> Cost {
        let merging = self.graph.merge(request("ahead"));
        let (cost, answer) = self.meter.cost("merge: nothing that is new", AGAIN, 1, merging).await;
        assert!(matches!(answer.unwrap().outcome, WriteOutcome::NoChange(_)));
        self.settled(cost).await
    }

    async fn apart(&self) -> Cost {
        self.branch("apart", &people("b")).await;
        self.put(&self.graph, &people("c")).await;
        self.merge("merge: 10 rows into a main with 10 others", APART, "apart").await
    }

    async fn three(&self) -> Cost {
        self.branch("three", &THREE).await;
        self.put(&self.graph, &people("d")).await;
        self.merge("merge: 3 tables into a main with other rows", THREE_TABLES, "three").await
    }

    async fn previewed(&self) -> Cost {
        self.branch("seen", &people("e")).await;
        self.put(&self.graph, &people("f")).await;
        let previewing = self.graph.preview_merge(request("seen"));
        let what = "preview of a merge of 10 rows";
        let (cost, report) = self.meter.cost(what, None, 1, previewing).await;
        assert_eq!(report.unwrap().relation, MergeRelation::Diverged);
        self.settled(cost).await
    }

    async fn in_vain(&self) -> Cost {
        let contradicts = [r#"{"type":"Person","data":{"slug":"p2","age":70}}"#];
        self.branch("vain", &contradicts).await;
        self.put(&self.graph, &[r#"{"type":"Person","data":{"slug":"p2","age":71}}"#]).await;
        let what = "merge: a row that both have changed, a conflict";
        let (cost, answer) =
            self.meter.cost(what, None, 1, self.graph.merge(request("vain"))).await;
        assert!(matches!(answer.unwrap().outcome, WriteOutcome::Conflict(_)));
        self.settled(cost).await
    }

    async fn merge(&self, what: &'static str, budget: Budget, source: &str) -> Cost {
        let (cost, answer) =
            self.meter.cost(what, budget, 1, self.graph.merge(request(source))).await;
        let outcome = answer.unwrap().outcome;
        assert!(matches!(outcome, WriteOutcome::Committed(_)), "{what}: {outcome:?}");
        self.settled(cost).await
    }
}

fn request(source: &str) -> MergeRequest {
    MergeRequest::new(head_of(source))
}

fn head_of(branch: &str) -> BranchFrom {
    BranchFrom::Head(branch.parse().unwrap())
}

fn people(prefix: &str) -> Vec<String> {
    (0..10).map(|number| person(&format!("{prefix}{number}"))).collect()
}

const AHEAD: Budget = Some((28, 18));
const AGAIN: Budget = Some((7, 6));
const THREE_TABLES: Budget = Some((62, 26));
const APART: Budget = Some((33, 22));
