//! The ways to write a call so that it is hard to see.

/// The ways in which a call may be written; `quiet` is what the entry point calls.
pub(super) const DISGUISES: &[(&str, &str)] = &[
    // A function in between, and one in another file.
    (
        "quiet(self, x).await;",
        "async fn quiet(graph: &Graph, x: X) { write(&graph.core, x).await; }",
    ),
    (
        "self.quiet(x).await;",
        "impl Graph { async fn quiet(&self, x: X) { write(&self.core, x).await; } }",
    ),
    // Another name.
    ("quiet(&self.core, x).await;", "use crate::write::write as quiet;"),
    ("quiet::write(&self.core, x).await;", "use crate::write as quiet;"),
    ("Quiet::publish(&x, x, x).await;", "type Quiet = Manifest;"),
    ("Quiet::publish(&x, x, x).await;", "use graphwrite_manifest::Manifest as Quiet;"),
    ("quiet(x, x, x).await;", "use graphwrite_substrate::strict_commit as quiet;"),
    // Every form of a path.
    ("<Manifest>::publish(&x, x, x).await;", ""),
    ("graphwrite_manifest::Manifest::publish(&x, x, x).await;", ""),
    ("{ use crate::write::write as quiet; quiet(x, x).await; }", ""),
    // A function as a value.
    ("let it = Manifest::publish; it(x, x, x).await;", ""),
    ("x.map(crate::write::write);", ""),
    ("(QUIET[0])(x).await;", "const QUIET: [F; 1] = [crate::write::write];"),
    // Closures and macro arguments.
    ("let quiet = || async { write(&self.core, x).await }; quiet().await;", ""),
    ("tokio::select! { _ = write(&self.core, x) => {}, _ = x => {} }", ""),
    ("tracing::info!(\"{:?}\", self.core.manifest.publish(x, &x).await);", ""),
    // An argument that looks like an atomic's.
    (
        "x.y().quiet(Ordering::Relaxed, x).await;",
        "impl Graph { async fn quiet(&self, o: Ordering, x: X) { write(&self.core, x).await; } }",
    ),
    // A name that means something else in an inner module.
    (
        "inner::go(x).await;",
        "use crate::status::status as quiet; mod inner {
            pub(super) async fn go(x: X) { quiet(x).await }
            async fn quiet(x: X) { crate::write::write(x, x).await; } }",
    ),
    // Types that stand for others, and types without a name.
    ("go(x).await;", "async fn go(g: OwnedMutexGuard<Graph>) { g.load(x).await; }"),
    ("go(x).await;", "async fn go(g: Pin<&mut Graph>) { g.load(x).await; }"),
    (
        "<[u8]>::quiet(x).await;",
        "trait Quiet { async fn quiet(x: X); } impl Quiet for [u8] { async fn quiet(x: X) { write(x, x).await; } }",
    ),
    (
        "let a: Vec<u8> = x; a.quiet(x).await;",
        "trait Quiet { async fn quiet(&self, x: X); }
            impl<Anything> Quiet for Anything { async fn quiet(&self, x: X) { write(x, x).await; } }",
    ),
    (
        "run::<Self>(x).await;",
        "trait Quiet { type Means; } impl Quiet for Graph { type Means = Manifest; }
            async fn run<Q: Quiet>(x: X) { Q::Means::publish(x, x, x).await; }",
    ),
    ("(<Self as Quiet>::RUN)(x).await;", "trait Quiet { const RUN: F = crate::write::write; } impl Quiet for Graph {}"),
    // A receiver of any type.
    ("x.y().publish(x, &x).await;", ""),
];
