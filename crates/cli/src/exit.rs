//! How a command ends, as a number for scripts.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything holds, or is as expected.
    Fine,
    /// A rule is broken, or something is not as expected.
    Broken,
    /// The command itself failed: wrong arguments, a file that cannot be written.
    Failed,
    /// Nothing is wrong so far, but a limit ended the search before everything was seen.
    CutShort,
    /// Ended by Ctrl-C.
    Interrupted,
    /// A number of the command's own: that of a child, or one of those of `meshlock lock`.
    Other(u8),
    /// The reader of the output has closed it.
    PipeClosed,
}

impl Exit {
    pub const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Broken => 1,
            Self::Failed => 2,
            Self::CutShort => 3,
            Self::Interrupted => 130, // 128 + SIGINT, as shells report it
            Self::Other(code) => code,
            Self::PipeClosed => 141, // 128 + SIGPIPE
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
