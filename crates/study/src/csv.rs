//! Tables as CSV (RFC 4180, with `\n`), which every tool reads. What is not finite is an empty field.

/// A table that is written row by row.
#[derive(Debug, Default)]
pub(crate) struct Csv {
    text: String,
    begun: bool,
}

impl Csv {
    pub(crate) fn word(&mut self, word: &str) -> &mut Self {
        if self.begun {
            self.text.push(',');
        }
        self.begun = true;
        if word.contains([',', '"', '\n', '\r']) {
            self.text.push('"');
            self.text.push_str(&word.replace('"', "\"\""));
            self.text.push('"');
        } else {
            self.text.push_str(word);
        }
        self
    }

    pub(crate) fn words<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) -> &mut Self {
        for word in words {
            self.word(word);
        }
        self
    }

    /// A number with all its digits.
    pub(crate) fn number(&mut self, number: f64) -> &mut Self {
        if number.is_finite() { self.word(&number.to_string()) } else { self.word("") }
    }

    pub(crate) fn count(&mut self, number: impl Into<u64>) -> &mut Self {
        self.word(&number.into().to_string())
    }

    pub(crate) fn end(&mut self) {
        self.text.push('\n');
        self.begun = false;
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_has_them() {
        let mut csv = Csv::default();
        csv.words(["plain", "a,b", "say \"no\""]).end();
        csv.number(0.1).number(f64::INFINITY).count(7_u32).end();
        assert_eq!(csv.finish(), "plain,\"a,b\",\"say \"\"no\"\"\"\n0.1,,7\n");
    }
}
