//! Judges a planned expression: nothing but the row decides, and it decides true or false.

use arrow_schema::{DataType, Schema};
use lance::deps::datafusion::common::DFSchema;
use lance::deps::datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use lance::deps::datafusion::logical_expr::{Expr, ExprSchemable, Volatility};

use super::PredicateError;

/// Refuses what asks for more than the row: the time, chance, other rows, other tables.
pub(super) fn deterministic(expression: &Expr) -> Result<(), PredicateError> {
    let mut refused = None;
    let visited = expression.apply(|part| {
        refused = fault(part);
        Ok(if refused.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    match (refused, visited) {
        (Some(refused), _) => Err(refused),
        (None, Err(error)) => Err(PredicateError::mistyped(error)),
        (None, Ok(_)) => Ok(()),
    }
}

/// Functions whose result is as large as a number says, whatever the row holds: one word could take all
/// memory.
const GROWING: [&str; 8] =
    ["array_repeat", "array_resize", "generate_series", "lpad", "range", "repeat", "rpad", "space"];

fn fault(part: &Expr) -> Option<PredicateError> {
    match part {
        Expr::ScalarFunction(call) if GROWING.contains(&call.func.name()) => {
            let what = format!("`{}`: its result may be of any size", call.func.name());
            Some(PredicateError::Unsupported { what, position: None })
        }
        Expr::ScalarFunction(call) => {
            let volatile = call.func.signature().volatility != Volatility::Immutable;
            let function = || call.func.name().to_owned();
            volatile.then(|| PredicateError::NotDeterministic { function: function() })
        }
        Expr::Column(_)
        | Expr::Alias(_)
        | Expr::Literal(..)
        | Expr::BinaryExpr(_)
        | Expr::Like(_)
        | Expr::SimilarTo(_)
        | Expr::Not(_)
        | Expr::IsNotNull(_)
        | Expr::IsNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_)
        | Expr::Negative(_)
        | Expr::Between(_)
        | Expr::Cast(_)
        | Expr::TryCast(_)
        | Expr::InList(_) => None,
        other => Some(PredicateError::Unsupported {
            what: format!("`{other}`: only the row itself can be asked"),
            position: None,
        }),
    }
}

pub(super) fn boolean(columns: &Schema, expression: &Expr) -> Result<(), PredicateError> {
    let schema = DFSchema::try_from(columns.clone()).map_err(PredicateError::mistyped)?;
    match expression.get_type(&schema).map_err(PredicateError::mistyped)? {
        DataType::Boolean => Ok(()),
        found => Err(PredicateError::NotBoolean { found }),
    }
}
