//! Conditions that leave points out, such as `nodes <= 50` or `protocol.name != "flood"`.

use std::cmp::Ordering;

use meshlock_sim::scenario::file::Constraint;

use super::{PlanError, label, quantity};

/// Whether a point is kept. A side is the name of an axis, a key of the file, or a value.
pub(super) fn holds(
    constraint: &Constraint,
    labels: &[(String, String)],
    value: impl Fn(&str) -> Result<Option<String>, PlanError>,
) -> Result<bool, PlanError> {
    let side = |text: &str| -> Result<String, PlanError> {
        if quantity(text).is_some() || text.starts_with(['"', '\'']) {
            return Ok(text.to_owned());
        }
        if let Some(value) = value(text)? {
            return Ok(value);
        }
        let label = labels.iter().find(|(axis, _)| axis == text).map(|(_, label)| label.clone());
        // A bare word is a value, such as the name of a protocol; a key that has no value is not.
        match label {
            Some(label) => Ok(label),
            None if text.contains('.') => Err(wrong(constraint, &format!("`{text}` has no value"))),
            None => Ok(text.to_owned()),
        }
    };
    let (left, right) = (side(&constraint.left)?, side(&constraint.right)?);
    let order = match (quantity(&left), quantity(&right)) {
        (Some(left), Some(right)) => left.basic.partial_cmp(&right.basic),
        _ => None,
    };
    let equal = order.map_or_else(|| label(&left) == label(&right), Ordering::is_eq);
    let ordered = || order.ok_or_else(|| wrong(constraint, &format!("`{left}` and `{right}` are not both numbers")));
    match constraint.op.as_str() {
        "==" => Ok(equal),
        "!=" => Ok(!equal),
        "<" => ordered().map(Ordering::is_lt),
        "<=" => ordered().map(Ordering::is_le),
        ">" => ordered().map(Ordering::is_gt),
        ">=" => ordered().map(Ordering::is_ge),
        other => Err(wrong(constraint, &format!("`{other}` is none of <, <=, >, >=, ==, !="))),
    }
}

fn wrong(constraint: &Constraint, why: &str) -> PlanError {
    let Constraint { left, op, right } = constraint;
    PlanError::Constraint { constraint: format!("{left} {op} {right}"), why: why.to_owned() }
}
