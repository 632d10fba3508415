//! From the overlay of a table to its net change against the base: what came and went within the
//! request leaves no trace, and a row that ends as it was is unchanged (typed equality, `keys`).

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use graphwrite_schema::GraphSchema;

use super::overlay::{Base, Now, Overlay};
use super::resolve::Net;
use super::sources::Cells;
use crate::change::{Changes, Reason, RowClass, Watched, note};
use crate::input::TableInput;
use crate::input::spot::Spot;
use crate::input::table::{Origin, Part};
use crate::keys::Encoder;

/// The net change of a table; none when no row of it was put or removed.
pub(super) fn net(schema: &GraphSchema, overlay: &Overlay<'_>) -> Result<Option<Net>, ArrowError> {
    let watched = Watched::of(schema, overlay.def.identity);
    let mut changes = Changes::default();
    let parts = put(overlay, &watched, &mut changes)?;
    removed(overlay, &watched, &mut changes)?;
    if parts.is_empty() && changes.removed == 0 {
        return Ok(None);
    }
    let columns = overlay.schema().clone();
    Ok(Some((TableInput::new(overlay.def, columns, parts)?, changes)))
}

/// A row that is put, and what it is put over.
struct Put<'o> {
    spot: Spot,
    id: u32,
    cells: &'o Cells,
    base: Option<&'o Base>,
}

/// The rows that are put, in the order of the request, and what each does.
fn put(
    overlay: &Overlay<'_>,
    watched: &Watched,
    changes: &mut Changes,
) -> Result<Vec<Part>, ArrowError> {
    let put = overlay.put_rows().into_iter().map(|(id, cells)| {
        let row = &overlay.rows[id as usize];
        Put { spot: row.spot, id, cells, base: row.base.as_ref() }
    });
    let mut put: Vec<_> = put.collect();
    put.sort_unstable_by_key(|row| (row.spot, row.id));
    let comparison = Comparison::new(overlay, watched)?;
    let mut parts = Vec::new();
    for run in overlay.sources.runs(&put, |row| row.cells) {
        let cells: Vec<_> = run.iter().map(|row| row.cells).collect();
        let batch = overlay.sources.rows(&cells)?;
        comparison.apply(run, &batch, changes)?;
        let origin = Origin::Spots(run.iter().map(|row| row.spot).collect());
        parts.push(Part { batch, origin });
    }
    Ok(parts)
}

/// Tells updates from rows that stay as they are.
struct Comparison<'o> {
    overlay: &'o Overlay<'o>,
    encoder: Encoder,
    /// The column of the source of an edge, where it matters which sources lose one.
    source: Option<usize>,
}

impl<'o> Comparison<'o> {
    fn new(overlay: &'o Overlay<'_>, watched: &Watched) -> Result<Self, ArrowError> {
        let types = overlay.schema().fields().iter().map(|field| field.data_type().clone());
        let source = watched.source.map(|source| overlay.schema().index_of(source)).transpose()?;
        Ok(Self { overlay, encoder: Encoder::new(types)?, source })
    }

    fn apply(
        &self,
        run: &[Put<'_>],
        after: &RecordBatch,
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let first = changes.classes.len();
        changes.classes.resize(first + run.len(), RowClass::Insert);
        let based = run.iter().enumerate().filter_map(|(at, row)| Some((at, row.base?)));
        let based: Vec<(usize, &Base)> = based.collect();
        if based.is_empty() {
            return Ok(());
        }
        let cells: Vec<_> = based.iter().map(|(_, base)| &base.cells).collect();
        let before = self.overlay.sources.rows(&cells)?;
        let (old, new) =
            (self.encoder.rows(before.columns())?, self.encoder.rows(after.columns())?);
        let mut updated = Vec::new();
        for (was, (at, base)) in based.iter().enumerate() {
            let same = old.row(was) == new.row(*at);
            changes.classes[first + at] = if same { RowClass::Unchanged } else { RowClass::Update };
            if !same {
                changes.replaced.insert(base.address);
                updated.push((was, *at));
            }
        }
        self.note_left(&updated, (&before, after), first, changes)
    }

    /// An edge with its own id may be given another source.
    fn note_left(
        &self,
        updated: &[(usize, usize)],
        (before, after): (&RecordBatch, &RecordBatch),
        first: usize,
        changes: &mut Changes,
    ) -> Result<(), ArrowError> {
        let Some(source) = self.source else { return Ok(()) };
        let (before, after) = (before.column(source), after.column(source));
        let encoder = Encoder::new([before.data_type().clone()])?;
        let (old, new) = (
            encoder.rows(std::slice::from_ref(before))?,
            encoder.rows(std::slice::from_ref(after))?,
        );
        let moved: Vec<_> =
            updated.iter().filter(|(was, at)| old.row(*was) != new.row(*at)).collect();
        let was: arrow_array::UInt32Array =
            moved.iter().map(|(was, _)| Some(*was as u32)).collect();
        let left = arrow_select::take::take(before, &was, None)?;
        let reasons = moved.iter().map(|(_, at)| Reason::Row((first + at) as u32)).collect();
        note(&mut changes.left, left, reasons);
        Ok(())
    }
}

/// Rows of the base that go without a successor.
fn removed(
    overlay: &Overlay<'_>,
    watched: &Watched,
    changes: &mut Changes,
) -> Result<(), ArrowError> {
    let gone = overlay.rows.iter().filter(|row| matches!(row.now, Now::Gone));
    let gone: Vec<(Spot, &Base)> =
        gone.filter_map(|row| Some((row.spot, row.base.as_ref()?))).collect();
    changes.removed = gone.len() as u64;
    changes.replaced.extend(gone.iter().map(|(_, base)| base.address));
    let mut places = BTreeMap::new();
    let mut reason = |spot: Spot| {
        let next = places.len() as u32;
        Reason::Place(*places.entry(spot).or_insert(next))
    };
    for run in overlay.sources.runs(&gone, |(_, base)| &base.cells) {
        let cells: Vec<_> = run.iter().map(|(_, base)| &base.cells).collect();
        let values = |name: &str| -> Result<ArrayRef, ArrowError> {
            overlay.sources.column(overlay.schema().index_of(name)?, &cells)
        };
        let reasons: Vec<Reason> = run.iter().map(|(spot, _)| reason(*spot)).collect();
        if let Some(key) = &watched.key {
            note(&mut changes.gone, values(key)?, reasons.clone());
        }
        if let Some(source) = watched.source {
            note(&mut changes.left, values(source)?, reasons);
        }
    }
    let mut spots: Vec<(u32, Spot)> = places.into_iter().map(|(spot, at)| (at, spot)).collect();
    spots.sort_unstable();
    changes.reasons = spots.into_iter().map(|(_, spot)| spot.place()).collect();
    Ok(())
}
