//! Distributions as text: `10ms`, `uniform(0s, 1s)`, `choice(1: 0.9, 3: 0.1)`.

use super::near;
use super::quantity::{Quantity, Range};
use crate::distribution::Distribution;

pub(super) const NAMES: [&str; 5] = ["constant", "uniform", "exponential", "lognormal", "choice"];

/// What is wrong, and what would be right.
type Trouble = (String, String);

/// Reads a distribution of a quantity whose values are in `range`.
pub(super) fn parse(text: &str, quantity: Quantity, range: Range) -> Result<Distribution, Trouble> {
    let distribution = parse_any(text.trim(), quantity)?;
    let (low, high) = distribution.range();
    let open = matches!(distribution, Distribution::Exponential { .. } | Distribution::LogNormal { .. });
    // What has no least value comes as near to zero as one likes, but zero itself is never drawn.
    let allowed =
        if open { range.low <= 0.0 && range.high == f64::INFINITY } else { range.has(low) && range.has(high) };
    if allowed {
        return Ok(distribution);
    }
    let words = range.words(Some(quantity));
    let value = if open {
        return Err((format!("`{text}` has no least or greatest value"), format!("every value must be {words}")));
    } else if range.has(low) {
        high
    } else {
        low
    };
    Err((format!("{} is out of range", quantity.show(value)), format!("allowed: {words}")))
}

/// The text of a distribution, in the units of our own calculations.
pub(super) fn show(distribution: &Distribution, quantity: Quantity) -> String {
    let show = |value: &f64| quantity.show(*value);
    match distribution {
        Distribution::Constant(value) => show(value),
        Distribution::Uniform { low, high } => format!("uniform({}, {})", show(low), show(high)),
        Distribution::Exponential { mean } => format!("exponential({})", show(mean)),
        Distribution::LogNormal { median, sigma } => format!("lognormal({}, {sigma})", show(median)),
        Distribution::Choice(values) => {
            let all: Vec<_> = values.iter().map(|(value, weight)| format!("{}: {weight}", show(value))).collect();
            format!("choice({})", all.join(", "))
        }
    }
}

pub(super) fn how(quantity: Quantity) -> String {
    let one = quantity.example();
    let quoted = if quantity == Quantity::Count { one.to_owned() } else { format!("\"{one}\"") };
    format!("write {quoted}, or a distribution such as \"uniform({one}, {one})\"")
}

fn parse_any(text: &str, quantity: Quantity) -> Result<Distribution, Trouble> {
    let Some((name, rest)) = text.split_once('(') else {
        return match quantity.parse(text) {
            Ok(value) => Ok(Distribution::Constant(value)),
            // A word without a number is more likely a distribution than a unit.
            Err(_) if text.starts_with(char::is_alphabetic) => Err(no_such(text)),
            Err(trouble) => Err(trouble),
        };
    };
    let name = name.trim();
    let Some(inner) = rest.trim_end().strip_suffix(')') else {
        return Err((format!("`{text}` has no closing bracket"), example(name, quantity)));
    };
    let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    let bad = || (format!("`{name}` does not take `{inner}`"), example(name, quantity));
    match (name, parts.as_slice()) {
        ("constant", [value]) => Ok(Distribution::Constant(quantity.parse(value)?)),
        ("uniform", [low, high]) => {
            let (low, high) = (quantity.parse(low)?, quantity.parse(high)?);
            if low <= high {
                Ok(Distribution::Uniform { low, high })
            } else {
                Err((format!("the ends of `{text}` are the wrong way round"), example(name, quantity)))
            }
        }
        ("exponential", [_]) | ("lognormal", [_, _]) if quantity == Quantity::Count => {
            let message = format!("`{name}` does not draw whole numbers");
            Err((message, "use a number, uniform(1, 3) or choice(1: 0.9, 3: 0.1)".to_owned()))
        }
        ("exponential", [mean]) => match quantity.parse(mean)? {
            mean if mean > 0.0 => Ok(Distribution::Exponential { mean }),
            _ => Err(("the mean must be more than 0".to_owned(), example(name, quantity))),
        },
        ("lognormal", [median, sigma]) => {
            let median = quantity.parse(median)?;
            match sigma.parse::<f64>() {
                Ok(sigma) if sigma.is_finite() && sigma >= 0.0 && median > 0.0 => {
                    Ok(Distribution::LogNormal { median, sigma })
                }
                Ok(_) | Err(_) => Err(bad()),
            }
        }
        ("choice", parts) => choice(parts, quantity, &bad),
        ("constant" | "uniform" | "exponential" | "lognormal", _) => Err(bad()),
        _ => Err(no_such(name)),
    }
}

fn choice(parts: &[&str], quantity: Quantity, bad: &dyn Fn() -> Trouble) -> Result<Distribution, Trouble> {
    let weighted = parts.iter().filter(|part| part.contains(':')).count();
    if weighted != 0 && weighted != parts.len() {
        let help = "give all values a weight or none: choice(1: 0.9, 3: 0.1) or choice(1, 3)";
        return Err(("some values have a weight, some have not".to_owned(), help.to_owned()));
    }
    let one = |part: &&str| {
        let (value, weight) = part.split_once(':').unwrap_or((part, "1"));
        let value = quantity.parse(value)?;
        match weight.trim().parse::<f64>() {
            Ok(weight) if weight > 0.0 && weight.is_finite() => Ok((value, weight)),
            Ok(_) | Err(_) => Err(bad()),
        }
    };
    Ok(Distribution::Choice(parts.iter().map(one).collect::<Result<_, _>>()?))
}

fn no_such(name: &str) -> Trouble {
    (format!("there is no distribution `{name}`"), near::help(name, &NAMES))
}

fn example(name: &str, quantity: Quantity) -> String {
    let one = quantity.example();
    match name {
        "uniform" => format!("write uniform(least, greatest), such as uniform({one}, {one})"),
        "exponential" => format!("write exponential(mean) with a mean above 0, such as exponential({one})"),
        "lognormal" => format!("write lognormal(median, sigma), such as lognormal({one}, 0.5)"),
        "choice" => "write choice(value: weight, ...) with weights above 0, such as choice(1: 0.9, 3: 0.1)".to_owned(),
        _ => format!("write constant(value), such as constant({one})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, quantity: Quantity) -> Result<Distribution, Trouble> {
        parse(text, quantity, Range::NOT_NEGATIVE)
    }

    #[test]
    fn every_distribution_is_read_and_shown_in_one_form() {
        let table = [
            ("10ms", "0.01s"),
            ("constant( 1.5 min )", "90s"),
            ("uniform(0s, 300us)", "uniform(0s, 0.0003s)"),
            ("exponential(1h)", "exponential(3600s)"),
            ("lognormal(1s, 0.5)", "lognormal(1s, 0.5)"),
            ("choice(1s: 0.9, 3s: 0.1)", "choice(1s: 0.9, 3s: 0.1)"),
            ("choice(1s,2s)", "choice(1s: 1, 2s: 1)"),
        ];
        for (text, shown) in table {
            let distribution = read(text, Quantity::Time).unwrap();
            assert_eq!(show(&distribution, Quantity::Time), shown);
            assert_eq!(read(shown, Quantity::Time).unwrap(), distribution, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let table = [
            ("unform(0s, 1s)", Quantity::Time, "there is no distribution `unform`"),
            ("uniform(1s)", Quantity::Time, "`uniform` does not take `1s`"),
            ("uniform(1s, 0s)", Quantity::Time, "the ends of `uniform(1s, 0s)` are the wrong way round"),
            ("uniform(0s, 1s", Quantity::Time, "`uniform(0s, 1s` has no closing bracket"),
            ("uniform(0s, 1m)", Quantity::Time, "`1m` is a length, but a time is needed"),
            ("exponential(0s)", Quantity::Time, "the mean must be more than 0"),
            ("exponential(2)", Quantity::Count, "`exponential` does not draw whole numbers"),
            ("choice(1: 0.5, 2)", Quantity::Count, "some values have a weight, some have not"),
            ("choice(1: 0)", Quantity::Count, "`choice` does not take `1: 0`"),
            ("choice()", Quantity::Count, "`` is not a whole number"),
            ("1.5", Quantity::Count, "`1.5` is not a whole number"),
            ("uniform(-1, 3)", Quantity::Count, "-1 is out of range"),
            ("", Quantity::Time, "`` is not a time"),
        ];
        for (text, quantity, message) in table {
            assert_eq!(read(text, quantity).unwrap_err().0, message, "{text}");
        }
    }
}
