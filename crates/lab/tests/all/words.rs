//! What commands say.

use std::path::Path;

use crate::process::run;

#[track_caller]
pub(crate) fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

/// Each of these lines is a mistake, which is explained by these words and by nothing on standard output.
#[track_caller]
pub(crate) fn refused(place: &Path, command: &str, mistakes: &[(&str, &str)]) {
    for (line, part) in mistakes {
        let ran = run(place, command, line);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{line}\n{}", ran.err);
        assert!(ran.err.contains(part), "{line}: {part} is not in\n{}", ran.err);
    }
}
