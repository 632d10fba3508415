//! Faults for tests of the protocol: at a failpoint the process dies, the write fails, or it waits
//! until a test lets it go on. Builds for production do not contain this file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use graphwrite_coordinator::{Hooks, Injected};
use graphwrite_protocol_types::{Failpoint, InvalidId};

use crate::command::FaultArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// What happens at a failpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultAction {
    /// The process dies at once, as by `kill -9`.
    Abort,
    /// The write fails there.
    Error,
    /// The write waits there for the release file.
    Pause,
}

/// A failpoint, which of its occurrences, and what happens there: `post_effect:abort`, or
/// `post_effect@2:abort` for the second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FaultSpec {
    point: Failpoint,
    occurrence: u32,
    action: FaultAction,
}

impl FromStr for FaultSpec {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let refused = |rule| InvalidId { what: "fault", text: text.to_owned(), rule };
        let form = "a failpoint, a colon, and one of `abort`, `error`, `pause`";
        let (place, action) = text.split_once(':').ok_or_else(|| refused(form))?;
        let action = match action {
            "abort" => FaultAction::Abort,
            "error" => FaultAction::Error,
            "pause" => FaultAction::Pause,
            _ => return Err(refused(form)),
        };
        let (point, occurrence) = place.split_once('@').unwrap_or((place, "1"));
        let occurrence = occurrence.parse().ok().filter(|n| *n > 0);
        let occurrence = occurrence.ok_or_else(|| refused("occurrences are counted from 1"))?;
        Ok(Self { point: point.parse()?, occurrence, action })
    }
}

/// The faults of one run.
#[derive(Debug)]
pub(crate) struct Faults {
    specs: Vec<FaultSpec>,
    release: Option<PathBuf>,
    met: Mutex<BTreeMap<&'static str, u32>>,
}

/// How often a paused write looks for its release.
const LOOK_EVERY: Duration = Duration::from_millis(5);

impl Faults {
    pub(crate) fn new(args: &FaultArgs) -> Result<Self, Failure> {
        let pauses = args.faults.iter().any(|spec| spec.action == FaultAction::Pause);
        if pauses && args.release.is_none() {
            return Err(Failure::new(
                Exit::Usage,
                "usage",
                "a pause needs `--fault-release <FILE>`",
            ));
        }
        let specs = args.faults.clone();
        Ok(Self { specs, release: args.release.clone(), met: Mutex::default() })
    }

    /// The action at this occurrence of `point`.
    fn meet(&self, point: Failpoint) -> Option<FaultAction> {
        // A panic elsewhere leaves the counters as they are; they stay usable.
        let mut met = self.met.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let count = met.entry(point.name()).or_insert(0);
        *count += 1;
        let here = self.specs.iter().find(|spec| spec.point == point && spec.occurrence == *count);
        here.map(|spec| spec.action)
    }

    async fn pause(&self) -> std::io::Result<()> {
        let Some(release) = &self.release else { return Ok(()) };
        std::fs::write(reached(release), "")?;
        while !release.exists() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}

/// The file that tells the test that the write waits.
fn reached(release: &Path) -> PathBuf {
    let mut name = release.as_os_str().to_owned();
    name.push(".reached");
    PathBuf::from(name)
}

#[async_trait]
impl Hooks for Faults {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        match self.meet(point) {
            None => Ok(()),
            Some(FaultAction::Abort) => std::process::abort(),
            Some(FaultAction::Error) => Err(Injected(point)),
            Some(FaultAction::Pause) => self.pause().await.map_err(|_| Injected(point)),
        }
    }

    fn wants(&self, point: Failpoint) -> bool {
        self.specs.iter().any(|spec| spec.point == point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(specs: &[&str], release: &Path) -> Faults {
        let faults = specs.iter().map(|spec| spec.parse().unwrap()).collect();
        Faults::new(&FaultArgs { faults, release: Some(release.to_owned()) }).unwrap()
    }

    #[test]
    fn every_failpoint_can_be_named_with_every_action() {
        for point in Failpoint::ALL {
            for action in ["abort", "error", "pause"] {
                format!("{point}:{action}").parse::<FaultSpec>().unwrap();
            }
        }
    }

    #[test]
    fn a_fault_that_is_not_one_is_refused() {
        for text in ["post_arm", "post_arm:sleep", "nowhere:abort", "post_arm@0:abort"] {
            assert!(text.parse::<FaultSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_pause_without_a_release_is_refused() {
        let args = FaultArgs { faults: vec!["post_arm:pause".parse().unwrap()], release: None };
        assert_eq!(Faults::new(&args).unwrap_err().exit, Exit::Usage);
    }

    #[tokio::test]
    async fn an_error_is_returned_at_its_occurrence_and_nowhere_else() {
        let faults = faults(&["post_effect@2:error"], Path::new("unused"));
        assert_eq!(faults.reach(Failpoint::PostArm).await, Ok(()));
        assert_eq!(faults.reach(Failpoint::PostEffect).await, Ok(()));
        let second = faults.reach(Failpoint::PostEffect).await;
        assert_eq!(second, Err(Injected(Failpoint::PostEffect)));
        assert_eq!(faults.reach(Failpoint::PostEffect).await, Ok(()));
        assert!(faults.wants(Failpoint::PostEffect) && !faults.wants(Failpoint::PostArm));
    }

    #[tokio::test]
    async fn a_pause_says_that_it_waits_and_ends_with_the_release() {
        let scratch = tempfile::tempdir().unwrap();
        let release = scratch.path().join("release");
        let faults = faults(&["post_arm:pause"], &release);
        let mut paused = Box::pin(faults.reach(Failpoint::PostArm));
        assert!(futures::poll!(paused.as_mut()).is_pending());
        assert!(reached(&release).exists());
        std::fs::write(&release, "").unwrap();
        paused.await.unwrap();
    }
}
