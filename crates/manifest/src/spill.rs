//! When rows of lineage leave the hot fragment, and which cold fragments the new one absorbs. Pure
//! arithmetic on row counts; it must not know what the rows say.

/// Lineage rows (commits and outcomes) that a hot fragment holds at most: those of 64 commits.
pub(crate) const HOT_LINEAGE_ROWS_MAX: usize = 128;
/// Lineage rows that stay hot when the others spill: those of 16 commits.
pub(crate) const HOT_LINEAGE_ROWS_KEPT: usize = 32;
/// Rows of a cold fragment at most, so that no single publish rewrites more than this.
pub(crate) const COLD_ROWS_MAX: u64 = 16_384;

/// A fragment of older lineage and outcome rows. A higher id means younger rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColdFragment {
    /// Its id in the Lance manifest.
    pub id: u64,
    /// How many rows it has.
    pub rows: u64,
}

/// What moves in a commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SpillPlan {
    /// Lineage rows of versions before this one leave the hot fragment.
    pub(crate) keep_from_version: u64,
    /// Cold fragments that the new one replaces, oldest first.
    pub(crate) absorbed: Vec<u64>,
}

/// The plan for a hot fragment whose lineage rows have `versions` in ascending order, beside cold
/// fragments in ascending order of their ids; none while there is room.
pub(crate) fn plan(versions: &[u64], cold: &[ColdFragment]) -> Option<SpillPlan> {
    if versions.len() <= HOT_LINEAGE_ROWS_MAX {
        return None;
    }
    let kept_at_least = versions[versions.len() - HOT_LINEAGE_ROWS_KEPT];
    let before = |version: u64| versions.partition_point(|of| *of < version);
    // Rows of one version are never torn apart. Recovery of many attempts writes so many in one that
    // they would be written again by every commit to come: they leave at once, all of them.
    let torn = versions.len() - before(kept_at_least) > HOT_LINEAGE_ROWS_MAX;
    let keep_from_version = if torn { kept_at_least + 1 } else { kept_at_least };
    let spilled = before(keep_from_version) as u64;
    (spilled > 0).then(|| SpillPlan { keep_from_version, absorbed: absorbed(spilled, cold) })
}

/// Like carrying in a counter: the new fragment takes in the youngest ones as long as they are not
/// much larger than itself. So each fragment below it has more than 1.5 times its rows, for good,
/// and their number is logarithmic until they reach the maximum.
fn absorbed(spilled: u64, cold: &[ColdFragment]) -> Vec<u64> {
    let mut rows = spilled;
    let carried = cold.iter().rev().take_while(|fragment| {
        let carries = 2 * fragment.rows <= 3 * rows && rows + fragment.rows <= COLD_ROWS_MAX;
        rows += if carries { fragment.rows } else { 0 };
        carries
    });
    let mut ids: Vec<u64> = carried.map(|fragment| fragment.id).collect();
    ids.reverse();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Publishes `commits` commits of two rows each against the plan alone; gives the cold
    /// fragments after each, and all rows ever rewritten.
    fn publish(commits: u64) -> (Vec<ColdFragment>, usize, u64) {
        let (mut hot, mut cold) = (Vec::new(), Vec::new());
        let (mut most, mut rewritten, mut next_id) = (0, 0, 1);
        for version in 2..commits + 2 {
            hot.extend([version, version]);
            if let Some(plan) = plan(&hot, &cold) {
                let spilled = hot.iter().filter(|v| **v < plan.keep_from_version).count() as u64;
                hot.retain(|v| *v >= plan.keep_from_version);
                let gone = |f: &&ColdFragment| plan.absorbed.contains(&f.id);
                let rows = spilled + cold.iter().filter(gone).map(|f| f.rows).sum::<u64>();
                cold.retain(|f| !plan.absorbed.contains(&f.id));
                cold.push(ColdFragment { id: next_id, rows });
                (next_id, rewritten) = (next_id + 1, rewritten + rows);
                most = most.max(cold.len());
            }
            assert!(hot.len() <= HOT_LINEAGE_ROWS_MAX);
        }
        let kept: u64 = cold.iter().map(|f| f.rows).sum();
        assert_eq!(kept + hot.len() as u64, 2 * commits, "no row is lost or doubled");
        (cold, most, rewritten)
    }

    #[test]
    fn sixty_four_commits_stay_hot_and_the_next_one_spills_all_but_sixteen() {
        assert!(publish(64).0.is_empty());
        assert_eq!(publish(65).0, [ColdFragment { id: 1, rows: 2 * 49 }]);
    }

    #[test]
    fn the_number_of_cold_fragments_is_logarithmic() {
        let most = |commits| publish(commits).1;
        assert!(most(1_000) <= 5, "{}", most(1_000));
        assert!(most(8_000) <= 9, "{}", most(8_000));
    }

    #[test]
    fn no_cold_fragment_exceeds_the_maximum_and_full_ones_are_left_alone() {
        let (cold, ..) = publish(40_000);
        assert!(cold.iter().all(|fragment| fragment.rows <= COLD_ROWS_MAX));
        assert!(cold.len() <= 80_000 / (COLD_ROWS_MAX as usize / 2) + 12, "{}", cold.len());
    }

    #[test]
    fn a_row_is_rewritten_a_logarithmic_number_of_times() {
        let rewritten = publish(10_000).2;
        assert!(rewritten < 20_000 * 12, "{rewritten}");
    }

    #[test]
    fn a_storm_of_aborts_spills_too() {
        let versions: Vec<u64> = (2..=130).collect();
        assert_eq!(versions.len(), HOT_LINEAGE_ROWS_MAX + 1);
        let plan = plan(&versions, &[]).expect("a spill");
        assert_eq!(plan.keep_from_version, 130 - HOT_LINEAGE_ROWS_KEPT as u64 + 1);
    }

    #[test]
    fn more_rows_of_one_version_than_may_stay_hot_leave_at_once() {
        let versions: Vec<u64> = [2, 3].into_iter().chain([4; 256]).collect();
        let plan = plan(&versions, &[]).expect("a spill");
        assert_eq!(plan.keep_from_version, 5, "nothing stays hot");
        let versions: Vec<u64> = [4; 256].into_iter().chain([5, 5]).collect();
        let plan = super::plan(&versions, &[]).expect("a spill");
        assert_eq!(plan.keep_from_version, 5, "only what is younger stays hot");
    }

    #[test]
    fn as_many_rows_of_one_version_as_may_stay_hot_stay() {
        let versions: Vec<u64> = [2; 10].into_iter().chain([3; HOT_LINEAGE_ROWS_MAX]).collect();
        let plan = plan(&versions, &[]).expect("a spill");
        assert_eq!(plan.keep_from_version, 3);
    }

    #[test]
    fn rows_of_one_version_are_never_torn_apart() {
        let versions: Vec<u64> = (0..129).map(|row| 2 + row / 2).collect();
        let plan = plan(&versions, &[]).expect("a spill");
        let kept = versions.iter().filter(|v| **v >= plan.keep_from_version).count();
        assert_eq!(kept, 33, "128 is the last version's only row, so an odd row is kept too");
    }
}
