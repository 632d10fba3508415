//! What branches cost: their creation and deletion, and what is done on them, on a graph of three tables;
//! and creation and deletion at sizes of the graph that they must not feel.

use graphwrite_coordinator::{
    BranchFrom, BranchStanding, CreateBranch, DeleteBranch, Graph, LoadMode,
};
use graphwrite_protocol_types::{BranchName, BranchSelector};

use super::scene::{Budget, COLD, EDGE, INSERT, Scene, THREE, UPSERT, person};
use super::table::{Cost, Costs};
use crate::world::own_process;

/// Tables, and names that were used before: every second of several is deleted.
pub(super) const SIZES: [(usize, usize); 5] = [(1, 1), (50, 1), (200, 1), (1, 50), (1, 200)];

const DEPTH: usize = 10;

pub(super) async fn measure(costs: &mut Costs) {
    costs.add("Branches: 3 tables, 10 commits, 2 branches", of_three_tables().await);
    for (tables, branches) in SIZES {
        let title = format!("Branches: tables {tables}, names used before {branches}");
        costs.add(title, at_size(tables, branches).await);
    }
}

async fn of_three_tables() -> Vec<Cost> {
    let scene = Scene::new(3, DEPTH).await;
    let first = scene.graph.log(2).await.unwrap().pop().unwrap().commit;
    scene.fork("parent", head_of("main")).await;
    let parent = scene.graph.branch(&selector("parent")).await.unwrap();
    crate::world::append(&parent, &[person("of-parent")]).await;
    parent.settled().await;
    let mut costs = vec![
        scene.create("branch create: from the head of main", CREATE, head_of("main")).await,
        scene.create(ELSEWHERE, None, head_of("parent")).await,
        scene.create(OF_COMMIT, None, BranchFrom::Commit(first)).await,
    ];
    costs.push(scene.list().await);
    costs.push(scene.status("main", "branch status: main").await);
    costs.push(scene.status("parent", "branch status: a branch").await);
    costs.push(scene.cold_on("parent").await);
    let branch = scene.graph.branch(&selector("new2")).await.unwrap();
    costs.extend(scene.delete("new1").await);
    let scene = scene.on(branch);
    costs.push(scene.create(OF_UNWRITTEN, None, head_of("new2")).await);
    costs.extend(scene.on_a_branch().await);
    costs.push(scene.create(OF_OWN, beside_main(CREATE), head_of("new2")).await);
    costs
}

async fn at_size(tables: usize, branches: usize) -> Vec<Cost> {
    let scene = Scene::plain(tables, DEPTH).await;
    for number in 0..branches {
        let name = format!("b{number}");
        scene.fork(&name, head_of("main")).await;
        if number % 2 == 1 {
            remove(&scene.graph, &name).await;
        }
    }
    scene.graph.settled().await;
    let of_main = "branch create: from the head of main";
    let mut costs = vec![scene.create(of_main, CREATE, head_of("main")).await];
    costs.extend(scene.delete("new0").await);
    let again = "branch create: a name that was deleted";
    costs.push(scene.create(again, CREATE, head_of("main")).await);
    let branch = scene.graph.branch(&selector("b0")).await.unwrap();
    let scene = scene.on(branch);
    let insert =
        |slug: &str| format!(r#"[{{"insert":{{"type":"T0","data":{{"slug":"{slug}"}}}}}}]"#);
    for slug in ["first", "second"] {
        scene.mutate("before", None, &insert(slug)).await;
    }
    let what = "mutate on a branch: insert 1 row";
    costs.push(scene.mutate(what, beside_main(INSERT), &insert("third")).await);
    costs.push(scene.create(OF_OWN, beside_main(CREATE), head_of("b0")).await);
    costs
}

impl Scene {
    async fn fork(&self, branch: &str, from: BranchFrom) {
        let (name, actor) = (name(branch), "ada".to_owned());
        self.graph.create_branch(CreateBranch { name, from, actor }).await.unwrap();
    }

    /// A branch `new<n>`, the first that there is not.
    async fn create(&self, what: &'static str, budget: Budget, from: BranchFrom) -> Cost {
        let used = self.graph.branches().await.unwrap();
        let is_live = |name: &String| {
            used.iter().any(|(used, it)| used == name && matches!(it, BranchStanding::Live(_)))
        };
        let free = (0..).map(|number| format!("new{number}")).find(|name| !is_live(name));
        let (name, actor) = (name(&free.unwrap()), "ada".to_owned());
        let making = self.graph.create_branch(CreateBranch { name, from, actor });
        let (cost, made) = self.meter.cost(what, budget, 0, making).await;
        made.unwrap();
        self.settled(cost).await
    }

    /// The deletion until its answer, and what goes on behind it.
    async fn delete(&self, branch: &str) -> [Cost; 2] {
        let (name, actor) = (name(branch), "ada".to_owned());
        let deletion = self.graph.delete_branch(DeleteBranch { name, actor, expect_head: None });
        let (cost, deleted) = self.meter.cost("branch delete", DELETE, 0, deletion).await;
        deleted.unwrap();
        let answered = Cost { requests: self.meter.taken(), ..cost };
        let (what, waves, budget) = (BEHIND, Vec::new(), None);
        let behind = Cost { what, waves, budget, ..answered.clone() };
        [answered, self.settled(behind).await]
    }

    async fn list(&self) -> Cost {
        let (cost, listed) = self.meter.cost("branch list", None, 0, self.graph.branches()).await;
        listed.unwrap();
        self.settled(cost).await
    }

    async fn status(&self, branch: &str, what: &'static str) -> Cost {
        let branch = selector(branch);
        let (cost, status) =
            self.meter.cost(what, None, 0, self.graph.branch_status(&branch)).await;
        status.unwrap();
        self.settled(cost).await
    }

    async fn cold_on(&self, branch: &str) -> Cost {
        let (store, branch) = (self.meter.store.reopened(), selector(branch));
        let opening = async {
            let graph = Graph::open_on(store, &branch, own_process()).await.unwrap();
            graph.snapshot().await.unwrap();
        };
        let what = "cold open and snapshot of a branch";
        let (cost, ()) = self.meter.cost(what, beside_main(COLD), 0, opening).await;
        self.settled(cost).await
    }

    async fn on_a_branch(&self) -> Vec<Cost> {
        let insert = beside_main(INSERT);
        let first = "load on a branch: first row of an inherited table";
        let mut costs = vec![self.write(first, None, &[person("first")]).await];
        let next = "load on a branch: the row after it, which reads every inherited file again";
        costs.push(self.write(next, None, &[person("second")]).await);
        let later = "load on a branch: insert 1 row into 1 node type";
        costs.push(self.write(later, insert, &[person("third")]).await);
        let statement = r#"[{"insert":{"type":"Person","data":{"slug":"m"}}}]"#;
        costs.push(self.mutate("mutate on a branch: insert 1 row", insert, statement).await);
        let edge = [r#"{"edge":"Knows","from":"p2","to":"p1"}"#];
        let first = "load on a branch: first edge into an inherited table";
        costs.push(self.write(first, None, &edge).await);
        let edge = [r#"{"edge":"Knows","from":"p1","to":"p1"}"#];
        let later = "load on a branch: insert 1 edge, both ends probed";
        costs.push(self.write(later, beside_main(EDGE), &edge).await);
        let first = [r#"{"type":"Company","data":{"slug":"c7"}}"#];
        self.write("first company", None, &first).await;
        let upsert = "load on a branch: upsert touching 3 tables";
        costs.push(self.load(upsert, beside_main(UPSERT), LoadMode::Upsert, &THREE).await);
        let what = "recovery of a branch with nothing pending: its name, and a barrier";
        costs.push(self.recover(what, None).await);
        let what = "snapshot of a branch";
        let (cost, snapshot) = self.meter.cost(what, Some((3, 2)), 0, self.graph.snapshot()).await;
        snapshot.unwrap();
        costs.push(self.settled(cost).await);
        costs
    }
}

fn name(text: &str) -> BranchName {
    text.parse().unwrap()
}

fn selector(text: &str) -> BranchSelector {
    text.parse().unwrap()
}

fn head_of(text: &str) -> BranchFrom {
    BranchFrom::Head(selector(text))
}

async fn remove(graph: &Graph, branch: &str) {
    let (name, actor) = (name(branch), "ada".to_owned());
    graph.delete_branch(DeleteBranch { name, actor, expect_head: None }).await.unwrap();
}

/// On a branch other than main.
fn beside_main(budget: Budget) -> Budget {
    budget.map(|(requests, trips)| (requests + 2, trips + 1))
}

const OF_OWN: &str = "branch create: from the head of the branch that the handle is on";
const OF_UNWRITTEN: &str = "branch create: the same, before the branch has a commit of its own";
const ELSEWHERE: &str = "branch create: from the head of another branch, which is opened for it";
const OF_COMMIT: &str = "branch create: from an older commit";

const BEHIND: &str = "branch delete: behind its answer, a look for intents that it had";

const CREATE: Budget = Some((14, 10));
const DELETE: Budget = Some((3, 3));
