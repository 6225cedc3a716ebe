//! Names of meshes and members: labels of the domain name system, so that they can stand in certificates and shells.

use super::MeshError;

/// The longest name of a mesh or a member.
pub const LONGEST: usize = 63;

/// Whether this can be the name of a mesh or a member: 1 to 63 of `a-z`, `0-9` and `-`, not `-` at an end.
pub fn check(what: &str, name: &str) -> Result<(), MeshError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = (1..=LONGEST).contains(&name.len()) && name.chars().all(allowed);
    if fits && !name.starts_with('-') && !name.ends_with('-') {
        return Ok(());
    }
    let near = near(name);
    let fix = if near == name || near.is_empty() { String::new() } else { format!("; {near:?} would do") };
    let rule = format!("use 1 to {LONGEST} of a-z, 0-9 and -, with no - at either end");
    Err(MeshError::Name(format!("{name:?} cannot be the name of a {what}: {rule}{fix}")))
}

/// The nearest name that is allowed; empty if there is none.
pub fn near(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
        if c != '-' || !(name.is_empty() || name.ends_with('-')) {
            name.push(c);
        }
    }
    name.truncate(LONGEST);
    name.trim_matches('-').to_owned()
}

/// The name of a node that was given none: that of this host, without its domain.
pub fn of_this_host() -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    let host = host.to_string_lossy();
    let name = near(host.split('.').next().unwrap_or_default());
    if name.is_empty() { "node".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_labels() {
        for good in ["a", "robot-7", "0", &"x".repeat(63)] {
            assert!(check("member", good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a.b", "ü", &"x".repeat(64)] {
            assert!(check("member", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refused_name_comes_with_one_that_would_do() {
        let error = check("member", "Robot_7.local").expect_err("not a label").to_string();
        assert!(error.contains("\"robot-7-local\" would do"), "{error}");
        assert_eq!(near("--__--"), "");
        assert_eq!(near(&"x".repeat(99)).len(), 63);
    }

    #[test]
    fn this_host_has_a_name_that_is_allowed() {
        assert!(check("member", &of_this_host()).is_ok());
    }
}
