//! Commands that a reader may copy into a shell.

/// A word, in quotes if a shell would change it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_that_a_shell_would_change_is_quoted() {
        for (word, expected) in [("a=1", "a=1"), ("a={ b = 1 }", "'a={ b = 1 }'"), ("it's", r"'it'\''s'"), ("", "''")] {
            assert_eq!(quoted(word), expected);
        }
    }
}
