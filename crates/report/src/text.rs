//! How wide a text is, and where it may be broken into lines.

/// The width of a text in pixels in a font of this size. The font is not known here, so this is the widest of the
/// usual ones: a text may turn out narrower, but does not run into its neighbour.
pub(crate) fn pixels(text: &str, size: f64) -> f64 {
    let em = |character: char| match character {
        ' ' | '\'' | '.' | ',' | 'i' | 'j' | 'l' | 'I' | '|' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | ':' | ';' | '!' | '-' | '"' => 0.42,
        'm' | 'M' | 'W' | '@' | '%' => 1.0,
        'w' | '×' | '±' | '−' | '+' | '=' | '<' | '>' | '~' => 0.84,
        'a'..='z' | '0'..='9' => 0.635,
        '⁰' | '¹' | '²' | '³' | '⁴' | '⁵' | '⁶' | '⁷' | '⁸' | '⁹' | '⁻' => 0.45,
        'A'..='Z' => 0.76,
        '\0'..='\u{2e7f}' => 0.7,
        _ => 1.05,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// Breaks a text into lines that fit the room: between words, or inside a word that is too long for a line.
pub(crate) fn wrap(text: &str, room: f64, measure: impl Fn(&str) -> f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            let joined = format!("{line} {word}");
            if measure(&joined) <= room {
                *line = joined;
                continue;
            }
        }
        let mut piece = String::new();
        for character in word.chars() {
            piece.push(character);
            if piece.chars().nth(1).is_some() && measure(&piece) > room {
                piece.pop();
                lines.push(std::mem::take(&mut piece));
                piece.push(character);
            }
        }
        lines.push(piece);
    }
    lines
}

/// The first lines of a text in pixels, with an ellipsis where the rest is left out.
pub(crate) fn wrap_pixels(text: &str, room: f64, size: f64, most: usize) -> Vec<String> {
    let mut lines = wrap(text, room, |part| pixels(part, size));
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && pixels(last, size) + pixels("…", size) > room {
                last.pop();
            }
            *last = format!("{}…", last.trim_end());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_inside_words_that_are_too_long() {
        let columns = |text: &str| text.chars().count() as f64;
        assert_eq!(wrap("one two three", 7.0, columns), ["one two", "three"]);
        assert_eq!(wrap("a reverse-link b", 6.0, columns), ["a", "revers", "e-link", "b"]);
        assert_eq!(wrap("  ", 6.0, columns), Vec::<String>::new());
        assert_eq!(wrap("ab", 0.0, columns), ["a", "b"], "no room at all still ends");
    }

    #[test]
    fn what_is_left_out_is_marked_and_fits() {
        let lines = wrap_pixels("one two three four five six seven", 60.0, 12.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'));
        assert!(lines.iter().all(|line| pixels(line, 12.0) <= 60.0), "{lines:?}");
    }
}
