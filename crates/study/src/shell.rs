//! Words as a shell takes them, for commands that somebody may copy.

/// A word, in quotes if a shell would change it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// An option that sets a key, with a space before it.
pub fn set(key: &str, value: &str) -> String {
    format!(" --set {}", quoted(&format!("{key}={}", crate::plan::label(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_a_shell_would_change_is_quoted() {
        assert_eq!(set("radio.range", "\"120m\""), " --set radio.range=120m");
        assert_eq!(set("speed", "{ low = 1 }"), " --set 'speed={ low = 1 }'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
