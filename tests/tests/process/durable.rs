//! What a loss of power would find: every file that a load leaves was synced before it got its name, its
//! name was synced before the next step leaned on it, and records and versions got theirs by a hard link,
//! which cannot replace another's. Seen in the requests of the program to its kernel.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::{run, through};
use super::site::{Site, addition, all, base};

/// The requests that matter, with the paths of their file descriptors.
const CALLS: &str = "trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2";

/// One request, and the line of the trace where it begins.
#[derive(Debug)]
struct Call<'a> {
    line: &'a str,
    at: usize,
}

struct Trace(String);

impl Trace {
    /// What a load asks of its kernel; none where no trace can be taken.
    fn of_a_load(site: &Site) -> Option<Self> {
        let works = Command::new("strace").args(["-f", "-y", "-o", "/dev/null", "true"]).output();
        if !works.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let (data, trace) = (site.file(&addition()), site.fresh("trace"));
        let words =
            ["strace", "-f", "-y", "-s", "4096", "-e", CALLS, "-o", trace.to_str().unwrap()];
        run(&mut through(&words, &site.load_args(&data, &[]))).exits(0);
        Some(Self(std::fs::read_to_string(trace).unwrap()))
    }

    fn calls(&self, names: [&'static str; 2]) -> impl Iterator<Item = Call<'_>> {
        let is_it = move |line: &str| names.iter().any(|name| line.contains(name));
        let lines = self.0.lines().enumerate();
        lines.filter(move |(_, line)| is_it(line)).map(|(at, line)| Call { line, at })
    }

    /// Where the file got its name, and whether by a hard link.
    fn naming(&self, path: &Path) -> (usize, bool) {
        let quoted = format!("\"{}\"", path.display());
        let named = |call: &Call<'_>| call.line.contains(&quoted);
        let link = self.calls([" link(", " linkat("]).find(named);
        let rename = self.calls([" rename(", " renameat"]).find(named);
        let is_link = link.is_some();
        let call = link.or(rename).unwrap_or_else(|| panic!("{} got no name", path.display()));
        (call.at, is_link)
    }

    /// Where a path that begins so was synced.
    fn synced(&self, path: &str) -> Vec<usize> {
        let is_it = |call: &Call<'_>| call.line.contains(path);
        self.calls([" fsync(", " fdatasync("]).filter(is_it).map(|call| call.at).collect()
    }

    /// Checks one file, and says where its name was durable.
    fn durable_from(&self, path: &Path) -> usize {
        let (named_at, is_link) = self.naming(path);
        let content = self.synced(&format!("<{}#", path.display()));
        assert!(content.iter().any(|at| *at < named_at), "content of {}", path.display());
        let ends = path.extension().and_then(|extension| extension.to_str());
        assert_eq!(is_link, matches!(ends, Some("intent" | "manifest")), "{}", path.display());
        let directory = self.synced(&format!("<{}>", path.parent().unwrap().display()));
        let durable_at = directory.into_iter().find(|at| *at > named_at);
        durable_at.unwrap_or_else(|| panic!("the name of {}", path.display()))
    }

    /// The intent of the load, which is gone since.
    fn intent(&self, site: &Site) -> PathBuf {
        let records = format!("\"{}/_recovery/main/", site.graph());
        let link = self.calls([" link(", " linkat("]).find(|call| call.line.contains(&records));
        let line = link.expect("an intent got its name").line;
        let mut paths = line.split('"').filter(|part| part.ends_with(".intent"));
        PathBuf::from(paths.next_back().expect("the name of an intent"))
    }
}

#[test]
fn what_a_load_leaves_is_synced_before_it_is_named_and_before_anything_leans_on_it() {
    let site = Site::with_base();
    let before = site.files();
    let Some(trace) = Trace::of_a_load(&site) else { return };
    site.at_rest_with(&all(&[base(), addition()]));
    let after = site.files();
    let made: BTreeSet<PathBuf> =
        after.difference(&before).map(|file| Path::new(site.graph()).join(file)).collect();
    assert!(made.len() > 9, "three tables and the manifest: {made:?}");
    for file in &made {
        trace.durable_from(file);
    }
    let is = |file: &&PathBuf, place: &str| {
        file.strip_prefix(site.graph()).unwrap().starts_with(place)
            && file.extension().is_some_and(|extension| extension == "manifest")
    };
    let tables = || made.iter().filter(|file| is(file, "tables"));
    let graph: Vec<_> = made.iter().filter(|file| is(file, "__manifest")).collect();
    // The intent before every effect, and every effect before the commit that shows them.
    let intent = trace.intent(&site);
    let armed = trace.durable_from(&intent);
    assert_eq!((tables().count(), graph.len()), (3, 1));
    assert!(tables().all(|table| trace.naming(table).0 > armed));
    let published = trace.naming(graph[0]).0;
    assert!(tables().all(|table| trace.durable_from(table) < published));
}
