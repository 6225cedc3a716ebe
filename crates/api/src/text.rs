//! Texts of clients: what may stand in them, and how they are shown to people.

use std::borrow::Cow;
use std::fmt::Write;

/// The longest owner or session, in bytes.
pub const LONGEST_TEXT: usize = 256;

/// The owner of a request that names none: a program and its process, such as `backup[4711]`. Whatever the program is
/// called, a node accepts this.
pub fn owner_of(program: &str, process: u32) -> String {
    let process = format!("[{process}]");
    let mut owner = String::new();
    for shown in program.chars().map(|c| if is_hidden(c) { '?' } else { c }) {
        if owner.len() + shown.len_utf8() + process.len() > LONGEST_TEXT {
            break;
        }
        owner.push(shown);
    }
    owner + &process
}

/// A text for a terminal: characters that are not seen, move the cursor or turn the direction of writing are written as
/// `\u{202e}`, so that no text can pass for another.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_hidden(character) {
            // Writing into a string cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Control and format characters of Unicode, and others without a shape: separators of lines, fillers, joiners,
/// variation selectors, tags.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1345f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        for (text, shown) in [
            ("rsync[7] äß 漢 🤖", "rsync[7] äß 漢 🤖"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("bell\u{7}\u{1b}[2J\u{9b}1A", "bell\\u{7}\\u{1b}[2J\\u{9b}1A"),
            ("two\u{2028}lines\u{e0041}", "two\\u{2028}lines\\u{e0041}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn every_program_can_be_an_owner() {
        assert_eq!(owner_of("backup", 4711), "backup[4711]");
        assert_eq!(owner_of("back\tup\u{202e}", 1), "back?up?[1]");
        for program in ["x".repeat(255), "ü".repeat(200)] {
            let owner = owner_of(&program, u32::MAX);
            assert!(owner.len() <= LONGEST_TEXT && owner.ends_with("[4294967295]"), "{owner}");
        }
    }
}
