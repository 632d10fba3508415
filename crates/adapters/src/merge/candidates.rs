//! Which rows may have changed, by where they physically are: a superset of those that have, found from
//! the names of files and the lists of deleted rows alone. It reads no row.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use graphwrite_substrate::{FragmentPlace, SubstrateError, TableHandle};
use roaring::RoaringBitmap;

use super::gather::Offsets;

/// Rows of one fragment.
#[derive(Debug, Clone)]
pub(super) struct Picked {
    pub(super) fragment: u64,
    pub(super) physical_rows: Option<u64>,
    pub(super) rows: Pick,
}

#[derive(Debug, Clone)]
pub(super) enum Pick {
    /// All that are live.
    All,
    /// Those at these offsets.
    Only(RoaringBitmap),
}

/// The rows of each side that a merge must look at.
///
/// A row that is live at the same place of the same file in the source and in every base is not changed by
/// the source, so its key is not merged, whatever the target has made of it. All other rows of the
/// source and the bases are picked, and of the target all but rows of that kind. So every key whose row
/// the source has changed has all its rows picked, on whatever side they are.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    pub(super) source: Vec<Picked>,
    pub(super) target: Vec<Picked>,
    pub(super) bases: Vec<Vec<Picked>>,
    /// Of the versions that bases are merged with each other by: those that decide where bases differ.
    pub(super) older: Vec<Vec<Picked>>,
    /// Rows of the target that the first base has at the same place of the same file, and that are picked in
    /// both: they are read once, and are not among those picked in the target.
    pub(super) kept: Kept,
    /// Fragments of the source that were found in every base.
    pub(super) shared: u64,
}

/// A table of one side; none where it has no rows.
pub(super) type Side<'a> = Option<&'a TableHandle>;

/// By their files, those that only one fragment has.
type ByFiles = BTreeMap<Vec<String>, FragmentPlace>;

impl Candidates {
    /// All rows of all sides.
    pub(super) fn all(
        source: Side<'_>,
        target: Side<'_>,
        bases: &[Side<'_>],
        older: &[Side<'_>],
    ) -> Found<Self> {
        Ok(Self {
            source: all_of(source)?,
            target: all_of(target)?,
            bases: bases.iter().map(|base| all_of(*base)).collect::<Result<_, _>>()?,
            older: older.iter().map(|of| all_of(*of)).collect::<Result<_, _>>()?,
            kept: Kept::default(),
            shared: 0,
        })
    }

    /// The rows that may have changed.
    pub(super) async fn find(
        source: Side<'_>,
        target: Side<'_>,
        bases: &[Side<'_>],
        older: &[Side<'_>],
    ) -> Found<Self> {
        let compared: Option<Vec<&TableHandle>> =
            std::iter::once(&source).chain(bases).copied().collect();
        let Some(compared) = compared.filter(|compared| compared.len() > 1) else {
            let is_unchanged = source.is_none() && bases.iter().all(Option::is_none);
            return Self::all(source, target.filter(|_| !is_unchanged), bases, older);
        };
        let places = compared.iter().map(|table| by_files(table)).collect::<Found<Vec<_>>>()?;
        let common = Common::of(&compared, &places).await?;
        let mut picked = Vec::new();
        for table in &compared {
            picked.push(common.picks(table).await?);
        }
        let is_unchanged = picked.iter().all(Vec::is_empty);
        let source = picked.remove(0);
        let (mut kept, mut of_target) = (Kept::default(), Vec::new());
        if let Some(target) = target.filter(|_| !is_unchanged) {
            of_target = common.picks(target).await?;
            if let Some(first) = picked.first() {
                kept = Kept::out_of(&mut of_target, first, (&by_files(target)?, &places[1]));
            }
        }
        let mut of_older = Vec::new();
        for table in older {
            of_older.push(match table.filter(|_| !is_unchanged) {
                Some(table) => common.picks(table).await?,
                None => Vec::new(),
            });
        }
        let shared = common.0.len() as u64;
        Ok(Self { source, target: of_target, bases: picked, older: of_older, kept, shared })
    }
}

impl Candidates {
    /// How many rows are picked in the source, at most, and on all other sides; none where it is not known.
    pub(super) fn rows_max(&self) -> Option<(u64, u64)> {
        let rows = |of: &[Picked]| of.iter().map(Picked::rows_max).sum::<Option<u64>>();
        let bases = self.bases.iter().map(|base| rows(base)).sum::<Option<u64>>()?;
        Some((rows(&self.source)?, bases + rows(&self.target)?))
    }
}

/// Rows of a fragment of a base that are rows of a fragment of the target.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<u64, (u64, RoaringBitmap)>);

impl Kept {
    /// Takes rows out of those that are picked in the target, for which the files of both are given.
    fn out_of(
        target: &mut Vec<Picked>,
        base: &[Picked],
        (in_target, in_base): (&ByFiles, &ByFiles),
    ) -> Self {
        let mut kept = BTreeMap::new();
        for (files, of_target) in in_target {
            let Some(of_base) = in_base.get(files) else { continue };
            let in_base = base.iter().find(|picked| picked.fragment == of_base.id);
            let in_target = target.iter_mut().find(|picked| picked.fragment == of_target.id);
            let (Some(in_base), Some(in_target)) = (in_base, in_target) else { continue };
            if let (Pick::Only(in_base), Pick::Only(in_target)) =
                (&in_base.rows, &mut in_target.rows)
            {
                let both = &*in_target & in_base;
                *in_target -= &both;
                kept.insert(of_base.id, (of_target.id, both));
            }
        }
        target.retain(|picked| !matches!(&picked.rows, Pick::Only(rows) if rows.is_empty()));
        Self(kept)
    }

    /// Whether there is no such row.
    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(|(_, rows)| rows.is_empty())
    }

    /// Where the target has a row of the base.
    pub(super) fn address(&self, of_base: u64) -> Option<u64> {
        let (fragment, rows) = self.0.get(&(of_base >> 32))?;
        let offset = of_base as u32;
        rows.contains(offset).then_some(fragment << 32 | u64::from(offset))
    }
}

/// The rows of two versions that are live at a place where the other one has none.
#[derive(Debug)]
pub(super) struct Apart {
    pub(super) source: Vec<Picked>,
    pub(super) target: Vec<Picked>,
}

impl Apart {
    pub(super) async fn of(source: &TableHandle, target: &TableHandle) -> Found<Self> {
        let places = [by_files(source)?, by_files(target)?];
        let common = Common::of(&[source, target], &places).await?;
        Ok(Self { source: common.picks(source).await?, target: common.picks(target).await? })
    }

    /// Whether it costs less to read them than to ask the target about all rows that are put; false where
    /// it is not known how many they are.
    pub(super) fn is_worth_it(&self, target: &TableHandle, put: u64) -> Found<bool> {
        let asked: u64 = target.places()?.iter().filter_map(|of| of.physical_rows).sum();
        let rows = self.source.iter().chain(&self.target).map(Picked::rows_max);
        let rows = rows.sum::<Option<u64>>();
        Ok(rows.is_some_and(|rows| rows <= (asked + put) / 2 + FEW_ROWS))
    }
}

/// Leaves out rows that were picked.
pub(super) async fn leave_out(
    picked: Vec<Picked>,
    table: &TableHandle,
    rows: &Offsets,
) -> Found<Vec<Picked>> {
    let mut left = Vec::new();
    for picked in picked {
        left.extend(match rows.get(&picked.fragment) {
            Some(rows) => picked.without(table, rows).await?,
            None => Some(picked),
        });
    }
    Ok(left)
}

impl Picked {
    /// How many rows it has at most; none where that is not known.
    fn rows_max(&self) -> Option<u64> {
        match &self.rows {
            Pick::All => self.physical_rows,
            Pick::Only(offsets) => Some(offsets.len()),
        }
    }

    async fn without(self, table: &TableHandle, rows: &RoaringBitmap) -> Found<Option<Self>> {
        let picked = match &self.rows {
            Pick::Only(offsets) => Some(offsets.clone()),
            Pick::All => self.live(table).await?,
        };
        let Some(picked) = picked else { return Ok(Some(self)) };
        let left = picked - rows;
        Ok((!left.is_empty()).then_some(Self { rows: Pick::Only(left), ..self }))
    }

    /// All live rows of a fragment, if it is known how many rows it has.
    async fn live(&self, table: &TableHandle) -> Found<Option<RoaringBitmap>> {
        let Some(rows) = self.physical_rows else { return Ok(None) };
        let mut live = RoaringBitmap::new();
        live.insert_range(0..u32::try_from(rows).unwrap_or(u32::MAX));
        Ok(Some(live - table.deleted_offsets(self.fragment).await?))
    }
}

type Found<T> = Result<T, SubstrateError>;

fn all_of(table: Side<'_>) -> Found<Vec<Picked>> {
    let places = table.map(TableHandle::places).transpose()?.unwrap_or_default();
    Ok(places.iter().map(|place| picked(place, Pick::All)).collect())
}

fn picked(place: &FragmentPlace, rows: Pick) -> Picked {
    Picked { fragment: place.id, physical_rows: place.physical_rows, rows }
}

fn by_files(table: &TableHandle) -> Found<ByFiles> {
    let (mut found, mut twice) = (ByFiles::new(), BTreeSet::new());
    for place in table.places()? {
        let Some(files) = place.files.clone() else { continue };
        if found.insert(files.clone(), place).is_some() {
            twice.insert(files);
        }
    }
    found.retain(|files, _| !twice.contains(files));
    Ok(found)
}

/// The files that all of some versions have, with the rows that at least one of them has deleted.
#[derive(Debug)]
struct Common<'a>(BTreeMap<Vec<String>, Dead<'a>>);

/// Deleted rows of a file.
#[derive(Debug)]
enum Dead<'a> {
    /// All versions name the same list, which is not read for it, or none; one of them has it.
    Same {
        deletion: Option<String>,
        table: &'a TableHandle,
        fragment: u64,
    },
    Union(RoaringBitmap),
}

/// So many rows are read rather than asked for.
const FEW_ROWS: u64 = 1_024;

/// Lists of deleted rows that are read at the same time.
const READS_AT_ONCE: usize = 16;

impl<'a> Common<'a> {
    async fn of(tables: &[&'a TableHandle], places: &[ByFiles]) -> Found<Self> {
        let Some((first, others)) = places.split_first() else { return Ok(Self(BTreeMap::new())) };
        let common = first.keys().filter(|files| others.iter().all(|of| of.contains_key(*files)));
        let dead = common.map(|files| async move {
            let of_file: Vec<_> = places.iter().map(|of| &of[files]).collect();
            let deletion = &of_file[0].deletion;
            if of_file.iter().all(|place| place.deletion == *deletion) {
                let (table, fragment) = (tables[0], of_file[0].id);
                let deletion = deletion.clone();
                return Found::Ok((files.clone(), Dead::Same { deletion, table, fragment }));
            }
            let mut union = RoaringBitmap::new();
            for (table, place) in tables.iter().zip(of_file) {
                union |= table.deleted_offsets(place.id).await?;
            }
            Ok((files.clone(), Dead::Union(union)))
        });
        let dead = stream::iter(dead.collect::<Vec<_>>()).buffered(READS_AT_ONCE);
        Ok(Self(dead.try_collect().await?))
    }

    /// The live rows of a version that are not live in all of those that have these files in common.
    async fn picks(&self, table: &TableHandle) -> Found<Vec<Picked>> {
        let own = by_files(table)?;
        let places = table.places()?;
        let picks = places.iter().map(|place| {
            let files = place.files.as_ref().filter(|files| own.contains_key(*files));
            let dead = files.and_then(|files| self.0.get(files));
            async move {
                let Some(dead) = dead else { return Ok(Some(picked(place, Pick::All))) };
                let rows = dead.beyond(table, place).await?;
                Ok((!rows.is_empty()).then(|| picked(place, Pick::Only(rows))))
            }
        });
        let picks = stream::iter(picks.collect::<Vec<_>>()).buffered(READS_AT_ONCE);
        picks.try_filter_map(|pick| async move { Ok(pick) }).try_collect().await
    }
}

impl Dead<'_> {
    /// The rows of these that the version has not deleted.
    async fn beyond(&self, table: &TableHandle, place: &FragmentPlace) -> Found<RoaringBitmap> {
        match self {
            Self::Same { deletion, .. } if *deletion == place.deletion => Ok(RoaringBitmap::new()),
            Self::Same { table: other, fragment, .. } => {
                let dead = other.deleted_offsets(*fragment).await?;
                Ok(dead - table.deleted_offsets(place.id).await?)
            }
            Self::Union(dead) => Ok(dead - table.deleted_offsets(place.id).await?),
        }
    }
}
