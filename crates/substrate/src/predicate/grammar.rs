//! Which texts are predicates. The engine's own parser reads a text as part of a query, ignores
//! what follows the condition, takes double quotes for text, and panics over some literals: it must
//! see nothing that has not passed here.

use std::any::TypeId;

use arrow_schema::Schema;
use lance::deps::datafusion::sql::sqlparser;
use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectNamePart, Spanned, Subscript, UnaryOperator, Value,
};
use sqlparser::dialect::{Dialect, GenericDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::{PredicateError, TextPosition};

/// Enough for a thousand comparisons.
pub(super) const TOKENS_MAX: usize = 4_000;
/// Deeper expressions could exhaust the stack of whoever walks them. A row of `and`s or of `or`s is
/// one level.
pub(super) const DEPTH_MAX: usize = 40;

/// The text in the form in which the engine reads it as it was meant.
pub(super) fn checked(columns: &Schema, text: &str) -> Result<String, PredicateError> {
    let tokens = tokens(text)?;
    let normal = tokens.iter().map(|token| token.token.to_string()).collect();
    let expression = parsed(tokens)?;
    let mut pending = vec![(&expression, 1)];
    while let Some((part, depth)) = pending.pop() {
        if depth > DEPTH_MAX {
            let (what, most) = ("nested levels", DEPTH_MAX);
            return Err(PredicateError::TooLarge { what, found: depth, most });
        }
        if let Expr::Identifier(name) = part {
            known(columns, name)?;
        }
        for inner in parts(part)? {
            let deeper = usize::from(!continues(part, inner));
            pending.push((inner, depth + deeper));
        }
    }
    Ok(normal)
}

/// The dialect of the engine's parser, whose grammar is the generic one, with names in backticks.
#[derive(Debug)]
struct FilterDialect(GenericDialect);

impl Dialect for FilterDialect {
    fn dialect(&self) -> TypeId {
        self.0.dialect()
    }

    fn is_identifier_start(&self, character: char) -> bool {
        self.0.is_identifier_start(character)
    }

    fn is_identifier_part(&self, character: char) -> bool {
        self.0.is_identifier_part(character)
    }

    fn is_delimited_identifier_start(&self, character: char) -> bool {
        character == '`'
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        self.0.supports_bitwise_shift_operators()
    }
}

/// The tokens, comments left out, and names in double quotes made names in backticks.
fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, PredicateError> {
    let dialect = FilterDialect(GenericDialect {});
    let tokens = Tokenizer::new(&dialect, text).with_unescape(false).tokenize_with_location();
    let mut tokens = tokens.map_err(|error| PredicateError::Syntax {
        position: position(error.location),
        reason: error.message,
    })?;
    let found = tokens.iter().filter(|token| !is_space(token)).count();
    if found > TOKENS_MAX {
        return Err(PredicateError::TooLarge { what: "words and signs", found, most: TOKENS_MAX });
    }
    for TokenWithSpan { token, .. } in &mut tokens {
        match token {
            Token::Whitespace(_) => {
                *token = Token::Whitespace(sqlparser::tokenizer::Whitespace::Space)
            }
            Token::DoubleQuotedString(name) => *token = Token::make_word(name, Some('`')),
            _ => {}
        }
    }
    Ok(tokens)
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// The whole text as one expression.
fn parsed(tokens: Vec<TokenWithSpan>) -> Result<Expr, PredicateError> {
    let dialect = FilterDialect(GenericDialect {});
    let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens);
    let parsed = parser.parse_expr();
    let next = parser.peek_token_ref();
    let position = position(next.span.start);
    match parsed {
        Ok(expression) if next.token == Token::EOF => Ok(expression),
        Ok(_) => {
            let reason = format!("expected the end of the condition, found `{next}`");
            Err(PredicateError::Syntax { position, reason })
        }
        Err(ParserError::RecursionLimitExceeded) => {
            let (what, most) = ("nested levels", DEPTH_MAX);
            Err(PredicateError::TooLarge { what, found: DEPTH_MAX + 1, most })
        }
        Err(ParserError::ParserError(reason) | ParserError::TokenizerError(reason)) => {
            Err(PredicateError::Syntax { position, reason })
        }
    }
}

fn position(location: Location) -> Option<TextPosition> {
    let Location { line, column } = location;
    (line > 0).then_some(TextPosition { line, column })
}

/// Whether `inner` is more of the same row of `and`s or `or`s.
fn continues(outer: &Expr, inner: &Expr) -> bool {
    let joins = |expression: &Expr| match expression {
        Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
            Some(op.clone())
        }
        _ => None,
    };
    joins(outer).is_some() && joins(outer) == joins(inner)
}

fn known(columns: &Schema, name: &Ident) -> Result<(), PredicateError> {
    let mut names = columns.fields().iter().map(|field| field.name());
    if names.any(|column| *column == name.value) {
        return Ok(());
    }
    let names = || columns.fields().iter().map(|field| field.name());
    let meant = names().find(|column| column.eq_ignore_ascii_case(&name.value));
    let hint = match meant {
        Some(meant) => format!("`{meant}` is meant, perhaps: case matters"),
        None => {
            let names: Vec<String> = names().map(|column| format!("`{column}`")).collect();
            format!("the columns are {}; text stands in single quotes", names.join(", "))
        }
    };
    let position = position(name.span.start);
    Err(PredicateError::UnknownColumn { name: name.value.clone(), position, hint })
}

/// What an expression is made of, if it may be part of a predicate.
fn parts(expression: &Expr) -> Result<Vec<&Expr>, PredicateError> {
    let refused = |what: &str| {
        let what = format!("{what}: `{expression}`");
        Err(PredicateError::Unsupported { what, position: position(expression.span().start) })
    };
    match expression {
        Expr::Identifier(_) => Ok(Vec::new()),
        Expr::Value(value) if is_literal(&value.value) => Ok(Vec::new()),
        Expr::TypedString(typed) if is_literal(&typed.value.value) => Ok(Vec::new()),
        Expr::Nested(inner)
        | Expr::IsTrue(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::Minus, expr: inner }
        | Expr::Cast { expr: inner, array: false, format: None, .. } => Ok(vec![inner]),
        Expr::BinaryOp { op, .. } if !is_known(op) => refused("this operator"),
        Expr::BinaryOp { left, right, .. }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => Ok(vec![left, right]),
        Expr::Like { any: false, expr, pattern, escape_char: None, .. }
        | Expr::ILike { any: false, expr, pattern, escape_char: None, .. } => {
            Ok(vec![expr, pattern])
        }
        Expr::Between { expr, low, high, .. } => Ok(vec![expr, low, high]),
        Expr::InList { expr, list, .. } => Ok(list.iter().chain([expr.as_ref()]).collect()),
        Expr::Array(array) => Ok(array.elem.iter().collect()),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let indexes = access_chain.iter().map(index).collect::<Option<Vec<_>>>();
            let parts = indexes.map(|indexes| indexes.into_iter().chain([root.as_ref()]).collect());
            parts.map_or_else(|| refused("a part of a value"), Ok)
        }
        Expr::Function(function) => {
            arguments(function).map_or_else(|| refused("this form of a function"), Ok)
        }
        Expr::CompoundIdentifier(_) => refused("a name with a dot"),
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => refused("a query"),
        _ => refused("this"),
    }
}

fn is_known(operator: &BinaryOperator) -> bool {
    use BinaryOperator as Op;
    matches!(
        operator,
        Op::And
            | Op::Or
            | Op::Eq
            | Op::NotEq
            | Op::Lt
            | Op::LtEq
            | Op::Gt
            | Op::GtEq
            | Op::Plus
            | Op::Minus
            | Op::Multiply
            | Op::Divide
            | Op::Modulo
            | Op::StringConcat
            | Op::PGBitwiseShiftLeft
            | Op::PGBitwiseShiftRight
    )
}

fn is_literal(value: &Value) -> bool {
    matches!(
        value,
        Value::Number(..)
            | Value::SingleQuotedString(_)
            | Value::HexStringLiteral(_)
            | Value::Boolean(_)
            | Value::Null
    )
}

fn index(access: &AccessExpr) -> Option<&Expr> {
    match access {
        AccessExpr::Subscript(Subscript::Index { index }) => match index {
            Expr::Value(value) if !matches!(value.value, Value::Number(..)) => None,
            index => Some(index),
        },
        _ => None,
    }
}

/// The arguments of a plain call; none of one with clauses, names, windows or filters.
fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    let plain = !function.uses_odbc_syntax
        && matches!(function.parameters, FunctionArguments::None)
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.over.is_none()
        && function.within_group.is_empty();
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    // The engine's word for `is not null`, read by other rules than its functions.
    if !plain || name.value == "is_valid" {
        return None;
    }
    match &function.args {
        FunctionArguments::None => Some(Vec::new()),
        FunctionArguments::List(list) => {
            let plain = list.duplicate_treatment.is_none() && list.clauses.is_empty();
            let argument = |argument| match argument {
                &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref argument)) => Some(argument),
                _ => None,
            };
            plain.then(|| list.args.iter().map(argument).collect()).flatten()
        }
        FunctionArguments::Subquery(_) => None,
    }
}
